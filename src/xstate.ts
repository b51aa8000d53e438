/** The library's charts as XState machines, for the inspector and for drawing. */

export type { AttemptResult } from './domain/attempt.ts';
export type { Policy } from './domain/policy.ts';
export {
  type LookupAnswer,
  type OperationContext,
  type OperationEvent,
  type OperationInput,
  operationMachine,
} from '../machines/operation.ts';
