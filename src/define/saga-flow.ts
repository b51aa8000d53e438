/**
 * What a saga is once it has been written: plain, frozen data, the same for both ways of writing one. It guarantees
 * that everything there is to know about its operations can be read without running anybody's code: targets, inverses
 * and names are values, and only inputs are functions. Whoever runs, draws or checks a saga reads these shapes; the
 * builder and `saga()` are the only ones who make them, so what is in them has been checked.
 */

import type { Compensation, Operation } from './operation.ts';
import type { Schema } from './schema.ts';
import type { Signal } from './signal.ts';

/**
 * Why a saga takes back what it did: the step that was refused, and with which code; or null and what else ended it.
 */
export interface SagaCause<Step extends string | null = string | null, Code extends string = string> {
  readonly step: Step;
  readonly code: Code;
}

/** Why a saga takes back what it did although no step was refused. `requested`: an operator had it taken back. */
export type SagaCode = 'cancelled' | 'timed-out' | 'requested';

/** What every saga has, whatever its types. */
export interface SagaParts<Name extends string = string> {
  readonly type: 'saga';
  readonly name: Name;
  /** A whole number from 1. */
  readonly version: number;
  /** The schema and the function as they were given. */
  readonly options: SagaFunctions;
  /** The deadline of the whole saga; null: it has none. */
  readonly withinMs: number | null;
  /** Inverses one after the other, in reverse order of completion, or all at once. */
  readonly compensation: CompensationOrder;
  /** What becomes of a saga that is under way when its chart is another than it was, in the same version. */
  readonly whenChanged: WhenChanged;
  /** The step whose success forbids compensation from then on. */
  readonly pivotStep: string | null;
  readonly flow: Chain | HandWritten;
}

/**
 * A defined saga. `Input` is what its steps get, `Submitted` what `submit` takes; they differ where the schema applies
 * defaults or transforms.
 */
export interface Saga<
  Name extends string = string,
  Input = unknown,
  Output = unknown,
  Cause = SagaCause,
  Submitted = Input,
> extends SagaParts<Name> {
  readonly '~types'?: SagaTypes<Input, Output, Cause, Submitted>;
}

/** The static types that a definition carries. Nothing of them is stored at run time. */
export interface SagaTypes<Input, Output, Cause, Submitted> {
  readonly input: Input;
  readonly output: Output;
  readonly cause: Cause;
  readonly submitted: Submitted;
}

/** What goes in has been through the schema, so that the static types may be forgotten. */
export interface SagaFunctions {
  readonly input: Schema;
  readonly key: (context: { readonly input: unknown }) => string;
  /** Null: it shares nothing that only one saga may have at a time. */
  readonly lock: ((context: { readonly input: unknown }) => readonly string[]) | null;
}

export type CompensationOrder = 'reverse' | 'parallel';

/** A person is asked, or it goes on with the new chart if it fits that exactly. */
export type WhenChanged = 'escalate' | 'adopt';

/** Steps in the order in which they are taken. */
export interface Chain {
  readonly type: 'chain';
  readonly parts: readonly Part[];
  /** Null: the output is the record of all outputs by step name. */
  readonly output: ((known: Record<string, unknown>) => unknown) | null;
}

export type Part = Step | ForEach | Sleep | WaitFor | Parallel | Choose;

export interface Step {
  readonly type: 'step';
  readonly name: string;
  /** A saga: the step is a saga of its own, which is over when that is. */
  readonly target: Operation | Saga;
  /** Gets the saga's input as `input`, and the outputs of the steps before by their names. */
  readonly input: (known: Record<string, unknown>) => unknown;
  /** The step's own, or the target's; null for the pivot and what comes after it, which is never taken back. */
  readonly compensate: StepCompensation | null;
  /** What a proven refusal leads to: `compensate` up to and including the pivot, one of the others after it. */
  readonly onFailed: 'compensate' | OnFailed;
}

/** As of an operation. `byItself`: of a saga, which takes itself back when it is told to. */
export type StepCompensation = Compensation | { readonly byItself: true };

/** One operation for each item of a list, whose length is known when the saga comes there. */
export interface ForEach extends Omit<Step, 'type'> {
  readonly type: 'forEach';
  /** Gets what a step's input gets, which in its turn gets the `item` and its `index` besides. */
  readonly items: (known: Record<string, unknown>) => unknown;
  /** How many are under way at once; null: all. */
  readonly concurrency: number | null;
  /** More items than this are not begun. */
  readonly atMost: number;
}

/** A pause between two parts. */
export interface Sleep {
  readonly type: 'sleep';
  readonly name: string;
  /** Milliseconds, or what makes them of the same as a step's input. */
  readonly pauseMs: number | ((known: Record<string, unknown>) => number);
  /** It makes the point in time at which the pause ends instead, as milliseconds since the epoch. */
  readonly isUntil: boolean;
}

/** A signal that has to come before what is next. */
export interface WaitFor {
  readonly type: 'waitFor';
  readonly name: string;
  readonly signal: Signal;
  readonly withinMs: number;
  /** What follows when it has not come by then: `compensate` up to the pivot, `escalate` after it, or going on. */
  readonly otherwise: 'compensate' | OnFailed;
}

/** What can follow from a refusal after the pivot: a person is asked, or the saga goes on without the output. */
export type OnFailed = 'escalate' | 'continue';

/** Chains that are taken at the same time. What comes after them waits for all. */
export interface Parallel {
  readonly type: 'parallel';
  readonly name: string;
  readonly branches: Readonly<Record<string, readonly Part[]>>;
}

/** Chains of which one is taken. */
export interface Choose {
  readonly type: 'choose';
  readonly name: string;
  /** Gets what a step's input gets, and says the name of a branch. */
  readonly pick: (known: Record<string, unknown>) => unknown;
  /** One that is empty has nothing to do. */
  readonly branches: Readonly<Record<string, readonly Part[]>>;
}

/** All parts, with those that stand in others. */
export function partsIn(parts: readonly Part[]): readonly Part[] {
  return parts.flatMap((part) =>
    'branches' in part ? [part, ...Object.values(part.branches).flatMap(partsIn)] : [part],
  );
}

/** An XState machine of the author's. Its type is not told here, so that the root entry needs no XState. */
export interface HandWritten {
  readonly type: 'machine';
  readonly machine: object;
  /** By the names of the machine's actor sources. */
  readonly operations: Readonly<Record<string, Operation | Saga>>;
  /** Why nothing is ever taken back, if the author says so. */
  readonly takesNothingBack: string | null;
}
