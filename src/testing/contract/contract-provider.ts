/**
 * A company that speaks a contract: it takes keys where the contract says, remembers them for as long, does with a second
 * send what the contract says, and tells it by replies that the contract reads so. What the contract leaves unsaid it does
 * as is safest. Told to lie, it breaks one promise and keeps all others. Its books are the proof: a record is never changed
 * or taken out, whatever is told of it.
 *
 * `POST /records` makes a record, `GET /records?key=` or `?reference=` looks up.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Contract, SameKey } from '../../domain/contract.ts';
import { valueAt } from '../../domain/reply.ts';
import { pause, type ProviderClock, realClock } from '../provider/clock.ts';
import { answer, drop, readBody } from '../provider/exchange.ts';
import { listenOnLoopback } from '../provider/loopback.ts';
import { type JsonObject, readPayload } from '../provider/payload.ts';
import type { ContractLie } from './lies.ts';
import { replyThat, type Told } from './told.ts';

/** A business record. */
export interface ContractRecord {
  readonly id: string;
  readonly key: string | null;
  /** What the request called it, in `reference`. */
  readonly reference: string;
  readonly body: JsonObject;
  readonly madeAt: number;
}

export interface ContractProviderOptions {
  readonly lies?: readonly ContractLie[];
  /** How long it takes to execute, in real milliseconds. Default 0. */
  readonly takesMs?: number;
  /** By which it remembers and shows. Default: the real one. */
  readonly clock?: Pick<ProviderClock, 'now'>;
}

export interface ContractProvider {
  readonly contract: Contract;
  readonly url: string;
  /** By its own clock. */
  readonly now: () => number;
  /** What it really did, oldest first. */
  readonly records: () => readonly ContractRecord[];
  /** While `work` runs, it refuses what it executes. */
  readonly refusing: <Result>(work: () => Promise<Result>) => Promise<Result>;
  /** While `work` runs, it ends what it executes with an error of its own, after it has made the record. */
  readonly failing: <Result>(work: () => Promise<Result>) => Promise<Result>;
  /** While `work` runs, it does not finish what it has begun. */
  readonly holding: <Result>(work: () => Promise<Result>) => Promise<Result>;
  readonly close: () => Promise<void>;
}

/** A key that it knows. */
interface Known {
  readonly canonical: string;
  readonly firstSeenAt: number;
  state: 'running' | 'succeeded' | 'refused' | 'failed';
  told: Told;
  record: ContractRecord | null;
  /** Resolves when what is under way is over. */
  over: Promise<void>;
}

/**
 * Starts it on 127.0.0.1.
 *
 * @example
 * const provider = await contractProvider(stripeV1.charges, { lies: ['forgets-early'] });
 * // ... run the code under test against provider.url ...
 * const made = provider.records();
 * await provider.close();
 */
export async function contractProvider(
  contract: Contract,
  { lies = [], takesMs = 0, clock = realClock }: ContractProviderOptions = {},
): Promise<ContractProvider> {
  const company = companyUnder(contract, { lies: new Set(lies), takesMs, clock });
  const server = await listenOnLoopback((request, response) => {
    company.serve(request, response).catch(() => drop(response));
  });
  return { contract, ...company.hold, url: server.url, close: () => server.close() };
}

const unsaid: SameKey = {
  ...{ afterSuccess: 'current-state', whileRunning: 'waits', afterRefusal: 're-executes' },
  ...{ afterServerError: 'first-reply', otherParameters: 'first-reply' },
};

interface Nature {
  readonly lies: ReadonlySet<ContractLie>;
  readonly takesMs: number;
  readonly clock: Pick<ProviderClock, 'now'>;
}

function companyUnder(contract: Contract, { lies, takesMs, clock }: Nature) {
  const books: ContractRecord[] = [];
  const keys = new Map<string, Known>();
  let mood: 'works' | 'refuses' | 'fails' = 'works';
  let held: Promise<void> = Promise.resolve();

  const does = <Option extends keyof SameKey>(option: Option): SameKey[Option] => {
    const said = contract.sameKey?.[option] ?? 'unsaid';
    return said === 'unsaid' ? unsaid[option] : said;
  };
  const retentionMs = (contract.keyRetentionMs ?? Number.POSITIVE_INFINITY) / (lies.has('forgets-early') ? 2 : 1);
  const isKept = ({ firstSeenAt, state }: Known) => state === 'running' || clock.now() < firstSeenAt + retentionMs;

  const make = (key: string | null, body: JsonObject): ContractRecord => {
    const reference = typeof body['reference'] === 'string' ? body['reference'] : '';
    const record = { id: `record_${books.length + 1}`, key, reference, body, madeAt: clock.now() };
    books.push(record);
    return record;
  };
  const shown = ({ id, key, reference }: ContractRecord): JsonObject => ({ id, key, reference });
  const told = (proves: Parameters<typeof replyThat>[1], record?: ContractRecord | null): Told =>
    replyThat(contract, proves, record == null ? {} : shown(record));

  /** The reply to a second send, which says so where this provider does. */
  const again = (reply: Told): Told =>
    contract.replayHeader === null || lies.has('replays-in-silence')
      ? reply
      : { ...reply, headers: { ...reply.headers, [contract.replayHeader]: 'true' } };

  /** Does what was asked for, for the first time or once more. */
  const execute = async (known: Known, key: string | null, body: JsonObject): Promise<Told> => {
    known.state = 'running';
    let end = () => {};
    known.over = new Promise((resolve) => {
      end = resolve;
    });
    await held;
    if (takesMs > 0) await pause(realClock, takesMs);
    if (mood === 'refuses') {
      known.state = 'refused';
      known.told = told('refused');
    } else {
      known.record = make(key, body);
      known.state = mood === 'fails' ? 'failed' : 'succeeded';
      const done = told('done', known.record);
      known.told = mood === 'fails' ? told('unknown') : lies.has('replays-what-is-new') ? again(done) : done;
    }
    end();
    return known.told;
  };
  const afterSuccess = (known: Known): Told => {
    if (lies.has('replays-nothing')) return told('refused');
    const record = known.record;
    if (lies.has('replays-another-id')) return again(told('done', record && { ...record, id: 'record_0' }));
    switch (does('afterSuccess')) {
      case 'first-reply':
        return again(known.told);
      case 'current-state':
        return again({ ...told('done', record), status: 200 });
      case 'told':
        return again(told('done-before', record));
    }
  };

  const afterError = async (known: Known, key: string | null, body: JsonObject): Promise<Told> => {
    if (lies.has('repeats-after-error') || does('afterServerError') === 're-executes') return execute(known, key, body);
    if (does('afterServerError') === 'first-reply') return again(known.told);
    known.state = 'succeeded';
    known.told = told('done', known.record);
    return known.told;
  };

  const toSecond = async (known: Known, key: string, body: JsonObject, canonical: string): Promise<Told> => {
    if (known.canonical !== canonical) {
      if (lies.has('does-other-parameters') || does('otherParameters') === 're-executes') {
        return told('done', make(key, body));
      }
      if (does('otherParameters') === 'refused') {
        if (lies.has('does-what-conflicts')) make(key, body);
        return told('key-conflict');
      }
    }
    if (known.state === 'running') {
      if (lies.has('doubles-at-once')) return told('done', make(key, body));
      if (lies.has('refuses-in-other-words')) return { status: 423, headers: {}, body: { error: 'busy' } };
      if (does('whileRunning') === 'refused' && !lies.has('waits-in-silence')) return told('running');
      await known.over;
    }
    switch (known.state) {
      case 'running':
        return toSecond(known, key, body, canonical);
      case 'succeeded':
        return afterSuccess(known);
      case 'refused':
        return does('afterRefusal') === 're-executes' || lies.has('releases-after-refusal')
          ? execute(known, key, body)
          : again(known.told);
      case 'failed':
        return afterError(known, key, body);
    }
  };

  const isLate = (request: IncomingMessage): boolean => {
    const header = contract.key?.firstSentHeader?.toLowerCase();
    if (header === undefined || lies.has('takes-late-ones')) return false;
    const sentAt = Date.parse(String(request.headers[header]));
    return clock.now() >= sentAt + (contract.keyRetentionMs ?? 0);
  };

  const replyTo = async (request: IncomingMessage, body: JsonObject, canonical: string): Promise<Told> => {
    const begun = () => ({
      canonical,
      firstSeenAt: clock.now(),
      state: 'running' as const,
      told: told('unknown'),
      record: null,
    });
    const key = contract.key === null ? null : keyIn(contract.key, request, body);
    if (key === null || lies.has('ignores-the-key')) {
      if (contract.key !== null && key === null) return { status: 400, headers: {}, body: { error: 'key_missing' } };
      return execute({ ...begun(), over: Promise.resolve() }, key, body);
    }
    if (isLate(request)) return told('too-late');
    const place = lies.has('cuts-keys') ? key.slice(0, key.length / 2) : key;
    const known = keys.get(place);
    if (known !== undefined && isKept(known)) return toSecond(known, key, body, canonical);
    const first: Known = { ...begun(), over: Promise.resolve() };
    keys.set(place, first);
    return execute(first, key, body);
  };

  const visibleAfterMs = (contract.lookup?.visibleWithinMs ?? 0) * (lies.has('shows-late') ? 2 : 1);
  const found = (asked: URLSearchParams): readonly ContractRecord[] => {
    const isVisible = ({ madeAt }: ContractRecord) => clock.now() >= madeAt + visibleAfterMs;
    const isAskedFor = ({ key, reference }: ContractRecord) =>
      asked.has('key') ? key === asked.get('key') : reference === asked.get('reference');
    const matches = books.filter((record) => isVisible(record) && isAskedFor(record));
    return matches.length === 0 && lies.has('shows-another') ? books.slice(-1) : matches;
  };

  const inMood = async <Result>(next: typeof mood, work: () => Promise<Result>): Promise<Result> => {
    mood = next;
    try {
      return await work();
    } finally {
      mood = 'works';
    }
  };

  return {
    async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
      const { pathname, searchParams } = new URL(request.url ?? '/', 'http://provider.example');
      const read = await readBody(request);
      if (pathname !== '/records') return void answer(response, 404, { error: 'no_such_path' });
      if (request.method === 'GET') return void answer(response, 200, { records: found(searchParams).map(shown) });
      const payload = read.got === 'text' ? readPayload(read.text) : { ok: false as const, error: 'no_body' };
      if (!payload.ok) return void answer(response, 400, { error: payload.error });
      const reply = await replyTo(request, payload.body, payload.canonical);
      answer(response, reply.status, reply.body, reply.headers);
    },
    hold: {
      now: () => clock.now(),
      records: () => books,
      refusing: <Result>(work: () => Promise<Result>) => inMood('refuses', work),
      failing: <Result>(work: () => Promise<Result>) => inMood('fails', work),
      async holding<Result>(work: () => Promise<Result>): Promise<Result> {
        let release = () => {};
        held = new Promise((resolve) => {
          release = resolve;
        });
        try {
          return await work();
        } finally {
          held = Promise.resolve();
          release();
        }
      },
    },
  };
}

/** The key where the contract puts it; null: it is not there, or not written as it should be. */
function keyIn(
  { in: place, name, encoding }: NonNullable<Contract['key']>,
  request: IncomingMessage,
  body: JsonObject,
): string | null {
  const written = {
    header: () => request.headers[name.toLowerCase()],
    query: () => new URL(request.url ?? '/', 'http://provider.example').searchParams.get(name),
    body: () => valueAt(body, name),
  }[place]();
  if (typeof written !== 'string' || written === '') return null;
  if (encoding === 'raw') return written;
  return /^"[^"]+"$/.test(written) ? written.slice(1, -1) : null;
}
