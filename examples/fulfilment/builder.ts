/**
 * The fulfilment of an order as a chain of steps. Up to the capture a refusal, a cancellation or the deadline takes
 * back what had succeeded, the latest first; once the money is captured there is only the way on. `machine.ts` is the
 * same saga written by hand.
 */

import { saga, typed } from 'sagacity';
import type { Operations, Order } from './operations.ts';

export function fulfilmentAsChain(operations: Operations) {
  const { authorisePayment, reserveStock, createShipment, capturePayment, sendEmail } = operations;
  return saga('fulfilment', { input: typed<Order>(), key: ({ input }) => input.orderId, within: '2h' })
    .parallel('prepare', (branch) => ({
      money: branch.step('payment', authorisePayment, ({ input: { orderId, total } }) => ({ orderId, amount: total })),
      goods: branch.step('stock', reserveStock, ({ input: { orderId, lines } }) => ({ orderId, lines })),
    }))
    .step('shipment', createShipment, ({ input: { orderId, address }, stock: { reservationId } }) => ({
      ...{ orderId, address, reservationId },
    }))
    .pivot('capture', capturePayment, ({ input: { orderId }, payment: { paymentId } }) => ({ orderId, paymentId }))
    .step(
      'email',
      sendEmail,
      ({ input: { orderId, email }, shipment: { shipmentId } }) => ({ orderId, to: email, shipmentId }),
      // The goods are on their way and paid for: that is not undone because a mailbox is full.
      { onFailed: 'continue' },
    )
    .output(({ shipment, capture, email }) => ({
      shipmentId: shipment.shipmentId,
      captureId: capture.captureId,
      messageId: email?.messageId ?? null,
    }));
}
