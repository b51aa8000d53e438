/**
 * A step that is a saga of its own, as its parent reckons with it: pure questions to what was last seen of it. It is
 * another aggregate, so the parent owns nothing of it; it says a word at most, to cancel, to terminate or to compensate,
 * numbered so that one which comes late or twice changes nothing, and waits for what becomes of that. In the ledger it
 * stands like an operation: open until it has settled, then a success to be taken back or a refusal.
 */

import { isReadable } from '../domain/format.ts';
import type { Json } from '../domain/json.ts';
import { type EscalationReason, isSettled, type OperationState } from '../domain/operation-state.ts';
import { isSagaSettled } from '../domain/saga-state.ts';
import type { OperationRef, SagaRow } from '../ports/store.ts';
import type { Asking } from './aggregate.ts';
import { type Child, type ChildEntry, type Course, courseOf, type Entry, type ParentWord } from './saga-course.ts';

/** A child of which nothing is known yet. */
export function unseen(name: string, key: string, input: Json): Child {
  return {
    ...{ name, key, input, state: null, reason: null, code: null, output: null },
    ...{ word: null, inverse: null, takenBackAs: null },
  };
}

export function isChild(entry: Entry): entry is ChildEntry {
  return entry.child !== null;
}

/** Where it stands in the ledger. That it waits for a person is its own affair, until the parent is taken back. */
export function stateOfChild({ child, compensationBegun }: ChildEntry): OperationState {
  const { state, word, inverse } = child;
  if (!compensationBegun) {
    if (state === 'succeeded') return 'succeeded';
    // Ended with its parent: what it did stands, and can be taken back at a later word.
    if (state === 'terminated' && word?.kind === 'terminate') return 'succeeded';
    return state === 'compensated' || state === 'terminated' ? 'failed' : 'in-progress';
  }
  if (inverse !== null) return stateByInverse[inverse];
  if (state === 'compensated' || state === 'escalated') return state;
  // A person ended it in the midst of being taken back: the rest stands.
  const wasToldTo = word?.kind === 'compensate' && word.isHeard;
  return state === 'terminated' && wasToldTo ? 'succeeded' : 'compensating';
}

const stateByInverse = { 'under-way': 'compensating', succeeded: 'compensated', refused: 'escalated' } as const;

/** The children whose end is still to come, whoever waits for it. */
export function watchedChildren({ entries }: Course): readonly ChildEntry[] {
  return entries.filter(isChild).filter((entry) => !isSettled(stateOfChild(entry)));
}

/** Why it waits for a person while it is taken back. */
export function reasonOfChild({ inverse, reason }: Child): EscalationReason | null {
  return inverse === 'refused' ? 'inverse-failed' : reason;
}

/** What is new of it after a look; null: the identity is another's, that was never begun as this step. */
export function seenAs(
  { child, compensationBegun }: ChildEntry,
  row: SagaRow,
  parentId: string,
): Partial<Entry> | null {
  // What another version says of it is seen by who reads that.
  if (!isReadable(row)) return {};
  const { parent, compensation } = courseOf(row);
  if (parent?.id !== parentId) return null;
  const { state } = row;
  const word = child.word === null ? null : { ...child.word, isHeard: child.word.n <= parent.heard };
  const code = state === 'terminated' ? 'terminated' : (compensation?.cause.code ?? null);
  // A turn writes a reason only from the closed list.
  const reason = row.reason as EscalationReason | null;
  const output = state === 'succeeded' ? row.output : child.output;
  const standsAgain = word?.kind === 'terminate' && word.isHeard && (state === 'succeeded' || state === 'terminated');
  return {
    child: { ...child, state, reason, code, output, word },
    compensationBegun: compensationBegun && !standsAgain,
  };
}

/** What it has to be told, if it has not been yet. */
export function wordFor(
  entry: ChildEntry,
  { isTerminated, isWaitedFor }: { readonly isTerminated: boolean; readonly isWaitedFor: boolean },
): ParentWord['kind'] | null {
  const { inverse } = entry.child;
  if (isSettled(stateOfChild(entry)) || inverse !== null) return null;
  if (isTerminated) return 'terminate';
  if (entry.compensationBegun) return 'compensate';
  return isWaitedFor ? null : 'cancel';
}

/** The next word, instead of the last one. */
export function told(child: Child, kind: ParentWord['kind']): Child {
  return { ...child, word: { kind, n: (child.word?.n ?? 0) + 1, isHeard: false } };
}

/** What is said to it, unless it has heard it or there is nobody yet who could. */
export function askingOf({ id, step, child }: ChildEntry, parent: OperationRef): Asking | null {
  const { word, state } = child;
  if (word === null || word.isHeard || state === null || isOver(child)) return null;
  const { kind, n } = word;
  const reason = `saga ${parent.id}, whose step ${step} it is, ${becauseOf[kind]}`;
  return {
    to: { tenant: parent.tenant, id },
    said: { kind, by: `saga ${parent.id}`, reason, ofParent: { id: parent.id, word: n } },
    handoverId: `word ${n} of ${parent.id} to ${id}`,
  };
}

const becauseOf = {
  cancel: 'does not wait for it any more',
  compensate: 'is taken back',
  terminate: 'is ended as it stands',
} as const;

/** Nothing follows any more from a cancellation. */
function isOver({ word, state }: Child): boolean {
  return word?.kind === 'cancel' && state !== null && isSagaSettled(state);
}
