/**
 * Expected. The caller: the charge succeeded, as the process that took over found it. The bank: one charge. The stored
 * history: what the paused process still brings is evidence, and decides nothing. Operator: nothing to do.
 */

import { expect, test } from 'vitest';
import { absent, createOrchestrator, found, operation, succeeded, typed } from 'sagacity';
import { memoryStore, testClock } from 'sagacity/testing';
import { order } from '../support/rehearsed-charge.ts';
import { evenChance } from '../support/chance.ts';
import { until } from '../support/world.ts';

test('a process that was paused with a charge, and goes on after another one has taken it over, commits nothing', async () => {
  const ledger = new Map<string, string>();
  const gates: (() => void)[] = [];
  const charge = operation('card.charge', {
    input: typed<typeof order>(),
    key: ({ input }) => input.orderId,
    async execute({ idempotencyKey }) {
      ledger.set(idempotencyKey, 'charge_1');
      await new Promise<void>((open) => void gates.push(open));
      return succeeded('charge_1');
    },
    keyRetention: '24h',
    lookup: {
      visibleWithin: '30s',
      find: ({ idempotencyKey }) => {
        const id = ledger.get(idempotencyKey);
        return Promise.resolve(id === undefined ? absent() : found(succeeded(id)));
      },
    },
  });
  // The clock of a process that is paused stands still.
  const [pausedClock, clock] = [testClock(), testClock()];
  const store = memoryStore({ clock });
  const definitions = [charge];
  const common = { definitions, random: evenChance(), tenant: 'shop-1' };
  const paused = createOrchestrator({
    ...common,
    store: memoryStore({ clock, sharedWith: store }),
    clock: pausedClock,
  });
  await paused.start();
  await paused.submit(charge, order);
  await until(() => gates[0] ?? null, 'the bank to have the request');

  const next = createOrchestrator({ ...common, store, clock });
  await next.start();
  await clock.advance('2m');
  const run = await next.submit(charge, order);
  const before = await run.history();
  const answer = await run.result({ within: 0 });
  gates[0]?.();
  await pausedClock.advance('10s');
  await clock.advance('10s');

  const added = (await run.history()).slice(before.length).map(({ kind }) => kind);
  expect(answer).toEqual({ status: 'succeeded', output: 'charge_1' });
  expect(await run.result({ within: 0 })).toEqual(answer);
  expect(added.filter((kind) => kind !== 'evidence')).toEqual([]);
  expect([ledger.size, gates.length]).toEqual([1, 1]);
});
