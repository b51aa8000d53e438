/**
 * Runs an XState machine one turn at a time as a pure function of its row. It guarantees that nothing is done: no
 * actor runs, no timer ticks, no action is executed, and the row that was passed in is never changed. The caller's
 * store is the authority for what has happened; a turn that was computed and not stored has not. A result or a timer
 * that comes too late is answered with null; a machine that cannot make its turn throws a KernelFault.
 */
import type { AnyStateMachine } from 'xstate';
import { inertCopyOf } from './inert.ts';
import { nodesIn } from './nodes.ts';
import { misfitOf, placed, type Placing } from './place.ts';
import { type Chart, chartOf } from './reach.ts';
import type { KernelEvent, KernelRow } from './row.ts';
import { eventsAwaited, firstTurn, mightTake, nextTurn, tagsOf, type Turn, unchanged, wouldTake } from './turn.ts';

export { type Effect, type Turn, unborn } from './turn.ts';

/** How an actor ended. */
export type ActorResult = { readonly output: unknown } | { readonly error: unknown };

export interface Kernel {
  /** Makes a new instance of the machine. Called twice with one input, it makes equal turns. */
  start(input: unknown): Turn;
  /**
   * Gives an event from outside to the machine. When no transition takes it, or the machine is done, the turn holds
   * the same row object and no effects. So it does for XState's internal events (`xstate.*`): only `settle` and
   * `fire` may say that an actor ended or a timer is due, since a sender must not be able to forge either.
   */
  step(row: KernelRow, event: KernelEvent): Turn;
  /**
   * Reports how an actor ended. Null when it is not running any more, or when another generation of it is: the
   * result of something that was left behind changes nothing. An error that no transition takes is a fault of the
   * definition.
   */
  settle(row: KernelRow, actorId: string, generation: number, result: ActorResult): Turn | null;
  /** Reports that a timer is due, which removes it. Null when it was cancelled or armed anew in the meantime. */
  fire(row: KernelRow, timerId: string, generation: number): Turn | null;
  /** Tells whether `step` would take the event. */
  accepts(row: KernelRow, event: KernelEvent): boolean;
  /** The types of events that the states of this row have a transition for, whatever its guard, in chart order. */
  awaits(row: KernelRow): readonly string[];
  /** Tells whether some state that the row is in, or may yet get to, has a transition for the event, whatever its guard. */
  mayTake(row: KernelRow, event: KernelEvent): boolean;
  /**
   * Puts an instance into a state without leading it there; the actors that it waits for are started with the turn, and
   * its timers armed. Throws a KernelFault for a state that the chart does not have, or does not rest in.
   */
  place(placing: Placing): Turn;
  /** Why the row does not fit this chart exactly, with all that it waits for; null: it does. */
  misfit(row: KernelRow): string | null;
  /** The tags of the states that the row is in. */
  tags(row: KernelRow): ReadonlySet<string>;
  /** Tells whether an instance with this state value, which it may have had, is in a state of that name. */
  isIn(value: unknown, name: string): boolean;
  /** The same of a state with that tag. */
  hasTag(value: unknown, tag: string): boolean;
}

/** Prepares a machine, once per process. Throws a KernelFault when one of its actors has its logic in place. */
export function kernelOf(machine: AnyStateMachine): Kernel {
  const inert = inertCopyOf(machine);
  let chart: Chart | null = null;

  return {
    start: (input) => firstTurn(inert, input),

    step: (row, event) => (isOpenTo(row, event) ? nextTurn(inert, row, event, null) : unchanged(row)),

    settle(row, actorId, generation, result) {
      if (own(row.children, actorId)?.generation !== generation) return null;
      const end =
        'output' in result
          ? { type: `xstate.done.actor.${actorId}`, output: result.output, actorId }
          : { type: `xstate.error.actor.${actorId}`, error: result.error, actorId };
      return nextTurn(inert, row, end, actorId);
    },

    fire(row, timerId, generation) {
      const timer = own(row.timers, timerId);
      if (timer?.generation !== generation) return null;
      const others = Object.entries(row.timers).filter(([id]) => id !== timerId);
      const left: KernelRow = { ...row, timers: Object.fromEntries(others) };
      if (timer.to === null) return nextTurn(inert, left, timer.event, null);
      return { ...unchanged(left), effects: [{ type: 'event.sent', to: timer.to, event: timer.event }] };
    },

    accepts: (row, event) => isOpenTo(row, event) && wouldTake(inert, row, event),

    awaits: (row) => (row.status === 'active' ? eventsAwaited(inert, row) : []),

    mayTake(row, event) {
      if (!isOpenTo(row, event)) return false;
      chart ??= chartOf(inert);
      return mightTake(inert, chart, row, event.type);
    },

    place: (placing) => placed(inert, placing),

    misfit: (row) => misfitOf(inert, row),

    tags: (row) => tagsOf(inert, row),

    isIn: (value, name) => nodesIn(inert.root, value).some(({ key }) => key === name),

    hasTag: (value, tag) => nodesIn(inert.root, value).some(({ tags }) => tags.includes(tag)),
  };
}

function isOpenTo(row: KernelRow, event: KernelEvent): boolean {
  return row.status === 'active' && !event.type.startsWith('xstate.');
}

function own<Value>(record: Readonly<Record<string, Value>>, key: string): Value | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}
