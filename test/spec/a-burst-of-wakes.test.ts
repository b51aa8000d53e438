/**
 * Thousands of timers may come due in the same moment, and each brings a wake. A process takes up what it has room for;
 * the rest it leaves to others and to its own next claims, instead of asking the store about every one of them at once.
 */

import { createOrchestrator, operation, type Store, succeeded, typed, type Waker } from 'sagacity';
import { memoryStore, testClock } from 'sagacity/testing';
import { expect, test } from 'vitest';
import type { News, Wake } from '../../src/ports/waker.ts';
import { overlay } from '../../src/testing/overlay.ts';

const ORDERS = 200;
const SLOTS = 4;

test('asks the store about no more than there is room for, offers the rest to others, and does all of it', async () => {
  const clock = testClock();
  const memory = memoryStore({ clock });
  const effects: string[] = [];
  const charge = operation('card.charge', {
    input: typed<{ orderId: string }>(),
    key: ({ input }) => input.orderId,
    execute: ({ input }) => {
      effects.push(input.orderId);
      return succeeded(null);
    },
    ...{ keyRetention: 'none', lookup: 'none' },
  });
  const told: News[] = [];
  let wakeUp: (wake: Wake) => Promise<void> = async () => {};
  const waker: Waker = {
    start: async (onWake) => void (wakeUp = onWake),
    wake() {},
    tell: (news) => void told.push(news),
    stop: async () => {},
  };
  let asking = 0;
  let most = 0;
  const store: Store = overlay(memory, {
    async claim(...asked) {
      if (asked[3] === undefined || !('id' in asked[3])) return await memory.claim(...asked);
      asking += 1;
      most = Math.max(most, asking);
      await new Promise<void>((resume) => clock.after(10, resume));
      asking -= 1;
      return await memory.claim(...asked);
    },
  });
  const definitions = [charge];
  const submits = createOrchestrator({ store: memory, clock, definitions, tenant: 'shop-1' });
  const works = createOrchestrator({ store, clock, definitions, waker, concurrency: SLOTS, sweepEvery: '1h' });
  await works.start();
  const runs = [];
  for (let order = 1; order <= ORDERS; order += 1) {
    runs.push(await submits.submit(charge, { orderId: `order-${order}` }));
  }

  const woken = runs.map(({ id }) => wakeUp({ tenant: 'shop-1', operationId: id, generation: 0 }));
  await clock.advance('1s');
  await Promise.all(woken);

  expect(most).toBeLessThanOrEqual(SLOTS);
  expect(told.filter(({ kind }) => kind === 'due').length).toBeGreaterThanOrEqual(ORDERS - 2 * SLOTS);
  expect(new Set(effects).size).toBe(ORDERS);
  expect(effects).toHaveLength(ORDERS);
  await Promise.all([works.stop(), submits.stop()]);
});
