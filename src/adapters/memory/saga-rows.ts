/**
 * The rules of sagas in memory, as plain functions over the same rows: a turn of a saga is written with everything that
 * it changes of its operations, or not at all, so all conditions are looked at before the first change. As in `rows.ts`,
 * nothing here waits, reads a clock or copies.
 */

import {
  type Due,
  type EscalatedQuery,
  type EscalatedSagaRow,
  type InFlightQuery,
  keyOf,
  type OperationChange,
  type OperationReceipt,
  type OperationRef,
  type OperationRow,
  type SagaBirth,
  type SagaIdentity,
  type SagaReceipt,
  type SagaRecord,
  type SagaRow,
  type SagaTurn,
  type SagaVersion,
  type SagaVersionRow,
  type ServedSaga,
  type StoredRecord,
  type VersionQuery,
  type Sought,
} from '../../ports/store.ts';
import { isReadable } from '../../domain/format.ts';
import { isSagaSettled } from '../../domain/saga-state.ts';
import { keepLocks, mayLock } from './locks.ts';
import {
  bornOperation,
  byName,
  bySince,
  claimFrom,
  type InTurn,
  isAsItWas,
  isTaken,
  keep,
  type Kept,
  type KeptSaga,
  mayStart,
  movedOperation,
  present,
  record,
  type Rows,
  take,
  waitingFor,
} from './rows.ts';
import { changeSignals } from './signals.ts';

export function applySagaTurn(rows: Rows, turn: SagaTurn, timeline: string, now: number): SagaReceipt | null {
  if (turn.timeline !== null && turn.timeline !== timeline) return null;
  if (!mayLock(rows, turn)) return null;
  const row = turn.birth === null ? moved(rows, turn, now) : born(rows, turn, turn.birth, now);
  if (row === null || !turn.operations.every((change) => mayChange(rows, turn, change, now))) return null;
  rows.sagas.set(keyOf(row), row);
  rows.sagaIdentities.set(identityName(row), keyOf(row));
  tell(rows, turn, null, record(rows, row, turn.records, now));
  const operations: [string, OperationReceipt][] = [];
  const met: string[] = [];
  for (const change of turn.operations) {
    const operation = changed(rows, turn, change, now);
    if (operation === null) {
      met.push(change.id);
      continue;
    }
    if (change.birth !== null) rows.ledgers.set(keyOf(row), [...ledgerOf(rows, row), keyOf(operation)]);
    keep(rows, operation);
    tell(rows, turn, change.id, record(rows, operation, change.records, now));
    operations.push([change.id, receiptOf(operation)]);
  }
  take(rows, turn);
  changeSignals(rows, turn, turn.signals);
  keepLocks(rows, turn);
  const { revision, since, dueAt, dues } = row;
  return { revision, now, since, dueAt, dues, operations: Object.fromEntries(operations), met };
}

function born(rows: Rows, turn: SagaTurn, birth: SagaBirth, now: number): KeptSaga | null {
  const { tenant, id } = turn;
  const { name, key, version, hash, fingerprint, input } = birth;
  if (rows.sagas.has(keyOf(turn)) || rows.sagaIdentities.has(identityName({ tenant, name, key }))) return null;
  return {
    ...written(turn, {}, now),
    ...{ tenant, id, name, key, version, hash, fingerprint },
    revision: 1,
    born: turn.turn,
    since: now,
    createdAt: now,
    input,
    output: turn.output,
  };
}

function moved(rows: Rows, turn: SagaTurn, now: number): KeptSaga | null {
  const row = rows.sagas.get(keyOf(turn));
  if (row === undefined || !isAsItWas(row, turn.was)) return null;
  return {
    ...row,
    ...turn.becomes,
    ...written(turn, row.dues, now),
    revision: row.revision + 1,
    since: row.state === turn.state ? row.since : now,
    output: turn.output ?? row.output,
  };
}

/** What every turn overwrites. */
function written(turn: SagaTurn, before: SagaRow['dues'], now: number) {
  const { owner, generation, state, reason, format, snapshot } = turn;
  const dues = duesOf(turn.dues, new Map(Object.entries(before)), now);
  const times = Object.values(dues);
  return { owner, generation, turn: turn.turn, state, reason, format, snapshot, dues, dueAt: earliest(times) };
}

function duesOf(dues: readonly Due[], before: ReadonlyMap<string, number>, now: number): SagaRow['dues'] {
  return Object.fromEntries(
    dues.map(({ name, inMs, at }) => [name, at ?? (inMs === null ? (before.get(name) ?? now) : now + Math.ceil(inMs))]),
  );
}

function earliest(times: readonly number[]): number | null {
  return times.length === 0 ? null : Math.min(...times);
}

/** What is there already must be the saga's own, and its window open where the change starts inside it. */
function mayChange(rows: Rows, turn: SagaTurn, change: OperationChange, now: number): boolean {
  if (change.birth !== null) return true;
  const row = rows.operations.get(keyOf({ tenant: turn.tenant, id: change.id }));
  return row?.saga === turn.id && mayStart(row, change.start, now);
}

/** Null: its id or identity is taken. */
function changed(rows: Rows, turn: SagaTurn, change: OperationChange, now: number): Kept | null {
  const { tenant, id: saga } = turn;
  const { id } = change;
  const written = { ...change, turn: turn.turn, owner: null, generation: 0, dueInMs: null };
  if (change.birth === null) {
    const row = rows.operations.get(keyOf({ tenant, id }));
    return row === undefined ? null : movedOperation(row, written, now);
  }
  const birth = { ...change.birth, tenant, id, saga };
  return isTaken(rows, birth, birth) ? null : bornOperation(written, birth, now);
}

function receiptOf(row: OperationRow | Kept): OperationReceipt {
  const { revision, since, createdAt, firstStartedAt, sendBy, windowEndsAt } = row;
  return { revision, since, createdAt, firstStartedAt, sendBy, windowEndsAt };
}

function tell(rows: Rows, saga: OperationRef, operation: string | null, records: readonly StoredRecord[]): void {
  const story: SagaRecord[] = rows.stories.get(keyOf(saga)) ?? [];
  rows.stories.set(keyOf(saga), story);
  story.push(...records.map((stored) => ({ ...stored, operation })));
}

export function claimSagas(
  rows: Rows,
  worker: string,
  definitions: readonly ServedSaga[],
  limit: number,
  which: Sought | InTurn | undefined,
  now: number,
): readonly SagaRow[] {
  const isServed = ({ name, version, hash, reason, format }: KeptSaga): boolean =>
    isReadable({ format }) &&
    definitions.some((served) => {
      const isFitting = reason !== 'definition-changed' || (served.hash ?? hash) === hash;
      return served.name === name && served.version === version && isFitting;
    });
  return claimFrom(rows, rows.sagas, { worker, isServed, limit, which, now }).map((row) => whole(rows, row, now));
}

export function escalatedSagas({ sagas }: Rows, { tenant, limit, after }: EscalatedQuery): EscalatedSagaRow[] {
  return [...sagas.values()]
    .filter((row) => row.state === 'escalated' && (tenant === null || row.tenant === tenant))
    .filter((row) => after === null || bySince(row, after) > 0)
    .sort(bySince)
    .slice(0, limit)
    .map(({ tenant: of, id, name, version, key, reason, since, dueAt, format, snapshot }) => {
      return { tenant: of, id, name, version, key, reason, since, dueAt, format, snapshot };
    });
}

export function sagaVersions({ sagas }: Rows, { tenant }: VersionQuery): SagaVersionRow[] {
  const counted = new Map<string, SagaVersionRow>();
  for (const { tenant: of, name, version, state } of sagas.values()) {
    if (isSagaSettled(state) || (tenant !== null && of !== tenant)) continue;
    const label = JSON.stringify([name, version]);
    const { inFlight, escalated } = counted.get(label) ?? { inFlight: 0, escalated: 0 };
    const isEscalated = state === 'escalated' ? 1 : 0;
    counted.set(label, { name, version, inFlight: inFlight + 1, escalated: escalated + isEscalated });
  }
  return [...counted.values()].sort(byVersion);
}

function byVersion(a: SagaVersion, b: SagaVersion): number {
  if (a.name === b.name) return a.version - b.version;
  return a.name < b.name ? -1 : 1;
}

export function sagasInFlight(rows: Rows, query: InFlightQuery, now: number): SagaRow[] {
  const { tenant, name, version, after, limit } = query;
  return [...rows.sagas.values()]
    .filter((row) => row.name === name && row.version === version && !isSagaSettled(row.state))
    .filter((row) => (tenant === null || row.tenant === tenant) && (after === null || byName(row, after) > 0))
    .sort(byName)
    .slice(0, limit)
    .map((row) => whole(rows, row, now));
}

export function findSagaByIdentity({ sagaIdentities, sagas }: Rows, identity: SagaIdentity): KeptSaga | undefined {
  const name = sagaIdentities.get(identityName(identity));
  return name === undefined ? undefined : sagas.get(name);
}

export function shownSaga(rows: Rows, row: KeptSaga | undefined, now: number): SagaRow | null {
  return row === undefined ? null : whole(rows, row, now);
}

function whole(rows: Rows, row: KeptSaga, now: number): SagaRow {
  const operations = ledgerOf(rows, row).flatMap((name) => rows.operations.get(name) ?? []);
  return {
    ...row,
    operations: operations.map((operation) => present(rows, operation, now)),
    handovers: waitingFor(rows, row),
    now,
  };
}

function ledgerOf({ ledgers }: Rows, saga: OperationRef): readonly string[] {
  return ledgers.get(keyOf(saga)) ?? [];
}

function identityName({ tenant, name, key }: SagaIdentity): string {
  return JSON.stringify([tenant, name, key]);
}
