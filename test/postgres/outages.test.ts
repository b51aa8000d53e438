/**
 * A server that goes away under work and comes back: calls end by their deadline and say what is known, the log says it
 * once, and after the return everything that was accepted ends with one record at the provider.
 */

import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Store } from 'sagacity';
import { postgresStore } from 'sagacity/postgres';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type PrivatePostgres, privatePostgres } from '../../src/testing/private-postgres/private-postgres.ts';
import { databaseAt } from '../support/postgres.ts';
import { until } from '../support/world.ts';
import { type Ending, ended, endingOf, passed, type WorkingShop, workingShop } from './working-shop.ts';

const DEADLINE_MS = 1_500;
/** How late a busy machine may tell of a deadline. */
const LATE_MS = 1_000;
/** Longer than the worker lives without a renewal. */
const OUTAGE_MS = 2_500;
const RESUMED_WITHIN_MS = 3_000;
/**
 * What is due after a fail-over is looked up before it is sent, until no request that was lost could still show: the
 * time to send, to answer and to become visible of the charge.
 */
const VERIFIED_MS = 2_000 + 5_000 + 100;
/** Of the log, at warn and above, for one outage: one for everything that noticed it. */
const LINES_AT_MOST = 4;

let server: PrivatePostgres;
let url: string;
let store: Store;
let shop: WorkingShop;

beforeAll(async () => {
  server = await privatePostgres({ settings: { fsync: 'off' } });
});

beforeEach(async () => {
  url = await server.createDatabase();
  store = postgresStore({ url, migrate: true, deadlineMs: DEADLINE_MS });
  shop = await workingShop(store);
});

afterEach(() => shop.close());

afterAll(() => server.close());

describe.each([
  { outage: 'is stopped', down: () => server.stop('fast') },
  { outage: 'is stopped in the middle of everything', down: () => server.stop('immediate') },
  { outage: 'is killed', down: () => server.kill() },
])('a server that $outage and started again', ({ down }) => {
  test('holds up no call for long, and the work that is under way goes on when it is back', async () => {
    await shop.provider.calls(['commit-then-hold']);
    const before = await shop.order('before');
    await shop.provider.logged(({ event }) => event === 'HOLD');

    await down();
    const ordering = shop.order('during');
    const endings = await everyKindOfCall();
    await shop.provider.release();
    await passed(OUTAGE_MS);
    const complaints = [...shop.complaints];
    await server.start();
    const back = performance.now();
    const states = [await ended(before), await ended(await ordering)];
    const resumedMs = performance.now() - back;

    expect(states).toEqual(['succeeded', 'succeeded']);
    expect(resumedMs).toBeLessThan(RESUMED_WITHIN_MS);
    expect(await shop.provider.records()).toHaveLength(2);
    expect(endings.filter(({ how }) => !['STORE_UNAVAILABLE', 'STORE_IN_DOUBT'].includes(how))).toEqual([]);
    expect(longestOf(endings)).toBeLessThan(DEADLINE_MS + LATE_MS);
    expect(complaints.slice(LINES_AT_MOST)).toEqual([]);
  });
});

describe('a server that is killed again and again under many orders', () => {
  test('loses none of those that were accepted, and charges each once', async () => {
    const orders = Array.from({ length: 60 }, (_, n) => `order-${n}`);

    const ordering = orders.map((orderId) => shop.order(orderId));
    for (let kills = 0; kills < 3; kills += 1) {
      await passed(100);
      await server.kill();
      await server.start();
    }
    const states = await Promise.all(ordering.map(async (run) => ended(await run)));

    expect(states).toEqual(orders.map(() => 'succeeded'));
    expect(await shop.provider.records()).toHaveLength(orders.length);
  });
});

describe('a server that comes back as a standby, and is promoted', () => {
  test('is refused by who starts, borne by who works, and worked on as after any fail-over', async () => {
    const before = await shop.order('before');
    await ended(before);

    await server.stop();
    await writeFile(join(dirname(server.log), 'data', 'standby.signal'), '');
    const starting = server.start();
    const onlooker = databaseAt(url);
    await until(
      () =>
        onlooker`select pg_is_in_recovery() as is`.then(
          ([row]) => (row?.['is'] === true ? true : null),
          () => null,
        ),
      'the standby to answer',
    );
    const quiet = shop.complaints.length;
    const ordering = shop.order('during');
    const another = await endingOf(postgresStore({ url }).open());
    const endings = await everyKindOfCall();
    await passed(OUTAGE_MS);
    const complaints = shop.complaints.slice(quiet);
    await onlooker`select pg_promote()`;
    await starting;
    const back = performance.now();
    const state = await ended(await ordering);
    const resumedMs = performance.now() - back;
    await onlooker.end();

    expect(another.how).toBe('STORE_UNUSABLE');
    expect(
      endings.filter(({ how }) => !['STORE_UNAVAILABLE', 'answered', 'OPERATION_NOT_FOUND'].includes(how)),
    ).toEqual([]);
    expect(longestOf(endings)).toBeLessThan(DEADLINE_MS + LATE_MS);
    expect(complaints.slice(LINES_AT_MOST)).toEqual([]);
    expect(state).toBe('succeeded');
    expect(resumedMs).toBeLessThan(VERIFIED_MS + RESUMED_WITHIN_MS);
    expect(await shop.provider.records()).toHaveLength(2);
  });
});

/** One of each that a host or an orchestrator makes, all at once. */
async function everyKindOfCall(): Promise<readonly Ending[]> {
  const ref = { tenant: 'shop-1', id: 'no-such-operation' };
  const calls = [
    store.enlist('another-worker'),
    store.renew('another-worker', 1_000, 'any'),
    store.bury('another-worker', { timeoutMs: 3_600_000 }),
    store.claim('another-worker', ['label.buy'], 10),
    store.retire('another-worker'),
    store.handedOver('another-worker', 10),
    store.read(ref),
    store.readByIdentity({ tenant: 'shop-1', action: 'label.buy', key: 'none' }),
    store.records(ref),
    store.handOver({ ...ref, handoverId: 'handover-1', body: {} }),
    shop.orchestrator.run('no-such-operation'),
    shop.orchestrator.operator.doubts(),
  ];
  return Promise.all(calls.map(endingOf));
}

function longestOf(endings: readonly Ending[]): number {
  return Math.max(...endings.map(({ afterMs }) => afterMs));
}
