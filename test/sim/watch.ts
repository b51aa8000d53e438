/**
 * The judge. It looks at every change of the database's rows as it is made, at every request as it is sent, at every
 * effect as it is booked, and at every answer that a caller is given, and compares them with what the library
 * promises. It decides nothing for anybody: it reads the rows themselves, and the provider's ledger, and complains.
 */

import { isDeepStrictEqual } from 'node:util';
import type { Kept, KeptHandover } from '../../src/adapters/memory/rows.ts';
import { decode } from '../../src/domain/codec.ts';
import { isSettled } from '../../src/domain/operation-state.ts';
import { keyOf, type SagaTurn, type StoredRecord, type Turn } from '../../src/ports/store.ts';
import type { Told } from './callers.ts';
import { arrowOf, happeningOf } from './arrows.ts';
import type { Course } from './course.ts';
import type { Database } from './database.ts';
import type { Promised } from './plan.ts';
import { DRIFT_MAX, type Process } from './process.ts';
import { type Effect, outputOf, type Provider, subjectOf } from './provider.ts';
import { isSharedBooking, OTHER_AMOUNT } from './saga-shop.ts';
import { HttpWatch } from './http-watch.ts';
import type { Replies } from './replies.ts';
import { SagaWatch } from './saga-watch.ts';
import type { Order } from './shop.ts';
import type { Verb } from './verbs.ts';

/** Whatever a request says of the operation that it is for. */
interface Sent {
  readonly input: Order;
  readonly idempotencyKey: string;
  readonly attempt: number;
}

/** What a provider told of an attempt. */
interface Answered {
  readonly process: Process;
  readonly subject: string;
  readonly idempotencyKey: string;
  readonly attempt: number;
  readonly at: number;
}

/** What the store may have been told and what a process took for its time differ by no more than this. */
const ROUNDING_MS = 2;

/** No operation is looked up more often than this in one schedule. */
const LOOK_UPS_MAX = 400;

export class Watch {
  readonly #course: Course;
  readonly #sagas: SagaWatch;
  #database: Database | null = null;
  #provider: Provider | null = null;
  #replies: Replies | null = null;
  /** What goes by `http` has a judge of its own. */
  readonly http: HttpWatch;
  /** Those that do, by action. */
  readonly #byHttp: ReadonlyMap<string, Promised>;
  /** The rows as they were before the verb that is being carried out. */
  #before = new Map<string, Kept>();
  #recordsBefore = new Map<string, number>();
  #wordsBefore: readonly KeptHandover[] = [];
  /** How often an attempt was recorded as started, on any timeline, and how often it was carried out. */
  readonly #started = new Map<string, number>();
  readonly #carriedOut = new Map<string, number>();
  readonly #keys = new Map<string, string>();
  /** Which operation has a key, by its row; of a step that is taken again there are two of one subject. */
  readonly #ids = new Map<string, string>();
  readonly #lookups = new Map<string, number>();
  readonly #told = new Map<string, Told>();
  readonly #grants = new Map<string, number>();
  /** What providers told living processes. */
  readonly #answers: Answered[] = [];
  #failovers = 0;

  constructor(course: Course) {
    this.#course = course;
    this.#sagas = new SagaWatch(course);
    const { promised, sagas } = course.plan;
    const byHttp = [...promised, ...sagas.promised].filter(({ http }) => http !== null);
    this.#byHttp = new Map(byHttp.map((one) => [one.action, one]));
    this.http = new HttpWatch(course, {
      rowOf: (subject, idempotencyKey) => this.#rowOf(subject, idempotencyKey),
      recordsOf: (row) => this.#recordsOf(row),
      isLost: () => this.#failovers > 0,
    });
  }

  observe(database: Database, provider: Provider, replies: Replies): void {
    this.#database = database;
    this.#provider = provider;
    this.#replies = replies;
    this.#sagas.observe(database, provider);
  }

  get sagas(): SagaWatch {
    return this.#sagas;
  }

  get failovers(): number {
    return this.#failovers;
  }

  // Rows

  before(): void {
    const { operations, records, handovers } = this.#data.rows;
    this.#before = new Map(operations);
    this.#sagas.before();
    this.#wordsBefore = [...handovers.values()];
    this.#recordsBefore = new Map([...records].map(([name, { length }]) => [name, length]));
  }

  after(process: Process, verb: Verb, args: readonly unknown[]): void {
    const { operations } = this.#data.rows;
    // The verb says what its arguments are.
    const alone = verb === 'turn' ? (args[0] as Turn) : null;
    const ofSaga = verb === 'sagaTurn' ? (args[0] as SagaTurn) : null;
    for (const [name, before] of this.#before) {
      if (!operations.has(name)) this.#wrong('I7', `${verb} removed ${before.id}`);
    }
    let wrote = false;
    for (const [name, row] of operations) {
      const before = this.#before.get(name) ?? null;
      if (before === row) continue;
      wrote = true;
      const turn = alone ?? (ofSaga === null ? null : partOf(ofSaga, before, row));
      this.#rowChanged(process, verb, turn, args, name, before, row);
    }
    wrote = this.#sagas.after(process, verb, args, this.#before) || wrote;
    this.#checkWords(verb, wrote ? (alone ?? ofSaga) : null);
    if (alone !== null && !wrote) this.#turnRefused(alone);
  }

  #rowChanged(
    process: Process,
    verb: Verb,
    turn: Turn | null,
    args: readonly unknown[],
    name: string,
    before: Kept | null,
    row: Kept,
  ): void {
    const subject = subjectOfRow(row);
    if (this.#course.now - row.since < 1 && before?.state !== row.state) {
      this.#course.tell(process.name, `${subject}: ${before?.state ?? 'new'} -> ${row.state}${reasonOf(row)}`);
    }
    if (turn !== null && keyOf(turn) !== name) this.#wrong('I15', `a turn of ${turn.tenant}/${turn.id} wrote ${name}`);
    this.#checkNextStep(name, row);
    if (before === null) {
      if (turn?.birth === null || turn === null) this.#wrong('I5', `${verb} made an operation without a birth`);
      // A step that certainly had no effect may be taken again.
      const others = this.#others(row).filter(({ state }) => row.saga === null || state !== 'failed');
      if (others.length > 0) this.#wrong('G4', `two operations have the identity of ${subject}`);
      this.#ids.set(row.providerKey, row.id);
    } else {
      this.#checkIdentity(before, row);
      if (row.generation < before.generation) this.#wrong('I5', `the generation of ${subject} went back`);
      // A success is left by its own compensation, which sagas begin, and of what stands alone a person.
      const isAtWord = row.saga !== null || isTakenBackAtWord(turn);
      const isTakenBack = isAtWord && before.state === 'succeeded' && row.state === 'compensating';
      const isElsewhere = row.state !== before.state && !isTakenBack;
      if (isSettled(before.state) && (isElsewhere || !isDeepStrictEqual(row.output, before.output))) {
        this.#wrong('I6', `${subject} was ${before.state} and became ${row.state}`);
      }
      if (before.contradictedAt !== null && row.contradictedAt !== before.contradictedAt) {
        this.#wrong('I6', `the contradiction of ${subject} was forgotten`);
      }
      if (turn === null) this.#checkClaim(verb, args, before, row);
      else this.#checkFence(turn, before, row);
    }
    this.#checkRecords(name, subject, row);
    if (turn !== null) this.#noteTurn(turn, name, before, row);
    if (before?.state !== row.state) this.#checkEnding(subject, row);
    if (before !== null && row.saga === null && isTakenBackAtWord(turn)) this.#sagas.takenBackAlone(before, row);
  }

  /** What was handed over is there until a turn that is written takes it. */
  #checkWords(verb: Verb, written: Pick<Turn, 'id' | 'takes'> | null): void {
    const { handovers } = this.#data.rows;
    if (handovers.size >= this.#wordsBefore.length && verb !== 'turn' && verb !== 'sagaTurn') return;
    const left = new Set(handovers.values());
    for (const word of this.#wordsBefore) {
      const { handoverId, id } = word.handover;
      const isTaken = written !== null && written.id === id && written.takes.includes(handoverId);
      if (!left.has(word) && !isTaken) this.#wrong('I7', `${verb} removed ${handoverId}, which nobody has taken`);
    }
  }

  #checkIdentity(before: Kept, row: Kept): void {
    for (const part of [
      'tenant',
      'id',
      'action',
      'key',
      'providerKey',
      'fingerprint',
      'createdAt',
      'born',
      'saga',
    ] as const) {
      if (before[part] !== row[part]) this.#wrong('G2', `${part} of ${subjectOfRow(row)} changed`);
    }
  }

  #checkFence(turn: Turn, before: Kept, row: Kept): void {
    const { was } = turn;
    const subject = subjectOfRow(row);
    if (was === null) return this.#wrong('I5', `a birth of ${subject} changed a row that was there`);
    if (row.revision !== before.revision + 1) this.#wrong('I8', `the revision of ${subject} did not rise by one`);
    if (was.generation !== before.generation || was.owner !== before.owner || was.revision !== before.revision) {
      this.#wrong('I5', `a turn on generation ${was.generation}, revision ${was.revision} changed ${subject}`);
    }
    if (row.state === 'in-progress' && before.state === 'pending') this.#checkDue(before, row);
  }

  /** By the store's time; a process that counts a little fast may come early by as much. */
  #checkDue(before: Kept, row: Kept): void {
    const dueAt = (before.saga === null ? before.dueAt : this.#sagas.dueBefore(before)) ?? row.since;
    const waited = Math.max(0, dueAt - before.since);
    if (row.since < dueAt - ROUNDING_MS - waited * 2 * DRIFT_MAX) {
      this.#wrong('I13', `${subjectOfRow(row)} was started ${Math.round(dueAt - row.since)} ms before it was due`);
    }
  }

  #checkClaim(verb: Verb, args: readonly unknown[], before: Kept, row: Kept): void {
    const subject = subjectOfRow(row);
    if (row.revision !== before.revision || row.state !== before.state) {
      this.#wrong('I5', `${verb} moved ${subject} without a turn`);
    }
    if (verb === 'claim') {
      const owner = before.owner === null ? null : this.#data.rows.workers.get(before.owner);
      if (owner?.deadAt === null) this.#wrong('I4', `${subject} was claimed from ${before.owner}, which lives`);
      if (row.owner !== args[0]) this.#wrong('I4', `${subject} was claimed for ${String(row.owner)}`);
      if (row.generation <= before.generation) this.#wrong('I5', `a claim left the generation of ${subject}`);
      if (before.owner !== null) this.#course.tally.met('taken over from a worker that died');
    } else if (verb !== 'retire') {
      this.#wrong('I5', `${verb} changed ${subject}`);
    }
  }

  #checkNextStep(name: string, row: Kept): void {
    // What belongs to a saga goes on with the saga.
    if (row.saga !== null) return;
    if (isSettled(row.state) || row.state === 'escalated' || row.owner !== null || row.dueAt !== null) return;
    const { handovers } = this.#data.rows;
    if ([...handovers.values()].some(({ handover }) => keyOf(handover) === name)) return;
    this.#wrong('I7', `${subjectOfRow(row)} is ${row.state}, and nothing will ever happen to it`);
  }

  #checkRecords(name: string, subject: string, row: Kept): void {
    const records = this.#data.rows.records.get(name) ?? [];
    const known = this.#recordsBefore.get(name) ?? 0;
    if (records.length < known) this.#wrong('I8', `the history of ${subject} became shorter`);
    if (records.slice(known).some(({ revision }) => revision !== row.revision)) {
      this.#wrong('I8', `the history of ${subject} was written in the past`);
    }
    const numbers = numbersOf(records);
    if (numbers.some((number, index) => number !== index + 1)) {
      this.#wrong('I8', `the attempts of ${subject} are numbered ${numbers.join(', ')}`);
    }
  }

  /** What an ending says must be so at the provider. */
  #checkEnding(subject: string, row: Kept): void {
    if (this.#books.liedAbout.has(subject)) return;
    const effects = this.#effectsOf(subject, row).length;
    if (row.state === 'failed' && (effects > 0 || this.#books.isUnderWay(subject))) {
      this.#wrong('G5', `${subject} has failed, and ${effects > 0 ? 'is charged' : 'a request is on its way'}`);
    }
    if (row.state === 'succeeded' && effects === 0) this.#wrong('G5', `${subject} has succeeded, and is not charged`);
  }

  #noteTurn(turn: Turn, name: string, before: Kept | null, row: Kept): void {
    const { tally } = this.#course;
    for (const { kind, attempt } of turn.records) {
      if (kind !== 'start' || attempt === null) continue;
      const started = `${row.id} ${attempt}`;
      this.#started.set(started, (this.#started.get(started) ?? 0) + 1);
      if (attempt > 1 && turn.start?.insideWindow === true) tally.met('sent again under the same key');
    }
    if (turn.records.some(isAssumed)) tally.met('fail-over: a lost start assumed');
    if (row.reason === 'timeline-changed') tally.met('fail-over: a person was asked');
    if (row.reason === 'definition-fault' && this.#course.plan.sagas.brokenAt !== 'an inverse') {
      this.#wrong('I10', `the inverse of ${subjectOfRow(row)} is said to be at fault, and its definition is sound`);
    }
    if (row.reason === 'two-effects') tally.met('two effects, and a person was told');
    if (before !== null) this.#noteArrows(turn, before, row);
    for (const { kind, body } of turn.records) this.#noteRecord(kind, body, turn.contradicted);
    const promised = this.#byHttp.get(row.action);
    const all = this.#data.rows.records.get(name) ?? [];
    if (promised !== undefined) this.http.note({ promised, row, records: turn.records, all });
    for (const { kind, body } of turn.records)
      if (kind === 'verdict') this.#checkVerdict(subjectOfRow(row), before, body);
    if (turn.records.some(({ kind }) => kind === 'verdict') && row.state === 'pending') {
      this.#grants.set(name, (this.#grants.get(name) ?? 0) + 1);
    }
  }

  #noteArrows(turn: Turn, before: Kept, row: Kept): void {
    // A turn of several happenings passes through states of which only the row of states is told. That a start may
    // be lost is reckoned with beside what happened.
    const last = turn.records.at(-1);
    const happened = turn.records.filter((record) => !isAssumed(record));
    if (last === undefined || happened.length > 1) return;
    const states = statesIn(last);
    const kind = happened[0]?.kind ?? 'moved';
    const happening = happeningIn(kind, happened[0]?.body);
    const [first = before.state, ...more] = states;
    this.#arrow(before.state, happening, first, row.reason);
    let from = first;
    for (const next of more) {
      this.#arrow(from, 'always', next, row.reason);
      from = next;
    }
  }

  #arrow(from: string, happening: string, to: string, reason: string | null): void {
    const { tally } = this.#course;
    const told = arrowOf(from, happening, to, to === 'escalated' ? reason : null);
    const plain = arrowOf(from, happening, to, null);
    if (tally.knows(told)) tally.met(told);
    else if (tally.knows(plain)) tally.met(plain);
    // A refused decision and a word about something settled move nothing.
    else if (from !== to) this.#wrong('chart', `${told} is no arrow of the chart`);
  }

  #noteRecord(kind: StoredRecord['kind'], body: unknown, contradicts: boolean): void {
    const { tally } = this.#course;
    // Bodies are objects of the orchestrator's making.
    const { kind: said, reason, accepted, source } = body as Readonly<Record<string, unknown>>;
    if (kind === 'end' && reason === 'its time to be sent had passed') tally.met('sent too late, and refused');
    if (kind === 'end' && reason === 'its worker had lost its claim') tally.met('claim lost before the request left');
    if (kind === 'end' && reason === 'the worker was lost before the outcome was recorded') {
      tally.met('claim lost while the request was on its way');
    }
    if (kind === 'evidence' && source === 'late-result' && accepted === true) {
      tally.met(contradicts ? 'a late result contradicted what had settled' : 'a late result applied');
    }
    if (said === 'verification' && accepted === true)
      tally.met(`fail-over: what had settled was ${contradicts ? 'contradicted' : 'confirmed'}`);
    if (kind === 'verdict' && accepted === false) tally.met('a decision refused');
    if (kind === 'cancel' && accepted === false) tally.met('cancelled too late');
  }

  /** A decision is obeyed on the history that the person has read, and on no other of as many turns. */
  #checkVerdict(subject: string, before: Kept | null, body: unknown): void {
    // Bodies are objects of the orchestrator's making.
    const { accepted, seen, kind } = body as Readonly<Record<string, unknown>>;
    if (accepted !== true || kind === 'compensate-operation' || seen === `${before?.revision}.${before?.turn}`) return;
    this.#wrong('I19', `a decision on ${String(seen)} was applied to ${subject}, whose history is another one`);
  }

  #turnRefused(turn: Turn): void {
    const { tally } = this.#course;
    const row = this.#data.rows.operations.get(keyOf(turn));
    if (turn.was === null || row === undefined) return;
    const fits =
      row.owner === turn.was.owner && row.generation === turn.was.generation && row.revision === turn.was.revision;
    if (!fits) tally.met('a turn refused by its fence');
    else if (turn.start?.insideWindow === true && turn.start.timeline === this.#data.timeline) {
      tally.met('a window refused the start');
    }
  }

  /** The rows have gone back: what is compared with is what is there now. */
  failedOver(before: Database['rows']): void {
    const { tally } = this.#course;
    this.#failovers += 1;
    this.#sagas.failedOver(before);
    for (const [name, row] of before.operations) {
      const kept = this.#data.rows.operations.get(name);
      if (kept === undefined) tally.met('fail-over: a birth lost');
      else if (isSettled(row.state) && !isSettled(kept.state)) tally.met('fail-over: an ending lost');
      if (startsIn(before.records.get(name)) > startsIn(this.#data.rows.records.get(name))) {
        tally.met('fail-over: a start lost');
      }
    }
  }

  // Requests

  sends(process: Process, promised: Promised, { input, idempotencyKey, attempt }: Sent): void {
    const subject = subjectOf(promised.action, input);
    this.#checkKey(subject, idempotencyKey, 'sent');
    const row = this.#rowOf(subject, idempotencyKey);
    const started = `${this.#ids.get(idempotencyKey) ?? subject} ${attempt}`;
    const carriedOut = (this.#carriedOut.get(started) ?? 0) + 1;
    this.#carriedOut.set(started, carriedOut);
    if ((this.#started.get(started) ?? 0) < carriedOut) {
      this.#wrong('G1', `attempt ${attempt} of ${subject} is sent, and was not recorded`);
    }
    this.#keys.set(subject, idempotencyKey);
    for (const [other, otherKey] of this.#keys) {
      if (other !== subject && otherKey === idempotencyKey) this.#wrong('G14', `${other} and ${subject} share a key`);
    }
    this.#checkInput(subject, input);
    if (row === null) {
      if (this.#failovers === 0) this.#wrong('G1', `${subject} is sent, and no row knows of it`);
      return;
    }
    const start = this.#startOf(row, attempt);
    if (start !== null) this.#checkSendBy(process, promised, subject, start);
    if (this.#failovers === 0) this.#checkStateAtSend(subject, row, attempt);
    this.#checkWindow(promised, subject, start, idempotencyKey);
    this.#checkBudget(promised, subject, row);
    this.#sagas.sends(subject, input, row);
  }

  #checkKey(subject: string, idempotencyKey: string, how: string): void {
    const key = this.#keys.get(subject);
    if (key === undefined || key === idempotencyKey) return;
    // A step that was taken again is another operation, of which there is a row.
    const isAnother = this.#ids.has(idempotencyKey) && this.#ids.get(idempotencyKey) !== this.#ids.get(key);
    const isOfSaga = [...this.#data.rows.operations.values()].some(
      (row) => row.saga !== null && subjectOfRow(row) === subject,
    );
    if (!isAnother || !isOfSaga) this.#wrong('G2', `${subject} is ${how} under another key`);
  }

  #checkSendBy(process: Process, promised: Promised, subject: string, start: StoredRecord): void {
    const lateMs = this.#course.now - (start.at + promised.sendWithinMs * (1 + 2 * DRIFT_MAX));
    if (lateMs > ROUNDING_MS) this.#wrong('I4', `${subject} is sent ${Math.round(lateMs)} ms after its send-by`);
    const owners = [...this.#data.rows.workers].filter(([id]) => id.startsWith(`${process.name}#`));
    const beatAt = Math.max(...owners.filter(([, { deadAt }]) => deadAt === null).map(([, { beatAt: at }]) => at));
    const oldest = this.#course.plan.heartbeat.timeoutMs * (1 + 2 * DRIFT_MAX) + ROUNDING_MS;
    if (this.#failovers === 0 && this.#course.now - beatAt > oldest) {
      this.#wrong('I4', `${subject} is sent by ${process.name}, which has not been heard of in time`);
    }
  }

  #checkStateAtSend(subject: string, row: Kept, attempt: number): void {
    const isInDoubt = row.state === 'unknown' || row.state === 'reconciling' || row.state === 'escalated';
    if (isInDoubt) this.#wrong('I3', `${subject} is sent, attempt ${attempt}, while it is ${row.state}`);
  }

  /** What may still take effect, or has, is repeated only while the provider knows the key. */
  #checkWindow(promised: Promised, subject: string, start: StoredRecord | null, idempotencyKey: string): void {
    const first = this.#books.effectsOf(subject).find((effect) => effect.idempotencyKey === idempotencyKey);
    const isRepeated = first !== undefined || this.#books.isUnderWay(subject);
    if (!isRepeated || start === null) return;
    if (promised.keyRetentionMs === null) {
      this.#wrong('I2', `${subject} is sent again, and its provider knows no keys`);
    } else if (first !== undefined && this.#course.agenda.now >= first.at + promised.keyRetentionMs) {
      this.#wrong('I2', `${subject} is sent again after its key was forgotten`);
    }
  }

  #checkBudget(promised: Promised, subject: string, row: Kept): void {
    const name = keyOf(row);
    const refused = (this.#data.rows.records.get(name) ?? []).filter(
      ({ kind, body }) => kind === 'end' && (body as { sent?: unknown }).sent === false,
    ).length;
    const allowed = promised.attempts + (this.#grants.get(name) ?? 0) + refused + this.#failovers;
    const sent = [...this.#carriedOut].filter(([started]) => started.startsWith(`${row.id} `));
    const count = sent.reduce((sum, [, times]) => sum + times, 0);
    if (count > allowed + this.#failovers * promised.attempts) {
      this.#wrong('I18', `${subject} is sent ${count} times; ${allowed} are allowed`);
    }
  }

  #checkInput(subject: string, input: Order): void {
    // After a fail-over the order may be a new one, of whoever came first with another amount. What a step of a saga
    // notes is looked at with its saga.
    const { note, ...wanted } = orderOf(input.tenant, input.order);
    const isOfSaga = this.#sagas.isBooking(input.order);
    const { note: noted, ...given } = input;
    // By what they share sagas may mean two things.
    const isOther = isSharedBooking(input.order) && input.amount === OTHER_AMOUNT;
    const submitted = isOther ? { ...given, amount: wanted.amount } : given;
    const isSame = isDeepStrictEqual(submitted, wanted) && (isOfSaga || noted === note);
    if (this.#failovers === 0 && !isSame) {
      this.#wrong('I16', `the input of ${subject} is not what was submitted`);
    }
  }

  asks(process: Process, promised: Promised, { input, idempotencyKey }: Omit<Sent, 'attempt'>): void {
    const subject = subjectOf(promised.action, input);
    this.#course.tell(process.name, `looks ${subject} up`);
    this.#checkKey(subject, idempotencyKey, 'looked up');
    const lookups = (this.#lookups.get(subject) ?? 0) + 1;
    this.#lookups.set(subject, lookups);
    if (lookups > LOOK_UPS_MAX) this.#wrong('I18', `${subject} was looked up ${lookups} times`);
  }

  charged({ subject, idempotencyKey }: Effect): void {
    this.#sagas.charged(subject);
    if (this.#books.liedAbout.has(subject)) return;
    const row = this.#rowOf(subject, idempotencyKey);
    const effects = row === null ? this.#books.effectsOf(subject) : this.#effectsOf(subject, row);
    if (row !== null && effects.length > 1 && this.#isReleased(row, effects)) {
      this.#course.tally.met('http: done twice, since an error that nobody heard of had released the key');
      this.#books.liedAbout.add(subject);
      return;
    }
    if (effects.length > 1) this.#wrong('I1', `${subject} is charged ${effects.length} times`);
    if (row?.state === 'failed') this.#wrong('G5', `${subject} is charged, and had failed`);
  }

  /**
   * Who answers with an error, forgets the key over it and has done it all the same keeps no promise that a key is worth
   * anything for; that has to be known to be heeded. Once the error is in the history, nothing is sent unasked.
   */
  #isReleased(row: Kept, effects: readonly Effect[]): boolean {
    const records = this.#recordsOf(row);
    return effects.some(({ reference }) => {
      const released = this.#replies?.released.get(reference);
      if (released === undefined) return false;
      const heardAt = records.findIndex(
        ({ kind, attempt, body }) => kind === 'end' && attempt === released.attempt && statusIn(body) === 500,
      );
      return heardAt === -1 || !records.slice(heardAt).some(({ kind }) => kind === 'start');
    });
  }

  /**
   * Of a step that is taken again after a fail-over had forgotten how it had ended, there may be a record under each of
   * the two keys; without a fail-over there is one at most.
   */
  #effectsOf(subject: string, { saga, providerKey }: Kept): readonly Effect[] {
    const effects = this.#books.effectsOf(subject);
    if (saga === null || this.#failovers === 0) return effects;
    return effects.filter(({ idempotencyKey }) => idempotencyKey === providerKey);
  }

  /** A provider's answer has reached a process that lives. */
  answered(process: Process, subject: string, { idempotencyKey, attempt }: Omit<Sent, 'input'>): void {
    this.#answers.push({ process, subject, idempotencyKey, attempt, at: this.#course.agenda.now });
  }

  /**
   * What a provider told a process that still lives, however late, and no history tells yet. It is lost only if it never
   * gets there: until the store has taken it, whoever heard it hands it over again.
   */
  get untold(): readonly Answered[] {
    return this.#answers.filter((answered) => answered.process.state === 'running' && !this.#isTold(answered));
  }

  /** Nothing is lost of what a provider told a process that lives on. */
  checkAnswers(): void {
    for (const { subject, attempt } of this.untold) {
      this.#wrong('I7', `what was answered to attempt ${attempt} of ${subject} is in no history`);
    }
  }

  /** Who has stopped in time has given nothing up: what it was told before then is there for the others. */
  checkLeft(process: Process, askedAt: number): void {
    for (const answered of this.untold) {
      if (answered.process !== process || answered.at > askedAt || this.#isHandedOver(answered)) continue;
      const { subject, attempt } = answered;
      this.#wrong('I7', `${process.name} has stopped with what was answered to attempt ${attempt} of ${subject}`);
    }
  }

  #isTold({ subject, idempotencyKey, attempt }: Answered): boolean {
    const row = this.#rowOf(subject, idempotencyKey);
    if (this.#failovers > 0 || row === null) return true;
    return this.#recordsOf(row).some(({ kind, attempt: of, body }) => of === attempt && tellsOutcome(kind, body));
  }

  #isHandedOver({ subject, idempotencyKey, attempt }: Answered): boolean {
    const row = this.#rowOf(subject, idempotencyKey);
    return [...this.#data.rows.handovers.values()].some(({ handover }) => {
      // Written by the orchestrator, of which words about attempts name both.
      const { kind, ...of } = decode(handover.body) as Readonly<Record<string, unknown>>;
      return kind === 'evidence' && of['operation'] === row?.id && of['attempt'] === attempt;
    });
  }

  /** At the end: who was shown records under two names has said so, or a person has decided. */
  #checkNames(): void {
    for (const [name, row] of this.#data.rows.operations) {
      const records = this.#data.rows.records.get(name) ?? [];
      const names = new Set(records.flatMap(({ kind, body }) => namesIn(kind, body)));
      const isDecided = records.some(({ kind, body }) => kind === 'verdict' && (body as Accepted).accepted === true);
      if (names.size < 2 || isDecided || row.contradictedAt !== null || row.reason === 'two-effects') continue;
      this.#wrong('I6', `${subjectOfRow(row)} is ${row.state}, and is known by ${[...names].join(' and ')}`);
    }
  }

  // Answers

  /** A caller is told how it ended. */
  told(subject: string, result: Told): void {
    if (result.status !== 'succeeded' && result.status !== 'failed') return;
    const before = this.#told.get(subject);
    this.#told.set(subject, result);
    if (this.#failovers === 0 && before !== undefined && !isDeepStrictEqual(before, result)) {
      this.#wrong('I14', `callers were told different things about ${subject}`);
    }
    const [effect] = this.#books.effectsOf(subject);
    if (result.status !== 'succeeded' || effect === undefined || this.#books.liedAbout.has(subject)) return;
    if (!isDeepStrictEqual(result.output, outputOf(effect))) {
      this.#wrong('I16', `the output of ${subject} is not what its provider said`);
    }
  }

  /** At the end: a contradiction is shown where the ledger says something else, and nowhere else. */
  checkContradictions(): void {
    this.#sagas.checkEndings();
    this.#checkNames();
    for (const row of this.#data.rows.operations.values()) {
      const subject = subjectOfRow(row);
      if (row.contradictedAt === null || this.#books.liedAbout.has(subject)) continue;
      this.#wrong('I6', `${subject} is ${row.state} and said to be contradicted, and its provider agrees`);
    }
  }

  logged(process: Process): void {
    const [first] = process.errors;
    if (first !== undefined) this.#wrong('I18', `${process.name} wrote an error to its log: ${first}`);
  }

  // What is looked at

  /** Of a step that was taken again the one with this key, or else the last. */
  #rowOf(subject: string, idempotencyKey: string): Kept | null {
    const rows = [...this.#data.rows.operations.values()].filter((row) => subjectOfRow(row) === subject);
    return rows.find(({ providerKey }) => providerKey === idempotencyKey) ?? rows.at(-1) ?? null;
  }

  #others(row: Kept): Kept[] {
    return [...this.#data.rows.operations.values()].filter(
      (other) => other !== row && subjectOfRow(other) === subjectOfRow(row),
    );
  }

  #recordsOf(row: Kept): readonly StoredRecord[] {
    return this.#data.rows.records.get(keyOf(row)) ?? [];
  }

  #startOf(row: Kept, attempt: number): StoredRecord | null {
    return this.#recordsOf(row).findLast((record) => record.kind === 'start' && record.attempt === attempt) ?? null;
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

/** What is submitted for an order, always the same. */
export function orderOf(tenant: string, order: string): Order {
  return { tenant, order, amount: 1_200n, placed: new Date(0), note: undefined };
}

/** It is named by what it is submitted with: the key of a step or of an inverse is the library's own matter. */
export function subjectOfRow({
  tenant,
  action,
  key,
  input,
}: Pick<Kept, 'tenant' | 'action' | 'key' | 'input'>): string {
  return subjectOf(action, { tenant, order: input === null ? key : orderIn(input) });
}

const ordersIn = new WeakMap<object, string>();

/** The order that an input names. Rows are replaced, and their input is not. */
function orderIn(input: Kept['input']): string {
  // Of every operation an order is the input, which is an object.
  const encoded = input as object;
  const known = ordersIn.get(encoded) ?? (decode(input) as Order).order;
  ordersIn.set(encoded, known);
  return known;
}

/** What the turn of a saga says of one of its operations, as a turn of it alone; null: nothing. */
function partOf(turn: SagaTurn, before: Kept | null, row: Kept): Turn | null {
  const change = turn.operations.find(({ id }) => id === row.id);
  if (change === undefined || row.saga !== turn.id || row.tenant !== turn.tenant) return null;
  const { birth, start, id, state, reason, contradicted, format, snapshot, output, records } = change;
  const { tenant, turn: name, timeline, takes } = turn;
  return {
    ...{ tenant, id, turn: name, state, reason, contradicted, format, snapshot, output, records, takes },
    ...{ owner: null, generation: 0, dueInMs: null },
    birth: birth === null ? null : { ...birth, tenant },
    was: before === null ? null : { owner: null, generation: 0, revision: before.revision },
    // A turn with a start names the timeline that it rests on.
    start: start === null ? null : { ...start, timeline: timeline ?? '' },
  };
}

/** What happened to an operation, as the arrows of its chart have it. */
function happeningIn(kind: StoredRecord['kind'], body: unknown): string {
  const { kind: said } = (body ?? {}) as { readonly kind?: string };
  if (said === 'compensate-operation') return happeningOf('compensation.begun');
  if (said === 'join') return happeningOf('join.requested');
  if (kind !== 'start' && kind !== 'moved') return kind;
  const { event } = (body ?? {}) as { readonly event?: string };
  return event === undefined ? 'due' : happeningOf(event);
}

/** A person's word to take back an operation that stands alone is heeded by the turn. */
function isTakenBackAtWord(turn: Turn | null): boolean {
  const said = (turn?.records ?? []).map(({ body }) => body as Accepted & { readonly kind?: string });
  return said.some(({ kind, accepted }) => kind === 'compensate-operation' && accepted === true);
}

interface Accepted {
  readonly accepted?: boolean;
}

/** Of the reply that ended an attempt. */
function statusIn(body: unknown): number | undefined {
  // Bodies are objects of the orchestrator's making.
  return (body as { readonly reply?: { readonly status?: number } }).reply?.status;
}

/** A record that says how an attempt ended. */
function tellsOutcome(kind: StoredRecord['kind'], body: unknown): boolean {
  // Bodies are objects of the orchestrator's making.
  const { outcome, source } = body as Readonly<Record<string, unknown>>;
  return kind === 'end' ? outcome !== 'unknown' : kind === 'evidence' && source === 'late-result';
}

/** The names under which a record of the history shows successes. */
function namesIn(kind: StoredRecord['kind'], body: unknown): string[] {
  interface Named {
    readonly type?: string;
    readonly reference?: string;
  }
  const said = body as Accepted & {
    readonly outcome?: unknown;
    readonly reference?: string;
    readonly records?: readonly Named[];
    readonly references?: readonly (string | null)[];
  };
  const named = ({ type, reference }: Named) =>
    reference !== undefined && type !== undefined && type.startsWith('succeeded') ? [reference] : [];
  if (kind === 'end') return named({ ...said, type: String(said.outcome) });
  if (kind === 'evidence' && said.accepted === true) return named((said.outcome ?? {}) as Named);
  if (kind !== 'lookup' || said.accepted === false) return [];
  return [...(said.records ?? []).flatMap(named), ...(said.references ?? []).filter((name) => name !== null)];
}

function reasonOf({ reason }: Kept): string {
  return reason === null ? '' : ` (${reason})`;
}

/** The attempts of a history in the order in which they were begun, or assumed to have been. */
function numbersOf(records: readonly StoredRecord[]): number[] {
  return records
    .filter(({ kind, attempt }) => attempt !== null && (kind === 'start' || kind === 'moved'))
    .map(({ attempt }) => attempt ?? 0);
}

/** An attempt of which no start is recorded, since a fail-over may have lost it. */
function isAssumed({ kind, attempt }: Pick<StoredRecord, 'kind' | 'attempt'>): boolean {
  return kind === 'moved' && attempt !== null;
}

function startsIn(records: readonly StoredRecord[] = []): number {
  return records.filter(({ kind }) => kind === 'start').length;
}

function statesIn({ body }: { readonly body: unknown }): string[] {
  // The last record of a turn tells the states it passed through.
  const { states } = decode(body as never) as { states?: string[] };
  return states ?? [];
}
