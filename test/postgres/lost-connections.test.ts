/**
 * Connections that are ended, reset, silenced or refused while the server lives on: every call ends by its deadline,
 * nothing escapes as an uncaught error (the test runner fails on one), and no connection is lost for good.
 */

import type { Store } from 'sagacity';
import { migrate, postgresStore } from 'sagacity/postgres';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/adapters/local/clock.ts';
import { Connection } from '../../src/adapters/postgres/connection.ts';
import { type FaultProxy, faultProxy } from '../../src/testing/fault-proxy/fault-proxy.ts';
import { postgresFaults } from '../../src/testing/fault-proxy/postgres-faults.ts';
import { databaseAt, freshDatabase } from '../support/postgres.ts';
import { until } from '../support/world.ts';
import { holderAt, waiting } from './sessions.ts';
import { type Ending, ended, endingOf, passed, type WorkingShop, workingShop } from './working-shop.ts';

const DEADLINE_MS = 1_500;
/** How late a busy machine may tell of a deadline. */
const LATE_MS = 1_000;
/** Without a renewal. */
const LONGER_THAN_A_WORKER_LIVES_MS = 5_500;

let url: string;
let onlooker: ReturnType<typeof databaseAt>;
let proxy: FaultProxy;
let store: Store;

beforeEach(async () => {
  url = await freshDatabase();
  onlooker = databaseAt(url);
  proxy = await faultProxy({ port: Number(new URL(url).port) });
});

afterEach(async () => {
  await store.close();
  await proxy.close();
  await onlooker.end();
});

describe('a server that ends every session ten times a second', () => {
  test('holds up no call for long, and every order is charged once', async () => {
    store = postgresStore({ url, migrate: true, deadlineMs: DEADLINE_MS });
    const shop = await shopAtWork();
    const over = performance.now() + 5_000;
    const isOver = () => performance.now() > over;
    const endings: Ending[] = [];
    let orders = 0;

    const states: string[] = [];
    const customer = async () => {
      while (!isOver()) {
        orders += 1;
        states.push(await ended(await shop.order(`order-${orders}`)));
      }
    };
    const reader = async () => {
      while (!isOver()) endings.push(await endingOf(shop.orchestrator.operator.doubts()));
    };
    const killer = async () => {
      for (; !isOver(); await passed(100)) await endSessions();
    };
    await Promise.all([...Array.from({ length: 8 }, customer), reader(), reader(), killer()]);

    expect(states.length).toBe(orders);
    expect(states.filter((state) => state !== 'succeeded')).toEqual([]);
    expect(await shop.provider.records()).toHaveLength(orders);
    expect(endings.filter(({ how }) => how === 'answered').length).toBeGreaterThan(0);
    expect(endings.filter(({ how }) => how !== 'answered' && how !== 'STORE_UNAVAILABLE')).toEqual([]);
    expect(Math.max(...endings.map(({ afterMs }) => afterMs))).toBeLessThan(DEADLINE_MS + LATE_MS);
  });
});

describe('a session that was ended with a statement in it', () => {
  test('says nothing to the statements after it', async () => {
    store = postgresStore({ url, migrate: true, connections: 2, deadlineMs: 5_000 });
    await store.open();
    await whileTaken(['worker-0'], async () => {
      const waits = endingOf(store.enlist('worker-0'));
      await enlisting(1);

      await endSessions();

      expect((await waits).how).toBe('STORE_IN_DOUBT');
      expect((await endingOf(store.enlist('worker-1'))).how).toBe('answered');
    });
  });
});

describe('a database that was read-only for a while', () => {
  test('is written to again when it is not any more, though sessions that began then stay as they are', async () => {
    const name = new URL(url).pathname.slice(1);
    store = postgresStore({ url, migrate: true, connections: 2 });
    await store.open();

    await onlooker.unsafe(`alter database ${name} set default_transaction_read_only = on`);
    await endSessions();
    const readOnly = await until(async () => {
      const { how } = await endingOf(store.enlist('worker-0'));
      return how === 'STORE_IN_DOUBT' ? null : how;
    }, 'a session that began read-only');
    await onlooker.unsafe(
      `set default_transaction_read_only = off; alter database ${name} reset default_transaction_read_only`,
    );
    const later = await endingOf(store.enlist('worker-0'));

    expect([readOnly, later.how]).toEqual(['STORE_UNAVAILABLE', 'answered']);
  });
});

describe('connections that are lost with their first statement, fifty times', () => {
  test('are all there afterwards, and work at the same time', async () => {
    const faults = postgresFaults(proxy);
    store = postgresStore({ url: proxy.urlFor(url), migrate: true, connections: 6, deadlineMs: 5_000 });
    await store.open();
    const workers = Array.from({ length: 5 }, (_, n) => `worker-${n}`);

    const losses: string[] = [];
    for (let n = 0; n < 10; n += 1) {
      for (const _ of workers) faults.add({ matching: /sagacity enlist/, lose: 'request' });
      losses.push(...(await Promise.all(workers.map((id) => endingOf(store.enlist(id))))).map(({ how }) => how));
    }

    expect(losses).toEqual(Array.from({ length: 50 }, () => 'STORE_IN_DOUBT'));
    faults.clear();
    const endings = await whileTaken(workers, async () => {
      const calls = workers.map((id) => endingOf(store.enlist(id)));
      await enlisting(workers.length);
      return calls;
    });
    expect((await Promise.all(endings)).map(({ how }) => how)).toEqual(workers.map(() => 'answered'));
  });
});

describe('a network that falls silent', () => {
  test('holds up no call beyond its deadline, and is not missed when another one is there', async () => {
    store = postgresStore({ url: proxy.urlFor(url), migrate: true, deadlineMs: DEADLINE_MS });
    const shop = await shopAtWork();
    const before = await shop.order('before');
    await ended(before);

    proxy.halfOpen();
    const ordering = shop.order('during');
    const silent = await Promise.all(Array.from({ length: 30 }, () => endingOf(callOf())));
    proxy.pass();
    const began = performance.now();
    const after = await Promise.all(Array.from({ length: 30 }, () => endingOf(callOf())));
    const state = await ended(await ordering);
    const resumedMs = performance.now() - began;

    expect([...new Set(silent.map(({ how }) => how))].toSorted()).toEqual(['STORE_IN_DOUBT', 'STORE_UNAVAILABLE']);
    expect(Math.max(...silent.map(({ afterMs }) => afterMs))).toBeLessThan(DEADLINE_MS + LATE_MS);
    expect([...new Set(after.map(({ how }) => how))]).toEqual(['answered']);
    expect(state).toBe('succeeded');
    expect(resumedMs).toBeLessThan(3_000);
    expect(await shop.provider.records()).toHaveLength(2);
  });

  test('costs a connection that is being made no more than one that is there', async () => {
    store = postgresStore({ url: proxy.urlFor(url), migrate: true, deadlineMs: DEADLINE_MS });
    await store.open();
    proxy.hang();
    await endSessions();

    const silent = await Promise.all(Array.from({ length: 10 }, () => endingOf(callOf())));
    proxy.pass();
    const after = await endingOf(callOf());

    expect([...new Set(silent.map(({ how }) => how))]).toEqual(['STORE_UNAVAILABLE']);
    expect(Math.max(...silent.map(({ afterMs }) => afterMs))).toBeLessThan(DEADLINE_MS + LATE_MS);
    expect(after.how).toBe('answered');
  });
});

describe('a network that forgot its connections, and tells nobody', () => {
  test('costs one call its deadline, and the worker nothing', async () => {
    store = postgresStore({ url: proxy.urlFor(url), migrate: true, deadlineMs: DEADLINE_MS });
    const shop = await shopAtWork();
    const living = () => onlooker`select id from sagacity.worker where dead_at is null`;
    const worker = await living();
    await Promise.all(Array.from({ length: 30 }, () => store.read({ tenant: 'shop-1', id: 'none' })));
    const connections = (await sessionIds()).length;

    // What the server says last is swallowed: these connections stay silent for ever, and new ones pass.
    proxy.halfOpen();
    await endSessions();
    await until(async () => ((await sessionIds()).length === 0 ? true : null), 'the sessions to be gone');
    proxy.pass();
    const endings: Ending[] = [];
    for (let n = 0; n < connections; n += 1) endings.push(await endingOf(store.read({ tenant: 'shop-1', id: 'none' })));
    const state = await ended(await shop.order('after'));
    await passed(LONGER_THAN_A_WORKER_LIVES_MS);

    expect(connections).toBeGreaterThan(3);
    expect(endings.filter(({ how }) => how !== 'answered').length).toBeLessThanOrEqual(1);
    expect(state).toBe('succeeded');
    expect(await living()).toEqual(worker);
  });
});

describe('a connection that is given up before it was made', () => {
  test('is not made behind the back of who gave it up', async () => {
    store = postgresStore({ url, migrate: true });
    const route = { url, pooler: false, statementTimeoutMs: 5_000, connectTimeoutMs: 5_000 };
    const connection = new Connection(route, systemClock());
    await connection.run('select 1', [], 5_000);
    await endSessions();
    await until(async () => ((await sessionIds()).length === 0 ? true : null), 'the session to be gone');

    const hurried = endingOf(connection.run('select 1', [], 20));
    await hurried;
    await passed(300);

    expect(await sessionIds()).toEqual([]);
    connection.close();
  });
});

describe('a statement that finds every connection busy', () => {
  test('says so in time, is not carried out, and costs no connection', async () => {
    store = postgresStore({ url, migrate: true, connections: 2, deadlineMs: 4_000 });
    await store.open();
    const before = await until(async () => {
      const ids = await sessionIds();
      return ids.length === 2 ? ids : null;
    }, 'the session that migrated to be gone');

    const [waiting, waitingToo] = await whileTaken(['worker-0'], async () => {
      const sent = [store.enlist('worker-0'), store.enlist('worker-0')].map(endingOf);
      await enlisting(1);
      const inLine = await endingOf(store.enlist('worker-1'));
      expect(inLine.how).toBe('STORE_UNAVAILABLE');
      expect(inLine.afterMs).toBeLessThan(4_000);
      return sent;
    });

    expect((await waiting)?.how).toBe('STORE_UNAVAILABLE');
    expect((await waitingToo)?.how).toBe('answered');
    expect((await endingOf(store.enlist('worker-2'))).how).toBe('answered');
    expect(await onlooker`select id from sagacity.worker order by id`).toEqual([
      { id: 'worker-0' },
      { id: 'worker-2' },
    ]);
    expect(await sessionIds()).toEqual(before);
  });
});

describe('a server with too few connections left', () => {
  test('is worked on with those that there are, and keeps hearing from the worker', async () => {
    const user = `clerk_${new URL(url).pathname.slice(1)}`;
    const ours = new URL(url);
    ours.username = user;
    await migrate({ url });
    await onlooker.unsafe(
      `create role ${user} login connection limit 2; grant usage on schema sagacity to ${user}; ` +
        `grant all on all tables in schema sagacity to ${user}`,
    );
    store = postgresStore({ url: ours.href, deadlineMs: DEADLINE_MS });
    const shop = await shopAtWork();
    const orders = Array.from({ length: 30 }, (_, n) => `order-${n}`);
    const beat = async () => (await onlooker`select max(beat_at)::text as last from sagacity.worker`)[0]?.['last'];
    const first = await beat();

    const calls = await Promise.all(
      Array.from({ length: 20 }, () => endingOf(store.read({ tenant: 'shop-1', id: 'none' }))),
    );
    const states = await Promise.all(orders.map(async (orderId) => ended(await shop.order(orderId))));

    expect(new Set(calls.map(({ how }) => how))).toEqual(new Set(['answered', 'STORE_UNAVAILABLE']));
    expect(states).toEqual(orders.map(() => 'succeeded'));
    expect(await shop.provider.records()).toHaveLength(orders.length);
    await until(async () => ((await beat()) === first ? null : true), 'the worker to renew its claim');
  });
});

async function shopAtWork(): Promise<WorkingShop> {
  // Longer than a busy machine keeps a process waiting.
  const shop = await workingShop(store, '5s');
  onTestFinished(() => shop.close());
  return shop;
}

/** A read or a write, by turns. */
let calls = 0;
function callOf(): Promise<unknown> {
  calls += 1;
  return calls % 2 === 0 ? store.enlist(`worker-${calls}`) : store.read({ tenant: 'shop-1', id: 'none' });
}

async function endSessions(): Promise<void> {
  await onlooker`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name = 'sagacity'`;
}

/** Of the store's sessions, in the order of their beginning. */
async function sessionIds(): Promise<readonly number[]> {
  const found = await onlooker<{ pid: number }[]>`
    select pid from pg_stat_activity
    where datname = current_database() and application_name = 'sagacity'
    order by backend_start`;
  return found.map(({ pid }) => pid);
}

/** Does `work` while another session is enlisting those workers, which then goes away without having done it. */
async function whileTaken<Result>(workers: readonly string[], work: () => Promise<Result>): Promise<Result> {
  const holder = await holderAt(url);
  try {
    for (const id of workers) await holder.sql`insert into sagacity.worker (id, beat_at) values (${id}, now())`;
    return await work();
  } finally {
    await holder.rollback();
    await holder.abandon();
  }
}

function enlisting(count: number): Promise<true> {
  return until(
    async () => ((await waiting(onlooker, 'enlist')) === count ? true : null),
    `${count} workers to wait for another session`,
  );
}
