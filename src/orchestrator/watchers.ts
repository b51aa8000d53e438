/**
 * Who waits for an operation is told after each written turn, here and, by way of the waker, in other processes, and
 * then reads the store. It makes waiting prompt and nothing else: whoever is not told finds out by reading again.
 */

import type { Clock } from '../ports/clock.ts';
import { keyOf, type OperationRef } from '../ports/store.ts';
import type { Waker } from '../ports/waker.ts';
import type { HandoverAnswer } from './advance.ts';

export class Watchers {
  readonly #watching = new Map<string, Set<(rests: boolean) => void>>();
  readonly #answers = new Map<string, HandoverAnswer>();
  readonly #awaited = new Set<string>();
  readonly #waker: Waker;
  #closed = false;

  constructor(waker: Waker) {
    this.#waker = waker;
  }

  /** Nothing more will be told: who waits reads on its own, or goes without. */
  get isClosed(): boolean {
    return this.#closed;
  }

  /** Tells everybody once more, and for the last time. */
  close(): void {
    this.#closed = true;
    for (const watching of this.#watching.values()) for (const onChange of watching) onChange(true);
  }

  /** Calls `onChange` after every turn that is written of it, as far as that is heard of; returns what ends it. */
  watch(ref: OperationRef, onChange: (rests: boolean) => void): () => void {
    const key = keyOf(ref);
    const endAfar = this.#waker.watch?.(ref, onChange);
    const watching = this.#watching.get(key) ?? new Set();
    watching.add(onChange);
    this.#watching.set(key, watching);
    return () => {
      endAfar?.();
      watching.delete(onChange);
      if (watching.size === 0 && this.#watching.get(key) === watching) this.#watching.delete(key);
    };
  }

  /** Keeps what becomes of a hand-over until `answerTo` has read it. */
  await(handoverId: string): void {
    this.#awaited.add(handoverId);
  }

  answerTo(handoverId: string): HandoverAnswer | null {
    const answer = this.#answers.get(handoverId) ?? null;
    if (answer !== null) this.forget(handoverId);
    return answer;
  }

  forget(handoverId: string): void {
    this.#awaited.delete(handoverId);
    this.#answers.delete(handoverId);
  }

  /** `rests`: it has settled, or a person is asked; who waits for that need not look before. */
  changed(ref: OperationRef, rests: boolean, answers: ReadonlyMap<string, HandoverAnswer> = new Map()): void {
    for (const [id, answer] of answers) {
      // A hand-over that was appended twice is applied twice; the first answer is the one that counted.
      if (this.#awaited.has(id) && !this.#answers.has(id)) this.#answers.set(id, answer);
    }
    for (const onChange of this.#watching.get(keyOf(ref)) ?? []) onChange(rests);
    this.#waker.tell?.({ kind: 'changed', ref, rests });
  }
}

/** What another process writes may not be heard of here: so the store is read again after this, too. */
const POLL_MS = 500;

/** As {@link nextChange}, for who waits for an end: turns that lead on to others are not told. */
export function nextRest(...[ref, clock, watchers, deadline]: Parameters<typeof nextChange>): NextChange {
  return nextChange(ref, clock, watchers, deadline, true);
}

export interface NextChange {
  readonly promise: Promise<void>;
  readonly forget: () => void;
}

/** Resolves after the next turn of it that is heard of, after a poll's pause, or at the deadline. */
export function nextChange(
  ref: OperationRef,
  clock: Clock,
  watchers: Watchers,
  deadline: number,
  onlyRests = false,
): NextChange {
  let forget = () => {};
  const promise = new Promise<void>((resolve) => {
    const endWatch = watchers.watch(ref, (rests) => {
      if (rests || !onlyRests) resolve();
    });
    const cancelTimer = clock.after(Math.max(0, Math.min(POLL_MS, deadline - clock.monotonic())), resolve);
    forget = () => {
      endWatch();
      cancelTimer();
    };
  });
  return { promise, forget };
}
