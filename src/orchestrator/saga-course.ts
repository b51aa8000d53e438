/**
 * How far a saga has come: its chart, and the ledger of its operations as references. What an operation was given and
 * what came of it stands in the operation's own row; here it is taken in when a row is read and left out when it is
 * written, so that nothing is kept twice and nothing can disagree.
 */

import { decode } from '../domain/codec.ts';
import type { Json } from '../domain/json.ts';
import { type EscalationReason, isSettled } from '../domain/operation-state.ts';
import type { SagaState } from '../domain/saga-state.ts';
import type { SagaContext } from '../../machines/saga.ts';
import type { KernelEvent, KernelRow } from '../kernel/row.ts';
import type { SagaRow } from '../ports/store.ts';
import type { Member } from './aggregate.ts';
import { contextOf, outputOf, stateOf } from './row.ts';
import type { RunnableSaga } from './runnable.ts';
import { snapshotOf, type StoredSaga } from './snapshot.ts';

/** An operation of the saga in its ledger, or a saga that is its step. */
export interface Entry {
  /** Of the operation, or of that saga. */
  readonly id: string;
  readonly step: string;
  /** What of the chart waits for it; null: it is an inverse. */
  readonly actor: { readonly id: string; readonly generation: number } | null;
  /** The operation that it takes back; null: it takes nothing back. */
  readonly undoes: string | null;
  /** The chart has left the state that waited for it. */
  readonly isLeft: boolean;
  /** The chart has been told how it ended. */
  readonly isTold: boolean;
  /** Its compensation has begun. */
  readonly compensationBegun: boolean;
  /** Identifies the parameters of one that may be shared, for whoever has it already; null: it may not. */
  readonly shared: { readonly fingerprint: string } | null;
  /** How the operation of another ended that it has joined; null: it is its own, or that is not known yet. */
  readonly endOfJoined: 'succeeded' | 'failed' | null;
  /** It was begun in an earlier version: where the chart comes to its step, it is not begun again. */
  readonly isCarried: boolean;
  /** Its place in the order in which operations settled; null: it has not. */
  readonly settledAs: number | null;
  /** The saga that the step is; null: it is an operation. */
  readonly child: Child | null;
}

export type ChildEntry = Entry & { readonly child: Child };

/** A saga that is a step, as its parent knows it: what it is begun with, and what was last seen of it. */
export interface Child {
  readonly name: string;
  readonly key: string;
  /** Through its schema, encoded: it is begun once this is written. */
  readonly input: Json;
  /** Null: nobody has seen it, and it may not be there yet. */
  readonly state: SagaState | null;
  readonly reason: EscalationReason | null;
  /** For what it was taken back. */
  readonly code: string | null;
  /** As in its row, once it has succeeded. */
  readonly output: Json | null;
  /** The last thing that its parent had to say to it. */
  readonly word: ParentWord | null;
  /** How the operation ended that takes it back, where it does not itself; null: none was begun. */
  readonly inverse: 'under-way' | 'succeeded' | 'refused' | null;
  /** Its place in the order in which things were taken back; null: it was not, or by an operation. */
  readonly takenBackAs: number | null;
}

export interface ParentWord {
  readonly kind: 'cancel' | 'terminate' | 'compensate';
  /** Counts from 1; a later word takes the place of those before it. */
  readonly n: number;
  readonly isHeard: boolean;
}

/** The saga whose step this one is. */
export interface Parent {
  readonly id: string;
  readonly step: string;
  /** The number of its last word that was heeded. */
  readonly heard: number;
}

/** Why a saga is taken back. */
export interface CompensationCause {
  readonly step: string | null;
  readonly code: string;
}

export interface Compensating {
  readonly cause: CompensationCause;
  /** What of the chart waits for its end; null: the chart stands still, and the saga ends with it. */
  readonly actor: { readonly id: string; readonly generation: number } | null;
  /** A person had what is proven taken back while it was open how something else has ended. */
  readonly isPartial: boolean;
  readonly isDone: boolean;
}

/** An event from outside. */
export interface KeptSignal {
  readonly name: string;
  readonly eventId: string;
  readonly event: KernelEvent;
  /** Milliseconds since the epoch by the store's clock; it is not given to the chart from then on. */
  readonly expiresAt: number;
}

/** The chart's own code made its turn impossible. */
export interface Fault {
  readonly message: string;
  /** How often in a row. */
  readonly times: number;
  /** The timer of the chart that could not fire; null: it was something else. */
  readonly timer: string | null;
  /** `limit`: there is more to do than its author allows. */
  readonly reason: 'definition-fault' | 'limit';
}

export interface Course {
  readonly chart: KernelRow;
  readonly entries: readonly Entry[];
  readonly compensation: Compensating | null;
  /** Asked for while it was open whether the pivot succeeds. */
  readonly asked: 'cancelled' | 'timed-out' | null;
  /** It ends as it stands. */
  readonly isTerminated: boolean;
  /** The chart is not moved any more. */
  readonly isFrozen: boolean;
  readonly fault: Fault | null;
  /** Sagas that have joined what is to be taken back next, and are not settled. */
  readonly heldBy: readonly string[];
  /** How often the chart has moved. */
  readonly moves: number;
  /** Events from outside that the chart does not take yet, in the order in which they came. */
  readonly kept: readonly KeptSignal[];
  /** Null: it was submitted by itself. */
  readonly parent: Parent | null;
}

/** Of a saga whose chart has only begun. */
export const unbegun: Omit<Course, 'chart'> = {
  entries: [],
  compensation: null,
  asked: null,
  isTerminated: false,
  isFrozen: false,
  fault: null,
  moves: 0,
  kept: [],
  heldBy: [],
  parent: null,
};

/**
 * The steps that wait for an operation that is not the saga's own: neither told nor left. `isOwn`: by the operation's id.
 */
export function joining({ entries }: Course, isOwn: (id: string) => boolean): readonly Entry[] {
  return entries.filter(({ id, isTold, isLeft, child }) => child === null && !isTold && !isLeft && !isOwn(id));
}

/** What a saga that is a step has succeeded with. */
export function outputOfChild({ output }: Child): unknown {
  // Wrapped, as in its row.
  return output === null ? undefined : decode((output as { readonly value: Json }).value);
}

/** The context of a chart that the builder made. */
export interface ChainContext {
  readonly input: unknown;
  readonly outputs: Readonly<Record<string, unknown>>;
  readonly items: SagaContext['items'];
}

/** Of a stored saga. Throws SCHEMA_OUTDATED for one in a format that this version does not read. */
export function courseOf(row: StoredSaga): Course {
  // Written by `toStoredCourse`.
  return snapshotOf(row) as Course;
}

/** As {@link courseOf}, with what its operations know. */
export function fromStoredCourse(row: SagaRow, saga: RunnableSaga, members: ReadonlyMap<string, Member>): Course {
  const course = courseOf(row);
  if (!saga.isChain) return course;
  const { outputs, items } = course.chart.context as Pick<ChainContext, 'outputs' | 'items'>;
  const known = { ...outputs, ...outputsIn(course, members) };
  return { ...course, chart: { ...course.chart, context: { input: decode(row.input), outputs: known, items } } };
}

/** The outputs by step of what the chart has been told that it succeeded. */
export function outputsIn(
  { entries }: Course,
  members: ReadonlyMap<string, Member>,
): Readonly<Record<string, unknown>> {
  const told = entries.flatMap(({ id, step, isTold, undoes, child }) => {
    const member = members.get(id);
    if (isTold && child !== null && child.output !== null) return [[step, outputOfChild(child)] as const];
    if (!isTold || undoes !== null || member === undefined) return [];
    const { result } = contextOf(member.row).history;
    const hasSucceeded = isSettled(stateOf(member.row)) ? stateOf(member.row) !== 'failed' : result !== null;
    return hasSucceeded ? [[step, outputOf(member)] as const] : [];
  });
  return Object.fromEntries(told);
}
