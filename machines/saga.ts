/**
 * The chart of a saga that was written with the builder. There is no second interpreter: what the verbs say becomes an
 * XState machine, run by the same kernel as any other. Its states are the steps in their order, then `compensating`;
 * it ends `succeeded` or `compensated`. Up to and including the pivot a refusal, a cancellation or the deadline leads
 * to `compensating`; after it nothing does. It performs nothing itself: operations are actors by the names of their
 * actions, and what has to be taken back is known to whoever carries out `compensate`, from proven outcomes alone.
 */

import { type AnyStateMachine, assign, enqueueActions, setup } from 'xstate';
import { formatDuration } from '../src/domain/duration.ts';
import { definitionInvalid } from '../src/domain/errors.ts';
import {
  type Chain,
  type Choose,
  type ForEach,
  type Part,
  partsIn,
  type Saga,
  type Sleep,
  type Step,
  type WaitFor,
} from '../src/define/saga-flow.ts';
import { itemOf, itemStep } from '../src/define/saga-names.ts';
import type { Target } from '../src/define/step-target.ts';
import { inert } from './actors.ts';
import {
  type AllItems,
  decidedItem,
  endedItem,
  haveEnded,
  itemMeant,
  type Items,
  itemUnderWay,
  needPerson,
  nextItems,
  refusedItem,
} from './saga-items.ts';

/** Begins the name of a delay that is given as a point in time: milliseconds since the epoch. */
const UNTIL = 'until';

/** Of a timer of such a chart: what it is armed with is no length of time but the time itself. */
export function isPointInTime(timerId: string): boolean {
  return timerId.startsWith(`xstate.after.${UNTIL} `);
}

/** What a chart remembers: what it began with, and the outputs of the steps that have succeeded, by name. */
export interface SagaContext {
  readonly input: unknown;
  /** Each item of a forEach is a step of its own. */
  readonly outputs: Readonly<Record<string, unknown>>;
  readonly items: AllItems;
}

export interface SagaInput {
  readonly input: unknown;
}

export type SagaEvent =
  /** Up to and including the pivot: take everything back. */
  | { readonly type: 'saga.cancelled' }
  | { readonly type: 'saga.timedOut' }
  /** A person decided about a step that was refused after the pivot; where several can be, it must say which. */
  | {
      readonly type: 'verdict.given';
      readonly step?: string;
      readonly outcome: { readonly type: 'succeeded'; readonly output: unknown } | { readonly type: 'not-applied' };
    };

/**
 * The XState machine of a saga: the one that its steps make, or the author's own. For the inspector and for drawing; in
 * there its operations wait until their actors are provided. Throws DEFINITION_INVALID for a chain without steps.
 *
 * @example
 * createActor(machineOf(fulfilment), { input: { input: order }, inspect }).start();
 */
export function sagaMachine(saga: Saga): AnyStateMachine {
  // saga() has looked at what it was given; only its type may not be told where it is defined.
  if (saga.flow.type === 'machine') return saga.flow.machine as AnyStateMachine;
  return chartOf(saga, saga.flow);
}

function chartOf(saga: Saga, chain: Chain): AnyStateMachine {
  const [first] = chain.parts;
  if (first === undefined) {
    throw definitionInvalid(
      `Saga ${saga.name} has no steps.`,
      `Add one: .step('payment', authorisePayment, ({ input }) => ({ ... })).`,
      { saga: saga.name },
    );
  }
  const config = {
    id: saga.name,
    version: String(saga.version),
    context: ({ input }: { input: SagaInput }) => ({ input: input.input, outputs: {}, items: {} }),
    initial: first.name,
    states: {
      ...topLevelStates(saga, chain.parts),
      compensating: {
        id: 'compensating',
        description: 'Takes back what has succeeded, once it is proven how everything that was begun has ended.',
        invoke: { id: 'compensate', src: 'compensate', onDone: { target: 'compensated' } },
      },
      succeeded: { type: 'final', output: ({ context }: Moment) => outputOf(chain, context) },
      compensated: { type: 'final' },
    },
    output: ({ event }: { event: { output?: unknown } }) => event.output,
  } as const;
  const sources = [...sourcesIn(chain.parts), 'compensate'];
  const written = words({
    actors: Object.fromEntries(sources.map((source) => [source, inert])),
    delays: delaysIn(chain.parts),
    picks: picksIn(chain.parts),
    saga: saga.name,
    lists: partsIn(chain.parts).filter((part) => part.type === 'forEach'),
  });
  // XState reads the types of states from literals, and these are made from data: the kernel's lint looks at them.
  return written.createMachine(config as never) as unknown as AnyStateMachine;
}

function outputOf({ output }: Chain, context: SagaContext): unknown {
  return output === null ? outputsByName(context) : output(known(context));
}

/** What the functions of a saga get. */
function known(context: SagaContext): Record<string, unknown> {
  return { ...outputsByName(context), input: context.input };
}

/** Those of a forEach as one list, in the order of its items, once all have ended. */
export function outputsByName({ outputs, items }: SagaContext): Record<string, unknown> {
  const single = Object.entries(outputs).filter(([step]) => itemOf(step) === null);
  const lists = Object.entries(items).flatMap(([name, each]) => {
    const list = () => Array.from({ length: each.count }, (_, index) => outputs[itemStep(name, index)]);
    return haveEnded(each) ? [[name, list()] as const] : [];
  });
  return Object.fromEntries([...single, ...lists]);
}

function sourcesIn(parts: readonly Part[]): string[] {
  return partsIn(parts).flatMap((part) => ('target' in part ? sourceOf(part.target) : []));
}

/** What a step invokes, and what is drawn: no operation has the name of a saga there. */
function sourceOf(target: Target): string {
  return target.type === 'saga' ? `saga ${target.name}` : target.action;
}

/** Of the sleeps whose end is made from what is known by then, or is a point in time. */
function delaysIn(parts: readonly Part[]): Words['delays'] {
  return Object.fromEntries(
    partsIn(parts).flatMap((part) => {
      if (part.type !== 'sleep') return [];
      const { pauseMs, isUntil } = part;
      if (typeof pauseMs === 'number') return isUntil ? [[delayName(part), () => pauseMs]] : [];
      return [[delayName(part), ({ context }: Moment) => pauseMs(known(context))]];
    }),
  );
}

/**
 * Of a sleep until a point in time it has a word that no part's name can have: what it gives is no length of time but the
 * time itself.
 */
function delayName({ name, isUntil }: Sleep): string {
  return isUntil ? `${UNTIL} ${name}` : name;
}

/** A guard for each branch that can be chosen, named as drawings show it. */
function picksIn(parts: readonly Part[]): Words['picks'] {
  const entries = partsIn(parts).flatMap((part) => {
    if (part.type !== 'choose') return [];
    return Object.keys(part.branches).map((branch) => {
      const isPicked = ({ context }: Moment) => picked(part, context) === branch;
      return [pickName(part, branch), isPicked] as const;
    });
  });
  return Object.fromEntries(entries);
}

function pickName({ name }: Choose, branch: string): string {
  return `${name} is ${branch}`;
}

function picked({ name, pick, branches }: Choose, context: SagaContext): unknown {
  const branch = pick(known(context));
  if (typeof branch === 'string' && Object.hasOwn(branches, branch)) return branch;
  throw new Error(`The pick of choose ${name} says none of its branches: ${Object.keys(branches).join(', ')}.`);
}

interface Words {
  readonly actors: Readonly<Record<string, typeof inert>>;
  /** Milliseconds, by the name of the sleep. */
  readonly delays: Readonly<Record<string, (moment: Moment) => number>>;
  readonly picks: Readonly<Record<string, (moment: Moment) => boolean>>;
  readonly saga: string;
  readonly lists: readonly ForEach[];
}

type Moment = { readonly context: SagaContext };
type Heard = Moment & { readonly event: object };

/** What the charts of all sagas are written with: names, so that a stored instance finds them again. */
function words({ actors, delays, picks, saga, lists }: Words) {
  return setup({
    // XState takes types by example; these values are never read.
    types: { context: {} as SagaContext, events: {} as SagaEvent, input: {} as SagaInput },
    actors,
    delays,
    guards: {
      ...picks,
      ...Object.fromEntries(
        lists.map((each) => [
          itemGuard(each),
          (heard: Heard) => itemUnderWay(heard.context.items, each.name, heard.event) !== null,
        ]),
      ),
      haveEnded: ({ context }, { part }: Listed) => haveEnded(itemsOf(context, part)),
      needPerson: ({ context }, { part }: Listed) => needPerson(itemsOf(context, part)),
      saysItemSucceeded: ({ context, event }, params: Asked) =>
        itemDecided(context, event, params)?.outcome.type === 'succeeded',
      saysItemNotApplied: ({ context, event }, params: Asked) =>
        itemDecided(context, event, params)?.outcome.type === 'not-applied',
      saysSucceeded: ({ event }, params: Asked) => isAbout(event, params) && event.outcome.type === 'succeeded',
      saysNotApplied: ({ event }, params: Asked) => isAbout(event, params) && event.outcome.type === 'not-applied',
    },
    actions: {
      keepOutput: assign(({ context, event }, { step }: { step: string }) => {
        // Stands where an actor is done only; XState leaves its own events out of the type.
        const { output } = event as unknown as { output: unknown };
        return { outputs: { ...context.outputs, [step]: output } };
      }),
      keepPayload: assign(({ context, event }, { step }: { step: string }) => {
        // Stands where a signal is taken only, whose name is its author's.
        const { payload } = event as unknown as { payload: unknown };
        return { outputs: { ...context.outputs, [step]: payload } };
      }),
      keepVerdict: assign(({ context, event }, { step }: { step: string }) =>
        event.type === 'verdict.given' && event.outcome.type === 'succeeded'
          ? { outputs: { ...context.outputs, [step]: event.outcome.output } }
          : {},
      ),
      beginItems: enqueueActions(({ context, enqueue }, { part }: Listed) => {
        const each = lists.find(({ name }) => name === part);
        if (each === undefined) throw new Error(`Saga ${saga} has no forEach ${part}.`);
        const seen = known(context);
        const { items, begins } = nextItems(each, saga, context.items[part] ?? null, () => each.items(seen));
        enqueue.assign({ items: { ...context.items, [part]: items } });
        for (const { index, item } of begins) {
          const input = each.input({ ...seen, item, index });
          enqueue.spawnChild(sourceOf(each.target), { id: itemStep(part, index), input });
        }
      }),
      keepItem: assign(({ context, event }, { part }: Listed) => {
        // Stands where an actor is done only; see `keepOutput`.
        const { output, actorId } = event as unknown as { output: unknown; actorId: string };
        return {
          ...itemsAfter(context, part, event, endedItem),
          outputs: { ...context.outputs, [actorId]: output },
        };
      }),
      endItem: assign(({ context, event }, { part }: Listed) => itemsAfter(context, part, event, endedItem)),
      refuseItem: assign(({ context, event }, { part }: Listed) => itemsAfter(context, part, event, refusedItem)),
      keepItemVerdict: assign(({ context, event }, asked: Asked) => {
        const decided = itemDecided(context, event, asked);
        if (decided === null) return {};
        const { step: part } = asked;
        const { index, outcome } = decided;
        const items = decidedItem(itemsOf(context, part), index, outcome.type === 'not-applied');
        const output = outcome.type === 'succeeded' ? { [itemStep(part, index)]: outcome.output } : {};
        return { items: { ...context.items, [part]: items }, outputs: { ...context.outputs, ...output } };
      }),
      leaveItems: enqueueActions(({ context, enqueue }, { part }: Listed) => {
        for (const index of itemsOf(context, part).underWay) enqueue.stopChild(itemStep(part, index));
      }),
    },
  });
}

/** Which step a person is asked about, and whether another one may be asked about at the same time. */
interface Asked {
  readonly step: string;
  readonly amongOthers: boolean;
}

type Verdict = Extract<SagaEvent, { readonly type: 'verdict.given' }>;

function isAbout(event: SagaEvent, { step, amongOthers }: Asked): event is Verdict {
  if (event.type !== 'verdict.given') return false;
  return event.step === step || (event.step === undefined && !amongOthers);
}

/** Which forEach an action or a guard is about. */
interface Listed {
  readonly part: string;
}

/** Told apart by the target also, as steps are by the actors they invoke. */
function itemGuard({ name, target }: ForEach): string {
  return `${sourceOf(target)} of ${name}`;
}

/** Never asked for before the chart has come to the forEach. */
function itemsOf({ items }: SagaContext, part: string): Items {
  const found = items[part];
  if (found === undefined) throw new Error(`Nothing of forEach ${part} has begun.`);
  return found;
}

/** One of them has ended, by what an actor tells. */
function itemsAfter(
  { items }: SagaContext,
  part: string,
  event: object,
  ends: typeof endedItem | typeof refusedItem,
): Pick<SagaContext, 'items'> {
  const [before, index] = [items[part], itemUnderWay(items, part, event)];
  return { items: before === undefined || index === null ? items : { ...items, [part]: ends(before, index) } };
}

/** What a person says of an item that was refused; null: it is about none. */
function itemDecided({ items }: SagaContext, event: SagaEvent, { step: part, amongOthers }: Asked) {
  const index = event.type === 'verdict.given' ? itemMeant(items, part, event.step, amongOthers) : null;
  return event.type !== 'verdict.given' || index === null ? null : { index, outcome: event.outcome };
}

type States = Record<string, object>;

/** Where a part stands: what comes next, and how to get to `compensating` from there; null: there is no way back. */
interface Place {
  readonly next: string;
  readonly back: string | null;
  readonly amongOthers: boolean;
}

function topLevelStates(saga: Saga, parts: readonly Part[]): States {
  const pivotAt = parts.findIndex(({ name }) => name === saga.pivotStep);
  const made = parts.map((part, at): States => {
    const isForward = pivotAt !== -1 && at > pivotAt;
    const next = parts[at + 1]?.name ?? 'succeeded';
    const states = statesOf(part, { next, back: isForward ? null : 'compensating', amongOthers: false });
    return isForward ? states : { ...states, [part.name]: withWaysBack(states[part.name]) };
  });
  return mergedStates(made);
}

function withWaysBack(state: { readonly on?: object } = {}): object {
  const target = 'compensating';
  return { ...state, on: { ...state.on, 'saga.cancelled': { target }, 'saga.timedOut': { target } } };
}

function statesOf(part: Part, place: Place): States {
  switch (part.type) {
    case 'step':
      return stepStates(part, place);
    case 'forEach':
      return forEachStates(part, place);
    case 'sleep':
      return { [part.name]: sleepState(part, place) };
    case 'waitFor':
      return waitingStates(part, place);
    case 'parallel':
      return { [part.name]: parallelState(part.branches, place) };
    case 'choose':
      return { [part.name]: chooseState(part, place) };
  }
}

function sleepState(sleep: Sleep, { next }: Place): object {
  const { pauseMs, isUntil } = sleep;
  const isFixed = typeof pauseMs === 'number' && !isUntil;
  return { description: pauseOf(sleep), after: { [isFixed ? pauseMs : delayName(sleep)]: { target: next } } };
}

function pauseOf({ pauseMs, isUntil }: Sleep): string {
  const isFixed = typeof pauseMs === 'number';
  if (isUntil)
    return isFixed ? `Waits until ${new Date(pauseMs).toISOString()}.` : 'Waits until a time made of what is known.';
  return isFixed ? `Waits for ${formatDuration(pauseMs)}.` : 'Waits for as long as is made of what is known.';
}

function waitingStates({ name, signal, withinMs, otherwise }: WaitFor, { next, back, amongOthers }: Place): States {
  const timedOut = `${name} timed out`;
  const comes = { [signal.name]: { target: next, actions: { type: 'keepPayload', params: { step: name } } } };
  const targets = { compensate: back ?? next, continue: next, escalate: timedOut };
  const ends = {
    compensate: 'everything is taken back',
    continue: 'the saga goes on',
    escalate: 'a person decides',
  };
  const state = {
    description: `Waits ${formatDuration(withinMs)} for the signal ${signal.name}; without it ${ends[otherwise]}.`,
    on: comes,
    after: { [withinMs]: { target: targets[otherwise] } },
  };
  if (otherwise !== 'escalate') return { [name]: state };
  const description = `The signal ${signal.name} has not come, and there is no way back: a person decides.`;
  const asked = askedState(description, { step: name, amongOthers }, next);
  return { [name]: state, [timedOut]: { ...asked, on: { ...comes, ...asked.on } } };
}

function parallelState(branches: Branches, { next, back }: Place): object {
  const states = Object.entries(branches).map(([name, parts]): [string, object] => {
    const inside = { ...statesInside(parts, back, true), done: { type: 'final' } };
    return [name, { initial: parts[0]?.name, states: inside }];
  });
  return { type: 'parallel', states: Object.fromEntries(states), onDone: { target: next } };
}

function chooseState(part: Choose, { next, back, amongOthers }: Place): object {
  const ways = Object.entries(part.branches).map(([branch, parts]) => ({
    guard: { type: pickName(part, branch) },
    target: parts[0]?.name ?? 'done',
  }));
  const inside = Object.values(part.branches).map((parts) => statesInside(parts, back, amongOthers));
  // A name that no part can have.
  const choice = `${part.name} choice`;
  const states = { [choice]: { always: ways }, ...mergedStates(inside), done: { type: 'final' } };
  return { description: 'Takes one of its branches.', initial: choice, states, onDone: { target: next } };
}

type Branches = Readonly<Record<string, readonly Part[]>>;

/** The states of a branch, which ends `done`. From inside, the way back is found by its id. */
function statesInside(parts: readonly Part[], back: string | null, amongOthers: boolean): States {
  const wayBack = back === null ? null : '#compensating';
  return mergedStates(
    parts.map((part, at) => statesOf(part, { next: parts[at + 1]?.name ?? 'done', back: wayBack, amongOthers })),
  );
}

function mergedStates(all: readonly States[]): States {
  return Object.assign({}, ...all) as States;
}

function stepStates(step: Step, { next, back, amongOthers }: Place): States {
  const failed = `${step.name} failed`;
  const invoke = {
    id: step.name,
    src: sourceOf(step.target),
    input: ({ context }: Moment) => step.input(known(context)),
    onDone: { target: next, actions: { type: 'keepOutput', params: { step: step.name } } },
    onError: { target: back ?? (step.onFailed === 'continue' ? next : failed) },
  };
  const state = { description: descriptionOf(step, back !== null), invoke };
  if (back !== null || step.onFailed === 'continue') return { [step.name]: state };

  const description = `${sourceOf(step.target)} was refused, and there is no way back: a person decides.`;
  return { [step.name]: state, [failed]: askedState(description, { step: step.name, amongOthers }, next) };
}

/** A person says that it succeeded, with what it would have left behind, or has it taken again. */
function askedState(description: string, params: Asked, next: string) {
  return {
    description,
    tags: ['escalated'],
    on: {
      'verdict.given': [
        {
          guard: { type: 'saysSucceeded', params },
          target: next,
          actions: { type: 'keepVerdict', params: { step: params.step } },
        },
        { guard: { type: 'saysNotApplied', params }, target: params.step },
      ],
    },
  };
}

function forEachStates(each: ForEach, { next, back, amongOthers }: Place): States {
  const { name, onFailed } = each;
  const failed = `${name} failed`;
  const params: Listed = { part: name };
  const begin = { type: 'beginItems', params };
  const isOurs = { type: itemGuard(each) };
  const goOn = [{ type: onFailed === 'continue' ? 'endItem' : 'refuseItem', params }, begin];
  const asks = back === null && onFailed === 'escalate';
  const state = {
    description: descriptionOfEach(each, back !== null),
    entry: begin,
    exit: { type: 'leaveItems', params },
    always: [
      { guard: { type: 'haveEnded', params }, target: next },
      ...(asks ? [{ guard: { type: 'needPerson', params }, target: failed }] : []),
    ],
    on: {
      // Which items there are shows no earlier than here: each is an actor of its own, and the guard knows them.
      'xstate.done.actor.*': { guard: isOurs, actions: [{ type: 'keepItem', params }, begin] },
      'xstate.error.actor.*': { guard: isOurs, ...(back === null ? { actions: goOn } : { target: back }) },
      ...(asks ? { 'verdict.given': itemVerdicts({ step: name, amongOthers }, { actions: [begin] }) } : {}),
    },
  };
  if (!asks) return { [name]: state };
  const asked = {
    description: `${sourceOf(each.target)} was refused, and there is no way back: a person decides about each item.`,
    tags: ['escalated'],
    on: { 'verdict.given': itemVerdicts({ step: name, amongOthers }, { target: name, actions: [] }) },
  };
  return { [name]: state, [failed]: asked };
}

/** A person may decide about an item while others are under way, too. */
function itemVerdicts(params: Asked, { actions, ...where }: { readonly target?: string; readonly actions: object[] }) {
  return ['saysItemSucceeded', 'saysItemNotApplied'].map((type) => ({
    guard: { type, params },
    ...where,
    actions: [{ type: 'keepItemVerdict', params }, ...actions],
  }));
}

function descriptionOfEach({ name, concurrency, ...step }: ForEach, isBackward: boolean): string {
  const atOnce = concurrency === null ? 'all at once' : `${concurrency} at a time`;
  return descriptionOf(step, isBackward, `${sourceOf(step.target)} for each of ${name}, ${atOnce}`);
}

/** One line for drawings: what is done there, and what becomes of it. */
function descriptionOf(
  { target, compensate, onFailed }: Pick<Step, 'target' | 'compensate' | 'onFailed'>,
  isBackward: boolean,
  what: string = sourceOf(target),
): string {
  if (!isBackward) return `${what}; without it the saga ${onFailed === 'continue' ? 'goes on' : 'waits'}`;
  if (compensate === null) return `${what}; after it there is no way back`;
  if ('none' in compensate) return `${what}; nothing takes it back: ${compensate.none}`;
  return `${what}; taken back by ${'byItself' in compensate ? 'itself' : compensate.operation.action}`;
}
