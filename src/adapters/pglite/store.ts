/**
 * The store inside the process: PostgreSQL compiled to WebAssembly, in a directory or in memory, running the same
 * statements as a server. What resolved is on disk and survives the death of the process; a directory belongs to one
 * store at a time. PGlite ignores `statement_timeout` and works on one statement after another, so each call has a
 * deadline of its own, after which a write may still be carried out and is in doubt.
 */

import type { PGlite } from '@electric-sql/pglite';
import { isSagacityError, storeUnavailable } from '../../domain/errors.ts';
import type { Store, Transaction } from '../../ports/store.ts';
import { inTime } from '../postgres/deadline.ts';
import { type Executor, rendered, type Statement } from '../postgres/executor.ts';
import { type Effect, storeFault, unanswered } from '../postgres/faults.ts';
import { applyMigrations } from '../postgres/migrate.ts';
import { DEFAULT_SCHEMA, tables } from '../postgres/schema.ts';
import { within } from '../postgres/transaction.ts';
import { applySagaTurns } from '../postgres/saga-turn.ts';
import { applyTurns } from '../postgres/turn.ts';
import { verbs } from '../postgres/verbs.ts';
import { systemClock } from '../local/clock.ts';
import { loadPglite, openDirectory, openInMemory, type PgliteModules } from './database.ts';
import { type DirectoryLock, lockDirectory } from './lock.ts';

export interface PgliteStoreOptions {
  /** Where the data lives; created when missing. Without it, and without an instance, everything is in memory. */
  readonly directory?: string;
  /**
   * A PGlite of yours to use instead. It stays open when the store closes, and locking its directory is up to you.
   * Never await a submission inside a transaction of it without giving that as `tx`: each would wait for the other.
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
  const { deadlineMs = DEADLINE_MS } = options;
  let opening: Promise<Opened> | null = null;

  const executor =
    (effect: Effect): Executor =>
    async (statement) => {
      if (opening === null) throw notOpen();
      const { run } = await opening;
      return await run(statement, effect, deadlineMs);
    };

  const write = executor('write');

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
    ...verbs({ read: executor('read'), write, renew: write }, tables),
    async turn(turn) {
      // One session, in which nobody else holds a lock.
      const applied = await applyTurns({ execute: write, tables }, [turn]);
      return applied.get(turn.turn) ?? null;
    },
    async sagaTurn(turn) {
      const applied = await applySagaTurns({ execute: write, tables }, [turn]);
      return applied.get(turn.turn) ?? null;
    },
    // In an instance of the host's its transactions are at hand; one of ours opens none.
    ...(options.instance === undefined
      ? {}
      : {
          within: (transaction: Transaction) =>
            within(transaction, { tables, ledger: null, clock, deadlineMs, channel: null }),
        }),
  };
}

/** How long a call may take unless it is said. */
const DEADLINE_MS = 10_000;

/** An open database. */
interface Opened {
  readonly run: (statement: Statement, effect: Effect, deadlineMs: number) => ReturnType<Executor>;
  readonly end: () => Promise<void>;
}

async function start({ directory, instance, deadlineMs = DEADLINE_MS }: PgliteStoreOptions): Promise<Opened> {
  const modules = await loadPglite();
  if (instance !== undefined) {
    // In a transaction of the host's it would wait for that, and that for it.
    await inTime(clock, 6 * deadlineMs, prepare(instance), () =>
      storeUnavailable('The PGlite instance did not answer.', 'Call start() before a transaction of it is open.'),
    );
    return connect(instance);
  }
  if (directory === undefined) {
    const database = await openInMemory(modules, prepare);
    return connect(database, () => database.close());
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
    await prepare(database);
  } catch (error) {
    await database?.close();
    await lock.release();
    throw error;
  }
  const opened = database;
  return connect(opened, async () => {
    try {
      await opened.close();
    } finally {
      await lock.release();
    }
  });
}

function connect(client: PGlite, end: () => Promise<void> = async () => {}): Opened {
  return {
    async run(statement, effect, deadlineMs) {
      if (client.closed) throw notOpen();
      return await inTime(clock, deadlineMs, query(client, statement).catch(raise(effect)), () => unanswered(effect));
    },
    end,
  };
}

/** Migrating may take longer than a call: it has no deadline. */
async function prepare(client: PGlite): Promise<void> {
  const driver = {
    read: (statement: Statement) => query(client, statement).catch(raise('read')),
    batch: async (text: string) => {
      await client.exec(text).catch(raise('write'));
    },
  };
  await applyMigrations(driver, DEFAULT_SCHEMA);
}

async function query(client: PGlite, statement: Statement): Promise<Record<string, unknown>[]> {
  const { text, values } = rendered(statement);
  const { rows } = await client.query<Record<string, unknown>>(text, [...values]);
  return rows;
}

function raise(effect: Effect): (error: unknown) => never {
  return (error) => {
    throw storeFault(error, effect);
  };
}

/** Deadlines are durations of this process, whatever the store's own time is. */
const clock = systemClock();

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
