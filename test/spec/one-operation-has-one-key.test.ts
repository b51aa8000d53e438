import { afterEach, describe, expect, test } from 'vitest';
import { operation, succeeded, typed } from 'sagacity';
import { timedShop, type TimedShop } from '../support/timed.ts';

const shops: TimedShop[] = [];
afterEach(() => Promise.all(shops.splice(0).map((shop) => shop.close())));

async function opened(options: Parameters<typeof timedShop>[0] = {}): Promise<TimedShop> {
  const shop = await timedShop(options);
  shops.push(shop);
  return shop;
}

describe('an operation that is attempted, looked up and sent again', () => {
  test('is known to the provider by one key through it all', async () => {
    const shop = await opened();
    await shop.provider.calls(['fail-before-commit', 'drop']);

    const run = await shop.orchestrator.submit(shop.charge, { orderId: 'order-17', amount: 5 });
    await shop.pass('3m');

    expect(await run.status()).toBe('succeeded');
    expect(await shop.provider.records()).toHaveLength(1);
    const received = await shop.provider.received();
    const posts = received.filter(({ method }) => method === 'POST');
    const lookups = received.filter(({ method }) => method === 'GET');
    expect(posts).toHaveLength(3);
    expect(lookups.length).toBeGreaterThan(3);
    const keys = new Set(received.map(({ key }) => key));
    expect(keys).toEqual(new Set([posts[0]?.key]));
  });

  test('keeps it across a restart in the middle', async () => {
    const shop = await opened();
    await shop.provider.calls(['drop']);
    const run = await shop.orchestrator.submit(shop.charge, { orderId: 'order-17', amount: 5 });
    await shop.pass('2s');
    const stopping = shop.orchestrator.stop({ within: '1s' });
    await shop.clock.advance('5s');
    await stopping;

    const restarted = shop.another();
    await restarted.start();
    await shop.pass('2m');

    expect(await (await restarted.run(run.id)).status()).toBe('succeeded');
    expect(await shop.provider.records()).toHaveLength(1);
    const received = await shop.provider.received();
    expect(received.filter(({ method }) => method === 'POST')).toHaveLength(2);
    expect(new Set(received.map(({ key }) => key)).size).toBe(1);
  });
});

describe('an executor', () => {
  test('is handed nothing that another key could be made of', async () => {
    const shop = await opened();
    const handed: object[] = [];
    const asked: object[] = [];
    const send = operation('mail.send', {
      input: typed<{ orderId: string }>(),
      key: ({ input }) => input.orderId,
      execute(context) {
        handed.push(context);
        if (handed.length === 1) throw new Error('The reply was lost.');
        return succeeded('sent');
      },
      keyRetention: '24h',
      lookup: {
        visibleWithin: '1s',
        find(context) {
          asked.push(context);
          return { type: 'absent' };
        },
      },
    });
    const orchestrator = shop.another({ definitions: [send] });
    await orchestrator.start();

    await orchestrator.submit(send, { orderId: 'order-17' });
    await shop.pass('2m');

    expect(handed).toHaveLength(2);
    for (const context of handed) {
      expect(Object.keys(context).toSorted()).toEqual(['abortSignal', 'attempt', 'http', 'idempotencyKey', 'input']);
    }
    for (const context of asked) {
      expect(Object.keys(context).toSorted()).toEqual(['abortSignal', 'http', 'idempotencyKey', 'input']);
    }
    expect(new Set([...handed, ...asked].map((context) => Reflect.get(context, 'idempotencyKey'))).size).toBe(1);
  });
});

describe('the key of an operation', () => {
  test('follows from tenant, action and business key alone, wherever it is made', async () => {
    const [here, elsewhere] = [await opened(), await opened()];
    await elsewhere.clock.advance('10m');

    for (const shop of [here, elsewhere]) {
      const run = await shop.orchestrator.submit(shop.charge, { orderId: 'order-17', amount: 5 });
      await run.result({ within: '30s' });
    }

    const [first, second] = [await here.sentKeys(), await elsewhere.sentKeys()];
    expect(first).toHaveLength(1);
    expect(second).toEqual(first);
  });

  test('is another one for another tenant, action or business key', async () => {
    const shop = await opened({ shared: true });
    const refund = shop.charging({ action: 'card.chargeAgain' });
    const neighbour = shop.another({ tenant: 'shop-2' });
    const both = shop.another({ definitions: [refund] });
    await Promise.all([neighbour.start(), both.start()]);

    await shop.orchestrator.submit(shop.charge, { orderId: 'order-17', amount: 5 });
    await shop.orchestrator.submit(shop.charge, { orderId: 'order-18', amount: 5 });
    await neighbour.submit(shop.charge, { orderId: 'order-17', amount: 5 });
    await both.submit(refund, { orderId: 'order-17', amount: 5 });
    await shop.pass('1s');

    expect(await shop.provider.records()).toHaveLength(4);
    expect(new Set(await shop.sentKeys()).size).toBe(4);
  });
});
