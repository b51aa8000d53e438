/**
 * One turn: what an event makes of a row, and what is to be done because of it. Nothing has been done when this
 * returns; whoever called stores the row and the effects together and acts afterwards. The difference between the
 * actors and timers before and after decides what is started, stopped, armed and cancelled; XState's list of actions
 * is not asked, because it does not mention every start and mentions some that did not last. It decides only the
 * order of effects, so that an event is not sent to an actor before its start or after its stop.
 */
import type { AnyActorRef, AnyMachineSnapshot, AnyStateMachine } from 'xstate';
import { KernelFault } from './fault.ts';
import { mostMicrosteps } from './inert.ts';
import { firstValueOf } from './nodes.ts';
import type { Chart } from './reach.ts';
import type { Child, KernelEvent, KernelRow, Timer } from './row.ts';
import { activeNodesOf, openScope, type TurnScope } from './scope.ts';
import { historyOf, holdsActor, isWhole, snapshotFrom } from './snapshot.ts';

/** Something to be done once the row is stored. Delays count from then: the kernel knows no time. */
export type Effect =
  | {
      readonly type: 'actor.started';
      readonly id: string;
      readonly generation: number;
      readonly src: string;
      readonly input: unknown;
    }
  | { readonly type: 'actor.stopped'; readonly id: string; readonly generation: number }
  | {
      readonly type: 'timer.armed';
      readonly id: string;
      readonly generation: number;
      readonly delayMs: number;
      readonly event: KernelEvent;
      readonly to: string | null;
    }
  | { readonly type: 'timer.cancelled'; readonly id: string; readonly generation: number }
  | { readonly type: 'event.sent'; readonly to: string; readonly event: KernelEvent }
  | { readonly type: 'event.emitted'; readonly event: KernelEvent }
  | { readonly type: 'logged'; readonly label: string | undefined; readonly value: unknown }
  | { readonly type: 'action'; readonly name: string; readonly params: unknown };

export interface Turn {
  readonly row: KernelRow;
  readonly effects: readonly Effect[];
  /** The state value after each microstep in order, the final one included, without consecutive duplicates. */
  readonly visited: readonly unknown[];
}

/** The first turn of an instance. */
export function firstTurn(machine: AnyStateMachine, input: unknown): Turn {
  return guarded({ machine: machine.id, state: null }, () => {
    const scope = openScope();
    scope.begin(0, null);
    const first = machine.getInitialSnapshot(scope.surroundings, input);
    const after = readOwnMail(machine, first, scope);

    return conclude({ machine, scope, row: unborn, before: null, after, settled: null }, [firstValueOf(machine.root)]);
  });
}

/** The turn an event makes of a row. `settled` names the actor whose end the event reports. */
export function nextTurn(machine: AnyStateMachine, row: KernelRow, event: KernelEvent, settled: string | null): Turn {
  return guarded({ machine: machine.id, state: row.value, actor: settled }, () => {
    const scope = openScope();
    const before = snapshotFrom(machine, row, scope);
    scope.begin(row.ids, before);
    const after = readOwnMail(machine, machine.transition(before, event, scope.surroundings), scope);

    return conclude({ machine, scope, row, before, after, settled }, []);
  });
}

/** Tells whether an event would be taken by some transition of the row's state. */
export function wouldTake(machine: AnyStateMachine, row: KernelRow, event: KernelEvent): boolean {
  return guarded({ machine: machine.id, state: row.value }, () => snapshotFrom(machine, row, openScope()).can(event));
}

export function eventsAwaited(machine: AnyStateMachine, row: KernelRow): readonly string[] {
  return guarded({ machine: machine.id, state: row.value }, () => {
    const active = activeNodesOf(snapshotFrom(machine, row, openScope()));
    const types = active.flatMap((node) => [...node.transitions.keys()]).filter((type) => !type.startsWith('xstate.'));
    return [...new Set(types)];
  });
}

/** Whether a transition for events of this type can still be met on the way from the row. */
export function mightTake(machine: AnyStateMachine, chart: Chart, row: KernelRow, type: string): boolean {
  return guarded({ machine: machine.id, state: row.value }, () => {
    const active = activeNodesOf(snapshotFrom(machine, row, openScope()));
    // Those around them are theirs as well: from the root, everything could be reached.
    const innermost = active.filter((node) => !active.some(({ parent }) => parent === node));
    const reached = new Set(innermost.flatMap((node) => [...chart.from(node)]));
    return [...reached].some((node) => chart.transitionsOf(node).some(({ eventType }) => isFor(eventType, type)));
  });
}

/** A transition is written for one type, for all that begin so (`order.*`), or for every event (`*`). */
function isFor(written: string, type: string): boolean {
  if (!written.endsWith('*')) return written === type;
  return `${type}.`.startsWith(written.slice(0, -1));
}

export function tagsOf(machine: AnyStateMachine, row: KernelRow): ReadonlySet<string> {
  return guarded({ machine: machine.id, state: row.value }, () => snapshotFrom(machine, row, openScope()).tags);
}

/** The turn in which nothing happens. */
export function unchanged(row: KernelRow): Turn {
  return { row, effects: [], visited: [row.value] };
}

/** What a machine is before its first turn. */
export const unborn: KernelRow = {
  value: {},
  status: 'active',
  context: null,
  children: {},
  timers: {},
  generations: {},
  ids: 0,
};

type Place = ConstructorParameters<typeof KernelFault>[0];

/** Whatever the machine's own code throws is a fault of its definition. */
export function guarded<T>(place: Place, compute: () => T): T {
  try {
    return compute();
  } catch (error) {
    if (error instanceof KernelFault) throw error;
    throw new KernelFault(
      place,
      `its own code failed: ${error instanceof Error ? error.message : String(error)}`,
      error,
    );
  }
}

/** An event that a machine sends to itself is read in the same turn, after the step that sent it, as a live one does. */
function readOwnMail(machine: AnyStateMachine, first: AnyMachineSnapshot, scope: TurnScope): AnyMachineSnapshot {
  let current = first;
  let read = 0;
  for (let at = 0; at < scope.actions.length && current.status === 'active'; at += 1) {
    const sent = sendingOf(scope.actions[at]);
    if (!sent || sent.delay !== undefined || !scope.isSelf(sent.to)) continue;
    read += 1;
    if (read > mostMicrosteps) throw new Error(`it sent itself more than ${mostMicrosteps} events in one turn.`);
    current = machine.transition(current, sent.event, scope.surroundings);
  }
  return current;
}

interface Computed {
  readonly machine: AnyStateMachine;
  readonly scope: TurnScope;
  readonly row: KernelRow;
  readonly before: AnyMachineSnapshot | null;
  readonly after: AnyMachineSnapshot;
  readonly settled: string | null;
}

function conclude(turn: Computed, entered: readonly unknown[]): Turn {
  const { machine, scope, row, before, after, settled } = turn;
  const place: Place = { machine: machine.id, state: before ? row.value : null, actor: settled };
  if (after.status === 'error') throw faultOfError(place, before, settled, after.error);
  if (!isWhole(after)) {
    throw new KernelFault(place, `it would be left in ${JSON.stringify(after.value)}, where no chart can rest.`);
  }
  if (holdsActor(after.context)) {
    throw new KernelFault(place, "its context holds an actor, which cannot be stored. Keep the actor's id instead.");
  }

  const actors = actorsAfter(turn, place);
  const timers = timersAfter(turn, actors, place);
  const effects = [...inOrder(scope, actors), ...timers.cancelled, ...timers.armed];
  const visited = withoutRepeats([...entered, ...scope.values, after.value]);
  if (after === before && settled === null && effects.length === 0) return { row, effects, visited };

  const history = historyOf(after);
  const next: KernelRow = {
    value: after.value,
    status: after.status === 'done' ? 'done' : 'active',
    context: after.context,
    ...(after.output === undefined ? {} : { output: after.output }),
    ...(history === undefined ? {} : { history }),
    children: actors.children,
    timers: timers.timers,
    generations: { ...row.generations, ...actors.generations, ...timers.generations },
    ids: scope.nextNumber(),
  };
  return { row: next, effects, visited };
}

function faultOfError(place: Place, before: unknown, settled: string | null, error: unknown): KernelFault {
  if (before === null) return new KernelFault(place, 'its context or its first entry failed.', error);
  if (settled === null) return new KernelFault(place, 'an error event was taken by no transition.', error);
  return new KernelFault(place, 'no transition takes the error. Add onError to its invoke.', error);
}

interface ActorsAfter {
  readonly children: Readonly<Record<string, Child>>;
  readonly generations: Readonly<Record<string, number>>;
  readonly started: ReadonlyMap<AnyActorRef, Effect>;
  readonly stopped: ReadonlyMap<AnyActorRef, Effect>;
  /** Actors that ran before the turn or run after it; any other was made and dropped within it. */
  isKnown(actor: AnyActorRef): boolean;
  /** Actors that run after the turn. */
  isRunning(actor: AnyActorRef): boolean;
}

/** An actor is the same one only as the same object: leaving and re-entering a state within a turn makes another. */
function actorsAfter({ scope, row, before, after, settled }: Computed, place: Place): ActorsAfter {
  const previous = new Map<AnyActorRef, Child & { readonly id: string }>();
  for (const [id, child] of Object.entries(row.children)) {
    const actor: AnyActorRef | undefined = before?.children[id];
    if (actor) previous.set(actor, { ...child, id });
  }
  // A finished machine keeps its actors listed, though they have been told to stop.
  const listed: (AnyActorRef | undefined)[] = after.status === 'done' ? [] : Object.values(after.children);
  const running = new Set(listed.filter((actor) => actor !== undefined));
  for (const [actor, { id }] of previous) if (id === settled) running.delete(actor);

  const children: Record<string, Child> = {};
  const generations: Record<string, number> = {};
  const started = new Map<AnyActorRef, Effect>();
  for (const actor of running) {
    const { id } = actor;
    const kept = row.children[id];
    if (kept && previous.has(actor)) {
      children[id] = kept;
      continue;
    }
    const src: unknown = actor.src;
    if (typeof src !== 'string') throw new KernelFault(place, `actor ${id} has no named source.`);
    const input: unknown = actor.getSnapshot().input;
    const generation = (row.generations[`actor:${id}`] ?? 0) + 1;
    // An id made by the kernel names one actor only, so there is no earlier one to tell it from.
    if (id !== actor.sessionId) generations[`actor:${id}`] = generation;
    children[id] = { src, generation, ...(input === undefined ? {} : { input }) };
    started.set(actor, { type: 'actor.started', id, generation, src, input });
  }

  const stopped = new Map<AnyActorRef, Effect>();
  for (const [actor, { id, generation }] of previous) {
    if (!running.has(actor) && id !== settled) stopped.set(actor, { type: 'actor.stopped', id, generation });
  }
  const isRunning = (actor: AnyActorRef) => running.has(actor) || !scope.made.has(actor);
  return {
    children,
    generations,
    started,
    stopped,
    isRunning,
    isKnown: (actor) => stopped.has(actor) || isRunning(actor),
  };
}

interface TimersAfter {
  readonly timers: Readonly<Record<string, Timer>>;
  readonly generations: Readonly<Record<string, number>>;
  readonly cancelled: readonly Effect[];
  readonly armed: readonly Effect[];
}

type Arming = Omit<Timer, 'generation'> & { readonly target: AnyActorRef | null; readonly named: boolean };

/**
 * A timer whose receiver is gone is cancelled, as is every timer of a finished machine. Arming an id that is armed
 * replaces the earlier timer (a live interpreter would let both fire, though `cancel` then reaches only one).
 */
function timersAfter({ scope, row, after, settled }: Computed, actors: ActorsAfter, place: Place): TimersAfter {
  const kept = new Set(Object.keys(row.timers));
  const arming = new Map<string, Arming>();
  for (const action of scope.actions) {
    if (action.type === 'xstate.cancel') {
      const id = paramsOf<{ sendId: string }>(action.params).sendId;
      kept.delete(id);
      arming.delete(id);
    }
    const sent = sendingOf(action);
    if (sent?.delay === undefined) continue;
    const id = sent.id ?? scope.freshId();
    const target = sent.to === null || scope.isSelf(sent.to) ? null : sent.to;
    const delayMs = checkedDelay(sent.delay, place);
    kept.delete(id);
    arming.set(id, { event: sent.event, to: target?.id ?? null, delayMs, target, named: sent.id !== undefined });
  }

  const gone = new Set([...actors.stopped.keys()].map((actor) => actor.id));
  if (settled !== null) gone.add(settled);
  const over = after.status === 'done';
  const timers: Record<string, Timer> = {};
  const cancelled: Effect[] = [];
  for (const [id, timer] of Object.entries(row.timers)) {
    if (!over && kept.has(id) && (timer.to === null || !gone.has(timer.to))) timers[id] = timer;
    else cancelled.push({ type: 'timer.cancelled', id, generation: timer.generation });
  }

  const generations: Record<string, number> = {};
  const armed: Effect[] = [];
  for (const [id, { event, to, delayMs, target, named }] of over ? [] : arming) {
    if (target && !actors.isRunning(target)) continue;
    const generation = (row.generations[`timer:${id}`] ?? 0) + 1;
    if (named) generations[`timer:${id}`] = generation;
    timers[id] = { event, to, generation, delayMs };
    armed.push({ type: 'timer.armed', id, generation, delayMs, event, to });
  }
  return { timers, generations, cancelled, armed };
}

function checkedDelay(delay: number, place: Place): number {
  if (!Number.isFinite(delay)) throw new KernelFault(place, `a delay of ${delay} milliseconds cannot be kept.`);
  return Math.max(0, delay);
}

/** Effects of actions in the order of the actions; starts that no action mentions come before anything is sent. */
function inOrder(scope: TurnScope, actors: ActorsAfter): Effect[] {
  const starts = new Map(actors.started);
  const stops = new Map(actors.stopped);
  const effects: Effect[] = [];
  const take = (from: Map<AnyActorRef, Effect>, actor: AnyActorRef | undefined) => {
    const effect = actor && from.get(actor);
    if (!effect) return;
    from.delete(actor);
    effects.push(effect);
  };

  for (const action of scope.actions) {
    switch (action.type) {
      case 'xstate.spawnChild':
        take(starts, paramsOf<{ actorRef: AnyActorRef | undefined }>(action.params).actorRef);
        break;
      case 'xstate.stopChild':
        take(stops, paramsOf<AnyActorRef | undefined>(action.params));
        break;
      case 'xstate.sendTo': {
        const sent = sendingOf(action);
        if (!sent || sent.delay !== undefined || sent.to === null || scope.isSelf(sent.to)) break;
        if (actors.isKnown(sent.to)) effects.push({ type: 'event.sent', to: sent.to.id, event: sent.event });
        break;
      }
      case 'xstate.emit':
        effects.push({ type: 'event.emitted', event: paramsOf<{ event: KernelEvent }>(action.params).event });
        break;
      case 'xstate.log': {
        const { label, value } = paramsOf<{ label: string | undefined; value: unknown }>(action.params);
        effects.push({ type: 'logged', label, value });
        break;
      }
      case 'xstate.raise':
      case 'xstate.cancel':
        break;
      default:
        effects.push({ type: 'action', name: action.type, params: action.params });
    }
  }
  return [...starts.values(), ...effects, ...stops.values()];
}

interface Sending {
  /** Null for an event the machine raises. */
  readonly to: AnyActorRef | null;
  readonly event: KernelEvent;
  readonly id: string | undefined;
  readonly delay: number | undefined;
}

/** An action that sends or raises an event, now or later. Without a delay, a raise was already taken by the step. */
function sendingOf(action: TurnScope['actions'][number] | undefined): Sending | null {
  if (action?.type !== 'xstate.raise' && action?.type !== 'xstate.sendTo') return null;
  const { to, event, id, delay } = paramsOf<Partial<Sending> & { event: KernelEvent }>(action.params);
  return { to: to ?? null, event, id, delay: typeof delay === 'number' ? delay : undefined };
}

/** XState declares the parameters of its own actions as unknown; their shape follows from the action's type. */
function paramsOf<Params>(params: unknown): Params {
  // The caller has just compared the action's type, which fixes the shape.
  return params as Params;
}

function withoutRepeats(values: readonly unknown[]): readonly unknown[] {
  return values.filter((value, at) => at === 0 || !sameValue(value, values[at - 1]));
}

/** Equality of two state values; XState lists regions in the order in which they were entered last. */
function sameValue(a: unknown, b: unknown): boolean {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b;
  const others = new Map(Object.entries(b));
  const ours = Object.entries(a);
  return ours.length === others.size && ours.every(([key, part]) => sameValue(part, others.get(key)));
}
