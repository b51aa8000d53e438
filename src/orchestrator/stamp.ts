/**
 * How long ago something was, judged by whoever makes it longer: the steady counter stands still while a machine
 * sleeps, and the wall clock may be set back. What must not happen late is asked of this.
 */

import type { Clock } from '../ports/clock.ts';

export interface Stamp {
  readonly monotonic: number;
  readonly wall: number;
}

export function stampNow(clock: Clock): Stamp {
  return { monotonic: clock.monotonic(), wall: clock.now() };
}

/** Milliseconds since `stamp`; never less than have passed by either clock. */
export function msSince(clock: Clock, { monotonic, wall }: Stamp): number {
  return Math.max(clock.monotonic() - monotonic, clock.now() - wall);
}
