/**
 * Sagas that get in each other's way over what they share: one means something else by it than the others, or two have
 * one thing each that the other one joins. A stream of its own bends these plans, and leaves all other seeds as they
 * are.
 */

import { type Chance, seeded } from './chance.ts';
import { calm } from './faults.ts';
import type { Plan } from './plan.ts';
import {
  ALSO_SHARED,
  isShared,
  OTHERWISE,
  type Promising,
  promisedFor,
  type SagaShape,
  SHARED,
  sharedActionOf,
  stepsIn,
  type StepPlan,
} from './saga-plan.ts';

/** Chosen so that the seeds that were kept before are not bent. */
const STREAM = 0x51_7c_c1_b7;

/** The share of the seeds with several sagas in which two hold each other. */
const CROSSWISE = 0.1;

/** The share of those in which sagas share a step where one means something else by it. */
const OTHER = 0.4;

export function tangled(plan: Plan, promise: Promising): Plan {
  const chance = seeded(Math.imul(plan.seed, 0x27_d4_eb_2f) ^ STREAM);
  if (plan.sagas.wanted.length < 2) return plan;
  if (chance.is(CROSSWISE)) return crosswise(plan, chance, promise);
  return chance.is(OTHER) ? otherwise(plan, chance) : plan;
}

/** Whoever comes first has it, so that the others may be those at fault. */
function otherwise(plan: Plan, chance: Chance): Plan {
  const { sagas } = plan;
  if (!sagas.shapes.some((shape) => stepsIn(shape).some(({ name }) => isShared(name)))) return plan;
  const odd = chance.below(sagas.wanted.length);
  const wanted = sagas.wanted.map((one, at) => (at === odd ? { ...one, key: `${one.key}${OTHERWISE}` } : one));
  return { ...plan, sagas: { ...sagas, wanted } };
}

/** Each has booked what the other one needs next, and while both go on their customers change their minds. */
function crosswise(plan: Plan, chance: Chance, promise: Promising): Plan {
  const { sagas } = plan;
  const [place] = sagas.promised;
  if (place === undefined) return plan;
  // So slow that there is time to change one's mind while both are under way.
  const latencyMs = chance.oneOf([200, 500, 1_000]);
  const step = (name: string, action: string): StepPlan => ({
    ...{ type: 'step', name, action, hasInverse: true, onFailed: 'compensate' },
  });
  const shared = (name: string) => step(name, sharedActionOf(name));
  const shapeOf = (name: string, first: string, then: string): SagaShape => ({
    ...{ name, written: 'chain', pivot: null, withinMs: null, patienceMs: 200, isLocked: false },
    compensation: chance.is(0.7) ? 'reverse' : 'parallel',
    parts: [shared(first), shared(then), ...['step1', 'step2', 'step3'].map((own) => step(own, place.action))],
  });
  const shapes = [shapeOf('trip', SHARED, ALSO_SHARED), shapeOf('tour', ALSO_SHARED, SHARED)];
  const wanted = sagas.wanted.map((one, at) => ({
    ...one,
    ...{ saga: at % 2 === 0 ? 'trip' : 'tour', atMs: chance.between(0, 300), terminatesAtMs: null, words: [] },
    cancelledAtMs: latencyMs * chance.between(3, 12),
  }));
  const known = sagas.promised.filter(({ action }) => action.startsWith(place.action.replace('.book', '.')));
  const promised = [...known, ...[SHARED, ALSO_SHARED].flatMap((name) => promisedFor(name, chance, promise))];
  const minds = { 'slow-reply': 0.3, decision: 0.5, 'broken-definition': 0 } as const;
  const rates = { ...plan.rates, ...(chance.is(0.5) ? calm : {}), ...minds };
  return { ...plan, latencyMs, rates, sagas: { ...sagas, promised, shapes, wanted, alone: [], brokenAt: null } };
}
