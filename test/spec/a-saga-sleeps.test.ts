/**
 * A saga waits between two steps for as long as it says: never less, by the clock of the store, whoever is at work when
 * the time is over, and no longer than until somebody calls it off. The provider's records are the proof.
 */

import { afterEach, describe, expect, test } from 'vitest';
import { type Duration, saga, typed } from 'sagacity';
import { memoryStore } from 'sagacity/testing';
import { now, order, type Part, sagaReached, sagaShop, type SagaShop } from '../support/saga-shop.ts';

let shop: SagaShop;
afterEach(() => shop.close());

const DAY_MS = 86_400_000;

/** Authorise, wait, and capture. */
function patient({ authorise, capture }: SagaShop['trade'], pause: Duration | (() => Duration)) {
  return saga('patient', { input: typed<Part>(), key: ({ input }) => input.orderId })
    .step('money', authorise, ({ input }) => input)
    .sleep('returns', pause)
    .pivot('capture', capture, ({ input }) => input);
}

describe('a saga that sleeps between two steps', () => {
  test('waits, and takes the next step when the time is over and not before', async () => {
    shop = await sagaShop();
    const selling = patient(shop.trade, '10m');
    const orchestrator = await shop.open([selling]);
    const run = await orchestrator.submit(selling, order);
    await sagaReached(run, 'waiting');

    await shop.pass('9m');
    await shop.pass('59s');
    const asleep = { status: await run.status(), kept: await shop.kept() };
    await shop.pass('5s');

    expect(asleep).toEqual({ status: 'waiting', kept: ['authorisation'] });
    expect(await now(run)).toMatchObject({ status: 'succeeded' });
    expect(await shop.kept()).toEqual(['authorisation', 'capture']);
  });

  test('is woken by the clock of the store, though that of its process is fast', async () => {
    shop = await sagaShop({}, (clock) => {
      const began = clock.now();
      return memoryStore({ clock: { ...clock, now: () => began + (clock.now() - began) * 0.99 } });
    });
    const selling = patient(shop.trade, '8s');
    const orchestrator = await shop.open([selling]);
    const run = await orchestrator.submit(selling, order);
    await sagaReached(run, 'waiting');

    await shop.pass('9s');

    const [slept, captured] = (await run.history()).filter(({ kind }) => kind === 'end' || kind === 'start').slice(1);
    expect((captured?.at.getTime() ?? 0) - (slept?.at.getTime() ?? 0)).toBeGreaterThanOrEqual(8_000);
    expect(await shop.kept()).toEqual(['authorisation', 'capture']);
  });

  test('sleeps on while no process is there, also for longer than a timer of Node can', async () => {
    shop = await sagaShop();
    const selling = patient(shop.trade, '40d');
    const first = await shop.open([selling]);
    const { id } = await first.submit(selling, order);
    await sagaReached(await first.sagaRun(id), 'waiting');
    await first.stop();

    await shop.clock.advance(40 * DAY_MS - 60_000);
    const second = await shop.open([selling]);
    const run = await second.sagaRun({ saga: selling, key: order.orderId });
    await shop.pass('30s');
    const asleep = { status: await run.status(), kept: await shop.kept() };
    await shop.pass('40s');

    expect(asleep).toEqual({ status: 'waiting', kept: ['authorisation'] });
    expect(await now(run)).toMatchObject({ status: 'succeeded' });
    expect(await shop.kept()).toEqual(['authorisation', 'capture']);
  });

  test('is called off at once, and what it did is taken back', async () => {
    shop = await sagaShop();
    const selling = patient(shop.trade, '14d');
    const orchestrator = await shop.open([selling]);
    const run = await orchestrator.submit(selling, order);
    await sagaReached(run, 'waiting');

    await orchestrator.cancel(run.id, { by: 'the shop', reason: 'the customer changed their mind' });
    await shop.pass('5s');

    expect(await now(run)).toMatchObject({ status: 'compensated', cause: { step: null, code: 'cancelled' } });
    expect(await shop.kept()).toEqual(['authorisation', 'void']);
  });

  test('sleeps in a branch while another one goes on', async () => {
    shop = await sagaShop();
    const { authorise, reserve, pay } = shop.trade;
    const selling = saga('fair', { input: typed<Part>(), key: ({ input }) => input.orderId })
      .parallel('prepare', (branch) => ({
        bank: branch.step('money', authorise, ({ input }) => input),
        warehouse: branch.sleep('restocking', '5m').step('goods', reserve, ({ input }) => input),
      }))
      .step('payment', pay, ({ input }) => input);
    const orchestrator = await shop.open([selling]);
    const run = await orchestrator.submit(selling, order);

    await shop.pass('4m');
    const meanwhile = await shop.kept();
    await shop.pass('2m');

    expect(meanwhile).toEqual(['authorisation']);
    expect(await now(run)).toMatchObject({ status: 'succeeded' });
    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'payment']);
  });

  test('may begin and end with it', async () => {
    shop = await sagaShop();
    const selling = saga('slow', { input: typed<Part>(), key: ({ input }) => input.orderId })
      .sleep('thinking', '1m')
      .step('money', shop.trade.authorise, ({ input }) => input)
      .sleep('resting', '1m');
    const orchestrator = await shop.open([selling]);
    const run = await orchestrator.submit(selling, order);

    await shop.pass('59s');
    const thinking = { status: await run.status(), kept: await shop.kept() };
    await shop.pass('30s');
    const resting = { status: await run.status(), kept: await shop.kept() };
    await shop.pass('1m');

    expect(thinking).toEqual({ status: 'waiting', kept: [] });
    expect(resting).toEqual({ status: 'waiting', kept: ['authorisation'] });
    expect(await now(run)).toMatchObject({ status: 'succeeded' });
  });
});

describe('a saga that sleeps until a point in time', () => {
  /** Authorise, wait for the van, and capture. */
  function boarding({ authorise, capture }: SagaShop['trade'], until: Date | (() => Date)) {
    return saga('boarding', { input: typed<Part>(), key: ({ input }) => input.orderId })
      .step('money', authorise, ({ input }) => input)
      .sleep('van', { until })
      .pivot('capture', capture, ({ input }) => input);
  }

  test('goes on then and not before, whoever is at work, and however late it came there', async () => {
    shop = await sagaShop();
    const leavesAt = new Date(shop.clock.now() + 50 * DAY_MS);
    const selling = boarding(shop.trade, leavesAt);
    shop.hold('authorisation');
    const first = await shop.open([selling]);
    const { id } = await first.submit(selling, order);
    await shop.held('authorisation');
    await shop.pass('8s');
    shop.letGo('authorisation');
    await sagaReached(await first.sagaRun(id), 'waiting');
    await first.stop();

    await shop.clock.advance(leavesAt.getTime() - shop.clock.now() - 10_000);
    const run = await (await shop.open([selling])).sagaRun(id);
    await shop.pass('9s');
    const waiting = await run.status();
    await shop.pass('3s');

    expect(waiting).toBe('waiting');
    expect(await now(run)).toMatchObject({ status: 'succeeded' });
    expect(await shop.kept()).toEqual(['authorisation', 'capture']);
  });

  test('that has passed does not wait', async () => {
    shop = await sagaShop();
    const selling = boarding(shop.trade, () => new Date(0));
    const run = await (await shop.open([selling])).submit(selling, order);

    await shop.pass('1s');

    expect(await now(run)).toMatchObject({ status: 'succeeded' });
  });

  test('that is none is a fault of the definition', async () => {
    shop = await sagaShop();
    const selling = boarding(shop.trade, () => new Date(Number.NaN));
    const run = await (await shop.open([selling])).submit(selling, order);

    await sagaReached(run, 'escalated');

    expect(await now(run)).toMatchObject({ status: 'escalated', reason: 'definition-fault' });
  });
});

describe('a sleep whose length is made of what is known', () => {
  test('sees the input and the outputs of the steps before', async () => {
    shop = await sagaShop();
    const { authorise, reserve } = shop.trade;
    const selling = saga('measured', { input: typed<Part>(), key: ({ input }) => input.orderId })
      .step('money', authorise, ({ input }) => input)
      .sleep('window', ({ input, money }) => (money.id.startsWith('authorisation') ? input.orderId.length * 1_000 : 0))
      .step('goods', reserve, ({ input }) => input);
    const orchestrator = await shop.open([selling]);
    const run = await orchestrator.submit(selling, { orderId: 'ten-chars.' });
    await sagaReached(run, 'waiting');

    await shop.pass('9s');
    const asleep = await shop.kept('ten-chars.');
    await shop.pass('2s');

    expect(asleep).toEqual(['authorisation']);
    expect(await shop.kept('ten-chars.')).toEqual(['authorisation', 'reservation']);
  });

  test('that is none is a fault of the definition: nothing is lost, and the mended one goes on', async () => {
    shop = await sagaShop();
    let pause = 'as long as it takes' as Duration;
    const selling = patient(shop.trade, () => pause);
    const orchestrator = await shop.open([selling]);
    const run = await orchestrator.submit(selling, order);
    await sagaReached(run, 'escalated');
    const faulty = await now(run);

    pause = '10s';
    await shop.pass('2m');

    expect(faulty).toMatchObject({ status: 'escalated', reason: 'definition-fault' });
    expect(await now(run)).toMatchObject({ status: 'succeeded' });
    expect(await shop.kept()).toEqual(['authorisation', 'capture']);
  });
});
