/**
 * The rules of the store in memory, as plain functions over its rows: who may claim what, when a turn's fence holds,
 * which times a start leaves behind. Nothing here waits or reads a clock; the time is given. Nothing is copied either:
 * what goes in is kept and what is kept comes out, so that whoever calls copies both.
 */

import { isReadable } from '../../domain/format.ts';
import { isDoubt, isSettled } from '../../domain/operation-state.ts';
import {
  type Birth,
  type Fence,
  type Handover,
  type Identity,
  keyOf,
  type NewRecord,
  type OperationRef,
  type OperationRow,
  type Receipt,
  type SagaRecord,
  type SagaRow,
  type SignalRow,
  type SettledQuery,
  type Start,
  type StoredRecord,
  type Timeline,
  type Turn,
  type Sought,
  type Turns,
} from '../../ports/store.ts';
import { byTurns, type Candidate } from './turns.ts';

/** A row as kept: without what is read with it, and with the time since which it has been in doubt. */
export interface Kept extends Omit<OperationRow, 'handovers' | 'now'> {
  readonly doubtedAt: number | null;
}

/** A saga as kept: without what is read with it. */
export type KeptSaga = Omit<SagaRow, 'operations' | 'handovers' | 'now'>;

export interface KeptHandover {
  readonly handover: Handover;
  readonly at: number;
}

export type KeptSignal = Omit<SignalRow, 'now'>;

export interface Rows {
  readonly operations: Map<string, Kept>;
  /** Which operation has an identity. */
  readonly identities: Map<string, string>;
  readonly sagas: Map<string, KeptSaga>;
  /** Which saga has an identity. */
  readonly sagaIdentities: Map<string, string>;
  /** The operations of each saga, in the order of their birth. The lists are replaced and never changed. */
  readonly ledgers: Map<string, readonly string[]>;
  /** Of operations and of sagas, each its own. */
  readonly records: Map<string, StoredRecord[]>;
  /** Of each saga and its operations together, in the order in which it was written. */
  readonly stories: Map<string, SagaRecord[]>;
  /** In the order in which they were handed over. */
  readonly handovers: Map<string, KeptHandover>;
  readonly signals: Map<string, KeptSignal>;
  /** Which saga holds a resource of a tenant. */
  readonly locks: Map<string, string>;
  readonly workers: Map<string, { readonly beatAt: number; readonly deadAt: number | null }>;
  /** When a worker was first enlisted on each timeline. */
  readonly timelines: Map<string, number>;
}

/** The rows of a store in which nothing has happened. */
export function noRows(): Rows {
  return {
    operations: new Map(),
    identities: new Map(),
    sagas: new Map(),
    sagaIdentities: new Map(),
    ledgers: new Map(),
    records: new Map(),
    stories: new Map(),
    handovers: new Map(),
    signals: new Map(),
    locks: new Map(),
    workers: new Map(),
    timelines: new Map(),
  };
}

export function enlist({ workers, timelines }: Rows, worker: string, on: string, now: number): Timeline {
  if (!workers.has(worker)) workers.set(worker, { beatAt: now, deadAt: null });
  const seenAt = timelines.get(on) ?? now;
  timelines.set(on, seenAt);
  return { id: on, changedAt: timelines.size === 1 ? null : seenAt };
}

export function renew({ workers }: Rows, worker: string, timeoutMs: number, now: number): boolean {
  const known = workers.get(worker);
  if (known === undefined || known.deadAt !== null || known.beatAt <= now - timeoutMs) return false;
  workers.set(worker, { beatAt: now, deadAt: null });
  return true;
}

export function bury(
  { workers }: Rows,
  worker: string,
  which: 'others' | { readonly timeoutMs: number },
  now: number,
): number {
  let buried = 0;
  for (const [id, { beatAt, deadAt }] of workers) {
    if (deadAt !== null) continue;
    if (which === 'others' ? id === worker : beatAt >= now - which.timeoutMs) continue;
    workers.set(id, { beatAt, deadAt: now });
    buried += 1;
  }
  return buried;
}

export function retire({ workers, operations, sagas }: Rows, worker: string, now: number): void {
  const known = workers.get(worker);
  if (known !== undefined && known.deadAt === null) workers.set(worker, { beatAt: known.beatAt, deadAt: now });
  for (const [name, row] of operations) {
    if (row.owner !== worker) continue;
    const isAtRest = isSettled(row.state) || row.state === 'escalated';
    const dueAt = isAtRest ? row.dueAt : (row.dueAt ?? now);
    operations.set(name, { ...row, owner: null, generation: row.generation + 1, dueAt });
  }
  // Its state does not tell whether something of a saga is under way: one that is owned is due at once.
  for (const [name, row] of sagas) {
    if (row.owner !== worker) continue;
    sagas.set(name, { ...row, owner: null, generation: row.generation + 1, dueAt: Math.min(row.dueAt ?? now, now) });
  }
}

/** What a worker can own. */
interface Ownable extends OperationRef, Pick<OperationRow, 'owner' | 'generation' | 'revision' | 'dueAt' | 'since'> {}

export function applyTurn(rows: Rows, turn: Turn, timeline: string, now: number): Receipt | null {
  if (turn.start !== null && turn.start.timeline !== timeline) return null;
  const row = turn.birth === null ? moved(rows, turn, now) : born(rows, turn, turn.birth, now);
  if (row === null) return null;
  keep(rows, row);
  record(rows, row, turn.records, now);
  take(rows, turn);
  const { revision, since, dueAt, firstStartedAt, sendBy, windowEndsAt } = row;
  return { revision, now, since, dueAt, firstStartedAt, sendBy, windowEndsAt };
}

function born(rows: Rows, turn: Turn, birth: Birth, now: number): Kept | null {
  return isTaken(rows, turn, birth) ? null : bornOperation(turn, { ...birth, id: turn.id, saga: null }, now);
}

/** One that belongs to a saga is moved by the saga's turns only. */
function moved(rows: Rows, turn: Turn, now: number): Kept | null {
  const row = rows.operations.get(keyOf(turn));
  if (row === undefined || row.saga !== null || !isAsItWas(row, turn.was)) return null;
  return mayStart(row, turn.start, now) ? movedOperation(row, turn, now) : null;
}

/** Whether the fence of a turn is met. */
export function isAsItWas(row: Ownable, was: Fence | null): boolean {
  if (was === null) return false;
  return row.owner === was.owner && row.generation === was.generation && row.revision === was.revision;
}

/** Whether an operation has this id or this identity already. */
export function isTaken(rows: Rows, ref: OperationRef, identity: Identity): boolean {
  return rows.operations.has(keyOf(ref)) || rows.identities.has(identityName(identity));
}

/** Whether the window is open, if it has to be. */
export function mayStart(row: Kept, start: StartHere | null, now: number): boolean {
  return start?.insideWindow !== true || (row.windowEndsAt !== null && now < row.windowEndsAt);
}

/** A start on the timeline that the store is on. */
type StartHere = Omit<Start, 'timeline'>;

/** What a turn writes of an operation, whether it is its own or that of its saga. */
export interface Written
  extends Pick<
    Turn,
    'owner' | 'generation' | 'turn' | 'state' | 'dueInMs' | 'reason' | 'contradicted' | 'format' | 'snapshot' | 'output'
  > {
  readonly start: StartHere | null;
}

export function bornOperation(
  turn: Written,
  birth: Birth & { readonly id: string; readonly saga: string | null },
  now: number,
): Kept {
  return {
    ...written(turn, now),
    ...started(turn.start, { firstStartedAt: null, sendBy: null, windowEndsAt: null }, now),
    tenant: birth.tenant,
    id: birth.id,
    saga: birth.saga,
    action: birth.action,
    key: birth.key,
    providerKey: birth.providerKey,
    fingerprint: birth.fingerprint,
    revision: 1,
    born: turn.turn,
    since: now,
    createdAt: now,
    contradictedAt: turn.contradicted ? now : null,
    doubtedAt: turn.contradicted || isDoubt(turn.state) ? now : null,
    input: birth.input,
    output: turn.output,
  };
}

export function movedOperation(row: Kept, turn: Written, now: number): Kept {
  return {
    ...row,
    ...written(turn, now),
    ...started(turn.start, row, now),
    revision: row.revision + 1,
    since: row.state === turn.state ? row.since : now,
    contradictedAt: turn.contradicted ? (row.contradictedAt ?? now) : row.contradictedAt,
    doubtedAt: doubtedAt(row, turn, now),
    output: turn.output ?? row.output,
  };
}

export function keep(rows: Rows, row: Kept): void {
  rows.operations.set(keyOf(row), row);
  rows.identities.set(identityName(row), keyOf(row));
}

/** Appends what a turn recorded to the history of the row that it wrote, and gives it as it is stored. */
export function record(
  rows: Rows,
  row: OperationRef & { readonly revision: number },
  records: readonly NewRecord[],
  now: number,
): readonly StoredRecord[] {
  const { revision } = row;
  const stored = records.map(({ kind, attempt, body }, n) => ({ revision, n, kind, attempt, at: now, body }));
  const history = rows.records.get(keyOf(row)) ?? [];
  rows.records.set(keyOf(row), history);
  history.push(...stored);
  return stored;
}

export function take({ handovers }: Rows, turn: OperationRef & { readonly takes: readonly string[] }): void {
  for (const handoverId of turn.takes) handovers.delete(handoverName({ ...turn, handoverId }));
}

/** What every turn overwrites. */
function written(turn: Written, now: number) {
  return {
    owner: turn.owner,
    generation: turn.generation,
    turn: turn.turn,
    state: turn.state,
    dueAt: turn.dueInMs === null ? null : now + Math.ceil(turn.dueInMs),
    reason: turn.reason,
    format: turn.format,
    snapshot: turn.snapshot,
  };
}

type Times = Pick<OperationRow, 'firstStartedAt' | 'sendBy' | 'windowEndsAt'>;

/** The times that the start of an attempt leaves in the row. */
function started(start: StartHere | null, before: Times, now: number): Times {
  const { firstStartedAt, sendBy, windowEndsAt } = before;
  if (start === null) return { firstStartedAt, sendBy, windowEndsAt };
  const first = firstStartedAt ?? now;
  const limit = now + Math.ceil(start.sendWithinMs);
  const end = windowEnd(start, { firstStartedAt: first, sendBy, windowEndsAt }, now);
  const isCut = start.insideWindow && end !== null;
  return { firstStartedAt: first, sendBy: isCut ? Math.min(limit, end) : limit, windowEndsAt: end };
}

/**
 * Kept as long as the provider may know the key from an earlier request, the last of which may have arrived late, and
 * started anew by a fresh start after that.
 */
function windowEnd(start: StartHere, before: Times & { firstStartedAt: number }, now: number): number | null {
  const { firstStartedAt, sendBy, windowEndsAt } = before;
  if (start.retentionMs === null) return windowEndsAt;
  const [retentionMs, marginMs] = [Math.ceil(start.retentionMs), Math.ceil(start.marginMs)];
  const onItsWayMs = marginMs - Math.ceil(start.sendWithinMs);
  const forgottenAt = (sendBy ?? firstStartedAt) + onItsWayMs + retentionMs;
  if (!start.insideWindow && now >= forgottenAt) return now + retentionMs - marginMs;
  return windowEndsAt ?? firstStartedAt + retentionMs - marginMs;
}

function doubtedAt(row: Kept, turn: Written, now: number): number | null {
  if (isDoubt(turn.state)) return isDoubt(row.state) ? row.doubtedAt : now;
  return turn.contradicted && row.contradictedAt === null ? now : row.doubtedAt;
}

/** What belongs to a saga is never claimed by itself, and what this version does not read by nobody here. */
export function claim(
  rows: Rows,
  worker: string,
  actions: readonly string[],
  limit: number,
  which: Sought | InTurn | undefined,
  now: number,
): readonly OperationRow[] {
  const isServed = (row: Kept): boolean => row.saga === null && isReadable(row) && actions.includes(row.action);
  return claimFrom(rows, rows.operations, { worker, isServed, limit, which, now }).map((row) =>
    present(rows, row, now),
  );
}

/** Whose turn it was last; a claim in which tenants take turns moves it on. */
export interface Place {
  after: string;
}

export interface InTurn extends Turns {
  readonly place: Place;
}

export interface Claim<Row> {
  readonly worker: string;
  readonly isServed: (row: Row) => boolean;
  readonly limit: number;
  readonly which: Sought | InTurn | undefined;
  readonly now: number;
}

export function claimFrom<Row extends Ownable>(
  rows: Rows,
  table: Map<string, Row>,
  { worker, isServed, limit, which, now }: Claim<Row>,
): readonly Row[] {
  if (!isLiving(rows, worker)) return [];
  return picked().map((row) => {
    const claimed: Row = { ...row, owner: worker, generation: row.generation + 1 };
    table.set(keyOf(row), claimed);
    return claimed;
  });

  function picked(): readonly Row[] {
    if (which !== undefined && 'id' in which) return claimableOne(rows, table, which).filter(isServed);
    const candidates = claimable(rows, table, now).filter(({ row }) => isServed(row));
    if (which === undefined) return candidates.slice(0, limit).map(({ row }) => row);
    const { place, without } = which;
    const turns = byTurns(candidates, { limit, after: place.after, without });
    place.after = turns.after;
    return turns.rows;
  }
}

function claimableOne<Row extends Ownable>(rows: Rows, table: ReadonlyMap<string, Row>, sought: Sought): Row[] {
  const row = table.get(keyOf(sought));
  if (row === undefined || isLivingOwned(rows, row)) return [];
  if (sought.generation !== undefined && sought.generation !== row.generation) return [];
  const rests = row.owner === null && row.dueAt === null && waitingFor(rows, row).length === 0;
  return rests ? [] : [row];
}

function claimable<Row extends Ownable>(rows: Rows, table: ReadonlyMap<string, Row>, now: number): Candidate<Row>[] {
  const handedAt = new Map<string, number>();
  for (const { handover, at } of rows.handovers.values()) {
    const name = keyOf(handover);
    handedAt.set(name, Math.min(handedAt.get(name) ?? at, at));
  }
  const ready: { row: Row; at: number; isOnlyDue: boolean }[] = [];
  for (const [name, row] of table) {
    const handed = handedAt.get(name) ?? null;
    if (row.owner !== null) {
      if (!isLivingOwned(rows, row)) ready.push({ row, at: row.dueAt ?? row.since, isOnlyDue: false });
    } else if (handed !== null || (row.dueAt !== null && row.dueAt <= now)) {
      const at = Math.min(row.dueAt ?? Infinity, handed ?? Infinity);
      ready.push({ row, at, isOnlyDue: handed === null });
    }
  }
  return ready.sort((a, b) => a.at - b.at || byName(a.row, b.row));
}

function isLivingOwned(rows: Rows, { owner }: Ownable): boolean {
  return owner !== null && isLiving(rows, owner);
}

function isLiving({ workers }: Rows, worker: string): boolean {
  return workers.get(worker)?.deadAt === null;
}

export function handedOver(rows: Rows, worker: string, limit: number): OperationRef[] {
  const found = new Map<string, OperationRef>();
  for (const { handover } of rows.handovers.values()) {
    const name = keyOf(handover);
    const row = rows.operations.get(name) ?? rows.sagas.get(name);
    if (row?.owner === worker) found.set(name, { tenant: handover.tenant, id: handover.id });
  }
  return [...found.values()].slice(0, limit);
}

export function doubts(
  rows: Rows,
  query: { readonly tenant: string | null; readonly limit: number; readonly after: OperationRef | null },
  now: number,
): OperationRow[] {
  const last = query.after === null ? undefined : rows.operations.get(keyOf(query.after));
  // A cursor that names no row has no place in the list, and nothing follows it.
  if (query.after !== null && last === undefined) return [];
  return [...rows.operations.values()]
    .filter((row) => isDoubt(row.state) || row.contradictedAt !== null)
    .filter((row) => query.tenant === null || row.tenant === query.tenant)
    .filter((row) => last === undefined || byDoubt(row, last) > 0)
    .sort(byDoubt)
    .slice(0, query.limit)
    .map((row) => present(rows, row, now));
}

export function settledBetween(rows: Rows, query: SettledQuery, now: number): OperationRow[] {
  const { actions, from, to, limit, after } = query;
  const last = after === null ? undefined : rows.operations.get(keyOf(after));
  // A cursor that names no row has no place in the list, and nothing follows it.
  if (after !== null && last === undefined) return [];
  const place = last !== undefined && isSettled(last.state) && last.since <= to ? last : undefined;
  return [...rows.operations.values()]
    .filter((row) => isSettled(row.state) && actions.includes(row.action))
    .filter((row) => from <= row.since && row.since <= to)
    .filter((row) => place === undefined || bySince(row, place) > 0)
    .sort(bySince)
    .slice(0, limit)
    .map((row) => present(rows, row, now));
}

type Since = OperationRef & Pick<OperationRow, 'since'>;

export function bySince(a: Since, b: Since): number {
  return a.since - b.since || byName(a, b);
}

function byDoubt(a: Kept, b: Kept): number {
  const [left, right] = [a.doubtedAt ?? -Infinity, b.doubtedAt ?? -Infinity];
  if (left !== right) return left < right ? -1 : 1;
  return byName(a, b);
}

export function byName(a: OperationRef, b: OperationRef): number {
  if (a.tenant !== b.tenant) return a.tenant < b.tenant ? -1 : 1;
  if (a.id !== b.id) return a.id < b.id ? -1 : 1;
  return 0;
}

export function handOver({ handovers }: Rows, handover: Handover, now: number): void {
  const name = handoverName(handover);
  if (!handovers.has(name)) handovers.set(name, { handover, at: now });
}

export function findByIdentity({ identities, operations }: Rows, identity: Identity): Kept | undefined {
  const name = identities.get(identityName(identity));
  return name === undefined ? undefined : operations.get(name);
}

export function shown(rows: Rows, row: Kept | undefined, now: number): OperationRow | null {
  return row === undefined ? null : present(rows, row, now);
}

export function present(rows: Rows, { doubtedAt: _, ...row }: Kept, now: number): OperationRow {
  return { ...row, handovers: waitingFor(rows, row), now };
}

export function waitingFor({ handovers }: Rows, ref: OperationRef): readonly Handover[] {
  return [...handovers.values()]
    .map(({ handover }) => handover)
    .filter(({ tenant, id }) => tenant === ref.tenant && id === ref.id);
}

function identityName({ tenant, action, key }: Identity): string {
  return JSON.stringify([tenant, action, key]);
}

function handoverName({ tenant, id, handoverId }: Omit<Handover, 'body'>): string {
  return JSON.stringify([tenant, id, handoverId]);
}
