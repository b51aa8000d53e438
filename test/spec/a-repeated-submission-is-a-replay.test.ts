import { afterEach, describe, expect, test } from 'vitest';
import { operation, succeeded, typed } from 'sagacity';
import { timedShop, type TimedShop } from '../support/timed.ts';

let shop: TimedShop;
afterEach(() => shop.close());

const payment = { orderId: 'order-17', amount: 5 };

const receipt = {
  total: 9_007_199_254_740_993n,
  at: new Date('2026-03-01T10:15:00.250Z'),
  lines: [
    { sku: 'tea', price: { net: 7n, due: [new Date(0)] } },
    { sku: 'cup', price: null },
  ],
  $date: 'a field that looks like a marker',
  note: '',
};

/** A charge whose output is a receipt with everything a body can hold. */
function chargeWithReceipt() {
  const { execute } = shop.charge.options;
  return operation('card.charge', {
    input: typed<{ orderId: string; amount: number }>(),
    key: ({ input }) => input.orderId,
    async execute(context) {
      await execute(context);
      return succeeded(receipt, { reference: 'payment_1' });
    },
    keyRetention: '24h',
    lookup: 'none',
  });
}

describe('a submission of something that has succeeded', () => {
  test('gets the stored result, part by part, and sends nothing', async () => {
    shop = await timedShop({ start: false });
    const charge = chargeWithReceipt();
    const orchestrator = shop.another({ definitions: [charge] });
    await orchestrator.start();
    const first = await orchestrator.submit(charge, payment);
    const original = await first.result({ within: '30s' });

    const again = await orchestrator.submit(charge, payment);
    const replayed = await again.result({ within: 0 });

    expect([first.submission, again.submission]).toEqual(['new', 'replayed']);
    expect(original).toEqual({ status: 'succeeded', output: receipt, reference: 'payment_1' });
    expect(replayed).toEqual(original);
    expect(await shop.provider.records()).toHaveLength(1);
    expect(await shop.provider.received()).toHaveLength(1);
  });

  test('gets it after a restart and months later too', async () => {
    shop = await timedShop({ start: false, sweepEvery: '1d', heartbeat: { every: '10d', timeout: '30d' } });
    const charge = chargeWithReceipt();
    const before = shop.another({ definitions: [charge] });
    await before.start();
    const first = await before.submit(charge, payment);
    await first.result({ within: '30s' });
    const stopping = before.stop({ within: '1s' });
    await shop.clock.advance('3s');
    await stopping;
    await shop.clock.advance('90d');

    const after = shop.another({ definitions: [charge] });
    const unstarted = await after.submit(charge, payment);
    await after.start();
    const again = await after.submit(charge, payment);
    await shop.pass('1m', '10s');

    expect([unstarted.submission, again.submission]).toEqual(['replayed', 'replayed']);
    expect(again.id).toBe(first.id);
    const succeededSo = { status: 'succeeded', output: receipt, reference: 'payment_1' };
    expect(await unstarted.result({ within: 0 })).toEqual(succeededSo);
    expect(await again.result({ within: 0 })).toEqual(succeededSo);
    expect(await shop.provider.records()).toHaveLength(1);
    expect(await shop.provider.received()).toHaveLength(1);
  });

  test('gets what a look-up supplied in place of a lost reply', async () => {
    shop = await timedShop();
    await shop.provider.faults(['commit-then-drop']);
    const first = await shop.orchestrator.submit(shop.charge, payment);
    const original = await first.result({ within: '30s' });
    const received = await shop.provider.received();

    const again = await shop.orchestrator.submit(shop.charge, payment);

    expect(again.submission).toBe('replayed');
    expect(await again.result({ within: 0 })).toEqual(original);
    expect(await shop.provider.received()).toEqual(received);
    expect(await shop.provider.records()).toHaveLength(1);
  });
});

describe('a submission of something that has failed', () => {
  test('gets the same refusal, and the provider is not asked again', async () => {
    shop = await timedShop();
    await shop.provider.calls(['decline']);
    const first = await shop.orchestrator.submit(shop.charge, payment);
    const original = await first.result({ within: '30s' });

    const again = await shop.orchestrator.submit(shop.charge, payment);
    await shop.pass('1m', '10s');

    expect(original).toEqual({ status: 'failed', code: 'card_declined' });
    expect([first.submission, again.submission]).toEqual(['new', 'replayed']);
    expect(await again.result({ within: 0 })).toEqual(original);
    expect(await shop.provider.received()).toHaveLength(1);
    expect(await shop.provider.records()).toHaveLength(0);
  });
});

describe('a submission of something that is not settled', () => {
  test('joins it, and gets the result that it comes to', async () => {
    shop = await timedShop();
    await shop.provider.faults(['commit-then-hold']);
    const first = await shop.orchestrator.submit(shop.charge, payment);
    await shop.provider.logged(({ event }) => event === 'HOLD');

    const second = await shop.orchestrator.submit(shop.charge, payment);
    await shop.provider.release();
    const [one, other] = await Promise.all([first.result({ within: '30s' }), second.result({ within: '30s' })]);

    expect([first.submission, second.submission]).toEqual(['new', 'joined']);
    expect(other).toEqual(one);
    expect(one.status).toBe('succeeded');
    expect(await shop.provider.received()).toHaveLength(1);
    expect(await shop.provider.records()).toHaveLength(1);
  });
});
