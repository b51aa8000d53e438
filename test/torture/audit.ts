/**
 * The judgement when all is healed. The provider's records are the authority on what happened; the rows and the history
 * are read with SQL of our own; what callers were told is compared with both. Every complaint counts as wrong.
 */

import { readFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import type postgres from 'postgres';
import type { ProviderRecord, ScriptedProvider } from 'sagacity/testing';
import {
  aboutCount,
  groupedBy,
  isOrphan,
  isTakenBack,
  type OperationLeft,
  readLeft,
  type SagaLeft,
  told,
} from '../support/database-audit.ts';
import { type Answer, type End, type HistoryLine, type OperationEnd, type SagaEnd, type Verbs } from './calls.ts';
import type { Ordered } from './load.ts';
import { inverseOf, isSagaKind, type Kind } from './shop.ts';
import type { WorkerProcess } from './worker.ts';

/** Everything that the audit looks at. */
export interface Evidence {
  readonly sql: postgres.Sql;
  readonly provider: ScriptedProvider;
  readonly workers: readonly [WorkerProcess, ...WorkerProcess[]];
  readonly orders: readonly Ordered[];
  /** The server's log, its lines beginning with their SQLSTATE. */
  readonly log: string;
}

/** Says all that is wrong; a complaint names its order. */
export async function audit(evidence: Evidence): Promise<readonly string[]> {
  const { sql, provider, orders } = evidence;
  const left = await readLeft(sql, provider);
  const alone = left.operations.filter(({ saga }) => saga === null);
  const records = groupedBy(left.records, ({ orderId }) => orderId ?? '');
  const known = new Map(orders.map((order) => [order.orderId, order]));
  const stored = new Set([...alone.map(({ key }) => key), ...left.sagas.map(({ orderId }) => orderId)]);

  const complaints: string[] = [];
  for (const order of orders) {
    if (order.id === null) complaints.push(`${order.orderId} was never accepted`);
    else if (!stored.has(order.orderId)) complaints.push(`${order.orderId} was accepted and is not stored`);
  }
  for (const [orderId, made] of records) {
    if (!stored.has(orderId)) complaints.push(`${orderId} has ${made.length} records at the provider and no row`);
  }
  const ends = await toldOf(orders, evidence.workers, 'result');
  const stories = await toldOf(
    orders.filter(({ kind }) => isSagaKind(kind)),
    evidence.workers,
    'history',
  );
  for (const row of alone) {
    const history = left.historyOf(row);
    const end = ends.get(row.id);
    const wrong = [
      ...left.wrongWith(row),
      // An operation was ordered, and its result is one of an operation.
      ...aboutRecords(row, end as OperationEnd | undefined, records.get(row.key) ?? []),
      ...aboutCallers(known.get(row.key), end, history),
    ];
    for (const what of wrong) complaints.push(`${row.key} ${what} [${row.state}; ${history.map(shown).join(' ')}]`);
  }
  for (const saga of left.sagas) {
    const own = left.operationsOf(saga);
    const end = ends.get(saga.id);
    const made = records.get(saga.orderId) ?? [];
    const wrong = [
      // A saga was ordered, and its result is one of a saga.
      ...aboutSaga(saga, own, end as SagaEnd | undefined, made),
      ...aboutCallers(known.get(saga.orderId), end, stories.get(saga.id) ?? []),
      ...own.flatMap((row) => [...left.wrongWith(row), ...left.wrongCount(row)].map((what) => `${row.action} ${what}`)),
    ];
    const stand = own.map(({ action, state }) => `${action} ${state}`).join(', ');
    for (const what of wrong) complaints.push(`${saga.orderId} ${what} [${saga.state}; ${stand}]`);
  }
  for (const refusal of await refusalsIn(evidence.log)) complaints.push(`the server refused a statement: ${refusal}`);
  return [...complaints, ...left.strays];
}

/** A saga has left behind what it says, and every record of its order is one of its own operations'. */
function aboutSaga(
  saga: SagaLeft,
  own: readonly OperationLeft[],
  end: SagaEnd | undefined,
  records: readonly ProviderRecord[],
): string[] {
  const { state, reason } = saga;
  const isAtRest = ['succeeded', 'compensated', 'escalated'].includes(state);
  const keys = new Set(own.map(({ providerKey }) => providerKey));
  const ids = records.map(({ id }) => id).toSorted();
  const outputs = end?.status === 'succeeded' ? Object.values(end.output).map(({ id }) => id) : [];
  return [
    ...told(!isAtRest, `is neither settled nor escalated, but ${state}`),
    ...told(isOrphan(saga), 'is an orphan: nobody living owns it and it is due at no time'),
    ...told(state === 'escalated' && reason === null, 'is escalated without a reason'),
    ...told(end?.status !== state, `is ${state} and its result says ${end?.status}`),
    ...told(
      records.some(({ key }) => key === null || !keys.has(key)),
      'has a record under a key of nobody',
    ),
    ...told(state === 'succeeded' && own.some((row) => row.state !== 'succeeded'), 'has a step that has not succeeded'),
    ...told(
      state === 'succeeded' && !isDeepStrictEqual(outputs.toSorted(), ids),
      `names ${outputs.join(', ')} and the provider ${ids.join(', ')}`,
    ),
    ...told(
      state === 'compensated' && !own.every((row) => isTakenBack(row, own, inverseOf)),
      'has left something standing',
    ),
  ];
}

function aboutRecords(row: OperationLeft, end: OperationEnd | undefined, records: readonly ProviderRecord[]): string[] {
  const { state, providerKey } = row;
  const [record] = records;
  return [
    ...told(end?.status !== state, `is ${state} and its result says ${end?.status}`),
    ...aboutCount(row, records),
    ...told(
      end?.status === 'succeeded' && !(end.output.id === record?.id && end.reference === record.id),
      `names ${JSON.stringify(end)} and the provider ${record?.id}`,
    ),
    ...told(
      records.some(({ key }) => key !== providerKey),
      'has a record under another key',
    ),
  ];
}

function aboutCallers(order: Ordered | undefined, end: End | undefined, history: readonly HistoryLine[]): string[] {
  if (order === undefined) return ['was never ordered'];
  // A person is asked only until something settles it.
  const settled = order.ends.filter(({ status }) => status !== 'escalated');
  const final = history.map(({ revision, kind, attempt }) => ({ revision, kind, attempt }));
  return [
    ...told(order.news > 1, `was created for ${order.news} callers`),
    ...told(
      settled.some((seen) => !isDeepStrictEqual(seen, end)),
      `ended for its callers as ${JSON.stringify([...settled, end])}`,
    ),
    ...told(
      order.histories.some((seen) => !isDeepStrictEqual(seen, final.slice(0, seen.length))),
      'has a history that was another one before',
    ),
  ];
}

function shown({ revision, kind, attempt }: HistoryLine): string {
  return `${revision}:${kind}${attempt === null ? '' : `#${attempt}`}`;
}

const ASKED_AT_ONCE = 20;

/** What each order's result or history is now, by the id of its operation or saga, as a worker reads it. */
async function toldOf<Name extends 'result' | 'history'>(
  orders: readonly Ordered[],
  workers: Evidence['workers'],
  verb: Name,
): Promise<ReadonlyMap<string, ReturnType<Verbs[Name]>>> {
  const all = new Map<string, ReturnType<Verbs[Name]>>();
  const left = [...orders.entries()];
  const reading = async () => {
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      const [n, { kind, id }] = next;
      if (id === null) continue;
      const answer = await asked(workers[n % workers.length] ?? workers[0], verb, kind, id);
      // That is counted already, and the next would take as long.
      if (answer.how === 'hung') return;
      if (answer.how === 'answered') all.set(id, answer.value);
    }
  };
  await Promise.all(Array.from({ length: ASKED_AT_ONCE }, reading));
  return all;
}

function asked<Name extends 'result' | 'history'>(
  worker: WorkerProcess,
  verb: Name,
  ...[kind, id]: readonly [Kind, string]
): Promise<Answer<ReturnType<Verbs[Name]>>> {
  // Both verbs take these two, which the compiler cannot tell of one that it does not know.
  return worker.ask(verb, ...([kind, id] as unknown as Parameters<Verbs[Name]>));
}

/** What passes by itself: serialisation, deadlock, lock time-out, statement time-out. */
const passing = ['40001', '40P01', '55P03', '57014'];

/** Whatever is lost, no statement of ours is one that the server says no to. */
async function refusalsIn(log: string): Promise<string[]> {
  const lines = (await readFile(log, 'utf8')).split('\n');
  return lines.filter((line) => /^\w{5} ERROR:/.test(line) && !passing.includes(line.slice(0, 5)));
}
