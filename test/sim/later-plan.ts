/**
 * What was thought of later, and bends some plans once they are drawn: from a stream of its own, so that every other seed
 * plays as it always has. Each of these stories makes likely together what an arrow of the chart needs together.
 */

import { type Chance, seeded } from './chance.ts';
import { calm, type Fault } from './faults.ts';
import type { Plan, Promised } from './plan.ts';
import { inverseOf, places } from './saga-plan.ts';

/** Chosen so that the seeds that were kept before are not bent. */
const STREAM = 0xfa_bc_f3_47;

/** The share of the seeds that tell one of the stories. */
const SHARE = 0.1;

/** The share of the other seeds with sagas in which these do what they did not do at first. */
const NEWS = 0.8;

type Story = (plan: Plan) => Plan;

/** The plan of a seed, bent by what was thought of later. */
export function later(plan: Plan): Plan {
  const chance = seeded(Math.imul(plan.seed, 0xc2_b2_ae_35) ^ STREAM);
  return chance.is(SHARE) ? tale(plan, chance) : withNews(plan, chance);
}

/** What sagas did not do at first. */
function withNews(plan: Plan, chance: Chance): Plan {
  if (!chance.is(NEWS) || plan.sagas.wanted.length === 0) return plan;
  const news = [chance.is(0.45) ? takenBackLater : null, chance.is(0.35) ? broken : null];
  return news.reduce<Plan>((bent, bend) => bend?.(bent, chance) ?? bent, plan);
}

/** Where every saga can be broken. */
const frequentPlaces = ['an input', 'what an input holds', 'an inverse'] as const;

/** Some processes have definitions that are at fault, until everything is repaired. */
function broken(plan: Plan, chance: Chance): Plan {
  const brokenAt = chance.is(0.7) ? chance.oneOf(frequentPlaces) : chance.oneOf(places);
  const rates = { ...plan.rates, 'broken-definition': chance.between(0.3, 0.9) };
  return { ...plan, rates, sagas: { ...plan.sagas, brokenAt } };
}

/** Operators have what was done taken back, whatever has become of it by then. */
function takenBackLater(plan: Plan, chance: Chance): Plan {
  const wanted = plan.sagas.wanted.map((one) => ({
    ...one,
    takenBackAtMs: chance.is(0.7) ? one.atMs + chance.logBetween(100, 60_000) : null,
  }));
  return { ...plan, sagas: { ...plan.sagas, wanted } };
}

function tale(plan: Plan, chance: Chance): Plan {
  return chance.oneOf(plan.sagas.wanted.length === 0 ? ofOrders : ofInverses)(plan);
}

/** A client that names what it gets, and does not stop waiting for it. */
const namedAndDeaf = { honoursAbort: false, namesRecords: true } as const;

/** Asked often, of a provider that shows at once what it has. */
const shownAtOnce = { visibleWithinMs: 0, everyMs: 500, giveUpAfterMs: 60_000 } as const;

const ofOrders: readonly [Story, ...Story[]] = [
  // It is not there when it is looked up, arrives while it waits to be sent again, and nobody can use what it says.
  orders(
    {
      ...{ keyRetentionMs: 30_000, lookup: { ...shownAtOnce, arrivalLimitMs: null }, attempts: 4, ...namedAndDeaf },
      ...{ timeoutMs: 1_000, sendWithinMs: 500, pauseMs: 5_000 },
    },
    { 'late-arrival': 0.9, 'unusable-output': 0.9 },
  ),
  // Two requests under one key arrive late and are both carried out, and nobody answers who asks about them.
  orders(
    {
      ...{ keyRetentionMs: 600_000, lookup: { ...shownAtOnce, arrivalLimitMs: 8_000 }, attempts: 4, ...namedAndDeaf },
      ...{ timeoutMs: 4_000, sendWithinMs: 500, pauseMs: 100 },
    },
    { 'late-arrival': 0.9, 'executes-twice': 0.9, 'unusable-output': 0.9, 'lookup-silent': 0.6 },
  ),
];

const ofInverses: readonly [Story, ...Story[]] = [
  // What takes back has one attempt, and hears that it was for nothing while the first look-up is not answered.
  inverses(
    { timeoutMs: 4_000, sendWithinMs: 500, keyRetentionMs: null, honoursAbort: false },
    { 'slow-reply': 0.5, 'not-applied': 0.5, 'lookup-silent': 0.7 },
  ),
  // It is lost with the worker that sent it, and the first look-up comes late enough to prove that it did nothing.
  inverses(
    { timeoutMs: 1_000, sendWithinMs: 500, keyRetentionMs: null, honoursAbort: true },
    { 'crash-at-a-call': 0.06, 'request-lost': 0.4 },
  ),
];

function orders(promised: Partial<Promised>, rates: Partial<Record<Fault, number>>): Story {
  return (plan) => ({
    ...plan,
    promised: plan.promised.map((one) => ({ ...one, ...promised })),
    rates: { ...plan.rates, ...calm, ...rates },
  });
}

function inverses(promised: Partial<Promised>, rates: Partial<Record<Fault, number>>): Story {
  const once = { ...promised, attempts: 1, lookup: { ...shownAtOnce, arrivalLimitMs: 0 } };
  return (plan) => ({
    ...plan,
    sagas: {
      ...plan.sagas,
      promised: plan.sagas.promised.map((one) =>
        one.action === inverseOf(one.action) ? { ...one, ...once } : { ...one, attempts: 4 },
      ),
      wanted: plan.sagas.wanted.map((one) => ({ ...one, takenBackAtMs: one.atMs + 5_000 })),
    },
    rates: { ...plan.rates, ...calm, ...rates },
  });
}
