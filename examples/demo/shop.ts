/**
 * What the demo's shop does at other companies. Each operation says what is true of its provider, and that decides
 * what becomes of a lost reply: sent again under the same key, looked up, or handed to a person. The provider is the
 * authority on what happened; a reply that is not a clear yes proves nothing here and is thrown.
 */

import { absent, found, inconclusive, operation, succeeded, typed } from 'sagacity';

export interface Order {
  readonly orderId: string;
  readonly amount: number;
}

/** The shop's operations at the provider that listens at `url`. */
export function shopAt(url: string) {
  const findJob = findAt(`${url}/jobs`);
  const findPayment = findAt(`${url}/payments`);
  return {
    /** This warehouse honours keys and cannot be asked: the same key may be sent again. */
    createJob: operation('job.create', {
      input: typed<Order>(),
      key: ({ input }) => input.orderId,
      execute: ({ input, idempotencyKey, abortSignal }) => post(`${url}/jobs`, input, abortSignal, idempotencyKey),
      keyRetention: '24h',
      lookup: 'none',
      retry,
    }),
    /** This warehouse can be asked what became of a key. */
    createTrackedJob: operation('job.create-tracked', {
      input: typed<Order>(),
      key: ({ input }) => input.orderId,
      execute: ({ input, idempotencyKey, abortSignal }) => post(`${url}/jobs`, input, abortSignal, idempotencyKey),
      keyRetention: '24h',
      lookup: { visibleWithin: '1s', find: findJob },
      retry,
    }),
    chargeCard: operation('card.charge', {
      input: typed<Order>(),
      key: ({ input }) => input.orderId,
      execute: ({ input, idempotencyKey, abortSignal }) => post(`${url}/payments`, input, abortSignal, idempotencyKey),
      keyRetention: '24h',
      lookup: { visibleWithin: '1s', find: findPayment },
      retry,
    }),
    /** This mail service ignores keys and cannot be asked: what is unknown stays unknown until a person looks. */
    sendEmail: operation('email.send-keyless', {
      input: typed<Order>(),
      key: ({ input }) => input.orderId,
      execute: ({ input, abortSignal }) => post(`${url}/keyless/emails`, input, abortSignal),
      keyRetention: 'none',
      lookup: 'none',
      retry,
    }),
  };
}

/** Short and regular, because somebody is watching. */
const retry = { attempts: 3, backoff: 'fixed', delay: '200ms', jitter: 'none' } as const;

async function post(url: string, order: Order, signal: AbortSignal, idempotencyKey?: string) {
  const reply = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
    },
    body: JSON.stringify(order),
    signal,
  });
  if (!reply.ok) throw new Error(`The provider replied ${reply.status}.`);
  return record(await reply.json());
}

function findAt(url: string) {
  return async ({ idempotencyKey, abortSignal }: { idempotencyKey: string; abortSignal: AbortSignal }) => {
    const reply = await fetch(`${url}/by-idempotency-key/${encodeURIComponent(idempotencyKey)}`, {
      signal: abortSignal,
    });
    if (reply.status === 404) return absent();
    return reply.ok ? found(record(await reply.json())) : inconclusive(`the look-up was answered ${reply.status}`);
  };
}

function record(body: unknown) {
  if (typeof body === 'object' && body !== null && 'id' in body && typeof body.id === 'string') {
    return succeeded({ id: body.id }, { reference: body.id });
  }
  throw new Error('The reply holds no record.');
}
