/**
 * Turns of different operations as one statement: the ledger rows first, and their RETURNING decides whether anything
 * else of a turn is written. The parameters say only what. A birth is fenced by the uniqueness of id and identity; a
 * move by owner, generation and revision as conditions on the updated row itself, because after waiting for a lock
 * PostgreSQL re-checks only those. A start of either is fenced by its timeline as well, of which a statement has one:
 * there a condition on what is given is enough. Rows are met in the order of their keys, so that two statements do not
 * wait for each other, and a lock that somebody else holds is waited for no longer than the caller says.
 */

import { type SQL, sql } from 'drizzle-orm';
import { type Identity, keyOf, type Receipt, type Turn } from '../../ports/store.ts';
import { answers, type Database } from './executor.ts';
import type { Tables } from './schema.ts';
import { epochMs, storeNow } from './store-now.ts';
import { storeTimeline } from './store-timeline.ts';
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

/** The receipt of a turn that was written. */
interface Applied {
  readonly turn: string;
  readonly receipt: Receipt;
}

/**
 * Applies `turns`, of which no two may be of one operation, and gives the receipts of those that were written, by the
 * turn's id. All of them are durable, or none: then it rejects.
 */
export async function applyTurns(
  database: Database,
  turns: readonly Turn[],
  conditions: Conditions = {},
): Promise<ReadonlyMap<string, Receipt>> {
  const applied = await answers<Applied>(database, 'turn', turnStatement(database.tables, turns, conditions));
  return new Map(applied.map(({ turn, receipt }) => [turn, receipt]));
}

/** What a turn touches: its operation, and the identity that it brings. */
export function keysOfTurn(turn: Turn): readonly string[] {
  return turn.birth === null ? [keyOf(turn)] : [keyOf(turn), identityKey(turn.birth)];
}

export function identityKey({ tenant, action, key }: Identity): string {
  return JSON.stringify([tenant, action, key]);
}

function turnStatement(tables: Tables, turns: readonly Turn[], conditions: Conditions): SQL {
  return sql`
    with given as materialized (${given(turns, conditions)}),
    born as (${operationsBorn(tables, sql`given`)}),
    moved as (${operationsMoved(tables, sql`given`, fence, sql`g.now, ${along}`)}),
    applied as (${applied(sql`born`, sql`moved`, along)}),
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
    from
      (select ${told} from born a union all select ${told} from moved a) as a
      cross join (select ${storeNow} as now) as clock`;
}

const along = sql`g.records, g.takes`;
const told = sql`a.turn, a.revision, a.since, a.due_at, a.first_started_at, a.send_by, a.window_ends_at`;

/**
 * The parameters as rows of typed columns, with the time of the statement; without the turns that would start an attempt
 * on another timeline. It is asked for once, and only if a turn starts one.
 */
function given(turns: readonly Turn[], conditions: Conditions): SQL {
  return sql`
    select
      t.*,
      ${turnColumns},
      ${fenceColumns},
      ${operationColumns},
      null::text as saga,
      null::bigint as saga_revision,
      null::int as saga_n,
      clock.now + ceil(t."dueInMs") * interval '1 millisecond' as due_at
    from
      ${parameters(turns, conditions)}
      cross join lateral jsonb_to_record(doc) as t(
        tenant text, id text, turn text, owner text, generation bigint, state text, "dueInMs" float8, reason text,
        contradicted boolean, format smallint, records jsonb, takes jsonb
      )
    where
      jsonb_typeof(doc -> 'start') is distinct from 'object'
      or doc -> 'start' ->> 'timeline' = ${storeTimeline}`;
}

/** What belongs to a saga is moved by the saga's turns only. */
const fence = sql`and o.owner is not distinct from g.owner_was
    and o.generation = g.generation_was
    and o.revision = g.revision_was
    and o.saga is null
    and ${mayStart}`;

function recorded({ attempt }: Tables): SQL {
  return sql`
    insert into ${attempt} (tenant, subject, revision, n, kind, number, at, body)
    select a.tenant, a.id, a.revision, r.n - 1, r.doc ->> 'kind', (r.doc ->> 'attempt')::int, a.now, r.doc -> 'body'
    from applied a cross join lateral jsonb_array_elements(a.records) with ordinality as r(doc, n)`;
}
