/**
 * Which sagas a seed is about: what they are made of, at which providers, who wants them and when. They are drawn from a
 * stream of their own, so that the orders of a seed are the same with sagas as without; some seeds have none.
 */

import { type Chance, seeded } from './chance.ts';
import { calm, type Fault } from './faults.ts';
import type { Promised } from './plan.ts';

/** A step as its author would think of it. */
export interface StepPlan {
  readonly type: 'step';
  readonly name: string;
  /** What is done, at which provider. */
  readonly action: string;
  /** Whether a success is taken back; the pivot and what follows it never are. */
  readonly hasInverse: boolean;
  /** What follows from a refusal. */
  readonly onFailed: 'compensate' | 'escalate' | 'continue';
}

export interface ParallelPlan {
  readonly type: 'parallel';
  readonly name: string;
  readonly branches: readonly (readonly StepPlan[])[];
}

/** It waits between two parts, for so long, or until so long after the schedule has begun. */
export interface PausePlan {
  readonly type: 'pause';
  readonly name: string;
  readonly ms: number;
  readonly isUntil: boolean;
}

/** It waits for a word from outside. */
export interface WaitPlan {
  readonly type: 'wait';
  readonly name: string;
  readonly withinMs: number;
  readonly otherwise: 'compensate' | 'escalate' | 'continue';
}

/** It takes one of the branches, by its key; the last may be empty. */
export interface ChoicePlan {
  readonly type: 'choice';
  readonly name: string;
  readonly branches: readonly (readonly StepPlan[])[];
}

/** It does one thing for each of a list, which may have nothing in it. */
export interface ListPlan {
  readonly type: 'list';
  readonly name: string;
  /** What is done for each. */
  readonly each: StepPlan;
  /** Each is a step of its own, named as people name it: by its place in the list. */
  readonly items: readonly StepPlan[];
  /** How many are under way at once; null: all. */
  readonly concurrency: number | null;
}

/** A step that is a saga of its own. */
export interface InnerPlan extends Pick<StepPlan, 'name' | 'hasInverse' | 'onFailed'> {
  readonly type: 'inner';
  readonly shape: SagaShape;
}

export type PartPlan = StepPlan | ParallelPlan | PausePlan | WaitPlan | ChoicePlan | ListPlan | InnerPlan;

/** How the flow is written: with the builder, or as a machine by hand, of one of these kinds. */
export const writings = ['race', 'again', 'beside'] as const;

/** `asking`: by hand as well, and drawn later than the others. */
export type Writing = 'chain' | (typeof writings)[number] | 'asking';

export interface SagaShape {
  readonly name: string;
  readonly written: Writing;
  readonly parts: readonly PartPlan[];
  readonly pivot: string | null;
  readonly compensation: 'reverse' | 'parallel';
  readonly withinMs: number | null;
  /** How long a machine by hand waits before it goes another way, or tries again. */
  readonly patienceMs: number;
  /** Only one of a tenant at a time. */
  readonly isLocked: boolean;
}

export interface WantedSaga {
  readonly tenant: string;
  readonly saga: string;
  readonly key: string;
  readonly atMs: number;
  /** When an operator ends it as it stands; null: nobody does. */
  readonly terminatesAtMs: number | null;
  /** When its customer wants it cancelled for sure; null: only where customers often do. */
  readonly cancelledAtMs: number | null;
  /** How long after it has heard that it is cancelled an operator ends it as it stands; null: nobody does. */
  readonly endedAfterMs: number | null;
  /** When an operator wants it taken back, whatever has become of it; null: nobody does. */
  readonly takenBackAtMs: number | null;
  /** What its chart is told from outside. */
  readonly words: readonly Word[];
}

/** An event from outside for the chart of a machine by hand, or `agreed`: the signal that a chain waits for. */
export interface Word {
  readonly type: 'noted' | 'approved' | 'rejected' | 'agreed';
  readonly eventId: string;
  readonly atMs: number;
  /** It is refused where it comes early. */
  readonly isNowOrNever: boolean;
  /** It is kept for so long. */
  readonly keepForMs: number;
}

/** What sagas share, submitted by itself. */
export type WantedAlone = Pick<WantedSaga, 'tenant' | 'atMs' | 'takenBackAtMs'>;

export interface SagasPlan {
  /** Their providers: of what is done, and of what takes it back. */
  readonly promised: readonly Promised[];
  /** What they change of how often faults strike, and of how much is done at once. */
  readonly rates: Partial<Record<Fault, number>>;
  readonly concurrency: number | null;
  readonly shapes: readonly SagaShape[];
  readonly wanted: readonly WantedSaga[];
  /** Who wants what sagas share for themselves, alone. */
  readonly alone: readonly WantedAlone[];
  /** Where the definitions of a broken process are broken. */
  readonly brokenAt: BrokenAt | null;
}

/** The functions of an author in which something can throw: of a step's input, of a chart, of what takes a step back. */
export const places = [
  'an input',
  'what an input holds',
  'an inverse',
  'a first input',
  'a guard',
  'an assignment',
] as const;

export type BrokenAt = (typeof places)[number];

type Some<Item> = readonly [Item, ...Item[]];

export const noSagas: SagasPlan = {
  ...{ promised: [], rates: {}, concurrency: null, shapes: [], wanted: [], alone: [], brokenAt: null },
};

/** The share of the seeds that have sagas. */
const SHARE = 0.6;

/** Chosen so that the seeds that were kept before there were sagas have none: they go on as they were. */
const STREAM = 0x20_e2_12_a4;

/** Draws the sagas of a seed, at providers that `promise` draws. */
export function sagasOf(seed: number, promise: Promising): SagasPlan {
  const chance = seeded(Math.imul(seed, 0x85_eb_ca_6b) ^ STREAM);
  return chance.is(SHARE) ? drawnSagas(chance, 1 + chance.below(3), promise) : noSagas;
}

/** As many sagas, of one shape or two. */
export function drawnSagas(chance: Chance, count: number, promise: Promising): SagasPlan {
  const places = chance.is(0.5) ? ['hotel', 'flight'] : ['hotel'];
  const promised = places.flatMap((place) => [
    { ...promise(place, chance), action: bookingOf(place) },
    { ...promise(place, chance), action: inverseOf(bookingOf(place)) },
  ]);
  const actions: Some<string> = [bookingOf('hotel'), ...places.slice(1).map(bookingOf)];
  const shapes: Some<SagaShape> = [
    shapeOf('trip', actions, chance),
    ...(chance.is(0.3) ? [shapeOf('tour', actions, chance)] : []),
  ];
  const tenants: Some<string> = chance.is(0.3) ? ['north', 'south'] : ['north'];
  const wanted = Array.from({ length: count }, (_, index): WantedSaga => {
    const atMs = chance.is(0.5) ? 0 : chance.between(0, 20_000);
    return {
      tenant: chance.oneOf(tenants),
      saga: chance.oneOf(shapes).name,
      key: `travel-${index + 1}`,
      atMs,
      terminatesAtMs: chance.is(0.08) ? atMs + chance.logBetween(10, 60_000) : null,
      cancelledAtMs: null,
      endedAfterMs: null,
      takenBackAtMs: null,
      words: [],
    };
  });
  const plan = { promised, rates: {}, concurrency: null, shapes, wanted, alone: [], brokenAt: null };
  return chance.is(STORIES) ? chance.oneOf(stories)(plan) : plan;
}

/** The share of the seeds with sagas in which one of these strikes often, and hardly anything else. */
const STORIES = 0.5;

type Story = (plan: SagasPlan) => SagasPlan;

function struck(rates: Partial<Record<Fault, number>>): Story {
  return (plan) => ({ ...plan, rates: { ...calm, ...rates } });
}

/** What takes sagas back, and makes it hard. */
const stories: Some<Story> = [
  // Customers change their minds at every point.
  struck({ cancel: 0.9, 'slow-reply': 0.2, 'reply-lost': 0.2, 'slow-store': 0.2 }),
  // Providers refuse, and nobody knows of some others what they did.
  struck({ refused: 0.3, 'reply-lost': 0.4, 'lookup-inconclusive': 0.4, decision: 0.5 }),
  // Workers die while it goes one way or the other.
  struck({ refused: 0.25, cancel: 0.4, crash: 0.2, 'crash-at-a-call': 0.02, 'slow-reply': 0.3 }),
  // What takes back is refused as well, and people decide.
  struck({ refused: 0.5, 'not-applied': 0.2, decision: 0.7, cancel: 0.3 }),
  // What takes back has one attempt, and is told late that it was for nothing.
  (plan) => ({
    ...struck({ cancel: 0.9, 'slow-reply': 0.7, 'not-applied': 0.5, 'lookup-silent': 0.4 })(plan),
    concurrency: 1,
    promised: plan.promised.map((one) =>
      one.action === inverseOf(one.action)
        ? { ...one, timeoutMs: 1_000, attempts: 1, honoursAbort: false, lookup: askedAtOnce, keyRetentionMs: 600_000 }
        : one,
    ),
  }),
];

const askedAtOnce = { visibleWithinMs: 0, arrivalLimitMs: 0, everyMs: 500, giveUpAfterMs: 60_000 } as const;

/** The steps that the machines by hand have. */
export const stepsByHand = {
  race: ['fast', 'instead', 'last'],
  again: ['again', 'last'],
  beside: ['sure', 'tried', 'last'],
  asking: ['first', 'last'],
} as const;

function bookingOf(place: string): string {
  return `${place}.book`;
}

/** The places of which the sagas of a tenant have one booking together: a step of this name, in whatever saga it is. */
export const SHARED = 'pass';
export const ALSO_SHARED = 'lounge';

export function isShared(step: string | null): boolean {
  return step === SHARED || step === ALSO_SHARED;
}

/** The action of such a step. */
export function sharedActionOf(step: string): string {
  return bookingOf(step);
}

export const sharedActions: readonly string[] = [SHARED, ALSO_SHARED].map(sharedActionOf);

/** Draws what a provider promises. */
export type Promising = (name: string, chance: Chance) => Promised;

/** The provider of a shared place, and of what takes back what it has booked. */
export function promisedFor(step: string, chance: Chance, promise: Promising): readonly Promised[] {
  const action = sharedActionOf(step);
  return [action, inverseOf(action)].map((each) => ({ ...promise(step, chance), action: each }));
}

/** A saga whose key ends so means another amount by what it shares than the others do. */
export const OTHERWISE = '-otherwise';

export function meansOtherwise(key: string): boolean {
  return key.endsWith(OTHERWISE);
}

/** The action that takes another one back. */
export function inverseOf(action: string): string {
  return action.replace('.book', '.unbook');
}

function shapeOf(name: string, actions: Some<string>, chance: Chance): SagaShape {
  const written = chance.is(0.2) ? chance.oneOf(writings) : 'chain';
  const common = {
    name,
    written,
    compensation: chance.is(0.7) ? 'reverse' : 'parallel',
    withinMs: chance.is(0.25) ? Math.floor(chance.logBetween(2_000, 120_000)) : null,
    patienceMs: chance.oneOf([200, 2_000, 10_000]),
    isLocked: false,
  } as const;
  if (written !== 'chain') {
    // All of them are taken back: what a machine does not say of a step, its operation does.
    const parts = stepsByHand[written].map((step) => ({
      ...stepOf(step, 'compensate', actions, chance),
      hasInverse: true,
    }));
    return { ...common, parts, pivot: null };
  }
  const before = chance.below(4);
  const hasPivot = before === 0 || chance.is(0.6);
  const after = hasPivot ? chance.below(3) : 0;
  let made = 0;
  const named = (prefix: string) => `${prefix}${(made += 1)}`;
  const part = (way: 'backward' | 'forward'): StepPlan | ParallelPlan => {
    const onFailed = () => (way === 'backward' ? 'compensate' : chance.oneOf(['escalate', 'continue'] as const));
    const step = () => stepOf(named('step'), onFailed(), actions, chance);
    if (!chance.is(0.35)) return step();
    const branches = Array.from({ length: 2 + chance.below(2) }, () =>
      Array.from({ length: chance.is(0.3) ? 2 : 1 }, step),
    );
    return { type: 'parallel', name: named('all'), branches };
  };
  const parts = [
    ...Array.from({ length: before }, () => part('backward')),
    ...(hasPivot ? [{ ...stepOf('pivot', 'compensate', actions, chance), hasInverse: false }] : []),
    ...Array.from({ length: after }, () => part('forward')),
  ];
  return { ...common, parts, pivot: hasPivot ? 'pivot' : null };
}

function stepOf(name: string, onFailed: StepPlan['onFailed'], actions: Some<string>, chance: Chance): StepPlan {
  const hasInverse = onFailed === 'compensate' && chance.is(0.85);
  return { type: 'step', name, action: chance.oneOf(actions), hasInverse, onFailed };
}

/** Every step of a shape that is an operation, in the order in which it is written. */
export function stepsIn({ parts }: Pick<SagaShape, 'parts'>): readonly StepPlan[] {
  return parts.flatMap(stepsOf);
}

/** Every shape, with those of the sagas that are steps. */
export function shapesIn({ shapes }: Pick<SagasPlan, 'shapes'>): readonly SagaShape[] {
  return shapes.flatMap((shape) => [shape, ...shapesIn({ shapes: innersIn(shape).map((inner) => inner.shape) })]);
}

/** The steps of a shape that are sagas. */
export function innersIn({ parts }: Pick<SagaShape, 'parts'>): readonly InnerPlan[] {
  return parts.filter((part) => part.type === 'inner');
}

/** Every operation that a part is, or has in it; what a saga in it does is that one's own. */
export function stepsOf(part: PartPlan): readonly StepPlan[] {
  switch (part.type) {
    case 'step':
      return [part];
    case 'list':
      return part.items;
    case 'parallel':
    case 'choice':
      return part.branches.flat();
    default:
      return [];
  }
}

/** Which branch a saga of this key takes. */
export function pickedIn({ name, branches }: ChoicePlan, key: string): number {
  const sum = Array.from(name + key).reduce((before, letter) => before + letter.charCodeAt(0), 0);
  return sum % branches.length;
}

/** What a saga of this key goes by, in the order in which it is written. */
export function takenBy({ parts }: Pick<SagaShape, 'parts'>, key: string): readonly Exclude<PartPlan, ChoicePlan>[] {
  return parts.flatMap((part): readonly Exclude<PartPlan, ChoicePlan>[] =>
    part.type === 'choice' ? (part.branches[pickedIn(part, key)] ?? []) : [part],
  );
}
