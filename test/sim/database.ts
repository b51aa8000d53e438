/**
 * The memory store behind a network and a server that fail. Each verb is carried out whole, at one moment, or not at
 * all; what is uncertain is whether and when, and whether its caller hears of it. A fail-over goes on from the rows of
 * some commits ago, on another timeline.
 */

import { storeInDoubt, storeUnavailable } from '../../src/domain/errors.ts';
import { type Kept, noRows, type Rows } from '../../src/adapters/memory/rows.ts';
import { storeOn } from '../../src/adapters/memory/store.ts';
import { keyOf, type OperationRef, type Store } from '../../src/ports/store.ts';
import { BEGINS_AT, type Course } from './course.ts';
import type { Process } from './process.ts';
import { type Verb, verbs } from './verbs.ts';
import type { Watch } from './watch.ts';

const writing: ReadonlySet<Verb> = new Set([
  'enlist',
  'renew',
  'bury',
  'retire',
  'turn',
  'claim',
  'sagaTurn',
  'claimSagas',
  'handOver',
  'signal',
]);

/** Those that can change an operation, a saga or a word about one. */
const judged: ReadonlySet<Verb> = new Set(['retire', 'turn', 'claim', 'sagaTurn', 'claimSagas', 'handOver', 'signal']);

/** A request or a reply that is on its way, and can be lost with the server. */
interface OnItsWay {
  lost: boolean;
}

/** Without any commit, and on its first timeline. */
function justMade(): Rows {
  const rows = noRows();
  rows.timelines.set('1', BEGINS_AT);
  return rows;
}

/** As many calls as one event leads to at most, while the database answers at once. */
const CALLS_MAX = 1_000;

/** As many commits can be gone after a fail-over. */
const LOST_COMMITS_MAX = 12;

export class Database {
  rows: Rows = justMade();
  readonly #course: Course;
  readonly #watch: Watch;
  readonly #inner: Store;
  readonly #onItsWay = new Set<OnItsWay>();
  /** The rows after each commit, latest last; kept where a fail-over can happen. */
  #commits: Rows[] = [justMade()];
  #timeline = 1;
  #awayUntil = 0;
  /** Calls that the event of this number has led to so far. */
  #calls = 0;
  #callsIn = 0;

  constructor(course: Course, watch: Watch) {
    this.#course = course;
    this.#watch = watch;
    this.#inner = storeOn(() => this.rows, { clock: { now: () => course.now }, timeline: () => this.timeline });
  }

  get timeline(): string {
    return String(this.#timeline);
  }

  get isAway(): boolean {
    return this.#course.agenda.now < this.#awayUntil;
  }

  /** The operations of a saga, in the order of their birth. */
  operationsOf(saga: OperationRef): readonly Kept[] {
    return (this.rows.ledgers.get(keyOf(saga)) ?? []).flatMap((name) => this.rows.operations.get(name) ?? []);
  }

  connect(process: Process): Store {
    const asked = verbs.map((verb) => [verb, (...args: unknown[]) => this.#call(process, verb, args)]);
    return {
      // Each verb takes what the port says and gives what the memory store gives.
      ...(Object.fromEntries(asked) as Omit<Store, 'name' | 'exclusive' | 'open' | 'close'>),
      name: 'simulated',
      exclusive: this.#course.plan.exclusive,
      open: async () => {},
      close: async () => {},
    };
  }

  /** Answers nobody for a while. */
  goAway(forMs: number): void {
    this.#course.tell('database', `does not answer for ${Math.round(forMs)} ms`);
    this.#awayUntil = this.#course.agenda.now + forMs;
  }

  /** What is on its way is lost. */
  restart(): void {
    this.#course.tell('database', 'restarts');
    for (const message of this.#onItsWay) message.lost = true;
    this.#onItsWay.clear();
    this.#awayUntil = this.#course.agenda.now + this.#course.chance.between(100, 5_000);
  }

  /** Another server goes on, without the last commits. False: nothing has been committed that could be lost. */
  failOver(): boolean {
    const lost = 1 + this.#course.chance.below(LOST_COMMITS_MAX);
    const kept = this.#commits.at(-1 - lost);
    if (kept === undefined) return false;
    this.restart();
    this.#course.tell('database', `fails over, and ${lost} commits are gone`);
    const before = this.rows;
    this.rows = copyOf(kept);
    this.#commits = this.#commits.slice(0, -lost);
    this.#timeline += 1;
    this.#watch.failedOver(before);
    return true;
  }

  heal(): void {
    this.#awayUntil = 0;
  }

  #call(process: Process, verb: Verb, args: unknown[]): Promise<unknown> {
    const { course } = process;
    const { agenda, chance, plan, tally } = course;
    if (this.#isEndless()) {
      course.violated('liveness', `${process.name} asks for ${verb} without end`);
      return new Promise(() => {});
    }
    if (course.strikes('crash-at-a-call')) {
      // Killed as it sends: what it sent may still arrive.
      if (chance.is(0.5)) agenda.after(chance.between(0, 50), () => void this.#carryOut(process, verb, args));
      process.crash(`as it asks for ${verb}`);
      return new Promise(() => {});
    }
    const isSlow = course.strikes('slow-store');
    const latencyMs = () => {
      if (course.healed) return 0;
      return isSlow ? chance.between(0, 3_000) : chance.between(plan.latencyMs / 2, plan.latencyMs);
    };
    const isLossy = course.healed && plan.keeps === 'a lossy store';
    const loses = (fault: 'lost-request' | 'lost-reply') => course.strikes(fault) || (isLossy && chance.is(KEPT_LOSS));
    return new Promise((resolve, reject) => {
      const refuse = (error: Error, afterMs: number) => process.later(afterMs, () => reject(error));
      const doubt = (why: string, afterMs: number) => {
        course.tell(process.name, `${verb}: in doubt, ${why}`);
        refuse(storeInDoubt('A call was not answered.'), afterMs);
      };
      const patienceMs = chance.between(50, 3_000);
      if (this.isAway) {
        if (chance.is(0.5)) doubt('the database is away', patienceMs);
        else refuse(storeUnavailable('The database does not answer.', 'Try again.'), latencyMs());
        return;
      }
      if (course.strikes('unavailable')) {
        return refuse(storeUnavailable('No connection.', 'Try again.'), latencyMs());
      }
      if (course.strikes('serialization')) {
        return refuse(storeUnavailable('Could not serialize access.', 'Try again.'), latencyMs());
      }
      if (loses('lost-request')) {
        tally.met(`request lost: ${verb}`);
        return doubt('its request was lost', patienceMs);
      }
      const request = this.#send();
      // A store that is one process's own has no network on which a write could be late.
      if (!plan.exclusive && course.strikes('late-commit')) {
        doubt('it is carried out later', patienceMs);
        agenda.after(patienceMs + chance.between(1, 5_000), () => {
          if (this.#arrives(request)) void this.#carryOut(process, verb, args);
        });
        return;
      }
      const losesReply = loses('lost-reply');
      const work = () => {
        // A store that is in the process itself has ended with it, however slow it was.
        if (plan.exclusive && !process.isAlive) return;
        if (!this.#arrives(request)) return doubt('the server went down before', patienceMs);
        const answer = this.#carryOut(process, verb, args);
        if (losesReply) {
          tally.met(`reply lost: ${verb}`);
          return doubt('its reply was lost', patienceMs);
        }
        this.#reply(process, verb, answer, latencyMs(), { resolve, reject });
      };
      const sendMs = latencyMs();
      if (sendMs === 0) work();
      else agenda.after(sendMs, work);
    });
  }

  /** One event leads to a few calls, and not to ever more. */
  #isEndless(): boolean {
    const { happened } = this.#course.agenda;
    this.#calls = happened === this.#callsIn ? this.#calls + 1 : 1;
    this.#callsIn = happened;
    return this.#calls > CALLS_MAX;
  }

  #reply(
    process: Process,
    verb: Verb,
    answer: Promise<unknown>,
    afterMs: number,
    call: { readonly resolve: (value: unknown) => void; readonly reject: (error: unknown) => void },
  ): void {
    if (afterMs === 0) {
      answer.then(call.resolve, call.reject);
      return;
    }
    const reply = this.#send();
    process.later(afterMs, () => {
      if (this.#arrives(reply)) {
        answer.then(call.resolve, call.reject);
        return;
      }
      this.#course.tell(process.name, `${verb}: in doubt, the server went down after`);
      call.reject(storeInDoubt('A call was not answered.'));
    });
  }

  #carryOut(process: Process, verb: Verb, args: unknown[]): Promise<unknown> {
    const isJudged = judged.has(verb);
    if (isJudged) this.#watch.before();
    // The verb is one of the store's, and the arguments are those that its caller gave.
    const carry = this.#inner[verb] as (...given: unknown[]) => Promise<unknown>;
    const answer = carry(...args);
    if (isJudged) this.#watch.after(process, verb, args);
    if (writing.has(verb) && this.#course.plan.rates.failover > 0) {
      this.#commits.push(copyOf(this.rows));
      if (this.#commits.length > LOST_COMMITS_MAX + 2) this.#commits.shift();
    }
    return answer;
  }

  #send(): OnItsWay {
    const message = { lost: false };
    this.#onItsWay.add(message);
    return message;
  }

  #arrives(message: OnItsWay): boolean {
    this.#onItsWay.delete(message);
    return !message.lost;
  }
}

/** A store that stays lossy loses this share of requests, and of replies. */
const KEPT_LOSS = 0.03;

/** The rows themselves are replaced and never changed, except the lists of records. */
function copyOf(rows: Rows): Rows {
  return {
    operations: new Map(rows.operations),
    identities: new Map(rows.identities),
    sagas: new Map(rows.sagas),
    sagaIdentities: new Map(rows.sagaIdentities),
    ledgers: new Map(rows.ledgers),
    records: copyOfLists(rows.records),
    stories: copyOfLists(rows.stories),
    handovers: new Map(rows.handovers),
    signals: new Map(rows.signals),
    locks: new Map(rows.locks),
    workers: new Map(rows.workers),
    timelines: new Map(rows.timelines),
  };
}

function copyOfLists<Entry>(lists: ReadonlyMap<string, readonly Entry[]>): Map<string, Entry[]> {
  return new Map([...lists].map(([name, entries]) => [name, [...entries]]));
}
