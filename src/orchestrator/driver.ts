/**
 * Drives operations: every turn is computed, written, and only then acted upon. What this process holds is a copy;
 * the store's row is the truth, and a turn that the store refuses means that somebody else holds the operation now.
 * Events of one operation are taken one after the other; operations do not wait for each other.
 */

import { decode } from '../domain/codec.ts';
import type { AttemptResult } from '../domain/attempt.ts';
import { isSagacityError } from '../domain/errors.ts';
import type { Facts } from '../domain/policy.ts';
import type { Operation } from '../define/operation.ts';
import type { Kernel } from '../kernel/kernel.ts';
import type { Json } from '../domain/json.ts';
import type { KernelRow } from '../kernel/row.ts';
import type { CancelTimer, Clock } from '../ports/clock.ts';
import type { Logger } from '../ports/logger.ts';
import type { Random } from '../ports/random.ts';
import {
  type Birth,
  keyOf,
  type OperationRef,
  type OperationRow,
  type Receipt,
  type Start,
  type Store,
  type StoreInTransaction,
  type Timeline,
  type Turn,
} from '../ports/store.ts';
import type { Wake, Waker } from '../ports/waker.ts';
import { advance, type Advance, birth, type Happening } from './advance.ts';
import { commit, repeated } from './commit.ts';
import { type Evidence, type HandedOver, seenOf, toBody } from './handover.ts';
import { lookUp } from './look-up.ts';
import { endOf, perform } from './perform.ts';
import { contextOf, fromStored, stateOf, toStored, waitOf } from './row.ts';
import type { Slots } from './slots.ts';
import { msSince, type Stamp, stampNow } from './stamp.ts';
import { startIn } from './start.ts';
import type { Watchers } from './watchers.ts';
import type { Worker } from './worker.ts';

/** What the driver works with. */
export interface Surroundings {
  readonly store: Store;
  readonly waker: Waker;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly kernel: Kernel;
  readonly definitions: ReadonlyMap<string, Operation>;
  readonly slots: Slots;
  readonly watchers: Watchers;
  readonly worker: Worker;
  /** How old a commit may be that a fail-over loses, and how late after it a lost submission is repeated. */
  readonly verifyAfterFailoverMs: number;
  /** Something is due that there was no slot for. */
  readonly onBacklog: () => void;
}

/** An operation that this worker owns. */
interface Held {
  readonly ref: OperationRef;
  readonly definition: Operation;
  readonly idempotencyKey: string;
  /** As recorded; decoded anew for every call, so that nobody who holds a copy can change what is sent. */
  readonly input: Json;
  readonly worker: string;
  readonly generation: number;
  /** Where the store was when this worker took it up. */
  readonly timeline: Timeline;
  readonly createdAt: number;
  row: KernelRow;
  told: Told;
  /** Events are taken in this order, one at a time. */
  queue: Promise<void>;
  /** How many of them have not been taken yet, the one that is being taken included. */
  queued: number;
  attempt: AbortController | null;
  lookup: AbortController | null;
  awaitsSlot: boolean;
  dropped: boolean;
}

/** What is known of it when this worker takes it up. */
type Holding = Pick<
  Held,
  'definition' | 'idempotencyKey' | 'input' | 'worker' | 'generation' | 'timeline' | 'createdAt' | 'row' | 'told'
>;

/** What a submission met: it created the operation, or `row` has the identity already. */
type Met = { readonly created: true } | { readonly created: false; readonly row: OperationRow };

/** What the store said last about the row, and when this process heard it. */
interface Told {
  readonly revision: number;
  /** The turn that wrote the row. */
  readonly turn: string;
  readonly now: number;
  readonly heardAt: Stamp;
  readonly dueAt: number | null;
  readonly sendBy: number | null;
  readonly windowEndsAt: number | null;
}

/** What is waiting and not due sooner than this is given back, and owned by nobody meanwhile. */
const HOLD_MS = 10_000;

/** A look-up that the store put off is tried again after this pause. */
const LOOKUP_AGAIN_MS = 1_000;

/** A turn that the store's window condition refused is computed again on fresh facts, this often at most. */
const RECOMPUTE_MAX = 3;

export class Driver {
  readonly #around: Surroundings;
  readonly #held = new Map<string, Held>();
  readonly #running = new Set<Promise<void>>();
  /** The signals of every attempt and look-up that is being carried out, held or not. */
  readonly #signals = new Set<AbortController>();
  /** What ends the pauses before something is taken up again. */
  readonly #pauses = new Set<CancelTimer>();
  /** The last word of the store, on the timeline that this worker is on. */
  #lastTold: Told | null = null;
  #draining = false;
  #aborted = false;
  #closed = false;

  constructor(around: Surroundings) {
    this.#around = around;
  }

  /** Nothing new is begun from now on; what is in flight goes on. */
  drain(): void {
    this.#draining = true;
  }

  /** Resolves when nothing is in flight any more. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled([...this.#running]);
  }

  /** Aborts what is in flight; its outcome is recorded as unknown. */
  abort(): void {
    this.#aborted = true;
    for (const signal of this.#signals) signal.abort(new Error('The orchestrator is stopping.'));
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
   * Creates an operation, with its first attempt when a slot is free. Resolves when it is durable, or to the row that
   * has the identity already.
   */
  submit(definition: Operation, ref: OperationRef, born: Birth, mayStart: boolean): Promise<Met> {
    const submitting = this.#submit(definition, ref, born, mayStart);
    // A stop waits for it: the store must not close under a birth that is on its way.
    this.#track(submitting.then(ignored, ignored));
    return submitting;
  }

  /** Creates an operation in the caller's transaction; it begins when a sweep finds it there after the commit. */
  async submitWithin(definition: Operation, ref: OperationRef, born: Birth, inside: StoreInTransaction): Promise<Met> {
    const made = birth(this.#around.kernel, definition.policy, this.#factsOfBirth(), false);
    const unowned = { birth: born, was: null, owner: null, generation: 0, start: null, dueInMs: 0 };
    const receipt = await inside.turn(this.#turnOf(ref, made, unowned));
    if (receipt !== null) return { created: true };
    const row = await inside.readByIdentity(born);
    if (row === null) throw new Error(`Operation ${ref.id} was refused although nothing has its identity.`);
    return { created: false, row };
  }

  async #submit(
    definition: Operation,
    ref: OperationRef,
    born: Birth,
    mayStart: boolean,
    rounds = RECOMPUTE_MAX,
  ): Promise<Met> {
    const { store, clock, kernel, slots, worker } = this.#around;
    // Named now: while the turn is on its way the worker may end, and goes on under another id.
    const { id: recordedBy, timeline } = worker;
    const begins = mayStart && !this.#draining && worker.isFresh && !this.#mayBeRepeated(timeline);
    const giveBack = begins ? slots.tryTake() : null;
    try {
      const stamp = stampNow(clock);
      const made = birth(kernel, definition.policy, this.#factsOfBirth(), giveBack !== null);
      const owner = giveBack === null ? null : recordedBy;
      const turn = this.#turnOf(ref, made, {
        birth: born,
        was: null,
        owner,
        generation: owner === null ? 0 : 1,
        start: startIn(null, made.row, { timeline: timeline.id, lostForMs: 0 }),
        dueInMs: giveBack === null ? 0 : null,
      });
      const deadline = clock.monotonic() + SUBMIT_PATIENCE_MS;
      let inDoubt = false;
      const committed = await commit(store, clock, turn, ({ code }) => {
        inDoubt ||= code === 'STORE_IN_DOUBT';
        // A store that is known not to have written anything is the caller's to try again, at once.
        return !inDoubt || this.#closed || clock.monotonic() >= deadline;
      }).catch((error: unknown) => {
        // The caller is told; here it is followed up until it is known, for it may be written long after.
        if (inDoubt) this.#track(this.#followUp(ref, turn));
        throw error;
      });
      if (committed.type === 'refused') {
        giveBack?.();
        const { row } = committed;
        if (row === null) {
          if (rounds === 0) throw new Error(`Operation ${ref.id} was refused although nothing has its identity.`);
          // The store failed over, and what had the identity is gone, or the start was refused. On its new timeline this
          // may be the repetition of a submission that is lost, and is not sent at once.
          if (turn.start !== null) await this.#leave(timeline);
          return await this.#submit(definition, ref, born, false, rounds - 1);
        }
        // Written by a repetition whose reply was lost, and moved on since by whoever holds it now.
        return row.born === turn.turn ? { created: true } : { created: false, row };
      }
      const told = this.#toldBy(committed.receipt, turn.turn);
      this.#around.watchers.changed(ref);
      if (giveBack === null) {
        // Without a slot it is anybody's; this worker takes it with others, when it has room.
        if (slots.free > 0) this.#wake(ref, 0, 0);
        else this.#around.onBacklog();
        return { created: true };
      }
      const holding = { definition, idempotencyKey: born.providerKey, input: born.input, worker: recordedBy };
      const created = { generation: 1, timeline, createdAt: told.now, row: made.row };
      const held = this.#hold(ref, { ...holding, ...created, told });
      this.#perform(held, stamp, giveBack);
      return { created: true };
    } catch (error) {
      giveBack?.();
      throw error;
    }
  }

  /** A birth that was given up in doubt: once the store has answered, it is taken up if it is ours. */
  async #followUp(ref: OperationRef, turn: Turn): Promise<void> {
    const { store, clock } = this.#around;
    await commit(store, clock, turn, () => this.#closed).then(() => this.#retakeLater(ref), ignored);
  }

  /**
   * Takes up an operation this worker has just claimed; resolves when it has its slot, or its place in line, or waits.
   * One that cannot be read is left alone, and said.
   */
  async takeUp(claimed: OperationRow): Promise<void> {
    const definition = this.#around.definitions.get(claimed.action);
    if (definition === undefined || this.#closed) return;
    let row: KernelRow;
    try {
      row = fromStored(claimed);
      decode(claimed.input);
    } catch (error) {
      const { tenant, id } = claimed;
      this.#around.logger.error({ operation: id, tenant, error }, 'operation cannot be read by this version');
      return this.#track(this.#giveBackUnread(claimed));
    }
    const { providerKey: idempotencyKey, input, generation, createdAt } = claimed;
    const { id, timeline } = this.#around.worker;
    const worker = claimed.owner ?? id;
    const told = this.#toldBy(claimed, claimed.turn);
    const holding = { definition, idempotencyKey, input, worker, generation, timeline, createdAt, row, told };
    const held = this.#hold(claimed, holding);
    if (claimed.handovers.length > 0) this.#enqueue(held, () => this.#applyHandovers(held, claimed));
    if (stateOf(row) === 'in-progress') this.#enqueue(held, () => this.#interrupted(held));
    this.#enqueue(held, () => this.#goOn(held));
    await held.queue;
  }

  /** Leaves an operation, as it is, to a process that can read it; this one meets it again after a pause. */
  async #giveBackUnread(claimed: OperationRow): Promise<void> {
    const { tenant, id, owner, generation, revision, state, reason, snapshot } = claimed;
    // What was handed over would be claimed again at once: then it is kept, and tried again, by this worker.
    if (claimed.handovers.length > 0) return this.#retakeLater(claimed, UNREADABLE_PAUSE_MS);
    const { store, clock, random } = this.#around;
    const turn: Turn = {
      ...{ tenant, id, turn: random.id(), birth: null, was: { owner, generation, revision }, owner: null, generation },
      ...{ state, reason, snapshot, output: null, contradicted: false, start: null, records: [], takes: [] },
      dueInMs: UNREADABLE_PAUSE_MS,
    };
    await commit(store, clock, turn, () => this.#closed);
  }

  /** Something was handed over to an operation; applied now if this worker holds it. */
  attend(ref: OperationRef): boolean {
    const held = this.#held.get(keyOf(ref));
    if (held === undefined) return false;
    const apply = async () => {
      const stored = await this.#around.store.read(ref).catch((error: unknown) => {
        // The sweep attends to it again; what is under way goes on meanwhile.
        if (isSagacityError(error) && error.retryable) return null;
        throw error;
      });
      if (stored !== null && stored.handovers.length > 0) await this.#applyHandovers(held, stored);
    };
    // Given back meanwhile: then whoever is free claims it, at once and not with the next sweep.
    this.#enqueue(held, apply, () => this.#wake(ref, 0, 0));
    return true;
  }

  /** The time an operation waited for has come. */
  woken(wake: Wake): boolean {
    const held = this.#held.get(keyOf({ tenant: wake.tenant, id: wake.operationId }));
    if (held === undefined) return false;
    if (held.generation === wake.generation) this.#enqueue(held, () => this.#goOn(held));
    return true;
  }

  /** Goes on with what is held and due and stands still: the wake for it was lost. */
  goOnDue(): void {
    for (const held of this.#held.values()) {
      const isBusy = held.queued > 0 || held.attempt !== null || held.lookup !== null || held.awaitsSlot;
      const { dueAt } = held.told;
      if (isBusy || (dueAt !== null && dueAt > this.#storeNow(held.told))) continue;
      this.#enqueue(held, () => this.#goOn(held));
    }
  }

  #hold(ref: OperationRef, holding: Holding): Held {
    const before = this.#held.get(keyOf(ref));
    if (before !== undefined) this.#drop(before);
    const held: Held = {
      ...holding,
      ref: { tenant: ref.tenant, id: ref.id },
      queue: Promise.resolve(),
      queued: 0,
      attempt: null,
      lookup: null,
      awaitsSlot: false,
      dropped: false,
    };
    this.#held.set(keyOf(ref), held);
    return held;
  }

  #drop(held: Held): void {
    held.dropped = true;
    if (this.#held.get(keyOf(held.ref)) === held) this.#held.delete(keyOf(held.ref));
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
        this.#around.logger.error(
          { operation: held.ref.id, tenant: held.ref.tenant, error },
          'operation could not go on',
        );
        this.#drop(held);
        this.#retakeLater(held.ref);
      } finally {
        held.queued -= 1;
      }
    });
    this.#track(held.queue);
  }

  /** Reads an operation that this worker may own without holding it, and takes it up again if it does. */
  #retakeLater(ref: OperationRef, pauseMs = RETAKE_PAUSE_MS): void {
    if (this.#closed) return;
    const { clock, store, worker } = this.#around;
    const cancelTimer = clock.after(pauseMs, () => {
      this.#pauses.delete(cancelTimer);
      if (this.#closed || this.#draining || this.#held.has(keyOf(ref))) return;
      const retaking = store.read(ref).then(
        (row) => {
          if (row !== null && row.owner === worker.id && !this.#held.has(keyOf(ref))) void this.takeUp(row);
        },
        () => this.#retakeLater(ref),
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

  /** Does what is due, or arms a wake for when it is. */
  async #goOn(held: Held): Promise<void> {
    const { row, told } = held;
    const { slots } = this.#around;
    const due = row.timers['due'];
    const lookup = row.children['lookup'];
    if (due === undefined && lookup === undefined) {
      if (stateOf(row) !== 'in-progress') await this.#write(held, { type: 'released' });
      return;
    }
    const waitMs = told.dueAt === null ? 0 : told.dueAt - this.#storeNow(told);
    if (waitMs > 0) return this.#wake(held.ref, held.generation, waitMs);
    if (this.#draining) return;
    if (due !== undefined) {
      // A start recorded by a worker that may not send would be a start for nothing.
      if (!this.#around.worker.isFresh) return this.#wake(held.ref, held.generation, STALE_PAUSE_MS);
      if (held.awaitsSlot) return;
      held.awaitsSlot = true;
      // Waiting for a slot must not hold up what else happens to the operation.
      this.#track(
        slots.take().then((giveBack) => {
          held.awaitsSlot = false;
          if (this.#draining) return giveBack();
          return this.#enqueue(held, () => this.#begin(held, due.generation, giveBack), giveBack);
        }),
      );
      return;
    }
    if (lookup !== undefined && held.lookup === null) this.#lookUp(held, lookup.generation);
  }

  async #begin(held: Held, generation: number, giveBack: () => void): Promise<void> {
    const stamp = stampNow(this.#around.clock);
    const { worker } = this.#around;
    let performing = false;
    try {
      // Waiting for a slot can outlast the worker; a start of its would be refused when it is to be sent.
      if (held.worker !== worker.id) return this.#drop(held);
      if (!worker.isFresh) return this.#wake(held.ref, held.generation, STALE_PAUSE_MS);
      const written = await this.#write(held, { type: 'due', generation });
      if (written && stateOf(held.row) === 'in-progress' && !held.dropped) {
        this.#perform(held, stamp, giveBack);
        performing = true;
      }
    } finally {
      if (!performing) giveBack();
    }
  }

  /** A start without an end, after a crash: nobody knows, and it is never run again on a guess. */
  async #interrupted(held: Held): Promise<void> {
    const attempt = held.row.children['attempt'];
    if (attempt === undefined || held.attempt !== null) return;
    const reason = 'the worker was lost before the outcome was recorded';
    const end = endOf({ type: 'unknown', reason });
    await this.#write(held, { type: 'attempt.ended', generation: attempt.generation, ...end });
  }

  #perform(held: Held, stamp: Stamp, giveBack: () => void): void {
    const { clock, worker } = this.#around;
    const attempt = held.row.children['attempt'];
    if (attempt === undefined) return giveBack();
    const number = contextOf(held.row).history.attempts.length;
    const input = decode(held.input);
    const abort = new AbortController();
    held.attempt = abort;
    this.#signals.add(abort);
    const { sendWithinMs, timeoutMs } = contextOf(held.row).policy;
    const { sendBy, now } = held.told;
    // Counted from before the start was sent to the store; a resubmission's send-by may end with the key's window.
    const leavesWithinMs = sendBy === null ? sendWithinMs : Math.min(sendWithinMs, sendBy - now);
    const performing = perform(
      {
        definition: held.definition,
        input,
        idempotencyKey: held.idempotencyKey,
        number,
        timeoutMs,
        abort,
        mayLeave: () => {
          if (this.#aborted || this.#closed) return 'its orchestrator was stopping';
          if (msSince(clock, stamp) > leavesWithinMs) return 'its time to be sent had passed';
          if (held.dropped || held.worker !== worker.id || !worker.isFresh) return 'its worker had lost its claim';
          return null;
        },
        late: (result) => this.#late(held, number, result),
      },
      clock,
    ).then(({ result, body }) => {
      giveBack();
      held.attempt = null;
      this.#signals.delete(abort);
      const late = () => this.#late(held, number, result);
      const happening: Happening = { type: 'attempt.ended', generation: attempt.generation, result, body };
      // Not written: somebody else holds the operation, it was settled meanwhile, or the store has a fault that does
      // not pass. Then it is evidence.
      const record = async () => {
        const written = await this.#write(held, happening).catch((error: unknown) => {
          late();
          throw error;
        });
        if (!written) late();
      };
      return this.#enqueue(held, record, late);
    });
    this.#track(performing);
  }

  #lookUp(held: Held, generation: number): void {
    const { clock, slots, store } = this.#around;
    const abort = new AbortController();
    held.lookup = abort;
    this.#signals.add(abort);
    const again = () => this.#wake(held.ref, held.generation, LOOKUP_AGAIN_MS);
    const looking = slots.take().then(async (giveBack) => {
      try {
        // The store's time, read before the question is asked, bounds what an absence can prove.
        const stored = await store.read(held.ref);
        if (held.dropped || this.#draining) return;
        if (stored?.owner !== held.worker || stored.generation !== held.generation) return this.#drop(held);
        const { definition, idempotencyKey } = held;
        const { timeoutMs } = contextOf(held.row).policy;
        const input = decode(held.input);
        const looked = { definition, input, idempotencyKey, timeoutMs, beganAt: stored.now, abort };
        const { answer, body } = await lookUp(looked, clock);
        if (this.#draining && abort.signal.aborted) return;
        this.#enqueue(held, async () => {
          held.lookup = null;
          if (await this.#write(held, { type: 'lookup.answered', generation, answer, body })) return;
          if (!held.dropped) await this.#goOn(held);
        });
      } catch (error) {
        // The sweep says once that the store does not answer; each operation in doubt would say it every second.
        const level = isSagacityError(error) && error.retryable ? 'debug' : 'warn';
        this.#around.logger[level]({ operation: held.ref.id, error }, 'look-up put off');
        held.lookup = null;
        again();
      } finally {
        this.#signals.delete(abort);
        giveBack();
      }
    });
    this.#track(looking);
  }

  /** Appends what an attempt brought after it had been given up; the owner's turn applies it. */
  #late({ ref, timeline }: Held, attempt: number, result: AttemptResult): void {
    if (result.type === 'unknown' || this.#closed) return;
    const evidence: Evidence = {
      ...{ kind: 'evidence', source: 'late-result', attempt, timeline: timeline.id, outcome: result },
    };
    this.#track(
      this.handOver(ref, evidence, this.newHandoverId()).catch((error: unknown) => {
        // At a stop nothing is repeated any more: a look-up or a person finds out what this would have told.
        const level = this.#closed && isSagacityError(error) && error.retryable ? 'warn' : 'error';
        this.#around.logger[level]({ operation: ref.id, error }, 'late result could not be kept');
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
    const { store, clock } = this.#around;
    // Once, so that every repetition says the same.
    const body = toBody(said);
    const giveUp = () => this.#closed || clock.monotonic() >= giveUpAt;
    await repeated(clock, giveUp, () => store.handOver({ ...ref, handoverId, body }));
    if (!this.attend(ref)) this.#wake(ref, 0, 0);
  }

  async #applyHandovers(held: Held, stored: OperationRow): Promise<void> {
    await this.#write(held, { type: 'handed.over', handovers: stored.handovers });
    if (held.dropped) return;
    const { history } = contextOf(held.row);
    if (history.cancelled) held.attempt?.abort(new Error('The operation was cancelled.'));
    await this.#goOn(held);
  }

  /**
   * Writes the turn that follows from `happening`. False when it was not written: too late to change anything, or the
   * operation is somebody else's now.
   */
  async #write(held: Held, happening: Happening): Promise<boolean> {
    const { store, clock, kernel } = this.#around;
    for (let round = 0; round < RECOMPUTE_MAX; round += 1) {
      const made = advance(kernel, held.row, seenOf(held.told), happening, this.#factsOf(held));
      if (made === null) return false;
      const waitMs = this.#waitOf(held, made.row);
      const keeps = stateOf(made.row) === 'in-progress' || (waitMs !== null && waitMs <= HOLD_MS && !this.#draining);
      const turn = this.#turnOf(held.ref, made, {
        birth: null,
        was: { owner: held.worker, generation: held.generation, revision: held.told.revision },
        owner: keeps ? held.worker : null,
        generation: held.generation,
        start: startIn(held.row, made.row, { timeline: held.timeline.id, lostForMs: this.#lostForMs(held) }),
        dueInMs: waitMs,
      });
      const committed = await commit(store, clock, turn, () => this.#closed);
      if (committed.type === 'written') {
        held.row = made.row;
        held.told = this.#toldBy(committed.receipt, turn.turn);
        if (stateOf(made.row) !== 'in-progress') held.attempt?.abort(new Error('The outcome is known from elsewhere.'));
        if (!keeps) this.#drop(held);
        if (waitMs !== null && keeps && waitMs <= 0) this.#enqueue(held, () => this.#goOn(held));
        else if (waitMs !== null) this.#wake(held.ref, held.generation, waitMs);
        this.#around.watchers.changed(held.ref, made.answers);
        return true;
      }
      const { row } = committed;
      const stillOurs =
        row?.owner === held.worker && row.generation === held.generation && row.revision === held.told.revision;
      if (knowsLess(row, held) || (stillOurs && turn.start !== null && !isOutsideWindow(turn.start, row))) {
        this.#drop(held);
        const followed = await this.#leave(held.timeline);
        if (!followed && stillOurs) break;
        return false;
      }
      if (!stillOurs) {
        this.#around.logger.debug({ operation: held.ref.id }, 'claim lost: another worker holds the operation');
        this.#drop(held);
        // Moved on in our own name: a turn that had been in doubt was carried out after its repetition was refused.
        if (row?.owner === held.worker && row.generation === held.generation) void this.takeUp(row);
        return false;
      }
      held.told = this.#toldBy(row, row.turn);
    }
    throw new Error(`The store refused a turn of operation ${held.ref.id} although its fence holds.`);
  }

  /** How long until the next thing is due; what was waited for already goes on from where it stands. */
  #waitOf(held: Held, row: KernelRow): number | null {
    const wait = waitOf(row);
    if (wait === null) return null;
    const { dueAt } = held.told;
    const waitedAlready = waitOf(held.row)?.id === wait.id && dueAt !== null;
    return waitedAlready ? Math.max(0, dueAt - this.#storeNow(held.told)) : wait.delayMs;
  }

  #turnOf(
    ref: OperationRef,
    made: Advance,
    as: Pick<Turn, 'birth' | 'was' | 'owner' | 'generation' | 'start' | 'dueInMs'>,
  ): Turn {
    const { snapshot, output } = toStored(made.row);
    return {
      tenant: ref.tenant,
      id: ref.id,
      turn: this.#around.random.id(),
      ...as,
      state: stateOf(made.row),
      reason: contextOf(made.row).reason,
      contradicted: made.contradicted,
      snapshot,
      output,
      records: made.records,
      takes: made.takes,
    };
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

  #factsOf({ told, timeline, createdAt }: Held): Facts {
    const { sendBy, windowEndsAt } = told;
    const lostStartOn = this.#isBeforeVerified(timeline, createdAt) ? timeline.id : null;
    return { now: this.#storeNow(told), sendBy, windowEndsAt, lostStartOn, random: this.#around.random.number() };
  }

  /** A birth is started only when nothing can be lost of it, and what is due later is judged again then. */
  #factsOfBirth(): Facts {
    const { clock, random } = this.#around;
    return { now: clock.now(), sendBy: null, windowEndsAt: null, lostStartOn: null, random: random.number() };
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

  #toldBy({ revision, now, dueAt, sendBy, windowEndsAt }: Receipt, turn: string): Told {
    this.#lastTold = { revision, turn, now, dueAt, sendBy, windowEndsAt, heardAt: stampNow(this.#around.clock) };
    return this.#lastTold;
  }

  #wake(ref: OperationRef, generation: number, delayMs: number): void {
    if (this.#draining) return;
    this.#around.waker.wake({ tenant: ref.tenant, operationId: ref.id, generation }, delayMs);
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

/** The store has forgotten what it had acknowledged: it failed over. */
function knowsLess(row: OperationRow | null, { generation, told }: Held): boolean {
  return row === null || row.generation < generation || row.revision < told.revision;
}

/** The start was refused because its window is over; read later than that, so a window that is open was open. */
function isOutsideWindow({ insideWindow }: Start, { windowEndsAt, now }: OperationRow): boolean {
  return insideWindow && (windowEndsAt === null || now >= windowEndsAt);
}
