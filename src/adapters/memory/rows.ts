/**
 * The rules of the store in memory, as plain functions over its rows: who may claim what, when a turn's fence holds,
 * which times a start leaves behind. Nothing here waits or reads a clock; the time is given. Nothing is copied either:
 * what goes in is kept and what is kept comes out, so that whoever calls copies both.
 */

import { isDoubt, isSettled } from '../../domain/operation-state.ts';
import {
  type Handover,
  type Identity,
  keyOf,
  type OperationRef,
  type OperationRow,
  type Receipt,
  type SettledQuery,
  type Start,
  type StoredRecord,
  type Timeline,
  type Turn,
} from '../../ports/store.ts';

/** A row as kept: without what is read with it, and with the time since which it has been in doubt. */
export interface Kept extends Omit<OperationRow, 'handovers' | 'now'> {
  readonly doubtedAt: number | null;
}

export interface KeptHandover {
  readonly handover: Handover;
  readonly at: number;
}

export interface Rows {
  readonly operations: Map<string, Kept>;
  /** Which operation has an identity. */
  readonly identities: Map<string, string>;
  readonly records: Map<string, StoredRecord[]>;
  /** In the order in which they were handed over. */
  readonly handovers: Map<string, KeptHandover>;
  readonly workers: Map<string, { readonly beatAt: number; readonly deadAt: number | null }>;
  /** When a worker was first enlisted on each timeline. */
  readonly timelines: Map<string, number>;
}

/** The rows of a store in which nothing has happened. */
export function noRows(): Rows {
  return {
    operations: new Map(),
    identities: new Map(),
    records: new Map(),
    handovers: new Map(),
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

export function retire({ workers, operations }: Rows, worker: string, now: number): void {
  const known = workers.get(worker);
  if (known !== undefined && known.deadAt === null) workers.set(worker, { beatAt: known.beatAt, deadAt: now });
  for (const [name, row] of operations) {
    if (row.owner !== worker) continue;
    const dueAt = isSettled(row.state) || row.state === 'escalated' ? row.dueAt : (row.dueAt ?? now);
    operations.set(name, { ...row, owner: null, generation: row.generation + 1, dueAt });
  }
}

export function applyTurn(rows: Rows, turn: Turn, timeline: string, now: number): Receipt | null {
  if (turn.start !== null && turn.start.timeline !== timeline) return null;
  const name = keyOf(turn);
  const row = turn.birth === null ? moved(rows, turn, now) : born(rows, turn, now);
  if (row === null) return null;
  rows.operations.set(name, row);
  rows.identities.set(identityName(row), name);
  const records = rows.records.get(name) ?? [];
  rows.records.set(name, records);
  for (const [n, record] of turn.records.entries()) {
    records.push({ revision: row.revision, n, kind: record.kind, attempt: record.attempt, at: now, body: record.body });
  }
  for (const handoverId of turn.takes) rows.handovers.delete(handoverName({ ...turn, handoverId }));
  const { revision, since, dueAt, firstStartedAt, sendBy, windowEndsAt } = row;
  return { revision, now, since, dueAt, firstStartedAt, sendBy, windowEndsAt };
}

function born(rows: Rows, turn: Turn, now: number): Kept | null {
  const { birth } = turn;
  if (birth === null || rows.operations.has(keyOf(turn))) return null;
  if (rows.identities.has(identityName({ ...birth, tenant: turn.tenant }))) return null;
  return {
    ...written(turn, now),
    ...started(turn.start, { firstStartedAt: null, sendBy: null, windowEndsAt: null }, now),
    tenant: turn.tenant,
    id: turn.id,
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

function moved(rows: Rows, turn: Turn, now: number): Kept | null {
  const row = rows.operations.get(keyOf(turn));
  const { was, start } = turn;
  if (row === undefined || was === null) return null;
  if (row.owner !== was.owner || row.generation !== was.generation || row.revision !== was.revision) return null;
  if (start?.insideWindow === true && !(row.windowEndsAt !== null && now < row.windowEndsAt)) return null;
  return {
    ...row,
    ...written(turn, now),
    ...started(start, row, now),
    revision: row.revision + 1,
    since: row.state === turn.state ? row.since : now,
    contradictedAt: turn.contradicted ? (row.contradictedAt ?? now) : row.contradictedAt,
    doubtedAt: doubtedAt(row, turn, now),
    output: turn.output ?? row.output,
  };
}

/** What every turn overwrites. */
function written(turn: Turn, now: number) {
  return {
    owner: turn.owner,
    generation: turn.generation,
    turn: turn.turn,
    state: turn.state,
    dueAt: turn.dueInMs === null ? null : now + Math.ceil(turn.dueInMs),
    reason: turn.reason,
    snapshot: turn.snapshot,
  };
}

type Times = Pick<OperationRow, 'firstStartedAt' | 'sendBy' | 'windowEndsAt'>;

/** The times that the start of an attempt leaves in the row. */
function started(start: Start | null, before: Times, now: number): Times {
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
function windowEnd(start: Start, before: Times & { firstStartedAt: number }, now: number): number | null {
  const { firstStartedAt, sendBy, windowEndsAt } = before;
  if (start.retentionMs === null) return windowEndsAt;
  const [retentionMs, marginMs] = [Math.ceil(start.retentionMs), Math.ceil(start.marginMs)];
  const onItsWayMs = marginMs - Math.ceil(start.sendWithinMs);
  const forgottenAt = (sendBy ?? firstStartedAt) + onItsWayMs + retentionMs;
  if (!start.insideWindow && now >= forgottenAt) return now + retentionMs - marginMs;
  return windowEndsAt ?? firstStartedAt + retentionMs - marginMs;
}

function doubtedAt(row: Kept, turn: Turn, now: number): number | null {
  if (isDoubt(turn.state)) return isDoubt(row.state) ? row.doubtedAt : now;
  return turn.contradicted && row.contradictedAt === null ? now : row.doubtedAt;
}

export function claim(
  rows: Rows,
  worker: string,
  actions: readonly string[],
  limit: number,
  only: OperationRef | undefined,
  now: number,
): readonly OperationRow[] {
  if (!isLiving(rows, worker)) return [];
  const candidates = only === undefined ? claimable(rows, now) : claimableOne(rows, only);
  const picked = candidates.filter(({ action }) => actions.includes(action)).slice(0, limit);
  return picked.map((row) => {
    const claimed: Kept = { ...row, owner: worker, generation: row.generation + 1 };
    rows.operations.set(keyOf(row), claimed);
    return present(rows, claimed, now);
  });
}

function claimableOne(rows: Rows, ref: OperationRef): Kept[] {
  const row = rows.operations.get(keyOf(ref));
  if (row === undefined || isLivingOwned(rows, row)) return [];
  const rests = row.owner === null && row.dueAt === null && present(rows, row, 0).handovers.length === 0;
  return rests ? [] : [row];
}

function claimable(rows: Rows, now: number): Kept[] {
  const handedAt = new Map<string, number>();
  for (const { handover, at } of rows.handovers.values()) {
    const name = keyOf(handover);
    handedAt.set(name, Math.min(handedAt.get(name) ?? at, at));
  }
  const ready: { row: Kept; at: number }[] = [];
  for (const [name, row] of rows.operations) {
    const handed = handedAt.get(name) ?? null;
    if (row.owner !== null) {
      if (!isLivingOwned(rows, row)) ready.push({ row, at: row.dueAt ?? row.since });
    } else if (handed !== null || (row.dueAt !== null && row.dueAt <= now)) {
      ready.push({ row, at: Math.min(row.dueAt ?? Infinity, handed ?? Infinity) });
    }
  }
  return ready.sort((a, b) => a.at - b.at || byName(a.row, b.row)).map(({ row }) => row);
}

function isLivingOwned(rows: Rows, { owner }: Kept): boolean {
  return owner !== null && isLiving(rows, owner);
}

function isLiving({ workers }: Rows, worker: string): boolean {
  return workers.get(worker)?.deadAt === null;
}

export function handedOver(rows: Rows, worker: string, limit: number): OperationRef[] {
  const found = new Map<string, OperationRef>();
  for (const { handover } of rows.handovers.values()) {
    const name = keyOf(handover);
    if (rows.operations.get(name)?.owner === worker) found.set(name, { tenant: handover.tenant, id: handover.id });
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
    .filter((row) => place === undefined || bySettling(row, place) > 0)
    .sort(bySettling)
    .slice(0, limit)
    .map((row) => present(rows, row, now));
}

function bySettling(a: Kept, b: Kept): number {
  return a.since - b.since || byName(a, b);
}

function byDoubt(a: Kept, b: Kept): number {
  const [left, right] = [a.doubtedAt ?? -Infinity, b.doubtedAt ?? -Infinity];
  if (left !== right) return left < right ? -1 : 1;
  return byName(a, b);
}

function byName(a: OperationRef, b: OperationRef): number {
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

function present({ handovers }: Rows, { doubtedAt: _, ...row }: Kept, now: number): OperationRow {
  const waiting = [...handovers.values()]
    .map(({ handover }) => handover)
    .filter(({ tenant, id }) => tenant === row.tenant && id === row.id);
  return { ...row, handovers: waiting, now };
}

function identityName({ tenant, action, key }: Identity): string {
  return JSON.stringify([tenant, action, key]);
}

function handoverName({ tenant, id, handoverId }: Omit<Handover, 'body'>): string {
  return JSON.stringify([tenant, id, handoverId]);
}
