/**
 * The fulfilment of an order as an XState machine: the same steps, the same pivot and the same records as the chain in
 * `builder.ts`. An operation is invoked by its name; `onDone` is its proven success and `onError` its proven refusal,
 * and as long as nobody knows neither comes. `compensate` takes back what the saga has achieved, whatever that is by
 * then. The id of an invocation is the name of its step, and part of the key that the company is given.
 */

import { saga, typed } from 'sagacity';
import { actorsFrom } from 'sagacity/xstate';
import { assign, setup } from 'xstate';
import type { Operations, Order } from './operations.ts';

export interface Progress {
  readonly order: Order;
  readonly paymentId: string;
  readonly reservationId: string;
  readonly shipmentId: string;
  readonly captureId: string;
  readonly messageId: string | null;
}

export interface Fulfilled {
  readonly shipmentId: string;
  readonly captureId: string;
  readonly messageId: string | null;
}

export function fulfilmentAsMachine(operations: Operations) {
  const machine = setup({
    // XState takes types by example; these values are never read.
    types: { context: {} as Progress, input: {} as Order, output: {} as Fulfilled },
    actors: actorsFrom(operations),
  }).createMachine({
    id: 'fulfilment',
    context: ({ input }) => ({
      ...{ order: input, paymentId: '', reservationId: '', shipmentId: '', captureId: '', messageId: null },
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
        onDone: 'shipping',
      },
      shipping: {
        invoke: {
          id: 'shipment',
          src: 'createShipment',
          input: ({ context: { order, reservationId } }) => ({
            ...{ orderId: order.orderId, address: order.address, reservationId },
          }),
          onDone: { target: 'capturing', actions: assign({ shipmentId: ({ event }) => event.output.shipmentId }) },
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
          input: ({ context: { order, shipmentId } }) => ({
            ...{ orderId: order.orderId, to: order.email, shipmentId },
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
    output: ({ context: { shipmentId, captureId, messageId } }) => ({ shipmentId, captureId, messageId }),
  });
  return saga('fulfilment', {
    input: typed<Order>(),
    key: ({ input }) => input.orderId,
    within: '2h',
    ...{ machine, operations },
    pivot: 'capture',
  });
}
