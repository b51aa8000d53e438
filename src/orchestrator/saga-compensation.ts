/**
 * What is to be taken back next: pure questions to the ledger. The chart says that a saga is to be taken back, never
 * what: that is whatever has succeeded and has an inverse, the last to settle first, and nothing while it is open how
 * another one ended.
 */

import { isSettled, type OperationState } from '../domain/operation-state.ts';
import type { StepCompensation } from '../define/saga-flow.ts';
import type { Member } from './aggregate.ts';
import type { Course, Entry } from './saga-course.ts';

/**
 * An operation of its own in the ledger, or a saga that is its step, with where it stands. One that another has is joined,
 * and none of these.
 */
export interface Standing {
  readonly entry: Entry;
  readonly state: OperationState;
  /** Null: it is a saga. */
  readonly member: Pick<Member, 'row' | 'definition'> | null;
  readonly compensate: StepCompensation | null;
}

/** Not settled, and not being taken back: how it ends is open. */
export function isOpen({ entry, state }: Pick<Standing, 'entry' | 'state'>): boolean {
  return entry.undoes === null && !isSettled(state) && !isBeingCompensated({ entry, state });
}

/** Its inverse is under way, or was refused. */
function isBeingCompensated({ entry, state }: Pick<Standing, 'entry' | 'state'>): boolean {
  return entry.undoes === null && (state === 'compensating' || (state === 'escalated' && entry.compensationBegun));
}

/** Has succeeded, has an inverse, and was never begun to be taken back; the last to settle first. */
function owed(ledger: readonly Standing[]): readonly Standing[] {
  return ledger
    .filter(({ entry, state, compensate }) => {
      const hasInverse = compensate !== null && !('none' in compensate);
      return entry.undoes === null && !entry.compensationBegun && hasInverse && state === 'succeeded';
    })
    .toSorted((a, b) => (b.entry.settledAs ?? 0) - (a.entry.settledAs ?? 0));
}

/** What is to be taken back now. */
export function compensatedNext(
  { compensation, isTerminated }: Pick<Course, 'compensation' | 'isTerminated'>,
  ledger: readonly Standing[],
  order: 'reverse' | 'parallel',
): readonly Standing[] {
  if (isTerminated) return [];
  // Nobody waits for what the chart has left; that it succeeded helps nobody.
  if (compensation === null) return owed(ledger).filter(({ entry }) => entry.isLeft);
  if (ledger.some(isOpen) && !compensation.isPartial) return [];
  if (order === 'parallel') return owed(ledger);
  return ledger.some(isBeingCompensated) ? [] : owed(ledger).slice(0, 1);
}

/** Everything that could be taken back has been, or a person has said that it stands. */
export function isCompensated(ledger: readonly Standing[]): boolean {
  return !ledger.some(isOpen) && !ledger.some(isBeingCompensated) && owed(ledger).length === 0;
}
