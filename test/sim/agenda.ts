/**
 * Virtual time: what is to happen, in the order of its time, and of equal times in an order that chance decides. Time
 * jumps from one event to the next; nothing here waits. Between two events every promise that can settle has settled,
 * so that one seed always gives one order.
 */

import type { Chance } from './chance.ts';

/** Ends an entry that has not happened. */
export type Cancel = () => void;

/** Moments in a millisecond: time moves by no less, so that what waits for a moment that is not yet reaches it. */
const GRAIN = 8;

interface Entry {
  readonly at: number;
  readonly tie: number;
  readonly fn: () => void;
  cancelled: boolean;
}

export class Agenda {
  readonly #chance: Chance;
  /** Latest first, so that the next one is taken from the end. */
  readonly #entries: Entry[] = [];
  #now = 0;
  /** Events that have happened. */
  happened = 0;

  constructor(chance: Chance) {
    this.#chance = chance;
  }

  /** Milliseconds since the schedule began. */
  get now(): number {
    return this.#now;
  }

  after(delayMs: number, fn: () => void): Cancel {
    const at = Math.ceil((this.#now + Math.max(0, delayMs)) * GRAIN) / GRAIN;
    const entry: Entry = { at, tie: this.#chance.number(), fn, cancelled: false };
    this.#entries.splice(this.#placeOf(entry), 0, entry);
    return () => {
      entry.cancelled = true;
    };
  }

  /** When the next event is, or null. */
  nextAt(): number | null {
    this.#forgetCancelled();
    return this.#entries.at(-1)?.at ?? null;
  }

  /** Moves time to the next event, lets it happen, and settles what follows from it. False: there was none. */
  async step(): Promise<boolean> {
    this.#forgetCancelled();
    const entry = this.#entries.pop();
    if (entry === undefined) return false;
    this.#now = Math.max(this.#now, entry.at);
    this.happened += 1;
    entry.fn();
    await settled();
    return true;
  }

  #forgetCancelled(): void {
    while (this.#entries.at(-1)?.cancelled === true) this.#entries.pop();
  }

  #placeOf({ at, tie }: Entry): number {
    let [low, high] = [0, this.#entries.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = this.#entries[middle];
      if (other !== undefined && (other.at > at || (other.at === at && other.tie > tie))) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** A tick comes after every promise that can settle: Node empties the queue of the promises between two ticks. */
export function settled(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}
