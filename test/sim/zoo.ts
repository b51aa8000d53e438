/**
 * The test of the test: each deliberate defect of `test/zoo/defects` is put in as the modules load, and schedules are
 * played until one is judged wrong. It counts only if the same schedule is right without the defect, and if the defect
 * was really met. An import, type or syntax error is not a catch: then nothing could be tried.
 */

import { readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { DefectUnusable } from '../zoo/defect.ts';
import { plant } from '../zoo/plant.ts';
import type { Broken } from './player.child.ts';
import { play } from './schedule.ts';
import { playAll } from './players.ts';
import { Tally } from './tally.ts';

export interface Caught {
  readonly defect: string;
  readonly caught: boolean;
  /** How many schedules it took. */
  readonly schedules: number;
  readonly invariant: string | null;
  readonly seed: number | null;
}

export interface ZooSummary {
  readonly summary: 'sim-zoo';
  readonly ok: boolean;
  readonly defects: number;
  readonly caught: number;
  readonly medianSchedules: number;
  readonly worstSchedules: number;
}

/** A defect that no schedule of so many shows is not caught. */
const SCHEDULES_MAX = 50_000;

const folder = fileURLToPath(new URL('../zoo/defects', import.meta.url));

export interface Zoo {
  readonly processes: number;
  /** Parts of names; none: all. */
  readonly only: readonly string[];
  readonly schedulesMax?: number;
  readonly onRow: (row: Caught) => void;
}

export async function zoo({ processes, only, schedulesMax = SCHEDULES_MAX, onRow }: Zoo): Promise<ZooSummary> {
  const names = (await readdir(folder)).map((file) => file.replace(/\.ts$/, '')).toSorted();
  const chosen = names.filter((name) => only.length === 0 || only.some((part) => name.includes(part)));
  const rows: Caught[] = [];
  const waiting = [...chosen];
  const work = async (): Promise<void> => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      const row = await tried(name, schedulesMax);
      rows.push(row);
      onRow(row);
    }
  };
  await Promise.all(Array.from({ length: processes }, work));
  const caught = rows.filter((row) => row.caught);
  const needed = caught.map(({ schedules }) => schedules).toSorted((a, b) => a - b);
  return {
    summary: 'sim-zoo',
    ok: caught.length === rows.length && rows.length > 0,
    defects: rows.length,
    caught: caught.length,
    medianSchedules: needed[Math.floor(needed.length / 2)] ?? 0,
    worstSchedules: needed.at(-1) ?? 0,
  };
}

async function tried(name: string, schedulesMax: number): Promise<Caught> {
  const planted = await plant(`${folder}/${name}.ts`);
  try {
    for (let from = 1; from <= schedulesMax; ) {
      const first = await firstBroken(from, schedulesMax, planted.env);
      const unmet = await planted.unmet();
      if (unmet.length > 0) throw new DefectUnusable(`${name} was never loaded: ${unmet.join(', ')}.`);
      if (first === null) break;
      const { seed, invariant } = first;
      if ((await play(seed, new Tally())).violation === null) {
        return { defect: name, caught: true, schedules: seed, invariant, seed };
      }
      // Wrong without the defect as well, which proves nothing about it.
      from = seed + 1;
    }
    return { defect: name, caught: false, schedules: schedulesMax, invariant: null, seed: null };
  } finally {
    await planted.remove();
  }
}

async function firstBroken(from: number, to: number, env: Readonly<Record<string, string>>): Promise<Broken | null> {
  const seeds = Array.from({ length: to - from + 1 }, (_, index) => from + index);
  const { broken } = await playAll({ seeds, processes: 1, env, onProgress: (so) => so.broken.length === 0 });
  return broken[0] ?? null;
}

export function zooRowText({ defect, caught, schedules, invariant, seed }: Caught): string {
  const how = caught ? `${invariant}, after ${schedules} schedules (seed ${seed})` : `not in ${schedules} schedules`;
  return `${caught ? 'caught    ' : 'NOT CAUGHT'} ${defect.padEnd(58)} ${how}`;
}

export function zooVerdict({ defects, caught, medianSchedules, worstSchedules, ok }: ZooSummary, ms: number): string {
  const how = `median ${medianSchedules}, worst ${worstSchedules} schedules, ${Math.round(ms / 1000)} s`;
  return ok ? `All ${defects} defects are caught (${how}).` : `Only ${caught} of ${defects} are caught (${how}).`;
}
