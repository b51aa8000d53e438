/**
 * The host keeps its clients: what it reads and writes with them is the same before and after the library has started
 * beside them and has been given their transactions.
 */

import { drizzle } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import { createOrchestrator } from 'sagacity';
import { postgresStore } from 'sagacity/postgres';
import { scriptedProvider } from 'sagacity/testing';
import { expect, test } from 'vitest';
import { freshDatabase } from '../support/postgres.ts';
import { chargeCard } from '../support/shop.ts';

test("the host's own client and its Drizzle database read and write as before", async () => {
  const [url, provider] = await Promise.all([freshDatabase(), scriptedProvider()]);
  const client = postgres(url, { onnotice: () => {} });
  // Drizzle changes the client that it is given, which is the host's to know: so it has one of its own.
  const drizzled = postgres(url, { onnotice: () => {} });
  const db = drizzle(drizzled);
  const seen = async () => {
    const [row] = await client<{ now: unknown; told: unknown }[]>`
      select now() as now, ${client.json({ shop: 'north' })}::jsonb as told`;
    const [ofDrizzle] = await db.execute<{ now: unknown; big: unknown }>('select now() as now, 12::bigint as big');
    return { now: row?.now instanceof Date, told: row?.told, drizzle: typeof ofDrizzle?.now, big: ofDrizzle?.big };
  };
  const before = await seen();
  const charge = chargeCard(provider.url);
  const orchestrator = createOrchestrator({
    store: postgresStore({ url, migrate: true, announce: true }),
    ...{ definitions: [charge], tenant: 'shop-1', sweepEvery: '50ms' },
  });
  await orchestrator.start();

  const runs = [
    await client.begin((tx) => orchestrator.submit(charge, { orderId: 'order-1', amount: 5 }, { tx })),
    await db.transaction((tx) => orchestrator.submit(charge, { orderId: 'order-2', amount: 5 }, { tx })),
  ];
  const ends = await Promise.all(runs.map((run) => run.result({ within: '20s' })));
  const after = await seen();
  await orchestrator.stop();
  const afterStop = await seen();
  await Promise.all([client.end(), drizzled.end(), provider.close()]);

  expect(ends.map(({ status }) => status)).toEqual(['succeeded', 'succeeded']);
  expect(before).toMatchObject({ now: true, told: { shop: 'north' } });
  expect([after, afterStop]).toEqual([before, before]);
});
