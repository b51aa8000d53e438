/**
 * The store inside the process: PostgreSQL compiled to WebAssembly, in a directory or in memory, running the same
 * statements as a server. What resolved is on disk and survives the death of the process; a directory belongs to one
 * store at a time. PGlite ignores `statement_timeout` and works on one statement after another, so each call has a
 * deadline of its own, after which a write may still be carried out and is in doubt.
 */

import type { PGlite } from '@electric-sql/pglite';
import type { SQL } from 'drizzle-orm';
import { isSagacityError, storeUnavailable } from '../../domain/errors.ts';
import type { Store } from '../../ports/store.ts';
import type { Executor } from '../postgres/executor.ts';
import { type Effect, storeFault, unanswered } from '../postgres/faults.ts';
import { migrate } from '../postgres/migrate.ts';
import { verbs } from '../postgres/verbs.ts';
import { systemClock } from '../local/clock.ts';
import { loadPglite, openDirectory, openInMemory, type PgliteModules } from './database.ts';
import { type DirectoryLock, lockDirectory } from './lock.ts';

export interface PgliteStoreOptions {
  /** Where the data lives; created when missing. Without it, and without an instance, everything is in memory. */
  readonly directory?: string;
  /**
   * A PGlite of yours to use instead. It stays open when the store closes, and locking its directory is up to you.
   * Never await a submission inside a transaction of it: the submission waits for the transaction, which waits for it.
   */
  readonly instance?: PGlite;
  /** How long one call may take. By default 10 seconds. */
  readonly deadlineMs?: number;
}

/**
 * Creates the embedded store; `open` loads `@electric-sql/pglite`, locks the directory and migrates.
 *
 * @example
 * const store = pgliteStore('./data/sagacity');
 */
export function pgliteStore(where: string | PgliteStoreOptions = {}): Store {
  const options = typeof where === 'string' ? { directory: where } : where;
  const { deadlineMs = 10_000 } = options;
  let opening: Promise<Opened> | null = null;

  const executor =
    (effect: Effect): Executor =>
    async (query) => {
      if (opening === null) throw notOpen();
      const { run } = await opening;
      return await run(query, effect, deadlineMs);
    };

  return {
    name: 'pglite',
    exclusive: true,
    async open() {
      opening ??= start(options);
      const attempt = opening;
      try {
        await attempt;
      } catch (error) {
        if (opening === attempt) opening = null;
        throw error;
      }
    },
    async close() {
      const closing = opening;
      opening = null;
      // What never opened has nothing to close, and whoever opened it was told.
      const opened = await closing?.catch(() => null);
      await opened?.end();
    },
    ...verbs({ read: executor('read'), write: executor('write') }),
  };
}

/** An open database. */
interface Opened {
  readonly run: (query: SQL, effect: Effect, deadlineMs: number) => ReturnType<Executor>;
  readonly end: () => Promise<void>;
}

async function start({ directory, instance }: PgliteStoreOptions): Promise<Opened> {
  const modules = await loadPglite();
  if (instance !== undefined) {
    const opened = connect(modules, instance);
    await prepare(modules, instance);
    return opened;
  }
  if (directory === undefined) {
    const database = await openInMemory(modules, (empty) => prepare(modules, empty));
    return connect(modules, database, () => database.close());
  }
  try {
    return await startLocked(modules, await lockDirectory(directory));
  } catch (error) {
    throw isSagacityError(error) ? error : couldNotOpen(directory, error);
  }
}

/** The lock is held before anything is opened or migrated, and given back whatever fails. */
async function startLocked(modules: PgliteModules, lock: DirectoryLock): Promise<Opened> {
  let database: PGlite | undefined;
  try {
    database = await openDirectory(modules, lock.directory);
    await prepare(modules, database);
  } catch (error) {
    await database?.close();
    await lock.release();
    throw error;
  }
  const opened = database;
  return connect(modules, opened, async () => {
    try {
      await opened.close();
    } finally {
      await lock.release();
    }
  });
}

function connect({ drizzle }: PgliteModules, client: PGlite, end: () => Promise<void> = async () => {}): Opened {
  const database = drizzle({ client });
  return {
    async run(query, effect, deadlineMs) {
      if (client.closed) throw notOpen();
      const result = await withDeadline(database.execute(query), effect, deadlineMs);
      return result.rows;
    },
    end,
  };
}

/** Migrating may take longer than a call: it has no deadline. */
async function prepare({ drizzle }: PgliteModules, client: PGlite): Promise<void> {
  const database = drizzle({ client });
  await migrate({
    read: async (query) => (await database.execute(query).catch(raise('read'))).rows,
    batch: async (text) => {
      await client.exec(text).catch(raise('write'));
    },
  });
}

function raise(effect: Effect): (error: unknown) => never {
  return (error) => {
    throw storeFault(error, effect);
  };
}

/** Deadlines are durations of this process, whatever the store's own time is. */
const clock = systemClock();

/** What is late goes on inside PGlite; its end no longer interests anybody. */
async function withDeadline<Result>(work: Promise<Result>, effect: Effect, deadlineMs: number): Promise<Result> {
  let cancelTimer = () => {};
  const late = new Promise<never>((_, reject) => {
    cancelTimer = clock.after(deadlineMs, () => reject(unanswered(effect)));
  });
  try {
    return await Promise.race([work.catch(raise(effect)), late]);
  } finally {
    cancelTimer();
  }
}

function notOpen(): Error {
  return storeUnavailable('The PGlite store is not open.', 'Call open() first; after close() nothing is carried out.');
}

function couldNotOpen(directory: string, error: unknown): Error {
  const why = error instanceof Error ? error.message : String(error);
  return storeUnavailable(
    `PGlite could not open the directory ${directory}: ${why}`,
    'Check that it is a data directory of this PGlite version and that the process may write there.',
  );
}
