/**
 * A saga that is a machine of the author's goes on where it stands, whoever drives it next: in nested states, in several
 * at once, and back where it was before. Its delays are due times in the store: late after a restart rather than lost,
 * and never early. What it has left is followed up; what it tries again is another effect under another key; and its
 * named actions are carried out once the turn is written.
 */

import { afterEach, describe, expect, test } from 'vitest';
import { type Orchestrator, saga, typed } from 'sagacity';
import { actorsFrom, refusalOf } from 'sagacity/xstate';
import { assign, raise, setup } from 'xstate';
import { providerKey, scopeOf, stepKey } from '../../src/domain/idempotency.ts';
import { mortal } from '../support/mortal-store.ts';
import {
  approval,
  now,
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

const identity = { input: typed<Part>(), key: ({ input }: { input: Part }) => input.orderId };
const part = ({ context }: { context: Part }): Part => ({ orderId: context.orderId });

type DispatchEvent = { readonly type: 'halted' | 'resumed' | 'collected' };

/** Two things at once, a choice, and a dispatch that can be halted and goes on where it was. */
function dispatch({ authorise, reserve, book }: Trade) {
  const operations = { authorise, reserve, book };
  const machine = setup({
    types: { context: typeOf<Part>(), input: typeOf<Part>(), events: typeOf<DispatchEvent>() },
    actors: actorsFrom(operations),
    guards: { isRegular: ({ context }) => context.orderId !== 'order-0' },
  }).createMachine({
    context: ({ input }) => input,
    initial: 'preparing',
    states: {
      preparing: {
        type: 'parallel',
        states: {
          bank: {
            initial: 'asked',
            states: {
              asked: { invoke: { id: 'money', src: 'authorise', input: part, onDone: 'sure', onError: '#back' } },
              sure: { type: 'final' },
            },
          },
          warehouse: {
            initial: 'asked',
            states: {
              asked: { invoke: { id: 'goods', src: 'reserve', input: part, onDone: 'sure', onError: '#back' } },
              sure: { type: 'final' },
            },
          },
        },
        onDone: 'choosing',
      },
      choosing: { always: [{ guard: 'isRegular', target: 'dispatching' }, { target: '#back' }] },
      dispatching: {
        initial: 'booking',
        on: { halted: 'halting' },
        states: {
          booking: { invoke: { id: 'courier', src: 'book', input: part, onDone: 'ready', onError: '#back' } },
          ready: { on: { collected: '#gone' } },
          before: { type: 'history' },
        },
      },
      halting: { on: { resumed: 'dispatching.before' } },
      back: { id: 'back', invoke: { src: 'compensate', onDone: 'withdrawn' } },
      gone: { id: 'gone', type: 'final' },
      withdrawn: { type: 'final' },
    },
  });
  return saga('dispatch', { ...identity, machine, operations });
}

describe('a machine with nested states, states beside each other and a history', () => {
  test('goes on in the next process where it stands, also where it was before it was halted', async () => {
    shop = await sagaShop();
    const selling = dispatch(shop.trade);
    const first = await shop.open([selling]);
    shop.hold('reservation');
    const { id } = await first.submit(selling, order);
    await shop.held('reservation');
    await shop.rest();
    await died(first);
    shop.letGo('reservation');

    const second = await shop.open([selling]);
    await shop.pass('1m');
    await second.signal(id, { type: 'halted' }, { eventId: 'event-1' });
    await second.stop();
    const third = await shop.open([selling]);
    await third.signal(id, { type: 'resumed' }, { eventId: 'event-2' });
    await third.signal(id, { type: 'collected' }, { eventId: 'event-3' });

    expect(await now(await third.sagaRun(id))).toMatchObject({ status: 'succeeded' });
    expect((await shop.kept()).toSorted()).toEqual(['authorisation', 'booking', 'reservation']);
  });

  test('takes the way that its guards choose', async () => {
    shop = await sagaShop();
    const selling = dispatch(shop.trade);
    const orchestrator = await shop.open([selling]);

    const run = await orchestrator.submit(selling, { orderId: 'order-0' });
    await sagaReached(run, 'compensated');

    const kept = await shop.kept('order-0');
    expect(kept.toSorted()).toEqual(['authorisation', 'release', 'reservation', 'void']);
    expect(await now(run)).toMatchObject({ cause: { step: null } });
  });
});

/** It is not heard of any more: nothing that it still does is written. */
async function died(orchestrator: Orchestrator<true>): Promise<void> {
  let isOver = false;
  const stopping = orchestrator.stop({ within: 0 }).finally(() => {
    isOver = true;
  });
  while (!isOver) await shop.clock.advance('100ms');
  await stopping;
}

describe('a delay of a machine', () => {
  const minutes = (count: number) => shop.pass(count * 60_000);

  async function asking() {
    shop = await sagaShop();
    const selling = approval(shop.trade);
    const orchestrator = await shop.open([selling]);
    const run = await orchestrator.submit(selling, order);
    await sagaReached(run, 'waiting');
    return { selling, orchestrator, id: run.id };
  }

  test('keeps its due time through a restart, and is not early by a second', async () => {
    const { selling, orchestrator, id } = await asking();
    await minutes(20);
    await orchestrator.stop();
    await shop.clock.advance('10m');

    const second = await shop.open([selling]);
    await shop.pass(30 * 60_000 - 1_000);
    const before = await (await second.sagaRun(id)).status();
    await shop.pass('2s');

    expect(before).toBe('waiting');
    expect(await (await second.sagaRun(id)).status()).toBe('compensated');
    expect(await shop.kept()).toEqual(['authorisation', 'void']);
  });

  test('that falls due while nobody works is late, and not lost', async () => {
    const { selling, orchestrator, id } = await asking();
    await orchestrator.stop();
    await shop.clock.advance('2h');

    const second = await shop.open([selling]);
    await shop.pass('2s');

    expect(await (await second.sagaRun(id)).status()).toBe('compensated');
  });

  test('is over when its state is left, and changes nothing then', async () => {
    const { orchestrator, id } = await asking();

    await orchestrator.signal(id, { type: 'approved' }, { eventId: 'event-1' });
    await minutes(61);

    expect(await (await orchestrator.sagaRun(id)).status()).toBe('succeeded');
    expect(await shop.kept()).toEqual(['authorisation', 'reservation']);
  });

  test('begins anew when its state is entered again', async () => {
    shop = await sagaShop();
    const selling = reminding(shop.trade);
    const orchestrator = await shop.open([selling]);
    const run = await orchestrator.submit(selling, order);
    await shop.pass('50m');

    await orchestrator.signal(run.id, { type: 'reminded' }, { eventId: 'event-1' });
    await orchestrator.stop();
    const second = await shop.open([selling]);
    await shop.pass('59m');
    const before = await (await second.sagaRun(run.id)).status();
    await shop.pass('2m');

    expect(before).toBe('waiting');
    expect(await (await second.sagaRun(run.id)).status()).toBe('compensated');
  });

  test('of an event that it raises is one as well', async () => {
    shop = await sagaShop();
    const selling = reminding(shop.trade);
    const first = await shop.open([selling]);
    const { id } = await first.submit(selling, order);
    await first.signal(id, { type: 'promised' }, { eventId: 'event-1' });
    await first.stop();
    await shop.clock.advance('9m');

    const second = await shop.open([selling]);
    await shop.pass('59s');
    const before = await (await second.sagaRun(id)).status();
    await shop.pass('2s');

    expect(before).toBe('waiting');
    expect(await now(await second.sagaRun(id))).toMatchObject({ status: 'succeeded', output: { orderId: 'order-17' } });
  });
});

type Reminding = { readonly type: 'reminded' | 'promised' | 'kept' };

/** An hour from each reminder; a promise is taken as kept after ten minutes. */
function reminding({ authorise }: Trade) {
  const operations = { authorise };
  const machine = setup({
    types: { context: typeOf<Part>(), input: typeOf<Part>(), events: typeOf<Reminding>(), output: typeOf<Part>() },
    actors: actorsFrom(operations),
  }).createMachine({
    context: ({ input }) => input,
    initial: 'asking',
    output: ({ context }) => context,
    states: {
      asking: {
        on: { reminded: { target: 'asking', reenter: true }, promised: 'hoping' },
        after: { 3_600_000: 'back' },
      },
      hoping: { entry: raise({ type: 'kept' }, { id: 'hope', delay: 600_000 }), on: { kept: 'money' } },
      money: { invoke: { id: 'money', src: 'authorise', input: part, onDone: 'sold', onError: 'back' } },
      back: { invoke: { src: 'compensate', onDone: 'withdrawn' } },
      sold: { type: 'final' },
      withdrawn: { type: 'final' },
    },
  });
  return saga('reminding', { ...identity, machine, operations });
}

type Impatience = { readonly type: 'bored' };

/** Does without the goods after five seconds, and takes the payment. */
function impatient({ reserve, pay }: Trade) {
  const operations = { reserve, pay };
  const machine = setup({
    types: { context: typeOf<Part>(), input: typeOf<Part>(), events: typeOf<Impatience>() },
    actors: actorsFrom(operations),
  }).createMachine({
    context: ({ input }) => input,
    initial: 'goods',
    states: {
      goods: {
        invoke: { id: 'goods', src: 'reserve', input: part, onDone: 'payment', onError: 'back' },
        after: { 5_000: 'payment' },
      },
      payment: { invoke: { id: 'payment', src: 'pay', input: part, onDone: 'sold', onError: 'back' } },
      back: { invoke: { src: 'compensate', onDone: 'withdrawn' } },
      sold: { type: 'final' },
      withdrawn: { type: 'final' },
    },
  });
  return saga('impatient', { ...identity, machine, operations });
}

describe('a state that is left while its operation is in flight', () => {
  test('has its late success taken back, and the saga ends when that is done', async () => {
    shop = await sagaShop();
    const selling = impatient(shop.trade);
    const orchestrator = await shop.open([selling]);
    shop.hold('reservation');
    shop.hold('release');
    const run = await orchestrator.submit(selling, order);
    await shop.held('reservation');

    await shop.pass('6s');
    const meanwhile = { status: await run.status(), kept: await shop.kept() };
    shop.letGo('reservation');
    await shop.held('release');
    const takingBack = await run.status();
    shop.letGo('release');
    await shop.pass('1m');

    expect(meanwhile).toEqual({ status: 'in-progress', kept: ['reservation', 'payment'] });
    expect(takingBack).toBe('in-progress');
    expect(await now(run)).toMatchObject({ status: 'succeeded' });
    expect(await shop.kept()).toEqual(['reservation', 'payment', 'release']);
  });

  test('has it taken back also when it is found later that it happened', async () => {
    shop = await sagaShop();
    const selling = impatient(shop.trade);
    const orchestrator = await shop.open([selling]);
    await shop.provider.calls(['do+drop'], 'reservation');
    await shop.provider.lookups(['lookup500', 'lookup500', 'lookup500'], 'reservation');

    const run = await orchestrator.submit(selling, order);
    await shop.pass('5m');

    expect(await run.status()).toBe('succeeded');
    expect(await shop.kept()).toEqual(['reservation', 'payment', 'release']);
  });

  test('has nothing taken back when it fails late', async () => {
    shop = await sagaShop();
    const selling = impatient(shop.trade);
    const orchestrator = await shop.open([selling]);
    shop.hold('reservation');
    await shop.provider.calls(['decline'], 'reservation');
    const run = await orchestrator.submit(selling, order);
    await shop.held('reservation');

    await shop.pass('6s');
    shop.letGo('reservation');
    await shop.pass('1m');

    expect(await run.status()).toBe('succeeded');
    expect(await shop.kept()).toEqual(['payment']);
  });

  test('is not sent any more if it has not been', async () => {
    shop = await sagaShop();
    const selling = impatient(shop.trade);
    const orchestrator = await shop.open([selling], { concurrency: 1 });
    shop.hold('reservation');
    const first = await orchestrator.submit(selling, { orderId: 'order-1' });
    await shop.held('reservation');
    const run = await orchestrator.submit(selling, order);

    await shop.pass('6s');
    shop.letGo('reservation');
    await shop.pass('1m');

    expect([await first.status(), await run.status()]).toEqual(['succeeded', 'succeeded']);
    expect(await shop.kept()).toEqual(['payment']);
    expect((await shop.kept('order-1')).toSorted()).toEqual(['payment', 'release', 'reservation']);
  });
});

type Restocked = { readonly type: 'restocked' | 'rejected' };

/** Tries the goods again when they are restocked; says otherwise only that the customer does not want them. */
function patient({ authorise, reserve, pay }: Trade) {
  const operations = { authorise, reserve, pay };
  const machine = setup({
    types: { context: typeOf<Part>(), input: typeOf<Part>(), events: typeOf<Restocked>() },
    actors: actorsFrom(operations),
    guards: { isDeclined: ({ event }) => refusalOf(event)?.code === 'declined' },
  }).createMachine({
    context: ({ input }) => input,
    initial: 'money',
    states: {
      money: {
        invoke: {
          ...{ id: 'money', src: 'authorise', input: part, onDone: 'goods' },
          onError: [{ guard: 'isDeclined', target: 'payment' }, { target: 'back' }],
        },
      },
      payment: { invoke: { id: 'payment', src: 'pay', input: part, onDone: 'goods', onError: 'back' } },
      goods: { invoke: { id: 'goods', src: 'reserve', input: part, onDone: 'asking', onError: 'empty' } },
      empty: { on: { restocked: 'goods', rejected: 'back' } },
      asking: { on: { restocked: 'sold', rejected: 'back' } },
      back: { invoke: { src: 'compensate', onDone: 'withdrawn' } },
      sold: { type: 'final' },
      withdrawn: { type: 'final' },
    },
  });
  // Not every refusal ends it, and the reader of charts does not see that what leads to the end made up for it.
  const takesNothingBack = 'a refusal is made up for, or leads to compensate';
  return saga('patient', { ...identity, machine, operations, takesNothingBack });
}

describe('a machine that hears of a refusal', () => {
  test('can tell by its code where to go on', async () => {
    shop = await sagaShop();
    const selling = patient(shop.trade);
    const orchestrator = await shop.open([selling]);
    await shop.provider.calls(['decline'], 'authorisation');

    const run = await orchestrator.submit(selling, order);
    await sagaReached(run, 'waiting');

    expect(await shop.kept()).toEqual(['payment', 'reservation']);
  });

  test('and tries the step again sends it as another effect, under a key of its own', async () => {
    shop = await sagaShop();
    const selling = patient(shop.trade);
    const orchestrator = await shop.open([selling]);
    await shop.provider.calls(['decline'], 'reservation');
    const run = await orchestrator.submit(selling, order);
    await sagaReached(run, 'waiting');

    await orchestrator.signal(run.id, { type: 'restocked' }, { eventId: 'event-1' });
    await shop.rest();

    const keys = (await shop.provider.received({ kind: 'reservation' })).map(({ key }) => key);
    expect(keys).toEqual(['goods', 'goods#2'].map(keyOfStep));
    expect(await shop.kept()).toEqual(['authorisation', 'reservation']);
  });

  test('and is taken back because of it says so, also when that is decided later', async () => {
    shop = await sagaShop();
    const selling = patient(shop.trade);
    const orchestrator = await shop.open([selling]);
    await shop.provider.calls(['decline'], 'reservation');
    const run = await orchestrator.submit(selling, order);
    await sagaReached(run, 'waiting');

    await orchestrator.signal(run.id, { type: 'rejected' }, { eventId: 'event-1' });
    await sagaReached(run, 'compensated');

    expect(await now(run)).toEqual({ status: 'compensated', cause: { step: 'goods', code: 'declined' } });
  });

  test('and has made up for it is not taken back because of it', async () => {
    shop = await sagaShop();
    const selling = patient(shop.trade);
    const orchestrator = await shop.open([selling]);
    await shop.provider.calls(['decline'], 'reservation');
    const run = await orchestrator.submit(selling, order);
    await sagaReached(run, 'waiting');
    await orchestrator.signal(run.id, { type: 'restocked' }, { eventId: 'event-1' });
    await shop.rest();

    await orchestrator.signal(run.id, { type: 'rejected' }, { eventId: 'event-2' });
    await sagaReached(run, 'compensated');

    expect(await now(run)).toEqual({ status: 'compensated', cause: { step: null, code: 'rejected' } });
    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'release', 'void']);
  });
});

function keyOfStep(step: string): string {
  return providerKey(scopeOf('shop-1', 'stock.reserve', stepKey({ saga: 'patient', key: 'order-17', step })));
}

/** Keeps the order in which its effects were taken back. */
function remembering({ authorise, reserve, pay }: Trade) {
  const operations = { authorise, reserve, pay };
  const machine = setup({
    types: {
      ...{ context: typeOf<Part & { readonly back: readonly string[] }>(), input: typeOf<Part>() },
      output: typeOf<readonly string[]>(),
    },
    actors: actorsFrom(operations),
  }).createMachine({
    context: ({ input }) => ({ ...input, back: [] }),
    initial: 'money',
    output: ({ context }) => context.back,
    states: {
      money: { invoke: { id: 'money', src: 'authorise', input: part, onDone: 'goods', onError: 'back' } },
      goods: { invoke: { id: 'goods', src: 'reserve', input: part, onDone: 'payment', onError: 'back' } },
      payment: { invoke: { id: 'payment', src: 'pay', input: part, onDone: 'sold', onError: 'back' } },
      back: {
        invoke: {
          id: 'back',
          src: 'compensate',
          onDone: { target: 'withdrawn', actions: assign({ back: ({ event }) => event.output.takenBack }) },
        },
      },
      sold: { type: 'final' },
      withdrawn: { type: 'final' },
    },
  });
  return saga('remembering', { ...identity, machine, operations });
}

describe('a machine that has been taken back', () => {
  test('is told what was, in the order in which it was', async () => {
    shop = await sagaShop();
    const selling = remembering(shop.trade);
    const orchestrator = await shop.open([selling]);
    await shop.provider.calls(['decline'], 'payment');

    const run = await orchestrator.submit(selling, order);
    await sagaReached(run, 'compensated');

    expect((await shop.store.readSaga(run))?.output).toEqual({ value: ['goods', 'money'] });
  });
});

describe('the named actions of a machine', () => {
  const told: string[] = [];
  afterEach(() => {
    told.length = 0;
  });

  function telling({ authorise }: Trade, writes: () => number) {
    const operations = { authorise };
    const machine = setup({
      types: { context: typeOf<Part>(), input: typeOf<Part>() },
      actors: actorsFrom(operations),
      actions: {
        tell: (_, { what }: { what: string }) => void told.push(`${what} after ${writes()}`),
        // Nobody waits for it, and nobody may be brought down by it.
        throwLater: () => Promise.reject(new Error('nobody answers')) as never,
        throwAtOnce() {
          throw new Error('nobody is there');
        },
      },
    }).createMachine({
      context: ({ input }) => input,
      initial: 'money',
      entry: { type: 'tell', params: { what: 'begun' } },
      states: {
        money: {
          invoke: {
            ...{ id: 'money', src: 'authorise', input: part },
            onDone: {
              target: 'sold',
              actions: ['throwLater', 'throwAtOnce', { type: 'tell', params: { what: 'sold' } }],
            },
            onError: 'back',
          },
        },
        back: { invoke: { src: 'compensate', onDone: 'withdrawn' } },
        sold: { type: 'final' },
        withdrawn: { type: 'final' },
      },
    });
    return saga('telling', { ...identity, machine, operations });
  }

  test('are carried out once, when the turn is written that they belong to', async () => {
    shop = await sagaShop();
    const store = mortal(shop.store, null);
    const selling = telling(shop.trade, () => store.writes);
    const orchestrator = await shop.open([selling], { store });

    const run = await orchestrator.submit(selling, order);
    await sagaReached(run, 'succeeded');
    await orchestrator.stop();
    await shop.open([selling]);
    await shop.pass('1m');

    expect(told).toEqual(['begun after 1', 'sold after 2']);
  });

  test('are not carried out when it is not', async () => {
    shop = await sagaShop();
    const store = mortal(shop.store, { side: 'before', write: 2 });
    const selling = telling(shop.trade, () => store.writes);
    const orchestrator = await shop.open([selling], { store });

    await orchestrator.submit(selling, order);
    await shop.rest();

    expect(store.isDead).toBe(true);
    expect(told).toEqual(['begun after 1']);
  });
});
