/**
 * While a release is rolled out, or after it was taken back, rows may be in a format that this process does not read. It
 * leaves them, as they are, to who does; says so to whoever needs what is in them, and shows what their columns say to
 * everybody else; and all else goes on. The provider's records are the proof.
 */

import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { type Logger, migration, saga, type SagaRun, typed } from 'sagacity';
import { operationId, scopeOf, undoKey } from '../../src/domain/idempotency.ts';
import type { Store } from '../../src/ports/store.ts';
import { overlay } from '../../src/testing/overlay.ts';
import { failingOver } from '../support/failing-over.ts';
import { laterRelease, LATER } from '../support/later-release.ts';
import { parcelIdOf, selling } from '../support/parcel.ts';
import { now, order, type Part, purchase, sagaReached, sagaShop, type SagaShop } from '../support/saga-shop.ts';
import { delivery, sale } from '../support/shared-reservation.ts';
import { timedShop } from '../support/timed.ts';
import { reached, until } from '../support/world.ts';

let shop: SagaShop;
beforeEach(async () => {
  // Nobody can say of an invoice whether it was written.
  shop = await sagaShop({ reservation: { isShared: true }, invoice: { keyRetention: 'none', lookup: 'none' } });
});
afterEach(() => shop.close());

const who = { by: 'the shop', reason: 'the customer changed their mind' };
const tenant = 'shop-1';

/** What is said at error or as a warning. */
function listening(): { readonly logger: Logger; readonly said: string[] } {
  const said: string[] = [];
  const say = (_facts: object, text: string) => void said.push(text);
  return { logger: { debug() {}, info() {}, warn: say, error: say }, said };
}

describe('an operation that a later release has stored', () => {
  test('is told of as far as its columns go, and what needs more says what to do', async () => {
    const orchestrator = await shop.open([shop.trade.authorise]);
    const run = await orchestrator.submit(shop.trade.authorise, order);
    await reached(run, 'succeeded');
    const told = await run.history();

    await laterRelease(shop.store).takesOver(run);

    const outdated = {
      code: 'SCHEMA_OUTDATED',
      retryable: false,
      facts: { tenant, id: run.id, action: 'payment.authorise', format: LATER, reads: [1, 2] },
      message:
        `Operation ${run.id} of payment.authorise (tenant shop-1) is stored in format 3, and this process reads 1 and 2. ` +
        'Nothing was changed, and whoever reads it goes on with it. Update the library in this process to the release ' +
        'that the others run.',
    };
    expect([await run.status(), await run.history()]).toEqual(['succeeded', told]);
    await expect(run.result({ within: '1h' })).rejects.toMatchObject(outdated);
    expect((await orchestrator.run(run.id)).submission).toBe('replayed');
    expect((await orchestrator.submit(shop.trade.authorise, order)).submission).toBe('replayed');
    await expect(orchestrator.submit(shop.trade.authorise, { ...order, of: 'another' })).rejects.toMatchObject({
      code: 'IDEMPOTENCY_CONFLICT',
    });
    await expect(orchestrator.operator.compensate(run.id, who)).rejects.toMatchObject(outdated);
  });

  test('is neither claimed nor written while it is due and something is said about it, and all else is done', async () => {
    const later = laterRelease(shop.store);
    const desk = await shop.open([shop.trade.pay], { start: false });
    const [left, done] = [
      await desk.submit(shop.trade.pay, order),
      await desk.submit(shop.trade.pay, { orderId: 'order-18' }),
    ];
    await later.takesOver(left);
    const asItWas = await shop.store.read(left);
    const verbs = { claim: 0, turn: 0 };
    const { logger, said } = listening();
    const orchestrator = await shop.open([shop.trade.pay], { logger, store: counted(shop.store, verbs) });
    const cancelled = orchestrator.cancel(left.id, { ...who, within: '1m' });
    await shop.pass('10m');

    const asItIs = await shop.store.read(left);
    const { now: _, handovers, ...unmoved } = asItIs ?? { now: 0, handovers: [] };
    expect(asItWas).toMatchObject(unmoved);
    expect([await cancelled, handovers.length, said]).toEqual([{ status: 'waiting' }, 1, []]);
    expect([await done.status(), await shop.kept(), await shop.kept('order-18')]).toEqual([
      'succeeded',
      [],
      ['payment'],
    ]);
    // The other one is started and ended; a sweep looks once each second.
    expect(verbs.turn).toBeLessThanOrEqual(3);
    expect(verbs.claim).toBeLessThan(700);

    await later.givesBack(left);
    await shop.pass('5s');

    expect([await left.status(), await shop.kept()]).toEqual(['failed', []]);
    expect((await shop.store.read(left))?.handovers).toEqual([]);
  });

  test('is shown among the doubts like any other', async () => {
    await shop.provider.calls(['do+drop', 'do+drop'], 'invoice');
    const orchestrator = await shop.open([shop.trade.invoice]);
    const runs = [
      await orchestrator.submit(shop.trade.invoice, order),
      await orchestrator.submit(shop.trade.invoice, { orderId: 'b' }),
    ];
    for (const run of runs) await reached(run, 'escalated');
    const before = await orchestrator.operator.doubts();

    await laterRelease(shop.store).takesOver({ tenant, id: runs[0]?.id ?? '' });

    const after = await orchestrator.operator.doubts();
    expect(after.map(({ seen: _, ...doubt }) => doubt)).toEqual(before.map(({ seen: _, ...doubt }) => doubt));
  });

  test('keeps the one that it takes back waiting, until it can be read how it ended', async () => {
    const { logger, said } = listening();
    const orchestrator = await shop.open([shop.trade.pay], { logger });
    const run = await orchestrator.submit(shop.trade.pay, order);
    await reached(run, 'succeeded');
    const inverse = { tenant, id: operationId(scopeOf(tenant, 'payment.refund', undoKey(run.id))) };
    shop.hold('refund');
    await orchestrator.operator.compensate(run.id, who);
    await shop.held('refund');
    shop.letGo('refund');
    await until(
      async () => ((await shop.store.read(inverse))?.state === 'succeeded' ? true : null),
      'the refund to be made',
    );
    const later = laterRelease(shop.store);
    await later.takesOver(inverse);
    await shop.pass('5m');
    const meanwhile = await run.status();

    await later.givesBack(inverse);
    await shop.pass('5m');

    expect([meanwhile, await run.status(), said]).toEqual(['compensating', 'compensated', []]);
    expect(await shop.kept()).toEqual(['payment', 'refund']);
  });
});

describe('what settled before a fail-over, some of it stored by a later release', () => {
  test('is verified as far as it can be read, and the rest is said once', async () => {
    const timed = await timedShop({ start: false, shared: true });
    onTestFinished(() => timed.close());
    const database = failingOver(timed.clock);
    const { logger, said } = listening();
    const orchestrator = timed.another({ store: database.store, logger });
    await orchestrator.start();
    const runs = [];
    for (const orderId of ['order-17', 'order-18']) {
      const run = await orchestrator.submit(timed.charge, { orderId, amount: 5 });
      await reached(run, 'succeeded');
      runs.push(run);
    }
    const [left, verified] = runs;
    await laterRelease(database.store).takesOver({ tenant, id: left?.id ?? '' });
    await timed.pass('1m');

    let renewals = 0;
    database.failOver(({ verb }) => {
      if (verb === 'renew') renewals += 1;
      return renewals > 2;
    });
    await timed.pass('10m');

    const lookUpsOf = async (run: typeof left) =>
      (await run?.history())?.filter(({ kind }) => kind === 'lookup').length ?? 0;
    expect([await lookUpsOf(left), await lookUpsOf(verified)]).toEqual([0, 1]);
    expect(said.filter((text) => text === 'operation cannot be verified')).toHaveLength(1);
    expect(await timed.provider.records()).toHaveLength(2);
  });
});

describe('a saga that a later release has stored', () => {
  const otherwise = { code: 'SCHEMA_OUTDATED', facts: { saga: 'purchase', format: LATER, reads: [1, 2] } };

  test('is told of as far as its columns go, and what needs more says what to do', async () => {
    const buying = purchase(shop.trade);
    const orchestrator = await shop.open([buying]);
    await shop.provider.calls(['decline'], 'payment');
    const run = await orchestrator.submit(buying, order);
    await sagaReached(run, 'compensated');
    const bought = await orchestrator.submit(buying, { orderId: 'order-18' });
    await sagaReached(bought, 'succeeded');
    const told = await run.history();

    for (const each of [run, bought]) await laterRelease(shop.store).takesOver(each);

    expect([await run.status(), await run.history()]).toEqual(['compensated', told]);
    await expect(now(bought)).rejects.toMatchObject(otherwise);
    expect(await run.reached('payment', { within: 0 })).toBe(true);
    expect((await orchestrator.submit(buying, order)).submission).toBe('replayed');
    expect((await orchestrator.sagaRun({ saga: buying, key: order.orderId })).submission).toBe('replayed');
    await expect(now(run)).rejects.toMatchObject(otherwise);
    await expect(run.accepts()).rejects.toMatchObject(otherwise);
  });

  test('tells where it stands while that is all there is to tell', async () => {
    const buying = purchase(shop.trade);
    const orchestrator = await shop.open([buying]);
    shop.hold('reservation');
    const run = await orchestrator.submit(buying, order);
    await shop.held('reservation');

    await laterRelease(shop.store).takesOver(run);

    expect(await now(run)).toEqual({ status: 'in-progress' });
  });

  test('is shown in the list of those that wait, with what its columns say, and hides no other', async () => {
    const selling = saga('gift', { input: typed<Part>(), key: ({ input }) => input.orderId })
      .pivot('payment', shop.trade.pay, ({ input }) => input)
      .step('email', shop.trade.email, ({ input }) => input, { onFailed: 'escalate' });
    const orchestrator = await shop.open([selling]);
    await shop.provider.calls(['decline', 'decline'], 'email');
    const runs = [];
    for (const orderId of ['a', 'b']) runs.push(await orchestrator.submit(selling, { orderId }));
    for (const run of runs) await sagaReached(run, 'escalated');
    const before = await orchestrator.operator.escalatedSagas();

    await laterRelease(shop.store).takesOver({ tenant, id: before[0]?.id ?? '' });

    const after = await orchestrator.operator.escalatedSagas();
    const unread = { states: null, cause: null, fault: null, heldBy: [] };
    expect(after).toEqual([{ ...before[0], ...unread }, before[1]]);
    expect(before.map(({ states }) => states)).toEqual(['email failed', 'email failed']);
  });

  test('is left by a migration, which moves all others', async () => {
    const buying = purchase(shop.trade);
    const next = saga('purchase', { version: 2, input: typed<Part>(), key: ({ input }) => input.orderId })
      .step('money', shop.trade.authorise, ({ input }) => input)
      .step('goods', shop.trade.reserve, ({ input }) => input);
    const leading = migration(buying, next, ({ state }) => ({ state }));
    const desk = await shop.open([buying], { start: false });
    const runs = [];
    for (const orderId of ['a', 'b']) runs.push(await desk.submit(buying, { orderId }));
    await laterRelease(shop.store).takesOver({ tenant, id: runs[0]?.id ?? '' });

    const orchestrator = await shop.open([next], { migrations: [leading], start: false });
    const report = await orchestrator.operator.migrate(leading, { dryRun: true });

    expect(report.refused).toEqual([{ id: runs[0]?.id, tenant, state: null, why: 'this process cannot read it' }]);
    expect(report.moves).toBe(1);
  });

  test('keeps what is said to it, and is neither claimed nor written', async () => {
    const later = laterRelease(shop.store);
    const buying = purchase(shop.trade);
    const desk = await shop.open([buying], { start: false });
    const run = await desk.submit(buying, order);
    await later.takesOver(run);
    const asItWas = await shop.store.readSaga(run);
    const { logger, said } = listening();
    const orchestrator = await shop.open([buying], { logger });
    const cancelled = orchestrator.cancel(run.id, { ...who, within: '1m' });
    await shop.pass('10m');

    const asItIs = await shop.store.readSaga(run);
    const { now: _, handovers, operations: __, ...unmoved } = asItIs ?? { now: 0, handovers: [], operations: [] };
    expect(asItWas).toMatchObject(unmoved);
    expect([await cancelled, handovers.length, said]).toEqual([{ status: 'waiting' }, 1, []]);

    await later.givesBack(run);
    await shop.pass('5s');

    expect([await run.status(), await shop.kept()]).toEqual(['compensated', []]);
  });
});

describe('a saga that waits for what a later release has stored', () => {
  /** How often it has moved. */
  const turnsOf = async (run: Pick<SagaRun, 'id'>) =>
    (await shop.store.readSaga({ tenant, id: run.id }))?.revision ?? 0;

  test('as the joiner of its operation looks again seldom, and goes on once it can read it', async () => {
    const [selling, delivering] = [sale(shop.trade), delivery(shop.trade)];
    const { logger, said } = listening();
    const orchestrator = await shop.open([selling, delivering], { logger });
    shop.hold('reservation');
    const owner = await orchestrator.submit(selling, order);
    await shop.held('reservation');
    const later = laterRelease(shop.store);
    await later.takesOver(owner);
    const joiner = await orchestrator.submit(delivering, order);
    await shop.pass('30m');
    const meanwhile = [await joiner.status(), await turnsOf(joiner)] as const;

    await later.givesBack(owner);
    shop.letGo('reservation');
    await shop.pass('10m');

    expect([meanwhile[0], said]).toEqual(['in-progress', []]);
    expect(meanwhile[1]).toBeLessThan(60);
    expect([await owner.status(), await joiner.status()]).toEqual(['succeeded', 'succeeded']);
    expect((await shop.kept()).toSorted()).toEqual(['authorisation', 'booking', 'payment', 'reservation']);
  });

  test('as the parent of its saga does, and hears how it ended', async () => {
    shop.hold('booking');
    const { logger, said } = listening();
    const { parent } = await selling(shop, { logger });
    await shop.held('booking');
    const child = { tenant, id: parcelIdOf() };
    const later = laterRelease(shop.store);
    await later.takesOver(child);
    await shop.pass('30m');
    const meanwhile = [await parent.status(), await turnsOf(parent)] as const;

    await later.givesBack(child);
    shop.letGo('booking');
    await shop.pass('10m');

    expect([meanwhile[0], said]).toEqual(['in-progress', []]);
    expect(meanwhile[1]).toBeLessThan(60);
    expect(await now(parent)).toMatchObject({ status: 'succeeded', output: { booked: 'booking_1' } });
    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'booking', 'payment']);
  });
});

function counted(store: Store, verbs: { claim: number; turn: number }): Store {
  return overlay(store, {
    claim(...asked: Parameters<Store['claim']>) {
      verbs.claim += 1;
      return store.claim(...asked);
    },
    turn(...asked: Parameters<Store['turn']>) {
      verbs.turn += 1;
      return store.turn(...asked);
    },
  });
}
