/**
 * `check()` names what is wrong with the surroundings of a process, and nothing that is right, before the process is
 * started and afterwards. What keeps it from working is a fault; what only costs durability or comfort is a warning.
 * The faults are planted in real servers.
 */

import { createServer } from 'node:net';
import { once } from 'node:events';
import { type CheckupFinding, createOrchestrator, type CreateOptions, type Waker } from 'sagacity';
import { pgliteStore } from 'sagacity/pglite';
import { migrate, postgresStore, type PostgresStoreOptions } from 'sagacity/postgres';
import { memoryStore } from 'sagacity/testing';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/adapters/local/clock.ts';
import { localWaker } from '../../src/adapters/local/waker.ts';
import { type PrivatePostgres, privatePostgres } from '../../src/testing/private-postgres/private-postgres.ts';
import { as, grants, role, run } from '../support/other-users.ts';
import { freshDatabase } from '../support/postgres.ts';
import { copyAsStandby } from '../support/streaming-standby.ts';
import { transactionPooler } from '../support/transaction-pooler.ts';
import { until } from '../support/world.ts';

/** In every url, though no server here asks for it. */
const PASSWORD = 'canary-19c4';

/** With PostgreSQL's own settings, which keep what is acknowledged. */
let server: PrivatePostgres;
/** A migrated database of it. */
let shop: string;
const cleanups: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  server = await privatePostgres();
  shop = await migrated();
});

afterEach(async () => {
  for (const cleanUp of cleanups.splice(0).toReversed()) await cleanUp();
});

afterAll(() => server.close());

describe('surroundings in which nothing is wrong', () => {
  test('are found sound, before the start and after it, and are not changed', async () => {
    const orchestrator = orchestratorOn({ url: shop });
    const before = await orchestrator.check();
    await orchestrator.start();
    const afterwards = await orchestrator.check();
    await orchestrator.stop();

    for (const { ok, findings } of [before, afterwards]) {
      expect(ok).toBe(true);
      expect(findings.map(({ check, level, remedy }) => [check, level, remedy])).toEqual([
        ['database', 'ok', null],
        ['database', 'ok', null],
        ['role', 'ok', null],
        ['pooler', 'ok', null],
        ['clock', 'ok', null],
        ['standby', 'ok', null],
        ['pool', 'ok', null],
      ]);
    }
    expect(before.findings[0]?.says).toMatch(/^PostgreSQL \d+, database \w+\.$/);
    expect(before.findings[1]?.says).toBe('Schema sagacity is up to date.');
  });

  test('can be asked about when nothing was ever written, and nothing is', async () => {
    const url = await emptyDatabase();

    const { ok, findings } = await orchestratorOn({ url, migrate: true }).check();
    const schemas = await run(url, "select from pg_namespace where nspname = 'sagacity'");

    expect([ok, findings[1]?.says]).toEqual([true, 'Schema sagacity is brought up to date by the start.']);
    expect(schemas).toHaveLength(0);
  });

  test('are those of a store without a server, too', async () => {
    const stores = [memoryStore(), pgliteStore()];

    const checkups = await Promise.all(stores.map((store) => createOrchestrator({ store, definitions: [] }).check()));

    expect(checkups.map(({ ok }) => ok)).toEqual([true, true]);
    expect(checkups.map(({ findings }) => findings.map(({ check, says }) => `${check}: ${says}`))).toEqual([
      ['database: The memory store has no server that could be examined.'],
      ['database: The pglite store has no server that could be examined.'],
    ]);
  });
});

/** What is planted, and the one thing that is to be found. */
interface Planted {
  readonly what: string;
  readonly plant: () => Promise<PostgresStoreOptions & Partial<CreateOptions>>;
  readonly finding: Pick<CheckupFinding, 'check' | 'level'> & { readonly says: RegExp; readonly remedy: RegExp };
}

const planted: readonly Planted[] = [
  {
    what: 'no server where the url leads',
    plant: async () => ({ url: changed(shop, { port: String(await freePort()) }) }),
    finding: {
      ...{ check: 'database', level: 'fault' },
      says: /^The database at 127\.0\.0\.1:\d+ could not be reached \(ECONNREFUSED\)\.$/,
      remedy: /Start the server, or correct the url/,
    },
  },
  {
    what: 'no database of that name',
    plant: async () => ({ url: changed(shop, { pathname: 'no_such_shop' }) }),
    finding: { check: 'database', level: 'fault', says: /does not exist \(SQLSTATE 3D000\)/, remedy: /Create it/ },
  },
  {
    what: 'a schema that was never migrated',
    plant: async () => ({ url: await emptyDatabase() }),
    finding: { check: 'database', level: 'fault', says: /sagacity lacks 0000_operations/, remedy: /npx sagacity mig/ },
  },
  {
    what: 'a schema of a newer version',
    async plant() {
      const url = await migrated();
      await run(url, "insert into sagacity.migration values (999, '0999_later', 'c')");
      return { url };
    },
    finding: { check: 'database', level: 'fault', says: /migration 999/, remedy: /Install the version of sagacity/ },
  },
  {
    what: 'sessions that are read-only',
    async plant() {
      const user = await clerk();
      await run(shop, `alter role ${user} set default_transaction_read_only = on`);
      return { url: as(shop, user) };
    },
    finding: { check: 'database', level: 'fault', says: /are read-only/, remedy: /default_transaction_read_only/ },
  },
  {
    what: 'a timeline that is not told',
    async plant() {
      const url = await migrated();
      const user = await role(url, 'login');
      await run(url, `${grants(user)}; revoke execute on function pg_current_wal_lsn() from public`);
      return { url: as(url, user) };
    },
    finding: { check: 'database', level: 'fault', says: /does not tell which timeline/, remedy: /Grant execute on/ },
  },
  {
    what: 'a user nobody knows',
    plant: async () => ({ url: as(shop, 'nobody_here') }),
    finding: { check: 'role', level: 'fault', says: /refused the login \(SQLSTATE 28000\)/, remedy: /pg_hba\.conf/ },
  },
  {
    what: 'a user who may not use the schema',
    plant: async () => ({ url: as(shop, await role(shop, 'login')) }),
    finding: { check: 'role', level: 'fault', says: /may not use the schema sagacity/, remedy: /usage on the schema/ },
  },
  {
    what: 'a user who may do everything except insert attempts',
    async plant() {
      const user = await clerk();
      await run(shop, `revoke insert on sagacity.attempt from ${user}`);
      return { url: as(shop, user) };
    },
    finding: {
      check: 'role',
      level: 'fault',
      says: /may not insert on attempt\.$/,
      remedy: /^Grant it: select, insert/,
    },
  },
  {
    what: 'a transaction pooler that was not told of',
    plant: async () => ({ url: await pooled('ignored') }),
    finding: { check: 'pooler', level: 'fault', says: /a transaction pooler is in between/, remedy: /pooler: true/ },
  },
  {
    what: 'a transaction pooler that refuses settings',
    plant: async () => ({ url: await pooled('refused') }),
    finding: { check: 'pooler', level: 'fault', says: /in between \(SQLSTATE 08P01\)/, remedy: /pooler: true/ },
  },
  {
    what: 'a clock of this process that is ahead',
    plant: async () => ({ url: shop, clock: clockOff(6_000) }),
    finding: { check: 'clock', level: 'warning', says: /is [56]\.\d s ahead of the database's/, remedy: /NTP/ },
  },
  {
    what: 'a clock of this process that is behind',
    plant: async () => ({ url: shop, clock: clockOff(-3_600_000) }),
    finding: { check: 'clock', level: 'warning', says: /is 3\d{3}\.\d s behind the database's/, remedy: /NTP/ },
  },
  {
    what: 'commits of this user that are acknowledged before they are on disk',
    async plant() {
      const user = await clerk();
      await run(shop, `alter role ${user} set synchronous_commit = off`);
      return { url: as(shop, user) };
    },
    finding: {
      check: 'standby',
      level: 'warning',
      says: /^synchronous_commit is off: a crash loses/,
      remedy: /^Turn it on/,
    },
  },
  {
    what: 'a server that leaves it to the machine when to write',
    async plant() {
      const url = await freshDatabase();
      await migrate({ url });
      return { url };
    },
    finding: { check: 'standby', level: 'warning', says: /^fsync is off: a crash loses/, remedy: /^Turn it on/ },
  },
  {
    what: 'too few connections for what is done at once',
    plant: async () => ({ url: shop, connections: 2, concurrency: 64 }),
    finding: {
      ...{ check: 'pool', level: 'warning' },
      says: /has 1 connection beside that of its heartbeat, for 64 attempts at once/,
      remedy: /at least 5 connections, or lower concurrency/,
    },
  },
  {
    what: 'more connections than the server has left',
    plant: async () => ({ url: shop, connections: 500 }),
    finding: {
      ...{ check: 'pool', level: 'warning' },
      says: /may open 500 connections, and the server has 1\d\d left for it: of 200, 3 are reserved and \d+ are others'/,
      remedy: /Raise max_connections, lower connections/,
    },
  },
  {
    what: 'a single connection',
    plant: async () => ({ url: shop, connections: 1 }),
    finding: { check: 'pool', level: 'fault', says: /cannot carry the heartbeat/, remedy: /connections: 2/ },
  },
  {
    what: 'a user who has no connection left',
    async plant() {
      const user = await role(shop, 'login connection limit 0');
      return { url: as(shop, user) };
    },
    finding: {
      check: 'pool',
      level: 'fault',
      says: /\(SQLSTATE 53300\)\.$/,
      remedy: /^No connection is left: end sessions/,
    },
  },
  {
    what: 'a waker that says what keeps wakes from getting through',
    plant: async () => ({ url: shop, waker: wakerThat(async () => [cutOff]) }),
    finding: { check: 'nats', level: 'warning', says: /^No server at 127\.0\.0\.1:1\.$/, remedy: /^Start it\.$/ },
  },
];

const cutOff: CheckupFinding = {
  ...{ check: 'nats', level: 'warning', says: 'No server at 127.0.0.1:1.', remedy: 'Start it.' },
};

describe.each(planted)('$what', ({ plant, finding }) => {
  test('is all that is found wrong, and comes with what to do about it', async () => {
    const options = await plant();

    const { ok, findings } = await orchestratorOn(options).check();

    const wrong = findings.filter(({ level }) => level !== 'ok');
    expect(wrong).toEqual([
      {
        ...finding,
        says: expect.stringMatching(finding.says),
        remedy: expect.stringMatching(finding.remedy),
      },
    ]);
    expect(ok).toBe(finding.level === 'warning');
    expect(JSON.stringify(findings)).not.toContain(PASSWORD);
  });
});

describe('what is only nearly wrong', () => {
  test.each<[string, () => Promise<PostgresStoreOptions & Partial<CreateOptions>>]>([
    ['a clock that is four seconds ahead', async () => ({ url: shop, clock: clockOff(4_000) })],
    ['a pooler that was told of', async () => ({ url: await pooled('refused'), pooler: true })],
    ['a pooler that has few sessions for many connections', manyThroughAPooler],
    ['most of the connections that the server has', async () => ({ url: shop, connections: 150 })],
    ['sixteen attempts a connection', async () => ({ url: shop, connections: 2, concurrency: 16 })],
    ['a waker that has nothing to complain of', async () => ({ url: shop, waker: wakerThat(async () => []) })],
  ])('%s is in order', async (_what, plant) => {
    const { findings } = await orchestratorOn(await plant()).check();

    expect(findings.filter(({ level }) => level !== 'ok')).toEqual([]);
  });
});

describe('several faults at once', () => {
  test('are all named, each under its own name', async () => {
    const user = await clerk();
    await run(shop, `revoke select on sagacity.lock from ${user}; alter role ${user} set synchronous_commit = off`);
    const options = { url: as(shop, user), connections: 2, concurrency: 40, clock: clockOff(60_000) };

    const { ok, findings } = await orchestratorOn({ ...options, waker: wakerThat(async () => [cutOff]) }).check();

    expect(ok).toBe(false);
    expect(findings.map(({ check, level }) => `${check} ${level}`)).toEqual([
      'database ok',
      'role fault',
      'pooler ok',
      'clock warning',
      'standby warning',
      'pool warning',
      'nats warning',
    ]);
  });

  test('do not hide behind ports that throw', async () => {
    const waker = wakerThat(() => Promise.reject(new Error('It has no password for me.')));

    const { findings } = await orchestratorOn({ url: shop, waker }).check();

    expect(findings.at(-1)).toEqual({
      check: 'nats',
      level: 'warning',
      says: 'It has no password for me.',
      remedy: null,
    });
  });
});

describe('the connections of a store that is at work', () => {
  test('are not counted against it', async () => {
    const orchestrator = orchestratorOn({ url: shop, connections: 120 });
    await orchestrator.start();
    // Each on a connection of its own.
    const asked = Array.from({ length: 500 }, (_, n) => orchestrator.run(`op_${n}`, { tenant: 'shop-1' }));
    await Promise.allSettled(asked);

    const [used] = await run(shop, 'select sum(numbackends)::int as count from pg_stat_database');
    const { findings } = await orchestrator.check();
    await orchestrator.stop();

    expect(used?.['count']).toBeGreaterThan(100);
    expect(findings.find(({ check }) => check === 'pool')).toMatchObject({ level: 'ok' });
  });
});

describe('a standby', () => {
  let primary: PrivatePostgres;
  let standby: PrivatePostgres;
  let url: string;

  beforeAll(async () => {
    primary = await privatePostgres();
    url = await primary.createDatabase();
    await migrate({ url });
    standby = await privatePostgres();
    await copyAsStandby(primary, standby);
    await replicationIs("state = 'streaming'");
  });

  afterAll(async () => {
    await standby.close();
    await primary.close();
  });

  /** Waits until the primary says this of its standby. */
  async function replicationIs(condition: string): Promise<void> {
    await until(async () => {
      const found = await run(primary.url, `select from pg_stat_replication where ${condition}`);
      return found.length > 0 ? true : null;
    }, `a standby of which ${condition}`);
  }

  test('that need not have what is acknowledged is warned of, until it has to', async () => {
    const asynchronous = await standbyFindings({ url });
    await run(primary.url, "alter system set synchronous_standby_names = 'replica'");
    await run(primary.url, 'select pg_reload_conf()');
    await replicationIs("sync_state = 'sync'");
    const user = await role(url, 'login');
    await run(url, grants(user));
    const synchronous = await standbyFindings({ url });
    const unseen = await standbyFindings({ url: as(url, user) });
    await run(url, `alter role ${user} set synchronous_commit = 'local'`);
    const local = await standbyFindings({ url: as(url, user) });
    await run(primary.url, 'alter system reset synchronous_standby_names');
    await run(primary.url, 'select pg_reload_conf()');
    await replicationIs("sync_state = 'async'");

    expect(asynchronous).toEqual([
      {
        ...{ check: 'standby', level: 'warning' },
        says: expect.stringMatching(/^synchronous_standby_names is empty: a fail-over to the standby loses commits/),
        remedy: expect.stringMatching(/synchronous_standby_names/),
      },
    ]);
    expect(synchronous).toEqual([
      { check: 'standby', level: 'ok', says: 'What is acknowledged is on disk, and on a standby.', remedy: null },
    ]);
    expect(unseen).toEqual([
      {
        ...{ check: 'standby', level: 'warning' },
        says: expect.stringMatching(/^It cannot be seen whether a standby is synchronous\.$/),
        remedy: expect.stringMatching(/^Grant pg_monitor/),
      },
    ]);
    expect(local).toMatchObject([{ level: 'warning', says: expect.stringMatching(/synchronous_commit is local/) }]);
  });

  test('that everybody waits for and that is not there is a fault', async () => {
    await run(primary.url, "alter system set synchronous_standby_names = 'another'");
    await run(primary.url, 'select pg_reload_conf()');
    await until(async () => {
      const [told] = await run(primary.url, 'show synchronous_standby_names');
      return told?.['synchronous_standby_names'] === 'another' ? true : null;
    }, 'the server to wait for another standby');

    const found = await standbyFindings({ url });
    await run(primary.url, 'alter system reset synchronous_standby_names');
    await run(primary.url, 'select pg_reload_conf()');

    expect(found).toEqual([
      {
        ...{ check: 'standby', level: 'fault' },
        says: expect.stringMatching(/^synchronous_standby_names is 'another', and no such standby is connected/),
        remedy: expect.stringMatching(/^Connect it again/),
      },
    ]);
  });

  test('is no place for the store itself, and is named as one', async () => {
    const { pathname } = new URL(url);

    const { findings } = await orchestratorOn({ url: changed(standby.url, { pathname }) }).check();

    expect(findings.filter(({ level }) => level !== 'ok')).toEqual([
      {
        ...{ check: 'database', level: 'fault', remedy: 'Give the url of the primary.' },
        says: expect.stringMatching(/is a standby and takes no writes/),
      },
    ]);
  });
});

function orchestratorOn({ clock, waker, concurrency, ...store }: PostgresStoreOptions & Partial<CreateOptions>) {
  return createOrchestrator({
    ...{ store: postgresStore(store), definitions: [] },
    ...(clock === undefined ? {} : { clock }),
    ...(waker === undefined ? {} : { waker }),
    ...(concurrency === undefined ? {} : { concurrency }),
  });
}

async function standbyFindings(options: PostgresStoreOptions): Promise<readonly CheckupFinding[]> {
  const { findings } = await orchestratorOn(options).check();
  return findings.filter(({ check }) => check === 'standby');
}

function wakerThat(examine: NonNullable<Waker['examine']>): Waker {
  return { ...localWaker(systemClock()), examine };
}

/** The clock of this machine, as of one that runs ahead. */
function clockOff(aheadMs: number) {
  const clock = systemClock();
  return { ...clock, now: () => clock.now() + aheadMs };
}

/** A user with all rights that are needed, for who takes some away. */
async function clerk(): Promise<string> {
  const user = await role(shop, 'login');
  await run(shop, grants(user));
  return user;
}

async function pooled(settings: 'ignored' | 'refused'): Promise<string> {
  const pooler = await transactionPooler(shop, { settings });
  cleanups.push(() => pooler.close());
  return pooler.url;
}

async function manyThroughAPooler(): Promise<PostgresStoreOptions> {
  return { url: await pooled('refused'), pooler: true, connections: 500 };
}

async function emptyDatabase(): Promise<string> {
  return changed(await server.createDatabase(), { password: PASSWORD });
}

async function migrated(): Promise<string> {
  const url = await emptyDatabase();
  await migrate({ url });
  return url;
}

function changed(url: string, parts: { port?: string; pathname?: string; password?: string }): string {
  return Object.assign(new URL(url), parts).href;
}

/** A moment ago nothing listened there. */
async function freePort(): Promise<number> {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const address = listener.address();
  listener.close();
  await once(listener, 'close');
  if (address === null || typeof address === 'string') throw new Error('A TCP server has a port.');
  return address.port;
}
