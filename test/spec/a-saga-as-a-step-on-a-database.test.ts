/**
 * Sagas with a saga in them on one PostgreSQL, where parent and child may be driven by different processes: what one has
 * to say to the other is written down, so that the step is begun once, its end is heard of, and it is taken back once.
 */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Orchestrator, saga, type SagaRun, typed } from 'sagacity';
import { parcel, parcelIdOf, sale } from '../support/parcel.ts';
import { type Part, tradeAt, type Trade } from '../support/saga-shop.ts';
import { sharedDatabase, type SharedDatabase } from '../support/shared-database.ts';
import { until } from '../support/world.ts';

let shared: SharedDatabase;
let trade: Trade;

beforeAll(async () => {
  shared = await sharedDatabase();
  trade = tradeAt(shared.provider.url);
});
afterAll(() => shared.close());

const who = { by: 'the shop', reason: 'the customer changed their mind' };

async function rowOf(id: string) {
  return shared.store.readSaga({ tenant: 'shop-1', id });
}

/** The bank and the parcel at the same time, so that the bank takes the one slot of the parent's process. */
function pair() {
  return saga('pair', { input: typed<Part>(), key: ({ input }) => input.orderId })
    .parallel('both', (branch) => ({
      bank: branch.step('money', trade.authorise, ({ input }) => input),
      carrier: branch.step('shipment', parcel(trade), ({ input }) => input),
    }))
    .output(({ shipment }) => shipment);
}

/** A parent whose process waits for the bank, and a child whose process waits for the courier. */
async function apart(orderId: string): Promise<{
  readonly processes: readonly Orchestrator<true>[];
  readonly parent: SagaRun<unknown, unknown>;
  readonly child: string;
}> {
  const definition = pair();
  const [one, other] = [
    shared.orchestrator({ definitions: [definition], concurrency: 1 }),
    shared.orchestrator({ definitions: [parcel(trade)] }),
  ];
  await shared.provider.calls(['commit-then-hold'], 'authorisation');
  await shared.provider.calls(['commit-then-hold'], 'booking');
  await one.start();
  const parent = await one.submit(definition, { orderId });
  await other.start();
  await until(async () => ((await shared.kept(orderId)).includes('booking') ? true : null), 'the courier to be booked');
  return { processes: [one, other], parent, child: parcelIdOf(orderId, 'pair') };
}

describe('a step that is a saga which another process drives', () => {
  test('ends the step when it has ended', async () => {
    const { processes, parent, child } = await apart('order-1');
    const [above, below] = [await rowOf(parent.id), await rowOf(child)];

    await shared.provider.release();
    await shared.sagasSettled();
    await Promise.all(processes.map((each) => each.stop()));

    expect(above?.owner).toEqual(expect.any(String));
    expect(below?.owner).toEqual(expect.any(String));
    expect(below?.owner).not.toBe(above?.owner);
    expect([(await rowOf(parent.id))?.state, (await rowOf(child))?.state]).toEqual(['succeeded', 'succeeded']);
    expect((await shared.kept('order-1')).toSorted()).toEqual(['authorisation', 'booking', 'reservation']);
  });

  test('hears of it when its parent is cancelled', async () => {
    const { processes, parent, child } = await apart('order-2');

    const [one] = processes;
    await one?.cancel(parent.id, who);
    await shared.provider.release();
    await shared.sagasSettled();
    await Promise.all(processes.map((each) => each.stop()));

    expect([(await rowOf(parent.id))?.state, (await rowOf(child))?.state]).toEqual(['compensated', 'compensated']);
    expect((await shared.kept('order-2')).toSorted()).toEqual([
      ...['authorisation', 'booking', 'cancellation', 'release', 'reservation', 'void'],
    ]);
  });
});

describe('thirty sagas with a saga in them that three processes share', () => {
  test('begin each step once, and take back once what has to be', async () => {
    const definition = sale(trade);
    const all = Array.from({ length: 3 }, () => shared.orchestrator({ definitions: [definition], concurrency: 4 }));
    await Promise.all(all.map((each) => each.start()));
    for (const kind of ['payment', 'booking'] as const) {
      await shared.provider.calls(
        Array.from({ length: 8 }, () => 'decline' as const),
        kind,
      );
    }

    const runs = await Promise.all(
      Array.from({ length: 30 }, async (_, n) => all[n % 3]?.submit(definition, { orderId: `order-3-${n}` })),
    );
    await shared.sagasSettled();
    await Promise.all(all.map((each) => each.stop()));

    const done = await Promise.all(
      runs.map(async (run, n) => {
        const [above, below] = [await rowOf(run?.id ?? ''), await rowOf(parcelIdOf(`order-3-${n}`))];
        return `${above?.state} ${below?.state}: ${(await shared.kept(`order-3-${n}`)).join(' ')}`;
      }),
    );
    const before = 'authorisation reservation';
    const ends = [
      ...Array.from({ length: 14 }, () => `succeeded succeeded: ${before} booking payment`),
      ...Array.from({ length: 8 }, () => `compensated compensated: ${before} booking cancellation release void`),
      ...Array.from({ length: 8 }, () => `compensated compensated: ${before} release void`),
    ];
    expect(done.toSorted()).toEqual(ends.toSorted());
  });
});
