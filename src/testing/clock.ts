/**
 * A clock that moves only when a test says so. `advance` fires what falls due on the way, in the order of the due
 * times (of equal ones, in the order they were asked for), and lets promises settle around every timer, so that what
 * one timer started is finished before the next fires. Work that waits for real input or output (a database, a
 * socket) is not seen by it: await such work itself.
 */

import { type Duration, milliseconds } from '../domain/duration.ts';
import type { CancelTimer, Clock } from '../ports/clock.ts';

export interface TestClock extends Clock {
  /** Moves time forward, firing due timers in order. Takes milliseconds or a text like `40s`, `5m`, `24h`. */
  advance(duration: Duration): Promise<void>;
  /** How many timers wait. */
  pending(): number;
}

interface Timer {
  readonly dueAt: number;
  readonly fn: () => void;
}

/**
 * Creates a clock that stands still at `startMs` (milliseconds since the epoch).
 *
 * @example
 * const clock = testClock();
 * await clock.advance('40s');
 */
export function testClock(startMs: number = Date.UTC(2026, 0, 1)): TestClock {
  const timers = new Set<Timer>();
  let elapsed = 0;

  const earliestUntil = (target: number): Timer | null => {
    let earliest: Timer | null = null;
    for (const timer of timers) {
      if (timer.dueAt <= target && (earliest === null || timer.dueAt < earliest.dueAt)) earliest = timer;
    }
    return earliest;
  };

  return {
    now: () => startMs + elapsed,
    monotonic: () => elapsed,
    after(delayMs: number, fn: () => void): CancelTimer {
      if (!Number.isFinite(delayMs)) throw new RangeError(`A timer needs a finite delay, not ${delayMs}.`);
      const timer: Timer = { dueAt: elapsed + Math.max(0, delayMs), fn };
      timers.add(timer);
      return () => {
        timers.delete(timer);
      };
    },
    async advance(duration) {
      const target = elapsed + milliseconds(duration, 'advance');
      await settle();
      for (let timer = earliestUntil(target); timer !== null; timer = earliestUntil(target)) {
        timers.delete(timer);
        elapsed = Math.max(elapsed, timer.dueAt);
        timer.fn();
        await settle();
      }
      elapsed = Math.max(elapsed, target);
      await settle();
    },
    pending: () => timers.size,
  };
}

/** Chains of awaited promises run dry within one macrotask; several let stores and wakers answer each other. */
const turns = 8;

async function settle(): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await new Promise<void>((resolve) => void setImmediate(resolve));
}
