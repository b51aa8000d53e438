/**
 * What was thought of later, and bends some plans once they are drawn: from a stream of its own, so that every other seed
 * plays as it always has. Each of these stories makes likely together what an arrow of the chart needs together.
 */

import { type Chance, seeded } from './chance.ts';
import { calm, type Fault } from './faults.ts';
import type { Plan, Promised } from './plan.ts';
import {
  type BrokenAt,
  inverseOf,
  places,
  promisedFor,
  type Promising,
  type SagaShape,
  SHARED,
  sharedActionOf,
  stepsByHand,
  stepsIn,
  type StepPlan,
  type WantedSaga,
  type Word,
} from './saga-plan.ts';
import { tangled } from './tangled-plan.ts';

/** Chosen so that the seeds that were kept before are not bent. */
const STREAM = 0xfa_bc_f3_47;

/** The share of the seeds that tell one of the stories. */
const SHARE = 0.1;

/** The share of the other seeds without sagas whose requests outlive their key. */
const OUTLIVING = 0.03;

/** The share of the rest of those at whose provider a refusal is on record and the key is free again. */
const RELEASING = 0.04;

/** The share of the other seeds with sagas in which these do what they did not do at first. */
const NEWS = 0.8;

type Story = (plan: Plan) => Plan;

/** The plan of a seed, bent by what was thought of later, with providers that `promise` draws. */
export function later(plan: Plan, promise: Promising): Plan {
  const chance = seeded(Math.imul(plan.seed, 0xc2_b2_ae_35) ^ STREAM);
  if (chance.is(SHARE)) return tale(plan, chance);
  if (plan.sagas.wanted.length === 0) return alone(plan, chance);
  return tangled(withNews(plan, chance, promise), promise);
}

/** Orders that stand alone. */
function alone(plan: Plan, chance: Chance): Plan {
  if (chance.is(OUTLIVING)) return outliving(plan);
  if (!chance.is(RELEASING)) return plan;
  return chance.is(0.5) ? releasing(plan) : releasingAndLost(plan);
}

/** A request that is not there when it is looked up can arrive when the next one, sent under its key, is forgotten. */
const outliving: Story = orders(
  {
    ...{ keyRetentionMs: 8_000, timeoutMs: 1_000, sendWithinMs: 500, pauseMs: 100, attempts: 4, http: null },
    lookup: { visibleWithinMs: 500, arrivalLimitMs: 15_000, everyMs: 500, giveUpAfterMs: 105_000 },
  },
  { 'late-arrival': 0.6 },
);

const released = {
  ...{ keyRetentionMs: 600_000, timeoutMs: 1_000, sendWithinMs: 500, pauseMs: 100, attempts: 4, http: null },
  ...{ honoursAbort: true, namesRecords: true, showsRefusals: true, remembersRefusals: false },
  lookup: { visibleWithinMs: 0, arrivalLimitMs: 60_000, everyMs: 3_000, giveUpAfterMs: 200_000 },
} as const;

/** A request is on its way for long; the next one under its key is refused, and the books show that. */
const releasing: Story = orders(released, { 'late-arrival': 0.6, refused: 0.5 });

/** The same, and the database forgets that either was begun. */
const releasingAndLost: Story = (plan) => ({
  ...orders(released, { 'late-arrival': 0.6, refused: 0.5, failover: 0.7 })(plan),
  // Little else is written meanwhile.
  wanted: plan.wanted.slice(0, 1).map((one) => ({ ...one, atMs: 0 })),
  heartbeat: { everyMs: 10_000, timeoutMs: 30_000 },
});

/** What sagas did not do at first. */
function withNews(plan: Plan, chance: Chance, promise: Promising): Plan {
  if (!chance.is(NEWS)) return plan;
  const sharing: typeof broken = (bent) => shared(bent, chance, promise);
  const news = [
    chance.is(0.4) ? asking : null,
    chance.is(0.45) ? sharing : null,
    chance.is(0.45) ? takenBackLater : null,
    chance.is(0.35) ? broken : null,
  ];
  const bent = news.reduce<Plan>((before, bend) => bend?.(before, chance) ?? before, plan);
  if (bent.sagas.alone.length > 0 && chance.is(0.75)) return brokenAlone(bent, chance);
  return chance.is(0.15) ? endedAmidst(bent, chance) : bent;
}

/**
 * Customers change their minds, what takes their sagas back has to wait, and somebody ends them as they stand; some are
 * taken back all the same later.
 */
function endedAmidst(plan: Plan, chance: Chance): Plan {
  const wanted = plan.sagas.wanted.map(
    (one): WantedSaga => ({
      ...one,
      endedAfterMs: chance.logBetween(1, 5_000),
      takenBackAtMs: chance.is(0.5) ? one.atMs + chance.between(10_000, 60_000) : null,
    }),
  );
  const promised = plan.sagas.promised.map((one) =>
    one.action === inverseOf(one.action) ? { ...one, pauseMs: 5_000, attempts: 4 } : one,
  );
  const rates = { ...plan.rates, ...calm, cancel: 0.9, 'not-applied': 0.5, 'slow-reply': 0.2, crash: 0.02 };
  return { ...plan, events: 800, rates, sagas: { ...plan.sagas, promised, wanted } };
}

/**
 * What stands alone is taken back before any saga could join it, and some of the processes that hear of that cannot make
 * what its inverse is given.
 */
function brokenAlone(plan: Plan, chance: Chance): Plan {
  const { sagas } = plan;
  const alone = sagas.alone.map((one) => ({ ...one, atMs: 0, takenBackAtMs: chance.logBetween(300, 20_000) }));
  const wanted = sagas.wanted.map((one) => ({ ...one, atMs: one.atMs + 30_000 }));
  const many = { workers: Math.max(2, plan.workers), exclusive: false, events: 1_000 };
  const rates = { ...plan.rates, ...calm, crash: 0.05, 'crash-at-a-call': 0.01, decision: 0.7 };
  return brokenIn({ ...plan, ...many, rates, sagas: { ...sagas, alone, wanted } }, 'an inverse', chance);
}

/** Where every saga can be broken. */
const frequentPlaces = ['an input', 'what an input holds', 'an inverse'] as const;

/** Sagas of one shape wait for a word from outside, which is given early, late, twice and in another order. */
function asking(plan: Plan, chance: Chance): Plan {
  const { sagas } = plan;
  const [shape, ...others] = sagas.shapes;
  const action = shape === undefined ? undefined : stepsIn(shape)[0]?.action;
  if (shape === undefined || action === undefined) return plan;
  const parts = stepsByHand.asking.map(
    (name): StepPlan => ({ ...{ type: 'step', name, action, hasInverse: true, onFailed: 'compensate' } }),
  );
  const patienceMs = chance.oneOf([2_000, 10_000, 30_000]);
  const asked: SagaShape = { ...shape, ...{ written: 'asking', parts, pivot: null, patienceMs } };
  const wanted = sagas.wanted.map((one) => (one.saga === shape.name ? { ...one, words: wordsFor(one, chance) } : one));
  return { ...plan, sagas: { ...sagas, shapes: [asked, ...others], wanted } };
}

/** Something to note, and at times what it waits for. */
function wordsFor({ atMs }: WantedSaga, chance: Chance): readonly Word[] {
  const soon = () => atMs + chance.logBetween(10, 20_000);
  const noted = Array.from({ length: 1 + chance.below(3) }, (_, at): Word => {
    return { type: 'noted', eventId: `event-${at + 1}`, atMs: soon(), isNowOrNever: false, keepForMs: KEPT_MS };
  });
  const type = chance.is(0.6) ? 'approved' : 'rejected';
  return chance.is(0.7)
    ? [...noted, { ...{ type, eventId: 'event-last', atMs: soon() }, isNowOrNever: chance.is(0.2), keepForMs: KEPT_MS }]
    : noted;
}

/** As long as any schedule takes. */
const KEPT_MS = 7 * 86_400_000;

/** Some processes have definitions that are at fault, until everything is repaired. */
function broken(plan: Plan, chance: Chance): Plan {
  const isAsked = plan.sagas.shapes.some(({ written }) => written === 'asking');
  if (isAsked && chance.is(0.7)) return brokenIn(plan, chance.oneOf(['a guard', 'an assignment']), chance);
  return brokenIn(plan, chance.is(0.7) ? chance.oneOf(frequentPlaces) : chance.oneOf(places), chance);
}

function brokenIn(plan: Plan, brokenAt: BrokenAt, chance: Chance): Plan {
  const rates = { ...plan.rates, 'broken-definition': chance.between(0.3, 0.9) };
  return { ...plan, rates, sagas: { ...plan.sagas, brokenAt } };
}

/** The chains of each tenant have one step together; some have it as their pivot, and at times it is wanted alone. */
function shared(plan: Plan, chance: Chance, promise: Promising): Plan {
  const { sagas } = plan;
  const shapes = sagas.shapes.map((shape) => (shape.written === 'chain' ? withShared(shape, chance) : shape));
  if (shapes.every(({ written }) => written !== 'chain')) return plan;
  const [first] = sagas.wanted;
  const more = sagas.wanted.length > 1 || first === undefined ? [] : [{ ...first, key: `${first.key}-too` }];
  const isClose = chance.is(0.5);
  const wanted = [...sagas.wanted, ...more].map((one) => (isClose ? { ...one, atMs: chance.between(0, 500) } : one));
  const alone = wanted.slice(0, chance.is(0.5) ? 1 : 0).map(({ tenant }) => ({
    tenant,
    atMs: chance.is(0.5) ? 0 : chance.between(0, 20_000),
    takenBackAtMs: chance.is(0.7) ? chance.logBetween(200, 60_000) : null,
  }));
  const promised = [...sagas.promised, ...promisedFor(SHARED, chance, promise)];
  return { ...plan, sagas: { ...sagas, shapes, wanted, alone, promised } };
}

/** The same with the shared step in the place of one that can be taken back, or of the pivot, or before the first. */
function withShared(shape: SagaShape, chance: Chance): SagaShape {
  const step: StepPlan = {
    ...{ type: 'step', name: SHARED, action: sharedActionOf(SHARED), hasInverse: true, onFailed: 'compensate' },
  };
  if (shape.pivot !== null && chance.is(0.25)) {
    const parts = shape.parts.map((part) => (part.name === shape.pivot ? { ...step, hasInverse: false } : part));
    return { ...shape, parts, pivot: SHARED };
  }
  const backward = shape.parts.filter((part): part is StepPlan => part.type === 'step' && part.hasInverse);
  const replaced = backward[chance.below(backward.length)];
  if (replaced === undefined) return { ...shape, parts: [step, ...shape.parts] };
  return { ...shape, parts: shape.parts.map((part) => (part === replaced ? step : part)) };
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
      ...{ keyRetentionMs: 600_000, lookup: { ...shownAtOnce, arrivalLimitMs: 12_000 }, attempts: 4, ...namedAndDeaf },
      ...{ timeoutMs: 4_000, sendWithinMs: 500, pauseMs: 100 },
    },
    {
      'late-arrival': 0.9,
      'executes-twice': 0.9,
      'unusable-output': 0.9,
      'lookup-silent': 0.6,
    },
  ),
];

const ofInverses: readonly [Story, ...Story[]] = [
  // What takes back has one attempt, and hears that it was for nothing while the first look-up is not answered.
  inverses(
    { timeoutMs: 4_000, sendWithinMs: 500, keyRetentionMs: null, honoursAbort: false },
    { 'slow-reply': 0.4, 'not-applied': 0.5, 'lookup-silent': 0.7 },
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

/** The same with one step alone. */
function shortened(shape: SagaShape): SagaShape {
  const action = stepsIn(shape)[0]?.action ?? '';
  const parts: StepPlan[] = [{ type: 'step', name: 'step1', action, hasInverse: true, onFailed: 'compensate' }];
  return { ...shape, written: 'chain', parts, pivot: null, withinMs: null };
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
      // Short and many, so that most of them have succeeded when they are taken back.
      shapes: plan.sagas.shapes.map(shortened),
      wanted: plan.sagas.wanted.flatMap((one) =>
        [1, 2].map((of) => ({
          ...one,
          key: `${one.key}-${of}`,
          terminatesAtMs: null,
          takenBackAtMs: one.atMs + 5_000,
        })),
      ),
    },
    rates: { ...plan.rates, ...calm, ...rates },
  });
}
