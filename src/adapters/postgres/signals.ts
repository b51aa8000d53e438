/**
 * Events from outside on their way to a saga: kept once under name and id (signal_pk), and handed over with the same
 * statement, whether the saga is there yet or not.
 */

import { sql } from 'drizzle-orm';
import type { NewSignal, SignalRef, SignalRow } from '../../ports/store.ts';
import { answerOf, type Database } from './executor.ts';
import { epochMs, storeNow } from './store-now.ts';
import { type Conditions, lockTimeout } from './turn-parts.ts';

/**
 * Null: it is not written unless `provided` holds; or another statement kept it at the same time, and its row is read
 * next.
 */
export async function keepSignal(
  database: Database,
  given: NewSignal,
  { lockTimeoutMs, provided = sql`true` }: Conditions = {},
): Promise<SignalRow | null> {
  const { signal, handover } = database.tables;
  const { tenant, id, name, eventId, fingerprint, keepForMs, handoverId, body } = given;
  return await answerOf<SignalRow>(
    database,
    'signal',
    sql`
      with clock as materialized (select ${storeNow} as now, ${lockTimeout(lockTimeoutMs)} as lock_timeout),
      kept as (
        insert into ${signal} (tenant, saga, name, event_id, fingerprint, state, at, expires_at)
        select
          ${tenant}::text, ${id}::text, ${name}::text, ${eventId}::text, ${fingerprint}::text, 'new', c.now,
          c.now + ceil(${keepForMs}::float8) * interval '1 millisecond'
        from clock c
        where ${provided}
        on conflict (saga, event_id, name, tenant) do nothing
        returning *
      ),
      handed as (
        insert into ${handover} (tenant, aggregate, id, body, at)
        select
          k.tenant, k.saga, ${handoverId}::text,
          ${JSON.stringify(body)}::text::jsonb || jsonb_build_object('expiresAt', ${epochMs('k.expires_at')}), k.at
        from kept k
        on conflict (tenant, aggregate, id) do nothing
      )
      select ${signalRow}
      from (select * from kept union all (${stored(database, given)})) as s cross join clock c
      limit 1`,
  );
}

export async function readSignal(database: Database, ref: SignalRef): Promise<SignalRow | null> {
  return await answerOf<SignalRow>(
    database,
    'read-signal',
    sql`select ${signalRow} from (${stored(database, ref)}) as s cross join (select ${storeNow} as now) as c`,
  );
}

function stored({ tables }: Database, { tenant, id, name, eventId }: SignalRef) {
  return sql`
    select *
    from ${tables.signal} o
    where
      o.tenant = ${tenant}::text
      and o.saga = ${id}::text
      and o.name = ${name}::text
      and o.event_id = ${eventId}::text`;
}

/** Of the row `s`, read at the time `c`. */
const signalRow = sql`json_build_object(
        'tenant', s.tenant,
        'id', s.saga,
        'name', s.name,
        'eventId', s.event_id,
        'fingerprint', s.fingerprint,
        'state', s.state,
        'why', s.why,
        'at', ${epochMs('s.at')},
        'expiresAt', ${epochMs('s.expires_at')},
        'now', ${epochMs('c.now')}
      )::text as answer`;
