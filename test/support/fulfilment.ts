/** The operations of a shop that sends goods, as definitions alone: nothing in the tests that use them executes one. */

import { operation } from '../../src/define/operation.ts';
import { typed } from '../../src/define/schema.ts';
import { failed, succeeded } from '../../src/domain/outcome.ts';

export interface Order {
  readonly orderId: string;
  readonly total: number;
  readonly lines: readonly string[];
  readonly address: string;
  readonly email: string;
}

const unaided = { keyRetention: '7d', lookup: 'none' } as const;

export const voidPayment = operation('payment.void', {
  input: typed<{ paymentId: string }>(),
  execute: () => succeeded({ voided: true }),
  ...unaided,
});

export const authorisePayment = operation('payment.authorise', {
  input: typed<{ orderId: string; amount: number; note?: string }>(),
  execute: ({ input }) => (input.amount > 100 ? failed('card_declined') : succeeded({ paymentId: 'p' })),
  compensate: { operation: voidPayment, input: ({ output }) => ({ paymentId: output.paymentId }) },
  ...unaided,
});

export const releaseStock = operation('stock.release', {
  input: typed<{ reservationId: string }>(),
  execute: () => succeeded({ released: true }),
  ...unaided,
});

/** Says nothing about how it is taken back. */
export const reserveStock = operation('stock.reserve', {
  input: typed<{ lines: readonly string[] }>(),
  execute: ({ input }) => (input.lines.length > 9 ? failed('out_of_stock') : succeeded({ reservationId: 'r' })),
  ...unaided,
});

export const checkAddress = operation('address.check', {
  input: typed<{ address: string }>(),
  execute: ({ input }) => (input.address === '' ? failed('no_address') : succeeded({ zone: 'north' })),
  compensate: { none: 'it only asks' },
  ...unaided,
});

/** Says nothing about how it is taken back, and need not where it is the pivot. */
export const capturePayment = operation('payment.capture', {
  input: typed<{ paymentId: string }>(),
  execute: ({ input }) => (input.paymentId === '' ? failed('expired') : succeeded({ captureId: 'c' })),
  ...unaided,
});

export const sendEmail = operation('email.send', {
  input: typed<{ to: string; template: 'paid' | 'shipped' }>(),
  execute: () => succeeded({ messageId: 'm' }),
  ...unaided,
});

export const bookCourier = operation('courier.book', {
  input: typed<{ address: string }>(),
  execute: ({ input }) => (input.address === '' ? failed('no_courier') : succeeded({ tracking: 't' })),
  ...unaided,
});
