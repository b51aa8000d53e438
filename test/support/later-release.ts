/**
 * What a process of a later release does with a row: it takes it over, writes it in a format that this version does not
 * read, and dies. What it wrote there is no business of anybody's here, until it is written as this version can read it.
 */

import { FORMATS_READ } from '../../src/domain/format.ts';
import { isSagaId } from '../../src/domain/idempotency.ts';
import type { Json } from '../../src/domain/json.ts';
import type { OperationRef, OperationRow, SagaRow, Store } from '../../src/ports/store.ts';

/** Its worker, which dies of it. */
const GONE = 'a later release';

/** The format that only it reads. */
export const LATER = Math.max(...FORMATS_READ) + 1;

interface LaterRelease {
  /** Writes an operation that stands alone, or a saga with its operations, in its own format. */
  takesOver(ref: OperationRef): Promise<void>;
  /** Writes it as it was, for everybody. */
  givesBack(ref: OperationRef): Promise<void>;
}

export function laterRelease(store: Store): LaterRelease {
  let turns = 0;
  const kept = new Map<string, Json>();

  /** The other form of what is stored. */
  const formOf = ({ id, format, snapshot }: OperationRow | SagaRow) => {
    if (format === LATER) return { format: FORMATS_READ.at(-1) ?? 0, snapshot: kept.get(id) ?? null };
    kept.set(id, snapshot);
    return { format: LATER, snapshot: { written: ['later'] } };
  };

  async function rewrite(ref: OperationRef): Promise<void> {
    turns += 1;
    const turn = `later-${turns}`;
    const written = await (isSagaId(ref.id) ? rewriteSaga(ref, turn) : rewriteOperation(ref, turn));
    if (written === null) throw new Error(`${ref.id} has moved on meanwhile.`);
  }

  async function rewriteOperation({ tenant, id }: OperationRef, turn: string) {
    const row = await store.read({ tenant, id });
    if (row === null) throw new Error(`There is no operation ${id}.`);
    const { owner, generation, revision, dueAt, now } = row;
    return await store.turn({
      ...{ tenant, id, turn, birth: null, was: { owner, generation, revision }, owner: GONE, generation },
      dueInMs: dueAt === null ? null : Math.max(0, dueAt - now),
      ...{ start: null, takes: [], ...operationIn(row) },
    });
  }

  async function rewriteSaga({ tenant, id }: OperationRef, turn: string) {
    const row = await store.readSaga({ tenant, id });
    if (row === null) throw new Error(`There is no saga ${id}.`);
    const { owner, generation, revision, state, reason, dues } = row;
    return await store.sagaTurn({
      ...{ tenant, id, turn, birth: null, was: { owner, generation, revision }, owner: GONE, generation },
      ...{ state, reason, becomes: null, output: null, timeline: null, records: [], takes: [], signals: [] },
      dues: Object.keys(dues).map((name) => ({ name, inMs: null })),
      operations: row.operations.map((operation) => ({
        ...{ id: operation.id, birth: null, start: null, ...operationIn(operation) },
      })),
      ...formOf(row),
    });
  }

  function operationIn(row: OperationRow) {
    const { state, reason, contradictedAt } = row;
    return { state, reason, contradicted: contradictedAt !== null, output: null, records: [], ...formOf(row) };
  }

  return { takesOver: rewrite, givesBack: rewrite };
}
