/**
 * Refuses, at registration, a machine that cannot run as a saga: whose actors are not operations, which has no way on
 * from a proven refusal, never ends, ends after a failure without having taken anything back, or goes on after it has.
 * It reads the chart only and follows every transition whatever its guard, so it may see a way that a guard closes; it
 * never overlooks one. The rules of every durable machine stand in `lint.ts` and are asked besides these.
 */
import { isLibraryEvent, isLibraryPrefix } from '../domain/library-event.ts';
import type { AnyStateMachine, AnyStateNode } from 'xstate';
import { type Finding, isDeadEnd } from './lint.ts';
import { actionsOf, nodesOf, sendingOf, spawnOf } from './nodes.ts';
import { type Chart, chartOf, type Follows, type Reach } from './reach.ts';
import { stepsAt, stepsOf, type Step } from './steps.ts';

/** The actor source that takes the ledger back. */
const compensate = 'compensate';

interface AboutSaga {
  /** The actor sources that are operations. */
  readonly operations: readonly string[];
  /** Why a failure may end the saga without `compensate`, in the words of its author; null where it may not. */
  readonly takesNothingBack: string | null;
  /** The step after whose success nothing is taken back any more; null, or left out, where there is none. */
  readonly pivot?: string | null;
}

interface Invocation extends Step {
  readonly at: AnyStateNode;
}

/** Every reason why this machine cannot run as a saga with these operations; an empty list when there is none. */
export function lintSaga(machine: AnyStateMachine, about: AboutSaga): readonly Finding[] {
  const chart = chartOf(machine);
  const isOperation = ({ src }: { readonly src: string }) => about.operations.includes(src);
  const invocations = chart.nodes.flatMap((at) => stepsAt(at).map((step): Invocation => ({ ...step, at })));
  const operations = invocations.filter(isOperation);
  const compensations = invocations.filter(({ src }) => src === compensate);
  const known = [...operations, ...compensations];
  const ends = chart.endsIn(new Set(chart.nodes));

  return [
    ...invocations.filter((invocation) => !known.includes(invocation)).map(({ at, src }) => unknownSource(at, src)),
    ...placedActionsOf(chart).flatMap(({ at, action }) => [
      ...spawnFindings(at, action, about.operations),
      ...sendingFindings(at, action),
    ]),
    ...duplicateSteps(known),
    ...operations.filter((operation) => !takesEveryRefusal(chart, operation)).map(refusalUnhandled),
    ...compensations.filter((compensation) => endsOf(chart, compensation, 'done').length === 0).map(neverTakenBack),
    ...(ends.length === 0 ? [endless(chart.root)] : stuckFindings(chart, known)),
    ...(about.takesNothingBack === null ? endsWithoutCompensation(chart, operations, compensations, about.pivot) : []),
    ...operationsAfterCompensation(chart, operations, compensations),
  ];
}

/** Every action where it stands; those behind a name concern no state in particular. */
function placedActionsOf({ root, nodes }: Pick<Chart, 'root' | 'nodes'>): { at: AnyStateNode; action: unknown }[] {
  const named: unknown[] = Object.values(root.machine.implementations.actions);
  return [
    ...named.map((action) => ({ at: root, action })),
    ...nodes.flatMap((at) => actionsOf(at).map((action) => ({ at, action }))),
  ];
}

function spawnFindings(at: AnyStateNode, action: unknown, operations: readonly string[]): Finding[] {
  const src = spawnOf(action)?.src;
  if (typeof src !== 'string') return [];
  return [src === compensate || operations.includes(src) ? spawnedOperation(at, src) : unknownSource(at, src)];
}

function sendingFindings(at: AnyStateNode, action: unknown): Finding[] {
  const to = sendingOf(action)?.to;
  const isActor = typeof to === 'string' && to !== '#_parent' && to !== '#_internal';
  return isActor ? [eventToOperation(at, to)] : [];
}

/** Two invocations of `compensate` may share a name: it is the same ledger that they take back. */
function duplicateSteps(known: readonly Invocation[]): Finding[] {
  return known.flatMap((later, index) => {
    const earlier = known.slice(0, index).find(({ step }) => step === later.step);
    if (!earlier || (earlier.src === compensate && later.src === compensate)) return [];
    return [duplicateStep(later, earlier)];
  });
}

/** The transitions by which a state hears of an invocation's end. */
function endsOf(chart: Chart, { at, actorId }: Invocation, how: 'done' | 'error') {
  return chart.transitionsOf(at).filter(({ eventType }) => eventType === `xstate.${how}.actor.${actorId}`);
}

function takesEveryRefusal(chart: Chart, operation: Invocation): boolean {
  return endsOf(chart, operation, 'error').some(({ guard }) => guard === undefined || guard === null);
}

/** States from which nothing leads to an end. What a dead end is, the rules for every machine have said already. */
function stuckFindings(chart: Chart, known: readonly Invocation[]): Finding[] {
  const comesToRest = (reach: Reach) =>
    chart.endsIn(reach).length > 0 || [...reach].some(({ tags }) => tags.includes('escalated'));
  const onlyRefused = known.filter((invocation) => {
    if (endsOf(chart, invocation, 'done').some(({ target }) => target.length > 0)) return false;
    const refusals = endsOf(chart, invocation, 'error');
    return !comesToRest(chart.from(invocation.at, (_, transition) => !refusals.includes(transition)));
  });
  const isTold = (node: AnyStateNode) => isDeadEnd(node) || onlyRefused.some(({ at }) => at === node);
  const resting = chart.nodes.filter(({ type }) => type === 'atomic' || type === 'final');
  const stuck = resting.filter((node) => chart.reached.has(node) && !isTold(node) && !comesToRest(chart.from(node)));
  return [...onlyRefused.map(successUnhandled), ...stuck.map(noWayOut)];
}

/**
 * After a refusal, each end of the machine that can be reached without `compensate` having finished on the way. Once
 * the pivot has succeeded nothing may be taken back, so what comes after that is not asked for it.
 */
function endsWithoutCompensation(
  chart: Chart,
  operations: readonly Invocation[],
  compensations: readonly Invocation[],
  pivot: string | null = null,
): Finding[] {
  const takenBack = new Set(compensations.flatMap((compensation) => endsOf(chart, compensation, 'done')));
  const passed = new Set(
    operations.filter(({ step }) => step === pivot).flatMap((operation) => endsOf(chart, operation, 'done')),
  );
  const beforePivot = chart.fromStart((_, transition) => !passed.has(transition));
  const takesNothingBack: Follows = (_, transition) => !takenBack.has(transition) && !passed.has(transition);
  const asked = operations.filter(({ at }) => beforePivot.has(at));
  return asked.flatMap((operation) => {
    const reaches = endsOf(chart, operation, 'error').map((refusal) =>
      chart.after(operation.at, refusal, takesNothingBack),
    );
    const ends = new Set(reaches.flatMap((reach) => chart.endsIn(reach)));
    return [...ends].map((end) => notTakenBack(operation, end));
  });
}

function operationsAfterCompensation(
  chart: Chart,
  operations: readonly Invocation[],
  compensations: readonly Invocation[],
): Finding[] {
  const reaches = compensations.flatMap((compensation) =>
    endsOf(chart, compensation, 'done').map((takenBack) => chart.after(compensation.at, takenBack)),
  );
  return operations.filter(({ at }) => reaches.some((reach) => reach.has(at))).map(forwardAfterCompensation);
}

/** What the library says of operations and sagas, and a name of the user's own for each. */
const statuses: Readonly<Record<string, string>> = {
  pending: 'notStarted',
  'in-progress': 'working',
  waiting: 'awaitingApproval',
  unknown: 'unclear',
  reconciling: 'checking',
  escalated: 'needsAttention',
  compensating: 'takingBack',
  compensated: 'takenBack',
  succeeded: 'completed',
  failed: 'refused',
  terminated: 'stopped',
};

/**
 * Every name in a user's machine that the library uses itself: of states and steps, which would be mistaken for a
 * status, and of events, which would be mistaken for its own. Not for charts that the library makes.
 */
export function lintNames(machine: AnyStateMachine): readonly Finding[] {
  const nodes = nodesOf(machine);
  const states = nodes.filter(({ parent, key }) => parent && Object.hasOwn(statuses, key));
  const steps = stepsOf(machine).filter(({ step }) => Object.hasOwn(statuses, step));
  const events = [
    ...nodes.flatMap((at) => Object.keys(at.config.on ?? {}).map((event) => ({ at, event }))),
    ...placedActionsOf({ root: machine.root, nodes }).flatMap(({ at, action }) => {
      const sending = sendingOf(action);
      // XState's own raise, which is how it makes a timer.
      const isTimer = sending?.event === sending?.id && sending?.event?.startsWith('xstate.after.');
      return sending?.event && !isTimer ? [{ at, event: sending.event }] : [];
    }),
  ];
  return [
    ...states.map(({ id, key }) => reservedName(id, `State ${id}`, key)),
    ...steps.map(({ node, step }) => reservedName(node, `A step in state ${node}`, step)),
    ...events.filter(({ event }) => isReserved(event)).map(({ at, event }) => reservedEvent(at, event)),
  ];
}

/** A wildcard for XState's own events is refused in every machine; one for the library's events is, here. */
function isReserved(event: string): boolean {
  if (!event.endsWith('.*')) return isLibraryEvent(event);
  return isLibraryPrefix(event.slice(0, -1));
}

function unknownSource({ id }: AnyStateNode, src: string): Finding {
  return {
    code: 'unknown-source',
    state: id,
    message: `State ${id} starts ${quoted(src)}, which is neither one of the saga's operations nor ${compensate}.`,
    remedy: `Make ${quoted(src)} an operation, and list it in the saga's operations.`,
  };
}

function spawnedOperation({ id }: AnyStateNode, src: string): Finding {
  return {
    code: 'spawned-operation',
    state: id,
    message: `State ${id} starts ${quoted(src)} by an action, so nothing hears how it ends.`,
    remedy: 'Invoke it in a state, or in a region beside others, with onDone and onError.',
  };
}

function eventToOperation({ id }: AnyStateNode, to: string): Finding {
  return {
    code: 'event-to-operation',
    state: id,
    message: `State ${id} sends an event to ${quoted(to)}, but an operation takes none while it runs.`,
    remedy: 'Give it what it needs as its input, or send the event to the machine itself with raise(...).',
  };
}

function duplicateStep({ node, step }: Invocation, earlier: Invocation): Finding {
  return {
    code: 'duplicate-step',
    state: node,
    message: `States ${earlier.node} and ${node} both have a step ${quoted(step)}, so their effects would be taken for one.`,
    remedy: "Give each an id of its own: invoke: { src, id: 'name' }.",
  };
}

function refusalUnhandled({ node, step }: Invocation): Finding {
  return {
    code: 'refusal-unhandled',
    state: node,
    message: `Step ${quoted(step)} in state ${node} has no onError that takes every refusal; one would be a fault of the machine.`,
    remedy: 'Give it an onError, whose last transition has no guard.',
  };
}

function neverTakenBack({ node }: Invocation): Finding {
  return {
    code: 'compensation-unhandled',
    state: node,
    message: `State ${node} invokes ${compensate} and does not hear when everything has been taken back.`,
    remedy: 'Give it an onDone that leads to a final state.',
  };
}

function successUnhandled({ node, step }: Invocation): Finding {
  return {
    code: 'success-unhandled',
    state: node,
    message: `When step ${quoted(step)} succeeds, nothing leads from state ${node} to an end of the saga.`,
    remedy: 'Give it an onDone with a target.',
  };
}

function noWayOut({ id }: AnyStateNode): Finding {
  return {
    code: 'no-way-out',
    state: id,
    message: `From state ${id} nothing leads to an end of the saga, or to a state with the tag 'escalated'.`,
    remedy: "Add the transition that is missing, or tag the state in which a person has to decide: tags: 'escalated'.",
  };
}

function endless({ id }: AnyStateNode): Finding {
  return {
    code: 'no-end',
    state: id,
    message: `Machine ${id} has no final state at its top, so no instance of it would ever end.`,
    remedy: "Declare the states in which it is over type: 'final'.",
  };
}

function notTakenBack({ node, step }: Invocation, end: AnyStateNode): Finding {
  return {
    code: 'not-taken-back',
    state: node,
    message:
      `After a refusal of step ${quoted(step)} the saga can end in ${end.id} without ${compensate} having finished ` +
      '(guards are not read).',
    remedy:
      `Lead from its onError to a state that invokes ${compensate}, or say why nothing has to be taken back: ` +
      "takesNothingBack: 'reason'.",
  };
}

function forwardAfterCompensation({ node, step }: Invocation): Finding {
  return {
    code: 'forward-after-compensation',
    state: node,
    message: `Step ${quoted(step)} in state ${node} can begin after ${compensate} has finished.`,
    remedy: `Lead from the onDone of ${compensate} to a final state, without an operation on the way.`,
  };
}

function reservedName(state: string, what: string, name: string): Finding {
  return {
    code: 'reserved-name',
    state,
    message: `${what} is called ${quoted(name)}, which the library says of an operation or a saga.`,
    remedy: `Call it something else, such as ${quoted(statuses[name] ?? name)}.`,
  };
}

function reservedEvent({ id }: AnyStateNode, event: string): Finding {
  return {
    code: 'reserved-event',
    state: id,
    message: `State ${id} uses the event ${quoted(event)}, which only the library or XState itself may send.`,
    remedy: "Call it after what happened in your business, such as 'order.withdrawn'.",
  };
}

function quoted(name: string): string {
  return `'${name}'`;
}
