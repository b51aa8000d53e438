/**
 * What is more than its limit is refused before anything is written, or has its saga wait for a person with the reason
 * `limit`: nothing grows in silence, nothing is lost, and with a higher limit it goes on.
 */

import { afterEach, describe, expect, test } from 'vitest';
import { saga, signal, succeeded, typed } from 'sagacity';
import { actorsFrom } from 'sagacity/xstate';
import { assign, setup } from 'xstate';
import {
  faultsOf,
  now,
  onlyDoubt,
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

const long = 'x'.repeat(2_000);
const limits = { payload: 1_000 };

describe('an input that is too long', () => {
  test('of what is submitted is refused, and nothing is written', async () => {
    shop = await sagaShop();
    const { authorise } = shop.trade;
    const selling = saga('short', { input: typed<Part>(), key: ({ input }) => input.orderId }).step(
      'money',
      authorise,
      ({ input }) => input,
    );
    const orchestrator = await shop.open([selling], { limits });

    const ofSaga = orchestrator.submit(selling, { ...order, of: long });
    const alone = orchestrator.submit(authorise, { ...order, of: long });

    const refusal = {
      code: 'INPUT_INVALID',
      message: expect.stringMatching(/has \d+ characters as JSON and may have 1000/),
    };
    await expect(ofSaga).rejects.toMatchObject(refusal);
    await expect(alone).rejects.toMatchObject(refusal);
    await expect(ofSaga).rejects.not.toMatchObject({ message: expect.stringContaining('xxx') });
    expect(await shop.kept()).toEqual([]);
  });

  test('of a later step has the saga wait for a person, and goes on where more is allowed', async () => {
    shop = await sagaShop();
    const { authorise, reserve } = shop.trade;
    const selling = saga('longer', { input: typed<Part>(), key: ({ input }) => input.orderId })
      .step('money', authorise, ({ input }) => input)
      .step('goods', reserve, ({ input }) => ({ ...input, of: long }));
    const first = await shop.open([selling], { limits });
    const run = await first.submit(selling, order);
    await sagaReached(run, 'escalated');
    const waiting = { end: await now(run), listed: await first.operator.escalatedSagas(), kept: await shop.kept() };
    await first.stop();

    const second = await shop.open([selling]);
    await shop.pass('2m');

    expect(waiting.end).toMatchObject({ status: 'escalated', reason: 'limit' });
    expect(waiting.listed).toMatchObject([{ id: run.id, reason: 'limit' }]);
    expect(waiting.kept).toEqual(['authorisation']);
    expect(await now(await second.sagaRun(run.id))).toMatchObject({ status: 'succeeded' });
    expect(await shop.kept()).toEqual(['authorisation', 'reservation']);
  });
});

describe('a signal that is too long', () => {
  test('is refused, and nothing is kept', async () => {
    shop = await sagaShop();
    const approved = signal('approved', { payload: typed<{ readonly by: string }>() });
    const selling = saga('short', { input: typed<Part>(), key: ({ input }) => input.orderId }).waitFor(
      'approval',
      approved,
      { within: '1h', otherwise: 'compensate' },
    );
    const orchestrator = await shop.open([selling], { limits });
    const run = await orchestrator.submit(selling, order);

    const refused = orchestrator.signal(run.id, approved, { by: long }, { eventId: 'click-1' });

    await expect(refused).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.stringMatching(/Signal approved/),
    });
    expect(await orchestrator.signalStatus(run.id, { signal: approved, eventId: 'click-1' })).toEqual({
      status: 'unknown',
    });
  });

  test('in number are refused beyond the limit', async () => {
    shop = await sagaShop();
    const packed = signal('packed', { payload: typed<null>() });
    const selling = saga('kept', { input: typed<Part>(), key: ({ input }) => input.orderId })
      .sleep('rest', '1h')
      .waitFor('packing', packed, { within: '1h', otherwise: 'compensate' });
    const orchestrator = await shop.open([selling], { limits: { signals: 2 } });
    const run = await orchestrator.submit(selling, order);
    for (const eventId of ['1', '2']) await orchestrator.signal(run.id, packed, null, { eventId });

    const third = orchestrator.signal(run.id, packed, null, { eventId: '3' });

    await expect(third).rejects.toMatchObject({
      code: 'SIGNAL_REFUSED',
      message: expect.stringMatching(/keeps 2 signals/),
    });
  });
});

describe('an output that is too long', () => {
  test('is an effect that nobody can use: it is not made again, and a person says what it was', async () => {
    shop = await sagaShop();
    const { authorise } = shop.trade;
    // The receipt alone is longer than this.
    const orchestrator = await shop.open([authorise], { limits: { payload: 20 } });
    await orchestrator.submit(authorise, { orderId: 'o-1' });

    await shop.pass('30m');
    const doubt = await onlyDoubt(orchestrator);

    expect(doubt).toMatchObject({ reason: 'output-unusable' });
    expect(await shop.kept('o-1')).toEqual(['authorisation']);
  });

  test('of a saga has it wait for a person with all that it has done, and it ends where more is allowed', async () => {
    shop = await sagaShop();
    const { authorise } = shop.trade;
    const selling = saga('telling', { input: typed<Part>(), key: ({ input }) => input.orderId })
      .step('money', authorise, ({ input }) => input)
      .output(() => ({ story: long }));
    const first = await shop.open([selling], { limits });
    const run = await first.submit(selling, order);
    await sagaReached(run, 'escalated');
    const waiting = { end: await now(run), told: await faultsOf(run) };
    await first.stop();

    const second = await shop.open([selling]);
    await shop.pass('2m');

    expect(waiting.end).toMatchObject({ status: 'escalated', reason: 'limit' });
    expect(waiting.told[0]).toMatch(/Its output has \d+ characters as JSON and may have 1000/);
    expect(await now(await second.sagaRun(run.id))).toMatchObject({ status: 'succeeded', output: { story: long } });
    expect(await shop.kept()).toEqual(['authorisation']);
  });

  test('of a step, stated by a person, is refused before anything is written', async () => {
    shop = await sagaShop();
    const { authorise, capture, book } = shop.trade;
    const selling = saga('stated', { input: typed<Part>(), key: ({ input }) => input.orderId })
      .step('money', authorise, ({ input }) => input)
      .pivot('capture', capture, ({ input }) => input)
      .step('trip', book, ({ input }) => input, { onFailed: 'escalate' });
    await shop.provider.calls(['decline'], 'booking');
    const orchestrator = await shop.open([selling], { limits });
    const run = await orchestrator.submit(selling, order);
    await sagaReached(run, 'escalated');
    const before = await run.history();

    const stated = orchestrator.operator.resolveStep(run.id, succeeded({ story: long }), {
      ...{ step: 'trip', by: 'the shop', evidence: 'a call' },
    });

    await expect(stated).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.stringMatching(/has \d+ characters as JSON and may have 1000/),
    });
    expect(await run.history()).toEqual(before);
  });
});

/** Goes round until it is told to stop. */
function circling({ reserve }: Trade) {
  const operations = { reserve };
  const machine = setup({
    types: {
      ...{ context: typeOf<Part & { readonly rounds: number }>(), input: typeOf<Part>() },
      events: typeOf<{ readonly type: 'stopped' }>(),
    },
    actors: actorsFrom(operations),
    actions: { count: assign({ rounds: ({ context }) => context.rounds + 1 }) },
  }).createMachine({
    id: 'circling',
    context: ({ input }) => ({ ...input, rounds: 0 }),
    initial: 'here',
    states: {
      here: { on: { stopped: 'goods' }, after: { 1_000: { target: 'there', actions: 'count' } } },
      there: { on: { stopped: 'goods' }, after: { 1_000: { target: 'here', actions: 'count' } } },
      goods: {
        invoke: {
          ...{ id: 'goods', src: 'reserve', onDone: 'sold', onError: 'back' },
          input: ({ context: { orderId } }) => ({ orderId }),
        },
      },
      back: { invoke: { src: 'compensate', onDone: 'withdrawn' } },
      sold: { type: 'final' },
      withdrawn: { type: 'final' },
    },
  });
  return saga('circling', { input: typed<Part>(), key: ({ input }) => input.orderId, machine, operations });
}

describe('a chart that moves without end', () => {
  test('waits for a person, who can cancel it', async () => {
    shop = await sagaShop();
    const selling = circling(shop.trade);
    const orchestrator = await shop.open([selling], { limits: { moves: 20 } });
    const run = await orchestrator.submit(selling, order);

    await shop.pass('30s');
    const waiting = await now(run);
    const told = await faultsOf(run);
    await orchestrator.cancel(run.id, { by: 'the shop', reason: 'it goes round in circles' });
    await sagaReached(run, 'compensated');

    expect(waiting).toMatchObject({ status: 'escalated', reason: 'limit' });
    expect(told[0]).toMatch(/moved 20 times/);
    expect(await shop.kept()).toEqual([]);
  });

  test('is taken back all the same when its last move led there', async () => {
    shop = await sagaShop();
    const { authorise, reserve } = shop.trade;
    const selling = saga('short', { input: typed<Part>(), key: ({ input }) => input.orderId })
      .step('money', authorise, ({ input }) => input)
      .step('goods', reserve, ({ input }) => input);
    await shop.provider.calls(['decline'], 'reservation');
    const orchestrator = await shop.open([selling], { limits: { moves: 3 } });
    const run = await orchestrator.submit(selling, order);

    await shop.pass('10s');

    expect(await now(run)).toMatchObject({ status: 'compensated' });
    expect(await shop.kept()).toEqual(['authorisation', 'void']);
  });

  test('goes on where it may move more often', async () => {
    shop = await sagaShop();
    const selling = circling(shop.trade);
    const first = await shop.open([selling], { limits: { moves: 20 } });
    const { id } = await first.submit(selling, order);
    await shop.pass('30s');
    await first.stop();
    const second = await shop.open([selling]);
    await shop.pass('2m');

    await second.signal(id, { type: 'stopped' }, { eventId: 'event-1' });
    await sagaReached(await second.sagaRun(id), 'succeeded');

    expect(await shop.kept()).toEqual(['reservation']);
  });
});

describe('a limit that is none', () => {
  test.each([
    [{ payload: 0 }, /limits\.payload is no whole number from 1/],
    [{ signals: 1.5 }, /limits\.signals/],
    [{ history: 5 }, /limits has no history\. There are payload, signals, moves/],
  ])('%j is refused where the orchestrator is made', async (given, message) => {
    shop = await sagaShop();

    // Nobody with a compiler could write the last of them.
    await expect(shop.open([shop.trade.authorise], { limits: given as never })).rejects.toThrow(message);
  });
});
