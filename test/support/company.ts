/**
 * Operations at the scripted provider, for worker processes in real time: what is sent, what a reply means, and how one
 * asks what became of it. The times are short, because a run is, and long enough for a busy machine to keep what they
 * promise about the provider.
 */

import {
  absent,
  type AttemptHttp,
  type Duration,
  failed,
  found,
  inconclusive,
  type LookupHttp,
  notApplied,
  succeeded,
  typed,
} from 'sagacity';
import { contract } from 'sagacity/providers';

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

/** The same provider, as a contract describes it, sent to by the library. */
export function contracted(url: string, path: string, { arrivalLimit }: { readonly arrivalLimit?: '3s' } = {}) {
  const known = contract({
    ...{ name: `scripted/${path}`, version: '1', docs: 'https://company.example/keys', verified: 'unverified' },
    key: { in: 'header', name: 'Idempotency-Key' },
    keyRetention: '24h',
    sameKey: {
      ...{ afterSuccess: 'first-reply', whileRunning: 'unsaid', afterRefusal: 're-executes' },
      ...{ afterServerError: 'resumes', otherParameters: 'refused' },
    },
    lookup: { by: 'key', visibleWithin: '100ms', ...(arrivalLimit === undefined ? {} : { arrivalLimit }) },
    replies: [
      { status: 409, proves: 'not-done' },
      { status: 422, proves: 'key-conflict' },
    ],
    codeAt: 'error',
  });
  return {
    ...every,
    contract: known,
    execute: ({ input, http }: { readonly input: Order; readonly http: AttemptHttp }) =>
      http.send({ url: `${url}/${path}`, json: input }, ({ body }) => firstIn(body)),
    lookup: {
      every: '200ms' as Duration,
      find: ({ idempotencyKey, http }: { readonly idempotencyKey: string; readonly http: LookupHttp }) =>
        http.ask({ url: `${url}/${path}/by-idempotency-key/${idempotencyKey}` }, ({ status, body }) =>
          status === 404 ? absent() : found(firstIn(body), ...recordsIn(body).slice(1)),
        ),
    },
  };
}

function firstIn(body: unknown) {
  const [first] = recordsIn(body);
  if (first === undefined) throw new Error('There is no record in it.');
  return first;
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
