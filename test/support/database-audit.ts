/**
 * What the rows of a database say when all is quiet, read with SQL of our own: whatever is neither at its end nor has a
 * next step, histories that contradict themselves, attempts that were sent without having been recorded. For who judges
 * worker processes by what they have left behind; a complaint is half a sentence about its row.
 */

import type postgres from 'postgres';
import type { OperationState, SagaState } from 'sagacity';
import type { ProviderClient, ProviderRecord, ReceivedRequest } from 'sagacity/testing';

/** An operation. */
export interface OperationLeft {
  readonly id: string;
  readonly action: string;
  /** Null: it stands alone. */
  readonly saga: string | null;
  /** Of one that stands alone its order, of a saga's step something else. */
  readonly key: string;
  readonly providerKey: string;
  readonly state: OperationState;
  readonly reason: string | null;
  readonly revision: number;
  readonly due: boolean;
  readonly owned: boolean;
  readonly contradicted: boolean;
}

/** A saga. */
export interface SagaLeft {
  readonly id: string;
  readonly orderId: string;
  readonly state: SagaState;
  readonly reason: string | null;
  readonly due: boolean;
  readonly owned: boolean;
}

/** One line of a history as it is stored. */
export interface StoredLine {
  readonly operation: string;
  readonly revision: number;
  readonly n: number;
  readonly kind: string;
  readonly attempt: number | null;
  readonly at: number;
  /** The last state that it tells of, if it tells of any. */
  readonly state: OperationState | null;
}

/** How many operations and sagas have still to move by themselves, and how many hand-overs wait for their owners. */
export async function unfinished(sql: postgres.Sql): Promise<number> {
  const [found] = await sql`
    select
      (
        select count(*)::int from sagacity.operation
        where state not in ('succeeded', 'failed', 'compensated', 'escalated')
      )
      + (
        select count(*)::int from sagacity.saga
        where state not in ('succeeded', 'compensated', 'terminated', 'escalated')
      )
      + (select count(*)::int from sagacity.handover) as count`;
  return Number(found?.['count']);
}

/** Everything that is left in a database and at the provider. */
export interface Left {
  readonly operations: readonly OperationLeft[];
  readonly sagas: readonly SagaLeft[];
  readonly records: readonly ProviderRecord[];
  operationsOf(saga: SagaLeft): readonly OperationLeft[];
  historyOf(operation: OperationLeft): readonly StoredLine[];
  /** Everything that is wrong with an operation, by its row, its history and what the provider received under its key. */
  wrongWith(operation: OperationLeft): readonly string[];
  /** The same of the records under its key. */
  wrongCount(operation: OperationLeft): readonly string[];
  /** Requests that no operation has sent, and words that nobody has heeded. */
  readonly strays: readonly string[];
}

export async function readLeft(sql: postgres.Sql, provider: ProviderClient): Promise<Left> {
  const operations = await operationsIn(sql);
  const sagas = await sagasIn(sql);
  const lines = groupedBy(await linesIn(sql), ({ operation }) => operation);
  const handovers = await handoversIn(sql);
  const records = await provider.records();
  const made = groupedBy(records, ({ key }) => key ?? '');
  const posted = (await provider.received()).filter(({ method }) => method === 'POST');
  const sent = groupedBy(posted, ({ key }) => key ?? '');
  const members = groupedBy(operations, ({ saga }) => saga ?? '');
  const keys = new Set(operations.map(({ providerKey }) => providerKey));
  const historyOf = ({ id }: OperationLeft) => lines.get(id) ?? [];
  return {
    ...{ operations, sagas, records, historyOf },
    operationsOf: ({ id }) => members.get(id) ?? [],
    wrongWith(operation) {
      const history = historyOf(operation);
      const requests = sent.get(operation.providerKey) ?? [];
      return [...aboutRow(operation), ...aboutHistory(operation, history), ...aboutSends(history, requests)];
    },
    wrongCount: (operation) => aboutCount(operation, made.get(operation.providerKey) ?? []),
    strays: [
      ...[...sent.keys()].filter((key) => !keys.has(key)).map((key) => `the provider received the unknown key ${key}`),
      ...handovers.map((aggregate) => `a hand-over to ${aggregate} was never applied`),
    ],
  };
}

/** Neither at an end, nor with a next step. */
export function isOrphan({ state, owned, due }: Pick<OperationLeft | SagaLeft, 'state' | 'owned' | 'due'>): boolean {
  return !isAtRest(state) && !owned && !due;
}

export function isAtRest(state: OperationState | SagaState): boolean {
  return ['succeeded', 'failed', 'compensated', 'terminated', 'escalated'].includes(state);
}

function aboutRow(row: OperationLeft): string[] {
  const { state, reason, contradicted } = row;
  return [
    ...told(!isAtRest(state), `is neither settled nor escalated, but ${state}`),
    // What a saga has waits with the saga.
    ...told(row.saga === null && isOrphan(row), 'is an orphan: nobody living owns it and it is due at no time'),
    ...told(state === 'escalated' && reason === null, 'is escalated without a reason'),
    // This provider has never made two records of what it promised to make one of.
    ...told(reason === 'two-effects', 'is escalated because of two effects'),
    ...told(contradicted, 'was contradicted after it had settled'),
  ];
}

/** What is wrong with the number of records that an operation has. */
export function aboutCount({ state }: OperationLeft, records: readonly ProviderRecord[]): string[] {
  const least = state === 'succeeded' || state === 'compensated' ? 1 : 0;
  // What is proven without effect has none; of what nobody could prove there is one at most.
  const most = state === 'failed' ? 0 : 1;
  return told(records.length < least || records.length > most, `has ${records.length} records at the provider`);
}

function aboutHistory({ state, revision }: OperationLeft, history: readonly StoredLine[]): string[] {
  const numbers = (kind: string) => history.filter((line) => line.kind === kind).map(({ attempt }) => attempt);
  const [starts, ends] = [numbers('start'), numbers('end')];
  const rises = history.every((line, index) => {
    const before = history[index - 1];
    const isFirst = before === undefined || line.revision > before.revision;
    return isFirst ? line.n === 0 : line.revision === before.revision && line.n === before.n + 1;
  });
  const isInTime = history.every(({ at }, index) => at >= (history[index - 1]?.at ?? at));
  return [
    ...told(
      starts.some((attempt, index) => attempt !== index + 1),
      `has attempts numbered ${starts.join(', ')}`,
    ),
    ...told(
      ends.some((attempt) => !starts.includes(attempt)),
      'has the end of an attempt that never started',
    ),
    ...told(new Set(ends).size < ends.length, 'has an attempt that ended twice'),
    ...told(!rises, 'has history numbers that do not rise'),
    ...told((history.at(-1)?.revision ?? 0) > revision, 'has a history beyond its row'),
    ...told(!isInTime, 'has a history that goes back in time'),
    ...told(
      history.findLast((line) => line.state !== null)?.state !== state,
      'is not in the state that it came to last',
    ),
  ];
}

/** Recorded before sent: each start sends once at most. */
function aboutSends(history: readonly StoredLine[], sent: readonly ReceivedRequest[]): string[] {
  const starts = history.filter(({ kind }) => kind === 'start').length;
  return told(sent.length > starts, `was sent ${sent.length} times on ${starts} recorded starts`);
}

/** Whether nothing stands of an operation of a saga that was taken back; `inverseOf` names the actions that do that. */
export function isTakenBack(
  { action, state }: OperationLeft,
  own: readonly OperationLeft[],
  inverseOf: Readonly<Record<string, string>>,
): boolean {
  const inverses = own.filter((other) => other.action === inverseOf[action]);
  if (state === 'compensated') return inverses.length === 1 && inverses[0]?.state === 'succeeded';
  return state === 'failed' || Object.values(inverseOf).includes(action) || inverseOf[action] === undefined;
}

/** The complaint, if there is ground for it. */
export function told(isWrong: boolean, what: string): string[] {
  return isWrong ? [what] : [];
}

async function operationsIn(sql: postgres.Sql): Promise<OperationLeft[]> {
  return await sql<OperationLeft[]>`
    select
      o.id, o.action, o.saga, o.key, o.provider_key as "providerKey", o.state, o.reason, o.revision::int,
      o.due_at is not null as due, w.id is not null and w.dead_at is null as owned,
      o.contradicted_at is not null as contradicted
    from sagacity.operation o left join sagacity.worker w on w.id = o.owner
    order by o.created_at`;
}

async function sagasIn(sql: postgres.Sql): Promise<SagaLeft[]> {
  return await sql<SagaLeft[]>`
    select
      s.id, s.key as "orderId", s.state, s.reason, s.due_at is not null as due,
      w.id is not null and w.dead_at is null as owned
    from sagacity.saga s left join sagacity.worker w on w.id = s.owner
    order by s.created_at`;
}

async function linesIn(sql: postgres.Sql): Promise<StoredLine[]> {
  return await sql<StoredLine[]>`
    select
      subject as operation, revision::int, n, kind, number as attempt, extract(epoch from at)::float8 as at,
      body -> 'states' ->> -1 as state
    from sagacity.attempt
    order by subject, revision, n`;
}

async function handoversIn(sql: postgres.Sql): Promise<string[]> {
  const waiting = await sql<{ aggregate: string }[]>`select aggregate from sagacity.handover`;
  return waiting.map(({ aggregate }) => aggregate);
}

export function groupedBy<Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
): ReadonlyMap<string, readonly Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}
