/**
 * How an operation and a saga leave the database: one JSON text with exactly the fields of `OperationRow` or `SagaRow`,
 * in epoch milliseconds, with the hand-overs that wait for it. `o` is the operation, `s` the saga, `clock.now` the
 * statement's time.
 */

import { type SQL, sql } from 'drizzle-orm';
import type { Tables } from './schema.ts';
import { epochMs, storeNow } from './store-now.ts';

/** A one-row relation with the time of the statement; every statement that tells or compares time joins it. */
export const clock: SQL = sql`(select ${storeNow} as now) as clock`;

/** The column `answer` of a statement that gives whole operations. */
export function operationRow(tables: Tables): SQL {
  return sql`${operationJson(tables)}::text as answer`;
}

function operationJson(tables: Tables): SQL {
  return sql`
  json_build_object(
    'tenant', o.tenant,
    'id', o.id,
    'saga', o.saga,
    'action', o.action,
    'key', o.key,
    'providerKey', o.provider_key,
    'fingerprint', o.fingerprint,
    'owner', o.owner,
    'generation', o.generation,
    'revision', o.revision,
    'turn', o.turn,
    'born', o.born,
    'state', o.state,
    'since', ${epochMs('o.since')},
    'dueAt', ${epochMs('o.due_at')},
    'createdAt', ${epochMs('o.created_at')},
    'firstStartedAt', ${epochMs('o.first_started_at')},
    'sendBy', ${epochMs('o.send_by')},
    'windowEndsAt', ${epochMs('o.window_ends_at')},
    'reason', o.reason,
    'contradictedAt', ${epochMs('o.contradicted_at')},
    'input', o.input,
    'format', o.format,
    'snapshot', o.snapshot,
    'output', o.output,
    'handovers', ${handoversOf(tables, sql`o`)},
    'now', ${epochMs('clock.now')}
  )`;
}

/** The column `answer` of a statement that gives whole sagas. */
export function sagaRow(tables: Tables): SQL {
  return sql`
  json_build_object(
    'tenant', s.tenant,
    'id', s.id,
    'name', s.name,
    'key', s.key,
    'version', s.version,
    'hash', s.hash,
    'fingerprint', s.fingerprint,
    'owner', s.owner,
    'generation', s.generation,
    'revision', s.revision,
    'turn', s.turn,
    'born', s.born,
    'state', s.state,
    'since', ${epochMs('s.since')},
    'dueAt', ${epochMs('s.due_at')},
    'dues', s.dues,
    'createdAt', ${epochMs('s.created_at')},
    'reason', s.reason,
    'input', s.input,
    'format', s.format,
    'snapshot', s.snapshot,
    'output', s.output,
    'operations', coalesce(
      (
        select json_agg(${operationJson(tables)} order by o.saga_revision, o.saga_n)
        from ${tables.operation} o
        where o.saga = s.id and o.tenant = s.tenant
      ),
      '[]'::json
    ),
    'handovers', ${handoversOf(tables, sql`s`)},
    'now', ${epochMs('clock.now')}
  )::text as answer`;
}

function handoversOf({ handover }: Tables, row: SQL): SQL {
  return sql`coalesce(
      (
        select json_agg(
          json_build_object('tenant', h.tenant, 'id', h.aggregate, 'handoverId', h.id, 'body', h.body)
          order by h.seq
        )
        from ${handover} h
        where h.tenant = ${row}.tenant and h.aggregate = ${row}.id
      ),
      '[]'::json
    )`;
}
