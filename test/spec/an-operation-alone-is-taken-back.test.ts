/**
 * An operation that stands alone is taken back at a person's word, by its inverse: an operation like any other, of which
 * there is one ever. Until it is proven how the inverse ended the operation is being taken back, whatever dies
 * meanwhile. The provider's records are the proof.
 */

import { afterEach, describe, expect, test } from 'vitest';
import { type Orchestrator, type Run, saga, succeeded, typed } from 'sagacity';
import { mortal } from '../support/mortal-store.ts';
import { type Habit, onlyDoubt, order, type Part, sagaReached, sagaShop, type SagaShop } from '../support/saga-shop.ts';
import { until } from '../support/world.ts';

let shop: SagaShop;
afterEach(() => shop.close());

const who = { by: 'the shop', reason: 'the customer changed their mind' };

/** A payment that has succeeded. */
async function paid(refund: Habit = {}) {
  shop = await sagaShop({ refund, payment: { isShared: true } });
  const { pay } = shop.trade;
  const orchestrator = await shop.open([pay]);
  const run = await orchestrator.submit(pay, order);
  await reached(run, 'succeeded');
  return { orchestrator, run };
}

function reached(run: Pick<Run, 'status' | 'id'>, state: string): Promise<true> {
  return until(async () => ((await run.status()) === state ? true : null), `operation ${run.id} to be ${state}`);
}

async function refunds(): Promise<number> {
  return (await shop.provider.received({ kind: 'refund' })).filter(({ method }) => method === 'POST').length;
}

function refundOf(orchestrator: Orchestrator<true>, run: Pick<Run, 'id'>) {
  return orchestrator.operator.compensate(run.id, who);
}

describe('an operation that has succeeded and is to be taken back', () => {
  test('is compensated once its inverse has succeeded', async () => {
    const { orchestrator, run } = await paid();

    const answer = await refundOf(orchestrator, run);
    await shop.pass('2s');

    expect(answer).toEqual({ status: 'applied' });
    expect(await run.status()).toBe('compensated');
    expect(await shop.kept()).toEqual(['payment', 'refund']);
  });

  test('is being taken back as long as nobody knows whether its inverse has succeeded', async () => {
    const { orchestrator, run } = await paid();
    await shop.provider.calls(['do+drop'], 'refund');
    await shop.provider.lookups(['lookup500', 'lookup500'], 'refund');

    await refundOf(orchestrator, run);
    await shop.pass('5s');
    const meanwhile = await run.status();
    await shop.pass('5m');

    expect(meanwhile).toBe('compensating');
    expect(await run.status()).toBe('compensated');
    expect(await refunds()).toBe(1);
  });

  test('is taken back once, however often and however fast that is asked for', async () => {
    const { orchestrator, run } = await paid();

    const answers = await Promise.all([
      refundOf(orchestrator, run),
      refundOf(orchestrator, run),
      refundOf(orchestrator, run),
    ]);
    await shop.pass('2s');
    const later = await refundOf(orchestrator, run);

    expect([...answers, later]).toEqual(Array.from({ length: 4 }, () => ({ status: 'applied' })));
    expect(await shop.kept()).toEqual(['payment', 'refund']);
  });
});

describe('an operation whose inverse was refused', () => {
  async function refused() {
    const { orchestrator, run } = await paid();
    await shop.provider.calls(['decline'], 'refund');
    await refundOf(orchestrator, run);
    await shop.pass('2s');
    const doubt = await onlyDoubt(orchestrator);
    return { orchestrator, run, doubt };
  }

  test('waits for a person, with the reason', async () => {
    const { run, doubt } = await refused();

    expect(doubt).toMatchObject({ id: run.id, state: 'escalated', reason: 'inverse-failed' });
    expect(await shop.kept()).toEqual(['payment']);
  });

  test('is compensated when they say that they took it back', async () => {
    const { orchestrator, run, doubt } = await refused();

    await orchestrator.operator.resolve(run.id, 'taken-back', {
      by: who.by,
      evidence: 'paid in cash',
      seen: doubt.seen,
    });
    await shop.pass('1m');

    expect(await run.status()).toBe('compensated');
    expect(await orchestrator.operator.doubts()).toEqual([]);
    expect(await refunds()).toBe(1);
  });

  test('stands when they say so', async () => {
    const { orchestrator, run, doubt } = await refused();

    await orchestrator.operator.resolve(run.id, 'left-standing', { by: who.by, evidence: 'a call', seen: doubt.seen });
    await shop.pass('1m');

    expect(await run.status()).toBe('succeeded');
    expect(await orchestrator.operator.doubts()).toEqual([]);
  });
});

describe('an operation whose inverse a person has to settle', () => {
  test('is looked at ever more seldom meanwhile', async () => {
    const { orchestrator, run } = await paid({ keyRetention: 'none', lookup: 'none' });
    await shop.provider.calls(['do+drop'], 'refund');
    await refundOf(orchestrator, run);
    await shop.pass('10m');

    const before = await shop.store.read({ tenant: run.tenant, id: run.id });
    await shop.pass('10m');
    const after = await shop.store.read({ tenant: run.tenant, id: run.id });

    expect((after?.revision ?? 0) - (before?.revision ?? 0)).toBeLessThanOrEqual(11);
  });

  test('is compensated when they find that it succeeded', async () => {
    const { orchestrator, run } = await paid({ keyRetention: 'none', lookup: 'none' });
    await shop.provider.calls(['do+drop'], 'refund');
    await refundOf(orchestrator, run);
    await shop.pass('1m');
    const meanwhile = await run.status();
    const doubt = await onlyDoubt(orchestrator);

    await orchestrator.operator.resolve(doubt.id, succeeded({ id: 'refund_1' }), {
      ...{ by: who.by, evidence: 'the bank shows it', seen: doubt.seen },
    });
    await shop.pass('2m');

    expect(meanwhile).toBe('compensating');
    expect(await run.status()).toBe('compensated');
    expect(await refunds()).toBe(1);
  });
});

describe('what cannot be taken back', () => {
  test('is refused: it has no inverse', async () => {
    shop = await sagaShop();
    const { capture } = shop.trade;
    const orchestrator = await shop.open([capture]);
    const run = await orchestrator.submit(capture, order);
    await reached(run, 'succeeded');

    await expect(refundOf(orchestrator, run)).rejects.toMatchObject({ code: 'RESOLUTION_REFUSED' });
  });

  test('is refused: it has not succeeded', async () => {
    shop = await sagaShop();
    const { pay } = shop.trade;
    const orchestrator = await shop.open([pay]);
    shop.hold('payment');
    const run = await orchestrator.submit(pay, order);
    await shop.held('payment');

    await expect(refundOf(orchestrator, run)).rejects.toMatchObject({ code: 'RESOLUTION_REFUSED' });

    expect(await run.status()).toBe('in-progress');
  });

  test('is refused: it failed', async () => {
    shop = await sagaShop();
    const { pay } = shop.trade;
    const orchestrator = await shop.open([pay]);
    await shop.provider.calls(['decline'], 'payment');
    const run = await orchestrator.submit(pay, order);
    await reached(run, 'failed');

    await expect(refundOf(orchestrator, run)).rejects.toMatchObject({ code: 'RESOLUTION_REFUSED' });

    expect(await refunds()).toBe(0);
  });

  test('is refused: a saga that has joined it is open; and taken back once that has settled', async () => {
    shop = await sagaShop({ payment: { isShared: true } });
    const { pay, book } = shop.trade;
    const tour = saga('tour', { input: typed<Part>(), key: ({ input }) => input.orderId })
      .step('payment', pay, ({ input }) => input)
      .step('courier', book, ({ input }) => input);
    const orchestrator = await shop.open([pay, tour]);
    const run = await orchestrator.submit(pay, order);
    await reached(run, 'succeeded');
    shop.hold('booking');
    const joiner = await orchestrator.submit(tour, order);
    await shop.held('booking');

    await expect(refundOf(orchestrator, run)).rejects.toMatchObject({ code: 'RESOLUTION_REFUSED' });
    shop.letGo('booking');
    await sagaReached(joiner, 'succeeded');
    await refundOf(orchestrator, run);
    await shop.pass('2s');

    expect(await run.status()).toBe('compensated');
    expect(await shop.kept()).toEqual(['payment', 'booking', 'refund']);
  });
});

describe('a process that dies at any of its writes while it takes back an operation', () => {
  const deaths = [1, 2, 3, 4, 5].flatMap((write) => (['before', 'after'] as const).map((side) => ({ side, write })));

  test.each(deaths)('$side write $write leaves one refund, and the operation is compensated', async (death) => {
    shop = await sagaShop();
    const { pay } = shop.trade;
    const seller = await shop.open([pay]);
    const run = await seller.submit(pay, order);
    await reached(run, 'succeeded');
    await seller.stop({ within: 0 });
    const dying = await shop.open([pay], { store: mortal(shop.store, death) });
    void dying.operator.compensate(run.id, who);
    await shop.pass('10s');

    const next = await shop.open([pay]);
    await next.operator.compensate(run.id, who);
    await shop.pass('5m');

    expect(await (await next.run(run.id)).status()).toBe('compensated');
    expect(await shop.kept()).toEqual(['payment', 'refund']);
  });
});
