import { describe, expect, test } from 'vitest';
import { operationMachine } from '../../machines/operation.ts';
import type { Policy } from '../../src/domain/policy.ts';
import { structuralHash } from '../../src/kernel/hash.ts';
import { kernelOf } from '../../src/kernel/kernel.ts';
import { lintMachine } from '../../src/kernel/lint.ts';
import type { KernelRow } from '../../src/kernel/row.ts';

const policy: Policy = {
  contract: null,
  keyRetentionMs: 86_400_000,
  lookup: { visibleWithinMs: 1000, arrivalLimitMs: null, everyMs: 1000, giveUpAfterMs: 60_000 },
  timeoutMs: 1000,
  sendWithinMs: 1000,
  retry: { attempts: 3, backoff: 'fixed', delayMs: 1000, maxDelayMs: 1000, jitter: 'none' },
  inverse: false,
};

/** What a database does to a row. */
function stored(row: KernelRow): KernelRow {
  // JSON is what rows are made of.
  return JSON.parse(JSON.stringify(row)) as KernelRow;
}

describe("the operation's chart", () => {
  test('has nothing in it that a row could not carry', () => {
    expect(lintMachine(operationMachine)).toEqual([]);
  });

  test('has a hash that does not depend on what is provided', () => {
    expect(structuralHash(operationMachine.provide({}))).toBe(structuralHash(operationMachine));
  });

  test('goes from a lost reply to a proven success through rows that were stored after every turn', () => {
    const kernel = kernelOf(operationMachine);
    const lost = { type: 'unknown', reason: 'no reply' };
    const record = { type: 'succeeded', output: { id: 'c' }, reference: 'c' };

    const born = stored(kernel.start({ policy }).row);
    const started = kernel.fire(born, 'due', born.timers['due']?.generation ?? 0);
    const ended = kernel.settle(stored(started?.row ?? born), 'attempt', 1, { output: lost });
    const asked = stored(ended?.row ?? born);
    const answer = { finding: { type: 'found', records: [record] }, beganAt: 0 };
    const found = kernel.settle(asked, 'lookup', asked.children['lookup']?.generation ?? 0, { output: answer });

    expect([born.value, started?.row.value, asked.value, found?.row.value]).toEqual([
      'pending',
      'in-progress',
      'unknown',
      'succeeded',
    ]);
    expect(found?.row.timers).toEqual({});
    expect(found?.row.children).toEqual({});
    expect(kernel.settle(asked, 'attempt', 1, { output: record })).toBeNull();
  });

  test('arms its pause anew when a start may be lost, and is not due by the one before', () => {
    const kernel = kernelOf(operationMachine);
    const facts = { now: 0, sendBy: null, windowEndsAt: null, lostStartOn: 'timeline-2', random: 0.5 };
    const born = stored(kernel.start({ policy: { ...policy, lookup: null }, facts }).row);

    const again = stored(kernel.fire(born, 'due', 1)?.row ?? born);
    const started = kernel.fire(again, 'due', 2);

    expect([again.value, again.timers['due']]).toMatchObject(['pending', { generation: 2, delayMs: 1000 }]);
    expect(kernel.fire(again, 'due', 1)).toBeNull();
    expect(started?.row.value).toBe('in-progress');
  });
});
