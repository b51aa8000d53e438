/**
 * Tests the tests of the guarantees: breaks each one on purpose, and runs the specification that must notice. A
 * specification that passes on a broken library proves nothing about a sound one.
 */

import { type Plant, plant } from '../plant.ts';
import { DefectUnusable } from '../defect.ts';
import { builtGuarantees, type Guarantee } from './guarantee.ts';
import { runSpecs, type SpecReport, SpecsDidNotRun } from './specs.ts';
import { flawOf, type Verdict, verdictOn } from './verdict.ts';

/** A guarantee that was broken, and whether that was noticed. */
export interface GuaranteeRow {
  readonly guarantee: string;
  /** Null: no defect breaks it. */
  readonly defect: string | null;
  readonly spec: string;
  readonly caught: boolean;
  /** The test that noticed, or why none did. */
  readonly by?: string;
  readonly why?: string;
}

export interface GuaranteesSummary {
  readonly summary: 'sim-guarantees';
  readonly ok: boolean;
  readonly guarantees: number;
  readonly caught: number;
}

export interface GuaranteesOptions {
  /** Told of each guarantee as soon as it is judged. */
  readonly onRow?: (row: GuaranteeRow) => void;
  /** Told what is being done. */
  readonly onProgress?: (doing: string) => void;
  readonly guarantees?: readonly Guarantee[];
  /** Ends everything before its time. */
  readonly signal?: AbortSignal;
}

export interface GuaranteesEnd {
  readonly summary: GuaranteesSummary;
  /** 0: all were caught. 1: one was not noticed. 2: one could not be tried. */
  readonly exitCode: 0 | 1 | 2;
}

/** Two cores, and no specification uses more than one. */
const AT_ONCE = 2;

/** Rejects with DefectUnusable or SpecsDidNotRun when not one of them can be tried. */
export async function guarantees(options: GuaranteesOptions = {}): Promise<GuaranteesEnd> {
  const { onRow, onProgress, guarantees: all = await builtGuarantees(), signal } = options;
  const specs = [...new Set(all.map(specOf))];
  onProgress?.(`running ${specs.length} specs without a defect`);
  const sound = await runSpecs({ specs, signal });
  const verdicts: Verdict['type'][] = [];
  const waiting = [...all];
  const lane = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      onProgress?.(`breaking ${next.guarantee}`);
      const began = performance.now();
      const verdict = await tried(next, sound.get(specOf(next)), signal);
      onProgress?.(`${next.guarantee} is judged after ${Math.round((performance.now() - began) / 1000)} s`);
      verdicts.push(verdict.type);
      onRow?.(rowOf(next, verdict));
    }
  };
  // All are waited for, also when one has given up: each has a process and a folder to be rid of.
  const lanes = await Promise.allSettled(Array.from({ length: AT_ONCE }, lane));
  for (const end of lanes) if (end.status === 'rejected') throw end.reason;
  const caught = verdicts.filter((type) => type === 'caught').length;
  const ok = caught === all.length && all.length > 0;
  return {
    summary: { summary: 'sim-guarantees', ok, guarantees: all.length, caught },
    exitCode: ok ? 0 : verdicts.includes('unnoticed') ? 1 : 2,
  };
}

function specOf({ broken, specs }: Guarantee): string {
  return broken?.defect.spec ?? specs[0] ?? '';
}

async function tried(
  { broken }: Guarantee,
  sound: SpecReport | undefined,
  signal: AbortSignal | undefined,
): Promise<Verdict> {
  if (broken === null || sound === undefined) return { type: 'could-not-run', why: 'no defect breaks it' };
  const flaw = flawOf(sound);
  if (flaw !== null) return { type: 'could-not-run', why: flaw };
  try {
    const planted = await plant(broken.path);
    try {
      return await triedWith(planted, sound.spec, signal);
    } finally {
      await planted.remove();
    }
  } catch (error) {
    if (!(error instanceof DefectUnusable || error instanceof SpecsDidNotRun)) throw error;
    return { type: 'could-not-run', why: error.message };
  }
}

async function triedWith(planted: Plant, spec: string, signal: AbortSignal | undefined): Promise<Verdict> {
  const reports = await runSpecs({ specs: [spec], env: planted.env, signal });
  const missed = await planted.unmet();
  if (missed.length > 0) return { type: 'could-not-run', why: `the spec never loads ${missed.join(', ')}` };
  // `runSpecs` has a report of every spec that it was given.
  return verdictOn(reports.get(spec) as SpecReport);
}

function rowOf(guarantee: Guarantee, verdict: Verdict): GuaranteeRow {
  return {
    guarantee: guarantee.guarantee,
    defect: guarantee.broken?.defect.name ?? null,
    spec: specOf(guarantee),
    caught: verdict.type === 'caught',
    ...(verdict.type === 'caught' ? { by: verdict.by } : { why: verdict.why }),
  };
}
