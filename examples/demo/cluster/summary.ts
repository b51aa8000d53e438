/** What a run comes to. It is right only if every kind of blow has struck: one that never fell proves nothing. */

import type { Struck } from './blows.ts';
import type { Counts, Judgement } from './judge.ts';

/** The last line of `--json`. */
export interface ClusterSummary extends Counts, Omit<Struck, 'left'> {
  readonly summary: 'demo';
  readonly ok: boolean;
  readonly sagas: number;
  readonly expected: Counts;
  readonly wrongCounts: number;
  /** Orders that a killed worker left, and another one has taken. */
  readonly takeOvers: number;
  readonly seed: number;
  readonly ms: number;
}

/** What has not happened while orders were under way, and should have. */
export function blowsMissing(struck: Struck, takeOvers: number): readonly string[] {
  const { kills, natsRestarts, natsStoreEmptied, postgresRestarts } = struck;
  const happened = Object.entries({
    'a worker was killed with orders in its hands': kills > 0,
    'an order was taken over from a killed worker': takeOvers > 0,
    'NATS was restarted': natsRestarts > 0,
    'the store of NATS was emptied': natsStoreEmptied,
    'PostgreSQL was restarted': postgresRestarts > 0,
  });
  return happened.filter(([, has]) => !has).map(([what]) => `never came about: ${what}`);
}

/** `rest`: what the run knows besides. */
export function summaryOf(
  { ended, expected, wrongCounts }: Judgement,
  { left: _, ...struck }: Struck,
  { ok, ...rest }: Pick<ClusterSummary, 'ok' | 'takeOvers' | 'seed' | 'ms'>,
): ClusterSummary {
  const sagas = Object.values(expected).reduce((sum, count) => sum + count, 0);
  return { ...{ summary: 'demo', ok, sagas }, ...ended, ...{ expected, wrongCounts }, ...struck, ...rest };
}
