/**
 * One process of the service, with the orchestrator as it is in it. Everything that reaches it (timers, replies,
 * wakes) is an event that the process must be alive and awake to see: a dead one sees nothing any more, a frozen one
 * sees it when it is thawed, in the order in which it came. Its clocks are its own: set wrong, running a little fast
 * or slow, jumping, and, when the whole machine sleeps, standing still.
 */

import { createOrchestrator } from '../../src/create-orchestrator.ts';
import type { Orchestrator } from '../../src/orchestrator/orchestrator.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Logger } from '../../src/ports/logger.ts';
import type { Random } from '../../src/ports/random.ts';
import type { Store } from '../../src/ports/store.ts';
import { BEGINS_AT, type Course } from './course.ts';
import type { Database } from './database.ts';
import { COMPANY, type Version, versions } from './contracts.ts';
import type { Provider } from './provider.ts';
import type { Care } from './plan.ts';
import type { BrokenAt } from './saga-plan.ts';
import { type Definitions, definitionsFor } from './shop.ts';
import { type Companies, senderOf } from './way-out.ts';
import type { Wire } from './wire.ts';

export interface Surroundings {
  readonly database: Database;
  readonly wire: Wire;
  readonly provider: Provider;
  readonly companies: Companies;
}

/** Clocks of healthy machines differ by so much in their speed. */
export const DRIFT_MAX = 0.0005;

export class Process {
  readonly name: string;
  readonly course: Course;
  readonly definitions: Definitions;
  /** As its orchestrator has it. */
  readonly store: Store;
  readonly orchestrator: Orchestrator<false>;
  /** By which its definitions describe what goes by `http`. */
  readonly contractVersion: Version;
  /** Lines of the level that must never be written. */
  readonly errors: string[] = [];
  state: 'running' | 'frozen' | 'dead' = 'running';
  started = false;
  /** It was given definitions that are at fault, until everything is repaired. */
  readonly #isBroken: boolean;
  #asleep = false;
  readonly #companies: Companies;
  readonly #bornAt: number;
  readonly #rate: number;
  #wallOffset: number;
  #sleptMs = 0;
  #frozenAt = 0;
  readonly #backlog: (() => void)[] = [];
  readonly #armed = new Set<object>();

  constructor(name: string, course: Course, { database, wire, provider, companies }: Surroundings) {
    const { chance, plan, agenda } = course;
    this.name = name;
    this.course = course;
    this.#bornAt = agenda.now;
    this.#rate = 1 + chance.between(-DRIFT_MAX, DRIFT_MAX);
    this.#wallOffset = chance.is(0.3) ? chance.between(-1_200_000, 1_200_000) : 0;
    this.#isBroken = course.strikes('broken-definition');
    this.#companies = companies;
    this.contractVersion = plan.care !== null && chance.is(0.3) ? versions[1] : versions[0];
    this.definitions = definitionsFor(this, provider);
    this.store = database.connect(this);
    const clock = this.#clock();
    this.orchestrator = createOrchestrator({
      store: this.store,
      definitions: [...this.definitions.values()],
      concurrency: plan.concurrency,
      sweepEvery: plan.sweepEveryMs,
      heartbeat: { every: plan.heartbeat.everyMs, timeout: plan.heartbeat.timeoutMs },
      verifyAfterFailover: plan.verifyAfterFailoverMs,
      logger: this.#logger(),
      clock,
      ...(plan.care === null ? {} : { providers: careIn(plan.care), sender: senderOf(this, clock, companies) }),
      random: this.#random(),
      waker: wire.wakerOf(this),
    });
  }

  /** Whether the author's own functions are broken there, as this process has them. */
  readonly isBrokenAt = (where: BrokenAt): boolean =>
    this.#isBroken && !this.course.healed && this.course.plan.sagas.brokenAt === where;

  get isAlive(): boolean {
    return this.state !== 'dead';
  }

  /** Timers that it has set and that still run. */
  get timers(): number {
    return this.#armed.size;
  }

  /** Lets `fn` happen in this process after a time. */
  later(delayMs: number, fn: () => void): void {
    this.course.agenda.after(delayMs, () => this.sees(fn));
  }

  crash(why: string): void {
    if (!this.isAlive) return;
    this.course.tell(this.name, `is killed ${why}`);
    this.state = 'dead';
    this.#armed.clear();
    this.#backlog.length = 0;
  }

  /** Stands still. With `asleep` its machine sleeps, and the steady clock stands still too. */
  freeze(asleep: boolean): void {
    if (this.state !== 'running') return;
    this.state = 'frozen';
    this.#asleep = asleep;
    this.#frozenAt = this.course.agenda.now;
    this.course.tell(this.name, asleep ? 'sleeps' : 'is frozen');
  }

  thaw(): void {
    if (this.state !== 'frozen') return;
    this.state = 'running';
    if (this.#asleep) this.#sleptMs += this.course.agenda.now - this.#frozenAt;
    this.course.tell(this.name, 'goes on');
    this.#catchUp();
  }

  /** Only forward where machines sleep: one whose steady clock stood still, and whose wall clock was set back, knows nothing. */
  jump(ms: number): void {
    this.#wallOffset += this.course.plan.rates.sleep > 0 ? Math.abs(ms) : ms;
    this.course.tell(this.name, `its wall clock jumps by ${Math.round(ms)} ms`);
  }

  #catchUp(): void {
    if (this.#backlog.length === 0) return;
    this.course.agenda.after(0, () => {
      if (this.state !== 'running') return;
      const next = this.#backlog.shift();
      if (next !== undefined) this.#happens(next);
      this.#catchUp();
    });
  }

  /** Lets `fn` happen in this process now, or when it is awake. */
  sees(fn: () => void): void {
    if (this.state === 'dead') return;
    // What came before it is seen before it.
    if (this.state === 'frozen' || this.#backlog.length > 0) this.#backlog.push(fn);
    else this.#happens(fn);
  }

  #happens(fn: () => void): void {
    this.#companies.watch.http.looksAt(this);
    fn();
  }

  #clock(): Clock {
    const monotonic = () => (this.course.agenda.now - this.#bornAt - this.#sleptMs) * this.#rate;
    const after = (delayMs: number, fn: () => void) => {
      const dueAt = monotonic() + Math.max(0, delayMs);
      const armed = {};
      this.#armed.add(armed);
      const arm = (): void => {
        this.later((dueAt - monotonic()) / this.#rate, () => {
          if (!this.#armed.has(armed)) return;
          // Its machine slept, and the steady clock with it.
          if (monotonic() < dueAt - EPSILON_MS) return arm();
          this.#armed.delete(armed);
          fn();
        });
      };
      arm();
      return () => {
        this.#armed.delete(armed);
      };
    };
    return { now: () => BEGINS_AT + this.course.agenda.now + this.#wallOffset, monotonic, after };
  }

  #random(): Random {
    const { chance } = this.course;
    let ids = 0;
    return {
      number: () => chance.number(),
      id: () => {
        ids += 1;
        return `${this.name}#${ids}`;
      },
    };
  }

  #logger(): Logger {
    return {
      debug: () => {},
      info: () => {},
      warn: (_, message) => {
        this.course.tell(this.name, `warns: ${message}`);
      },
      error: (facts, message) => {
        const { error, alarm } = facts as { error?: unknown; alarm?: unknown };
        if (this.#companies.watch.http.isCalledFor(alarm)) return this.course.tell(this.name, `ALARM: ${message}`);
        const told = error instanceof Error ? `${message}: ${error.message}` : message;
        this.errors.push(told);
        this.course.tell(this.name, `ERROR: ${told}`);
      },
    };
  }
}

const EPSILON_MS = 0.001;

function careIn({ breaker, retryBudget }: Care) {
  const { withinMs: within, pauseMs: pause, maxPauseMs: maxPause, ends, share } = breaker;
  const { retries, perMs: per } = retryBudget;
  return { [COMPANY]: { breaker: { within, pause, maxPause, ends, share }, retryBudget: { retries, per } } };
}
