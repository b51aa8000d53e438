/**
 * What the tortured shop does at other companies: one operation for each pair of answers to "does it know keys?" and
 * "can it be asked?", a saga that usually succeeds, and one whose last step is usually refused. The times are short,
 * because a run is, and long enough for a busy machine to keep what they promise about the provider.
 */

import { absent, failed, found, inconclusive, operation, saga, succeeded, typed } from 'sagacity';
import type { CallModeName } from '../../src/testing/provider/modes.ts';

export interface Order {
  readonly orderId: string;
  readonly amount: number;
}

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
  /** Knows keys and can be asked. */
  const aided = (path: string) => ({
    ...every,
    execute: ({ input, idempotencyKey, abortSignal }: Sending & { readonly input: Order }) =>
      post(`${url}/${path}`, input, { idempotencyKey, abortSignal }),
    keyRetention: '24h' as const,
    lookup: {
      ...asking,
      find: ({ idempotencyKey, abortSignal }: Sending) =>
        findAt(`${url}/${path}/by-idempotency-key/${encodeURIComponent(idempotencyKey)}`, abortSignal),
    },
  });
  const undoable = (action: string, path: string, undoing: string) =>
    operation(action, {
      ...aided(path),
      compensate: { operation: operation(inverseOf[action] ?? '', aided(undoing)), input: ({ input }) => input },
    });
  const ordered = { input: every.input, key: every.key };
  return {
    delivery: saga('delivery', ordered)
      .step('money', undoable('money.authorise', 'authorisations', 'voids'), ({ input }) => input)
      .step('goods', undoable('goods.reserve', 'reservations', 'releases'), ({ input }) => input)
      .step('parcel', undoable('parcel.send', 'shipments', 'cancellations'), ({ input }) => input),
    barter: saga('barter', ordered)
      .step('give', undoable('barter.charge', 'charges', 'refunds'), ({ input }) => input)
      .step('take', operation('barter.transfer', aided('transfers')), ({ input }) => input, {
        compensate: { none: 'it is the last step' },
      }),
    payment: operation('card.charge', aided('payments')),
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

const every = {
  input: typed<Order>(),
  key: ({ input }: { input: Order }) => input.orderId,
  timeout: '1s',
  sendWithin: '1s',
  retry: { attempts: 4, backoff: 'fixed', delay: '100ms', jitter: 'none' },
} as const;

const asking = { visibleWithin: '100ms', every: '200ms' } as const;

interface Sending {
  readonly idempotencyKey: string;
  readonly abortSignal: AbortSignal;
}

/** The key goes along also where it is ignored, so that the provider's log tells whose request it was. */
async function post(url: string, order: Order, { idempotencyKey, abortSignal }: Sending) {
  const reply = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
    body: JSON.stringify(order),
    signal: abortSignal,
  });
  if (reply.status === 402) return failed('declined');
  const [first] = reply.ok ? recordsIn(await reply.json()) : [];
  if (first === undefined) throw new Error(`The provider replied ${reply.status} and no record.`);
  return first;
}

async function findAt(url: string, signal: AbortSignal) {
  const reply = await fetch(url, { signal });
  if (reply.status === 404) return absent();
  if (!reply.ok) return inconclusive(`the look-up was answered ${reply.status}`);
  const [first, ...more] = recordsIn(await reply.json());
  return first === undefined ? absent() : found(first, ...more);
}

/** One record, with `others` beside it when there are several, or a list of `records`. */
function recordsIn(body: unknown) {
  if (typeof body !== 'object' || body === null) return [];
  const others: unknown = 'others' in body ? body.others : [];
  const records: unknown = 'records' in body ? body.records : [body, ...(Array.isArray(others) ? others : [])];
  if (!Array.isArray(records)) return [];
  return records.flatMap((record: unknown) =>
    typeof record === 'object' && record !== null && 'id' in record && typeof record.id === 'string'
      ? [succeeded({ id: record.id }, { reference: record.id })]
      : [],
  );
}
