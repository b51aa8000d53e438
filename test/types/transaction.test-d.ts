/** What the compiler takes for a transaction: the real types of the drivers, and nothing that only looks like one. */

import type { PGlite, Transaction as PgliteTransaction } from '@electric-sql/pglite';
import type { NodePgDatabase } from 'drizzle-orm/node-postgres';
import type { PgliteDatabase } from 'drizzle-orm/pglite';
import type { PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import type pg from 'pg';
import type postgres from 'postgres';
import type { Transaction } from 'sagacity';
import { describe, test } from 'vitest';

declare const pool: pg.Pool;
declare const client: pg.Client;
declare const pooled: pg.PoolClient;
declare const sql: postgres.Sql;
declare const reserved: postgres.ReservedSql;
declare const pglite: PGlite;
declare const pgliteTransaction: PgliteTransaction;
declare const onNodePostgres: NodePgDatabase;
declare const onPostgres: PostgresJsDatabase;
declare const onPglite: PgliteDatabase;
declare function submit(tx: Transaction): Promise<void>;

describe('a transaction of the caller', () => {
  test('may be any of these', async () => {
    await submit(client);
    await submit(pooled);
    await submit(reserved);
    await submit(pgliteTransaction);
    await sql.begin((tx) => submit(tx));
    await onNodePostgres.transaction((tx) => submit(tx));
    await onPostgres.transaction((tx) => submit(tx));
    await onPglite.transaction((tx) => submit(tx));
    await onNodePostgres.transaction((tx) => tx.transaction((nested) => submit(nested)));
    await submit(async (text, values) => (await client.query<pg.QueryResultRow>(text, values)).rows);
    await submit((text, values) => client.query<pg.QueryResultRow>(text, values));
  });

  test('is not what makes transactions', () => {
    // @ts-expect-error a pool runs each statement in a transaction of its own
    void submit(pool);
    // @ts-expect-error so does the client of postgres
    void submit(sql);
    // @ts-expect-error and a database of Drizzle, on any driver
    void submit(onNodePostgres);
    // @ts-expect-error and a database of Drizzle, on any driver
    void submit(onPostgres);
    // @ts-expect-error and a database of Drizzle, on any driver
    void submit(onPglite);
    // @ts-expect-error and PGlite itself
    void submit(pglite);
    // @ts-expect-error nothing of the kind
    void submit({ commit: true });
  });
});
