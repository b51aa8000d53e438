/**
 * How an operation leaves the database: one JSON text with exactly the fields of `OperationRow`, in epoch
 * milliseconds, with the hand-overs that wait for it. `o` is the row, `clock.now` the statement's time.
 */

import { type SQL, sql } from 'drizzle-orm';
import type { Tables } from './schema.ts';
import { epochMs, storeNow } from './store-now.ts';

/** A one-row relation with the time of the statement; every statement that tells or compares time joins it. */
export const clock: SQL = sql`(select ${storeNow} as now) as clock`;

/** The column `answer` of a statement that gives whole rows. */
export function operationRow({ handover }: Tables): SQL {
  return sql`
  json_build_object(
    'tenant', o.tenant,
    'id', o.id,
    'saga', null,
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
    'snapshot', o.snapshot,
    'output', o.output,
    'handovers', coalesce(
      (
        select json_agg(
          json_build_object('tenant', h.tenant, 'id', h.operation, 'handoverId', h.id, 'body', h.body)
          order by h.seq
        )
        from ${handover} h
        where h.tenant = o.tenant and h.operation = o.id
      ),
      '[]'::json
    ),
    'now', ${epochMs('clock.now')}
  )::text as answer`;
}
