/**
 * An operation that stands alone is taken back at a person's word, by its inverse: an operation like any other, of which
 * there is one ever. Until it is proven how the inverse ended the operation is being taken back, whatever dies
 * meanwhile. The provider's records are the proof.
 */

import { afterEach, describe, expect, test } from 'vitest';
import { type Orchestrator, type Run, saga, type Schema, succeeded, typed } from 'sagacity';
import type { Store, Turn } from '../../src/ports/store.ts';
import { overlay } from '../../src/testing/overlay.ts';
import { mortal } from '../support/mortal-store.ts';
import {
  type Habit,
  onlyDoubt,
  order,
  type Part,
  sagaReached,
  sagaShop,
  type SagaShop,
  type Trade,
} from '../support/saga-shop.ts';
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

/** What is wrong with a definition whose inverse cannot be given its input. */
type Fault = 'it throws' | 'the schema refuses it' | 'it cannot be kept';

/** The payment, with an inverse that cannot be given its input. */
function broken({ pay, refund }: Trade, fault: Fault) {
  const input = ({ input: part, output }: { readonly input: Part; readonly output: { readonly id: string } }) => {
    if (fault === 'it throws') throw new Error(`nobody knows how to refund ${part.orderId}`);
    const unkept = fault === 'it cannot be kept' ? ((() => part) as never) : {};
    return { orderId: part.orderId, of: output.id, ...{ unkept } };
  };
  const refusing = { ...refund, options: { ...refund.options, input: refusesAll } };
  const operation = fault === 'the schema refuses it' ? refusing : refund;
  return { ...pay, compensate: { operation, input } } as typeof pay;
}

const refusesAll: Schema<unknown> = {
  '~standard': {
    version: 1,
    vendor: 'the shop',
    validate: () => ({ issues: [{ message: 'this is no refund', path: ['of'] }] }),
  },
};

const faults: readonly { readonly fault: Fault; readonly says: RegExp }[] = [
  { fault: 'it throws', says: /compensate\.input threw/ },
  { fault: 'the schema refuses it', says: /The input of payment\.refund does not fit its schema: .* at of/ },
  { fault: 'it cannot be kept', says: /unkept/ },
];

describe.each(faults)('an operation whose inverse cannot be given its input, as $fault', ({ fault, says }) => {
  test('is not taken back: the person is told what to repair, and nothing is changed', async () => {
    const { orchestrator, run } = await paid();
    await orchestrator.stop();
    const faulty = await shop.open([broken(shop.trade, fault)]);
    const before = await shop.store.read(run);

    const error: unknown = await refundOf(faulty, run).then(String, (thrown: unknown) => thrown);
    await shop.pass('1m');

    expect(error).toMatchObject({
      code: 'DEFINITION_INVALID',
      message: expect.stringMatching(says),
      facts: { id: run.id, action: 'payment.take', inverse: 'payment.refund' },
    });
    expect(error).toMatchObject({ message: expect.stringMatching(/Nothing was changed\. Repair .* command it again/) });
    expect(JSON.stringify(error)).not.toContain(order.orderId);
    expect(await shop.store.read(run)).toEqual({ ...before, now: expect.any(Number) });
    expect(await shop.kept()).toEqual(['payment']);
  });

  test('waits for a person when that shows only as it is begun, with the fault in its history', async () => {
    const { faulty, run } = await takenBackByFaulty(fault);

    const doubt = await onlyDoubt(faulty);
    await shop.pass('10m');

    expect(doubt).toMatchObject({ id: run.id, state: 'escalated', reason: 'definition-fault', dueAt: null });
    expect(await faultsOf(faulty, run)).toEqual([
      {
        action: 'payment.refund',
        fault: fault === 'it throws' ? expect.stringMatching(/nobody knows how/) : expect.stringMatching(says),
      },
    ]);
    expect(await refunds()).toBe(0);
  });
});

/** Taken back at the word of a person at a process that is sound, by one whose definition is at fault. */
async function takenBackByFaulty(fault: Fault = 'it throws') {
  const { orchestrator, run } = await paid();
  await orchestrator.stop();
  const sound = await shop.open([shop.trade.pay], { start: false });
  const errors: unknown[] = [];
  const logger = { debug() {}, info() {}, warn() {}, error: (facts: object) => void errors.push(facts) };
  const faulty = await shop.open([broken(shop.trade, fault)], { logger });
  const commanded = refundOf(sound, run);
  await shop.pass('5s');
  expect(await commanded).toEqual({ status: 'applied' });
  expect(errors).toEqual([]);
  return { faulty, run };
}

async function faultsOf(orchestrator: Orchestrator<true>, { id }: Pick<Run, 'id'>) {
  const history = await (await orchestrator.run(id)).history();
  return history.flatMap(({ facts: { fault, action } }) => (fault === undefined ? [] : [{ action, fault }]));
}

describe('an operation whose inverse was at fault when it was to be begun', () => {
  test.each([
    { effect: 'taken-back', state: 'compensated' },
    { effect: 'left-standing', state: 'succeeded' },
  ] as const)('is $state when a person says $effect', async ({ effect, state }) => {
    const { faulty, run } = await takenBackByFaulty();
    const { seen } = await onlyDoubt(faulty);

    await faulty.operator.resolve(run.id, effect, { by: who.by, evidence: 'a call', seen });
    await shop.pass('1m');

    expect(await (await faulty.run(run.id)).status()).toBe(state);
    expect(await faulty.operator.doubts()).toEqual([]);
    expect(await refunds()).toBe(0);
  });

  test('is not taken back again by the same definition, and waits as before', async () => {
    const { faulty, run } = await takenBackByFaulty();

    await expect(refundOf(faulty, run)).rejects.toMatchObject({ code: 'DEFINITION_INVALID' });

    expect(await onlyDoubt(faulty)).toMatchObject({ state: 'escalated', reason: 'definition-fault' });
  });

  test('is taken back once that was repaired and a person says so again', async () => {
    const { faulty, run } = await takenBackByFaulty();
    await faulty.stop();
    const mended = await shop.open([shop.trade.pay]);
    await shop.pass('10m');
    const meanwhile = await onlyDoubt(mended);

    const answer = await refundOf(mended, run);
    await shop.pass('2s');

    expect(meanwhile).toMatchObject({ state: 'escalated', reason: 'definition-fault' });
    expect(answer).toEqual({ status: 'applied' });
    expect(await (await mended.run(run.id)).status()).toBe('compensated');
    expect(await mended.operator.doubts()).toEqual([]);
    expect(await shop.kept()).toEqual(['payment', 'refund']);
  });

  test('and stands, at the word of a person, can be taken back later all the same', async () => {
    const { faulty, run } = await takenBackByFaulty();
    const { seen } = await onlyDoubt(faulty);
    await faulty.operator.resolve(run.id, 'left-standing', { by: who.by, evidence: 'a call', seen });
    await faulty.stop();
    const mended = await shop.open([shop.trade.pay]);

    await refundOf(mended, run);
    await shop.pass('2s');

    expect(await (await mended.run(run.id)).status()).toBe('compensated');
    expect(await shop.kept()).toEqual(['payment', 'refund']);
  });
});

describe('an inverse that a process begins while another one finds that it cannot', () => {
  const decision = { by: who.by, evidence: 'a call' };

  /** The one that is sound is taken for dead while it records the inverse. */
  async function begunLate(holds: (turn: Turn) => boolean = () => false) {
    const { orchestrator, run } = await paid();
    await orchestrator.stop();
    const late = holding(shop.store, ({ birth }) => birth?.action === 'payment.refund');
    const sound = await shop.open([shop.trade.pay], { store: late.store });
    await refundOf(sound, run);
    await late.held();
    const slow = holding(shop.store, holds);
    const faulty = await shop.open([broken(shop.trade, 'it throws')], { store: slow.store });
    await shop.pass('5s');
    return { faulty, run, late, slow };
  }

  test('is not sent when it is recorded after a person has decided that the effect stands', async () => {
    const { faulty, run, late } = await begunLate();
    const { seen } = await onlyDoubt(faulty);
    await faulty.operator.resolve(run.id, 'left-standing', { ...decision, seen });

    late.letGo();
    await shop.pass('10m');

    expect(await (await faulty.run(run.id)).status()).toBe('succeeded');
    expect(await faulty.operator.doubts()).toEqual([]);
    expect(await shop.kept()).toEqual(['payment']);
  });

  test('is not sent when it is recorded before they have decided, and they can decide', async () => {
    const { faulty, run, late } = await begunLate();
    late.letGo();
    await shop.pass('10m');
    const { seen } = await onlyDoubt(faulty);

    await faulty.operator.resolve(run.id, 'taken-back', { ...decision, seen });
    await shop.pass('10m');

    expect(await (await faulty.run(run.id)).status()).toBe('compensated');
    expect(await shop.kept()).toEqual(['payment']);
  });

  test('is followed up when it was sent before, and nobody can decide over it', async () => {
    const { faulty, run, late, slow } = await begunLate(({ reason }) => reason === 'definition-fault');
    await slow.held();
    shop.hold('refund');
    late.letGo();
    await shop.pass('5s');
    await shop.held('refund');
    slow.letGo();
    await shop.pass('1s');
    const { seen } = await onlyDoubt(faulty);

    const deciding = faulty.operator.resolve(run.id, 'left-standing', { ...decision, seen });

    await expect(deciding).rejects.toMatchObject({
      code: 'RESOLUTION_REFUSED',
      message: expect.stringMatching(/was begun after all; command operator\.compensate/),
    });
    shop.letGo('refund');
    await refundOf(faulty, run);
    await shop.pass('2m');
    expect(await (await faulty.run(run.id)).status()).toBe('compensated');
    expect(await shop.kept()).toEqual(['payment', 'refund']);
  });
});

/** A store that holds back the first turn for which `holds` is true, and whoever writes it. */
function holding(store: Store, holds: (turn: Turn) => boolean) {
  let isHeld = false;
  let letGo = () => {};
  const going = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const turn = async (given: Turn) => {
    if (!isHeld && holds(given)) {
      isHeld = true;
      await going;
    }
    return store.turn(given);
  };
  const held = () => until(async () => (isHeld ? true : null), 'a turn to be held back');
  return { store: overlay(store, { turn }), letGo: () => letGo(), held };
}

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
