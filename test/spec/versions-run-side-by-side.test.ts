/**
 * Versions of a saga run side by side: what is new begins in the newest, what is under way ends in the version in which it
 * began, in a process that has it. One order is one saga, in whichever version it is submitted. How many are left of each
 * version is one question.
 */

import { afterEach, describe, expect, test } from 'vitest';
import { saga, typed } from 'sagacity';
import { order, type Part, purchase, sagaReached, sagaShop, type SagaShop } from '../support/saga-shop.ts';
import { severable } from '../support/severable-store.ts';

let shop: SagaShop;
afterEach(() => shop.close());

const identity = { input: typed<Part>(), key: ({ input }: { input: Part }) => input.orderId };

/** The first authorises and takes the payment; the second reserves between the two. */
function versions() {
  const { authorise, reserve, pay } = shop.trade;
  const first = saga('selling', identity)
    .step('money', authorise, ({ input }) => input)
    .step('payment', pay, ({ input }) => input);
  const second = saga('selling', { ...identity, version: 2 })
    .step('money', authorise, ({ input }) => input)
    .step('goods', reserve, ({ input }) => input)
    .step('payment', pay, ({ input }) => input);
  return { first, second };
}

describe('a process that has two versions of a saga', () => {
  test('begins what is new in the newest, and refuses to begin anything in the older one', async () => {
    shop = await sagaShop();
    const { first, second } = versions();
    const orchestrator = await shop.open([first, second]);

    const older = orchestrator.submit(first, order);
    await expect(older).rejects.toMatchObject({
      code: 'DEFINITION_INVALID',
      message: expect.stringMatching(/selling is submitted in version 1.* newest version here is 2.* still under way/),
      facts: { saga: 'selling', version: 1, newest: 2 },
    });
    const keptByThen = await shop.kept();
    await sagaReached(await orchestrator.submit(second, order), 'succeeded');

    expect(keptByThen).toEqual([]);
    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'payment']);
  });

  test('has one saga of one order: submitted again in the newest while the older is under way, it charges once', async () => {
    shop = await sagaShop();
    const { first, second } = versions();
    const old = await shop.open([first]);
    shop.hold('authorisation');
    const begun = await old.submit(first, order);
    await shop.held('authorisation');

    const both = await shop.open([first, second]);
    const joined = await both.submit(second, order);
    shop.letGo('authorisation');
    await sagaReached(joined, 'succeeded');
    const replayed = await both.submit(second, order);

    expect([joined.id, joined.submission]).toEqual([begun.id, 'joined']);
    expect([replayed.id, replayed.submission]).toEqual([begun.id, 'replayed']);
    expect(await shop.store.readSaga(begun)).toMatchObject({ version: 1 });
    expect(await shop.kept()).toEqual(['authorisation', 'payment']);
  });
});

describe('a saga in a version that no process has', () => {
  test('is left alone, is counted, and goes on in a process that has it', async () => {
    shop = await sagaShop();
    const { first, second } = versions();
    const submitting = await shop.open([first], { start: false });
    const run = await submitting.submit(first, order);

    const newer = await shop.open([second]);
    await shop.pass('10m');
    const left = await shop.store.readSaga(run);
    const meanwhile = await newer.operator.versions();
    const older = await shop.open([first]);
    await shop.pass('5s');

    expect(left).toMatchObject({ state: 'in-progress', revision: 1, owner: null, version: 1 });
    expect(meanwhile).toEqual([
      { saga: 'selling', version: 1, inFlight: 1, escalated: 0, isRegistered: false },
      { saga: 'selling', version: 2, inFlight: 0, escalated: 0, isRegistered: true },
    ]);
    expect(await (await older.sagaRun(run.id)).status()).toBe('succeeded');
    expect(await shop.kept()).toEqual(['authorisation', 'payment']);
  });
});

describe('thirty sagas whose process is gone', () => {
  test('are counted by one that has another version only, and ended by one that is built anew with theirs', async () => {
    shop = await sagaShop();
    const { first, second } = versions();
    const orders = Array.from({ length: 30 }, (_, n) => `order-${n}`);
    const store = severable(shop.store);
    const gone = await shop.open([first], { store, concurrency: orders.length });
    shop.hold('authorisation');
    const runs = await Promise.all(orders.map((orderId) => gone.submit(first, { orderId })));
    await shop.held('authorisation');
    await shop.rest();
    store.sever();
    shop.letGo('authorisation');

    const other = await shop.open([second]);
    await shop.pass('2m');
    const counted = await other.operator.versions();
    const meanwhile = await Promise.all(orders.map((orderId) => shop.kept(orderId)));
    const rebuilt = await shop.open([versions().first]);
    await shop.pass('5m');

    expect(counted[0]).toEqual({ saga: 'selling', version: 1, inFlight: 30, escalated: 0, isRegistered: false });
    expect(new Set(meanwhile.map((kinds) => kinds.join(' ')))).toEqual(new Set(['authorisation']));
    for (const { id } of runs) expect(await (await rebuilt.sagaRun(id)).status()).toBe('succeeded');
    for (const orderId of orders) expect(await shop.kept(orderId)).toEqual(['authorisation', 'payment']);
  });
});

describe('the versions of sagas', () => {
  test('are told with what is in flight and what of it is escalated, of one tenant', async () => {
    shop = await sagaShop({ reservation: { keyRetention: 'none', lookup: 'none' } });
    const { second } = versions();
    const buying = purchase(shop.trade);
    const orchestrator = await shop.open([second, buying]);
    const other = await shop.open([second, buying], { tenant: 'shop-2' });
    await shop.provider.calls(['drop'], 'reservation');
    const stuck = await orchestrator.submit(second, order);
    await sagaReached(stuck, 'escalated');
    shop.hold('payment');
    await orchestrator.submit(second, { orderId: 'order-18' });
    await orchestrator.submit(buying, { orderId: 'order-19' });
    await shop.held('payment');

    const [mine, others] = [await orchestrator.operator.versions(), await other.operator.versions()];

    expect(mine).toEqual([
      { saga: 'purchase', version: 1, inFlight: 1, escalated: 0, isRegistered: true },
      { saga: 'selling', version: 2, inFlight: 2, escalated: 1, isRegistered: true },
    ]);
    expect(others.map(({ inFlight }) => inFlight)).toEqual([0, 0]);
  });
});
