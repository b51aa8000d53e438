/**
 * One state of everything: the store's rows, what each worker holds in memory, requests between it and the provider,
 * and the provider's books. Nothing in here is ever changed; a step makes another world that shares what it left alone.
 */

import { enlist, type Kept, type KeptHandover, noRows, type Rows } from '../../../src/adapters/memory/rows.ts';
import { keyOf, type OperationRef } from '../../../src/ports/store.ts';
import type { Position } from './positions.ts';

export const REF: OperationRef = { tenant: 'shop-1', id: 'operation-1' };
export const ACTION = 'card.charge';
export const TIMELINE = '1';

/** The rules compare times of zero as they do others; a start far from it would hide a missing one. */
const BEGINNING = 1_000_000_000;

export interface World {
  readonly now: number;
  readonly store: Stored;
  readonly slots: readonly [Slot, Slot];
  readonly requests: readonly Request[];
  readonly provider: Provider;
  readonly left: Left;
}

/** What may still happen beside the plain course of things. */
export interface Left {
  /** In all. */
  readonly disturbances: number;
  /** Crashes, orderly stops and heartbeats that are not heard. */
  readonly faults: number;
  readonly cancels: number;
  readonly verdicts: number;
}

/** The rows of the store, as far as they matter to one operation. */
export interface Stored {
  readonly operation: Kept | null;
  readonly identities: ReadonlyMap<string, string>;
  readonly handovers: ReadonlyMap<string, KeptHandover>;
  readonly workers: ReadonlyMap<string, WorkerRow>;
}

type WorkerRow = Rows['workers'] extends Map<string, infer Row> ? Row : never;

/** A place for a worker's process. After a crash another process takes it, under another id. */
export interface Slot {
  readonly id: string;
  /** How many processes and ids there have been. */
  readonly count: number;
  /** Its heartbeats do not reach the store. */
  readonly isSilent: boolean;
  /** An id it has given up, and has still to retire. */
  readonly former: string | null;
  readonly held: Held | null;
}

/** An operation in a worker's memory: what it believes. */
export interface Held {
  readonly worker: string;
  readonly generation: number;
  readonly position: Position;
  readonly revision: number;
  readonly dueAt: number | null;
  readonly sendBy: number | null;
  readonly windowEndsAt: number | null;
  /** What was handed over before it was claimed is applied before anything else. */
  readonly appliesFirst: boolean;
  readonly looking: Looking | null;
}

export type Finding = 'found' | 'found-refusal' | 'absent' | 'inconclusive';

/** A look-up under way. */
export interface Looking {
  readonly generation: number;
  readonly beganAt: number;
  readonly finding: Finding;
}

/**
 * Where the worker stands with an attempt:
 *  - `ready`: recorded, not called yet.
 *  - `refused`: its gate let nothing out.
 *  - `waiting`: called, and waiting for the reply.
 *  - `given-up`: its time is over; what still comes is evidence.
 *  - `gone`: the process is no more.
 */
export type Side = 'ready' | 'refused' | 'waiting' | 'given-up' | 'gone';

/** Where the request is: nowhere, on its way to the provider, or its answer on its way back. */
export type Wire = 'none' | 'out' | Answer;

/** What a provider makes of a request. */
export type Answer = 'done' | 'declined' | 'busy';

/** An attempt that was recorded as started, for as long as something may still come of it. */
export interface Request {
  readonly number: number;
  readonly slot: 0 | 1;
  readonly generation: number;
  readonly side: Side;
  readonly wire: Wire;
  /** The worker still holds what it recorded the start for. */
  readonly isHeld: boolean;
  /** The worker has told its executor to stop. */
  readonly isAborted: boolean;
  /** An earlier attempt was unproven when it was recorded. */
  readonly isResubmission: boolean;
  readonly recordedAt: number;
  readonly leavesWithinMs: number;
  readonly leftAt: number | null;
}

export interface Provider {
  /** When each effect took place. */
  readonly effects: readonly number[];
  /** Since when it has a record of a refusal. */
  readonly refusedAt: number | null;
  /** It remembers the key; null where it does not, or no more. `answer` null: of a request that it did not take. */
  readonly key: { readonly since: number; readonly answer: 'done' | 'declined' | null } | null;
}

export function beginning(left: Left): World {
  const now = BEGINNING;
  const rows = noRows();
  for (const id of ['A1', 'B1']) enlist(rows, id, TIMELINE, now);
  const { identities, handovers, workers } = rows;
  return {
    now,
    store: { operation: null, identities, handovers, workers },
    slots: [freshSlot('A1', 1), freshSlot('B1', 1)],
    requests: [],
    provider: { effects: [], refusedAt: null, key: null },
    left,
  };
}

export function freshSlot(id: string, count: number): Slot {
  return { id, count, isSilent: false, former: null, held: null };
}

/** What a verb of the store answered, and the world after it. */
export interface After<Answer> {
  readonly world: World;
  readonly answer: Answer;
}

/** Runs a rule of the store on its rows. */
export function inStore<Answer>(world: World, rule: (rows: Rows, now: number) => Answer): After<Answer> {
  const rows = rowsOf(world.store);
  const answer = rule(rows, world.now);
  return { answer, world: { ...world, store: storedIn(rows, world) } };
}

/** Asks a rule of the store that changes nothing. */
export function asked<Answer>(world: World, rule: (rows: Rows, now: number) => Answer): Answer {
  return rule(rowsOf(world.store), world.now);
}

const NAME = keyOf(REF);

function rowsOf({ operation, identities, handovers, workers }: Stored): Rows {
  return {
    ...noRows(),
    operations: new Map(operation === null ? [] : [[NAME, operation]]),
    identities: new Map(identities),
    handovers: new Map(handovers),
    workers: new Map(workers),
  };
}

/** Records are not kept: no rule reads them. Nor are workers that nobody is and that own nothing. */
function storedIn({ operations, identities, handovers, workers }: Rows, { slots }: World): Stored {
  const operation = operations.get(NAME) ?? null;
  for (const id of workers.keys()) {
    if (operation?.owner !== id && slots[0].id !== id && slots[1].id !== id) workers.delete(id);
  }
  return { operation, identities, handovers, workers };
}

export function withSlot(world: World, at: 0 | 1, change: Partial<Slot>): World {
  const changed = { ...world.slots[at], ...change };
  return { ...world, slots: at === 0 ? [changed, world.slots[1]] : [world.slots[0], changed] };
}

export function withRequest(world: World, request: Request, change: Partial<Request>): World {
  const changed = { ...request, ...change };
  return { ...world, requests: world.requests.map((one) => (one === request ? changed : one)).filter(mayMatter) };
}

/** Nothing more can come of one that nobody waits for and that is nowhere. */
export function mayMatter({ side, wire }: Request): boolean {
  return wire !== 'none' || side === 'ready' || side === 'refused' || side === 'waiting';
}

/** The worker forgets what it held. An attempt that is under way goes on; one that was not called yet never is. */
export function drop(world: World, at: 0 | 1): World {
  if (world.slots[at].held === null) return world;
  const requests = world.requests
    .filter(({ slot, side, isHeld }) => !(slot === at && isHeld && side === 'ready'))
    .map((one) => (one.slot === at && one.isHeld ? lost(one) : one));
  return withSlot({ ...world, requests: requests.filter(mayMatter) }, at, { held: null });
}

/** What comes of an attempt that is not held any more is evidence, whenever it comes. */
function lost(request: Request): Request {
  const side = request.side === 'waiting' ? 'given-up' : request.side;
  return { ...request, side, isHeld: false, isAborted: false };
}

/** The same world after one disturbance more, or null: there may be no more of its sort. */
export function disturbed(world: World, by: 'faults' | 'cancels' | 'verdicts'): World | null {
  const { left } = world;
  if (left.disturbances === 0 || left[by] === 0) return null;
  return { ...world, left: { ...left, disturbances: left.disturbances - 1, [by]: left[by] - 1 } };
}
