/**
 * Reads every operation a store has accepted and says which of them would be lost: neither settled, nor escalated with
 * a reason, nor owned in mid-attempt by a living worker, nor due at some time. An empty list is the proof.
 */

import { isSettled } from '../../src/domain/operation-state.ts';
import type { OperationRef, OperationRow } from '../../src/ports/store.ts';
import type { CountingStore } from './world.ts';

/** The time after which a worker without a renewal is dead, as orchestrators have it by default. */
const HEARTBEAT_TIMEOUT_MS = 15_000;

export async function audit(store: CountingStore): Promise<readonly string[]> {
  const complaints: string[] = [];
  // Whoever enlists is told where the store is.
  const { id: timeline } = await store.enlist('auditor');
  for (const ref of accepted(store)) {
    const row = await store.read(ref);
    const complaint = row === null ? 'is gone' : await complaintAbout(store, row, timeline);
    if (complaint !== null) complaints.push(`${row?.key ?? ref.id} ${complaint}`);
  }
  return complaints;
}

/** Every operation whose creation the store has confirmed. */
export function accepted(store: CountingStore): readonly OperationRef[] {
  return store.written.filter(({ birth }) => birth !== null).map(({ tenant, id }) => ({ tenant, id }));
}

async function complaintAbout(store: CountingStore, row: OperationRow, timeline: string): Promise<string | null> {
  const { state, owner, reason, dueAt } = row;
  if (isSettled(state)) return null;
  if (state === 'escalated') return reason === null ? 'is escalated without a reason' : null;
  if (state === 'in-progress') {
    const living = owner !== null && (await store.renew(owner, HEARTBEAT_TIMEOUT_MS, timeline));
    return living ? null : `is in progress at ${owner ?? 'nobody'}, who is not alive`;
  }
  return dueAt === null ? `is ${state} and due at no time` : null;
}
