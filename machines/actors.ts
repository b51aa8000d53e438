/**
 * What stands for operations, and for sagas that are steps, in a chart. An actor made here does nothing and never ends:
 * the orchestrator carries out the operation after the turn that starts it has been stored, and tells the chart how it
 * was proven to have ended. In the inspector a chart therefore waits at its first operation and does no harm, until a
 * designer scripts its actors with `machine.provide({ actors })`.
 */

import { fromPromise, type PromiseActorLogic } from 'xstate';
import type { Operation } from '../src/define/operation.ts';
import type { OutputOf, SubmittedOf } from '../src/define/result.ts';
import type { Saga } from '../src/define/saga-flow.ts';
import type { OperationFailed } from '../src/domain/operation-failed.ts';

/** What `compensate` ends with: the steps whose effects have been taken back, in the order in which they were. */
export interface TakenBack {
  readonly takenBack: readonly string[];
}

/** An actor for each operation or saga, by the same names, and `compensate`. */
export type ActorsOf<Operations extends Readonly<Record<string, Operation | Saga>>> = {
  [Source in keyof Operations]: PromiseActorLogic<OutputOf<Operations[Source]>, SubmittedOf<Operations[Source]>>;
} & { compensate: PromiseActorLogic<TakenBack, undefined> };

/**
 * The actors of a hand-written machine, for `setup({ actors: actorsFrom(operations) })`. Invoked, each takes the
 * operation's input; `onDone` is its proven success, with its output, and `onError` its proven failure, of which
 * {@link refusalOf} tells the code. As long as nobody knows, neither comes. A saga is invoked in the same way, and then one
 * of its own: `onError` comes when it has been taken back, or was ended as it was.
 *
 * `compensate` takes no input. It takes back what the saga has achieved, once it is proven how everything it began has
 * ended, and is done with the names of the steps it took back.
 *
 * Run live, in the inspector for example, none of them does anything, and none ends.
 */
export function actorsFrom<Operations extends Readonly<Record<string, Operation | Saga>>>(
  operations: Operations,
): ActorsOf<Operations> {
  const names = [...Object.keys(operations), 'compensate'];
  // One logic serves all: what it is given and what it would end with are promises to the compiler alone.
  return Object.fromEntries(names.map((name) => [name, inert])) as unknown as ActorsOf<Operations>;
}

/** Never ends, and does nothing meanwhile. */
export const inert = fromPromise<unknown, unknown>(() => new Promise<never>(() => {}));

/** Which operation of a saga was refused, and how. */
export interface Refusal {
  readonly step: string;
  readonly action: string;
  readonly code: string;
}

/**
 * The refusal that an `onError` event brought, or its `error`; null for anything else, such as the error of an actor
 * that stands for no operation.
 *
 * @example
 * guards: { declined: ({ event }) => refusalOf(event)?.code === 'card_declined' }
 */
export function refusalOf(eventOrError: unknown): Refusal | null {
  const error = isRecord(eventOrError) && 'error' in eventOrError ? eventOrError['error'] : eventOrError;
  if (!isOperationFailed(error)) return null;
  return { step: error.step, action: error.action, code: error.code };
}

function isOperationFailed(error: unknown): error is OperationFailed {
  if (!isRecord(error) || error['name'] !== 'OperationFailed') return false;
  return ['step', 'action', 'code'].every((fact) => typeof error[fact] === 'string');
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
