/**
 * Whoever shows a saga to people can ask what it would take where it stands, and wait until it has come to a state, or to
 * one with a tag: also when that was another process's doing, and when it has gone on since.
 */

import { afterEach, describe, expect, test } from 'vitest';
import { saga, signal, typed } from 'sagacity';
import { actorsFrom } from 'sagacity/xstate';
import { setup } from 'xstate';
import {
  approval,
  order,
  type Part,
  sagaReached,
  sagaShop,
  type SagaShop,
  type Trade,
  typeOf,
} from '../support/saga-shop.ts';

let shop: SagaShop;
afterEach(() => shop.close());

const approved = signal('approved', { payload: typed<{ readonly by: string }>() });
const packed = signal('packed', { payload: typed<null>() });

function careful({ authorise, reserve }: Trade) {
  return saga('careful', { input: typed<Part>(), key: ({ input }) => input.orderId })
    .step('money', authorise, ({ input }) => input)
    .parallel('checks', (branch) => ({
      office: branch.waitFor('approval', approved, { within: '2d', otherwise: 'compensate' }),
      stock: branch.waitFor('packing', packed, { within: '2d', otherwise: 'compensate' }),
    }))
    .step('goods', reserve, ({ input }) => input);
}

describe('what a saga would take', () => {
  test('is what it waits for where it stands', async () => {
    shop = await sagaShop();
    const selling = careful(shop.trade);
    const orchestrator = await shop.open([selling]);
    shop.hold('authorisation');
    const run = await orchestrator.submit(selling, order);
    await shop.held('authorisation');
    const before = await run.accepts();
    shop.letGo('authorisation');
    await sagaReached(run, 'waiting');
    const both = await run.accepts();
    await orchestrator.signal(run.id, approved, { by: 'the shop' }, { eventId: 'click-1' });
    const one = await run.accepts();
    await orchestrator.signal(run.id, packed, null, { eventId: 'scan-1' });
    await sagaReached(run, 'succeeded');

    expect([before, both, one, await run.accepts()]).toEqual([[], ['approved', 'packed'], ['packed'], []]);
  });

  test('of a machine of the author are its own events, and nothing while it is taken back', async () => {
    shop = await sagaShop();
    const selling = approval(shop.trade);
    const orchestrator = await shop.open([selling]);
    const run = await orchestrator.submit(selling, order);
    await sagaReached(run, 'waiting');
    const waiting = await run.accepts();
    shop.hold('void');
    await orchestrator.cancel(run.id, { by: 'the shop', reason: 'sold out', within: 0 });
    await shop.held('void');

    expect(waiting).toEqual(['approved', 'rejected']);
    expect(await run.accepts()).toEqual([]);
  });

  test('cannot be told where its definition is not listed', async () => {
    shop = await sagaShop();
    const selling = careful(shop.trade);
    const { id } = await (await shop.open([selling])).submit(selling, order);
    const elsewhere = await shop.open([shop.trade.authorise]);

    await expect((await elsewhere.sagaRun(id)).accepts()).rejects.toMatchObject({ code: 'DEFINITION_MISSING' });
  });
});

describe('who waits until a saga has come to a state', () => {
  test('is told when it is there', async () => {
    shop = await sagaShop();
    const selling = careful(shop.trade);
    const orchestrator = await shop.open([selling]);
    shop.hold('authorisation');
    const run = await orchestrator.submit(selling, order);
    const asking = run.reached('approval', { within: '1m' });
    await shop.held('authorisation');

    shop.letGo('authorisation');

    expect(await asking).toBe(true);
  });

  test('is told so when it has been there, and left it', async () => {
    shop = await sagaShop();
    const selling = careful(shop.trade);
    const run = await (await shop.open([selling])).submit(selling, order);
    await sagaReached(run, 'waiting');

    expect(await run.reached('money', { within: 0 })).toBe(true);
  });

  test('is told that it is not when the time is over, or it has ended without', async () => {
    shop = await sagaShop();
    const selling = careful(shop.trade);
    const orchestrator = await shop.open([selling]);
    const run = await orchestrator.submit(selling, order);
    await sagaReached(run, 'waiting');
    const asking = run.reached('goods', { within: '5s' });
    await shop.pass('6s');
    const inTime = await asking;

    await orchestrator.cancel(run.id, { by: 'the shop', reason: 'sold out' });
    await sagaReached(run, 'compensated');

    expect([inTime, await run.reached('goods', { within: '1h' })]).toEqual([false, false]);
  });

  test('by a tag is told when it is in a state that has it', async () => {
    shop = await sagaShop();
    const { reserve } = shop.trade;
    const machine = setup({
      types: { context: typeOf<Part>(), input: typeOf<Part>(), events: typeOf<{ readonly type: 'approved' }>() },
      actors: actorsFrom({ reserve }),
    }).createMachine({
      id: 'tagged',
      context: ({ input }) => input,
      initial: 'goods',
      states: {
        goods: {
          invoke: { id: 'goods', src: 'reserve', input: ({ context }) => context, onDone: 'desk', onError: 'back' },
        },
        desk: { tags: ['asks a person'], on: { approved: 'sold' } },
        back: { invoke: { src: 'compensate', onDone: 'withdrawn' } },
        sold: { type: 'final' },
        withdrawn: { type: 'final' },
      },
    });
    const operations = { reserve };
    const selling = saga('tagged', { input: typed<Part>(), key: ({ input }) => input.orderId, machine, operations });
    shop.hold('reservation');
    const run = await (await shop.open([selling])).submit(selling, order);
    await shop.held('reservation');
    const before = await run.reached({ tag: 'asks a person' }, { within: 0 });
    const asking = run.reached({ tag: 'asks a person' }, { within: '1m' });

    shop.letGo('reservation');

    expect([before, await asking]).toEqual([false, true]);
  });
});
