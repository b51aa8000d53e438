/**
 * The paths under `/_test`: a test writes what the provider shall do, and reads what it really did. Reading never
 * changes anything; a script that cannot be read in full changes nothing either.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { answer, readBody } from './exchange.ts';
import { kinds } from './kinds.ts';
import type { Ledger } from './ledger.ts';
import type { ProviderLog } from './log.ts';
import { callModes, lookupModes, readModes } from './modes.ts';
import type { LookupModeName } from './modes.ts';
import type { Operations } from './operations.ts';
import { readPayload } from './payload.ts';
import type { JsonObject } from './payload.ts';
import type { Script } from './script.ts';

export interface TestPathParts {
  readonly ledger: Ledger;
  readonly log: ProviderLog;
  readonly lookups: Script<LookupModeName>;
  readonly operations: Operations;
  readonly reset: () => void;
}

/** A record as the proof shows it. `n` is its place in the ledger. */
export interface ProviderRecord {
  readonly kind: string;
  readonly key: string | null;
  readonly id: string;
  readonly orderId: string | null;
  readonly n: number;
}

type Answer = { readonly status: number; readonly body: object };
type ServeTestPath = (
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
  query: URLSearchParams,
) => Promise<void>;

export function openTestPaths({ ledger, log, lookups, operations, reset }: TestPathParts): ServeTestPath {
  const { calls, faults } = operations;

  const reads: Readonly<Record<string, (query: URLSearchParams) => object>> = {
    '/_test/health': () => ({ ok: true, pid: process.pid, records: ledger.all().length }),
    '/_test/jobs': () => {
      const jobs = recordsOf(ledger, 'job', null).map(({ key, id, orderId }) => ({ key, id, orderId }));
      return { count: jobs.length, jobs };
    },
    '/_test/records': (query) => {
      const records = recordsOf(ledger, query.get('kind'), query.get('key'));
      return { count: records.length, records };
    },
    '/_test/log': (query) => {
      const [kind, key] = [query.get('kind'), query.get('key')];
      const requests = log.received().filter((one) => (kind ?? one.kind) === one.kind && (key ?? one.key) === one.key);
      return { count: requests.length, requests };
    },
  };

  const writes: Readonly<Record<string, (body: JsonObject) => Answer>> = {
    '/_test/faults': (body) => append(faults, callModes, body, 'faults'),
    '/_test/calls': (body) => append(calls, callModes, body, 'calls'),
    '/_test/lookups': (body) => append(lookups, lookupModes, body, 'lookups'),
    '/_test/release': ({ kind, key }) => {
      const which = { ...(typeof kind === 'string' ? { kind } : {}), ...(typeof key === 'string' ? { key } : {}) };
      return { status: 200, body: { released: operations.release(which) } };
    },
    '/_test/quiet': () => {
      for (const script of [calls, faults, lookups]) script.clear();
      return { status: 200, body: { ok: true } };
    },
    '/_test/reset': () => {
      reset();
      return { status: 200, body: { ok: true } };
    },
  };

  return async (request, response, path, query) => {
    if (request.method === 'GET') {
      if (path === '/_test/entries') return tellEntries(log, response, Number(query.get('after') ?? 0));
      const read = Object.hasOwn(reads, path) ? reads[path] : undefined;
      answer(response, read === undefined ? 404 : 200, read === undefined ? { error: 'not_found' } : read(query));
      return;
    }
    const write = request.method === 'POST' && Object.hasOwn(writes, path) ? writes[path] : undefined;
    const sent = await readBody(request);
    if (sent.got === 'gone') return;
    const { status, body } =
      write === undefined ? notFound : written(write, sent.got === 'text' ? sent.text : undefined);
    answer(response, status, body);
  };
}

const notFound: Answer = { status: 404, body: { error: 'not_found' } };

function written(write: (body: JsonObject) => Answer, text: string | undefined): Answer {
  if (text === undefined) return { status: 413, body: { error: 'body_too_large' } };
  const read = readPayload(text === '' ? '{}' : text);
  return read.ok ? write(read.body) : { status: 400, body: { error: read.error } };
}

function append<Name extends string>(
  script: Script<Name>,
  table: Readonly<Record<Name, { readonly ms?: number | 'optional' }>>,
  body: JsonObject,
  field: string,
): Answer {
  const { kind } = body;
  if (kind !== undefined && (typeof kind !== 'string' || !kinds.includes(kind))) {
    const message = `Unknown kind ${JSON.stringify(kind)}. Kinds: ${kinds.join(', ')}.`;
    return { status: 400, body: { error: 'unknown_kind', message } };
  }
  const read = readModes(table, body[field]);
  if (!read.ok) return { status: 400, body: { error: 'unknown_mode', message: read.message } };
  script.append(read.modes, kind);
  return { status: 200, body: { queued: read.modes.length } };
}

// The answer waits until there is something to tell: whoever reads in a loop sees every entry and never polls.
function tellEntries(log: ProviderLog, response: ServerResponse, after: number): void {
  const leave = log.entriesAfter(after, (entries) => answer(response, 200, { entries }));
  response.once('close', leave);
}

function recordsOf(ledger: Ledger, kind: string | null, key: string | null): ProviderRecord[] {
  return ledger
    .all()
    .filter((record) => (kind ?? record.kind) === record.kind && (key ?? record.key) === record.key)
    .map(({ kind, key, id, body, n }) => {
      const { orderId } = body;
      return { kind, key, id, orderId: typeof orderId === 'string' ? orderId : null, n };
    });
}
