/**
 * The timeline that the store is on, in one expression that every statement uses: which cluster this is, by the number
 * it was given when it was made, and which line of its WAL is being written. The server is the authority: a standby that
 * is promoted begins another line at once, before it takes a write, and a statement that began on a standby never writes;
 * so one statement is on one timeline. Whoever may log in may ask (of a server that forbids it, `check.ts` says so).
 * Tests, and nothing else, may name another timeline, by a setting of their own database or session.
 */

import { type SQL, sql } from 'drizzle-orm';

const named = sql.raw(`nullif(current_setting('sagacity.timeline', true), '')`);
const cluster = sql.raw(`(pg_control_system()).system_identifier::text`);
// Not that of the last checkpoint, which a promotion leaves behind.
const line = sql.raw(`substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)`);

/** The timeline of the statement. A statement puts it in a subquery of its own, to ask for it once and only if needed. */
export const storeTimeline: SQL = sql`(select coalesce(${named}, ${cluster} || '-' || ${line}))`;
