/**
 * Whether a saga can go on with another chart than the one it was stored with, and how it stands there: in a later version,
 * by a registered migration, or in its own, whose chart has changed. Pure, and nothing is changed: a saga that cannot go on
 * is as it was, with the reason. What has been done stays done: a step of the same name is the same operation.
 */

import { isDeepStrictEqual } from 'node:util';
import { decode, encode } from '../domain/codec.ts';
import { faultOf } from '../domain/error-record.ts';
import type { MovedSaga } from '../define/migration.ts';
import { itemOf } from '../define/saga-names.ts';
import { targetName } from '../define/step-target.ts';
import { outputsByName, type SagaContext } from '../../machines/saga.ts';
import type { Turn } from '../kernel/kernel.ts';
import type { Member } from './aggregate.ts';
import { stateOf } from './row.ts';
import { isChild, stateOfChild } from './saga-child.ts';
import type { Onward, RunnableSaga } from './runnable.ts';
import { type Course, type Entry, outputsIn } from './saga-course.ts';
import type { MovedOn, SagaNow } from './saga-turn.ts';

/** Where a migration leads one saga: it goes on there, is left where it is, or cannot go on, and why. */
export type Moving = { readonly moved: MovedOn } | { readonly left: true } | { readonly why: string };

/** As its author wants it to go on; null where no migration leads on from its version. */
export function movingOf(now: SagaNow): Moving | null {
  const { onward } = now.saga;
  if (onward === null) return null;
  try {
    return movedBy(now, onward);
  } catch (error) {
    return { why: faultOf(error instanceof Error && error.cause !== undefined ? error.cause : error) };
  }
}

function movedBy(now: SagaNow, { to, move }: Onward): Moving {
  const hindrance = hindranceOf(now.course);
  if (hindrance !== null) return { why: hindrance };
  const ask = () => move(standingOf(now));
  const said = ask();
  if (said === null) return { left: true };
  if (typeof said !== 'object') return { why: 'its move returned neither a place nor null' };
  if (!isDeepStrictEqual(said, ask())) return { why: 'its move gives another result when it is asked again' };
  const homeless = homelessOf(now, to);
  if (homeless !== null) return { why: homeless };
  const turn = to.kernel.place({
    value: said.state,
    context: contextIn(to, said, now),
    before: now.course.chart,
    generations: generationsIn(now.course, to),
  });
  const left = forgottenBy(turn, now.course, to);
  if (left !== undefined) {
    return { why: `step ${left.step} is under way, and state ${JSON.stringify(said.state)} does not wait for it` };
  }
  const { saga } = now;
  const course = {
    ...now.course,
    chart: turn.row,
    entries: now.course.entries.map((entry) => carried(entry, now, to)),
  };
  const record = { migrated: { from: saga.version, to: to.version } };
  return {
    moved: { saga: to, course, effects: turn.effects, becomes: { version: to.version, hash: to.hash }, record },
  };
}

/** Its chart has changed, in the same version; null when it does not fit, be it where it stands or what it waits for. */
export function adoptedBy(now: SagaNow, from: string): MovedOn | null {
  const { saga, course } = now;
  const isWaitedFor = ({ actor, isTold, isLeft, step }: Entry) =>
    isTold || isLeft || actor === null || saga.steps.get(actor.id)?.step === step;
  const fits =
    saga.kernel.misfit(course.chart) === null && course.entries.every(isWaitedFor) && homelessOf(now, saga) === null;
  if (!fits) return null;
  const { version, hash } = saga;
  return { saga, course, effects: [], becomes: { version, hash }, record: { adopted: { from, to: hash } } };
}

/** Why it is not to be moved, whatever its author says; null: it may be. */
function hindranceOf({ chart, entries, compensation, asked, isTerminated, isFrozen, fault }: Course): string | null {
  if (isTerminated) return 'it has been ended as it stands';
  if (compensation !== null || asked !== null) return 'it is being taken back';
  if (fault !== null) return 'its definition is at fault';
  if (isFrozen) return 'its chart stands still';
  // Where its items stand is known to its own chart only.
  const item = entries.find(({ step, undoes, isTold, isLeft }) => {
    return itemOf(step) !== null && undoes === null && !isTold && !isLeft;
  });
  if (item !== undefined) return `forEach ${partOf(item.step)} is under way`;
  return chart.status === 'done' ? 'its chart has come to its end' : null;
}

function standingOf({ saga, course, input, members }: SagaNow) {
  const { value, context } = course.chart;
  return {
    // The value of a chart is the name of a state, or an object of them.
    state: structuredClone(value) as string | object,
    // It was made by the definition that the author has given, whose type is forgotten here.
    input: decode(input) as never,
    outputs: structuredClone(
      // A chain's context is of the library's own making.
      saga.isChain ? outputsByName(context as SagaContext) : outputsIn(course, members),
    ),
    context: saga.isChain ? undefined : structuredClone(context),
  };
}

/** What is known by the names of steps: in a chain also what a person stated. */
function knownIn(saga: RunnableSaga, course: Course, members: ReadonlyMap<string, Member>) {
  // A chain's context is of the library's own making.
  return saga.isChain ? (course.chart.context as SagaContext).outputs : outputsIn(course, members);
}

function contextIn(to: RunnableSaga, said: MovedSaga, { saga, course, input, members }: SagaNow): unknown {
  if (to.isChain) {
    const outputs = { ...said.outputs, ...knownIn(saga, course, members) };
    encode(outputs, { onUnsupported: 'refuse', rootName: 'outputs' });
    // How far lists have come; those that have ended are known by it.
    const items = saga.isChain ? (course.chart.context as SagaContext).items : {};
    return { input: decode(input), outputs, items: structuredClone(items) };
  }
  if (said.context === undefined && saga.isChain) {
    throw new Error('its move returned no context, and the machine that it leads to has one');
  }
  const context = said.context ?? course.chart.context;
  encode({ context }, { onUnsupported: 'refuse', rootName: 'snapshot' });
  return structuredClone(context);
}

/** By the actor of the new chart, which may wait for a step under another id than the old one's. */
function generationsIn({ entries }: Course, to: RunnableSaga): Readonly<Record<string, number>> {
  return Object.fromEntries(
    [...to.steps].map(([id, { step }]) => {
      const begun = entries.flatMap(({ actor, step: of }) => (actor !== null && of === step ? actor.generation : []));
      return [id, Math.max(0, ...begun)];
    }),
  );
}

/** The step whose effect the chart knows nothing of: nobody would take it back. Null: it knows all that may have one. */
function homelessOf({ course, members }: SagaNow, to: RunnableSaga): string | null {
  for (const entry of course.entries) {
    const { id, undoes, step, child } = entry;
    const member = members.get(id);
    if (undoes !== null || hasFailed(entry, members)) continue;
    const there = [...to.steps.values()].find((other) => other.step === partOf(step));
    if (there === undefined) return `step ${step} may have had an effect, and version ${to.version} has no such step`;
    const isItem = itemOf(step) !== null;
    if (isItem !== (there.atMost !== null)) {
      return `step ${step} ${isItem ? 'is of a list, and is none' : 'is one, and is a list'} in version ${to.version}`;
    }
    const before = child?.name ?? member?.definition.action;
    const after = targetName(there.target);
    if (before !== undefined && before !== after) {
      return `step ${step} was ${before}, and is ${after} in version ${to.version}`;
    }
  }
  return null;
}

/** The part of a saga that a step is of: of an item of a list, the list. */
function partOf(step: string): string {
  return itemOf(step)?.part ?? step;
}

/** What is under way and would have nobody to tell how it ends. */
function forgottenBy({ row }: Turn, { entries }: Course, to: RunnableSaga): Entry | undefined {
  const awaited = new Set(Object.keys(row.children).map((id) => to.steps.get(id)?.step));
  return entries.find(
    ({ undoes, isTold, isLeft, step }) => undoes === null && !isTold && !isLeft && !awaited.has(step),
  );
}

/** It is the step of its name in the new chart, once that comes to it. */
function carried(entry: Entry, { members }: SagaNow, to: RunnableSaga): Entry {
  const { actor, step, isLeft } = entry;
  const there = [...to.steps].find(([, other]) => other.step === step);
  if (actor === null || there === undefined) return entry;
  return { ...entry, actor: { ...actor, id: there[0] }, isCarried: !hasFailed(entry, members) && !isLeft };
}

/** It is proven to have had no effect, or to have none any more; one that joined another's operation is not known here. */
function hasFailed(entry: Entry, members: SagaNow['members']): boolean {
  if (isChild(entry)) return entry.child.state !== 'terminated' && stateOfChild(entry) === 'failed';
  const member = members.get(entry.id);
  return member !== undefined && stateOf(member.row) === 'failed';
}
