/**
 * The chart of a saga that was written with the builder. There is no second interpreter: what the verbs say becomes an
 * XState machine, run by the same kernel as any other. Its states are the steps in their order, then `compensating`;
 * it ends `succeeded` or `compensated`. Up to and including the pivot a refusal, a cancellation or the deadline leads
 * to `compensating`; after it nothing does. It performs nothing itself: operations are actors by the names of their
 * actions, and what has to be taken back is known to whoever carries out `compensate`, from proven outcomes alone.
 */

import { type AnyStateMachine, assign, setup } from 'xstate';
import { formatDuration } from '../src/domain/duration.ts';
import { definitionInvalid } from '../src/domain/errors.ts';
import type { Chain, Choose, Part, Saga, Sleep, Step } from '../src/define/saga-flow.ts';
import { type Target } from '../src/define/step-target.ts';
import { inert } from './actors.ts';

/** What a chart remembers: what it began with, and the outputs of the steps that have succeeded, by name. */
export interface SagaContext {
  readonly input: unknown;
  readonly outputs: Readonly<Record<string, unknown>>;
}

export interface SagaInput {
  readonly input: unknown;
}

export type SagaEvent =
  /** Up to and including the pivot: take everything back. */
  | { readonly type: 'saga.cancelled' }
  | { readonly type: 'saga.timedOut' }
  /** A person decided about a step that was refused after the pivot; in a parallel it must say which. */
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
    context: ({ input }: { input: SagaInput }) => ({ input: input.input, outputs: {} }),
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
  });
  // XState reads the types of states from literals, and these are made from data: the kernel's lint looks at them.
  return written.createMachine(config as never) as unknown as AnyStateMachine;
}

function outputOf({ output }: Chain, context: SagaContext): unknown {
  return output === null ? context.outputs : output(known(context));
}

/** What the functions of a saga get. */
function known({ input, outputs }: SagaContext): Record<string, unknown> {
  return { ...outputs, input };
}

function sourcesIn(parts: readonly Part[]): string[] {
  return partsIn(parts).flatMap((part) => (part.type === 'step' ? sourceOf(part.target) : []));
}

/** What a step invokes, and what is drawn: no operation has the name of a saga there. */
function sourceOf(target: Target): string {
  return target.type === 'saga' ? `saga ${target.name}` : target.action;
}

/** Of the sleeps whose length is made from what is known by then. */
function delaysIn(parts: readonly Part[]): Words['delays'] {
  return Object.fromEntries(
    partsIn(parts).flatMap((part) => {
      if (part.type !== 'sleep') return [];
      const { name, pauseMs } = part;
      return typeof pauseMs === 'number' ? [] : [[name, ({ context }: Moment) => pauseMs(known(context))]];
    }),
  );
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
}

/** All parts, with those that stand in others. */
function partsIn(parts: readonly Part[]): readonly Part[] {
  return parts.flatMap((part) =>
    'branches' in part ? [part, ...Object.values(part.branches).flatMap(partsIn)] : [part],
  );
}

type Moment = { readonly context: SagaContext };

/** What the charts of all sagas are written with: names, so that a stored instance finds them again. */
function words({ actors, delays, picks }: Words) {
  return setup({
    // XState takes types by example; these values are never read.
    types: { context: {} as SagaContext, events: {} as SagaEvent, input: {} as SagaInput },
    actors,
    delays,
    guards: {
      ...picks,
      saysSucceeded: ({ event }, params: Asked) => isAbout(event, params) && event.outcome.type === 'succeeded',
      saysNotApplied: ({ event }, params: Asked) => isAbout(event, params) && event.outcome.type === 'not-applied',
    },
    actions: {
      keepOutput: assign(({ context, event }, { step }: { step: string }) => {
        // Stands where an actor is done only; XState leaves its own events out of the type.
        const { output } = event as unknown as { output: unknown };
        return { outputs: { ...context.outputs, [step]: output } };
      }),
      keepVerdict: assign(({ context, event }, { step }: { step: string }) =>
        event.type === 'verdict.given' && event.outcome.type === 'succeeded'
          ? { outputs: { ...context.outputs, [step]: event.outcome.output } }
          : {},
      ),
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
    return isForward ? states : { ...states, [part.name]: { ...states[part.name], on: waysBack } };
  });
  return mergedStates(made);
}

const waysBack = {
  'saga.cancelled': { target: 'compensating' },
  'saga.timedOut': { target: 'compensating' },
};

function statesOf(part: Part, place: Place): States {
  switch (part.type) {
    case 'step':
      return stepStates(part, place);
    case 'sleep':
      return { [part.name]: sleepState(part, place) };
    case 'parallel':
      return { [part.name]: parallelState(part.branches, place) };
    case 'choose':
      return { [part.name]: chooseState(part, place) };
  }
}

function sleepState({ name, pauseMs }: Sleep, { next }: Place): object {
  const isFixed = typeof pauseMs === 'number';
  return {
    description: isFixed ? `Waits for ${formatDuration(pauseMs)}.` : 'Waits for as long as is made of what is known.',
    after: { [isFixed ? pauseMs : name]: { target: next } },
  };
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

  const params: Asked = { step: step.name, amongOthers };
  const asked = {
    description: `${sourceOf(step.target)} was refused, and there is no way back: a person decides.`,
    tags: ['escalated'],
    on: {
      'verdict.given': [
        {
          guard: { type: 'saysSucceeded', params },
          target: next,
          actions: { type: 'keepVerdict', params: { step: step.name } },
        },
        { guard: { type: 'saysNotApplied', params }, target: step.name },
      ],
    },
  };
  return { [step.name]: state, [failed]: asked };
}

/** One line for drawings: what is done there, and what becomes of it. */
function descriptionOf({ target, compensate, onFailed }: Step, isBackward: boolean): string {
  const source = sourceOf(target);
  if (!isBackward) return `${source}; without it the saga ${onFailed === 'continue' ? 'goes on' : 'waits'}`;
  if (compensate === null) return `${source}; after it there is no way back`;
  if ('none' in compensate) return `${source}; nothing takes it back: ${compensate.none}`;
  return `${source}; taken back by ${'byItself' in compensate ? 'itself' : compensate.operation.action}`;
}
