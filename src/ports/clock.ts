/**
 * Time inside one process. It is the authority for durations only (deadlines, timers, send-by); wherever durability
 * depends on time, the store's own time decides, because clocks of processes disagree.
 */
export interface Clock {
  /** Wall-clock milliseconds since the epoch. May jump; used for what people read. */
  now(): number;
  /** Milliseconds that never go back. Used for durations. */
  monotonic(): number;
  /** Calls `fn` once after at least `delayMs` (any finite number, also beyond 2^31); returns what cancels it. */
  after(delayMs: number, fn: () => void): CancelTimer;
}

/** Cancels a timer. Calling it twice, or after the timer fired, does nothing. */
export type CancelTimer = () => void;
