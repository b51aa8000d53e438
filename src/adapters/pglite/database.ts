/**
 * Loads the optional peer and starts PGlite. Creating an empty database takes seconds; so the first one in memory is
 * dumped once it is prepared, and later ones of this process start from the dump.
 */

import type { PGlite } from '@electric-sql/pglite';
import { storeUnavailable } from '../../domain/errors.ts';

/** The parts of the peer that the store uses, loaded when it opens and not before. */
export interface PgliteModules {
  readonly PGlite: typeof PGlite;
}

/** Rejects with STORE_UNAVAILABLE and the line to type when the peer is not installed. */
export async function loadPglite(): Promise<PgliteModules> {
  try {
    const { PGlite } = await import('@electric-sql/pglite');
    return { PGlite };
  } catch (error) {
    if (!isMissing(error)) throw error;
    throw storeUnavailable(
      'The embedded store needs the package @electric-sql/pglite, which is not installed.',
      'Run: npm install @electric-sql/pglite',
    );
  }
}

/** Opens the database of a directory. */
export async function openDirectory({ PGlite }: PgliteModules, directory: string): Promise<PGlite> {
  return await PGlite.create({ dataDir: directory });
}

/** Starts a database in memory that `prepare` has been run on, by this call or by an earlier one of this process. */
export async function openInMemory(
  { PGlite }: PgliteModules,
  prepare: (database: PGlite) => Promise<void>,
): Promise<PGlite> {
  const dump = await prepared?.catch(() => null);
  if (dump !== null && dump !== undefined) return await PGlite.create({ loadDataDir: dump });
  const database = await PGlite.create();
  prepared = prepare(database).then(() => database.dumpDataDir('none'));
  try {
    await prepared;
  } catch (error) {
    await database.close();
    throw error;
  }
  return database;
}

let prepared: Promise<Blob> | undefined;

function isMissing(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error) || error.code !== 'ERR_MODULE_NOT_FOUND') return false;
  return error.message.includes('@electric-sql/pglite');
}
