/** The states of a saga, spelled the same in column, log and API. The chart's own states are the author's. */

export type SagaState =
  | 'in-progress'
  /** Nothing of it is under way: a timer or an event from outside takes it on. */
  | 'waiting'
  | 'compensating'
  | 'escalated'
  | 'succeeded'
  | 'compensated'
  | 'terminated';

/** No further movement, except that a person may still have a success taken back. */
export function isSagaSettled(state: SagaState): state is 'succeeded' | 'compensated' | 'terminated' {
  return state === 'succeeded' || state === 'compensated' || state === 'terminated';
}
