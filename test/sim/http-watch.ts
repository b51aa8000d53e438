/**
 * The judge of what goes by `http`: that a company which asks for a pause is given it, that one that is ill is left alone,
 * that it is sent to again no more often than its budget lets, and that every request is made by the contract that was
 * kept with its operation. What a company asked for it knows from the replies themselves, and what left from the wire.
 */

import type { Kept } from '../../src/adapters/memory/rows.ts';
import type { BreakerState } from '../../src/orchestrator/breaker.ts';
import { snapshotOf } from '../../src/orchestrator/snapshot.ts';
import type { StoredRecord } from '../../src/ports/store.ts';
import type { Outgoing } from '../../src/providers/arrival.ts';
import { COMPANY, contractOf, versionIn, versions } from './contracts.ts';
import type { Course } from './course.ts';
import { faultsOfTheHouse } from './faults.ts';
import type { Promised } from './plan.ts';
import { DRIFT_MAX, type Process } from './process.ts';
import type { Reply, Request } from './replies.ts';

/** What is looked at: rows, and how often everything was lost to a fail-over. */
export interface Seen {
  rowOf(subject: string, idempotencyKey: string): Kept | null;
  recordsOf(row: Kept): readonly StoredRecord[];
  /** A fail-over has taken some of it away. */
  isLost(): boolean;
}

interface Breaker {
  readonly state: BreakerState;
  readonly since: number;
}

const ROUNDING_MS = 2;

/** Faults that make a start late, so that what it was begun by may be long over. */
const delaying = faultsOfTheHouse.filter((fault) => !fault.startsWith('wake') && !fault.startsWith('crash'));

export class HttpWatch {
  readonly #course: Course;
  readonly #seen: Seen;
  /** By attempt, the pause that the company asked for. */
  readonly #asked = new Map<string, number>();
  readonly #lockedOut = new Set<string>();
  /** What somebody has to hear of. */
  readonly #alarming = new Set<'locked-out' | 'key-conflict'>();
  readonly #breakers = new Map<Process, Breaker>();
  /** The keys under which a request has left: an attempt that ended in doubt may never have got as far as that. */
  readonly #left = new Set<string>();
  /** When each process sent something again, by its own steady clock as far as that goes. */
  readonly #again = new Map<Process, number[]>();
  #isDelayed: boolean | null = null;

  constructor(course: Course, seen: Seen) {
    this.#course = course;
    this.#seen = seen;
  }

  // The company's state, as a process knows it

  /** Before each thing that happens in a process: what has changed, has changed with the last one. */
  looksAt(process: Process): void {
    if (this.#course.plan.care === null) return;
    const state = process.orchestrator.health().breakers[COMPANY];
    const before = this.#breakers.get(process);
    if (state === undefined || state === before?.state) return;
    this.#breakers.set(process, { state, since: this.#course.agenda.now });
    if (before === undefined) return;
    this.#course.tell(process.name, `the breaker is ${state}`);
    this.#course.tally.met(`breaker: ${before.state} -> ${state}`);
  }

  /** An attempt is about to be sent. */
  begins(process: Process, request: Request): void {
    this.looksAt(process);
    this.#checkBreaker(process, request);
    if (this.#left.has(request.idempotencyKey) && !this.#seen.isLost()) this.#checkBudget(process, request);
  }

  #checkBreaker(process: Process, { subject, attempt }: Request): void {
    const { agenda, plan, healed } = this.#course;
    const known = this.#breakers.get(process);
    if (known?.state !== 'open' || this.#isHouseDelayed()) return;
    const openMs = agenda.now - known.since;
    const underWayMs = 10 * plan.latencyMs + 500;
    if (!healed && openMs > underWayMs) {
      this.#wrong('I20', `attempt ${attempt} of ${subject} is begun ${Math.round(openMs)} ms after the breaker opened`);
    }
  }

  #isHouseDelayed(): boolean {
    const { rates } = this.#course.plan;
    this.#isDelayed ??= delaying.some((fault) => rates[fault] > 0);
    return this.#isDelayed;
  }

  /** So many in any time of that length, by the process's own clock, which stands still while its machine sleeps. */
  #checkBudget(process: Process, { subject }: Request): void {
    const { agenda, plan, tally } = this.#course;
    if (plan.care === null) return;
    const { retries, perMs } = plan.care.retryBudget;
    const times = this.#again.get(process) ?? [];
    const first = times.at(-retries);
    times.push(agenda.now);
    this.#again.set(process, times);
    if (first === undefined) return;
    const sinceMs = agenda.now - first;
    if (sinceMs < perMs * (1 - 2 * DRIFT_MAX) - ROUNDING_MS) {
      const more = `${retries + 1} times within ${Math.round(sinceMs)} ms`;
      this.#wrong('I18', `${process.name} sends again ${more}, and ${subject} is over its budget`);
    }
    if (sinceMs < perMs * 1.001 + 50) tally.met('http: the retry budget was waited for');
  }

  // Requests and replies

  /** A request has left. */
  sends({ promised, http, subject, attempt, idempotencyKey }: Request, outgoing: Outgoing): void {
    this.#left.add(idempotencyKey);
    const row = this.#seen.rowOf(subject, idempotencyKey);
    if (row === null || this.#seen.isLost()) return;
    // Written by the operation's chart.
    const { context } = snapshotOf(row) as { readonly context: { readonly policy: { readonly contract: unknown } } };
    const pinned = context.policy.contract as { readonly version: string } | null;
    const contracts = new Map(versions.map((version) => [version, contractOf(promised, http, version)]));
    if (http.kind !== 'unkeyed' && versionIn(contracts, idempotencyKey, outgoing) !== pinned?.version) {
      this.#wrong('G2', `attempt ${attempt} of ${subject} is not made by the contract that was kept with it`);
    }
    this.#checkPause(promised, subject, attempt, this.#seen.recordsOf(row), idempotencyKey);
  }

  /** Nobody comes back sooner than was asked, as far as the history knows that it was. */
  #checkPause(
    promised: Promised,
    subject: string,
    attempt: number,
    records: readonly StoredRecord[],
    idempotencyKey: string,
  ): void {
    const startAt = records.findLastIndex((record) => record.kind === 'start' && record.attempt === attempt);
    const endAt = records.slice(0, startAt).findLastIndex(({ kind }) => kind === 'end');
    const [start, end] = [records[startAt], records[endAt]];
    if (start === undefined || end?.attempt == null || replyIn(end)?.status === undefined) return;
    // A person who says that nothing happened has it sent at once.
    if (records.slice(endAt, startAt).some(({ kind }) => kind === 'verdict')) return;
    const name = `${idempotencyKey} ${end.attempt}`;
    const isLockedOut = this.#lockedOut.has(name);
    const askedMs = Math.max(this.#asked.get(name) ?? 0, isLockedOut ? (promised.http?.maxPauseMs ?? 0) : 0);
    if (askedMs === 0) return;
    const pausedMs = start.at - end.at;
    if (pausedMs < askedMs * (1 - 2 * DRIFT_MAX) - ROUNDING_MS) {
      const much = `${Math.round(pausedMs)} ms after attempt ${end.attempt}`;
      this.#wrong('I13', `${subject} is sent again ${much}, and its company had asked for ${askedMs}`);
    }
    this.#course.tally.met(isLockedOut ? 'http: waited, being locked out' : 'http: waited for as long as was asked');
  }

  /** Whether a line of the log is an alarm, and some company has given cause for it. */
  isCalledFor(alarm: unknown): boolean {
    const isSo = (alarm === 'locked-out' || alarm === 'key-conflict') && this.#alarming.has(alarm);
    if (isSo) this.#course.tally.met(`http: an alarm, ${alarm}`);
    return isSo;
  }

  /** A process that waits for it is shown this. */
  told({ idempotencyKey, attempt }: Request, { status, headers }: Reply): void {
    if (status === 401) this.#alarming.add('locked-out');
    if (status === 422) this.#alarming.add('key-conflict');
    const name = `${idempotencyKey} ${attempt}`;
    if (status === 401) this.#lockedOut.add(name);
    const asked = headers['retry-after'];
    if (asked === undefined) return;
    const ms = /^\d+$/.test(asked) ? 1_000 * Number(asked) : Date.parse(asked) - Date.parse(headers['date'] ?? '');
    this.#asked.set(name, ms);
  }

  // What became of it

  /** What the turn of an operation that goes by `http` says, for the list of what must come up. */
  note({ promised, row, records, all }: Turned): void {
    const { tally } = this.#course;
    for (const record of records) {
      const said = bodyIn(record);
      const reply = replyIn(record);
      if (record.kind === 'lookup') this.#noteLookup(all);
      if (record.kind !== 'end' || reply === null) continue;
      const asksFirst = said.sendAgain === 'ask-first';
      const isUnknown = said.outcome === 'unknown';
      const hadDoubt = all.some(
        (other) => other !== record && other.kind === 'end' && bodyIn(other).outcome === 'unknown',
      );
      if (asksFirst && row.state === 'escalated' && promised.lookup === null)
        tally.met('http: not to be sent unasked, and nobody to ask');
      if (isUnknown && !asksFirst && row.state === 'pending') {
        tally.met(
          `http: sent again unasked after ${reply.status === undefined ? 'silence' : reply.status >= 500 ? 'an error' : 'a reply'}`,
        );
      }
      if (said.outcome === 'failed' && hadDoubt) {
        const isForKey = said.speaksFor === 'key';
        if (isForKey && row.state === 'failed') tally.met('http: a refusal for its key settled an earlier doubt');
        if (!isForKey && row.state !== 'failed') tally.met('http: a refusal for its request left an earlier doubt');
      }
      if (reply.gate === 'shut' && said.reason === 'its time to be sent had passed')
        tally.met('http: the gate was shut by its send-by');
      if (reply.gate === 'shut' && said.reason === 'not-connected') tally.met('http: not connected, and not sent');
      if (reply.status === 409 && reply.proves === 'done-before') {
        tally.met(`http: done before, and ${said.outcome === 'succeeded' ? 'read' : 'not to be read'}`);
      }
    }
  }

  #noteLookup(all: readonly StoredRecord[]): void {
    const last = all.findLast(({ kind }) => kind === 'end');
    if (last === undefined) return;
    if (bodyIn(last).sendAgain === 'ask-first') this.#course.tally.met('http: not to be sent unasked, and looked up');
    const { proves, unreadable } = replyIn(last) ?? {};
    if (proves === 'unreadable' || unreadable !== undefined)
      this.#course.tally.met('http: a success that cannot be read, and looked up');
  }

  #wrong(invariant: string, what: string): void {
    this.#course.violated(invariant, what);
  }
}

interface Turned {
  readonly promised: Promised;
  readonly row: Kept;
  /** Of the turn. */
  readonly records: readonly Pick<StoredRecord, 'kind' | 'body'>[];
  /** Of the whole history. */
  readonly all: readonly StoredRecord[];
}

interface Body {
  readonly outcome?: string;
  readonly reason?: string;
  readonly sendAgain?: string;
  readonly speaksFor?: string;
  readonly reply?: ReplyTold;
}

interface ReplyTold {
  readonly gate?: string;
  readonly status?: number;
  readonly proves?: string;
  readonly unreadable?: string;
}

function bodyIn({ body }: Pick<StoredRecord, 'body'>): Body {
  // Bodies are objects of the orchestrator's making.
  return (body ?? {}) as Body;
}

function replyIn(record: Pick<StoredRecord, 'body'>): ReplyTold | null {
  return bodyIn(record).reply ?? null;
}
