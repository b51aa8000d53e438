/**
 * A server that goes away while something waits for its time, or while the work of a dead worker is being taken over:
 * what is due is sent when the server is back, never before its time, and nothing is left behind with the dead.
 */

import {
  type CreateOptions,
  createOrchestrator,
  type Duration,
  notApplied,
  type Orchestrator,
  type Store,
} from 'sagacity';
import { postgresStore } from 'sagacity/postgres';
import { scriptedProvider, type ScriptedProvider } from 'sagacity/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type PrivatePostgres, privatePostgres } from '../../src/testing/private-postgres/private-postgres.ts';
import { overlay } from '../../src/testing/overlay.ts';
import { databaseAt } from '../support/postgres.ts';
import { severable } from '../support/severable-store.ts';
import { orders, swiftCharge } from '../support/shared-database.ts';
import { until } from '../support/world.ts';
import { ended, passed } from './working-shop.ts';

const SENT_WITHIN_MS = 3_000;
const LONGER_THAN_A_WORKER_LIVES_MS = 2_100;
/** Of a time that went through the database. */
const ROUNDED_MS = 1;

let server: PrivatePostgres;
let url: string;
let store: Store;
let provider: ScriptedProvider;
let orchestrators: Orchestrator<true>[] = [];

beforeAll(async () => {
  server = await privatePostgres({ settings: { fsync: 'off' } });
});

beforeEach(async () => {
  [url, provider] = await Promise.all([server.createDatabase(), scriptedProvider()]);
  store = postgresStore({ url, migrate: true });
  await store.open();
});

afterEach(async () => {
  await Promise.all(orchestrators.map((each) => each.stop({ within: '2s' })));
  orchestrators = [];
  await Promise.all([store.close(), provider.close()]);
});

afterAll(() => server.close());

/** Not started, and stopped with the test. `timeout` is how long its worker may be silent. */
function orchestrator(
  options: Pick<CreateOptions, 'definitions' | 'concurrency'> & { readonly store?: Store; readonly timeout?: Duration },
): Orchestrator<true> {
  const { timeout = '30s', ...chosen } = options;
  const made = createOrchestrator({
    ...{ store: ownStore(), tenant: 'shop-1', sweepEvery: '200ms', heartbeat: { every: '500ms', timeout } },
    ...chosen,
  });
  orchestrators.push(made);
  return made;
}

function ownStore(): Store {
  return postgresStore({ url, deadlineMs: 1_500 });
}

/** An order whose first charge did not apply, when the next one is due as it is stored, and when it was sent. */
async function busyOnce(delay: Duration, timeout: Duration) {
  const sentAt: number[] = [];
  const charge = swiftCharge(
    provider.url,
    { sendWithin: '5s', timeout: '5s', delay },
    { onSend: () => void sentAt.push(Date.now()), first: () => notApplied('busy') },
  );
  const shop = orchestrator({ definitions: [charge], timeout });
  await shop.start();
  const run = await shop.submit(charge, { orderId: 'order-17', amount: 5 });
  const dueAt = await until(async () => {
    const row = await store.read({ tenant: 'shop-1', id: run.id });
    return row?.state === 'pending' ? row.dueAt : null;
  }, 'the next attempt to have its time');
  return { run, dueAt, sentAt };
}

describe.each([
  { worker: 'lives on', timeout: '30s' },
  { worker: 'is over by then', timeout: '2s' },
] as const)('a retry that falls due while the server is away, of a worker that $worker', ({ timeout }) => {
  test('is sent once, soon after the return', async () => {
    const { run, dueAt, sentAt } = await busyOnce('2s', timeout);

    await server.stop('immediate');
    const goneAt = Date.now();
    await passed(dueAt + 1_000 - goneAt);
    await server.start();
    const backAt = Date.now();
    const state = await ended(run);

    expect(goneAt).toBeLessThan(dueAt);
    expect(state).toBe('succeeded');
    expect(sentAt).toHaveLength(1);
    expect(sentAt[0]).toBeLessThan(backAt + SENT_WITHIN_MS);
    expect(await provider.records()).toHaveLength(1);
  });
});

describe('a retry that falls due after the server has come back, of a worker that is over by then', () => {
  test('is sent once, and not before its time', async () => {
    const { run, dueAt, sentAt } = await busyOnce('6s', '2s');

    await server.stop('immediate');
    await passed(LONGER_THAN_A_WORKER_LIVES_MS);
    await server.start();
    const backAt = Date.now();
    const state = await ended(run);

    expect(backAt).toBeLessThan(dueAt);
    expect(state).toBe('succeeded');
    expect(sentAt).toHaveLength(1);
    expect(sentAt[0]).toBeGreaterThanOrEqual(dueAt - ROUNDED_MS);
    expect(sentAt[0]).toBeLessThan(dueAt + SENT_WITHIN_MS);
    expect(await provider.records()).toHaveLength(1);
  });
});

describe('a server that restarts five times while the work of a dead worker is being recovered', () => {
  test('gets every order settled, sent once and charged once', async () => {
    const charge = swiftCharge(provider.url, { sendWithin: '1s', timeout: '2s' });
    const abandoned = orders('order', 250);
    const idle = orchestrator({ definitions: [charge] });
    await Promise.all(abandoned.map((order) => idle.submit(charge, order)));
    const given = await dieOf(charge, abandoned.length);
    const recovering = claimsOf(ownStore());

    const recovery = orchestrator({
      ...{ definitions: [charge], concurrency: 16, store: recovering.store },
    }).start();
    for (let restarts = 0; restarts < 5; restarts += 1) {
      await recovering.next();
      await server.stop('immediate');
      await server.start();
    }
    await recovery;
    const sql = databaseAt(url);
    const left = () => sql`select from sagacity.operation where state not in ('succeeded', 'failed', 'escalated')`;
    await until(async () => ((await left()).length === 0 ? true : null), 'every order to be settled');
    const states = await sql`select state, count(*)::int from sagacity.operation group by state`;
    await sql.end();

    expect(given.underWay).toBeGreaterThan(0);
    expect(states).toEqual([{ state: 'succeeded', count: abandoned.length }]);
    const charged = (await provider.records()).map(({ orderId }) => orderId);
    expect(charged.toSorted()).toEqual(abandoned.map(({ orderId }) => orderId).toSorted());
    const sent = (await provider.received()).filter(({ method }) => method === 'POST');
    expect(sent).toHaveLength(abandoned.length);
  });
});

/**
 * A worker takes up what is due and is lost with the first reply; another one claims the rest, and both are dead then.
 * How many they owned, and of how many the charge was under way.
 */
async function dieOf(charge: ReturnType<typeof swiftCharge>, count: number) {
  let lost = false;
  const dying = severable(ownStore(), ({ records }) => {
    lost ||= records.some(({ kind }) => kind === 'end');
    return lost;
  });
  // It does not come to an end: its store is not heard of any more.
  void orchestrator({ definitions: [charge], concurrency: count, store: dying }).start();
  await until(() => (lost ? true : null), 'the first reply');
  const sql = databaseAt(url);
  const owned = async () => {
    const [row] = await sql<{ orders: number; underWay: number }[]>`
      select count(*)::int as orders, (count(*) filter (where state = 'in-progress'))::int as "underWay"
      from sagacity.operation where owner is not null`;
    return row?.orders === count ? row : null;
  };
  await store.enlist('abandoner');
  const given = await until(async () => {
    await store.claim('abandoner', [charge.action], count);
    return await owned();
  }, 'every order to have an owner');
  await sql`update sagacity.worker set dead_at = now()`;
  await sql.end();
  return given;
}

/** Notes the claims that gave something. */
function claimsOf(inner: Store) {
  let claims = 0;
  const noting: Store = overlay(inner, {
    async claim(...asked: Parameters<Store['claim']>) {
      const claimed = await inner.claim(...asked);
      if (claimed.length > 0) claims += 1;
      return claimed;
    },
  });
  let seen = 0;
  return {
    store: noting,
    /** Waits for another one. */
    async next() {
      seen = await until(() => (claims > seen ? claims : null), 'a claim of what was abandoned');
    },
  };
}
