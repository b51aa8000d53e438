/** A laptop's lid, a paused virtual machine: the steady counter stands still meanwhile, and only the wall clock tells. */

import { createOrchestrator, operation, succeeded, typed } from 'sagacity';
import { memoryStore, testClock } from 'sagacity/testing';
import { afterEach, describe, expect, test } from 'vitest';
import { evenChance } from '../support/chance.ts';
import { interrupted, tells } from '../support/interrupted.ts';
import { reached } from '../support/world.ts';
import type { Orchestrator } from 'sagacity';

let orchestrator: Orchestrator<true>;
afterEach(() => orchestrator.stop({ within: 0 }));

/** A process that sleeps for an hour right after the store has written a recorded start, once. */
function sleeper() {
  const clock = testClock();
  let sleptMs = 0;
  const sent: number[] = [];
  const pay = operation('payment.authorise', {
    input: typed<{ orderId: string }>(),
    key: ({ input }) => input.orderId,
    execute({ attempt }) {
      sent.push(attempt);
      return Promise.resolve(succeeded({ sent: true }));
    },
    keyRetention: '24h',
    lookup: 'none',
  });
  const asleep = { ...clock, now: () => clock.now() + sleptMs };
  const store = interrupted(memoryStore({ clock }), {
    after(turn) {
      if (tells(turn, 'start')) sleptMs ||= 3_600_000;
    },
  });
  orchestrator = createOrchestrator({
    ...{ store, clock: asleep, random: evenChance(), definitions: [pay], tenant: 'shop-1' },
  });
  return { pay, sent };
}

describe('a machine that falls asleep between the recorded start and the call', () => {
  test('does not call when it wakes, and says that nothing was sent', async () => {
    const { pay, sent } = sleeper();
    await orchestrator.start();

    const run = await orchestrator.submit(pay, { orderId: 'order-17' });
    await reached(run, 'pending');

    const ends = (await run.history()).filter(({ kind }) => kind === 'end');
    expect(sent).toEqual([]);
    expect(ends.map(({ facts }) => facts)).toMatchObject([{ outcome: 'not-applied', sent: false }]);
  });
});
