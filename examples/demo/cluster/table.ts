/** A run of the cluster as people read it: a line a second while it goes on, a table, and one sentence that judges it. */

import { styleText } from 'node:util';
import { endings } from './script.ts';
import type { ClusterSummary } from './summary.ts';

export interface Now {
  readonly passedMs: number;
  readonly workers: number;
  readonly placed: number;
  readonly sagas: number;
  /** By state; null while the database does not answer. */
  readonly counts: Readonly<Record<string, number>> | null;
}

/** In the order in which an order may come through them. */
const sagaStates = ['in-progress', 'waiting', 'compensating', ...endings, 'terminated'];

export function stateLine({ passedMs, workers, placed, sagas, counts }: Now): string {
  const states = sagaStates.flatMap((state) => (counts?.[state] === undefined ? [] : [`${counts[state]} ${state}`]));
  const said = counts === null ? 'the database does not answer' : states.join(', ') || 'none there yet';
  const crew = workers === 1 ? '1 worker' : `${workers} workers`;
  return `${Math.round(passedMs / 1000)} s, ${crew} at work, ${placed} of ${sagas} orders placed: ${said}`;
}

export function clusterTable(summary: ClusterSummary, colour: boolean): string {
  const { expected, kills, takeOvers, natsRestarts, natsStoreEmptied, postgresRestarts, wrongCounts } = summary;
  const lines = [
    ['orders', 'ended', 'scripted'],
    ...endings.map((ending) => [ending, String(summary[ending]), String(expected[ending])]),
    ['with other records than they should have', String(wrongCounts), '0'],
    [],
    ['while orders were under way'],
    ['workers killed', String(kills)],
    ['orders taken over from killed workers', String(takeOvers)],
    [`NATS restarted${natsStoreEmptied ? ', with an emptied store' : ''}`, String(natsRestarts)],
    ['PostgreSQL stopped and started', String(postgresRestarts)],
  ];
  const width = Math.max(...lines.map(([first = '']) => first.length));
  return lines
    .map(([first = '', ...counts]) =>
      [first.padEnd(width), ...counts.map((count) => count.padStart(9))].join(' ').trimEnd(),
    )
    .map((line, n) => (colour && (n === 0 || n === 6) ? styleText('bold', line) : line))
    .join('\n');
}

export function clusterVerdict({ ok, sagas, seed, ms }: ClusterSummary): string {
  const how = `seed ${seed}, ${(ms / 1000).toFixed(1)} s`;
  return ok
    ? `All ${sagas} orders ended as their script says, and the provider, asked in its own process, holds just the records that it should (${how}).`
    : `Not right; what is wrong stands above. Repeat it with --seed ${seed} (${how}).`;
}
