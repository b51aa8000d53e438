/**
 * The verbs of the store port over two executors, so that every driver shares one set of statements. Which executor
 * carries a verb decides what its failure means: a read that failed did not happen, a write that was not answered may
 * have.
 */

import type { Store } from '../../ports/store.ts';
import { claimDue, claimOne } from './claim.ts';
import type { Executor } from './executor.ts';
import { appendHandover, readHandedOver } from './handovers.ts';
import { readDoubts, readOperation, readOperationByIdentity, readRecords } from './readings.ts';
import { applyTurn } from './turn.ts';
import { buryWorkers, enlistWorker, renewWorker, retireWorker } from './workers.ts';

export interface Executors {
  readonly read: Executor;
  readonly write: Executor;
}

/** Everything of the port that is a statement. */
export type Verbs = Omit<Store, 'name' | 'exclusive' | 'open' | 'close'>;

export function verbs({ read, write }: Executors): Verbs {
  return {
    enlist: (worker) => enlistWorker(write, worker),
    renew: (worker, timeoutMs) => renewWorker(write, worker, timeoutMs),
    bury: (worker, which) => buryWorkers(write, worker, which),
    retire: (worker) => retireWorker(write, worker),
    turn: (turn) => applyTurn(write, turn),
    claim: (worker, actions, limit, only) =>
      only === undefined ? claimDue(write, worker, actions, limit) : claimOne(write, worker, actions, only),
    handedOver: (worker, limit) => readHandedOver(read, worker, limit),
    read: (ref) => readOperation(read, ref),
    readByIdentity: (identity) => readOperationByIdentity(read, identity),
    records: (ref) => readRecords(read, ref),
    doubts: (query) => readDoubts(read, query),
    handOver: (handover) => appendHandover(write, handover),
  };
}
