/** What a store was in doubt about once stays in doubt until it is known, whatever becomes of its repetitions. */

import { createOrchestrator, type Orchestrator, operation, succeeded, typed } from 'sagacity';
import { memoryStore, testClock, type TestClock } from 'sagacity/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { storeInDoubt, storeUnavailable } from '../../src/domain/errors.ts';
import type { OperationRef, Store, Turn } from '../../src/ports/store.ts';
import { evenChance } from '../support/chance.ts';
import { overlay } from '../../src/testing/overlay.ts';
import { until } from '../support/world.ts';

let orchestrator: Orchestrator<true>;
let clock: TestClock;

beforeEach(() => {
  clock = testClock();
});

afterEach(async () => {
  let stopped = false;
  const stopping = orchestrator.stop({ within: 0 }).then(() => (stopped = true));
  await until(async () => {
    if (!stopped) await clock.advance('1s');
    return stopped || null;
  }, 'the orchestrator to stop');
  await stopping;
});

const order = { orderId: 'order-17' };

/** A shop whose births meet what `turn` does, and what it has sent. */
async function shop(verbs: (rows: Store) => Partial<Store>, concurrency = 32) {
  const sent: string[] = [];
  const pay = operation('payment.authorise', {
    input: typed<{ orderId: string }>(),
    key: ({ input }) => input.orderId,
    async execute({ input }) {
      sent.push(input.orderId);
      await new Promise<void>((resume) => clock.after(1_000, resume));
      return succeeded({ sent: true });
    },
    keyRetention: '24h',
    lookup: 'none',
  });
  const rows = memoryStore({ clock });
  const store = overlay(rows, verbs(rows));
  orchestrator = createOrchestrator({
    ...{ store, clock, random: evenChance(), definitions: [pay], tenant: 'shop-1', concurrency },
  });
  await orchestrator.start();
  return { pay, sent, rows };
}

async function codeAfter(submitting: Promise<unknown>): Promise<unknown> {
  let code: unknown = null;
  submitting.then(
    () => (code = 'accepted'),
    (error: { code?: unknown }) => (code = error.code),
  );
  return until(async () => {
    if (code === null) await clock.advance('1s');
    return code;
  }, 'the submission to end');
}

describe('a submission that was in doubt before the store became unavailable', () => {
  test('is told as doubt, because it may have been written', async () => {
    let births = 0;
    const { pay } = await shop((rows) => ({
      turn(turn: Turn) {
        if (turn.birth === null) return rows.turn(turn);
        births += 1;
        return Promise.reject(births === 1 ? storeInDoubt('No answer.') : storeUnavailable('It is away.', 'Again.'));
      },
    }));

    const code = await codeAfter(orchestrator.submit(pay, order));

    expect(code).toBe('STORE_IN_DOUBT');
    expect(births).toBeGreaterThan(1);
  });
});

describe('a submission that was given up in doubt, and is written a minute later', () => {
  test('is taken up by who submitted it, and settles', async () => {
    let away = true;
    let ref: OperationRef | null = null;
    const { pay, sent, rows } = await shop((stored) => ({
      turn(turn: Turn) {
        if (turn.birth !== null && away) {
          ref = turn;
          return Promise.reject(storeInDoubt('No answer.'));
        }
        return stored.turn(turn);
      },
    }));
    const code = await codeAfter(orchestrator.submit(pay, order));
    await clock.advance('30s');
    expect(sent).toEqual([]);

    away = false;
    const settled = await until(async () => {
      await clock.advance('1s');
      const row = ref === null ? null : await rows.read(ref);
      return row?.state === 'succeeded' ? row.state : null;
    }, 'the operation to settle');

    expect(code).toBe('STORE_IN_DOUBT');
    expect(settled).toBe('succeeded');
    expect(sent).toEqual(['order-17']);
  });
});

describe('three hundred submissions to four slots', () => {
  test('are claimed as slots come free, and not each by itself', async () => {
    let alone = 0;
    let most = 0;
    const { pay, sent } = await shop(
      (rows) => ({
        async claim(worker, actions, limit, which) {
          if (which !== undefined && 'id' in which) alone += 1;
          const claimed = await rows.claim(worker, actions, limit, which);
          most = Math.max(most, claimed.length);
          return claimed;
        },
      }),
      4,
    );

    await Promise.all(Array.from({ length: 300 }, (_, n) => orchestrator.submit(pay, { orderId: `order-${n}` })));
    await until(async () => {
      await clock.advance('1s');
      return sent.length === 300 ? true : null;
    }, 'all of them to be sent');

    expect(new Set(sent).size).toBe(300);
    expect(alone).toBe(0);
    expect(most).toBeLessThanOrEqual(4);
  });
});

describe('an orchestrator that stops while it means to take something up again', () => {
  test('leaves no timer behind that would keep its process alive', async () => {
    let broken = true;
    const { pay } = await shop((rows) => ({
      turn(turn: Turn) {
        if (turn.birth !== null || !broken) return rows.turn(turn);
        return Promise.reject(new Error('A fault that does not pass.'));
      },
    }));
    await orchestrator.submit(pay, order);
    await clock.advance('1s');
    broken = false;

    const stopping = orchestrator.stop({ within: 0 });
    await clock.advance('1s');
    await stopping;

    expect(clock.pending()).toBe(0);
  });
});
