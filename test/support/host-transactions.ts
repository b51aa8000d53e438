/**
 * The host's side of a submission that is made in a transaction: a shop with a table of its own orders, once for every
 * kind of `tx` there is. Each begins, commits and rolls back the way its driver's documentation says, and nothing more;
 * what a driver does with a connection that dies is its own affair, and what the tests are about.
 */

import type { PGlite, Transaction as PgliteTransaction } from '@electric-sql/pglite';
import { type SQL, sql } from 'drizzle-orm';
import { drizzle as drizzleOnNodePostgres } from 'drizzle-orm/node-postgres';
import { drizzle as drizzleOnPglite } from 'drizzle-orm/pglite';
import { drizzle as drizzleOnPostgres } from 'drizzle-orm/postgres-js';
import pg from 'pg';
import postgres from 'postgres';
import type { Transaction } from 'sagacity';
import { gate } from './scripted-charge.ts';

type Rows = readonly Readonly<Record<string, unknown>>[];

/** What the host has in hand while its transaction is open. */
export interface Inside {
  /** What it gives to `submit`. */
  readonly tx: Transaction;
  /** The same, doing `first` before each statement it is given. */
  readonly before: (first: () => Promise<void>) => Transaction;
  /** Runs a statement of the host's own. */
  readonly query: (text: string) => Promise<Rows>;
}

export type Isolation = 'read committed' | 'repeatable read' | 'serializable';

export interface Host {
  /** Runs `work` in a transaction, commits when it resolves and rolls back when it rejects. */
  transact<Result>(work: (inside: Inside) => Promise<Result>, isolation?: Isolation): Promise<Result>;
  /** A statement of another caller in the same process, outside of any transaction. */
  query(text: string): Promise<Rows>;
  /** Resolves when the driver has noticed that a connection was lost. */
  readonly lost: Promise<void>;
  end(): Promise<void>;
}

/** The table in which every host keeps its own rows. */
export const ORDERS = 'create table shop_order (id text primary key)';

/** The kinds of `tx` on a server, each with its own pool of up to `connections`. */
export const serverHosts = {
  'a node-postgres client': (url: string, connections: number) =>
    nodePostgres(url, connections, (client) => ({
      tx: client,
      before: (first) => ({
        async query(text: string, values: unknown[]) {
          await first();
          return await client.query(text, values);
        },
      }),
    })),
  'a function over a node-postgres client': (url: string, connections: number) =>
    nodePostgres(url, connections, (client) => ({
      tx: async (text, values) => (await client.query<pg.QueryResultRow>(text, values)).rows,
      before: (first) => async (text, values) => {
        await first();
        return await client.query<pg.QueryResultRow>(text, values);
      },
    })),
  'a Drizzle transaction on node-postgres': drizzleNodePostgres,
  'a transaction of postgres': postgresItself,
  'a Drizzle transaction on postgres': drizzlePostgres,
} satisfies Readonly<Record<string, (url: string, connections: number) => Host>>;

export type ServerHost = keyof typeof serverHosts;

/** The kinds of `tx` in an embedded database, of which there is one connection. */
export const embeddedHosts = {
  'a transaction of PGlite': (instance: PGlite) =>
    embedded(instance, (work) => instance.transaction((tx) => work(pgliteInside(tx)))),
  'a Drizzle transaction on PGlite': (instance: PGlite) =>
    embedded(instance, (work) => drizzleOnPglite(instance).transaction((tx) => work(drizzleInside(tx)))),
} satisfies Readonly<Record<string, (instance: PGlite) => Host>>;

function nodePostgres(
  url: string,
  connections: number,
  handles: (client: pg.PoolClient) => Omit<Inside, 'query'>,
): Host {
  const { pool, lost } = poolAt(url, connections);
  return {
    async transact(work, isolation = 'read committed') {
      const client = await pool.connect();
      let usable = true;
      try {
        await client.query(`begin isolation level ${isolation}`);
        const result = await work({ ...handles(client), query: async (text) => (await client.query(text)).rows });
        await client.query('commit');
        return result;
      } catch (error) {
        await client.query('rollback').catch(() => {
          usable = false;
        });
        throw error;
      } finally {
        client.release(!usable);
      }
    },
    query: async (text) => (await pool.query(text)).rows,
    lost,
    end: () => pool.end(),
  };
}

function drizzleNodePostgres(url: string, connections: number): Host {
  const { pool, lost } = poolAt(url, connections);
  const database = drizzleOnNodePostgres(pool);
  return {
    transact: (work, isolationLevel = 'read committed') =>
      database.transaction((tx) => work(drizzleInside(tx)), { isolationLevel }),
    query: async (text) => (await pool.query(text)).rows,
    lost,
    end: () => pool.end(),
  };
}

/** With a listener on every client: without one, node-postgres ends the process when a connection breaks. */
function poolAt(url: string, connections: number): { readonly pool: pg.Pool; readonly lost: Promise<void> } {
  const { passed: lost, open: noticed } = gate();
  const pool = new pg.Pool({ connectionString: url, max: connections });
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}).on('end', noticed));
  return { pool, lost };
}

function postgresItself(url: string, connections: number): Host {
  const { client, lost } = clientAt(url, connections);
  return {
    transact: (work, isolation = 'read committed') =>
      outOf((resolve) =>
        client.begin(`isolation level ${isolation}`, async (tx) => {
          resolve(await work(postgresInside(tx)));
        }),
      ),
    query: async (text) => await client.unsafe(text),
    lost,
    end: () => client.end({ timeout: 0 }),
  };
}

function drizzlePostgres(url: string, connections: number): Host {
  const { client, lost } = clientAt(url, connections);
  const database = drizzleOnPostgres(client);
  return {
    transact: (work, isolationLevel = 'read committed') =>
      database.transaction((tx) => work(drizzleInside(tx)), { isolationLevel }),
    query: async (text) => await client.unsafe(text),
    lost,
    end: () => client.end({ timeout: 0 }),
  };
}

function clientAt(url: string, connections: number): { readonly client: postgres.Sql; readonly lost: Promise<void> } {
  const { passed: lost, open: noticed } = gate();
  const client = postgres(url, { max: connections, onnotice: () => {}, backoff: () => 0, onclose: noticed });
  return { client, lost };
}

function postgresInside(tx: postgres.TransactionSql): Inside {
  return {
    tx,
    before: (first) => ({
      savepoint: 'known to a transaction of this driver only',
      async unsafe(text: string, values: string[]) {
        await first();
        return await tx.unsafe(text, values);
      },
    }),
    query: async (text) => await tx.unsafe(text),
  };
}

function pgliteInside(tx: PgliteTransaction): Inside {
  return {
    tx,
    before: (first) => ({
      async query(text: string, values: unknown[]) {
        await first();
        return await tx.query(text, values);
      },
    }),
    query: async (text) => (await tx.query<Record<string, unknown>>(text)).rows,
  };
}

/** A transaction of Drizzle, whatever it runs on. */
interface DrizzleTransaction {
  execute(query: SQL): PromiseLike<Rows | { readonly rows: Rows }>;
  rollback(): never;
}

function drizzleInside(tx: DrizzleTransaction): Inside {
  return {
    tx,
    before: (first) => ({
      rollback: () => tx.rollback(),
      async execute(query: SQL) {
        await first();
        return await tx.execute(query);
      },
    }),
    async query(text) {
      const result = await tx.execute(sql.raw(text));
      return 'rows' in result ? result.rows : result;
    },
  };
}

function embedded(
  instance: PGlite,
  transact: <Result>(work: (inside: Inside) => Promise<Result>) => Promise<Result>,
): Host {
  return {
    transact,
    query: async (text) => (await instance.query<Record<string, unknown>>(text)).rows,
    // A connection inside the process is not lost.
    lost: new Promise(() => {}),
    end: async () => {},
  };
}

/** The driver's own types make of a result what a query would give; this keeps it as it was. */
async function outOf<Result>(transact: (resolve: (result: Result) => void) => Promise<unknown>): Promise<Result> {
  const results: Result[] = [];
  await transact((result) => results.push(result));
  const [result] = results;
  if (results.length === 0) throw new Error('The transaction ended without a result.');
  // One was pushed, and it may be undefined.
  return result as Result;
}
