/**
 * The clock of the process itself: wall-clock time from the system, durations from the steady counter. Timers keep
 * the process alive, as work that is due must; whoever sets one cancels it when stopping.
 */

import { performance } from 'node:perf_hooks';
import type { CancelTimer, Clock } from '../../ports/clock.ts';

/** The longest delay a Node timer holds; beyond it `setTimeout` would fire at once. */
const longestTimerMs = 2 ** 31 - 1;

/** Creates the clock that production uses. */
export function systemClock(): Clock {
  return { now: () => Date.now(), monotonic: () => performance.now(), after };
}

function after(delayMs: number, fn: () => void): CancelTimer {
  if (!Number.isFinite(delayMs)) throw new RangeError(`A timer needs a finite delay, not ${delayMs}.`);
  const dueAt = performance.now() + Math.max(0, delayMs);
  let timer: NodeJS.Timeout;
  // A Node timer may fire a fraction early and cannot wait for long: each leg re-checks what remains.
  const leg = (): void => {
    const remainingMs = dueAt - performance.now();
    if (remainingMs <= 0) fn();
    else timer = setTimeout(leg, Math.min(Math.ceil(remainingMs), longestTimerMs));
  };
  timer = setTimeout(leg, Math.min(Math.ceil(Math.max(0, delayMs)), longestTimerMs));
  return () => {
    clearTimeout(timer);
  };
}
