/**
 * Makes one turn durable, or finds out that it is not. A reply lost from the database is an unknown outcome too: the
 * identical turn is repeated until the store answers, and the turn's id in the row tells whether an earlier
 * repetition was written. Nothing of its aggregate moves on before.
 */

import { isSagacityError, type SagacityError } from '../domain/errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { SagaReceipt, SagaRow, Store, StoreInTransaction } from '../ports/store.ts';
import { type AnyReceipt, type AnyRow, type AnyTurn, isSagaRow, isSagaTurn } from './aggregate.ts';

/** The turn is durable, or the store refused it and holds `row` instead (null: nothing of that id or identity). */
export type Committed =
  | { readonly type: 'written'; readonly receipt: AnyReceipt }
  | { readonly type: 'refused'; readonly row: AnyRow | null };

const PAUSE_MS = 100;
const PAUSE_MAX_MS = 2_000;

/**
 * Makes a call to the store until it answers. While the store is unavailable or in doubt the identical call is
 * repeated, until `giveUp` says stop; then the store's last error is thrown, or its doubt: a call that was in doubt once
 * may have been carried out, whatever became of its repetitions.
 */
export async function repeated<Answer>(
  clock: Clock,
  giveUp: (error: SagacityError) => boolean,
  call: () => Promise<Answer>,
): Promise<Answer> {
  let doubt: SagacityError | null = null;
  for (let pause = PAUSE_MS; ; pause = Math.min(pause * 2, PAUSE_MAX_MS)) {
    try {
      return await call();
    } catch (error) {
      if (isSagacityError(error, 'STORE_IN_DOUBT')) doubt = error;
      if (!isSagacityError(error) || !error.retryable || giveUp(error)) throw doubt ?? error;
      await new Promise<void>((resume) => clock.after(pause, resume));
    }
  }
}

/**
 * Writes `turn`. While the store is unavailable or in doubt the turn is repeated until `giveUp` says stop; then the
 * store's doubt is thrown, if it had any, and whether the turn was written stays open.
 */
export function commit(
  store: Store,
  clock: Clock,
  turn: AnyTurn,
  giveUp: (error: SagacityError) => boolean,
): Promise<Committed> {
  return repeated(clock, giveUp, async () => {
    const receipt = await writeTurn(store, turn);
    if (receipt !== null) return { type: 'written', receipt };
    const row = await readBack(store, turn);
    return row?.turn === turn.turn ? { type: 'written', receipt: receiptIn(row, turn) } : { type: 'refused', row };
  });
}

/** Writes the turn once; null: the store refuses it. */
export async function writeTurn(
  store: Pick<StoreInTransaction, 'turn' | 'sagaTurn'>,
  turn: AnyTurn,
): Promise<AnyReceipt | null> {
  return isSagaTurn(turn) ? await store.sagaTurn(turn) : await store.turn(turn);
}

function readBack(store: Store, turn: AnyTurn): Promise<AnyRow | null> {
  if (turn.birth !== null) return readByIdentity(store, turn);
  return isSagaTurn(turn) ? store.readSaga(turn) : store.read(turn);
}

/** Whatever has the identity with which the turn would create something. */
export async function readByIdentity(
  store: Pick<StoreInTransaction, 'readByIdentity' | 'readSagaByIdentity'>,
  turn: AnyTurn,
): Promise<AnyRow | null> {
  const { tenant } = turn;
  if (isSagaTurn(turn)) return turn.birth === null ? null : await store.readSagaByIdentity({ ...turn.birth, tenant });
  return turn.birth === null ? null : await store.readByIdentity(turn.birth);
}

/** What the store would have said. */
function receiptIn(row: AnyRow, turn: AnyTurn): AnyReceipt {
  if (!isSagaRow(row)) return row;
  return sagaReceiptIn(row, isSagaTurn(turn) ? turn.operations : []);
}

function sagaReceiptIn(
  { revision, now, since, dueAt, dues, ...row }: SagaRow,
  changes: readonly { readonly id: string }[],
): SagaReceipt {
  const present = new Map(row.operations.map((operation) => [operation.id, operation]));
  return {
    ...{ revision, now, since, dueAt, dues },
    operations: Object.fromEntries(present),
    met: changes.map(({ id }) => id).filter((id) => !present.has(id)),
  };
}
