/**
 * What sagas hold of what they share with others (lock_pk). A saga is born with all that it names or not at all; a birth
 * that was refused for one of several leaves the others behind, which nobody has then: they are free a minute later,
 * when every statement that could still bring their saga has ended.
 */

import { type SQL, sql } from 'drizzle-orm';
import type { HeldLock } from '../../ports/store.ts';
import { answers, type Database } from './executor.ts';
import type { Tables } from './schema.ts';

/** Somebody else's, and not left behind. Of the lock `l`, wanted by `g`. */
function isHeld({ saga }: Tables): SQL {
  return sql`l.saga <> g.id
      and (
        l.at > g.now - interval '1 minute'
        or exists (
          select from ${saga} h where h.tenant = any (array[l.tenant]) and h.id = any (array[l.saga]) and ${isOpen}
        )
      )`;
}

const isOpen = sql`h.state not in ('succeeded', 'compensated', 'terminated')`;

/** The births that want what another saga holds. */
export function lockedOut(tables: Tables): SQL {
  return sql`
    select g.turn
    from
      given g
      cross join lateral jsonb_array_elements_text(g.locks) as wanted(resource)
      cross join lateral (
        select l.*
        from ${tables.lock} l
        where l.tenant = any (array[g.tenant]) and l.resource = any (array[wanted.resource])
      ) as l
    where g.kind = 'birth' and ${isHeld(tables)}`;
}

/** Takes what births want, where `isFree`; a saga that is there already has what it has. */
export function locked(tables: Tables, isFree: SQL): SQL {
  const { lock, saga } = tables;
  return sql`
    insert into ${lock} as l (tenant, resource, saga, at)
    select g.tenant, wanted.resource, g.id, g.now
    from given g cross join lateral jsonb_array_elements_text(g.locks) as wanted(resource)
    where
      g.kind = 'birth'
      and ${isFree}
      and not exists (select from ${saga} s where s.tenant = any (array[g.tenant]) and s.id = any (array[g.id]))
    order by g.tenant, wanted.resource
    on conflict (resource, tenant) do update set saga = excluded.saga, at = excluded.at
    where
      l.saga = excluded.saga
      or (
        l.at <= excluded.at - interval '1 minute'
        and not exists (
          select from ${saga} h where h.tenant = any (array[l.tenant]) and h.id = any (array[l.saga]) and ${isOpen}
        )
      )
    returning l.tenant, l.saga`;
}

/** All that the birth `g` wants. */
export const hasLocks: SQL = sql`(
      jsonb_array_length(coalesce(g.locks, '[]')) = 0
      or (select count(*) from locked k where k.tenant = g.tenant and k.saga = g.id) = jsonb_array_length(g.locks)
    )`;

/** What sagas that settle had. Found by place, as hand-overs are. */
export function released({ lock }: Tables): SQL {
  return sql`
    delete from ${lock} l
    where l.ctid = any (
      array(
        select found.ctid
        from
          applied a
          cross join lateral (
            select w.ctid from ${lock} w where w.tenant = any (array[a.tenant]) and w.saga = any (array[a.id])
          ) as found
        where a.state in ('succeeded', 'compensated', 'terminated')
      )
    )`;
}

/** Also of sagas that have settled since: who asks was refused a moment ago. */
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
      from ${database.tables.lock} l
      where
        l.tenant = ${tenant}::text
        and l.resource = any (array(select jsonb_array_elements_text(${JSON.stringify(resources)}::text::jsonb)))
      order by l.resource`,
  );
}
