/**
 * One case: a process plays a flow and is struck at a point; others come to its end. What is left is judged when all is
 * quiet.
 */

import { setTimeout as pause } from 'node:timers/promises';
import type postgres from 'postgres';
import { unfinished } from '../support/database-audit.ts';
import { type FlowName, flows, type Told } from './flows.ts';
import { judge, type Judgement } from './judge.ts';
import { beginLife, type Came, type Life, type Played } from './life.ts';
import type { Place } from './site.ts';
import type { Signal, Strike } from './strike.ts';

/**
 * `restart`: another process does all of it again. `take-over`: one that is there already goes on with what is stored,
 * and is asked for the flow when all is done. `second-kill`: the one that does it again is struck as well, where it
 * comes there, and a third one does it. `timers-lost`: as `take-over`, and NATS has forgotten all timers before.
 */
export const recoveries = ['restart', 'take-over', 'second-kill', 'timers-lost'] as const;

export type Recovery = (typeof recoveries)[number];

export interface Case {
  readonly flow: FlowName;
  readonly strike: Strike;
  readonly recovery: Recovery;
  /** Where the second process is struck; by default at the same point, the first time that it comes there. */
  readonly second?: Strike;
}

export interface Verdict extends Judgement {
  /** How many signals struck. */
  readonly kills: number;
}

/** What has to move by itself has come to its end by then, or is lost. */
const QUIET_MS = 45_000;

/** Plays the flow unharmed; how often it came by each point. */
export async function observed(
  flow: FlowName,
  place: Place,
): Promise<{ readonly counts: Played['counts']; readonly verdict: Judgement }> {
  const lives = livesIn(flow, place);
  try {
    await flows[flow].prepare(place.provider);
    const { told, counts } = await playedBy(lives.begin(null));
    return { counts, verdict: await judged(flow, told, place, lives) };
  } finally {
    await lives.end();
  }
}

export async function played(given: Case, place: Place): Promise<Verdict> {
  const lives = livesIn(given.flow, place);
  try {
    await flows[given.flow].prepare(place.provider);
    const isTakenOver = given.recovery === 'take-over' || given.recovery === 'timers-lost';
    const { told, kills, stalled } = isTakenOver ? await takenOver(given, lives, place) : await again(given, lives);
    const { complaints, ...counted } = await judged(given.flow, told, place, lives);
    return { kills, ...counted, complaints: [...stalled, ...complaints] };
  } finally {
    await lives.end();
  }
}

interface Ended {
  readonly told: readonly Told[];
  readonly kills: number;
  /** What is wrong because whoever took over did not come to the end of it. */
  readonly stalled: readonly string[];
}

async function again({ strike, recovery, second }: Case, lives: Lives): Promise<Ended> {
  await struckBy(lives.begin(strike), strike.signal);
  if (recovery === 'restart') return { told: (await playedBy(lives.begin(null))).told, kills: 1, stalled: [] };
  const life = lives.begin(second ?? { ...strike, nth: 1 });
  const came = await play(life);
  if (!('by' in came)) return { told: came.told, kills: 1, stalled: [] };
  return { told: (await playedBy(lives.begin(null))).told, kills: 2, stalled: [] };
}

async function takenOver({ strike, recovery }: Case, lives: Lives, place: Place): Promise<Ended> {
  const life = lives.begin(strike);
  const next = lives.begin(null);
  await struckBy(life, strike.signal);
  if (recovery === 'timers-lost') await place.loseTimers();
  const isQuiet = await takeOver(next, place.sql);
  // Callers who ask again would set in motion what nobody else has.
  const stalled = isQuiet ? [] : [`what was left has not come to its end by itself within ${QUIET_MS / 1_000} s`];
  const { told } = await playedBy(next);
  if (strike.signal !== 'SIGSTOP') return { told, kills: 1, stalled };
  // It comes back, and believes that it owns what it owned.
  const back = await life.goOn();
  if ('by' in back) throw new Error(`A process was struck by ${back.by} after it was let go on.`);
  return { told: [...told, ...back.told], kills: 1, stalled };
}

interface Lives {
  begin(strike: Strike | null): Life;
  faults(): readonly string[];
  end(): Promise<void>;
}

function livesIn(flow: FlowName, { program, databaseUrl, provider, natsUrl }: Place): Lives {
  const all: Life[] = [];
  return {
    begin(strike) {
      const isFirst = all.length === 0;
      const life = beginLife(program, { databaseUrl, providerUrl: provider.url, natsUrl, flow, strike, isFirst });
      all.push(life);
      return life;
    },
    faults: () => all.flatMap(({ faults }) => faults.map((what) => `logged: ${what}`)),
    async end() {
      await Promise.all(all.map((life) => life.end()));
    },
  };
}

async function play(life: Life): Promise<Came> {
  await there(life);
  life.ask('play');
  return await life.came();
}

/** Has it go on with what others have left, until nothing of that has to move. False if that never comes. */
async function takeOver(life: Life, sql: postgres.Sql): Promise<boolean> {
  await there(life);
  life.ask('take over');
  return await quiet(sql);
}

/** One that cannot even begin says why. */
async function there(life: Life): Promise<void> {
  await Promise.race([life.loaded, life.came()]);
}

async function playedBy(life: Life): Promise<Played> {
  const came = await play(life);
  if ('by' in came) throw new Error(`A process that nobody struck ended by ${came.by}.`);
  return came;
}

async function struckBy(life: Life, signal: Signal): Promise<void> {
  const came = await play(life);
  if (!('by' in came)) throw new NeverReached('A process played to its end and never came to the point.');
  if (came.by !== signal) throw new Error(`It was struck by ${came.by}.`);
}

/** The flow does not come by that point as often as that. */
export class NeverReached extends Error {}

async function judged(
  flow: FlowName,
  told: readonly Told[],
  { sql, provider }: Place,
  lives: Lives,
): Promise<Judgement> {
  // What was said at the very end is for the worker that comes next, whenever that is.
  if ((await unfinished(sql)) > 0) await takeOver(lives.begin(null), sql);
  const { complaints, ...counted } = await judge(flows[flow], told, { sql, provider });
  return { ...counted, complaints: [...complaints, ...lives.faults()] };
}

/** Waits until nothing has to move by itself. False if that never comes. */
async function quiet(sql: postgres.Sql): Promise<boolean> {
  const lostAt = performance.now() + QUIET_MS;
  while ((await unfinished(sql)) > 0) {
    if (performance.now() >= lostAt) return false;
    await pause(50);
  }
  return true;
}
