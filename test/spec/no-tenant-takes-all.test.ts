/**
 * Two orchestrators on one PostgreSQL database, each with connections of its own, and a tenant that floods it: what
 * another tenant submits after that is done while the flood still is, with a limit for each tenant and without one.
 */

import type postgres from 'postgres';
import { createOrchestrator, operation, type Orchestrator, saga, succeeded, typed, type WorkLimit } from 'sagacity';
import { postgresStore } from 'sagacity/postgres';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { databaseAt, freshDatabase } from '../support/postgres.ts';
import { gate } from '../support/interrupted.ts';
import { until } from '../support/world.ts';

const PATIENCE_MS = 90_000;

const FLOOD = 'shop-flood';
const SMALL = 'shop-small';

let url: string;
let sql: postgres.Sql;
let all: Orchestrator<false>[];
/** The tenants of the calls that went out, in their order, and how many of the flood are under way. */
let sent: string[];
let underWay: number;
/** Where the calls of the flood wait. */
let held: ReturnType<typeof gate>;

beforeEach(async () => {
  [sent, underWay, all, held] = [[], 0, [], gate()];
  url = await freshDatabase();
  sql = databaseAt(url);
});

afterEach(async () => {
  held.open();
  await Promise.all(all.map((each) => each.stop()));
  await sql.end();
});

const charge = operation('card.charge', {
  input: typed<{ orderId: string }>(),
  key: ({ input }) => input.orderId,
  execute: () => succeeded({ charged: true }),
  keyRetention: '24h',
  lookup: 'none',
});
const order = saga('order', { input: typed<{ orderId: string }>(), key: ({ input }) => input.orderId }).step(
  'charge',
  charge,
  ({ input }) => input,
  { compensate: { none: 'it is the last step' } },
);

/** A process with eight slots, not started. */
function processOf(perTenant?: WorkLimit): Orchestrator<false> {
  const orchestrator = createOrchestrator({
    store: postgresStore({ url, connections: 3, migrate: true }),
    ...{ definitions: [order, charge], concurrency: 8, sweepEvery: '100ms' },
    ...(perTenant === undefined ? {} : { perTenant }),
    async caller({ tenant }, go) {
      sent.push(tenant);
      if (tenant === FLOOD) {
        underWay += 1;
        await held.pass();
        underWay -= 1;
      }
      return go();
    },
  });
  all.push(orchestrator);
  return orchestrator;
}

/** Submits by a process that does not work: they are due at once, and nobody's. */
async function accepted(what: typeof charge | typeof order, tenant: string, count: number): Promise<void> {
  const front = processOf();
  const orders = Array.from({ length: count }, (_, n) => ({ orderId: `order-${n}` }));
  const submit = (input: { orderId: string }) =>
    what.type === 'saga' ? front.submit(what, input, { tenant }) : front.submit(what, input, { tenant });
  await Promise.all(orders.map(submit));
}

/** How many operations have succeeded, of all or of one tenant. */
async function done(tenant?: string): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from sagacity.operation
    where state = 'succeeded' and tenant = ${tenant ?? sql`tenant`}`;
  return row?.count ?? 0;
}

const allDone = (count: number, tenant?: string) =>
  until(async () => ((await done(tenant)) === count ? true : null), `${count} to be done`, PATIENCE_MS);

describe('a tenant that floods the database, where each may take half of a process', () => {
  test('keeps its half, and what another submits after that is done while the flood is held up', async () => {
    await accepted(charge, FLOOD, 2_000);
    const workers = [processOf({ concurrency: 4 }), processOf({ concurrency: 4 })];
    await Promise.all(workers.map((each) => each.start()));
    await until(() => (underWay === 8 ? true : null), 'the flood to take its share', PATIENCE_MS);

    await accepted(charge, SMALL, 20);
    await allDone(20, SMALL);
    const [underWayThen, doneThen] = [underWay, await done(FLOOD)];
    held.open();
    await allDone(2_020);

    expect([underWayThen, doneThen]).toEqual([8, 0]);
    expect(sent).toHaveLength(2_020);
  });
});

describe.each([
  ['operations', charge, 2_000],
  ['sagas', order, 500],
] as const)('a tenant that floods the database with %s, where nothing limits it', (_, what, count) => {
  test('takes turns with the other, whose are done while most of the flood waits', async () => {
    held.open();
    await accepted(what, FLOOD, count);
    await accepted(what, SMALL, 20);

    await Promise.all([processOf(), processOf()].map((each) => each.start()));
    await allDone(count + 20);

    expect(sent).toHaveLength(count + 20);
    const before = sent.slice(0, sent.lastIndexOf(SMALL)).filter((tenant) => tenant === FLOOD).length;
    // Two first claims of eight, and then as many as of the other, or a few more where both claim at once.
    expect(before).toBeLessThanOrEqual(100);
  });
});
