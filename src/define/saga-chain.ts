/**
 * The static side of the saga builder: what each verb takes, and what is known after it. It guarantees that a step sees
 * what exists by then and no more, that what may have to be taken back says how, and that the cause of a compensation
 * names the steps and codes that can be one. The compiler is the authority; callers without one meet the same rules in
 * the builder. Records stay flat and grow by one member a step, because intersections and unions of generics print
 * unreadably; what a step costs the compiler is held down by a test.
 */

import type { Duration } from '../domain/duration.ts';
import type { StepCode } from '../domain/operation-state.ts';
import type { CompensateOption, Operation, Undo } from './operation.ts';
import type { Chain, OnFailed, Saga, SagaCause, SagaCode, SagaParts, SagaTypes } from './saga-flow.ts';
import type { ReservedName } from './saga-names.ts';
import type { Signal } from './signal.ts';

/** Up to the pivot a refusal takes everything back; after its success there is only the way on. */
export type Recovery = 'backward' | 'forward';

/**
 * A saga in the making, which is a definition at every point. Each verb returns a new one and leaves this as it is.
 * `Outputs` holds what its steps leave behind, `Refusals` the codes of the steps whose refusal takes everything back.
 */
export interface SagaChain<
  Name extends string,
  Input,
  Outputs,
  Refusals,
  Way extends Recovery = 'backward',
  Submitted = Input,
> extends SagaParts<Name>,
    StepVerbs<SagaOf<Name, Submitted>, Input, {}, Outputs, Refusals, Way> {
  readonly '~types'?: SagaTypes<Input, Outputs, CauseBy<Refusals>, Submitted>;
  readonly flow: Chain;

  /**
   * The step after which there is no way back: once it has succeeded nothing is compensated any more. A refusal of the
   * pivot itself still takes everything back, so it has nothing of its own to say about compensation.
   */
  pivot<const Step extends string, Output, Code extends string, Taken, Given extends Taken>(
    name: Way extends 'backward' ? NewName<Step, Outputs> : 'this saga has its pivot already',
    operation: Operation<string, unknown, Output, Code, Taken, Undo>,
    input: InputFunction<Known<Input, Outputs>, Given, Taken>,
  ): SagaChain<Name, Input, With<Outputs, Step, Output>, With<Refusals, Step, Code>, 'forward', Submitted>;
  /** The same with a saga: once it has succeeded there is no way back. */
  pivot<const Step extends string, Output, Cause extends SagaCause, Taken, Given extends Taken>(
    name: Way extends 'backward' ? NewName<Step, Outputs> : 'this saga has its pivot already',
    saga: Saga<string, unknown, Output, Cause, Taken>,
    input: InputFunction<Known<Input, Outputs>, Given, Taken>,
  ): SagaChain<Name, Input, With<Outputs, Step, Output>, With<Refusals, Step, OfSaga<Cause>>, 'forward', Submitted>;

  /** What the saga succeeds with, instead of the record of all outputs. It comes last: no step can follow. */
  output<Output>(
    make: (known: Known<Input, Outputs>) => Output,
  ): Saga<Name, Input, Output, CauseBy<Refusals>, Submitted>;
}

/** A chain within a `parallel` or a `choose`: it sees what came before that, and its own steps. */
export interface SagaBranch<Input, Before, Own, Refusals, Way extends Recovery>
  extends BranchOf<Own, Refusals>,
    StepVerbs<null, Input, Before, Own, Refusals, Way> {}

interface BranchOf<Own, Refusals> {
  readonly type: 'branch';
  readonly '~types'?: BranchTypes<Own, Refusals>;
}

interface BranchTypes<Own, Refusals> {
  readonly outputs: Own;
  readonly refusals: Refusals;
}

/** The verbs that a saga and a branch share; `Of` tells which of the two they return. */
export interface StepVerbs<Of, Input, Before, Own, Refusals, Way extends Recovery> {
  /**
   * One operation. `input` makes what it is submitted with from the saga's input and the outputs of the steps before.
   *
   * Before the pivot it must be possible to take a success back: `compensate` stands on the operation or, for this
   * step alone, in the options, and `{ none: 'reason' }` says that nothing needs to be. After the pivot `onFailed` says
   * what a refusal leads to: `'escalate'` asks a person (the default), `'continue'` goes on without the output.
   */
  step<
    const Step extends string,
    Taking,
    Output,
    Code extends string,
    Taken,
    Undoing extends Undo,
    Given extends Taken,
    Inverse,
    const Reason extends string = never,
    const Failing extends OnFailed = 'escalate',
  >(
    name: NewName<Step, Before & Own>,
    operation: Operation<string, Taking, Output, Code, Taken, Undoing>,
    input: InputFunction<Known<Input, Before & Own>, Given, Taken>,
    ...compensate: StepOptions<
      Way,
      Undoing,
      CompensateOption<NoInfer<Taking>, NoInfer<Output>, Inverse, Reason>,
      Failing
    >
  ): Grown<
    Of,
    Input,
    Before,
    With<Own, Step, Output, Failing>,
    Way extends 'backward' ? With<Refusals, Step, Code> : Refusals,
    Way
  >;
  /**
   * One saga of its own, with its own identity and history, begun once for this step. It succeeds with its output, and is
   * refused with the code for which it was taken back, or with `'terminated'`.
   *
   * Before the pivot its success is taken back by itself. One that has a pivot cannot do that: then the options say how,
   * as for an operation. What is under way when this saga is taken back is cancelled first.
   *
   * @example
   * .step('shipment', shipParcel, ({ input }) => ({ orderId: input.orderId, address: input.address }))
   */
  step<
    const Step extends string,
    Taking,
    Output,
    Cause extends SagaCause,
    Taken,
    Given extends Taken,
    Inverse,
    const Reason extends string = never,
    const Failing extends OnFailed = 'escalate',
  >(
    name: NewName<Step, Before & Own>,
    saga: Saga<string, Taking, Output, Cause, Taken>,
    input: InputFunction<Known<Input, Before & Own>, Given, Taken>,
    ...options: StepOptions<Way, 'none', CompensateOption<NoInfer<Taking>, NoInfer<Output>, Inverse, Reason>, Failing>
  ): Grown<
    Of,
    Input,
    Before,
    With<Own, Step, Output, Failing>,
    Way extends 'backward' ? With<Refusals, Step, OfSaga<Cause>> : Refusals,
    Way
  >;

  /**
   * Branches that are taken at the same time; what comes next waits for all of them and sees all their outputs. Before
   * the pivot the refusal of one takes everything back, once it is proven how the others ended.
   *
   * @example
   * .parallel('prepare', (branch) => ({
   *   money: branch.step('payment', authorisePayment, ({ input }) => ({ orderId: input.orderId })),
   *   goods: branch.step('stock', reserveStock, ({ input }) => ({ lines: input.lines })),
   * }))
   */
  parallel<const Name extends string, Branches extends Readonly<Record<string, BranchOf<unknown, unknown>>>>(
    name: NewName<Name, Before & Own>,
    branches: (branch: SagaBranch<Input, Before & Own, {}, {}, Way>) => Branches,
  ): Grown<
    Of,
    Input,
    Before,
    Flat<Own & AllOf<Branches, 'outputs'>>,
    Flat<Refusals & AllOf<Branches, 'refusals'>>,
    Way
  >;

  /**
   * One of several branches: `pick` says its name from what is known by then. A branch that was given back as it is has
   * nothing to do. What comes next sees the outputs of every branch, each of which may be missing.
   *
   * @example
   * .choose('delivery', ({ input }) => (input.isUrgent ? 'express' : 'standard'), (branch) => ({
   *   express: branch.step('courier', bookCourier, ({ input }) => ({ address: input.address })),
   *   standard: branch,
   * }))
   */
  choose<const Name extends string, Branches extends Readonly<Record<string, BranchOf<unknown, unknown>>>>(
    name: NewName<Name, Before & Own>,
    pick: (known: Known<Input, Before & Own>) => keyof NoInfer<Branches>,
    branches: (branch: SagaBranch<Input, Before & Own, {}, {}, Way>) => Branches,
  ): Grown<
    Of,
    Input,
    Before,
    Flat<Own & Partial<AllOf<Branches, 'outputs'>>>,
    Flat<Refusals & AllOf<Branches, 'refusals'>>,
    Way
  >;

  /**
   * One operation for each item of a list that is as long as it turns out to be: `items` makes it from what is known
   * by then, and gives the same list whenever it is asked. `input` gets the `item` and its `index` besides, and what
   * the step leaves behind is the list of outputs in the order of the items.
   *
   * `concurrency` says how many are under way at once (all, unless told otherwise), and `atMost` how many there may be
   * (1,000): a saga that meets more of them begins none and waits for a person. Each item is an operation of its own,
   * under the step `parcels[2]`. Before the pivot the refusal of one begins no more and takes everything back. After it
   * the others go on; then `'escalate'` asks a person about each that was refused, and `'continue'` leaves its output
   * out.
   *
   * @example
   * .forEach('parcels', ({ input }) => input.parcels, createShipment,
   *   ({ item, input }) => ({ orderId: input.orderId, parcel: item.id }), { concurrency: 4, atMost: 200 })
   */
  forEach<
    const Name extends string,
    Item,
    Taking,
    Output,
    Code extends string,
    Taken,
    Undoing extends Undo,
    Given extends Taken,
    Inverse,
    const Reason extends string = never,
    const Failing extends OnFailed = 'escalate',
  >(
    name: NewName<Name, Before & Own>,
    items: (known: Known<Input, Before & Own>) => readonly Item[],
    operation: Operation<string, Taking, Output, Code, Taken, Undoing>,
    input: InputFunction<{ readonly item: Item; readonly index: number } & Known<Input, Before & Own>, Given, Taken>,
    ...options: StepOptions<
      Way,
      Undoing,
      CompensateOption<NoInfer<Taking>, NoInfer<Output>, Inverse, Reason>,
      Failing,
      ForEachOptions
    >
  ): Grown<
    Of,
    Input,
    Before,
    With<Own, Name, readonly (Output | ('continue' extends Failing ? undefined : never))[]>,
    Way extends 'backward' ? With<Refusals, Name, Code> : Refusals,
    Way
  >;
  /** One saga for each item of a list: as with an operation, and each as a step that is a saga. */
  forEach<
    const Name extends string,
    Item,
    Taking,
    Output,
    Cause extends SagaCause,
    Taken,
    Given extends Taken,
    Inverse,
    const Reason extends string = never,
    const Failing extends OnFailed = 'escalate',
  >(
    name: NewName<Name, Before & Own>,
    items: (known: Known<Input, Before & Own>) => readonly Item[],
    saga: Saga<string, Taking, Output, Cause, Taken>,
    input: InputFunction<{ readonly item: Item; readonly index: number } & Known<Input, Before & Own>, Given, Taken>,
    ...options: StepOptions<
      Way,
      'none',
      CompensateOption<NoInfer<Taking>, NoInfer<Output>, Inverse, Reason>,
      Failing,
      ForEachOptions
    >
  ): Grown<
    Of,
    Input,
    Before,
    With<Own, Name, readonly (Output | ('continue' extends Failing ? undefined : never))[]>,
    Way extends 'backward' ? With<Refusals, Name, OfSaga<Cause>> : Refusals,
    Way
  >;

  /**
   * Waits between two parts, for a time that is written down or made from what is known by then. It is kept as a due
   * time by the database's clock: late after a restart rather than lost, never early, and as long as up to a hundred
   * years. Before the pivot a cancellation or the deadline of the saga ends it.
   *
   * @example
   * .sleep('returns', '14d')
   */
  sleep<const Name extends string>(
    name: NewName<Name, Before & Own>,
    pause: Duration | ((known: Known<Input, Before & Own>) => Duration) | SleepUntil<Known<Input, Before & Own>>,
  ): Grown<Of, Input, Before, Own, Refusals, Way>;

  /**
   * Waits for a signal, whose payload is what comes next sees under this name. One that came early has been kept and
   * counts at once. When it has not come `within` that time, by the database's clock, `otherwise` says what follows: before
   * the pivot everything is taken back, with the cause `{ step: name, code: 'timed-out' }`, or the saga goes on without
   * it; after the pivot a person is asked, and until then the signal still counts, or the saga goes on without it. Of a
   * signal and the end of the time in one turn, the signal counts.
   *
   * @example
   * .waitFor('approval', approved, { within: '2d', otherwise: 'compensate' })
   */
  waitFor<const Name extends string, Payload, const Otherwise extends OtherwiseBy<Way>>(
    name: NewName<Name, Before & Own>,
    signal: Signal<string, Payload, unknown>,
    options: { readonly within: Duration; readonly otherwise: Otherwise },
  ): Grown<
    Of,
    Input,
    Before,
    With<Own, Name, Payload, Otherwise>,
    Otherwise extends 'compensate' ? With<Refusals, Name, WaitedInVain> : Refusals,
    Way
  >;
}

/** Until a point in time by the database's clock; one that has passed is no pause. */
interface SleepUntil<Seen> {
  readonly until: Date | ((known: Seen) => Date);
}

type OtherwiseBy<Way> = Way extends 'forward' ? 'escalate' | 'continue' : 'compensate' | 'continue';

/** Stands for the code of a signal that has not come, to which no code of an operation is added. */
interface WaitedInVain {
  readonly code: 'timed-out';
}

interface SagaOf<Name extends string, Submitted> {
  readonly name: Name;
  readonly submitted: Submitted;
}

type Grown<Of, Input, Before, Own, Refusals, Way extends Recovery> =
  Of extends SagaOf<infer Name, infer Submitted>
    ? SagaChain<Name, Input, Own, Refusals, Way, Submitted>
    : SagaBranch<Input, Before, Own, Refusals, Way>;

/** What the functions of a saga get. */
type Known<Input, Outputs> = { readonly input: Input } & Outputs;

/** One object type; `& {}` has it printed by its members instead of by this name. */
type Flat<Parts> = { [Member in keyof Parts]: Parts[Member] } & {};

type With<Known, Step extends string, Value, Failing = never> = Flat<
  Known & ('continue' extends Failing ? { readonly [Name in Step]?: Value } : { readonly [Name in Step]: Value })
>;

/**
 * What makes the input of an operation. It is a condition that always holds, because only then does the compiler look up
 * what the operation takes before it reads the function, and keeps `'shipped'` from becoming any text.
 */
type InputFunction<Seen, Given, Taken> = [Taken] extends [infer Wanted]
  ? (known: Seen) => Exactly<Given, Wanted>
  : never;

/** Members that the operation does not take are refused: they would change what one intent is in silence. */
type Exactly<Given, Taken> = Given & { readonly [Name in Exclude<keyof Given, MembersOf<Taken>>]: never };

type MembersOf<Taken> = unknown extends Taken ? PropertyKey : Taken extends unknown ? keyof Taken : never;

/** An unusable name is answered with the reason, which the compiler shows as the type that was wanted. */
type NewName<Name extends string, Taken> = string extends Name
  ? 'a name is written out, so that the outputs can be told apart'
  : Name extends keyof Taken
    ? `another step is named ${Name}`
    : Name extends ReservedName
      ? `${Name} is a word of the library`
      : Name;

/** `Besides`: what the verb takes on both sides of the pivot. */
type StepOptions<Way, Undoing, Compensate, Failing, Besides = unknown> = Way extends 'forward'
  ? [options?: Besides & { readonly onFailed?: Failing }]
  : [Undoing] extends ['inverse' | 'none']
    ? [options?: Besides & { readonly compensate?: Compensate }]
    : [options: Besides & { readonly compensate: Compensate }];

interface ForEachOptions {
  readonly concurrency?: number;
  readonly atMost?: number;
}

/** The members of all branches together. */
type AllOf<Branches, What extends keyof BranchTypes<unknown, unknown>> = Intersected<
  { readonly [Name in keyof Branches]: TypesOf<Branches[Name]>[What] }[keyof Branches]
>;

type TypesOf<Branch> = Branch extends BranchOf<infer Own, infer Refusals> ? BranchTypes<Own, Refusals> : never;

type Intersected<Union> = (Union extends unknown ? (one: Union) => void : never) extends (all: infer All) => void
  ? All
  : never;

/** What can have taken a saga back, from the codes of the steps whose refusal does. */
export type CauseBy<Refusals> =
  | SagaCause<null, SagaCode>
  | { [Step in keyof Refusals & string]: SagaCause<Step, CodeIn<Refusals[Step]>> }[keyof Refusals & string];

type CodeIn<Codes> = [WaitedInVain] extends [Codes]
  ? WaitedInVain['code']
  : [Codes] extends [string]
    ? Codes | StepCode
    : Codes extends OfSaga<infer Cause>
      ? CodeOf<Cause>
      : never;

/** Stands for the codes of a step that is a saga, to which the library adds others than to those of an operation. */
interface OfSaga<Cause> {
  readonly cause: Cause;
}

/** What a step is told of a saga that did not succeed: why it was taken back, or that a person ended it as it was. */
type CodeOf<Cause> = (Cause extends SagaCause<infer _Step, infer Code> ? Code : never) | 'terminated';
