/**
 * A step can be a saga of its own. It is begun once, whatever happens; its end is the end of the step; and what it did is
 * taken back in its place among the other steps, by itself. The provider's records are the proof.
 */

import { afterEach, describe, expect, test } from 'vitest';
import { saga, type SagaRun, type SagaState, succeeded, typed } from 'sagacity';
import { actorsFrom } from 'sagacity/xstate';
import { assign, setup } from 'xstate';
import { type SaidOfSaga, toBody } from '../../src/orchestrator/handover.ts';
import { failingOver, type FailingOver } from '../support/failing-over.ts';
import { mortal } from '../support/mortal-store.ts';
import { parcel, parcelIdOf, sale, selling, slowSale } from '../support/parcel.ts';
import {
  faultsOf,
  now,
  onlyDoubt,
  order,
  type Part,
  sagaReached,
  sagaShop,
  type SagaShop,
  typeOf,
} from '../support/saga-shop.ts';
import { until } from '../support/world.ts';

let shop: SagaShop;
afterEach(() => shop.close());

const who = { by: 'the shop', reason: 'the customer changed their mind' };

function statesOf(...runs: readonly Pick<SagaRun, 'status'>[]): Promise<readonly SagaState[]> {
  return Promise.all(runs.map((run) => run.status()));
}

describe('a step that is a saga', () => {
  test('has an identity and a history of its own, and gives its output to its parent', async () => {
    shop = await sagaShop();
    const { parent, child } = await selling(shop);

    await sagaReached(parent, 'succeeded');
    const run = await child();

    expect(await now(parent)).toEqual({ status: 'succeeded', output: { booked: 'booking_1' } });
    expect(await now(run)).toEqual({ status: 'succeeded', output: { booked: 'booking_1' } });
    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'booking', 'payment']);
    expect((await run.history()).some(({ operation }) => operation?.action === 'courier.book')).toBe(true);
    expect((await parent.history()).some(({ operation }) => operation?.action === 'courier.book')).toBe(false);
  });

  test('is told in the history of its parent, with its id and how it ended', async () => {
    shop = await sagaShop();
    const { parent } = await selling(shop);

    await sagaReached(parent, 'succeeded');
    const told = (await parent.history()).flatMap(({ facts }) => facts['child'] ?? []);

    const named = { step: 'shipment', saga: parcelIdOf(), name: 'parcel' };
    expect(told).toEqual([
      { ...named, state: null },
      { ...named, state: 'succeeded' },
    ]);
  });

  test('can be the first one, and is then begun with its parent', async () => {
    shop = await sagaShop();
    const only = saga('only', { input: typed<Part>(), key: ({ input }) => input.orderId })
      .step('shipment', parcel(shop.trade), ({ input }) => input)
      .output(({ shipment }) => shipment.booked);
    const orchestrator = await shop.open([only]);

    const run = await orchestrator.submit(only, order);
    await sagaReached(run, 'succeeded');

    expect(await now(run)).toEqual({ status: 'succeeded', output: 'booking_1' });
  });

  test('can have a step that is a saga itself, as deep as that is', async () => {
    shop = await sagaShop();
    const middle = saga('middle', { input: typed<Part>(), key: ({ input }) => input.orderId })
      .step('shipment', parcel(shop.trade), ({ input }) => input)
      .output(({ shipment }) => shipment);
    const outer = saga('outer', { input: typed<Part>(), key: ({ input }) => input.orderId })
      .step('inside', middle, ({ input }) => input)
      .step('payment', shop.trade.pay, ({ input }) => input);
    const orchestrator = await shop.open([outer]);
    await shop.provider.calls(['decline'], 'payment');

    const run = await orchestrator.submit(outer, order);
    await sagaReached(run, 'compensated');

    expect(await shop.kept()).toEqual(['reservation', 'booking', 'cancellation', 'release']);
  });

  test('carries values that JSON has not, in and out', async () => {
    shop = await sagaShop();
    const { reserve } = shop.trade;
    const dated = saga('dated', {
      input: typed<Part & { at: Date; cents: bigint }>(),
      key: ({ input }) => input.orderId,
    })
      .step('goods', reserve, ({ input }) => ({ orderId: input.orderId }))
      .output(({ input }) => ({ at: input.at, cents: input.cents + 1n }));
    const outer = saga('outer', { input: typed<Part>(), key: ({ input }) => input.orderId })
      .step('inside', dated, ({ input }) => ({ ...input, at: new Date(0), cents: 41n }))
      .step('courier', shop.trade.book, ({ input }) => input)
      .output(({ inside }) => inside);
    const orchestrator = await shop.open([outer]);

    const run = await orchestrator.submit(outer, order);
    await sagaReached(run, 'succeeded');

    expect(await now(run)).toEqual({ status: 'succeeded', output: { at: new Date(0), cents: 42n } });
  });

  test('is begun in the newest version that is registered', async () => {
    shop = await sagaShop();
    const { authorise, reserve } = shop.trade;
    const options = { input: typed<Part>(), key: ({ input }: { input: Part }) => input.orderId };
    const newer = saga('parcel', { ...options, version: 2 }).step('goods', reserve, ({ input }) => input);
    const older = saga('parcel', options).step('money', authorise, ({ input }) => input);
    const outer = saga('outer', options).step('shipment', older, ({ input }) => input);
    const orchestrator = await shop.open([outer, newer]);

    const run = await orchestrator.submit(outer, order);
    await sagaReached(run, 'succeeded');

    expect(await shop.kept()).toEqual(['reservation']);
  });

  test('is another saga than one that is submitted by itself', async () => {
    shop = await sagaShop();
    const { orchestrator, parent } = await selling(shop);
    await sagaReached(parent, 'succeeded');
    const own = parcel(shop.trade);
    const other = await shop.open([own], { store: shop.store });

    const alone = await other.submit(own, order);
    await sagaReached(alone, 'succeeded');

    expect(alone.submission).toBe('new');
    expect(alone.id).not.toBe((await orchestrator.sagaRun(parcelIdOf())).id);
  });

  test('whose identity somebody has taken is a fault, and is not taken back for its parent', async () => {
    shop = await sagaShop();
    const keyed = saga('parcel', {
      input: typed<Part>(),
      key: () => JSON.stringify(['sale', order.orderId, 'shipment']),
    })
      .step('goods', shop.trade.reserve, ({ input }) => input)
      .output(() => ({ booked: 'elsewhere' }));
    const definition = sale(shop.trade, keyed);
    const orchestrator = await shop.open([definition]);
    const alone = await orchestrator.submit(keyed, order);
    await sagaReached(alone, 'succeeded');

    const parent = await orchestrator.submit(definition, order);
    await shop.pass('6s');
    const faults = await faultsOf(parent);
    await orchestrator.cancel(parent.id, who);
    await sagaReached(parent, 'compensated');

    expect(faults).toEqual([expect.stringContaining('was not begun as this step')]);
    expect([alone.id, await alone.status()]).toEqual([parcelIdOf(), 'succeeded']);
    expect(await shop.kept()).toEqual(['reservation', 'authorisation', 'void']);
  });

  test('that cannot be begun with what it is given is a fault of its parent, and nothing of it is sent', async () => {
    shop = await sagaShop();
    const { authorise, reserve } = shop.trade;
    const options = { input: typed<Part>(), key: ({ input }: { input: Part }) => input.orderId };
    const faulty = saga('faulty', options).step('goods', reserve, () => {
      throw new Error('No shelf is known.');
    });
    const outer = saga('outer', options)
      .step('money', authorise, ({ input }) => input)
      .step('shipment', faulty, ({ input }) => input);
    const orchestrator = await shop.open([outer]);

    const run = await orchestrator.submit(outer, order);
    await sagaReached(run, 'escalated');

    expect(await now(run)).toEqual({ status: 'escalated', reason: 'definition-fault', cause: null });
    expect(await faultsOf(run)).toEqual([expect.stringContaining('No shelf is known.')]);
    expect(await shop.kept()).toEqual(['authorisation']);
  });
});

describe('sagas in each other', () => {
  const options = { input: typed<Part>(), key: ({ input }: { input: Part }) => input.orderId };

  test('that would have themselves inside, by their newest versions, are refused before anything runs', async () => {
    shop = await sagaShop();
    const { reserve } = shop.trade;
    const inner = saga('inner', options).step('goods', reserve, ({ input }) => input);
    const outer = saga('outer', options).step('inside', inner, ({ input }) => input);
    const newerOuter = saga('outer', { ...options, version: 2 }).step('goods', reserve, ({ input }) => input);
    const newerInner = saga('inner', { ...options, version: 2 }).step('around', newerOuter, ({ input }) => input);

    const opening = shop.open([outer, newerInner]);

    await expect(opening).rejects.toMatchObject({
      code: 'DEFINITION_INVALID',
      message: expect.stringContaining('Saga outer would have itself inside, without end: outer -> inner -> outer.'),
    });
  });

  test('are refused where the newest version has a pivot, and nothing says what takes it back then', async () => {
    shop = await sagaShop();
    const { reserve, capture } = shop.trade;
    const inner = saga('inner', options).step('goods', reserve, ({ input }) => input);
    const outer = saga('outer', options).step('inside', inner, ({ input }) => input);
    const newerInner = saga('inner', { ...options, version: 2 }).pivot('capture', capture, ({ input }) => input);

    const opening = shop.open([outer, newerInner]);

    await expect(opening).rejects.toMatchObject({
      code: 'DEFINITION_INVALID',
      message: expect.stringContaining('Step inside of saga outer is begun with version 2 of inner'),
    });
  });

  test('whose keys would be too long, inside of inside, are refused at submission', async () => {
    shop = await sagaShop();
    const middle = saga('middle', options).step('shipment', parcel(shop.trade), ({ input }) => input);
    const outer = saga('outer', options).step('inside', middle, ({ input }) => input);
    const orchestrator = await shop.open([outer]);

    const submitting = orchestrator.submit(outer, { orderId: 'o'.repeat(450) });

    await expect(submitting).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    expect(await shop.provider.records()).toEqual([]);
  });
});

describe('a step that is a saga which is refused', () => {
  test('takes its parent back for the code for which it was', async () => {
    shop = await sagaShop();
    await shop.provider.calls(['decline'], 'booking');
    const { parent, child } = await selling(shop);

    await sagaReached(parent, 'compensated');

    expect(await now(await child())).toEqual({ status: 'compensated', cause: { step: 'courier', code: 'declined' } });
    expect(await now(parent)).toEqual({ status: 'compensated', cause: { step: 'shipment', code: 'declined' } });
    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'release', 'void']);
  });

  test('is refused as cancelled where somebody cancels it by itself', async () => {
    shop = await sagaShop();
    shop.hold('booking');
    const { orchestrator, parent, child } = await selling(shop);
    await shop.held('booking');

    const cancelling = orchestrator.cancel((await child()).id, who);
    shop.letGo('booking');
    await cancelling;
    await sagaReached(parent, 'compensated', 'succeeded');

    // Its last step succeeds, and is no pivot: what it did is taken back.
    expect(await now(parent)).toEqual({ status: 'compensated', cause: { step: 'shipment', code: 'cancelled' } });
    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'booking', 'cancellation', 'release', 'void']);
  });

  test('is refused as terminated where a person ends it as it stands, and that stands', async () => {
    shop = await sagaShop();
    await shop.provider.calls(['busy409'], 'booking');
    const { orchestrator, parent, child } = await selling(shop);
    await shop.rest();

    await orchestrator.operator.terminate((await child()).id, who);
    await sagaReached(parent, 'compensated');

    expect(await now(parent)).toEqual({ status: 'compensated', cause: { step: 'shipment', code: 'terminated' } });
    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'void']);
  });

  test('is timed out by its own deadline, and its parent goes on after its pivot without it', async () => {
    shop = await sagaShop();
    const { capture, reserve, book } = shop.trade;
    const options = { input: typed<Part>(), key: ({ input }: { input: Part }) => input.orderId };
    const short = saga('short', { ...options, within: '5s' })
      .step('goods', reserve, ({ input }) => input)
      .sleep('rest', '1h')
      .step('courier', book, ({ input }) => input);
    const outer = saga('outer', options)
      .pivot('capture', capture, ({ input }) => input)
      .step('shipment', short, ({ input }) => input, { onFailed: 'continue' })
      .output(({ shipment }) => shipment ?? 'nothing');
    const orchestrator = await shop.open([outer]);

    const run = await orchestrator.submit(outer, order);
    await shop.pass('10s');

    expect(await now(run)).toEqual({ status: 'succeeded', output: 'nothing' });
    expect(await shop.kept()).toEqual(['capture', 'reservation', 'release']);
  });

  test('is begun again as another one, when a person says after the pivot that it had no effect', async () => {
    shop = await sagaShop();
    const { capture } = shop.trade;
    const outer = saga('outer', { input: typed<Part>(), key: ({ input }) => input.orderId })
      .pivot('capture', capture, ({ input }) => input)
      .step('shipment', parcel(shop.trade), ({ input }) => input)
      .output(({ shipment }) => shipment);
    const orchestrator = await shop.open([outer]);
    await shop.provider.calls(['decline'], 'booking');
    const run = await orchestrator.submit(outer, order);
    await sagaReached(run, 'escalated');
    const reason = await now(run);

    await orchestrator.operator.resolveStep(
      run.id,
      { type: 'not-applied', reason: 'it was taken back' },
      { by: 'the shop', evidence: 'its history' },
    );
    await sagaReached(run, 'succeeded');

    expect(reason).toMatchObject({ status: 'escalated', reason: 'step-failed' });
    expect(await shop.kept()).toEqual(['capture', 'reservation', 'release', 'reservation', 'booking']);
  });
});

describe('a step that is a saga which has succeeded', () => {
  test('takes itself back in its place when a later step is refused', async () => {
    shop = await sagaShop();
    await shop.provider.calls(['decline'], 'payment');
    const { parent, child } = await selling(shop);

    await sagaReached(parent, 'compensated');

    expect(await now(parent)).toEqual({ status: 'compensated', cause: { step: 'payment', code: 'declined' } });
    expect(await now(await child())).toEqual({ status: 'compensated', cause: { step: null, code: 'requested' } });
    expect(await shop.kept()).toEqual([
      ...['authorisation', 'reservation', 'booking'],
      ...['cancellation', 'release', 'void'],
    ]);
  });

  test('is taken back with its parent at the word of a person, once that has succeeded', async () => {
    shop = await sagaShop();
    const { orchestrator, parent, child } = await selling(shop);
    await sagaReached(parent, 'succeeded');

    await orchestrator.operator.compensate(parent.id, who);
    await sagaReached(parent, 'compensated');

    expect(await statesOf(await child())).toEqual(['compensated']);
    expect(await shop.kept()).toEqual([
      ...['authorisation', 'reservation', 'booking', 'payment'],
      ...['refund', 'cancellation', 'release', 'void'],
    ]);
  });

  test('is left as it is where the step says that nothing takes it back', async () => {
    shop = await sagaShop();
    const { authorise, pay } = shop.trade;
    const outer = saga('outer', { input: typed<Part>(), key: ({ input }) => input.orderId })
      .step('money', authorise, ({ input }) => input)
      .step('shipment', parcel(shop.trade), ({ input }) => input, { compensate: { none: 'it comes back anyway' } })
      .step('payment', pay, ({ input }) => input);
    const orchestrator = await shop.open([outer]);
    await shop.provider.calls(['decline'], 'payment');

    const run = await orchestrator.submit(outer, order);
    await sagaReached(run, 'compensated');

    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'booking', 'void']);
  });

  test('is taken back by an operation where the step says so, with what went in and what came out', async () => {
    shop = await sagaShop();
    const { pay, cancelBooking, capture, book } = shop.trade;
    const options = { input: typed<Part>(), key: ({ input }: { input: Part }) => input.orderId };
    const final = saga('final', options)
      .step('courier', book, ({ input }) => input)
      .pivot('capture', capture, ({ input }) => input)
      .output(({ courier }) => courier);
    const outer = saga('outer', options)
      .step('shipment', final, ({ input }) => input, {
        compensate: {
          operation: cancelBooking,
          input: ({ input, output }) => ({ orderId: input.orderId, of: output.id }),
        },
      })
      .step('payment', pay, ({ input }) => input);
    const orchestrator = await shop.open([outer]);
    await shop.provider.calls(['decline'], 'payment');

    const run = await orchestrator.submit(outer, order);
    await sagaReached(run, 'compensated');

    expect(await shop.kept()).toEqual(['booking', 'capture', 'cancellation']);
  });
});

describe('a saga whose step, a saga, is under way', () => {
  /** The parcel waits for its courier. */
  async function underWay() {
    shop = await sagaShop();
    shop.hold('booking');
    const { orchestrator, parent, child } = await selling(shop);
    await shop.held('booking');
    return { orchestrator, parent, child: await child() };
  }

  test('is in progress, and so is that', async () => {
    const { parent, child } = await underWay();

    expect(await statesOf(parent, child)).toEqual(['in-progress', 'in-progress']);
  });

  test('cancels it when it is cancelled, and waits for what becomes of it', async () => {
    const { orchestrator, parent, child } = await underWay();

    await orchestrator.cancel(parent.id, who);
    await shop.rest();
    const meanwhile = await statesOf(parent, child);
    shop.letGo('booking');
    await sagaReached(parent, 'compensated');

    expect(meanwhile).toEqual(['compensating', 'compensating']);
    expect(await now(parent)).toEqual({ status: 'compensated', cause: { step: null, code: 'cancelled' } });
    expect(await now(child)).toEqual({ status: 'compensated', cause: { step: null, code: 'cancelled' } });
    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'booking', 'cancellation', 'release', 'void']);
  });

  test('says who cancelled it, and why, in the history of that', async () => {
    const { orchestrator, parent, child } = await underWay();

    await orchestrator.cancel(parent.id, who);
    shop.letGo('booking');
    await sagaReached(parent, 'compensated');

    const [cancelled] = (await child.history()).filter(({ kind }) => kind === 'cancel');
    expect(cancelled?.facts).toMatchObject({ by: `saga ${parent.id}`, accepted: true });
  });

  test('cancels it when the time of the parent is over', async () => {
    shop = await sagaShop();
    const outer = saga('outer', { input: typed<Part>(), key: ({ input }) => input.orderId, within: '20s' })
      .step('money', shop.trade.authorise, ({ input }) => input)
      .step('shipment', parcel(shop.trade), ({ input }) => input);
    const orchestrator = await shop.open([outer]);
    await shop.provider.calls(['do+drop'], 'booking');
    await shop.provider.lookups(['lookup500', 'lookup500', 'lookup500', 'lookup500', 'lookup500'], 'booking');

    const run = await orchestrator.submit(outer, order);
    await shop.pass('5m');

    expect(await now(run)).toEqual({ status: 'compensated', cause: { step: null, code: 'timed-out' } });
    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'booking', 'cancellation', 'release', 'void']);
  });

  test('takes it back all the same when it succeeds before it hears of that', async () => {
    shop = await sagaShop();
    const { authorise, pay, capture, reserve } = shop.trade;
    const options = { input: typed<Part>(), key: ({ input }: { input: Part }) => input.orderId };
    const final = saga('final', options)
      .step('goods', reserve, ({ input }) => input)
      .pivot('capture', capture, ({ input }) => input);
    const outer = saga('outer', options)
      .step('money', authorise, ({ input }) => input)
      .step('shipment', final, ({ input }) => input, {
        compensate: { operation: shop.trade.cancelBooking, input: ({ input }) => input },
      })
      .step('payment', pay, ({ input }) => input);
    const orchestrator = await shop.open([outer]);
    shop.hold('capture');
    const run = await orchestrator.submit(outer, order);
    await shop.held('capture');

    await orchestrator.cancel(run.id, who);
    shop.letGo('capture');
    await sagaReached(run, 'compensated');

    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'capture', 'cancellation', 'void']);
  });

  test('ends it as it stands when it is ended so itself, once what was sent is found out', async () => {
    const { orchestrator, parent, child } = await underWay();

    await orchestrator.operator.terminate(parent.id, who);
    await shop.rest();
    const meanwhile = await statesOf(parent, child);
    shop.letGo('booking');
    await sagaReached(parent, 'terminated');

    expect(meanwhile).toEqual(['in-progress', 'in-progress']);
    expect(await statesOf(child)).toEqual(['terminated']);
    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'booking']);
  });

  test('takes it back with itself when a person says so after that', async () => {
    const { orchestrator, parent, child } = await underWay();
    await orchestrator.operator.terminate(parent.id, who);
    shop.letGo('booking');
    await sagaReached(parent, 'terminated');

    await orchestrator.operator.compensate(parent.id, who);
    await sagaReached(parent, 'compensated');

    expect(await statesOf(child)).toEqual(['compensated']);
    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'booking', 'cancellation', 'release', 'void']);
  });

  test('waits for an outcome in it that is unknown, and goes on with what is found', async () => {
    shop = await sagaShop();
    await shop.provider.calls(['do+drop'], 'booking');
    await shop.provider.lookups(['lookup500', 'lookup500'], 'booking');
    const { parent, child } = await selling(shop);
    await shop.pass('10s');
    const meanwhile = await statesOf(parent, await child());

    await shop.pass('10m');

    expect(meanwhile).toEqual(['in-progress', 'in-progress']);
    expect(await now(parent)).toEqual({ status: 'succeeded', output: { booked: 'booking_1' } });
    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'booking', 'payment']);
  });
});

describe('a step that is a saga which waits for a person', () => {
  test('is listed itself, and its parent is in progress until it is decided', async () => {
    shop = await sagaShop({ booking: { keyRetention: 'none', lookup: 'none' } });
    await shop.provider.calls(['do+drop'], 'booking');
    const { orchestrator, parent, child } = await selling(shop);
    await shop.pass('1m');
    const listed = await orchestrator.operator.escalatedSagas();
    const meanwhile = await statesOf(parent, await child());

    const { id, seen } = await onlyDoubt(orchestrator);
    await orchestrator.operator.resolve(id, succeeded({ id: 'booking_1' }), { by: 'Ada', evidence: 'mail', seen });
    await sagaReached(parent, 'succeeded');

    expect(listed.map((each) => each.id)).toEqual([parcelIdOf()]);
    expect(meanwhile).toEqual(['in-progress', 'escalated']);
  });

  test('while it is taken back, holds its parent up, which shows for what', async () => {
    shop = await sagaShop();
    await shop.provider.calls(['decline'], 'payment');
    await shop.provider.calls(['decline'], 'release');
    const { orchestrator, parent, child } = await selling(shop);

    await sagaReached(parent, 'escalated');
    const meanwhile = [await now(parent), await shop.kept()];
    const { id, seen } = await onlyDoubt(orchestrator);
    await orchestrator.operator.resolve(id, 'taken-back', { by: 'Ada', evidence: 'the shelf', seen });
    await sagaReached(parent, 'compensated');

    expect(meanwhile).toEqual([
      { status: 'escalated', reason: 'inverse-failed', cause: { step: 'payment', code: 'declined' } },
      ['authorisation', 'reservation', 'booking', 'cancellation'],
    ]);
    expect(await statesOf(await child())).toEqual(['compensated']);
    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'booking', 'cancellation', 'void']);
  });

  test('and is ended as it stands while it is taken back, lets its parent go on', async () => {
    shop = await sagaShop();
    await shop.provider.calls(['decline'], 'payment');
    await shop.provider.calls(['busy409'], 'release');
    const { orchestrator, parent, child } = await selling(shop);
    await shop.rest();

    await orchestrator.operator.terminate((await child()).id, who);
    await sagaReached(parent, 'compensated');

    expect(await statesOf(await child())).toEqual(['terminated']);
    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'booking', 'cancellation', 'void']);
  });
});

describe('a word to a step that is a saga', () => {
  const word = { by: 'saga sg_1', reason: 'it is taken back' } as const;

  async function say(said: SaidOfSaga): Promise<void> {
    await shop.store.handOver({ tenant: 'shop-1', id: parcelIdOf(), handoverId: 'said again', body: toBody(said) });
    await shop.pass('2s');
  }

  test('that comes again, when a person has decided otherwise, changes nothing', async () => {
    shop = await sagaShop();
    await shop.provider.calls(['decline'], 'payment');
    await shop.provider.calls(['busy409'], 'release');
    const { orchestrator, parent, child } = await selling(shop);
    await shop.rest();
    await orchestrator.operator.terminate((await child()).id, who);
    await sagaReached(parent, 'compensated');

    await say({ kind: 'compensate', ...word, ofParent: { id: parent.id, word: 1 } });

    expect(await statesOf(await child())).toEqual(['terminated']);
    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'booking', 'cancellation', 'void']);
  });

  test('that another saga says is refused', async () => {
    shop = await sagaShop();
    const { parent, child } = await selling(shop);
    await sagaReached(parent, 'succeeded');

    await say({ kind: 'compensate', ...word, ofParent: { id: 'sg_1', word: 1 } });

    expect(await statesOf(await child())).toEqual(['succeeded']);
    const refused = (await (await child()).history())
      .map(({ facts }) => facts)
      .find(({ accepted }) => accepted === false);
    expect(refused).toMatchObject({ why: 'it is no step of that saga' });
  });
});

describe('a step that is a saga whose inverse, an operation, is refused', () => {
  test('holds its parent up until a person ends that, and can be taken back at a later word', async () => {
    shop = await sagaShop();
    const { authorise, cancelBooking, pay, book } = shop.trade;
    const options = { input: typed<Part>(), key: ({ input }: { input: Part }) => input.orderId };
    const sent = saga('sent', options).step('courier', book, ({ input }) => input);
    const outer = saga('outer', options)
      .step('money', authorise, ({ input }) => input)
      .step('shipment', sent, ({ input }) => input, {
        compensate: { operation: cancelBooking, input: ({ input }) => input },
      })
      .step('payment', pay, ({ input }) => input);
    const orchestrator = await shop.open([outer]);
    await shop.provider.calls(['decline'], 'payment');
    await shop.provider.calls(['decline'], 'cancellation');

    const run = await orchestrator.submit(outer, order);
    await sagaReached(run, 'escalated');
    const shown = await now(run);
    await orchestrator.operator.terminate(run.id, who);
    await sagaReached(run, 'terminated');
    const kept = await shop.kept();
    await orchestrator.operator.compensate(run.id, who);
    await sagaReached(run, 'compensated');

    expect(shown).toMatchObject({ status: 'escalated', reason: 'inverse-failed' });
    expect(kept).toEqual(['authorisation', 'booking']);
    expect(await shop.kept()).toEqual(['authorisation', 'booking', 'cancellation', 'void']);
  });
});

describe('a step that is a saga which lasts for an hour', () => {
  test('is looked at seldom, and heard of at once when it ends', async () => {
    shop = await sagaShop();
    const looks: number[] = [];
    const counted = new Proxy(shop.store, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== 'function') return member;
        return (...given: unknown[]) => {
          if (name === 'readSaga' && (given[0] as { id: string }).id === parcelIdOf()) looks.push(shop.clock.now());
          return Reflect.apply(member, target, given) as unknown;
        };
      },
    });
    const definition = slowSale(shop.trade);
    const orchestrator = await shop.open([definition], { store: counted });
    const run = await orchestrator.submit(definition, order);
    await shop.pass('50m');
    const seldom = looks.length;
    await shop.pass('10m');
    await shop.pass('2s');

    expect(seldom).toBeLessThan(40);
    expect(await statesOf(run)).toEqual(['succeeded']);
  });
});

describe('a step that is a saga whose beginning a fail-over has lost', () => {
  test('is begun again and looked for, and taken back with its parent if it was sent', async () => {
    const databases: FailingOver[] = [];
    shop = await sagaShop({}, (clock) => {
      const database = failingOver(clock);
      databases.push(database);
      return database.store;
    });
    const definition = sale(shop.trade);
    // The parent, the step, the parcel: then its process dies before it can write how the reservation ended.
    const dying = mortal(shop.store, { side: 'before', write: 4 });
    const first = await shop.open([definition], { store: dying });
    const { id } = await first.submit(definition, order);
    await until(() => (dying.isDead ? true : null), 'the process to die');
    const before = await shop.kept();
    let turns = 0;
    databases[0]?.failOver(({ verb }) => {
      turns += verb === 'sagaTurn' ? 1 : 0;
      return turns === 3;
    });

    const other = await shop.open([definition]);
    const lost = await shop.store.readSaga({ tenant: 'shop-1', id: parcelIdOf() });
    await other.cancel(id, who);
    await shop.pass('10m');

    expect([before, lost]).toEqual([['authorisation', 'reservation'], null]);
    expect(await statesOf(await other.sagaRun(id))).toEqual(['compensated']);
    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'release', 'void']);
  });
});

describe('a branch that is a saga', () => {
  test('is cancelled when another one is refused, and taken back before the parent is', async () => {
    shop = await sagaShop();
    const { authorise, pay } = shop.trade;
    const outer = saga('outer', { input: typed<Part>(), key: ({ input }) => input.orderId })
      .parallel('both', (branch) => ({
        carrier: branch.step('shipment', parcel(shop.trade), ({ input }) => input),
        bank: branch.step('money', authorise, ({ input }) => input).step('payment', pay, ({ input }) => input),
      }))
      .output(({ shipment }) => shipment);
    const orchestrator = await shop.open([outer]);
    await shop.provider.calls(['decline'], 'payment');
    shop.hold('booking');

    const run = await orchestrator.submit(outer, order);
    await shop.held('booking');
    await shop.rest();
    const meanwhile = await run.status();
    shop.letGo('booking');
    await sagaReached(run, 'compensated');

    expect(meanwhile).toBe('compensating');
    expect(await now(run)).toEqual({ status: 'compensated', cause: { step: 'payment', code: 'declined' } });
    const kept = (await shop.kept()).toSorted();
    expect(kept).toEqual(['authorisation', 'booking', 'cancellation', 'release', 'reservation', 'void']);
  });
});

describe('a pivot that is a saga', () => {
  function sold() {
    const { authorise, email } = shop.trade;
    return saga('outer', { input: typed<Part>(), key: ({ input }) => input.orderId })
      .step('money', authorise, ({ input }) => input)
      .pivot('shipment', parcel(shop.trade), ({ input }) => input)
      .step('email', email, ({ input }) => input);
  }

  test('takes everything back when it is refused', async () => {
    shop = await sagaShop();
    await shop.provider.calls(['decline'], 'booking');
    const definition = sold();
    const orchestrator = await shop.open([definition]);

    const run = await orchestrator.submit(definition, order);
    await sagaReached(run, 'compensated');

    expect(await now(run)).toEqual({ status: 'compensated', cause: { step: 'shipment', code: 'declined' } });
    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'release', 'void']);
  });

  test('is told when its parent is cancelled, which waits for how it ends', async () => {
    shop = await sagaShop();
    shop.hold('booking');
    const definition = sold();
    const orchestrator = await shop.open([definition]);
    const run = await orchestrator.submit(definition, order);
    await shop.held('booking');

    await orchestrator.cancel(run.id, who);
    await shop.rest();
    const meanwhile = await run.status();
    shop.letGo('booking');
    await sagaReached(run, 'compensated');

    expect(meanwhile).toBe('in-progress');
    expect(await now(run)).toEqual({ status: 'compensated', cause: { step: null, code: 'cancelled' } });
    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'booking', 'cancellation', 'release', 'void']);
  });
});

describe('a hand-written machine', () => {
  /** Sends the parcel and takes the money, or takes everything back. */
  function byHand() {
    const operations = { shipParcel: parcel(shop.trade), pay: shop.trade.pay };
    const machine = setup({
      types: { context: typeOf<Part & { booked: string }>(), input: typeOf<Part>() },
      actors: actorsFrom(operations),
    }).createMachine({
      id: 'by-hand',
      context: ({ input }) => ({ ...input, booked: '' }),
      initial: 'shipping',
      states: {
        shipping: {
          invoke: {
            id: 'shipment',
            src: 'shipParcel',
            input: ({ context }) => ({ orderId: context.orderId }),
            onDone: { target: 'paying', actions: assign({ booked: ({ event }) => event.output.booked }) },
            onError: 'back',
          },
        },
        paying: {
          invoke: {
            src: 'pay',
            input: ({ context }) => ({ orderId: context.orderId }),
            onDone: 'sold',
            onError: 'back',
          },
        },
        back: { invoke: { src: 'compensate', onDone: 'withdrawn' } },
        sold: { type: 'final', output: ({ context }) => context.booked },
        withdrawn: { type: 'final' },
      },
      output: ({ event }) => event.output,
    });
    return saga('by-hand', { input: typed<Part>(), key: ({ input }) => input.orderId, machine, operations });
  }

  test('invokes a saga like an operation', async () => {
    shop = await sagaShop();
    const definition = byHand();
    const orchestrator = await shop.open([definition]);

    const run = await orchestrator.submit(definition, order);
    await sagaReached(run, 'succeeded');

    expect(await now(run)).toEqual({ status: 'succeeded', output: 'booking_1' });
    expect(await shop.kept()).toEqual(['reservation', 'booking', 'payment']);
  });

  test('takes it back with what it did itself', async () => {
    shop = await sagaShop();
    const definition = byHand();
    const orchestrator = await shop.open([definition]);
    await shop.provider.calls(['decline'], 'payment');

    const run = await orchestrator.submit(definition, order);
    await sagaReached(run, 'compensated');

    expect(await now(run)).toEqual({ status: 'compensated', cause: { step: 'pay', code: 'declined' } });
    expect(await shop.kept()).toEqual(['reservation', 'booking', 'cancellation', 'release']);
  });

  test('is told that it was refused', async () => {
    shop = await sagaShop();
    const definition = byHand();
    const orchestrator = await shop.open([definition]);
    await shop.provider.calls(['decline'], 'booking');

    const run = await orchestrator.submit(definition, order);
    await sagaReached(run, 'compensated');

    expect(await now(run)).toEqual({ status: 'compensated', cause: { step: 'shipment', code: 'declined' } });
    expect(await shop.kept()).toEqual(['reservation', 'release']);
  });
});

describe('a step that is a saga and is given what cannot name it', () => {
  test('is a fault of its parent, which waits for a person and begins nothing', async () => {
    shop = await sagaShop();
    const counted = saga('counted', {
      input: typed<Part & { readonly pieces: unknown }>(),
      key: ({ input }) => input.orderId,
    }).step('goods', shop.trade.reserve, ({ input: { orderId } }) => ({ orderId }));
    const outer = saga('outer', { input: typed<Part>(), key: ({ input }) => input.orderId })
      .step('money', shop.trade.authorise, ({ input }) => input)
      .step('inside', counted, ({ input }) => ({ ...input, pieces: Number.NaN }));
    const orchestrator = await shop.open([outer]);
    const run = await orchestrator.submit(outer, order);

    await sagaReached(run, 'escalated');

    expect(await now(run)).toMatchObject({ status: 'escalated', reason: 'definition-fault' });
    expect(await faultsOf(run)).toHaveLength(1);
    expect(await shop.kept()).toEqual(['authorisation']);
  });
});

describe('a saga that is a step and has settled', () => {
  test('is not taken back by itself: its parent would do it again', async () => {
    shop = await sagaShop();
    const { orchestrator, parent, child } = await selling(shop);
    await sagaReached(parent, 'succeeded');
    const { id } = await child();

    const refused = orchestrator.operator.compensate(id, who);

    await expect(refused).rejects.toMatchObject({
      code: 'RESOLUTION_REFUSED',
      message: expect.stringContaining(`it is a step of saga ${parent.id}`),
    });
  });
});
