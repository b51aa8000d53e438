import { afterEach, describe, expect, test } from 'vitest';
import { reached, type World, world } from '../support/world.ts';

let shop: World;
afterEach(() => shop.close());

describe('a charge whose reply was lost after the provider had acted', () => {
  test('is looked up and adopted, and nothing is sent a second time', async () => {
    shop = await world();
    await shop.provider.faults(['commit-then-drop']);

    const run = await shop.orchestrator.submit(shop.charge, { orderId: 'order-17', amount: 1200 });
    const end = await run.result({ within: '30s' });

    expect(await shop.provider.records()).toHaveLength(1);
    expect(end).toEqual({ status: 'succeeded', output: { chargeId: 'payment_1' }, reference: 'payment_1' });
    expect((await run.history()).map(({ kind, states }) => [kind, states])).toEqual([
      ['start', ['pending', 'in-progress']],
      ['end', ['unknown']],
      ['lookup', ['succeeded']],
    ]);
  });
});

describe('a charge that never reached the provider and cannot be seen there', () => {
  test('is sent again under the same key once its absence is proof', async () => {
    shop = await world();
    await shop.provider.calls(['drop']);

    const run = await shop.orchestrator.submit(shop.charge, { orderId: 'order-18', amount: 5 });
    await reached(run, 'reconciling');
    await shop.clock.advance('1m');
    await reached(run, 'succeeded', 'pending');
    await shop.clock.advance('5s');
    const end = await run.result({ within: '30s' });

    expect(end.status).toBe('succeeded');
    expect(await shop.provider.records()).toHaveLength(1);
    const sent = (await shop.provider.received()).filter(({ method }) => method === 'POST');
    const keys = sent.map(({ key }) => key);
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
  });
});
