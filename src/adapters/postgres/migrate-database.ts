/**
 * Migrating a server by its url, or printing what would run. The server's own lock orders migrators, however many
 * start at once; each migration is one transaction, so one that was killed half-way left nothing.
 */

import { migrations } from '../../../drizzle/migrations.ts';
import { systemClock } from '../local/clock.ts';
import { answered, assertUrl, Connection } from './connection.ts';
import { rendered, type Statement } from './executor.ts';
import {
  applyMigrations,
  type MigrationDriver,
  type MigrationName,
  migrationText,
  migrationsMissing,
} from './migrate.ts';
import { causeOf } from './refusals.ts';
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
 * const missing = await missingMigrations({ url: 'postgres://owner@db.internal/shop' });
 */
export async function missingMigrations({
  url,
  schema = DEFAULT_SCHEMA,
}: MigrateOptions): Promise<readonly MigrationName[]> {
  const missing = await onServer(url, schema, ({ read }) => migrationsMissing(read, schema));
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
    throw causeOf(error, schema);
  } finally {
    connection.close();
  }
}
