/**
 * Every shortest path through a chart, found by XState's own transitions and walked again by the kernel, with a crash
 * after every step: the row is stored and read back, and the turn is computed again from what was stored. XState is
 * the authority for where a path leads, the stored row for where it goes on. An actor may end in every way that is
 * listed, a timer may fire while its event would be taken, and an event may come at any time.
 */
import { isDeepStrictEqual } from 'node:util';
import type { AnyActorRef, AnyMachineSnapshot, AnyStateMachine } from 'xstate';
import { getShortestPaths } from 'xstate/graph';
import { canonicalJson } from '../../src/domain/canonical.ts';
import { decode, encode } from '../../src/domain/codec.ts';
import { type ActorResult, type Kernel, kernelOf, type Turn } from '../../src/kernel/kernel.ts';
import { actionsOf, isBuilder, nodesOf } from '../../src/kernel/nodes.ts';
import type { KernelEvent, KernelRow } from '../../src/kernel/row.ts';
import { activeNodesOf } from '../../src/kernel/scope.ts';
import { figure } from '../support/figures.ts';

export interface Walkable {
  readonly machine: AnyStateMachine;
  readonly input?: unknown;
  /** How the actors of each source may end; one that is not listed succeeds with an empty object or is refused. */
  readonly ends?: Readonly<Record<string, readonly ActorResult[]>>;
  /** What the world may say, at any time. */
  readonly events?: readonly KernelEvent[];
  /** The paths go no further than a state of which this is true; without it, as far as there are new states. */
  readonly until?: (snapshot: AnyMachineSnapshot) => boolean;
}

export interface Replay {
  readonly paths: number;
  /** Paths that the kernel walked through the same states to the same end. */
  readonly same: number;
  /** The states of the chart, by id, in which no path comes to rest; some are only passed through. */
  readonly missed: readonly string[];
  /** The first paths that went another way, in words. */
  readonly differences: readonly string[];
}

/** Walks every path of a chart that has to survive, and notes the figure under this name. */
export function reportedReplay(name: string, chart: Walkable): Replay {
  const replay = replayEveryPath(chart);
  console.info(`${name}: ${replay.same} of ${replay.paths} paths replayed to the same state`);
  figure(`paths of ${name} not replayed to the same state`, replay.paths - replay.same, 0);
  return replay;
}

export function replayEveryPath(chart: Walkable): Replay {
  const kernel = kernelOf(chart.machine);
  const paths = pathsOf(chart);
  const start: Place = { stored: '', difference: null, onward: new Map() };

  /** Where a step leads from a place. Paths that begin alike have their first steps in common. */
  const follow = (from: Place, step: Step): Place => {
    const known = from.onward.get(step.event);
    if (known) return known;
    const place = from.difference === null ? takeStep(kernel, chart.input, from.stored, step) : from;
    from.onward.set(step.event, place);
    return place;
  };
  const differences = paths.flatMap((steps) => {
    const { difference } = steps.reduce(follow, start);
    return difference === null ? [] : [`${steps.map(({ words }) => words).join(', ')}: ${difference}`];
  });
  const same = paths.length - differences.length;
  const met = new Set(paths.flatMap((steps) => steps.flatMap(({ snapshot }) => activeNodesOf(snapshot))));

  return {
    paths: paths.length,
    same,
    missed: nodesOf(chart.machine)
      .filter((node) => node.type !== 'history' && !met.has(node))
      .map(({ id }) => id),
    differences: differences.slice(0, 5),
  };
}

/** A row as it was stored, or how the kernel came to differ. */
interface Place {
  readonly stored: string;
  readonly difference: string | null;
  readonly onward: Map<KernelEvent, Place>;
}

/** The same thing said to XState, as an event, and to the kernel. */
interface Happening {
  readonly words: string;
  readonly event: KernelEvent;
  /** Null when the kernel holds it to be too late. */
  tell(kernel: Kernel, row: KernelRow): Turn | null;
}

interface Step {
  readonly words: string;
  readonly event: KernelEvent;
  /** Null for the start. */
  readonly happening: Happening | null;
  /** Where XState is after it. */
  readonly snapshot: AnyMachineSnapshot;
}

function pathsOf({ machine, input, ends = {}, events = [], until }: Walkable): Step[][] {
  const timers = timersOf(machine).map(firing);
  const letters = events.map(arriving);
  const ended = new Map<string, Happening>();
  const happened = new Map<KernelEvent, Happening>();
  const next = (snapshot: AnyMachineSnapshot) => {
    const possible = [...endings(snapshot, ends, ended), ...timers, ...letters].filter(({ event }) =>
      snapshot.can(event),
    );
    for (const happening of possible) happened.set(happening.event, happening);
    return possible.map(({ event }) => event);
  };

  const paths = getShortestPaths(machine, {
    input,
    events: next,
    // XState asks again and again about the same objects.
    serializeState: placeOf,
    serializeEvent: once((event) => canonicalJson(encode(event))),
    ...(until === undefined ? {} : { stopWhen: until }),
    limit: 100_000,
  });
  return paths.map(({ steps }) =>
    steps.map(({ event, state }) => {
      const happening = happened.get(event) ?? null;
      return { words: happening?.words ?? 'start', event: happening?.event ?? beginning, happening, snapshot: state };
    }),
  );
}

const beginning: KernelEvent = { type: 'start' };

/** The same end of the same actor is the same object, wherever it comes: `made` holds those there are. */
function endings(
  snapshot: AnyMachineSnapshot,
  ends: NonNullable<Walkable['ends']>,
  made: Map<string, Happening>,
): Happening[] {
  // XState types the children of any machine as unknown; they are actors.
  const children: [string, AnyActorRef][] = Object.entries(snapshot.children);
  return children.flatMap(([id, actor]) => {
    const src = typeof actor.src === 'string' ? actor.src : '';
    return (ends[src] ?? usualEnds).map((result, n) => {
      const name = `${id} ${src} ${n}`;
      const happening = made.get(name) ?? ending(id, result);
      made.set(name, happening);
      return happening;
    });
  });
}

const usualEnds: readonly ActorResult[] = [{ output: {} }, { error: { code: 'refused' } }];

/** The same function, that computes nothing twice for one object. */
function once<Of extends object>(compute: (of: Of) => string): (of: Of) => string {
  const known = new WeakMap<Of, string>();
  return (of) => {
    const value = known.get(of) ?? compute(of);
    known.set(of, value);
    return value;
  };
}

function ending(actorId: string, result: ActorResult): Happening {
  const isDone = 'output' in result;
  return {
    words: `${actorId} ${isDone ? 'done' : 'refused'} ${canonicalJson(encode(result, { onUnsupported: 'mark' }))}`,
    event: isDone
      ? { type: `xstate.done.actor.${actorId}`, output: result.output, actorId }
      : { type: `xstate.error.actor.${actorId}`, error: result.error, actorId },
    tell: (kernel, row) => kernel.settle(row, actorId, row.children[actorId]?.generation ?? 0, result),
  };
}

function firing(event: KernelEvent): Happening {
  return {
    words: `${event.type} due`,
    event,
    tell(kernel, row) {
      const [id, timer] = Object.entries(row.timers).find(([, armed]) => isDeepStrictEqual(armed.event, event)) ?? [];
      return id === undefined || timer === undefined ? null : kernel.fire(row, id, timer.generation);
    },
  };
}

function arriving(event: KernelEvent): Happening {
  return { words: event.type, event, tell: (kernel, row) => kernel.step(row, event) };
}

/** The events of all timers that the chart shows; `after` is resolved to a delayed raise, too. */
function timersOf(machine: AnyStateMachine): KernelEvent[] {
  const actions: unknown[] = [
    ...nodesOf(machine).flatMap(actionsOf),
    ...Object.values(machine.implementations.actions),
  ];
  return actions.flatMap((action) => {
    if (!isBuilder(action) || action.type !== 'xstate.raise' || action['delay'] === undefined) return [];
    // What is raised is an event, or a function that makes one, which no chart shows.
    return typeof action['event'] === 'object' ? [action['event'] as KernelEvent] : [];
  });
}

/** Computes a step twice from what is stored, as after a crash, and stores what it makes. */
function takeStep(kernel: Kernel, input: unknown, before: string, { happening, snapshot }: Step): Place {
  const compute = () => (happening === null ? kernel.start(input) : happening.tell(kernel, read(before)));
  const [turn, again] = [compute(), compute()];
  const lost = (difference: string): Place => ({ stored: '', difference, onward: new Map() });
  if (turn === null) return lost('it is too late for the kernel');
  if (!isDeepStrictEqual(turn, again)) return lost('it makes another turn when it is computed again');
  const stored = store(turn.row);
  const [ours, theirs] = [keyOf(read(stored)), placeOf(snapshot)];
  if (ours !== theirs) return lost(`it leads to ${ours} and not to ${theirs}`);
  return { stored, difference: null, onward: new Map() };
}

function store(row: KernelRow): string {
  return JSON.stringify(encode(row));
}

function read(stored: string): KernelRow {
  // The codec gives back what it was given.
  return decode(JSON.parse(stored)) as KernelRow;
}

/** What has to be the same, whatever the order of keys. */
function keyOf({
  value,
  status,
  context,
  output,
}: Pick<KernelRow, 'value' | 'context' | 'output'> & { status: string }) {
  return canonicalJson(encode({ value, status, context, output }));
}

const placeOf = once<AnyMachineSnapshot>(keyOf);
