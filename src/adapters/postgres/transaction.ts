/**
 * The verbs of the store inside a transaction of the caller's: what they write commits with it or not at all. The
 * caller's handle is not trusted to be one. The `postgres` driver is known to go on with a handle whose connection has
 * died, on another one and outside of any transaction, and a pool looks like a client; so the transaction's id is read
 * first, what is written afterwards is written only under the same id, and the id is compared once more at the end.
 */

import { sql } from 'drizzle-orm';
import { inputInvalid, transactionBroken } from '../../domain/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { OperationRef, StoreInTransaction, Transaction } from '../../ports/store.ts';
import { announcement } from './announcements.ts';
import { ledgerName } from './check.ts';
import { inTime } from './deadline.ts';
import { answerOf, type Database, type Executor, rendered, type Rows, type Statement } from './executor.ts';
import { databaseFault } from './faults.ts';
import { readHeldLocks } from './locks.ts';
import { readOperationByIdentity, readSagaByIdentity } from './readings.ts';
import type { Tables } from './schema.ts';
import { applySagaTurns } from './saga-turn.ts';
import { keepSignal, readSignal } from './signals.ts';
import { applyTurns } from './turn.ts';
import type { Conditions } from './turn-parts.ts';

/** What `within` needs beside the caller's handle. */
export interface WithinOptions {
  readonly tables: Tables;
  /** The ledger of the store; null where a transaction can be of no other. */
  readonly ledger: string | null;
  readonly clock: Clock;
  readonly deadlineMs: number;
  /** Where what is written is announced with the commit; null: nowhere. */
  readonly channel: string | null;
}

/**
 * Joins the caller's transaction: a Drizzle transaction, a node-postgres client, a transaction of `postgres`, or a
 * function `(text, values) => rows`. Rejects with INPUT_INVALID for anything else.
 */
export async function within(transaction: Transaction, options: WithinOptions): Promise<StoreInTransaction> {
  const { tables, ledger, clock, deadlineMs, channel } = options;
  const database: Database = { tables, execute: guarded(runnerOf(transaction), clock, deadlineMs) };
  const { id, lockTimeout, ...session } = await sessionOf(database);
  if (ledger !== null && session.ledger !== ledger)
    throw transactionBroken('The transaction is on another database.', elsewhere);
  const same = sql`pg_current_xact_id()::text = ${id}::text`;
  /** Whether it is still the same transaction, which then announces with its commit what was `written` in it. */
  const assertSame = async (written: OperationRef | null = null): Promise<void> => {
    // With what the host had set, so that its own statements wait for locks as long as before.
    const before = sql`set_config('lock_timeout', ${lockTimeout}::text, true)`;
    const told = channel === null || written === null ? undefined : announcement(channel, written);
    const session = await sessionOf(database, before, told);
    if (session.id !== id) throw notOneTransaction();
  };
  // Waiting ends on the server too: the host cannot roll back while its connection waits for somebody else.
  const waiting = lockTimeout === '0' ? { lockTimeoutMs: Math.floor(deadlineMs * LOCK_SHARE) } : {};
  const conditions = { ...waiting, provided: same } satisfies Conditions;
  /** What this transaction itself wrote is seen by no other. */
  const seen = async <Row>(row: Row | null): Promise<Row | null> => {
    if (row === null) await assertSame();
    return row;
  };
  return {
    async turn(turn) {
      const receipt = (await applyTurns(database, [turn], conditions)).get(turn.turn) ?? null;
      await assertSame(receipt === null ? null : turn);
      return receipt;
    },
    async sagaTurn(turn) {
      const receipt = (await applySagaTurns(database, [turn], conditions)).get(turn.turn) ?? null;
      await assertSame(receipt === null ? null : turn);
      return receipt;
    },
    async signal(given) {
      const kept = (await keepSignal(database, given, conditions)) ?? (await readSignal(database, given));
      await assertSame(given);
      if (kept === null) throw notOneTransaction();
      return kept;
    },
    heldLocks: (tenant, resources) => readHeldLocks(database, tenant, resources),
    readByIdentity: async (identity) => seen(await readOperationByIdentity(database, identity)),
    readSagaByIdentity: async (identity) => seen(await readSagaByIdentity(database, identity)),
  };
}

/** A wait for a lock has ended on the server before its deadline is over here. */
const LOCK_SHARE = 0.8;

/** What a session says of itself. */
interface Session {
  /** Assigned by being asked for, so that two statements of one transaction give the same and any others never do. */
  readonly id: string;
  readonly lockTimeout: string;
  readonly ledger: string | null;
}

async function sessionOf(
  database: Database,
  lockTimeout = sql`current_setting('lock_timeout')`,
  told = sql`null`,
): Promise<Session> {
  const query = sql`
    select json_build_object(
      'id', pg_current_xact_id()::text,
      'told', ${told}::text,
      'lockTimeout', ${lockTimeout},
      'ledger', ${ledgerName(database.tables)}
    )::text as answer`;
  const session = await answerOf<Session>(database, 'transaction', query);
  if (session === null) throw noRows();
  return session;
}

type Run = (statement: Statement) => Promise<unknown>;

/** All statements of one submission share its deadline. */
function guarded(run: Run, clock: Clock, deadlineMs: number): Executor {
  const deadline = clock.monotonic() + deadlineMs;
  return async (statement) => {
    // Whatever a handle throws, also at once, becomes an error without its parameters.
    const running = (async () => run(statement))().catch((error: unknown) => {
      throw refusal(error);
    });
    const leftMs = Math.max(0, deadline - clock.monotonic());
    const result = await inTime(clock, leftMs, running, () =>
      transactionBroken('The transaction did not answer in time.', again),
    );
    // Drivers give an array of rows, or an object that holds one.
    const rows = !Array.isArray(result) && isObject(result) && 'rows' in result ? result.rows : result;
    if (!areRows(rows)) throw noRows();
    return rows;
  };
}

/** Every statement of ours answers with one text column. */
function areRows(rows: unknown): rows is Rows {
  return (
    Array.isArray(rows) &&
    rows.every((row: unknown) => isObject(row) && 'answer' in row && typeof row.answer === 'string')
  );
}

function runnerOf(transaction: unknown): Run {
  if (isCallable(transaction, 'execute')) {
    // Drizzle's own form of a query.
    return ({ query }) => transaction.execute(query);
  }
  if (isCallable(transaction, 'unsafe')) {
    return (statement) => {
      const { text, values } = rendered(statement);
      return transaction.unsafe(text, values);
    };
  }
  if (isCallable(transaction, 'query')) {
    return (statement) => {
      const { text, values } = rendered(statement);
      return transaction.query(text, values);
    };
  }
  if (typeof transaction === 'function') {
    return async (statement) => {
      const { text, values } = rendered(statement);
      // Called with what its documentation says; what it returns is looked at before use.
      return (transaction as (text: string, values: readonly unknown[]) => unknown)(text, values);
    };
  }
  throw inputInvalid(
    'tx is no transaction. Give a transaction of Drizzle, postgres or PGlite, a client of node-postgres, or a function ' +
      '(text, values) => rows.',
  );
}

function isCallable<Name extends string>(
  value: unknown,
  name: Name,
): value is Readonly<Record<Name, (...args: readonly unknown[]) => Promise<unknown>>> {
  if (!isObject(value) && typeof value !== 'function') return false;
  // Only asked whether it is there.
  return typeof (value as Readonly<Record<string, unknown>>)[name] === 'function';
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

const again = 'Roll it back and run the whole transaction again; nothing of the submission was written outside of it.';

function refusal(error: unknown): Error {
  const fault = databaseFault(error);
  if (fault === null) {
    return transactionBroken(
      'A statement in the transaction got no answer: its connection was lost, or the function given as tx threw.',
      again,
    );
  }
  return transactionBroken(
    `The database refused a statement in the transaction (SQLSTATE ${fault.code}).`,
    remedies.find(({ states }) => states.includes(fault.code))?.remedy ?? again,
    fault,
  );
}

const elsewhere =
  'tx must be a transaction on the database of the store, and its user needs the rights on the schema of Sagacity.';

/** Where running the transaction again would end the same way. */
const remedies = [
  // No such table or schema, or no right to use it.
  { states: ['42P01', '3F000', '42501'], remedy: elsewhere },
  { states: ['25006'], remedy: 'It is read-only: begin one that may write.' },
  { states: ['25P02'], remedy: 'An earlier statement of it had failed, and the error of that one says why.' },
];

function notOneTransaction(): Error {
  return transactionBroken(
    'Two statements given to tx ran in different transactions: either tx is a pool, a database or a client outside of a ' +
      'transaction, or the connection died and the driver went on without it (the postgres driver does).',
    'Give the transaction itself; with the postgres driver roll back and run it again, which does nothing twice.',
  );
}

function noRows(): Error {
  return inputInvalid(
    'What was given as tx did not return the rows of a statement. Return them as objects with their columns by name, ' +
      'in an array or in an object with rows.',
  );
}
