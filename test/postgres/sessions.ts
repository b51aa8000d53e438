/**
 * Two sessions of one server meeting at one row: one holds it in an open transaction, the other one's statement waits,
 * and a third looks on. Everything is awaited by what the server says of its sessions and locks.
 */

import type postgres from 'postgres';
import { systemClock } from '../../src/adapters/local/clock.ts';
import { answered, Connection } from '../../src/adapters/postgres/connection.ts';
import { type Database, rendered, type StatementName } from '../../src/adapters/postgres/executor.ts';
import { tablesIn } from '../../src/adapters/postgres/schema.ts';
import { applySagaTurns } from '../../src/adapters/postgres/saga-turn.ts';
import { applyTurns } from '../../src/adapters/postgres/turn.ts';
import type { Conditions } from '../../src/adapters/postgres/turn-parts.ts';
import type { OperationRef, Receipt, SagaReceipt, SagaTurn, Turn } from 'sagacity/testing';
import { databaseAt } from '../support/postgres.ts';
import { until } from '../support/world.ts';

const tables = tablesIn('sagacity');

/** Longer than any test waits. */
const PATIENCE_MS = 20_000;

/** A session of the store's own kind, without the store around it: what it is given waits as long as it takes. */
export interface Session {
  readonly database: Database;
  /** Every text, its white space made single spaces, is given to `edit` before it is sent. */
  edited(edit: (text: string) => string): Database;
  close(): void;
}

export function sessionAt(url: string): Session {
  const clock = systemClock();
  const route = { url, pooler: false, statementTimeoutMs: PATIENCE_MS, connectTimeoutMs: PATIENCE_MS };
  const connection = new Connection(route, clock);
  const edited = (edit: (text: string) => string): Database => ({
    tables,
    execute(statement) {
      const { text, values } = rendered(statement);
      return answered('write', connection.run(edit(text.replace(/\s+/g, ' ')), values, PATIENCE_MS));
    },
  });
  return { database: edited((text) => text), edited, close: () => connection.close() };
}

/** Replaces what must be there exactly once. */
export function replacing(part: string, by: string): (text: string) => string {
  return (text) => {
    const pieces = text.split(part);
    if (pieces.length !== 2) throw new Error(`A statement has ${pieces.length - 1} times:\n${part}\nin:\n${text}`);
    return pieces.join(by);
  };
}

/** One turn, alone in its statement. */
export async function applyOne(database: Database, turn: Turn, conditions?: Conditions): Promise<Receipt | null> {
  return (await applyTurns(database, [turn], conditions)).get(turn.turn) ?? null;
}

/** One turn of a saga, alone in its statement. */
export async function applySaga(
  database: Database,
  turn: SagaTurn,
  conditions?: Conditions,
): Promise<SagaReceipt | null> {
  return (await applySagaTurns(database, [turn], conditions)).get(turn.turn) ?? null;
}

/** An open transaction of somebody else. What it locks stays locked until it is ended. */
export interface Holder {
  readonly sql: postgres.ReservedSql;
  /** Statements of the store, in this transaction. */
  readonly database: Database;
  commit(): Promise<void>;
  rollback(): Promise<void>;
  /** Ends its connection, whatever became of it. */
  abandon(): Promise<void>;
}

/** Begins a transaction on a connection of its own. */
export async function holderAt(url: string): Promise<Holder> {
  const client = databaseAt(url);
  const sql = await client.reserve();
  await sql`begin`;
  return {
    sql,
    database: {
      tables,
      async execute(statement) {
        const { text, values } = rendered(statement);
        // Ours are texts and numbers.
        return await sql.unsafe(text, values as (string | number)[]);
      },
    },
    async commit() {
      await sql`commit`;
    },
    async rollback() {
      await sql`rollback`;
    },
    abandon: () => client.end({ timeout: 0 }),
  };
}

/** Resolves when `statement`, which has this name, waits for a lock in the database of `onlooker`; it must not end. */
export async function waits(onlooker: postgres.Sql, name: StatementName, statement: Promise<unknown>): Promise<void> {
  let ended = false;
  const atEnd = () => {
    ended = true;
  };
  statement.then(atEnd, atEnd);
  await until(async () => {
    if (ended) throw new Error(`The statement "${name}" did not wait: ${JSON.stringify(await statement)}`);
    return (await waiting(onlooker, name)) > 0 ? true : null;
  }, `a statement "${name}" to wait for a lock`);
}

/** How many statements of this name wait for a lock now. */
export async function waiting(onlooker: postgres.Sql, name: StatementName): Promise<number> {
  const found = await onlooker`
    select from pg_stat_activity a
    where
      a.datname = current_database()
      and a.wait_event_type = 'Lock'
      and starts_with(a.query, ${`/* sagacity ${name} */`})`;
  return found.length;
}

/** Everything the tables hold of one operation, with the place and the writer of its row; locks leave no trace in it. */
export async function footprint(sql: postgres.ISql, { tenant, id }: OperationRef): Promise<readonly string[]> {
  const rows = await sql<{ line: string }[]>`
    select concat_ws(' ', o.ctid, o.xmin, o) as line from sagacity.operation o where o.tenant = ${tenant} and o.id = ${id}
    union all
    select concat_ws(' ', a.ctid, a.xmin, a) from sagacity.attempt a where a.tenant = ${tenant} and a.subject = ${id}
    union all
    select concat_ws(' ', h.ctid, h.xmin, h) from sagacity.handover h where h.tenant = ${tenant} and h.aggregate = ${id}`;
  return rows.map(({ line }) => line).toSorted();
}

/** The same of a saga, with all its operations. */
export async function footprintOfSaga(sql: postgres.ISql, { tenant, id }: OperationRef): Promise<readonly string[]> {
  const operations = await sql<{ id: string }[]>`
    select o.id from sagacity.operation o where o.tenant = ${tenant} and o.saga = ${id}`;
  const rows = await sql<{ line: string }[]>`
    select concat_ws(' ', s.ctid, s.xmin, s) as line from sagacity.saga s where s.tenant = ${tenant} and s.id = ${id}`;
  const own = await footprint(sql, { tenant, id });
  const theirs = await Promise.all(operations.map((operation) => footprint(sql, { tenant, id: operation.id })));
  return [...rows.map(({ line }) => line), ...own, ...theirs.flat()].toSorted();
}
