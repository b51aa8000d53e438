/**
 * The surroundings XState needs to compute a transition, made new for every turn and thrown away after it. XState's
 * public `transition()` builds such surroundings too, but runs the machine's whole initial transition once more each
 * time, without its input, and numbers anonymous actors by a counter of the process, so that two instances loaded in
 * another process overwrite each other's children. Here nothing runs twice, ids are counted from the row, actions
 * are written down and never executed, and every microstep is seen. The price is the members of XState's actor
 * system that begin with an underscore: they appear in this file and nowhere else, and the equivalence test runs
 * them against the live interpreter. Nothing is alive in here: an actor that is asked to do anything throws.
 */
import type {
  AnyActorLogic,
  AnyActorRef,
  AnyActorScope,
  AnyMachineSnapshot,
  AnyStateNode,
  ExecutableActionObject,
} from 'xstate';

export interface TurnScope {
  /** What XState's machine methods take. */
  readonly surroundings: AnyActorScope;
  /** The actions of this turn in order, as XState resolved them. */
  readonly actions: readonly ExecutableActionObject[];
  /** The state value after each microstep; the first entry of a new machine is not among them. */
  readonly values: readonly unknown[];
  /** Every actor made since the scope was opened, including those of the row. */
  readonly made: ReadonlySet<AnyActorRef>;
  /** From here on ids count from `first`, and `before` is what a machine sees of itself. */
  begin(first: number, before: AnyMachineSnapshot | null): void;
  /** An id nobody else in this row has or had. */
  freshId(): string;
  /** The number the next fresh id will be taken from. */
  nextNumber(): number;
  isSelf(actor: unknown): boolean;
}

export function openScope(): TurnScope {
  const actions: ExecutableActionObject[] = [];
  const values: unknown[] = [];
  const made = new Set<AnyActorRef>();
  let next: number | null = null;
  let seen: AnyMachineSnapshot | null = null;

  // Until the turn begins, the only actors made are those of the row, which have their ids.
  const freshId = () => (next === null ? 'restored' : `anonymous:${next++}`);
  const watch = (event: Inspected) => {
    if (event.type === '@xstate.microstep') values.push(event.snapshot.value);
    if (event.type === '@xstate.actor') made.add(event.actorRef);
  };

  const system = inertSystem(freshId, watch);
  const self = {
    id: 'self',
    sessionId: 'self',
    system,
    send: nothingRuns,
    _send: nothingRuns,
    getSnapshot: () => seen,
    toJSON: () => 'self',
  };
  const surroundings = {
    id: self.id,
    sessionId: self.sessionId,
    self: Object.assign(self, { ref: self }),
    system,
    logger: ignore,
    defer: ignore,
    emit: ignore,
    stopChild: ignore,
    actionExecutor: (action: ExecutableActionObject) => void actions.push(action),
  };

  return {
    // XState declares a whole Actor here, of which a transition reads exactly the members above.
    surroundings: surroundings as unknown as AnyActorScope,
    actions,
    values,
    made,
    begin: (first, before) => {
      next = first;
      seen = before;
    },
    freshId,
    nextNumber: () => next ?? 0,
    isSelf: (actor) => actor === self,
  };
}

type Inspected =
  | { readonly type: '@xstate.microstep'; readonly snapshot: AnyMachineSnapshot }
  | { readonly type: '@xstate.actor'; readonly actorRef: AnyActorRef }
  | { readonly type: '@xstate.event' };

function inertSystem(bookId: () => string, watch: (event: Inspected) => void): AnyActorScope['system'] {
  const system = {
    _bookId: bookId,
    _register: (sessionId: string) => sessionId,
    _unregister: ignore,
    _set: ignore,
    _sendInspectionEvent: watch,
    _relay: nothingRuns,
    _clock: { setTimeout: nothingRuns, clearTimeout: ignore },
    _logger: ignore,
    scheduler: { schedule: nothingRuns, cancel: ignore, cancelAll: ignore },
    get: ignore,
    getAll: () => ({}),
    getSnapshot: () => ({ _scheduledEvents: {} }),
    inspect: () => ({ unsubscribe: ignore }),
    start: ignore,
  };
  // Only the declared half of the system's members is public; actors call the others, which are listed above.
  return system as unknown as AnyActorScope['system'];
}

function ignore(): void {}

function nothingRuns(): never {
  throw new Error('No actor runs inside a turn. Use raise(...) or sendTo(...) as an action instead of calling send().');
}

/**
 * The logic that stands in for every actor of a machine: it does nothing and remembers the input it was given. It
 * has the shape of a snapshot only because XState reads `status` from it.
 */
export const inertLogic: AnyActorLogic = {
  getInitialSnapshot: (_scope: unknown, input: unknown) => idle(input),
  transition: (snapshot: unknown) => snapshot,
  getPersistedSnapshot: (snapshot: unknown) => snapshot,
  restoreSnapshot: (snapshot: unknown) => snapshot,
  // XState's type for logic is contravariant in its snapshot; this one accepts any.
} as AnyActorLogic;

/** The snapshot of an inert actor with this input. */
export function idle(input: unknown) {
  return { status: 'active', output: undefined, error: undefined, input } as const;
}

/** The state nodes that are active, which a state value shows only as far as they form one. */
export function activeNodesOf(snapshot: AnyMachineSnapshot): readonly AnyStateNode[] {
  return snapshot._nodes;
}

/** Orders the active nodes as the chart does; XState keeps them in the order in which they were entered. */
export function putInChartOrder(snapshot: AnyMachineSnapshot): void {
  snapshot._nodes.sort((a, b) => a.order - b.order);
}
