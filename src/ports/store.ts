/**
 * What the orchestrator needs from a database, as verbs of the domain. The store is the only durable truth: whatever
 * resolved here survives a crash; whatever rejected with STORE_UNAVAILABLE did not happen; whatever rejected with
 * STORE_IN_DOUBT may have happened and is settled by repeating the identical call.
 *
 * Promises that every adapter keeps, checked by `storeSuite`:
 *  - Each verb is atomic: all of it or none of it, whatever dies in between.
 *  - Times are the store's own (`now` in every answer); delays are added to that time inside the statement.
 *  - A turn's fence is part of the write itself: owner, generation and revision of the updated row decide whether
 *    anything at all is written.
 *  - Values are JSON made by the codec of `domain/codec.ts` and come back deep-equal.
 *  - No verb reads or writes across tenants; every row is addressed by tenant and id.
 */

import type { CheckupFinding } from '../domain/checkup.ts';
import type { Json } from '../domain/json.ts';
import type { OperationState } from '../domain/operation-state.ts';
import type { SagaState } from '../domain/saga-state.ts';
import { isKeyText, KEY_LENGTH_MAX } from '../domain/text.ts';
import type { Clock } from './clock.ts';

export interface Store {
  /** What people call it: `memory`, `pglite`, `postgres`. */
  readonly name: string;
  /** True when only one orchestrator can be at work: its start declares every other worker dead. */
  readonly exclusive: boolean;

  /** Opens, checks or migrates. Rejects with one clear error when it cannot; nothing is written then. */
  open(): Promise<void>;
  /** Closes what `open` opened. Safe to call twice. */
  close(): Promise<void>;
  /** Names these tables among all that there are, once it is open. Left out where no two processes can share them. */
  ledger?(): string;

  /** Creates the row of a worker, fresh from now, and tells which timeline the store is on. */
  enlist(worker: string): Promise<Timeline>;
  /**
   * Renews a worker while its last renewal is younger than `timeoutMs`, it is not dead, and the store is still on this
   * timeline; false: it is over.
   */
  renew(worker: string, timeoutMs: number, timeline: string): Promise<boolean>;
  /** Marks dead every worker whose last renewal is older than `timeoutMs`, or (`'others'`) all but `worker`. */
  bury(worker: string, which: 'others' | { readonly timeoutMs: number }): Promise<number>;
  /**
   * Marks the worker dead and releases what it still owns, under the next generation: due when it was due, and at once if
   * it was under way, as each saga is that it owns.
   */
  retire(worker: string): Promise<void>;

  /**
   * One turn of one operation: birth or fenced move, with its history records and the hand-overs it takes.
   * Resolves to the receipt when the turn is durable, to null when nothing was written (identity taken, fence not
   * met, or the window's end passed): read again and decide. Repeating an identical turn writes nothing twice.
   */
  turn(turn: Turn): Promise<Receipt | null>;

  /**
   * Claims up to `limit` operations of these `actions` for `worker`, raising each generation by one: those that are
   * unowned and due or handed something over, and those of dead or missing workers. With `only`, just that operation,
   * due already or later; what rests, with no due time and nothing handed over, is left. Never touches what a living
   * worker owns, and gives nothing to a worker that is dead itself. Oldest due first. What is in a format that this
   * version does not read counts for nothing here: it is left to who does, with all that was handed over about it.
   *
   * With `Turns` tenants take turns, so that none waits behind all that another has: of what is due, the oldest of each,
   * tenant after tenant, from where the last such claim of this store ended. What was handed over or is left by the dead
   * is claimed as ever. It looks at so many tenants, and so far down in what each has, that its cost is bounded: whoever
   * wants all there is asks again until it gives none.
   */
  claim(
    worker: string,
    actions: readonly string[],
    limit: number,
    which?: Sought | Turns,
  ): Promise<readonly OperationRow[]>;

  /** Operations and sagas owned by `worker` for which hand-overs wait. */
  handedOver(worker: string, limit: number): Promise<readonly OperationRef[]>;

  /**
   * One turn of one saga together with what it changes of its operations: all of it is written, or nothing. Resolves
   * and repeats as `turn` does. An operation to be born whose id or identity is taken is left out, and named in the
   * receipt as met: whoever has it is read next.
   */
  sagaTurn(turn: SagaTurn): Promise<SagaReceipt | null>;

  /**
   * As `claim`, for sagas of these definitions, whose turns are their own. The operations of a saga are never claimed by themselves. One that is
   * escalated because its chart has changed is left to who has its hash, or names none.
   */
  claimSagas(
    worker: string,
    definitions: readonly ServedSaga[],
    limit: number,
    which?: Sought | Turns,
  ): Promise<readonly SagaRow[]>;

  readSaga(ref: OperationRef): Promise<SagaRow | null>;
  readSagaByIdentity(identity: SagaIdentity): Promise<SagaRow | null>;
  /** Which of these resources are held, and by which sagas. */
  heldLocks(tenant: string, resources: readonly string[]): Promise<readonly HeldLock[]>;
  /** The history of a saga and of its operations as one, in the order in which it was written. */
  sagaRecords(ref: OperationRef): Promise<readonly SagaRecord[]>;

  read(ref: OperationRef): Promise<OperationRow | null>;
  readByIdentity(identity: Identity): Promise<OperationRow | null>;
  /** The history of an operation, oldest first. */
  records(ref: OperationRef): Promise<readonly StoredRecord[]>;
  /** Operations in doubt, or contradicted after they settled, longest first; pass the last row's id to go on. */
  doubts(query: DoubtQuery): Promise<readonly OperationRow[]>;
  /** Sagas that are escalated, longest first; pass the last row to go on, whatever has become of it meanwhile. */
  escalatedSagas(query: EscalatedQuery): Promise<readonly EscalatedSagaRow[]>;
  /** Sagas of one version that are not settled, by tenant and id; pass the last row's id to go on. */
  sagasInFlight(query: InFlightQuery): Promise<readonly SagaRow[]>;
  /** Of every version of a saga how many are not settled, by name and version; those that have none are left out. */
  sagaVersions(query: VersionQuery): Promise<readonly SagaVersionRow[]>;
  /**
   * Operations of these `actions`, of every tenant, that settled from `from` until `to` and have not moved on, earliest
   * first; pass the last row's id to go on.
   */
  settledBetween(query: SettledQuery): Promise<readonly OperationRow[]>;

  /** The one write that needs no claim: appends a hand-over. Its id makes repeating it harmless. */
  handOver(handover: Handover): Promise<void>;

  /**
   * Keeps an event for a saga once, whether that is there yet or not, and hands it over. Resolves to what is kept under
   * this name and id: what was sent before, if it was, with what became of it.
   */
  signal(signal: NewSignal): Promise<SignalRow>;
  /** Null: no event of this name and id was sent to this saga. */
  readSignal(ref: SignalRef): Promise<SignalRow | null>;

  /**
   * The verbs that may run inside a transaction of the caller's. Left out by stores that cannot. Rejects with
   * INPUT_INVALID for what is no transaction, and with TRANSACTION_BROKEN when its statements cannot be relied upon.
   */
  within?(transaction: Transaction): Promise<StoreInTransaction>;
  /**
   * Calls `heard` when a transaction of a caller's, in whatever process, has committed something that begins, or has to be
   * attended to: a hint, as a wake is. Returns what ends it. Left out by stores that do not hear of it.
   */
  onCommitted?(heard: (ref: OperationRef) => void): () => void;

  /**
   * Looks at the database for whoever checks a set-up, whether the store is open or not; changes nothing. Settles in
   * bounded time and does not reject because of what it finds. Left out by stores that have nothing outside the process.
   */
  examine?(asking: Examining): Promise<readonly CheckupFinding[]>;
}

/** What is compared with the database when it is examined. */
export interface Examining {
  readonly clock: Pick<Clock, 'now'>;
  /** Attempts and look-ups that may be carried out at once. */
  readonly concurrency: number;
}

/**
 * A transaction of the caller's own: Drizzle's (on node-postgres, `postgres` or PGlite), a client of node-postgres in a
 * transaction, a transaction of `postgres` or PGlite, or a function that runs one statement in it and gives its rows.
 * The other members tell it from what only looks like one: a pool, a database.
 */
export type Transaction =
  | { readonly execute: (query: never) => PromiseLike<unknown>; readonly rollback: () => never }
  | { readonly unsafe: (text: never, values: never) => PromiseLike<unknown>; readonly savepoint: unknown }
  | { readonly unsafe: (text: never, values: never) => PromiseLike<unknown>; readonly release: unknown }
  | {
      readonly query: (text: never, values: never) => PromiseLike<unknown>;
      readonly totalCount?: never;
      readonly transaction?: never;
    }
  | ((text: string, values: unknown[]) => PromiseLike<readonly object[] | { readonly rows: readonly object[] }>);

/** What is written here commits with the caller's transaction, or not at all. Nothing is repeated and nothing in doubt. */
export interface StoreInTransaction {
  turn(turn: Turn): Promise<Receipt | null>;
  sagaTurn(turn: SagaTurn): Promise<SagaReceipt | null>;
  readByIdentity(identity: Identity): Promise<OperationRow | null>;
  readSagaByIdentity(identity: SagaIdentity): Promise<SagaRow | null>;
  signal(signal: NewSignal): Promise<SignalRow>;
  heldLocks(tenant: string, resources: readonly string[]): Promise<readonly HeldLock[]>;
}

/**
 * The line of commits that the store goes on with. A fail-over begins another one, on which commits that had been
 * acknowledged before may be missing.
 */
export interface Timeline {
  readonly id: string;
  /** When a worker was first enlisted on it, by the store's time; null: the store has been on no other since it was made. */
  readonly changedAt: number | null;
}

export interface OperationRef {
  readonly tenant: string;
  readonly id: string;
}

/** One that is to be claimed; with a generation only while it has that. */
export interface Sought extends OperationRef {
  readonly generation?: number;
}

/** An operation as the key of a map: no two of different tenants or ids share one. */
export function keyOf({ tenant, id }: OperationRef): string {
  return JSON.stringify([tenant, id]);
}

/** What `keyOf` made a key of, whoever sent that; null: it is none. */
export function refOf(key: string): OperationRef | null {
  try {
    const parts: unknown = JSON.parse(key);
    if (!Array.isArray(parts) || parts.length !== 2) return null;
    const [tenant, id]: readonly unknown[] = parts;
    return isKeyText(tenant, KEY_LENGTH_MAX) && isKeyText(id, KEY_LENGTH_MAX) ? { tenant, id } : null;
  } catch {
    return null;
  }
}

export interface Identity {
  readonly tenant: string;
  readonly action: string;
  readonly key: string;
}

/** An operation as stored. Times are milliseconds since the epoch by the store's clock. */
export interface OperationRow extends OperationRef, Identity {
  /**
   * The saga it belongs to; null: it stands alone. One that belongs to a saga is moved by the saga's turns only, has
   * no owner, generation (it is 0) or due time of its own, and what is said about it is handed over to the saga.
   */
  readonly saga: string | null;
  readonly providerKey: string;
  readonly fingerprint: string;
  readonly owner: string | null;
  readonly generation: number;
  /** Counts the turns of this operation. A fail-over that loses some makes the same numbers come again. */
  readonly revision: number;
  /** Id of the turn that wrote the row last, and of the turn that created it. A person's decision is bound to the first. */
  readonly turn: string;
  readonly born: string;
  readonly state: OperationState;
  /** When the state was last entered. */
  readonly since: number;
  readonly dueAt: number | null;
  readonly createdAt: number;
  readonly firstStartedAt: number | null;
  readonly sendBy: number | null;
  /** Until when another attempt may start under the same key; null: nothing was started, or no key is retained. */
  readonly windowEndsAt: number | null;
  readonly reason: string | null;
  readonly contradictedAt: number | null;
  readonly input: Json;
  /** Of the snapshot and the output, as `domain/format.ts` counts them. */
  readonly format: number;
  readonly snapshot: Json;
  readonly output: Json | null;
  /** Hand-overs waiting, oldest first. */
  readonly handovers: readonly Handover[];
  /** The store's time at which this was read. */
  readonly now: number;
}

export interface Turn extends OperationRef {
  /** Random; stored in the rows the turn wrote, so that doubt about it can be settled. */
  readonly turn: string;
  /** Birth: uniqueness of the identity is the fence. Otherwise the row must still be as `was` says. */
  readonly birth: Birth | null;
  readonly was: Fence | null;
  readonly owner: string | null;
  readonly generation: number;
  readonly state: OperationState;
  /** Due this long after the store's now; null: nothing is due. */
  readonly dueInMs: number | null;
  readonly reason: string | null;
  readonly contradicted: boolean;
  /** Of the snapshot, and of the output that is stored from now on. */
  readonly format: number;
  readonly snapshot: Json;
  /** Null leaves what is stored. */
  readonly output: Json | null;
  /**
   * Set when the turn rests on which starts are recorded: one that records a start, reckons with one that may be lost,
   * or fails because no attempt had an effect. Of the last one nothing follows for the row that matters.
   */
  readonly start: Start | null;
  readonly records: readonly NewRecord[];
  /** Ids of the hand-overs this turn applies; they are deleted with it. */
  readonly takes: readonly string[];
}

export interface Birth extends Identity {
  readonly providerKey: string;
  readonly fingerprint: string;
  readonly input: Json;
}

export interface Fence {
  readonly owner: string | null;
  readonly generation: number;
  readonly revision: number;
}

/**
 * The recorded start of an attempt, and what follows from it for the row:
 *  - The window is the time in which another attempt may start under the same key: it ends `retentionMs - marginMs`
 *    after the first recorded start, so that whatever starts inside it arrives while the provider knows the key.
 *  - A start inside the window is written only while it is open, leaves it as it is, and sets `sendBy` to now +
 *    `sendWithinMs`, but not beyond the window.
 *  - Any other start is fresh: all earlier attempts are proven to be without effect. Its `sendBy` is now +
 *    `sendWithinMs`. Once `retentionMs` have passed since the last request could have arrived, which is `sendBy` and
 *    the rest of the margin, the key is forgotten and the window starts anew from now; until then it is kept, for the
 *    provider may still count from an earlier request.
 */
export interface Start {
  /** The attempt must leave within this long of the store's now. */
  readonly sendWithinMs: number;
  /** How long the provider knows the key; null: it does not. */
  readonly retentionMs: number | null;
  /** How long after its start a request may be on its way. */
  readonly marginMs: number;
  /** True when an earlier attempt is unproven: the whole turn is written only while the window is open. */
  readonly insideWindow: boolean;
  /** The whole turn is written only while the store is on this timeline: on another one, a start may be missing. */
  readonly timeline: string;
}

/** What a written turn says back. */
export interface Receipt {
  readonly revision: number;
  readonly now: number;
  readonly since: number;
  readonly dueAt: number | null;
  readonly firstStartedAt: number | null;
  readonly sendBy: number | null;
  readonly windowEndsAt: number | null;
}

/** One fact of an operation's history. */
export interface NewRecord {
  readonly kind: RecordKind;
  readonly attempt: number | null;
  readonly body: Json;
}

export type RecordKind = 'start' | 'end' | 'lookup' | 'evidence' | 'verdict' | 'cancel' | 'moved';

export interface StoredRecord extends NewRecord {
  readonly revision: number;
  /** Order within the revision. */
  readonly n: number;
  readonly at: number;
}

/** Something said about an operation or a saga by who does not own it: evidence, a verdict, a cancellation. */
export interface Handover extends OperationRef {
  readonly handoverId: string;
  readonly body: Json;
}

/** One event from outside for one saga; `id` is the saga's. Who sends it twice says the same in all four. */
export interface SignalRef extends OperationRef {
  readonly name: string;
  readonly eventId: string;
}

export interface NewSignal extends SignalRef {
  readonly fingerprint: string;
  /** It is not applied any more this long after the store's now. */
  readonly keepForMs: number;
  /** What is handed over, an object; it is given the time at which it expires as `expiresAt`. */
  readonly handoverId: string;
  readonly body: Json;
}

/** What became of an event. Times are milliseconds since the epoch by the store's clock. */
export interface SignalRow extends SignalRef {
  readonly fingerprint: string;
  readonly state: SignalState;
  /** Why it was refused. */
  readonly why: string | null;
  readonly at: number;
  readonly expiresAt: number;
  /** The store's time at which this was read. */
  readonly now: number;
}

/**
 * `new`: no turn has heard it. `kept`: one has, and its saga does not take it yet. The others are final.
 */
export type SignalState = 'new' | 'kept' | 'applied' | 'refused' | 'expired';

/** What a turn makes of an event that it has heard. One that is final stays as it is. */
export interface SignalChange extends Pick<SignalRow, 'name' | 'eventId' | 'why'> {
  readonly state: Exclude<SignalState, 'new'>;
}

/** A claim in which tenants take turns. */
export interface Turns {
  /** Tenants that have none: what is due of theirs is left. */
  readonly without: readonly string[];
}

export interface DoubtQuery {
  /** Null: of every tenant. */
  readonly tenant: string | null;
  readonly limit: number;
  readonly after: OperationRef | null;
}

export interface EscalatedQuery extends Omit<DoubtQuery, 'after'> {
  /** A place in the list, which names no row: what stood there may have left. */
  readonly after: Pick<EscalatedSagaRow, 'tenant' | 'id' | 'since'> | null;
}

export interface InFlightQuery extends SagaVersion, DoubtQuery {}

export interface VersionQuery {
  /** Null: of every tenant. */
  readonly tenant: string | null;
}

export interface SettledQuery {
  readonly actions: readonly string[];
  /** Milliseconds since the epoch by the store's clock, both included. */
  readonly from: number;
  readonly to: number;
  readonly limit: number;
  /** What has moved on meanwhile has lost its place: after that, the list begins again and leaves nothing out. */
  readonly after: OperationRef | null;
}

export interface SagaVersion {
  readonly name: string;
  readonly version: number;
}

/** How many sagas of a version are not settled. */
export interface SagaVersionRow extends SagaVersion {
  readonly inFlight: number;
  /** Those of them that are escalated. */
  readonly escalated: number;
}

/** What a worker can run. */
export interface ServedSaga extends SagaVersion {
  /** Of the chart that it has; left out: it can go on from any. */
  readonly hash?: string;
}

/** What a saga becomes when it is moved on to another definition. */
export interface SagaForm {
  readonly version: number;
  readonly hash: string;
}

export interface SagaIdentity {
  readonly tenant: string;
  readonly name: string;
  readonly key: string;
}

/** A saga as stored. Times are milliseconds since the epoch by the store's clock. */
export interface SagaRow extends OperationRef, SagaIdentity, SagaVersion {
  /** The structure of the chart that its snapshot fits. */
  readonly hash: string;
  readonly fingerprint: string;
  readonly owner: string | null;
  readonly generation: number;
  readonly revision: number;
  readonly turn: string;
  readonly born: string;
  readonly state: SagaState;
  /** When the state was last entered. */
  readonly since: number;
  /** The earliest of `dues`, or when its worker let go of it by retiring; null: nothing is due. */
  readonly dueAt: number | null;
  /** When each thing that it waits for is due. */
  readonly dues: Readonly<Record<string, number>>;
  readonly createdAt: number;
  readonly reason: string | null;
  readonly input: Json;
  /** Of the snapshot and the output; never older than that of one of its operations. */
  readonly format: number;
  readonly snapshot: Json;
  readonly output: Json | null;
  /** Its operations, inverses included, in the order of their birth; the hand-overs about them are the saga's. */
  readonly operations: readonly OperationRow[];
  /** Hand-overs waiting, oldest first. */
  readonly handovers: readonly Handover[];
  readonly now: number;
}

/** What a list tells of a saga that is escalated: nothing of its operations, and of what was said to it. */
export type EscalatedSagaRow = Pick<
  SagaRow,
  'tenant' | 'id' | 'name' | 'version' | 'key' | 'reason' | 'since' | 'dueAt' | 'format' | 'snapshot'
>;

export interface SagaTurn extends OperationRef {
  readonly turn: string;
  /** Birth: uniqueness of the identity is the fence. Otherwise the row must still be as `was` says. */
  readonly birth: SagaBirth | null;
  readonly was: Fence | null;
  readonly owner: string | null;
  readonly generation: number;
  readonly state: SagaState;
  /** Everything that it waits for from now on; what is not listed is waited for no more. */
  readonly dues: readonly Due[];
  readonly reason: string | null;
  readonly format: number;
  readonly snapshot: Json;
  /** The version and the chart that the snapshot fits from now on; null: those that the saga has. */
  readonly becomes: SagaForm | null;
  /** Null leaves what is stored. */
  readonly output: Json | null;
  /** At most one of each operation. */
  readonly operations: readonly OperationChange[];
  /** Set when the turn rests on which starts are recorded: it is written only while the store is on this timeline. */
  readonly timeline: string | null;
  /** Of the saga itself; those of its operations are with their changes. */
  readonly records: readonly NewRecord[];
  /** Ids of the hand-overs this turn applies; they are deleted with it. */
  readonly takes: readonly string[];
  readonly signals: readonly SignalChange[];
}

export interface SagaBirth extends SagaVersion {
  readonly key: string;
  /** Resources that it holds until it settles. Without all of them, nothing of the turn is written. */
  readonly locks: readonly string[];
  readonly hash: string;
  readonly fingerprint: string;
  readonly input: Json;
}

export interface HeldLock {
  readonly resource: string;
  /** Its id. */
  readonly saga: string;
}

export interface Due {
  /** Unique among those of its saga. */
  readonly name: string;
  /** This long after the store's now; null: when it was due already. */
  readonly inMs: number | null;
  /** At this time instead, in milliseconds since the epoch by the store's clock. */
  readonly at?: number;
}

/** What the turn of a saga changes of one of its operations. Its fence is the saga's. */
export interface OperationChange {
  readonly id: string;
  /** Null: it is there already, and the saga's; if it is not, nothing of the turn is written. */
  readonly birth: Omit<Birth, 'tenant'> | null;
  readonly state: OperationState;
  readonly reason: string | null;
  readonly contradicted: boolean;
  readonly format: number;
  readonly snapshot: Json;
  /** Null leaves what is stored. */
  readonly output: Json | null;
  /** The whole turn is written only while the window of every start inside one is open. */
  readonly start: Omit<Start, 'timeline'> | null;
  readonly records: readonly NewRecord[];
}

/** What a written turn of a saga says back. */
export interface SagaReceipt {
  readonly revision: number;
  readonly now: number;
  readonly since: number;
  readonly dueAt: number | null;
  readonly dues: Readonly<Record<string, number>>;
  /** Of every operation that was changed or born, by id. */
  readonly operations: Readonly<Record<string, OperationReceipt>>;
  /** Ids of operations that were not born, because their id or identity is taken. */
  readonly met: readonly string[];
}

export interface OperationReceipt {
  readonly revision: number;
  readonly since: number;
  readonly createdAt: number;
  readonly firstStartedAt: number | null;
  readonly sendBy: number | null;
  readonly windowEndsAt: number | null;
}

export interface SagaRecord extends StoredRecord {
  /** The operation that it is about; null: the saga itself. */
  readonly operation: string | null;
}
