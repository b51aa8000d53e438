/**
 * Several processes that play schedules side by side. What they say is put together in the order of the seeds, so that
 * the same seeds give the same whole, however many processes there are and however fast they run.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { nodeArguments } from '../zoo/plant.ts';
import type { Cast } from './plan.ts';
import type { Assignment, Broken, Performance } from './player.child.ts';
import { type Counts, sumOf, Tally } from './tally.ts';

export interface Playing {
  readonly seeds: readonly number[];
  /** Default: all. */
  readonly cast?: Cast;
  readonly processes: number;
  /** Added to the environment of the players. */
  readonly env?: Readonly<Record<string, string>>;
  /** After each range of seeds. Answers whether to go on. */
  readonly onProgress?: (so: Progress) => boolean;
}

export interface Progress {
  readonly schedules: number;
  readonly events: number;
  readonly broken: readonly Broken[];
}

export interface Whole {
  readonly schedules: number;
  readonly events: number;
  readonly counts: Counts;
  readonly broken: readonly Broken[];
  /** Over everything that happened in every schedule. */
  readonly traceHash: string;
}

/** The players could not play: what they were started with does not run. */
export class PlayersFailed extends Error {}

/** Schedules that a player is given at once. */
const RANGE = 50;

/** Players that are at work. One that a defect has caught in a loop hears nothing, also not that nobody is left. */
const playing = new Set<ChildProcess>();
process.once('exit', () => {
  for (const player of playing) player.kill('SIGKILL');
});

const script = fileURLToPath(new URL('player.child.ts', import.meta.url));

/** Plays all seeds, or as many as `onProgress` lets it. */
export async function playAll({
  seeds,
  cast = 'all',
  processes,
  env = {},
  onProgress = () => true,
}: Playing): Promise<Whole> {
  const ranges: Assignment[] = [];
  for (let from = 0; from < seeds.length; from += RANGE) ranges.push({ seeds: seeds.slice(from, from + RANGE), cast });
  const performances: (Performance | undefined)[] = ranges.map(() => undefined);
  let next = 0;
  let goesOn = true;

  const work = async (): Promise<void> => {
    const player = fork(script, { execArgv: [...nodeArguments], env: { ...process.env, ...env } });
    playing.add(player);
    try {
      while (goesOn && next < ranges.length) {
        const index = next;
        next += 1;
        const range = ranges[index];
        if (range === undefined) return;
        performances[index] = await performed(player, range);
        if (!onProgress(progressOf(performances))) goesOn = false;
      }
    } finally {
      player.kill('SIGKILL');
      playing.delete(player);
    }
  };
  await Promise.all(Array.from({ length: Math.min(processes, ranges.length) }, work));

  const done = performances.filter((performance) => performance !== undefined);
  const hash = createHash('sha256');
  for (const { hashes } of done) for (const one of hashes) hash.update(one);
  return {
    ...progressOf(done),
    counts: done.reduce((sum, { counts }) => sumOf(sum, counts), new Tally().counts),
    traceHash: hash.digest('hex').slice(0, 32),
  };
}

function progressOf(performances: readonly (Performance | undefined)[]): Progress {
  const done = performances.filter((performance) => performance !== undefined);
  return {
    schedules: done.reduce((sum, { seeds }) => sum + seeds.length, 0),
    events: done.reduce((sum, { events }) => sum + events, 0),
    broken: done.flatMap(({ broken }) => broken),
  };
}

function performed(player: ChildProcess, range: Assignment): Promise<Performance> {
  return new Promise((resolve, reject) => {
    const forget = () => player.removeAllListeners();
    player.once('message', (message) => {
      forget();
      // Sent by `player.child.ts`.
      resolve(message as Performance);
    });
    player.once('exit', (code, signal) => {
      forget();
      reject(new PlayersFailed(`A player ended with ${signal ?? `exit code ${code}`} at seed ${range.seeds[0]}.`));
    });
    player.once('error', (error) => {
      forget();
      reject(new PlayersFailed(error.message));
    });
    player.send(range);
  });
}
