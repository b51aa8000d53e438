/**
 * A process that plays schedules: it is told ranges of seeds, and says of each range what struck, what happened and
 * what was wrong. Nothing of one schedule reaches the next, so that it does not matter which process plays it.
 */

import type { Cast } from './plan.ts';
import { play } from './schedule.ts';
import { type Counts, Tally } from './tally.ts';

/** Seeds to be played, in this order. */
export interface Assignment {
  readonly seeds: readonly number[];
  readonly cast: Cast;
}

/** A rule that a schedule broke. */
export interface Broken {
  readonly seed: number;
  readonly invariant: string;
  readonly what: string;
}

export interface Performance {
  readonly seeds: readonly number[];
  readonly counts: Counts;
  readonly events: number;
  /** One for each schedule: everything that happened in it. */
  readonly hashes: readonly string[];
  readonly broken: readonly Broken[];
}

// Thousands of errors are made here to be retried; where they come from is told when a seed is replayed.
Error.stackTraceLimit = 0;

let loose: Broken | null = null;
let playing = 0;

// A promise of nobody's that fails is a fault of the library, whatever schedule brings it out.
process.on('unhandledRejection', (reason) => {
  loose ??= { seed: playing, invariant: 'unhandled', what: reason instanceof Error ? reason.message : String(reason) };
});

// Nobody is left to play for.
process.on('disconnect', () => process.exit());

process.on('message', (message) => {
  // Sent by `players.ts`.
  void perform(message as Assignment).then((performance) => process.send?.(performance));
});

async function perform({ seeds, cast }: Assignment): Promise<Performance> {
  const tally = new Tally();
  const hashes: string[] = [];
  const broken: Broken[] = [];
  let events = 0;
  for (const seed of seeds) {
    playing = seed;
    loose = null;
    const played = await play(seed, tally, cast);
    // Node tells of promises that failed once everything else has been done.
    await new Promise<void>((resolve) => void setImmediate(resolve));
    hashes.push(played.hash);
    events += played.events;
    if (played.violation !== null) {
      broken.push({ seed, invariant: played.violation.invariant, what: played.violation.message });
    } else if (loose !== null) broken.push(loose);
  }
  return { seeds, counts: tally.counts, events, hashes, broken };
}
