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
import type { NewSignal, OperationRef, Store, Transaction } from '../../src/ports/store.ts';
import { sagaBirth, sagaMoving, step, stepped } from '../../src/testing/store-turns.ts';
import { databaseAt, freshDatabase } from '../support/postgres.ts';
import { holderAt } from './sessions.ts';
import { fresh } from './turns.ts';

function saying({ tenant, id }: OperationRef): NewSignal {
  const eventId = fresh('event');
  return {
    ...{ tenant, id, name: 'order.paid', eventId, fingerprint: 'fp-1', keepForMs: 60_000 },
    ...{ handoverId: `signal ${eventId}`, body: { said: eventId } },
  };
}

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

describe.each(hosts)('a signal inside a transaction of the caller on %s', (_, store, begun) => {
  test('is kept and handed over with its commit, once, and told inside before', async () => {
    const saga = sagaBirth(fresh('shop'));
    await store().sagaTurn(saga);
    const host = await begun();
    const inside = await store().within?.(host.transaction);
    const sent = saying(saga);

    const told = await inside?.signal(sent);
    const again = await inside?.signal({ ...sent, fingerprint: 'fp-2' });
    await host.commit();

    expect([told, again]).toMatchObject([
      { state: 'new', fingerprint: 'fp-1' },
      { state: 'new', fingerprint: 'fp-1' },
    ]);
    expect(await store().readSignal(sent)).toMatchObject({ state: 'new', at: told?.at, expiresAt: told?.expiresAt });
    expect((await store().readSaga(saga))?.handovers).toMatchObject([{ handoverId: sent.handoverId }]);
  });

  test('never was when it is rolled back, and can be sent again', async () => {
    const saga = sagaBirth(fresh('shop'));
    await store().sagaTurn(saga);
    const host = await begun();
    const inside = await store().within?.(host.transaction);
    const sent = saying(saga);

    await inside?.signal(sent);
    await host.rollback();

    expect(await store().readSignal(sent)).toBe(null);
    expect((await store().readSaga(saga))?.handovers).toEqual([]);
    expect(await store().signal(sent)).toMatchObject({ state: 'new' });
  });
});

describe.each(hosts)('a saga with locks inside a transaction of the caller on %s', (_, store, begun) => {
  test('holds them with its commit, and is told as their holder inside before', async () => {
    const tenant = fresh('shop');
    const host = await begun();
    const inside = await store().within?.(host.transaction);
    const [saga, other] = [sagaBirth(tenant, {}, { locks: ['a'] }), sagaBirth(tenant, {}, { locks: ['a', 'b'] })];

    const receipts = [await inside?.sagaTurn(saga), await inside?.sagaTurn(other)];
    const held = await inside?.heldLocks(tenant, ['a', 'b']);
    await host.commit();

    expect(receipts).toMatchObject([{ revision: 1 }, null]);
    expect(held).toEqual([{ resource: 'a', saga: saga.id }]);
    expect(await store().heldLocks(tenant, ['a', 'b'])).toEqual(held);
  });

  test('holds nothing when it is rolled back', async () => {
    const tenant = fresh('shop');
    const host = await begun();
    const inside = await store().within?.(host.transaction);

    await inside?.sagaTurn(sagaBirth(tenant, {}, { locks: ['a'] }));
    await host.rollback();

    expect(await store().heldLocks(tenant, ['a'])).toEqual([]);
    expect(await store().sagaTurn(sagaBirth(tenant, {}, { locks: ['a'] }))).toMatchObject({ revision: 1 });
  });
});

describe('a handle on which each statement is a transaction of its own', () => {
  test('keeps no signal and hands nothing over', async () => {
    const there = sagaBirth(fresh('shop'));
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
    const sent = saying(there);

    const said = await inside?.signal(sent).catch((error: unknown) => error);

    expect(isSagacityError(said, 'TRANSACTION_BROKEN')).toBe(true);
    expect(await onServer.readSignal(sent)).toBe(null);
    expect((await onServer.readSaga(there))?.handovers).toEqual([]);
  });

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
