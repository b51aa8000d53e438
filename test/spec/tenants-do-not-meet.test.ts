/**
 * G14. Two shops on one database and one orchestrator use the same order numbers, at the same provider. Nothing of one
 * is found, joined, replayed, listed, cancelled or decided for the other. That no statement can lose its tenant is shown
 * in `test/postgres/tenants.test.ts`.
 */

import { createOrchestrator, isSagacityError, type Orchestrator, succeeded } from 'sagacity';
import { pgliteStore } from 'sagacity/pglite';
import { postgresStore } from 'sagacity/postgres';
import { memoryStore, scriptedProvider, type ScriptedProvider } from 'sagacity/testing';
import { afterEach, describe, expect, test } from 'vitest';
import type { Store } from '../../src/ports/store.ts';
import { chargeCard } from '../support/shop.ts';
import { freshDatabase } from '../support/postgres.ts';

let orchestrator: Orchestrator<false>;
let provider: ScriptedProvider;

afterEach(async () => {
  await orchestrator.stop({ within: '1s' });
  await provider.close();
});

const stores: Readonly<Record<string, () => Promise<Store>>> = {
  memory: () => Promise.resolve(memoryStore()),
  pglite: () => Promise.resolve(pgliteStore()),
  postgres: async () => postgresStore({ url: await freshDatabase(), migrate: true }),
};

async function twoShops(open: () => Promise<Store>) {
  provider = await scriptedProvider();
  const charge = chargeCard(provider.url);
  const deaf = chargeCard(provider.url, { action: 'card.blind', keyRetention: 'none', lookup: 'none' });
  orchestrator = createOrchestrator({ store: await open(), definitions: [charge, deaf] });
  await orchestrator.start();
  return { charge, deaf };
}

const order = { orderId: 'order-17', amount: 1200 };
const [one, two] = [{ tenant: 'shop-1' }, { tenant: 'shop-2' }];

async function codeOf(call: Promise<unknown>): Promise<string | undefined> {
  const error = await call.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  return isSagacityError(error) ? error.code : undefined;
}

describe.each(Object.entries(stores))('two shops with the same order number (%s)', (_, open) => {
  test('each charge once, under keys of their own, and neither joins nor conflicts with the other', async () => {
    const { charge } = await twoShops(open);

    const first = await orchestrator.submit(charge, order, one);
    const second = await orchestrator.submit(charge, { ...order, amount: 9900 }, two);
    const [mine, yours] = [await first.result({ within: '10s' }), await second.result({ within: '10s' })];
    const replay = await orchestrator.submit(charge, order, one);

    const records = await provider.records({ kind: 'payment' });
    expect([first.submission, second.submission, replay.submission]).toEqual(['new', 'new', 'replayed']);
    expect(new Set(records.map(({ key }) => key)).size).toBe(2);
    expect(records).toHaveLength(2);
    expect(mine).toMatchObject({ status: 'succeeded', output: { chargeId: records[0]?.id } });
    expect(yours).toMatchObject({ status: 'succeeded', output: { chargeId: records[1]?.id } });
    expect(await replay.result({ within: 0 })).toEqual(mine);
  });

  test('cannot read, cancel or decide what is the other one’s, nor see it among the doubts', async () => {
    const { deaf } = await twoShops(open);
    await provider.faults(['commit-then-drop']);
    const run = await orchestrator.submit(deaf, order, one);
    await run.result({ within: '10s' });
    const decision = { by: 'on-call', evidence: 'the list of the bank', seen: '1.turn', ...two };

    const codes = [
      await codeOf(orchestrator.run(run.id, two)),
      await codeOf(orchestrator.cancel(run.id, { by: 'shop', reason: 'none of theirs', ...two })),
      await codeOf(orchestrator.operator.resolve(run.id, succeeded({ chargeId: 'ch_1' }), decision)),
      await codeOf(orchestrator.operator.lookUp(run.id, decision)),
    ];

    expect(codes).toEqual(Array.from({ length: 4 }, () => 'OPERATION_NOT_FOUND'));
    expect(await orchestrator.operator.doubts(two)).toEqual([]);
    expect((await orchestrator.operator.doubts(one)).map(({ id }) => id)).toEqual([run.id]);
    expect(await run.status()).toBe('escalated');
  });
});
