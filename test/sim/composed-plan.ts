/**
 * What the sagas of a seed are composed of beside single steps: what is done for each of a list, and steps that are
 * sagas of their own. It bends the chains of some plans once everything else about them is drawn, from a stream of its
 * own, so that every other seed plays as it always has.
 */

import { itemStep } from '../../src/define/saga-names.ts';
import { type Chance, seeded } from './chance.ts';
import type { Plan } from './plan.ts';
import {
  type InnerPlan,
  type ListPlan,
  type SagaShape,
  sharedActions,
  stepsIn,
  stepsOf,
  type StepPlan,
} from './saga-plan.ts';

/** Chosen so that the seeds that were kept before are not bent. */
const STREAM = 0x1b_87_37_78;

/** The share of the seeds with sagas. */
const SHARE = 0.6;

/** The share of those in which providers refuse, and people decide. */
const REFUSED = 0.7;

export function composed(plan: Plan): Plan {
  const chance = seeded(Math.imul(plan.seed, 0xcc_9e_2d_51) ^ STREAM);
  if (plan.sagas.wanted.length === 0 || !chance.is(SHARE)) return plan;
  const { sagas } = plan;
  const isRefused = chance.is(REFUSED);
  const shapes = sagas.shapes.map((shape) => {
    if (shape.written !== 'chain') return shape;
    return composedShape(isRefused ? fromPivot(shape) : shape, chance);
  });
  const rates = isRefused ? { ...plan.rates, refused: 0.15, decision: 0.8 } : plan.rates;
  return { ...plan, rates, sagas: { ...sagas, shapes } };
}

function composedShape(shape: SagaShape, chance: Chance): SagaShape {
  return chance.oneOf(kinds).reduce((before, kind) => withPart(kind, before, chance), shape);
}

/** With nothing to be refused before its pivot, if it has one: most get past that. */
function fromPivot(shape: SagaShape): SagaShape {
  const pivotAt = shape.parts.findIndex(({ name }) => name === shape.pivot);
  return { ...shape, parts: shape.parts.filter((part, at) => at >= pivotAt || stepsOf(part).length === 0) };
}

type Kind = 'list' | 'inner';

const kinds: readonly [readonly Kind[], ...(readonly Kind[])[]] = [['list'], ['inner'], ['list', 'inner']];

/** The same with one part more, wherever in it. */
function withPart(kind: Kind, shape: SagaShape, chance: Chance): SagaShape {
  const pivotAt = shape.parts.findIndex(({ name }) => name === shape.pivot);
  const action = stepsIn(shape).find((step) => !sharedActions.includes(step.action))?.action;
  // A place that is shared is booked once, whoever does it.
  if (action === undefined) return shape;
  const isForward = pivotAt !== -1 && chance.is(0.5);
  const at = isForward
    ? pivotAt + 1 + chance.below(shape.parts.length - pivotAt)
    : chance.below((pivotAt === -1 ? shape.parts.length : pivotAt) + 1);
  const part =
    kind === 'list'
      ? listOf(`list${at}`, isForward, action, chance)
      : innerOf(`inner${at}`, isForward, action, shape, chance);
  return { ...shape, parts: [...shape.parts.slice(0, at), part, ...shape.parts.slice(at)] };
}

function listOf(name: string, isForward: boolean, action: string, chance: Chance): ListPlan {
  const onFailed = isForward ? chance.oneOf(['escalate', 'continue'] as const) : ('compensate' as const);
  const hasInverse = !isForward && chance.is(0.85);
  const each: StepPlan = { type: 'step', name, action, hasInverse, onFailed };
  const items = Array.from({ length: chance.below(5) }, (_, index) => ({ ...each, name: itemStep(name, index) }));
  return { type: 'list', name, each, items, concurrency: chance.oneOf([1, 2, 3, null]) };
}

/** Of one step or two, each of which can be taken back. */
function innerOf(name: string, isForward: boolean, action: string, outer: SagaShape, chance: Chance): InnerPlan {
  const onFailed = isForward ? chance.oneOf(['escalate', 'continue'] as const) : ('compensate' as const);
  const parts = Array.from({ length: 1 + chance.below(2) }, (_, at): StepPlan => {
    return { type: 'step', name: `part${at + 1}`, action, hasInverse: chance.is(0.9), onFailed: 'compensate' };
  });
  const shape: SagaShape = {
    ...{ name: `${outer.name}-${name}`, written: 'chain', parts, pivot: null, patienceMs: 200, isLocked: false },
    compensation: chance.is(0.7) ? 'reverse' : 'parallel',
    withinMs: chance.is(0.2) ? Math.floor(chance.logBetween(2_000, 60_000)) : null,
  };
  return { type: 'inner', name, shape, hasInverse: !isForward && chance.is(0.85), onFailed };
}
