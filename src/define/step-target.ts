/**
 * What a step can be: an operation, or a saga of its own. It guarantees that every saga in a step comes to an end, since
 * none has itself inside, and that what may have to be taken back can be: a saga takes itself back as long as there is a
 * way back in it, and where its pivot ends that, the step says what takes it back instead.
 */

import { definitionInvalid } from '../domain/errors.ts';
import type { Operation } from './operation.ts';
import { hasType, type Subject } from './option-kinds.ts';
import { partsIn, type Saga, type StepCompensation } from './saga-flow.ts';

export type Target = Operation | Saga;

export function isTarget(value: unknown): value is Target {
  return hasType(value, 'operation') || hasType(value, 'saga');
}

/** The action of an operation, or the name of a saga. */
export function targetName(target: Target): string {
  return target.type === 'saga' ? target.name : target.action;
}

/** How a success is taken back, as far as the target says so itself; null: it does not. */
export function compensationOfTarget(target: Target): StepCompensation | null {
  if (target.type === 'operation') return target.compensate;
  return target.pivotStep === null ? byItself : null;
}

const byItself = Object.freeze({ byItself: true });

/** Throws DEFINITION_INVALID when a target of this saga has a saga of its name inside. `targets`: its own. */
export function refuseItselfInside(subject: Subject, name: string, targets: readonly Target[]): void {
  const way = wayTo(name, targets);
  if (way === null) return;
  throw definitionInvalid(
    `Saga ${name} would have itself inside, without end: ${[name, ...way].join(' -> ')}.`,
    'Take a saga that is no part of that circle, or an operation.',
    { ...subject.facts, sagas: [name, ...way] },
  );
}

function wayTo(name: string, targets: readonly Target[]): readonly string[] | null {
  for (const target of targets) {
    if (target.type === 'operation') continue;
    if (target.name === name) return [name];
    const rest = wayTo(name, targetsIn(target));
    if (rest !== null) return [target.name, ...rest];
  }
  return null;
}

/** What the steps of a saga are. */
function targetsIn({ flow }: Saga): readonly Target[] {
  if (flow.type === 'machine') return Object.values(flow.operations);
  return partsIn(flow.parts).flatMap((part) => ('target' in part ? part.target : []));
}
