/**
 * What the tortured shop does at other companies: one operation for each pair of answers to "does it know keys?" and
 * "can it be asked?", a saga that usually succeeds, and one whose last step is usually refused.
 */

import { operation, saga } from 'sagacity';
import type { CallModeName } from '../../src/testing/provider/modes.ts';
import { aided, asking, contracted, every, findAt, ofOrder, post } from '../support/company.ts';

/** What can be ordered as one operation, by the kind of the records that it makes at the provider. */
export const operationKinds = ['payment', 'job', 'booking', 'email'] as const;

/** What can be ordered as a saga, with the kinds of the records that its steps make. */
export const stepsOf = {
  delivery: ['authorisation', 'reservation', 'shipment'],
  barter: ['charge', 'transfer'],
} as const;

export type OperationKind = (typeof operationKinds)[number];
export type SagaKind = keyof typeof stepsOf;
export type Kind = OperationKind | SagaKind;

export const sagaKinds = ['delivery', 'barter'] as const satisfies readonly SagaKind[];

export function isSagaKind(kind: Kind): kind is SagaKind {
  return kind in stepsOf;
}

/** The action that takes back what an action of the sagas did. */
export const inverseOf: Readonly<Record<string, string>> = {
  'money.authorise': 'money.void',
  'goods.reserve': 'goods.release',
  'parcel.send': 'parcel.cancel',
  'barter.charge': 'barter.refund',
};

/** What the provider does with some of its new operations instead of what it was asked. It keeps its promises in all. */
export const troubles: readonly [Trouble, ...Trouble[]] = [
  'commit-then-drop',
  'commit-then-error',
  'fail-before-commit',
  'decline',
  'slow(300)',
];

type Trouble = CallModeName | `slow(${number})`;

/** The shop's operations at the provider that listens at `url`. */
export function shopAt(url: string) {
  const undoable = (action: string, path: string, undoing: string) =>
    operation(action, {
      ...aided(url, path),
      compensate: { operation: operation(inverseOf[action] ?? '', aided(url, undoing)), input: ({ input }) => input },
    });
  return {
    delivery: saga('delivery', ofOrder)
      .step('money', undoable('money.authorise', 'authorisations', 'voids'), ({ input }) => input)
      .step('goods', undoable('goods.reserve', 'reservations', 'releases'), ({ input }) => input)
      .step('parcel', undoable('parcel.send', 'shipments', 'cancellations'), ({ input }) => input),
    barter: saga('barter', ofOrder)
      .step('give', undoable('barter.charge', 'charges', 'refunds'), ({ input }) => input)
      .step('take', operation('barter.transfer', contracted(url, 'transfers')), ({ input }) => input, {
        compensate: { none: 'it is the last step' },
      }),
    payment: operation('card.charge', contracted(url, 'payments')),
    /** Knows keys and cannot be asked. */
    job: operation('job.create', {
      ...every,
      execute: ({ input, idempotencyKey, abortSignal }) => post(`${url}/jobs`, input, { idempotencyKey, abortSignal }),
      keyRetention: '24h',
      lookup: 'none',
    }),
    /** Ignores keys, can be asked, and says how late a request can still take effect. */
    booking: operation('room.book', {
      ...every,
      execute: ({ input, idempotencyKey, abortSignal }) =>
        post(`${url}/keyless/bookings`, input, { idempotencyKey, abortSignal }),
      keyRetention: 'none',
      lookup: {
        ...asking,
        arrivalLimit: '3s',
        find: ({ input, abortSignal }) =>
          findAt(`${url}/keyless/bookings?reference=${encodeURIComponent(input.orderId)}`, abortSignal),
      },
    }),
    /** Ignores keys and cannot be asked: what is unknown goes to a person. */
    email: operation('email.send', {
      ...every,
      execute: ({ input, idempotencyKey, abortSignal }) =>
        post(`${url}/keyless/emails`, input, { idempotencyKey, abortSignal }),
      keyRetention: 'none',
      lookup: 'none',
    }),
  };
}
