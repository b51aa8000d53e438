/**
 * What sagas hold of what they share with others (lock_pk). A saga is born with all that it names or not at all; a birth
 * that was refused for one of several leaves the others behind, which nobody has then: they are free a minute later,
 * when every statement that could still bring their saga has ended.
 */

import { type SQL, sql } from 'drizzle-orm';
import type { HeldLock } from '../../ports/store.ts';
import { answers, type Database } from './executor.ts';
import type { Tables } from './schema.ts';

const settled = sql`('succeeded', 'compensated', 'terminated')`;

/** Somebody else's, and not left behind. Of the lock `l`, wanted by `g`. */
function isHeld(tables: Tables): SQL {
  return sql`l.saga <> g.id and (l.at > g.now - interval '1 minute' or ${isOpen(tables)})`;
}

/** Whether there is an open saga that has the lock `l`. */
function isOpen({ saga }: Tables): SQL {
  return sql`exists (
        select
        from ${saga} h
        where
          h.tenant collate "C" = any (array[l.tenant])
          and h.id = any (array[l.saga])
          and h.state not in ${settled}
      )`;
}

/**
 * The births that want what another saga holds. With a limit there is no join, which could read all that is held; and as
 * everywhere here the tenant is compared as in a move.
 */
export function lockedOut(tables: Tables): SQL {
  return sql`
    select g.turn
    from
      given g
      cross join lateral jsonb_array_elements_text(g.locks) as wanted(resource)
      cross join lateral (
        select l.*
        from ${tables.lock} l
        where l.tenant collate "C" = g.tenant and l.resource = wanted.resource
        limit 1
      ) as l
    where g.kind = 'birth' and ${isHeld(tables)}`;
}

/**
 * Takes what births want, where `isFree`; a saga that is there already has what it has, and one that settles with its
 * birth holds nothing. With IS NOT TRUE there is no join, which could read all sagas.
 */
export function locked(tables: Tables, isFree: SQL): SQL {
  const { lock, saga } = tables;
  return sql`
    insert into ${lock} as l (tenant, resource, saga, at)
    select g.tenant, wanted.resource, g.id, g.now
    from given g cross join lateral jsonb_array_elements_text(g.locks) as wanted(resource)
    where
      g.kind = 'birth'
      and ${isFree}
      and g.state not in ${settled}
      and (
        exists (select from ${saga} s where s.tenant collate "C" = any (array[g.tenant]) and s.id = any (array[g.id]))
      ) is not true
    order by g.tenant, wanted.resource
    on conflict (resource, tenant) do update set saga = excluded.saga, at = excluded.at
    where
      l.saga = excluded.saga
      or (l.at <= excluded.at - interval '1 minute' and not ${isOpen(tables)} and ${isSeen(tables)})
    returning l.tenant, l.saga`;
}

/** It was there when the statement began: of what came since, the saga is not seen either. */
function isSeen({ lock }: Tables): SQL {
  return sql`exists (
        select
        from ${lock} v
        where
          v.tenant collate "C" = any (array[l.tenant])
          and v.resource = any (array[l.resource])
          and v.saga = l.saga
          and v.at = l.at
      )`;
}

/** All that the birth `g` needs. */
export const hasLocks: SQL = sql`(
      jsonb_array_length(coalesce(g.locks, '[]')) = 0
      or g.state in ${settled}
      or (select count(*) from locked k where k.tenant = g.tenant and k.saga = g.id) = jsonb_array_length(g.locks)
    )`;

/** What sagas that settle had. Found by place, as hand-overs are; with an offset there is no join, as with a limit. */
export function released({ lock }: Tables): SQL {
  return sql`
    delete from ${lock} l
    where l.ctid = any (
      array(
        select found.ctid
        from
          applied a
          cross join lateral (
            select w.ctid from ${lock} w where w.tenant collate "C" = a.tenant and w.saga = a.id offset 0
          ) as found
        where a.state in ${settled}
      )
    )`;
}

/** Also by sagas that were not born: who asks may have been refused for what one of them left behind. */
export async function readHeldLocks(
  database: Database,
  tenant: string,
  resources: readonly string[],
): Promise<HeldLock[]> {
  return await answers<HeldLock>(
    database,
    'held-locks',
    sql`
      select json_build_object('resource', l.resource, 'saga', l.saga)::text as answer
      from
        jsonb_array_elements_text(${JSON.stringify(resources)}::text::jsonb) as wanted(resource)
        cross join lateral (
          select w.*
          from ${database.tables.lock} w
          where w.tenant collate "C" = ${tenant}::text and w.resource = wanted.resource
          limit 1
        ) as l
      order by l.resource`,
  );
}
