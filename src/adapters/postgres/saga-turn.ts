/**
 * Turns of different sagas as one statement, each with what it changes of the saga's operations: the end of one step and
 * the start of the next are one write. The saga's row comes first and is the fence of all of it, as in `turn.ts`: its
 * RETURNING decides whether anything else of the turn is written. What is asked of the operations themselves is asked
 * before: they are moved by the saga's turns only, so that they cannot have changed while the saga's row has not.
 */

import { type SQL, sql } from 'drizzle-orm';
import { isSagaSettled } from '../../domain/saga-state.ts';
import { keyOf, type OperationReceipt, type SagaReceipt, type SagaTurn } from '../../ports/store.ts';
import { answers, type Database } from './executor.ts';
import type { Tables } from './schema.ts';
import { epochMs, storeNow } from './store-now.ts';
import { storeTimeline } from './store-timeline.ts';
import { hasLocks, locked, lockedOut, released } from './locks.ts';
import { identityKey } from './turn.ts';
import {
  applied,
  type Conditions,
  fenceColumns,
  mayStart,
  operationColumns,
  operationsBorn,
  operationsMoved,
  parameters,
  taken,
  turnColumns,
} from './turn-parts.ts';

/** What is told of a turn that was written: of its saga, and of each operation that was born or changed. */
type Told =
  | { readonly turn: string; readonly saga: Omit<SagaReceipt, 'operations' | 'met'> }
  | { readonly turn: string; readonly id: string; readonly operation: OperationReceipt };

/**
 * Applies `turns`, of which no two may be of one saga, and gives the receipts of those that were written, by the turn's
 * id. All of them are durable, or none: then it rejects.
 */
export async function applySagaTurns(
  database: Database,
  turns: readonly SagaTurn[],
  conditions: Conditions = {},
): Promise<ReadonlyMap<string, SagaReceipt>> {
  const told = await answers<Told>(database, 'saga-turn', sagaTurnStatement(database.tables, turns, conditions));
  const sagas = new Map(told.flatMap((each) => ('saga' in each ? [[each.turn, each.saga] as const] : [])));
  const changed = new Map(turns.map(({ turn }) => [turn, new Map<string, OperationReceipt>()]));
  for (const each of told) if ('operation' in each) changed.get(each.turn)?.set(each.id, each.operation);
  return new Map(
    turns.flatMap((turn) => {
      const saga = sagas.get(turn.turn);
      const operations = changed.get(turn.turn);
      if (saga === undefined || operations === undefined) return [];
      // What was to be born and is not among those that were is met.
      const met = turn.operations.filter(({ id, birth }) => birth !== null && !operations.has(id)).map(({ id }) => id);
      return [[turn.turn, { ...saga, operations: Object.fromEntries(operations), met }]];
    }),
  );
}

/** What a turn touches: its saga, and the ids, identities and locks that it brings. */
export function keysOfSagaTurn({ tenant, id, birth, operations }: SagaTurn): readonly string[] {
  const identity = birth === null ? [] : [JSON.stringify(['saga', tenant, birth.name, birth.key])];
  const locks = (birth?.locks ?? []).map((resource) => JSON.stringify(['lock', tenant, resource]));
  const brought = operations.flatMap((change) =>
    change.birth === null ? [] : [keyOf({ tenant, id: change.id }), identityKey({ ...change.birth, tenant })],
  );
  return [keyOf({ tenant, id }), ...identity, ...locks, ...brought];
}

/** Parts that no turn of a statement needs are left out of it: each costs, though it finds nothing to do. */
function sagaTurnStatement(tables: Tables, turns: readonly SagaTurn[], conditions: Conditions): SQL {
  const wantLocks = turns.some(({ birth }) => birth !== null && birth.locks.length > 0);
  const haveHeard = turns.some(({ signals }) => signals.length > 0);
  const settle = turns.some(({ state }) => isSagaSettled(state));
  return sql`
    with given as materialized (${given(turns, conditions)}),
    hindered as materialized (${hindered(tables)} ${wantLocks ? sql`union all ${lockedOut(tables)}` : sql.empty()}),
    ${wantLocks ? sql`locked as (${locked(tables, isFree)}),` : sql.empty()}
    born as (${born(tables, wantLocks ? sql`${isFree} and ${hasLocks}` : isFree)}),
    moved as (${moved(tables)}),
    applied as (${applied(sql`born`, sql`moved`, along)}),
    change as materialized (${changes()}),
    operations_born as (${operationsBorn(tables, sql`change`)}),
    operations_moved as (${operationsMoved(tables, sql`change`, fence, sql`g.now, g.records, g.saga_n`)}),
    recorded as (${recorded(tables)}),
    ${haveHeard ? sql`said as materialized (${said()}), heard as (${heard(tables)}),` : sql.empty()}
    ${settle ? sql`released as (${released(tables)}),` : sql.empty()}
    taken as (${taken(tables)})
    select json_build_object(
      'turn', s.turn,
      'saga', json_build_object(
        'revision', s.revision,
        'now', ${epochMs('clock.now')},
        'since', ${epochMs('s.since')},
        'dueAt', ${epochMs('s.due_at')},
        'dues', s.dues
      )
    )::text as answer
    from
      (
        select b.turn, b.revision, b.since, b.due_at, b.dues from born b
        union all
        select m.turn, m.revision, m.since, m.due_at, m.dues from moved m
      ) as s
      cross join (select ${storeNow} as now) as clock
    union all
    select json_build_object(
      'turn', o.turn,
      'id', o.id,
      'operation', json_build_object(
        'revision', o.revision,
        'since', ${epochMs('o.since')},
        'createdAt', ${epochMs('o.created_at')},
        'firstStartedAt', ${epochMs('o.first_started_at')},
        'sendBy', ${epochMs('o.send_by')},
        'windowEndsAt', ${epochMs('o.window_ends_at')}
      )
    )::text
    from (select ${times} from operations_born o union all select ${times} from operations_moved o) as o`;
}

const along = sql`g.operations, g.records, g.takes, g.signals, g.state`;
const times = sql`o.turn, o.id, o.revision, o.since, o.created_at, o.first_started_at, o.send_by, o.window_ends_at`;

/**
 * The parameters as rows of typed columns, with the time of the statement; without the turns that rest on another
 * timeline. It is asked for once, and only if a turn rests on one.
 */
function given(turns: readonly SagaTurn[], conditions: Conditions): SQL {
  return sql`
    select
      t.*,
      ${turnColumns},
      ${fenceColumns},
      doc -> 'birth' ->> 'name' as name,
      coalesce(doc -> 'birth' ->> 'version', doc -> 'becomes' ->> 'version')::int as version,
      coalesce(doc -> 'birth' ->> 'hash', doc -> 'becomes' ->> 'hash') as hash,
      doc -> 'birth' -> 'locks' as locks
    from
      ${parameters(turns, conditions)}
      cross join lateral jsonb_to_record(doc) as t(
        tenant text, id text, turn text, owner text, generation bigint, state text, dues jsonb, reason text,
        format smallint, operations jsonb, records jsonb, takes jsonb, signals jsonb
      )
    where
      doc ->> 'timeline' is null
      or doc ->> 'timeline' = ${storeTimeline}`;
}

/**
 * The turns that change an operation which the saga does not have, or that start an attempt inside a window which is over.
 * The saga is compared in a way that no index or join has: the id alone finds the row.
 */
function hindered({ operation }: Tables): SQL {
  return sql`
    select g.turn
    from
      (
        select
          t.turn,
          t.tenant,
          t.id as saga,
          t.now,
          doc ->> 'id' as id,
          jsonb_typeof(doc -> 'birth') as birth,
          coalesce((doc -> 'start' ->> 'insideWindow')::boolean, false) as inside_window
        from given t cross join lateral jsonb_array_elements(t.operations) as parameters(doc)
      ) as g
    where
      g.birth = 'null'
      and not exists (
        select
        from ${operation} o
        where
          o.tenant = any (array[g.tenant])
          and o.id = any (array[g.id])
          and o.saga is not distinct from g.saga
          and ${mayStart}
      )`;
}

const isFree = sql`g.turn <> all (array(select h.turn from hindered h))`;

/** Fenced by the uniqueness of id and identity (saga_pk, saga_identity). */
function born({ saga }: Tables, mayBe: SQL): SQL {
  return sql`
    insert into ${saga} (
      tenant, id, name, key, version, hash, fingerprint, owner, generation, revision, turn, born, state, since, due_at,
      dues, created_at, reason, input, format, snapshot, output
    )
    select
      g.tenant, g.id, g.name, g.key, g.version, g.hash, g.fingerprint, g.owner, g.generation, 1, g.turn, g.turn, g.state,
      g.now, d.due_at, d.dues, g.now, g.reason, g.input, g.format, g.snapshot,
      g.output
    from given g cross join lateral (${dues(sql`null::bigint`)}) as d
    where g.kind = 'birth' and ${mayBe}
    order by g.tenant, g.name, g.key
    on conflict do nothing
    returning tenant, id, turn, revision, since, due_at, dues`;
}

/** The tenant is compared under a collation that no index has: a plan that went by it would read all of its sagas. */
function moved({ saga }: Tables): SQL {
  return sql`
    update ${saga} s
    set
      owner = g.owner,
      generation = g.generation,
      revision = s.revision + 1,
      turn = g.turn,
      version = coalesce(g.version, s.version),
      hash = coalesce(g.hash, s.hash),
      state = g.state,
      since = case when s.state = g.state then s.since else g.now end,
      (due_at, dues) = (${dues(sql`(s.dues ->> (due.doc ->> 'name'))::bigint`)}),
      reason = g.reason,
      format = g.format,
      snapshot = g.snapshot,
      output = coalesce(g.output, s.output)
    from given g
    where
      g.kind = 'move'
      and s.tenant collate "C" = any (array[g.tenant])
      and s.id = any (array[g.id])
      and s.owner is not distinct from g.owner_was
      and s.generation = g.generation_was
      and s.revision = g.revision_was
      and ${isFree}
    returning s.tenant, s.id, s.turn, s.revision, s.since, s.due_at, s.dues, g.now, ${along}`;
}

/** The earliest, and when each is: at its time, counted from now, or as it was `before`, or now. */
function dues(before: SQL): SQL {
  return sql`
    select
      to_timestamp(min(each.at)::float8 / 1000) as due_at,
      coalesce(jsonb_object_agg(each.name, each.at), '{}') as dues
    from
      (
        select
          due.doc ->> 'name' as name,
          coalesce(
            (due.doc ->> 'at')::bigint,
            ${epochMs('g.now')} + ceil((due.doc ->> 'inMs')::float8)::bigint,
            ${before},
            ${epochMs('g.now')}
          ) as at
        from jsonb_array_elements(g.dues) as due(doc)
      ) as each`;
}

/** What is changed of operations by the turns that were written, in the form in which turns of operations are given. */
function changes(): SQL {
  return sql`
    select
      t.*,
      ${turnColumns},
      ${operationColumns},
      clock.turn,
      clock.tenant,
      clock.id as saga,
      clock.revision as saga_revision,
      n as saga_n,
      null::text as owner,
      0 as generation,
      null::timestamptz as due_at
    from
      applied as clock
      cross join lateral jsonb_array_elements(clock.operations) with ordinality as parameters(doc, n)
      cross join lateral jsonb_to_record(doc) as t(
        id text, state text, reason text, contradicted boolean, format smallint, records jsonb
      )`;
}

/** The saga's own fence has been met. */
const fence = sql`and o.saga is not distinct from g.saga`;

/**
 * In the order in which it is told: what a turn says of the saga comes before what it says of its operations. Births are
 * looked up among those that were born, as in `applied`.
 */
function recorded({ attempt }: Tables): SQL {
  return sql`
    insert into ${attempt} (tenant, subject, revision, n, kind, number, at, body)
    select
      s.tenant, s.id, s.revision, r.n - 1, r.doc ->> 'kind', (r.doc ->> 'attempt')::int, s.now, r.doc -> 'body'
    from
      (
        select a.tenant, a.id, a.revision, a.now, a.records, 0 as place from applied a
        union all
        select c.tenant, c.id, 1, c.now, c.records, c.saga_n
        from change c
        where
          c.kind = 'birth'
          and ((c.turn, c.id) in (select b.turn, b.id from operations_born b)) is true
        union all
        select o.tenant, o.id, o.revision, o.now, o.records, o.saga_n from operations_moved o
      ) as s
      cross join lateral jsonb_array_elements(s.records) with ordinality as r(doc, n)
    order by s.place, r.n`;
}

/** What the turns that were written say of events from outside, each of a kind, as in `operationsMoved`. */
function said(): SQL {
  return sql`
    select a.tenant, a.id, t.*, 'signal'::text as kind
    from
      applied a
      cross join lateral jsonb_to_recordset(a.signals) as t(name text, "eventId" text, state text, why text)`;
}

/** What is final stays. */
function heard({ signal }: Tables): SQL {
  return sql`
    update ${signal} e
    set state = g.state, why = g.why
    from said g
    where
      g.kind = 'signal'
      and e.tenant = any (array[g.tenant])
      and e.saga = any (array[g.id])
      and e.name = any (array[g.name])
      and e.event_id = any (array[g."eventId"])
      and e.state in ('new', 'kept')`;
}
