/**
 * What `saga()` refuses although it runs nothing: definitions from callers without a compiler, and mistakes no compiler
 * sees. Whatever would only show in the middle of a saga, when something has been done that nobody can take back, is
 * refused here with everything that is wrong in its way, and what to write instead.
 */

import { type Duration, lastingMs } from '../domain/duration.ts';
import { definitionInvalid } from '../domain/errors.ts';
import { refuseBadName } from './definition-name.ts';
import { isMachine, sourcesByStep } from './machine-steps.ts';
import type { Operation } from './operation.ts';
import { isFunction, refuseMissing, refuseOtherWords, refuseUnless, type Subject } from './option-kinds.ts';
import { didYouMean, nearest, refuseUnknownOptions } from './option-names.ts';
import type { CompensationOrder, HandWritten, WhenChanged } from './saga-flow.ts';
import { isSchema } from './schema.ts';
import { compensationOfTarget, isTarget, refuseItselfInside, type Target, targetName } from './step-target.ts';

const required = {
  input: 'a Standard Schema, or typed<T>()',
  key: 'the business identity, a function of { input }',
};
const requiredByHand = {
  ...required,
  machine: 'an XState machine',
  operations: 'the operations and sagas by the names of its actor sources, as given to actorsFrom()',
};
const optional = ['version', 'within', 'compensation', 'lock', 'whenChanged'];
const optionalByHand = [...optional, 'pivot', 'takesNothingBack'];

/** Throws DEFINITION_INVALID unless `name` can be a name in the database. */
export function refuseBadSagaName(name: unknown): asserts name is string {
  refuseBadName('The name of a saga', name, "Give it a stable name such as 'fulfilment'; it is part of every key.");
}

/** True when the options are those of a hand-written machine. Throws DEFINITION_INVALID when there are none. */
export function isByHand(name: string, options: unknown): boolean {
  if (typeof options !== 'object' || options === null) {
    throw definitionInvalid(`Saga ${name} has no options.`, `Write saga('${name}', { input, key }).`, { saga: name });
  }
  return 'machine' in options || 'operations' in options;
}

/** What both ways of writing a saga may leave out. */
export interface ChosenOptions {
  readonly version?: number;
  readonly within?: Duration;
  readonly compensation?: CompensationOrder;
  readonly whenChanged?: WhenChanged;
}

/** Those options with their defaults. Throws DEFINITION_INVALID unless all are there and of their kind. */
export function commonOf(name: string, options: ChosenOptions, byHand: boolean) {
  const needed = byHand ? requiredByHand : required;
  const subject = subjectOf(name);
  refuseUnknownOptions(subject.called, options, [...Object.keys(needed), ...(byHand ? optionalByHand : optional)]);
  const given: Unchecked = { ...options };
  refuseMissing(subject, given, needed);
  refuseUnless(isSchema(given.input), subject, 'input', required.input);
  refuseUnless(isFunction(given.key), subject, 'key', 'a function of { input }');

  const isLock = given.lock === undefined || isFunction(given.lock);
  refuseUnless(isLock, subject, 'lock', 'a function of { input } that gives names: ({ input }) => [input.orderId]');
  const { version = 1, within, compensation = 'reverse', whenChanged = 'escalate' } = options;
  if (!Number.isSafeInteger(version) || version < 1) {
    throw definitionInvalid(
      `version of ${subject.called} is ${typeof version === 'number' ? version : `a value of type ${typeof version}`}.`,
      'Write a whole number from 1, and raise it when the steps change.',
      { saga: name, option: 'version' },
    );
  }
  refuseOtherWords(`compensation of ${subject.called}`, compensation, ['reverse', 'parallel']);
  refuseOtherWords(`whenChanged of ${subject.called}`, whenChanged, ['escalate', 'adopt']);
  const withinMs = within === undefined ? null : lastingMs(within, `within of ${subject.called}`);
  return { version, withinMs, compensation, whenChanged };
}

/** A machine of the author's and what it works with. Throws DEFINITION_INVALID unless they can belong together. */
export function handWrittenOf(name: string, given: Unchecked): HandWritten & { readonly pivotStep: string | null } {
  const subject = subjectOf(name);
  const { machine, operations, pivot = null, takesNothingBack = null } = given;
  if (!isMachine(machine)) {
    throw definitionInvalid(
      `machine of ${subject.called} is not an XState machine.`,
      'Write what setup({ actors: actorsFrom(operations) }).createMachine({ ... }) returned.',
      { saga: name, option: 'machine' },
    );
  }
  refuseBadOperations(subject, operations);
  refuseItselfInside(subject, name, Object.values(operations));
  const steps = sourcesByStep(machine);
  if (pivot !== null) refuseUnknownPivot(subject, pivot, [...steps.keys()]);
  const isReason = typeof takesNothingBack === 'string' && takesNothingBack.trim() !== '';
  refuseUnless(takesNothingBack === null || isReason, subject, 'takesNothingBack', "the reason: 'it only asks'");
  if (!isReason) refuseUncompensated(subject, operations, typeof pivot === 'string' ? steps.get(pivot) : undefined);
  // Not a string has been refused on the lines above.
  const said = { pivotStep: pivot as string | null, takesNothingBack: takesNothingBack as string | null };
  return { type: 'machine', machine, operations: Object.freeze({ ...operations }), ...said };
}

/** Throws DEFINITION_INVALID when the inverses of an operation, followed from one to the next, come back to it. */
export function refuseEndlessInverses(subject: Subject, first: string, inverse: Operation['compensate']): void {
  const actions = [first];
  for (let next = inverse; next !== null && 'operation' in next; next = next.operation.compensate) {
    const { action } = next.operation;
    const isEndless = actions.includes(action);
    actions.push(action);
    if (!isEndless) continue;
    throw definitionInvalid(
      `${first} of ${subject.called} is taken back without end: ${actions.join(' -> ')}.`,
      'Take it back by an operation that is no part of that circle, and leave compensate away from inverses.',
      { ...subject.facts, actions },
    );
  }
}

interface Unchecked {
  readonly [option: string]: unknown;
  readonly input?: unknown;
  readonly key?: unknown;
  readonly lock?: unknown;
  readonly machine?: unknown;
  readonly operations?: unknown;
  readonly pivot?: unknown;
  readonly takesNothingBack?: unknown;
}

function subjectOf(name: string): Subject {
  return { called: `saga ${name}`, facts: { saga: name } };
}

function refuseBadOperations(
  subject: Subject,
  operations: unknown,
): asserts operations is Readonly<Record<string, Target>> {
  const isRecord = typeof operations === 'object' && operations !== null && Object.keys(operations).length > 0;
  refuseUnless(isRecord, subject, 'operations', requiredByHand.operations);
  for (const [source, target] of Object.entries(operations ?? {})) {
    const place: Subject = { called: `operations of ${subject.called}`, facts: subject.facts };
    refuseUnless(isTarget(target), place, source, 'what operation(...) or saga(...) returned');
    if (source === 'compensate' || targetName(target) === 'compensate') {
      throw definitionInvalid(
        `operations of ${subject.called} names one compensate, which is the actor that takes everything back.`,
        'Give the operation a name of its own; actorsFrom() adds compensate.',
        { ...subject.facts, option: 'operations' },
      );
    }
    if (target.type === 'operation') refuseEndlessInverses(subject, target.action, target.compensate);
  }
}

function refuseUnknownPivot(subject: Subject, pivot: unknown, steps: readonly string[]): void {
  if (typeof pivot === 'string' && steps.includes(pivot)) return;
  const near = typeof pivot === 'string' ? didYouMean(nearest(pivot, steps)) : '.';
  throw definitionInvalid(
    `pivot of ${subject.called} is none of its steps${near}`,
    `The steps are ${steps.join(', ')}: the ids of its invocations, or their sources where they have none.`,
    { ...subject.facts, option: 'pivot' },
  );
}

function refuseUncompensated(subject: Subject, operations: Readonly<Record<string, Target>>, pivot: unknown): void {
  const silent = Object.entries(operations)
    .filter(([source, target]) => source !== pivot && compensationOfTarget(target) === null)
    .map(([source]) => source);
  if (silent.length === 0) return;
  const isOneSaga = silent.some((source) => operations[source]?.type === 'saga');
  throw definitionInvalid(
    `${silent.join(' and ')} of ${subject.called} ${silent.length === 1 ? 'does' : 'do'} not say how a success is taken back.`,
    `${isOneSaga ? 'A saga with a pivot can only be the pivot. ' : ''}Add compensate to the operation ({ operation, input } or { none: 'reason' }), make it the pivot, or write takesNothingBack: 'reason'.`,
    { ...subject.facts, operations: silent },
  );
}
