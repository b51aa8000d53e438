/**
 * What `run.result()` answers about an operation: its ending, or where it stands when the time to wait is over. An
 * answer is always given; that nobody knows yet is an answer too and never an exception.
 */

import type { EscalationReason, LibraryCode, OperationState } from '../domain/operation-state.ts';
import type { Carrier } from './operation.ts';

/**
 * Discriminated by `status`. `in-progress` covers everything that still moves by itself, the search for a lost reply
 * included: `state` tells which. `escalated` waits for a person.
 */
export type Result<Output = unknown, Code extends string = string> =
  | { readonly status: 'succeeded'; readonly output: Output; readonly reference?: string }
  | { readonly status: 'failed'; readonly code: Code | LibraryCode }
  | { readonly status: 'escalated'; readonly reason: EscalationReason }
  | { readonly status: 'in-progress'; readonly state: OperationState }
  | { readonly status: 'compensating' }
  | { readonly status: 'compensated' };

/** An operation or a saga, as the carrier of its types. */
interface Defined {
  readonly '~types'?: { readonly input: unknown; readonly output: unknown; readonly submitted: unknown };
}

/** What an operation or a saga accepts in `submit`, before its schema has applied defaults and transforms. */
export type SubmittedOf<Definition extends Defined> = NonNullable<Definition['~types']>['submitted'];

/** What `key` and `execute` or the steps get and what is stored: the output of the input schema. */
export type InputOf<Definition extends Defined> = NonNullable<Definition['~types']>['input'];

/** The output of a success: of an operation after the output schema if there is one, of a saga as `.output()` makes it. */
export type OutputOf<Definition extends Defined> = NonNullable<Definition['~types']>['output'];

/** The codes of `failed(...)` that the definition itself gives. */
export type CodeOf<Definition extends Carrier> = NonNullable<Definition['~types']>['code'];
