/**
 * Between a row and the snapshot XState computes with. XState restores leniently: a state, an actor or a region that
 * the chart no longer has, or has in addition, is dropped or entered in silence, and the instance waits for ever.
 * Here a row that does not fit the chart exactly is a fault. The row itself is never handed to XState, which writes
 * into what it restores.
 */
import type { AnyMachineSnapshot, AnyStateMachine, AnyStateNode, Snapshot } from 'xstate';
import { KernelFault } from './fault.ts';
import { childrenOf, nodesOf } from './nodes.ts';
import type { KernelRow } from './row.ts';
import { activeNodesOf, idle, putInChartOrder, type TurnScope } from './scope.ts';

export function snapshotFrom(machine: AnyStateMachine, row: KernelRow, scope: TurnScope): AnyMachineSnapshot {
  const unfit = (what: string) =>
    new KernelFault({ machine: machine.id, state: row.value }, `the row does not fit this chart: ${what}.`);
  for (const { src } of Object.values(row.children)) {
    if (!Object.hasOwn(machine.implementations.actors, src))
      throw unfit(`it has no actor source ${JSON.stringify(src)}`);
  }
  if (!fits(machine.root, row.value)) throw unfit('its states are others');

  const value = inChartOrder(machine.root, row.value);
  const persisted = {
    status: row.status,
    value,
    context: {},
    historyValue: {},
    children: mapValues(row.children, ({ src, input }) => ({ src, snapshot: idle(input) })),
  };
  // XState types its persisted form as a snapshot of unknown content; this is the content restoreSnapshot reads.
  const restored = machine.restoreSnapshot(persisted as unknown as Snapshot<unknown>, scope.surroundings);

  // Which of two regions acts first, and wins where both cannot, would otherwise depend on how a store orders keys.
  putInChartOrder(restored);
  restored.value = value;
  // Set afterwards, because restoreSnapshot looks into a context for what it takes for actors, and would replace it.
  restored.context = structuredClone(row.context);
  restored.historyValue = historyFrom(machine, row, unfit);
  return restored;
}

function historyFrom(
  machine: AnyStateMachine,
  row: KernelRow,
  unfit: (what: string) => KernelFault,
): AnyMachineSnapshot['historyValue'] {
  if (row.history === undefined) return {};
  const nodes = new Map(nodesOf(machine).map((node) => [node.id, node]));
  // `history` is opaque to callers; historyOf below is the only one who fills it.
  return mapValues(row.history as Record<string, readonly string[]>, (ids) =>
    ids.map((id): AnyStateNode => {
      const node = nodes.get(id);
      if (!node) throw unfit(`it has no state ${JSON.stringify(id)}, which its history names`);
      return node;
    }),
  );
}

/** What the row keeps of history, or undefined when there is nothing to remember. */
export function historyOf(snapshot: AnyMachineSnapshot): Readonly<Record<string, readonly string[]>> | undefined {
  const remembered: Record<string, readonly AnyStateNode[]> = snapshot.historyValue;
  return Object.keys(remembered).length === 0
    ? undefined
    : mapValues(remembered, (nodes) => nodes.map((node) => node.id));
}

/**
 * Tells whether a machine is in a state it can rest in: the root is active, and of every active compound state exactly
 * one child, of every parallel one every region. XState can break this rule by itself (a history state that is entered
 * while it is being recorded brings back nothing, or a second child, or loses the root), and such an instance never
 * gets right again.
 */
export function isWhole(snapshot: AnyMachineSnapshot): boolean {
  const active = activeNodesOf(snapshot);
  const childrenIn = (node: AnyStateNode) => active.filter(({ parent }) => parent === node).length;
  const around = (node: AnyStateNode) => node.parent === undefined || active.includes(node.parent);
  return (
    active.length > 0 &&
    active.every(
      (node) => around(node) && childrenIn(node) === (node.type === 'compound' ? 1 : restingChildrenOf(node).length),
    )
  );
}

/** The same of a state value that comes from a store, against a chart that may have changed since. */
export function fits(node: AnyStateNode, value: unknown): boolean {
  const children = restingChildrenOf(node);
  if (typeof value === 'string') return children.some(({ key, states }) => key === value && isEmpty(states));
  if (typeof value !== 'object' || value === null) return false;
  const named = new Map(Object.entries(value));
  const expected = node.type === 'compound' ? children.filter(({ key }) => named.has(key)) : children;
  if (named.size !== (node.type === 'compound' ? 1 : children.length)) return false;
  return expected.length === named.size && expected.every((child) => fits(child, named.get(child.key)));
}

/** A copy of a state value with its regions in the order of the chart. */
function inChartOrder(node: AnyStateNode, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const named = new Map(Object.entries(value));
  const present = restingChildrenOf(node).filter(({ key }) => named.has(key));
  return Object.fromEntries(present.map((child) => [child.key, inChartOrder(child, named.get(child.key))]));
}

function restingChildrenOf(node: AnyStateNode): AnyStateNode[] {
  return childrenOf(node).filter(({ type }) => type !== 'history');
}

function isEmpty(record: object): boolean {
  return Object.keys(record).length === 0;
}

/** Tells whether a context holds an actor, which no row can carry. */
export function holdsActor(value: unknown, seen = new Set<unknown>()): boolean {
  if (typeof value !== 'object' || value === null || seen.has(value)) return false;
  seen.add(value);
  if ('sessionId' in value && 'send' in value && typeof value.send === 'function') return true;
  return Object.values(value).some((part) => holdsActor(part, seen));
}

function mapValues<In, Out>(record: Readonly<Record<string, In>>, change: (value: In) => Out): Record<string, Out> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));
}
