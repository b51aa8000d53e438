/**
 * A company that fails everybody is not sent to by everybody again: further attempts are spread and have a budget, and
 * while most of what is sent proves nothing, nothing more is begun there. What waits is not in doubt, holds up nothing
 * else, and is begun when the company is well. The bank keeps its books by key: what it has is what happened.
 */

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  absent,
  createOrchestrator,
  type CreateOptions,
  found,
  inconclusive,
  type Logger,
  notApplied,
  operation,
  type Orchestrator,
  type Outcome,
  saga,
  succeeded,
  typed,
} from 'sagacity';
import { memoryStore, type Random, testClock, type TestClock } from 'sagacity/testing';
import type { Store } from '../../src/ports/store.ts';
import { overlay } from '../../src/testing/overlay.ts';
import { allStopped } from '../support/on-their-way.ts';
import { evenChance } from '../support/chance.ts';

interface Order {
  readonly orderId: string;
}

/** What the bank answers, and what it was asked. */
interface Bank {
  answer: 'well' | 'busy' | 'silent' | 'out-of-reach';
  retryAfterMs: number;
  readonly books: Map<string, string>;
  readonly sentAt: { readonly key: string; readonly at: number; readonly attempt: number }[];
  readonly askedAt: number[];
}

let clock: TestClock;
let store: Store;
let claims: number;
let bank: Bank;
let said: string[];
let working: Orchestrator<true>[];

beforeEach(() => {
  clock = testClock();
  claims = 0;
  const rows = memoryStore({ clock });
  store = overlay(rows, {
    claim(...asked: Parameters<Store['claim']>) {
      claims += 1;
      return rows.claim(...asked);
    },
  });
  bank = { answer: 'well', retryAfterMs: 0, books: new Map(), sentAt: [], askedAt: [] };
  said = [];
  working = [];
});

afterEach(() => allStopped(working, clock));

const silent = () => {};
const logger: Logger = {
  ...{ debug: silent, error: silent },
  info: (_, message) => void (message.startsWith('breaker') && said.push(message)),
  warn: (_, message) => void (message.startsWith('breaker') && said.push(message)),
};

async function office(options: Omit<CreateOptions, 'store' | 'tenant'>): Promise<Orchestrator<true>> {
  const orchestrator = createOrchestrator({
    ...{ store, clock, random: spreading(), logger, tenant: 'shop-1', ...options },
  });
  working.push(orchestrator);
  await orchestrator.start();
  return orchestrator;
}

/** Chance that takes every value, and the same ones each time. */
function spreading(): Random {
  let n = 0;
  return { ...evenChance(), number: () => ((n += 1) * 0.618_033_988_75) % 1 };
}

function charging(action = 'card.charge', attempts = 3) {
  return operation(action, {
    input: typed<Order>(),
    key: ({ input }) => input.orderId,
    execute({ idempotencyKey: key, attempt }): Outcome<string, never> {
      if (bank.answer === 'out-of-reach') return { ...notApplied('no connection'), sent: false };
      bank.sentAt.push({ key, attempt, at: clock.monotonic() });
      if (bank.answer === 'busy') return { ...notApplied('status 429'), retryAfterMs: bank.retryAfterMs };
      if (bank.answer === 'silent') throw new Error('The reply was lost.');
      bank.books.set(key, `charge_${bank.books.size + 1}`);
      return succeeded('charged');
    },
    keyRetention: '24h',
    lookup: {
      ...{ visibleWithin: '1s', every: '1s' },
      find({ idempotencyKey: key }) {
        bank.askedAt.push(clock.monotonic());
        if (bank.answer === 'silent') return inconclusive('no reply');
        return bank.books.has(key) ? found(succeeded('charged')) : absent();
      },
    },
    retry: { attempts, backoff: 'fixed', delay: '10s', jitter: 'full' },
    provider: 'bank',
    compensate: { none: 'nothing is taken back here' },
  });
}

/** At another company, which is well. */
const mail = operation('email.send', {
  ...{ input: typed<Order>(), key: ({ input }: { readonly input: Order }) => input.orderId },
  execute: () => succeeded('sent'),
  ...{ keyRetention: 'none', lookup: 'none', provider: 'mailer', compensate: { none: 'a mail is out' } },
});

const orders = (count: number, of = 'order') => Array.from({ length: count }, (_, n) => ({ orderId: `${of}-${n}` }));

async function pass(ms: number, stepMs = 1_000): Promise<void> {
  for (let left = ms; left > 0; left -= stepMs) await clock.advance(Math.min(stepMs, left));
}

const sentIn = (from: number, to: number) => bank.sentAt.filter(({ at }) => at >= from && at < to);

describe('a thousand orders that a bank refuses for now in one moment', () => {
  const carefree = { bank: { breaker: 'none', retryBudget: 'none' } } as const;

  test('come back spread over the whole pause, none sooner than was asked, and no more often than configured', async () => {
    const charge = charging();
    const desk = await office({ definitions: [charge], concurrency: 1_000, providers: carefree });
    Object.assign(bank, { answer: 'busy', retryAfterMs: 2_000 });

    await Promise.all(orders(1_000).map((order) => desk.submit(charge, order)));
    await pass(100, 10);
    const first = bank.sentAt.splice(0);
    bank.answer = 'well';
    await pass(13_000, 50);

    expect(first).toHaveLength(1_000);
    expect(Math.max(...first.map(({ at }) => at))).toBeLessThanOrEqual(100);
    const second = bank.sentAt.map(({ at }) => at);
    expect(second).toHaveLength(1_000);
    expect(Math.min(...second)).toBeGreaterThanOrEqual(2_000);
    expect(Math.max(...inTenths(second))).toBeLessThan(50);
    expect(bank.books.size).toBe(1_000);
  });

  test('stop after their attempts', async () => {
    const charge = charging('card.charge', 2);
    const desk = await office({ definitions: [charge], concurrency: 1_000, providers: carefree });
    bank.answer = 'busy';

    const runs = await Promise.all(orders(1_000).map((order) => desk.submit(charge, order)));
    await pass(60_000, 500);

    expect(bank.sentAt).toHaveLength(2_000);
    const results = await Promise.all(runs.map((run) => run.result({ within: 0 })));
    expect(new Set(results.map(({ status }) => status))).toEqual(new Set(['failed']));
  });
});

/** How many fell into each tenth of a second. */
function inTenths(times: readonly number[]): readonly number[] {
  const buckets = new Map<number, number>();
  for (const at of times) buckets.set(Math.floor(at / 100), (buckets.get(Math.floor(at / 100)) ?? 0) + 1);
  return [...buckets.values()];
}

describe('a bank of which no reply comes', () => {
  test('is left alone as soon as that is seen: what has not been sent is in no doubt', async () => {
    const charge = charging();
    const desk = await office({ definitions: [charge], concurrency: 8 });
    bank.answer = 'silent';

    const runs = await Promise.all(orders(1_000).map((order) => desk.submit(charge, order)));
    await pass(9_000);

    expect(bank.sentAt.length).toBeLessThanOrEqual(20 + 8);
    expect(desk.health().breakers).toEqual({ bank: 'open' });
    expect((await desk.operator.doubts({ limit: 1_000 })).length).toBeLessThanOrEqual(20 + 8);
    expect(said).toEqual(['breaker opened: no attempt is begun at this provider']);
    const rows = await Promise.all(runs.map(({ tenant, id }) => store.read({ tenant, id })));
    // Who is well may have it: nobody holds what waits, beyond what was claimed before.
    expect(rows.filter((row) => row?.owner !== null).length).toBeLessThanOrEqual(20 + 3 * 8);
  });

  test('is tried by one attempt after a pause, and after longer ones, and looked up meanwhile, slowly', async () => {
    const charge = charging();
    const desk = await office({ definitions: [charge], concurrency: 8 });
    bank.answer = 'silent';

    await Promise.all(orders(200).map((order) => desk.submit(charge, order)));
    await pass(1_000);
    await pass(69_000);

    const sentLater = sentIn(1_000, 70_000).map(({ at }) => Math.round(at / 1_000));
    expect(sentLater).toEqual([10, 30]);
    const asked = bank.askedAt.filter((at) => at >= 1_000);
    expect(asked.length).toBeGreaterThan(20);
    expect(asked.length).toBeLessThanOrEqual(70);
  });

  test('is sent everything once it is well, each thing once, and that is said once', async () => {
    const charge = charging();
    const desk = await office({ definitions: [charge], concurrency: 8 });
    bank.answer = 'silent';

    const runs = await Promise.all(orders(200).map((order) => desk.submit(charge, order)));
    await pass(15_000);
    bank.answer = 'well';
    await pass(120_000);

    expect(desk.health().breakers).toEqual({ bank: 'closed' });
    const results = await Promise.all(runs.map((run) => run.result({ within: 0 })));
    expect(new Set(results.map(({ status }) => status))).toEqual(new Set(['succeeded']));
    expect(bank.books.size).toBe(200);
    expect(Math.max(...bank.sentAt.map(({ attempt }) => attempt))).toBeLessThanOrEqual(3);
    expect(said).toEqual([
      'breaker opened: no attempt is begun at this provider',
      'breaker closed: attempts go out to this provider again',
    ]);
  });

  test('keeps nothing else waiting: neither another company, nor the sweep, nor a stop', async () => {
    const charge = charging();
    const taking = charging('card.take');
    const selling = saga('selling', { input: typed<Order>(), key: ({ input }) => input.orderId })
      .step('mail', mail, ({ input }) => input)
      .step('money', taking, ({ input }) => input);
    const desk = await office({ definitions: [charge, mail, selling], concurrency: 4 });
    bank.answer = 'silent';
    await Promise.all(orders(100).map((order) => desk.submit(charge, order)));
    await pass(2_000);
    claims = 0;

    await Promise.all(orders(50, 'sale').map((order) => desk.submit(selling, order)));
    const mails = await Promise.all(orders(50).map((order) => desk.submit(mail, order)));
    await pass(6_000);

    const results = await Promise.all(mails.map((run) => run.result({ within: 0 })));
    expect(results.filter(({ status }) => status === 'succeeded')).toHaveLength(50);
    expect(sentIn(2_000, 9_000)).toEqual([]);
    expect(claims).toBeLessThanOrEqual(100);
  });
});

describe('attempts that say nothing of their bank', () => {
  test('leave its breaker closed: those that were cancelled on their way', async () => {
    const waiting = operation('card.charge', {
      ...{ input: typed<Order>(), key: ({ input }: { readonly input: Order }) => input.orderId },
      execute: ({ abortSignal }) =>
        new Promise<Outcome<string, never>>((_, reject) => {
          abortSignal.addEventListener('abort', () => reject(new Error('It was given up.')));
        }),
      ...{ keyRetention: 'none', lookup: 'none', provider: 'bank' },
    });
    const desk = await office({ definitions: [waiting] });
    const runs = await Promise.all(orders(30).map((order) => desk.submit(waiting, order)));
    await clock.advance(0);

    const cancelling = runs.map((run) => desk.cancel(run.id, { by: 'the shop', reason: 'no longer wanted' }));
    await pass(5_000);
    await Promise.all(cancelling);

    expect(await desk.operator.doubts()).toHaveLength(30);
    expect(desk.health().breakers).toEqual({ bank: 'closed' });
  });
});

describe('further attempts at a bank', () => {
  const budget = { bank: { breaker: 'none', retryBudget: { retries: 10, per: '1m' } } } as const;

  test('are no more than their budget in any of its time, which fills again by time alone', async () => {
    const charge = charging('card.charge', 3);
    const desk = await office({ definitions: [charge], concurrency: 100, providers: budget });
    bank.answer = 'busy';

    await Promise.all(orders(1_000).map((order) => desk.submit(charge, order)));
    await pass(120_000);
    const further = bank.sentAt.filter(({ attempt }) => attempt > 1).map(({ at }) => at);
    const crowded = further.filter((from) => further.filter((at) => at >= from && at < from + 60_000).length > 10);

    expect(crowded).toEqual([]);
    expect(further.length).toBeGreaterThanOrEqual(20);
  });

  test('hold up no first attempt, and the first failure that comes later is repeated in its turn', async () => {
    const charge = charging('card.charge', 10);
    const later = charging('card.later', 3);
    const desk = await office({ definitions: [charge, later], concurrency: 100, providers: budget });
    bank.answer = 'busy';
    await Promise.all(orders(15).map((order) => desk.submit(charge, order)));
    await pass(30_000);

    const sentBefore = bank.sentAt.length;
    const run = await desk.submit(later, { orderId: 'order-late' });
    await clock.advance(0);
    const sentAtOnce = bank.sentAt.length - sentBefore;
    bank.answer = 'well';
    await pass(240_000);

    expect(sentAtOnce).toBe(1);
    expect(await run.status()).toBe('succeeded');
    expect(bank.books.size).toBe(16);
  });

  test('are those of which something has left before: after none that did, it is the first', async () => {
    const charge = charging('card.charge', 3);
    const desk = await office({ definitions: [charge], concurrency: 100, providers: budget });
    bank.answer = 'out-of-reach';
    await Promise.all(orders(50).map((order) => desk.submit(charge, order)));
    await clock.advance(0);

    bank.answer = 'well';
    await pass(30_000);

    expect(bank.books.size).toBe(50);
    expect(new Set(bank.sentAt.map(({ attempt }) => attempt))).toEqual(new Set([2]));
  });
});

describe('the care for a provider', () => {
  test.each([
    ['a breaker of another name', { braker: 'none' }, /did you mean breaker/],
    ['a share that is none', { breaker: { share: 1.5 } }, /breaker\.share.*a number above 0 and up to 1/],
    ['no end to count', { breaker: { ends: 0 } }, /a whole number from 1/],
    ['a longest pause that is shorter', { breaker: { pause: '10m' } }, /Raise maxPause/],
    ['an option of another name', { breaker: { window: '1m' } }, /has no option window/],
    ['a budget without its time', { retryBudget: { retries: 5 } }, /retryBudget\.per/],
    ['nothing at all', {}, /concurrency: 10/],
  ])('is refused: %s', (_, wrong, remedy) => {
    const making = () =>
      // The point of these tests: options that the types would not let through.
      createOrchestrator({ store, clock, definitions: [charging()], providers: { bank: wrong as object } });

    expect(making).toThrow(
      expect.objectContaining({ code: 'DEFINITION_INVALID', message: expect.stringMatching(remedy) }),
    );
  });
});
