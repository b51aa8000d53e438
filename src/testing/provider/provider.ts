/**
 * The company as a whole: which path leads where. Business paths are noted in the log from the moment their head
 * arrives; the test's own paths under `/_test` script the provider and read its proof, and are not part of it.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ProviderClock } from './clock.ts';
import { answer, drop } from './exchange.ts';
import { kindAt } from './kinds.ts';
import type { Ledger } from './ledger.ts';
import type { ProviderLog } from './log.ts';
import { openLookUps } from './look-ups.ts';
import { lookupModes } from './modes.ts';
import type { LookupModeName } from './modes.ts';
import { openOperations } from './operations.ts';
import { lastingScript } from './script.ts';
import { openTestPaths } from './test-paths.ts';
import { reply } from './visit.ts';
import type { Visit } from './visit.ts';

export interface ProviderParts {
  readonly ledger: Ledger;
  readonly log: ProviderLog;
  readonly clock: ProviderClock;
  readonly keyHeader: string;
}

/** Serves one request; the promise is done when the request is, which for a held reply may be never. */
export type ServeRequest = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

export function openProvider({ ledger, log, clock, keyHeader }: ProviderParts): ServeRequest {
  const lookups = lastingScript<LookupModeName>(
    () => clock.now(),
    ({ name }) => lookupModes[name].ms === 'optional',
  );
  const operations = openOperations(ledger, lookups, clock);
  const lookUps = openLookUps(ledger, lookups, clock);
  const serving = new Set<ServerResponse>();
  // Work begun before a reset belongs to a world that is gone.
  let world = 1;

  const reset = () => {
    world += 1;
    operations.reset();
    lookups.clear();
    ledger.reset();
    log.reset();
    for (const response of serving) drop(response);
  };
  const testPaths = openTestPaths({ ledger, log, lookups, operations, reset });

  return async (request, response) => {
    const { path, query } = split(request.url ?? '/');
    if (path.startsWith('/_test/')) return testPaths(request, response, path, query);
    const method = request.method ?? 'GET';
    const target = businessPath(method, path);
    const key = target?.key ?? headerOf(request, keyHeader);
    const open = log.receive({ method, path: request.url ?? '/', key, kind: target?.kind ?? null });
    serving.add(response);
    response.once('close', () => serving.delete(response));
    const begun = world;
    const stillCounts = () => begun === world;
    const { kind = 'none', keyless = false } = target ?? {};
    const visit: Visit = { kind, key, keyless, open, request, response, stillCounts };
    if (target === undefined) return reply(visit, 404, { error: 'not_found' });
    if (target.leadsTo === 'operation') return operations.post(visit);
    if (target.leadsTo === 'look-up by key') return lookUps.byKey(visit);
    return lookUps.byReference(visit, query.get('reference'));
  };
}

/** Refuses a request that broke the provider itself, so that the fault is not taken for one of the scripted ones. */
export function confess(response: ServerResponse, fault: unknown): void {
  if (response.headersSent) return drop(response);
  answer(response, 500, { error: 'provider_broken', message: fault instanceof Error ? fault.message : String(fault) });
}

interface BusinessPath {
  readonly kind: string;
  readonly keyless: boolean;
  readonly leadsTo: 'operation' | 'look-up by key' | 'list by reference';
  readonly key?: string;
}

function businessPath(method: string, path: string): BusinessPath | undefined {
  const [, ...all] = path.split('/');
  const keyless = all[0] === 'keyless';
  const [plural = '', ...rest] = keyless ? all.slice(1) : all;
  const kind = kindAt(plural);
  if (kind === undefined) return undefined;
  if (rest.length === 0) {
    if (method === 'POST') return { kind, keyless, leadsTo: 'operation' };
    return method === 'GET' && keyless ? { kind, keyless, leadsTo: 'list by reference' } : undefined;
  }
  const key = rest.length === 2 && rest[0] === 'by-idempotency-key' ? decoded(rest[1] ?? '') : undefined;
  return method === 'GET' && key !== undefined ? { kind, keyless, leadsTo: 'look-up by key', key } : undefined;
}

function split(url: string): { path: string; query: URLSearchParams } {
  const [path = '', ...query] = url.split('?');
  return { path, query: new URLSearchParams(query.join('?')) };
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function headerOf(request: IncomingMessage, name: string): string | null {
  const value = request.headers[name];
  return typeof value === 'string' && value !== '' ? value : null;
}
