/**
 * A saga does one thing for each item of a list, of whatever length that turns out to be: each item is an operation of
 * its own, no more are under way than the saga says, and what was done is taken back like any other step. The provider's
 * records are the proof.
 */

import { afterEach, describe, expect, test } from 'vitest';
import { type Duration, notApplied, saga, succeeded, typed } from 'sagacity';
import { mortal } from '../support/mortal-store.ts';
import { parcel } from '../support/parcel.ts';
import { now, sagaReached, sagaShop, type SagaShop } from '../support/saga-shop.ts';
import { until } from '../support/world.ts';

let shop: SagaShop;
afterEach(() => shop.close());

interface Dispatch {
  readonly orderId: string;
  readonly parcels: readonly string[];
}

function order(...parcels: string[]): Dispatch {
  return { orderId: 'order-17', parcels };
}

const five = order('a', 'b', 'c', 'd', 'e');

interface Sending {
  readonly concurrency?: number;
  readonly atMost?: number;
  readonly within?: Duration;
  /** What the saga takes for its list; by default that of its input. */
  readonly list?: (input: Dispatch) => readonly string[];
}

/** Authorise, reserve each parcel, and pay: everything can be taken back to the end. */
function dispatch({ authorise, reserve, pay }: SagaShop['trade'], { list, within = '1h', ...options }: Sending = {}) {
  return saga('dispatch', { input: typed<Dispatch>(), key: ({ input }) => input.orderId, within })
    .step('money', authorise, ({ input: { orderId } }) => ({ orderId }))
    .forEach(
      'parcels',
      ({ input }) => (list === undefined ? input.parcels : list(input)),
      reserve,
      ({ item, input }) => ({ orderId: item, of: input.orderId }),
      options,
    )
    .step('payment', pay, ({ input: { orderId }, parcels }) => ({ orderId, of: parcels.map(({ id }) => id).join() }));
}

/** The point of no return first, then a mail for each parcel. */
function announcing(
  { capture, email, invoice }: SagaShop['trade'],
  onFailed: 'continue' | 'escalate',
  concurrency = 1,
) {
  return saga('announcing', { input: typed<Dispatch>(), key: ({ input }) => input.orderId })
    .pivot('capture', capture, ({ input: { orderId } }) => ({ orderId }))
    .forEach(
      'mails',
      ({ input }) => input.parcels,
      email,
      ({ item }) => ({ orderId: item }),
      { onFailed, concurrency },
    )
    .step('bill', invoice, ({ input: { orderId } }) => ({ orderId }));
}

/** How many records there are of each kind. */
async function counted(): Promise<Readonly<Record<string, number>>> {
  const kinds = (await shop.provider.records()).map(({ kind }) => kind);
  return Object.fromEntries([...new Set(kinds)].map((kind) => [kind, kinds.filter((other) => other === kind).length]));
}

/** What the records of a kind are about, in the order in which they were made. */
async function made(kind: string): Promise<readonly (string | null)[]> {
  return (await shop.provider.records({ kind })).map(({ orderId }) => orderId);
}

/** The record that a parcel has. */
async function idOf(parcel: string) {
  return (await shop.provider.records({ kind: 'reservation' })).find(({ orderId }) => orderId === parcel)?.id;
}

describe('a saga that does one thing for each of a list', () => {
  test.each([0, 1, 3, 20])('does it for as many as there are: %i', async (count) => {
    shop = await sagaShop();
    const definition = dispatch(shop.trade);
    const orchestrator = await shop.open([definition]);
    const parcels = Array.from({ length: count }, (_, index) => `parcel-${index}`);
    const run = await orchestrator.submit(definition, order(...parcels));
    await sagaReached(run, 'succeeded');

    const end = await now(run);
    const records = await shop.provider.records({ kind: 'reservation' });

    expect(records.map(({ orderId }) => orderId).toSorted()).toEqual(parcels.toSorted());
    const ids = parcels.map((parcel) => records.find(({ orderId }) => orderId === parcel)?.id);
    expect(end).toMatchObject({ status: 'succeeded', output: { parcels: ids.map((id) => ({ id })) } });
    expect(await shop.kept()).toEqual(['authorisation', 'payment']);
  });

  test('does one after the other in the order of the list, if it is told to', async () => {
    shop = await sagaShop();
    const definition = dispatch(shop.trade, { concurrency: 1 });
    const orchestrator = await shop.open([definition]);
    const run = await orchestrator.submit(definition, five);
    await sagaReached(run, 'succeeded');

    expect(await made('reservation')).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  test('has no more under way at once than it says', async () => {
    shop = await sagaShop();
    const definition = dispatch(shop.trade, { concurrency: 2 });
    const orchestrator = await shop.open([definition]);
    shop.hold('reservation');
    const run = await orchestrator.submit(definition, five);

    const begun: (number | undefined)[] = [];
    for (let round = 0; round < 3; round += 1) {
      await shop.held('reservation');
      await shop.rest();
      begun.push((await counted())['reservation']);
      shop.letGo('reservation');
      if (round < 2) shop.hold('reservation');
    }
    await sagaReached(run, 'succeeded');

    expect(begun).toEqual([2, 4, 5]);
  });

  test('gives each item a key of its own, and another saga others', async () => {
    shop = await sagaShop();
    const definition = dispatch(shop.trade);
    const orchestrator = await shop.open([definition]);
    const runs = [
      await orchestrator.submit(definition, { orderId: 'order-17', parcels: ['a', 'a'] }),
      await orchestrator.submit(definition, { orderId: 'order-18', parcels: ['a', 'a'] }),
    ];
    for (const run of runs) await sagaReached(run, 'succeeded');

    const keys = (await shop.provider.records({ kind: 'reservation' })).map(({ key }) => key);

    expect(keys).toHaveLength(4);
    expect(new Set(keys).size).toBe(4);
    expect(await counted()).toEqual({ authorisation: 2, reservation: 4, payment: 2 });
  });

  test('has those items together with other sagas that mean the same', async () => {
    shop = await sagaShop({ reservation: { isShared: true } });
    const { reserve } = shop.trade;
    const definition = saga('sharing', { input: typed<Dispatch>(), key: ({ input }) => input.orderId }).forEach(
      'parcels',
      ({ input }) => input.parcels,
      reserve,
      ({ item }) => ({ orderId: item }),
    );
    const orchestrator = await shop.open([definition]);
    const run = await orchestrator.submit(definition, { orderId: 'order-17', parcels: ['a', 'b'] });
    const other = await orchestrator.submit(definition, { orderId: 'order-18', parcels: ['b', 'c'] });
    await shop.pass('1m');
    const [end, otherEnd] = [await now(run), await now(other)];

    expect((await made('reservation')).toSorted()).toEqual(['a', 'b', 'c']);
    expect(end.status === 'succeeded' && end.output.parcels[1]).toEqual(
      otherEnd.status === 'succeeded' && otherEnd.output.parcels[0],
    );
    expect([end.status, otherEnd.status]).toEqual(['succeeded', 'succeeded']);
  });

  test.each(
    [2, 3, 4, 5, 6, 7].flatMap((write) => (['before', 'after'] as const).map((side) => [side, write] as const)),
  )('goes on where it was when its process dies %s write %i', async (side, write) => {
    shop = await sagaShop();
    const definition = dispatch(shop.trade, { concurrency: 2 });
    const store = mortal(shop.store, { side, write });
    const doomed = await shop.open([definition], { store });
    const { id } = await doomed.submit(definition, five);
    await until(() => (store.isDead ? true : null), 'the process to die');

    const orchestrator = await shop.open([definition]);
    await shop.pass('3m');
    const end = await now(await orchestrator.sagaRun({ saga: definition, key: 'order-17' }));

    expect(await (await orchestrator.sagaRun(id)).status()).toBe('succeeded');
    expect((await made('reservation')).toSorted()).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(end.status === 'succeeded' && end.output.parcels.map(({ id: of }) => of)).toEqual(
      await Promise.all(five.parcels.map((parcel) => idOf(parcel))),
    );
  });

  test('does it in a branch beside one that does it for others', async () => {
    shop = await sagaShop();
    const { reserve, book, pay } = shop.trade;
    const definition = saga('both', { input: typed<Dispatch>(), key: ({ input }) => input.orderId })
      .parallel('prepare', (branch) => ({
        warehouse: branch.forEach(
          'goods',
          ({ input }) => input.parcels,
          reserve,
          ({ item }) => ({ orderId: item }),
          {
            concurrency: 2,
          },
        ),
        carrier: branch.forEach(
          'trips',
          ({ input }) => input.parcels,
          book,
          ({ item }) => ({ orderId: item }),
        ),
      }))
      .step('payment', pay, ({ input: { orderId }, goods, trips }) => ({
        orderId,
        of: `${goods.length} ${trips.length}`,
      }));
    const orchestrator = await shop.open([definition]);
    const run = await orchestrator.submit(definition, five);
    await sagaReached(run, 'succeeded');

    const end = await now(run);

    expect(await counted()).toEqual({ reservation: 5, booking: 5, payment: 1 });
    expect(end.status === 'succeeded' && [end.output.goods.length, end.output.trips.length]).toEqual([5, 5]);
  });

  test('does it where it has chosen to, again for what an earlier one left behind', async () => {
    shop = await sagaShop();
    const { reserve, book } = shop.trade;
    const definition = saga('chosen', { input: typed<Dispatch>(), key: ({ input }) => input.orderId }).choose(
      'way',
      ({ input }) => (input.parcels.length > 1 ? 'many' : 'one'),
      (branch) => ({
        one: branch.step('single', book, ({ input: { orderId } }) => ({ orderId })),
        many: branch
          .forEach(
            'goods',
            ({ input }) => input.parcels,
            reserve,
            ({ item }) => ({ orderId: item }),
          )
          .forEach(
            'trips',
            ({ goods }) => goods,
            book,
            ({ item, index }) => ({ orderId: `${index}`, of: item.id }),
          ),
      }),
    );
    const orchestrator = await shop.open([definition]);
    const run = await orchestrator.submit(definition, order('a', 'b', 'c'));
    await sagaReached(run, 'succeeded');

    expect((await made('reservation')).toSorted()).toEqual(['a', 'b', 'c']);
    expect((await made('booking')).toSorted()).toEqual(['0', '1', '2']);
  });
});

describe('a list that is left before the pivot', () => {
  test('begins nothing more once an item is refused, and is taken back, the last first', async () => {
    shop = await sagaShop();
    const definition = dispatch(shop.trade, { concurrency: 1 });
    const orchestrator = await shop.open([definition]);
    await shop.provider.calls(['ok', 'ok', 'decline'], 'reservation');
    const run = await orchestrator.submit(definition, five);
    await sagaReached(run, 'compensated');

    expect(await now(run)).toMatchObject({ cause: { step: 'parcels', code: 'declined' } });
    expect(await made('reservation')).toEqual(['a', 'b']);
    expect(await made('release')).toEqual(['b', 'a']);
    expect(await counted()).toEqual({ authorisation: 1, reservation: 2, release: 2, void: 1 });
  });

  test('is taken back once it is proven how what was under way has ended', async () => {
    shop = await sagaShop();
    const definition = dispatch(shop.trade, { concurrency: 2 });
    const orchestrator = await shop.open([definition]);
    await shop.provider.calls(['commit-then-drop', 'decline'], 'reservation');
    shop.hold('look-up');
    const run = await orchestrator.submit(definition, order('a', 'b'));
    await sagaReached(run, 'compensating');
    await shop.held('look-up');
    const meanwhile = await counted();

    shop.letGo('look-up');
    await shop.pass('2m');

    expect(meanwhile).toEqual({ authorisation: 1, reservation: 1 });
    expect(await now(run)).toMatchObject({ status: 'compensated', cause: { step: 'parcels', code: 'declined' } });
    expect(await counted()).toEqual({ authorisation: 1, reservation: 1, release: 1, void: 1 });
  });

  test('gives up what was begun and has not been sent', async () => {
    shop = await sagaShop();
    const definition = dispatch(shop.trade);
    const orchestrator = await shop.open([definition], { concurrency: 1 });
    await shop.provider.calls(['decline'], 'reservation');
    const run = await orchestrator.submit(definition, five);
    await sagaReached(run, 'compensated');

    expect(await now(run)).toMatchObject({ cause: { step: 'parcels', code: 'declined' } });
    expect(await shop.provider.received({ kind: 'reservation' })).toHaveLength(1);
    expect(await counted()).toEqual({ authorisation: 1, void: 1 });
  });

  test('begins nothing more once a step in the branch beside it is refused', async () => {
    shop = await sagaShop();
    const { reserve, book } = shop.trade;
    const definition = saga('both', { input: typed<Dispatch>(), key: ({ input }) => input.orderId }).parallel(
      'prepare',
      (branch) => ({
        warehouse: branch.forEach(
          'goods',
          ({ input }) => input.parcels,
          reserve,
          ({ item }) => ({ orderId: item }),
          {
            concurrency: 2,
          },
        ),
        carrier: branch.step('trip', book, ({ input: { orderId } }) => ({ orderId })),
      }),
    );
    const orchestrator = await shop.open([definition]);
    await shop.provider.calls(['decline'], 'booking');
    shop.hold('reservation');
    const run = await orchestrator.submit(definition, five);
    await sagaReached(run, 'compensating');
    await shop.rest();
    const meanwhile = await counted();

    shop.letGo('reservation');
    await shop.pass('1m');

    expect(meanwhile).toEqual({ reservation: 2 });
    expect(await now(run)).toMatchObject({ status: 'compensated', cause: { step: 'trip', code: 'declined' } });
    expect(await counted()).toEqual({ reservation: 2, release: 2 });
  });

  test.each(['cancelled', 'timed-out'] as const)(
    'is taken back as far as it came when the saga is %s',
    async (code) => {
      shop = await sagaShop();
      const definition = dispatch(shop.trade, { concurrency: 2, within: '5s' });
      const orchestrator = await shop.open([definition]);
      shop.hold('reservation');
      const run = await orchestrator.submit(definition, five);
      await shop.held('reservation');
      await shop.rest();

      if (code === 'timed-out') await shop.pass('6s');
      const word = { by: 'the shop', reason: 'sold out' };
      const cancelling = code === 'cancelled' ? orchestrator.cancel(run.id, word) : null;
      await shop.rest();
      shop.letGo('reservation');
      await shop.pass('2m');
      await cancelling;

      expect(await now(run)).toMatchObject({ status: 'compensated', cause: { step: null, code } });
      const { reservation, release, ...others } = await counted();
      expect([reservation, release]).toEqual([2, 2]);
      expect(others).toEqual({ authorisation: 1, void: 1 });
    },
  );
});

describe('an item that is refused after the pivot', () => {
  const decision = { by: 'the shop', evidence: 'a call to the carrier' };

  test('is left out while the others go on, if the saga says so', async () => {
    shop = await sagaShop();
    const definition = announcing(shop.trade, 'continue');
    const orchestrator = await shop.open([definition]);
    await shop.provider.calls(['ok', 'decline'], 'email');
    const run = await orchestrator.submit(definition, five);
    await sagaReached(run, 'succeeded');

    const end = await now(run);

    expect(await made('email')).toEqual(['a', 'c', 'd', 'e']);
    expect(end.status === 'succeeded' && end.output.mails.map((mail) => mail !== undefined)).toEqual([
      ...[true, false, true, true, true],
    ]);
    expect(await shop.kept()).toEqual(['capture', 'invoice']);
  });

  test('is asked about once the others have ended, and a person may state how it ended', async () => {
    shop = await sagaShop();
    const definition = announcing(shop.trade, 'escalate');
    const orchestrator = await shop.open([definition]);
    await shop.provider.calls(['ok', 'decline'], 'email');
    const run = await orchestrator.submit(definition, five);
    await sagaReached(run, 'escalated');
    const [asked] = await orchestrator.operator.escalatedSagas();
    const sent = await made('email');

    await orchestrator.operator.resolveStep(run.id, succeeded({ id: 'by phone' }), { ...decision, step: 'mails[1]' });
    await sagaReached(run, 'succeeded');
    const end = await now(run);

    expect(asked).toMatchObject({ reason: 'step-failed', states: 'mails failed' });
    expect(sent).toEqual(['a', 'c', 'd', 'e']);
    expect(end.status === 'succeeded' && end.output.mails[1]).toEqual({ id: 'by phone' });
    expect(end.status === 'succeeded' && end.output.mails.length).toBe(5);
    expect(await shop.kept()).toEqual(['capture', 'invoice']);
  });

  test('is taken again under another key, if a person says so', async () => {
    shop = await sagaShop();
    const definition = announcing(shop.trade, 'escalate');
    const orchestrator = await shop.open([definition]);
    await shop.provider.calls(['ok', 'decline'], 'email');
    const run = await orchestrator.submit(definition, five);
    await sagaReached(run, 'escalated');

    await orchestrator.operator.resolveStep(run.id, notApplied('not in the outbox'), decision);
    await sagaReached(run, 'succeeded');
    const begun = new Set((await run.history()).flatMap(({ operation }) => operation?.id ?? []));

    expect(await made('email')).toEqual(['a', 'c', 'd', 'e', 'b']);
    // The capture, the invoice, five mails, and one of them again.
    expect(begun.size).toBe(8);
  });

  test('is decided about by its name among several, whatever process is there by then', async () => {
    shop = await sagaShop();
    const definition = announcing(shop.trade, 'escalate');
    const first = await shop.open([definition]);
    await shop.provider.calls(['decline', 'ok', 'decline', 'ok', 'decline'], 'email');
    const { id } = await first.submit(definition, five);
    await sagaReached(await first.sagaRun(id), 'escalated');
    await first.operator.resolveStep(id, succeeded({ id: 'by phone' }), { ...decision, step: 'mails[4]' });
    await first.stop();

    const second = await shop.open([definition]);
    const run = await second.sagaRun({ saga: definition, key: 'order-17' });
    const again = notApplied('not in the outbox');
    for (const step of [undefined, 'mails', 'mails[1]', 'mails[4]', 'mails[5]']) {
      const wrong = second.operator.resolveStep(id, again, { ...decision, ...(step === undefined ? {} : { step }) });
      await expect(wrong).rejects.toMatchObject({ code: 'RESOLUTION_REFUSED' });
    }
    await second.operator.resolveStep(id, again, { ...decision, step: 'mails[2]' });
    await shop.rest();
    const between = await run.status();
    await second.operator.resolveStep(id, again, { ...decision, step: 'mails[0]' });
    await sagaReached(run, 'succeeded');
    const end = await now(run);

    expect(between).toBe('escalated');
    expect(await made('email')).toEqual(['b', 'd', 'c', 'a']);
    expect(end.status === 'succeeded' && end.output.mails[4]).toEqual({ id: 'by phone' });
    expect(end.status === 'succeeded' && end.output.mails.filter((mail) => mail === undefined)).toEqual([]);
  });
});

describe('a list that cannot be', () => {
  test('is longer than the saga allows: nothing of it is begun, and it goes on once more are allowed', async () => {
    shop = await sagaShop();
    const narrow = dispatch(shop.trade, { atMost: 4 });
    const first = await shop.open([narrow]);
    const { id } = await first.submit(narrow, five);
    await sagaReached(await first.sagaRun(id), 'escalated');
    const [told] = await first.operator.escalatedSagas();
    const meanwhile = await counted();
    await first.stop();

    const wide = dispatch(shop.trade, { atMost: 5 });
    const second = await shop.open([wide]);
    await shop.pass('2m');

    expect(told).toMatchObject({
      reason: 'limit',
      fault: expect.stringContaining(
        'forEach parcels of saga dispatch has 5 items and may have 4. Nothing of it has begun: raise atMost,',
      ),
    });
    expect(meanwhile).toEqual({ authorisation: 1 });
    expect(await (await second.sagaRun(id)).status()).toBe('succeeded');
    expect(await counted()).toEqual({ authorisation: 1, reservation: 5, payment: 1 });
  });

  test('is longer than the saga allows, and what was done before is taken back when it is cancelled', async () => {
    shop = await sagaShop();
    const definition = dispatch(shop.trade, { atMost: 4 });
    const orchestrator = await shop.open([definition]);
    const run = await orchestrator.submit(definition, five);
    await sagaReached(run, 'escalated');

    await orchestrator.cancel(run.id, { by: 'the shop', reason: 'too large' });
    await sagaReached(run, 'compensated');

    expect(await counted()).toEqual({ authorisation: 1, void: 1 });
  });

  test('is refused at submission when nothing comes before it', async () => {
    shop = await sagaShop();
    const { reserve } = shop.trade;
    const definition = saga('bare', { input: typed<Dispatch>(), key: ({ input }) => input.orderId }).forEach(
      'parcels',
      ({ input }) => input.parcels,
      reserve,
      ({ item }) => ({ orderId: item }),
      { atMost: 4 },
    );
    const orchestrator = await shop.open([definition]);

    const submitted = orchestrator.submit(definition, five);

    await expect(submitted).rejects.toMatchObject({
      code: 'DEFINITION_INVALID',
      message: expect.stringContaining('has 5 items and may have 4'),
    });
    expect(await counted()).toEqual({});
  });

  test.each<[string, (input: Dispatch) => unknown, string]>([
    ['is no array', ({ parcels }) => new Set(parcels), 'is given a value of type object for its items'],
    ['is missing', () => null, 'is given null for its items'],
    [
      'cannot be made',
      () => {
        throw new Error('nobody knows');
      },
      'nobody knows',
    ],
  ])('%s: a fault of the definition, and the mended one goes on', async (_, faulty, says) => {
    shop = await sagaShop();
    let list = faulty;
    // What no compiler would let through.
    const definition = dispatch(shop.trade, { list: (input) => list(input) as readonly string[] });
    const orchestrator = await shop.open([definition]);
    const run = await orchestrator.submit(definition, five);
    await sagaReached(run, 'escalated');
    const [told] = await orchestrator.operator.escalatedSagas();

    list = ({ parcels }) => parcels;
    await shop.pass('2m');

    expect(told).toMatchObject({ reason: 'definition-fault', fault: expect.stringContaining(says) });
    expect(await now(run)).toMatchObject({ status: 'succeeded' });
    expect(await counted()).toEqual({ authorisation: 1, reservation: 5, payment: 1 });
  });

  test('has another length than when it began: nothing more is begun before it is mended', async () => {
    shop = await sagaShop();
    let isShort = false;
    const list = ({ parcels }: Dispatch) => (isShort ? parcels.slice(1) : parcels);
    const definition = dispatch(shop.trade, { concurrency: 2, list });
    const orchestrator = await shop.open([definition]);
    shop.hold('reservation');
    const run = await orchestrator.submit(definition, five);
    await shop.held('reservation');
    await shop.rest();

    isShort = true;
    shop.letGo('reservation');
    await sagaReached(run, 'escalated');
    await shop.rest();
    const [told] = await orchestrator.operator.escalatedSagas();
    const meanwhile = await made('reservation');
    isShort = false;
    await shop.pass('2m');

    expect(told).toMatchObject({
      reason: 'definition-fault',
      fault: expect.stringContaining('forEach parcels of saga dispatch has 4 items and had 5 when it began.'),
    });
    expect(meanwhile.toSorted()).toEqual(['a', 'b']);
    expect(await now(run)).toMatchObject({ status: 'succeeded' });
    expect((await made('reservation')).toSorted()).toEqual(['a', 'b', 'c', 'd', 'e']);
  });
});

describe('a list of which each item is a saga of its own', () => {
  const sending = order('order-17-a', 'order-17-b', 'order-17-c');

  function sendings(trade: SagaShop['trade']) {
    return saga('sendings', { input: typed<Dispatch>(), key: ({ input }) => input.orderId })
      .step('money', trade.authorise, ({ input: { orderId } }) => ({ orderId }))
      .forEach(
        'parcels',
        ({ input }) => input.parcels,
        parcel(trade),
        ({ item }) => ({ orderId: item }),
        { concurrency: 2 },
      )
      .step('payment', trade.pay, ({ input: { orderId } }) => ({ orderId }));
  }

  test('begins one saga an item, and sees their outputs in the order of the items', async () => {
    shop = await sagaShop();
    const selling = sendings(shop.trade);
    const run = await (await shop.open([selling])).submit(selling, sending);

    await shop.pass('30s');

    expect(await now(run)).toMatchObject({
      status: 'succeeded',
      output: { parcels: [{ booked: 'booking_1' }, { booked: 'booking_2' }, { booked: 'booking_3' }] },
    });
    for (const id of sending.parcels) expect(await shop.kept(id)).toEqual(['reservation', 'booking']);
    expect(await shop.kept()).toEqual(['authorisation', 'payment']);
  });

  test('takes back those that have succeeded when one is refused', async () => {
    shop = await sagaShop();
    const selling = sendings(shop.trade);
    await shop.provider.calls(['ok', 'ok', 'decline'], 'booking');
    const run = await (await shop.open([selling])).submit(selling, sending);

    await shop.pass('2m');

    expect(await now(run)).toEqual({ status: 'compensated', cause: { step: 'parcels', code: 'declined' } });
    for (const id of sending.parcels) expect(left(await shop.kept(id))).toEqual([]);
    expect(await shop.kept()).toEqual(['authorisation', 'void']);
  });
});

/** What has not been taken back. */
function left(kept: readonly string[]): readonly string[] {
  const undone = { release: 'reservation', cancellation: 'booking' } as const;
  const open = [...kept];
  for (const [inverse, of] of Object.entries(undone)) {
    while (open.includes(inverse)) {
      open.splice(open.indexOf(inverse), 1);
      open.splice(open.indexOf(of), 1);
    }
  }
  return open;
}
