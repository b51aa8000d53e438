/**
 * Stories that have happened to others, each played by schedules in which its own faults strike often and no others
 * do. They have to come up, and nothing may come of them.
 */

import { describe, expect, test } from 'vitest';
import { type Fault, faults, faultsOfContracts } from './faults.ts';
import { type Care, type Plan, planOf, type Promised } from './plan.ts';
import { noSagas } from './saga-plan.ts';
import { playPlan } from './schedule.ts';
import { Tally } from './tally.ts';

interface Story {
  readonly rates: Partial<Record<Fault, number>>;
  readonly promised?: Partial<Promised>;
  readonly plan?: Partial<Plan>;
  /** What has to come up. */
  readonly meets: readonly string[];
}

const keyedAndLookedUp: Partial<Promised> = {
  keyRetentionMs: 600_000,
  lookup: { visibleWithinMs: 500, arrivalLimitMs: null, everyMs: 500, giveUpAfterMs: 60_000 },
  timeoutMs: 1_000,
  attempts: 3,
};

/** A company that is hardly ever taken to be ill, and is sent to again once in a while. */
const ofOneRetry: Care = {
  breaker: { withinMs: 10_000, ends: 1_000, share: 1, pauseMs: 3_000, maxPauseMs: 3_000 },
  retryBudget: { retries: 1, perMs: 10_000 },
};

/** Nothing wrong, and nothing missing. */
const asItShould = { wrong: [], missing: [] };

/** Plays the story with fifty seeds. */
async function played({ rates, promised = {}, plan = {}, meets }: Story) {
  const tally = new Tally();
  const wrong: string[] = [];
  for (let seed = 3_000_001; seed <= 3_000_050; seed += 1) {
    const drawn = planOf(seed);
    const all = [...faults, ...faultsOfContracts];
    const quiet = Object.fromEntries(all.map((fault) => [fault, 0])) as Record<Fault, number>;
    const { violation } = await playPlan(
      {
        ...{ ...drawn, sagas: noSagas, care: null, keeps: null, latencyMs: 1, ...plan },
        promised: drawn.promised.map((one) => ({ ...one, http: null, ...promised })),
        rates: { ...quiet, ...rates },
      },
      tally,
    );
    if (violation !== null) wrong.push(`seed ${seed}: ${violation.invariant}: ${violation.message}`);
  }
  const { sometimes } = tally.counts;
  return { wrong, missing: meets.filter((situation) => !((sometimes[situation] ?? 0) > 0)) };
}

describe('a provider', () => {
  test('that is slow is not read as one that failed', async () => {
    const told = await played({
      rates: { 'slow-reply': 0.8 },
      promised: { ...keyedAndLookedUp, honoursAbort: true },
      meets: ['in-progress --end--> unknown', 'look-up: found', 'unknown --lookup--> succeeded'],
    });

    expect(told).toEqual(asItShould);
  });

  test('that cannot be asked for long is never taken for one that did nothing', async () => {
    const told = await played({
      rates: { 'reply-lost': 0.7, 'lookup-error': 0.7, 'lookup-silent': 0.3 },
      promised: keyedAndLookedUp,
      meets: ['look-up: error', 'reconciling --lookup--> reconciling', 'reconciling --lookup--> succeeded'],
    });

    expect(told).toEqual(asItShould);
  });

  test('whose reply comes after it was given up is heard as evidence', async () => {
    const told = await played({
      rates: { 'slow-reply': 0.8, 'lookup-silent': 0.6 },
      promised: { ...keyedAndLookedUp, honoursAbort: false },
      meets: ['a late result applied'],
    });

    expect(told).toEqual(asItShould);
  });

  test('that executes one key twice is shown to a person, and not sent to again', async () => {
    const told = await played({
      rates: { 'executes-twice': 0.9, 'reply-lost': 0.6 },
      promised: { ...keyedAndLookedUp, namesRecords: true },
      meets: ['two effects, and a person was told'],
    });

    expect(told).toEqual(asItShould);
  });
});

describe('a process', () => {
  test('that dies as it sends, again and again, uses up the attempts and not the provider', async () => {
    const told = await played({
      rates: { 'crash-at-a-call': 0.1 },
      promised: { keyRetentionMs: 600_000, timeoutMs: 1_000, attempts: 3 },
      plan: { exclusive: false, workers: 2, events: 300 },
      meets: ['taken over from a worker that died', 'claim lost while the request was on its way'],
    });

    expect(told).toEqual(asItShould);
  });

  test('that is restarted over and over queues nothing twice', async () => {
    const told = await played({
      rates: { crash: 0.6, 'submitted-again': 0.5 },
      plan: { events: 300 },
      meets: ['submission: joined', 'taken over from a worker that died'],
    });

    expect(told).toEqual(asItShould);
  });

  test('that is told to stop lets its requests end, and leaves nothing behind', async () => {
    const told = await played({
      rates: { 'graceful-stop': 0.5, 'slow-reply': 0.3 },
      meets: ['ended by stopping', 'in-progress --end--> succeeded'],
    });

    expect(told).toEqual(asItShould);
  });

  test('that was frozen past its claim sends nothing any more', async () => {
    const told = await played({
      rates: { freeze: 0.5, sleep: 0.3, 'slow-store': 0.3 },
      plan: { exclusive: false, workers: 2, events: 400 },
      meets: ['taken over from a worker that died', 'a turn refused by its fence'],
    });

    expect(told).toEqual(asItShould);
  });
});

describe('people', () => {
  test('who cancel lose against what has happened, and win against what has not', async () => {
    const told = await played({
      rates: { cancel: 0.9, 'not-applied': 0.6, 'reply-lost': 0.3 },
      promised: { ...keyedAndLookedUp, pauseMs: 5_000 },
      meets: ['pending --cancel--> failed', 'cancelled too late'],
    });

    expect(told).toEqual(asItShould);
  });

  test('who decide while the truth is on its way contradict nothing that is proven', async () => {
    const told = await played({
      rates: { decision: 0.9, 'slow-reply': 0.5, 'reply-lost': 0.5, refused: 0.3 },
      promised: { keyRetentionMs: null, lookup: null, timeoutMs: 1_000, honoursAbort: false },
      plan: { events: 400 },
      meets: ['escalated --verdict--> succeeded', 'escalated --evidence--> succeeded'],
    });

    expect(told).toEqual(asItShould);
  });

  test('of two tenants with the same order numbers never meet', async () => {
    const wanted = ['north', 'south'].flatMap((tenant) =>
      ['order-1', 'order-2'].map((key) => ({ tenant, action: 'first.charge', key, atMs: 0 })),
    );

    const told = await played({
      rates: { 'submitted-again': 0.6, 'reply-lost': 0.3, crash: 0.05, 'wake-forged': 0.5 },
      promised: keyedAndLookedUp,
      plan: { wanted },
      meets: ['submission: joined', 'submission: new'],
    });

    expect(told).toEqual(asItShould);
  });
});

describe('a company that is reached by http', () => {
  test('is sent to for the first time out of no budget, however late it was learnt that nothing had left', async () => {
    const wanted = ['order-1', 'order-2', 'order-3', 'order-4'].map((key) => ({
      ...{ tenant: 'north', action: 'first.charge', key, atMs: 0 },
    }));

    const told = await played({
      rates: { outage: 0.3, 'store-restart': 0.4, 'slow-store': 0.3, decision: 0.9 },
      promised: {
        ...{ http: { kind: 'unkeyed', maxPauseMs: 1_000 }, keyRetentionMs: null, lookup: null },
        ...{ timeoutMs: 1_000, sendWithinMs: 500, attempts: 3, pauseMs: 100 },
      },
      plan: { wanted, care: ofOneRetry, concurrency: 32, latencyMs: 200, events: 600 },
      meets: ['escalated --verdict--> pending'],
    });

    expect(told).toEqual(asItShould);
  });
});

describe('a database', () => {
  test('whose fail-over lost a charge does not have it charged again', async () => {
    const told = await played({
      rates: { failover: 0.3 },
      promised: keyedAndLookedUp,
      plan: { exclusive: false, events: 300 },
      meets: ['fail-over: a start lost', 'fail-over: a lost start assumed'],
    });

    expect(told).toEqual(asItShould);
  });

  test('that restarts in the middle of everything makes nobody repeat anything', async () => {
    const told = await played({
      rates: { 'store-restart': 0.4, 'lost-reply': 0.2 },
      plan: { latencyMs: 200 },
      meets: ['reply lost: turn'],
    });

    expect(told).toEqual(asItShould);
  });

  test('that goes on losing requests has what comes late in the end', async () => {
    const orders = Array.from({ length: 40 }, (_, index) => `order-${index + 1}`);

    const told = await played({
      rates: { 'late-arrival': 0.9 },
      promised: {
        ...{ ...keyedAndLookedUp, attempts: 4, honoursAbort: false },
        lookup: { visibleWithinMs: 0, arrivalLimitMs: 60_000, everyMs: 500, giveUpAfterMs: 200_000 },
      },
      plan: {
        wanted: orders.map((key) => ({ tenant: 'north', action: 'first.charge', key, atMs: 0 })),
        ...{ keeps: 'a lossy store', exclusive: false },
      },
      meets: ['a late result applied', 'request lost: handOver'],
    });

    expect(told).toEqual(asItShould);
  });
});
