/**
 * Many turns of sagas at once on a real server: they share statements, and whatever becomes of one of them, each other
 * one is written once, with its operations. The rules themselves are those of `group-commit.rules.test.ts`.
 */

import type postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { isSagacityError } from 'sagacity';
import { postgresStore } from 'sagacity/postgres';
import type { SagaTurn } from 'sagacity/testing';
import { sqlstateOf } from '../../src/adapters/postgres/faults.ts';
import { keysOfSagaTurn } from '../../src/adapters/postgres/saga-turn.ts';
import { sagaBirth, sagaMoving, step, stepped } from '../../src/testing/store-turns.ts';
import { databaseAt, freshDatabase } from '../support/postgres.ts';
import { holderAt, waits } from './sessions.ts';
import { fresh } from './turns.ts';

let url: string;
let store: ReturnType<typeof postgresStore>;
let onlooker: postgres.Sql;

beforeAll(async () => {
  url = await freshDatabase();
  store = postgresStore({ url, migrate: true });
  await store.open();
  onlooker = databaseAt(url);
});

afterAll(async () => {
  await store.close();
  await onlooker.end();
});

function births(count: number, tenant = fresh('shop')): readonly SagaTurn[] {
  return Array.from({ length: count }, () => sagaBirth(tenant, { operations: [step(), step()] }));
}

/** The move that ends both operations and begins a third. */
function moveOf(turn: SagaTurn, revision = 1): SagaTurn {
  const ended = turn.operations.map((operation) => stepped(operation, { state: 'succeeded' }));
  return sagaMoving(turn, { owner: null, generation: 1, revision }, { operations: [...ended, step()] });
}

interface Stored {
  readonly turns: readonly string[] | null;
  readonly transactions: number;
  readonly operations: number;
  readonly records: number;
}

/** What the tables hold of a tenant, and how many transactions wrote its sagas. */
async function stored(tenant: string) {
  const [counted] = await onlooker<Stored[]>`
    select
      array_agg(s.turn order by s.turn) as turns,
      count(distinct s.xmin::text)::int as transactions,
      (select count(*)::int from sagacity.operation o where o.tenant = ${tenant}) as operations,
      (select count(*)::int from sagacity.attempt a where a.tenant = ${tenant}) as records
    from sagacity.saga s
    where s.tenant = ${tenant}`;
  if (counted === undefined) throw new Error('Nothing was counted.');
  return { ...counted };
}

const idsOf = (turns: readonly SagaTurn[]) => turns.map(({ turn }) => turn).toSorted();

describe('the turns of 256 sagas at once', () => {
  test('are born in few transactions, each with its operations', async () => {
    const turns = births(256);

    const receipts = await Promise.all(turns.map((turn) => store.sagaTurn(turn)));

    expect(receipts.filter((receipt) => receipt?.revision === 1)).toHaveLength(256);
    const { transactions, ...rest } = await stored(turns[0]?.tenant ?? '');
    expect(rest).toEqual({ turns: idsOf(turns), operations: 512, records: 768 });
    expect(transactions).toBeLessThan(32);
  });

  test('are moved in few transactions, each with its operations', async () => {
    const started = births(256);
    await Promise.all(started.map((turn) => store.sagaTurn(turn)));
    const turns = started.map((turn) => moveOf(turn));

    const receipts = await Promise.all(turns.map((turn) => store.sagaTurn(turn)));

    expect(receipts.map((receipt) => Object.keys(receipt?.operations ?? {}).toSorted())).toEqual(
      turns.map(({ operations }) => operations.map(({ id }) => id).toSorted()),
    );
    const { transactions, ...rest } = await stored(turns[0]?.tenant ?? '');
    expect(rest).toEqual({ turns: idsOf(turns), operations: 768, records: 768 + 1_024 });
    expect(transactions).toBeLessThan(32);
  });
});

describe('64 turns of sagas at once', () => {
  test('one of which the server refuses, are written but for that one', async () => {
    const good = births(63);
    const tenant = good[0]?.tenant ?? '';
    const refused = sagaBirth(tenant, { operations: [step({ snapshot: { secret: 'a\u0000b' } })] });
    const all = good.toSpliced(33, 0, refused);

    const settled = await Promise.allSettled(all.map((turn) => store.sagaTurn(turn)));

    const rejected = settled.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []));
    expect(settled.findIndex(({ status }) => status === 'rejected')).toBe(33);
    expect([rejected.length, sqlstateOf(rejected[0]), isSagacityError(rejected[0])]).toEqual([1, '22P05', false]);
    expect(await stored(tenant)).toMatchObject({ turns: idsOf(good), operations: 126 });
  });

  test('of which somebody holds five, wait alone while all others go on', async () => {
    const started = births(64);
    await Promise.all(started.map((turn) => store.sagaTurn(turn)));
    const tenant = started[0]?.tenant ?? '';
    const held = started.slice(0, 5);
    const holder = await holderAt(url);
    onTestFinished(() => holder.abandon());
    await holder.sql`
      select from sagacity.saga where tenant = ${tenant} and id in ${holder.sql(held.map(({ id }) => id))} for update`;

    const blocked = held.map((turn) => store.sagaTurn(moveOf(turn)));
    const free = await Promise.all(started.slice(5).map((turn) => store.sagaTurn(moveOf(turn))));
    await waits(onlooker, 'saga-turn', Promise.race(blocked));
    await holder.rollback();

    expect(free.map((receipt) => receipt?.revision)).toEqual(free.map(() => 2));
    expect((await Promise.all(blocked)).map((receipt) => receipt?.revision)).toEqual([2, 2, 2, 2, 2]);
  });

  test('that all bring the same operation give it to one of them', async () => {
    const [tenant, key] = [fresh('shop'), fresh('order')];
    const turns = Array.from({ length: 64 }, () => sagaBirth(tenant, { operations: [step({}, { key }), step()] }));

    const receipts = await Promise.all(turns.map((turn) => store.sagaTurn(turn)));

    expect(receipts.filter((receipt) => receipt?.met.length === 0)).toHaveLength(1);
    expect(await stored(tenant)).toMatchObject({ turns: idsOf(turns), operations: 65, records: 64 + 65 });
  });
});

describe('what no two turns of a statement may have in common', () => {
  const [, other] = births(2, 'shop-1');
  const brought = step({}, { key: 'order-17' });
  const operations = [brought, stepped({ id: 'op-1' })];
  const one = sagaBirth('shop-1', { operations }, { key: 'order-17', locks: ['cart-1', 'till-1'] });
  const meet = (turn: SagaTurn) => keysOfSagaTurn(turn).some((key) => keysOfSagaTurn(one).includes(key));

  test.each([
    ['the saga', sagaMoving(one, { owner: null, generation: 1, revision: 1 })],
    ['its identity', sagaBirth('shop-1', {}, { key: 'order-17' })],
    ['the id of an operation that is brought', sagaBirth('shop-1', { operations: [step({ id: brought.id })] })],
    ['its identity', sagaBirth('shop-1', { operations: [step({}, { key: 'order-17' })] })],
    ['one of its locks', sagaBirth('shop-1', {}, { locks: ['till-1', 'till-2'] })],
  ])('is %s', (_, turn) => {
    expect(meet(turn)).toBe(true);
  });

  test.each([
    ['another saga with other operations', other ?? one],
    ['the same names of another tenant', { ...one, tenant: 'shop-2' }],
    [
      'a saga whose key is that of an operation',
      sagaBirth('shop-1', {}, { name: 'payment.authorise', key: 'order-17' }),
    ],
    ['a saga with other locks', sagaBirth('shop-1', {}, { locks: ['cart-2'] })],
  ])('is not %s', (_, turn) => {
    expect(meet(turn)).toBe(false);
  });
});
