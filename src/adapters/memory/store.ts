/**
 * The store in plain maps, for tests and the simulator: the same promises as the databases, except that nothing
 * outlives the process. Every verb runs without a pause, which makes it atomic; values are copied as JSON on the way
 * in and out, so that nobody holds a part of a row. Its time is that of the clock it is given.
 */

import type { Clock } from '../../ports/clock.ts';
import { keyOf, type Store, type Turns, type Sought } from '../../ports/store.ts';
import { systemClock } from '../local/clock.ts';
import { heldLocks } from './locks.ts';
import {
  applyTurn,
  bury,
  claim,
  doubts,
  enlist,
  findByIdentity,
  handedOver,
  handOver,
  noRows,
  type Place,
  renew,
  retire,
  type Rows,
  settledBetween,
  shown,
} from './rows.ts';
import { readSignal, signal } from './signals.ts';
import {
  applySagaTurn,
  claimSagas,
  escalatedSagas,
  findSagaByIdentity,
  sagasInFlight,
  sagaVersions,
  shownSaga,
} from './saga-rows.ts';

export interface MemoryStoreOptions {
  /** The store's time. By default the system's. */
  readonly clock?: Clock;
  /** Another memory store whose rows this one uses too, as two processes use one database. */
  readonly sharedWith?: Store;
  /** Names the timeline that the store is on. Another name than before is a fail-over. By default there is none. */
  readonly timeline?: () => string;
}

/** Creates a store that lives as long as its object. `close` keeps the rows, so that a test can start again on them. */
export function memoryStore({
  clock = systemClock(),
  sharedWith,
  timeline = () => '1',
}: MemoryStoreOptions = {}): Store {
  const rows = rowsFor(sharedWith);
  if (rows.timelines.size === 0) rows.timelines.set(timeline(), Math.floor(clock.now()));
  const store = storeOn(() => rows, { clock, timeline });
  rowsOf.set(store, rows);
  return store;
}

/** A store on whatever `rows` gives when a verb is carried out. For who takes the rows into its own hands. */
export function storeOn(
  rows: () => Rows,
  { clock, timeline }: { readonly clock: Pick<Clock, 'now'>; readonly timeline: () => string },
): Store {
  const now = (): number => Math.floor(clock.now());
  const places = { operations: { after: '' }, sagas: { after: '' } };
  const inTurn = (which: Sought | Turns | undefined, place: Place) =>
    which !== undefined && 'without' in which ? { ...which, place } : which;
  return {
    name: 'memory',
    exclusive: true,
    open: async () => {},
    close: async () => {},
    enlist: async (worker) => enlist(rows(), worker, timeline(), now()),
    renew: async (worker, timeoutMs, on) => on === timeline() && renew(rows(), worker, timeoutMs, now()),
    bury: async (worker, which) => bury(rows(), worker, which, now()),
    retire: async (worker) => retire(rows(), worker, now()),
    turn: async (turn) => applyTurn(rows(), copy(turn), timeline(), now()),
    claim: async (worker, actions, limit, which) =>
      copy(claim(rows(), worker, actions, limit, inTurn(which, places.operations), now())),
    handedOver: async (worker, limit) => handedOver(rows(), worker, limit),
    sagaTurn: async (turn) => copy(applySagaTurn(rows(), copy(turn), timeline(), now())),
    claimSagas: async (worker, definitions, limit, which) =>
      copy(claimSagas(rows(), worker, definitions, limit, inTurn(which, places.sagas), now())),
    readSaga: async (ref) => copy(shownSaga(rows(), rows().sagas.get(keyOf(ref)), now())),
    readSagaByIdentity: async (identity) => copy(shownSaga(rows(), findSagaByIdentity(rows(), identity), now())),
    sagaRecords: async (ref) => copy(rows().stories.get(keyOf(ref)) ?? []),
    read: async (ref) => copy(shown(rows(), rows().operations.get(keyOf(ref)), now())),
    readByIdentity: async (identity) => copy(shown(rows(), findByIdentity(rows(), identity), now())),
    records: async (ref) => copy(rows().records.get(keyOf(ref)) ?? []),
    doubts: async (query) => copy(doubts(rows(), query, now())),
    escalatedSagas: async (query) => copy(escalatedSagas(rows(), query)),
    sagasInFlight: async (query) => copy(sagasInFlight(rows(), query, now())),
    sagaVersions: async (query) => sagaVersions(rows(), query),
    settledBetween: async (query) => copy(settledBetween(rows(), query, now())),
    handOver: async (handover) => handOver(rows(), copy(handover), now()),
    signal: async (given) => copy(signal(rows(), copy(given), now())),
    heldLocks: async (tenant, resources) => heldLocks(rows(), tenant, resources),
    readSignal: async (ref) => copy(readSignal(rows(), ref, now())),
  };
}

const rowsOf = new WeakMap<Store, Rows>();

function rowsFor(sharedWith: Store | undefined): Rows {
  if (sharedWith === undefined) return noRows();
  const rows = rowsOf.get(sharedWith);
  if (rows === undefined) throw new TypeError('sharedWith must be a store made by memoryStore.');
  return rows;
}

function copy<Value>(value: Value): Value {
  // Everything in a store is JSON, so its copy has the same type.
  return JSON.parse(JSON.stringify(value)) as Value;
}
