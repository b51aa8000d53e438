/**
 * The judge of sagas. It looks at every turn of a saga as it is written and at what is booked at the providers, and
 * holds against them what a saga promises: nothing is taken back but what is proven to have happened, once, in order and
 * not in doubt (I9); and when a saga says that it is over, what the providers hold agrees with how it ended (I10). Of
 * what the library stores it believes the states of rows, and what a chart by hand has left, which nobody else knows.
 */

import { isDeepStrictEqual } from 'node:util';
import type { Kept, KeptSaga } from '../../src/adapters/memory/rows.ts';
import { itemOf } from '../../src/define/saga-names.ts';
import { decode } from '../../src/domain/codec.ts';
import { isSettled } from '../../src/domain/operation-state.ts';
import { isSagaSettled } from '../../src/domain/saga-state.ts';
import type { Json } from '../../src/domain/json.ts';
import { snapshotOf } from '../../src/orchestrator/snapshot.ts';
import { keyOf, type SagaRecord, type SagaTurn } from '../../src/ports/store.ts';
import type { Told } from './callers.ts';
import type { Course } from './course.ts';
import type { Database } from './database.ts';
import type { Process } from './process.ts';
import { type Effect, outputOf, type Provider } from './provider.ts';
import {
  type InnerPlan,
  innersIn,
  isShared,
  type ListPlan,
  meansOtherwise,
  type PartPlan,
  type SagaShape,
  shapesIn,
  SHARED,
  type StepPlan,
  stepsIn,
  stepsOf,
  takenBy,
  type Word,
} from './saga-plan.ts';
import {
  bookingName,
  doneByHand,
  isByHand,
  isSharedBooking,
  OTHER_AMOUNT,
  sharedBookingOf,
  stepOfBooking,
  undoneBy,
} from './saga-shop.ts';
import type { Order } from './shop.ts';
import type { Verb } from './verbs.ts';
import { subjectOfRow } from './watch.ts';
import { endsAt } from './wordy-plan.ts';

/** An operation of a saga, by what it is for the business. */
interface Booking {
  readonly row: Kept;
  readonly subject: string;
  /** What it is called at its provider. */
  readonly name: string;
  /** The name of what it takes back; null: it is a step. */
  readonly undoes: string | null;
  readonly step: StepPlan;
}

/** What of a chart waits for an operation. */
interface Actor {
  readonly generation: number;
}

interface Entry {
  readonly id: string;
  readonly isLeft: boolean;
  readonly isTold: boolean;
  readonly step: string;
  readonly actor: (Actor & { readonly id: string }) | null;
  /** How the operation of another ended that it has joined. */
  readonly endOfJoined: 'succeeded' | 'failed' | null;
  /** Of a step that is a saga: what was last seen of it. */
  readonly child: { readonly state: KeptSaga['state'] | null } | null;
}

/** As much of a saga's snapshot as is read here. */
interface Stored {
  readonly compensation: {
    readonly cause: { readonly step: string | null; readonly code: string };
    readonly isPartial: boolean;
  } | null;
  readonly asked: 'cancelled' | 'timed-out' | null;
  readonly isTerminated: boolean;
  /** The saga whose step it is. */
  readonly parent: { readonly id: string; readonly step: string } | null;
  readonly entries: readonly Entry[];
  readonly heldBy: readonly string[];
  readonly kept: readonly { readonly name: string; readonly eventId: string }[];
  readonly fault: { readonly times: number } | null;
  readonly chart: {
    readonly value: unknown;
    readonly context: { readonly words?: readonly string[] };
    readonly children: Readonly<Record<string, Actor & { readonly src: string }>>;
  };
}

/** What the judge remembers of a saga. */
interface Remembered {
  /** When each operation settled, by its id, as a place in an order; what settled with one turn shares a place. */
  readonly settled: Map<string, number>;
  /** What was begun to be taken back. */
  readonly begun: Set<string>;
  /** Of what a person has said that they took it back by hand, or that it stands. */
  readonly decided: Set<string>;
  /** Steps of which a person has stated what they brought. */
  readonly stated: Set<string>;
  /** A person has said that what it did is to be taken back, after it had settled. */
  isTakenBackAtWord: boolean;
  /** A person has ended it as it stood. */
  isEnded: boolean;
  /** A person has said not to wait for what is in doubt. */
  isTakenBackInPart: boolean;
  /** Callers were told that it will be taken back; `withPivot`: while it was open whether the pivot succeeds. */
  cancelled: 'no' | 'yes' | 'with-pivot';
  /** Callers were told that it is too late for that. */
  refusedToCancel: boolean;
  /** How often in a row it has met what another one means by what they share. */
  metOther: number;
  told: Told | null;
}

/** What a record of a saga or of one of its operations tells, as far as it is somebody's word. */
interface Said {
  readonly kind?: string;
  readonly accepted?: boolean;
  readonly effect?: string;
  readonly event?: { readonly type: string };
  readonly eventId?: string;
  readonly by?: string;
  /** The saga that says it to one that is its step. */
  readonly ofParent?: { readonly id: string };
  /** Of an event: it waits, or what else became of it. */
  readonly kept?: boolean;
  readonly state?: string;
  readonly step?: string;
  readonly outcome?: { readonly type: string };
  /** What a step was told of the operation of another that it had joined. */
  readonly refusal?: { readonly code: string };
  /** What its definition threw. */
  readonly fault?: string;
}

interface StepVerdict {
  readonly step?: string;
  readonly outcome?: { readonly type: string };
}

/** What a person has stated about a step that was refused after the pivot, if that was taken. */
function statedIn(said: Said): StepVerdict | null {
  return said.kind === 'step-verdict' && said.accepted === true ? said : null;
}

/** The events that a saga has taken, by type and id, in the order in which it did. */
function heardIn(story: readonly SagaRecord[]): readonly string[] {
  return story.flatMap(({ operation, body }) => {
    if (operation !== null) return [];
    const { kind, accepted, event, eventId } = decode(body) as Said;
    return kind === 'signal' && accepted === true ? [JSON.stringify([event?.type, eventId])] : [];
  });
}

/** The waits of a chain after its pivot that were in vain, and about which a person is asked. */
export function waitsInVain(saga: KeptSaga): readonly string[] {
  const states = JSON.stringify(storedIn(saga).chart.value);
  return [...states.matchAll(/"(wait[^"]*) timed out"/g)].flatMap(([, name]) => name ?? []);
}

/** The states that a turn went by. */
function visits(body: Json, name: string): boolean {
  return JSON.stringify((body as { readonly states?: unknown }).states ?? []).includes(`"${name}"`);
}

/** A word that came before `due`, and was not to be forgotten by then; the clocks of the workers need not agree by more. */
function isInTime(body: Json, at: number, due: number): boolean {
  const {
    kind,
    expiresAt = 0,
    isNowOrNever = false,
  } = decode(body) as {
    readonly kind?: string;
    readonly expiresAt?: number;
    readonly isNowOrNever?: boolean;
  };
  return kind === 'signal' && !isNowOrNever && at < due - 1_000 && expiresAt > due + 600_000;
}

/** No saga needs more turns than this in one schedule. */
const TURNS_MAX = 600;

export class SagaWatch {
  readonly #course: Course;
  #database: Database | null = null;
  #provider: Provider | null = null;
  #before: ReadonlyMap<string, KeptSaga> = new Map();
  #handovers: Database['rows']['handovers'] = new Map();
  readonly #remembered = new Map<string, Remembered>();
  /** Of what became of these before, a fail-over has lost something. */
  readonly #forgotten = new Set<string>();
  /** Operations of no saga of which a fail-over has lost something. */
  readonly #forgottenAlone = new Set<string>();
  /** The revision of its parent with which each child is begun. */
  readonly #entered = new Map<string, number>();
  #places = 0;
  #failovers = 0;

  constructor(course: Course) {
    this.#course = course;
  }

  observe(database: Database, provider: Provider): void {
    this.#database = database;
    this.#provider = provider;
  }

  /** Whether the order of this name is a booking of a saga, or takes one back. */
  isBooking(name: string): boolean {
    const booking = undoneBy(name) ?? name;
    return (
      isSharedBooking(booking) || shapesIn(this.#course.plan.sagas).some(({ name: of }) => booking.startsWith(`${of}/`))
    );
  }

  /** When an operation of a saga was due, before the verb that is being carried out. */
  dueBefore({ tenant, id, saga }: Kept): number | null {
    const before = this.#before.get(keyOf({ tenant, id: saga ?? '' }));
    return before?.dues[`operation ${id}`] ?? null;
  }

  before(): void {
    this.#before = new Map(this.#data.rows.sagas);
    this.#handovers = new Map(this.#data.rows.handovers);
  }

  /** True when a saga was changed. */
  after(process: Process, verb: Verb, args: readonly unknown[], operations: ReadonlyMap<string, Kept>): boolean {
    const { sagas } = this.#data.rows;
    // The verb says what its arguments are.
    const turn = verb === 'sagaTurn' ? (args[0] as SagaTurn) : null;
    for (const [name, before] of this.#before) {
      if (!sagas.has(name)) this.#wrong('I7', `${verb} removed ${labelOf(before)}`);
    }
    let wrote = false;
    for (const [name, row] of sagas) {
      const before = this.#before.get(name) ?? null;
      if (before === row) continue;
      wrote = true;
      if (before?.state !== row.state) {
        const reason = row.reason === null ? '' : ` (${row.reason})`;
        this.#course.tell(process.name, `${labelOf(row)}: ${before?.state ?? 'new'} -> ${row.state}${reason}`);
      }
      this.#checkRow(verb, args, turn, before, row);
      if (turn !== null) this.#checkTurn(turn, before, row, operations);
    }
    if (turn !== null && !wrote) this.#turnRefused(turn);
    return wrote;
  }

  // The row

  #checkRow(verb: Verb, args: readonly unknown[], turn: SagaTurn | null, before: KeptSaga | null, row: KeptSaga): void {
    const label = labelOf(row);
    if (turn !== null && keyOf(turn) !== keyOf(row)) this.#wrong('I15', `a turn of ${turn.id} wrote ${label}`);
    this.#checkNextStep(row);
    if (row.revision > TURNS_MAX) this.#wrong('I18', `${label} was written ${row.revision} times`);
    if (before === null) {
      if (turn === null || turn.birth === null) this.#wrong('I5', `${verb} made ${label} without a birth`);
      const others = [...this.#data.rows.sagas.values()].filter((other) => labelOf(other) === label);
      if (others.length > 1) this.#wrong('G4', `two sagas have the identity of ${label}`);
      this.#course.tally.met('saga: begun');
      this.#checkLock(row);
      this.#checkBirth(row);
      return;
    }
    for (const part of [
      'tenant',
      'id',
      'name',
      'version',
      'key',
      'hash',
      'fingerprint',
      'createdAt',
      'born',
    ] as const) {
      if (before[part] !== row[part]) this.#wrong('G2', `${part} of ${label} changed`);
    }
    if (row.generation < before.generation) this.#wrong('I5', `the generation of ${label} went back`);
    const isReopened = before.state !== 'compensated' && hasWord(turn, 'compensate');
    const isMoved = row.state !== before.state && !isReopened;
    if (isSagaSettled(before.state) && (isMoved || !isDeepStrictEqual(row.output, before.output))) {
      this.#wrong('I6', `${label} was ${before.state} and became ${row.state}`);
    }
    if (turn === null) this.#checkClaim(verb, args, before, row);
    else this.#checkFence(turn, before, row);
  }

  #checkFence({ was }: SagaTurn, before: KeptSaga, row: KeptSaga): void {
    const label = labelOf(row);
    if (was === null) return this.#wrong('I5', `a birth of ${label} changed a row that was there`);
    if (row.revision !== before.revision + 1) this.#wrong('I8', `the revision of ${label} did not rise by one`);
    if (was.generation !== before.generation || was.owner !== before.owner || was.revision !== before.revision) {
      this.#wrong('I5', `a turn on generation ${was.generation}, revision ${was.revision} changed ${label}`);
    }
  }

  #checkClaim(verb: Verb, args: readonly unknown[], before: KeptSaga, row: KeptSaga): void {
    const label = labelOf(row);
    const { tally } = this.#course;
    if (row.revision !== before.revision || row.state !== before.state) {
      this.#wrong('I5', `${verb} moved ${label} without a turn`);
    }
    if (verb === 'retire') return;
    if (verb !== 'claimSagas') return this.#wrong('I5', `${verb} changed ${label}`);
    const owner = before.owner === null ? null : this.#data.rows.workers.get(before.owner);
    if (owner?.deadAt === null) this.#wrong('I4', `${label} was claimed from ${before.owner}, which lives`);
    if (row.owner !== args[0]) this.#wrong('I4', `${label} was claimed for ${String(row.owner)}`);
    if (row.generation <= before.generation) this.#wrong('I5', `a claim left the generation of ${label}`);
    if (before.owner === null) return;
    tally.met('saga: taken over from a worker that died');
    if (this.#bookingsOf(row).some(isUndone)) tally.met('saga: taken over while it is taking back');
  }

  #checkNextStep(row: KeptSaga): void {
    if (isSagaSettled(row.state) || row.owner !== null || row.dueAt !== null) return;
    // A wake tells when those have ended who hold it, and is lost at times: it is to look by itself as well.
    if (row.state === 'escalated' && row.reason !== 'joined') return;
    const { handovers } = this.#data.rows;
    if ([...handovers.values()].some(({ handover }) => keyOf(handover) === keyOf(row))) return;
    this.#wrong('I7', `${labelOf(row)} is ${row.state}, and nothing will ever happen to it`);
  }

  // A turn

  #checkTurn(turn: SagaTurn, before: KeptSaga | null, row: KeptSaga, operations: ReadonlyMap<string, Kept>): void {
    const stored = storedIn(row);
    const was = before === null ? null : storedIn(before);
    const remembered = this.#of(row);
    const bookings = this.#bookingsOf(row);
    const wasOf = ({ row: { tenant, id } }: Booking) => operations.get(keyOf({ tenant, id })) ?? null;
    const changed = bookings.filter((booking) => wasOf(booking) !== booking.row);
    this.#places += 1;
    for (const booking of changed) {
      const state = wasOf(booking)?.state ?? null;
      if (hasEnded(booking) && !remembered.settled.has(booking.row.id)) {
        remembered.settled.set(booking.row.id, this.#places);
        if (booking.row.state !== 'failed' && isLeft(booking, stored) && booking.undoes === null) {
          this.#course.tally.met('saga: a late success of a branch that was left');
        }
      }
      this.#noteBooking(booking, state, turn);
      if (state === 'compensating' && booking.row.state === 'succeeded')
        this.#standsAgain(booking, row, stored, bookings);
    }
    if (stored.isTerminated) this.#checkSentNoMore(turn, bookings);
    this.#noteWords(turn, was, row, stored, bookings, wasOf);
    this.#noteChildren(row, was, stored, bookings, wasOf);
    for (const booking of changed) {
      if (wasOf(booking) !== null) continue;
      if (booking.undoes === null) this.#stepBegun(row, was, stored, booking, bookings, wasOf);
    }
    const undoing = changed.filter((booking) => booking.undoes !== null && wasOf(booking) === null);
    for (const inverse of undoing) this.#inverseBegun(row, stored, inverse, bookings);
    for (const { undoes } of undoing) {
      const original = bookings.findLast(({ name }) => name === undoes);
      if (original !== undefined) remembered.begun.add(original.subject);
    }
    if (undoing.length > 1) this.#course.tally.met('saga: several inverses at once');
    this.#checkLedger(row, stored, bookings);
    this.#noteJoined(row, was, stored);
    this.#checkRefusals(turn, row);
    this.#checkMeaning(turn, row, stored);
    this.#checkHeard(turn, row, was, stored);
    this.#checkInVain(row, was, stored);
    this.#noteSaga(before, row, was, stored, bookings);
    if (before?.state !== row.state && isSagaSettled(row.state)) this.#checkEnding(row);
  }

  /** What a chart waits for is in its ledger, and nothing is begun that is not there. */
  #checkLedger(row: KeptSaga, { chart, entries }: Stored, bookings: readonly Booking[]): void {
    const stray = bookings.find(({ row: { id } }) => entries.every((entry) => entry.id !== id));
    if (stray !== undefined) this.#wrong('I8', `${stray.subject} is begun, and its saga does not know of it`);
    for (const [id, { src, generation }] of Object.entries(chart.children)) {
      const isKnown = entries.some(({ actor }) => actor?.id === id && actor.generation === generation);
      if (!isKnown && src !== 'compensate') {
        this.#wrong('I7', `${labelOf(row)} waits for ${id}, which was never begun`);
      }
    }
  }

  /** A chain begins a step when what comes before it is done, and no step once it is taken back. */
  #stepBegun(
    row: KeptSaga,
    was: Stored | null,
    stored: Stored,
    { step, subject }: Booking,
    bookings: readonly Booking[],
    wasOf: (booking: Booking) => Kept | null,
  ): void {
    if (was !== null && (was.compensation !== null || was.isTerminated)) {
      this.#wrong('I10', `${subject} is begun, and its saga is over or taken back`);
    }
    const shape = this.#shapeOf(row);
    const isAgain = bookings.filter((booking) => booking.undoes === null && booking.step === step).length > 1;
    if (isAgain && shape.written !== 'chain') this.#course.tally.met('saga: a step taken again by its chart');
    this.#checkItem(shape, step, subject, bookings);
    this.#checkEarlier(row, stored, step, subject, bookings, wasOf);
  }

  /** Everything before it is done. */
  #checkEarlier(
    row: KeptSaga,
    stored: Stored,
    step: StepPlan | InnerPlan,
    subject: string,
    bookings: readonly Booking[],
    wasOf: (booking: Booking) => Kept | null,
  ): void {
    const shape = this.#shapeOf(row);
    this.#checkWayTo(row, shape, step, subject);
    for (const earlier of earlierThan(shape, step, row.key)) {
      const last = bookings.findLast((booking) => booking.undoes === null && booking.step === earlier);
      const isDone =
        last?.row.state === 'succeeded' ||
        // One turn can hear what leads on to it, and a word that has everything taken back.
        (last !== undefined && wasOf(last)?.state === 'succeeded') ||
        endOfJoinedIn(stored, earlier.name) === 'succeeded' ||
        (last?.row.state === 'failed' && (earlier.onFailed === 'continue' || this.#of(row).stated.has(earlier.name)));
      if (!isDone) this.#wrong('I10', `${subject} is begun, and ${earlier.name} is ${last?.row.state ?? 'not begun'}`);
    }
  }

  /** A saga that is a step is begun by the one whose step it is, which has written that first. */
  #checkBirth(row: KeptSaga): void {
    const { parent } = storedIn(row);
    if (parent === null || this.#failovers > 0) return;
    const outer = this.#data.rows.sagas.get(keyOf({ tenant: row.tenant, id: parent.id }));
    if (outer !== undefined && outer.revision > (this.#entered.get(keyOf(row)) ?? outer.revision))
      this.#course.tally.met('saga: a child begun after its parent had looked for it in vain');
    const isKnown = outer !== undefined && storedIn(outer).entries.some(({ id }) => id === row.id);
    if (!isKnown) this.#wrong('I5', `${labelOf(row)} is begun, and the saga whose step it is does not know of it`);
  }

  /** A saga begins one for a step, when what comes before is done; it looks again where one is not there. */
  #noteChildren(
    row: KeptSaga,
    was: Stored | null,
    stored: Stored,
    bookings: readonly Booking[],
    wasOf: (booking: Booking) => Kept | null,
  ): void {
    const { tally } = this.#course;
    const shape = this.#shapeOf(row);
    for (const { id, step, child, isLeft: left } of stored.entries) {
      const inner = innersIn(shape).find(({ name }) => name === step);
      if (child === null || inner === undefined) continue;
      const before = was?.entries.find((entry) => entry.id === id);
      const subject = `${labelOf(row)}/${step}`;
      if (before === undefined) {
        tally.met('saga: a step that is a saga');
        // What a birth begins is there only after the turn that follows.
        this.#entered.set(keyOf({ tenant: row.tenant, id }), was === null ? row.revision + 1 : row.revision);
        if (was !== null && (was.compensation !== null || was.isTerminated))
          this.#wrong('I10', `${subject} is begun, and its saga is over or taken back`);
        const others = childrenOf(row, this.#data.rows.sagas, step).filter((other) => other.id !== id);
        const open = others.find(({ state }) => state !== 'compensated' && state !== 'terminated');
        if (open !== undefined) this.#wrong('I9', `${subject} is begun again, and ${labelOf(open)} is ${open.state}`);
        this.#checkEarlier(row, stored, inner, subject, bookings, wasOf);
        continue;
      }
      if (before.child?.state === null && child.state !== null && left)
        tally.met('saga: a child that is there only after its parent has left it');
      if (before.child?.state !== child.state && child.state === 'compensated' && was?.compensation === null)
        tally.met('saga: a child takes itself back, and its parent hears of it');
    }
  }

  /** A chain goes on past a step that is a saga when that has succeeded, or it need not have. */
  #checkPassed(row: KeptSaga, { name, onFailed }: InnerPlan, what: string): void {
    const [child] = childrenOf(row, this.#data.rows.sagas, name);
    const isRefused = child?.state === 'compensated' || child?.state === 'terminated';
    const isSpared = onFailed === 'continue' || this.#of(row).stated.has(name);
    if (child?.state === 'succeeded' || (isRefused && isSpared) || this.#failovers > 0) return;
    this.#wrong('I10', `${what}, and ${name} is ${child?.state ?? 'not there'}`);
  }

  /** When a saga is over, so are those that are steps of it, and as it is. */
  #checkChildren(row: KeptSaga): void {
    if (this.#failovers > 0) return;
    for (const inner of innersIn({ parts: takenBy(this.#shapeOf(row), row.key) })) {
      if (row.state === 'succeeded') this.#checkPassed(row, inner, `${labelOf(row)} has succeeded`);
      for (const child of childrenOf(row, this.#data.rows.sagas, inner.name)) {
        const isEnded = child.state === 'terminated' && this.#isEndedByPerson(child);
        const isSo =
          row.state === 'compensated' && inner.hasInverse
            ? child.state === 'compensated' || isEnded
            : isSagaSettled(child.state);
        if (!isSo) this.#wrong('I10', `${labelOf(row)} is ${row.state}, and ${labelOf(child)} is ${child.state}`);
      }
    }
  }

  #isEndedByPerson(saga: KeptSaga): boolean {
    return (this.#data.rows.stories.get(keyOf(saga)) ?? []).some(({ body }) => {
      const { kind, accepted, ofParent } = decode(body) as Said;
      return kind === 'terminate' && accepted === true && ofParent === undefined;
    });
  }

  /** The items of a list begin in their order, and no more are under way than its author allows. */
  #checkItem(shape: SagaShape, step: StepPlan, subject: string, bookings: readonly Booking[]): void {
    const list = listOf(shape, step);
    if (list === null) return;
    const last = list.items.map((item) => bookings.findLast((one) => one.undoes === null && one.step === item));
    const before = last.slice(0, list.items.indexOf(step));
    if (before.includes(undefined)) this.#wrong('I10', `${subject} is begun before others of its list`);
    const open = last.filter((one) => one !== undefined && !hasEnded(one)).length;
    const atMost = list.concurrency ?? list.items.length;
    if (open > atMost) this.#wrong('I10', `${subject} is begun, and ${open} of ${list.name} are under way at once`);
    if (open === atMost && last.includes(undefined)) this.#course.tally.met('saga: items wait for their turn');
  }

  /** A chain takes the branch that its author chose, sleeps for as long as it says, and waits for what is to be said. */
  #checkWayTo(row: KeptSaga, shape: SagaShape, step: StepPlan | InnerPlan, subject: string): void {
    if (shape.written !== 'chain') return;
    const story = this.#data.rows.stories.get(keyOf(row)) ?? [];
    for (const part of takenBy(shape, row.key)) {
      if (isIn(part, step)) return;
      if (part.type === 'inner') this.#checkPassed(row, part, `${subject} is begun`);
      if (part.type === 'wait') {
        const isHeard = heardIn(story).length > 0 || this.#of(row).stated.has(part.name);
        if (part.otherwise !== 'continue' && !isHeard)
          this.#wrong('I10', `${subject} is begun, and nothing was said at ${part.name}`);
      }
      if (part.type !== 'pause') continue;
      const asleep = story.findLast(({ operation, body }) => operation === null && visits(body, part.name));
      const endsBy = part.isUntil ? endsAt(part.ms) : (asleep?.at ?? 0) + part.ms;
      if (this.#course.now < Math.floor(endsBy))
        this.#wrong('I10', `${subject} is begun ${endsBy - this.#course.now} ms before ${part.name} is over`);
    }
    this.#wrong('I10', `${subject} is begun, and its saga takes another way`);
  }

  /** What was said before the time was over counts, whoever was at work by then. */
  #checkInVain(row: KeptSaga, was: Stored | null, stored: Stored): void {
    const cause = stored.compensation?.cause;
    if (cause?.code !== 'timed-out' || was === null || was.compensation !== null) return;
    // A step that is a saga can have run out of its own time.
    const isWait = this.#shapeOf(row).parts.some(({ type, name }) => type === 'wait' && name === cause.step);
    if (!isWait) return;
    this.#course.tally.met('saga: a wait in vain takes it back');
    const before = this.#before.get(keyOf(row));
    const due = Object.entries(before?.dues ?? {}).find(([name]) => name.endsWith(`.${cause.step}`))?.[1];
    const said = [...this.#handovers.values()].find(
      ({ handover, at }) => keyOf(handover) === keyOf(row) && due !== undefined && isInTime(handover.body, at, due),
    );
    if (said !== undefined || heardIn(this.#data.rows.stories.get(keyOf(row)) ?? []).length > 0)
      this.#wrong('I13', `${labelOf(row)} is taken back since nothing was said, and something was`);
  }

  /** Only one of a tenant is at the desk at a time. */
  #checkLock(row: KeptSaga): void {
    if (!this.#shapeOf(row).isLocked) return;
    const other = [...this.#data.rows.sagas.values()].find(
      (saga) =>
        saga !== row &&
        saga.tenant === row.tenant &&
        this.#shapeOf(saga).isLocked &&
        !isSagaSettled(saga.state) &&
        // What is taken back after it had settled does not get back what it had until then.
        !this.#of(saga).isTakenBackAtWord,
    );
    if (other !== undefined) this.#wrong('I4', `${labelOf(row)} is begun, and ${labelOf(other)} has the lock`);
  }

  /** What is taken back is proven to have happened, nothing is in doubt, and what came later has been taken back. */
  #inverseBegun(row: KeptSaga, stored: Stored, { undoes, subject }: Booking, bookings: readonly Booking[]): void {
    const remembered = this.#of(row);
    const original = bookings.findLast(({ name }) => name === undoes);
    if (original === undefined) return this.#wrong('I9', `${subject} takes back what there is not`);
    if (!original.step.hasInverse) this.#wrong('I9', `${subject} takes back what nobody wants taken back`);
    if (original.row.state !== 'compensating') {
      this.#wrong('I9', `${subject} is begun, and ${original.subject} is ${original.row.state}`);
    }
    this.#checkJoiners(original.row);
    if (remembered.begun.has(original.subject)) this.#wrong('I9', `${original.subject} is taken back again`);
    const isEnded = stored.isTerminated || (remembered.isEnded && !remembered.isTakenBackAtWord);
    if (isEnded) this.#wrong('I9', `${subject} is begun, and its saga was terminated`);
    // What a chart by hand has left helps nobody, whatever becomes of the rest.
    if (stored.compensation === null && isLeft(original, stored)) return;
    if (stored.compensation === null) this.#wrong('I9', `${subject} is begun, and nothing is to be taken back`);
    const others = bookings.filter((booking) => booking.undoes === null && booking !== original);
    const open = others.find(({ row: { state }, ...other }) =>
      isOpen({ row: { state }, begun: remembered.begun.has(other.subject) }),
    );
    const isPartial = remembered.isTakenBackInPart && stored.compensation?.isPartial === true;
    if (!isPartial) this.#checkChildrenBefore(row, subject);
    if (open !== undefined && !isPartial) {
      this.#wrong('I9', `${subject} is begun, and ${open.subject} is ${open.row.state}`);
    }
    if (open !== undefined) this.#course.tally.met('saga: taken back in part while something is in doubt');
    const { pivot, compensation } = this.#shapeOf(row);
    const passed = others.find(({ step, row: { state } }) => step.name === pivot && state === 'succeeded');
    if (passed !== undefined && !remembered.isTakenBackAtWord)
      this.#wrong('I9', `${subject} is begun, and ${passed.subject} is the pivot`);
    if (compensation === 'parallel') return;
    const place = remembered.settled.get(original.row.id) ?? 0;
    for (const other of others) {
      if (isUndone(other)) this.#wrong('I9', `${subject} does not wait for ${other.subject}`);
      const isOwed = other.step.hasInverse && other.row.state === 'succeeded' && !remembered.begun.has(other.subject);
      if (isOwed && (remembered.settled.get(other.row.id) ?? 0) > place) {
        this.#wrong('I9', `${subject} comes before what takes back ${other.subject}, which settled later`);
      }
    }
  }

  /** Nothing is taken back while a step is under way that is a saga; in reverse order also not while that is. */
  #checkChildrenBefore(row: KeptSaga, subject: string): void {
    const { compensation } = this.#shapeOf(row);
    const open = childrenOf(row, this.#data.rows.sagas).find((child) => {
      const isAsked = storedIn(child).compensation?.cause.code === 'requested';
      return !isSagaSettled(child.state) && !(isAsked && compensation === 'parallel');
    });
    if (open !== undefined && this.#failovers === 0)
      this.#wrong('I9', `${subject} is begun, and ${labelOf(open)} is ${open.state}`);
  }

  /** What takes it back was given up, and can be begun again at a later word: its saga was ended as it stood. */
  #standsAgain({ subject, name }: Booking, row: KeptSaga, stored: Stored, bookings: readonly Booking[]): void {
    const inverse = bookings.findLast(({ undoes }) => undoes === name);
    const isOver = stored.isTerminated && inverse?.row.state === 'failed';
    if (!isOver) this.#wrong('I9', `${subject} stands again, and what takes it back was not given up`);
    this.#of(row).begun.delete(subject);
    this.#course.tally.met('saga: an unsent inverse given up');
  }

  /** Once a saga is ended as it stands, nothing of it is sent that was not sent before. */
  #checkSentNoMore(turn: SagaTurn, bookings: readonly Booking[]): void {
    for (const { id, records } of turn.operations) {
      if (!records.some(({ kind, attempt }) => kind === 'start' && attempt === 1)) continue;
      const subject = bookings.find(({ row }) => row.id === id)?.subject ?? id;
      this.#wrong('I10', `${subject} is started, and its saga was ended as it stood`);
    }
  }

  // Requests and records

  /** What a request notes are receipts of its own saga, and what takes a booking back names it. */
  sends(subject: string, { tenant, order, note }: Order, row: Kept): void {
    const booking = undoneBy(order);
    if (row.saga === null && booking === null) return;
    const saga = (booking ?? order).slice(0, (booking ?? order).lastIndexOf('/') + 1);
    const own = this.#books.ledger.filter(
      ({ subject: of }) => isOf(of, tenant) && (orderOf(of).startsWith(saga) || isShared(stepOfBooking(orderOf(of)))),
    );
    const known = booking === null ? own : own.filter(({ subject: of }) => orderOf(of) === booking);
    const receipts = note?.split(' ') ?? [];
    if (receipts.length < this.#receiptsOf(row, booking))
      this.#wrong('I16', `${subject} is sent, and knows too little`);
    for (const receipt of receipts) {
      const isKnown = known.some(({ reference }) => reference === receipt) || isByHand(receipt);
      if (!isKnown) this.#wrong('I16', `${subject} is sent with ${receipt}, which is no receipt of its saga`);
    }
  }

  /** As many receipts a request has to have: of everything that was booked before it, or of what it takes back. */
  #receiptsOf(row: Kept, booking: string | null): number {
    const saga = this.#data.rows.sagas.get(keyOf({ tenant: row.tenant, id: row.saga ?? '' }));
    if (booking !== null) return 1;
    if (saga === undefined || isShared(stepOfBooking(subjectOfRow(row)))) return 0;
    const bookings = this.#bookingsOf(saga);
    const own = bookings.find(({ row: { id } }) => id === row.id);
    const earlier = own === undefined ? [] : earlierThan(this.#shapeOf(saga), own.step, saga.key);
    return earlier.filter((step) => {
      const last = bookings.findLast((other) => other.undoes === null && other.step === step);
      const hasJoined = last === undefined && endOfJoinedIn(storedIn(saga), step.name) === 'succeeded';
      return last?.row.state === 'succeeded' || hasJoined;
    }).length;
  }

  charged(subject: string): void {
    const booking = undoneBy(orderOf(subject));
    if (booking === null) return;
    const isThere = this.#books.ledger.some(
      ({ subject: of }) =>
        orderOf(of) === booking && of.slice(0, of.indexOf('/')) === subject.slice(0, subject.indexOf('/')),
    );
    if (!isThere) this.#wrong('I9', `${subject}: it is taken back, and never was`);
  }

  // Endings

  /** At the end every saga that is over still agrees with its providers. */
  checkEndings(): void {
    for (const row of this.#data.rows.sagas.values()) if (isSagaSettled(row.state)) this.#checkEnding(row, true);
    for (const row of this.#data.rows.operations.values()) if (row.saga === null) this.#checkAlone(row);
  }

  #checkEnding(row: KeptSaga, isLater = false): void {
    const stored = storedIn(row);
    const bookings = this.#bookingsOf(row);
    const open = bookings.find((booking) => !isSettled(booking.row.state));
    if (open !== undefined)
      this.#wrong('I10', `${labelOf(row)} is ${row.state}, and ${open.subject} is ${open.row.state}`);
    this.#checkChildren(row);
    const { pivot } = this.#shapeOf(row);
    const hasJoined = endOfJoinedIn(stored, pivot) === 'succeeded';
    const hasPivoted =
      hasJoined || bookings.some(({ step, row: { state } }) => step.name === pivot && state === 'succeeded');
    const { cancelled } = this.#of(row);
    if (row.state === 'succeeded' && (cancelled === 'yes' || (cancelled === 'with-pivot' && !hasPivoted))) {
      this.#wrong('I10', `${labelOf(row)} has succeeded, and was cancelled in time`);
    }
    for (const step of stepsIn(this.#shapeOf(row))) {
      const isJoined = isShared(step.name) && bookings.every((booking) => booking.step !== step);
      if (!isJoined) this.#checkStep(row, stored, step, bookings);
      else if (!isLater) this.#checkJoined(row, stored, step.name);
    }
  }

  /** A chain succeeds with what it has joined, which nobody has taken back under it. */
  #checkJoined(row: KeptSaga, stored: Stored, step: string): void {
    if (row.state !== 'succeeded') return;
    const subjects = this.#books.ledger.map(({ subject }) => subject).filter((subject) => isOf(subject, row.tenant));
    const name = sharedBookingOf(step);
    const booked = subjects.filter((subject) => orderOf(subject) === name).length;
    const undone = subjects.filter((subject) => undoneBy(orderOf(subject)) === name).length;
    const isLied = [...this.#books.liedAbout].some((subject) => isOf(subject, row.tenant) && isAbout(subject, name));
    if (endOfJoinedIn(stored, step) === 'succeeded' && (isLied || (booked > 0 && undone === 0))) return;
    this.#wrong('I10', `${labelOf(row)} has succeeded, and what it joined is booked ${booked} times, undone ${undone}`);
  }

  /** What stands alone is taken back at a person's word alone, and then it is. */
  #checkAlone(row: Kept): void {
    const subject = subjectOfRow(row);
    const name = sharedBookingOf(SHARED);
    if (orderOf(subject) !== name || this.#forgottenAlone.has(keyOf(row))) return;
    const undoing = this.#books.ledger.filter(({ subject: of }) => isOf(of, row.tenant) && isUndoOf(of, name));
    const isLied = [...this.#books.liedAbout].some((of) => isOf(of, row.tenant) && isAbout(of, name));
    const isDecided = (this.#data.rows.records.get(keyOf(row)) ?? []).some(
      ({ body }) => (body as { kind?: string }).kind === 'compensation-verdict',
    );
    const isWrong = row.state === 'compensated' ? undoing.length !== 1 && !isDecided : undoing.length > 0;
    if (isLied || row.state === 'compensating' || row.state === 'escalated' || !isWrong) return;
    this.#wrong('I10', `${subject} is ${row.state}, and its provider holds ${undoing.length} that take it back`);
  }

  /** A person's word to take back what stands alone was heeded. */
  takenBackAlone(before: Kept, row: Kept): void {
    if (before.state !== 'succeeded') return;
    this.#course.tally.met('saga: what stands alone is taken back at a person’s word');
    this.#checkJoiners(row);
  }

  /** Nothing is taken back under a saga that has joined it and is open; one that has settled does not open again. */
  #checkJoiners(row: Kept): void {
    for (const id of joinedIn(row)) {
      const saga = this.#data.rows.sagas.get(keyOf({ tenant: row.tenant, id }));
      if (saga === undefined || isSagaSettled(saga.state) || this.#of(saga).isTakenBackAtWord) continue;
      this.#wrong('I9', `${subjectOfRow(row)} is taken back, and ${labelOf(saga)} has joined it and is ${saga.state}`);
    }
  }

  /** A chart has noted each event that it took once, in the order in which it took them, and no other. */
  #checkHeard(turn: SagaTurn, row: KeptSaga, was: Stored | null, stored: Stored): void {
    const { tally } = this.#course;
    const expected = [...(was?.chart.context.words ?? [])];
    for (const { body } of turn.records) {
      const said = decode(body) as Said;
      const { type } = said.event ?? {};
      const { eventId } = said;
      if (said.kind !== 'signal' || type === undefined || eventId === undefined) continue;
      if (said.kept === true) tally.met('saga: an event kept');
      else if (said.accepted !== true) tally.met(`saga: an event ${said.state ?? 'refused'}`);
      else if (type === 'noted') expected.push(eventId);
      else tally.met(`saga: ${type} from outside`);
    }
    this.#checkKept(row, stored);
    const heard = heardIn(this.#data.rows.stories.get(keyOf(row)) ?? []);
    if (new Set(heard).size !== heard.length) this.#wrong('I12', `${labelOf(row)} has heard ${heard.join(', ')}`);
    const words = stored.chart.context.words ?? [];
    if (isDeepStrictEqual(words, expected)) return;
    this.#wrong('I12', `${labelOf(row)} has noted ${words.join(', ')}, and was given ${expected.join(', ')}`);
  }

  /** What was said to it waits to be heard, is kept with it, or has an end that its sender can ask for. */
  #checkKept(row: KeptSaga, { kept }: Stored): void {
    const { signals, handovers } = this.#data.rows;
    for (const { id, tenant, name, eventId, state } of signals.values()) {
      if (id !== row.id || tenant !== row.tenant) continue;
      const isWaiting = [...handovers.values()].some(
        ({ handover }) => keyOf(handover) === keyOf(row) && (handover.body as Said).eventId === eventId,
      );
      const isKept = kept.some((signal) => signal.name === name && signal.eventId === eventId);
      const isSo = state === 'new' ? isWaiting : isKept === (state === 'kept');
      if (!isSo) this.#wrong('I12', `${eventId} to ${labelOf(row)} is ${state}, and the saga does not know it so`);
    }
  }

  /** A caller was told that its event was taken. */
  heard(tenant: string, name: string, key: string, { type, eventId }: Word): void {
    const row = [...this.#data.rows.sagas.values()].find(
      (saga) => saga.tenant === tenant && saga.name === name && saga.key === key,
    );
    if (row === undefined || this.#failovers > 0) return;
    if (heardIn(this.#data.rows.stories.get(keyOf(row)) ?? []).includes(JSON.stringify([type, eventId]))) return;
    this.#wrong('I12', `a caller was told that ${labelOf(row)} has taken ${eventId}, and it has not`);
  }

  /** A saga is told of what it joined what has become of that, once that has agreed. */
  #noteJoined(row: KeptSaga, was: Stored | null, stored: Stored): void {
    const { tally } = this.#course;
    for (const entry of stored.entries) {
      const before = was?.entries.find(({ id }) => id === entry.id)?.endOfJoined ?? null;
      if (entry.endOfJoined === null || before !== null) continue;
      const joined = this.#data.rows.operations.get(keyOf({ tenant: row.tenant, id: entry.id }));
      const state = joined?.state ?? 'gone';
      tally.met(`saga: joined, and told that it ${entry.endOfJoined}`);
      if (state === 'compensated' || state === 'compensating') tally.met('saga: a step met what is taken back');
      const hasAgreed = joined !== undefined && joinedIn(joined).includes(row.id);
      const isRefused = joined !== undefined && (hasEnded({ row: joined }) || isUndone({ row: joined }));
      const isSo = entry.endOfJoined === 'succeeded' ? state === 'succeeded' && hasAgreed : isRefused;
      if (!isSo)
        this.#wrong('I10', `${labelOf(row)} is told ${entry.endOfJoined} of what it joined, which is ${state}`);
    }
  }

  /** Who waits for what another saga gives up is told so, and not that it was cancelled itself. */
  #checkRefusals(turn: SagaTurn, row: KeptSaga): void {
    for (const { body } of turn.records) {
      const { refusal } = decode(body) as Said;
      if (refusal?.code === 'given-up') this.#course.tally.met('saga: joined, and told that it was given up');
      if (refusal?.code === 'cancelled')
        this.#wrong('I10', `${labelOf(row)} is told of a cancellation that is not its own`);
    }
  }

  /** Who means something else never has it together with others; it is at fault, and looks ever more seldom. */
  #checkMeaning(turn: SagaTurn, row: KeptSaga, stored: Stored): void {
    const { tally, plan } = this.#course;
    const remembered = this.#of(row);
    for (const { id, step } of stored.entries) {
      const joined = this.#data.rows.operations.get(keyOf({ tenant: row.tenant, id }));
      const isOther = isShared(step) && joined !== undefined && isMeantOtherwise(joined) !== meansOtherwise(row.key);
      if (isOther && joinedIn(joined).includes(row.id))
        this.#wrong('G3', `${labelOf(row)} has joined ${subjectOfRow(joined)}, by which it means something else`);
    }
    const isMet = meetsOther(row, this.#data.rows);
    if (!isMet) remembered.metOther = 0;
    const isAtFault = turn.records.some(({ body }) => (decode(body) as Said).fault !== undefined);
    if (!isMet || !isAtFault || plan.sagas.brokenAt !== null) return;
    tally.met(`saga: at fault with what another means${remembered.metOther > 0 ? ', again' : ''}`);
    remembered.metOther += 1;
    if (stored.fault?.times !== remembered.metOther)
      this.#wrong(
        'I18',
        `${labelOf(row)} is at fault ${remembered.metOther} times in a row, and counts ${stored.fault?.times}`,
      );
  }

  #checkStep(row: KeptSaga, stored: Stored, step: StepPlan, bookings: readonly Booking[]): void {
    const last = bookings.findLast((booking) => booking.undoes === null && booking.step === step);
    const name = bookingName(row.name, row.key, step.name);
    const ofTenant = this.#books.ledger.filter(({ subject }) => isOf(subject, row.tenant));
    const isLied = [...this.#books.liedAbout].some(
      (subject) => isOf(subject, row.tenant) && (undoneBy(orderOf(subject)) ?? orderOf(subject)) === name,
    );
    if (isLied) return;
    const booked = ofTenant.filter(({ subject }) => orderOf(subject) === name).length;
    const undone = ofTenant.filter(({ subject }) => undoneBy(orderOf(subject)) === name).length;
    const holds = `${labelOf(row)} is ${row.state}, and its provider holds ${booked} of ${step.name} and ${undone} that take it back`;
    if (undone > booked || (undone > 0 && last === undefined)) {
      if (!this.#forgotten.has(keyOf(row))) this.#wrong('I10', holds);
      return;
    }
    // What a fail-over took with it is known to nobody any more.
    if (this.#forgotten.has(keyOf(row)) && last === undefined) return;
    const remembered = this.#of(row);
    const decided = last !== undefined && remembered.decided.has(last.subject);
    const isTakenBack = booked === undone || !step.hasInverse || decided;
    if (row.state === 'compensated' && !isTakenBack) return this.#wrong('I10', holds);
    if (row.state !== 'succeeded') return;
    if (last !== undefined && isLeft(last, stored)) {
      if (!isTakenBack) this.#wrong('I10', `${holds}, and nobody waits for it`);
      return;
    }
    const shape = this.#shapeOf(row);
    const isOnItsWay = stepsIn({ parts: takenBy(shape, row.key) }).includes(step);
    const isNeeded = (shape.written === 'chain' && isOnItsWay) || last?.row.state === 'succeeded';
    const isSpared = step.onFailed === 'continue' || remembered.stated.has(step.name);
    if (booked === 0 ? isNeeded && !isSpared : undone > 0 && !this.#forgotten.has(keyOf(row)))
      this.#wrong('I10', holds);
  }

  // Answers

  told(tenant: string, name: string, key: string, result: Told): void {
    const row = [...this.#data.rows.sagas.values()].find(
      (saga) => saga.tenant === tenant && saga.name === name && saga.key === key,
    );
    if (row === undefined || !['succeeded', 'compensated', 'terminated'].includes(result.status)) return;
    const remembered = this.#of(row);
    const before = remembered.told;
    remembered.told = result;
    // What an operator has taken back, or has begun to and ended as it stood, is told so from then on.
    const isReopened = remembered.isTakenBackAtWord && before?.status !== 'compensated';
    const isOtherwise = before !== null && !isDeepStrictEqual(before, result) && !isReopened;
    if (this.#failovers === 0 && isOtherwise) {
      this.#wrong('I14', `callers were told different things about ${labelOf(row)}`);
    }
    const shape = this.#shapeOf(row);
    if (result.status !== 'succeeded' || shape.written !== 'chain') return;
    // A chain's output is the record of the outputs of its steps.
    const outputs = result.output as Readonly<Record<string, unknown>>;
    for (const [step, output] of Object.entries(outputs).flatMap(([name, each]) => this.#outputsIn(row, name, each))) {
      const effects = this.#effectsOf(row, step);
      const [effect] = effects;
      if (effect === undefined || effects.length > 1) continue;
      // Of a step that its provider refused, as it said, and charged all the same, a person's word stands.
      const isSaid = [outputOf(effect), doneByHand(step)].some((said) => isDeepStrictEqual(output, said));
      if (!isSaid) {
        this.#wrong('I16', `the output of ${step} of ${labelOf(row)} is not what its provider said`);
      }
    }
  }

  /** What each step brought, with those of a list by their place in it; nothing of one that was refused. */
  #outputsIn(row: KeptSaga, name: string, output: unknown): readonly (readonly [string, unknown])[] {
    const list = this.#shapeOf(row).parts.find((part) => part.type === 'list' && part.name === name);
    if (list?.type !== 'list') return [[name, output]];
    if (!Array.isArray(output) || output.length !== list.items.length) {
      this.#wrong('I16', `${labelOf(row)} has another number of outputs for ${name} than it has items`);
      return [];
    }
    // Made by the chart, of what its items brought.
    const brought = output as readonly unknown[];
    return list.items.flatMap((item, at) => (brought[at] === undefined ? [] : [[item.name, brought[at]] as const]));
  }

  #effectsOf({ tenant, name, key }: KeptSaga, step: string): readonly Effect[] {
    const booking = bookingName(name, key, step);
    return this.#books.ledger.filter(({ subject }) => isOf(subject, tenant) && orderOf(subject) === booking);
  }

  /** A caller who wanted it cancelled was answered. */
  cancelled(tenant: string, name: string, key: string, status: 'accepted' | 'too-late' | 'waiting'): void {
    const row = [...this.#data.rows.sagas.values()].find(
      (saga) => saga.tenant === tenant && saga.name === name && saga.key === key,
    );
    if (row === undefined || this.#failovers > 0 || status === 'waiting') return;
    const { cancelled, refusedToCancel } = this.#of(row);
    const isSo = status === 'accepted' ? cancelled !== 'no' : refusedToCancel;
    if (!isSo) this.#wrong('I14', `a caller was told ${status} about ${labelOf(row)}, and nothing says so`);
  }

  // What is noted

  #noteBooking({ row, undoes }: Booking, was: Kept['state'] | null, turn: SagaTurn): void {
    const { tally } = this.#course;
    if (row.state === was) return;
    if (row.state === 'escalated') tally.met('saga: an operation escalated');
    if (undoes !== null && row.state === 'unknown') tally.met('saga: an inverse unknown');
    const change = turn.operations.find(({ id }) => id === row.id);
    const isToldSo = change?.records.some(
      ({ body }) => (decode(body) as { event?: string }).event === 'cancel.requested',
    );
    if (row.state !== 'failed') return;
    if (undoes === null && isToldSo === true) tally.met('saga: an unsent step given up');
    if (undoes !== null && isToldSo !== true) tally.met('saga: an inverse refused');
  }

  /** What people said with this turn, and what became of it. */
  #noteWords(
    turn: SagaTurn,
    was: Stored | null,
    row: KeptSaga,
    stored: Stored,
    bookings: readonly Booking[],
    wasOf: (booking: Booking) => Kept | null,
  ): void {
    const { tally } = this.#course;
    const remembered = this.#of(row);
    // One turn takes every word that waits, and the next one finds what the one before has made.
    let isEnded = false;
    let isLedOn = false;
    for (const { body } of turn.records) {
      const said = decode(body) as Said;
      isLedOn ||= said.kind === 'signal' && said.accepted === true;
      // What was said before, in the same turn, may have led it to its end.
      const hasEndedSo = isLedOn && row.state === 'succeeded';
      if (said.ofParent !== undefined) this.#noteParentsWord(said, row, stored);
      if (said.kind === 'compensate') this.#noteTakeBack(said.accepted === true, isEnded, isLedOn, row, stored);
      if (said.kind === 'cancel')
        this.#noteCancel(said.accepted === true, isEnded || hasEndedSo, was, row, stored, bookings, wasOf);
      if (said.kind === 'terminate' && said.accepted === true) {
        isEnded = true;
        remembered.isEnded = true;
        if (bookings.some((booking) => isSent(wasOf(booking)))) {
          tally.met('saga: terminated while something is under way');
        }
      }
      const stated = statedIn(said);
      if (stated === null) continue;
      if (stated.outcome?.type === 'succeeded') {
        remembered.stated.add(stated.step ?? '');
        tally.met('saga: a person stated what a step brought');
        if (itemOf(stated.step ?? '') !== null) tally.met('saga: a person stated what an item brought');
      } else {
        tally.met('saga: a step taken again at a person’s word');
        if (itemOf(stated.step ?? '') !== null) tally.met('saga: an item taken again at a person’s word');
      }
    }
    for (const { id, records } of turn.operations) {
      for (const { body } of records) {
        const { kind, accepted, effect } = decode(body) as Said;
        const booking = bookings.find(({ row: { id: of } }) => of === id);
        if (kind !== 'compensation-verdict' || accepted !== true || booking === undefined) continue;
        remembered.decided.add(booking.subject);
        tally.met(effect === 'taken-back' ? 'saga: taken back by hand' : 'saga: left standing');
      }
    }
  }

  /** One that is a step is taken back or cancelled when the saga is that it is a step of. */
  #noteParentsWord({ kind, accepted }: Said, row: KeptSaga, { parent }: Stored): void {
    if (accepted !== true) return;
    const { tally } = this.#course;
    if (kind === 'cancel') tally.met('saga: a child cancelled by its parent');
    if (kind === 'terminate') tally.met('saga: a child ended with its parent');
    if (kind === 'compensate') tally.met('saga: a child taken back with its parent');
    const outer = this.#data.rows.sagas.get(keyOf({ tenant: row.tenant, id: parent?.id ?? '' }));
    if (outer === undefined || this.#failovers > 0) return;
    const { compensation, isTerminated } = storedIn(outer);
    const isSo = kind === 'terminate' ? isTerminated : compensation !== null;
    if (!isSo) this.#wrong('I10', `${labelOf(row)} is told to ${kind}, and ${labelOf(outer)} is ${outer.state}`);
  }

  #noteTakeBack(accepted: boolean, isEnded: boolean, isLedOn: boolean, row: KeptSaga, stored: Stored): void {
    const { tally } = this.#course;
    const remembered = this.#of(row);
    const before = this.#before.get(keyOf(row))?.state ?? null;
    const state = isEnded ? 'terminated' : before;
    if (!accepted) {
      tally.met('saga: not taken back at a person’s word, since it had not settled');
      // What has succeeded, or was ended as it stood, can be taken back.
      if (before !== null && isSagaSettled(before))
        this.#wrong('I10', `${labelOf(row)} is ${before}, and not taken back`);
      return;
    }
    // What was said before, in the same turn, may have led it to its end.
    const isOver = isLedOn && stored.compensation?.cause.code === 'requested';
    // What was decided of its operation, in the same turn, may have let it end as it stood.
    const hasEnded = remembered.isEnded && !stored.isTerminated;
    if (state === 'succeeded' || state === 'terminated' || isOver || hasEnded) {
      remembered.isTakenBackAtWord = true;
      tally.met(
        `saga: taken back at a person’s word after it was ${isOver ? 'succeeded' : hasEnded ? 'terminated' : state}`,
      );
    } else if (stored.compensation !== null && stored.compensation.cause.code !== 'requested') {
      remembered.isTakenBackInPart = true;
    } else if (!remembered.isTakenBackAtWord && state !== 'compensated')
      this.#wrong('I10', `${labelOf(row)} is ${state ?? 'new'}, and said to be taken back`);
  }

  #noteCancel(
    accepted: boolean,
    isEnded: boolean,
    was: Stored | null,
    row: KeptSaga,
    stored: Stored,
    bookings: readonly Booking[],
    wasOf: (booking: Booking) => Kept | null,
  ): void {
    const { tally } = this.#course;
    const remembered = this.#of(row);
    const { pivot } = this.#shapeOf(row);
    const ofPivot = bookings.findLast(({ step, undoes }) => undoes === null && step.name === pivot);
    const before = this.#before.get(keyOf(row));
    tally.met(accepted ? 'saga: cancelled' : 'saga: cancelled too late');
    if (accepted) {
      const pivotWas = ofPivot === undefined ? null : wasOf(ofPivot);
      const isJoined = isShared(pivot) && ofPivot === undefined;
      // It may have been asked for before, by its deadline.
      const isOpenPivot = isJoined ? stored.asked !== null : pivotWas !== null && !isSettled(pivotWas.state);
      if (isOpenPivot && stored.asked === 'cancelled') tally.met('saga: cancelled while the pivot is under way');
      // What was asked before stands.
      if (remembered.cancelled === 'no') remembered.cancelled = isOpenPivot ? 'with-pivot' : 'yes';
      if (pivotWas?.state === 'succeeded' && !remembered.isTakenBackAtWord) {
        this.#wrong('I10', `${labelOf(row)} was cancelled after its pivot`);
      }
      return;
    }
    remembered.refusedToCancel = true;
    const isOver = before !== undefined && isSagaSettled(before.state);
    const hasPivoted = endOfJoinedIn(stored, pivot) === 'succeeded' || ofPivot?.row.state === 'succeeded';
    if (!isOver && !isEnded && !hasPivoted && was?.isTerminated !== true && !stored.isTerminated) {
      this.#wrong('I10', `a cancel of ${labelOf(row)} was refused, and it could have been heeded`);
    }
  }

  #noteSaga(
    before: KeptSaga | null,
    row: KeptSaga,
    was: Stored | null,
    stored: Stored,
    bookings: readonly Booking[],
  ): void {
    const { tally } = this.#course;
    if (stored.compensation !== null && bookings.some(({ row: { state } }) => isInDoubt(state))) {
      tally.met('saga: compensation waits for what is in doubt');
    }
    if (was?.asked === 'cancelled' && stored.asked === null) {
      const { pivot } = this.#shapeOf(row);
      const has = bookings.some(({ step, row: { state } }) => step.name === pivot && state === 'succeeded');
      tally.met(has ? 'saga: cancelled, and the pivot succeeded' : 'saga: cancelled, and the pivot was refused');
    }
    if (was?.asked !== stored.asked && stored.asked === 'timed-out') {
      tally.met('saga: timed out while the pivot is under way');
    }
    if (stored.fault !== null && was?.fault == null) tally.met('saga: its definition is at fault');
    if (stored.fault !== null && stored.compensation !== null) tally.met('saga: at fault while it is taken back');
    if (stored.fault === null && was?.fault != null) tally.met('saga: at fault no more');
    if (was?.compensation == null && stored.compensation?.cause.code === 'timed-out') tally.met('saga: timed out');
    if (row.reason === 'joined' && before?.reason !== 'joined') tally.met('saga: held by one that has joined');
    if (row.reason === 'joined' && before?.reason !== 'joined' && isCrosswise(row, this.#data.rows.sagas)) {
      tally.met('saga: two hold each other');
    }
    if (before?.reason === 'joined' && row.state === 'terminated') tally.met('saga: ended while it is held');
    if (before?.reason === 'joined' && row.state === 'compensating') tally.met('saga: held no more');
    if (before?.state === row.state) return;
    if (isSagaSettled(row.state) || row.state === 'escalated') tally.met(`saga: ${row.state}`);
    if (isSagaSettled(row.state)) this.#noteLists(row, stored, bookings);
    if (row.state === 'escalated' && row.reason === 'step-failed') {
      const isOfWait = waitsInVain(row).length > 0;
      tally.met(
        isOfWait
          ? 'saga: a wait in vain, and a person was asked'
          : 'saga: a step refused after the pivot, and a person was asked',
      );
    }
    const isSound = this.#course.plan.sagas.brokenAt === null && !meetsOther(row, this.#data.rows);
    if (row.state === 'escalated' && row.reason === 'definition-fault' && isSound) {
      this.#wrong('I10', `${labelOf(row)} is said to be at fault, and its definition is sound`);
    }
  }

  #noteLists(row: KeptSaga, { compensation }: Stored, bookings: readonly Booking[]): void {
    const { tally } = this.#course;
    for (const part of this.#shapeOf(row).parts) {
      if (part.type !== 'list') continue;
      const states = part.items.flatMap(
        (item) => bookings.findLast(({ step, undoes }) => undoes === null && step === item)?.row.state ?? [],
      );
      const isRefused = states.includes('failed');
      const isTheCause = compensation?.cause.step === part.name;
      if (row.state === 'succeeded' && part.items.length === 0) tally.met('saga: a list of nothing');
      if (row.state === 'succeeded' && isRefused && part.each.onFailed === 'continue')
        tally.met('saga: an item refused, and the saga goes on without it');
      if (row.state === 'compensated' && isRefused && isTheCause && states.includes('compensated'))
        tally.met('saga: an item refused, and others of its list taken back');
    }
  }

  #turnRefused(turn: SagaTurn): void {
    const { tally } = this.#course;
    const row = this.#data.rows.sagas.get(keyOf(turn));
    if (turn.was === null && row !== undefined) tally.met('saga: a birth met the one that came first');
    if (turn.was === null || row === undefined) return;
    const fits =
      row.owner === turn.was.owner && row.generation === turn.was.generation && row.revision === turn.was.revision;
    if (!fits) tally.met('saga: a turn refused by its fence');
    else if (
      turn.timeline === this.#data.timeline &&
      turn.operations.some(({ start }) => start?.insideWindow === true)
    ) {
      tally.met('saga: a window refused the start');
    }
  }

  /** What it remembers of the rows is what is there now. */
  failedOver(before: Database['rows']): void {
    const { tally } = this.#course;
    this.#failovers += 1;
    for (const [name, row] of before.operations) {
      if (this.#data.rows.operations.get(name) !== row) this.#forgottenAlone.add(name);
    }
    for (const [name, row] of before.sagas) {
      const kept = this.#data.rows.sagas.get(name);
      if (kept === row) continue;
      this.#forgotten.add(name);
      if (kept === undefined) tally.met('saga: fail-over: a birth lost');
      else if (isSagaSettled(row.state) && !isSagaSettled(kept.state)) tally.met('saga: fail-over: an ending lost');
      if ((before.ledgers.get(name)?.length ?? 0) > (this.#data.rows.ledgers.get(name)?.length ?? 0)) {
        tally.met('saga: fail-over: a step lost');
      }
      const remembered = this.#remembered.get(name);
      if (remembered === undefined) continue;
      const bookings = kept === undefined ? [] : this.#bookingsOf(kept);
      for (const id of remembered.settled.keys()) {
        if (!bookings.some((booking) => booking.row.id === id && hasEnded(booking))) remembered.settled.delete(id);
      }
      this.#recallWords(name, remembered, kept, bookings);
      for (const subject of remembered.begun) {
        if (!isBegun(subject, remembered, bookings)) remembered.begun.delete(subject);
      }
      remembered.cancelled = 'no';
      remembered.refusedToCancel = false;
      remembered.metOther = kept === undefined ? 0 : (storedIn(kept).fault?.times ?? 0);
    }
  }

  /** Of what people have said, what the store still knows. */
  #recallWords(name: string, remembered: Remembered, kept: KeptSaga | undefined, bookings: readonly Booking[]): void {
    remembered.decided.clear();
    remembered.stated.clear();
    const compensation = kept === undefined ? null : storedIn(kept).compensation;
    remembered.isTakenBackAtWord = compensation?.cause.code === 'requested';
    remembered.isEnded = kept !== undefined && storedIn(kept).isTerminated;
    remembered.isTakenBackInPart = compensation?.isPartial === true;
    for (const { operation, body } of this.#data.rows.stories.get(name) ?? []) {
      const said = decode(body) as Said;
      const booking = bookings.find(({ row: { id } }) => id === operation);
      if (booking !== undefined && said.kind === 'compensation-verdict' && said.accepted === true) {
        remembered.decided.add(booking.subject);
      }
      const stated = operation === null ? statedIn(said) : null;
      if (stated?.outcome?.type === 'succeeded') remembered.stated.add(stated.step ?? '');
    }
  }

  // What is looked at

  #bookingsOf(saga: KeptSaga): readonly Booking[] {
    const steps = stepsIn(this.#shapeOf(saga));
    return this.#data.operationsOf(saga).map((row) => {
      const subject = subjectOfRow(row);
      const name = orderOf(subject);
      const step = steps.find((one) => one.name === stepOfBooking(name));
      if (step === undefined) throw new Error(`${subject} is no step of ${saga.name}.`);
      return { row, subject, name, undoes: undoneBy(name), step };
    });
  }

  #shapeOf({ name }: KeptSaga): SagaShape {
    const shape = shapesIn(this.#course.plan.sagas).find((one) => one.name === name);
    if (shape === undefined) throw new Error(`${name} is no saga of the plan.`);
    return shape;
  }

  #of(saga: KeptSaga): Remembered {
    const known = this.#remembered.get(keyOf(saga)) ?? {
      settled: new Map(),
      begun: new Set(),
      decided: new Set(),
      stated: new Set(),
      isTakenBackAtWord: false,
      isEnded: false,
      isTakenBackInPart: false,
      cancelled: 'no',
      refusedToCancel: false,
      metOther: 0,
      told: null,
    };
    this.#remembered.set(keyOf(saga), known);
    return known;
  }

  get #data(): Database {
    if (this.#database === null) throw new Error('The judge has not been shown the database.');
    return this.#database;
  }

  get #books(): Provider {
    if (this.#provider === null) throw new Error('The judge has not been shown the provider.');
    return this.#provider;
  }

  #wrong(invariant: string, what: string): void {
    this.#course.violated(invariant, what);
  }
}

export function labelOf({ tenant, name, key }: Pick<KeptSaga, 'tenant' | 'name' | 'key'>): string {
  return `${tenant}/${name}/${key}`;
}

/** The saga is to be taken back, and that is not done yet. */
export function isBeingTakenBack(saga: KeptSaga): boolean {
  return !isSagaSettled(saga.state) && storedIn(saga).compensation !== null;
}

/** The sagas by which one that is to be taken back is held. */
export function holdersOf(saga: KeptSaga, sagas: ReadonlyMap<string, KeptSaga>): readonly KeptSaga[] {
  return storedIn(saga).heldBy.flatMap((id) => sagas.get(keyOf({ tenant: saga.tenant, id })) ?? []);
}

/** Those that are there of the sagas that are steps of one, or one step of it; the one begun last comes first. */
export function childrenOf(
  saga: KeptSaga,
  sagas: ReadonlyMap<string, KeptSaga>,
  of: string | null = null,
): readonly KeptSaga[] {
  const begun = storedIn(saga).entries.filter(({ child, step }) => child !== null && (of === null || step === of));
  return begun.toReversed().flatMap(({ id }) => {
    const child = sagas.get(keyOf({ tenant: saga.tenant, id }));
    return child !== undefined && storedIn(child).parent?.id === saga.id ? [child] : [];
  });
}

/** The shared operations that a saga waits for: they may be its own. */
export function joinedBy(saga: KeptSaga): readonly string[] {
  return storedIn(saga)
    .entries.filter(({ step, isTold, isLeft, actor }) => isShared(step) && actor !== null && !isTold && !isLeft)
    .map(({ id }) => id);
}

/** It means by what it shares something else than who has that. */
export function meetsOther(saga: KeptSaga, { operations }: Pick<Database['rows'], 'operations'>): boolean {
  return joinedBy(saga).some((id) => {
    const row = operations.get(keyOf({ tenant: saga.tenant, id }));
    return row !== undefined && meansOtherwise(saga.key) !== isMeantOtherwise(row);
  });
}

/** Two sagas that are to be taken back, each held by the other one. */
export function isCrosswise(saga: KeptSaga, sagas: ReadonlyMap<string, KeptSaga>): boolean {
  return holdersOf(saga, sagas).some(
    (holder) => holder.reason === 'joined' && holdersOf(holder, sagas).some(({ id }) => id === saga.id),
  );
}

function isMeantOtherwise({ input }: Kept): boolean {
  // Written by the birth of the operation, whose input is an order.
  return input !== null && (decode(input) as Order).amount === OTHER_AMOUNT;
}

function endOfJoinedIn({ entries }: Stored, step: string | null): Entry['endOfJoined'] {
  return entries.find((entry) => entry.step === step && entry.actor !== null)?.endOfJoined ?? null;
}

/** The sagas that have joined an operation. */
function joinedIn(row: Kept): readonly string[] {
  // Written by the operation's chart.
  return (snapshotOf(row) as { readonly context: { readonly joined: readonly string[] } }).context.joined;
}

/** It is being taken back, or was, or a person has decided about that; what takes it back was not only given up. */
function isBegun(subject: string, { decided }: Remembered, bookings: readonly Booking[]): boolean {
  const name = orderOf(subject);
  const original = bookings.findLast((booking) => booking.subject === subject);
  const isAsBefore = original?.row.state === 'succeeded' && !decided.has(subject);
  return !isAsBefore && bookings.some(({ undoes }) => undoes === name);
}

function isUndoOf(subject: string, booking: string): boolean {
  return undoneBy(orderOf(subject)) === booking;
}

/** It is the booking of this name, or takes it back. */
function isAbout(subject: string, name: string): boolean {
  return (undoneBy(orderOf(subject)) ?? orderOf(subject)) === name;
}

function storedIn(row: KeptSaga): Stored {
  // Written by the turns of sagas.
  return snapshotOf(row) as Stored;
}

/** The order in a subject: what comes after the tenant and the action. */
function orderOf(subject: string): string {
  return subject.slice(subject.indexOf('/', subject.indexOf('/') + 1) + 1);
}

function isOf(subject: string, tenant: string): boolean {
  return subject.startsWith(`${tenant}/`);
}

/** How it ended is proven, whatever has become of it since. */
function hasEnded({ row: { state } }: Pick<Booking, 'row'>): boolean {
  return isSettled(state) || state === 'compensating';
}

/** Its inverse is under way, or was refused, or could not be begun. */
function isUndone({ row: { state, reason } }: Pick<Booking, 'row'>): boolean {
  const isAsked = reason === 'inverse-failed' || reason === 'definition-fault';
  return state === 'compensating' || (state === 'escalated' && isAsked);
}

/** How it ends is open. */
function isOpen({ row: { state }, begun }: { readonly row: Pick<Kept, 'state'>; readonly begun: boolean }): boolean {
  return !isSettled(state) && state !== 'compensating' && !(state === 'escalated' && begun);
}

function isInDoubt(state: Kept['state']): boolean {
  return state === 'unknown' || state === 'reconciling';
}

/** Whether a turn heeds such a word of a person. */
function hasWord(turn: SagaTurn | null, kind: string): boolean {
  const said = (turn?.records ?? []).map(({ body }) => decode(body) as { kind?: string; accepted?: boolean });
  return said.some((one) => one.kind === kind && one.accepted === true);
}

function isSent(row: Kept | null): boolean {
  return row !== null && (row.state === 'in-progress' || isInDoubt(row.state));
}

function isLeft({ row }: Booking, { entries }: Stored): boolean {
  return entries.some(({ id, isLeft: left }) => id === row.id && left);
}

function isIn(part: PartPlan, step: StepPlan | InnerPlan): boolean {
  return part === step || stepsOf(part).some((one) => one === step);
}

/** The list that a step is an item of; null: of none. */
function listOf({ parts }: SagaShape, step: StepPlan): ListPlan | null {
  const list = parts.find((part) => part.type === 'list' && part.items.includes(step));
  return list?.type === 'list' ? list : null;
}

/** The steps that a chain has done before it begins this one; of a machine by hand nobody but its author knows. */
function earlierThan(shape: SagaShape, step: StepPlan | InnerPlan, key: string): readonly StepPlan[] {
  if (shape.written !== 'chain') return [];
  const earlier: StepPlan[] = [];
  for (const part of takenBy(shape, key)) {
    if (part === step) return earlier;
    if (part.type === 'wait' || part.type === 'pause' || part.type === 'inner') continue;
    if (part.type === 'step') {
      earlier.push(part);
      continue;
    }
    if (part.type === 'list') {
      if (isIn(part, step)) return earlier;
      earlier.push(...part.items);
      continue;
    }
    const branch = part.branches.find((steps) => steps.some((one) => one === step));
    if (branch !== undefined)
      return [
        ...earlier,
        ...branch.slice(
          0,
          branch.findIndex((one) => one === step),
        ),
      ];
    earlier.push(...part.branches.flat());
  }
  return earlier;
}
