/**
 * Turns of different sagas as one statement, each with what it changes of the saga's operations: the end of one step and
 * the start of the next are one write. The saga's row comes first and is the fence of all of it, as in `turn.ts`: its
 * RETURNING decides whether anything else of the turn is written. What is asked of the operations themselves is asked
 * before: they are moved by the saga's turns only, so that they cannot have changed while the saga's row has not.
 */

import { type SQL, sql } from 'drizzle-orm';
import { keyOf, type SagaReceipt, type SagaTurn } from '../../ports/store.ts';
import { answers, type Database } from './executor.ts';
import type { Tables } from './schema.ts';
import { epochMs, storeNow } from './store-now.ts';
import { storeTimeline } from './store-timeline.ts';
import { identityKey } from './turn.ts';
import {
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

/** The receipt of a turn that was written. */
interface Applied {
  readonly turn: string;
  readonly receipt: SagaReceipt;
}

/**
 * Applies `turns`, of which no two may be of one saga, and gives the receipts of those that were written, by the turn's
 * id. All of them are durable, or none: then it rejects.
 */
export async function applySagaTurns(
  database: Database,
  turns: readonly SagaTurn[],
  conditions: Conditions = {},
): Promise<ReadonlyMap<string, SagaReceipt>> {
  const applied = await answers<Applied>(database, 'saga-turn', sagaTurnStatement(database.tables, turns, conditions));
  return new Map(applied.map(({ turn, receipt }) => [turn, receipt]));
}

/** What a turn touches: its saga, and the ids and identities that it brings. */
export function keysOfSagaTurn({ tenant, id, birth, operations }: SagaTurn): readonly string[] {
  const identity = birth === null ? [] : [JSON.stringify(['saga', tenant, birth.name, birth.key])];
  const brought = operations.flatMap((change) =>
    change.birth === null ? [] : [keyOf({ tenant, id: change.id }), identityKey({ ...change.birth, tenant })],
  );
  return [keyOf({ tenant, id }), ...identity, ...brought];
}

function sagaTurnStatement(tables: Tables, turns: readonly SagaTurn[], conditions: Conditions): SQL {
  return sql`
    with given as materialized (${given(turns, conditions)}),
    change as materialized (${changes()}),
    hindered as materialized (${hindered(tables)}),
    born as (${born(tables)}),
    moved as (${moved(tables)}),
    applied as (select * from born union all select * from moved),
    operations_born as (${operationsBorn(tables, ofApplied)}),
    operations_moved as (${operationsMoved(tables, ofApplied, fence)}),
    changed as (select * from operations_born union all select * from operations_moved),
    recorded as (${recorded(tables)}),
    taken as (${taken(tables)}),
    receipts as (${receipts()}),
    met as (${met()})
    select json_build_object(
      'turn', a.turn,
      'receipt', json_build_object(
        'revision', a.revision,
        'now', ${epochMs('clock.now')},
        'since', ${epochMs('a.since')},
        'dueAt', ${epochMs('a.due_at')},
        'dues', a.dues,
        'operations', coalesce(r.operations, '{}'),
        'met', coalesce(m.ids, '[]')
      )
    )::text as answer
    from
      applied a
      left join receipts r on r.turn = a.turn
      left join met m on m.turn = a.turn
      cross join (select ${storeNow} as now) as clock`;
}

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
      (doc -> 'birth' ->> 'version')::int as version,
      doc -> 'birth' ->> 'hash' as hash
    from
      ${parameters(turns, conditions)}
      cross join lateral jsonb_to_record(doc) as t(
        tenant text, id text, turn text, owner text, generation bigint, state text, dues jsonb, reason text,
        operations jsonb, records jsonb, takes jsonb
      )
    where
      doc ->> 'timeline' is null
      or doc ->> 'timeline' = ${storeTimeline}`;
}

/** What the turns change of operations, in the form in which turns of operations are given. */
function changes(): SQL {
  return sql`
    select
      t.*,
      ${turnColumns},
      ${operationColumns},
      clock.turn,
      clock.tenant,
      clock.id as saga,
      n as saga_n,
      null::text as owner,
      0 as generation,
      null::timestamptz as due_at
    from
      given as clock
      cross join lateral jsonb_array_elements(clock.operations) with ordinality as parameters(doc, n)
      cross join lateral jsonb_to_record(doc) as t(
        id text, state text, reason text, contradicted boolean, records jsonb
      )`;
}

/**
 * The turns that change an operation which the saga does not have, or that start an attempt inside a window which is over.
 * The saga is compared in a way that no index or join has: the id alone finds the row.
 */
function hindered({ operation }: Tables): SQL {
  return sql`
    select g.turn
    from change g
    where
      g.kind = 'move'
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
function born({ saga }: Tables): SQL {
  return sql`
    insert into ${saga} (
      tenant, id, name, key, version, hash, fingerprint, owner, generation, revision, turn, born, state, since, due_at,
      dues, created_at, reason, input, snapshot, output
    )
    select
      g.tenant, g.id, g.name, g.key, g.version, g.hash, g.fingerprint, g.owner, g.generation, 1, g.turn, g.turn, g.state,
      g.now, d.due_at, d.dues, g.now, g.reason, g.input, g.snapshot, g.output
    from given g cross join lateral (${dues(sql`null::bigint`)}) as d
    where g.kind = 'birth' and ${isFree}
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
      state = g.state,
      since = case when s.state = g.state then s.since else g.now end,
      (due_at, dues) = (${dues(sql`(s.dues ->> (due.doc ->> 'name'))::bigint`)}),
      reason = g.reason,
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
    returning s.tenant, s.id, s.turn, s.revision, s.since, s.due_at, s.dues`;
}

/** The earliest, and when each is: counted from now, or as it was `before`, or now. */
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
            ${epochMs('g.now')} + ceil((due.doc ->> 'inMs')::float8)::bigint, ${before}, ${epochMs('g.now')}
          ) as at
        from jsonb_array_elements(g.dues) as due(doc)
      ) as each`;
}

/** What is changed of the operations of those sagas that were written. */
const ofApplied = sql`(
    select c.*, a.revision as saga_revision from applied a join change c on c.turn = a.turn
  )`;

/** The saga's own fence has been met. */
const fence = sql`and o.saga is not distinct from g.saga`;

/** In the order in which it is told: what a turn says of the saga comes before what it says of its operations. */
function recorded({ attempt }: Tables): SQL {
  return sql`
    insert into ${attempt} (tenant, subject, revision, n, kind, number, at, body)
    select
      s.tenant, s.id, s.revision, r.n - 1, r.doc ->> 'kind', (r.doc ->> 'attempt')::int, s.now, r.doc -> 'body'
    from
      (
        select a.tenant, a.id, a.revision, g.now, g.records, 0 as place from applied a join given g on g.turn = a.turn
        union all
        select o.tenant, o.id, o.revision, c.now, c.records, c.saga_n
        from changed o join change c on c.turn = o.turn and c.id = o.id
      ) as s
      cross join lateral jsonb_array_elements(s.records) with ordinality as r(doc, n)
    order by s.place, r.n`;
}

function receipts(): SQL {
  return sql`
    select
      o.turn,
      json_object_agg(
        o.id,
        json_build_object(
          'revision', o.revision,
          'since', ${epochMs('o.since')},
          'createdAt', ${epochMs('o.created_at')},
          'firstStartedAt', ${epochMs('o.first_started_at')},
          'sendBy', ${epochMs('o.send_by')},
          'windowEndsAt', ${epochMs('o.window_ends_at')}
        )
      ) as operations
    from changed o
    group by o.turn`;
}

/** What was to be born and was not, of those sagas that were written: nothing else answers for them. */
function met(): SQL {
  return sql`
    select c.turn, json_agg(c.id order by c.saga_n) as ids
    from change c left join operations_born b on b.turn = c.turn and b.id = c.id
    where c.kind = 'birth' and b.id is null
    group by c.turn`;
}
