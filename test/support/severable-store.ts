/**
 * A store as a process sees it that is about to die: once severed, no call gets through and none is ever answered.
 * What was written before stays, for whoever comes next.
 */

import type { Store, Turn } from '../../src/ports/store.ts';

export interface SeverableStore extends Store {
  /** From now on nothing gets through. */
  sever(): void;
}

/** `before` severs by itself at the first turn for which it is true; that turn is not written any more. */
export function severable(store: Store, before: (turn: Turn) => boolean = () => false): SeverableStore {
  let severed = false;
  const through = <Answer>(call: () => Promise<Answer>): Promise<Answer> =>
    severed ? new Promise<never>(() => {}) : call();
  return {
    name: store.name,
    exclusive: store.exclusive,
    ledger: () => store.ledger?.() ?? store.name,
    sever() {
      severed = true;
    },
    open: () => through(() => store.open()),
    close: () => through(() => store.close()),
    enlist: (worker) => through(() => store.enlist(worker)),
    renew: (worker, timeoutMs, timeline) => through(() => store.renew(worker, timeoutMs, timeline)),
    bury: (worker, which) => through(() => store.bury(worker, which)),
    retire: (worker) => through(() => store.retire(worker)),
    turn(turn) {
      severed ||= before(turn);
      return through(() => store.turn(turn));
    },
    claim: (worker, actions, limit, which) => through(() => store.claim(worker, actions, limit, which)),
    sagaTurn: (turn) => through(() => store.sagaTurn(turn)),
    claimSagas: (worker, definitions, limit, which) =>
      through(() => store.claimSagas(worker, definitions, limit, which)),
    readSaga: (ref) => through(() => store.readSaga(ref)),
    readSagaByIdentity: (identity) => through(() => store.readSagaByIdentity(identity)),
    sagaRecords: (ref) => through(() => store.sagaRecords(ref)),
    handedOver: (worker, limit) => through(() => store.handedOver(worker, limit)),
    read: (ref) => through(() => store.read(ref)),
    readByIdentity: (identity) => through(() => store.readByIdentity(identity)),
    records: (ref) => through(() => store.records(ref)),
    doubts: (query) => through(() => store.doubts(query)),
    escalatedSagas: (query) => through(() => store.escalatedSagas(query)),
    sagasInFlight: (query) => through(() => store.sagasInFlight(query)),
    sagaVersions: (query) => through(() => store.sagaVersions(query)),
    settledBetween: (query) => through(() => store.settledBetween(query)),
    handOver: (handover) => through(() => store.handOver(handover)),
    signal: (signal) => through(() => store.signal(signal)),
    readSignal: (ref) => through(() => store.readSignal(ref)),
    heldLocks: (tenant, resources) => through(() => store.heldLocks(tenant, resources)),
  };
}
