/**
 * The store's time, in one expression that every statement uses: the database's clock in whole milliseconds, constant
 * within a statement. The skew is 0 unless a test sets it for its own session, so that time can move without waiting.
 */

import { type SQL, sql } from 'drizzle-orm';

const skew = sql.raw(`coalesce(nullif(current_setting('sagacity.skew_ms', true), '')::float8, 0)`);

/** The time of the statement. Whole milliseconds, so that what is compared is exactly what is told. */
export const storeNow: SQL = sql`(date_trunc('milliseconds', now()) + ${skew} * interval '1 millisecond')`;

/** A time as milliseconds since the epoch. `time` is SQL of ours, never a value. */
export function epochMs(time: string): SQL {
  return sql`(${sql.raw(`extract(epoch from ${time})`)} * 1000)::bigint`;
}

/** Sets the skew of the session in which it runs. For tests only. */
export function skewSession(skewMs: number): SQL {
  return sql`select set_config('sagacity.skew_ms', ${String(skewMs)}::text, false)`;
}
