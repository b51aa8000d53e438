/**
 * G12 for sagas. What is born inside a transaction of the caller's is there when that commits, with its operations, and
 * never was when it is rolled back; a handle that is not one transaction writes nothing. On a server, and in an instance
 * of PGlite that is the host's.
 */

import { PGlite } from '@electric-sql/pglite';
import type postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { isSagacityError } from 'sagacity';
import { postgresStore } from 'sagacity/postgres';
import { pgliteStore } from '../../src/adapters/pglite/store.ts';
import type { Store, Transaction } from '../../src/ports/store.ts';
import { sagaBirth, sagaMoving, step, stepped } from '../../src/testing/store-turns.ts';
import { databaseAt, freshDatabase } from '../support/postgres.ts';
import { holderAt } from './sessions.ts';
import { fresh } from './turns.ts';

interface Host {
  readonly transaction: Transaction;
  commit(): Promise<void>;
  rollback(): Promise<void>;
}

let url: string;
let onServer: Store;
let sql: postgres.Sql;
let instance: PGlite;
let embedded: Store;

beforeAll(async () => {
  url = await freshDatabase();
  onServer = postgresStore({ url, migrate: true });
  instance = await PGlite.create();
  embedded = pgliteStore({ instance });
  await Promise.all([onServer.open(), embedded.open()]);
  sql = databaseAt(url);
});

afterAll(async () => {
  await Promise.all([onServer.close(), embedded.close()]);
  await Promise.all([sql.end(), instance.close()]);
});

const hosts: readonly (readonly [string, () => Store, () => Promise<Host>])[] = [
  [
    'PostgreSQL',
    () => onServer,
    async () => {
      const holder = await holderAt(url);
      onTestFinished(() => holder.abandon());
      return { transaction: holder.sql, commit: () => holder.commit(), rollback: () => holder.rollback() };
    },
  ],
  [
    'PGlite',
    () => embedded,
    async () => {
      await instance.exec('begin');
      const run = async (text: string, values: unknown[]) => (await instance.query<object>(text, values)).rows;
      const end = (how: string) => async () => {
        await instance.exec(how);
      };
      return { transaction: run, commit: end('commit'), rollback: end('rollback') };
    },
  ],
];

describe.each(hosts)('the birth of a saga inside a transaction of the caller on %s', (_, store, begun) => {
  test('commits with it, and is seen inside before', async () => {
    const [tenant, key] = [fresh('shop'), fresh('order')];
    const host = await begun();
    const inside = await store().within?.(host.transaction);
    const turn = sagaBirth(tenant, { operations: [step()], dues: [{ name: 'within', inMs: 60_000 }] }, { key });

    const receipt = await inside?.sagaTurn(turn);
    const seen = await inside?.readSagaByIdentity({ tenant, name: 'order', key });
    const again = await inside?.sagaTurn(turn);
    await host.commit();

    expect(receipt).toMatchObject({ revision: 1, met: [], operations: { [turn.operations[0]?.id ?? '']: {} } });
    expect(seen).toMatchObject({ id: turn.id, operations: [{ saga: turn.id }] });
    expect(again).toBe(null);
    expect(await store().readSaga(turn)).toMatchObject({ turn: turn.turn, operations: [{ saga: turn.id }] });
    expect(await store().sagaRecords(turn)).toHaveLength(2);
  });

  test('never was when it is rolled back', async () => {
    const tenant = fresh('shop');
    const host = await begun();
    const inside = await store().within?.(host.transaction);
    const turn = sagaBirth(tenant, { operations: [step()] });

    const receipt = await inside?.sagaTurn(turn);
    await host.rollback();

    expect(receipt).toMatchObject({ revision: 1 });
    expect(await store().readSaga(turn)).toBe(null);
    expect(await store().read({ tenant, id: turn.operations[0]?.id ?? '' })).toBe(null);
    expect(await store().sagaRecords(turn)).toEqual([]);
  });

  test('finds what was there before', async () => {
    const [tenant, key] = [fresh('shop'), fresh('order')];
    const there = sagaBirth(tenant, {}, { key });
    await store().sagaTurn(there);
    const host = await begun();
    const inside = await store().within?.(host.transaction);

    const refused = await inside?.sagaTurn(sagaBirth(tenant, { operations: [step()] }, { key }));
    const found = await inside?.readSagaByIdentity({ tenant, name: 'order', key });
    const none = await inside?.readSagaByIdentity({ tenant, name: 'order', key: fresh('order') });
    await host.commit();

    expect([refused, found?.id, none]).toEqual([null, there.id, null]);
  });
});

describe('a handle on which each statement is a transaction of its own', () => {
  test('writes nothing of a saga', async () => {
    const operation = step();
    const there = sagaBirth(fresh('shop'), { operations: [operation] });
    await onServer.sagaTurn(there);
    const holder = await holderAt(url);
    onTestFinished(() => holder.abandon());
    let statements = 0;
    const inside = await onServer.within?.(async (text, values) => {
      statements += 1;
      // The host's driver loses the transaction after its first statement.
      if (statements === 2) await holder.sql`commit`;
      return await holder.sql.unsafe(text, values as string[]);
    });
    const was = { owner: null, generation: 1, revision: 1 };

    const said = await inside
      ?.sagaTurn(sagaMoving(there, was, { operations: [stepped(operation), step()] }))
      .catch((error: unknown) => error);

    expect(isSagacityError(said, 'TRANSACTION_BROKEN')).toBe(true);
    expect(await onServer.readSaga(there)).toMatchObject({ revision: 1, operations: [{ revision: 1 }] });
  });
});
