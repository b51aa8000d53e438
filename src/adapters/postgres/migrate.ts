/**
 * Brings a database to the tables of this version. Each migration is one multi-statement query, which PostgreSQL runs
 * as one transaction: it takes a lock that shuts out every other migrator, changes the tables and notes itself, or
 * leaves nothing. A database that ran other SQL than ours, or is newer than this version, is refused untouched.
 */

import { sql } from 'drizzle-orm';
import { type Migration, migrations as embedded } from '../../../drizzle/migrations.ts';
import { schemaOutdated } from '../../domain/errors.ts';
import { answerOf, type Executor } from './executor.ts';
import { migration as migrationTable } from './schema.ts';

export interface MigrationDriver {
  readonly read: Executor;
  /** Runs several statements of ours as one simple query, without parameters. */
  readonly batch: (text: string) => Promise<void>;
}

/** Applies what is missing, in order. Safe to call at every start and from many processes at once. */
export async function migrate(driver: MigrationDriver, migrations: readonly Migration[] = embedded): Promise<void> {
  const applied = await readApplied(driver.read);
  assertKnown(applied, migrations);
  for (const migration of migrations) {
    if (!applied.has(migration.number)) await apply(driver, migration);
  }
}

/** Number to checksum. */
type Applied = ReadonlyMap<number, string>;

async function apply({ read, batch }: MigrationDriver, migration: Migration): Promise<void> {
  try {
    await batch(migrationQuery(migration));
  } catch (error) {
    // Whoever held the lock before us may have done the same work, and then ours failed as a whole.
    const applied = await readApplied(read);
    if (applied.get(migration.number) !== migration.checksum) throw error;
  }
}

/** The text that applies one migration, and notes it. */
function migrationQuery({ number, name, checksum, sql: text }: Migration): string {
  return [
    "select pg_advisory_xact_lock(hashtextextended('sagacity.migration', 0));",
    "select set_config('lock_timeout', '10s', true);",
    text,
    `insert into sagacity.migration (number, name, checksum) values (${number}, '${name}', '${checksum}');`,
  ].join('\n');
}

async function readApplied(read: Executor): Promise<Applied> {
  const present = await answerOf<boolean>(
    read,
    sql`select (to_regclass('sagacity.migration') is not null)::text as answer`,
  );
  if (present !== true) return new Map();
  const rows = await answerOf<readonly [number, string][]>(
    read,
    sql`
      select coalesce(json_agg(json_build_array(m.number, m.checksum) order by m.number), '[]')::text as answer
      from ${migrationTable} m`,
  );
  return new Map(rows ?? []);
}

function assertKnown(applied: Applied, migrations: readonly Migration[]): void {
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
        'Install the version of sagacity that applied it, or move the schema sagacity away; nothing was changed.',
        { number, name, found: before, expected: checksum },
      );
    }
  }
}
