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
import { transactionPooler } from '../support/transaction-pooler.ts';

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
    const next = databaseAt(pooler.url);
    const left = [await prepared(next), await prepared(next), await prepared(next)];
    await next.end();

    expect(results.map(({ status }) => status)).toEqual(runs.map(() => 'succeeded'));
    expect(await provider.records()).toHaveLength(orders.length);
    expect(pooler.changes).toBeGreaterThan(orders.length);
    expect(left).toEqual([0, 0, 0]);
    await pooler.close();
    await provider.close();
  });
});

/** How many statements of ours are prepared in the session that comes next. */
async function prepared(sql: ReturnType<typeof databaseAt>): Promise<unknown> {
  const [row] = await sql.unsafe(
    "select count(*)::int as count from pg_prepared_statements where starts_with(statement, '/* sagacity')",
  );
  return row?.['count'];
}
