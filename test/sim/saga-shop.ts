/**
 * The travel agency's sagas, as the plan shapes them: each books at the providers of the plan, and what takes a booking
 * back names the booking. They are made with the builder that everybody uses, or are machines by hand.
 */

import { assign, cancel, raise, setup } from 'xstate';
import type { Operation } from '../../src/define/operation.ts';
import { type Saga, saga, type Signal, signal, typed } from '../../src/index.ts';
import { actorsFrom } from '../../src/xstate.ts';
import {
  type BrokenAt,
  inverseOf,
  isShared,
  type ListPlan,
  meansOtherwise,
  pickedIn,
  sharedActions,
  type SagaShape,
  type SagasPlan,
  type StepPlan,
  stepsIn,
  type Word,
} from './saga-plan.ts';
import type { Charged, Order } from './shop.ts';
import { orderOf } from './watch.ts';
import { endsAt } from './wordy-plan.ts';

/** Makes the operation of an action, taken back by another one if there is one. */
export type Operations = (action: string, inverse: Operation | null) => Operation;

/** Whether the functions of the author are broken there. */
export type IsBroken = (where: BrokenAt) => boolean;

/** The sagas of the plan by name, with their operations made by `operationOf`, and what they share by its action. */
export function sagasFor(
  { shapes, promised }: SagasPlan,
  operationOf: Operations,
  isBroken: IsBroken,
): ReadonlyMap<string, Operation | Saga> {
  const operations = operationsFor(promised, operationOf);
  const named = (action: string): Operation => {
    const operation = operations.get(action);
    if (operation === undefined) throw new Error(`${action} is not defined.`);
    return operation;
  };
  const made = shapes.map((shape): [string, Saga] => {
    const makes = shape.written === 'chain' ? chainOf : byHand;
    return [shape.name, makes(shape, named, isBroken)];
  });
  const shared = [...operations].filter(([action]) => sharedActions.includes(action));
  return new Map<string, Operation | Saga>([...made, ...shared]);
}

/** The operations of sagas, each with what takes it back. */
function operationsFor(promised: SagasPlan['promised'], operationOf: Operations): ReadonlyMap<string, Operation> {
  const inverses = new Map(
    promised
      .filter(({ action }) => promised.some((other) => inverseOf(other.action) === action && other.action !== action))
      .map(({ action }) => [action, operationOf(action, null)]),
  );
  return new Map(
    promised
      .filter(({ action }) => !inverses.has(action))
      .map(({ action }) => [action, operationOf(action, inverses.get(inverseOf(action)) ?? null)]),
  );
}

/** What takes the step of this name back is called so. */
const UNDO = 'undo ';

/** What a shared step books is called so, whoever books it. */
export function sharedBookingOf(step: string): string {
  return `${EVERYBODY}${step}`;
}

const EVERYBODY = 'everybody/';

/** Whether what is called so is shared, or takes back what is. */
export function isSharedBooking(name: string): boolean {
  return (undoneBy(name) ?? name).startsWith(EVERYBODY);
}

/** What is meant by a shared booking: the same by all, or something else by who means it otherwise. */
export function sharedOrder(tenant: string, step: string, key: string): Order {
  const order = orderOf(tenant, sharedBookingOf(step));
  return meansOtherwise(key) ? { ...order, amount: OTHER_AMOUNT } : order;
}

export const OTHER_AMOUNT = 1_400n;

/** What a step books is called so at its provider: no two steps of two sagas share a name, except of what they share. */
export function bookingName(sagaName: string, key: string, step: string): string {
  if (isShared(step)) return sharedBookingOf(step);
  return `${sagaName}/${orderOfKey(key)}/${step}`;
}

/** What a saga of this key was given as its order: one that is a step has a key of its saga, of that one's and its name. */
function orderOfKey(key: string): string {
  if (!key.startsWith('[')) return key;
  // Made by the library for a step.
  const [saga, outer, step] = JSON.parse(key) as readonly [string, string, string];
  return bookingName(saga, outer, step);
}

/** The step of a booking, by the name of it or its subject. */
export function stepOfBooking(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}

/** A receipt of what a person saw to without any provider. */
export function isByHand(receipt: string): boolean {
  return receipt.startsWith(BY_HAND);
}

/** What a person says a step brought that they saw to themselves. */
export function doneByHand(step: string): Charged {
  return { receipt: `${BY_HAND}${step}`, amount: 0n, fee: 0, note: undefined };
}

const BY_HAND = 'by-hand-';

function undoName(booking: string): string {
  return `${UNDO}${booking}`;
}

/** The booking that one of this name takes back; null: it is a booking itself. */
export function undoneBy(name: string): string | null {
  return name.startsWith(UNDO) ? name.slice(UNDO.length) : null;
}

/** The input of what takes a booking back. */
export function undoing({ input, output }: { readonly input: unknown; readonly output: unknown }): Order {
  // Every booking is submitted with an order, and brings back a receipt; without one the judge will see that it is missing.
  const [order, brought] = [input as Order, output as Charged | undefined];
  return { ...order, order: undoName(order.order), note: brought?.receipt };
}

/** Only one saga of a tenant is at it at a time. */
const DESK = 'the desk';

/** What the functions of a saga get. */
type Known = Readonly<Record<string, unknown>>;

type Branches = (branch: Verbs) => Readonly<Record<string, Verbs>>;

/** What a chain waits for; who has said it is told by the id of the event. */
export const agreed = signal('agreed', { payload: typed<{ readonly by: string }>() });

/** The verbs without their types: what is drawn has none. */
interface Verbs {
  step(name: string, target: Operation | Saga, input: (known: Known) => Order, options?: object): Verbs;
  pivot(name: string, operation: Operation, input: (known: Known) => Order): Verbs;
  parallel(name: string, branches: Branches): Verbs;
  choose(name: string, pick: (known: Known) => string, branches: Branches): Verbs;
  sleep(name: string, pause: number | { readonly until: Date }): Verbs;
  waitFor(name: string, signal: Signal, options: { readonly within: number; readonly otherwise: string }): Verbs;
  forEach(
    name: string,
    items: () => readonly unknown[],
    operation: Operation,
    input: (known: Known) => Order,
    options?: object,
  ): Verbs;
}

function optionsOf({ withinMs, compensation, isLocked }: SagaShape) {
  return {
    input: typed<Order>(),
    key: ({ input }: { readonly input: Order }) => input.order,
    compensation,
    ...(withinMs === null ? {} : { within: withinMs }),
    ...(isLocked ? { lock: () => [DESK] } : {}),
  };
}

function chainOf(shape: SagaShape, operationOf: (action: string) => Operation, isBroken: IsBroken): Saga {
  const pivotAt = shape.parts.findIndex(({ name }) => name === shape.pivot);
  const wayOf = ({ hasInverse, onFailed }: Pick<StepPlan, 'hasInverse' | 'onFailed'>, isForward: boolean) =>
    isForward ? { onFailed } : hasInverse ? {} : { compensate: { none: 'nobody minds' } };
  const step = (verbs: Verbs, one: StepPlan, isForward: boolean): Verbs =>
    verbs.step(one.name, operationOf(one.action), bookingOf(shape, one.name, isBroken), wayOf(one, isForward));
  const list = (verbs: Verbs, part: ListPlan, isForward: boolean): Verbs => {
    const { name, items, concurrency, each } = part;
    const input = ({ item, index: _, ...seen }: Known) => bookingOf(shape, String(item), isBroken)(seen);
    const options = { ...wayOf(each, isForward), ...(concurrency === null ? {} : { concurrency }) };
    return verbs.forEach(name, () => items.map((one) => one.name), operationOf(each.action), input, options);
  };
  // The builder's types grow with each literal verb, and these are drawn.
  let verbs = saga(shape.name, optionsOf(shape)) as unknown as Verbs;
  for (const [at, part] of shape.parts.entries()) {
    const isForward = pivotAt !== -1 && at > pivotAt;
    if (part.type === 'wait') {
      verbs = verbs.waitFor(part.name, agreed, { within: part.withinMs, otherwise: part.otherwise });
    } else if (part.type === 'pause') {
      verbs = verbs.sleep(part.name, part.isUntil ? { until: new Date(endsAt(part.ms)) } : part.ms);
    } else if (part.type === 'list') {
      verbs = list(verbs, part, isForward);
    } else if (part.type === 'inner') {
      const inside = chainOf(part.shape, operationOf, isBroken);
      verbs = verbs.step(part.name, inside, bookingOf(shape, part.name, isBroken), wayOf(part, isForward));
    } else if (part.type === 'step') {
      verbs =
        part.name === shape.pivot
          ? verbs.pivot(part.name, operationOf(part.action), bookingOf(shape, part.name, isBroken))
          : step(verbs, part, isForward);
    } else {
      const named = (index: number) => `${part.name}-${index + 1}`;
      const branches: Branches = (branch) =>
        Object.fromEntries(
          part.branches.map((steps, index) => [
            named(index),
            steps.reduce((begun, one) => step(begun, one, isForward), branch),
          ]),
        );
      const pick = ({ input }: Known) =>
        // What is submitted is an order.
        part.type === 'choice' ? named(pickedIn(part, (input as Order).order)) : '';
      verbs = part.type === 'choice' ? verbs.choose(part.name, pick, branches) : verbs.parallel(part.name, branches);
    }
  }
  // A saga at every point, whatever its types.
  return verbs as unknown as Saga;
}

/** The step's input: the order, with the receipts of everything that was booked before. */
function bookingOf(shape: SagaShape, step: string, isBroken: IsBroken): (known: Known) => Order {
  const { name } = shape;
  const steps = stepsIn(shape);
  const isLater = steps.length > 1 && step === steps.at(-1)?.name;
  return ({ input, ...outputs }) => {
    if (step === steps[0]?.name) refuseBroken(isBroken, 'a first input');
    if (isLater) refuseBroken(isBroken, 'an input');
    const order = input as Order;
    const isUnkept = isLater && isBroken('what an input holds');
    if (isShared(step)) return sharedOrder(order.tenant, step, order.order);
    const unkept = isUnkept ? { placed: NEVER_KEPT as unknown as Date } : {};
    // What a person stated in the place of an output looks like one; who has agreed has no receipt.
    const receipts = Object.values(outputs)
      .flat()
      .flatMap((output) => (output as Partial<Charged> | undefined)?.receipt ?? []);
    return { ...order, order: bookingName(name, order.order, step), note: receipts.join(' ') || undefined, ...unkept };
  };
}

/** No store can keep it. */
const NEVER_KEPT = () => 'placed at some time';

function refuseBroken(isBroken: IsBroken, where: BrokenAt): void {
  if (isBroken(where)) throw new Error(`${where} is broken`);
}

const takesNothingBack = 'what is refused is tried again, and what is left is taken back by itself';

function byHand(shape: SagaShape, operationOf: (action: string) => Operation, isBroken: IsBroken): Saga {
  const { name, written, patienceMs } = shape;
  const operations = Object.fromEntries(stepsIn(shape).map((step) => [step.name, operationOf(step.action)]));
  const machine = setup({
    // XState takes types by example; these values are never read.
    types: { context: {} as Context, input: {} as Order, events: {} as Heard },
    actors: actorsFrom(operations),
    delays: { patience: patienceMs },
    guards: {
      isHeeded() {
        refuseBroken(isBroken, 'a guard');
        return true;
      },
      mayTryAgain({ context }) {
        refuseBroken(isBroken, 'a guard');
        return context.tries < TRIES_MAX;
      },
    },
    actions: {
      noteWord: assign(({ context, event }) => {
        refuseBroken(isBroken, 'an assignment');
        return { words: [...context.words, event.eventId] };
      }),
      noteEnd: assign(() => {
        refuseBroken(isBroken, 'an assignment');
        return {};
      }),
      countTry: assign(({ context }) => {
        refuseBroken(isBroken, 'an assignment');
        return { tries: context.tries + 1 };
      }),
    },
  }).createMachine({
    id: name,
    context: ({ input: order }: { readonly input: Order }) => ({ order, tries: 1, words: [] }),
    ...waysOf(shape, written, isBroken),
    // XState reads the types of states from literals, and these are chosen.
  } as never);
  // The operations' names are drawn, so that the compiler does not know which there are.
  const drawn = { ...optionsOf(shape), machine, operations: operations as never, takesNothingBack };
  return saga(name, drawn) as Saga;
}

/** What a machine by hand remembers. */
interface Context {
  readonly order: Order;
  readonly tries: number;
  /** Ids of the events that it has noted, in the order in which it was given them. */
  readonly words: readonly string[];
}

/** What it is told from outside. */
interface Heard extends Pick<Word, 'eventId'> {
  readonly type: Word['type'] | 'reminded';
}

const TRIES_MAX = 2;

/** Where the machine begins, and its states. */
function waysOf(shape: SagaShape, written: SagaShape['written'], isBroken: IsBroken): object {
  const booking = (step: string, onDone: string, onError: unknown = `#${shape.name}.giveUp`) => {
    const made = bookingOf(shape, step, isBroken);
    const input = ({ context }: { readonly context: Context }) => made({ input: context.order });
    return { invoke: { id: step, src: step, input, onDone, onError } };
  };
  const ends = {
    last: booking('last', 'booked'),
    giveUp: { invoke: { src: 'compensate', onDone: { target: 'givenUp', actions: 'noteEnd' } } },
    booked: { type: 'final' },
    givenUp: { type: 'final' },
  };
  switch (written) {
    // Who is too slow is left, and another one asked instead.
    case 'race':
      return {
        initial: 'fast',
        states: {
          fast: { ...booking('fast', 'last'), after: { patience: 'instead' } },
          instead: booking('instead', 'last'),
          ...ends,
        },
      };
    // What was refused is tried once more, as another booking.
    case 'again': {
      const onError = [{ guard: 'mayTryAgain', target: 'pausing', actions: 'countTry' }, { target: 'giveUp' }];
      const states = { again: booking('again', 'last', onError), pausing: { after: { patience: 'again' } }, ...ends };
      return { initial: 'again', states };
    }
    // It notes what it is told, until it is told what to do, or has waited for long enough.
    case 'asking': {
      const reminder = 'reminder';
      const asked = {
        entry: raise({ type: 'reminded' }, { id: reminder, delay: shape.patienceMs }),
        exit: cancel(reminder),
        on: {
          noted: { actions: 'noteWord' },
          approved: { guard: 'isHeeded', target: 'last' },
          rejected: 'giveUp',
          reminded: 'last',
        },
      };
      return { initial: 'first', states: { first: booking('first', 'asked'), asked, ...ends } };
    }
    // Both at once, and what is only tried is left when it takes too long.
    default: {
      const sure = { initial: 'asking', states: { asking: booking('sure', 'over'), over: { type: 'final' } } };
      const asking = { ...booking('tried', 'over', 'over'), after: { patience: 'over' } };
      const tried = { initial: 'asking', states: { asking, over: { type: 'final' } } };
      const both = { type: 'parallel', onDone: 'last', states: { sure, tried } };
      return { initial: 'both', states: { both, ...ends } };
    }
  }
}
