/**
 * Where the demo keeps what must survive a kill. The orchestrator and the worker that is killed choose alike: a url is
 * a database on a PostgreSQL server, anything else a directory of PGlite.
 */

import type { Store } from 'sagacity';
import { pgliteStore } from 'sagacity/pglite';
import { postgresStore } from 'sagacity/postgres';

export function storeIn(database: string): Store {
  return database.startsWith('postgres:') ? postgresStore({ url: database, migrate: true }) : pgliteStore(database);
}
