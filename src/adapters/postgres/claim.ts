/**
 * Claiming as one statement: rows are locked (locked ones are skipped, so that workers never wait for each other) and
 * given to the worker with their generation raised, which is what shuts their former owner out. Whether an owner is
 * alive is judged once, from the statement's snapshot: a worker that enlisted later owned nothing then, and the
 * re-check after a lock compares the row's owner with that list. Every row is found by an index, whatever the server
 * believes of its tables; `turn-parts.ts` says why a key is compared by `= any (array[...])`. The rules are the same for
 * operations that stand alone and for sagas: `o` is a row of either.
 */

import { type SQL, sql } from 'drizzle-orm';
import { FORMATS_READ } from '../../domain/format.ts';
import type { OperationRow, SagaRow, ServedSaga, Sought, Turns } from '../../ports/store.ts';
import { answers, type Database, type StatementName } from './executor.ts';
import { clock, operationRow, sagaRow } from './rows.ts';
import type { Tables } from './schema.ts';

/** Claims what is unowned and due or handed over, and what belongs to dead or missing workers; oldest due first. */
export async function claimDue(
  database: Database,
  worker: string,
  actions: readonly string[],
  limit: number,
): Promise<OperationRow[]> {
  const claimable = operations(database.tables, actions);
  return await claimRows(database, 'claim-due', worker, claimable, due(database.tables, claimable, limit));
}

/** Whose turn it was last, in one store; a claim in which tenants take turns moves it on. */
export interface Place {
  after: string;
}

/** As {@link claimDue}, but of what is due the oldest of each tenant, tenant after tenant, from `place` on. */
export async function claimInTurn(
  database: Database,
  worker: string,
  actions: readonly string[],
  limit: number,
  turns: Turns,
  place: Place,
): Promise<OperationRow[]> {
  const claimable = operations(database.tables, actions);
  return await claimRowsInTurn(database, 'claim-in-turn', worker, claimable, limit, turns, place);
}

/** Claims one operation, due or not, unless a living worker owns it. */
export async function claimOne(
  database: Database,
  worker: string,
  actions: readonly string[],
  ref: Sought,
): Promise<OperationRow[]> {
  const claimable = operations(database.tables, actions);
  return await claimRows(database, 'claim-one', worker, claimable, one(database.tables, claimable, ref));
}

/** As {@link claimDue}, of sagas. */
export async function claimSagasDue(
  database: Database,
  worker: string,
  definitions: readonly ServedSaga[],
  limit: number,
): Promise<SagaRow[]> {
  const claimable = sagas(database.tables, definitions);
  return await claimRows(database, 'claim-sagas-due', worker, claimable, due(database.tables, claimable, limit));
}

/** As {@link claimInTurn}, of sagas. */
export async function claimSagasInTurn(
  database: Database,
  worker: string,
  definitions: readonly ServedSaga[],
  limit: number,
  turns: Turns,
  place: Place,
): Promise<SagaRow[]> {
  const claimable = sagas(database.tables, definitions);
  return await claimRowsInTurn(database, 'claim-sagas-in-turn', worker, claimable, limit, turns, place);
}

/** As {@link claimOne}, of a saga. */
export async function claimSaga(
  database: Database,
  worker: string,
  definitions: readonly ServedSaga[],
  ref: Sought,
): Promise<SagaRow[]> {
  const claimable = sagas(database.tables, definitions);
  return await claimRows(database, 'claim-saga', worker, claimable, one(database.tables, claimable, ref));
}

/** What this version does not read is not there, as far as its claims go. */
const isReadable = readable('o');

function readable(row: string): SQL {
  return sql.raw(`${row}.format in (${FORMATS_READ.join(', ')})`);
}

/** What can be claimed, and how. */
interface Claimable {
  readonly table: Tables['operation'] | Tables['saga'];
  /** What the worker knows how to run; the rest must not use up its limit. */
  readonly served: SQL;
  readonly isServed: SQL;
  /** The table's own alias in its answer, and that answer. */
  readonly alias: SQL;
  readonly row: SQL;
}

/**
 * Under a collation that no index has: a plan that went by the action, which most rows share, would read them all. What
 * belongs to a saga is never claimed by itself.
 */
function operations(tables: Tables, actions: readonly string[]): Claimable {
  return {
    table: tables.operation,
    served: sql`select jsonb_array_elements_text(${JSON.stringify(actions)}::text::jsonb) as what`,
    isServed: sql`
      o.saga is null and o.action collate "C" = any (array(select served.what from served)) and ${isReadable}`,
    alias: sql`o`,
    row: operationRow(tables),
  };
}

/**
 * The number comes first, so that no name can be taken for another version. Few are escalated because their chart has
 * changed, and only of those the hash is looked at.
 */
function sagas(tables: Tables, definitions: readonly ServedSaga[]): Claimable {
  const served = definitions.map(({ name, version }) => `${version} ${name}`);
  const fitting = definitions.map(({ name, version, hash }) => [version, name, hash ?? []].flat().join(' '));
  const label = sql`o.version || ' ' || o.name`;
  return {
    table: tables.saga,
    served: sql`select jsonb_array_elements_text(${JSON.stringify(served)}::text::jsonb) as what`,
    isServed: sql`
      ${label} = any (array(select served.what from served))
      and (
        o.reason is distinct from 'definition-changed'
        or array[${label}, ${label} || ' ' || o.hash]
          && array(select jsonb_array_elements_text(${JSON.stringify(fitting)}::text::jsonb))
      )
      and ${isReadable}`,
    alias: sql`s`,
    row: sagaRow(tables),
  };
}

function due(tables: Tables, claimable: Claimable, limit: number): SQL {
  const { table, served, isServed } = claimable;
  return sql`
    served as materialized (${served}),
    due as materialized (
      select o.tenant, o.id, o.due_at as ready
      from ${table} o cross join ${clock}
      where o.owner is null and o.due_at <= clock.now and ${isServed}
      order by o.due_at, o.tenant, o.id
      limit ${limit}::int
      for update of o skip locked
    ),
    ${handedAndOrphaned(tables, claimable, limit)},
    picked as materialized (
      select tenant, id, min(ready) as ready
      from (select * from due union all select * from handed union all select * from orphaned) as claimable
      group by tenant, id
      order by min(ready), tenant, id
      limit ${limit}::int
    )`;
}

/** Tenants that one claim looks at, so that it costs the same however many there are. */
const TENANTS_AT_ONCE = 1_000;

/** How far down in what is due of one tenant it looks for what its worker serves. */
const DEPTH = 200;

/**
 * Tenants by stepping from one to the next, round to where it began: `open` those that have something due. Each gives an
 * equal share, and of that the oldest of each is picked before the second of any. Both bounds of a tenant are named,
 * and it leads the order, so that only the index that begins with it can serve: by age, all that others have would be
 * passed over. The format stands in that index: what a tenant has that cannot be read is passed over at its own cost.
 */
function dueInTurn(tables: Tables, claimable: Claimable, limit: number, { without }: Turns, { after }: Place): SQL {
  const { table, served, isServed } = claimable;
  const waits = sql`o.owner is null and o.due_at is not null`;
  const isOld = sql`o.due_at <= clock.now and ${isReadable}`;
  return sql`
    served as materialized (${served}),
    turn(tenant, n, opened, is_open, is_round) as (
      select ${after}::text, 0, 0, false, false
      union all
      select
        next.tenant, before.n + 1, before.opened + next.is_open::int, next.is_open, next.is_round
      from
        turn before
        cross join ${clock}
        cross join lateral (
          select
            found.tenant,
            found.is_round,
            case
              when ${readable('found')} then found.due_at <= clock.now
              else exists (
                select
                from ${table} o
                where ${waits} and o.tenant >= found.tenant and o.tenant <= found.tenant and ${isOld}
              )
            end
              and found.tenant <> all (array(select jsonb_array_elements_text(${JSON.stringify(without)}::text::jsonb)))
              as is_open
          from (
            (
              select o.tenant, o.due_at, o.format, before.is_round
              from ${table} o
              where ${waits} and o.tenant > before.tenant
              order by o.tenant, o.due_at, o.id
              limit 1
            )
            union all
            select first.tenant, first.due_at, first.format, true
            from (
              select o.tenant, o.due_at, o.format
              from ${table} o
              where ${waits}
              order by o.tenant, o.due_at, o.id
              limit 1
            ) as first
            where not before.is_round
            limit 1
          ) as found
        ) as next
      where
        before.n < ${TENANTS_AT_ONCE}::int
        and before.opened < ${limit}::int
        and not (next.is_round and next.tenant > ${after}::text)
    ),
    oldest as materialized (
      select o.tenant, o.id, o.due_at, turn.n
      from
        turn
        cross join ${clock}
        cross join lateral (
          select o.tenant, o.id, o.due_at
          from (
            select o.*
            from ${table} o
            where ${waits} and o.tenant >= turn.tenant and o.tenant <= turn.tenant and ${isOld}
            order by o.tenant, o.due_at, o.id
            limit ${DEPTH}::int
          ) as o
          where ${isServed}
          order by o.tenant, o.due_at, o.id
          limit (select ceil(${limit}::int / greatest(max(opened), 1)::numeric)::int from turn)
        ) as o
      where turn.is_open
    ),
    due as materialized (
      select o.tenant, o.id, oldest.due_at as ready, oldest.n
      from oldest join ${table} o on o.tenant = any (array[oldest.tenant]) and o.id = any (array[oldest.id])
      where o.owner is null and o.due_at is not distinct from oldest.due_at
      for update of o skip locked
    ),
    ${handedAndOrphaned(tables, claimable, limit)},
    picked as materialized (
      select tenant, id, ready, n, row_number() over (partition by tenant order by ready, id) as round
      from (
        select tenant, id, min(ready) as ready, max(n) as n
        from (
          select tenant, id, ready, n from due
          union all
          select tenant, id, ready, 0 from handed
          union all
          select tenant, id, ready, 0 from orphaned
        ) as claimable
        group by tenant, id
      ) as claimable
      order by round, n, ready, id
      limit ${limit}::int
    ),
    place as materialized (
      select coalesce(
        case
          when (select count(*) from picked) = ${limit}::int
          then (select p.tenant from picked p where p.n > 0 order by p.round desc, p.n desc limit 1)
          else (select turn.tenant from turn order by turn.n desc limit 1)
        end,
        ${after}::text
      ) as tenant
    )`;
}

/** What does not wait for its turn or its time. */
function handedAndOrphaned({ handover, worker: workers }: Tables, { table, isServed }: Claimable, limit: number): SQL {
  return sql`
    owning(id) as (${owners(table)}),
    lost as materialized (
      select owning.id from owning where owning.id is not null and ${isLost(workers, sql`owning.id`)}
    ),
    waiting as materialized (
      select h.tenant, h.aggregate, min(h.at) as at
      from ${handover} h
      group by h.tenant, h.aggregate
    ),
    handed as materialized (
      select o.tenant, o.id, least(o.due_at, h.at) as ready
      from waiting h join ${table} o on o.tenant = any (array[h.tenant]) and o.id = any (array[h.aggregate])
      where o.owner is null and ${isServed}
      order by least(o.due_at, h.at), o.tenant, o.id
      limit ${limit}::int
      for update of o skip locked
    ),
    orphaned as materialized (
      select o.tenant, o.id, coalesce(o.due_at, o.since) as ready
      from ${table} o
      where
        o.owner = any (array(select lost.id from lost))
        and ${isServed}
      order by coalesce(o.due_at, o.since), o.tenant, o.id
      limit ${limit}::int
      for update of o skip locked
    )`;
}

function one({ handover, worker: workers }: Tables, { table, served, isServed }: Claimable, ref: Sought): SQL {
  return sql`
    served as materialized (${served}),
    lost as materialized (
      select o.owner as id
      from ${table} o
      where
        o.tenant = ${ref.tenant}::text
        and o.id = ${ref.id}::text
        and ${isLost(workers, sql`o.owner`)}
    ),
    picked as materialized (
      select o.tenant, o.id, o.since as ready
      from ${table} o
      where
        o.tenant = ${ref.tenant}::text
        and o.id = ${ref.id}::text
        and (
          o.owner = any (array(select lost.id from lost))
          or o.owner is null and (
            o.due_at is not null
            or exists (
              select from ${handover} h where h.tenant = ${ref.tenant}::text and h.aggregate = ${ref.id}::text
            )
          )
        )
        and (${ref.generation ?? null}::bigint is null or o.generation = ${ref.generation ?? null}::bigint)
        and ${isServed}
      for update of o skip locked
    )`;
}

/** Every owner once, by stepping from one to the next: it costs as much as there are owners, not what they own. */
function owners(table: Claimable['table']): SQL {
  return sql`
    (select o.owner from ${table} o where o.owner is not null order by o.owner limit 1)
    union all
    select (select o.owner from ${table} o where o.owner > before.id order by o.owner limit 1)
    from owning before
    where before.id is not null`;
}

/** Nobody living: dead, or missing. */
function isLost(workers: Tables['worker'], owner: SQL): SQL {
  return sql`(select w.dead_at is null from ${workers} w where w.id = ${owner}) is not true`;
}

async function claimRows<Row extends OperationRow | SagaRow>(
  database: Database,
  name: StatementName,
  worker: string,
  claimable: Claimable,
  picking: SQL,
): Promise<Row[]> {
  const { alias, row } = claimable;
  return await answers<Row>(
    database,
    name,
    sql`
      with recursive ${picking},
      ${claimed(database.tables, claimable, worker)}
      select ${row}
      from claimed ${alias} join picked p on p.tenant = ${alias}.tenant and p.id = ${alias}.id cross join ${clock}
      order by p.ready, p.tenant, p.id`,
  );
}

/** The statement answers first with the tenant it ended with, and then with the rows in their turn. */
async function claimRowsInTurn<Row extends OperationRow | SagaRow>(
  database: Database,
  name: StatementName,
  worker: string,
  claimable: Claimable,
  limit: number,
  turns: Turns,
  place: Place,
): Promise<Row[]> {
  const { alias, row } = claimable;
  const [ended, ...rows] = await answers<{ readonly after: string } | Row>(
    database,
    name,
    sql`
      with recursive ${dueInTurn(database.tables, claimable, limit, turns, place)},
      ${claimed(database.tables, claimable, worker)}
      select answer
      from (
        select json_build_object('after', place.tenant)::text as answer, 0 as round, 0 as n from place
        union all
        select ${row}, p.round, p.n
        from claimed ${alias} join picked p on p.tenant = ${alias}.tenant and p.id = ${alias}.id cross join ${clock}
      ) as answered
      order by round, n`,
  );
  if (ended !== undefined && 'after' in ended) place.after = ended.after;
  // All but the first.
  return rows as Row[];
}

/**
 * Gives the rows that `picked` has locked to `worker`, while it is alive. A row that a turn has moved on since this
 * statement began is left: its hand-overs would be read as they were before that turn took them.
 */
function claimed({ worker: workers }: Tables, { table }: Claimable, worker: string): SQL {
  return sql`
      claimed as (
        update ${table} o
        set owner = ${worker}::text, generation = o.generation + 1
        from picked p
        where
          o.tenant = any (array[p.tenant])
          and o.id = any (array[p.id])
          and exists (select from ${workers} w where w.id = ${worker}::text and w.dead_at is null)
          and o.revision = (select s.revision from ${table} s where s.tenant = p.tenant and s.id = p.id)
        returning o.*
      )`;
}
