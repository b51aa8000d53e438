/**
 * What must be true of a database before anything of ours runs on it, asked once when the store opens. Whatever is
 * wrong is named, with what to do about it; nothing is written. The server is the authority.
 */

import { type SQL, sql } from 'drizzle-orm';
import { isSagacityError, type SagacityError, schemaOutdated, storeUnusable } from '../../domain/errors.ts';
import { answerOf, type Database } from './executor.ts';
import { sqlstateOf } from './faults.ts';
import { migrationsMissing } from './migrate.ts';
import type { Tables } from './schema.ts';
import { storeTimeline } from './store-timeline.ts';

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
      THROUGH_A_POOLER,
    );
  }
  await checkTimeline(database);
}

/** A statement of its own, for what a user may not call refuses all of it. */
async function checkTimeline(database: Database): Promise<void> {
  try {
    await answerOf<string>(database, 'check', sql`select to_json(${storeTimeline})::text as answer`);
  } catch (error) {
    const sqlstate = sqlstateOf(error);
    if (sqlstate === null || isSagacityError(error)) throw error;
    throw storeUnusable(
      `The server does not tell which timeline it is on (SQLSTATE ${sqlstate}), so that a fail-over would go unnoticed.`,
      'Grant execute on the functions pg_control_system, pg_current_wal_lsn and pg_walfile_name to the user of the url; ' +
        'Amazon Aurora refuses them while wal_level is not logical.',
      { sqlstate },
      error,
    );
  }
}

/** Rejects with SCHEMA_OUTDATED when migrations are missing, or STORE_UNUSABLE when the rights on the tables are. */
export async function checkSchema(database: Database, schema: string): Promise<void> {
  const withheld = await withheldRights(database, schema);
  if (withheld.length > 0) {
    throw storeUnusable(
      `The user of the url may not ${withheld.join(', ')}.`,
      `Grant it: select, insert, update and delete on all tables of the schema ${schema}.`,
      { withheld },
    );
  }
  const missing = await migrationsMissing(database.execute, schema);
  if (missing.length > 0) {
    throw schemaOutdated(
      `The schema ${schema} lacks ${missing.map(({ name }) => name).join(', ')}.`,
      `Run: npx sagacity migrate --url <url> --schema ${schema}, or add migrate: true to postgresStore; nothing was changed.`,
      { schema, missing: missing.map(({ name }) => name) },
    );
  }
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

/** What made it impossible to begin: something that trying again will not mend, or `error` as it is. */
export function causeOf(error: unknown, schema: string): unknown {
  return isSagacityError(error, 'STORE_UNAVAILABLE') ? causeOfNoSession(error) : causeOfRefusal(error, schema);
}

/** A login or a database that is refused. */
function causeOfNoSession(error: SagacityError): SagacityError {
  const sqlstate = sqlstateOf(error) ?? '';
  const refusal = refusals.find(({ states }) => states.test(sqlstate));
  if (refusal === undefined) return error;
  return storeUnusable(`${refusal.what} (SQLSTATE ${sqlstate}).`, refusal.remedy, { sqlstate }, error);
}

const THROUGH_A_POOLER = 'Write postgresStore({ url, pooler: true }), or give the url of the server itself.';

/** What a server says instead of beginning a session. */
const refusals = [
  { states: /^(28...|42501)$/, what: 'The server refused the login', remedy: 'Check user, password and pg_hba.conf.' },
  { states: /^3D000$/, what: 'The database of the url does not exist', remedy: 'Create it, or correct the url.' },
  {
    states: /^08P01$/,
    what: 'The settings of a session are refused: a transaction pooler is in between',
    remedy: THROUGH_A_POOLER,
  },
  {
    states: /^(42704|22023)$/,
    what: 'The server does not know a setting in the url, or its value',
    remedy: 'It stands behind the question mark: take that one out, and leave sslmode.',
  },
];

/** Tables, functions or triggers are there already, or ours lack a column: whoever made them was not a migration. */
const STATES_OF_FOREIGN_TABLES = ['42P07', '42723', '42710', '42703'];

/** A statement that is refused: rights that are lacking, or tables that are another's. */
function causeOfRefusal(error: unknown, schema: string): unknown {
  const sqlstate = sqlstateOf(error) ?? '';
  if (sqlstate === '42501') {
    return storeUnusable(
      `The user of the url lacks rights on the schema ${schema} (SQLSTATE ${sqlstate}).`,
      'Give the url of its owner; before the first migration, of a user who may create schemas in this database.',
      { schema, sqlstate },
      error,
    );
  }
  if (STATES_OF_FOREIGN_TABLES.includes(sqlstate)) {
    return schemaOutdated(
      `The schema ${schema} holds tables that no migration of Sagacity made (SQLSTATE ${sqlstate}).`,
      'Name a schema of its own, or move those tables away; nothing was changed.',
      { schema, sqlstate },
    );
  }
  return error;
}
