/**
 * A saga that is under way is moved on to a later version of its definition by a migration: version and chart change in
 * one fenced write, and what has been done stays done. A step of the same name is the same operation, so that whatever
 * was under way ends with one record at the provider. What cannot be moved stays as it was, with the reason.
 */

import { afterEach, describe, expect, test } from 'vitest';
import {
  type AnySaga,
  migration,
  type Migration,
  type MovedSaga,
  operation,
  type Orchestrator,
  saga,
  type SagaRun,
  type SagaStanding,
  succeeded,
  typed,
} from 'sagacity';
import { actorsFrom } from 'sagacity/xstate';
import { setup } from 'xstate';
import { type Death, mortal } from '../support/mortal-store.ts';
import {
  order,
  type Part,
  purchase,
  sagaReached,
  sagaShop,
  type SagaShop,
  type Trade,
  typeOf,
} from '../support/saga-shop.ts';
import { severable } from '../support/severable-store.ts';

let shop: SagaShop;
afterEach(() => shop.close());

const who = { by: 'the shop', reason: 'the customer changed their mind' };
const identity = { input: typed<Part>(), key: ({ input }: { input: Part }) => input.orderId };

/** Authorise, reserve, pay. */
const first = ({ authorise, reserve, pay }: Trade) =>
  saga('selling', identity)
    .step('money', authorise, ({ input }) => input)
    .step('goods', reserve, ({ input }) => input)
    .step('payment', pay, ({ input }) => input);

/** Between the two a courier is booked. */
const second = ({ authorise, reserve, book, pay }: Trade) =>
  saga('selling', { ...identity, version: 2 })
    .step('money', authorise, ({ input }) => input)
    .step('courier', book, ({ input }) => input)
    .step('goods', reserve, ({ input }) => input)
    .step('payment', pay, ({ input }) => input);

/** Where it stands has the same name in both. */
const alike = (move: (standing: SagaStanding<Part>) => MovedSaga | null = ({ state }) => ({ state })) => {
  const [older, newer] = [first(shop.trade), second(shop.trade)];
  return { older, newer, leading: migration(older, newer, move) };
};

/** Begun in the first version by a process that is gone while a reply of this kind was on its way. */
async function interrupted(
  kind: 'authorisation' | 'reservation' | 'payment',
  older: AnySaga = first(shop.trade),
): Promise<SagaRun> {
  const store = severable(shop.store);
  const begun = await shop.open([older], { store });
  shop.hold(kind);
  const run = await begun.submit(older, order);
  await shop.held(kind);
  await shop.rest();
  store.sever();
  return run;
}

async function rowOf(run: Pick<SagaRun, 'id' | 'tenant'>) {
  const row = await shop.store.readSaga(run);
  if (row === null) throw new Error(`There is no saga ${run.id}.`);
  return row;
}

async function statusIn(orchestrator: Orchestrator<true>, { id }: SagaRun) {
  return (await orchestrator.sagaRun(id)).status();
}

async function migrationsOf(orchestrator: Orchestrator<true>, { id }: SagaRun): Promise<readonly unknown[]> {
  return (await (await orchestrator.sagaRun(id)).history()).flatMap(({ facts }) => facts['migrated'] ?? []);
}

describe('a saga with a list of things to do', () => {
  /** Authorise, reserve two parcels, and rest for an hour; the newer one pays after that. */
  function resting(): {
    readonly older: ReturnType<typeof begin>;
    readonly leading: Migration;
    readonly newer: unknown;
  } {
    const { pay } = shop.trade;
    const older = begin(1);
    const newer = begin(2).step('payment', pay, ({ input, parcels }) => ({ ...input, of: String(parcels.length) }));
    return { older, newer, leading: migration(older, newer, ({ state }) => ({ state })) };
  }

  function begin(version: number) {
    const { authorise, reserve } = shop.trade;
    return saga('resting', { ...identity, version })
      .step('money', authorise, ({ input }) => input)
      .forEach(
        'parcels',
        () => ['a', 'b'],
        reserve,
        ({ item, input }) => ({ orderId: input.orderId, of: item }),
      )
      .sleep('rest', '1h');
  }

  test('that it is past knows in the new version what each brought, and is taken back with it', async () => {
    shop = await sagaShop({ payment: { isRefused: true } });
    const { older, newer, leading } = resting();
    const before = await shop.open([older]);
    const run = await before.submit(older, order);
    await sagaReached(run, 'waiting');
    await before.stop();

    const after = await shop.open([newer as typeof older], { migrations: [leading] });
    await shop.pass('61m');

    expect(await statusIn(after, run)).toBe('compensated');
    expect(await migrationsOf(after, run)).toEqual([{ from: 1, to: 2 }]);
    const kept = [...(await shop.kept())].toSorted();
    expect(kept).toEqual(['authorisation', 'release', 'release', 'reservation', 'reservation', 'void']);
  });

  test('that is one step in the new version is not moved: nobody would take back what it did', async () => {
    shop = await sagaShop();
    const { authorise, reserve } = shop.trade;
    const older = begin(1);
    const newer = saga('resting', { ...identity, version: 2 })
      .step('money', authorise, ({ input }) => input)
      .step('parcels', reserve, ({ input }) => input)
      .sleep('rest', '1h');
    const leading = migration(older, newer, ({ state }) => ({ state }));
    const before = await shop.open([older]);
    const run = await before.submit(older, order);
    await sagaReached(run, 'waiting');
    await before.stop();

    const after = await shop.open([newer], { migrations: [leading] });
    const report = await after.operator.migrate(leading, { dryRun: true });

    expect(report).toMatchObject({
      moves: 0,
      refused: [{ id: run.id, why: 'step parcels[0] is of a list, and is none in version 2' }],
    });
  });

  test('that it is at is not moved before that has ended, and says so', async () => {
    shop = await sagaShop();
    const { older, newer, leading } = resting();
    const run = await interrupted('reservation', older);

    const after = await shop.open([newer as typeof older], { migrations: [leading] });
    const report = await after.operator.migrate(leading, { dryRun: true });
    shop.letGo('reservation');
    await shop.pass('61m');

    expect(report).toMatchObject({ moves: 0, refused: [{ id: run.id, why: 'forEach parcels is under way' }] });
    expect(await statusIn(after, run)).toBe('succeeded');
    expect([...(await shop.kept())].toSorted()).toEqual(['authorisation', 'payment', 'reservation', 'reservation']);
  });
});

describe('a saga whose step is unknown when it is migrated', () => {
  test('waits for that step in the new version, and the provider has one record of it', async () => {
    shop = await sagaShop();
    const { older, newer, leading } = alike();
    const run = await interrupted('reservation', older);
    const ledger = (await rowOf(run)).operations.map(({ id, providerKey }) => [id, providerKey]);

    const moving = await shop.open([newer], { migrations: [leading] });
    await until(() => rowOf(run).then(({ version }) => version === 2));
    const moved = await rowOf(run);
    shop.letGo('reservation');
    await shop.pass('5m');

    expect(moved.operations.map(({ id, providerKey }) => [id, providerKey])).toEqual(ledger);
    expect(await statusIn(moving, run)).toBe('succeeded');
    expect(await migrationsOf(moving, run)).toEqual([{ from: 1, to: 2 }]);
    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'payment']);
  });

  test('takes the steps that the new version has in addition, from where it is', async () => {
    shop = await sagaShop();
    const { older, newer, leading } = alike();
    const run = await interrupted('authorisation', older);
    shop.letGo('authorisation');

    const moving = await shop.open([newer], { migrations: [leading] });
    await shop.pass('5m');

    expect(await statusIn(moving, run)).toBe('succeeded');
    expect(await rowOf(run)).toMatchObject({ version: 2 });
    expect(await shop.kept()).toEqual(['authorisation', 'booking', 'reservation', 'payment']);
  });

  test('is taken back in the new version with what was done in the old one', async () => {
    shop = await sagaShop();
    const { older, newer, leading } = alike();
    const run = await interrupted('authorisation', older);
    shop.letGo('authorisation');

    const moving = await shop.open([newer], { migrations: [leading] });
    await shop.provider.calls(['decline'], 'reservation');
    await shop.pass('5m');

    expect(await statusIn(moving, run)).toBe('compensated');
    expect(await shop.kept()).toEqual(['authorisation', 'booking', 'cancellation', 'void']);
  });
});

describe('twenty sagas in a state that the new version has not', () => {
  test('are left and counted while nothing leads them on, and go on once a migration does, each charged once', async () => {
    shop = await sagaShop();
    const { authorise, pay } = shop.trade;
    const older = first(shop.trade);
    const newer = saga('selling', { ...identity, version: 2 })
      .choose(
        'method',
        () => 'card',
        (branch) => ({ card: branch.step('money', authorise, ({ input }) => input), credit: branch }),
      )
      .step('payment', pay, ({ input }) => input);
    const leading = migration(older, newer, ({ state }) => (state === 'money' ? { state: { method: 'money' } } : null));
    const orders = Array.from({ length: 20 }, (_, n) => `order-${n}`);
    const store = severable(shop.store);
    const begun = await shop.open([older], { store, concurrency: orders.length });
    shop.hold('authorisation');
    const runs = await Promise.all(orders.map((orderId) => begun.submit(older, { orderId })));
    await shop.held('authorisation');
    await shop.rest();
    store.sever();

    const leadingNowhere = await shop.open([newer]);
    shop.letGo('authorisation');
    await shop.pass('2m');
    const left = await Promise.all(runs.map((run) => rowOf(run)));
    const counted = await leadingNowhere.operator.versions();
    const moving = await shop.open([newer], { migrations: [leading] });
    await shop.pass('5m');

    expect(new Set(left.map(({ version, state }) => `${version} ${state}`))).toEqual(new Set(['1 in-progress']));
    expect(counted).toMatchObject([
      { version: 1, inFlight: 20, escalated: 0, isRegistered: false },
      { version: 2, inFlight: 0, isRegistered: true },
    ]);
    expect(new Set(await Promise.all(runs.map((run) => statusIn(moving, run))))).toEqual(new Set(['succeeded']));
    for (const orderId of orders) expect(await shop.kept(orderId)).toEqual(['authorisation', 'payment']);
  });
});

describe('a saga that waits for what another one does when it is migrated', () => {
  test('waits for it in the new version, and it is done once for both', async () => {
    shop = await sagaShop({ reservation: { isShared: true } });
    const { older, newer, leading } = alike();
    const buying = purchase(shop.trade);
    const store = severable(shop.store);
    const begun = await shop.open([buying, older], { store });
    shop.hold('reservation');
    const owner = await begun.submit(buying, order);
    await shop.held('reservation');
    const joiner = await begun.submit(older, order);
    await shop.pass('1s');
    store.sever();

    const moving = await shop.open([buying, newer], { migrations: [leading] });
    await until(() => rowOf(joiner).then(({ version }) => version === 2));
    const moved = await rowOf(joiner);
    shop.letGo('reservation');
    await shop.pass('5m');

    expect(moved.state).toBe('in-progress');
    expect([await statusIn(moving, owner), await statusIn(moving, joiner)]).toEqual(['succeeded', 'succeeded']);
    expect((await shop.kept()).toSorted()).toEqual([
      'authorisation',
      'authorisation',
      'payment',
      'payment',
      'reservation',
    ]);
  });
});

describe('a saga whose process dies while it is moved on', () => {
  const writes = 9;
  const deaths: readonly Death[] = Array.from({ length: writes }, (_, n) => n + 1).flatMap((write) =>
    (['before', 'after'] as const).map((side) => ({ side, write })),
  );

  test.each(deaths)('$side its write $write has each of its effects once all the same', async (death) => {
    shop = await sagaShop();
    const { older, newer, leading } = alike();
    const run = await interrupted('authorisation', older);
    shop.letGo('authorisation');
    const dying = await shop.open([newer], { migrations: [leading], store: mortal(shop.store, death), start: false });
    // It may die before it has begun.
    void dying.start();
    await shop.pass('1m');

    const moving = await shop.open([newer], { migrations: [leading] });
    await shop.pass('5m');

    expect(await statusIn(moving, run)).toBe('succeeded');
    expect(await migrationsOf(moving, run)).toEqual([{ from: 1, to: 2 }]);
    expect(await shop.kept()).toEqual(['authorisation', 'booking', 'reservation', 'payment']);
  });
});

describe('a saga that is led back before a step that has succeeded', () => {
  test('does not do that step again: it is told what it brought', async () => {
    shop = await sagaShop();
    const { authorise, reserve, book, pay } = shop.trade;
    const pausing = saga('pausing', identity)
      .step('money', authorise, ({ input }) => input)
      .step('goods', reserve, ({ input }) => input)
      .sleep('pause', '1h')
      .step('payment', pay, ({ input }) => input);
    const booking = saga('pausing', { ...identity, version: 2 })
      .step('money', authorise, ({ input }) => input)
      .step('courier', book, ({ input }) => input)
      .step('goods', reserve, ({ input }) => input)
      .step('payment', pay, ({ input, goods }) => ({ ...input, of: goods.id }));
    const begun = await shop.open([pausing]);
    const run = await begun.submit(pausing, order);
    await sagaReached(run, 'waiting');
    await begun.stop();

    const back = migration(pausing, booking, () => ({ state: 'courier' }));
    const moving = await shop.open([booking], { migrations: [back] });
    await moving.operator.migrate(back);
    await shop.pass('1m');

    expect(await statusIn(moving, run)).toBe('succeeded');
    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'booking', 'payment']);
  });
});

describe('a saga that waits when it is migrated', () => {
  /** Authorise, wait for an approval or an hour, reserve; in the second version an invoice is written at the end. */
  function asking(version: 1 | 2) {
    const { authorise, reserve, invoice } = shop.trade;
    const operations = { authorise, reserve, invoice };
    const written = {
      invoke: {
        ...({ id: 'invoice', src: 'invoice', onDone: 'sold', onError: 'back' } as const),
        input: ({ context }: { context: Part }) => context,
      },
    };
    const machine = setup({
      types: { context: typeOf<Part>(), input: typeOf<Part>(), events: typeOf<{ type: 'approved' | 'agreed' }>() },
      actors: actorsFrom(operations),
    }).createMachine({
      id: 'asking',
      context: ({ input }) => input,
      initial: 'money',
      states: {
        money: {
          invoke: { id: 'money', src: 'authorise', input: ({ context }) => context, onDone: 'asked', onError: 'back' },
        },
        asked: { on: { [version === 1 ? 'approved' : 'agreed']: 'goods' }, after: { 3_600_000: 'back' } },
        goods: {
          invoke: {
            ...{ id: 'goods', src: 'reserve', input: ({ context }: { context: Part }) => context },
            ...{ onDone: version === 1 ? 'sold' : 'written', onError: 'back' },
          },
        },
        ...(version === 1 ? {} : { written }),
        back: { invoke: { src: 'compensate', onDone: 'withdrawn' } },
        sold: { type: 'final' },
        withdrawn: { type: 'final' },
      },
    });
    return saga('asking', { ...identity, version, machine, operations });
  }

  async function waiting() {
    const [older, newer] = [asking(1), asking(2)];
    const begun = await shop.open([older]);
    const run = await begun.submit(older, order);
    await sagaReached(run, 'waiting');
    await begun.stop();
    return { run, newer, leading: migration(older, newer, ({ state, context }) => ({ state, context })) };
  }

  test('is moved at once at a word, and keeps the time that it waits for', async () => {
    shop = await sagaShop();
    const { run, newer, leading } = await waiting();
    const { dues } = await rowOf(run);

    const moving = await shop.open([newer], { migrations: [leading] });
    await shop.pass('1m');
    const before = await rowOf(run);
    const report = await moving.operator.migrate(leading);
    await shop.rest();
    const after = await rowOf(run);
    await shop.pass('59m');

    expect(before.version).toBe(1);
    expect(report).toEqual({ moves: 1, left: 0, refused: [], after: null });
    expect(after).toMatchObject({ version: 2, state: 'waiting', dues, reason: null });
    expect(await statusIn(moving, run)).toBe('compensated');
    expect(await shop.kept()).toEqual(['authorisation', 'void']);
  });

  test('hears what the new version takes, and goes on in it', async () => {
    shop = await sagaShop();
    const { run, newer, leading } = await waiting();

    const moving = await shop.open([newer], { migrations: [leading] });
    await moving.signal(run.id, { type: 'agreed' }, { eventId: 'event-1' });
    await shop.pass('1m');

    expect(await statusIn(moving, run)).toBe('succeeded');
    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'invoice']);
  });

  test('is moved over two versions at once where both are led on from', async () => {
    shop = await sagaShop();
    const { run, newer, leading } = await waiting();
    const { authorise, invoice } = shop.trade;
    const third = saga('asking', { ...identity, version: 3 })
      .step('money', authorise, ({ input }) => input)
      .step('invoice', invoice, ({ input }) => input);

    const onward = migration(newer, third, () => ({ state: 'invoice' }));
    const moving = await shop.open([third], { migrations: [leading, onward] });
    await moving.operator.migrate(leading);
    await shop.pass('1m');

    expect(await statusIn(moving, run)).toBe('succeeded');
    expect(await migrationsOf(moving, run)).toEqual([
      { from: 1, to: 2 },
      { from: 2, to: 3 },
    ]);
    expect(await shop.kept()).toEqual(['authorisation', 'invoice']);
  });
});

describe('a dry run', () => {
  test('tells what would become of each, page by page, and writes nothing', async () => {
    shop = await sagaShop();
    const { older, newer, leading } = alike(({ state, input }) => {
      if (input.orderId === 'order-3') throw new Error('it has no place for this order');
      return state === 'money' ? null : { state: input.orderId === 'order-2' ? 'nowhere' : state };
    });
    const store = severable(shop.store);
    const begun = await shop.open([older], { store });
    shop.hold('reservation');
    const runs: SagaRun[] = [];
    for (const orderId of ['order-1', 'order-2', 'order-3']) runs.push(await begun.submit(older, { orderId }));
    await shop.held('reservation');
    await shop.rest();
    shop.hold('authorisation');
    runs.push(await begun.submit(older, { orderId: 'order-4' }));
    await shop.held('authorisation');
    await shop.rest();
    store.sever();
    const before = await Promise.all(runs.map(rowOf));

    const moving = await shop.open([newer], { migrations: [leading], start: false });
    const whole = await moving.operator.migrate(leading, { dryRun: true });
    const page = await moving.operator.migrate(leading, { dryRun: true, limit: 3 });
    const rest = await moving.operator.migrate(leading, {
      ...{ dryRun: true, limit: 3 },
      ...(page.after === null ? {} : { after: page.after }),
    });

    expect(whole).toMatchObject({ moves: 1, left: 1, after: null });
    const why = (orderId: number) => whole.refused.find(({ id }) => id === runs[orderId - 1]?.id)?.why;
    expect(whole.refused).toHaveLength(2);
    expect(why(2)).toMatch(/no such state/);
    expect(why(3)).toMatch(/no place for this order/);
    expect(page.moves + rest.moves).toBe(1);
    expect(page.refused.length + rest.refused.length).toBe(2);
    expect(rest.after).toBe(null);
    expect((await Promise.all(runs.map(rowOf))).map(timeless)).toEqual(before.map(timeless));
  });
});

function timeless({ now: _, operations, ...row }: Awaited<ReturnType<typeof rowOf>>) {
  return { ...row, operations: operations.map(({ now: __, ...each }) => each) };
}

describe('a saga that cannot be moved', () => {
  /** Why the one that there is would not be moved. */
  async function whyNot(moving: Orchestrator<true>, leading: Migration) {
    const { moves, refused } = await moving.operator.migrate(leading, { dryRun: true });
    expect(moves).toBe(0);
    return refused.map(({ why }) => why);
  }

  test('because it is being taken back ends as it began', async () => {
    shop = await sagaShop();
    const { older, newer, leading } = alike();
    const begun = await shop.open([older]);
    await shop.provider.calls(['decline'], 'payment');
    shop.hold('release');
    const run = await begun.submit(older, order);
    await shop.held('release');

    const moving = await shop.open([newer], { migrations: [leading] });
    const why = await whyNot(moving, leading);
    shop.letGo('release');
    await shop.pass('5m');

    expect(why).toEqual(['it is being taken back']);
    expect(await rowOf(run)).toMatchObject({ version: 1, state: 'compensated' });
    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'release', 'void']);
  });

  test('because a person has ended it, or its definition is at fault, says so', async () => {
    shop = await sagaShop();
    const { authorise, reserve } = shop.trade;
    const faulty = saga('selling', identity)
      .step('money', authorise, ({ input }) => input)
      .step('goods', reserve, ({ input }) => {
        if (input.orderId === 'order-18') throw new Error('no lines');
        return input;
      });
    const newer = second(shop.trade);
    const leading = migration(faulty, newer, ({ state }) => ({ state }));
    const store = severable(shop.store);
    const begun = await shop.open([faulty], { store });
    await sagaReached(await begun.submit(faulty, { orderId: 'order-18' }), 'escalated');
    shop.hold('authorisation');
    const ended = await begun.submit(faulty, order);
    await shop.held('authorisation');
    await begun.operator.terminate(ended.id, who);
    store.sever();

    const reporting = await shop.open([newer], { migrations: [leading], start: false });

    expect((await whyNot(reporting, leading)).toSorted()).toEqual([
      'it has been ended as it stands',
      'its definition is at fault',
    ]);
  });

  test.each([
    {
      how: 'a step that had an effect is gone',
      later: ({ authorise, pay }: Trade) =>
        saga('selling', { ...identity, version: 2 })
          .step('money', authorise, ({ input }) => input)
          .step('payment', pay, ({ input }) => input),
      why: /step goods may have had an effect, and version 2 has no such step/,
    },
    {
      how: 'a step of its name is another operation',
      later: ({ authorise, book, pay }: Trade) =>
        saga('selling', { ...identity, version: 2 })
          .step('money', authorise, ({ input }) => input)
          .step('goods', book, ({ input }) => input)
          .step('payment', pay, ({ input }) => input),
      why: /step goods was stock\.reserve, and is courier\.book in version 2/,
    },
    {
      how: 'what it would begin there throws',
      later: ({ authorise, reserve, pay }: Trade) =>
        saga('selling', { ...identity, version: 2 })
          .step('money', authorise, ({ input }) => input)
          .step('goods', reserve, () => {
            throw new Error('nothing is known of its goods');
          })
          .step('payment', pay, ({ input }) => input),
      why: /nothing is known of its goods/,
    },
    {
      how: 'what is under way is not what it would wait for',
      later: second,
      place: 'courier',
      why: /step goods is under way, and state "courier" does not wait for it/,
    },
  ])('because $how goes on in its version', async ({ later, place = 'goods', why }) => {
    shop = await sagaShop();
    const older = first(shop.trade);
    const run = await interrupted('reservation', older);
    const newer = later(shop.trade);
    const leading = migration(older, newer, ({ state }) => (state === 'goods' ? { state: place } : null));

    const moving = await shop.open([newer], { migrations: [leading] });
    const told = await whyNot(moving, leading);
    shop.letGo('reservation');
    await shop.pass('5m');

    expect(told).toEqual([expect.stringMatching(why)]);
    expect(await rowOf(run)).toMatchObject({ version: 1, state: 'succeeded' });
    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'payment']);
  });

  test('for now is asked again when it has gone on', async () => {
    shop = await sagaShop();
    const { older, newer, leading } = alike(({ state }) => (state === 'payment' ? { state } : null));
    const run = await interrupted('reservation', older);

    const moving = await shop.open([newer], { migrations: [leading] });
    shop.letGo('reservation');
    await shop.pass('5m');

    expect(await rowOf(run)).toMatchObject({ version: 2, state: 'succeeded' });
    expect(await migrationsOf(moving, run)).toEqual([{ from: 1, to: 2 }]);
    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'payment']);
  });
});

describe('a migration that cannot be right', () => {
  const named = (name: string, version: number) =>
    saga(name, { ...identity, version }).step('money', shop.trade.authorise, ({ input }) => input);
  const stays = ({ state }: { readonly state: string | object }) => ({ state });

  test.each<[string, RegExp, () => unknown]>([
    // The compiler refuses it too.
    [
      'to another saga',
      /saga selling from version 1 leads to saga buying/,
      () => migration(named('selling', 1), named('buying', 2) as never, stays),
    ],
    [
      'to an older version',
      /from version 2 leads to version 1, which is not newer/,
      () => migration(named('selling', 2), named('selling', 1), stays),
    ],
    [
      'to the same version',
      /from version 1 leads to version 1, which is not newer/,
      () => migration(named('selling', 1), named('selling', 1), stays),
    ],
    [
      'from what is no saga',
      /from something that is no saga/,
      () =>
        migration(
          operation('a.b', {
            input: typed<Part>(),
            execute: async () => succeeded({}),
            keyRetention: 'none',
            lookup: 'none',
          }) as never,
          named('selling', 2),
          stays,
        ),
    ],
    ['without a move', /has no move/, () => migration(named('selling', 1), named('selling', 2), undefined as never)],
  ])('%s is refused when it is made', async (_, message, make) => {
    shop = await sagaShop();

    expect(make).toThrow(
      expect.objectContaining({ code: 'DEFINITION_INVALID', message: expect.stringMatching(message) }),
    );
  });

  test('is refused with the orchestrator where its target is not registered, or another one leads from its version', async () => {
    shop = await sagaShop();
    const [one, two, three] = [named('selling', 1), named('selling', 2), named('selling', 3)];
    const [toTwo, toThree] = [migration(one, two, stays), migration(one, three, stays)];

    const missing = shop.open([one], { migrations: [toTwo] });
    const another = shop.open([named('selling', 2)], { migrations: [toTwo] });
    const both = shop.open([two, three], { migrations: [toTwo, toThree] });
    const none = shop.open([two], { migrations: [named('selling', 1) as never] });

    const invalid = (message: RegExp) => ({ code: 'DEFINITION_INVALID', message: expect.stringMatching(message) });
    await expect(missing).rejects.toMatchObject(invalid(/from version 1 leads to version 2, which is not registered/));
    await expect(another).rejects.toMatchObject(invalid(/version 2, of which another definition is registered/));
    await expect(both).rejects.toMatchObject(
      invalid(/Two migrations of saga selling lead from version 1: to 2 and to 3/),
    );
    await expect(none).rejects.toMatchObject(invalid(/no migration/));
  });

  test('is refused by an orchestrator that does not have it, and so is what is no page', async () => {
    shop = await sagaShop();
    const { older, newer, leading } = alike();
    const without = await shop.open([older, newer]);
    const having = await shop.open([newer], { migrations: [leading] });

    const unknown = without.operator.migrate(leading, { dryRun: true });
    const endless = having.operator.migrate(leading, { limit: 0 });

    await expect(unknown).rejects.toMatchObject({ code: 'DEFINITION_INVALID', message: /not registered here/ });
    await expect(endless).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  });
});

/** Looks again whenever the event loop has turned. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await shop.rest();
}
