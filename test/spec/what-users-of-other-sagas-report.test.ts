/**
 * What users of other saga systems have reported, tried here. What is tried in another specification, or cannot happen,
 * is listed at the end with the reason.
 */

import { afterEach, describe, expect, test } from 'vitest';
import { operation, type Orchestrator, saga, type SagaState, succeeded, typed } from 'sagacity';
import { actorsFrom } from 'sagacity/xstate';
import { memoryStore } from 'sagacity/testing';
import { assign, setup } from 'xstate';
import type { SagaTurn, Store } from '../../src/ports/store.ts';
import { overlay } from '../../src/testing/overlay.ts';
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
  typeOf,
} from '../support/saga-shop.ts';

let shop: SagaShop;
afterEach(() => shop.close());

const who = { by: 'the shop', reason: 'the customer changed their mind' };
const identity = { input: typed<Part>(), key: ({ input }: { input: Part }) => input.orderId };

/** A store that keeps the states that each saga was written in. */
function watching(store: Store): { readonly store: Store; readonly states: Map<string, SagaState[]> } {
  const states = new Map<string, SagaState[]>();
  const seen = overlay(store, {
    async sagaTurn(turn: SagaTurn) {
      const receipt = await store.sagaTurn(turn);
      if (receipt !== null) states.set(turn.id, [...(states.get(turn.id) ?? []), turn.state]);
      return receipt;
    },
  });
  return { store: seen, states };
}

describe('a saga that has ended', () => {
  test('is written in no other state any more, whatever comes late', async () => {
    shop = await sagaShop({ reservation: { isDeaf: true } });
    const selling = purchase(shop.trade, { within: '5m' });
    const { store, states } = watching(shop.store);
    const orchestrator = await shop.open([selling], { store });
    const ids: string[] = [];
    for (const [n, modes] of [['ok'], ['do+drop'], ['drop'], ['decline'], ['busy409', 'do+500']].entries()) {
      await shop.provider.calls(modes as ['ok'], 'reservation');
      const run = await orchestrator.submit(selling, { orderId: `order-${n}` });
      ids.push(run.id);
      if (n % 2 === 1) await orchestrator.cancel(run.id, who);
      await shop.pass('2m');
    }

    for (const id of ids) {
      await orchestrator.cancel(id, who);
      await orchestrator.operator.terminate(id, who).catch(() => {});
      await orchestrator.signal(id, { type: 'approved' }, { eventId: 'event-1' }).catch(() => {});
    }
    await shop.pass('10m');

    for (const id of ids) {
      const written = states.get(id) ?? [];
      const ends = written.filter((state) => ['succeeded', 'compensated', 'terminated'].includes(state));
      expect(ends.length).toBeGreaterThan(0);
      expect(new Set(ends).size).toBe(1);
      expect(written.slice(written.indexOf(ends[0] ?? 'waiting'))).toEqual(ends);
    }
  });

  test('hears nothing of a deadline that passes afterwards', async () => {
    shop = await sagaShop();
    const selling = purchase(shop.trade, { within: '1m' });
    const errors: string[] = [];
    const silent = () => {};
    const logger = {
      debug: silent,
      info: silent,
      warn: silent,
      error: (_: object, says: string) => void errors.push(says),
    };
    const orchestrator = await shop.open([selling], { logger });
    const run = await orchestrator.submit(selling, order);
    await sagaReached(run, 'succeeded');
    const row = await shop.store.readSaga(run);

    await shop.pass('5m');

    expect((await shop.store.readSaga(run))?.revision).toBe(row?.revision);
    expect(errors).toEqual([]);
  });
});

describe('a reply that comes before anything could be saved', () => {
  test('does not exist: what is sent is in the store before it is sent', async () => {
    shop = await sagaShop();
    const found: unknown[] = [];
    const look = operation('look', {
      input: typed<Part>(),
      async execute() {
        const row = await shop.store.readSagaByIdentity({ tenant: 'shop-1', name: 'looking', key: 'order-17' });
        found.push(row?.operations.map(({ action, state }) => `${action} ${state}`));
        return succeeded({});
      },
      compensate: { none: 'it only looks' },
      ...{ keyRetention: '24h', lookup: 'none' },
    });
    const selling = saga('looking', identity)
      .step('first', look, ({ input }) => input)
      .step('second', look, ({ input }) => input);
    const orchestrator = await shop.open([selling]);

    const run = await orchestrator.submit(selling, order);
    await sagaReached(run, 'succeeded');

    expect(found).toEqual([['look in-progress'], ['look succeeded', 'look in-progress']]);
  });
});

describe('a reply that comes after its time was over', () => {
  test('settles the step, and the saga goes on with it', async () => {
    shop = await sagaShop({ reservation: { isDeaf: true } });
    const selling = purchase(shop.trade);
    const orchestrator = await shop.open([selling]);
    shop.hold('reservation');
    await shop.provider.lookups(['lookup500', 'lookup500', 'lookup500'], 'reservation');
    const run = await orchestrator.submit(selling, order);
    await shop.held('reservation');

    await shop.pass('12s');
    const before = (await shop.store.readSaga(run))?.operations.map(({ state }) => state);
    shop.letGo('reservation');
    await sagaReached(run, 'succeeded');

    expect(before).toEqual(['succeeded', 'reconciling']);
    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'payment']);
  });
});

describe('a delay that two processes see', () => {
  test('is over once', async () => {
    shop = await sagaShop({}, (clock) => Object.assign(memoryStore({ clock }), { exclusive: false }));
    const selling = approval(shop.trade);
    const first = await shop.open([selling]);
    await shop.open([selling]);
    const runs = await Promise.all(
      Array.from({ length: 10 }, (_, n) => first.submit(selling, { orderId: `order-${n}` })),
    );

    await shop.pass('61m');

    for (const [n, run] of runs.entries()) {
      expect(await run.status()).toBe('compensated');
      expect(await shop.kept(`order-${n}`)).toEqual(['authorisation', 'void']);
      const moved = (await run.history()).filter(({ states }) => states?.includes('compensating'));
      expect(moved).toHaveLength(1);
    }
  });
});

type Counted = { readonly type: 'counted' | 'closed' };

describe('a saga that many events are given to at once', () => {
  test('takes each of them once, and has no conflict', async () => {
    shop = await sagaShop();
    const operations = { authorise: shop.trade.authorise };
    const machine = setup({
      types: {
        ...{ context: typeOf<Part & { readonly count: number }>(), input: typeOf<Part>(), events: typeOf<Counted>() },
        output: typeOf<number>(),
      },
      actors: actorsFrom(operations),
    }).createMachine({
      context: ({ input }) => ({ ...input, count: 0 }),
      initial: 'open',
      output: ({ context }) => context.count,
      states: {
        open: {
          on: { counted: { actions: assign({ count: ({ context }) => context.count + 1 }) }, closed: 'money' },
        },
        money: {
          invoke: {
            ...{ id: 'money', src: 'authorise', onDone: 'sold', onError: 'back' },
            input: ({ context }) => ({ orderId: context.orderId }),
          },
        },
        back: { invoke: { src: 'compensate', onDone: 'withdrawn' } },
        sold: { type: 'final' },
        withdrawn: { type: 'final' },
      },
    });
    const selling = saga('counting', { ...identity, machine, operations });
    const orchestrator = await shop.open([selling]);
    const run = await orchestrator.submit(selling, order);

    const signals = Array.from({ length: 200 }, (_, n) =>
      orchestrator.signal(run.id, { type: 'counted' }, { eventId: `event-${n % 100}` }),
    );
    const answers = await Promise.all(signals);
    await orchestrator.signal(run.id, { type: 'closed' }, { eventId: 'the last' });
    await sagaReached(run, 'succeeded');

    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set(['applied']));
    expect(await now(run)).toEqual({ status: 'succeeded', output: 100 });
  });
});

describe('an event that concerns many sagas', () => {
  test('reaches each of them', async () => {
    shop = await sagaShop();
    const selling = approval(shop.trade);
    const orchestrator = await shop.open([selling], { concurrency: 4 });
    const keys = Array.from({ length: 20 }, (_, n) => `order-${n}`);
    const runs = await Promise.all(keys.map((orderId) => orchestrator.submit(selling, { orderId })));
    await Promise.all(runs.map((run) => sagaReached(run, 'waiting')));

    await Promise.all(
      keys.map((key) => orchestrator.signal({ saga: selling, key }, { type: 'approved' }, { eventId: 'event-1' })),
    );
    await Promise.all(runs.map((run) => sagaReached(run, 'succeeded')));

    for (const key of keys) expect(await shop.kept(key)).toEqual(['authorisation', 'reservation']);
  });
});

describe('two versions of a saga', () => {
  function versions() {
    const { authorise, pay, cancelBooking, voiding } = shop.trade;
    const first = saga('selling', identity)
      .step('money', authorise, ({ input }) => input, {
        compensate: { operation: voiding, input: ({ input }) => input },
      })
      .step('payment', pay, ({ input }) => input);
    const second = saga('selling', { ...identity, version: 2 })
      .step('money', authorise, ({ input }) => input, {
        compensate: { operation: cancelBooking, input: ({ input }) => input },
      })
      .step('payment', pay, ({ input }) => input);
    return { first, second };
  }

  test('run side by side, and each is taken back as it was begun', async () => {
    shop = await sagaShop();
    const { first, second } = versions();
    const old = await shop.open([first]);
    shop.hold('payment');
    const { id } = await old.submit(first, order);
    await shop.held('payment');
    await stopped(old);
    shop.letGo('payment');

    const both = await shop.open([first, second]);
    await both.cancel(id, who);
    await shop.provider.calls(['decline'], 'payment');
    const after = await both.submit(second, { orderId: 'order-18' });
    await shop.pass('5m');

    expect(await (await both.sagaRun(id)).status()).toBe('compensated');
    expect(await shop.kept()).toEqual(['authorisation', 'payment', 'refund', 'void']);
    expect(await after.status()).toBe('compensated');
    expect(await shop.kept('order-18')).toEqual(['authorisation', 'cancellation']);
  });
});

async function stopped(orchestrator: Orchestrator<true>): Promise<void> {
  let isOver = false;
  const stopping = orchestrator.stop({ within: 0 }).finally(() => {
    isOver = true;
  });
  while (!isOver) await shop.clock.advance('100ms');
  await stopping;
}

describe('two things of one name', () => {
  test.each([
    {
      what: 'two actions',
      make: () => {
        const twin = operation('payment.void', {
          ...({ input: typed<Part>(), keyRetention: '24h', lookup: 'none' } as const),
          execute: () => succeeded({}),
        });
        return [fulfilment(shop.trade), twin];
      },
    },
    { what: 'two sagas', make: () => [purchase(shop.trade), purchase(shop.trade)] },
  ])('$what are refused when they are registered', async ({ make }) => {
    shop = await sagaShop();

    const opening = shop.open(make());

    await expect(opening).rejects.toMatchObject({ code: 'DEFINITION_INVALID' });
  });
});

// Tried in another specification:
//  - Compensation runs while the action is in flight: compensation-is-real, branches-are-awaited-before-any-is-taken-back.
//  - Compensation is retried for ever: a-compensation-can-be-unknown-too, 'asks a person for another one ...'.
//  - A crash in the midst of compensation: a-saga-survives-a-crash-anywhere, around each single write.
//  - A crash leaves the instance running, and nobody may go on with it: sagas-on-a-database, 'is gone on with by another
//    one ...'.
//  - The business error is lost after a compensation: what-a-saga-answers, compensation-is-real.
//  - The same saga is begun twice at once: what-a-saga-answers, 'fifty times at once is carried out once'.
//  - The definition changed under a running instance: a-definition-at-fault-changes-nothing, 'is left as it is ...'.
//  - Compensations do not run on cancellation; terminating is something else: cancelling-a-saga, in every situation.
//  - Compensation without an order, or only one after the other: compensation-is-real.
//
// Cannot happen here:
//  - An instance of a sub-machine is not recorded: operations are the only children, and each is written with the turn
//    that begins it.
//  - The store of development is laxer than that of production: both keep one suite of promises (test/conformance).
//  - A unique index on every correlated property is too strict: a saga has one identity; whatever else is in its input
//    is no key.
//  - Migrating an instance with an incident breaks it: instances are not migrated; versions run side by side.
