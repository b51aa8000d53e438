/**
 * Expected. The caller: each tenant is told of its own charge. The bank: one charge for each tenant and each kind of
 * effect, under keys that have nothing in common. Operator: nothing to do.
 */

import { describe, expect, test } from 'vitest';
import { operation, succeeded, typed } from 'sagacity';
import { testOrchestrator, testProvider } from 'sagacity/testing';
import { charging, order } from '../support/rehearsed-charge.ts';

async function keyOf(tenant: string, orderId: string): Promise<string> {
  const charge = charging();
  const { orchestrator, records, settled } = await testOrchestrator({ definitions: [charge], tenant });
  await settled(await orchestrator.submit(charge, { ...order, orderId }));
  return records(charge)[0]?.key ?? '';
}

describe('the key that a bank is given', () => {
  test('is another one for another tenant with the same order, and for another order', async () => {
    const keys = await Promise.all([
      keyOf('shop-a', 'order-42'),
      keyOf('shop-b', 'order-42'),
      keyOf('shop-a', 'order-43'),
      // What is put together from other parts must not come out the same.
      keyOf('shop-a:order', '42'),
    ]);

    expect(new Set(keys).size).toBe(4);
  });

  test('is the same for the same intent, in whatever process it is submitted', async () => {
    expect(await keyOf('shop-a', 'order-42')).toBe(await keyOf('shop-a', 'order-42'));
  });

  test('has at least 128 bits and shows nothing of what it was made of', async () => {
    const key = await keyOf('shop-a', 'order-42');

    expect(key).toMatch(/[\w-]{22,}/);
    expect(key).not.toContain('42');
    expect(key).not.toContain('shop');
  });

  test('is another one for another effect on the same order', async () => {
    const charge = charging();
    const refund = operation('card.refund', {
      ...{ input: typed<{ orderId: string }>(), keyRetention: '24h', lookup: 'none' },
      key: ({ input }) => input.orderId,
      execute: async ({ input, idempotencyKey }) => {
        return succeeded((await testProvider('charge').make(idempotencyKey, input)).id);
      },
    });
    const { orchestrator, records, settled } = await testOrchestrator({ definitions: [charge, refund] });

    await settled(await orchestrator.submit(charge, order));
    await settled(await orchestrator.submit(refund, { orderId: order.orderId }));

    const [charged, refunded] = [records(charge), records(refund)];
    expect([charged.length, refunded.length]).toEqual([1, 1]);
    expect(charged[0]?.key).not.toBe(refunded[0]?.key);
  });
});
