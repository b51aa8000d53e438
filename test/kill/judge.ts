/**
 * The judgement on one case when all is quiet. The provider's records are counted; the rows and histories are read with
 * SQL of our own; what the callers were told is compared with them.
 */

import type postgres from 'postgres';
import type { ProviderClient } from 'sagacity/testing';
import {
  aboutCount,
  aboutOperation,
  groupedBy,
  handoversIn,
  isAtRest,
  isOrphan,
  isTakenBack,
  linesIn,
  type OperationLeft,
  rowsIn,
  type SagaLeft,
  sagasIn,
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
  const [rows, sagas] = [await rowsIn(sql), await sagasIn(sql)];
  const lines = groupedBy(await linesIn(sql), ({ operation }) => operation);
  const made = await provider.records();
  const recordsOf = groupedBy(made, ({ key }) => key ?? '');
  const kinds = groupedBy(made, ({ kind }) => kind);
  const sent = groupedBy(
    (await provider.received()).filter(({ method }) => method === 'POST'),
    ({ key }) => key ?? '',
  );
  const keys = new Set(rows.map(({ providerKey }) => providerKey));
  const records = Object.fromEntries([...kinds].map(([kind, all]) => [kind, all.length]));
  const members = groupedBy(rows, ({ saga }) => saga ?? '');
  const orphans = [...rows.filter((row) => row.saga === null && isOrphan(row)), ...sagas.filter(isOrphan)];
  const expected = flow.records(ends);
  return {
    ...{ records, expected },
    orphans: orphans.length,
    complaints: [
      ...aboutRecords(expected, records, ends),
      ...[...sent.keys()].filter((key) => !keys.has(key)).map((key) => `the provider received the unknown key ${key}`),
      ...rows.flatMap((row) =>
        [
          ...aboutOperation(row, lines.get(row.id) ?? [], sent.get(row.providerKey) ?? []),
          ...aboutCount(row, recordsOf.get(row.providerKey) ?? []),
        ].map((what) => `${row.action} ${what}`),
      ),
      ...sagas.flatMap((saga) => aboutSaga(saga, members.get(saga.id) ?? [])),
      ...ends.flatMap((end) => aboutEnd(end, rows, sagas)),
      ...(await handoversIn(sql)).map((aggregate) => `a hand-over to ${aggregate} was never applied`),
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
function aboutEnd({ orderId, id, status }: Told, rows: readonly OperationLeft[], sagas: readonly SagaLeft[]): string[] {
  const state = [...rows, ...sagas].find((row) => row.id === id)?.state;
  return told(state !== status, `the caller of ${orderId} was told ${status}, and stored is ${state ?? 'nothing'}`);
}
