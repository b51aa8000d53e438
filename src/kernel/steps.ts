/**
 * The steps of a saga that is a machine: every invocation in its chart, by the name it has in a saga's identity and by
 * the id its actor has in a row. The chart is the authority for both, so neither may change while instances of it are
 * under way. An invocation whose logic stands in place has no source and is left out; the linter refuses it.
 */
import type { AnyStateMachine, AnyStateNode } from 'xstate';
import { invokesOf, nodesOf } from './nodes.ts';

export interface Step {
  /** The id of the actor in the kernel's row. */
  readonly actorId: string;
  /** The invocation's own id, or else its source. */
  readonly step: string;
  /** The name of the actor source. */
  readonly src: string;
  /** The id of the state node that invokes it. */
  readonly node: string;
}

/** Every invocation, in the order of the chart; also those of `compensate`. */
export function stepsOf(machine: AnyStateMachine): readonly Step[] {
  return nodesOf(machine).flatMap(stepsAt);
}

export function stepsAt(node: AnyStateNode): readonly Step[] {
  return invokesOf(node).flatMap(({ id, src }, index): Step[] => {
    if (typeof src !== 'string') return [];
    const name = typeof id === 'string' ? id : null;
    // XState's own rule for an actor without an id; the tests compare it with the actors that are started.
    return [{ actorId: name ?? `${index}.${node.id}`, step: name ?? src, src, node: node.id }];
  });
}
