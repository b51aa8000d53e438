/**
 * Those who want something: each caller submits an order until it is accepted, by whatever process answers, and at
 * times once more, with other parameters, or to take it back. A caller that lost its connection knows nothing and
 * tries again. What a caller is told is shown to the judge.
 */

import { isSagacityError } from '../../src/domain/errors.ts';
import type { Course } from './course.ts';
import type { Wanted } from './plan.ts';
import type { Process } from './process.ts';
import { subjectOf } from './provider.ts';
import type { Order } from './shop.ts';
import { orderOf, type Watch } from './watch.ts';

/** A caller hears nothing for so long, and tries again. */
const PATIENCE_MS = 6_000;

/** A caller asks so often to be let off. */
const CANCELS_MAX = 3;

export class Caller {
  readonly subject: string;
  readonly #course: Course;
  readonly #wanted: Wanted;
  readonly #anybody: () => Process | null;
  readonly #watch: Watch;
  #id: string | null = null;

  constructor(course: Course, wanted: Wanted, anybody: () => Process | null, watch: Watch) {
    this.#course = course;
    this.#wanted = wanted;
    this.#anybody = anybody;
    this.#watch = watch;
    this.subject = subjectOf(wanted.action, { tenant: wanted.tenant, order: wanted.key });
  }

  /** Whether its order has been accepted, as far as it knows. */
  get isAccepted(): boolean {
    return this.#id !== null;
  }

  begin(): void {
    const { agenda, chance } = this.#course;
    agenda.after(this.#wanted.atMs, () => this.#submit());
    if (this.#course.strikes('conflict')) agenda.after(chance.between(0, 30_000), () => this.#conflict());
    for (let times = 0; times < CANCELS_MAX && this.#course.strikes('cancel'); times += 1) {
      agenda.after(this.#wanted.atMs + chance.logBetween(10, 40_000), () => this.#cancel());
    }
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
    this.#submitTo(process, orderOf(this.#wanted.tenant, this.#wanted.key)).then(
      ({ id, result }) => {
        answered = true;
        this.#id = id;
        if (!this.#course.strikes('disconnect')) this.#await(result);
      },
      (error: unknown) => {
        if (isSagacityError(error, 'STORE_IN_DOUBT')) this.#course.tally.met('submission: in doubt');
        // A fail-over took the order with it, and another one came first under its key.
        const isLost = isSagacityError(error, 'IDEMPOTENCY_CONFLICT') && this.#watch.failovers > 0;
        if (isLost) {
          answered = true;
          this.#id = '';
          return;
        }
        if (!isExpected(error)) this.#course.violated('submit', messageOf(error));
        again(chance.between(100, 3_000));
      },
    );
  }

  async #submitTo(process: Process, order: Order) {
    const { tenant, action } = this.#wanted;
    const definition = process.definitions.get(action);
    if (definition === undefined) throw new Error(`${action} is not defined.`);
    this.#course.tell('caller', `submits ${this.subject} to ${process.name}`);
    const run = await process.orchestrator.submit(definition, order, { tenant });
    this.#course.tally.met(`submission: ${run.submission}`);
    this.#course.tell('caller', `${this.subject}: accepted, ${run.submission}`);
    if (run.tenant !== tenant) this.#course.violated('I15', `${this.subject} was accepted for ${run.tenant}`);
    return { id: run.id, result: () => run.result({ within: 5_000 }) };
  }

  #await(result: () => ReturnType<Awaited<ReturnType<Process['orchestrator']['run']>>['result']>): void {
    result().then(
      (told) => this.#watch.told(this.subject, told),
      (error: unknown) => {
        const isGone = isSagacityError(error, 'OPERATION_NOT_FOUND') && this.#watch.failovers > 0;
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
    const { tenant, key } = this.#wanted;
    if (this.#id === null) return;
    this.#submitTo(process, { ...orderOf(tenant, key), amount: 1_300n }).then(
      () => {
        if (this.#watch.failovers === 0)
          this.#course.violated('G3', `${this.subject} was accepted with another amount`);
      },
      (error: unknown) => {
        if (isSagacityError(error, 'IDEMPOTENCY_CONFLICT')) this.#course.tally.met('submission: conflict');
        else if (!isExpected(error)) this.#course.violated('submit', messageOf(error));
      },
    );
  }

  #cancel(): void {
    const process = this.#anybody();
    const id = this.#id;
    if (process === null || id === null || id === '') return;
    this.#course.tell('caller', `cancels ${this.subject}`);
    process.orchestrator
      .cancel(id, { tenant: this.#wanted.tenant, by: 'the customer', reason: 'ordered twice', within: 2_000 })
      .catch((error: unknown) => {
        const isGone = isSagacityError(error, 'OPERATION_NOT_FOUND') && this.#watch.failovers > 0;
        if (!isExpected(error) && !isGone) this.#course.violated('cancel', messageOf(error));
      });
  }
}

/** The store was away, or the process was stopping: nothing is wrong with that. */
export function isExpected(error: unknown): boolean {
  return isSagacityError(error) && (error.retryable || error.code === 'ORCHESTRATOR_STOPPED');
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
