/**
 * A fingerprint of a chart's structure: two machines with the same hash have the same states, and lead from one to
 * another for the same reasons, so a row of one fits the other. Implementations, actions, context and the order of
 * keys do not enter; the order of transitions for one event does, because the first that is enabled is taken. A
 * guard written in place counts as present only: its code can change without changing the hash.
 */
import { createHash } from 'node:crypto';
import { type AnyStateMachine, type AnyStateNode, and, not, or } from 'xstate';
import { nodesOf, type ReadTransition, transitionsOf } from './nodes.ts';

/** The SHA-256 of the chart's structure, in hexadecimal. */
export function structuralHash(machine: AnyStateMachine): string {
  const states = nodesOf(machine).map(structureOf).sort(byFirst);
  return createHash('sha256').update(JSON.stringify(states)).digest('hex');
}

function structureOf(node: AnyStateNode) {
  return [
    node.id,
    node.type === 'history' ? `${node.history} history` : node.type,
    node.type === 'compound' ? node.initial.target.map(({ id }) => id) : [],
    node.type === 'history' ? [node.config.target ?? null].flat() : [],
    node.invoke.map(({ id, src }) => [id, typeof src === 'string' ? src : 'inline'] as const).sort(byFirst),
    Object.keys(node.config.after ?? {}).sort(),
    transitionsByEvent(node),
  ] as const;
}

function transitionsByEvent(node: AnyStateNode) {
  const byEvent = new Map<string, unknown[]>();
  for (const transition of transitionsOf(node)) {
    const alternatives = byEvent.get(transition.eventType) ?? [];
    byEvent.set(transition.eventType, [...alternatives, alternativeOf(transition)]);
  }
  return [...byEvent].sort(byFirst);
}

function alternativeOf({ target, guard }: ReadTransition) {
  return [target.map(({ id }) => id).sort(), guardName(guard)];
}

function guardName(guard: unknown): string | null {
  if (guard === undefined || guard === null) return null;
  if (typeof guard === 'string') return guard;
  if (typeof guard === 'object' && 'type' in guard) return String(guard.type);
  if (typeof guard !== 'function') return 'in place';
  if ('guards' in guard && Array.isArray(guard.guards)) {
    return `${combinators.get(checkOf(guard)) ?? 'of'}(${guard.guards.map(guardName).join(', ')})`;
  }
  if ('stateValue' in guard) return `stateIn(${JSON.stringify(guard.stateValue)})`;
  return 'in place';
}

/** Combined guards are told apart by the check they share, since a bundler may rename functions. */
const combinators = new Map([
  [checkOf(and(['any'])), 'and'],
  [checkOf(or(['any'])), 'or'],
  [checkOf(not('any')), 'not'],
]);

function checkOf(guard: object): unknown {
  return 'check' in guard ? guard.check : undefined;
}

function byFirst(a: readonly [unknown, ...unknown[]], b: readonly [unknown, ...unknown[]]): number {
  const [first, second] = [String(a[0]), String(b[0])];
  return first < second ? -1 : first > second ? 1 : 0;
}
