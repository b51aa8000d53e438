/**
 * Reading a machine's chart without running it: its state nodes and the actions written on them. The chart as XState
 * resolved it is the authority (targets are nodes, `after` is already transitions); the raw configuration is read
 * only where resolving loses what the author wrote.
 */
import type { AnyStateMachine, AnyStateNode } from 'xstate';

/** An action as it stands in a chart: a name, a name with parameters, a builder such as assign(...), or a function. */
export type WrittenAction = string | { readonly type: string } | ((...args: never[]) => unknown);

/** Every state node, parents before children. */
export function nodesOf(machine: AnyStateMachine): readonly AnyStateNode[] {
  return withDescendants(machine.root);
}

/** A state node and all that is inside it, parents before children. */
export function withDescendants(node: AnyStateNode): AnyStateNode[] {
  return [node, ...childrenOf(node).flatMap(withDescendants)];
}

export function childrenOf(node: AnyStateNode): AnyStateNode[] {
  return Object.values<AnyStateNode>(node.states);
}

/** From the node's parent up to the root. */
export function ancestorsOf(node: AnyStateNode): AnyStateNode[] {
  return node.parent ? [node.parent, ...ancestorsOf(node.parent)] : [];
}

/** What XState resolved one transition to, as far as this kernel reads it. */
export interface ReadTransition {
  readonly eventType: string;
  readonly target: readonly AnyStateNode[];
  readonly guard: unknown;
  readonly reenter: boolean;
  readonly actions: readonly WrittenAction[];
}

/** Every transition that starts at this node: by event, by timer, by an actor's end, and those that need no event. */
export function transitionsOf(node: AnyStateNode): ReadTransition[] {
  return [...[...node.transitions.values()].flat(), ...(node.always ?? [])].map((transition) => ({
    eventType: transition.eventType,
    target: transition.target ?? [],
    guard: transition.guard,
    reenter: transition.reenter,
    // XState types actions by the machine's generics, which are unknown here; they have one of these shapes.
    actions: transition.actions as readonly WrittenAction[],
  }));
}

/** Every action written on this node: on entry, on exit, beside its initial state and on its transitions. */
export function actionsOf(node: AnyStateNode): WrittenAction[] {
  const initial = node.type === 'compound' ? node.initial.actions : [];
  // XState types actions by the machine's generics, which are unknown here; they have one of these shapes.
  const own = [...node.entry, ...node.exit, ...initial] as WrittenAction[];
  return [...own, ...transitionsOf(node).flatMap((transition) => transition.actions)];
}

/** An invocation as its author wrote it; XState's own list replaces a source that is not a name by a made-up one. */
export interface WrittenInvoke {
  readonly id?: unknown;
  readonly src?: unknown;
  readonly systemId?: unknown;
  readonly onSnapshot?: unknown;
}

export function invokesOf(node: AnyStateNode): WrittenInvoke[] {
  // The configuration is typed by the machine's generics, which are unknown here; XState accepts one or a list.
  const written = node.config.invoke as WrittenInvoke | readonly WrittenInvoke[] | undefined;
  return written === undefined ? [] : [written].flat();
}

/** What a spawnChild(...) builder was given, or null for any other action. */
export function spawnOf(
  action: unknown,
): { readonly src: unknown; readonly id: unknown; readonly systemId: unknown } | null {
  if (!isBuilder(action) || action.type !== 'xstate.spawnChild') return null;
  return { src: action['src'], id: action['id'], systemId: action['systemId'] };
}

/** What a builder that gives an event to somebody was given: raise, sendTo, sendParent, forwardTo or emit. */
export interface WrittenSending {
  readonly by: 'xstate.raise' | 'xstate.sendTo' | 'xstate.emit';
  /** The event's type, where it does not take a function to know it. */
  readonly event: string | null;
  readonly to: unknown;
  readonly delay: unknown;
  readonly id: unknown;
}

/** What the author's builder was given, or null for any other action. `after` is resolved to a raise as well. */
export function sendingOf(action: unknown): WrittenSending | null {
  if (!isBuilder(action)) return null;
  const by = action.type;
  if (by !== 'xstate.raise' && by !== 'xstate.sendTo' && by !== 'xstate.emit') return null;
  const event: unknown = action['event'];
  const isKnown = typeof event === 'object' && event !== null && 'type' in event;
  return { by, event: isKnown ? String(event.type) : null, to: action['to'], delay: action['delay'], id: action['id'] };
}

/** Tells XState's own action builders, which the kernel carries out or reports, from a custom function. */
export function isBuilder(action: unknown): action is { readonly type: string; readonly [field: string]: unknown } {
  return typeof action === 'function' && 'resolve' in action && 'type' in action;
}

/** The state value a machine is in right after its first entry, before any transition that needs no event. */
export function firstValueOf(node: AnyStateNode): unknown {
  if (node.type === 'parallel') {
    const regions = childrenOf(node).filter((region) => region.type !== 'history');
    return Object.fromEntries(regions.map((region) => [region.key, firstValueOf(region)]));
  }
  const first = node.type === 'compound' ? node.initial.target[0] : undefined;
  if (!first) return {};
  return first.type === 'atomic' || first.type === 'final' ? first.key : { [first.key]: firstValueOf(first) };
}

/** The state nodes below this one that a state value names, with all around them; a name that is none names nothing. */
export function nodesIn(node: AnyStateNode, value: unknown): AnyStateNode[] {
  const inner: readonly (readonly [string, unknown])[] =
    typeof value === 'string' ? [[value, null]] : Object.entries(value ?? {});
  return inner.flatMap(([key, within]) => {
    const child = childrenOf(node).find((one) => one.key === key);
    return child === undefined ? [] : [child, ...nodesIn(child, within)];
  });
}
