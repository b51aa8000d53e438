/**
 * Operations at the scripted provider, for worker processes in real time: what is sent, what a reply means, and how one
 * asks what became of it. The times are short, because a run is, and long enough for a busy machine to keep what they
 * promise about the provider.
 */

import { absent, failed, found, inconclusive, notApplied, succeeded, typed } from 'sagacity';

export interface Order {
  readonly orderId: string;
  readonly amount: number;
}

/** How an order is described, whatever is done for it. */
export const ofOrder = {
  input: typed<Order>(),
  key: ({ input }: { input: Order }) => input.orderId,
} as const;

/** What every operation here has. */
export const every = {
  ...ofOrder,
  timeout: '1s',
  sendWithin: '1s',
  retry: { attempts: 4, backoff: 'fixed', delay: '100ms', jitter: 'none' },
} as const;

/** How the provider is asked. */
export const asking = { visibleWithin: '100ms', every: '200ms' } as const;

export interface Sending {
  readonly idempotencyKey: string;
  readonly abortSignal: AbortSignal;
}

/** At a provider that knows keys and can be asked, where records of this kind are made. */
export function aided(url: string, path: string) {
  return {
    ...every,
    execute: ({ input, idempotencyKey, abortSignal }: Sending & { readonly input: Order }) =>
      post(`${url}/${path}`, input, { idempotencyKey, abortSignal }),
    keyRetention: '24h' as const,
    lookup: {
      ...asking,
      find: ({ idempotencyKey, abortSignal }: Sending) =>
        findAt(`${url}/${path}/by-idempotency-key/${encodeURIComponent(idempotencyKey)}`, abortSignal),
    },
  };
}

/** The key goes along also where it is ignored, so that the provider's log tells whose request it was. */
export async function post(url: string, order: Order, { idempotencyKey, abortSignal }: Sending) {
  const reply = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
    body: JSON.stringify(order),
    signal: abortSignal,
  });
  if (reply.status === 402) return failed('declined');
  if (reply.status === 409) return notApplied('busy');
  const [first] = reply.ok ? recordsIn(await reply.json()) : [];
  if (first === undefined) throw new Error(`The provider replied ${reply.status} and no record.`);
  return first;
}

/** What the provider has under this address. */
export async function findAt(url: string, signal: AbortSignal) {
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
