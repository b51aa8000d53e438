/**
 * Refuses, before an instance exists, what a machine cannot do durably: actors that no row can name, actions that
 * cannot be found again after a crash, handlers that would swallow results, and states nobody reaches or leaves.
 * It reads the chart only. What hides inside a function (an actor spawned by an assignment, an action chosen by
 * enqueueActions) shows no earlier than in the turn that runs it, where the kernel's faults are.
 */
import type { AnyStateMachine, AnyStateNode } from 'xstate';
import {
  actionsOf,
  ancestorsOf,
  childrenOf,
  invokesOf,
  isBuilder,
  sendingOf,
  spawnOf,
  transitionsOf,
} from './nodes.ts';
import { chartOf } from './reach.ts';

export interface Finding {
  readonly code: string;
  /** The id of the state node; of the root where the finding concerns the machine's implementations. */
  readonly state: string;
  readonly message: string;
  readonly remedy: string;
}

/** Every reason to refuse this machine, parents before children; an empty list when there is none. */
export function lintMachine(machine: AnyStateMachine): readonly Finding[] {
  const { nodes, reached } = chartOf(machine);
  const named = Object.values(machine.implementations.actions).flatMap((action) =>
    builderFindings(machine.root, action),
  );
  const perState = nodes.flatMap((node) => [
    ...invokeFindings(node),
    ...actionsOf(node).flatMap((action) => [...builderFindings(node, action), ...inlineActionFindings(node, action)]),
    ...wildcardFindings(node),
    ...(node.type === 'history' || reached.has(node) ? [] : [unreachable(node)]),
    ...(isDeadEnd(node) ? [deadEnd(node)] : []),
  ]);
  return [...named, ...perState];
}

function invokeFindings(node: AnyStateNode): Finding[] {
  return invokesOf(node).flatMap((invoke) => [
    ...(typeof invoke.src === 'string' ? [] : [inlineActor(node)]),
    ...(typeof invoke.id === 'function' ? [computedId(node)] : []),
    ...(invoke.systemId === undefined ? [] : [systemId(node)]),
    ...(invoke.onSnapshot === undefined ? [] : [snapshotHandler(node)]),
  ]);
}

/** Also of builders that stand behind the name of an action, which concern no state in particular. */
function builderFindings(node: AnyStateNode, action: unknown): Finding[] {
  return [...spawnFindings(node, action), ...sendingFindings(node, action)];
}

function spawnFindings(node: AnyStateNode, action: unknown): Finding[] {
  const spawn = spawnOf(action);
  if (!spawn) return [];
  return [
    ...(typeof spawn.src === 'string' ? [] : [inlineActor(node)]),
    ...(spawn.id === undefined ? [spawnWithoutId(node)] : []),
    ...(spawn.systemId === undefined ? [] : [systemId(node)]),
  ];
}

function inlineActionFindings(node: AnyStateNode, action: unknown): Finding[] {
  return typeof action === 'function' && !isBuilder(action) ? [inlineAction(node)] : [];
}

function wildcardFindings(node: AnyStateNode): Finding[] {
  // XState's own events begin with "xstate.", so a partial wildcard of another prefix does not match them.
  const matchesInternal = (name: string) => name === '*' || (name.startsWith('xstate.') && name.endsWith('.*'));
  return [...node.transitions.keys()].filter(matchesInternal).map((name) => wildcard(node, name));
}

/** A delay of a transition with `after` is found here too, since XState makes it a delayed raise on entry. */
function sendingFindings(node: AnyStateNode, action: unknown): Finding[] {
  const sending = sendingOf(action);
  if (!sending) return [];
  const { to, delay } = sending;
  const isUnknown = typeof delay === 'string' && !Object.hasOwn(node.machine.implementations.delays, delay);
  return [...(to === '#_parent' ? [sendToParent(node)] : []), ...(isUnknown ? [unknownDelay(node, delay)] : [])];
}

/**
 * A state that rests for ever: neither it nor a state around it has anywhere to go, it waits for no actor, and no
 * region beside it can leave the whole. (That a state around it is done does not count: while in here, it is not.)
 */
export function isDeadEnd(node: AnyStateNode): boolean {
  if (node.type !== 'atomic' || invokesOf(node).length > 0) return false;
  const around = ancestorsOf(node);
  const onward = [node, ...around].some((from) =>
    transitionsOf(from).some(
      ({ eventType, target }) => target.length > 0 && eventType !== `xstate.done.state.${from.id}`,
    ),
  );
  return !onward && !around.some((whole) => whole.type === 'parallel' && canBeLeftFromWithin(whole));
}

function canBeLeftFromWithin(whole: AnyStateNode): boolean {
  const isInside = (node: AnyStateNode) => ancestorsOf(node).includes(whole);
  const inside = childrenOf(whole).flatMap(function within(node): AnyStateNode[] {
    return [node, ...childrenOf(node).flatMap(within)];
  });
  return inside.some((node) => transitionsOf(node).some(({ target }) => target.some((next) => !isInside(next))));
}

function inlineActor(node: AnyStateNode): Finding {
  return {
    code: 'inline-actor',
    state: node.id,
    message: `State ${node.id} starts an actor whose logic stands in place; after a restart nothing can name it.`,
    remedy: 'Register the logic in setup({ actors }) and refer to it by name in src.',
  };
}

function computedId(node: AnyStateNode): Finding {
  return {
    code: 'computed-actor-id',
    state: node.id,
    message: `State ${node.id} computes the id of an actor it invokes, so no handler of its end could be found.`,
    remedy: 'Write the id, or leave it out.',
  };
}

function sendToParent(node: AnyStateNode): Finding {
  return {
    code: 'send-to-parent',
    state: node.id,
    message: `State ${node.id} sends an event to a parent actor, but an instance has none.`,
    remedy: 'Emit the event, or let the machine end with an output.',
  };
}

function systemId(node: AnyStateNode): Finding {
  return {
    code: 'system-id',
    state: node.id,
    message: `State ${node.id} gives an actor a systemId, but there is no actor system that outlives a turn.`,
    remedy: 'Remove systemId and send to the actor by its id.',
  };
}

function snapshotHandler(node: AnyStateNode): Finding {
  return {
    code: 'snapshot-handler',
    state: node.id,
    message: `State ${node.id} listens to an actor's snapshots with onSnapshot, which never come: an actor only ends.`,
    remedy: 'Use onDone and onError, or let the actor send a signal.',
  };
}

function spawnWithoutId(node: AnyStateNode): Finding {
  return {
    code: 'spawn-without-id',
    state: node.id,
    message: `State ${node.id} spawns an actor without an id, so its result could not be given back to it.`,
    remedy: "Give it one: spawnChild('source', { id: 'name' }).",
  };
}

function inlineAction(node: AnyStateNode): Finding {
  return {
    code: 'inline-action',
    state: node.id,
    message: `State ${node.id} has a function as an action; what is stored of it could not be carried out after a crash.`,
    remedy: 'Register it in setup({ actions }) and refer to it by name, with params for what it needs.',
  };
}

function wildcard(node: AnyStateNode, name: string): Finding {
  return {
    code: 'wildcard-handler',
    state: node.id,
    message: `State ${node.id} handles '${name}', which also takes the results of actors and the firing of timers.`,
    remedy: "Name the events, or use a prefix of your own such as 'payment.*'.",
  };
}

function unknownDelay(node: AnyStateNode, delay: string): Finding {
  return {
    code: 'unknown-delay',
    state: node.id,
    message: `State ${node.id} waits for the delay '${delay}', which is not defined; the wait would end at once.`,
    remedy: 'Define it in setup({ delays }), or write the milliseconds.',
  };
}

function unreachable(node: AnyStateNode): Finding {
  return {
    code: 'unreachable-state',
    state: node.id,
    message: `No transition leads to state ${node.id}.`,
    remedy: 'Add the transition that is missing, or remove the state.',
  };
}

function deadEnd(node: AnyStateNode): Finding {
  return {
    code: 'dead-end',
    state: node.id,
    message: `State ${node.id} is not final and nothing leads out of it: an instance would wait there for ever.`,
    remedy: "Give it a transition, a timer or an actor, or declare it type: 'final'.",
  };
}
