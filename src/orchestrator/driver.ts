/**
 * Drives aggregates: every turn is computed, written, and only then acted upon. What this process holds is a copy; the
 * store's row is the truth, and a turn that the store refuses means that somebody else holds the aggregate now. Events
 * of one aggregate are taken one after the other; aggregates do not wait for each other.
 */

import type { Limits } from '../domain/limits.ts';
import { decode } from '../domain/codec.ts';
import type { AttemptResult } from '../domain/attempt.ts';
import { isSagacityError } from '../domain/errors.ts';
import type { CancelTimer, Clock } from '../ports/clock.ts';
import type { Logger } from '../ports/logger.ts';
import type { Caller } from '../ports/caller.ts';
import type { Random } from '../ports/random.ts';
import type { Sender } from '../ports/sender.ts';
import {
  keyOf,
  type OperationRef,
  type Store,
  type StoreInTransaction,
  type Timeline,
  type Turn,
} from '../ports/store.ts';
import type { Wake, Waker } from '../ports/waker.ts';
import type { OperationHappening } from './advance.ts';
import {
  type Aggregate,
  type AggregateKind,
  type AnyReceipt,
  type AnyRow,
  type AnyTurn,
  type Happening,
  isOutsideWindow,
  isSagaRow,
  type Made,
  type Member,
  type Moment,
  type Newborn,
  type Others,
  restsOnStarts,
  type Timer,
  type Times,
} from './aggregate.ts';
import { commit, readByIdentity, repeated, writeTurn } from './commit.ts';
import { emptyHand, Hand, type Startable } from './hand.ts';
import { type Evidence, type HandedOver, toBody } from './handover.ts';
import { lookUp } from './look-up.ts';
import { type AttemptEnd, endOf, perform } from './perform.ts';
import { Alarms } from './alarms.ts';
import type { Condition } from './breaker.ts';
import type { Errand, Permit, Permits } from './permits.ts';
import { contextOf, stateOf } from './row.ts';
import { firstSentAt } from './start.ts';
import { msSince, type Stamp, stampNow } from './stamp.ts';
import type { Watchers } from './watchers.ts';
import type { Worker } from './worker.ts';

/** What the driver works with. */
export interface Surroundings {
  readonly store: Store;
  readonly waker: Waker;
  readonly clock: Clock;
  readonly random: Random;
  readonly caller: Caller;
  readonly sender: Sender;
  readonly limits: Limits;
  readonly logger: Logger;
  /** Makes an aggregate of what is stored. Throws when this version cannot read it, or has no definition of it. */
  readonly aggregateFrom: (row: AnyRow) => Aggregate;
  readonly permits: Permits;
  readonly watchers: Watchers;
  readonly worker: Worker;
  /** How old a commit may be that a fail-over loses, and how late after it a lost submission is repeated. */
  readonly verifyAfterFailoverMs: number;
  /** This is due, and there was no permit for it. */
  readonly onBacklog: (ref: OperationRef) => void;
}

/** An aggregate that this worker owns. */
interface Held {
  readonly worker: string;
  readonly generation: number;
  /** Where the store was when this worker took it up. */
  readonly timeline: Timeline;
  aggregate: Aggregate;
  told: Told;
  /** What is being carried out of each of its operations. */
  readonly live: Map<string, Live>;
  /** Events are taken in this order, one at a time. */
  queue: Promise<void>;
  /** How many of them have not been taken yet, the one that is being taken included. */
  queued: number;
  dropped: boolean;
}

/** What is being carried out of one operation. */
interface Live {
  attempt: AbortController | null;
  lookup: AbortController | null;
  awaitsPermit: boolean;
}

/** What is known of it when this worker takes it up. */
type Holding = Pick<Held, 'worker' | 'generation' | 'timeline' | 'aggregate' | 'told'>;

/** What a submission met: it created the aggregate, or `row` has the identity already. */
type Met = { readonly created: true } | { readonly created: false; readonly row: AnyRow };

/** What the store said last about the row, and when this process heard it. */
interface Told {
  readonly revision: number;
  readonly now: number;
  readonly heardAt: Stamp;
}

/** What is waiting and not due sooner than this is given back, and owned by nobody meanwhile. */
const HOLD_MS = 10_000;

/** A look-up that the store put off is tried again after this pause. */
const LOOKUP_AGAIN_MS = 1_000;

/** A turn that the store's window condition refused is computed again on fresh facts, this often at most. */
const RECOMPUTE_MAX = 3;

export class Driver {
  readonly #around: Surroundings;
  readonly #alarms: Alarms;
  readonly #held = new Map<string, Held>();
  readonly #running = new Set<Promise<void>>();
  /** The signals of every attempt and look-up that is being carried out, held or not. */
  readonly #signals = new Set<AbortController>();
  /** Those that were aborted for another reason than their provider. */
  readonly #givenUp = new WeakSet<AbortController>();
  /** What ends the pauses before something is taken up again. */
  readonly #pauses = new Set<CancelTimer>();
  /** The last word of the store, on the timeline that this worker is on. */
  #lastTold: Told | null = null;
  #draining = false;
  #aborted = false;
  #closed = false;

  constructor(around: Surroundings) {
    this.#around = around;
    this.#alarms = new Alarms(around.logger, around.clock);
  }

  /** Nothing new is begun from now on; what is in flight goes on. */
  drain(): void {
    this.#draining = true;
    this.#around.permits.stop();
  }

  /** Resolves when nothing is in flight any more. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled([...this.#running]);
  }

  /** How many attempts and look-ups are on their way, or wait for a permit to be. */
  get inFlight(): number {
    return this.#signals.size;
  }

  /** Aborts what is in flight; its outcome is recorded as unknown. */
  abort(): void {
    this.#aborted = true;
    for (const signal of this.#signals) this.#giveUp(signal, 'The orchestrator is stopping.');
  }

  #giveUp(signal: AbortController, why: string): void {
    this.#givenUp.add(signal);
    signal.abort(new Error(why));
  }

  /**
   * A wake for each that it holds and that is due later, and in how long. Retired from, it is nobody's until then, under
   * the next generation; but a saga is due at once.
   */
  dueLater(): readonly { readonly wake: Wake; readonly waitMs: number }[] {
    return [...this.#held.values()].flatMap(({ aggregate, generation, told }) => {
      const waits = [...aggregate.members.values()].map(({ dueAt }) => (dueAt ?? 0) - this.#storeNow(told));
      const later = waits.filter((waitMs) => waitMs > 0);
      if (aggregate.kind === 'saga' || later.length === 0) return [];
      const { tenant, id: operationId } = aggregate.ref;
      return [{ wake: { tenant, operationId, generation: generation + 1 }, waitMs: Math.min(...later) }];
    });
  }

  /** Writes nothing from now on. */
  close(): void {
    this.#closed = true;
    for (const cancelTimer of this.#pauses) cancelTimer();
    this.dropAll();
  }

  /** Forgets what it holds without writing: another worker owns it. Attempts in flight go on and become evidence. */
  dropAll(): void {
    for (const held of this.#held.values()) this.#drop(held);
    // What comes next may be another timeline, whose clock is another one.
    this.#lastTold = null;
  }

  /**
   * Creates an aggregate, with its first attempts as far as there are permits. Resolves when it is durable, or to the row
   * that has the identity already.
   */
  submit(newborn: Newborn, mayStart: boolean): Promise<Met> {
    const submitting = this.#submit(newborn, mayStart);
    // A stop waits for it: the store must not close under a birth that is on its way.
    this.#track(submitting.then(ignored, ignored));
    return submitting;
  }

  /** Creates it in the caller's transaction; it begins when a sweep, or whoever hears of the commit, finds it there. */
  async submitWithin(newborn: Newborn, inside: StoreInTransaction): Promise<Met> {
    const made = newborn.born(this.#momentOfBirth(emptyHand));
    const turn = made.turn({ turn: this.#around.random.id(), owner: null, generation: 0, timeline: '', lostForMs: 0 });
    if ((await writeTurn(inside, turn)) !== null) return { created: true };
    const row = await readByIdentity(inside, turn);
    if (row === null) throw (await newborn.hindrance(inside)) ?? inexplicable(newborn);
    return { created: false, row };
  }

  async #submit(newborn: Newborn, mayStart: boolean, rounds = RECOMPUTE_MAX): Promise<Met> {
    const { store, clock, permits, worker } = this.#around;
    const { ref } = newborn;
    // Named now: while the turn is on its way the worker may end, and goes on under another id.
    const { id: recordedBy, timeline } = worker;
    const begins = mayStart && !this.#draining && worker.isFresh && !this.#mayBeRepeated(timeline);
    const hand = new Hand(permits, ref.tenant, begins ? newborn.startsAtMost : 0);
    try {
      const stamp = stampNow(clock);
      const made = newborn.born(this.#momentOfBirth(hand));
      hand.close(made.starts);
      const owner = made.isUnderWay ? recordedBy : null;
      const turn = made.turn({
        turn: this.#around.random.id(),
        owner,
        generation: owner === null ? 0 : 1,
        timeline: timeline.id,
        lostForMs: 0,
      });
      const deadline = clock.monotonic() + SUBMIT_PATIENCE_MS;
      let inDoubt = false;
      const committed = await commit(store, clock, turn, ({ code }) => {
        inDoubt ||= code === 'STORE_IN_DOUBT';
        // A store that is known not to have written anything is the caller's to try again, at once.
        return !inDoubt || this.#closed || clock.monotonic() >= deadline;
      }).catch((error: unknown) => {
        // The caller is told; here it is followed up until it is known, for it may be written long after.
        if (inDoubt) this.#track(this.#followUp(newborn, turn));
        throw error;
      });
      if (committed.type === 'refused') {
        hand.close([]);
        const { row } = committed;
        if (row === null) {
          const hindrance = await newborn.hindrance(store);
          if (hindrance !== null || rounds === 0) throw hindrance ?? inexplicable(newborn);
          // The store failed over, and what had the identity is gone, or the start was refused. On its new timeline this
          // may be the repetition of a submission that is lost, and is not sent at once.
          if (restsOnStarts(turn)) await this.#leave(timeline);
          return await this.#submit(newborn, false, rounds - 1);
        }
        // Written by a repetition whose reply was lost, and moved on since by whoever holds it now.
        return row.born === turn.turn ? { created: true } : { created: false, row };
      }
      const { receipt } = committed;
      const told = this.#toldBy(receipt);
      for (const changed of made.changes) this.#around.watchers.changed(changed, made.rests);
      made.afterwards(this.#around.logger);
      if (owner === null) {
        // Without a permit it is anybody's; this worker takes it with others, when it has room.
        if (made.waitMs !== null && made.waitMs > 0) this.#wake(ref, 0, made.waitMs, 'anybodys');
        else if (made.waitMs === 0 && permits.free > 0 && !hand.isShort) this.#wake(ref, 0, 0, 'anybodys');
        else if (made.waitMs === 0) this.#around.onBacklog(ref);
        return { created: true };
      }
      if (this.#held.has(keyOf(ref))) {
        // The reply took so long that its worker was over meanwhile, and this process has taken it up anew.
        hand.close([]);
        return { created: true };
      }
      const aggregate = made.after(receipt, turn.turn);
      const held = this.#hold({ worker: recordedBy, generation: 1, timeline, aggregate, told });
      this.#performAll(held, made.starts, stamp, hand);
      this.#goOnLater(held, made);
      return { created: true };
    } catch (error) {
      hand.close([]);
      throw error;
    }
  }

  /** A birth that was given up in doubt: once the store has answered, it is taken up if it is ours. */
  async #followUp({ ref, kind }: Newborn, turn: AnyTurn): Promise<void> {
    const { store, clock } = this.#around;
    await commit(store, clock, turn, () => this.#closed).then(() => this.#retakeLater(ref, kind), ignored);
  }

  /**
   * Takes up an aggregate this worker has just claimed; resolves when it has its permit, or its place in line, or waits.
   * One that cannot be read is left alone, and said.
   */
  async takeUp(claimed: AnyRow): Promise<void> {
    if (this.#closed) return;
    let aggregate: Aggregate;
    try {
      aggregate = this.#around.aggregateFrom(claimed);
      for (const { input } of aggregate.members.values()) decode(input);
    } catch (error) {
      const { tenant, id } = claimed;
      const kind: AggregateKind = isSagaRow(claimed) ? 'saga' : 'operation';
      this.#around.logger.error({ [kind]: id, tenant, error }, `${kind} cannot be read by this version`);
      return this.#track(this.#giveBackUnread(claimed));
    }
    const { id, timeline } = this.#around.worker;
    const worker = claimed.owner ?? id;
    const told = this.#toldBy(claimed);
    const held = this.#hold({ worker, generation: claimed.generation, timeline, aggregate, told });
    if (claimed.handovers.length > 0) this.#enqueue(held, () => this.#applyHandovers(held, claimed));
    for (const member of aggregate.members.values()) {
      if (stateOf(member.row) === 'in-progress') this.#enqueue(held, () => this.#interrupted(held, member.ref.id));
    }
    this.#enqueue(held, () => this.#goOn(held));
    await held.queue;
  }

  /** Leaves an operation, as it is, to a process that can read it; this one meets it again after a pause. */
  async #giveBackUnread(claimed: AnyRow): Promise<void> {
    // What was handed over would be claimed again at once, and of a saga more than one thing may be due: then it is
    // kept, and tried again, by this worker.
    if (isSagaRow(claimed)) return this.#retakeLater(claimed, 'saga', UNREADABLE_PAUSE_MS);
    if (claimed.handovers.length > 0) return this.#retakeLater(claimed, 'operation', UNREADABLE_PAUSE_MS);
    const { tenant, id, owner, generation, revision, state, reason, format, snapshot } = claimed;
    const { store, clock, random } = this.#around;
    const turn: Turn = {
      ...{ tenant, id, turn: random.id(), birth: null, was: { owner, generation, revision }, owner: null, generation },
      ...{ state, reason, format, snapshot, output: null, contradicted: false, start: null, records: [], takes: [] },
      dueInMs: UNREADABLE_PAUSE_MS,
    };
    await commit(store, clock, turn, () => this.#closed);
  }

  /** Something was handed over; applied now if this worker holds it. */
  attend(ref: OperationRef): boolean {
    const held = this.#held.get(keyOf(ref));
    if (held === undefined) return false;
    const apply = async () => {
      const stored = await held.aggregate.read(this.#around.store).catch((error: unknown) => {
        // The sweep attends to it again; what is under way goes on meanwhile.
        if (isSagacityError(error) && error.retryable) return null;
        throw error;
      });
      if (stored !== null && stored.handovers.length > 0) await this.#applyHandovers(held, stored);
    };
    // Given back meanwhile: then whoever is free claims it, at once and not with the next sweep.
    this.#enqueue(held, apply, () => this.#wake(ref, null, 0, 'anybodys'));
    return true;
  }

  /** The time an aggregate waited for has come, or something was said about it. False: it is not held here. */
  woken(wake: Wake): boolean {
    const ref = { tenant: wake.tenant, id: wake.operationId };
    if (wake.generation === null) return this.attend(ref);
    const held = this.#held.get(keyOf(ref));
    if (held === undefined) return false;
    if (held.generation === wake.generation) this.#enqueue(held, () => this.#goOn(held));
    return true;
  }

  /** Goes on with what is held and due and stands still: the wake for it was lost. */
  goOnDue(): void {
    for (const held of this.#held.values()) {
      if (held.queued > 0 || !this.#standsStill(held)) continue;
      this.#enqueue(held, () => this.#goOn(held));
    }
  }

  /** Nothing of it is being carried out, or something that is not is due. */
  #standsStill({ aggregate, live, told }: Held): boolean {
    const now = this.#storeNow(told);
    const isDue = (dueAt: number | null) => dueAt === null || dueAt <= now;
    if (aggregate.timers.some(({ dueAt }) => isDue(dueAt))) return true;
    const members = [...aggregate.members.values()];
    const isBusy = ({ ref }: Member) => {
      const { attempt, lookup, awaitsPermit } = live.get(ref.id) ?? idle;
      return attempt !== null || lookup !== null || awaitsPermit;
    };
    if (members.some((member) => !isBusy(member) && isToDo(member) && isDue(member.dueAt))) return true;
    return !members.some((member) => isBusy(member) || isToDo(member)) && aggregate.timers.length === 0;
  }

  #hold(holding: Holding): Held {
    const { ref } = holding.aggregate;
    const before = this.#held.get(keyOf(ref));
    if (before !== undefined) this.#drop(before);
    const held: Held = { ...holding, live: new Map(), queue: Promise.resolve(), queued: 0, dropped: false };
    this.#held.set(keyOf(ref), held);
    return held;
  }

  #drop(held: Held): void {
    const { ref } = held.aggregate;
    held.dropped = true;
    if (this.#held.get(keyOf(ref)) === held) this.#held.delete(keyOf(ref));
  }

  /** Runs `job` when it is its turn, or `otherwise` if the operation is not held any more by then. */
  #enqueue(held: Held, job: () => Promise<void>, otherwise: () => void = () => {}): void {
    held.queued += 1;
    held.queue = held.queue.then(async () => {
      try {
        if (held.dropped || this.#closed) return otherwise();
        await job();
      } catch (error) {
        // Nothing is written any more; the next start finds it as the store has it.
        if (this.#closed && isSagacityError(error) && error.retryable) return;
        const { ref, kind } = held.aggregate;
        this.#around.logger.error({ [kind]: ref.id, tenant: ref.tenant, error }, `${kind} could not go on`);
        this.#drop(held);
        this.#retakeLater(ref, kind);
      } finally {
        held.queued -= 1;
      }
    });
    this.#track(held.queue);
  }

  /** Reads what this worker may own without holding it, and takes it up again if it does. */
  #retakeLater(ref: OperationRef, kind: AggregateKind, pauseMs = RETAKE_PAUSE_MS): void {
    if (this.#closed) return;
    const { clock, store, worker } = this.#around;
    const cancelTimer = clock.after(pauseMs, () => {
      this.#pauses.delete(cancelTimer);
      if (this.#closed || this.#draining || this.#held.has(keyOf(ref))) return;
      const reading: Promise<AnyRow | null> = kind === 'saga' ? store.readSaga(ref) : store.read(ref);
      const retaking = reading.then(
        (row) => {
          if (row !== null && row.owner === worker.id && !this.#held.has(keyOf(ref))) void this.takeUp(row);
        },
        () => this.#retakeLater(ref, kind),
      );
      this.#track(retaking);
    });
    this.#pauses.add(cancelTimer);
  }

  #track(work: Promise<void>): void {
    const ended = () => {
      this.#running.delete(work);
    };
    this.#running.add(work);
    work.then(ended, (error: unknown) => {
      ended();
      this.#around.logger.error({ error }, 'work of the driver ended in an error');
    });
  }

  /** Does what is due, and arms a wake for what is not. */
  async #goOn(held: Held): Promise<void> {
    const { aggregate, told } = held;
    const now = this.#storeNow(told);
    let soonestMs: number | null = null;
    let waits = false;
    const isDue = (dueAt: number | null): boolean => {
      waits = true;
      const waitMs = dueAt === null ? 0 : dueAt - now;
      if (waitMs > 0) soonestMs = Math.min(soonestMs ?? waitMs, waitMs);
      return waitMs <= 0;
    };
    for (const timer of aggregate.timers) {
      if (!isDue(timer.dueAt) || this.#draining) continue;
      // Each of them makes another aggregate, with other timers; what follows from it goes on from there.
      if (timer.looks) await this.#look(held, timer.name);
      else await this.#fire(held, timer);
      return;
    }
    for (const member of aggregate.members.values()) {
      if (stateOf(member.row) === 'in-progress') waits = true;
      if (!isToDo(member) || !isDue(member.dueAt) || this.#draining) continue;
      const againMs = this.#goOnWith(held, member);
      if (againMs !== null) soonestMs = Math.min(soonestMs ?? againMs, againMs);
    }
    // One wake, whatever it waits for: with one for each, every wake would lead to more of them.
    if (!waits) await this.#write(held, { type: 'released' });
    else if (soonestMs !== null) this.#wake(aggregate.ref, held.generation, soonestMs);
  }

  /**
   * What was said before comes first: who was asked in time has not been asked in vain. The store's time decides whether
   * it is due: the clock of this process, which has measured since it last heard of that, may be fast.
   */
  async #fire(held: Held, { name, generation, dueAt }: Timer): Promise<void> {
    const { store } = this.#around;
    let stored: AnyRow | null;
    try {
      stored = await held.aggregate.read(store);
    } catch (error) {
      if (!isSagacityError(error) || !error.retryable) throw error;
      return this.#wake(held.aggregate.ref, held.generation, LOOKUP_AGAIN_MS);
    }
    const said = stored === null || stored.handovers.length === 0 ? null : stored;
    // What nobody here can take must not keep its timers from it.
    if (said !== null && (await this.#hear(held, said))) return await this.#goOnAfterWords(held);
    if (held.dropped) return;
    if (stored !== null && stored.now < dueAt) {
      held.told = this.#toldBy({ revision: held.told.revision, now: stored.now });
      return this.#wake(held.aggregate.ref, held.generation, dueAt - stored.now);
    }
    await this.#write(held, { type: 'timer', name, generation });
  }

  /** What it waits for of others is read first, and what it makes of that is a turn like any other. */
  async #look(held: Held, timer: string | null): Promise<void> {
    let others: Others;
    try {
      others = await held.aggregate.look(this.#around.store);
    } catch (error) {
      if (!isSagacityError(error) || !error.retryable) throw error;
      return this.#wake(held.aggregate.ref, held.generation, LOOKUP_AGAIN_MS);
    }
    await this.#write(held, { type: 'seen', others, timer });
  }

  /** Begins what is due. Answers after which pause that is to be tried again; null: it has begun, or will. */
  #goOnWith(held: Held, member: Member): number | null {
    const { permits, worker } = this.#around;
    const live = liveOf(held, member.ref.id);
    const due = member.row.timers['due'];
    const lookup = member.row.children['lookup'];
    if (due !== undefined) {
      // A start recorded by a worker that may not send would be a start for nothing.
      if (!worker.isFresh) return STALE_PAUSE_MS;
      if (live.awaitsPermit) return null;
      live.awaitsPermit = true;
      // Waiting for a permit must not hold up what else happens to the aggregate.
      this.#track(
        permits.take(errandOf(member, attemptKind(member))).then((permit) => {
          live.awaitsPermit = false;
          if (permit === null) return;
          const begin = () => this.#begin(held, member.ref.id, due.generation, permit);
          return this.#enqueue(held, begin, () => permit.giveBack());
        }),
      );
      return null;
    }
    if (lookup !== undefined && live.lookup === null) this.#lookUp(held, member, lookup.generation);
    return null;
  }

  async #begin(held: Held, id: string, generation: number, permit: Permit): Promise<void> {
    const { worker } = this.#around;
    // Waiting for a permit can outlast the worker; a start of its would be refused when it is to be sent.
    if (held.worker === worker.id && worker.isFresh) {
      await this.#write(held, ofOperation(id, { type: 'due', generation }), this.#handFor(held).with(id, permit));
      return;
    }
    permit.giveBack();
    if (held.worker !== worker.id) return this.#drop(held);
    this.#wake(held.aggregate.ref, held.generation, STALE_PAUSE_MS);
  }

  /** A start without an end, after a crash: nobody knows, and it is never run again on a guess. */
  async #interrupted(held: Held, id: string): Promise<void> {
    const attempt = held.aggregate.members.get(id)?.row.children['attempt'];
    if (attempt === undefined || liveOf(held, id).attempt !== null) return;
    const reason = 'the worker was lost before the outcome was recorded';
    const end = endOf({ type: 'unknown', reason });
    await this.#write(held, ofOperation(id, { type: 'attempt.ended', generation: attempt.generation, ...end }));
  }

  /** Carries out what a turn has started, each with the permit that was in hand for it. */
  #performAll(held: Held, starts: readonly string[], stamp: Stamp, hand: Hand): void {
    for (const id of starts) {
      const permit = hand.play(id);
      const member = held.aggregate.members.get(id);
      permit.use();
      if (member === undefined || held.dropped) permit.giveBack();
      else this.#perform(held, member, stamp, permit);
    }
  }

  #perform(held: Held, member: Member, stamp: Stamp, permit: Permit): void {
    const { clock, worker } = this.#around;
    const { definition, idempotencyKey, sendBy, windowEndsAt, row } = member;
    const { id } = member.ref;
    const attempt = row.children['attempt'];
    if (attempt === undefined) return permit.giveBack();
    const number = contextOf(row).history.attempts.length;
    const input = decode(member.input);
    const abort = new AbortController();
    liveOf(held, id).attempt = abort;
    this.#signals.add(abort);
    const { policy } = contextOf(row);
    const { sendWithinMs, timeoutMs, contract } = policy;
    // Counted from before the start was sent to the store; a resubmission's send-by may end with the key's window.
    const leavesWithinMs = sendBy === null ? sendWithinMs : Math.min(sendWithinMs, sendBy - held.told.now);
    const performing = perform(
      {
        ref: member.ref,
        definition,
        input,
        idempotencyKey,
        contract,
        firstSentAt: firstSentAt(policy, windowEndsAt, held.told.now),
        number,
        timeoutMs,
        abort,
        mayLeave: () => {
          if (this.#aborted || this.#closed) return 'its orchestrator was stopping';
          if (msSince(clock, stamp) > leavesWithinMs) return 'its time to be sent had passed';
          if (held.dropped || held.worker !== worker.id || !worker.isFresh) return 'its worker had lost its claim';
          return null;
        },
        late: (result) => this.#late(held, id, number, result),
      },
      this.#around,
    ).then((end) => {
      const { result, body } = end;
      permit.ended(conditionBy(end, this.#givenUp.has(abort)));
      const { action, provider } = definition;
      this.#alarms.hear(body, { operation: id, tenant: member.ref.tenant, action, provider });
      // What follows in the same aggregate may go on with what they both need.
      const hand = this.#handFor(held).withSpare(permit);
      if (held.aggregate.startsAtMost === 0) hand.close([]);
      liveOf(held, id).attempt = null;
      this.#signals.delete(abort);
      const late = () => {
        hand.close([]);
        this.#late(held, id, number, result);
      };
      const happening = ofOperation(id, { type: 'attempt.ended', generation: attempt.generation, result, body });
      // Not written: somebody else holds the operation, it was settled meanwhile, or the store has a fault that does
      // not pass. Then it is evidence.
      const record = async () => {
        const written = await this.#write(held, happening, hand).catch((error: unknown) => {
          late();
          throw error;
        });
        if (!written) late();
      };
      return this.#enqueue(held, record, late);
    });
    this.#track(performing);
  }

  #lookUp(held: Held, member: Member, generation: number): void {
    const { permits, store } = this.#around;
    const live = liveOf(held, member.ref.id);
    const abort = new AbortController();
    live.lookup = abort;
    this.#signals.add(abort);
    const again = () => this.#wake(held.aggregate.ref, held.generation, LOOKUP_AGAIN_MS);
    const looking = permits.take(errandOf(member, 'look-up')).then(async (permit) => {
      if (permit === null) return void this.#signals.delete(abort);
      try {
        // The store's time, read before the question is asked, bounds what an absence can prove.
        const stored = await held.aggregate.read(store);
        if (held.dropped || this.#draining) return;
        if (stored?.owner !== held.worker || stored.generation !== held.generation) return this.#drop(held);
        const { definition, idempotencyKey } = member;
        const { timeoutMs, contract } = contextOf(member.row).policy;
        const input = decode(member.input);
        const { ref } = member;
        const looked = { ref, definition, input, idempotencyKey, contract, timeoutMs, beganAt: stored.now, abort };
        permit.use();
        const { answer, body } = await lookUp(looked, this.#around);
        if (this.#draining && abort.signal.aborted) return;
        this.#enqueue(held, async () => {
          live.lookup = null;
          const answered = ofOperation(member.ref.id, { type: 'lookup.answered', generation, answer, body });
          if (await this.#write(held, answered)) return;
          if (!held.dropped) await this.#goOn(held);
        });
      } catch (error) {
        // The sweep says once that the store does not answer; each operation in doubt would say it every second.
        const level = isSagacityError(error) && error.retryable ? 'debug' : 'warn';
        this.#around.logger[level]({ operation: member.ref.id, error }, 'look-up put off');
        live.lookup = null;
        again();
      } finally {
        this.#signals.delete(abort);
        permit.giveBack();
      }
    });
    this.#track(looking);
  }

  /** Appends what an attempt brought after it had been given up; the owner's turn applies it. */
  #late({ aggregate, timeline }: Held, operation: string, attempt: number, result: AttemptResult): void {
    if (result.type === 'unknown' || this.#closed) return;
    const evidence: Evidence = {
      ...{ kind: 'evidence', source: 'late-result', attempt, timeline: timeline.id, outcome: result },
    };
    this.#track(
      this.handOver(aggregate.ref, { ...evidence, operation }, this.newHandoverId()).catch((error: unknown) => {
        // At a stop nothing is repeated any more: a look-up or a person finds out what this would have told.
        const level = this.#closed && isSagacityError(error) && error.retryable ? 'warn' : 'error';
        this.#around.logger[level]({ operation, error }, 'late result could not be kept');
      }),
    );
  }

  newHandoverId(): string {
    return this.#around.random.id();
  }

  /**
   * Appends a hand-over, repeating it through doubt until `giveUpAt` by the monotonic clock, and sees to it that it is
   * applied soon.
   */
  async handOver(
    ref: OperationRef,
    said: HandedOver,
    handoverId: string,
    giveUpAt = Number.POSITIVE_INFINITY,
  ): Promise<void> {
    const { store } = this.#around;
    // Once, so that every repetition says the same.
    const body = toBody(said);
    await this.deliver(ref, () => store.handOver({ ...ref, handoverId, body }), giveUpAt);
  }

  /** As `handOver`, for whatever else appends something for the owner of `ref`; what is repeated adds nothing. */
  async deliver<Answer>(ref: OperationRef, write: () => Promise<Answer>, giveUpAt: number): Promise<Answer> {
    const { clock } = this.#around;
    const answer = await repeated(clock, () => this.#closed || clock.monotonic() >= giveUpAt, write);
    if (!this.attend(ref)) this.#wake(ref, null, 0, 'anybodys');
    return answer;
  }

  /** What has happened to `at` is worth a look of `saga`. Lost, it is found out by the next one. */
  #askToLook(saga: OperationRef, at: OperationRef): void {
    const here = this.#held.get(keyOf(saga));
    if (here !== undefined) return this.#enqueue(here, () => this.#look(here, null));
    // A wake claims what is due, and it may not be due for long.
    this.#track(this.handOver(saga, { kind: 'look', at: at.id }, this.newHandoverId()).catch(ignored));
  }

  /** The saga that has an operation, if it waits for those that have joined it: `joiner` has, and is settled. */
  async #askOwner({ tenant, id }: OperationRef, joiner: OperationRef): Promise<void> {
    const { store } = this.#around;
    const operation = await store.read({ tenant, id });
    if (operation === null || operation.saga === null) return;
    const owner = await store.readSaga({ tenant, id: operation.saga });
    // One that is about to look says so only when it has.
    const isHeld = owner !== null && (owner.state === 'compensating' || owner.reason === 'joined');
    if (isHeld) this.#askToLook({ tenant, id: operation.saga }, joiner);
  }

  async #applyHandovers(held: Held, stored: AnyRow): Promise<void> {
    await this.#hear(held, stored);
    await this.#goOnAfterWords(held);
  }

  #hear(held: Held, { handovers }: AnyRow): Promise<boolean> {
    return this.#write(held, { type: 'handed.over', handovers });
  }

  async #goOnAfterWords(held: Held): Promise<void> {
    if (held.dropped) return;
    for (const [id, { attempt }] of held.live) {
      const member = held.aggregate.members.get(id);
      if (member === undefined || !contextOf(member.row).history.cancelled) continue;
      if (attempt !== null) this.#giveUp(attempt, 'The operation was cancelled.');
    }
    await this.#goOn(held);
  }

  /**
   * Writes the turn that follows from `happening`. False when it was not written: too late to change anything, or the
   * aggregate is somebody else's now. What is in `hand` and not used is given back.
   */
  async #write(held: Held, happening: Happening, hand = this.#handFor(held)): Promise<boolean> {
    try {
      return await this.#writeWith(held, happening, hand, stampNow(this.#around.clock));
    } finally {
      hand.close([]);
    }
  }

  #handFor({ aggregate }: Held): Hand {
    return new Hand(this.#around.permits, aggregate.ref.tenant, aggregate.startsAtMost);
  }

  async #writeWith(held: Held, happening: Happening, hand: Hand, stamp: Stamp): Promise<boolean> {
    const { store, clock, random, logger, watchers, worker } = this.#around;
    const { ref, kind } = held.aggregate;
    const mayStart = !this.#draining && worker.isFresh && held.worker === worker.id;
    for (let round = 0; round < RECOMPUTE_MAX; round += 1) {
      const made = held.aggregate.advance(happening, this.#momentOf(held, mayStart ? hand : emptyHand));
      if (made === null) return false;
      const { waitMs } = made;
      hand.close(made.starts);
      const keeps = made.isUnderWay || (waitMs !== null && waitMs <= HOLD_MS && !this.#draining);
      const turn = made.turn({
        turn: random.id(),
        was: { owner: held.worker, generation: held.generation, revision: held.told.revision },
        owner: keeps ? held.worker : null,
        generation: held.generation,
        timeline: held.timeline.id,
        lostForMs: this.#lostForMs(held),
      });
      const committed = await commit(store, clock, turn, () => this.#closed);
      if (committed.type === 'written') {
        held.aggregate = made.after(committed.receipt, turn.turn);
        held.told = this.#toldBy(committed.receipt);
        for (const [id, { attempt }] of held.live) {
          const member = held.aggregate.members.get(id);
          if (attempt !== null && (member === undefined || stateOf(member.row) !== 'in-progress'))
            this.#giveUp(attempt, 'The outcome is known from elsewhere.');
        }
        if (!keeps) this.#drop(held);
        this.#performAll(held, made.starts, stamp, hand);
        this.#goOnLater(held, made);
        for (const changed of made.changes) watchers.changed(changed, made.rests, made.answers);
        made.afterwards(logger);
        for (const { to, said, handoverId } of made.asks)
          this.#track(this.handOver(to, said, handoverId).catch(ignored));
        for (const newborn of made.begins) this.#track(this.submit(newborn, true).then(ignored, ignored));
        for (const waiting of made.wakes) this.#askToLook(waiting, ref);
        for (const joined of made.lets) this.#track(this.#askOwner(joined, ref).catch(ignored));
        return true;
      }
      const { row } = committed;
      const stillOurs =
        row?.owner === held.worker && row.generation === held.generation && row.revision === held.told.revision;
      if (knowsLess(row, held) || (stillOurs && restsOnStarts(turn) && !isOutsideWindow(turn, row))) {
        this.#drop(held);
        const followed = await this.#leave(held.timeline);
        if (!followed && stillOurs) break;
        return false;
      }
      if (!stillOurs) {
        logger.debug({ [kind]: ref.id }, 'claim lost: another worker holds it');
        this.#drop(held);
        // Moved on in our own name: a turn that had been in doubt was carried out after its repetition was refused.
        if (row?.owner === held.worker && row.generation === held.generation) void this.takeUp(row);
        return false;
      }
      held.aggregate = held.aggregate.readAgain(row);
      held.told = this.#toldBy(row);
    }
    throw new Error(`The store refused a turn of ${kind} ${ref.id} although its fence holds.`);
  }

  /** What a written turn left to be done: now, or when it is due. */
  #goOnLater(held: Held, { waitMs }: Pick<Made, 'waitMs'>): void {
    const now = this.#storeNow(held.told);
    // The receipt may have told of something that the turn did not know of.
    const isDue = held.aggregate.timers.some(({ dueAt }) => dueAt <= now);
    if (waitMs === null && !isDue) return;
    if ((isDue || (waitMs !== null && waitMs <= 0)) && !held.dropped) this.#enqueue(held, () => this.#goOn(held));
    else this.#wake(held.aggregate.ref, held.generation, waitMs ?? 0, held.dropped ? 'anybodys' : 'mine');
  }

  /**
   * The store is on another timeline than this one: the worker goes on under another id. False when the store says that
   * it is on this one still.
   */
  async #leave(timeline: Timeline): Promise<boolean> {
    const { worker, logger } = this.#around;
    if (this.#closed) return true;
    try {
      await worker.leave(timeline.id);
      return worker.timeline.id !== timeline.id;
    } catch (error) {
      logger.debug({ worker: worker.id, error }, 'the new timeline is not known yet; the heartbeat goes on asking');
      return true;
    }
  }

  #momentOf({ told, timeline }: Held, hand: Startable): Moment {
    const { random } = this.#around;
    const now = this.#storeNow(told);
    const factsOf = ({ createdAt, sendBy, windowEndsAt }: Times) => {
      const lostStartOn = this.#isBeforeVerified(timeline, createdAt) ? timeline.id : null;
      return { now, createdAt, sendBy, windowEndsAt, lostStartOn, random: random.number() };
    };
    return { now, factsOf, mayBeRepeated: this.#isBeforeVerified(timeline, now), hand };
  }

  /** A birth is started only when nothing can be lost of it, and what is due later is judged again then. */
  #momentOfBirth(hand: Startable): Moment {
    const { clock, random } = this.#around;
    const now = clock.now();
    const factsOf = () => ({
      ...{ now, sendBy: null, windowEndsAt: null, lostStartOn: null, random: random.number() },
    });
    return { now, factsOf, mayBeRepeated: false, hand };
  }

  /** What a fail-over has lost may belong to an operation that was created at this time. */
  #isBeforeVerified({ changedAt }: Timeline, createdAt: number): boolean {
    return changedAt !== null && createdAt < changedAt + this.#around.verifyAfterFailoverMs;
  }

  /** What is submitted now may have been submitted before, on another timeline. Without a word of the store it may. */
  #mayBeRepeated(timeline: Timeline): boolean {
    return this.#isBeforeVerified(timeline, this.#lastTold === null ? -Infinity : this.#storeNow(this.#lastTold));
  }

  /**
   * How long ago a lost start may have been recorded; rather too long. A fail-over may have hidden the time of another
   * one before it, and a turn in doubt is written later than it was computed: hence the time twice.
   */
  #lostForMs({ told, timeline }: Held): number {
    if (timeline.changedAt === null) return 0;
    const sinceChangedMs = told.now + msSince(this.#around.clock, told.heardAt) - timeline.changedAt;
    return Math.max(0, sinceChangedMs) + 2 * this.#around.verifyAfterFailoverMs;
  }

  /** The store's time, as far as this process can tell without asking; never ahead of it by more than clocks drift. */
  #storeNow({ now, heardAt }: Told): number {
    return now + (this.#around.clock.monotonic() - heardAt.monotonic);
  }

  #toldBy({ revision, now }: Pick<AnyReceipt, 'revision' | 'now'>): Told {
    this.#lastTold = { revision, now, heardAt: stampNow(this.#around.clock) };
    return this.#lastTold;
  }

  #wake(ref: OperationRef, generation: number | null, delayMs: number, whose: 'mine' | 'anybodys' = 'mine'): void {
    if (this.#draining) return;
    this.#around.waker.wake({ tenant: ref.tenant, operationId: ref.id, generation }, delayMs, whose);
  }
}

/** Pause before an operation that could not go on is taken up again. */
const RETAKE_PAUSE_MS = 2_000;

/** The same for one that this version cannot read: only another version can. */
const UNREADABLE_PAUSE_MS = 60_000;

/** Pause while this worker does not know whether it is still alive. */
const STALE_PAUSE_MS = 1_000;

/** How long a submission bears with a store that is in doubt before it says so. */
const SUBMIT_PATIENCE_MS = 30_000;

function ignored(): void {}

function inexplicable({ ref }: Newborn): Error {
  return new Error(`${ref.id} was refused although nothing has its identity.`);
}

/** Nothing is carried out. */
const idle: Readonly<Live> = { attempt: null, lookup: null, awaitsPermit: false };

function liveOf({ live }: Held, id: string): Live {
  const known = live.get(id) ?? { ...idle };
  live.set(id, known);
  return known;
}

/** An attempt or a look-up is to be carried out, now or when it is due. */
function isToDo({ row }: Member): boolean {
  return row.timers['due'] !== undefined || row.children['lookup'] !== undefined;
}

function ofOperation(id: string, what: OperationHappening): Happening {
  return { type: 'operation', id, what };
}

/** What a permit for it counts towards. */
function errandOf({ ref: { tenant }, definition: { action } }: Member, kind: Errand['kind']): Errand {
  return { tenant, action, kind };
}

function attemptKind({ row }: Member): Errand['kind'] {
  const wasSent = contextOf(row).history.attempts.some(({ standing }) => standing !== 'not-sent');
  return wasSent ? 'further' : 'first';
}

/**
 * What the end of an attempt says about its provider: one that was not sent although that could be reached, or that we gave
 * up ourselves, says nothing.
 */
function conditionBy({ result, isUnreached }: AttemptEnd, isGivenUp: boolean): Condition {
  if (isUnreached === true) return 'ill';
  if (result.type === 'unknown') return isGivenUp ? 'unsaid' : 'ill';
  if (result.type === 'not-applied') return result.sent === false ? 'unsaid' : 'ill';
  return 'well';
}

/** The store has forgotten what it had acknowledged: it failed over. */
function knowsLess(row: AnyRow | null, { generation, told }: Held): boolean {
  return row === null || row.generation < generation || row.revision < told.revision;
}
