/** The library's charts as XState machines, and what hand-written ones are made with. */

import './ports/copies.ts';

export type { AttemptResult } from './domain/attempt.ts';
export type { Policy } from './domain/policy.ts';
export { actorsFrom, type ActorsOf, type Refusal, refusalOf, type TakenBack } from '../machines/actors.ts';
export {
  type LookupAnswer,
  type OperationContext,
  type OperationEvent,
  type OperationInput,
  operationMachine,
} from '../machines/operation.ts';
export { sagaMachine as machineOf } from '../machines/saga.ts';
