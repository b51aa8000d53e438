/**
 * The people on call. They read the list of doubts, look at the provider's ledger when nothing about the order can
 * still arrive, and decide what they saw; now and then they ask for one more look-up instead, or come too late, because
 * what they read in the list is some time ago.
 */

import { isSagacityError } from '../../src/domain/errors.ts';
import { failed, notApplied, succeeded } from '../../src/domain/outcome.ts';
import type { Doubt } from '../../src/orchestrator/decide.ts';
import { isExpected, messageOf } from './callers.ts';
import type { Course } from './course.ts';
import type { Database } from './database.ts';
import type { Process } from './process.ts';
import { outputOf, type Provider, subjectOf } from './provider.ts';
import { subjectOfRow } from './watch.ts';

export class Persons {
  readonly #course: Course;
  readonly #database: Database;
  readonly #provider: Provider;
  readonly #anybody: () => Process | null;

  constructor(course: Course, database: Database, provider: Provider, anybody: () => Process | null) {
    this.#course = course;
    this.#database = database;
    this.#provider = provider;
    this.#anybody = anybody;
  }

  /** Goes through the list once. */
  look(): void {
    const process = this.#anybody();
    if (process === null) return;
    process.orchestrator.operator.doubts().then(
      (doubts) => {
        for (const doubt of doubts) if (doubt.state === 'escalated') this.#think(doubt);
      },
      (error: unknown) => this.#failed('doubts', error),
    );
  }

  #think(doubt: Doubt): void {
    const { chance, agenda, healed } = this.#course;
    const isSlow = !healed && chance.is(0.5);
    agenda.after(isSlow ? chance.between(0, SLOWEST_MS) : 0, () => this.#decide(doubt));
  }

  #decide(doubt: Doubt): void {
    const { chance } = this.#course;
    const process = this.#anybody();
    if (process === null) return;
    const subject = subjectOf(doubt.action, { tenant: doubt.tenant, order: doubt.key });
    if (this.#mayStillArrive(subject)) return;
    const { id, tenant, seen } = doubt;
    const decision = { tenant, seen, by: 'the person on call', evidence: 'the ledger of the provider', within: 3_000 };
    const effects = this.#provider.effectsOf(subject);
    const [effect] = effects;
    const { operator } = process.orchestrator;
    this.#course.tell('person', `decides ${subject} (${doubt.reason}): ${effects.length} effects`);
    const said = this.#asksAgain(doubt)
      ? operator.lookUp(id, decision)
      : effect !== undefined
        ? operator.resolve(id, succeeded(outputOf(effect), { reference: effect.reference }), decision)
        : operator.resolve(id, chance.is(0.5) ? notApplied('it is not in the ledger') : failed('given_up'), decision);
    said.catch((error: unknown) => this.#failed('decide', error));
  }

  #asksAgain({ action }: Doubt): boolean {
    const { chance, plan } = this.#course;
    const promised = plan.promised.find((one) => one.action === action);
    return promised?.lookup !== null && !this.#course.healed && chance.is(0.3);
  }

  /** Nobody decides while a request can still leave or arrive. */
  #mayStillArrive(subject: string): boolean {
    if (this.#provider.isUnderWay(subject)) return true;
    const { now } = this.#course;
    for (const row of this.#database.rows.operations.values()) {
      if (subjectOfRow(row) === subject && row.sendBy !== null && row.sendBy + LONGEST_MS > now) return true;
    }
    return false;
  }

  #failed(what: string, error: unknown): void {
    const isLate = isSagacityError(error, 'RESOLUTION_REFUSED') || isSagacityError(error, 'OPERATION_NOT_FOUND');
    if (!isLate && !isExpected(error)) this.#course.violated(what, messageOf(error));
  }
}

/** So long ago a person may have read what they decide. */
const SLOWEST_MS = 60_000;

/** A person waits for this long after the last request could have left. */
const LONGEST_MS = 10_000;
