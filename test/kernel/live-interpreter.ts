/**
 * XState's live interpreter with everything that happens by itself put into the test's hands: its clock never moves,
 * its promises end when told to. What it starts, emits and does since it was last looked at is written down.
 */
import { isDeepStrictEqual } from 'node:util';
import {
  type AnyActor,
  type AnyActorRef,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type AnyStateNode,
  createActor,
  fromPromise,
  type StateValue,
} from 'xstate';

export interface Live {
  start(input: unknown): void;
  send(event: { type: string }): void;
  accepts(event: { type: string }): boolean;
  settle(actorId: string, result: { output: unknown } | { error: unknown }): void;
  fire(eventType: string, delayMs: number): void;
  /** Resolves when every promise that was told to end has been heard. */
  atRest(): Promise<void>;
  /** True after an error, and in a state that is not one: XState can leave a state with no state inside, or two. */
  failed(): boolean;
  /** What happened since the last look; puts the regions in order for the next step. */
  seen(): Record<string, unknown>;
  forget(): void;
  /** How often a history state brought something back. */
  restorations(): number;
  stop(): void;
}

export function liveOf(machine: AnyStateMachine): Live {
  const pending = new Map<unknown, { resolve: (output: unknown) => void; reject: (error: unknown) => void }>();
  const armed = new Map<number, { due: () => void; type: string; delay: number }>();
  let since = nothingYet();
  let handles = 0;
  let restored = 0;
  let arming = '';
  let ended = false;
  let actor: AnyActor;
  let last: AnyMachineSnapshot | null = null;

  const work = fromPromise(({ input, self }) => {
    since.started.push({ actor: self, input });
    return new Promise((resolve, reject) => pending.set(self, { resolve, reject }));
  });
  const clock = {
    setTimeout: (due: () => void, delay: number) => {
      handles += 1;
      armed.set(handles, { due, delay, type: arming });
      return handles;
    },
    clearTimeout: (handle: number) => void armed.delete(handle),
  };
  const running = machine.provide({
    actors: { work },
    // The plan's only custom action; its parameters are all there is to it.
    actions: { note: (_: unknown, params: unknown) => void since.noted.push(params) },
  });

  return {
    start(input) {
      actor = createActor(running, {
        input,
        clock,
        inspect: (event) => {
          if (event.type !== '@xstate.microstep' || event.actorRef !== actor) return;
          // The inspection event types its snapshot for any logic; the actor inspected here is a machine.
          const snapshot = event.snapshot as AnyMachineSnapshot;
          const targets = event._transitions.flatMap(({ target }) => target ?? []);
          restored += targets.filter((node) => node.type === 'history' && last?.historyValue[node.id]).length;
          last = snapshot;
          since.visited.push(snapshot.value);
        },
      });
      const { scheduler } = actor.system;
      const schedule = scheduler.schedule.bind(scheduler);
      scheduler.schedule = (source, target, event, delay, id) => {
        // Arming an id twice makes the interpreter lose its hold on the first timer, which still fires; the kernel
        // replaces it, and so does this interpreter.
        if (id !== undefined) scheduler.cancel(source, id);
        arming = event.type;
        schedule(source, target, event, delay, id);
      };
      actor.subscribe({ error: () => {} });
      actor.on('*', (event) => since.emitted.push(event));
      // The first entry is reported by no inspection event; without any, the value at rest is the first one.
      actor.start();
      since.visited = [];
    },
    send: (event) => actor.send(event),
    accepts: (event) => actor.getSnapshot().can(event),
    settle(actorId, result) {
      // By the actor, not its id: one that was entered twice left another behind under the same id.
      const promise = pending.get(actor.getSnapshot().children[actorId]);
      ended = true;
      if ('output' in result) promise?.resolve(result.output);
      else promise?.reject(result.error);
    },
    fire(eventType, delayMs) {
      const found = [...armed].find(([, { type, delay }]) => type === eventType && delay === delayMs);
      if (!found) throw new Error(`The live interpreter has no timer for ${eventType}.`);
      armed.delete(found[0]);
      found[1].due();
    },
    async atRest() {
      if (!ended) return;
      ended = false;
      await new Promise((resolve) => setImmediate(resolve));
    },
    failed() {
      const { status, _nodes: nodes }: AnyMachineSnapshot = actor.getSnapshot();
      const activeIn = (node: AnyStateNode) => nodes.filter(({ parent }) => parent === node).length;
      const regions = (node: AnyStateNode) =>
        Object.values<AnyStateNode>(node.states).filter(({ type }) => type !== 'history');
      const isWhole = (node: AnyStateNode) => activeIn(node) === (node.type === 'compound' ? 1 : regions(node).length);
      return status === 'error' || !nodes.some((node) => node === machineRoot(nodes)) || !nodes.every(isWhole);
    },
    seen() {
      const { value, status, output, context, children }: AnyMachineSnapshot = actor.getSnapshot();
      const isRunning = (id: string) => status === 'active' && children[id]?.getSnapshot().status === 'active';
      const seen = {
        value,
        status,
        output,
        context,
        running: Object.keys(children).filter(isRunning).sort(),
        timers: Object.values(actor.system.getSnapshot()._scheduledEvents)
          .map(({ event, delay }) => `${event.type} in ${delay}`)
          .sort(),
        ...since,
        // Entering a state twice without leaving it starts its actor twice; the machine knows only the second.
        started: since.started
          .filter(({ actor: made }) => children[made.id] === made)
          .map(({ actor: { id }, input }) => [id, input])
          .sort(),
        visited: since.visited.filter((value, at) => !isDeepStrictEqual(value, since.visited[at - 1])),
      };
      inChartOrder(actor.getSnapshot());
      since = nothingYet();
      return seen;
    },
    forget: () => {
      since = nothingYet();
    },
    restorations: () => restored,
    stop: () => void actor.stop(),
  };
}

/**
 * Where two regions contend, the interpreter prefers the one that was entered first, which no state value tells. The
 * kernel prefers the first of the chart, as SCXML has it; so does this interpreter, as far as it is at rest.
 */
function inChartOrder(snapshot: AnyMachineSnapshot): void {
  snapshot._nodes.sort((a, b) => a.order - b.order);
  snapshot.value = sorted(snapshot.value);
}

/** The names of random machines sort in the order of their charts. */
function sorted(value: StateValue): StateValue {
  if (typeof value === 'string') return value;
  const regions = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(regions.map(([key, part]) => [key, part === undefined ? part : sorted(part)]));
}

function machineRoot(nodes: readonly AnyStateNode[]): AnyStateNode | undefined {
  return nodes[0]?.machine.root;
}

function nothingYet() {
  const lists: {
    started: { actor: AnyActorRef; input: unknown }[];
    emitted: unknown[];
    noted: unknown[];
    visited: unknown[];
  } = {
    started: [],
    emitted: [],
    noted: [],
    visited: [],
  };
  return lists;
}
