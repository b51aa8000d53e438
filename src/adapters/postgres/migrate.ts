/**
 * Brings a schema to the tables of this version. Each migration is one multi-statement query, which PostgreSQL runs as
 * one transaction: it takes a lock that shuts out every other migrator, changes the tables and notes itself, or leaves
 * nothing. A schema that ran other SQL than ours, or is newer than this version, is refused untouched. The SQL is
 * written for the schema `sagacity`; another name takes its place, and the checksum is that of what was written.
 */

import { sql } from 'drizzle-orm';
import { type Migration, migrations as embedded } from '../../../drizzle/migrations.ts';
import { schemaOutdated } from '../../domain/errors.ts';
import { answerOf, type Database, type Executor } from './executor.ts';
import { DEFAULT_SCHEMA, tablesIn } from './schema.ts';

export interface MigrationDriver {
  readonly read: Executor;
  /** Runs several statements of ours as one simple query, without parameters. */
  readonly batch: (text: string) => Promise<void>;
}

/** A migration by what people call it. */
export interface MigrationName {
  readonly number: number;
  readonly name: string;
}

/** Applies what is missing, in order, and gives what it applied itself. Safe from many processes at once. */
export async function applyMigrations(
  driver: MigrationDriver,
  schema: string,
  migrations: readonly Migration[] = embedded,
): Promise<readonly MigrationName[]> {
  const missing = await migrationsMissing(driver.read, schema, migrations);
  const applied: MigrationName[] = [];
  for (const migration of missing) {
    const { number, name } = migration;
    if (await apply(driver, schema, migration)) applied.push({ number, name });
  }
  return applied;
}

/** What the schema lacks. Rejects with SCHEMA_OUTDATED when it is newer than this version, or another's. */
export async function migrationsMissing(
  read: Executor,
  schema: string,
  migrations: readonly Migration[] = embedded,
): Promise<readonly Migration[]> {
  const applied = await readApplied(read, schema);
  assertKnown(applied, schema, migrations);
  return migrations.filter(({ number }) => !applied.has(number));
}

/** The text that applies one migration, and notes it: one transaction when it is sent as one simple query. */
export function migrationText({ number, name, checksum, sql: text }: Migration, schema: string): string {
  return [
    `-- ${name}: leave it out where ${schema}.migration has number ${number}.`,
    `select pg_advisory_xact_lock(hashtextextended('${schema}.migration', 0));`,
    "select set_config('lock_timeout', '10s', true);",
    text.replaceAll(`"${DEFAULT_SCHEMA}"`, `"${schema}"`),
    `insert into "${schema}".migration (number, name, checksum) values (${number}, '${name}', '${checksum}');`,
  ].join('\n');
}

/** Number to checksum. */
type Applied = ReadonlyMap<number, string>;

/** False: another migrator had applied it meanwhile. */
async function apply({ read, batch }: MigrationDriver, schema: string, migration: Migration): Promise<boolean> {
  try {
    await batch(migrationText(migration, schema));
    return true;
  } catch (error) {
    // Whoever held the lock before us may have done the same work, and then ours failed as a whole.
    const applied = await readApplied(read, schema);
    if (applied.get(migration.number) !== migration.checksum) throw error;
    return false;
  }
}

async function readApplied(read: Executor, schema: string): Promise<Applied> {
  const database: Database = { execute: read, tables: tablesIn(schema) };
  const present = await answerOf<boolean>(
    database,
    'migration',
    sql`select (to_regclass(${`"${schema}".migration`}::text) is not null)::text as answer`,
  );
  if (present !== true) return new Map();
  const rows = await answerOf<readonly [number, string][]>(
    database,
    'migration',
    sql`
      select coalesce(json_agg(json_build_array(m.number, m.checksum) order by m.number), '[]')::text as answer
      from ${database.tables.migration} m`,
  );
  return new Map(rows ?? []);
}

function assertKnown(applied: Applied, schema: string, migrations: readonly Migration[]): void {
  const newest = Math.max(...migrations.map(({ number }) => number));
  const found = Math.max(-1, ...applied.keys());
  if (found > newest) {
    throw schemaOutdated(
      `The database has Sagacity's migration ${found}, and this version knows them up to ${newest}.`,
      'Install the version of sagacity that wrote it, or a newer one; nothing was changed.',
      { found, newest },
    );
  }
  for (const { number, name, checksum } of migrations) {
    const before = applied.get(number);
    if (before !== undefined && before !== checksum) {
      throw schemaOutdated(
        `Migration ${number} (${name}) was applied to this database from another text than this version has.`,
        `Install the version of sagacity that applied it, or move the schema ${schema} away; nothing was changed.`,
        { number, name, found: before, expected: checksum },
      );
    }
  }
}
