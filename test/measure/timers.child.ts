/**
 * A process of the measurement of timers. One that arms submits all sagas and ends; one that works takes up what is due,
 * until it is ended.
 */

import { setTimeout as pause } from 'node:timers/promises';
import { createOrchestrator } from 'sagacity';
import { natsWaker } from 'sagacity/nats';
import { postgresStore } from 'sagacity/postgres';
import { chanceOf } from '../torture/chance.ts';
import { sleeper } from './sleeper.ts';

/** What a process is told on its command line. */
export interface TimersTask {
  readonly does: 'arm' | 'work';
  readonly databaseUrl: string;
  /** Null: without. */
  readonly natsUrl: string | null;
  readonly timers: number;
  readonly windowMs: number;
  readonly seed: number;
}

export type TimersSaid =
  | { readonly says: 'at work' }
  /** So many, so far. */
  | { readonly says: 'armed'; readonly armed: number };

/** Submitted at once. */
const AT_ONCE = 64;

/** How fast it goes is not known before so many are armed; until then each is taken to need so long. */
const FORESEEN_FROM = 150;
const FORESEEN_MS = 2;

const NATS_WITHIN_MS = 60_000;

/** Between the end of the arming, as it is foreseen, and the first that is due. */
const LEAD_MS = 3_000;

// The parent wrote it.
const task = JSON.parse(process.argv[2] ?? '') as TimersTask;
process.once('disconnect', () => process.exit(3));

const waker = task.natsUrl === null ? null : natsWaker({ servers: task.natsUrl });
const orchestrator = createOrchestrator({
  store: postgresStore({ url: task.databaseUrl }),
  ...(waker === null ? {} : { waker }),
  definitions: [sleeper],
  tenant: 'shop-1',
});
if (task.does === 'work') {
  await orchestrator.start();
  say({ says: 'at work' });
} else {
  await arm(task);
  await orchestrator.stop();
  process.exit(0);
}

async function arm({ timers, windowMs, seed }: TimersTask): Promise<void> {
  const chance = chanceOf(seed);
  let [began, begun, armed] = [performance.now(), 0, 0];
  // The whole window lies after the end of all this: how far that is off follows from how fast it has gone so far.
  const leftMs = () => {
    const eachMs = armed < FORESEEN_FROM ? FORESEEN_MS : (performance.now() - began) / armed;
    return eachMs * (timers - armed);
  };
  const armOne = async () => {
    const n = (begun += 1);
    await orchestrator.submit(sleeper, {
      n,
      until: Math.round(Date.now() + leftMs() + LEAD_MS + chance.below(windowMs)),
    });
    armed += 1;
    if (armed % 500 === 0 || armed === timers) say({ says: 'armed', armed });
  };
  await armOne();
  // The first submission has opened the waker; what is asked of it before it has found its server is left to the sweep.
  const lateAt = performance.now() + NATS_WITHIN_MS;
  while (waker !== null && !waker.state().keepsTimers) {
    if (performance.now() > lateAt) throw new Error(`NATS keeps no timers after ${NATS_WITHIN_MS / 1000} s.`);
    await pause(20);
  }
  began = performance.now();
  const arming = async () => {
    while (begun < timers) await armOne();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, arming));
}

function say(said: TimersSaid): void {
  process.send?.(said);
}
