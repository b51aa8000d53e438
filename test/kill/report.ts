/** What is said of the cases: a row each, a picture of all of them, and one sentence that judges them. */

import type { Case, Recovery, Verdict } from './case.ts';
import { type FlowName, flowNames } from './flows.ts';
import { type Counts, reachedBy } from './matrix.ts';
import { notYet, type Point, points } from './points.ts';
import type { Signal, Strike } from './strike.ts';

/** One line of `--json`. */
export interface Row {
  /** Of a pair both, with how often each was passed before. */
  readonly point: string;
  readonly flow: FlowName;
  readonly signal: Signal;
  readonly recovery: Recovery;
  /** Signals that struck. */
  readonly kills: number;
  /** Of every kind, as the provider has them. */
  readonly records: number;
  readonly expected: number;
  readonly orphans: number;
  readonly ok: boolean;
  /** What is wrong, in words. */
  readonly complaints: readonly string[];
}

interface Sums {
  readonly kills: number;
  /** Cases of which something is wrong. */
  readonly wrongCounts: number;
  readonly orphans: number;
  readonly ms: number;
  readonly ok: boolean;
}

/** The last line of `--json`. */
export interface MatrixSummary extends Sums {
  readonly summary: 'kill';
  /** That were struck at. */
  readonly points: readonly Point[];
  readonly notYet: readonly string[];
  /** The points that each flow comes by when nobody harms it. */
  readonly reached: Readonly<Record<string, readonly Point[]>>;
  readonly cases: number;
}

/** The last line of `--random --json`. */
export interface PairsSummary extends Sums {
  readonly summary: 'kill';
  readonly pairs: number;
  readonly seed: number;
}

export function rowOf({ flow, strike, recovery, second }: Case, verdict: Verdict): Row {
  const { kills, orphans, complaints } = verdict;
  return {
    point: second === undefined ? strike.point : `${numbered(strike)} + ${numbered(second)}`,
    ...{ flow, signal: strike.signal, recovery, kills },
    records: sum(verdict.records),
    expected: sum(verdict.expected),
    orphans,
    // A case whose signal has not struck proves nothing.
    ok: kills > 0 && orphans === 0 && complaints.length === 0,
    complaints,
  };
}

export function rowText({ flow, point, signal, recovery, complaints }: Row): string {
  return `${flow}, ${signal} at "${point}", ${recovery}: ${complaints.join('; ') || 'no signal struck'}`;
}

export function matrixSummary(counts: Counts, rows: readonly Row[], isWhole: boolean, ms: number): MatrixSummary {
  const struck = points.filter((point) => rows.some((row) => row.point === point && row.kills > 0));
  const sums = sumsOf(rows, ms);
  return {
    summary: 'kill',
    ...sums,
    ok: sums.ok && (!isWhole || struck.length === points.length),
    ...{ points: struck, notYet },
    reached: Object.fromEntries([...counts].map(([flow, counted]) => [flow, reachedBy(counted)])),
    cases: rows.length,
  };
}

export function pairsSummary(rows: readonly Row[], seed: number, ms: number): PairsSummary {
  return { summary: 'kill', ...sumsOf(rows, ms), pairs: rows.length, seed };
}

/** How many cases of each point and flow were right, of how many. */
export function pictureOf(rows: readonly Row[]): string {
  const flows = flowNames.filter((flow) => rows.some((row) => row.flow === flow));
  const lines = points.map((point) => [
    point,
    ...flows.map((flow) => {
      const cases = rows.filter((row) => row.point === point && row.flow === flow);
      const right = cases.filter(({ ok }) => ok).length;
      return cases.length === 0 ? '·' : `${right < cases.length ? '✗ ' : ''}${right} of ${cases.length}`;
    }),
  ]);
  const width = Math.max(...points.map((point) => point.length));
  return [['point', ...flows], ...lines]
    .map(([first = '', ...cells]) => [first.padEnd(width), ...cells.map((cell) => cell.padStart(10))].join(' '))
    .join('\n');
}

export function verdictOn({ ok, kills, wrongCounts, orphans, ms, ...counted }: MatrixSummary | PairsSummary): string {
  const what =
    'pairs' in counted
      ? `${counted.pairs} pairs of points (seed ${counted.seed})`
      : `${counted.cases} cases at ${counted.points.length} points`;
  const told = `${what}, ${kills} signals that struck, ${wrongCounts} cases wrong, ${orphans} orphans`;
  return `${ok ? 'All right' : 'Not right'}: ${told} (${Math.round(ms / 1000)} s).`;
}

function sumsOf(rows: readonly Row[], ms: number): Sums {
  const total = (of: (row: Row) => number) => rows.reduce((so, row) => so + of(row), 0);
  return {
    kills: total(({ kills }) => kills),
    wrongCounts: total(({ ok }) => (ok ? 0 : 1)),
    orphans: total(({ orphans }) => orphans),
    ms: Math.round(ms),
    ok: rows.length > 0 && rows.every(({ ok }) => ok),
  };
}

function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}

function numbered({ point, nth }: Strike): string {
  return nth === 1 ? point : `${point} (${nth})`;
}
