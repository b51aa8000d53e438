import { afterEach, describe, expect, test } from 'vitest';
import { reached, type World, world } from '../support/world.ts';

let shop: World;
afterEach(() => shop.close());

describe('a process with one slot, in which an operation was submitted many times', () => {
  test('still has its slot for the next operation', async () => {
    shop = await world({ concurrency: 1 });
    const payment = { orderId: 'order-1', amount: 3 };
    for (let times = 0; times < 5; times += 1) {
      const run = await shop.orchestrator.submit(shop.charge, payment);
      await reached(run, 'succeeded');
    }

    const next = await shop.orchestrator.submit(shop.charge, { orderId: 'order-2', amount: 4 });
    await reached(next, 'succeeded');

    expect(await shop.provider.records()).toHaveLength(2);
  });
});
