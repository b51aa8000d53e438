/**
 * What can be said about an operation by who does not own it, as it is stored in a hand-over. Only the owner's turn
 * applies it. Bodies are read back defensively: a hand-over that nobody can read is recorded as refused, not lost.
 */

import type { AttemptResult } from '../domain/attempt.ts';
import { decode, encode } from '../domain/codec.ts';
import type { Json } from '../domain/json.ts';
import type { Settling } from '../domain/outcome.ts';
import type { OperationRow } from '../ports/store.ts';
import type { LookupAnswer } from '../../machines/operation.ts';

/** A result that came after its attempt had been given up, from the worker that made it. */
export interface Evidence {
  readonly kind: 'evidence';
  readonly source: 'late-result';
  readonly attempt: number;
  /** Where the start of that attempt was recorded, if it is known: after a fail-over the number may mean another one. */
  readonly timeline?: string;
  readonly outcome: AttemptResult;
}

/** A person's decision, bound to the history it was made on. */
export interface Verdict {
  readonly kind: 'verdict';
  readonly outcome: Settling | { readonly type: 'not-applied'; readonly reason: string } | { readonly type: 'look-up' };
  readonly by: string;
  readonly evidence: string;
  /** See {@link seenOf}. */
  readonly seen: string;
}

export interface Cancellation {
  readonly kind: 'cancel';
  readonly by: string;
  readonly reason: string;
}

/** What its provider says of an operation that settled before a fail-over. */
export interface Verified extends LookupAnswer {
  readonly kind: 'verification';
  /** The timeline that began with the fail-over, and when. */
  readonly timeline: string;
  readonly changedAt: number;
}

/** Said of an operation. */
export type SaidOfOperation =
  | Evidence
  | Verdict
  | Cancellation
  | Verified
  | CompensationVerdict
  | JoinRequest
  | CompensationOfOperation;

/** A step of another saga is the same effect. */
export interface JoinRequest {
  readonly kind: 'join';
  /** The id of that saga. */
  readonly saga: string;
}

/** A person's decision about an effect whose inverse was refused. */
export interface CompensationVerdict extends Omit<Verdict, 'kind' | 'outcome'> {
  readonly kind: 'compensation-verdict';
  /** They took it back by hand, or it stands. */
  readonly effect: 'taken-back' | 'left-standing';
}

/** A saga is to end as it stands: nothing more is sent, be it a step or an inverse. */
export interface Termination extends Omit<Cancellation, 'kind'> {
  readonly kind: 'terminate';
}

/** An operation that stands alone is to be taken back, at a person's word. */
export interface CompensationOfOperation extends Omit<CompensationRequest, 'kind'> {
  readonly kind: 'compensate-operation';
  /** Of the sagas that have joined it, those that had settled by then; they do not open again. */
  readonly settledJoiners: readonly string[];
}

/** What has succeeded is to be taken back, at a person's word. */
export interface CompensationRequest extends Omit<Cancellation, 'kind'> {
  readonly kind: 'compensate';
}

/** An event from outside for the chart of a saga, as it is kept beside the hand-over. */
export interface SignalGiven {
  readonly kind: 'signal';
  readonly name: string;
  /** Who sends it twice says the same here. */
  readonly eventId: string;
  readonly event: { readonly type: string };
  /** It was sent by its definition, and its payload has been through the schema of that. */
  readonly isDefined: boolean;
  /** Refused when the chart does not take it where it stands. */
  readonly isNowOrNever: boolean;
  /** By the store's clock, which sets it: see `Store.signal`. */
  readonly expiresAt: number;
}

/** A person's decision about a step that was refused after the pivot, or a signal that did not come there. */
export interface StepVerdict {
  readonly kind: 'step-verdict';
  readonly outcome: { readonly type: string };
  readonly by: string;
  readonly evidence: string;
  readonly step?: string;
}

/**
 * What it has joined has settled or has agreed to that, or a saga that has joined its own or is its step: it is worth a
 * look.
 */
export interface LookRequest {
  readonly kind: 'look';
  /** Whose turn has said so. */
  readonly at: string;
}

/** By whom it is said to a saga that is a step: the number tells which word of that saga it is. */
export interface WordOfParent {
  readonly id: string;
  readonly word: number;
}

/** Said of a saga. `ofParent`: by the saga whose step it is. */
export type SaidOfSaga =
  | ((Cancellation | Termination | CompensationRequest) & { readonly ofParent?: WordOfParent })
  | SignalGiven
  | StepVerdict
  | LookRequest;

/** `operation`: of a saga, the operation that it is about. */
export type HandedOver = (SaidOfOperation & { readonly operation?: string }) | SaidOfSaga;

/**
 * What names the history that a row stands for. The revision alone does not: after a fail-over that loses commits it
 * comes a second time, and the turn that wrote the row is another one then.
 */
export function seenOf({ revision, turn }: Pick<OperationRow, 'revision' | 'turn'>): string {
  return `${revision}.${turn}`;
}

export function toBody(said: HandedOver): Json {
  return encode(said, { onUnsupported: 'mark' });
}

export function fromBody(body: Json): HandedOver {
  // Written by `toBody` of this or an earlier version; the kind is checked where it is applied.
  return decode(body) as HandedOver;
}
