import { afterEach, describe, expect, test } from 'vitest';
import { createOrchestrator, type Orchestrator, type Run } from 'sagacity';
import { pgliteStore } from 'sagacity/pglite';
import { timedShop, type TimedShop } from '../support/timed.ts';
import { reached } from '../support/world.ts';

const SUBMISSIONS = 50;
const ROUNDS = 25;

let shop: TimedShop;
afterEach(() => shop.close());

type ChargeRun = Run<{ chargeId: string }, 'card_declined'>;

/** Fifty submissions of one order in the same moment, dealt out to the orchestrators in turn. */
function submitFifty(orchestrators: readonly Orchestrator<true>[], orderId: string): Promise<readonly ChargeRun[]> {
  return Promise.all(
    Array.from({ length: SUBMISSIONS }, (_, n) => {
      const orchestrator = orchestrators[n % orchestrators.length] ?? shop.orchestrator;
      return orchestrator.submit(shop.charge, { orderId, amount: 5 });
    }),
  );
}

async function expectOneEffect(runs: readonly ChargeRun[], recordsBefore: number): Promise<void> {
  await Promise.all(runs.map((run) => reached(run, 'succeeded')));
  const results = await Promise.all(runs.map((run) => run.result({ within: '30s' })));
  expect(await shop.provider.records()).toHaveLength(recordsBefore + 1);
  expect(await shop.sentKeys()).toHaveLength(recordsBefore + 1);
  expect(new Set(runs.map(({ id }) => id)).size).toBe(1);
  expect(runs.filter(({ submission }) => submission === 'new')).toHaveLength(1);
  expect(results).toEqual(results.map(() => results[0]));
  expect(results[0]).toMatchObject({ status: 'succeeded', output: { chargeId: `payment_${recordsBefore + 1}` } });
}

describe('fifty submissions of one order at the same moment', () => {
  test('are one charge when one orchestrator gets them all', async () => {
    shop = await timedShop();

    for (let round = 0; round < ROUNDS; round += 1) {
      const runs = await submitFifty([shop.orchestrator], `order-${round}`);

      await expectOneEffect(runs, round);
    }

    expect(await shop.provider.records()).toHaveLength(ROUNDS);
  });

  test('are one charge when three orchestrators share the store', async () => {
    shop = await timedShop({ shared: true });
    const orchestrators = [shop.orchestrator, shop.another(), shop.another()];
    await Promise.all(orchestrators.map((orchestrator) => orchestrator.start()));

    for (let round = 0; round < ROUNDS; round += 1) {
      const runs = await submitFifty(orchestrators, `order-${round}`);

      await expectOneEffect(runs, round);
    }

    expect(await shop.provider.records()).toHaveLength(ROUNDS);
  });

  // Making an empty database takes a busy machine many seconds.
  test('are one charge in the embedded database', async () => {
    shop = await timedShop({ start: false });
    const orchestrator = createOrchestrator({ store: pgliteStore(), definitions: [shop.charge], tenant: 'shop-1' });
    await orchestrator.start();

    try {
      const runs = await submitFifty([orchestrator], 'order-1');

      await expectOneEffect(runs, 0);
      expect(await shop.provider.records()).toHaveLength(1);
    } finally {
      await orchestrator.stop();
    }
  });
});
