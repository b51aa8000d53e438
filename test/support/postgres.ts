/**
 * Databases for tests, in one cluster that the whole run shares: `global-setup.ts` starts it before the first test and
 * closes it after the last. Its fsync is off; a test that kills the machine under a database needs a cluster of its own.
 */

import postgres from 'postgres';
import { inject } from 'vitest';
import { createDatabase } from '../../src/testing/private-postgres/database.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Of the database `postgres` in the cluster of this run. */
    readonly clusterUrl: string;
  }
}

/** Creates an empty database that no other test knows; its url. */
export function freshDatabase(): Promise<string> {
  return createDatabase(inject('clusterUrl'));
}

/**
 * A client for a test's own SQL, of one connection that is opened by the first statement. End it with `sql.end()`.
 *
 * @example
 * const sql = databaseAt(await freshDatabase());
 * const [row] = await sql`select count(*)::int as count from sagacity.operation`;
 * await sql.end();
 */
export function databaseAt(url: string): postgres.Sql {
  return postgres(url, { max: 1, onnotice: () => {} });
}
