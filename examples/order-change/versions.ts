/**
 * Two versions of one order. The second has a customer screened before goods are reserved; orders that are under way go on
 * in it if they have not come that far, under the keys that they have, and all others end as they began. Version 1 is kept
 * for no other reason than that.
 */

import { migration, operation, saga, succeeded, typed } from 'sagacity';
import type { Operations, Order } from '../fulfilment/operations.ts';

const order = { input: typed<Order>(), key: ({ input }: { input: Order }) => input.orderId };
const authorised = ({ input: { orderId, total } }: { input: Order }) => ({ orderId, amount: total });
const reserved = ({ input: { orderId, lines } }: { input: Order }) => ({ orderId, lines });

export function versionsAt(url: string, { authorisePayment, reserveStock, createShipment }: Operations) {
  /** Whoever screens forgets nothing: asked twice under one key, they look once. */
  const screenCustomer = operation('customer.screen', {
    input: typed<{ orderId: string; email: string }>(),
    async execute({ input, idempotencyKey, abortSignal }) {
      const headers = { 'content-type': 'application/json', 'idempotency-key': idempotencyKey };
      const body = JSON.stringify(input);
      const reply = await fetch(`${url}/jobs`, { method: 'POST', headers, body, signal: abortSignal });
      if (!reply.ok) throw new Error(`The reply was ${reply.status}.`);
      return succeeded({ isScreened: true });
    },
    keyRetention: '24h',
    lookup: 'none',
    compensate: { none: 'it only asks' },
  });
  const orderV1 = saga('order', order)
    .step('payment', authorisePayment, authorised)
    .step('stock', reserveStock, reserved)
    .step('shipment', createShipment, ({ input: { orderId, address }, stock }) => ({ orderId, address, ...stock }));
  const orderV2 = saga('order', { ...order, version: 2 })
    .step('payment', authorisePayment, authorised)
    .step('screening', screenCustomer, ({ input: { orderId, email } }) => ({ orderId, email }))
    .step('stock', reserveStock, reserved)
    .step('shipment', createShipment, ({ input: { orderId, address }, stock }) => ({ orderId, address, ...stock }));
  // A payment that is under way is the same payment in both. What has been reserved is not screened any more.
  const screened = migration(orderV1, orderV2, ({ state }) => (state === 'payment' ? { state } : null));
  return { orderV1, orderV2, screened };
}
