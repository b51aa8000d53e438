/**
 * Prepares a machine for the kernel, once: a copy in which every actor is inert, so that no implementation of its
 * author can run inside a turn, and in which eventless loops end. The chart, guards, assignments and delays stay the
 * author's. Logic written in place cannot be replaced and is refused.
 */
import type { AnyStateMachine } from 'xstate';
import { KernelFault } from './fault.ts';
import { actionsOf, invokesOf, nodesOf, spawnOf } from './nodes.ts';
import { inertLogic } from './scope.ts';

/** More microsteps than this in one macrostep are a loop, not a flow. */
export const mostMicrosteps = 1000;

export function inertCopyOf(machine: AnyStateMachine): AnyStateMachine {
  const names = sourcesOf(machine).map((src) => {
    if (typeof src === 'string') return src;
    const place = { machine: machine.id, state: null };
    throw new KernelFault(
      place,
      'an actor has its logic in place. Name it in setup({ actors }) and refer to the name.',
    );
  });
  const copy: AnyStateMachine = machine.provide({
    actors: Object.fromEntries(names.map((name) => [name, inertLogic])),
  });
  copy.options = {
    ...copy.options,
    maxIterations: Math.min(copy.options.maxIterations ?? mostMicrosteps, mostMicrosteps),
  };
  return copy;
}

function sourcesOf(machine: AnyStateMachine): unknown[] {
  const named = machine.implementations;
  const actions: unknown[] = [...nodesOf(machine).flatMap(actionsOf), ...Object.values(named.actions)];
  return [
    ...Object.keys(named.actors),
    ...nodesOf(machine)
      .flatMap(invokesOf)
      .map((invoke) => invoke.src),
    ...actions.flatMap((action) => spawnOf(action)?.src ?? []),
  ];
}
