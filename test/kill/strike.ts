/**
 * A process that strikes itself, at the n-th time that it comes to a point. Nobody else could do it in time: between two
 * messages of a process it has gone on.
 */

import { writeSync } from 'node:fs';
import type { StatementName } from '../../src/adapters/postgres/executor.ts';
import type { OperationRef } from '../../src/ports/store.ts';
import { silence } from '../../src/testing/life.ts';
import type { Letter, LetterWatch } from './letters.ts';
import { type Point, underWayAt } from './points.ts';
import type { Watch } from './wire.ts';

export const signals = ['SIGKILL', 'SIGSTOP', 'SIGABRT'] as const;

export type Signal = (typeof signals)[number];

export interface Strike {
  readonly point: Point;
  /** Counted from one. */
  readonly nth: number;
  readonly signal: Signal;
}

/** Said on standard output, before anything else can happen. */
export const stopping = 'stopping\n';

/** Counts how often each point is reached, and strikes at one of them. */
export class Striker implements Watch, LetterWatch {
  readonly counts = new Map<Point, number>();
  readonly #strike: Strike | null;
  readonly #onReached: (point: Point) => void;
  #armed: { readonly names: readonly (StatementName | Letter)[]; readonly id: string | null } | null = null;
  #isHalf = false;

  constructor(strike: Strike | null, onReached: (point: Point) => void) {
    this.#strike = strike;
    this.#onReached = onReached;
  }

  /** For whatever has kill points. */
  readonly reached = (point: Point, about: OperationRef | null): unknown => {
    if (!this.#isDue(point)) return undefined;
    const names = underWayAt(point);
    if (names === null) return this.#now();
    this.#armed = { names, id: about?.id ?? null };
    return undefined;
  };

  statementsLeft(texts: readonly string[], bytes: Buffer): void {
    this.#left((name) => texts.some((text) => text.startsWith(`/* sagacity ${name} */`)), bytes);
  }

  lettersLeft(letters: readonly Letter[], bytes: Buffer): void {
    this.#left((name) => letters.some((letter) => letter === name), bytes);
  }

  timerKept(): void {
    if (this.#isDue('after timer')) void this.#now();
  }

  requestLeaving(): 'half' | 'whole' {
    this.#isHalf = this.#isDue('half a request');
    return this.#isHalf ? 'half' : 'whole';
  }

  requestLeft(): void {
    const isHalf = this.#isHalf;
    this.#isHalf = false;
    if (isHalf || this.#isDue('during request')) void this.#now();
  }

  #left(isAmongThem: (name: StatementName | Letter) => boolean, bytes: Buffer): void {
    if (this.#armed === null) return;
    const { names, id } = this.#armed;
    if (!names.some(isAmongThem) || (id !== null && !bytes.includes(id))) return;
    this.#armed = null;
    void this.#now();
  }

  #isDue(point: Point): boolean {
    const count = (this.counts.get(point) ?? 0) + 1;
    this.counts.set(point, count);
    this.#onReached(point);
    return this.#strike?.point === point && this.#strike.nth === count;
  }

  /** What a stopped process was about to do it does when it is let go on. */
  #now(): Promise<never> | undefined {
    const { signal } = this.#strike ?? {};
    if (signal === undefined) return undefined;
    if (signal === 'SIGABRT') process.abort();
    if (signal === 'SIGSTOP') writeSync(1, stopping);
    process.kill(process.pid, signal);
    return signal === 'SIGSTOP' ? undefined : silence();
  }
}
