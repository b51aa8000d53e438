/**
 * The store on a PostgreSQL server of the team's own, shared by as many processes as there are. What resolved is as
 * durable as the server keeps what it acknowledged; what the server did not answer is in doubt and settled by repeating
 * it. It makes its own connections and leaves the host's alone; every call settles by its deadline.
 */

import { definitionInvalid, storeUnavailable } from '../../domain/errors.ts';
import type { Store } from '../../ports/store.ts';
import { systemClock } from '../local/clock.ts';
import { systemRandom } from '../local/random.ts';
import { channelOf, hearAnnouncements } from './announcements.ts';
import { checkSchema, checkServer, readLedgerName } from './check.ts';
import type { Route } from './client.ts';
import { answered, assertUrl, Connection } from './connection.ts';
import { examination } from './examination.ts';
import { type Database, type Executor, rendered } from './executor.ts';
import type { Effect } from './faults.ts';
import { groupCommit } from './group-commit.ts';
import { applyMigrations } from './migrate.ts';
import { Pool } from './pool.ts';
import { causeOf } from './refusals.ts';
import { tooFewToStart } from './room.ts';
import { assertSchemaName, DEFAULT_SCHEMA, tablesIn } from './schema.ts';
import { within } from './transaction.ts';
import { applySagaTurns, keysOfSagaTurn } from './saga-turn.ts';
import { applyTurns, keysOfTurn } from './turn.ts';
import { verbs } from './verbs.ts';

export interface PostgresStoreOptions {
  /** `postgres://user:password@host:port/database`; behind a question mark `sslmode` and settings. Never logged. */
  readonly url: string;
  /** Where the tables are. By default `sagacity`. */
  readonly schema?: string;
  /** Connections in all, at least 2: one carries the heartbeat and nothing else. By default 6. */
  readonly connections?: number;
  /** How long one call may take; of a turn, half of it may be waiting for others. By default 10 seconds. */
  readonly deadlineMs?: number;
  /** True when a pooler in transaction mode is in between: no statement is prepared, nothing depends on the session. */
  readonly pooler?: boolean;
  /** True: `open` applies missing migrations. By default it only checks, and says which command applies them. */
  readonly migrate?: boolean;
  /**
   * True: what is submitted or said within transactions of yours is announced with their commit (NOTIFY), and heard here
   * with one more connection (LISTEN), so that it begins at once instead of with the next sweep. Not behind a pooler in
   * transaction mode. Commits that announce wait for each other: leave it out where many are made in a second.
   */
  readonly announce?: boolean;
}

/**
 * Creates the store; `open` connects, and checks the server, the schema and the rights. It rejects with STORE_UNUSABLE
 * or SCHEMA_OUTDATED when somebody has to change something first, and with STORE_UNAVAILABLE when the server cannot be
 * reached.
 *
 * @example
 * const store = postgresStore({ url: 'postgres://shop@db.internal/shop' });
 */
export function postgresStore(options: PostgresStoreOptions): Store {
  const {
    url,
    schema = DEFAULT_SCHEMA,
    connections = 6,
    deadlineMs = 10_000,
    pooler = false,
    announce = false,
  } = options;
  assertSchemaName(schema);
  assertUrl(url);
  assertWholeNumber('connections', connections, 1, 1_000);
  assertWholeNumber('deadlineMs', deadlineMs, 100, 3_600_000);
  if (announce && pooler) {
    throw definitionInvalid(
      'Behind a pooler in transaction mode no session hears what is announced.',
      'Leave announce out: the sweep finds what was committed.',
      { option: 'announce' },
    );
  }
  const channel = announce ? channelOf(schema) : null;
  const clock = systemClock();
  const random = systemRandom();
  const tables = tablesIn(schema);
  const statementTimeoutMs = Math.floor(deadlineMs * STATEMENT_SHARE);
  const route: Route = { url, pooler, statementTimeoutMs, connectTimeoutMs: Math.min(deadlineMs, CONNECT_TIMEOUT_MS) };
  let opened: Opened | null = null;
  let ledger: string | null = null;

  const executor =
    (effect: Effect, lane: 'work' | 'renewals', withinMs = deadlineMs): Executor =>
    async (statement) => {
      if (opened === null) throw notOpen();
      const { text, values } = rendered(statement);
      return await answered(
        effect,
        opened[lane].use(withinMs, (connection, leftMs) => connection.run(text, values, leftMs)),
      );
    };
  const write = executor('write', 'work');
  const read = executor('read', 'work');
  const turning: Database = { execute: executor('write', 'work', deadlineMs * TURN_SHARE), tables };

  const shared = {
    clock,
    chance: () => random.number(),
    patienceMs: deadlineMs * (1 - TURN_SHARE),
    slowMax: Math.min(2, Math.max(1, connections - 3)),
  };

  return {
    name: 'postgres',
    exclusive: false,
    async open() {
      if (opened !== null) return;
      const tooFew = tooFewToStart(connections);
      if (tooFew !== null) throw tooFew;
      const connection = () => new Connection(route, clock);
      opened = {
        work: new Pool(Array.from({ length: connections - 1 }, connection), clock),
        renewals: new Pool([connection()], clock),
      };
      try {
        await prepare();
      } catch (error) {
        close();
        throw causeOf(error, schema);
      }
    },
    async close() {
      close();
    },
    ledger() {
      if (ledger === null) throw notOpen();
      return `${ledger} ${schema}`;
    },
    ...verbs({ read, write, renew: executor('write', 'renewals', statementTimeoutMs) }, tables),
    turn: groupCommit({
      apply: (turns, lockTimeoutMs) => applyTurns(turning, turns, { lockTimeoutMs }),
      keysOf: keysOfTurn,
      ...shared,
    }),
    sagaTurn: groupCommit({
      apply: (turns, lockTimeoutMs) => applySagaTurns(turning, turns, { lockTimeoutMs }),
      keysOf: keysOfSagaTurn,
      ...shared,
      // Beside the slow turns of operations, so that connections are left.
      slowMax: 1,
    }),
    within: (transaction) => within(transaction, { tables, ledger, clock, deadlineMs, channel }),
    ...(channel === null ? {} : { onCommitted: (heard) => hearAnnouncements(route, channel, clock, heard) }),
    async examine(asking) {
      const connection = new Connection(route, clock);
      const execute: Executor = (statement) => {
        const { text, values } = rendered(statement);
        return answered('read', connection.run(text, values, deadlineMs));
      };
      const connected = () => 1 + (opened === null ? 0 : opened.work.connected + opened.renewals.connected);
      const store = { schema, pooler, statementTimeoutMs, connections, connected, migrates: options.migrate === true };
      try {
        return await examination({ execute, tables }, store, asking);
      } finally {
        connection.close();
      }
    },
  };

  async function prepare(): Promise<void> {
    // On the connection of the renewals, so that it is there before the work takes what connections a server has left.
    await checkServer({ execute: executor('read', 'renewals'), tables }, { schema, pooler, statementTimeoutMs });
    if (options.migrate === true) {
      const connection = new Connection({ ...route, statementTimeoutMs: MIGRATION_DEADLINE_MS }, clock);
      const batch = (text: string) => answered('write', connection.batch(text, MIGRATION_DEADLINE_MS));
      try {
        await applyMigrations({ read, batch }, schema);
      } finally {
        connection.close();
      }
    }
    await checkSchema({ execute: read, tables }, schema);
    ledger = await readLedgerName({ execute: read, tables });
  }

  function close(): void {
    opened?.work.close();
    opened?.renewals.close();
    opened = null;
  }
}

/** The connections of an open store. */
interface Opened {
  readonly work: Pool;
  readonly renewals: Pool;
}

/** A turn may wait for others for as long as its statement may take then. */
const TURN_SHARE = 0.5;

/**
 * A statement has ended on the server before its deadline is over here. A renewal waits no longer than this, so that a
 * connection that was lost without a word costs one renewal, and another one still comes in time.
 */
const STATEMENT_SHARE = 0.4;

const CONNECT_TIMEOUT_MS = 5_000;

const MIGRATION_DEADLINE_MS = 60_000;

function assertWholeNumber(option: string, given: number, least: number, most: number): void {
  if (Number.isSafeInteger(given) && given >= least && given <= most) return;
  throw definitionInvalid(`${option} is no whole number from ${least} to ${most}.`, 'Leave it out, or correct it.', {
    option,
  });
}

function notOpen(): Error {
  return storeUnavailable(
    'The PostgreSQL store is not open.',
    'Call open() first; after close() nothing is carried out.',
  );
}
