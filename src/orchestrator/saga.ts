/**
 * A saga with its operations as an aggregate: one row is the fence of all of them, and one statement writes what a turn
 * changes of each. Everything it waits for is a due time of that row: the pauses of its operations, the timers of its
 * chart, its deadline.
 */

import { decode } from '../domain/codec.ts';
import { faultOf } from '../domain/error-record.ts';
import { resourceLocked } from '../domain/errors.ts';
import { FORMAT_WRITTEN } from '../domain/format.ts';
import type { Json } from '../domain/json.ts';
import { isSagaSettled } from '../domain/saga-state.ts';
import type { Operation } from '../define/operation.ts';
import { type Effect, type Kernel, unborn } from '../kernel/kernel.ts';
import type { Logger } from '../ports/logger.ts';
import type {
  Due,
  OperationChange,
  OperationReceipt,
  OperationRef,
  OperationRow,
  SagaBirth,
  SagaReceipt,
  SagaRow,
  SagaTurn,
  Store,
} from '../ports/store.ts';
import type {
  Aggregate,
  AnyReceipt,
  AnyRow,
  Happening,
  Made,
  Member,
  Moment,
  Newborn,
  Others,
  Timer,
  WrittenAs,
} from './aggregate.ts';
import { birthOfSaga } from './accept.ts';
import { memberOf } from './alone.ts';
import { ChangedSaga } from './changed-saga.ts';
import { emptyHand } from './hand.ts';
import { seenOf } from './handover.ts';
import { contextOf, stateOf, waitOf } from './row.ts';
import { adoptedBy, type Moving, movingOf } from './moving-on.ts';
import { isPointInTime } from '../../machines/saga.ts';
import { newestOf, type RunnableSaga } from './runnable.ts';
import { watchedChildren } from './saga-child.ts';
import { type ChildEntry, type Course, fromStoredCourse, joining, unbegun } from './saga-course.ts';
import {
  type BornAs,
  CHANGED,
  chartTimer,
  DEADLINE,
  EXPIRY,
  FAULT,
  type MemberChange,
  type MovedOn,
  LOOK,
  LOOK_PAUSE_MS,
  type SagaAdvance,
  sagaAdvance,
  sagaBirth,
  type SagaNow,
} from './saga-turn.ts';
import { startIn } from './start.ts';
import { toStored, toStoredCourse } from './stored.ts';

/** Attempts that one turn may start: more operations than this at once begin one after the other. */
const STARTS_AT_MOST = 8;

/** A definition that is at fault is tried again after this pause, which doubles up to the longest. */
const FAULT_PAUSE_MS = 60_000;
const FAULT_PAUSE_MAX_MS = 3_600_000;

class SagaAggregate implements Aggregate {
  readonly kind = 'saga';
  readonly startsAtMost = STARTS_AT_MOST;
  readonly #now: SagaNow;
  readonly #dues: Readonly<Record<string, number>>;
  /** How it goes on with another chart, with its next turn; null: it has the one that it goes on with. */
  readonly #moved: MovedOn | null;

  constructor(now: SagaNow, dues: Readonly<Record<string, number>>, moved: MovedOn | null = movedNext(now)) {
    this.#now = now;
    this.#dues = dues;
    this.#moved = moved;
  }

  get ref(): OperationRef {
    return this.#now.ref;
  }

  get members(): ReadonlyMap<string, Member> {
    return this.#now.members;
  }

  get timers(): readonly Timer[] {
    // Whatever else is due is due in the other chart as well, or is not waited for there.
    if (this.#moved !== null) return [{ name: MOVE, generation: 0, dueAt: 0, looks: false }];
    const { course, members } = this.#now;
    const isMissing = joining(course, (id) => members.has(id)).length > 0;
    const looksNow = isMissing && course.fault === null && this.#dues[LOOK] === undefined;
    return [
      ...Object.entries(this.#dues).flatMap(([name, dueAt]) => {
        const generation = generationOf(course, name);
        // It may be at fault with what others have, and is to see in one turn whether it still is.
        const looks = name === LOOK || name === FAULT;
        return generation === null ? [] : [{ name, generation, dueAt, looks }];
      }),
      ...(looksNow ? [{ name: LOOK, generation: 0, dueAt: 0, looks: true }] : []),
    ];
  }

  async look(store: Pick<Store, 'read' | 'readSaga'>): Promise<Others> {
    const { course, members } = this.#now;
    const { tenant } = this.ref;
    const operations = new Map<string, OperationRow | null>();
    for (const { id } of joining(course, (one) => members.has(one)))
      operations.set(id, await store.read({ tenant, id }));
    const sagas = new Map<string, SagaRow | null>();
    for (const { row } of members.values()) {
      for (const id of contextOf(row).joined) sagas.set(id, await store.readSaga({ tenant, id }));
    }
    for (const { id } of watchedChildren(course)) sagas.set(id, await store.readSaga({ tenant, id }));
    return { operations, sagas };
  }

  read(store: Pick<Store, 'readSaga'>): Promise<SagaRow | null> {
    return store.readSaga(this.ref);
  }

  readAgain(row: AnyRow): SagaAggregate {
    // What has the id of a saga is one.
    const { operations, dues } = row as SagaRow;
    const members = new Map(this.members);
    for (const { id, revision, turn, sendBy, windowEndsAt } of operations) {
      const member = members.get(id);
      if (member !== undefined)
        members.set(id, { ...member, seen: seenOf({ revision, turn }), sendBy, windowEndsAt, dueAt: dueOf(dues, id) });
    }
    return new SagaAggregate({ ...this.#now, members }, dues, this.#moved);
  }

  advance(happening: Happening, moment: Moment): Made | null {
    const moved = this.#moved;
    const now = moved === null ? this.#now : { ...this.#now, saga: moved.saga, course: moved.course };
    // A timer of the chart that it leaves is none any more; one that both have is still due.
    const isOfTimer = happening.type === 'timer' && happening.name !== DEADLINE;
    const heard: Happening = moved !== null && isOfTimer ? { type: 'released' } : happening;
    const advanced = sagaAdvance(now, heard, moment, moved);
    if (advanced === null) return null;
    const made = withNewer(advanced, now);
    const before = { ...now, dues: this.#dues };
    const dues = duesOf(made, before);
    const becomes = moved?.becomes ?? null;
    // One that can be moved on now need not wait for what is due next.
    const isMoving =
      now.saga.onward !== null &&
      movedNext({ ...now, course: made.course, members: membersAfter(made, before) }) !== null;
    return {
      ...leading(made, before, dues, moment),
      ...(isMoving ? { waitMs: 0 } : {}),
      answers: made.answers,
      asks: made.asks,
      begins: made.begets.flatMap((entry) => newChild(entry, this.#now, moment)),
      wakes: made.wakes,
      lets: made.lets,
      afterwards: (logger) => tell(made.effects, now.saga, logger),
      turn: (as) => ({ ...turnOf(made, before, dues, as), becomes, birth: null, was: as.was }),
    };
  }
}

/**
 * What a turn changes, and with it, as it is, what a later release has left in a newer format than the saga is written in
 * now: whoever can read a saga can read all of it.
 */
function withNewer(made: SagaAdvance, { members }: SagaNow): SagaAdvance {
  const newer = [...members].filter(([id, { format }]) => format > FORMAT_WRITTEN && !made.changes.has(id));
  if (newer.length === 0) return made;
  const again = newer.map(([id, member]): [string, MemberChange] => {
    const { definition, row } = member;
    return [id, { before: member, birth: null, definition, row, records: [], contradicted: false }];
  });
  return { ...made, changes: new Map([...made.changes, ...again]) };
}

/** Sooner than anything else. */
const MOVE = 'move';

/** Where a migration leads it; null: none does, or it is left in its version. */
function movedNext(now: SagaNow): MovedOn | null {
  const moving = movingOnOf(now);
  return moving !== null && 'moved' in moving ? moving.moved : null;
}

/** Where a migration leads a saga, if the turn that puts it there can be made; null: none leads on from its version. */
export function movingOnOf(now: SagaNow): Moving | null {
  const moving = movingOf(now);
  if (moving === null || !('moved' in moving)) return moving;
  const { saga, course } = moving.moved;
  try {
    const made = sagaAdvance({ ...now, saga, course }, { type: 'released' }, rehearsal, moving.moved);
    const fault = made?.course.fault ?? null;
    return fault === null ? moving : { why: fault.message };
  } catch (error) {
    return { why: faultOf(error) };
  }
}

/** Of a turn that is only tried: nothing is sent and nothing written. */
const rehearsal: Moment = {
  now: 0,
  factsOf: (times) => ({ now: 0, ...times, lostStartOn: null, random: 0.5 }),
  mayBeRepeated: true,
  hand: emptyHand,
};

/** A saga that is to be created. */
export function newSaga(
  saga: RunnableSaga,
  ref: OperationRef,
  born: SagaBirth,
  input: unknown,
  kernel: Kernel,
  as: BornAs = { parent: null, word: null },
): Newborn {
  const before: Before = {
    ...{ saga, kernel, ref, key: born.key, input: born.input, course: nothing, members: new Map(), dues: {} },
  };
  return {
    kind: 'saga',
    ref,
    startsAtMost: STARTS_AT_MOST,
    born(moment) {
      const made = sagaBirth(before, input, moment, as);
      const dues = duesOf(made, before);
      return {
        ...leading(made, before, dues, moment),
        afterwards: (logger) => tell(made.effects, saga, logger),
        turn: (as) => ({ ...turnOf(made, before, dues, as), becomes: null, birth: born, was: null }),
      };
    },
    async hindrance(store) {
      if (born.locks.length === 0) return null;
      const held = (await store.heldLocks(ref.tenant, born.locks)).filter((lock) => lock.saga !== ref.id);
      const holders = Object.fromEntries(held.map((lock) => [lock.resource, lock.saga]));
      return held.length === 0 ? null : resourceLocked(saga.name, born.key, holders);
    },
  };
}

/** A step that is a saga, to be created unless it is there already. */
function newChild(
  { id, step, child }: ChildEntry,
  { saga, kernel, ref }: SagaNow,
  { mayBeRepeated }: Moment,
): readonly Newborn[] {
  const { name, key } = child;
  // What a fail-over may have lost of it is looked for before it is given up: then it hears of that once it is there.
  const word = mayBeRepeated ? null : child.word;
  const begun = newestOf(saga.sagas, name);
  if (begun === null) return [];
  const input = decode(child.input);
  const parent = { id: ref.id, step, heard: word?.n ?? 0 };
  const as = { parent, word: word?.kind ?? null };
  return [newSaga(begun, { tenant: ref.tenant, id }, birthOfSaga(begun, ref.tenant, key, input), input, kernel, as)];
}

/** Before the first turn. */
const nothing: Course = { ...unbegun, chart: unborn };

/**
 * The saga of a stored row. One whose chart has changed, and that can neither be moved on nor adopt it, is escalated with
 * its next turn. Throws what the row cannot be read for.
 */
export function sagaFrom(
  row: SagaRow,
  saga: RunnableSaga,
  definitions: ReadonlyMap<string, Operation>,
  kernel: Kernel,
): Aggregate {
  if (row.hash === saga.hash) return new SagaAggregate(sagaNow(row, saga, definitions, kernel), row.dues);
  if (isSagaSettled(row.state)) {
    throw new Error(
      `Saga ${row.name} has another chart in version ${row.version} than it had when ${row.id} was stored. ` +
        'Give the changed chart the next version, and register both.',
    );
  }
  const changed = changedFrom(row, saga, definitions, kernel);
  return changed ?? new ChangedSaga(row);
}

function changedFrom(...[row, saga, definitions, kernel]: Parameters<typeof sagaFrom>): SagaAggregate | null {
  try {
    const now = sagaNow(row, saga, definitions, kernel);
    const adopted = saga.definition.whenChanged === 'adopt' ? adoptedBy(now, row.hash) : null;
    const moved = movedNext(now) ?? adopted;
    return moved === null ? null : new SagaAggregate(now, row.dues, moved);
  } catch {
    // What it was made of is gone with the chart that it had.
    return null;
  }
}

/** A stored saga with its definition. Throws what the row cannot be read for. */
export function sagaNow(
  row: SagaRow,
  saga: RunnableSaga,
  definitions: ReadonlyMap<string, Operation>,
  kernel: Kernel,
): SagaNow {
  const { tenant, id, key, input, dues } = row;
  const members = new Map(
    row.operations.map((operation) => [operation.id, memberOf(operation, definitions, dueOf(dues, operation.id))]),
  );
  const course = fromStoredCourse(row, saga, members);
  return { saga, kernel, ref: { tenant, id }, key, input, course, members };
}

type Before = SagaNow & { readonly dues: Readonly<Record<string, number>> };

function leading(made: SagaAdvance, before: Before, dues: readonly Due[], { now }: Moment) {
  const waits = dues.map(({ name, inMs, at }) => inMs ?? Math.max(0, (at ?? before.dues[name] ?? now) - now));
  const rows = [...before.members.keys(), ...made.changes.keys()].map((id) => rowOf(made, before, id));
  return {
    waitMs: waits.length === 0 ? null : Math.min(...waits),
    isUnderWay: rows.some((row) => row !== undefined && stateOf(row) === 'in-progress'),
    rests: made.state === 'escalated' || isSagaSettled(made.state),
    starts: made.starts,
    changes: [before.ref, ...[...made.changes.keys()].map((id) => ({ tenant: before.ref.tenant, id }))],
    after: (receipt: AnyReceipt, turn: string) => written(made, before, receipt, turn),
  };
}

function rowOf(made: SagaAdvance, before: Before, id: string) {
  return made.changes.get(id)?.row ?? before.members.get(id)?.row;
}

/** Everything that the saga waits for from now on. What it waited for already goes on from where it stands. */
function duesOf({ course, changes, state, looksInMs, mayTimeOut }: SagaAdvance, before: Before): readonly Due[] {
  if (isSagaSettled(state)) return [];
  const dues: Due[] = [];
  for (const id of new Set([...before.members.keys(), ...changes.keys()])) {
    const was = before.members.get(id)?.row;
    const row = changes.get(id)?.row ?? was;
    const wait = row === undefined ? null : waitOf(row);
    if (wait === null) continue;
    const name = memberDue(id);
    const isSame = was !== undefined && waitOf(was)?.id === wait.id && before.dues[name] !== undefined;
    dues.push({ name, inMs: isSame ? null : wait.delayMs });
  }
  if (!course.isFrozen) {
    for (const [id, { generation, delayMs }] of Object.entries(course.chart.timers)) {
      const name = chartTimer(id);
      const isSame = before.course.chart.timers[id]?.generation === generation && before.dues[name] !== undefined;
      const isTime = before.saga.isChain && isPointInTime(id);
      dues.push(isTime ? { name, inMs: null, at: Math.ceil(delayMs) } : { name, inMs: isSame ? null : delayMs });
    }
  }
  const expiries = course.kept.map(({ expiresAt }) => expiresAt);
  if (expiries.length > 0) dues.push({ name: EXPIRY, inMs: null, at: Math.min(...expiries) });
  if (mayTimeOut && isDeadlineSet(before)) {
    const { withinMs } = before.saga.definition;
    dues.push({ name: DEADLINE, inMs: before.dues[DEADLINE] === undefined ? withinMs : null });
  }
  if (looksInMs !== null) {
    const inMs = looksInMs === 'as-before' ? (before.dues[LOOK] === undefined ? LOOK_PAUSE_MS : null) : looksInMs;
    dues.push({ name: LOOK, inMs });
  }
  if (course.fault !== null) {
    const isSame = course.fault === before.course.fault;
    const pauseMs = Math.min(FAULT_PAUSE_MS * 2 ** (course.fault.times - 1), FAULT_PAUSE_MAX_MS);
    dues.push({ name: FAULT, inMs: isSame ? null : pauseMs });
  }
  return dues;
}

/** It is set at birth, and passes once. */
function isDeadlineSet({ saga, course, dues }: Before): boolean {
  return saga.definition.withinMs !== null && (course === nothing || dues[DEADLINE] !== undefined);
}

function turnOf(
  made: SagaAdvance,
  before: Before,
  dues: readonly Due[],
  as: Omit<WrittenAs, 'was'>,
): Omit<SagaTurn, 'birth' | 'was' | 'becomes'> {
  const { tenant, id } = before.ref;
  const operations = [...made.changes].map(([changed, change]) => changeOf(changed, change, as));
  const rests = operations.some(({ start }) => start !== null);
  return {
    ...{ tenant, id, turn: as.turn, owner: as.owner, generation: as.generation },
    ...{ state: made.state, reason: made.reason, dues, output: wrapped(made.output) },
    ...toStoredCourse(made.course, before.saga, membersAfter(made, before)),
    operations,
    timeline: rests ? as.timeline : null,
    ...{ records: made.records, takes: made.takes, signals: made.signals },
  };
}

function wrapped(output: SagaAdvance['output']): Json | null {
  return output === null ? null : { value: output.value };
}

function changeOf(id: string, change: MemberChange, as: Omit<WrittenAs, 'was'>): OperationChange {
  const { before, row, birth } = change;
  const start = startIn(before?.row ?? null, row, as);
  const { timeline: _, ...counted } = start ?? { timeline: '' };
  return {
    id,
    birth: birth === null || before !== null ? null : withoutTenant(birth),
    state: stateOf(row),
    reason: contextOf(row).reason,
    contradicted: change.contradicted,
    ...toStored(row),
    start: start === null ? null : (counted as NonNullable<OperationChange['start']>),
    records: change.records,
  };
}

function withoutTenant({ tenant: _, ...birth }: NonNullable<MemberChange['birth']>): OperationChange['birth'] {
  return birth;
}

/** As they are known before the store has said its times. */
function membersAfter(made: SagaAdvance, before: Before): ReadonlyMap<string, Member> {
  const members = new Map(before.members);
  for (const [id, change] of made.changes) members.set(id, memberAfter(id, change, before, null, '', {}));
  return members;
}

function memberAfter(
  id: string,
  { before, birth, definition, row }: MemberChange,
  { ref }: Before,
  told: OperationReceipt | null,
  turn: string,
  dues: Readonly<Record<string, number>>,
): Member {
  const { createdAt = 0, sendBy = null, windowEndsAt = null } = told ?? before ?? {};
  const seen = told === null ? '' : seenOf({ revision: told.revision, turn });
  return {
    ref: { tenant: ref.tenant, id },
    definition,
    idempotencyKey: before?.idempotencyKey ?? birth?.providerKey ?? '',
    undoes: null,
    input: before?.input ?? birth?.input ?? null,
    ...{ seen, createdAt, sendBy, windowEndsAt, dueAt: dueOf(dues, id), format: FORMAT_WRITTEN, row },
  };
}

function written(made: SagaAdvance, before: Before, receipt: AnyReceipt, turn: string): SagaAggregate {
  // A turn of a saga is answered by a receipt of one.
  const { dues, operations, met } = receipt as SagaReceipt;
  const members = new Map<string, Member>();
  for (const [id, member] of before.members) members.set(id, { ...member, dueAt: dueOf(dues, id) });
  for (const [id, change] of made.changes) {
    if (!met.includes(id)) members.set(id, memberAfter(id, change, before, operations[id] ?? null, turn, dues));
  }
  const { saga, kernel, ref, key, input } = before;
  return new SagaAggregate({ saga, kernel, ref, key, input, course: made.course, members }, dues);
}

function memberDue(id: string): string {
  return `operation ${id}`;
}

function dueOf(dues: Readonly<Record<string, number>>, id: string): number | null {
  return dues[memberDue(id)] ?? null;
}

/** The generation of what a due time belongs to, or null when it is an operation's, or waits with the fault. */
function generationOf({ chart, fault }: Course, name: string): number | null {
  const always = [FAULT, DEADLINE, LOOK, EXPIRY, CHANGED];
  if (always.includes(name)) return 0;
  const id = Object.keys(chart.timers).find((timer) => chartTimer(timer) === name);
  return id === undefined || fault !== null ? null : (chart.timers[id]?.generation ?? null);
}

/** What a chart logs and emits is for who looks on; its named actions are run once and not repeated. */
function tell(effects: readonly Effect[], { name, actions }: RunnableSaga, logger: Logger): void {
  for (const effect of effects) {
    switch (effect.type) {
      case 'logged':
        logger.info({ saga: name, label: effect.label }, 'the chart of a saga logs');
        break;
      case 'event.emitted':
        logger.debug({ saga: name, event: effect.event.type }, 'the chart of a saga emits');
        break;
      case 'action':
        run(name, effect, actions, logger);
        break;
      default:
        break;
    }
  }
}

function run(
  saga: string,
  { name, params }: Extract<Effect, { type: 'action' }>,
  actions: RunnableSaga['actions'],
  logger: Logger,
): void {
  const threw = (error: unknown) =>
    logger.error({ saga, action: name, error }, 'an action of a saga threw; nothing follows from it');
  try {
    // What it promises is not waited for.
    Promise.resolve(actions.get(name)?.(params)).catch(threw);
  } catch (error) {
    threw(error);
  }
}
