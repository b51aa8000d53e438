/**
 * Migrating a server by its url, or printing what would run. The server's own lock orders migrators, however many
 * start at once; each migration is one transaction, so one that was killed half-way left nothing.
 */

import { migrations } from '../../../drizzle/migrations.ts';
import { schemaOutdated, storeUnusable } from '../../domain/errors.ts';
import { systemClock } from '../local/clock.ts';
import { unusableBecauseOf } from './check.ts';
import { answered, assertUrl, Connection } from './connection.ts';
import { rendered, type Statement } from './executor.ts';
import { sqlstateOf } from './faults.ts';
import {
  applyMigrations,
  type MigrationDriver,
  type MigrationName,
  migrationText,
  missingMigrations,
} from './migrate.ts';
import { assertSchemaName, DEFAULT_SCHEMA } from './schema.ts';

export interface MigrateOptions {
  /** `postgres://user:password@host:port/database`, of a user who may create the schema. Never logged. */
  readonly url: string;
  /** Where the tables are. By default `sagacity`. */
  readonly schema?: string;
}

/** A migration may wait this long for another migrator, and take this long. */
const DEADLINE_MS = 60_000;

/**
 * Brings the schema to the tables of this version and gives what was missing; an empty list means that nothing was.
 * Durable when it resolves. Rejects with SCHEMA_OUTDATED when the schema is newer than this version or another's, and
 * with STORE_UNAVAILABLE when the server cannot be reached, STORE_UNUSABLE when it refuses the login or the rights.
 *
 * @example
 * const applied = await migrate({ url: 'postgres://owner@db.internal/shop' });
 */
export async function migrate({ url, schema = DEFAULT_SCHEMA }: MigrateOptions): Promise<readonly MigrationName[]> {
  return await onServer(url, schema, (driver) => applyMigrations(driver, schema));
}

/**
 * What `migrate` would apply, in that order; changes nothing. Rejects like `migrate`.
 *
 * @example
 * const missing = await pendingMigrations({ url: 'postgres://owner@db.internal/shop' });
 */
export async function pendingMigrations({
  url,
  schema = DEFAULT_SCHEMA,
}: MigrateOptions): Promise<readonly MigrationName[]> {
  const missing = await onServer(url, schema, ({ read }) => missingMigrations(read, schema));
  return missing.map(({ number, name }) => ({ number, name }));
}

/**
 * The SQL of all migrations, each a transaction of its own, for teams that apply their own. It notes what it applied,
 * so that a later `migrate` or a check at start knows.
 *
 * @example
 * await writeFile('migrations/042_sagacity.sql', migrationSql({ schema: 'shop_sagacity' }));
 */
export function migrationSql({ schema = DEFAULT_SCHEMA }: { readonly schema?: string } = {}): string {
  assertSchemaName(schema);
  return migrations.map((migration) => `begin;\n${migrationText(migration, schema)}\ncommit;\n`).join('\n');
}

/** Lends `work` a connection of its own. */
async function onServer<Result>(
  url: string,
  schema: string,
  work: (driver: MigrationDriver) => Promise<Result>,
): Promise<Result> {
  assertUrl(url);
  assertSchemaName(schema);
  const route = { url, pooler: false, statementTimeoutMs: DEADLINE_MS, connectTimeoutMs: 5_000 };
  const connection = new Connection(route, systemClock());
  const read = (statement: Statement) => {
    const { text, values } = rendered(statement);
    return answered('read', connection.run(text, values, DEADLINE_MS));
  };
  const batch = (text: string) => answered('write', connection.batch(text, DEADLINE_MS));
  try {
    return await work({ read, batch });
  } catch (error) {
    throw refusedBecauseOf(unusableBecauseOf(error), schema);
  } finally {
    connection.close();
  }
}

/** Tables, functions or triggers are there already, or ours lack a column: whoever made them was not a migration. */
const STATES_OF_FOREIGN_TABLES = ['42P07', '42723', '42710', '42703'];

/** What a refused statement means: rights that are lacking, tables that are another's, or `error` as it is. */
function refusedBecauseOf(error: unknown, schema: string): unknown {
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
