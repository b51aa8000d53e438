/**
 * What must be true of a database before anything of ours runs on it, asked when the store opens and when it is
 * examined. Whatever is wrong is named, with what to do about it; nothing is written. The server is the authority.
 */

import { type SQL, sql } from 'drizzle-orm';
import { isSagacityError, type SagacityError, schemaOutdated, storeUnusable } from '../../domain/errors.ts';
import { answerOf, type Database } from './executor.ts';
import { sqlstateOf } from './faults.ts';
import { type MigrationName, migrationsMissing } from './migrate.ts';
import { THROUGH_A_POOLER, type Trouble } from './refusals.ts';
import type { Tables } from './schema.ts';
import { storeTimeline } from './store-timeline.ts';

/** What is asked of the server. */
export interface ServerFacts {
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

/** Rejects with STORE_UNUSABLE when the server cannot carry the store as it is set up. */
export async function checkServer(database: Database, options: CheckOptions): Promise<void> {
  const [first] = serverTroubles(await serverFacts(database, options.schema), options);
  const trouble = first ?? (await timelineTrouble(database));
  if (trouble !== null) throw trouble.error;
}

/** Rejects with SCHEMA_OUTDATED when migrations are missing, or STORE_UNUSABLE when the rights on the tables are. */
export async function checkSchema(database: Database, schema: string): Promise<void> {
  const trouble = await rightsTrouble(database, schema);
  if (trouble !== null) throw trouble.error;
  const missing = await migrationsMissing(database.execute, schema);
  if (missing.length > 0) throw lacking(schema, missing);
}

export async function serverFacts(database: Database, schema: string): Promise<ServerFacts> {
  const facts = await answerOf<ServerFacts>(
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
          select has_schema_privilege(n.oid, 'usage') from pg_namespace n where n.nspname = ${schema}::text
        ),
        'statementTimeout', (select s.setting from pg_settings s where s.name = 'statement_timeout')
      )::text as answer`,
  );
  if (facts === null) throw new TypeError('The server answered nothing about itself.');
  return facts;
}

/** Everything that these facts say against the store, the gravest first. */
export function serverTroubles(facts: ServerFacts, options: CheckOptions): readonly Trouble[] {
  const { version, user, database: name, recovering, readOnly } = facts;
  const troubles: Trouble[] = [];
  if (version < OLDEST_VERSION) {
    const error = storeUnusable(
      `The server is PostgreSQL ${version}.`,
      `Sagacity needs PostgreSQL ${OLDEST_VERSION} or newer.`,
      { version },
    );
    troubles.push({ check: 'database', error });
  }
  if (recovering || readOnly) {
    const error = storeUnusable(
      recovering
        ? `The server of database ${name} is a standby and takes no writes.`
        : `The sessions of user ${user} in database ${name} are read-only.`,
      recovering
        ? 'Give the url of the primary.'
        : 'Change default_transaction_read_only for this user, or use another one.',
      { database: name, user },
    );
    troubles.push({ check: 'database', error });
  }
  if (facts.usage === false) {
    const error = storeUnusable(
      `User ${user} may not use the schema ${options.schema} of database ${name}.`,
      'Grant it: usage on the schema, and select, insert, update and delete on its tables.',
      { database: name, user, schema: options.schema },
    );
    troubles.push({ check: 'role', error });
  }
  if (!options.pooler && facts.statementTimeout !== String(options.statementTimeoutMs)) {
    const error = storeUnusable(
      'The settings of the session did not reach the server: a transaction pooler is in between.',
      THROUGH_A_POOLER,
    );
    troubles.push({ check: 'pooler', error });
  }
  return troubles;
}

/** A statement of its own, for what a user may not call refuses all of it. */
export async function timelineTrouble(database: Database): Promise<Trouble | null> {
  try {
    await answerOf<string>(database, 'check', sql`select to_json(${storeTimeline})::text as answer`);
    return null;
  } catch (error) {
    const sqlstate = sqlstateOf(error);
    if (sqlstate === null || isSagacityError(error)) throw error;
    const unnoticed = storeUnusable(
      `The server does not tell which timeline it is on (SQLSTATE ${sqlstate}), so that a fail-over would go unnoticed.`,
      'Grant execute on the functions pg_control_system, pg_current_wal_lsn and pg_walfile_name to the user of the url; ' +
        'Amazon Aurora refuses them while wal_level is not logical.',
      { sqlstate },
      error,
    );
    return { check: 'database', error: unnoticed };
  }
}

/** Only of a schema that the user may use; of tables that are there. */
export async function rightsTrouble(database: Database, schema: string): Promise<Trouble | null> {
  const withheld = await withheldRights(database, schema);
  if (withheld.length === 0) return null;
  const error = storeUnusable(
    `The user of the url may not ${withheld.join(', ')}.`,
    `Grant it: select, insert, update and delete on all tables of the schema ${schema}.`,
    { withheld },
  );
  return { check: 'role', error };
}

export function lacking(schema: string, missing: readonly MigrationName[]): SagacityError {
  return schemaOutdated(
    `The schema ${schema} lacks ${missing.map(({ name }) => name).join(', ')}.`,
    `Run: npx sagacity migrate --url <url> --schema ${schema}, or add migrate: true to postgresStore; nothing was changed.`,
    { schema, missing: missing.map(({ name }) => name) },
  );
}

/** Names one ledger among all databases that have one; it never changes. */
export function ledgerName({ migration }: Tables): SQL {
  return sql`
    (select current_database() || ' ' || extract(epoch from m.applied_at)::text from ${migration} m where m.number = 0)`;
}

export async function readLedgerName(database: Database): Promise<string | null> {
  return await answerOf<string>(database, 'check', sql`select to_json(${ledgerName(database.tables)})::text as answer`);
}

/** Which rights each table needs. */
const rights: Readonly<Record<keyof Tables, readonly string[]>> = {
  operation: ['select', 'insert', 'update'],
  saga: ['select', 'insert', 'update'],
  attempt: ['select', 'insert'],
  handover: ['select', 'insert', 'delete'],
  signal: ['select', 'insert', 'update'],
  lock: ['select', 'insert', 'update', 'delete'],
  worker: ['select', 'insert', 'update'],
  timeline: ['select', 'insert', 'update'],
  migration: ['select'],
};

/** A table that is not there yet withholds nothing: what is missing, the migrations say. */
async function withheldRights(database: Database, schema: string): Promise<readonly string[]> {
  const needed = Object.entries(rights).flatMap(([table, verbs]) => verbs.map((verb) => ({ table, verb })));
  const withheld = await answerOf<readonly string[]>(
    database,
    'check',
    sql`
      select coalesce(json_agg(n.verb || ' on ' || n."table"), '[]')::text as answer
      from jsonb_to_recordset(${JSON.stringify(needed)}::text::jsonb) as n("table" text, verb text)
      where not has_table_privilege(to_regclass(format('%I.%I', ${schema}::text, n."table")), n.verb)`,
  );
  return withheld ?? [];
}
