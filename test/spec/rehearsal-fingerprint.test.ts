/**
 * Expected. The caller: a conflict for other parameters, in every state, and the same run for the same ones however they
 * are written. The bank: one charge, of the first amount. Operator: nothing; it is a fault of the caller's.
 */

import { describe, expect, test } from 'vitest';
import { testOrchestrator } from 'sagacity/testing';
import { charging, order } from '../support/rehearsed-charge.ts';

const conflict = { code: 'IDEMPOTENCY_CONFLICT', facts: { paths: ['amount'] } };

describe('a key that is used again', () => {
  test('with another amount is a conflict while the charge is under way and when it is over', async () => {
    const charge = charging();
    const { orchestrator, records, settled } = await testOrchestrator({ definitions: [charge] });
    const other = { ...order, amount: order.amount + 1 };

    const run = await orchestrator.submit(charge, order);
    await expect(orchestrator.submit(charge, other)).rejects.toMatchObject(conflict);
    await settled(run);
    await expect(orchestrator.submit(charge, other)).rejects.toMatchObject(conflict);

    expect(records(charge).map(({ body }) => body)).toEqual([order]);
  });

  test('with the same parameters in another order is a replay', async () => {
    const charge = charging();
    const { orchestrator, records, settled } = await testOrchestrator({ definitions: [charge] });
    await settled(await orchestrator.submit(charge, { orderId: 'order-42', amount: 1200 }));

    const again = await orchestrator.submit(charge, { amount: 1200, orderId: 'order-42' });

    expect(again.submission).toBe('replayed');
    expect(records(charge)).toHaveLength(1);
  });
});
