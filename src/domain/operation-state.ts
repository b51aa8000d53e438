/** The states of an operation, spelled the same in chart, column, log and API, and the closed list of reasons. */

export type OperationState =
  | 'pending'
  | 'in-progress'
  | 'succeeded'
  | 'failed'
  | 'unknown'
  | 'reconciling'
  | 'escalated'
  | 'compensating'
  | 'compensated';

/** Why an operation waits for a person. */
export type EscalationReason =
  | 'no-lookup'
  | 'absent-not-final'
  | 'window-passed'
  | 'lookup-exhausted'
  | 'two-effects'
  | 'output-unusable'
  | 'could-not-send'
  | 'inverse-failed'
  /** A step after the pivot was refused, and nothing is taken back any more. */
  | 'step-failed'
  /** It is to be taken back, and a saga that has joined it is still open. */
  | 'joined'
  | 'timeline-changed'
  | 'definition-fault'
  /** Its chart is another one than it had when it was stored, in the same version. */
  | 'definition-changed'
  /** A list of a saga is longer than its author allows, or something else of it is more than `limits` says. */
  | 'limit';

/** Codes of `failed` that the library itself gives, beside those the executor returns. */
export type LibraryCode = 'attempts-exhausted' | 'cancelled';

/**
 * Codes of a step that the library itself gives. Of the operation of another that it would join, `taken-back`: its owner
 * has taken it back; `given-up`: it was cancelled there before it had any effect, and nobody has cancelled this saga.
 */
export type StepCode = LibraryCode | 'taken-back' | 'given-up';

/** No further movement by itself. `escalated` is not settled: it waits for a person. */
export function isSettled(state: OperationState): state is 'succeeded' | 'failed' | 'compensated' {
  return state === 'succeeded' || state === 'failed' || state === 'compensated';
}

/** An operation whose effect is neither proven nor disproven. */
export function isDoubt(state: OperationState): boolean {
  return state === 'unknown' || state === 'reconciling' || state === 'escalated';
}
