/**
 * The judgement on one case when all is quiet. The provider's records are counted; the rows and histories are read with
 * SQL of our own; what the callers were told is compared with them.
 */

import type postgres from 'postgres';
import type { ProviderClient } from 'sagacity/testing';
import {
  groupedBy,
  isAtRest,
  isOrphan,
  isTakenBack,
  type Left,
  type OperationLeft,
  readLeft,
  type SagaLeft,
  told,
} from '../support/database-audit.ts';
import type { Flow, Told } from './flows.ts';
import { inverseOf } from './shop.ts';

export interface Judgement {
  /** How many records of each kind the provider has. */
  readonly records: Readonly<Record<string, number>>;
  readonly expected: Readonly<Record<string, number>>;
  /** What is neither at its end nor has a next step. */
  readonly orphans: number;
  /** Everything that is wrong, in words. */
  readonly complaints: readonly string[];
}

export async function judge(
  flow: Flow,
  ends: readonly Told[],
  { sql, provider }: { readonly sql: postgres.Sql; readonly provider: ProviderClient },
): Promise<Judgement> {
  const left = await readLeft(sql, provider);
  const { operations, sagas } = left;
  const kinds = groupedBy(left.records, ({ kind }) => kind);
  const records = Object.fromEntries([...kinds].map(([kind, all]) => [kind, all.length]));
  const expected = flow.records(ends);
  const orphans = [...operations.filter(({ saga }) => saga === null), ...sagas].filter(isOrphan);
  return {
    ...{ records, expected },
    orphans: orphans.length,
    complaints: [
      ...aboutRecords(expected, records, ends),
      ...operations.flatMap((row) =>
        [...left.wrongWith(row), ...left.wrongCount(row)].map((what) => `${row.action} ${what}`),
      ),
      ...sagas.flatMap((saga) => aboutSaga(saga, left.operationsOf(saga))),
      ...ends.flatMap((end) => aboutEnd(end, left)),
      ...left.strays,
    ],
  };
}

type Counts = Judgement['records'];

function aboutRecords(expected: Counts, records: Counts, ends: readonly Told[]): string[] {
  const kinds = new Set([...Object.keys(expected), ...Object.keys(records)]);
  const stands = ends.map(({ orderId, status }) => `${orderId} ${status}`).join(', ');
  return [...kinds].flatMap((kind) => {
    const [count, wanted] = [records[kind] ?? 0, expected[kind] ?? 0];
    return told(count !== wanted, `there are ${count} records of ${kind} and not ${wanted} [${stands}]`);
  });
}

function aboutSaga(saga: SagaLeft, own: readonly OperationLeft[]): string[] {
  const { state } = saga;
  return [
    ...told(!isAtRest(state), `the saga is neither settled nor escalated, but ${state}`),
    ...told(isOrphan(saga), 'the saga is an orphan: nobody living owns it and it is due at no time'),
    ...told(state === 'succeeded' && own.some((row) => row.state !== 'succeeded'), 'a step has not succeeded'),
    ...told(
      state === 'compensated' && !own.every((row) => isTakenBack(row, own, inverseOf)),
      'something was left standing',
    ),
  ];
}

/** What a caller was told is what is stored. */
function aboutEnd({ orderId, id, status }: Told, { operations, sagas }: Left): string[] {
  const state = [...operations, ...sagas].find((row) => row.id === id)?.state;
  return told(state !== status, `the caller of ${orderId} was told ${status}, and stored is ${state ?? 'nothing'}`);
}
