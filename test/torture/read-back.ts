/**
 * Tells when a doubt about a turn was settled in the hardest way: its reply was lost, its repetition was refused,
 * because it had been written, and the row that was read next held its own id. The store does what it does anyway.
 */

import { isSagacityError, type Store } from 'sagacity';
import { keyOf, type OperationRow, type Turn } from '../../src/ports/store.ts';
import { overlay } from '../../src/testing/overlay.ts';

/** The same store; `noted` is called each time. */
export function notingReadBacks(store: Store, noted: () => void): Store {
  const inDoubt = new Set<string>();
  /** Turns that were in doubt and refused when they were repeated, by operation. */
  const refused = new Map<string, string>();

  const seen = (row: OperationRow | null): OperationRow | null => {
    const turn = row === null ? undefined : refused.get(keyOf(row));
    if (row !== null && turn !== undefined && (row.turn === turn || row.born === turn)) {
      refused.delete(keyOf(row));
      noted();
    }
    return row;
  };

  return overlay(store, {
    async turn(turn: Turn) {
      try {
        const receipt = await store.turn(turn);
        if (inDoubt.delete(turn.turn) && receipt === null) refused.set(keyOf(turn), turn.turn);
        return receipt;
      } catch (error) {
        if (isSagacityError(error, 'STORE_IN_DOUBT')) inDoubt.add(turn.turn);
        throw error;
      }
    },
    read: async (ref) => seen(await store.read(ref)),
    readByIdentity: async (identity) => seen(await store.readByIdentity(identity)),
  });
}
