/**
 * The fulfilment of an order as an XState machine: the same steps, the same pivot and the same records as the chain in
 * `builder.ts`. An operation is invoked by its name; `onDone` is its proven success and `onError` its proven refusal,
 * and as long as nobody knows neither comes. A saga is invoked in the same way, a signal is an event, and the time for it an
 * `after`. `compensate` takes back what the saga has achieved, whatever that is by
 * then. The id of an invocation is the name of its step, and part of the key that the company is given.
 */

import { saga, typed } from 'sagacity';
import { actorsFrom } from 'sagacity/xstate';
import { assign, setup } from 'xstate';
import { needsApproval } from './approval.ts';
import type { Operations, Order } from './operations.ts';
import { dispatchOf } from './parcels.ts';

export interface Progress {
  readonly order: Order;
  readonly approvedBy: string | null;
  readonly paymentId: string;
  readonly reservationId: string;
  readonly shipmentIds: readonly string[];
  readonly captureId: string;
  readonly messageId: string | null;
}

interface Approved {
  readonly type: 'approved';
  readonly payload: { readonly by: string };
}

export interface Fulfilled {
  readonly approvedBy: string | null;
  readonly shipmentIds: readonly string[];
  readonly captureId: string;
  readonly messageId: string | null;
}

export function fulfilmentAsMachine(operations: Operations) {
  const parts = { ...operations, dispatchParcels: dispatchOf(operations) };
  const machine = setup({
    // XState takes types by example; these values are never read.
    types: { context: {} as Progress, input: {} as Order, events: {} as Approved, output: {} as Fulfilled },
    actors: actorsFrom(parts),
    guards: {
      needsApproval: ({ context }) => needsApproval(context.order),
      isInParcels: ({ context }) => context.order.parcels !== undefined,
    },
    delays: { patience: 172_800_000 },
  }).createMachine({
    id: 'fulfilment',
    context: ({ input }) => ({
      ...{ order: input, approvedBy: null, paymentId: '', reservationId: '' },
      ...{ shipmentIds: [], captureId: '', messageId: null },
    }),
    initial: 'preparing',
    states: {
      preparing: {
        type: 'parallel',
        states: {
          money: {
            initial: 'authorising',
            states: {
              authorising: {
                invoke: {
                  id: 'payment',
                  src: 'authorisePayment',
                  input: ({ context: { order } }) => ({ orderId: order.orderId, amount: order.total }),
                  onDone: {
                    target: 'authorised',
                    actions: assign({ paymentId: ({ event }) => event.output.paymentId }),
                  },
                  onError: '#fulfilment.takingBack',
                },
              },
              authorised: { type: 'final' },
            },
          },
          goods: {
            initial: 'reserving',
            states: {
              reserving: {
                invoke: {
                  id: 'stock',
                  src: 'reserveStock',
                  input: ({ context: { order } }) => ({ orderId: order.orderId, lines: order.lines }),
                  onDone: {
                    target: 'reserved',
                    actions: assign({ reservationId: ({ event }) => event.output.reservationId }),
                  },
                  onError: '#fulfilment.takingBack',
                },
              },
              reserved: { type: 'final' },
            },
          },
        },
        onDone: [{ guard: 'needsApproval', target: 'reviewing' }, { target: 'packing' }],
      },
      reviewing: {
        on: { approved: { target: 'packing', actions: assign({ approvedBy: ({ event }) => event.payload.by }) } },
        after: { patience: 'takingBack' },
      },
      packing: { always: [{ guard: 'isInParcels', target: 'dispatching' }, { target: 'shipping' }] },
      dispatching: {
        invoke: {
          id: 'parcels',
          src: 'dispatchParcels',
          input: ({ context: { order, reservationId } }) => ({
            ...{ orderId: order.orderId, address: order.address, reservationId, parcels: order.parcels ?? [] },
          }),
          onDone: { target: 'capturing', actions: assign({ shipmentIds: ({ event }) => event.output.shipmentIds }) },
          onError: 'takingBack',
        },
      },
      shipping: {
        invoke: {
          id: 'shipment',
          src: 'createShipment',
          input: ({ context: { order, reservationId } }) => ({
            ...{ orderId: order.orderId, address: order.address, reservationId },
          }),
          onDone: { target: 'capturing', actions: assign({ shipmentIds: ({ event }) => [event.output.shipmentId] }) },
          onError: 'takingBack',
        },
      },
      capturing: {
        invoke: {
          id: 'capture',
          src: 'capturePayment',
          input: ({ context: { order, paymentId } }) => ({ orderId: order.orderId, paymentId }),
          onDone: { target: 'telling', actions: assign({ captureId: ({ event }) => event.output.captureId }) },
          onError: 'takingBack',
        },
      },
      telling: {
        invoke: {
          id: 'email',
          src: 'sendEmail',
          input: ({ context: { order, shipmentIds } }) => ({
            ...{ orderId: order.orderId, to: order.email, shipmentIds },
          }),
          onDone: { target: 'fulfilled', actions: assign({ messageId: ({ event }) => event.output.messageId }) },
          // The goods are on their way and paid for: that is not undone because a mailbox is full.
          onError: 'fulfilled',
        },
      },
      takingBack: { invoke: { src: 'compensate', onDone: 'takenBack' } },
      fulfilled: { type: 'final' },
      takenBack: { type: 'final' },
    },
    output: ({ context: { approvedBy, shipmentIds, captureId, messageId } }) => ({
      ...{ approvedBy, shipmentIds, captureId, messageId },
    }),
  });
  return saga('fulfilment', {
    input: typed<Order>(),
    key: ({ input }) => input.orderId,
    // Two days for whoever approves, and two hours for everything else.
    within: '50h',
    ...{ machine, operations: parts },
    pivot: 'capture',
  });
}
