/**
 * The verbs of the store inside a transaction of the caller's: what they write commits with it or not at all. The
 * caller's handle is not trusted to be one. The `postgres` driver is known to go on with a handle whose connection has
 * died, on another one and outside of any transaction, and a pool looks like a client; so the transaction's id is read
 * first, and what is written afterwards is written only under the same id.
 */

import { sql } from 'drizzle-orm';
import { inputInvalid, transactionBroken } from '../../domain/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { StoreInTransaction, Transaction } from '../../ports/store.ts';
import { inTime } from './deadline.ts';
import { answerOf, type Database, type Executor, rendered, type Rows, type Statement } from './executor.ts';
import { databaseFault } from './faults.ts';
import { readOperationByIdentity } from './readings.ts';
import type { Tables } from './schema.ts';
import { applyTurns } from './turn.ts';

/** What `within` needs beside the caller's handle. */
export interface WithinOptions {
  readonly tables: Tables;
  readonly clock: Clock;
  readonly deadlineMs: number;
}

/**
 * Joins the caller's transaction: a Drizzle transaction, a node-postgres client, a transaction of `postgres`, or a
 * function `(text, values) => rows`. Rejects with INPUT_INVALID for anything else.
 */
export async function within(transaction: Transaction, options: WithinOptions): Promise<StoreInTransaction> {
  const { tables, clock, deadlineMs } = options;
  const run = runnerOf(transaction);
  const database: Database = { tables, execute: guarded(run, clock, deadlineMs) };
  const id = await transactionId(database);
  const same = sql`pg_current_xact_id()::text = ${id}::text`;
  const assertSame = async (): Promise<void> => {
    if ((await transactionId(database)) !== id) throw notOneTransaction();
  };
  return {
    async turn(turn) {
      const applied = await applyTurns(database, [turn], { provided: same });
      const receipt = applied.get(turn.turn);
      if (receipt !== undefined) return receipt;
      await assertSame();
      return null;
    },
    readByIdentity: (identity) => readOperationByIdentity(database, identity),
  };
}

/** Assigned by being asked for, so that two statements of one transaction give the same and any others never do. */
async function transactionId(database: Database): Promise<string | null> {
  return await answerOf<string>(
    database,
    'transaction',
    sql`select to_json(pg_current_xact_id()::text)::text as answer`,
  );
}

type Run = (statement: Statement) => Promise<unknown>;

/** Drivers give an array of rows, or an object that holds one. */
function guarded(run: Run, clock: Clock, deadlineMs: number): Executor {
  return async (statement) => {
    // Whatever a handle throws, also at once, becomes an error without its parameters.
    const running = (async () => run(statement))().catch((error: unknown) => {
      throw refusal(error);
    });
    const result = await inTime(clock, deadlineMs, running, () =>
      transactionBroken('The transaction did not answer in time.', again),
    );
    const rows = Array.isArray(result) ? result : result instanceof Object && 'rows' in result ? result.rows : null;
    if (!Array.isArray(rows)) {
      throw inputInvalid('The function given as tx returned no rows. Return the rows, or an object with rows.');
    }
    // Every statement of ours answers with rows of one text column; `answers` looks at each.
    return rows as unknown as Rows;
  };
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
    'tx is no transaction. Give a Drizzle transaction, a node-postgres client, or a function (text, values) => rows.',
  );
}

function isCallable<Name extends string>(
  value: unknown,
  name: Name,
): value is Readonly<Record<Name, (...args: readonly unknown[]) => Promise<unknown>>> {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false;
  // Only asked whether it is there.
  return typeof (value as Readonly<Record<string, unknown>>)[name] === 'function';
}

const again = 'Roll it back and run the whole transaction again; nothing of the submission was written outside of it.';

function refusal(error: unknown): Error {
  const fault = databaseFault(error);
  return fault === null
    ? transactionBroken('The connection of the transaction was lost.', again)
    : transactionBroken(`The database refused a statement in the transaction (SQLSTATE ${fault.code}).`, again, fault);
}

function notOneTransaction(): Error {
  return transactionBroken(
    'Two statements given to tx ran in different transactions: either tx is a pool or a database and no transaction, or ' +
      'the connection died and the driver went on without it (the postgres driver does).',
    'Nothing of the submission was written. Give the transaction itself; with the postgres driver roll back and repeat.',
  );
}
