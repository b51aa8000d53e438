/**
 * The fulfilment of an order as a chain of steps. An order of some size waits for an approval, and one in several parcels
 * has them sent one by one. Up to the capture a refusal, a cancellation, a missing approval or the deadline takes back
 * what had succeeded, the latest first; once the money is captured there is only the way on. `machine.ts` is the same
 * saga written by hand.
 */

import { saga, typed } from 'sagacity';
import { approved, needsApproval } from './approval.ts';
import type { Operations, Order } from './operations.ts';
import { dispatchOf } from './parcels.ts';

export function fulfilmentAsChain(operations: Operations) {
  const { authorisePayment, reserveStock, createShipment, capturePayment, sendEmail } = operations;
  // Two days for whoever approves, and two hours for everything else.
  return saga('fulfilment', { input: typed<Order>(), key: ({ input }) => input.orderId, within: '50h' })
    .parallel('prepare', (branch) => ({
      money: branch.step('payment', authorisePayment, ({ input: { orderId, total } }) => ({ orderId, amount: total })),
      goods: branch.step('stock', reserveStock, ({ input: { orderId, lines } }) => ({ orderId, lines })),
    }))
    .choose(
      'review',
      ({ input }) => (needsApproval(input) ? 'needed' : 'waived'),
      (branch) => ({
        needed: branch.waitFor('approval', approved, { within: '2d', otherwise: 'compensate' }),
        waived: branch,
      }),
    )
    .choose(
      'shipping',
      ({ input }) => (input.parcels === undefined ? 'whole' : 'inParcels'),
      (branch) => ({
        whole: branch.step('shipment', createShipment, ({ input: { orderId, address }, stock: { reservationId } }) => ({
          ...{ orderId, address, reservationId },
        })),
        inParcels: branch.step('parcels', dispatchOf(operations), ({ input, stock: { reservationId } }) => ({
          ...{ orderId: input.orderId, address: input.address, reservationId, parcels: input.parcels ?? [] },
        })),
      }),
    )
    .pivot('capture', capturePayment, ({ input: { orderId }, payment: { paymentId } }) => ({ orderId, paymentId }))
    .step(
      'email',
      sendEmail,
      ({ input: { orderId, email }, ...shipped }) => ({ orderId, to: email, shipmentIds: shipmentIdsOf(shipped) }),
      // The goods are on their way and paid for: that is not undone because a mailbox is full.
      { onFailed: 'continue' },
    )
    .output(({ approval, capture, email, ...shipped }) => ({
      approvedBy: approval?.by ?? null,
      shipmentIds: shipmentIdsOf(shipped),
      captureId: capture.captureId,
      messageId: email?.messageId ?? null,
    }));
}

interface Shipped {
  readonly shipment?: { readonly shipmentId: string };
  readonly parcels?: { readonly shipmentIds: readonly string[] };
}

/** Of the two ways to ship, one was taken. */
function shipmentIdsOf({ shipment, parcels }: Shipped): readonly string[] {
  return shipment === undefined ? (parcels?.shipmentIds ?? []) : [shipment.shipmentId];
}
