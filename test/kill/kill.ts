/** Observes the flows, chooses the cases, and plays them side by side. */

import { type AtTheEnd, undoneAtTheEnd } from '../support/to-the-end.ts';
import { chanceOf } from '../torture/chance.ts';
import { type Case, NeverReached, observed, played, type Recovery, type Verdict } from './case.ts';
import type { FlowName } from './flows.ts';
import { allCases, type Counts, randomPairs } from './matrix.ts';
import type { Point } from './points.ts';
import { type Row, rowOf } from './report.ts';
import { openSite, type Place, type Site } from './site.ts';
import type { Signal } from './strike.ts';

export interface Killing {
  readonly flows: readonly FlowName[];
  /** Only these, if there are any. */
  readonly points: readonly Point[];
  readonly signals: readonly Signal[];
  readonly recoveries: readonly Recovery[];
  /** Pairs that chance chooses, in place of the matrix; null: the matrix. */
  readonly random: { readonly pairs: number; readonly seed: number } | null;
  /** Cases that are played at a time. */
  readonly processes: number;
}

export interface Telling {
  doing(what: string): void;
  /** How many cases there will be. */
  total(cases: number): void;
  row(row: Row): void;
}

export interface Killed {
  readonly counts: Counts;
  readonly rows: readonly Row[];
}

/** Rejects when it could not run, or when a flow is wrong that nobody harms. */
export async function kill(killing: Killing, telling: Telling, atTheEnd: AtTheEnd): Promise<Killed> {
  telling.doing('starting a PostgreSQL server and providers');
  const site = await undoneAtTheEnd(atTheEnd, openSite(killing.processes), (opened) => opened.close());
  telling.doing('playing each flow unharmed');
  const { processes } = killing;
  const counts = new Map(
    await sideBySide(processes, killing.flows, async (flow) => {
      return [flow, await site.at((place) => unharmed(flow, place))] as const;
    }),
  );

  const cases = killing.random === null ? chosen(killing, counts) : pairs(killing.random, counts);
  telling.total(cases.length);
  telling.doing('striking');
  const rows = await sideBySide(processes, cases, async (next) => {
    const row = rowOf(next, await verdictOf(next, site));
    telling.row(row);
    return row;
  });
  return { counts, rows };
}

/** No more than `most` at a time; the answers are in the order of the items. */
async function sideBySide<Item, Answer>(
  most: number,
  items: readonly Item[],
  work: (item: Item) => Promise<Answer>,
): Promise<readonly Answer[]> {
  const answers: Answer[] = [];
  const left = items.entries();
  const working = async () => {
    for (const [index, item] of left) answers[index] = await work(item);
  };
  await Promise.all(Array.from({ length: most }, working));
  return answers;
}

async function unharmed(flow: FlowName, place: Place) {
  const { verdict, counts } = await observed(flow, place);
  if (verdict.complaints.length > 0) throw new Error(`${flow} is wrong unharmed: ${verdict.complaints.join('; ')}.`);
  return counts;
}

function chosen({ points, signals, recoveries }: Killing, counts: Counts): readonly Case[] {
  return allCases(counts).filter(
    ({ strike, recovery }) =>
      isAmong(points, strike.point) && isAmong(signals, strike.signal) && isAmong(recoveries, recovery),
  );
}

function pairs(random: NonNullable<Killing['random']>, counts: Counts): readonly Case[] {
  return randomPairs(counts, random.pairs, chanceOf(random.seed));
}

function isAmong<Item>(wanted: readonly Item[], item: Item): boolean {
  return wanted.length === 0 || wanted.includes(item);
}

async function verdictOf(given: Case, site: Site): Promise<Verdict> {
  try {
    return await site.at((place) => played(given, place));
  } catch (error) {
    // A life that is shorter than the one that was observed: the first time it comes there in any case.
    if (error instanceof NeverReached && given.strike.nth > 1) {
      return await verdictOf({ ...given, strike: { ...given.strike, nth: 1 } }, site);
    }
    const why = error instanceof Error ? error.message : String(error);
    return { kills: 0, records: {}, expected: {}, orphans: 0, complaints: [why] };
  }
}
