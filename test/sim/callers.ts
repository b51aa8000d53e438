/**
 * Those who want something, an order or a saga: each caller submits it until it is accepted, by whatever process
 * answers, and at times once more, with other parameters, or to take it back. A caller that lost its connection knows
 * nothing and tries again. What a caller is told is shown to the judge.
 */

import type { Result } from '../../src/define/result.ts';
import type { SagaResult } from '../../src/define/saga-result.ts';
import { isSagacityError } from '../../src/domain/errors.ts';
import type { Course } from './course.ts';
import type { Process } from './process.ts';
import { meansOtherwise, type Word } from './saga-plan.ts';
import { agreed } from './saga-shop.ts';
import type { Order } from './shop.ts';
import { orderOf, type Watch } from './watch.ts';

/** Something that is wanted. */
export interface Wish {
  readonly tenant: string;
  /** The action of an operation, or the name of a saga. */
  readonly definition: string;
  readonly key: string;
  readonly atMs: number;
  /** What it is called in the account. */
  readonly subject: string;
  /** When an operator ends it as it stands; null: nobody does. */
  readonly terminatesAtMs: number | null;
  /** When its customer wants it cancelled for sure; null: at no time. */
  readonly cancelledAtMs: number | null;
  /** How long after its cancellation an operator ends it as it stands; null: nobody does. */
  readonly endedAfterMs: number | null;
  /** When an operator wants it taken back; null: nobody does. */
  readonly takenBackAtMs: number | null;
  /** What its chart is told from outside. */
  readonly words: readonly Word[];
  /** Its chart was told, as the answer was. */
  readonly heard: (word: Word) => void;
  /** Sagas may have it too: then it is theirs to cancel. */
  readonly isShared: boolean;
  /** Whether its story is read once it has been told. */
  readonly isRead: boolean;
  /** How it ended, as its caller was told. */
  readonly told: (result: Told) => void;
  /** What a caller was answered who wanted it cancelled. */
  readonly cancelled: (status: 'accepted' | 'too-late' | 'waiting') => void;
}

/** An operation's result, or a saga's. */
export type Told = Result | SagaResult;

/** A caller hears nothing for so long, and tries again. */
const PATIENCE_MS = 6_000;

/** A caller tells a chart the same event so often. */
const TELLS_MAX = 4;

/** A caller asks so often to be let off. */
const CANCELS_MAX = 3;

export class Caller {
  readonly #course: Course;
  readonly #wish: Wish;
  readonly #anybody: () => Process | null;
  readonly #watch: Watch;
  #id: string | null = null;
  #isLockedOut = false;

  constructor(course: Course, wish: Wish, anybody: () => Process | null, watch: Watch) {
    this.#course = course;
    this.#wish = wish;
    this.#anybody = anybody;
    this.#watch = watch;
  }

  get subject(): string {
    return this.#wish.subject;
  }

  /** Another one of its kind was at it when it was submitted last. */
  get isLockedOut(): boolean {
    return this.#isLockedOut;
  }

  /** Whether its order has been accepted, as far as it knows. */
  get isAccepted(): boolean {
    return this.#id !== null;
  }

  begin(): void {
    const { agenda, chance } = this.#course;
    const { atMs, terminatesAtMs, cancelledAtMs, takenBackAtMs } = this.#wish;
    agenda.after(atMs, () => this.#submit());
    if (!this.#wish.isShared && this.#course.strikes('conflict'))
      agenda.after(chance.between(0, 30_000), () => this.#conflict());
    for (let times = 0; times < CANCELS_MAX && this.#course.strikes('cancel'); times += 1) {
      agenda.after(atMs + chance.logBetween(10, 40_000), () => this.#cancel());
    }
    for (const word of this.#wish.words) agenda.after(word.atMs, () => this.#tell(word, TELLS_MAX));
    if (cancelledAtMs !== null) agenda.after(cancelledAtMs, () => this.#cancel());
    if (terminatesAtMs !== null) agenda.after(terminatesAtMs, () => this.#instruct('terminate'));
    if (takenBackAtMs !== null) agenda.after(takenBackAtMs, () => this.#instruct('compensate'));
  }

  /** Submits once more, now that all is well: the answer must be the one it was given before. */
  ask(): void {
    this.#submit();
  }

  #submit(): void {
    const { agenda, chance } = this.#course;
    const process = this.#anybody();
    let answered = false;
    const again = (afterMs: number) => {
      answered = true;
      agenda.after(afterMs, () => {
        if (this.#id === null) this.#submit();
      });
    };
    if (process === null) return again(500);
    agenda.after(PATIENCE_MS, () => {
      if (!answered && this.#id === null) again(0);
    });
    if (this.#course.strikes('submitted-again')) agenda.after(chance.between(0, 10_000), () => this.#submit());
    this.#submitTo(process, orderOf(this.#wish.tenant, this.#wish.key)).then(
      ({ id, result }) => {
        answered = true;
        this.#isLockedOut = false;
        this.#id = id;
        if (!this.#course.strikes('disconnect')) this.#await(result);
      },
      (error: unknown) => {
        if (isSagacityError(error, 'STORE_IN_DOUBT')) this.#course.tally.met('submission: in doubt');
        // A fail-over took the order with it, and another one came first under its key.
        const isTaken = isSagacityError(error, 'IDEMPOTENCY_CONFLICT');
        const isLost = isTaken && (this.#watch.failovers > 0 || this.#isMeantOtherwise);
        if (isLost) {
          answered = true;
          this.#id = '';
          return;
        }
        this.#isLockedOut = isSagacityError(error, 'RESOURCE_LOCKED');
        if (this.#isLockedOut) this.#course.tally.met('saga: not begun, since another one has the lock');
        else if (this.#isOfDefinition(error))
          this.#course.tally.met('saga: not begun, since its definition is at fault');
        else if (!isExpected(error)) this.#course.violated('submit', messageOf(error));
        again(chance.between(100, 3_000));
      },
    );
  }

  async #submitTo(process: Process, order: Order) {
    const { tenant, definition: name } = this.#wish;
    const definition = process.definitions.get(name);
    if (definition === undefined) throw new Error(`${name} is not defined.`);
    this.#course.tell('caller', `submits ${this.subject} to ${process.name}`);
    const run = await process.orchestrator.submit(definition, order, { tenant });
    this.#course.tally.met(`submission: ${run.submission}`);
    this.#course.tell('caller', `${this.subject}: accepted, ${run.submission}`);
    if (run.tenant !== tenant) this.#course.violated('I15', `${this.subject} was accepted for ${run.tenant}`);
    const result = () => run.result({ within: 5_000 });
    if (!this.#wish.isRead) return { id: run.id, result };
    const read = () => void run.history().catch(() => {});
    return { id: run.id, result: () => result().finally(read) };
  }

  #await(result: () => Promise<Told>): void {
    result().then(
      (told) => this.#wish.told(told),
      (error: unknown) => {
        const isGone = this.#isGone(error);
        if (!isExpected(error) && !isGone) this.#course.violated('result', messageOf(error));
        if (isGone) this.forget();
      },
    );
  }

  /** The database does not know it any more: it is wanted still. */
  forget(): void {
    if (this.#id === null) return;
    this.#id = null;
    this.#course.agenda.after(this.#course.chance.between(0, 30_000), () => {
      if (this.#id === null) this.#submit();
    });
  }

  /** The same key with another amount: nothing may come of it. */
  #conflict(): void {
    const process = this.#anybody();
    if (process === null) return;
    const { tenant, key } = this.#wish;
    if (this.#id === null) return;
    this.#submitTo(process, { ...orderOf(tenant, key), amount: 1_300n }).then(
      () => {
        if (this.#watch.failovers === 0)
          this.#course.violated('G3', `${this.subject} was accepted with another amount`);
      },
      (error: unknown) => {
        // A fail-over took the order with it, and another one has what it wants.
        const isLost = this.#watch.failovers > 0 && isSagacityError(error, 'RESOURCE_LOCKED');
        if (isSagacityError(error, 'IDEMPOTENCY_CONFLICT')) this.#course.tally.met('submission: conflict');
        else if (!isLost && !isExpected(error) && !this.#isOfDefinition(error)) {
          this.#course.violated('submit', messageOf(error));
        }
      },
    );
  }

  #cancel(): void {
    const process = this.#anybody();
    const id = this.#id;
    if (process === null || id === null || id === '') return;
    this.#course.tell('caller', `cancels ${this.subject}`);
    process.orchestrator
      .cancel(id, { tenant: this.#wish.tenant, by: 'the customer', reason: 'ordered twice', within: 2_000 })
      .then(
        ({ status }) => {
          this.#wish.cancelled(status);
          const { endedAfterMs } = this.#wish;
          if (status !== 'accepted' || endedAfterMs === null) return;
          this.#course.agenda.after(endedAfterMs, () => this.#instruct('terminate'));
        },
        (error: unknown) => {
          const isOfSaga = this.#wish.isShared && isSagacityError(error, 'INPUT_INVALID');
          if (isOfSaga || isExpected(error) || this.#isGone(error)) return;
          this.#course.violated('cancel', messageOf(error));
        },
      );
  }

  /** Gives its chart an event, and again while nobody knows whether it was heard, or it comes too early. */
  #tell(word: Word, times: number): void {
    const { agenda, chance } = this.#course;
    const again = () => {
      if (times > 1) agenda.after(chance.between(50, 8_000), () => this.#tell(word, times - 1));
    };
    const process = this.#anybody();
    const target = process === null ? null : this.#targetOf(process, word);
    if (process === null || target === null) return again();
    if (this.#course.strikes('submitted-again')) agenda.after(chance.between(0, 8_000), () => this.#tell(word, 1));
    const { type, eventId } = word;
    this.#course.tell('caller', `tells ${this.subject} ${eventId}: ${type}`);
    const how = {
      ...{ tenant: this.#wish.tenant, eventId, within: 2_000, keepFor: word.keepForMs },
      early: word.isNowOrNever ? ('refuse' as const) : ('keep' as const),
    };
    const { orchestrator } = process;
    const said =
      type === 'agreed'
        ? orchestrator.signal(target, agreed, { by: eventId }, how)
        : orchestrator.signal(target, { type, eventId }, how);
    said.then(
      ({ status }) => {
        this.#course.tally.met(`saga: a word is ${status}`);
        if (status === 'waiting') return again();
        this.#wish.heard(word);
      },
      (error: unknown) => {
        // It will be no other answer.
        if (isSagacityError(error, 'SIGNAL_REFUSED')) return;
        if (!isExpected(error) && !this.#isGone(error)) this.#course.violated('signal', messageOf(error));
        again();
      },
    );
  }

  /** A chain is told before it is there, under the key that it will have; a machine by hand once it is. */
  #targetOf({ definitions }: Process, { type }: Word) {
    const { definition, key } = this.#wish;
    const defined = definitions.get(definition);
    if (type === 'agreed' && defined?.type === 'saga') return { saga: defined, key };
    return this.#id === '' ? null : this.#id;
  }

  /** The operator ends it as it stands, or takes it back, if it is so far. */
  #instruct(what: 'terminate' | 'compensate'): void {
    const process = this.#anybody();
    const id = this.#id;
    if (process === null || id === null || id === '') return;
    this.#course.tell('person', `wants to ${what} ${this.subject}`);
    process.orchestrator.operator[what](id, {
      ...{ tenant: this.#wish.tenant, by: 'the operator', reason: 'the shop closes', within: 2_000 },
    }).catch((error: unknown) => {
      const isLate = isSagacityError(error, 'RESOLUTION_REFUSED');
      if (this.#wish.isShared && this.#isOfDefinition(error)) {
        this.#course.tally.met('saga: what stands alone is not taken back, since its definition is at fault');
        // Another process may have another definition.
        const { agenda, chance } = this.#course;
        return agenda.after(chance.between(500, 4_000), () => this.#instruct(what));
      }
      if (!isLate && !isExpected(error) && !this.#isGone(error)) this.#course.violated(what, messageOf(error));
    });
  }

  /** A process that is broken cannot begin the first step, or an inverse: its input throws, or no store keeps it. */
  #isOfDefinition(error: unknown): boolean {
    return isSagacityError(error, 'DEFINITION_INVALID') && this.#course.plan.sagas.brokenAt !== null;
  }

  /** A saga that means something else by it may have come first. */
  get #isMeantOtherwise(): boolean {
    return this.#wish.isShared && this.#course.plan.sagas.wanted.some(({ key }) => meansOtherwise(key));
  }

  /** A fail-over took it with it. */
  #isGone(error: unknown): boolean {
    const isNotFound = isSagacityError(error, 'OPERATION_NOT_FOUND') || isSagacityError(error, 'SAGA_NOT_FOUND');
    return isNotFound && this.#watch.failovers > 0;
  }
}

/** The store was away, or the process was stopping: nothing is wrong with that. */
export function isExpected(error: unknown): boolean {
  return isSagacityError(error) && (error.retryable || error.code === 'ORCHESTRATOR_STOPPED');
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
