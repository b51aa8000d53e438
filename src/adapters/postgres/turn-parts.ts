/**
 * What the statements of turns have in common, whether an operation stands alone or belongs to a saga: how the parameters
 * come in, what a turn writes of an operation, and the hand-overs that go with it. `g` is a row of what is given. The
 * fence is not here: each statement says itself what decides whether anything is written.
 */

import { type SQL, sql } from 'drizzle-orm';
import type { Tables } from './schema.ts';
import { storeNow } from './store-now.ts';

export interface Conditions {
  /** How long a lock of somebody else is waited for. Left out: as long as the session says. */
  readonly lockTimeoutMs?: number;
  /** Nothing is written unless this holds. */
  readonly provided?: SQL;
}

/** The turns as `doc`, in the order of their locks, and `clock.now`, the time of the statement. */
export function parameters(
  turns: readonly { readonly tenant: string; readonly id: string }[],
  { lockTimeoutMs, provided = sql`true` }: Conditions,
): SQL {
  return sql`
      (
        select ${storeNow} as now, ${lockTimeout(lockTimeoutMs)} as lock_timeout where ${provided}
      ) as clock
      cross join jsonb_array_elements(${JSON.stringify(inOrder(turns))}::text::jsonb) as parameters(doc)`;
}

/** Set with the statement, for as long as its transaction lasts. */
export function lockTimeout(ms: number | undefined): SQL {
  return ms === undefined ? sql`null` : sql`set_config('lock_timeout', ${String(ms)}::text, true)`;
}

/** By tenant and id, which is also the order of their locks. */
function inOrder<Turn extends { readonly tenant: string; readonly id: string }>(turns: readonly Turn[]): Turn[] {
  return turns.toSorted((a, b) => compare(a.tenant, b.tenant) || compare(a.id, b.id));
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** Of every turn. A JSON null would become an SQL null inside jsonb_to_record, so whole values are taken out by name. */
export const turnColumns: SQL = sql`
      doc -> 'snapshot' as snapshot,
      nullif(doc -> 'output', 'null') as output,
      case jsonb_typeof(doc -> 'birth') when 'object' then 'birth' else 'move' end as kind,
      doc -> 'birth' -> 'input' as input,
      doc -> 'birth' ->> 'key' as key,
      doc -> 'birth' ->> 'fingerprint' as fingerprint,
      clock.now`;

/** Of every turn that has a fence of its own. */
export const fenceColumns: SQL = sql`
      doc -> 'was' ->> 'owner' as owner_was,
      (doc -> 'was' ->> 'generation')::bigint as generation_was,
      (doc -> 'was' ->> 'revision')::bigint as revision_was`;

/** Of what is written of an operation. */
export const operationColumns: SQL = sql`
      doc -> 'birth' ->> 'action' as action,
      doc -> 'birth' ->> 'providerKey' as provider_key,
      jsonb_typeof(doc -> 'start') = 'object' as starts,
      ceil((doc -> 'start' ->> 'sendWithinMs')::float8) * interval '1 millisecond' as send_within,
      ceil((doc -> 'start' ->> 'retentionMs')::float8) * interval '1 millisecond' as retention,
      ceil((doc -> 'start' ->> 'marginMs')::float8) * interval '1 millisecond' as margin,
      coalesce((doc -> 'start' ->> 'insideWindow')::boolean, false) as inside_window,
      doc ->> 'state' in ('unknown', 'reconciling', 'escalated') as doubtful`;

/**
 * Operations that are born, in the order of what they could share with others. Without a conflict target, so that a taken
 * id counts as much as a taken identity (operation_pk, operation_identity).
 */
export function operationsBorn({ operation }: Tables, given: SQL): SQL {
  return sql`
  insert into ${operation} (
    tenant, id, saga, saga_revision, saga_n, action, key, provider_key, fingerprint, owner, generation, revision, turn,
    born, state, since, due_at, created_at, first_started_at, send_by, window_ends_at, reason, contradicted_at,
    doubted_at, input, format, snapshot, output
  )
  select
    g.tenant, g.id, g.saga, g.saga_revision, g.saga_n, g.action, g.key, g.provider_key, g.fingerprint, g.owner,
    g.generation, 1, g.turn, g.turn, g.state, g.now, g.due_at, g.now,
    case when g.starts then g.now end,
    case when g.starts then g.now + g.send_within end,
    case when g.starts then g.now + g.retention - g.margin end,
    g.reason,
    case when g.contradicted then g.now end,
    case when g.contradicted or g.doubtful then g.now end,
    g.input, g.format, g.snapshot, g.output
  from ${given} g
  where g.kind = 'birth'
  order by g.tenant, g.action, g.key
  on conflict do nothing
  returning tenant, id, turn, revision, since, due_at, created_at, first_started_at, send_by, window_ends_at`;
}

/** The window counts from the first recorded start. */
const windowBefore = sql`coalesce(o.window_ends_at, coalesce(o.first_started_at, g.now) + g.retention - g.margin)`;

/**
 * Kept as long as the provider may know the key from an earlier request, the last of which may have arrived late, and
 * started anew by a fresh start after that.
 */
const windowEnd = sql`case
      when not g.inside_window and g.now >= o.send_by + (g.margin - g.send_within) + g.retention
        then g.now + g.retention - g.margin
      else ${windowBefore}
    end`;

/** Without a window to end it, `least` ignores the null. */
const sendBy = sql`case
      when g.inside_window then least(g.now + g.send_within, ${windowBefore})
      else g.now + g.send_within
    end`;

/** Where the window has to be open, it is. */
export const mayStart: SQL = sql`(not g.inside_window or g.now < o.window_ends_at)`;

/**
 * Operations that are moved, where the `fence` holds; what is given `along` with each is returned with it. A key is
 * compared by `= any (array[...])`, which an index answers and no hash or merge join can: a plan made while the table was
 * small must not read all of it when it has grown. The kind is a text for the same reason, because the planner expects
 * one row of a value and half of all rows of a boolean.
 */
export function operationsMoved({ operation }: Tables, given: SQL, fence: SQL, along: SQL): SQL {
  return sql`
  update ${operation} o
  set
    owner = g.owner,
    generation = g.generation,
    revision = o.revision + 1,
    turn = g.turn,
    state = g.state,
    since = case when o.state = g.state then o.since else g.now end,
    due_at = g.due_at,
    first_started_at = case when g.starts then coalesce(o.first_started_at, g.now) else o.first_started_at end,
    send_by = case when g.starts then ${sendBy} else o.send_by end,
    window_ends_at = case when g.starts then ${windowEnd} else o.window_ends_at end,
    reason = g.reason,
    contradicted_at = case when g.contradicted then coalesce(o.contradicted_at, g.now) else o.contradicted_at end,
    doubted_at = case
      when g.doubtful and o.state not in ('unknown', 'reconciling', 'escalated') then g.now
      when g.contradicted and o.contradicted_at is null and not g.doubtful then g.now
      else o.doubted_at
    end,
    format = g.format,
    snapshot = g.snapshot,
    output = coalesce(g.output, o.output)
  from ${given} g
  where
    g.kind = 'move'
    and o.tenant = any (array[g.tenant])
    and o.id = any (array[g.id])
    ${fence}
  returning
    o.tenant, o.id, o.turn, o.revision, o.since, o.due_at, o.created_at, o.first_started_at, o.send_by,
    o.window_ends_at, ${along}`;
}

/**
 * What the turns are about that were written: births that are found among the `born`, and what has `moved`, with what is
 * given `along`. The births are looked up in a hash table, which a planner would not make of a join: it expects few rows
 * and compares all with all, which among many turns costs more than all else. With IS TRUE there is no join.
 */
export function applied(born: SQL, moved: SQL, along: SQL): SQL {
  return sql`
    select g.tenant, g.id, g.turn, 1 as revision, g.now, ${along}
    from given g
    where g.kind = 'birth' and (g.turn in (select b.turn from ${born} b)) is true
    union all
    select g.tenant, g.id, g.turn, g.revision, g.now, ${along}
    from ${moved} g`;
}

/**
 * The hand-overs of what was `applied`. Found first and deleted by place, so that it costs what is taken and not what
 * waits; nobody else deletes them.
 */
export function taken({ handover }: Tables): SQL {
  return sql`
    delete from ${handover} h
    where h.ctid = any (
      array(
        select found.ctid
        from
          applied a
          cross join lateral jsonb_array_elements_text(a.takes) as t(id)
          cross join lateral (
            select w.ctid from ${handover} w where w.tenant = a.tenant and w.aggregate = a.id and w.id = t.id limit 1
          ) as found
      )
    )`;
}
