/**
 * Claiming as one statement: rows are locked (locked ones are skipped, so that workers never wait for each other) and
 * given to the worker with their generation raised, which is what shuts their former owner out. Whether an owner is
 * alive is judged once, from the statement's snapshot: a worker that enlisted later owned nothing then, and the
 * re-check after a lock compares the row's owner with that list. Every row is found by an index, whatever the server
 * believes of its tables; `turn.ts` says why a key is compared by `= any (array[...])`.
 */

import { type SQL, sql } from 'drizzle-orm';
import type { OperationRef, OperationRow } from '../../ports/store.ts';
import { answers, type Database } from './executor.ts';
import { clock, operationRow } from './operation-row.ts';
import type { Tables } from './schema.ts';

/** Claims what is unowned and due or handed over, and what belongs to dead or missing workers; oldest due first. */
export async function claimDue(
  database: Database,
  worker: string,
  actions: readonly string[],
  limit: number,
): Promise<OperationRow[]> {
  const { operation, handover, worker: workers } = database.tables;
  return await claimRows(
    database,
    'claim-due',
    worker,
    sql`
      served as materialized (${served(actions)}),
      owning(id) as (${owners(operation)}),
      lost as materialized (
        select owning.id from owning where owning.id is not null and ${isLost(workers, sql`owning.id`)}
      ),
      due as materialized (
        select o.tenant, o.id, o.due_at as ready
        from ${operation} o cross join ${clock}
        where o.owner is null and o.due_at <= clock.now and ${isServed}
        order by o.due_at, o.tenant, o.id
        limit ${limit}::int
        for update of o skip locked
      ),
      waiting as materialized (
        select h.tenant, h.operation, min(h.at) as at
        from ${handover} h
        group by h.tenant, h.operation
      ),
      handed as materialized (
        select o.tenant, o.id, least(o.due_at, h.at) as ready
        from waiting h join ${operation} o on o.tenant = any (array[h.tenant]) and o.id = any (array[h.operation])
        where o.owner is null and ${isServed}
        order by least(o.due_at, h.at), o.tenant, o.id
        limit ${limit}::int
        for update of o skip locked
      ),
      orphaned as materialized (
        select o.tenant, o.id, coalesce(o.due_at, o.since) as ready
        from ${operation} o
        where
          o.owner = any (array(select lost.id from lost))
          and ${isServed}
        order by coalesce(o.due_at, o.since), o.tenant, o.id
        limit ${limit}::int
        for update of o skip locked
      ),
      picked as materialized (
        select tenant, id, min(ready) as ready
        from (select * from due union all select * from handed union all select * from orphaned) as claimable
        group by tenant, id
        order by min(ready), tenant, id
        limit ${limit}::int
      )`,
  );
}

/** Claims one operation, due or not, unless a living worker owns it. */
export async function claimOne(
  database: Database,
  worker: string,
  actions: readonly string[],
  ref: OperationRef,
): Promise<OperationRow[]> {
  const { operation, handover, worker: workers } = database.tables;
  return await claimRows(
    database,
    'claim-one',
    worker,
    sql`
      served as materialized (${served(actions)}),
      lost as materialized (
        select o.owner as id
        from ${operation} o
        where
          o.tenant = ${ref.tenant}::text
          and o.id = ${ref.id}::text
          and ${isLost(workers, sql`o.owner`)}
      ),
      picked as materialized (
        select o.tenant, o.id, o.since as ready
        from ${operation} o
        where
          o.tenant = ${ref.tenant}::text
          and o.id = ${ref.id}::text
          and (
            o.owner = any (array(select lost.id from lost))
            or o.owner is null and (
              o.due_at is not null
              or exists (
                select from ${handover} h where h.tenant = ${ref.tenant}::text and h.operation = ${ref.id}::text
              )
            )
          )
          and ${isServed}
        for update of o skip locked
      )`,
  );
}

/** What the worker knows how to run; the rest must not use up its limit. */
function served(actions: readonly string[]): SQL {
  return sql`select jsonb_array_elements_text(${JSON.stringify(actions)}::text::jsonb) as action`;
}

/** Under a collation that no index has: a plan that went by the action, which most rows share, would read them all. */
const isServed = sql`o.action collate "C" = any (array(select served.action from served))`;

/** Every owner once, by stepping from one to the next: it costs as much as there are owners, not what they own. */
function owners(operation: Tables['operation']): SQL {
  return sql`
    (select o.owner from ${operation} o where o.owner is not null order by o.owner limit 1)
    union all
    select (select o.owner from ${operation} o where o.owner > before.id order by o.owner limit 1)
    from owning before
    where before.id is not null`;
}

/** Nobody living: dead, or missing. */
function isLost(workers: Tables['worker'], owner: SQL): SQL {
  return sql`(select w.dead_at is null from ${workers} w where w.id = ${owner}) is not true`;
}

/**
 * Gives the rows that `picked` has locked to `worker`, while it is alive. A row that a turn has moved on since this
 * statement began is left: its hand-overs would be read as they were before that turn took them.
 */
async function claimRows(
  database: Database,
  name: 'claim-due' | 'claim-one',
  worker: string,
  picking: SQL,
): Promise<OperationRow[]> {
  const { operation, worker: workers } = database.tables;
  return await answers<OperationRow>(
    database,
    name,
    sql`
      with recursive ${picking},
      claimed as (
        update ${operation} o
        set owner = ${worker}::text, generation = o.generation + 1
        from picked p
        where
          o.tenant = any (array[p.tenant])
          and o.id = any (array[p.id])
          and exists (select from ${workers} w where w.id = ${worker}::text and w.dead_at is null)
          and o.revision = (select s.revision from ${operation} s where s.tenant = p.tenant and s.id = p.id)
        returning o.*
      )
      select ${operationRow(database.tables)}
      from claimed o join picked p on p.tenant = o.tenant and p.id = o.id cross join ${clock}
      order by p.ready, p.tenant, p.id`,
  );
}
