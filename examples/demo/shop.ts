/**
 * What the demo's shop does at other companies. Each operation says what is true of its provider, and that decides
 * what becomes of a lost reply: sent again under the same key, looked up, or handed to a person. The provider is the
 * authority on what happened; a reply proves what its contract says, and no more.
 */

import { absent, found, type LookupHttp, operation, succeeded, typed } from 'sagacity';
import { idempotencyKeyHeader } from 'sagacity/providers';

export interface Order {
  readonly orderId: string;
  readonly amount: number;
}

/** What the demo's provider promises of its keys. */
const keyed = idempotencyKeyHeader({
  ...{ name: 'demo-company', docs: 'https://docs.company.example/keys', verified: 'unverified' },
  ...{ keyRetention: '24h', encoding: 'raw', afterServerError: 'resumes' },
  lookup: { by: 'key', visibleWithin: '1s' },
});

/** The shop's operations at the provider that listens at `url`. */
export function shopAt(url: string) {
  const findAt = (path: string) => ({
    find: ({ http, idempotencyKey }: { http: LookupHttp; idempotencyKey: string }) =>
      http.ask({ url: `${url}${path}/by-idempotency-key/${idempotencyKey}` }, ({ status, body }) =>
        status === 404 ? absent() : found(recordIn(body)),
      ),
  });
  return {
    /** This warehouse honours keys and cannot be asked: the same key may be sent again. */
    createJob: operation('job.create', {
      input: typed<Order>(),
      key: ({ input }) => input.orderId,
      execute: ({ input, http }) => http.send({ url: `${url}/jobs`, json: input }, ({ body }) => recordIn(body)),
      ...{ contract: keyed, lookup: 'none', retry },
    }),
    /** This warehouse can be asked what became of a key. */
    createTrackedJob: operation('job.create-tracked', {
      input: typed<Order>(),
      key: ({ input }) => input.orderId,
      execute: ({ input, http }) => http.send({ url: `${url}/jobs`, json: input }, ({ body }) => recordIn(body)),
      ...{ contract: keyed, lookup: findAt('/jobs'), retry },
    }),
    chargeCard: operation('card.charge', {
      input: typed<Order>(),
      key: ({ input }) => input.orderId,
      execute: ({ input, http }) => http.send({ url: `${url}/payments`, json: input }, ({ body }) => recordIn(body)),
      ...{ contract: keyed, lookup: findAt('/payments'), retry },
    }),
    /** This mail service ignores keys and cannot be asked: what is unknown stays unknown until a person looks. */
    sendEmail: operation('email.send-keyless', {
      input: typed<Order>(),
      key: ({ input }) => input.orderId,
      execute: ({ input, http }) =>
        http.send({ url: `${url}/keyless/emails`, json: input }, ({ body }) => recordIn(body)),
      ...{ keyRetention: 'none', lookup: 'none', retry },
    }),
  };
}

/** Short and regular, because somebody is watching. */
const retry = { attempts: 3, backoff: 'fixed', delay: '200ms', jitter: 'none' } as const;

/** What throws here is a success that cannot be read. */
function recordIn(body: unknown) {
  if (typeof body === 'object' && body !== null && 'id' in body && typeof body.id === 'string') {
    return succeeded({ id: body.id }, { reference: body.id });
  }
  throw new Error('The reply holds no record.');
}
