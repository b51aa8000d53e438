/**
 * What is said to a saga before it can take it is kept, also before the saga is there, and given to it in the order in
 * which it came; what comes too late, or has waited for too long, ends refused or expired, and its sender can ask.
 */

import { afterEach, describe, expect, test } from 'vitest';
import { saga, signal, typed } from 'sagacity';
import { now, order, type Part, sagaReached, sagaShop, type SagaShop, type Trade } from '../support/saga-shop.ts';

let shop: SagaShop;
afterEach(() => shop.close());

const approved = signal('approved', { payload: typed<{ readonly by: string }>() });
const packed = signal('packed', { payload: typed<{ readonly boxes: number }>() });

/** Authorise, wait for an approval, reserve, wait for the boxes. */
function careful({ authorise, reserve }: Trade) {
  return saga('careful', { input: typed<Part>(), key: ({ input }) => input.orderId })
    .step('money', authorise, ({ input }) => input)
    .waitFor('approval', approved, { within: '2d', otherwise: 'compensate' })
    .step('goods', reserve, ({ input }) => input)
    .waitFor('packing', packed, { within: '2d', otherwise: 'continue' });
}

async function open() {
  shop = await sagaShop();
  const selling = careful(shop.trade);
  const orchestrator = await shop.open([selling]);
  return { selling, orchestrator, target: { saga: selling, key: order.orderId } };
}

describe('a signal that comes before its saga takes it', () => {
  test('counts when the saga has come to where it waits for it', async () => {
    const { selling, orchestrator, target } = await open();
    shop.hold('authorisation');
    const run = await orchestrator.submit(selling, order);
    await shop.held('authorisation');

    const early = await orchestrator.signal(target, packed, { boxes: 2 }, { eventId: 'scan-1' });
    const earlier = await orchestrator.signal(target, approved, { by: 'the shop' }, { eventId: 'click-1' });
    const asked = await orchestrator.signalStatus(target, { signal: packed, eventId: 'scan-1' });
    shop.letGo('authorisation');
    await sagaReached(run, 'succeeded');

    expect([early, earlier, asked]).toEqual([{ status: 'waiting' }, { status: 'waiting' }, { status: 'waiting' }]);
    expect(await now(run)).toMatchObject({ output: { approval: { by: 'the shop' }, packing: { boxes: 2 } } });
    expect(await orchestrator.signalStatus(target, { signal: packed, eventId: 'scan-1' })).toEqual({
      status: 'applied',
    });
    expect(await shop.kept()).toEqual(['authorisation', 'reservation']);
  });

  test('counts when the saga is not even there, and other processes are at work by then', async () => {
    const { selling, orchestrator, target } = await open();

    const early = await orchestrator.signal(target, approved, { by: 'the shop' }, { eventId: 'click-1' });
    await orchestrator.stop();
    const second = await shop.open([selling]);
    const run = await second.submit(selling, order);
    await shop.pass('5s');

    expect(early).toEqual({ status: 'waiting' });
    expect(await run.status()).toBe('waiting');
    expect(await shop.kept()).toEqual(['authorisation', 'reservation']);
  });

  test('is given to it after those of its kind that came before', async () => {
    const { selling, orchestrator, target } = await open();

    await orchestrator.signal(target, approved, { by: 'the first' }, { eventId: 'click-1' });
    await orchestrator.signal(target, approved, { by: 'the second' }, { eventId: 'click-2' });
    await orchestrator.signal(target, packed, { boxes: 1 }, { eventId: 'scan-1' });
    const run = await orchestrator.submit(selling, order);
    await shop.pass('5s');

    expect(await now(run)).toMatchObject({ output: { approval: { by: 'the first' } } });
    expect(await orchestrator.signalStatus(target, { signal: approved, eventId: 'click-2' })).toMatchObject({
      status: 'refused',
    });
  });

  test('is heard once, however often it is sent while it waits', async () => {
    const { selling, orchestrator, target } = await open();
    const send = () => orchestrator.signal(target, approved, { by: 'the shop' }, { eventId: 'click-1' });

    await Promise.all(Array.from({ length: 10 }, send));
    const run = await orchestrator.submit(selling, order);
    await shop.pass('5s');
    const later = await send();

    const heard = (await run.history()).filter(({ facts }) => facts['accepted'] === true);
    expect(heard).toHaveLength(1);
    expect(later).toEqual({ status: 'applied' });
  });
});

describe('a signal that comes too late', () => {
  test('after the saga has gone on is refused, and says what it takes now', async () => {
    const { selling, orchestrator, target } = await open();
    await orchestrator.submit(selling, order);
    await orchestrator.signal(target, approved, { by: 'the shop' }, { eventId: 'click-1' });
    await shop.rest();

    const late = orchestrator.signal(target, approved, { by: 'another one' }, { eventId: 'click-2' });

    await expect(late).rejects.toMatchObject({
      code: 'SIGNAL_REFUSED',
      message: expect.stringMatching(/saga careful in state "packing" takes packed/),
    });
    expect(await orchestrator.signalStatus(target, { signal: approved, eventId: 'click-2' })).toEqual({
      status: 'refused',
      why: 'saga careful in state "packing" takes packed',
    });
  });

  test('and was kept meanwhile is refused when the saga has ended without', async () => {
    const { selling, orchestrator, target } = await open();
    const run = await orchestrator.submit(selling, order);
    await sagaReached(run, 'waiting');
    await orchestrator.signal(target, packed, { boxes: 2 }, { eventId: 'scan-1' });

    await orchestrator.cancel(run.id, { by: 'the shop', reason: 'sold out' });
    await sagaReached(run, 'compensated');

    expect(await orchestrator.signalStatus(target, { signal: packed, eventId: 'scan-1' })).toMatchObject({
      status: 'refused',
    });
    expect(await shop.kept()).toEqual(['authorisation', 'void']);
  });
});

describe('a signal that is kept for too long', () => {
  test('expires, and the saga does not get it any more', async () => {
    const { selling, orchestrator, target } = await open();
    const run = await orchestrator.submit(selling, order);
    await sagaReached(run, 'waiting');
    await orchestrator.signal(target, packed, { boxes: 2 }, { eventId: 'scan-1', keepFor: '1h' });

    await shop.pass('59m');
    const before = await orchestrator.signalStatus(target, { signal: packed, eventId: 'scan-1' });
    await shop.pass('2m');
    const after = await orchestrator.signalStatus(target, { signal: packed, eventId: 'scan-1' });
    await orchestrator.signal(target, approved, { by: 'the shop' }, { eventId: 'click-1' });
    await shop.rest();
    const again = orchestrator.signal(target, packed, { boxes: 2 }, { eventId: 'scan-1', keepFor: '1h' });

    expect([before, after]).toEqual([{ status: 'waiting' }, { status: 'expired' }]);
    expect(await run.status()).toBe('waiting');
    await expect(again).rejects.toMatchObject({ code: 'SIGNAL_REFUSED', message: expect.stringMatching(/expired/) });
  });

  test('for a saga that never came is told as expired to who asks', async () => {
    const { orchestrator, target } = await open();
    await orchestrator.signal(target, packed, { boxes: 2 }, { eventId: 'scan-1', keepFor: '1h' });

    await shop.pass('61m');

    expect(await orchestrator.signalStatus(target, { signal: packed, eventId: 'scan-1' })).toEqual({
      status: 'expired',
    });
    expect(await orchestrator.signalStatus(target, { signal: 'packed', eventId: 'scan-2' })).toEqual({
      status: 'unknown',
    });
  });
});

describe('more signals than a saga keeps', () => {
  test('are refused, and those before count', async () => {
    const { selling, orchestrator, target } = await open();
    const run = await orchestrator.submit(selling, order);
    await sagaReached(run, 'waiting');
    for (let n = 1; n <= 100; n += 1) {
      await orchestrator.signal(target, packed, { boxes: n }, { eventId: `scan-${n}` });
    }

    const another = orchestrator.signal(target, packed, { boxes: 101 }, { eventId: 'scan-101' });

    await expect(another).rejects.toMatchObject({
      code: 'SIGNAL_REFUSED',
      message: expect.stringMatching(/keeps 100 signals/),
    });
    // What it waits for is no more than it takes at once.
    await orchestrator.signal(target, approved, { by: 'the shop' }, { eventId: 'click-1' });
    await sagaReached(run, 'succeeded');
    expect(await now(run)).toMatchObject({ output: { packing: { boxes: 1 } } });
  });
});
