/**
 * What is to be taken back next: pure questions to the ledger. The chart says that a saga is to be taken back, never
 * what: that is whatever has succeeded and has an inverse, the last to settle first, and nothing while it is open how
 * another one ended.
 */

import { isSettled } from '../domain/operation-state.ts';
import type { Compensation } from '../define/operation.ts';
import type { Member } from './aggregate.ts';
import type { Course, Entry } from './saga-course.ts';
import { stateOf } from './row.ts';

/** An operation of its own in the ledger, with where it stands. One that another has is joined, and none of these. */
export interface Standing {
  readonly entry: Entry;
  readonly member: Pick<Member, 'row'>;
  readonly compensate: Compensation | null;
}

/** Not settled, and not being taken back: how it ends is open. */
export function isOpen({ entry, member }: Standing): boolean {
  const state = stateOf(member.row);
  return entry.undoes === null && !isSettled(state) && !isBeingCompensated({ entry, member });
}

/** Its inverse is under way, or was refused. */
function isBeingCompensated({ entry, member }: Pick<Standing, 'entry' | 'member'>): boolean {
  const state = stateOf(member.row);
  return entry.undoes === null && (state === 'compensating' || (state === 'escalated' && entry.compensationBegun));
}

/** Has succeeded, has an inverse, and was never begun to be taken back; the last to settle first. */
function owed(ledger: readonly Standing[]): readonly Standing[] {
  return ledger
    .filter(({ entry, member, compensate }) => {
      const hasInverse = compensate !== null && 'operation' in compensate;
      return entry.undoes === null && !entry.compensationBegun && hasInverse && stateOf(member.row) === 'succeeded';
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
