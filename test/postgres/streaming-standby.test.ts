/**
 * A real standby that streams from a real primary, and lags: the network between them falls silent, the primary goes on
 * acknowledging for a while and dies, and the standby is promoted without what it never got. The clients follow to it.
 * The provider keeps all it was sent, and its records are the proof.
 */

import { createOrchestrator, isSagacityError, type Run } from 'sagacity';
import { postgresStore } from 'sagacity/postgres';
import { scriptedProvider } from 'sagacity/testing';
import { afterEach, describe, expect, test } from 'vitest';
import { type FaultProxy, faultProxy } from '../../src/testing/fault-proxy/fault-proxy.ts';
import { type PrivatePostgres, privatePostgres } from '../../src/testing/private-postgres/private-postgres.ts';
import { databaseAt } from '../support/postgres.ts';
import { swiftCharge } from '../support/shared-database.ts';
import { copyAsStandby } from '../support/streaming-standby.ts';
import { until } from '../support/world.ts';
import { blindCharge } from './worker-process.ts';

interface Pair {
  /** Of a database of theirs, by a way that leads to the primary, and after the fail-over to the standby. */
  readonly url: string;
  /** Resolves when the standby has all that the primary has written. */
  caughtUp(): Promise<void>;
  /** The standby gets nothing from now on. */
  lag(): void;
  /** The primary is killed, the standby promoted, and the clients are led to it. */
  failOver(): Promise<void>;
}

const PATIENCE_MS = 30_000;

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

async function pair(): Promise<Pair> {
  const settings = { fsync: 'off', autovacuum: 'off', wal_keep_size: '256MB' };
  const [primary, standby] = [await privatePostgres({ settings }), await privatePostgres({ settings })];
  closing.push(
    () => primary.close(),
    () => standby.close(),
  );
  const direct = await primary.createDatabase();
  const between = await proxyTo(primary);
  await copyAsStandby(primary, standby, between.port);
  const way = { port: primary.port };
  const clients = await faultProxy(way);
  closing.push(() => clients.close());
  const onPrimary = databaseAt(direct);
  closing.push(() => onPrimary.end({ timeout: 0 }));
  return {
    url: clients.urlFor(direct),
    async caughtUp() {
      await until(
        async () => {
          const streams = await onPrimary`
            select from pg_stat_replication where state = 'streaming' and replay_lsn >= pg_current_wal_lsn()`;
          return streams.length === 1 ? true : null;
        },
        'the standby to catch up',
        PATIENCE_MS,
      );
    },
    lag: () => between.halfOpen(),
    async failOver() {
      await primary.kill();
      const onStandby = databaseAt(standby.url);
      const [promoted] = await onStandby`select pg_promote() as ok`;
      await onStandby.end();
      if (promoted?.['ok'] !== true) throw new Error(`The standby was not promoted. Its log: ${standby.log}`);
      way.port = standby.port;
      clients.reset();
    },
  };
}

async function proxyTo({ port }: PrivatePostgres): Promise<FaultProxy> {
  const proxy = await faultProxy({ port });
  closing.push(() => proxy.close());
  return proxy;
}

/** Submits until it is accepted, as a client does whose database has gone to another place. */
async function accepted<Accepted>(submit: () => Promise<Accepted>): Promise<Accepted> {
  return await until(
    async () =>
      submit().catch((error: unknown) => {
        if (isSagacityError(error) && error.retryable) return null;
        throw error;
      }),
    'it to be accepted',
    PATIENCE_MS,
  );
}

describe('a streaming standby that is promoted without the last commits of its primary', () => {
  test('brings no second charge: what was charged is found by its key, what cannot be asked waits for a person', async () => {
    const servers = await pair();
    const provider = await scriptedProvider();
    const store = postgresStore({ url: servers.url, migrate: true });
    const charge = swiftCharge(provider.url, { sendWithin: '500ms', timeout: '5s' });
    const blindly = blindCharge(provider.url);
    const orchestrator = createOrchestrator({
      ...{ store, definitions: [charge, blindly], tenant: 'shop-1', sweepEvery: '200ms' },
      heartbeat: { every: '500ms', timeout: '2s' },
    });
    closing.push(
      () => provider.close(),
      () => orchestrator.stop({ within: '1s' }),
    );
    await orchestrator.start();
    const order = (orderId: string) => accepted(() => orchestrator.submit(charge, { orderId, amount: 5 }));
    const blindOrder = (orderId: string) => accepted(() => orchestrator.submit(blindly, { orderId, amount: 5 }));
    const kept = await endOf(await order('order-16'));
    await servers.caughtUp();
    servers.lag();
    const acknowledged = [await endOf(await order('order-17')), await endOf(await blindOrder('order-18'))];

    await servers.failOver();
    const known = await keysAt(servers.url);
    const again = [await order('order-16'), await order('order-17'), await blindOrder('order-18')];
    const ends = await Promise.all(again.map(endOf));

    expect([kept, ...acknowledged]).toEqual(['succeeded', 'succeeded', 'succeeded']);
    expect(known).toEqual(['order-16']);
    expect(again.map(({ submission }) => submission)).toEqual(['replayed', 'new', 'new']);
    expect(ends).toEqual(['succeeded', 'succeeded', 'escalated: timeline-changed']);
    expect((await provider.records()).map(({ orderId }) => orderId)).toEqual(['order-16', 'order-17', 'order-18']);
    expect((await provider.received()).filter(({ method }) => method === 'POST')).toHaveLength(3);
  });
});

/** How it ends, or that it waits for a person, and why. */
async function endOf(run: Run<unknown, string>): Promise<string> {
  const result = await accepted(() => run.result({ within: '20s' }));
  return 'reason' in result ? `${result.status}: ${result.reason}` : result.status;
}

async function keysAt(url: string): Promise<readonly unknown[]> {
  const sql = databaseAt(url);
  const rows = await sql`select key from sagacity.operation order by key`;
  await sql.end();
  return rows.map((row) => row['key']);
}
