/**
 * One part of a saga from what a verb of the builder was given. It guarantees that what comes out is frozen, has a name
 * of its own, and says before the pivot how its success is taken back and after it what its refusal leads to: whatever
 * the compiler refuses is refused here too, for callers without one.
 */

import { type Duration, lastingMs, milliseconds } from '../domain/duration.ts';
import { definitionInvalid } from '../domain/errors.ts';
import type { Compensation } from './operation.ts';
import { refuseBadCompensate } from './operation-options.ts';
import { isFunction, refuseMissing, refuseOtherWords, refuseUnless, type Subject } from './option-kinds.ts';
import { refuseUnknownOptions } from './option-names.ts';
import type { Recovery } from './saga-chain.ts';
import type { Choose, ForEach, OnFailed, Parallel, Part, Sleep, Step, StepCompensation, WaitFor } from './saga-flow.ts';
import { namesIn, refuseBadPartName, refuseTakenNames } from './saga-names.ts';
import { refuseEndlessInverses } from './saga-options.ts';
import { isSignal } from './signal.ts';
import { compensationOfTarget, isTarget, refuseItselfInside, type Target, targetName } from './step-target.ts';

/** Where the parts are that a verb adds to: in which saga, and on which side of its pivot. */
export interface Place {
  readonly saga: string;
  readonly way: Recovery;
}

/** What a verb was given, in the order of its parameters. */
export type Given = readonly [name?: unknown, target?: unknown, input?: unknown, options?: unknown];

/** The same of a forEach, which takes one more. */
export type GivenForEach = readonly [
  name?: unknown,
  items?: unknown,
  operation?: unknown,
  input?: unknown,
  options?: unknown,
];

/** The parts and one more. Throws DEFINITION_INVALID when a name in it is taken, or is in it twice. */
export function withPart(place: Place, parts: readonly Part[], part: Part): readonly Part[] {
  refuseTakenNames(place.saga, namesIn(parts), namesIn([part]));
  return Object.freeze([...parts, part]);
}

export function stepOf(place: Place, given: Given): Step {
  return takenAs(place, 'step', given, []);
}

/** As a step, for each of what `items` gives. */
export function forEachOf(place: Place, [name, items, operation, input, options = {}]: GivenForEach): ForEach {
  const step = takenAs(place, 'forEach', [name, operation, input, options], ['concurrency', 'atMost']);
  const subject = begin(place, 'forEach', name);
  refuseUnless(isFunction(items), subject, 'items', 'a function that gives a list: ({ input }) => input.parcels');
  // What is no record of options has been refused with the step.
  const { concurrency, atMost = ITEMS_AT_MOST } = options as Unchecked;
  for (const [option, count] of Object.entries({ concurrency, atMost })) {
    refuseUnless(count === undefined || isCount(count), subject, option, 'a whole number from 1');
  }
  // Anything else has been refused above.
  const counts = { concurrency: (concurrency ?? null) as number | null, atMost: atMost as number };
  return Object.freeze({ ...step, type: 'forEach', items: items as ForEach['items'], ...counts });
}

const ITEMS_AT_MOST = 1_000;

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 1;
}

/** `own`: options that the verb has besides those of a step. */
function takenAs(
  place: Place,
  verb: 'step' | 'forEach',
  [name, given, input, options = {}]: Given,
  own: readonly string[],
): Step {
  const subject = begin(place, verb, name);
  const step = targeted(place, subject, given, input);
  refuseUnless(typeof options === 'object' && options !== null, subject, 'options', optionsOf[place.way]);
  // Null has been refused on the line above.
  const chosen: Unchecked = { ...(options as object) };
  refuseOptionOfOtherSide(subject, place.way, chosen);
  refuseUnknownOptions(subject.called, chosen, [place.way === 'backward' ? 'compensate' : 'onFailed', ...own]);
  if (place.way === 'backward') {
    return Object.freeze({
      ...step,
      compensate: compensationOf(subject, step.target, chosen.compensate),
      onFailed: 'compensate',
    });
  }
  const { onFailed = 'escalate' } = chosen;
  refuseOtherWords(`onFailed of ${subject.called}`, onFailed, ['escalate', 'continue']);
  // Another word has been refused on the line above.
  return Object.freeze({ ...step, compensate: null, onFailed: onFailed as OnFailed });
}

export function pivotOf(place: Place, [name, given, input, options]: Given): Step {
  const subject = begin(place, 'pivot', name);
  if (place.way === 'forward') {
    throw definitionInvalid(
      `Saga ${place.saga} has a pivot, and ${subject.called} would be a second one.`,
      'Only one step can be the one after which there is no way back: make this one a step.',
      subject.facts,
    );
  }
  const step = targeted(place, subject, given, input);
  if (options !== undefined) {
    throw definitionInvalid(
      `${subject.called} has options, and a pivot takes none.`,
      'Its success is never taken back, and its refusal takes everything back: leave them out.',
      subject.facts,
    );
  }
  return Object.freeze({ ...step, compensate: null, onFailed: 'compensate' });
}

export function sleepOf(place: Place, [name, pause]: Given): Sleep {
  const subject = begin(place, 'sleep', name);
  if (typeof pause === 'object' && pause !== null) return sleepUntil(subject, pause);
  // What is no duration is refused by its reader, at once or, of a function, when the chart comes there.
  const read = (duration: unknown) => milliseconds(duration as Duration, `the pause of ${subject.called}`);
  const pauseMs = typeof pause === 'function' ? (known: object) => read(pause(known)) : read(pause);
  return Object.freeze({ type: 'sleep', name: subject.name, pauseMs, isUntil: false });
}

function sleepUntil(subject: PartSubject, given: { readonly until?: unknown }): Sleep {
  refuseUnknownOptions(subject.called, given, ['until']);
  const { until } = given;
  const isGiven = until instanceof Date || typeof until === 'function';
  refuseUnless(isGiven, subject, 'until', 'a Date, or a function that makes one: ({ input }) => input.leavesAt');
  const read = (date: unknown) => {
    const at = date instanceof Date ? date.getTime() : Number.NaN;
    if (Number.isFinite(at)) return at;
    throw definitionInvalid(`until of ${subject.called} is no point in time.`, 'Write a valid Date.', subject.facts);
  };
  const pauseMs = typeof until === 'function' ? (known: object) => read(until(known)) : read(until);
  return Object.freeze({ type: 'sleep', name: subject.name, pauseMs, isUntil: true });
}

const otherwises: Record<Recovery, readonly WaitFor['otherwise'][]> = {
  backward: ['compensate', 'continue'],
  forward: ['escalate', 'continue'],
};

export function waitForOf(place: Place, [name, signal, options]: Given): WaitFor {
  const subject = begin(place, 'waitFor', name);
  if (!isSignal(signal)) {
    throw definitionInvalid(
      `${subject.called} names no signal.`,
      "Write what signal('approved', { payload: typed<T>() }) returned.",
      subject.facts,
    );
  }
  const wanted = `{ within: '2d', otherwise: '${otherwises[place.way][0] ?? ''}' }`;
  refuseUnless(typeof options === 'object' && options !== null, subject, 'options', wanted);
  // Null has been refused on the line above.
  const given: { readonly within?: unknown; readonly otherwise?: unknown } = { ...(options as object) };
  refuseUnknownOptions(subject.called, given, ['within', 'otherwise']);
  refuseMissing(
    subject,
    { ...given },
    {
      within: "how long it is waited for: '2d'",
      otherwise: `what follows when it does not come: ${otherwises[place.way].map((word) => `'${word}'`).join(' or ')}`,
    },
  );
  const withinMs = lastingMs(given.within as Duration, `within of ${subject.called}`);
  refuseOtherWords(`otherwise of ${subject.called}`, given.otherwise, otherwises[place.way]);
  // Another word has been refused on the line above.
  const otherwise = given.otherwise as WaitFor['otherwise'];
  return Object.freeze({ type: 'waitFor', name: subject.name, signal, withinMs, otherwise });
}

/** Opens a branch for an author's function: what that is given, and what it has made of it, null when it is another's. */
export type OpenBranch = (inside: Place) => {
  readonly branch: unknown;
  readonly partsOf: (value: unknown) => readonly Part[] | null;
};

export function parallelOf(place: Place, [name, branches]: Given, open: OpenBranch): Parallel {
  const subject = begin(place, 'parallel', name);
  const made = branchesOf(subject, branches, open({ ...place }));
  const empty = Object.entries(made).find(([, parts]) => parts.length === 0);
  if (empty !== undefined) throw branchAtFault(subject, empty[0], 'has no step');
  return Object.freeze({ type: 'parallel', name: subject.name, branches: made });
}

export function chooseOf(place: Place, [name, pick, branches]: Given, open: OpenBranch): Choose {
  const subject = begin(place, 'choose', name);
  refuseUnless(
    isFunction(pick),
    subject,
    'pick',
    "a function that says the name of a branch: ({ input }) => 'express'",
  );
  const made = branchesOf(subject, branches, open({ ...place }));
  // What is not a function has been refused above.
  return Object.freeze({ type: 'choose', name: subject.name, pick: pick as Choose['pick'], branches: made });
}

function branchesOf(
  subject: PartSubject,
  branches: unknown,
  { branch, partsOf }: ReturnType<OpenBranch>,
): Parallel['branches'] {
  const returned: unknown = typeof branches === 'function' ? branches(branch) : null;
  const made = typeof returned === 'object' && returned !== null ? Object.entries(returned) : [];
  if (made.length === 0) throw definitionInvalid(`${subject.called} has no branches.`, branchesRemedy, subject.facts);
  const entries = made.map(([key, value]) => {
    refuseBadPartName(`a branch of ${subject.called}`, key);
    const parts = partsOf(value);
    if (parts === null) throw branchAtFault(subject, key, 'is not made from the branch it was given');
    return [key, parts] as const;
  });
  return Object.freeze(Object.fromEntries(entries));
}

function branchAtFault({ called, facts }: PartSubject, branch: string, what: string) {
  return definitionInvalid(`Branch ${branch} of ${called} ${what}.`, branchesRemedy, { ...facts, branch });
}

const branchesRemedy = "Write (branch) => ({ money: branch.step('payment', ...), goods: branch.step('stock', ...) }).";

const optionsOf: Record<Recovery, string> = {
  backward: "{ compensate: { operation, input } } or { compensate: { none: 'reason' } }",
  forward: "{ onFailed: 'escalate' } or { onFailed: 'continue' }",
};

interface Unchecked {
  readonly concurrency?: unknown;
  readonly atMost?: unknown;
  readonly compensate?: unknown;
  readonly onFailed?: unknown;
}

type PartSubject = Subject & { readonly name: string };

function begin({ saga }: Place, verb: string, name: unknown): PartSubject {
  refuseBadPartName(`a ${verb} of saga ${saga}`, name);
  return { name, called: `${verb} ${name} of saga ${saga}`, facts: { saga, [verb]: name } };
}

function targeted({ saga }: Place, subject: PartSubject, target: unknown, input: unknown) {
  if (!isTarget(target)) {
    throw definitionInvalid(
      `${subject.called} has no operation or saga as its target.`,
      'Write what operation(...) or saga(...) returned, not a function or a call of it.',
      subject.facts,
    );
  }
  refuseUnless(
    targetName(target) !== 'compensate',
    subject,
    'action',
    "another one: a saga's chart has its own compensate",
  );
  refuseItselfInside(subject, saga, [target]);
  refuseUnless(isFunction(input), subject, 'input', 'a function of what is known by then: ({ input }) => ({ ... })');
  // What is not a function has been refused on the line above.
  return { type: 'step', name: subject.name, target, input: input as Step['input'] } as const;
}

/** An option that is right on the other side of the pivot deserves more than being unknown. */
function refuseOptionOfOtherSide(subject: PartSubject, way: Recovery, given: Unchecked): void {
  if (way === 'forward' && given.compensate !== undefined) {
    throw definitionInvalid(
      `${subject.called} comes after the pivot and says how it is taken back.`,
      'Nothing is taken back after the pivot: leave compensate out, or move the step before it.',
      { ...subject.facts, option: 'compensate' },
    );
  }
  if (way === 'backward' && given.onFailed !== undefined) {
    throw definitionInvalid(
      `${subject.called} says onFailed, and no pivot comes before it.`,
      'Up to the pivot a refusal takes everything back: leave onFailed out, or move the step after pivot(...).',
      { ...subject.facts, option: 'onFailed' },
    );
  }
}

function compensationOf(subject: PartSubject, target: Target, own: unknown): StepCompensation {
  refuseBadCompensate(subject, own);
  // Anything else has been refused on the line above.
  const compensate = own === undefined ? compensationOfTarget(target) : Object.freeze({ ...(own as Compensation) });
  if (compensate === null) throw withoutWayBack(subject, target);
  if (!('byItself' in compensate)) refuseEndlessInverses(subject, targetName(target), compensate);
  return compensate;
}

function withoutWayBack(subject: PartSubject, target: Target) {
  const way = "compensate ({ operation, input } or { none: 'reason' })";
  if (target.type === 'operation') {
    return definitionInvalid(
      `${subject.called} does not say how its success is taken back.`,
      `Add ${way} to ${target.action} or to the step, or move it after the pivot.`,
      { ...subject.facts, option: 'compensate' },
    );
  }
  return definitionInvalid(
    `${subject.called} is saga ${target.name}, which cannot take itself back once its pivot ${target.pivotStep} has succeeded.`,
    `Add ${way} to the step, make it the pivot, or move it after that.`,
    { ...subject.facts, option: 'compensate' },
  );
}
