/**
 * Versions of a saga where their rows are shared: many processes on one PostgreSQL, some of which have a later version, or
 * another chart of the same. Whoever moves a saga on, each of its effects is made once.
 */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { migration, saga, typed } from 'sagacity';
import { type Part, tradeAt, type Trade } from '../support/saga-shop.ts';
import { severable, type SeverableStore } from '../support/severable-store.ts';
import { sharedDatabase, type SharedDatabase } from '../support/shared-database.ts';
import { until } from '../support/world.ts';

let shared: SharedDatabase;
let trade: Trade;

beforeAll(async () => {
  shared = await sharedDatabase();
  trade = tradeAt(shared.provider.url);
});
afterAll(() => shared.close());

/** A process whose worker is found dead soon after it is gone. */
const heartbeat = { every: '200ms', timeout: '1s' } as const;

function versionsOf(name: string) {
  const identity = { input: typed<Part>(), key: ({ input }: { input: Part }) => input.orderId };
  const { authorise, reserve, invoice, pay } = trade;
  const older = saga(name, identity)
    .step('money', authorise, ({ input }) => input)
    .step('goods', reserve, ({ input }) => input)
    .step('payment', pay, ({ input }) => input);
  const withInvoice = (version: number) =>
    saga(name, { ...identity, version })
      .step('money', authorise, ({ input }) => input)
      .step('goods', reserve, ({ input }) => input)
      .step('invoice', invoice, ({ input }) => input)
      .step('payment', pay, ({ input }) => input);
  const newer = withInvoice(2);
  return { older, newer, changed: withInvoice(1), leading: migration(older, newer, ({ state }) => ({ state })) };
}

/** Submits orders to a process that is gone once this many reservations are on their way. */
async function begunAndGone(definition: ReturnType<typeof versionsOf>['older'], orders: readonly string[]) {
  const seen: SeverableStore[] = [];
  const dying = shared.orchestrator({
    ...{ definitions: [definition], heartbeat, concurrency: orders.length },
    seen(store) {
      const cut = severable(store);
      seen.push(cut);
      return cut;
    },
  });
  await dying.start();
  await shared.provider.calls(
    orders.map(() => 'commit-then-hold' as const),
    'reservation',
  );
  const runs = await Promise.all(orders.map((orderId) => dying.submit(definition, { orderId })));
  await until(
    async () => {
      const held = await Promise.all(orders.map((orderId) => shared.kept(orderId)));
      return held.every(({ length }) => length === 2) ? true : null;
    },
    'every reservation to be made',
    25_000,
  );
  for (const store of seen) store.sever();
  return runs;
}

async function rowsOf(name: string) {
  return shared.sql<{ id: string; version: number; state: string; reason: string | null }[]>`
    select id, version, state, reason from sagacity.saga where name = ${name} order by key`;
}

async function quiet(name: string): Promise<void> {
  await until(
    async () => ((await rowsOf(name)).every(({ state }) => state === 'succeeded') ? true : null),
    `every ${name} to have succeeded`,
    25_000,
  );
}

describe('twenty sagas whose process is gone while a step of each was under way', () => {
  test('are moved on by three processes at once, and make each of their effects once', async () => {
    const { older, newer, leading } = versionsOf('sale');
    const orders = Array.from({ length: 20 }, (_, n) => `sale-${n}`);
    await begunAndGone(older, orders);
    await shared.provider.release();
    const all = Array.from({ length: 3 }, () =>
      shared.orchestrator({ definitions: [newer], migrations: [leading], heartbeat }),
    );

    const before = await all[0]?.operator.versions();
    const tried = await all[0]?.operator.migrate(leading, { dryRun: true, limit: 15 });
    await Promise.all(all.map((each) => each.start()));
    await Promise.all(all.map((each) => each.operator.migrate(leading)));
    await quiet('sale');
    const after = await all[0]?.operator.versions();
    await Promise.all(all.map((each) => each.stop()));

    expect(before?.map(({ version, inFlight }) => [version, inFlight])).toEqual([
      [1, 20],
      [2, 0],
    ]);
    expect(tried).toMatchObject({ moves: 15, left: 0, refused: [] });
    expect(after?.map(({ inFlight }) => inFlight)).toEqual([0, 0]);
    expect(new Set((await rowsOf('sale')).map(({ version }) => version))).toEqual(new Set([2]));
    const effects = await Promise.all(orders.map(async (orderId) => (await shared.kept(orderId)).join(' ')));
    expect(new Set(effects)).toEqual(new Set(['authorisation reservation invoice payment']));
  });
});

describe('a saga that a process with another chart meets first', () => {
  test('is escalated, and gone on with by one that has its chart while the other goes on running', async () => {
    const { older, changed: otherwise } = versionsOf('trade');
    const [run] = await begunAndGone(older, ['trade-1']);
    await shared.provider.release();
    const changed = shared.orchestrator({ definitions: [otherwise], heartbeat });
    await changed.start();
    await until(
      async () => ((await rowsOf('trade'))[0]?.state === 'escalated' ? true : null),
      'the saga to be escalated',
      25_000,
    );
    const [escalated] = await rowsOf('trade');
    const listed = await changed.operator.escalatedSagas();

    const fitting = shared.orchestrator({ definitions: [older], heartbeat });
    await fitting.start();
    await until(
      async () => ((await shared.kept('trade-1')).includes('payment') ? true : null),
      'the saga to go on',
      25_000,
    );
    await quiet('trade');
    await Promise.all([changed.stop(), fitting.stop()]);

    expect(escalated).toMatchObject({ reason: 'definition-changed', version: 1 });
    expect(listed.map(({ id }) => id)).toEqual([run?.id]);
    expect(await shared.kept('trade-1')).toEqual(['authorisation', 'reservation', 'payment']);
  });
});
