/**
 * What `run.result()` answers about a saga: its ending, or where it stands when the time to wait is over. An answer is
 * always given, and that it is not over yet is one.
 */

import type { EscalationReason } from '../domain/operation-state.ts';
import type { SagaCause } from './saga-flow.ts';

/**
 * Discriminated by `status`. `waiting`: nothing of it is under way, it goes on with a timer or an event. `escalated`: a
 * person is asked, about `cause` when it was already taking back. `compensated`: all that was done has been taken back,
 * also when that was nothing. `terminated`: a person ended it as it was.
 */
export type SagaResult<Output = unknown, Cause = SagaCause> =
  | { readonly status: 'succeeded'; readonly output: Output }
  | { readonly status: 'compensated'; readonly cause: Cause }
  | { readonly status: 'terminated' }
  | { readonly status: 'escalated'; readonly reason: EscalationReason; readonly cause: Cause | null }
  | { readonly status: 'compensating'; readonly cause: Cause }
  | { readonly status: 'in-progress' }
  | { readonly status: 'waiting' };
