/**
 * One turn of a saga, computed: what happened to the chart or to one of its operations goes in; the next chart, every
 * operation it changes or begins, and the records of both come out. Pure: nothing has happened until the store has
 * written all of it. Whatever the author's own code makes impossible is a fault of the definition: then the chart
 * stays where it was, what was learnt about operations is kept, and the saga waits for a person or another version.
 */

import { isDeepStrictEqual } from 'node:util';
import { decode, encode } from '../domain/codec.ts';
import { isReadable } from '../domain/format.ts';
import { operationId, sagaId, scopeOf, stepKey, undoKey } from '../domain/idempotency.ts';
import type { Json } from '../domain/json.ts';
import { LimitReached, tooLong } from '../domain/limits.ts';
import { faultOf } from '../domain/error-record.ts';
import { definitionInvalid, isSagacityError } from '../domain/errors.ts';
import { operationFailed } from '../domain/operation-failed.ts';
import { type EscalationReason, isSettled } from '../domain/operation-state.ts';
import { proof } from '../domain/policy.ts';
import { isSagaSettled, type SagaState } from '../domain/saga-state.ts';
import type { Operation } from '../define/operation.ts';
import type { StepCompensation } from '../define/saga-flow.ts';
import { targetName } from '../define/step-target.ts';
import { KernelFault } from '../kernel/fault.ts';
import type { ActorResult, Effect, Kernel, Turn as KernelTurn } from '../kernel/kernel.ts';
import { isLibraryEvent } from '../domain/library-event.ts';
import type { KernelEvent, KernelRow } from '../kernel/row.ts';
import type { OperationEvent } from '../../machines/operation.ts';
import type {
  Birth,
  Handover,
  NewRecord,
  OperationRef,
  OperationRow,
  SagaForm,
  SagaRow,
  SignalChange,
} from '../ports/store.ts';
import { type Advance, advance, birth, endOfInverse, type HandoverAnswer, type OperationHappening } from './advance.ts';
import { acceptedNow, birthOf, birthOfSaga } from './accept.ts';
import { addressed, type Asking, type Happening, type Member, type Moment, type Others } from './aggregate.ts';
import { joinersToWake } from './alone.ts';
import { emptyHand, type Startable } from './hand.ts';
import { fromBody, type SaidOfSaga, type SignalGiven, type StepVerdict } from './handover.ts';
import { failureOfJoined } from './joined.ts';
import { contextOf, fromStored, outputOf, stateOf } from './row.ts';
import { newestOf, type RunnableSaga, type SagaStep, stepBy } from './runnable.ts';
import {
  askingOf,
  isChild,
  reasonOfChild,
  seenAs,
  stateOfChild,
  told,
  unseen,
  watchedChildren,
  wordFor,
} from './saga-child.ts';
import { compensatedNext, isCompensated, isOpen, type Standing } from './saga-compensation.ts';
import {
  type ChildEntry,
  type Compensating,
  type CompensationCause,
  type Course,
  type Entry,
  type Fault,
  joining,
  type KeptSignal,
  outputOfChild,
  type Parent,
  type ParentWord,
  unbegun,
} from './saga-course.ts';

/** What a turn changes of one operation. */
export interface MemberChange {
  /** Null: it is born with this turn. */
  readonly before: Member | null;
  readonly birth: Birth | null;
  readonly definition: Operation;
  readonly row: KernelRow;
  readonly records: readonly NewRecord[];
  readonly contradicted: boolean;
}

/** A turn that can be written. */
export interface SagaAdvance {
  readonly course: Course;
  readonly state: SagaState;
  readonly reason: EscalationReason | null;
  /** By the id of the operation. */
  readonly changes: ReadonlyMap<string, MemberChange>;
  readonly starts: readonly string[];
  readonly records: readonly NewRecord[];
  readonly takes: readonly string[];
  readonly answers: ReadonlyMap<string, HandoverAnswer>;
  /** Joins to be asked for. */
  readonly asks: readonly Asking[];
  /** Sagas that have joined what has settled, and do not know it yet. */
  readonly wakes: readonly OperationRef[];
  /** What it makes of events from outside. */
  readonly signals: readonly SignalChange[];
  /** Operations that it had joined until it settled with this turn. */
  readonly lets: readonly OperationRef[];
  /** Steps that are sagas, to be begun if they are not there yet. */
  readonly begets: readonly ChildEntry[];
  /**
   * After how long others have to be looked at, before what comes next; null: it waits for none. `as-before`: when they
   * were to be anyway.
   */
  readonly looksInMs: number | 'as-before' | null;
  /** What the chart wants done that is no operation and no timer. */
  readonly effects: readonly Effect[];
  /** The chart's output, once it has ended with one. */
  readonly output: { readonly value: Json } | null;
  /** Its deadline can still have it taken back. */
  readonly mayTimeOut: boolean;
}

/** What a turn is computed from. */
export interface SagaNow {
  readonly saga: RunnableSaga;
  /** Of operations. */
  readonly kernel: Kernel;
  readonly ref: OperationRef;
  readonly key: string;
  readonly input: Json;
  readonly course: Course;
  readonly members: ReadonlyMap<string, Member>;
}

/** A saga as it goes on with another chart, once a turn has written that. */
export interface MovedOn {
  readonly saga: RunnableSaga;
  readonly course: Course;
  /** What the chart begins where it has been put. */
  readonly effects: readonly Effect[];
  readonly becomes: SagaForm;
  /** What its history says of it. */
  readonly record: Readonly<Record<string, unknown>>;
}

/** Whose step a saga is, and what that has said to it before it was there. */
export interface BornAs {
  readonly parent: Parent | null;
  readonly word: ParentWord['kind'] | null;
}

export const DEADLINE = 'deadline';
export const FAULT = 'fault';
export const LOOK = 'look';
/** Its chart was another than the one it was stored with, where it was looked at last. */
export const CHANGED = 'changed';
/** The first event that is kept expires. */
export const EXPIRY = 'expiry';

/** Far more than any turn needs beside the signals it hears: one that leads nowhere must not stop its process. */
const ROUNDS_MAX = 1_000;

/** Others are looked at again after such a pause, unless they wake this saga before. */
export const LOOK_PAUSE_MS = 5_000;
const LOOK_PAUSE_MAX_MS = 60_000;
/** The longest where it waits for nothing but its steps that are sagas, which wake it and may last for months. */
const CHILD_PAUSE_MAX_MS = 300_000;

export function chartTimer(id: string): string {
  return `timer ${id}`;
}

/**
 * The first turn of a saga. Throws DEFINITION_INVALID for a chart that cannot even begin: what the caller gave has been
 * through the saga's schema by then, and what its author makes of it, be it an error of input, is the author's.
 */
export function sagaBirth(
  now: Omit<SagaNow, 'course' | 'members'>,
  input: unknown,
  moment: Moment,
  { parent, word }: BornAs,
): SagaAdvance {
  try {
    const first = repeatable(() => now.saga.kernel.start(now.saga.isChain ? { input } : input));
    const course = { ...unbegun, parent, chart: first.row };
    // Nothing of what nobody waits for is sent.
    const making = new Making(
      { ...now, course, members: new Map() },
      word === null ? moment : { ...moment, hand: emptyHand },
    );
    making.begin(first, word);
    return making.made();
  } catch (error) {
    if (isSagacityError(error, 'DEFINITION_INVALID')) throw error;
    const { name, version } = now.saga;
    // The kernel says where it failed, and the author's code why.
    const why = faultOf(error instanceof Error && error.cause !== undefined ? error.cause : error);
    throw definitionInvalid(
      `Saga ${name} cannot begin: ${why}`,
      'Nothing is stored; repair its first step, context or entry.',
      { saga: name, version },
      error,
    );
  }
}

/**
 * The turn that follows from what happened, or null when it came too late to change anything. `moved`: it goes on with
 * another chart from this turn on, which `now` has already.
 */
export function sagaAdvance(
  now: SagaNow,
  happening: Happening,
  moment: Moment,
  moved: Pick<MovedOn, 'effects' | 'record'> | null = null,
): SagaAdvance | null {
  const making = new Making(now, moment);
  if (moved !== null) making.moveOn(moved);
  return making.takes(happening) ? making.made() : null;
}

/** The chart's own code gives the same when it is run again, or it is at fault. */
function repeatable(turn: () => KernelTurn): KernelTurn;
function repeatable(turn: () => KernelTurn | null): KernelTurn | null;
function repeatable(turn: () => KernelTurn | null): KernelTurn | null {
  const first = turn();
  if (isDeepStrictEqual(first, turn())) return first;
  throw new Error(
    'It gives another result when it is computed again. Guards, assignments, inputs and delays may not use clocks or ' +
      'chance; give them what they need with the input or with an event.',
  );
}

class Making {
  readonly #now: SagaNow;
  readonly #moment: Moment;
  readonly #changes = new Map<string, MemberChange>();
  readonly #starts: string[] = [];
  readonly #records: NewRecord[] = [];
  readonly #effects: Effect[] = [];
  readonly #answers = new Map<string, HandoverAnswer>();
  readonly #taken: string[] = [];
  readonly #visited: unknown[] = [];
  readonly #asks: Asking[] = [];
  /** Events from outside that came with this turn, and what became of those that are over. */
  readonly #heard: KeptSignal[] = [];
  readonly #signals: SignalChange[] = [];
  /** Of the steps that are sagas, those that were looked for and are not there. */
  readonly #missing = new Set<string>();
  /** Others have woken it, or it is born: what it waits for may be there already. */
  #isToLook = false;
  /** What was read of others for this turn; null: nothing was. */
  #others: Others | null = null;
  #course: Course;
  /** The ledger that the turn has met, by id, once somebody has asked for it. */
  #entriesBefore: ReadonlyMap<string, Entry> | null = null;
  #hand: Startable;
  /** Why the chart would begin to take back in the step that it is making. */
  #cause: CompensationCause | null = null;
  #moved = false;

  constructor(now: SagaNow, moment: Moment) {
    this.#now = now;
    this.#moment = moment;
    this.#course = now.course;
    this.#hand = moment.mayBeRepeated ? emptyHand : moment.hand;
  }

  begin(first: KernelTurn, word: ParentWord['kind'] | null): void {
    this.#follow(first, null);
    // A history begins with where the chart does.
    this.#moved = true;
    this.#isToLook = true;
    if (word === 'cancel' || word === 'compensate') this.#cancel();
    if (word === 'terminate') this.#terminate();
    this.#goOn();
  }

  /** It stands where another chart has put it: what that waits for is under way already, or begins. */
  moveOn({ effects, record }: Pick<MovedOn, 'effects' | 'record'>): void {
    this.#records.push(recordOf('moved', record));
    this.#moved = true;
    this.#visited.push(this.#course.chart.value);
    for (const effect of effects) this.#carryOut(effect, null);
  }

  /** False when it came too late to change anything. */
  takes(happening: Happening): boolean {
    switch (happening.type) {
      case 'operation':
        if (!this.#advance(happening.id, happening.what)) return false;
        break;
      case 'timer':
        if (!this.#fire(happening.name, happening.generation)) return false;
        break;
      case 'handed.over':
        this.#takeOver(happening.handovers);
        break;
      case 'seen':
        this.#others = happening.others;
        if (happening.timer === FAULT) this.#tryAgain();
        this.#see(happening.others);
        break;
      case 'released':
        break;
    }
    this.#goOn();
    return true;
  }

  made(): SagaAdvance {
    const { state, reason } = this.#standing();
    const { chart } = this.#course;
    const states = this.#visited.filter((value, at) => at === 0 || !isDeepStrictEqual(value, this.#visited[at - 1]));
    const waiting = this.#course.kept.filter((signal) => this.#heard.includes(signal));
    const kept = waiting.map((signal) => recordOf('evidence', { ...saidBy(signal), kept: true }));
    const moved: NewRecord[] = this.#moved ? [recordOf('moved', { states })] : [];
    return {
      ...{ course: this.#course, state, reason, changes: this.#changes, starts: this.#starts },
      records: [...this.#records, ...kept, ...this.#recordsOfChildren(), ...moved],
      signals: [...this.#signals, ...waiting.map((signal) => changeOf(signal, 'kept', null))],
      ...{ takes: this.#taken, answers: this.#answers, effects: this.#effects },
      ...{ asks: [...this.#asks, ...this.#words()], begets: this.#begets() },
      ...{ wakes: this.#wakes(), lets: this.#lets(), looksInMs: this.#looksInMs() },
      output: chart.status === 'done' ? { value: outputOfChart(chart) } : null,
      mayTimeOut: this.#mayTimeOut(),
    };
  }

  /** Everything that follows from what is known, until nothing more follows. */
  #goOn(): void {
    const most = ROUNDS_MAX + this.#now.saga.limits.signals;
    for (let rounds = 0; rounds < most; rounds += 1) {
      const before = [this.#course, this.#changes.size, ...this.#changes.values()];
      this.#noteSettled();
      this.#tellOriginals();
      this.#heedAsked();
      this.#tellChart();
      this.#hearKept();
      this.#giveUpUnsent();
      this.#compensate();
      this.#sayToChildren();
      const after = [this.#course, this.#changes.size, ...this.#changes.values()];
      if (before.length === after.length && before.every((value, at) => value === after[at])) return;
    }
    throw new Error(`A turn of saga ${this.#now.ref.id} goes on without end.`);
  }

  // ── The ledger ──

  #memberOf(id: string): Pick<Member, 'row' | 'definition'> | undefined {
    return this.#changes.get(id) ?? this.#now.members.get(id);
  }

  #ledger(): readonly Standing[] {
    return this.#course.entries.flatMap((entry) => this.#standingOf(entry) ?? []);
  }

  /** Null: it is joined, and another's. */
  #standingOf(entry: Entry): Standing | null {
    const compensate = this.#compensateOf(entry);
    if (isChild(entry)) return { entry, state: stateOfChild(entry), member: null, compensate };
    const member = this.#memberOf(entry.id);
    return member === undefined ? null : { entry, state: stateOf(member.row), member, compensate };
  }

  #compensateOf({ actor }: Entry): StepCompensation | null {
    return actor === null ? null : (stepBy(this.#now.saga, actor.id)?.compensate ?? null);
  }

  #amend(id: string, change: Partial<Entry>): void {
    const entries = this.#course.entries.map((entry) => (entry.id === id ? { ...entry, ...change } : entry));
    this.#course = { ...this.#course, entries };
  }

  /** False when it came too late. */
  #advance(id: string, what: OperationHappening): boolean {
    const changed = this.#changes.get(id);
    const before = changed?.before ?? this.#now.members.get(id) ?? null;
    const row = changed?.row ?? before?.row;
    const definition = changed?.definition ?? before?.definition;
    if (row === undefined || definition === undefined) return false;
    const times = before ?? this.#timesOfBirth();
    const made = advance(this.#now.kernel, row, before?.seen ?? '', what, this.#moment.factsOf(times));
    if (made === null) return false;
    this.#changes.set(id, {
      ...{ before, definition, birth: changed?.birth ?? null },
      row: made.row,
      records: [...(changed?.records ?? []), ...made.records],
      contradicted: made.contradicted || changed?.contradicted === true,
    });
    for (const [handoverId, answer] of made.answers) this.#answers.set(handoverId, answer);
    this.#taken.push(...made.takes);
    if (what.type === 'due' && stateOf(made.row) === 'in-progress') this.#starts.push(id);
    return true;
  }

  #timesOfBirth() {
    return { createdAt: this.#moment.now, sendBy: null, windowEndsAt: null };
  }

  #noteSettled(): void {
    const places = this.#course.entries.map(({ settledAs, child }) =>
      Math.max(settledAs ?? 0, child?.takenBackAs ?? 0),
    );
    let next = Math.max(0, ...places) + 1;
    for (const { entry, state } of this.#ledger()) {
      const { child, settledAs } = entry;
      const isTakenBack = child !== null && child.inverse === null && state === 'compensated';
      if (isTakenBack && child.takenBackAs === null) this.#amend(entry.id, { child: { ...child, takenBackAs: next } });
      else if (settledAs === null && isSettled(state)) this.#amend(entry.id, { settledAs: next });
      else continue;
      next += 1;
    }
  }

  /** How an inverse ended is told to what it takes back. */
  #tellOriginals(): void {
    for (const { entry, member } of this.#ledger()) {
      const { undoes } = entry;
      if (undoes === null || member === null || entry.isTold || entry.settledAs === null) continue;
      const { code } = contextOf(member.row);
      const why = { inverse: entry.id, ...(code === null ? {} : { code }) };
      const isGivenUp = wasGivenUp(member.row);
      const event: OperationEvent = isGivenUp ? { type: 'compensation.givenUp' } : endOfInverse(member.row);
      this.#advance(undoes, { type: 'told', event, why });
      this.#tellChild(undoes, isGivenUp ? null : stateOf(member.row) === 'succeeded' ? 'succeeded' : 'refused');
      this.#amend(entry.id, { isTold: true });
      // It stands as before, and can be taken back at a later word.
      if (isGivenUp) this.#amend(undoes, { compensationBegun: false });
    }
  }

  /**
   * What nobody waits for is not sent any more, if that can be proven without; inverses neither, once the saga ends as it
   * stands. What may have been sent is followed up.
   */
  #giveUpUnsent(): void {
    const { compensation, isTerminated } = this.#course;
    for (const { entry, state, member } of this.#ledger()) {
      const isForward = entry.undoes === null;
      const isWaitedFor = !isTerminated && (!isForward || (compensation === null && !entry.isLeft));
      if (isWaitedFor || member === null || state !== 'pending') continue;
      const before = this.#changes.get(entry.id);
      const taken = this.#advance(entry.id, { type: 'told', event: { type: 'cancel.requested' }, why: {} });
      const after = this.#changes.get(entry.id);
      if (!taken || after === undefined || stateOf(after.row) === 'failed' || isLimited(after.row)) continue;
      // It may have been sent, and only sending it again can tell: then it goes on as it was.
      if (before === undefined) this.#changes.delete(entry.id);
      else this.#changes.set(entry.id, before);
    }
  }

  // ── Steps that are sagas ──

  #bearChild(name: string, given: unknown, key: string, as: Pick<Entry, 'step' | 'actor'>): void {
    const input = acceptedNow(name, this.#childOf(name).definition.options.input, given);
    const id = sagaId(scopeOf(this.#now.ref.tenant, name, key));
    const child = unseen(name, key, encode(input, { onUnsupported: 'refuse' }));
    this.#refuseLongInput(as, child.input);
    this.#enter({ id, ...as, undoes: null, shared: null, child });
    this.#refuseFaultyChild({ id, child });
  }

  #childOf(name: string): RunnableSaga {
    const { sagas } = this.#now.saga;
    const child = newestOf(sagas, name);
    if (child === null) throw new Error(`Saga ${name} is not registered, although it is a step of one that is.`);
    return child;
  }

  /** Its first turn is made and thrown away: the one that begins it makes it again. */
  #refuseFaultyChild({ id, child }: Pick<ChildEntry, 'id' | 'child'>): void {
    const { kernel, ref } = this.#now;
    const { key, input } = child;
    const saga = this.#childOf(child.name);
    // What its birth is to record must be there, too.
    birthOfSaga(saga, ref.tenant, key, decode(input));
    const now = { saga, kernel, key, input, ref: { tenant: ref.tenant, id } };
    sagaBirth(now, decode(child.input), { ...this.#moment, hand: emptyHand }, { parent: null, word: null });
  }

  /** What was looked for and is not there is begun again; its identity makes it one. */
  #seeChildren(sagas: ReadonlyMap<string, SagaRow | null>): void {
    for (const entry of watchedChildren(this.#course)) {
      const row = sagas.get(entry.id);
      if (row === null && this.#atFault(() => this.#refuseFaultyChild(entry))) this.#missing.add(entry.id);
      if (row === null || row === undefined) continue;
      const seen = seenAs(entry, row, this.#now.ref.id);
      if (seen !== null) this.#amend(entry.id, seen);
      else this.#meetAnother(entry);
    }
  }

  #meetAnother({ id, step, child, isLeft }: ChildEntry): void {
    if (isLeft || this.#course.isFrozen || this.#course.compensation !== null) {
      // Nothing of it was done for this saga, so there is nothing to take back.
      const notOurs: ChildEntry['child'] = { ...child, state: 'terminated', code: 'terminated', word: null };
      this.#amend(id, { child: notOurs, compensationBegun: false });
      return;
    }
    this.#atFault(() => {
      throw new Error(
        `Step ${step} meets saga ${id}, which was not begun as this step. Submit that one under another key.`,
      );
    });
  }

  /** How the operation ended that takes a saga back, where it does not itself. */
  #tellChild(id: string, inverse: ChildEntry['child']['inverse']): void {
    const child = this.#course.entries.find((entry) => entry.id === id)?.child ?? null;
    if (child !== null) this.#amend(id, { child: { ...child, inverse } });
  }

  #sayToChildren(): void {
    const { compensation, isTerminated, asked } = this.#course;
    const pivot = asked === null ? null : this.#pivot();
    for (const entry of watchedChildren(this.#course)) {
      const isWaitedFor = compensation === null && !entry.isLeft && entry.id !== pivot?.id;
      const kind = wordFor(entry, { isTerminated, isWaitedFor });
      if (kind !== null && kind !== entry.child.word?.kind) this.#amend(entry.id, { child: told(entry.child, kind) });
    }
  }

  #wasBefore({ id }: ChildEntry): Entry | undefined {
    this.#entriesBefore ??= new Map(this.#now.course.entries.map((entry) => [entry.id, entry]));
    return this.#entriesBefore.get(id);
  }

  /** Said at once, and with each look again until it is heard. */
  #words(): readonly Asking[] {
    return watchedChildren(this.#course).flatMap((entry) => {
      const isNew = this.#wasBefore(entry)?.child?.word?.n !== entry.child.word?.n;
      return isNew || this.#others !== null ? (askingOf(entry, this.#now.ref) ?? []) : [];
    });
  }

  /** Begun by this turn, or missing. */
  #begets(): readonly ChildEntry[] {
    const isToBeBegun = (entry: ChildEntry) => this.#missing.has(entry.id) || this.#wasBefore(entry) === undefined;
    return watchedChildren(this.#course).filter(isToBeBegun);
  }

  #recordsOfChildren(): readonly NewRecord[] {
    return this.#course.entries.filter(isChild).flatMap((entry) => {
      const { id, step, child } = entry;
      const before = this.#wasBefore(entry)?.child ?? null;
      const { name, state, word } = child;
      if (before !== null && before.state === state && before.word?.n === word?.n) return [];
      const said = word === null || before?.word?.n === word.n ? {} : { word: word.kind };
      return [recordOf('moved', { child: { step, saga: id, name, state, ...said } })];
    });
  }

  // ── Operations of others ──

  #joining(): readonly Entry[] {
    return joining(this.#course, (id) => this.#memberOf(id) !== undefined);
  }

  #see({ operations, sagas }: Others): void {
    this.#seeChildren(sagas);
    if (this.#course.isFrozen || this.#course.fault !== null) return;
    for (const { id } of this.#joining()) {
      // What the one before told the chart may have left this one behind, or be the chart's fault.
      const entry = this.#joining().find((joining) => joining.id === id);
      if (entry !== undefined && this.#course.fault === null) this.#join(entry, operations.get(id) ?? null);
    }
  }

  #join(entry: Entry, row: OperationRow | null): void {
    const { actor, shared } = entry;
    const step = actor === null ? undefined : stepBy(this.#now.saga, actor.id);
    if (actor === null || step === undefined) return;
    if (row === null || shared === null || shared.fingerprint !== row.fingerprint) {
      this.#atFault(() => {
        throw new Error(
          `Step ${entry.step} meets operation ${entry.id}, which another saga has or which stands alone` +
            (shared === null ? ', and it is not declared shared.' : ', with other parameters.'),
        );
      });
      return;
    }
    // What another version says of it is seen by who reads that; until then it is looked at again.
    if (!isReadable(row)) return;
    const { history, joined } = contextOf(fromStored(row));
    const failure = failureOfJoined(row, step.step);
    if (failure !== null) {
      const { code, message } = failure;
      this.#cause = { step: step.part, code };
      this.#amend(entry.id, { endOfJoined: 'failed' });
      const isTold = this.#tell(entry.id, actor, { error: failure });
      if (isTold) this.#records.push(recordOf('moved', { refusal: { step: step.step, code, message } }));
    } else if (!joined.includes(this.#now.ref.id)) {
      const asking = addressed(row, { kind: 'join', saga: this.#now.ref.id });
      this.#asks.push({ ...asking, handoverId: `join ${this.#now.ref.id} ${row.id}` });
    } else if (row.state === 'succeeded') {
      this.#cause = null;
      this.#amend(entry.id, { endOfJoined: 'succeeded' });
      // An output in the history is JSON: it is encoded when its attempt ends.
      const output = history.result === null ? undefined : decode(history.result.output as Json);
      this.#tell(entry.id, actor, { output });
    }
  }

  /** False when the chart is at fault. */
  #tell(id: string, actor: NonNullable<Entry['actor']>, result: ActorResult): boolean {
    const { kernel } = this.#now.saga;
    const isMade = this.#step(`${actor.id} ended`, () =>
      kernel.settle(this.#course.chart, actor.id, actor.generation, result),
    );
    if (isMade) this.#amend(id, { isTold: true });
    return isMade;
  }

  #wakes(): readonly OperationRef[] {
    const { tenant } = this.#now.ref;
    const joiners = [...this.#changes.values()].flatMap(({ before, row }) =>
      before === null ? [] : joinersToWake(before.row, row, tenant),
    );
    const { parent } = this.#course;
    return parent !== null && this.#concernsParent() ? [...joiners, { tenant, id: parent.id }] : joiners;
  }

  /** It has settled, or waits for a person, and did not before; or the other way round. */
  #concernsParent(): boolean {
    const [was, is] = [this.#stateBefore(), this.#standing().state];
    return was !== is && [was, is].some((state) => state === 'escalated' || isSagaSettled(state));
  }

  /** Where it stood when the turn met it. */
  #stateBefore(): SagaState {
    return new Making(this.#now, this.#moment).#standing().state;
  }

  #lets(): readonly OperationRef[] {
    const { tenant } = this.#now.ref;
    const joined = this.#course.entries.filter((entry) => this.#standingOf(entry) === null);
    const isSettledNow = joined.length > 0 && this.#isSettled() && !isSagaSettled(this.#stateBefore());
    return isSettledNow ? joined.map(({ id }) => ({ tenant, id })) : [];
  }

  #looksInMs(): number | 'as-before' | null {
    if (this.#course.fault !== null) return null;
    const isHeld = this.#course.heldBy.length > 0;
    const isJoining = !this.#course.isFrozen && this.#joining().length > 0;
    const watched = watchedChildren(this.#course);
    if (!isHeld && !isJoining && watched.length === 0) return null;
    // What was born with this turn may be another's, which shows only when it is written.
    if (this.#others === null) return isHeld || isJoining || this.#isToLook ? 0 : this.#looksAtChildrenInMs(watched);
    // Who is asked answers soon, and what is begun is there soon.
    const isSoon = this.#asks.length > 0 || this.#words().length > 0 || this.#begets().length > 0;
    const atMostMs = isHeld || isJoining ? LOOK_PAUSE_MAX_MS : CHILD_PAUSE_MAX_MS;
    return isSoon ? LOOK_PAUSE_MS : Math.min(lookPauseMs(this.#others, this.#moment.now), atMostMs);
  }

  /** They wake their parent; looking at them makes up for a wake that is lost. */
  #looksAtChildrenInMs(watched: readonly ChildEntry[]): number | 'as-before' {
    const isNew = (entry: ChildEntry) => this.#wasBefore(entry) === undefined;
    // Whether there is somebody to be told is seen first.
    const isUntold = ({ child }: ChildEntry) => child.state === null && child.word !== null;
    if (watched.some((entry) => isUntold(entry) && !isNew(entry))) return 0;
    return watched.some(isNew) || this.#words().length > 0 ? LOOK_PAUSE_MS : 'as-before';
  }

  /** Sagas that have joined this operation and are not settled, as far as that has been looked at. */
  #heldBy(row: KernelRow): readonly string[] {
    const { joined } = contextOf(row);
    return joined.filter((id) => {
      const saga = this.#others?.sagas.get(id);
      return saga === undefined || (saga !== null && !isSagaSettled(saga.state));
    });
  }

  // ── Compensation ──

  #compensate(): void {
    if (this.#course.fault !== null) return;
    const next = compensatedNext(this.#course, this.#ledger(), this.#now.saga.definition.compensation);
    const heldBy = [...new Set(next.flatMap(({ member }) => (member === null ? [] : this.#heldBy(member.row))))];
    if (heldBy.join() !== this.#course.heldBy.join()) this.#course = { ...this.#course, heldBy };
    if (heldBy.length > 0) return;
    for (const standing of next) {
      if (!this.#atFault(() => this.#begin(standing))) return;
    }
    const { compensation } = this.#course;
    if (compensation === null || compensation.isDone || !isCompensated(this.#ledger())) return;
    this.#atFault(() => this.#endCompensation(compensation));
  }

  #endCompensation(compensation: Compensating): void {
    this.#course = { ...this.#course, compensation: { ...compensation, isDone: true } };
    const { actor } = compensation;
    const { chart, isFrozen } = this.#course;
    if (actor === null || isFrozen) return;
    const { kernel } = this.#now.saga;
    const output = { takenBack: this.#takenBack() };
    const ended = repeatable(() => kernel.settle(chart, actor.id, actor.generation, { output }));
    if (ended !== null) this.#follow(ended, 'compensate ended');
  }

  /** The steps whose effects have been taken back, in the order in which they were. */
  #takenBack(): readonly string[] {
    const ledger = this.#ledger();
    const isTakenBack = (id: string | null) =>
      ledger.some(({ entry, state }) => entry.id === id && state === 'compensated');
    const inverses = ledger.flatMap(({ entry: { step, undoes, settledAs }, member }) =>
      member !== null && isTakenBack(undoes) && !wasGivenUp(member.row) ? [{ step, at: settledAs ?? 0 }] : [],
    );
    const byThemselves = ledger.flatMap(({ entry: { step, child } }) =>
      child === null || child.takenBackAs === null ? [] : [{ step, at: child.takenBackAs }],
    );
    return [...inverses, ...byThemselves].toSorted((a, b) => a.at - b.at).map(({ step }) => step);
  }

  #begin({ entry, compensate }: Standing): void {
    if (compensate === null || 'none' in compensate) return;
    if (isChild(entry)) return this.#beginWithChild(entry, compensate);
    if ('byItself' in compensate) return;
    const change = this.#changes.get(entry.id);
    const original = this.#now.members.get(entry.id) ?? null;
    const row = change?.row ?? original?.row;
    const input = change?.birth?.input ?? original?.input;
    if (row === undefined || input === undefined) return;
    const inverse = compensate.operation;
    const given = compensate.input({ input: decode(input), output: outputOf({ row }) });
    this.#bearInverse(entry, inverse, given);
    this.#advance(entry.id, {
      type: 'told',
      event: { type: 'compensation.begun', unsettledJoiners: 0 },
      why: { action: inverse.action },
    });
    this.#amend(entry.id, { compensationBegun: true });
  }

  #bearInverse({ id, step }: Entry, inverse: Operation, given: unknown): void {
    const givenUp = this.#course.entries.filter(({ undoes }) => undoes === id).length;
    this.#bear(inverse, given, undoKey(id, givenUp), { step, actor: null, undoes: id });
  }

  /** It takes itself back when it is told to, also where an operation would but it has not come to its end. */
  #beginWithChild(
    { id, step, child, ...rest }: ChildEntry,
    compensate: Exclude<StepCompensation, { none: string }>,
  ): void {
    if ('operation' in compensate && child.output !== null) {
      const given = compensate.input({ input: decode(child.input), output: outputOfChild(child) });
      this.#bearInverse({ id, step, child, ...rest }, compensate.operation, given);
      this.#tellChild(id, 'under-way');
    }
    this.#amend(id, { compensationBegun: true });
  }

  /** Asked for from outside: nothing is begun while it is open whether the pivot succeeds. */
  #takeBack(code: 'cancelled' | 'timed-out'): void {
    const pivot = this.#pivot();
    if (pivot !== undefined && this.#endOfPivot() === 'open') {
      this.#course = { ...this.#course, asked: code };
      this.#advance(pivot.id, { type: 'told', event: { type: 'cancel.requested' }, why: { code } });
      return;
    }
    // Where the chart would have gone on does not matter any more.
    this.#course = { ...this.#course, fault: null };
    this.#cause = { step: null, code };
    const event = { type: code === 'cancelled' ? 'saga.cancelled' : 'saga.timedOut' };
    const { saga } = this.#now;
    if (saga.isChain && saga.kernel.accepts(this.#course.chart, event)) {
      this.#step(event.type, () => saga.kernel.step(this.#course.chart, event));
    }
    if (this.#course.compensation === null) this.#freeze({ step: null, code });
  }

  /** It is known now whether the pivot succeeds; success wins. */
  #heedAsked(): void {
    const { asked, isTerminated } = this.#course;
    const end = this.#endOfPivot();
    if (asked === null || end === 'open') return;
    this.#course = { ...this.#course, asked: null };
    if (end !== 'succeeded' && !isTerminated) this.#takeBack(asked);
  }

  /** The chart cannot say how it is taken back: it stands still, and what the ledger holds is taken back. */
  #freeze(cause: CompensationCause): void {
    const entries = this.#course.entries.map((entry) => (entry.undoes === null ? { ...entry, isLeft: true } : entry));
    const compensation = { cause, actor: null, isPartial: false, isDone: false };
    this.#course = { ...this.#course, entries, compensation, isFrozen: true, fault: null };
  }

  #pivot(): Entry | undefined {
    const { pivotStep } = this.#now.saga.definition;
    return this.#course.entries.findLast(({ undoes, step }) => undoes === null && step === pivotStep);
  }

  /** How its pivot ended, be it its own or one that it has joined; null: it has none, or none that it waits for. */
  #endOfPivot(): 'open' | 'succeeded' | 'failed' | null {
    const entry = this.#pivot();
    if (entry === undefined) return null;
    const standing = this.#standingOf(entry);
    if (standing === null) {
      const isWaitedFor = !entry.isLeft && this.#course.fault === null;
      return entry.endOfJoined ?? (isWaitedFor ? 'open' : null);
    }
    if (isOpen(standing)) return 'open';
    return standing.state === 'failed' ? 'failed' : 'succeeded';
  }

  #isPivotPassed(): boolean {
    return this.#endOfPivot() === 'succeeded';
  }

  #mayTimeOut(): boolean {
    const { compensation, isTerminated, asked } = this.#course;
    return compensation === null && !isTerminated && asked === null && !this.#isPivotPassed();
  }

  #isSettled(): boolean {
    return isSagaSettled(this.#standing().state);
  }

  // ── The chart ──

  #tellChart(): void {
    for (let next = this.#untold(); next !== undefined; next = this.#untold()) {
      const { standing, actor, step } = next;
      const { entry, state } = standing;
      const isFailed = state === 'failed';
      const code = codeOf(standing);
      const result: ActorResult = isFailed
        ? { error: operationFailed({ ...factsOf(step), code }) }
        : { output: standing.member === null ? outputOfEntry(entry) : outputOf(standing.member) };
      this.#cause = isFailed ? { step: step.part, code } : null;
      this.#tell(entry.id, actor, result);
    }
  }

  /** The first to settle of what the chart waits for and has not been told of; telling it may make it leave another. */
  #untold() {
    if (this.#course.isFrozen || this.#course.fault !== null) return undefined;
    const untold = this.#ledger().flatMap((standing) => {
      const { actor, settledAs, isTold, isLeft } = standing.entry;
      const step = actor === null ? undefined : stepBy(this.#now.saga, actor.id);
      const isWaitedFor = settledAs !== null && !isTold && !isLeft;
      return isWaitedFor && actor !== null && step !== undefined ? [{ standing, actor, step }] : [];
    });
    return untold.toSorted((a, b) => inOrderOfSettling(a.standing.entry, b.standing.entry))[0];
  }

  /** False when the chart is at fault. */
  #step(what: string, turn: () => KernelTurn | null, timer: string | null = null): boolean {
    return this.#atFault(() => {
      const made = repeatable(turn);
      if (made !== null) this.#follow(made, what);
    }, timer);
  }

  #follow(turn: KernelTurn, what: string | null): void {
    const before = this.#course;
    // What no store can keep is found out here, where it is a fault; a chain keeps nothing of its own.
    const { isChain, limits } = this.#now.saga;
    if (!isChain) {
      const context = encode({ context: turn.row.context }, { onUnsupported: 'refuse', rootName: 'snapshot' });
      refuse(tooLong('Its context', context, limits), 'keep in it what its guards and inputs need');
    }
    refuse(tooLong('Its output', outputOfChart(turn.row), limits), 'keep in it what others need');
    const moves = before.moves + 1;
    // What takes it back comes to an end.
    if (moves > limits.moves && before.compensation === null)
      refuse(`Its chart has moved ${limits.moves} times, and may not move more often`, MOVES);
    this.#course = { ...before, chart: turn.row, moves };
    for (const effect of turn.effects) this.#carryOut(effect, what);
    this.#moved ||= turn.row !== before.chart;
    this.#visited.push(...turn.visited);
  }

  #carryOut(effect: Effect, what: string | null): void {
    switch (effect.type) {
      case 'actor.started':
        return this.#start(effect, what);
      case 'actor.stopped': {
        const left = this.#course.entries.filter(({ actor }) => isSame(actor, effect));
        for (const { id, step } of left) {
          if (step === this.#now.saga.definition.pivotStep) this.#refuseToLeavePivot(id);
          this.#amend(id, { isLeft: true });
        }
        return;
      }
      case 'timer.armed':
      case 'timer.cancelled':
        // They stand in the chart's row.
        return;
      case 'event.sent':
        throw new Error(`It sends an event to ${effect.to}, and an operation takes none.`);
      default:
        this.#effects.push(effect);
    }
  }

  #start({ id, generation, src, input }: Extract<Effect, { type: 'actor.started' }>, what: string | null): void {
    const actor = { id, generation };
    if (src === 'compensate') {
      if (this.#isPivotPassed()) throw new Error('It would be taken back although its pivot has succeeded.');
      const cause = this.#cause ?? this.#lastRefusal() ?? { step: null, code: what ?? 'requested' };
      this.#course = { ...this.#course, compensation: { cause, actor, isPartial: false, isDone: false } };
      return;
    }
    const step = stepBy(this.#now.saga, id);
    if (step === undefined) throw new Error(`It starts ${id}, which is none of its steps.`);
    const { name } = this.#now.saga;
    const begun = this.#course.entries.find(({ isCarried, step: of }) => isCarried && of === step.step);
    if (begun !== undefined) return this.#amend(begun.id, { actor, isCarried: false, isTold: false });
    const { target } = step;
    const ownKey = () => stepKey({ saga: name, key: this.#now.key, step: this.#nameOf(step, generation) });
    if (target.type === 'saga') return this.#bearChild(target.name, input, ownKey(), { step: step.step, actor });
    const key =
      target.shared && target.options.key !== null
        ? target.options.key({ input: acceptedNow(target.action, target.options.input, input) })
        : ownKey();
    this.#bear(target, input, key, { step: step.step, actor, undoes: null });
  }

  /** Another one under the name of a step is another effect, and follows only what certainly had none. */
  #nameOf({ step }: SagaStep, generation: number): string {
    const before = this.#ledger().filter(({ entry }) => entry.undoes === null && entry.step === step);
    if (before.some(({ state }) => state !== 'failed')) {
      throw new Error(`Step ${step} is begun again although the one before has not failed: that would be two effects.`);
    }
    return generation === 1 ? step : `${step}#${generation}`;
  }

  #bear(definition: Operation, given: unknown, key: string, as: Pick<Entry, 'step' | 'actor' | 'undoes'>): void {
    const input = acceptedNow(definition.action, definition.options.input, given);
    const scope = scopeOf(this.#now.ref.tenant, definition.action, key);
    const id = operationId(scope);
    const identified = birthOf(scope, definition, input);
    this.#refuseLongInput(as, identified.input);
    const shared = definition.shared && as.undoes === null ? { fingerprint: identified.fingerprint } : null;
    this.#enter({ id, ...as, shared, child: null });
    const policy = as.undoes === null ? definition.policy : { ...definition.policy, inverse: true };
    const startNow = this.#hand.take(id, definition.action);
    const made: Advance = birth(this.#now.kernel, policy, this.#moment.factsOf(this.#timesOfBirth()), startNow);
    if (startNow) this.#starts.push(id);
    this.#changes.set(id, { before: null, birth: identified, definition, ...made });
  }

  #refuseLongInput({ step }: Pick<Entry, 'step'>, input: Json): void {
    const why = tooLong(`The input of step ${step}`, input, this.#now.saga.limits);
    refuse(why, 'keep it elsewhere and give its name');
  }

  #enter(begun: Pick<Entry, 'id' | 'step' | 'actor' | 'undoes' | 'shared' | 'child'>): void {
    const { entries } = this.#course;
    if (entries.some(({ id }) => id === begun.id)) {
      throw new Error(`Step ${begun.step} meets the identity of another step: that would be one effect for two steps.`);
    }
    const entry: Entry = {
      ...{ ...begun, endOfJoined: null },
      ...{ isLeft: false, isTold: false, isCarried: false, compensationBegun: false, settledAs: null },
    };
    this.#course = { ...this.#course, entries: [...entries, entry] };
  }

  /** Its success can neither be taken back nor be left out of account. */
  #refuseToLeavePivot(id: string): void {
    const pivot = this.#ledger().find(({ entry }) => entry.id === id);
    if (pivot === undefined || isSettled(pivot.state)) return;
    throw new Error(
      'It leaves its pivot while nobody knows how that ends. Only onDone and onError may lead on from it.',
    );
  }

  #lastRefusal(): CompensationCause | null {
    const forward = this.#ledger().filter(({ entry }) => entry.undoes === null);
    const isRetried = ({ step }: Entry) =>
      forward.some(({ entry, state }) => entry.step === step && state !== 'failed');
    const refused = forward
      .filter(({ entry, state }) => entry.isTold && state === 'failed' && !isRetried(entry))
      .toSorted((a, b) => inOrderOfSettling(a.entry, b.entry))
      .at(-1);
    if (refused === undefined) return null;
    return { step: this.#partOf(refused.entry), code: codeOf(refused) };
  }

  #partOf({ step, actor }: Entry): string {
    return (actor === null ? undefined : stepBy(this.#now.saga, actor.id))?.part ?? step;
  }

  /** False when it could not be done: then the saga is as it was before, and at fault. `timer`: what it was due to. */
  #atFault(work: () => void, timer: string | null = null): boolean {
    const [course, changes, starts] = [this.#course, [...this.#changes], [...this.#starts]];
    const effects = [...this.#effects];
    try {
      work();
      return true;
    } catch (error) {
      this.#changes.clear();
      for (const [id, change] of changes) this.#changes.set(id, change);
      this.#starts.splice(0, this.#starts.length, ...starts);
      this.#effects.splice(0, this.#effects.length, ...effects);
      const times = (this.#now.course.fault?.times ?? 0) + 1;
      const message = faultOf(error);
      this.#course = { ...course, fault: { message, times, timer, reason: faultReasonOf(error) } };
      this.#records.push(recordOf('moved', { fault: message }));
      return false;
    }
  }

  // ── What comes from elsewhere ──

  #fire(name: string, generation: number): boolean {
    const { course } = this.#now;
    // What follows from it follows from every turn.
    if (name === EXPIRY) return true;
    if (name === DEADLINE) {
      if (this.#mayTimeOut()) this.#takeBack('timed-out');
      return true;
    }
    // It is here, where it fits its chart: there is nothing to ask a person about any more.
    if (name === CHANGED) return true;
    const id = Object.keys(course.chart.timers).find((timer) => chartTimer(timer) === name);
    if (id === undefined || course.isFrozen || course.fault !== null) return false;
    if (course.chart.timers[id]?.generation !== generation) return false;
    this.#fireOfChart(id);
    return true;
  }

  /** All of it in this turn: a fault that is met again in the next one would count as the first. */
  #tryAgain(): void {
    const { course } = this.#now;
    this.#course = { ...course, fault: null };
    const timer = course.fault?.timer ?? null;
    const isArmed = () => timer !== null && this.#course.chart.timers[timer]?.generation;
    const wasArmed = isArmed();
    // What the chart waits to be told may end the delay that it was at fault with.
    this.#tellChart();
    // What was said before the delay was over counts.
    if (this.#course.fault === null) this.#hearKept();
    // Armed anew by what came first it is not due yet.
    if (timer !== null && this.#course.fault === null && isArmed() === wasArmed) this.#fireOfChart(timer);
  }

  #fireOfChart(id: string): void {
    const { chart } = this.#course;
    const timer = chart.timers[id];
    if (timer === undefined) return;
    const vain = this.#now.saga.waits.find((name) => id.endsWith(`.${name}`));
    if (vain !== undefined) this.#cause = { step: vain, code: 'timed-out' };
    this.#step('timed-out', () => this.#now.saga.kernel.fire(chart, id, timer.generation), id);
  }

  /** What is known of operations first, so that what is asked of the saga is measured against it. */
  #takeOver(handovers: readonly Handover[]): void {
    const ofOperations = new Map<string, Handover[]>();
    const ofSaga: (readonly [Handover, SaidOfSaga | null])[] = [];
    for (const handover of handovers) {
      const said = readable(handover);
      if (said === null || !('operation' in said)) ofSaga.push([handover, said]);
      else ofOperations.set(said.operation, [...(ofOperations.get(said.operation) ?? []), handover]);
    }
    for (const [id, those] of ofOperations) {
      if (this.#advance(id, { type: 'handed.over', handovers: those })) continue;
      for (const handover of those) this.#refuseUnread(handover, 'the saga has no such operation');
    }
    // What is begun by a turn that ends it must not leave with it: without a permit it waits, and is given up.
    if (ofSaga.some(([, said]) => said?.kind === 'terminate' || said?.kind === 'cancel')) this.#hand = emptyHand;
    for (const [handover, said] of ofSaga) this.#take(handover, said);
  }

  #take(handover: Handover, said: SaidOfSaga | null): void {
    if (said === null) return this.#refuseUnread(handover, 'this version cannot read it');
    if (said.kind === 'signal') return this.#hear(handover, said);
    this.#answer(handover, this.#answerTo(said), recordKind(said), { ...said });
  }

  #refuseUnread(handover: Handover, why: string): void {
    this.#answer(handover, refused(why), 'moved', { unread: handover.body });
  }

  /** Takes it, and keeps what it said with what became of it. */
  #answer(
    { handoverId }: Handover,
    answer: HandoverAnswer,
    kind: NewRecord['kind'],
    said: Readonly<Record<string, unknown>>,
  ): void {
    this.#records.push(recordOf(kind, { ...said, ...answer, handoverId }));
    this.#taken.push(handoverId);
    this.#answers.set(handoverId, answer);
  }

  #answerTo(said: Exclude<SaidOfSaga, SignalGiven>): HandoverAnswer {
    if ('ofParent' in said && said.ofParent !== undefined) {
      const { parent } = this.#course;
      const { id, word } = said.ofParent;
      if (parent?.id !== id) return refused('it is no step of that saga');
      // Said again, or overtaken by a later word.
      if (word <= parent.heard) return accepting;
      this.#course = { ...this.#course, parent: { ...parent, heard: word } };
    }
    switch (said.kind) {
      case 'cancel':
        return this.#cancel();
      case 'terminate':
        return this.#terminate();
      case 'compensate':
        return this.#compensateAtWord('ofParent' in said && said.ofParent !== undefined);
      case 'step-verdict':
        return this.#decideStep(said);
      case 'look':
        // Nothing has been looked at for this turn: that is what comes next.
        this.#isToLook = true;
        return accepting;
    }
  }

  #cancel(): HandoverAnswer {
    if (this.#course.isTerminated) return refused('it is ended as it stands');
    // What is asked for is so already, or will be.
    if (this.#course.compensation !== null || this.#course.asked !== null) return accepting;
    if (this.#isSettled()) return refused(`it is ${this.#standing().state} already, and success wins`);
    if (this.#isPivotPassed()) return refused('its pivot has succeeded, and nothing is taken back any more');
    this.#takeBack('cancelled');
    return accepting;
  }

  #terminate(): HandoverAnswer {
    if (this.#isSettled()) return refused(`it is ${this.#standing().state} already`);
    const entries = this.#course.entries.map((entry) => ({ ...entry, isLeft: true, ...standingAgain(entry) }));
    this.#course = { ...this.#course, entries, isTerminated: true, isFrozen: true, fault: null };
    return accepting;
  }

  #compensateAtWord(isOfParent: boolean): HandoverAnswer {
    const { state } = this.#standing();
    const { compensation, parent } = this.#course;
    if (state === 'compensated') return accepting;
    if (parent !== null && !isOfParent && isSagaSettled(state)) {
      return refused(`it is a step of saga ${parent.id}, which would take it back again: take that one back`);
    }
    if (compensation !== null && state !== 'terminated') {
      // What is proven need not wait for what is not; that is for a person to say.
      const isPartial = compensation.isPartial || !isOfParent;
      this.#course = { ...this.#course, compensation: { ...compensation, isPartial } };
      return accepting;
    }
    if (state !== 'succeeded' && state !== 'terminated')
      return refused(`it is ${state}, not settled; cancel it instead`);
    this.#course = { ...this.#course, isTerminated: false };
    // It may have been ended in the midst of being taken back.
    this.#freeze(compensation?.cause ?? { step: null, code: 'requested' });
    return accepting;
  }

  #decideStep({ kind: _, ...decision }: StepVerdict): HandoverAnswer {
    if (this.#course.fault !== null) return refused('its definition is at fault; say it again once that is repaired');
    this.#cause = null;
    if (this.#give({ ...decision, type: 'verdict.given' })) return accepting;
    return refused(this.#whatItTakes());
  }

  // ── Events from outside ──

  /** It has its place among those that came before; what can be given to the chart is, and what cannot yet is kept. */
  #hear({ handoverId }: Handover, { name, eventId, event, expiresAt, ...how }: SignalGiven): void {
    this.#taken.push(handoverId);
    const signal: KeptSignal = { name, eventId, event, expiresAt };
    if (this.#now.saga.isChain && !how.isDefined) {
      return this.#end(
        signal,
        'refused',
        `saga ${this.#now.saga.name} is a chain, which takes no event of its own making: send what signal() defined`,
      );
    }
    this.#course = { ...this.#course, kept: [...this.#course.kept, signal] };
    this.#heard.push(signal);
    this.#hearKept();
    const most = this.#now.saga.limits.signals;
    if (this.#course.kept.includes(signal) && this.#course.kept.length > most) {
      return this.#end(signal, 'refused', `it keeps ${most} signals already that it does not take yet`);
    }
    if (!how.isNowOrNever || !this.#course.kept.includes(signal)) return;
    const isAtFault = this.#course.fault !== null;
    this.#end(signal, 'refused', isAtFault ? 'its definition is at fault, and takes nothing' : this.#whatItTakes());
  }

  /**
   * The first that the chart takes now, in the order in which they came; and none that it never will. One that it is at
   * fault with does not stand in the way of the others.
   */
  #hearKept(): void {
    const isHearing = this.#course.fault === null;
    let fault: Fault | null = this.#course.fault;
    for (const signal of this.#course.kept) {
      const why = this.#whyNever(signal);
      if (signal.expiresAt <= this.#moment.now) this.#end(signal, 'expired', null);
      else if (why !== null) this.#end(signal, 'refused', why);
      else if (isHearing) {
        if (this.#course.fault !== null) this.#course = { ...this.#course, fault: null };
        if (this.#give(signal.event)) return this.#end(signal, 'applied', null);
        fault = this.#course.fault ?? fault;
      }
    }
    if (this.#course.fault !== fault) this.#course = { ...this.#course, fault };
  }

  #end(signal: KeptSignal, state: SignalChange['state'], why: string | null): void {
    this.#course = { ...this.#course, kept: this.#course.kept.filter((other) => other !== signal) };
    this.#signals.push(changeOf(signal, state, why));
    const became = why === null ? {} : { why };
    this.#records.push(recordOf('evidence', { ...saidBy(signal), accepted: state === 'applied', state, ...became }));
  }

  /** Null: it takes it, or may come to where it does. */
  #whyNever({ event }: KeptSignal): string | null {
    const { chart, isFrozen } = this.#course;
    const isOver = isFrozen || chart.status !== 'active' || this.#isSettled();
    return isOver || !this.#now.saga.kernel.mayTake(chart, event) ? this.#whatItTakes() : null;
  }

  #whatItTakes(): string {
    const { kernel, name } = this.#now.saga;
    const { chart, isFrozen } = this.#course;
    const isMoving = !isFrozen && chart.status === 'active';
    const takes = isMoving ? kernel.awaits(chart).filter((type) => !isLibraryEvent(type)) : [];
    return `saga ${name} in state ${JSON.stringify(chart.value)} takes ${takes.length === 0 ? 'no event' : takes.join(', ')}`;
  }

  /** False when the chart does not take it, or is at fault with it. */
  #give(event: KernelEvent): boolean {
    const { kernel } = this.#now.saga;
    const { chart, isFrozen } = this.#course;
    if (isFrozen || chart.status !== 'active') return false;
    let isTaken = false;
    const isSound = this.#atFault(() => {
      isTaken = kernel.accepts(chart, event);
      if (!isTaken) return;
      // What it would be taken back for is the event.
      this.#cause = null;
      const made = repeatable(() => kernel.step(chart, event));
      this.#follow(made, event.type);
    });
    return isSound && isTaken;
  }

  // ── Where it stands ──

  #standing(): { readonly state: SagaState; readonly reason: EscalationReason | null } {
    const course = this.#course;
    const ledger = this.#ledger();
    const isUnsettled = ledger.some(({ state }) => !isSettled(state));
    const escalated = ledger.find(({ state }) => state === 'escalated');
    if (course.fault !== null) return { state: 'escalated', reason: course.fault.reason };
    if (course.heldBy.length > 0 && this.#others !== null) return { state: 'escalated', reason: 'joined' };
    if (escalated !== undefined) return { state: 'escalated', reason: reasonOf(escalated) };
    const isOwed = compensatedNext(course, ledger, 'parallel').length > 0;
    if (!isUnsettled && !isOwed) {
      if (course.isTerminated) return { state: 'terminated', reason: null };
      if (course.compensation?.isDone === true && (course.isFrozen || course.chart.status === 'done')) {
        return { state: 'compensated', reason: null };
      }
      if (course.compensation === null && course.chart.status === 'done') return { state: 'succeeded', reason: null };
    }
    if (course.compensation !== null && !course.compensation.isDone) return { state: 'compensating', reason: null };
    if (!course.isFrozen && this.#now.saga.kernel.tags(course.chart).has('escalated')) {
      return { state: 'escalated', reason: 'step-failed' };
    }
    const isUnderWay = isUnsettled || this.#joining().length > 0;
    return { state: isUnderWay ? 'in-progress' : 'waiting', reason: null };
  }
}

const MOVES = 'it may be going round in circles: cancel it, or go on';

/** Of what is more than it may be: the chart stays where it is, and a person is asked. */
function refuse(why: string | null, remedy: string): void {
  if (why !== null) throw new LimitReached(`${why}: ${remedy}, with higher limits in createOrchestrator({ limits }).`);
}

function faultReasonOf(error: unknown): Fault['reason'] {
  const why = error instanceof KernelFault ? error.cause : error;
  return why instanceof LimitReached ? 'limit' : 'definition-fault';
}

/** What is older is looked at more seldom: it may be a person who is waited for. */
function lookPauseMs({ operations, sagas }: Others, now: number): number {
  const ages = [...operations.values(), ...sagas.values()].map((row) => (row === null ? 0 : now - row.createdAt));
  return Math.max(LOOK_PAUSE_MS, Math.min(...ages) / 4);
}

/** Of what has failed, for what. */
function codeOf({ entry, member }: Standing): string {
  return (member === null ? entry.child?.code : contextOf(member.row).code) ?? 'refused';
}

function reasonOf({ entry, member }: Standing): EscalationReason | null {
  if (member !== null) return contextOf(member.row).reason;
  return entry.child === null ? null : reasonOfChild(entry.child);
}

/** As it is kept; null also while there is none. */
function outputOfChart({ output }: KernelRow): Json {
  return encode(output ?? null, { onUnsupported: 'mark' });
}

function outputOfEntry({ child }: Entry): unknown {
  return child === null ? undefined : outputOfChild(child);
}

/** How what was refused is named. */
function factsOf({ step, target }: SagaStep) {
  return { step, action: targetName(target) };
}

/** An operation that should have taken a saga back was refused: ended as it stands, another one can at a later word. */
function standingAgain({ child }: Entry): Partial<Entry> {
  if (child?.inverse !== 'refused') return {};
  return { child: { ...child, inverse: null }, compensationBegun: false };
}

function inOrderOfSettling(a: Entry, b: Entry): number {
  return (a.settledAs ?? 0) - (b.settledAs ?? 0);
}

/** Of an inverse: its saga ended as it stood before it had any effect. */
function wasGivenUp(row: KernelRow): boolean {
  const { history, policy } = contextOf(row);
  return stateOf(row) === 'failed' && history.cancelled && proof(history, policy).type === 'without-effect';
}

/** It is looked up, and the time comes when an absence proves that it has not happened. */
function isLimited(row: KernelRow): boolean {
  const { lookup } = contextOf(row).policy;
  return lookup !== null && lookup.arrivalLimitMs !== null;
}

const accepting: HandoverAnswer = { accepted: true };

function refused(why: string): HandoverAnswer {
  return { accepted: false, why };
}

function isSame(actor: Entry['actor'], other: { readonly id: string; readonly generation: number }): boolean {
  return actor !== null && actor.id === other.id && actor.generation === other.generation;
}

function recordOf(kind: NewRecord['kind'], body: Readonly<Record<string, unknown>>): NewRecord {
  return { kind, attempt: null, body: encode(body, { onUnsupported: 'mark' }) };
}

function readable(handover: Handover): SaidOfSaga | { readonly operation: string } | null {
  try {
    const said: unknown = fromBody(handover.body);
    if (typeof said !== 'object' || said === null || !('kind' in said)) return null;
    if ('operation' in said && typeof said.operation === 'string') return { operation: said.operation };
    return isSaidOfSaga(said) ? said : null;
  } catch {
    return null;
  }
}

function saidBy({ event, eventId }: KeptSignal) {
  return { kind: 'signal', event, eventId };
}

function changeOf({ name, eventId }: KeptSignal, state: SignalChange['state'], why: string | null): SignalChange {
  return { name, eventId, state, why };
}

function recordKind({ kind }: SaidOfSaga): NewRecord['kind'] {
  if (kind === 'look') return 'moved';
  return kind === 'cancel' ? 'cancel' : 'verdict';
}

function isSaidOfSaga(said: object): said is SaidOfSaga {
  const { kind, by, name, event, eventId, expiresAt, at, ofParent } = said as Readonly<Record<string, unknown>>;
  if (kind === 'look') return typeof at === 'string';
  if (kind === 'signal') {
    const isNamed = typeof name === 'string' && typeof eventId === 'string' && typeof expiresAt === 'number';
    return isNamed && typeof event === 'object' && event !== null && 'type' in event;
  }
  if (kind === 'step-verdict') return 'outcome' in said;
  const isCommand = kind === 'cancel' || kind === 'terminate' || kind === 'compensate';
  return isCommand && typeof by === 'string' && (ofParent === undefined || isWordOfParent(ofParent));
}

function isWordOfParent(said: unknown): boolean {
  if (typeof said !== 'object' || said === null) return false;
  const { id, word } = said as Readonly<Record<string, unknown>>;
  return typeof id === 'string' && typeof word === 'number';
}
