/**
 * The store behind a pooler in transaction mode keeps the same promises as without: the whole suite passes while each
 * of its statements meets another session of the server, and an orchestrator does its work there.
 */

import { createOrchestrator } from 'sagacity';
import { postgresStore } from 'sagacity/postgres';
import { scriptedProvider } from 'sagacity/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { storeSuite } from '../../src/testing/store-suite.ts';
import { databaseTime } from '../support/database-time.ts';
import { databaseAt, freshDatabase } from '../support/postgres.ts';
import { chargeCard } from '../support/shop.ts';
import { SESSIONS, transactionPooler } from '../support/transaction-pooler.ts';

storeSuite(
  {
    name: 'pooled postgres',
    async make() {
      const url = await freshDatabase();
      const pooler = await transactionPooler(url);
      const database = databaseAt(url);
      const time = await databaseTime(database, () => pooler.renew());
      return {
        store: postgresStore({ url: pooler.url, pooler: true, migrate: true }),
        ...time,
        async dispose() {
          await database.end();
          await pooler.close();
        },
      };
    },
  },
  { afterAll, beforeAll, describe, expect, test },
);

describe('an orchestrator behind a pooler', () => {
  test('charges every order once, though its sessions change under it, and leaves nothing in them', async () => {
    const provider = await scriptedProvider();
    const pooler = await transactionPooler(await freshDatabase());
    const charge = chargeCard(provider.url);
    const store = postgresStore({ url: pooler.url, pooler: true, migrate: true });
    const orchestrator = createOrchestrator({ store, definitions: [charge], tenant: 'shop-1' });
    await orchestrator.start();
    const orders = Array.from({ length: 20 }, (_, n) => ({ orderId: `order-${n}`, amount: 100 + n }));

    const runs = await Promise.all([...orders, ...orders].map((order) => orchestrator.submit(charge, order)));
    const results = await Promise.all(runs.map((run) => run.result({ within: '10s' })));
    await orchestrator.stop();
    const sessions = await eachSession(pooler.url);

    expect(results.map(({ status }) => status)).toEqual(runs.map(() => 'succeeded'));
    expect(await provider.records()).toHaveLength(orders.length);
    expect(pooler.changes).toBeGreaterThan(orders.length);
    expect(sessions.flatMap(({ left }) => left)).toEqual([]);
    expect(new Set(sessions.map(({ pid }) => pid)).size).toBe(SESSIONS);
    await pooler.close();
    await provider.close();
  });
});

/** Every session of the pooler, by its process at the server, with all that anybody has left in it. */
async function eachSession(url: string): Promise<readonly { pid: unknown; left: readonly string[] }[]> {
  const next = databaseAt(url);
  const sessions = [];
  // Alone with the pooler, it gets another one each time.
  for (let n = 0; n < SESSIONS; n += 1) {
    const [session] = await next.unsafe<{ pid: number; left: string[] }[]>(whatIsLeft);
    sessions.push({ pid: session?.pid, left: session?.left ?? [] });
  }
  await next.end();
  return sessions;
}

/** Statements of ours that are prepared, channels that are listened to, cursors, settings, tables, advisory locks. */
const whatIsLeft = `
  select pg_backend_pid() as pid, array(
    select 'prepared: ' || statement from pg_prepared_statements where starts_with(statement, '/* sagacity')
    union all select 'listens to ' || channel from pg_listening_channels() as channel
    union all select 'cursor ' || name from pg_cursors where name <> ''
    union all select 'set: ' || name from pg_settings where source = 'session'
    union all select 'temporary: ' || relname from pg_class where relnamespace = pg_my_temp_schema()
    union all select 'locked: ' || objid from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()
  ) as left`;
