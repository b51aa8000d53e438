/**
 * One turn as one statement: the ledger row first, and its RETURNING decides whether anything else is written. The
 * parameters say only what. A birth is fenced by the uniqueness of id and identity; a move by owner, generation and
 * revision as conditions on the updated row itself, because after waiting for a lock PostgreSQL re-checks only those.
 */

import { type SQL, sql } from 'drizzle-orm';
import type { Receipt, Turn } from '../../ports/store.ts';
import { answerOf, type Executor } from './executor.ts';
import { attempt, handover, operation } from './schema.ts';
import { epochMs, storeNow } from './store-now.ts';

export async function applyTurn(execute: Executor, turn: Turn): Promise<Receipt | null> {
  const applied = turn.birth === null ? moved : born;
  return await answerOf<Receipt>(
    execute,
    sql`
      with given as materialized (${given(turn)}),
      applied as (${applied}),
      recorded as (${recorded}),
      taken as (${taken})
      select json_build_object(
        'revision', a.revision,
        'now', ${epochMs('g.now')},
        'since', ${epochMs('a.since')},
        'dueAt', ${epochMs('a.due_at')},
        'firstStartedAt', ${epochMs('a.first_started_at')},
        'sendBy', ${epochMs('a.send_by')},
        'windowEndsAt', ${epochMs('a.window_ends_at')}
      )::text as answer
      from applied a cross join given g`,
  );
}

/** The parameters as one row of typed columns, with the time of the statement. */
function given(turn: Turn): SQL {
  // A JSON null would become an SQL null inside jsonb_to_record, so whole values are taken out by name.
  return sql`
    select
      t.*,
      doc -> 'snapshot' as snapshot,
      nullif(doc -> 'output', 'null') as output,
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
      (select ${JSON.stringify(turn)}::text::jsonb as doc) as parameters
      cross join (select ${storeNow} as now) as clock
      cross join lateral jsonb_to_record(doc) as t(
        tenant text, id text, turn text, owner text, generation bigint, state text, "dueInMs" float8, reason text,
        contradicted boolean, records jsonb, takes jsonb
      )`;
}

/** Without a conflict target, so that a taken id counts as much as a taken identity (operation_pk, operation_identity). */
const born = sql`
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
  on conflict do nothing
  returning tenant, id, revision, since, due_at, first_started_at, send_by, window_ends_at`;

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

const moved = sql`
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
    o.tenant = g.tenant
    and o.id = g.id
    and o.owner is not distinct from g.owner_was
    and o.generation = g.generation_was
    and o.revision = g.revision_was
    and (not g.inside_window or g.now < o.window_ends_at)
  returning o.tenant, o.id, o.revision, o.since, o.due_at, o.first_started_at, o.send_by, o.window_ends_at`;

const recorded = sql`
  insert into ${attempt} (tenant, operation, revision, n, kind, number, at, body)
  select a.tenant, a.id, a.revision, r.n - 1, r.doc ->> 'kind', (r.doc ->> 'attempt')::int, g.now, r.doc -> 'body'
  from applied a cross join given g cross join lateral jsonb_array_elements(g.records) with ordinality as r(doc, n)`;

const taken = sql`
  delete from ${handover} h
  using applied a cross join given g
  where h.tenant = a.tenant and h.operation = a.id and g.takes ? h.id`;
