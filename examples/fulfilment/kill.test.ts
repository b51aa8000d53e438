/**
 * An order is killed at every boundary it goes by, on its way forward and on its way back, and whatever the place: each
 * company holds one record of what it was asked for, and the order ends as it would have ended.
 */

import { describe, expect, test } from 'vitest';
import { failed } from 'sagacity';
import { boundariesOf, type Flow, killAt, reply, testFetch } from 'sagacity/testing';
import { approved } from './approval.ts';
import { fulfilmentAsChain } from './builder.ts';
import { operationsAt } from './operations.ts';

const operations = operationsAt('http://companies.example', testFetch);
const { authorisePayment, reserveStock, createShipment, capturePayment, sendEmail } = operations;
const fulfilment = fulfilmentAsChain(operations);
const order = { orderId: 'order-17', total: 1200, lines: ['lamp'], address: 'Quay 1', email: 'orders@quay.example' };

const forward: Flow = {
  definitions: [fulfilment],
  begin: (orchestrator) => orchestrator.submit(fulfilment, order),
};

describe('an order that is fulfilled', async () => {
  test.each(await boundariesOf(forward))('has one record of everything, killed %s', async (boundary) => {
    const { result, records } = await killAt(forward, boundary);

    expect(result.status).toBe('succeeded');
    for (const operation of [authorisePayment, reserveStock, createShipment, capturePayment, sendEmail]) {
      expect(records(operation)).toHaveLength(1);
    }
  });
});

const backward: Flow = { ...forward, script: [reply(createShipment, failed('address_refused'))] };

describe('an order whose shipment is refused', async () => {
  test.each(await boundariesOf(backward))('has each of its two steps taken back once, killed %s', async (boundary) => {
    const { result, records } = await killAt(backward, boundary);

    expect(result).toEqual({ status: 'compensated', cause: { step: 'shipment', code: 'address_refused' } });
    for (const operation of [authorisePayment, 'payment.void', reserveStock, 'stock.release']) {
      expect(records(operation)).toHaveLength(1);
    }
    for (const operation of [createShipment, capturePayment, sendEmail]) expect(records(operation)).toEqual([]);
  });
});

/** It is approved as soon as it is placed. */
const inParcels: Flow = {
  definitions: [fulfilment],
  async begin(orchestrator) {
    const run = await orchestrator.submit(fulfilment, { ...order, total: 6_000, parcels: ['lamp', 'shade'] });
    await orchestrator.signal(run.id, approved, { by: 'shift-lead' }, { eventId: 'click-81' });
    return run;
  },
};

describe('a large order in two parcels', async () => {
  test.each(await boundariesOf(inParcels))('has one shipment for each, killed %s', async (boundary) => {
    const { result, records } = await killAt(inParcels, boundary);

    expect(result.status).toBe('succeeded');
    expect(records(createShipment)).toHaveLength(2);
    for (const operation of [authorisePayment, reserveStock, capturePayment, sendEmail]) {
      expect(records(operation)).toHaveLength(1);
    }
  });
});
