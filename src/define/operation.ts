/**
 * `operation()`: one intended effect at another company, described once. It guarantees that nothing runs here and that
 * what comes out is complete, plain and frozen; the compiler is the authority on types, and everything it cannot see
 * (JavaScript callers, sums of durations) is refused with DEFINITION_INVALID before anything can be submitted.
 */

import type { Contract } from '../domain/contract.ts';
import type { Duration } from '../domain/duration.ts';
import type { Failed, Finding, Outcome, Succeeded } from '../domain/outcome.ts';
import type { Policy } from '../domain/policy.ts';
import type { AttemptHttp, LookupHttp } from '../domain/http.ts';
import { madeBy } from './made-at.ts';
import { refuseBadAction, refuseBadOptions } from './operation-options.ts';
import { hasType } from './option-kinds.ts';
import { type AskingTimes, type LookupTimes, policyOf, type RetryOptions } from './operation-policy.ts';
import type { Schema } from './schema.ts';
import { type Ceiling, ceilingOf, type WorkLimit } from './work-limit.ts';

/** What one attempt gets. There is deliberately nothing in it from which another key could be made. */
export interface AttemptContext<Input> {
  readonly input: Input;
  /** The same on every attempt and look-up of this operation. Hand it to the provider as it is. */
  readonly idempotencyKey: string;
  /** Counts from 1. For logs only: an effect that depends on it is not one effect. */
  readonly attempt: number;
  /**
   * Aborted when the attempt's time is over or the process stops; the outcome is then unknown, not failed. Nothing may
   * be sent after that: give it to the client, and switch the client's own retries off.
   */
  readonly abortSignal: AbortSignal;
  /**
   * Sends it once and tells by evidence what came of it. Everything of an attempt goes by it, or nothing does: what else is
   * sent beside it, it cannot see.
   */
  readonly http: AttemptHttp;
}

/** What a look-up gets. */
export interface LookupContext<Input> {
  readonly input: Input;
  readonly idempotencyKey: string;
  readonly abortSignal: AbortSignal;
  readonly http: LookupHttp;
}

type Awaitable<T> = T | PromiseLike<T>;

/** Asks the provider what became of a request whose reply was lost. */
interface Asking<Input, Found, Output> {
  // The second half of the union is there for `found(failed('...'))`, which takes its output type from where it stands.
  /** Answers `found(outcome, ...more)`, `absent()` or `inconclusive()`. A record in progress is inconclusive. */
  readonly find: (context: LookupContext<Input>) => Found | Awaitable<Finding<Output, never>>;
}

/** How to ask the provider, and when. */
export type LookupOptions<Input, Found, Output> = LookupTimes & Asking<Input, Found, Output>;

/** What is known of the provider, stated in the definition. */
export interface StatedFacts<Input, Found, Output> {
  /** How long the provider knows the key, from the first attempt on, or `'none'`. */
  readonly keyRetention: Duration | 'none';
  /** How to ask the provider, or `'none'`. */
  readonly lookup: LookupOptions<Input, Found, Output> | 'none';
  readonly contract?: never;
}

/** What is known of the provider, described once for all that goes there. */
export interface ContractedFacts<Input, Found, Output> {
  /**
   * What the provider's documentation says: where its key goes and how long it counts, how it is looked up, what its
   * replies prove. It is kept with each operation when that is submitted, and decides to its end.
   */
  readonly contract: Contract;
  /**
   * How to ask the provider, or `'none'`. What an answer is worth is in the contract. May be left out where that says that
   * nobody can be asked.
   */
  readonly lookup?: (AskingTimes & Asking<Input, Found, Output>) | 'none';
  readonly keyRetention?: never;
}

/** The real inverse of an effect, itself an operation, or the reason why there is none. */
export type CompensateOption<Input, Output, Inverse, Reason extends string> =
  | {
      readonly operation: Operation<string, unknown, unknown, string, Inverse>;
      /** What the inverse is submitted with. */
      readonly input: (context: { readonly input: Input; readonly output: Output }) => NoInfer<Inverse>;
    }
  | { readonly none: Reason };

/** An operation whose definition says itself what is known of its provider. */
export interface StatedOptions<Submitted, Input, Returned, Produced, Found, Output, Inverse, Reason extends string>
  extends OperationParts<Submitted, Input, Returned, Produced, Output, Inverse, Reason>,
    StatedFacts<Input, Found, OutputIn<NoInfer<Returned>>> {}

/** An operation whose provider is described in a contract. */
export interface ContractedOptions<Submitted, Input, Returned, Produced, Found, Output, Inverse, Reason extends string>
  extends OperationParts<Submitted, Input, Returned, Produced, Output, Inverse, Reason>,
    ContractedFacts<Input, Found, OutputIn<NoInfer<Returned>>> {}

export type OperationOptions<Submitted, Input, Returned, Produced, Found, Output, Inverse, Reason extends string> =
  | StatedOptions<Submitted, Input, Returned, Produced, Found, Output, Inverse, Reason>
  | ContractedOptions<Submitted, Input, Returned, Produced, Found, Output, Inverse, Reason>;

/** What an operation says of itself. */
export interface OperationParts<Submitted, Input, Returned, Produced, Output, Inverse, Reason extends string> {
  /** A Standard Schema or `typed<T>()`. Its output is what is stored, fingerprinted and executed. */
  readonly input: Schema<Submitted, Input>;
  /** Looks at what `execute` and `find` produce; its output is the operation's output. */
  readonly output?: Schema<Produced, Output>;
  /** The business identity, from the input alone: required for what is submitted alone or shared. */
  readonly key?: (context: { readonly input: Input }) => string;
  /** One attempt. Returns an outcome; whatever it throws is unknown, because an exception proves nothing. */
  readonly execute: (context: AttemptContext<Input>) => Returned;
  /** How a success is taken back. */
  readonly compensate?: CompensateOption<Input, NoInfer<Output>, Inverse, Reason>;
  /** How long the executor may take before it is aborted. Default `'30s'`. */
  readonly timeout?: Duration;
  /**
   * The executor is called within this long of the recorded start, or not at all. What it does before it sends is its
   * own time, bounded by `timeout`. Default `'5s'`.
   */
  readonly sendWithin?: Duration;
  readonly retry?: RetryOptions;
  /** Paths of the input left out of the fingerprint: `['meta.requestedAt', 'lines[].note']`. */
  readonly volatile?: readonly string[];
  /**
   * Sagas whose `key` and input are equal have this operation together: the first executes it and alone takes it back,
   * not while a saga that has joined it is open. The others are told how it ended; a step that comes when it has been
   * taken back is refused with the code `'taken-back'`, one that waits for it when it is cancelled before it had any
   * effect with `'given-up'`, and one with another input is a fault of its definition. Default false: each saga has its
   * own.
   */
  readonly shared?: boolean;
  /** How much of it may go out, attempts and look-ups, from one process. Default: as much as the process carries out. */
  readonly limit?: WorkLimit;
  /**
   * The company that it goes to: with the other operations that name it, it shares the limit that
   * `createOrchestrator({ providers })` gives to that, if it does.
   */
  readonly provider?: string;
}

/** Carries the static types of a definition. Nothing is stored at run time. */
export interface Carrier<
  Input = unknown,
  Output = unknown,
  Code extends string = string,
  Submitted = unknown,
  Undo = unknown,
> {
  readonly '~types'?: {
    readonly input: Input;
    readonly output: Output;
    readonly code: Code;
    readonly submitted: Submitted;
    readonly undo: Undo;
  };
}

/** Whether a success can be taken back: by an inverse, declared to have none, or nothing was said. */
export type Undo = 'inverse' | 'none' | 'undeclared';

/**
 * A defined operation: plain, frozen data. `Input` is what `execute` gets, `Submitted` what `submit` takes; they differ
 * where the schema applies defaults or transforms.
 */
export interface Operation<
  Action extends string = string,
  Input = unknown,
  Output = unknown,
  Code extends string = string,
  Submitted = Input,
  Undoing extends Undo = Undo,
> extends Carrier<Input, Output, Code, Submitted, Undoing> {
  readonly type: 'operation';
  readonly action: Action;
  /** The schemas and functions as they were given. */
  readonly options: OperationFunctions;
  readonly policy: Policy;
  readonly volatile: readonly string[];
  readonly shared: boolean;
  readonly compensate: Compensation | null;
  readonly limit: Ceiling | null;
  readonly provider: string | null;
}

/** For the one who runs them: what goes in has been through the schema, so that the static types may be forgotten. */
export interface OperationFunctions {
  readonly input: Schema;
  readonly output: Schema | null;
  readonly key: ((context: { readonly input: unknown }) => string) | null;
  readonly execute: (context: AttemptContext<unknown>) => Awaitable<Outcome>;
  readonly find: ((context: LookupContext<unknown>) => Awaitable<Finding>) | null;
}

export type Compensation =
  | {
      readonly operation: Operation;
      readonly input: (context: { readonly input: unknown; readonly output: unknown }) => unknown;
    }
  | { readonly none: string };

/**
 * Defines one operation. Nothing runs and nothing is stored; the orchestrator it is listed with does that.
 *
 * The output and the codes are inferred from what `execute` and `find` return; with an `output` schema the output is
 * the schema's. `keyRetention` and `lookup` are facts about the provider, and both must be stated, or described in a
 * `contract`: they decide whether a lost reply may be sent again, must be looked up, or is handed to a person.
 *
 * @example
 * const chargeCard = operation('card.charge', {
 *   input: typed<Payment>(),
 *   key: ({ input }) => input.orderId,
 *   async execute({ input, idempotencyKey, abortSignal }) {
 *     const charge = await payments.charge(input, { idempotencyKey, signal: abortSignal });
 *     return charge.declined ? failed('card_declined') : succeeded({ chargeId: charge.id });
 *   },
 *   keyRetention: '24h',
 *   lookup: 'none',
 * });
 */
export function operation<
  const Action extends string,
  Submitted,
  Input,
  Returned extends Awaitable<Outcome<Produced>>,
  Produced = unknown,
  Found extends Awaitable<Finding<Expected<Produced, Returned>>> = Awaitable<
    Finding<Expected<Produced, Returned>, never>
  >,
  Output = OutputIn<Returned>,
  Inverse = Undeclared,
  const Reason extends string = never,
>(
  action: Action,
  options: OperationOptions<Submitted, Input, Returned, Produced, Found, Output, Inverse, Reason>,
): Operation<Action, Input, Output, CodeIn<Returned> | FoundCodeIn<Found>, Submitted, UndoOf<Inverse, Reason>> {
  refuseBadAction(action);
  refuseBadOptions(action, options);
  // Who runs them hands over what has been through the schema; the static types have done their work at this call.
  const given = options as Given;
  const { find } = given.lookup === undefined || given.lookup === 'none' ? { find: null } : given.lookup;
  const definition = Object.freeze({
    type: 'operation' as const,
    action,
    options: Object.freeze({
      input: given.input,
      output: given.output ?? null,
      key: given.key ?? null,
      execute: given.execute,
      find,
    }),
    policy: policyOf(action, given),
    volatile: Object.freeze([...(given.volatile ?? [])]),
    shared: given.shared ?? false,
    compensate: given.compensate === undefined ? null : Object.freeze({ ...given.compensate }),
    limit: given.limit === undefined ? null : ceilingOf(given.limit, { called: action, facts: { action } }, 'limit'),
    provider: given.provider ?? null,
  });
  return madeBy(operation, definition);
}

/** True for what {@link operation} returns. */
export function isOperation(value: unknown): value is Operation {
  return hasType(value, 'operation');
}

/** The options once they have passed the checks below, their static types forgotten. */
interface Given {
  readonly input: Schema;
  readonly output?: Schema;
  readonly key?: (context: { readonly input: unknown }) => string;
  readonly execute: (context: AttemptContext<unknown>) => Awaitable<Outcome>;
  readonly contract?: Contract;
  readonly keyRetention?: Duration | 'none';
  readonly lookup?: ((LookupTimes | AskingTimes) & Asking<unknown, Awaitable<Finding>, unknown>) | 'none';
  readonly compensate?: Compensation;
  readonly timeout?: Duration;
  readonly sendWithin?: Duration;
  readonly retry?: RetryOptions;
  readonly volatile?: readonly string[];
  readonly shared?: boolean;
  readonly limit?: WorkLimit;
  readonly provider?: string;
}

/** What the look-up must fit: what the output schema takes, or what execute returns. */
type Expected<Produced, Returned> = unknown extends Produced ? OutputIn<Returned> : Produced;

type OutputIn<Returned> = Awaited<Returned> extends infer Result ? OutputOfOne<Result> : never;
type OutputOfOne<Result> = Result extends Succeeded<infer Output> ? Output : never;

type CodeIn<Returned> = Awaited<Returned> extends infer Result ? CodeOfOne<Result> : never;
type CodeOfOne<Result> = Result extends Failed<infer Code> ? Code : never;

type FoundCodeIn<Found> = Awaited<Found> extends infer Answer ? FoundCodeOfOne<Answer> : never;
type FoundCodeOfOne<Answer> = Answer extends { readonly records: readonly (infer Record)[] }
  ? CodeOfOne<Record>
  : never;

declare const undeclared: unique symbol;
type Undeclared = typeof undeclared;

type UndoOf<Inverse, Reason> = [Reason] extends [never]
  ? [Inverse] extends [Undeclared]
    ? 'undeclared'
    : 'inverse'
  : 'none';
