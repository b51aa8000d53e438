/**
 * What must be true of a database before anything of ours runs on it, asked once when the store opens. Whatever is
 * wrong is named, with what to do about it; nothing is written. The server is the authority.
 */

import { sql } from 'drizzle-orm';
import { isSagacityError, schemaOutdated, storeUnusable } from '../../domain/errors.ts';
import { answerOf, type Database } from './executor.ts';
import { sqlstateOf } from './faults.ts';
import { missingMigrations } from './migrate.ts';
import type { Tables } from './schema.ts';

/** What is asked of the server. */
interface Facts {
  readonly version: number;
  readonly user: string;
  readonly database: string;
  readonly recovering: boolean;
  readonly readOnly: boolean;
  /** Null: there is no such schema. */
  readonly usage: boolean | null;
  /** The statement time-out of the session, which says whether the session is the one that was asked for. */
  readonly statementTimeout: string;
}

export interface CheckOptions {
  readonly schema: string;
  readonly pooler: boolean;
  readonly statementTimeoutMs: number;
}

const OLDEST_VERSION = 13;

/** Rejects with STORE_UNUSABLE or SCHEMA_OUTDATED when the database cannot carry the store as it is set up. */
export async function checkServer(database: Database, options: CheckOptions): Promise<void> {
  const facts = await answerOf<Facts>(
    database,
    'check',
    sql`
      select json_build_object(
        'version', current_setting('server_version_num')::int / 10000,
        'user', current_user,
        'database', current_database(),
        'recovering', pg_is_in_recovery(),
        'readOnly', current_setting('transaction_read_only')::boolean,
        'usage', (
          select has_schema_privilege(n.oid, 'usage') from pg_namespace n where n.nspname = ${options.schema}::text
        ),
        'statementTimeout', (select s.setting from pg_settings s where s.name = 'statement_timeout')
      )::text as answer`,
  );
  if (facts === null) throw new TypeError('The server answered nothing about itself.');
  const { version, user, database: name, recovering, readOnly } = facts;
  if (version < OLDEST_VERSION) {
    throw storeUnusable(
      `The server is PostgreSQL ${version}.`,
      `Sagacity needs PostgreSQL ${OLDEST_VERSION} or newer.`,
      { version },
    );
  }
  if (recovering || readOnly) {
    throw storeUnusable(
      recovering
        ? `The server of database ${name} is a standby and takes no writes.`
        : `The sessions of user ${user} in database ${name} are read-only.`,
      recovering
        ? 'Give the url of the primary.'
        : 'Change default_transaction_read_only for this user, or use another one.',
      { database: name, user },
    );
  }
  if (facts.usage === false) {
    throw storeUnusable(
      `User ${user} may not use the schema ${options.schema} of database ${name}.`,
      'Grant it: usage on the schema, and select, insert, update and delete on its tables.',
      { database: name, user, schema: options.schema },
    );
  }
  if (!options.pooler && facts.statementTimeout !== String(options.statementTimeoutMs)) {
    throw storeUnusable(
      'The settings of the session did not reach the server: a transaction pooler is in between.',
      'Write postgresStore({ url, pooler: true }), or give the url of the server itself.',
    );
  }
}

/** Rejects with SCHEMA_OUTDATED when migrations are missing, or STORE_UNUSABLE when the rights on the tables are. */
export async function checkSchema(database: Database, schema: string): Promise<void> {
  const missing = await missingMigrations(database.execute, schema);
  if (missing.length > 0) {
    throw schemaOutdated(
      `The schema ${schema} lacks ${missing.map(({ name }) => name).join(', ')}.`,
      'Run: npx sagacity migrate --url <url>, or postgresStore({ url, migrate: true }); nothing was changed.',
      { schema, missing: missing.map(({ name }) => name) },
    );
  }
  const withheld = await withheldRights(database, schema);
  if (withheld.length > 0) {
    throw storeUnusable(
      `The user of the url may not ${withheld.join(', ')}.`,
      `Grant it: select, insert, update and delete on all tables of the schema ${schema}.`,
      { withheld },
    );
  }
}

/** Which rights each table needs. */
const rights: Readonly<Record<keyof Tables, readonly string[]>> = {
  operation: ['select', 'insert', 'update'],
  attempt: ['select', 'insert'],
  handover: ['select', 'insert', 'delete'],
  worker: ['select', 'insert', 'update'],
  migration: ['select'],
};

async function withheldRights(database: Database, schema: string): Promise<readonly string[]> {
  const needed = Object.entries(rights).flatMap(([table, verbs]) => verbs.map((verb) => ({ table, verb })));
  const withheld = await answerOf<readonly string[]>(
    database,
    'check',
    sql`
      select coalesce(json_agg(n.verb || ' on ' || n."table"), '[]')::text as answer
      from jsonb_to_recordset(${JSON.stringify(needed)}::text::jsonb) as n("table" text, verb text)
      where not has_table_privilege(format('%I.%I', ${schema}::text, n."table"), n.verb)`,
  );
  return withheld ?? [];
}

/** What a failed connection means: a login or a database that trying again will not mend, or `error` as it is. */
export function unusableBecauseOf(error: unknown): unknown {
  if (!isSagacityError(error, 'STORE_UNAVAILABLE')) return error;
  const sqlstate = sqlstateOf(error) ?? '';
  if (sqlstate.startsWith('28') || sqlstate === '42501') {
    return storeUnusable(
      `The server refused the login (SQLSTATE ${sqlstate}).`,
      'Check user, password and pg_hba.conf.',
      { sqlstate },
      error,
    );
  }
  if (sqlstate === '3D000') {
    return storeUnusable(
      'The database of the url does not exist.',
      'Create it, or correct the url.',
      { sqlstate },
      error,
    );
  }
  return error;
}
