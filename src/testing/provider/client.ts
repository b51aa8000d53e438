/**
 * A test's hold on a running provider, over HTTP only: it works the same for a provider in this process, in a child
 * process, or started by somebody else. What it reads is the provider's word, never a copy kept here.
 */

import { request } from 'node:http';
import type { LogEntry, ReceivedRequest } from './log.ts';
import type { CallModeName, LookupModeName, WrittenMode } from './modes.ts';
import { isObject } from './payload.ts';
import type { ProviderRecord } from './test-paths.ts';

export interface Which {
  readonly kind?: string;
  readonly key?: string;
}

export interface ProviderClient {
  readonly url: string;
  /** The business records, oldest first: the proof of what really happened. */
  records(which?: Which): Promise<readonly ProviderRecord[]>;
  /** The requests that arrived, oldest first, those without a reply included. */
  received(which?: Which): Promise<readonly ReceivedRequest[]>;
  /** Appends modes that new operations take, one each; with a kind, only operations of that kind take them. */
  faults(modes: readonly WrittenMode<CallModeName>[], kind?: string): Promise<void>;
  /** Appends modes that calls take, one per POST, new or not. A call that has a mode takes no fault. */
  calls(modes: readonly WrittenMode<CallModeName>[], kind?: string): Promise<void>;
  /** Appends modes that look-ups take, one each. */
  lookups(modes: readonly WrittenMode<LookupModeName>[], kind?: string): Promise<void>;
  /** Lets held replies go; resolves to how many there were. */
  release(which?: Which): Promise<number>;
  /** Ends all scripted faults; records, log, and replies already held stay as they are. */
  quiet(): Promise<void>;
  /** An empty ledger, no scripts, an empty log; requests in progress are cut off and never take effect. */
  reset(): Promise<void>;
  /** Resolves with the first entry of the log that matches, past or future: for a test that waits for an event. */
  logged(matches: (entry: LogEntry) => boolean): Promise<LogEntry>;
}

export function providerAt(url: string): ProviderClient {
  const read = (path: string) => ask(url, 'GET', path);
  const write = (path: string, body: object) => ask(url, 'POST', path, body);

  return {
    url,
    async records(which = {}) {
      // This and the other lists come from our own server, which makes them as the type says.
      return (await read(`/_test/records${queryOf(which)}`))['records'] as readonly ProviderRecord[];
    },
    async received(which = {}) {
      // As above.
      return (await read(`/_test/log${queryOf(which)}`))['requests'] as readonly ReceivedRequest[];
    },
    async faults(modes, kind) {
      await write('/_test/faults', { faults: modes, kind });
    },
    async calls(modes, kind) {
      await write('/_test/calls', { calls: modes, kind });
    },
    async lookups(modes, kind) {
      await write('/_test/lookups', { lookups: modes, kind });
    },
    async release(which = {}) {
      return Number((await write('/_test/release', which))['released']);
    },
    async quiet() {
      await write('/_test/quiet', {});
    },
    async reset() {
      await write('/_test/reset', {});
    },
    async logged(matches) {
      for (let after = 0; ; ) {
        // As above.
        const entries = (await read(`/_test/entries?after=${after}`))['entries'] as readonly LogEntry[];
        const match = entries.find(matches);
        if (match !== undefined) return match;
        after = entries.at(-1)?.seq ?? after;
      }
    },
  };
}

function queryOf(which: Which): string {
  const query = new URLSearchParams({ ...which }).toString();
  return query === '' ? '' : `?${query}`;
}

// One connection a request, and no fetch: a test that replaces the global fetch must not cut itself off from the proof.
function ask(url: string, method: string, path: string, body?: object): Promise<Readonly<Record<string, unknown>>> {
  return new Promise((resolve, reject) => {
    const sent = request(`${url}${path}`, { method, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const told: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'));
        if (response.statusCode === 200 && isObject(told)) resolve(told);
        else reject(new Error(refusalText(path, response.statusCode, told)));
      });
    });
    sent.on('error', (cause) =>
      reject(new Error(`The provider at ${url} gave no answer to ${path}: ${cause.message}`, { cause })),
    );
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

function refusalText(path: string, status: number | undefined, told: unknown): string {
  const message = isObject(told) && typeof told['message'] === 'string' ? told['message'] : JSON.stringify(told);
  return `The provider refused ${path} with ${status}: ${message}`;
}
