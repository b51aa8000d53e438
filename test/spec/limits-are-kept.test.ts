/**
 * What goes out to other companies is never more than it may be, at once and per time: by action, by provider and by
 * tenant, attempts and look-ups alike. What waits for its permit is not recorded as started, and holds nothing else up.
 * The companies of this shop are counted where calls leave the process.
 */

import {
  absent,
  createOrchestrator,
  type CreateOptions,
  operation,
  type Orchestrator,
  saga,
  succeeded,
  typed,
  type WorkLimit,
} from 'sagacity';
import { memoryStore, testClock, type TestClock } from 'sagacity/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { overlay } from '../../src/testing/overlay.ts';
import { evenChance } from '../support/chance.ts';
import { until } from '../support/world.ts';

interface Outgoing {
  readonly action: string;
  readonly tenant: string;
  readonly kind: string;
  readonly from: number;
  to: number;
}

let clock: TestClock;
let store: ReturnType<typeof memoryStore>;
let outgoing: Outgoing[];
let working: Orchestrator<false>[];

beforeEach(() => {
  clock = testClock();
  store = memoryStore({ clock });
  outgoing = [];
  working = [];
});

afterEach(async () => {
  await Promise.all(working.map(stopped));
});

async function stopped(orchestrator: Orchestrator<false>): Promise<void> {
  let isOver = false;
  const stopping = orchestrator.stop({ within: 0 }).then(() => (isOver = true));
  await until(async () => {
    if (!isOver) await clock.advance('1s');
    return isOver || null;
  }, 'the orchestrator to stop');
  await stopping;
}

/** A process whose calls each take a second. */
async function office(options: Omit<CreateOptions, 'store' | 'tenant'>): Promise<Orchestrator<false>> {
  const orchestrator = createOrchestrator({
    ...{ store, clock, random: evenChance() },
    async caller({ action, tenant, kind }, go) {
      const call: Outgoing = { action, tenant, kind, from: clock.monotonic(), to: Infinity };
      outgoing.push(call);
      await new Promise<void>((resume) => clock.after(1_000, resume));
      call.to = clock.monotonic();
      return go();
    },
    ...options,
  });
  working.push(orchestrator);
  await orchestrator.start();
  return orchestrator;
}

function defined(action: string, limits: { limit?: WorkLimit; provider?: string } = {}) {
  return operation(action, {
    input: typed<{ orderId: string }>(),
    key: ({ input }) => input.orderId,
    execute: () => succeeded({ done: true }),
    keyRetention: '24h',
    lookup: 'none',
    ...limits,
  });
}

/** Its first reply is lost, and it is looked up until it is certain that nothing happened. */
function lostOnce(action: string, provider: string) {
  return operation(action, {
    input: typed<{ orderId: string }>(),
    key: ({ input }) => input.orderId,
    execute({ attempt }) {
      if (attempt === 1) throw new Error('The reply was lost.');
      return succeeded({ done: true });
    },
    keyRetention: '24h',
    lookup: {
      visibleWithin: 0,
      every: '1s',
      find: () => absent(),
    },
    provider,
  });
}

const orders = (count: number, of = 'order') => Array.from({ length: count }, (_, n) => ({ orderId: `${of}-${n}` }));

/** The most that were under way together. */
function most(counts: (call: Outgoing) => boolean = () => true): number {
  const those = outgoing.filter(counts);
  return Math.max(0, ...those.map(({ from: at }) => those.filter(({ from, to }) => from <= at && at < to).length));
}

/** When each went out. */
function times(counts: (call: Outgoing) => boolean = () => true): number[] {
  return outgoing.filter(counts).map(({ from }) => from);
}

async function pass(seconds: number): Promise<void> {
  for (let n = 0; n < seconds; n += 1) await clock.advance('1s');
}

const at = { tenant: 'shop-1' };

describe('an action that may be under way twice', () => {
  const print = defined('label.print', { limit: { concurrency: 2 } });
  const mail = defined('mail.send');

  test('is under way twice and no more, and keeps nothing else waiting', async () => {
    const desk = await office({ definitions: [print, mail] });

    await Promise.all(orders(6).map((order) => desk.submit(print, order, at)));
    await Promise.all(orders(3).map((order) => desk.submit(mail, order, at)));
    await pass(6);

    expect(most(({ action }) => action === 'label.print')).toBe(2);
    expect(times(({ action }) => action === 'label.print')).toEqual([0, 0, 1_000, 1_000, 2_000, 2_000]);
    expect(times(({ action }) => action === 'mail.send')).toEqual([0, 0, 0]);
  });
});

describe('two actions of one provider', () => {
  const charge = defined('card.charge', { provider: 'psp' });
  const refund = defined('card.refund', { provider: 'psp' });

  test('share what it may be asked at once', async () => {
    const desk = await office({ definitions: [charge, refund], providers: { psp: { concurrency: 3 } } });

    await Promise.all(orders(4).flatMap((order) => [desk.submit(charge, order, at), desk.submit(refund, order, at)]));
    await pass(5);

    expect(outgoing.length).toBe(8);
    expect(most()).toBe(3);
  });

  test('share what it may be asked in a second, and nothing goes out early', async () => {
    const desk = await office({ definitions: [charge, refund], providers: { psp: { rate: '3/s' } } });

    await Promise.all(orders(4).flatMap((order) => [desk.submit(charge, order, at), desk.submit(refund, order, at)]));
    await clock.advance(999);
    const early = outgoing.length;
    await pass(5);

    expect(early).toBe(3);
    expect(times()).toEqual([0, 0, 0, 1_000, 1_000, 1_000, 2_000, 2_000]);
  });

  test('are not limited where the provider has no limit', async () => {
    const desk = await office({ definitions: [charge, refund] });

    await Promise.all(orders(8).map((order) => desk.submit(charge, order, at)));
    await pass(1);

    expect(times()).toEqual(Array.from({ length: 8 }, () => 0));
  });
});

describe('look-ups', () => {
  test('count as attempts do', async () => {
    const charge = lostOnce('card.charge', 'psp');
    const refund = defined('card.refund', { provider: 'psp' });
    const desk = await office({
      definitions: [charge, refund],
      providers: { psp: { concurrency: 1, rate: '20/m' } },
    });

    const run = await desk.submit(charge, { orderId: 'order-1' }, at);
    await Promise.all(orders(4, 'other').map((order) => desk.submit(refund, order, at)));
    await pass(90);

    expect(await run.status()).toBe('succeeded');
    expect(outgoing.filter(({ kind }) => kind === 'question').length).toBeGreaterThan(3);
    expect(outgoing.filter(({ kind }) => kind === 'request')).toHaveLength(6);
    expect(most()).toBe(1);
    const gaps = times().map((time, n, all) => time - (all[n - 1] ?? -Infinity));
    expect(gaps.filter((gap) => gap < 3_000)).toEqual([]);
  });
});

describe('a tenant that submits more than its share', () => {
  const charge = defined('card.charge');

  test('leaves the rest of the process to the others', async () => {
    const desk = await office({ definitions: [charge], concurrency: 8, perTenant: { concurrency: 5 } });

    await Promise.all(orders(60).map((order) => desk.submit(charge, order, at)));
    await pass(2);
    const came = clock.monotonic();
    await Promise.all(orders(3).map((order) => desk.submit(charge, order, { tenant: 'shop-2' })));
    await pass(15);

    expect(times(({ tenant }) => tenant === 'shop-2')).toEqual([came, came, came]);
    expect(most(({ tenant }) => tenant === 'shop-1')).toBe(5);
    expect(outgoing).toHaveLength(63);
  });

  test('has what it cannot begin neither held nor asked for again and again', async () => {
    let claims = 0;
    const plain = store;
    store = overlay(plain, {
      claim(...asked) {
        claims += 1;
        return plain.claim(...asked);
      },
    });
    const desk = await office({ definitions: [charge], perTenant: { rate: '2/m' } });
    const runs = await Promise.all(orders(200).map((order) => desk.submit(charge, order, at)));

    const before = claims;
    await pass(25);
    const rows = await Promise.all(runs.map(({ id }) => plain.read({ tenant: 'shop-1', id })));

    expect(outgoing).toHaveLength(1);
    // A sweep every second.
    expect(claims - before).toBeLessThanOrEqual(2 * 25);
    expect(rows.filter((row) => row?.owner !== null).length).toBeLessThanOrEqual(1);
  });
});

describe('more than there are permits for, between two sweeps', () => {
  const charge = defined('card.charge', { provider: 'psp' });

  test.each([
    ['a tenant', { perTenant: { concurrency: 3 } }, 4],
    ['a provider', { providers: { psp: { concurrency: 3 } } }, 4],
    ['the rate of a tenant', { perTenant: { rate: '3/s' } }, 4],
    ['the rate of a provider', { providers: { psp: { rate: '3/s' } } }, 4],
  ] as const)('goes on as those of %s come free', async (_, limits, seconds) => {
    const desk = await office({ definitions: [charge], sweepEvery: '1h', ...limits });

    await Promise.all(orders(12).map((order) => desk.submit(charge, order, at)));
    await pass(seconds);

    expect(times()).toEqual([0, 1, 2, 3].flatMap((second) => [second, second, second].map((one) => 1_000 * one)));
  });
});

describe('what waits for its permit', () => {
  const charge = defined('card.charge', { limit: { rate: '1/m' } });

  test('has no start until it has one, and goes out then', async () => {
    const desk = await office({ definitions: [charge] });
    await desk.submit(charge, { orderId: 'order-1' }, at);
    const second = await desk.submit(charge, { orderId: 'order-2' }, at);

    await pass(59);
    const waiting = await second.history();
    await pass(3);
    const begun = await second.history();

    expect(waiting.filter(({ kind }) => kind === 'start')).toEqual([]);
    expect(begun.filter(({ kind }) => kind === 'start')).toHaveLength(1);
    expect(await second.status()).toBe('succeeded');
    expect(times()).toEqual([0, 60_000]);
  });

  test('is cancelled meanwhile as if it did not wait', async () => {
    const desk = await office({ definitions: [charge] });
    await desk.submit(charge, { orderId: 'order-1' }, at);
    const second = await desk.submit(charge, { orderId: 'order-2' }, at);
    await pass(2);

    await desk.cancel(second.id, { ...at, by: 'shift-lead', reason: 'the customer called' });
    await pass(1);

    expect(await second.status()).toBe('failed');
    await pass(120);
    expect(times()).toEqual([0]);
  });

  test('does not keep its process from stopping, and goes out from the next one, once', async () => {
    const first = await office({ definitions: [charge] });
    await first.submit(charge, { orderId: 'order-1' }, at);
    const second = await first.submit(charge, { orderId: 'order-2' }, at);
    await pass(5);

    let isOver = false;
    void first.stop({ within: '10s' }).then(() => (isOver = true));
    await clock.advance(0);
    const stoppedAtOnce = isOver;
    const left = clock.pending();
    await office({ definitions: [charge] });
    await pass(120);

    expect(stoppedAtOnce).toBe(true);
    expect(left).toBe(0);
    expect((await second.history()).filter(({ kind }) => kind === 'start')).toHaveLength(1);
    expect(times()).toEqual([0, 5_000]);
  });
});

describe('sagas whose steps go to a provider that takes one call at a time', () => {
  const charge = defined('card.charge', { provider: 'psp' });
  const capture = defined('card.capture', { provider: 'psp', limit: { rate: '30/m' } });
  const mail = defined('mail.send');
  const none = { compensate: { none: 'it is never taken back' } } as const;
  const order = saga('order', { input: typed<{ orderId: string }>(), key: ({ input }) => input.orderId })
    .step('mail', mail, ({ input }) => input, none)
    .step('charge', charge, ({ input }) => input, none)
    .step('capture', capture, ({ input }) => input, none);

  test('are all done, one call after the other', async () => {
    const desk = await office({ definitions: [order], providers: { psp: { concurrency: 1 } } });

    const runs = await Promise.all(orders(5).map((each) => desk.submit(order, each, at)));
    await pass(30);

    expect(await Promise.all(runs.map((run) => run.status()))).toEqual(runs.map(() => 'succeeded'));
    expect(outgoing).toHaveLength(15);
    expect(most(({ action }) => action.startsWith('card.'))).toBe(1);
    expect(times(({ action }) => action === 'mail.send')).toEqual([0, 0, 0, 0, 0]);
    const captures = times(({ action }) => action === 'card.capture');
    expect(captures.filter((time, n) => time - (captures[n - 1] ?? -Infinity) < 2_000)).toEqual([]);
  });
});

describe('sagas in a process that does one thing at a time', () => {
  const pick = defined('goods.pick', { limit: { concurrency: 1 } });
  const pack = defined('goods.pack', { provider: 'packers' });
  const none = { compensate: { none: 'it is never taken back' } } as const;
  const parcel = saga('parcel', { input: typed<{ orderId: string }>(), key: ({ input }) => input.orderId })
    .step('pick', pick, ({ input }) => input, none)
    .step('pack', pack, ({ input }) => input, none);

  test('go on with the next step before another saga begins', async () => {
    const desk = await office({ definitions: [parcel], concurrency: 1, providers: { packers: { concurrency: 1 } } });

    await Promise.all(orders(3).map((each) => desk.submit(parcel, each, at)));
    await pass(7);

    const inTurn = ['goods.pick', 'goods.pack'];
    expect(outgoing.map(({ action }) => action)).toEqual([...inTurn, ...inTurn, ...inTurn]);
  });

  test('are not all taken up to wait in line, when their first step has to wait', async () => {
    const front = createOrchestrator({ store, clock, definitions: [parcel] });
    const runs = await Promise.all(orders(200).map((each) => front.submit(parcel, each, at)));

    await office({ definitions: [parcel], concurrency: 8 });
    await pass(10);

    const rows = await Promise.all(runs.map(({ id }) => store.readSaga({ tenant: 'shop-1', id })));
    expect(outgoing.length).toBeGreaterThan(10);
    // Eight that wait, and at most as many again that were claimed together.
    expect(rows.filter((row) => row?.owner !== null).length).toBeLessThanOrEqual(16);
  });
});

describe('a limit that nobody could keep', () => {
  const charge = defined('card.charge', { provider: 'card-company' });

  test.each([
    ['a provider that no operation names', { providers: { 'card-compnay': { concurrency: 1 } } }, /card-company/],
    ['a rate that is none', { providers: { 'card-company': { rate: '10 per second' } } }, /'25\/s'/],
    ['no concurrency', { perTenant: { concurrency: 0 } }, /a whole number from 1/],
    ['nothing at all', { perTenant: {} }, /concurrency: 10/],
    ['a limit of another name', { perTenant: { rat: '1/s' } }, /rate/],
  ])('%s is refused, and what to write is said', (_, limits, remedy) => {
    // The point of these tests: options that the types would not let through.
    const making = () => createOrchestrator({ store, clock, definitions: [charge], ...(limits as object) });

    expect(making).toThrow(
      expect.objectContaining({ code: 'DEFINITION_INVALID', message: expect.stringMatching(remedy) }),
    );
  });

  test('is refused in a definition, too', () => {
    const wrong = { limit: { rate: '0/s' } } as unknown as { limit: WorkLimit };

    expect(() => defined('card.charge', wrong)).toThrow(/limit\.rate of card\.charge is "0\/s"/);
    expect(() => defined('card.charge', { provider: '' })).toThrow(/provider of card\.charge is empty/);
  });
});
