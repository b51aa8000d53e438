/**
 * What one seed is about, drawn before anything runs and printed when it fails: the providers and what they promise,
 * the operations, the workers, and which faults strike how often. Each fault is there in half of all seeds, at a rate
 * that is as often small as large, so that some schedules are nearly quiet and others full of one thing (swarm
 * testing). Every third seed keeps one fault for ever: what does not heal must not hold up the rest.
 */

import { type Chance, seeded } from './chance.ts';
import { contracted } from './contract-plan.ts';
import type { ByHttp } from './contracts.ts';
import { calm, type Fault, faults, faultsOfContracts } from './faults.ts';
import { wordy } from './wordy-plan.ts';
import { composed } from './composed-plan.ts';
import { later } from './later-plan.ts';
import { drawnSagas, type SagasPlan, sagasOf } from './saga-plan.ts';

/** What may stay broken when everything else is healed. */
export const forEver = [
  'a dead worker',
  'a frozen worker',
  'a deaf waker',
  'a black-holed provider',
  'a lossy store',
] as const;

/** What a provider promises: how long it knows a key, and whether it can be asked. */
export interface Promised {
  readonly action: string;
  readonly keyRetentionMs: number | null;
  readonly lookup: {
    readonly visibleWithinMs: number;
    readonly arrivalLimitMs: number | null;
    readonly everyMs: number;
    readonly giveUpAfterMs: number;
  } | null;
  readonly timeoutMs: number;
  readonly sendWithinMs: number;
  readonly attempts: number;
  readonly pauseMs: number;
  /** Whether its client stops waiting when it is told to. */
  readonly honoursAbort: boolean;
  /** Whether a look-up shows what was refused. */
  readonly showsRefusals: boolean;
  /** Whether it gives a refusal that it shows again to the next request under its key; if not, that is decided anew. */
  readonly remembersRefusals: boolean;
  /** Whether it names its records. */
  readonly namesRecords: boolean;
  /** Requests to it go by `http`, under a contract; null: by a client of its own, and the definition says it all. */
  readonly http: ByHttp | null;
}

/** How a process treats the company behind `http`. */
export interface Care {
  readonly breaker: {
    readonly withinMs: number;
    readonly ends: number;
    readonly share: number;
    readonly pauseMs: number;
    readonly maxPauseMs: number;
  };
  readonly retryBudget: { readonly retries: number; readonly perMs: number };
}

/** One operation that somebody wants: what is submitted, when, and as which tenant. */
export interface Wanted {
  readonly tenant: string;
  readonly action: string;
  readonly key: string;
  readonly atMs: number;
}

export interface Plan {
  readonly seed: number;
  readonly workers: number;
  readonly exclusive: boolean;
  /** Wakes reach any process, as over a network, or only the one that asked for them. */
  readonly sharedWaker: boolean;
  readonly concurrency: number;
  readonly sweepEveryMs: number;
  readonly heartbeat: { readonly everyMs: number; readonly timeoutMs: number };
  readonly verifyAfterFailoverMs: number;
  readonly promised: readonly Promised[];
  readonly wanted: readonly Wanted[];
  readonly sagas: SagasPlan;
  /** Null: nothing goes by `http`. */
  readonly care: Care | null;
  /** How many events happen before everything is healed. */
  readonly events: number;
  /** The longest a call to the database takes each way while nothing is wrong. */
  readonly latencyMs: number;
  readonly rates: Readonly<Record<Fault, number>>;
  readonly keeps: (typeof forEver)[number] | null;
}

const kinds = ['keyed and looked up', 'keyed', 'looked up', 'neither'] as const;

/** What is played: orders that stand alone and sagas, or sagas and nothing else. */
export type Cast = 'all' | 'sagas';

/** As many sagas are in one schedule where there is nothing else. */
export const SAGAS_EACH = 8;

/** Draws the plan of a seed. The same seed gives the same plan. */
export function planOf(seed: number, cast: Cast = 'all'): Plan {
  const plan = planOfAll(seed);
  return contracted(composed(wordy(later(cast === 'all' ? plan : sagasOnly(plan), promisedBy))));
}

function sagasOnly(plan: Plan): Plan {
  const sagas = drawnSagas(seeded(plan.seed), SAGAS_EACH, promisedBy);
  return { ...plan, wanted: [], sagas, rates: { ...plan.rates, ...sagas.rates } };
}

function planOfAll(seed: number): Plan {
  const chance = seeded(seed);
  const sagas = sagasOf(seed, promisedBy);
  const alone = drawn(seed, chance);
  const concurrency = sagas.concurrency ?? alone.concurrency;
  const plan = { ...alone, sagas, care: null, concurrency, rates: { ...alone.rates, ...sagas.rates } };
  return chance.is(STORIES) ? chance.oneOf(stories)(plan) : plan;
}

function drawn(seed: number, chance: Chance): Omit<Plan, 'sagas' | 'care'> {
  const workers = chance.oneOf([1, 1, 2, 2, 2, 3, 4]);
  const everyMs = chance.oneOf([2_000, 5_000, 10_000]);
  const promised = [promisedBy('first', chance), ...(chance.is(0.5) ? [promisedBy('second', chance)] : [])];
  const tenants = chance.is(0.3) ? ['north', 'south'] : ['north'];
  const wanted: Wanted[] = [];
  const orders = 1 + chance.below(3);
  for (const tenant of tenants) {
    for (let order = 1; order <= orders; order += 1) {
      const { action } = promised[chance.below(promised.length)] ?? promised[0]!;
      wanted.push({ tenant, action, key: `order-${order}`, atMs: chance.is(0.5) ? 0 : chance.between(0, 20_000) });
    }
  }
  const keeps = chance.is(1 / 3) ? chance.oneOf(forEver) : null;
  return {
    seed,
    workers,
    exclusive: workers === 1 && chance.is(0.5),
    sharedWaker: chance.is(0.5),
    concurrency: chance.oneOf([1, 2, 4, 32]),
    sweepEveryMs: chance.oneOf([1_000, 3_000, 10_000]),
    heartbeat: { everyMs, timeoutMs: everyMs * chance.oneOf([2, 3]) },
    verifyAfterFailoverMs: 900_000,
    promised,
    wanted,
    events: Math.floor(chance.logBetween(60, 400)),
    latencyMs: chance.oneOf([0, 1, 20, 200]),
    rates: ratesOf(chance),
    keeps,
  };
}

/** How often a fault strikes, from and to; what makes a story by itself has to be frequent where it is there at all. */
const usual = [0.005, 0.5] as const;
const frequent = [0.1, 0.9] as const;
const isFrequent: ReadonlySet<Fault> = new Set([
  'slow-reply',
  'refused',
  'unusable-output',
  'executes-twice',
  'submitted-again',
  'conflict',
  'cancel',
  'decision',
]);

/** The share of the seeds that are bent towards one of the stories below. */
const STORIES = 1 / 6;

type Story = (plan: Plan) => Plan;

/** A client that names what it gets, and does not stop waiting for it. */
const namedAndDeaf = { honoursAbort: false, namesRecords: true } as const;

/** Told late, and asked often. */
const limited = { visibleWithinMs: 0, arrivalLimitMs: 15_000, everyMs: 500, giveUpAfterMs: 60_000 } as const;

/** Shown late, and given up early. */
const slow = { visibleWithinMs: 4_000, arrivalLimitMs: null, everyMs: 3_000, giveUpAfterMs: 4_500 } as const;

/**
 * Some arrows of the chart need several rare things in one operation. Each of these makes them likely together; the
 * rest of the plan stays as it was drawn.
 */
const stories: readonly [Story, ...Story[]] = [
  // Replies that come after the next attempt has begun, and speak of different records.
  bent(
    { keyRetentionMs: 600_000, lookup: null, timeoutMs: 1_000, pauseMs: 100, attempts: 4, ...namedAndDeaf },
    { ...calm, 'slow-reply': 0.8, 'executes-twice': 0.7, 'unusable-output': 0.7 },
  ),
  (plan) => ({
    ...bent(
      { keyRetentionMs: 600_000, lookup: limited, timeoutMs: 4_000, pauseMs: 100, attempts: 4, ...namedAndDeaf },
      { ...calm, 'late-arrival': 0.7, 'executes-twice': 0.9, 'unusable-output': 0.8, 'lookup-silent': 0.5 },
    )(plan),
    // Look-ups wait for each other, and what is unknown stays so for a while.
    concurrency: 1,
  }),
  bent(
    { keyRetentionMs: null, timeoutMs: 1_000, attempts: 4, ...namedAndDeaf },
    { ...calm, 'slow-reply': 0.7, refused: 0.5, 'lookup-silent': 0.4 },
  ),
  // A customer changes his mind while a request that nobody can vouch for waits to be sent again.
  bent(
    { keyRetentionMs: 600_000, timeoutMs: 1_000, pauseMs: 5_000, attempts: 4 },
    { 'request-lost': 0.7, cancel: 0.9, freeze: 0, sleep: 0, crash: 0.02, 'crash-at-a-call': 0 },
  ),
  // The database is so slow that every request is too late to be sent.
  (plan) => ({
    ...bent(
      { sendWithinMs: 500, timeoutMs: 1_000, pauseMs: 100 },
      { crash: 0, 'crash-at-a-call': 0, failover: 0 },
    )(plan),
    ...{ latencyMs: 1_000, events: 1_500, workers: 1, sweepEveryMs: 10_000, exclusive: true },
  }),
  // Nobody hears of a refusal, a person has it tried again, and the books show the refusal before they show the charge.
  (plan) => ({
    ...bent(
      { keyRetentionMs: null, lookup: slow, timeoutMs: 1_000, attempts: 1, honoursAbort: true, showsRefusals: true },
      { ...calm, refused: 0.5, 'reply-lost': 0.9, 'lookup-inconclusive': 0.7, 'lookup-lag': 0.9, decision: 0.9 },
    )(plan),
    wanted: plan.wanted.flatMap((one) => [1, 2, 3, 4].map((n) => ({ ...one, key: `${one.key}-${n}` }))),
    events: 3_000,
  }),
  // Nobody hears of a charge, and the last attempts come due after the provider has forgotten its key.
  bent(
    { keyRetentionMs: 15_000, lookup: null, timeoutMs: 1_000, sendWithinMs: 500, pauseMs: 5_000, attempts: 5 },
    { ...calm, 'reply-lost': 0.9 },
  ),
  // The books do not show a request that is on its way, and that arrives once its key is forgotten.
  bent(
    {
      ...{ keyRetentionMs: 3_000, timeoutMs: 1_000, sendWithinMs: 500, pauseMs: 100, attempts: 4 },
      lookup: { visibleWithinMs: 500, arrivalLimitMs: 15_000, everyMs: 500, giveUpAfterMs: 105_000 },
    },
    { ...calm, 'late-arrival': 0.6 },
  ),
  // A request is on its way for long; the next one is refused, and nothing is kept of that.
  bent(
    {
      ...{ keyRetentionMs: 600_000, lookup: null, timeoutMs: 1_000, pauseMs: 100, attempts: 4 },
      ...{ showsRefusals: false, honoursAbort: true },
    },
    { ...calm, 'late-arrival': 0.5, refused: 0.5 },
  ),
  // The database loses what was sent while the customer changes his mind.
  bent(
    { keyRetentionMs: null, lookup: null, pauseMs: 5_000, attempts: 4 },
    { ...calm, failover: 0.15, cancel: 0.9, 'not-applied': 0.9 },
  ),
  // The database loses what a person has read, and as many turns later somebody is asked again.
  (plan) => ({
    ...bent(
      { keyRetentionMs: null, lookup: null, timeoutMs: 1_000 },
      { ...calm, failover: 0.2, 'request-lost': 0.9, decision: 0.9 },
    )(plan),
    events: 1_500,
  }),
];

function bent(promised: Partial<Promised>, rates: Partial<Record<Fault, number>>): Story {
  return (plan) => ({
    ...plan,
    promised: plan.promised.map((one) => ({ ...one, ...promised })),
    rates: { ...plan.rates, ...rates },
  });
}

function ratesOf(chance: Chance): Readonly<Record<Fault, number>> {
  const drawn = faults.map((fault): [Fault, number] => {
    const [from, to] = isFrequent.has(fault) ? frequent : usual;
    return [fault, chance.is(0.5) ? chance.logBetween(from, to) : 0];
  });
  // The names come from the list itself.
  const none = Object.fromEntries(faultsOfContracts.map((fault) => [fault, 0]));
  return { ...Object.fromEntries(drawn), ...none, 'broken-definition': 0 } as Record<Fault, number>;
}

/** What the provider of this name promises. */
export function promisedBy(name: string, chance: Chance): Promised {
  const kind = chance.oneOf(kinds);
  const isKeyed = kind === 'keyed' || kind === 'keyed and looked up';
  const isLookedUp = kind === 'looked up' || kind === 'keyed and looked up';
  const timeoutMs = chance.oneOf([1_000, 4_000, 10_000]);
  const sendWithinMs = chance.oneOf([500, 2_000, 5_000]);
  const visibleWithinMs = isLookedUp ? chance.oneOf([0, 500, 4_000]) : 0;
  const arrivalLimitMs = isLookedUp && chance.is(0.5) ? chance.oneOf([0, 3_000, 15_000]) : null;
  const neededMs = sendWithinMs + timeoutMs + visibleWithinMs;
  return {
    action: `${name}.charge`,
    keyRetentionMs: isKeyed ? neededMs + chance.oneOf([1_000, 10_000, 60_000, 600_000, 3_000_000]) : null,
    lookup: isLookedUp
      ? {
          visibleWithinMs,
          arrivalLimitMs,
          everyMs: chance.oneOf([500, 3_000]),
          giveUpAfterMs: visibleWithinMs + (arrivalLimitMs ?? 0) + chance.oneOf([1_000, 20_000, 90_000]),
        }
      : null,
    timeoutMs,
    sendWithinMs,
    attempts: 1 + chance.below(4),
    pauseMs: chance.oneOf([100, 1_000, 5_000]),
    honoursAbort: chance.is(0.5),
    showsRefusals: chance.is(0.5),
    remembersRefusals: true,
    namesRecords: chance.is(0.7),
    http: null,
  };
}
