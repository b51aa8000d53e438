/**
 * Many turns at once on a real server: whatever the server does to the statements they share (refuses one of them, keeps
 * one waiting, breaks a deadlock), each turn is written once or not at all, and the others do not notice.
 */

import { inspect } from 'node:util';
import type postgres from 'postgres';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createOrchestrator, isSagacityError } from 'sagacity';
import { postgresStore } from 'sagacity/postgres';
import { type Receipt, scriptedProvider, type Turn } from 'sagacity/testing';
import { sqlstateOf } from '../../src/adapters/postgres/faults.ts';
import { applyTurns } from '../../src/adapters/postgres/turn.ts';
import { databaseAt, freshDatabase } from '../support/postgres.ts';
import { chargeCard } from '../support/shop.ts';
import { until } from '../support/world.ts';
import { applyOne, type Holder, holderAt, sessionAt, waiting, waits } from './sessions.ts';
import { birth, fresh, move } from './turns.ts';

type Store = ReturnType<typeof postgresStore>;

const PATIENT = { lockTimeoutMs: 10_000 };

let url: string;
let store: Store;
let onlooker: postgres.Sql;
let ends: (() => Promise<void>)[] = [];

beforeAll(async () => {
  url = await freshDatabase();
  store = postgresStore({ url, migrate: true });
  await store.open();
  onlooker = databaseAt(url);
});

afterEach(async () => {
  await Promise.all(ends.map((end) => end()));
  ends = [];
});

afterAll(async () => {
  await store.close();
  await onlooker.end();
});

/** An open transaction of somebody else, ended with the test at the latest. */
async function holding(): Promise<Holder> {
  const holder = await holderAt(url);
  ends.push(() => holder.abandon());
  return holder;
}

/** A database of the test's own, whose sessions begin with `settings`; the stores on it are closed with the test. */
async function databaseWith(settings: Readonly<Record<string, string>>) {
  const own = await freshDatabase();
  const sql = databaseAt(own);
  for (const [name, value] of Object.entries(settings)) {
    await sql`alter database ${sql(new URL(own).pathname.slice(1))} set ${sql(name)} = ${sql.unsafe(`'${value}'`)}`;
  }
  const stores = [postgresStore({ url: own, migrate: true }), postgresStore({ url: own, migrate: true })] as const;
  for (const each of stores) await each.open();
  ends.push(async () => {
    await Promise.all(stores.map((each) => each.close()));
    await sql.end();
  });
  return { url: own, sql, stores };
}

function births(count: number, tenant = fresh('shop')): readonly Turn[] {
  return Array.from({ length: count }, () => birth(tenant));
}

/** Which of the turns the tables hold, with how many records, and how many transactions wrote them. */
async function stored(sql: postgres.Sql, tenant: string) {
  const operations = await sql<{ turn: string; by: string; records: number }[]>`
    select
      o.turn,
      o.xmin::text as by,
      (select count(*)::int from sagacity.attempt a where a.tenant = o.tenant and a.subject = o.id) as records
    from sagacity.operation o
    where o.tenant = ${tenant}`;
  return {
    turns: operations.map(({ turn }) => turn).toSorted(),
    records: operations.reduce((sum, { records }) => sum + records, 0),
    transactions: new Set(operations.map(({ by }) => by)).size,
  };
}

const idsOf = (turns: readonly Turn[]) => turns.map(({ turn }) => turn).toSorted();

describe('256 turns at once', () => {
  test('are born in few transactions', async () => {
    const turns = births(256);

    const receipts = await Promise.all(turns.map((turn) => store.turn(turn)));

    expect(receipts.filter((receipt) => receipt?.revision === 1)).toHaveLength(256);
    const { turns: ids, records, transactions } = await stored(onlooker, turns[0]?.tenant ?? '');
    expect(ids).toEqual(idsOf(turns));
    expect(records).toBe(256);
    expect(transactions).toBeLessThan(32);
  });

  test('are moved in few transactions', async () => {
    const born = births(256);
    await Promise.all(born.map((turn) => store.turn(turn)));
    const turns = born.map((turn) => move(turn, { owner: null, generation: 1, revision: 1 }));

    const receipts = await Promise.all(turns.map((turn) => store.turn(turn)));

    expect(receipts.filter((receipt) => receipt?.revision === 2)).toHaveLength(256);
    const { turns: ids, records, transactions } = await stored(onlooker, born[0]?.tenant ?? '');
    expect(ids).toEqual(idsOf(turns));
    expect(records).toBe(512);
    expect(transactions).toBeLessThan(32);
  });
});

describe('128 turns at once, one of which the server refuses', () => {
  const SECRET = 'card 4111 of nobody';
  const bad: readonly (readonly [string, string, Partial<Turn>])[] = [
    ['a text that it cannot keep', '22P05', { snapshot: { [SECRET]: 'a\u0000b' } }],
    ['no generation', '23502', { generation: Number.NaN, snapshot: { [SECRET]: true } }],
    ['a number beyond its counters', '22003', { generation: 1e20, snapshot: { [SECRET]: true } }],
    [
      'a record that breaks a constraint',
      '23502',
      {
        records: [
          { kind: 'end', attempt: 1, body: { [SECRET]: true } },
          { ...record, kind: JSON.parse('null') },
        ],
      },
    ],
  ];
  test.each(bad)(
    'for %s, are written but for that one, which is rejected by SQLSTATE alone',
    async (_, code, change) => {
      const good = births(127);
      const tenant = good[0]?.tenant ?? '';
      const refused = birth(tenant, change);
      const all = good.toSpliced(77, 0, refused);

      const settled = await Promise.allSettled(all.map((turn) => store.turn(turn)));

      const rejected = settled.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []));
      expect(settled.findIndex(({ status }) => status === 'rejected')).toBe(77);
      expect(rejected).toHaveLength(1);
      expect(rejected[0]).toBeInstanceOf(Error);
      expect(isSagacityError(rejected[0])).toBe(false);
      expect(sqlstateOf(rejected[0])).toBe(code);
      expect(inspect(rejected[0], { depth: Infinity, showHidden: true })).not.toMatch(/4111|insert|jsonb/);
      expect(await stored(onlooker, tenant)).toMatchObject({ turns: idsOf(good), records: 127 });
    },
  );
});

const record = { kind: 'end', attempt: 1, body: {} } as const;

describe('128 births at once, one of whose identities is in an open transaction of the host', () => {
  test.each(['commit', 'rollback'] as const)('wait for nothing but that one, until the %s', async (end) => {
    const others = births(127);
    const tenant = others[0]?.tenant ?? '';
    const late = birth(tenant);
    const host = await holding();
    const inside = await store.within?.(host.sql);
    const first = birth(tenant, { key: late.birth?.key ?? '' });
    expect(await inside?.turn(first)).toMatchObject({ revision: 1 });
    let lateReceipt: Receipt | null | undefined;

    const all = others.toSpliced(50, 0, late).map(async (turn) => {
      const receipt = await store.turn(turn);
      if (turn === late) lateReceipt = receipt;
      return receipt;
    });
    const receipts = await Promise.all(all.toSpliced(50, 1));
    await waits(onlooker, 'turn', all[50] ?? Promise.reject(new Error('There is no such turn.')));
    const whileOpen = { lateReceipt, ...(await stored(onlooker, tenant)) };
    await host[end]();
    await Promise.all(all);

    expect(receipts.map((receipt) => receipt?.revision)).toEqual(others.map(() => 1));
    expect(whileOpen).toMatchObject({ lateReceipt: undefined, turns: idsOf(others), records: 127 });
    if (end === 'commit') expect(lateReceipt).toBe(null);
    else expect(lateReceipt).toMatchObject({ revision: 1 });
    const winner = end === 'commit' ? first : late;
    expect(await stored(onlooker, tenant)).toMatchObject({ turns: idsOf([...others, winner]), records: 128 });
  });
});

describe('turns of operations that somebody holds', () => {
  test('wait alone while all others go on, and are all written afterwards', async () => {
    const born = births(40);
    await Promise.all(born.map((turn) => store.turn(turn)));
    const tenant = born[0]?.tenant ?? '';
    const held = born.slice(0, 5);
    const holder = await holding();
    await holder.sql`
      select from sagacity.operation where tenant = ${tenant} and id in ${holder.sql(held.map(({ id }) => id))} for update`;
    const next = (turn: Turn, revision: number) => move(turn, { owner: null, generation: 1, revision });

    const blocked = held.map((turn) => store.turn(next(turn, 1)));
    const first = await Promise.all(born.slice(5).map((turn) => store.turn(next(turn, 1))));
    const second = await Promise.all(born.slice(5).map((turn) => store.turn(next(turn, 2))));
    await waits(onlooker, 'turn', Promise.race(blocked));
    await holder.rollback();

    expect(first.map((receipt) => receipt?.revision)).toEqual(first.map(() => 2));
    expect(second.map((receipt) => receipt?.revision)).toEqual(second.map(() => 3));
    expect((await Promise.all(blocked)).map((receipt) => receipt?.revision)).toEqual([2, 2, 2, 2, 2]);
    expect((await stored(onlooker, tenant)).records).toBe(5 * 2 + 35 * 3);
  });
});

describe('a statement that PostgreSQL ends to break a deadlock', () => {
  test('has written nothing, and can be repeated', async () => {
    const own = await databaseWith({ deadlock_timeout: '100ms' });
    const [left, right] = [sessionAt(own.url), sessionAt(own.url)];
    const leave = async () => {
      left.close();
      right.close();
    };
    ends.push(leave);
    const tenant = fresh('shop');
    const turn = (id: string, key: string) => birth(tenant, { id, key });
    // Births are met in the order of their identities: each takes an id, waits for the host, and wants the other's id.
    const leftTurns = [turn('x', 'left 1'), turn('left', 'left 2'), turn('y', 'left 3')];
    const rightTurns = [turn('y', 'right 1'), turn('right', 'right 2'), turn('x', 'right 3')];
    const host = await holderAt(own.url);
    ends.push(() => host.abandon());
    await applyTurns(host.database, [turn('host-1', 'left 2'), turn('host-2', 'right 2')]);

    const both = [applyTurns(left.database, leftTurns, PATIENT), applyTurns(right.database, rightTurns, PATIENT)];
    await until(async () => ((await waiting(own.sql, 'turn')) === 2 ? true : null), 'both statements to wait');
    await host.rollback();
    const settled = await Promise.allSettled(both);

    const winner = settled[0]?.status === 'fulfilled' ? leftTurns : rightTurns;
    const loser = winner === leftTurns ? rightTurns : leftTurns;
    const [victim] = settled.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []));
    expect(settled.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    expect(isSagacityError(victim, 'STORE_UNAVAILABLE')).toBe(true);
    expect(sqlstateOf(victim)).toBe('40P01');
    expect(await stored(own.sql, tenant)).toMatchObject({ turns: idsOf(winner), records: 3 });
    const repeated = await Promise.all(loser.map((each) => applyOne(left.database, each, PATIENT)));
    expect(repeated.map((receipt) => receipt?.revision)).toEqual([undefined, 1, undefined]);
    // A session tells what it counted when it ends.
    await leave();
    expect(await until(async () => (await deadlocks(own.sql)) || null, 'the deadlock to be counted')).toBe(1);
  });

  test('costs no turn when two stores run into each other again and again', async () => {
    const own = await databaseWith({ deadlock_timeout: '5ms' });
    const [one, other] = own.stores;
    const deadlocked = async () => {
      const tenant = fresh('shop');
      const ids = Array.from({ length: 60 }, (_, n) => `op-${String(n).padStart(2, '0')}`);
      // Births are met in the order of their identities: the two stores meet the same ids from opposite ends.
      const there = ids.map((id) => birth(tenant, { id, key: `a-${id}` }));
      const back = ids.map((id, n) => birth(tenant, { id, key: `b-${ids[ids.length - 1 - n]}` }));

      const receipts = await Promise.all([
        ...there.map(async (turn) => [turn, await one.turn(turn)] as const),
        ...back.map(async (turn) => [turn, await other.turn(turn)] as const),
      ]);

      const written = receipts.filter(([, receipt]) => receipt !== null).map(([turn]) => turn);
      expect(written.map(({ id }) => id).toSorted()).toEqual(ids);
      expect(await stored(own.sql, tenant)).toMatchObject({ turns: idsOf(written), records: 60 });
      return (await deadlocks(own.sql)) || null;
    };

    expect(await until(deadlocked, 'two stores to run into a deadlock')).toBeGreaterThanOrEqual(1);
  });
});

async function deadlocks(sql: postgres.Sql): Promise<number> {
  const [counted] = await sql<{ deadlocks: number }[]>`
    select deadlocks::int from pg_stat_database where datname = current_database()`;
  return counted?.deadlocks ?? 0;
}

describe.each(['40P01', '40001'])('a server that ends statements with %s', (code) => {
  test('five times gets every turn in the end, once', async () => {
    const { sql, stores, executions } = await refusing(`when n <= 5 then '${code}'`);
    const turns = births(128);

    const receipts = await Promise.all(turns.map((turn) => stores[0].turn(turn)));

    expect(receipts.map((receipt) => receipt?.revision)).toEqual(turns.map(() => 1));
    expect(await executions()).toBe(6);
    expect(await stored(sql, turns[0]?.tenant ?? '')).toEqual({ turns: idsOf(turns), records: 128, transactions: 1 });
  });

  test('without end is given up after six, with nothing written', async () => {
    const { sql, stores, executions } = await refusing(`when true then '${code}'`);
    const turns = births(20);

    const settled = await Promise.allSettled(turns.map((turn) => stores[0].turn(turn)));

    const codes = settled.map(
      (each) => each.status === 'rejected' && isSagacityError(each.reason, 'STORE_UNAVAILABLE'),
    );
    expect(codes).toEqual(turns.map(() => true));
    expect(await executions()).toBe(6);
    expect(await stored(sql, turns[0]?.tenant ?? '')).toEqual({ turns: [], records: 0, transactions: 0 });
  });
});

describe('a server that ends each write with 40001, then with 40P01, and says so in German', () => {
  const TWICE = "when n % 3 = 1 then '40001' when n % 3 = 2 then '40P01'";

  test('gets all turns of a statement with its third execution, once', async () => {
    const { sql, stores, executions } = await refusing(TWICE);
    const turns = births(128);

    const receipts = await Promise.all(turns.map((turn) => stores[0].turn(turn)));

    expect(receipts.map((receipt) => receipt?.revision)).toEqual(turns.map(() => 1));
    expect(await executions()).toBe(3);
    expect(await stored(sql, turns[0]?.tenant ?? '')).toEqual({ turns: idsOf(turns), records: 128, transactions: 1 });
  });

  test('has no order charged again, and no write executed more than three times', async () => {
    const { url: database, executions } = await refusing(TWICE);
    const provider = await scriptedProvider();
    const sent: string[] = [];
    const charge = chargeCard(provider.url, { onSend: (key) => void sent.push(key) });
    const store = postgresStore({ url: database });
    const orchestrator = createOrchestrator({ store, definitions: [charge], tenant: 'shop-1' });
    onTestFinished(async () => {
      await orchestrator.stop({ within: '2s' });
      await provider.close();
    });
    await orchestrator.start();
    const orders = Array.from({ length: 10 }, (_, n) => `order-${n}`);

    const statuses: string[] = [];
    // One after the other: the server counts executions, not writes.
    for (const orderId of orders) {
      const run = await orchestrator.submit(charge, { orderId, amount: 5 });
      statuses.push((await run.result({ within: '10s' })).status);
    }

    expect(statuses).toEqual(orders.map(() => 'succeeded'));
    expect(new Set(sent).size).toBe(orders.length);
    expect(sent).toHaveLength(orders.length);
    expect((await provider.records()).map(({ orderId }) => orderId)).toEqual(orders);
    expect(await executions()).toBe(3 * 2 * orders.length);
  });
});

/**
 * A database that ends the n-th execution of a statement of turns with the SQLSTATE that `cases` of n give, if any. The
 * trigger's count is a sequence: what is rolled back leaves it as it is.
 */
async function refusing(cases: string) {
  const own = await databaseWith({});
  await own.sql.unsafe(`
    create sequence public.refusal;
    create function public.refuse() returns trigger language plpgsql as $$
    declare
      n bigint := nextval('public.refusal');
      code text := case ${cases} end;
    begin
      if code is not null then
        raise exception using errcode = code, message = 'vom Test beendet, wegen gleichzeitiger Aktualisierung';
      end if;
      return null;
    end $$;
    create trigger refuse after insert on sagacity.attempt for each statement execute function public.refuse();`);
  const executions = async () => {
    const [counted] = await own.sql<{ last: number }[]>`select last_value::int as last from public.refusal`;
    return counted?.last;
  };
  return { ...own, executions };
}
