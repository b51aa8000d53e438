/**
 * The store's time, in one expression that every statement uses: the database's clock in whole milliseconds, constant
 * within a statement. Tests, and nothing else, may hold it still and skew it, by settings of their own database or
 * session, so that time can move without waiting.
 */

import { type SQL, sql } from 'drizzle-orm';

const skew = sql.raw(`coalesce(nullif(current_setting('sagacity.skew_ms', true), '')::float8, 0)`);
const stillAt = sql.raw(`to_timestamp(nullif(current_setting('sagacity.still_at_ms', true), '')::float8 / 1000)`);

/** The time of the statement. Whole milliseconds, so that what is compared is exactly what is told. */
export const storeNow: SQL = sql`
  (coalesce(${stillAt}, date_trunc('milliseconds', now())) + ${skew} * interval '1 millisecond')`;

/** A time as milliseconds since the epoch. `time` is SQL of ours, never a value. */
export function epochMs(time: string): SQL {
  return sql`(${sql.raw(`extract(epoch from ${time})`)} * 1000)::bigint`;
}
