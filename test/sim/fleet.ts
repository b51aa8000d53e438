/**
 * The processes of the service: as many places as the plan says, each with one process at a time, and a next one some
 * time after that has ended. One of them may be the fault that stays for ever.
 */

import { isExpected, messageOf } from './callers.ts';
import type { Course } from './course.ts';
import { DRIFT_MAX, Process, type Surroundings } from './process.ts';

/** A process is given so long to stop. */
const STOP_WITHIN_MS = 3_000;

/** What has stopped has no timer left after so long. */
const LAST_PAUSES_MS = 3_000;
const LOOKS = 4;

export class Fleet {
  readonly #course: Course;
  readonly #surroundings: Surroundings;
  readonly #places: { readonly number: number; process: Process; lives: number }[] = [];
  readonly #stopping = new Set<Process>();
  /** Every process that there ever was. */
  readonly #all: Process[] = [];

  constructor(course: Course, surroundings: Surroundings) {
    this.#course = course;
    this.#surroundings = surroundings;
    for (let number = 1; number <= course.plan.workers; number += 1) {
      this.#places.push({ number, process: this.#born(number, 1), lives: 1 });
    }
    this.#tend();
  }

  /** One that can be talked to, or null. */
  anybody(): Process | null {
    const ready = this.#places.map(({ process }) => process).filter((process) => this.#answers(process));
    return ready[this.#course.chance.below(ready.length)] ?? null;
  }

  /** One that something can happen to, or null. */
  anyone(): Process | null {
    const living = this.#places.map(({ process }) => process).filter(({ state }) => state === 'running');
    return living[this.#course.chance.below(living.length)] ?? null;
  }

  freeze(process: Process, forMs: number, asleep: boolean): void {
    process.freeze(asleep);
    this.#course.agenda.after(forMs, () => process.thaw());
  }

  stop(process: Process): void {
    if (this.#stopping.has(process)) return;
    this.#stopping.add(process);
    this.#course.tell(process.name, 'is asked to stop');
    const { agenda } = this.#course;
    const askedAt = agenda.now;
    process.orchestrator.stop({ within: STOP_WITHIN_MS }).then(
      () => {
        this.#course.tally.met('ended by stopping');
        const isInTime = agenda.now - askedAt < STOP_WITHIN_MS * (1 - DRIFT_MAX);
        if (isInTime) this.#surroundings.companies.watch.checkLeft(process, askedAt);
        this.#seeOff(process, LOOKS);
      },
      (error: unknown) => this.#course.violated('stop', messageOf(error)),
    );
  }

  /** Everything works again, except what stays broken. */
  heal(): void {
    const { plan, agenda, chance } = this.#course;
    for (const { process } of this.#places) process.thaw();
    if (plan.workers < 2) return;
    const place = this.#places[chance.below(this.#places.length)];
    if (plan.keeps === 'a dead worker') place?.process.crash('for ever');
    if (plan.keeps === 'a frozen worker') agenda.after(0, () => place?.process.freeze(false));
    if (place !== undefined && (plan.keeps === 'a dead worker' || plan.keeps === 'a frozen worker')) {
      this.#places.splice(this.#places.indexOf(place), 1);
    }
  }

  /** Stops every process; resolves when all have ended. */
  stopAll(): void {
    for (const { process } of this.#places) if (process.isAlive) this.stop(process);
  }

  get living(): number {
    return this.#places.filter(({ process }) => process.isAlive).length;
  }

  get all(): readonly Process[] {
    return this.#all;
  }

  /**
   * What has stopped wants nothing any more. What it gave up on may have to see the end of a pause first, and a caller
   * may still ask it what it knows; so it is looked at some times before it is said to leave something behind.
   */
  #seeOff(process: Process, looks: number): void {
    process.later(LAST_PAUSES_MS, () => {
      if (process.timers > 0 && looks > 1) return this.#seeOff(process, looks - 1);
      if (process.timers > 0) {
        this.#course.violated('I17', `${process.name} has stopped, and left ${process.timers} timers`);
      }
      process.crash('after it has stopped');
    });
  }

  #answers(process: Process): boolean {
    return process.state === 'running' && process.started && !this.#stopping.has(process);
  }

  #born(place: number, life: number): Process {
    const process = new Process(`w${place}.${life}`, this.#course, this.#surroundings);
    this.#all.push(process);
    this.#start(process);
    return process;
  }

  #start(process: Process): void {
    process.orchestrator.start().then(
      () => {
        process.started = true;
        this.#course.tell(process.name, 'has started');
      },
      (error: unknown) => {
        if (!isExpected(error)) this.#course.violated('start', messageOf(error));
        process.later(1_000, () => {
          if (!this.#stopping.has(process)) this.#start(process);
        });
      },
    );
  }

  /** Sees to it that every place has a process again, sooner or later. */
  #tend(): void {
    const { agenda, chance } = this.#course;
    agenda.after(chance.between(200, 3_000), () => {
      if (this.#over) return;
      for (const place of this.#places) {
        if (place.process.isAlive || (!this.#course.healed && chance.is(0.5))) continue;
        place.lives += 1;
        place.process = this.#born(place.number, place.lives);
      }
      this.#tend();
    });
  }

  #over = false;

  /** No process is started any more. */
  close(): void {
    this.#over = true;
  }
}
