/**
 * How a saga's chart is told that one of its operations has failed for certain. It is plain data and no `Error`,
 * because it is part of a turn and a turn must be equal when it is computed again; what is unknown never becomes one.
 */

export interface OperationFailed {
  readonly name: 'OperationFailed';
  /** What was refused. */
  readonly action: string;
  /** The step it was refused to. */
  readonly step: string;
  /** The provider's refusal in the words of the definition, or a code of the library. */
  readonly code: string;
  readonly message: string;
}

/** What `onError` receives when an operation of a saga has failed. `message`: default, that it has and with which code. */
export function operationFailed(facts: {
  step: string;
  action: string;
  code: string;
  message?: string;
}): OperationFailed {
  const { step, action, code } = facts;
  const { message = `Operation ${action} of step ${step} failed with ${JSON.stringify(code)}.` } = facts;
  return Object.freeze({ name: 'OperationFailed', action, step, code, message });
}
