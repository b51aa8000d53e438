/**
 * A chart that has changed while its version has not is never restored in silence. Nothing of the saga is moved, sent or
 * forgotten; a person is told, and it goes on by itself where the chart is the one that it was begun with, or where a
 * migration leads it on. Its author may say that it adopts a chart that it fits exactly.
 */

import { afterEach, describe, expect, test } from 'vitest';
import { migration, type Orchestrator, saga, type SagaRun, typed } from 'sagacity';
import { actorsFrom } from 'sagacity/xstate';
import { setup } from 'xstate';
import { order, type Part, sagaReached, sagaShop, type SagaShop, typeOf } from '../support/saga-shop.ts';
import { severable } from '../support/severable-store.ts';

let shop: SagaShop;
afterEach(() => shop.close());

const who = { by: 'the shop', reason: 'the customer changed their mind' };
const identity = { input: typed<Part>(), key: ({ input }: { input: Part }) => input.orderId };

/** Authorise, reserve, pay; `changed`: the invoice comes before the payment, in the same version. */
function selling(changed: 'not at all' | 'with an invoice' | 'without goods', whenChanged?: 'adopt') {
  const { authorise, reserve, invoice, pay } = shop.trade;
  const begun = saga('selling', { ...identity, ...(whenChanged === undefined ? {} : { whenChanged }) }).step(
    'money',
    authorise,
    ({ input }) => input,
  );
  if (changed === 'without goods') return begun.step('payment', pay, ({ input }) => input);
  const reserved = begun.step('goods', reserve, ({ input }) => input);
  return changed === 'with an invoice'
    ? reserved.step('invoice', invoice, ({ input }) => input).step('payment', pay, ({ input }) => input)
    : reserved.step('payment', pay, ({ input }) => input);
}

type Selling = ReturnType<typeof selling>;

/** Begun by a process that is gone while the reservation was on its way: the provider has made it. */
async function interrupted(definition: Selling): Promise<SagaRun> {
  const store = severable(shop.store);
  const first = await shop.open([definition], { store });
  shop.hold('reservation');
  const run = await first.submit(definition, order);
  await shop.held('reservation');
  await shop.rest();
  store.sever();
  return run;
}

async function rowOf(run: Pick<SagaRun, 'id' | 'tenant'>) {
  const row = await shop.store.readSaga(run);
  if (row === null) throw new Error(`There is no saga ${run.id}.`);
  return row;
}

/** The run as this process sees it. */
function seenBy(orchestrator: Orchestrator<true>, run: SagaRun): Promise<SagaRun> {
  return orchestrator.sagaRun(run.id);
}

describe('a saga whose chart has changed while one of its steps was under way', () => {
  test('is escalated as it stands, with nothing sent, and listed', async () => {
    shop = await sagaShop();
    const run = await interrupted(selling('not at all'));
    const before = await rowOf(run);

    const changed = await shop.open([selling('with an invoice')]);
    shop.letGo('reservation');
    await shop.pass('1m');
    const after = await rowOf(run);
    const [listed, ...more] = await changed.operator.escalatedSagas();

    expect(after).toMatchObject({
      ...{ state: 'escalated', reason: 'definition-changed', owner: null, version: 1, hash: before.hash },
      ...{ snapshot: before.snapshot, dues: { ...before.dues, changed: expect.any(Number) }, output: null },
    });
    const timeless = ({ operations }: typeof before) => operations.map((operation) => ({ ...operation, now: 0 }));
    expect(timeless(after)).toEqual(timeless(before));
    expect(listed).toMatchObject({ id: run.id, reason: 'definition-changed', states: 'goods', version: 1 });
    expect(listed?.dueAt?.getTime()).toBe(after.dueAt);
    expect(more).toEqual([]);
    expect(await (await seenBy(changed, run)).result({ within: 0 })).toMatchObject({ status: 'escalated' });
    expect(await shop.kept()).toEqual(['authorisation', 'reservation']);
  });

  test('is not taken up again by who cannot go on with it', async () => {
    shop = await sagaShop();
    const run = await interrupted(selling('not at all'));
    const changed = await shop.open([selling('with an invoice')]);
    await shop.pass('1m');
    const escalated = await rowOf(run);

    await changed.cancel(run.id, { ...who, within: 0 });
    await shop.pass('2h');

    const later = await rowOf(run);
    expect([later.revision, later.generation]).toEqual([escalated.revision, escalated.generation]);
    expect(later.handovers).toHaveLength(1);
  });

  test('goes on by itself where the chart is the one that it was begun with, and reserves once', async () => {
    shop = await sagaShop();
    const run = await interrupted(selling('not at all'));
    const changed = await shop.open([selling('with an invoice')]);
    shop.letGo('reservation');
    await shop.pass('1m');
    await changed.stop();

    const fitting = await shop.open([selling('not at all')]);
    await shop.pass('5m');

    expect(await (await seenBy(fitting, run)).status()).toBe('succeeded');
    expect(await fitting.operator.escalatedSagas()).toEqual([]);
    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'payment']);
  });

  test('loses no word that was said meanwhile', async () => {
    shop = await sagaShop();
    const run = await interrupted(selling('not at all'));
    const changed = await shop.open([selling('with an invoice')]);
    await shop.pass('1m');
    const asked = await changed.cancel(run.id, { ...who, within: 0 });
    await changed.stop();

    const fitting = await shop.open([selling('not at all')]);
    shop.letGo('reservation');
    await shop.pass('5m');

    expect(asked).toEqual({ status: 'waiting' });
    expect(await (await seenBy(fitting, run)).status()).toBe('compensated');
    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'release', 'void']);
  });

  test('goes on where a migration leads it to a later version', async () => {
    shop = await sagaShop();
    const run = await interrupted(selling('not at all'));
    const changed = await shop.open([selling('with an invoice')]);
    shop.letGo('reservation');
    await shop.pass('1m');
    await changed.stop();
    const { authorise, reserve, invoice, pay } = shop.trade;
    const second = saga('selling', { ...identity, version: 2 })
      .step('money', authorise, ({ input }) => input)
      .step('goods', reserve, ({ input }) => input)
      .step('invoice', invoice, ({ input }) => input)
      .step('payment', pay, ({ input }) => input);

    const leading = migration(selling('with an invoice'), second, ({ state }) => ({ state }));
    const moving = await shop.open([second], { migrations: [leading] });
    await shop.pass('5m');

    expect(await (await seenBy(moving, run)).status()).toBe('succeeded');
    expect(await rowOf(run)).toMatchObject({ version: 2 });
    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'invoice', 'payment']);
  });
});

describe('a saga that slept while its chart changed', () => {
  function sleeping(isChanged: boolean) {
    const { authorise, reserve, pay } = shop.trade;
    const slept = saga('sleeping', identity)
      .step('money', authorise, ({ input }) => input)
      .sleep('cooling', '1h');
    return isChanged
      ? slept.step('goods', reserve, ({ input }) => input).step('payment', pay, ({ input }) => input)
      : slept.step('goods', reserve, ({ input }) => input);
  }

  test('keeps the time at which it was to wake, and wakes where its chart is as it was', async () => {
    shop = await sagaShop();
    const definition = sleeping(false);
    const opened = await shop.open([definition]);
    const begun = await opened.submit(definition, order);
    await sagaReached(begun, 'waiting');
    const { dues } = await rowOf(begun);
    await opened.stop();

    const changed = await shop.open([sleeping(true)]);
    await shop.pass('2h');
    const escalated = await rowOf(begun);
    await changed.stop();
    const fitting = await shop.open([sleeping(false)]);
    await shop.pass('1m');

    expect(escalated).toMatchObject({ state: 'escalated', reason: 'definition-changed', dues });
    expect(await (await seenBy(fitting, begun)).status()).toBe('succeeded');
    expect(await shop.kept()).toEqual(['authorisation', 'reservation']);
  });
});

describe('a saga that adopts a chart which changed', () => {
  test('goes on with it where it stands, and has it from then on', async () => {
    shop = await sagaShop();
    const run = await interrupted(selling('not at all', 'adopt'));
    const before = await rowOf(run);

    const changed = await shop.open([selling('with an invoice', 'adopt')]);
    shop.letGo('reservation');
    await shop.pass('5m');

    const after = await rowOf(run);
    const seen = await seenBy(changed, run);
    expect(await seen.status()).toBe('succeeded');
    expect(after.version).toBe(1);
    expect(after.hash).not.toBe(before.hash);
    expect((await seen.history()).flatMap(({ facts }) => facts['adopted'] ?? [])).toEqual([
      { from: before.hash, to: after.hash },
    ]);
    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'invoice', 'payment']);
  });

  test('is escalated where the chart has not the state in which it stands, and goes on where one has', async () => {
    shop = await sagaShop();
    const run = await interrupted(selling('not at all', 'adopt'));
    const before = await rowOf(run);
    const changed = await shop.open([selling('without goods', 'adopt')]);
    shop.letGo('reservation');
    await changed.cancel(run.id, { ...who, within: 0 });
    await shop.pass('10m');
    const escalated = await rowOf(run);
    await changed.stop();

    const fitting = await shop.open([selling('with an invoice', 'adopt')]);
    await shop.pass('5m');

    expect(escalated).toMatchObject({ state: 'escalated', reason: 'definition-changed' });
    // It asks itself again once a minute, whatever is said meanwhile.
    expect(escalated.revision - before.revision).toBeLessThanOrEqual(12);
    expect(await (await seenBy(fitting, run)).status()).toBe('compensated');
    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'release', 'void']);
  });

  test('is escalated where its state waits for a time that it did not wait for', async () => {
    shop = await sagaShop();
    const asking = (isPatient: boolean) => {
      const { authorise, reserve } = shop.trade;
      const operations = { authorise, reserve };
      const machine = setup({
        types: { context: typeOf<Part>(), input: typeOf<Part>(), events: typeOf<{ type: 'approved' }>() },
        actors: actorsFrom(operations),
      }).createMachine({
        id: 'asking',
        context: ({ input }) => input,
        initial: 'money',
        states: {
          money: {
            invoke: {
              id: 'money',
              src: 'authorise',
              input: ({ context }) => context,
              onDone: 'asked',
              onError: 'back',
            },
          },
          asked: { on: { approved: 'goods' }, ...(isPatient ? {} : { after: { 3_600_000: { target: 'back' } } }) },
          goods: {
            invoke: { id: 'goods', src: 'reserve', input: ({ context }) => context, onDone: 'sold', onError: 'back' },
          },
          back: { invoke: { src: 'compensate', onDone: 'withdrawn' } },
          sold: { type: 'final' },
          withdrawn: { type: 'final' },
        },
      });
      return saga('asking', { ...identity, whenChanged: 'adopt', machine, operations });
    };
    const patient = asking(true);
    const first = await shop.open([patient]);
    const run = await first.submit(patient, order);
    await sagaReached(run, 'waiting');
    await first.stop();

    const impatient = await shop.open([asking(false)]);
    await impatient.signal(run.id, { type: 'approved' }, { eventId: 'event-1', within: 0 });
    await shop.pass('1m');

    expect(await rowOf(run)).toMatchObject({ state: 'escalated', reason: 'definition-changed' });
    expect(await shop.kept()).toEqual(['authorisation']);
  });
});
