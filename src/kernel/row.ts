/**
 * What is kept of a machine between two turns: plain data that any store can carry, and nothing of XState. The row
 * is the only memory of an instance; whatever is not in it (a queue, a clock, a running promise) does not exist. Its
 * one opaque part is `context`, whatever the machine's author keeps there: a codec elsewhere carries that.
 */

/** An event as a machine receives it. */
export interface KernelEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** An actor that was started and has neither settled nor been stopped. */
export interface Child {
  readonly src: string;
  readonly generation: number;
  readonly input?: unknown;
}

/** A timer that was armed and has neither fired nor been cancelled. `to` is null when the machine itself is meant. */
export interface Timer {
  readonly event: KernelEvent;
  readonly to: string | null;
  readonly generation: number;
  readonly delayMs: number;
}

export interface KernelRow {
  /** The state value: a name, or an object of region names, as JSON. */
  readonly value: unknown;
  readonly status: 'active' | 'done';
  readonly context: unknown;
  /** What the machine ended with. Absent while it runs, and when it ends without an output. */
  readonly output?: unknown;
  /** For each history state that has something to remember, the ids of the states it would bring back. */
  readonly history?: unknown;
  readonly children: Readonly<Record<string, Child>>;
  readonly timers: Readonly<Record<string, Timer>>;
  /**
   * The last generation given to each actor (`actor:<id>`) and each timer (`timer:<id>`), kept after they are gone so
   * that a later one of the same id is never mistaken for an earlier. Ids the kernel made itself are not listed:
   * they are never used twice.
   */
  readonly generations: Readonly<Record<string, number>>;
  /** The number the next id made by the kernel is taken from, so that the same turn always makes the same ids. */
  readonly ids: number;
}
