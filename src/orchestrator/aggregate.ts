/**
 * What has one owner and moves by one turn at a time: a saga with its operations, or an operation that stands alone.
 * It is a value: a turn makes another one, which counts once the store has written it. The driver holds aggregates and
 * knows nothing of what is inside, except the operations that have to be carried out.
 */

import type { Json } from '../domain/json.ts';
import type { Facts } from '../domain/policy.ts';
import type { Operation } from '../define/operation.ts';
import type { KernelRow } from '../kernel/row.ts';
import type { Logger } from '../ports/logger.ts';
import type {
  Fence,
  Handover,
  OperationRef,
  OperationRow,
  Receipt,
  SagaReceipt,
  SagaRow,
  SagaTurn,
  Store,
  Turn,
} from '../ports/store.ts';
import type { HandoverAnswer, OperationHappening } from './advance.ts';
import type { Startable } from './hand.ts';
import type { HandedOver, SaidOfOperation } from './handover.ts';

/** An operation as who drives it knows it. */
export interface Member {
  readonly ref: OperationRef;
  readonly definition: Operation;
  readonly idempotencyKey: string;
  /** The operation alone that it takes back; null: it takes none back, or that is a saga's. */
  readonly undoes: string | null;
  /** As recorded; decoded anew for every call, so that nobody who holds a copy can change what is sent. */
  readonly input: Json;
  readonly createdAt: number;
  /** Names its history, for decisions about it. */
  readonly seen: string;
  readonly sendBy: number | null;
  readonly windowEndsAt: number | null;
  /** When it is due; null: at once. */
  readonly dueAt: number | null;
  /** In which it is stored. */
  readonly format: number;
  readonly row: KernelRow;
}

export type Times = Pick<Member, 'createdAt' | 'sendBy' | 'windowEndsAt'>;

/** What is known at the moment of a turn. */
export interface Moment {
  /** The store's time, as far as this process can tell. */
  readonly now: number;
  readonly factsOf: (times: Times) => Facts;
  /** What a fail-over may have lost of an operation that is born now: then it is not sent at once. */
  readonly mayBeRepeated: boolean;
  /** What may be started with the turn, beside one that is due. */
  readonly hand: Startable;
}

export type Happening =
  | { readonly type: 'operation'; readonly id: string; readonly what: OperationHappening }
  | { readonly type: 'timer'; readonly name: string; readonly generation: number }
  | { readonly type: 'handed.over'; readonly handovers: readonly Handover[] }
  /**
   * What was read of others: operations that its steps would join, and sagas that have joined its own; null: missing.
   * `timer`: what was due; null: nothing was, others have woken it.
   */
  | { readonly type: 'seen'; readonly others: Others; readonly timer: string | null }
  /** Nothing happened; it is given back. */
  | { readonly type: 'released' };

export interface Others {
  readonly operations: ReadonlyMap<string, OperationRow | null>;
  readonly sagas: ReadonlyMap<string, SagaRow | null>;
}

/** Whose the aggregate is once the turn is written, and what it was before. */
export interface WrittenAs {
  readonly turn: string;
  readonly was: Fence;
  readonly owner: string | null;
  readonly generation: number;
  /** The timeline that a start in the turn rests on, and how long ago a start that is lost may have been recorded. */
  readonly timeline: string;
  readonly lostForMs: number;
}

/** What a turn leads to once it is written. */
interface Leading {
  /** How long until the next thing is due; null: it waits for something from outside. */
  readonly waitMs: number | null;
  /** An attempt is in flight then. */
  readonly isUnderWay: boolean;
  /** It has settled then, or a person is asked. */
  readonly rests: boolean;
  /** Operations whose attempt is started by it. */
  readonly starts: readonly string[];
  /** Everything whose history it adds to. */
  readonly changes: readonly OperationRef[];
  /** `turn`: the id it was written under. */
  readonly after: (receipt: AnyReceipt, turn: string) => Aggregate;
  /** Done once it is written, at most once: what must not be missed is an operation. */
  readonly afterwards: (logger: Logger) => void;
}

/** A turn that can be written. */
export interface Made extends Leading {
  /** What became of each hand-over, for those who wait for it. */
  readonly answers: ReadonlyMap<string, HandoverAnswer>;
  readonly turn: (as: WrittenAs) => AnyTurn;
  /** Said to others once it is written; asked for again with the next look, so that nothing is lost with it. */
  readonly asks: readonly Asking[];
  /** Created once it is written, if it is not there yet; found missing by the next look otherwise. */
  readonly begins: readonly Newborn[];
  /** Who waits for what has been settled by it. */
  readonly wakes: readonly OperationRef[];
  /** Operations of others that it had joined until it settled: who has one may have waited for that. */
  readonly lets: readonly OperationRef[];
}

/** The first turn of an aggregate. */
export interface Born extends Leading {
  readonly turn: (as: Omit<WrittenAs, 'was'>) => AnyTurn;
}

/** An aggregate that is to be created. */
export interface Newborn {
  readonly kind: AggregateKind;
  readonly ref: OperationRef;
  /** As {@link Aggregate.startsAtMost}, with its first turn. */
  readonly startsAtMost: number;
  /** Throws what makes its creation impossible; nothing is written then. */
  born(moment: Moment): Born;
  /** What keeps it from being created although nothing has its identity; null: nothing that lasts. */
  hindrance(store: Pick<Store, 'heldLocks'>): Promise<Error | null>;
}

export type AggregateKind = 'operation' | 'saga';

/** What one aggregate has to say to another one, under an id that makes saying it again harmless. */
export interface Asking {
  readonly to: OperationRef;
  readonly said: HandedOver;
  readonly handoverId: string;
}

export interface Timer {
  readonly name: string;
  /** When it is due, others are looked at first. */
  readonly looks: boolean;
  readonly generation: number;
  readonly dueAt: number;
}

export interface Aggregate {
  readonly kind: AggregateKind;
  readonly ref: OperationRef;
  /** How many attempts one turn may start beside the one that is due. */
  readonly startsAtMost: number;
  readonly members: ReadonlyMap<string, Member>;
  /** What it waits for beside its operations. */
  readonly timers: readonly Timer[];
  /** The turn that follows, or null when it came too late to change anything. */
  advance(happening: Happening, moment: Moment): Made | null;
  /** Reads what it waits for of others. */
  look(store: Pick<Store, 'read' | 'readSaga'>): Promise<Others>;
  /** What the store has of it. */
  read(store: Pick<Store, 'read' | 'readSaga'>): Promise<AnyRow | null>;
  /** The same aggregate with the times that the store tells, which has not moved on. */
  readAgain(row: AnyRow): Aggregate;
}

export type AnyTurn = Turn | SagaTurn;
export type AnyReceipt = Receipt | SagaReceipt;
export type AnyRow = OperationRow | SagaRow;

export function isSagaTurn(turn: AnyTurn): turn is SagaTurn {
  return 'operations' in turn;
}

export function isSagaRow(row: AnyRow): row is SagaRow {
  return 'operations' in row;
}

/** It is written only while the store is on the timeline that it was made for. */
export function restsOnStarts(turn: AnyTurn): boolean {
  return isSagaTurn(turn) ? turn.timeline !== null : turn.start !== null;
}

/** A start in it was refused because its window is over; read later than that, so a window that is open was open. */
export function isOutsideWindow(turn: AnyTurn, row: AnyRow): boolean {
  const isOver = (windowEndsAt: number | null | undefined) => windowEndsAt == null || row.now >= windowEndsAt;
  if (isSagaTurn(turn) && isSagaRow(row)) {
    const ends = new Map(row.operations.map(({ id, windowEndsAt }) => [id, windowEndsAt]));
    return turn.operations.some(({ id, start }) => start?.insideWindow === true && isOver(ends.get(id)));
  }
  return !isSagaTurn(turn) && !isSagaRow(row) && turn.start?.insideWindow === true && isOver(row.windowEndsAt);
}

/** What is said about an operation is handed over to whoever owns it, and names it there. */
export function addressed(
  { tenant, id, saga }: OperationRow,
  said: SaidOfOperation,
): { readonly to: OperationRef; readonly said: HandedOver } {
  return saga === null ? { to: { tenant, id }, said } : { to: { tenant, id: saga }, said: { ...said, operation: id } };
}
