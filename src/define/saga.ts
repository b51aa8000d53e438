/**
 * `saga()`: effects at several companies that belong together, described once. Two ways of writing lead to the same
 * thing: a chain of steps, or a machine of the author's. It guarantees that nothing runs here and that what comes out is
 * complete, plain and frozen; the compiler is the authority on types, and everything it cannot see is refused with
 * DEFINITION_INVALID before anything can be submitted.
 */

import type { Duration } from '../domain/duration.ts';
import { madeBy } from './made-at.ts';
import type { Operation, Undo } from './operation.ts';
import { hasType } from './option-kinds.ts';
import { SagaBuilder } from './saga-builder.ts';
import type { SagaChain } from './saga-chain.ts';
import type { CompensationOrder, Saga, SagaCause, SagaFunctions, WhenChanged } from './saga-flow.ts';
import { type ChosenOptions, commonOf, handWrittenOf, isByHand, refuseBadSagaName } from './saga-options.ts';
import type { Schema } from './schema.ts';

interface CommonOptions<Submitted, Input> {
  /** A Standard Schema or `typed<T>()`. Its output is what is stored, fingerprinted and given to the steps. */
  readonly input: Schema<Submitted, Input>;
  /** The business identity, from the input alone: one key, one saga. */
  readonly key: (context: { readonly input: Input }) => string;
  /**
   * What only one saga may work on at a time, from the input alone: an order, a customer's account. It is held from the
   * submission until the saga has settled, and not again when a person has it taken back later; while another saga of the
   * tenant holds one of them, `submit` is refused with RESOURCE_LOCKED, which names the holder. Names are one space for all
   * sagas. A saga that has a lock cannot be a step of another one.
   */
  readonly lock?: (context: { readonly input: Input }) => readonly string[];
  /** A whole number from 1, raised when the steps change: sagas under way end as they began. Default 1. */
  readonly version?: number;
  /** The deadline of the whole saga: when it passes before the pivot has succeeded, everything is taken back. */
  readonly within?: Duration;
  /** Inverses one after the other, in reverse order of completion, or all at once. Default `'reverse'`. */
  readonly compensation?: CompensationOrder;
  /**
   * What becomes of sagas under way when the chart has changed and the version has not. `'escalate'`: a person is asked,
   * and it goes on where the chart is the one that it had. `'adopt'`: it goes on with the new chart if where it stands
   * and what it waits for are there, otherwise it is escalated. Default `'escalate'`.
   */
  readonly whenChanged?: WhenChanged;
}

export interface SagaOptions<Submitted, Input> extends CommonOptions<Submitted, Input> {
  readonly machine?: never;
  readonly operations?: never;
}

export interface MachineSagaOptions<
  Submitted,
  Input,
  Output,
  Source extends string,
  Pivot extends string,
  Reason extends string,
> extends CommonOptions<Submitted, Input> {
  /** Made with `setup({ actors: actorsFrom(operations) })`. It is started with the saga's input. */
  readonly machine: Chart<NoInfer<Input>, Output>;
  /**
   * The object that was given to `actorsFrom`, operations and sagas. Each must say how it is taken back, the pivot excepted;
   * a saga takes itself back, unless it has a pivot itself.
   */
  readonly operations: Operations<Source, Pivot, Reason>;
  /** The step whose success forbids compensation from then on: the id of its invocation, or its source without one. */
  readonly pivot?: Pivot;
  /** Why nothing is ever taken back; operations then need not say how. */
  readonly takesNothingBack?: Reason;
}

/** What an XState machine is recognised by, without its types. */
export interface Chart<Input, Output> {
  readonly root: object;
  readonly provide: (implementations: never) => object;
  readonly getInitialSnapshot: (scope: never, input: Input) => { readonly output: Output | undefined };
}

/** XState's word for an output that was not declared is every value but `undefined`, which is what such a machine has. */
type Declared<Output> = unknown extends Output | undefined ? unknown : Output;

type Operations<Source extends string, Pivot extends string, Reason extends string> = {
  readonly [Name in Source]: Target<[Reason] extends [never] ? Needed<Name, Source, Pivot> : Undo>;
};

/** Where the pivot is named by the id of its invocation, the compiler cannot tell which operation it is. */
type Needed<Name, Source, Pivot> = [Pivot] extends [Source] ? (Name extends Pivot ? Undo : 'inverse' | 'none') : Undo;

type Target<Undoing extends Undo> = Operation<string, unknown, unknown, string, unknown, Undoing> | Saga;

/**
 * Defines a saga: a chain of steps, to be written with the verbs of what it returns, or a machine of your own. Nothing
 * runs and nothing is stored; the orchestrator it is listed with does that. The operations in it are found by it.
 *
 * What has succeeded is taken back when a step is refused, the saga is cancelled or its time is over: by the inverses
 * of its operations, and only once it is proven how each of them ended. After the pivot nothing is taken back any more.
 *
 * @example
 * const fulfilment = saga('fulfilment', { input: typed<Order>(), key: ({ input }) => input.orderId })
 *   .step('payment', authorisePayment, ({ input }) => ({ orderId: input.orderId, amount: input.total }))
 *   .pivot('capture', capturePayment, ({ payment }) => ({ paymentId: payment.paymentId }))
 *   .step('email', sendEmail, ({ input }) => ({ to: input.email, template: 'paid' }), { onFailed: 'continue' });
 */
export function saga<const Name extends string, Submitted, Input>(
  name: Name,
  options: SagaOptions<Submitted, Input>,
): SagaChain<Name, Input, {}, {}, 'backward', Submitted>;
export function saga<
  const Name extends string,
  Submitted,
  Input,
  Output,
  Source extends string,
  Pivot extends string = never,
  Reason extends string = never,
>(
  name: Name,
  options: MachineSagaOptions<Submitted, Input, Output, Source, Pivot, Reason>,
): Saga<Name, Input, Declared<Output>, SagaCause, Submitted>;
// Who runs them hands over what has been through the schema; the static types have done their work at this call.
export function saga(
  name: string,
  options: Omit<SagaFunctions, 'lock'> & Partial<Pick<SagaFunctions, 'lock'>> & ChosenOptions,
): Saga {
  refuseBadSagaName(name);
  const byHand = isByHand(name, options);
  const common = commonOf(name, options, byHand);
  const functions = Object.freeze({ input: options.input, key: options.key, lock: options.lock ?? null });
  if (!byHand) {
    return madeBy(saga, new SagaBuilder({ name, ...common, options: functions, pivotStep: null }, Object.freeze([])));
  }
  const { pivotStep, ...flow } = handWrittenOf(name, { ...options });
  const parts = { name, ...common, options: functions, pivotStep, flow: Object.freeze(flow) };
  return madeBy(saga, Object.freeze({ type: 'saga', ...parts }));
}

/** True for what {@link saga} returns, and for what the verbs of that return. */
export function isSaga(value: unknown): value is Saga {
  return hasType(value, 'saga');
}
