/**
 * Turns of different operations as one statement: the ledger rows first, and their RETURNING decides whether anything
 * else of a turn is written. The parameters say only what. A birth is fenced by the uniqueness of id and identity; a
 * move by owner, generation and revision as conditions on the updated row itself, because after waiting for a lock
 * PostgreSQL re-checks only those. A start of either is fenced by its timeline as well, of which a statement has one:
 * there a condition on what is given is enough. Rows are met in the order of their keys, so that two statements do not
 * wait for each other, and a lock that somebody else holds is waited for no longer than the caller says.
 */

import { type SQL, sql } from 'drizzle-orm';
import type { Receipt, Turn } from '../../ports/store.ts';
import { answers, type Database } from './executor.ts';
import type { Tables } from './schema.ts';
import { epochMs, storeNow } from './store-now.ts';
import { storeTimeline } from './store-timeline.ts';

/** The receipt of a turn that was written. */
interface Applied {
  readonly turn: string;
  readonly receipt: Receipt;
}

export interface Conditions {
  /** How long a lock of somebody else is waited for. Left out: as long as the session says. */
  readonly lockTimeoutMs?: number;
  /** Nothing is written unless this holds. */
  readonly provided?: SQL;
}

/**
 * Applies `turns`, of which no two may be of one operation, and gives the receipts of those that were written, by the
 * turn's id. All of them are durable, or none: then it rejects.
 */
export async function applyTurns(
  database: Database,
  turns: readonly Turn[],
  { lockTimeoutMs, provided = sql`true` }: Conditions = {},
): Promise<ReadonlyMap<string, Receipt>> {
  const applied = await answers<Applied>(
    database,
    'turn',
    turnStatement(database.tables, turns, lockTimeoutMs, provided),
  );
  return new Map(applied.map(({ turn, receipt }) => [turn, receipt]));
}

function turnStatement(tables: Tables, turns: readonly Turn[], lockTimeoutMs: number | undefined, provided: SQL): SQL {
  return sql`
    with given as materialized (${given(inOrder(turns), lockTimeoutMs, provided)}),
    born as (${born(tables)}),
    moved as (${moved(tables)}),
    applied as (select * from born union all select * from moved),
    recorded as (${recorded(tables)}),
    taken as (${taken(tables)})
    select json_build_object(
      'turn', a.turn,
      'receipt', json_build_object(
        'revision', a.revision,
        'now', ${epochMs('clock.now')},
        'since', ${epochMs('a.since')},
        'dueAt', ${epochMs('a.due_at')},
        'firstStartedAt', ${epochMs('a.first_started_at')},
        'sendBy', ${epochMs('a.send_by')},
        'windowEndsAt', ${epochMs('a.window_ends_at')}
      )
    )::text as answer
    from applied a cross join (select ${storeNow} as now) as clock`;
}

/** By tenant and id, which is also the order of their locks. */
function inOrder(turns: readonly Turn[]): readonly Turn[] {
  return turns.toSorted((a, b) => compare(a.tenant, b.tenant) || compare(a.id, b.id));
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/**
 * The parameters as rows of typed columns, with the time of the statement; without the turns that would start an attempt
 * on another timeline. It is asked for once, and only if a turn starts one.
 */
function given(turns: readonly Turn[], lockTimeoutMs: number | undefined, provided: SQL): SQL {
  const lockTimeout =
    lockTimeoutMs === undefined ? sql`null` : sql`set_config('lock_timeout', ${String(lockTimeoutMs)}::text, true)`;
  // A JSON null would become an SQL null inside jsonb_to_record, so whole values are taken out by name.
  return sql`
    select
      t.*,
      doc -> 'snapshot' as snapshot,
      nullif(doc -> 'output', 'null') as output,
      case jsonb_typeof(doc -> 'birth') when 'object' then 'birth' else 'move' end as kind,
      doc -> 'birth' -> 'input' as input,
      doc -> 'birth' ->> 'action' as action,
      doc -> 'birth' ->> 'key' as key,
      doc -> 'birth' ->> 'providerKey' as provider_key,
      doc -> 'birth' ->> 'fingerprint' as fingerprint,
      doc -> 'was' ->> 'owner' as owner_was,
      (doc -> 'was' ->> 'generation')::bigint as generation_was,
      (doc -> 'was' ->> 'revision')::bigint as revision_was,
      jsonb_typeof(doc -> 'start') = 'object' as starts,
      ceil((doc -> 'start' ->> 'sendWithinMs')::float8) * interval '1 millisecond' as send_within,
      ceil((doc -> 'start' ->> 'retentionMs')::float8) * interval '1 millisecond' as retention,
      ceil((doc -> 'start' ->> 'marginMs')::float8) * interval '1 millisecond' as margin,
      coalesce((doc -> 'start' ->> 'insideWindow')::boolean, false) as inside_window,
      clock.now + ceil(t."dueInMs") * interval '1 millisecond' as due_at,
      t.state in ('unknown', 'reconciling', 'escalated') as doubtful,
      clock.now
    from
      (
        select ${storeNow} as now, ${lockTimeout} as lock_timeout where ${provided}
      ) as clock
      cross join jsonb_array_elements(${JSON.stringify(turns)}::text::jsonb) as parameters(doc)
      cross join lateral jsonb_to_record(doc) as t(
        tenant text, id text, turn text, owner text, generation bigint, state text, "dueInMs" float8, reason text,
        contradicted boolean, records jsonb, takes jsonb
      )
    where
      jsonb_typeof(doc -> 'start') is distinct from 'object'
      or doc -> 'start' ->> 'timeline' = ${storeTimeline}`;
}

/** Without a conflict target, so that a taken id counts as much as a taken identity (operation_pk, operation_identity). */
function born({ operation }: Tables): SQL {
  return sql`
  insert into ${operation} (
    tenant, id, action, key, provider_key, fingerprint, owner, generation, revision, turn, born, state, since, due_at,
    created_at, first_started_at, send_by, window_ends_at, reason, contradicted_at, doubted_at, input, snapshot, output
  )
  select
    g.tenant, g.id, g.action, g.key, g.provider_key, g.fingerprint, g.owner, g.generation, 1, g.turn, g.turn, g.state,
    g.now, g.due_at, g.now,
    case when g.starts then g.now end,
    case when g.starts then g.now + g.send_within end,
    case when g.starts then g.now + g.retention - g.margin end,
    g.reason,
    case when g.contradicted then g.now end,
    case when g.contradicted or g.doubtful then g.now end,
    g.input, g.snapshot, g.output
  from given g
  where g.kind = 'birth'
  order by g.tenant, g.id
  on conflict do nothing
  returning tenant, id, turn, revision, since, due_at, first_started_at, send_by, window_ends_at`;
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

/**
 * A key is compared by `= any (array[...])`, which an index answers and no hash or merge join can: a plan made while
 * the table was small must not read all of it when it has grown. The kind is a text for the same reason, because the
 * planner expects one row of a value and half of all rows of a boolean.
 */
function moved({ operation }: Tables): SQL {
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
    snapshot = g.snapshot,
    output = coalesce(g.output, o.output)
  from given g
  where
    g.kind = 'move'
    and o.tenant = any (array[g.tenant])
    and o.id = any (array[g.id])
    and o.owner is not distinct from g.owner_was
    and o.generation = g.generation_was
    and o.revision = g.revision_was
    and (not g.inside_window or g.now < o.window_ends_at)
  returning o.tenant, o.id, o.turn, o.revision, o.since, o.due_at, o.first_started_at, o.send_by, o.window_ends_at`;
}

function recorded({ attempt }: Tables): SQL {
  return sql`
    insert into ${attempt} (tenant, operation, revision, n, kind, number, at, body)
    select a.tenant, a.id, a.revision, r.n - 1, r.doc ->> 'kind', (r.doc ->> 'attempt')::int, g.now, r.doc -> 'body'
    from
      applied a
      join given g on g.turn = a.turn
      cross join lateral jsonb_array_elements(g.records) with ordinality as r(doc, n)`;
}

/** Found first and deleted by place, so that it costs what is taken and not what waits; nobody else deletes them. */
function taken({ handover }: Tables): SQL {
  return sql`
    delete from ${handover} h
    where h.ctid = any (
      array(
        select found.ctid
        from
          applied a
          join given g on g.turn = a.turn
          cross join lateral jsonb_array_elements_text(g.takes) as t(id)
          cross join lateral (
            select w.ctid from ${handover} w where w.tenant = a.tenant and w.operation = a.id and w.id = t.id limit 1
          ) as found
      )
    )`;
}
