/**
 * The verbs of the store port over two ways to run statements, so that every driver shares one set of them. Which one
 * carries a verb decides what its failure means: a read that failed did not happen, a write that was not answered may
 * have. How turns are carried is the driver's choice.
 */

import { storeInDoubt } from '../../domain/errors.ts';
import type { NewSignal, SignalRow, Store } from '../../ports/store.ts';
import { claimDue, claimInTurn, claimOne, claimSaga, claimSagasDue, claimSagasInTurn } from './claim.ts';
import type { Database, Executor } from './executor.ts';
import { appendHandover, readHandedOver } from './handovers.ts';
import { readHeldLocks } from './locks.ts';
import {
  readDoubts,
  readEscalatedSagas,
  readOperation,
  readOperationByIdentity,
  readRecords,
  readSaga,
  readSagaByIdentity,
  readSagaRecords,
  readSagasInFlight,
  readSagaVersions,
  readSettledBetween,
} from './readings.ts';
import type { Tables } from './schema.ts';
import { keepSignal, readSignal } from './signals.ts';
import { buryWorkers, enlistWorker, renewWorker, retireWorker } from './workers.ts';

export interface Executors {
  readonly read: Executor;
  readonly write: Executor;
  /** Carries renewals, which must not wait for anything else. */
  readonly renew: Executor;
}

/** Everything of the port that is one statement each. */
export type Verbs = Omit<Store, 'name' | 'exclusive' | 'open' | 'close' | 'turn' | 'sagaTurn'>;

export function verbs(executors: Executors, tables: Tables): Verbs {
  const reading = { execute: executors.read, tables };
  const writing = { execute: executors.write, tables };
  const renewing = { execute: executors.renew, tables };
  const places = { operations: { after: '' }, sagas: { after: '' } };
  return {
    enlist: (worker) => enlistWorker(writing, worker),
    renew: (worker, timeoutMs, timeline) => renewWorker(renewing, worker, timeoutMs, timeline),
    bury: (worker, which) => buryWorkers(writing, worker, which),
    retire: (worker) => retireWorker(writing, worker),
    claim(worker, actions, limit, which) {
      if (which === undefined) return claimDue(writing, worker, actions, limit);
      if ('id' in which) return claimOne(writing, worker, actions, which);
      return claimInTurn(writing, worker, actions, limit, which, places.operations);
    },
    claimSagas(worker, definitions, limit, which) {
      if (which === undefined) return claimSagasDue(writing, worker, definitions, limit);
      if ('id' in which) return claimSaga(writing, worker, definitions, which);
      return claimSagasInTurn(writing, worker, definitions, limit, which, places.sagas);
    },
    readSaga: (ref) => readSaga(reading, ref),
    readSagaByIdentity: (identity) => readSagaByIdentity(reading, identity),
    sagaRecords: (ref) => readSagaRecords(reading, ref),
    handedOver: (worker, limit) => readHandedOver(reading, worker, limit),
    read: (ref) => readOperation(reading, ref),
    readByIdentity: (identity) => readOperationByIdentity(reading, identity),
    records: (ref) => readRecords(reading, ref),
    doubts: (query) => readDoubts(reading, query),
    escalatedSagas: (query) => readEscalatedSagas(reading, query),
    sagasInFlight: (query) => readSagasInFlight(reading, query),
    sagaVersions: (query) => readSagaVersions(reading, query),
    settledBetween: (query) => readSettledBetween(reading, query),
    handOver: (handover) => appendHandover(writing, handover),
    signal: async (given) => (await keepSignal(writing, given)) ?? (await keptMeanwhile(reading, given)),
    heldLocks: (tenant, resources) => readHeldLocks(reading, tenant, resources),
    readSignal: (ref) => readSignal(reading, ref),
  };
}

/** A signal is never removed while it can be sent again. */
async function keptMeanwhile(reading: Database, given: NewSignal): Promise<SignalRow> {
  const kept = await readSignal(reading, given);
  if (kept === null) throw storeInDoubt('The event was kept by another call at the same time, and is not seen yet.');
  return kept;
}
