/**
 * What a worker process is asked, and how long each answer may take. The times follow from what the library promises:
 * a call ends by the deadline of the store's calls that it makes, or by the time that it was given to wait.
 */

import type {
  Cancelled,
  Decided,
  OperationState,
  Result,
  SagaResult,
  SagaState,
  SignalStatus,
  Submission,
} from 'sagacity';
import type { Kind } from './shop.ts';

/** The verbs of a worker process; what was ordered is named by its kind and id. */
export interface Verbs {
  /** Makes an orchestrator, unless there is one that has not started yet, and starts it. */
  start(): null;
  stop(): null;
  submit(kind: Kind, orderId: string): { readonly id: string; readonly submission: Submission };
  /** Where it stands. */
  run(kind: Kind, id: string): OperationState | SagaState;
  result(kind: Kind, id: string): End;
  history(kind: Kind, id: string): readonly HistoryLine[];
  cancel(id: string): Cancelled['status'];
  /** Says to a saga what it does not wait for. */
  signal(id: string, eventId: string): Decided['status'] | 'refused';
  /** What became of it. */
  said(id: string, eventId: string): SignalStatus['status'];
  /** The ids of the sagas that hold something. */
  held(): readonly string[];
  /** The ids of the operations in doubt that come first. */
  doubts(): readonly string[];
  /** The ids of the sagas that wait for a person longest. */
  escalated(): readonly string[];
  /** The versions of sagas, as name and number. */
  versions(): readonly string[];
  /** The ids of the first sagas of one of them that have not settled. */
  inFlight(): readonly string[];
  /** The ids of the operations that settled first. */
  settled(): readonly string[];
}

export type Verb = keyof Verbs;

/** How an operation or a saga ended, or that it has not. */
export type End = OperationEnd | SagaEnd;
export type OperationEnd = Result<Recorded>;
/** The outputs of its steps by their names. */
export type SagaEnd = SagaResult<Readonly<Record<string, Recorded>>>;

interface Recorded {
  readonly id: string;
}

/** One record of a history, without what it tells. */
export interface HistoryLine {
  readonly revision: number;
  readonly kind: string;
  readonly attempt: number | null;
}

export interface Asked {
  readonly n: number;
  readonly verb: Verb;
  readonly args: readonly unknown[];
}

/** How a call ended: with a value, with an error of this code, or not in time. `GONE`: the process is not there. */
export type Answer<Value> =
  | { readonly how: 'answered'; readonly value: Value }
  | { readonly how: 'refused'; readonly code: string; readonly message: string }
  | { readonly how: 'hung' };

/** What a worker process says by itself. */
export type Said =
  | { readonly says: 'loaded' }
  | { readonly says: 'answer'; readonly n: number; readonly answer: Answer<unknown> }
  /** A doubt about a turn was settled by finding the turn's id in the row that was read. */
  | { readonly says: 'read-back' }
  /** Something was logged that no outage explains. */
  | { readonly says: 'fault'; readonly what: string };

/** Of every call to the store. */
export const storeDeadlineMs = 1_500;

/** How long `result` and `cancel` are told to wait. */
export const withinMs = 2_000;

/** How late a busy machine may tell of an answer. */
const lateMs = 5_000;

/** How long a submission bears with a store in doubt. */
const submitPatienceMs = 30_000;

/** The longest pause before a call to the store is repeated. */
const pauseMs = 2_000;

/** How long each call may take, by the calls to the store that it makes and what else it waits for. */
export const allowedMs: Readonly<Record<Verb, number>> = {
  start: 12 * storeDeadlineMs + lateMs,
  stop: 3_000 + lateMs,
  submit: submitPatienceMs + pauseMs + 4 * storeDeadlineMs + lateMs,
  run: 2 * storeDeadlineMs + lateMs,
  result: withinMs + 3 * storeDeadlineMs + lateMs,
  history: 3 * storeDeadlineMs + lateMs,
  cancel: withinMs + pauseMs + 4 * storeDeadlineMs + lateMs,
  signal: withinMs + pauseMs + 4 * storeDeadlineMs + lateMs,
  said: storeDeadlineMs + lateMs,
  held: storeDeadlineMs + lateMs,
  doubts: storeDeadlineMs + lateMs,
  escalated: storeDeadlineMs + lateMs,
  versions: storeDeadlineMs + lateMs,
  inFlight: storeDeadlineMs + lateMs,
  settled: storeDeadlineMs + lateMs,
};

const surroundings = ['STORE_UNAVAILABLE', 'ORCHESTRATOR_STOPPED', 'GONE'];

/** With which errors a call may end while everything around it breaks. Only a write can be in doubt. */
export function mayEndWith(verb: Verb, code: string): boolean {
  const writes = ['submit', 'cancel', 'signal', 'start'].includes(verb);
  return surroundings.includes(code) || (writes && code === 'STORE_IN_DOUBT');
}
