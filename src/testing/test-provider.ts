/**
 * Other companies, as far as a test needs them: their books are kept in memory, one set for each test orchestrator, and
 * written by nobody but executors. Whoever writes is known by the call it runs in, so that records are counted by
 * operation and whatever key the executor gave; what the library believes is never asked.
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import { differingPaths } from '../domain/canonical.ts';
import { definitionInvalid, type SagacityError } from '../domain/errors.ts';
import type { Call } from '../ports/caller.ts';
import { inLife, type Life } from './life.ts';

/** A business record at a company. */
export interface TestRecord {
  readonly id: string;
  /** What the company calls its records of this sort. */
  readonly kind: string;
  /** The idempotency key that it was made under; null: none was given. */
  readonly key: string | null;
  readonly body: unknown;
}

/** One company's books. Its methods may be called by executors and look-ups of a test orchestrator only. */
export interface TestProvider {
  /**
   * Makes a record, or gives the one that was made under this key. Without a key there is a new one each time. Rejects
   * when the key was used with another body, and with DEFINITION_INVALID when this operation has sent here under another
   * key before: one that is made anew for a request, by an executor or the client beneath it, makes another record. The
   * test fails by that, whatever the executor does with it.
   */
  make(key: string | null, body: unknown): Promise<TestRecord>;
  /** The record that was made under this key. */
  find(key: string): Promise<TestRecord | null>;
}

/** What all companies of one test orchestrator hold, and what they have noticed about those who write. */
export interface Books {
  /** Oldest first. */
  readonly records: (TestRecord & { readonly action: string })[];
  /** Of each operation at each company, the key that it was sent under first. */
  readonly keys: Map<string, string>;
  /** By action, executors that made a key of their own. */
  readonly faults: Map<string, SagacityError>;
}

export function newBooks(): Books {
  return { records: [], keys: new Map(), faults: new Map() };
}

interface Visit {
  readonly books: Books;
  readonly life: Life;
  readonly call: Call;
}

const visits = new AsyncLocalStorage<Visit>();

/** Calls an executor or a look-up of a process, which finds these books. */
export function visiting(books: Books, life: Life, call: Call, go: () => unknown): unknown {
  return visits.run({ books, life, call }, go);
}

/**
 * A company that honours keys, for the executors and look-ups of a test: give it to them where they have a client
 * otherwise. It holds nothing itself, so that one serves all tests; each test orchestrator has books of its own.
 *
 * @example
 * const charges = testProvider('charge');
 * const bank = {
 *   charge: (amount: number, { idempotencyKey }: { idempotencyKey: string }) => charges.make(idempotencyKey, { amount }),
 *   chargeByKey: (key: string) => charges.find(key),
 * };
 */
export function testProvider(kind: string): TestProvider {
  const under = (books: Books, key: string | null) =>
    key === null ? undefined : books.records.find((record) => record.kind === kind && record.key === key);
  return {
    async make(key, body) {
      const { books, life, call } = visitHere();
      const { action } = call;
      return inLife(life, () => {
        assertOneKey(books, call, kind, key);
        const earlier = under(books, key);
        if (earlier === undefined) {
          const id = `${kind}_${books.records.filter((record) => record.kind === kind).length + 1}`;
          const record = { id, kind, key, body, action };
          books.records.push(record);
          return record;
        }
        if (differingPaths(earlier.body, body).length === 0) return earlier;
        throw new KeyReused(kind);
      });
    },
    async find(key) {
      const { books, life } = visitHere();
      return inLife(life, () => under(books, key) ?? null);
    },
  };
}

/** Whatever key an executor gives, it is the same whenever this operation is sent. */
function assertOneKey(
  { keys, faults }: Books,
  { tenant, operationId, action }: Call,
  kind: string,
  key: string | null,
) {
  if (key === null) return;
  const place = JSON.stringify([tenant, operationId, kind]);
  const first = keys.get(place);
  if (first === undefined) keys.set(place, key);
  if (first === undefined || first === key) return;
  const fault = definitionInvalid(
    `The executor of ${action} has sent one ${kind} under two keys.`,
    "Hand on the idempotencyKey as it is, with every request, and switch the client's own retries off.",
    { action },
  );
  faults.set(action, fault);
  throw fault;
}

class KeyReused extends Error {
  constructor(kind: string) {
    super(`This key was used for another ${kind}.`);
  }
}

function visitHere(): Visit {
  const visit = visits.getStore();
  if (visit !== undefined) return visit;
  throw new Error('A test provider can be called by executors and look-ups of a test orchestrator only.');
}

const lookUpPath = /^(.+)\/by-idempotency-key\/([^/]+)$/;

/**
 * A `fetch` that leads to test providers instead of the network, for executors that speak HTTP: `POST /charges` with the
 * header `idempotency-key` makes a record, `GET /charges/by-idempotency-key/KEY` finds it or answers 404. Every path is
 * a company of its own, and any host will do.
 *
 * @example
 * const operations = operationsAt('http://companies.example', testFetch);
 */
export const testFetch: typeof fetch = async (resource, init) => {
  const request = new Request(resource, init);
  const { pathname } = new URL(request.url);
  const [, kind = pathname, asked] = lookUpPath.exec(pathname) ?? [];
  const provider = testProvider(kind.slice(1));
  if (request.method === 'GET' && asked !== undefined) {
    const record = await provider.find(decodeURIComponent(asked));
    return record === null ? Response.json({ error: 'not_found' }, { status: 404 }) : Response.json(record);
  }
  if (request.method !== 'POST') return Response.json({ error: 'method_not_allowed' }, { status: 405 });
  const body: unknown = await request.json();
  try {
    return Response.json(await provider.make(request.headers.get('idempotency-key'), body), { status: 201 });
  } catch (error) {
    if (error instanceof KeyReused) return Response.json({ error: 'idempotency_key_reused' }, { status: 422 });
    throw error;
  }
};
