/** A run as people and scripts read it: rows for what was wrong, a summary, a table, and one sentence that judges. */

import type { Broken } from './player.child.ts';
import type { Whole } from './players.ts';
import { type Cast, planOf } from './plan.ts';
import { notYet } from './situations.ts';

export interface Summary {
  readonly summary: 'sim';
  readonly ok: boolean;
  readonly firstSeed: number;
  readonly schedules: number;
  readonly events: number;
  readonly violations: number;
  readonly livenessFailures: number;
  readonly faults: Readonly<Record<string, number>>;
  readonly sometimes: Readonly<Record<string, number>>;
  /** Faults that never struck, and situations that never came up. */
  readonly neverHit: readonly string[];
  readonly notYet: readonly string[];
  readonly traceHash: string;
  readonly processes: number;
  readonly schedulesPerMinute: number;
}

/** As many schedules must meet every situation; of fewer it is only told what they have not met. */
export const ENOUGH = 20_000;

interface Playing {
  readonly firstSeed: number;
  readonly cast: Cast;
  readonly processes: number;
  readonly ms: number;
}

export function summaryOf(whole: Whole, { firstSeed, cast, processes, ms }: Playing): Summary {
  const { faults, sometimes } = whole.counts;
  const neverHit = Object.entries({ ...faults, ...sometimes })
    .filter(([, count]) => count === 0)
    .map(([name]) => name);
  const livenessFailures = whole.broken.filter(({ invariant }) => invariant === 'liveness').length;
  return {
    summary: 'sim',
    ok: whole.broken.length === 0 && (cast !== 'all' || whole.schedules < ENOUGH || neverHit.length === 0),
    firstSeed,
    schedules: whole.schedules,
    events: whole.events,
    violations: whole.broken.length - livenessFailures,
    livenessFailures,
    faults,
    sometimes,
    neverHit,
    notYet,
    traceHash: whole.traceHash,
    processes,
    schedulesPerMinute: Math.round((whole.schedules * 60_000) / ms),
  };
}

export function replayOf(seed: number, cast: Cast): string {
  return `npm run sim -- --seed ${seed}${cast === 'all' ? '' : ` --${cast}`}`;
}

export function rowOf({ seed, invariant, what }: Broken, cast: Cast) {
  return { seed, options: planOf(seed, cast), invariant, what, replay: replayOf(seed, cast) };
}

export function rowText({ seed, invariant, what }: Broken, cast: Cast): string {
  return `seed ${seed}: ${invariant}: ${what}\n    ${replayOf(seed, cast)}`;
}

export function tableOf({ faults, sometimes }: Summary): string {
  return [...columns('Faults that struck', faults), '', ...columns('Situations that came up', sometimes)].join('\n');
}

export function verdictOn(summary: Summary, ms: number): string {
  const { schedules, events, violations, livenessFailures, neverHit, schedulesPerMinute, traceHash } = summary;
  const how = `${schedules} schedules, ${events} events, ${Math.round(ms / 1000)} s, ${schedulesPerMinute} a minute, trace ${traceHash}`;
  const missing = neverHit.length === 0 ? '' : ` Never met: ${neverHit.join('; ')}.`;
  if (violations + livenessFailures > 0) {
    return `Not right: ${violations} rules broken, ${livenessFailures} times something was left undone (${how}).${missing}`;
  }
  return `No rule was broken, and nothing was left undone (${how}).${missing}`;
}

function columns(title: string, counts: Readonly<Record<string, number>>): string[] {
  const width = Math.max(...Object.keys(counts).map((name) => name.length));
  return [
    title,
    ...Object.entries(counts).map(([name, count]) => `  ${name.padEnd(width)} ${String(count).padStart(9)}`),
  ];
}
