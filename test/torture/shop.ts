/**
 * What the tortured shop does at other companies: one operation for each pair of answers to "does it know keys?" and
 * "can it be asked?". The times are short, because a run is, and long enough for a busy machine to keep what they
 * promise about the provider.
 */

import { absent, failed, found, inconclusive, operation, succeeded, typed } from 'sagacity';
import type { CallModeName } from '../../src/testing/provider/modes.ts';

export interface Order {
  readonly orderId: string;
  readonly amount: number;
}

/** The operations, by the kind of the records that they make at the provider. */
export const kinds = ['payment', 'job', 'booking', 'email'] as const;

export type Kind = (typeof kinds)[number];

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
  return {
    /** Knows keys and can be asked. */
    payment: operation('card.charge', {
      ...every,
      execute: ({ input, idempotencyKey, abortSignal }) =>
        post(`${url}/payments`, input, { idempotencyKey, abortSignal }),
      keyRetention: '24h',
      lookup: {
        ...asking,
        find: ({ idempotencyKey, abortSignal }) =>
          findAt(`${url}/payments/by-idempotency-key/${encodeURIComponent(idempotencyKey)}`, abortSignal),
      },
    }),
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
