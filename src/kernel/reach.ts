/**
 * Which states an instance can get to, read off the chart without running it. Every transition is followed whatever
 * its guard, and where the chart does not tell which state a region is in or a history state brings back, all are
 * assumed: a state that is not listed cannot be reached, one that is listed perhaps can. That a state around others
 * is done is believed only once its final states are listed. The resolved chart is the authority; how XState enters
 * and leaves nested states is repeated here, as far as it decides what becomes active.
 */
import type { AnyStateMachine, AnyStateNode } from 'xstate';
import { ancestorsOf, childrenOf, nodesOf, type ReadTransition, transitionsOf, withDescendants } from './nodes.ts';

/** The states that may be active at some time. */
export type Reach = ReadonlySet<AnyStateNode>;

/** Tells whether a transition is to be followed. */
export type Follows = (from: AnyStateNode, transition: ReadTransition) => boolean;

export interface Chart {
  readonly root: AnyStateNode;
  /** Every state node, parents before children. */
  readonly nodes: readonly AnyStateNode[];
  transitionsOf(node: AnyStateNode): readonly ReadTransition[];
  /** What can be reached from the start of an instance. */
  readonly reached: Reach;
  /** The same, when not every transition is followed. */
  fromStart(follows: Follows): Reach;
  /** What can be reached from some time at which this state is active, itself included. */
  from(node: AnyStateNode, follows?: Follows): Reach;
  /** What can be reached from some time at which this transition has just been taken. */
  after(node: AnyStateNode, transition: ReadTransition, follows?: Follows): Reach;
  /** The states among these with which the machine ends: its final states, or the root when all its regions end. */
  endsIn(reach: Reach): readonly AnyStateNode[];
}

export function chartOf(machine: AnyStateMachine): Chart {
  const { root } = machine;
  const nodes = nodesOf(machine);
  const transitions = new Map(nodes.map((node) => [node, transitionsOf(node)]));
  const read = (node: AnyStateNode) => transitions.get(node) ?? [];
  const fromStart = (follows: Follows) => spread(read, follows, new Set(), (walk) => walk.enter(root));
  const reached = fromStart(always);

  return {
    root,
    nodes,
    transitionsOf: read,
    reached,
    fromStart,
    from: (node, follows = always) => spread(read, follows, reached, (walk) => walk.beIn(node)),
    after: (node, transition, follows = always) =>
      spread(read, follows, reached, (walk) =>
        transition.target.length === 0 ? walk.beIn(node) : walk.beAfter(node, transition),
      ),
    endsIn: (reach) =>
      root.type === 'compound'
        ? childrenOf(root).filter((node) => node.type === 'final' && reach.has(node))
        : [root].filter((node) => isDone(node, reach)),
  };
}

const always: Follows = () => true;

interface Walk {
  enter(node: AnyStateNode): void;
  beIn(node: AnyStateNode): void;
  beAfter(source: AnyStateNode, transition: ReadTransition): void;
}

/** `known` is what can be active before the beginning; what history remembers of it cannot be told. */
function spread(
  read: (node: AnyStateNode) => readonly ReadTransition[],
  follows: Follows,
  known: Reach,
  begin: (walk: Walk) => void,
): Reach {
  const active = new Set<AnyStateNode>();
  const entered = new Set<AnyStateNode>();
  const histories = new Set<AnyStateNode>();
  const older = new Set<AnyStateNode>();
  const taken = new Set<ReadTransition>();
  let atFirst: Reach = new Set();

  const enter = (node: AnyStateNode) => {
    if (entered.has(node)) return;
    entered.add(node);
    if (node.type === 'history') {
      histories.add(node);
      return;
    }
    active.add(node);
    if (node.type === 'compound') enterBelow(node, node.initial.target);
    if (node.type === 'parallel') for (const region of regionsOf(node)) enter(region);
  };

  /** Enters the targets and what lies between them and the state that is not left. */
  const enterBelow = (domain: AnyStateNode, targets: readonly AnyStateNode[]) => {
    for (const target of targets) {
      for (const around of ancestorsOf(target)) {
        if (!isWithin(around, domain)) break;
        active.add(around);
        // Whoever is in one region is in the others as well; which states of them, a history state tells itself.
        if (around.type !== 'parallel' || (target.type === 'history' && around === target.parent)) continue;
        for (const region of regionsOf(around)) if (!targets.some((other) => isWithin(other, region))) enter(region);
      }
      // Its parent is not left now, so what it remembers is older.
      if (target.type === 'history' && target.parent && isWithin(domain, target.parent)) older.add(target);
      enter(target);
    }
  };

  /** A history state brings back what was active when its parent was left last, or else leads to its default. */
  const recall = (history: AnyStateNode) => {
    const { parent } = history;
    if (!parent) return;
    if (older.has(history) || !atFirst.has(parent)) {
      const written: unknown = history.config.target;
      if (typeof written === 'string') enterBelow(parent, [pathFrom(parent, written)]);
      else enter(parent);
      beAnywhereIn(parent);
    }
    // A shallow one brings back a state without what was active inside it.
    if (history.history !== 'deep') for (const child of childrenOf(parent)) if (active.has(child)) enter(child);
  };

  const take = (source: AnyStateNode, transition: ReadTransition) => {
    if (transition.target.length > 0) enterBelow(domainOf(source, transition), transition.target);
  };

  /** Where else the machine is while it is in this state cannot be told: in any state of the regions beside it. */
  const beAround = (node: AnyStateNode) => {
    const around = ancestorsOf(node);
    for (const inner of [node, ...around]) active.add(inner);
    const regions = around.filter(({ type }) => type === 'parallel').flatMap(regionsOf);
    for (const region of regions) if (!isWithin(node, region)) beAnywhereIn(region);
  };

  const beAnywhereIn = (node: AnyStateNode) => {
    for (const inner of withDescendants(node)) if (known.has(inner)) active.add(inner);
  };

  begin({
    enter,
    beIn(node) {
      beAround(node);
      beAnywhereIn(node);
      atFirst = new Set(active);
    },
    beAfter(source, transition) {
      if (transition.target.every(isEnd)) {
        // Nothing is left to happen beside a final state of the machine.
        for (const target of transition.target) active.add(target);
        return;
      }
      beAround(domainOf(source, transition));
      take(source, transition);
      // What a history state on the way here remembers is older than this walk.
      if (histories.size === 0) atFirst = new Set(active);
    },
  });

  for (let size = -1; size !== active.size + histories.size + older.size; ) {
    size = active.size + histories.size + older.size;
    for (const history of histories) recall(history);
    for (const node of active) {
      for (const transition of read(node)) {
        if (taken.has(transition) || !follows(node, transition)) continue;
        if (transition.eventType === `xstate.done.state.${node.id}` && !isDone(node, active)) continue;
        taken.add(transition);
        take(node, transition);
      }
    }
  }
  return active;
}

/** The innermost state that a transition does not leave. */
function domainOf(source: AnyStateNode, { target, reenter }: ReadTransition): AnyStateNode {
  if (!reenter && target.every((node) => isWithin(node, source))) return source;
  const common = (around: AnyStateNode) =>
    [source, ...target].every((node) => node !== around && isWithin(node, around));
  return ancestorsOf(source).find(common) ?? source.machine.root;
}

function isDone(node: AnyStateNode, active: Reach): boolean {
  if (node.type === 'compound') return childrenOf(node).some((child) => child.type === 'final' && active.has(child));
  if (node.type === 'parallel') return regionsOf(node).every((region) => isDone(region, active));
  return node.type === 'final' && active.has(node);
}

function isEnd(node: AnyStateNode): boolean {
  return node.type === 'final' && node.parent?.parent === undefined && node.parent?.type === 'compound';
}

function regionsOf(node: AnyStateNode): AnyStateNode[] {
  return childrenOf(node).filter(({ type }) => type !== 'history');
}

function isWithin(node: AnyStateNode, outer: AnyStateNode): boolean {
  for (let around: AnyStateNode | undefined = node; around; around = around.parent) if (around === outer) return true;
  return false;
}

function pathFrom(parent: AnyStateNode, target: string): AnyStateNode {
  const keys = target.split('.').filter((key) => key !== '');
  return keys.reduce((node, key) => childrenOf(node).find((child) => child.key === key) ?? node, parent);
}
