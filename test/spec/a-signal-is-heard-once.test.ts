/**
 * An event from outside is given to the chart of a saga once, however often it is sent; it is refused when the chart takes
 * it no more, or not at once where its sender wants it so, with what it would take; and nobody outside can say what only
 * the library knows. Those that come early stand in a spec of their own.
 */

import { afterEach, describe, expect, test } from 'vitest';
import { type Orchestrator, saga, type SignalEvent, type SignalOptions, typed } from 'sagacity';
import { actorsFrom } from 'sagacity/xstate';
import { assign, setup } from 'xstate';
import {
  approval,
  fulfilment,
  now,
  order,
  type Part,
  purchase,
  sagaReached,
  sagaShop,
  type SagaShop,
  type Trade,
  typeOf,
} from '../support/saga-shop.ts';

let shop: SagaShop;
afterEach(() => shop.close());

type Counted = { readonly type: 'counted'; readonly pieces: number } | { readonly type: 'closed' | 'opened' };

/** Counts pieces while it is open, and reserves when it is closed. */
function counting({ reserve }: Trade) {
  const operations = { reserve };
  const machine = setup({
    types: {
      ...{ context: typeOf<Part & { readonly pieces: number }>(), input: typeOf<Part>(), events: typeOf<Counted>() },
      output: typeOf<number>(),
    },
    actors: actorsFrom(operations),
    guards: { isWhole: ({ event }) => event.type === 'counted' && event.pieces > 0 },
  }).createMachine({
    context: ({ input }) => ({ ...input, pieces: 0 }),
    initial: 'shut',
    output: ({ context }) => context.pieces,
    states: {
      shut: { on: { opened: 'open' } },
      open: {
        on: {
          counted: {
            guard: 'isWhole',
            actions: assign({
              pieces: ({ context, event }) => context.pieces + (event.type === 'counted' ? event.pieces : 0),
            }),
          },
          closed: 'goods',
        },
      },
      goods: {
        invoke: {
          ...{ id: 'goods', src: 'reserve', onDone: 'sold', onError: 'back' },
          input: ({ context }) => ({ orderId: context.orderId }),
        },
      },
      back: { invoke: { src: 'compensate', onDone: 'withdrawn' } },
      sold: { type: 'final' },
      withdrawn: { type: 'final' },
    },
  });
  return saga('counting', { input: typed<Part>(), key: ({ input }) => input.orderId, machine, operations });
}

async function open(how: Omit<SignalOptions, 'eventId'> = {}) {
  shop = await sagaShop();
  const selling = counting(shop.trade);
  const orchestrator = await shop.open([selling]);
  const run = await orchestrator.submit(selling, order);
  const tell = (event: SignalEvent, eventId: string, through: Orchestrator<true> = orchestrator) =>
    through.signal(run.id, event, { eventId, ...how });
  return { selling, orchestrator, run, tell };
}

describe('an event that is sent again and again', () => {
  test('is heard once, also by the next process and when it was on its way twice', async () => {
    const { selling, orchestrator, run, tell } = await open();
    const three = { type: 'counted', pieces: 3 };
    await tell({ type: 'opened' }, 'event-1');

    const answers = [
      ...(await Promise.all([tell(three, 'event-2'), tell(three, 'event-2')])),
      await tell(three, 'event-2'),
    ];
    await orchestrator.stop();
    const second = await shop.open([selling]);
    answers.push(await tell(three, 'event-2', second), await tell(three, 'event-3', second));
    await tell({ type: 'closed' }, 'event-4', second);
    const later = await second.sagaRun(run.id);
    await sagaReached(later, 'succeeded');

    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set(['applied']));
    expect(await now(later)).toEqual({ status: 'succeeded', output: 6 });
    expect(await shop.kept()).toEqual(['reservation']);
  });

  test('with another payload is refused, and the first one counts', async () => {
    const { orchestrator, run, tell } = await open();
    await tell({ type: 'opened' }, 'event-1');
    await tell({ type: 'counted', pieces: 3 }, 'event-2');

    const other = tell({ type: 'counted', pieces: 4 }, 'event-2');

    await expect(other).rejects.toMatchObject({
      code: 'IDEMPOTENCY_CONFLICT',
      message: expect.stringMatching(/event-2 of signal counted.*another payload/),
    });
    await tell({ type: 'closed' }, 'event-2');
    await sagaReached(run, 'succeeded');
    expect(await now(run)).toEqual({ status: 'succeeded', output: 3 });
    expect(await orchestrator.signalStatus(run.id, { signal: 'counted', eventId: 'event-2' })).toEqual({
      status: 'applied',
    });
  });

  test('gets the same refusal as before', async () => {
    const { orchestrator, run, tell } = await open({ early: 'refuse' });
    const early = tell({ type: 'counted', pieces: 3 }, 'event-1');
    await expect(early).rejects.toMatchObject({ code: 'SIGNAL_REFUSED' });

    await tell({ type: 'opened' }, 'event-2');
    const again = tell({ type: 'counted', pieces: 3 }, 'event-1');

    await expect(again).rejects.toMatchObject({ code: 'SIGNAL_REFUSED', message: expect.stringMatching(/"shut"/) });
    expect(await orchestrator.signalStatus(run.id, { signal: 'counted', eventId: 'event-1' })).toEqual({
      status: 'refused',
      why: 'saga counting in state "shut" takes opened',
    });
  });
});

describe('an event that the chart does not take', () => {
  test.each([
    { why: 'where it stands, and may not wait', event: { type: 'closed' }, how: { early: 'refuse' } },
    { why: 'anywhere', event: { type: 'sung' }, how: {} },
  ] as const)('$why, is refused with what it would take, and stays on record', async ({ event, how }) => {
    const { run, tell } = await open(how);

    const refused = tell(event, 'event-1');

    const says = expect.stringMatching(/in state "shut" takes opened\./);
    await expect(refused).rejects.toMatchObject({ code: 'SIGNAL_REFUSED', message: says });
    expect(await run.status()).toBe('waiting');
    expect((await run.history()).at(-1)).toMatchObject({ kind: 'evidence', facts: { event, accepted: false } });
  });

  test('because its guard says no, and may not wait, is refused', async () => {
    const { run, tell } = await open({ early: 'refuse' });
    await tell({ type: 'opened' }, 'event-1');

    const refused = tell({ type: 'counted', pieces: 0 }, 'event-2');

    await expect(refused).rejects.toMatchObject({ code: 'SIGNAL_REFUSED' });
    expect(await run.status()).toBe('waiting');
  });

  test('because it is over is refused', async () => {
    const { run, tell } = await open();
    await tell({ type: 'opened' }, 'event-1');
    await tell({ type: 'closed' }, 'event-2');
    await sagaReached(run, 'succeeded');

    const refused = tell({ type: 'opened' }, 'event-3');

    await expect(refused).rejects.toMatchObject({ code: 'SIGNAL_REFUSED', message: expect.stringMatching(/no event/) });
    expect(await run.status()).toBe('succeeded');
  });

  test('because the saga is a chain is refused, and its own events are no secret door', async () => {
    shop = await sagaShop();
    const selling = fulfilment(shop.trade);
    const orchestrator = await shop.open([selling]);
    shop.hold('capture');
    const run = await orchestrator.submit(selling, order);
    await shop.held('capture');

    const refused = orchestrator.signal(run.id, { type: 'approved' }, { eventId: 'event-1' });

    await expect(refused).rejects.toMatchObject({
      code: 'SIGNAL_REFUSED',
      message: expect.stringMatching(/is a chain/),
    });
    for (const type of ['saga.cancelled', 'saga.timedOut', 'verdict.given', 'xstate.done.actor.capture']) {
      const forged = orchestrator.signal(run.id, { type, output: {} }, { eventId: `event of ${type}` });
      await expect(forged).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    }
    shop.letGo('capture');
    await sagaReached(run, 'succeeded');
  });
});

describe('an event', () => {
  test('reaches a saga by its name and key', async () => {
    shop = await sagaShop();
    const selling = approval(shop.trade);
    const orchestrator = await shop.open([selling]);
    const run = await orchestrator.submit(selling, order);
    await sagaReached(run, 'waiting');

    const target = { saga: selling, key: 'order-17' };
    const applied = await orchestrator.signal(target, { type: 'approved' }, { eventId: 'event-1' });
    await sagaReached(run, 'succeeded');

    expect(applied).toEqual({ status: 'applied' });
    expect(await shop.kept()).toEqual(['authorisation', 'reservation']);
  });

  test('for an id that no saga has is refused', async () => {
    shop = await sagaShop();
    const orchestrator = await shop.open([purchase(shop.trade)]);

    const signal = orchestrator.signal('saga-0', { type: 'approved' }, { eventId: 'event-1' });

    await expect(signal).rejects.toMatchObject({ code: 'SAGA_NOT_FOUND' });
  });

  test('that holds what nobody can store is refused with its path', async () => {
    const { run, tell } = await open();

    const refused = tell({ type: 'opened', by: { name: () => 'a function' } }, 'event-1');

    await expect(refused).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.stringMatching(/event\.by\.name/),
    });
    expect(await run.status()).toBe('waiting');
  });

  test('sent where nobody works waits, and is taken by who does', async () => {
    shop = await sagaShop();
    const selling = counting(shop.trade);
    const sender = await shop.open([selling], { start: false });
    const { id } = await sender.submit(selling, order);

    const sending = sender.signal(id, { type: 'opened' }, { eventId: 'event-1', within: '2s' });
    await shop.clock.advance('3s');
    const sent = await sending;
    const worker = await shop.open([selling]);
    await shop.pass('2s');
    const closing = await worker.signal(id, { type: 'closed' }, { eventId: 'event-2' });

    expect(sent).toEqual({ status: 'waiting' });
    expect(closing).toEqual({ status: 'applied' });
  });
});

describe('a step that was refused after the pivot, beside another one', () => {
  test('is decided about by its name', async () => {
    shop = await sagaShop();
    const { capture, email, book } = shop.trade;
    const selling = saga('closing', { input: typed<Part>(), key: ({ input }) => input.orderId })
      .pivot('capture', capture, ({ input }) => input)
      .parallel('closing', (branch) => ({
        customer: branch.step('email', email, ({ input }) => input),
        carrier: branch.step('courier', book, ({ input }) => input),
      }));
    const orchestrator = await shop.open([selling]);
    await shop.provider.calls(['decline'], 'email');
    await shop.provider.calls(['decline'], 'booking');
    const run = await orchestrator.submit(selling, order);
    await sagaReached(run, 'escalated');
    await shop.rest();
    const decision = { by: 'the shop', evidence: 'a call to the carrier' };

    const nameless = orchestrator.operator.resolveStep(run.id, { type: 'not-applied', reason: 'again' }, decision);
    await expect(nameless).rejects.toMatchObject({ code: 'RESOLUTION_REFUSED' });
    const meanwhile = await now(run);
    await orchestrator.operator.resolveStep(
      run.id,
      { type: 'not-applied', reason: 'again' },
      { ...decision, step: 'email' },
    );
    await shop.rest();
    const stated = { type: 'succeeded', output: { id: 'by phone' } } as const;
    await orchestrator.operator.resolveStep(run.id, stated, { ...decision, step: 'courier' });

    expect(meanwhile).toEqual({ status: 'escalated', reason: 'step-failed', cause: null });
    expect(await now(run)).toMatchObject({ status: 'succeeded', output: { courier: { id: 'by phone' } } });
    expect(await shop.kept()).toEqual(['capture', 'email']);
  });
});
