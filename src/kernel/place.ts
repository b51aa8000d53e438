/**
 * Puts an instance into a state of a chart without leading it there, as when it is moved on from another version. What
 * waits in that state is what would wait after entering it: the actors that its states invoke and the timers that they
 * arm; actions on entry are not among them. Nothing that the chart does not have, or where it would not rest, is let pass.
 * The same reading of a chart tells whether a stored row waits for exactly what its states wait for.
 */
import type { AnyMachineSnapshot, AnyStateMachine, AnyStateNode } from 'xstate';
import { KernelFault } from './fault.ts';
import { nodesOf, sendingOf } from './nodes.ts';
import type { Child, KernelRow, Timer } from './row.ts';
import { activeNodesOf, openScope, type TurnScope } from './scope.ts';
import { fits, snapshotFrom } from './snapshot.ts';
import { type Effect, guarded, type Turn } from './turn.ts';

/** Where an instance is put, and what is known of its past. */
export interface Placing {
  readonly value: unknown;
  readonly context: unknown;
  /** Where it stood: a timer of the same id goes on, what it was to hear later is heard, no generation is given twice. */
  readonly before: KernelRow;
  /** The last generation of each actor, by its id in this chart. */
  readonly generations: Readonly<Record<string, number>>;
}

/** Throws a KernelFault for a state that the chart does not have or does not rest in. */
export function placed(machine: AnyStateMachine, { value, context, before, generations }: Placing): Turn {
  const place = { machine: machine.id, state: value };
  return guarded(place, () => {
    if (!fits(machine.root, value)) throw new KernelFault(place, 'the chart has no such state.');
    const bare: KernelRow = {
      ...{ value, status: 'active', context, children: {}, timers: {}, ids: before.ids },
      generations: { ...before.generations, ...namedActors(generations) },
    };
    const scope = openScope();
    const snapshot = snapshotFrom(machine, bare, scope);
    if (!restsIn(machine, snapshot, scope)) throw new KernelFault(place, 'the chart does not rest there.');

    const nodes = activeNodesOf(snapshot);
    const started = nodes.flatMap(invokedAt).map(({ id, src, input }) => {
      const generation = (generations[id] ?? 0) + 1;
      return { id, src, generation, input: inputOf(input, context, scope) };
    });
    const armed = nodes.flatMap(timersAt).flatMap(({ id, delay }) => {
      if (before.timers[id] !== undefined) return [];
      const generation = (before.generations[`timer:${id}`] ?? 0) + 1;
      return [{ id, event: { type: id }, to: null, generation, delayMs: delayMs(machine, delay, context) }];
    });
    const waits = new Set(nodes.flatMap(timersAt).map(({ id }) => id));
    const kept = Object.entries(before.timers).filter(([id, { to }]) => waits.has(id) || isSaidLater(id, to));
    const row: KernelRow = {
      ...bare,
      value: snapshot.value,
      children: Object.fromEntries(started.map(({ id, ...child }): [string, Child] => [id, withoutNothing(child)])),
      timers: { ...Object.fromEntries(kept), ...Object.fromEntries(armed.map(({ id, ...timer }) => [id, timer])) },
      generations: {
        ...bare.generations,
        ...namedActors(Object.fromEntries(started.map(({ id, generation }) => [id, generation]))),
        ...Object.fromEntries(armed.map(({ id, generation }) => [`timer:${id}`, generation])),
      },
    };
    const effects: Effect[] = [
      ...started.map((actor) => ({ type: 'actor.started' as const, ...actor })),
      ...armed.map((timer) => ({ type: 'timer.armed' as const, ...timer })),
    ];
    return { row, effects, visited: [snapshot.value] };
  });
}

/** Why the chart cannot go on from the row as it stands; null: its states wait for exactly what the row waits for. */
export function misfitOf(machine: AnyStateMachine, row: KernelRow): string | null {
  try {
    const nodes = activeNodesOf(snapshotFrom(machine, row, openScope()));
    if (row.status !== 'active') return null;
    const invoked = new Map(nodes.flatMap(invokedAt).map(({ id, src }) => [id, src]));
    const elsewhere = new Set(
      nodesOf(machine)
        .flatMap(invokedAt)
        .map(({ id }) => id),
    );
    const missing = [...invoked].find(([id, src]) => row.children[id]?.src !== src);
    if (missing !== undefined) return `nothing of it is ${missing[0]}, which its state waits for`;
    const strange = Object.keys(row.children).find((id) => !invoked.has(id) && elsewhere.has(id));
    if (strange !== undefined) return `its state does not wait for ${strange}`;
    const timers = new Set(nodes.flatMap(timersAt).map(({ id }) => id));
    const after = Object.keys(row.timers).filter((id) => id.startsWith(AFTER));
    const isSame = after.every((id) => timers.has(id)) && [...timers].every((id) => after.includes(id));
    return isSame ? null : 'its state waits for another time';
  } catch (error) {
    if (error instanceof KernelFault) return error.message;
    throw error;
  }
}

interface Invoked {
  readonly id: string;
  readonly src: string;
  readonly input: unknown;
}

function invokedAt(node: AnyStateNode): readonly Invoked[] {
  // XState types an invocation by the machine's generics, which are unknown here; the kernel's sources have names.
  return node.invoke.map((invoked) => invoked as Invoked);
}

function inputOf(input: unknown, context: unknown, { surroundings }: TurnScope): unknown {
  if (typeof input !== 'function') return input;
  const told: unknown = input({ context, event: { type: 'xstate.init' }, self: surroundings.self });
  return told;
}

/** The beginning of the id that XState gives to a timer of `after`. */
const AFTER = 'xstate.after.';

/** What the instance has told itself to hear later does not depend on the state in which it is. */
function isSaidLater(id: string, to: Timer['to']): boolean {
  return to === null && !id.startsWith(AFTER);
}

/** Those of `after`, which XState has turned into events that a state raises on entry. */
function timersAt(node: AnyStateNode): readonly { readonly id: string; readonly delay: unknown }[] {
  return node.entry.flatMap((action) => {
    const sent = sendingOf(action);
    const isAfter = typeof sent?.id === 'string' && sent.id.startsWith(AFTER);
    return isAfter ? [{ id: sent.id as string, delay: sent.delay }] : [];
  });
}

function delayMs(machine: AnyStateMachine, delay: unknown, context: unknown): number {
  const named: unknown = typeof delay === 'string' ? machine.implementations.delays[delay] : delay;
  const ms: unknown = typeof named === 'function' ? named({ context, event: { type: 'xstate.init' } }) : named;
  if (typeof ms === 'number' && Number.isFinite(ms)) return Math.max(0, ms);
  throw new Error(`The delay ${String(delay)} is no number of milliseconds.`);
}

/** No transition leads on from there by itself, and nothing that has ended there would have led on. */
function restsIn(machine: AnyStateMachine, snapshot: AnyMachineSnapshot, { surroundings }: TurnScope): boolean {
  const nodes = new Set(activeNodesOf(snapshot));
  const hasEnded = (node: AnyStateNode): boolean => {
    if (node.type === 'final') return true;
    const within = Object.values<AnyStateNode>(node.states).filter((child) => nodes.has(child));
    if (node.type === 'compound') return within.some(({ type }) => type === 'final');
    return node.type === 'parallel' && within.every(hasEnded);
  };
  const wouldLeadOn = (node: AnyStateNode) => hasEnded(node) && node.transitions.has(`xstate.done.state.${node.id}`);
  if (hasEnded(machine.root) || [...nodes].some(wouldLeadOn)) return false;
  return machine.transition(snapshot, { type: 'xstate.placed' }, surroundings) === snapshot;
}

function namedActors(generations: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(generations).map(([id, generation]) => [`actor:${id}`, generation]));
}

function withoutNothing({ input, ...child }: Child): Child {
  return input === undefined ? child : { ...child, input };
}
