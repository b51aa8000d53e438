/**
 * What the sagas of a seed wait for beside their operations, choose between, and have to themselves. It bends the chains
 * of some plans once everything else about them is drawn, from a stream of its own, so that every other seed plays as it
 * always has.
 */

import { BEGINS_AT } from './course.ts';
import { type Chance, seeded } from './chance.ts';
import type { Plan } from './plan.ts';
import { type PartPlan, type SagaShape, stepsIn, type WantedSaga, type Word } from './saga-plan.ts';

/** Chosen so that the seeds that were kept before are not bent. */
const STREAM = 0x3c_6e_f3_72;

/** The share of the seeds with sagas. */
const SHARE = 0.5;

export function wordy(plan: Plan): Plan {
  const chance = seeded(Math.imul(plan.seed, 0x9e_37_79_b1) ^ STREAM);
  if (plan.sagas.wanted.length === 0 || !chance.is(SHARE)) return plan;
  const { sagas } = plan;
  const shapes = sagas.shapes.map((shape) => (shape.written === 'chain' ? spoken(shape, chance) : shape));
  const wanted = sagas.wanted.map((one) => {
    const shape = shapes.find(({ name }) => name === one.saga);
    return shape === undefined ? one : { ...one, words: [...one.words, ...wordsFor(one, shape, chance)] };
  });
  return { ...plan, sagas: { ...sagas, shapes, wanted } };
}

/** The same with one or two of the other verbs, wherever in it. */
function spoken(shape: SagaShape, chance: Chance): SagaShape {
  const pivotAt = shape.parts.findIndex(({ name }) => name === shape.pivot);
  const places = Array.from({ length: 1 + chance.below(2) }, () => chance.below(shape.parts.length + 1));
  const parts: PartPlan[] = [];
  let said = false;
  for (let at = 0; at <= shape.parts.length; at += 1) {
    const isForward = pivotAt !== -1 && at > pivotAt;
    const count = places.filter((place) => place === at).length;
    for (let n = 0; n < count; n += 1) {
      const part = drawn(`${at}-${n}`, isForward, shape, said, chance);
      said ||= part.type === 'wait';
      parts.push(part);
    }
    const part = shape.parts[at];
    if (part !== undefined) parts.push(part);
  }
  return { ...shape, parts, isLocked: chance.is(0.2) };
}

/** One wait at most, so that it is known what a word is about. */
function drawn(suffix: string, isForward: boolean, shape: SagaShape, said: boolean, chance: Chance): PartPlan {
  const kind = chance.oneOf(said ? (['pause', 'choice'] as const) : (['wait', 'wait', 'pause', 'choice'] as const));
  if (kind === 'wait') {
    const otherwise = chance.oneOf(
      isForward ? (['escalate', 'continue'] as const) : (['compensate', 'compensate', 'continue'] as const),
    );
    return { type: 'wait', name: `wait${suffix}`, withinMs: Math.floor(chance.logBetween(500, 30_000)), otherwise };
  }
  if (kind === 'pause') {
    const ms = Math.floor(chance.logBetween(50, 20_000));
    return { type: 'pause', name: `pause${suffix}`, ms, isUntil: chance.is(0.3) };
  }
  const action = stepsIn(shape)[0]?.action ?? '';
  const onFailed = isForward ? ('continue' as const) : ('compensate' as const);
  const branches = [1, 2].map((branch) => [
    { type: 'step', name: `way${suffix}-${branch}`, action, hasInverse: !isForward, onFailed } as const,
  ]);
  return { type: 'choice', name: `choice${suffix}`, branches: chance.is(0.3) ? [...branches.slice(1), []] : branches };
}

/** Said before it is waited for, while it is, and too late; by one or by two, and at times by nobody. */
function wordsFor({ atMs }: WantedSaga, { parts }: SagaShape, chance: Chance): readonly Word[] {
  const wait = parts.find((part) => part.type === 'wait');
  if (wait === undefined || chance.is(0.15)) return [];
  return Array.from({ length: chance.is(0.2) ? 2 : 1 }, (_, at): Word => {
    const soon = chance.is(0.3) ? chance.between(0, atMs) : atMs + chance.logBetween(10, 2 * wait.withinMs);
    const keepForMs = chance.is(0.2) ? Math.floor(chance.logBetween(100, 20_000)) : 7 * 86_400_000;
    return { type: 'agreed', eventId: `word-${at + 1}`, atMs: soon, isNowOrNever: chance.is(0.1), keepForMs };
  });
}

/** When such a pause is over that ends at a point in time, by the clock of the store. */
export function endsAt(ms: number): number {
  return BEGINS_AT + ms;
}
