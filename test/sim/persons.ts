/**
 * The people on call. They read the list of doubts, look at the provider's ledger when nothing about the order can
 * still arrive, and decide what they saw; now and then they ask for one more look-up instead, or come too late, because
 * what they read in the list is some time ago. Of an effect whose inverse was refused they say that they took it back by
 * hand, or that it stands; of one whose inverse could not be begun also that it is to be begun again; of a saga whose
 * step was refused after the pivot they state the output, or have the step taken again. Where a saga that is to be taken
 * back waits for what is in doubt, they have the rest of it taken back meanwhile.
 */

import { isSagacityError } from '../../src/domain/errors.ts';
import { failed, notApplied, succeeded } from '../../src/domain/outcome.ts';
import type { Kept, KeptSaga } from '../../src/adapters/memory/rows.ts';
import { isDoubt } from '../../src/domain/operation-state.ts';
import { keyOf } from '../../src/ports/store.ts';
import type { Decision } from '../../src/orchestrator/decide.ts';
import type { Doubt, EscalatedSaga } from '../../src/orchestrator/lists.ts';
import { snapshotOf } from '../../src/orchestrator/snapshot.ts';
import type { VersionInFlight } from '../../src/orchestrator/versions.ts';
import { isExpected, messageOf } from './callers.ts';
import type { Course } from './course.ts';
import type { Database } from './database.ts';
import type { Process } from './process.ts';
import { outputOf, type Provider } from './provider.ts';
import { innersIn, type SagaShape, shapesIn, stepsIn } from './saga-plan.ts';
import { doneByHand, stepOfBooking } from './saga-shop.ts';
import { childrenOf, isBeingTakenBack, isCrosswise, meetsOther, waitsInVain } from './saga-watch.ts';
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
        this.#takeBackInPart(process);
      },
      (error: unknown) => this.#failed('doubts', error),
    );
    process.orchestrator.operator.escalatedSagas().then(
      (sagas) => {
        this.#decideSteps(process, sagas);
        this.#untangle(process, sagas);
      },
      (error: unknown) => this.#failed('escalatedSagas', error),
    );
    process.orchestrator.operator.versions().then(
      (versions) => this.#lookInto(process, versions),
      (error: unknown) => this.#failed('versions', error),
    );
  }

  /** Here nothing is moved on to another version: the store is asked what it would be asked for that. */
  #lookInto({ store }: Process, versions: readonly VersionInFlight[]): void {
    const [first] = versions.filter(({ inFlight }) => inFlight > 0);
    if (first === undefined) return;
    const { saga: name, version } = first;
    store
      .sagasInFlight({ name, version, tenant: null, limit: 10, after: null })
      .catch((error: unknown) => this.#failed('sagasInFlight', error));
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
    const { id, tenant, seen } = doubt;
    const row = this.#database.rows.operations.get(keyOf(doubt));
    const subject = subjectOfRow(row ?? { ...doubt, input: null });
    if (this.#mayStillArrive(subject)) return;
    const decision = { tenant, seen, by: 'the person on call', evidence: 'the ledger of the provider', within: 3_000 };
    if (row !== undefined && isLeftByItsInverse(row)) return this.#decideEffect(process, row, decision);
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

  /** Its inverse was refused, or could not be begun: whatever the person does about it is done elsewhere. */
  #decideEffect(process: Process, { id, ...row }: Kept, decision: Decision & { readonly tenant: string }): void {
    const { chance } = this.#course;
    if (row.reason === 'definition-fault' && chance.is(0.5)) return this.#takeBackAgain(process, { id, ...row });
    const effect = chance.is(0.5) ? 'taken-back' : 'left-standing';
    this.#course.tell('person', `decides ${subjectOfRow(row)}: ${effect}`);
    process.orchestrator.operator
      .resolve(id, effect, decision)
      .catch((error: unknown) => this.#failed('decide', error));
  }

  /** In the hope that this process has another definition. */
  #takeBackAgain({ orchestrator }: Process, { id, ...row }: Kept): void {
    this.#course.tell('person', `has ${subjectOfRow(row)} taken back again`);
    orchestrator.operator
      .compensate(id, { tenant: row.tenant, by: 'the person on call', reason: 'it is mended', within: 3_000 })
      .catch((error: unknown) => {
        // This process has it as well.
        if (!isSagacityError(error, 'DEFINITION_INVALID')) this.#failed('compensate', error);
      });
  }

  /** Sagas that wait since a step was refused after the pivot. */
  #decideSteps(process: Process, sagas: readonly EscalatedSaga[]): void {
    const { chance } = this.#course;
    for (const { reason, ...read } of sagas) {
      const saga = this.#database.rows.sagas.get(keyOf(read));
      if (saga === undefined || reason !== 'step-failed') continue;
      const shape = shapesIn(this.#course.plan.sagas).find(({ name }) => name === saga.name);
      const waiting = shape === undefined ? [] : stepsIn(shape).filter(({ onFailed }) => onFailed === 'escalate');
      const last = new Map(this.#database.operationsOf(saga).map((row) => [stepOfBooking(subjectOfRow(row)), row]));
      const refused = waiting.flatMap(({ name: step }) => {
        const row = last.get(step);
        return row?.state === 'failed' ? [{ row, step }] : [];
      });
      this.#decideWaits(process, saga);
      if (shape !== undefined) this.#decideInner(process, saga, shape);
      const asked = refused[chance.below(refused.length)];
      if (asked === undefined || this.#mayStillArrive(subjectOfRow(asked.row))) continue;
      const { step } = asked;
      const isStated = chance.is(0.5);
      this.#course.tell('person', `decides ${subjectOfRow(asked.row)}: ${isStated ? 'done by hand' : 'once more'}`);
      process.orchestrator.operator
        .resolveStep(saga.id, isStated ? succeeded(doneByHand(step)) : notApplied('it is not in the ledger'), {
          ...{ tenant: saga.tenant, step, by: 'the person on call', reason: 'the customer waits' },
          ...{ evidence: 'the ledger of the provider', within: 3_000 },
        })
        .catch((error: unknown) => this.#failed('resolveStep', error));
    }
  }

  /** What a step that is a saga did not do is done by hand. */
  #decideInner(process: Process, saga: KeptSaga, shape: SagaShape): void {
    const { sagas } = this.#database.rows;
    const inner = innersIn(shape).find(({ onFailed, name }) => {
      const [state] = childrenOf(saga, sagas, name).map((child) => child.state);
      return onFailed === 'escalate' && (state === 'compensated' || state === 'terminated');
    });
    if (inner === undefined) return;
    const { name: step } = inner;
    this.#course.tell('person', `decides ${step} of ${saga.name}/${saga.key}: done by hand`);
    process.orchestrator.operator
      .resolveStep(saga.id, succeeded(doneByHand(step)), {
        ...{ tenant: saga.tenant, step, by: 'the person on call', evidence: 'its history', within: 3_000 },
      })
      .catch((error: unknown) => this.#failed('resolveStep', error));
  }

  /** Nothing was said after the pivot: a person says it instead, or has it waited for again. */
  #decideWaits(process: Process, saga: KeptSaga): void {
    const { chance } = this.#course;
    const [wait] = waitsInVain(saga);
    if (wait === undefined || chance.is(0.5)) return;
    const said = chance.is(0.7) ? succeeded(doneByHand(wait)) : notApplied('they are on holiday');
    process.orchestrator.operator
      .resolveStep(saga.id, said, {
        ...{ tenant: saga.tenant, step: wait, by: 'the person on call', evidence: 'a call', within: 3_000 },
      })
      .catch((error: unknown) => this.#failed('resolveStep', error));
  }

  /** Of sagas that hold each other one is ended, and of one that means something else than the others it is the end. */
  #untangle({ orchestrator }: Process, sagas: readonly EscalatedSaga[]): void {
    const { chance } = this.#course;
    const { rows } = this.#database;
    for (const { tenant, id, reason } of sagas) {
      const saga = rows.sagas.get(keyOf({ tenant, id }));
      const isHeld = reason === 'joined' && saga !== undefined && isCrosswise(saga, rows.sagas);
      const isOdd = reason === 'definition-fault' && saga !== undefined && meetsOther(saga, rows);
      // What is only odd harms nobody, and is seen to later.
      if ((!isHeld && !isOdd) || chance.is(isHeld ? 0.5 : 0.9)) continue;
      const how = isHeld || chance.is(0.3) ? 'terminate' : 'cancel';
      this.#course.tell('person', `wants to ${how} ${saga.name}/${saga.key}, which is in the way`);
      const by = { tenant, by: 'the person on call', reason: 'they wait for each other', within: 3_000 };
      const said: Promise<unknown> =
        how === 'cancel' ? orchestrator.cancel(id, by) : orchestrator.operator.terminate(id, by);
      said.catch((error: unknown) => this.#failed(how, error));
    }
  }

  /** Where people take back what has settled they do not wait either for what is in doubt. */
  #takeBackInPart({ orchestrator }: Process): void {
    const { chance, plan, healed } = this.#course;
    if (healed || plan.sagas.wanted.every(({ takenBackAtMs }) => takenBackAtMs === null)) return;
    for (const saga of this.#database.rows.sagas.values()) {
      const isHeldUp = isBeingTakenBack(saga) && this.#database.operationsOf(saga).some(({ state }) => isDoubt(state));
      if (!isHeldUp || chance.is(0.5)) continue;
      this.#course.tell('person', `does not wait for what is in doubt of ${saga.name}/${saga.key}`);
      orchestrator.operator
        .compensate(saga.id, { tenant: saga.tenant, by: 'the person on call', reason: 'they wait', within: 3_000 })
        .catch((error: unknown) => this.#failed('compensate', error));
    }
  }

  #asksAgain({ action }: Doubt): boolean {
    const { chance, plan } = this.#course;
    const promised = [...plan.promised, ...plan.sagas.promised].find((one) => one.action === action);
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
    const late = ['RESOLUTION_REFUSED', 'OPERATION_NOT_FOUND', 'SIGNAL_REFUSED', 'SAGA_NOT_FOUND'];
    const isLate = isSagacityError(error) && late.includes(error.code);
    if (!isLate && !isExpected(error)) this.#course.violated(what, messageOf(error));
  }
}

/** So long ago a person may have read what they decide. */
const SLOWEST_MS = 60_000;

/** A person waits for this long after the last request could have left. */
const LONGEST_MS = 10_000;

/** A person is asked about its inverse, and no more about itself. */
function isLeftByItsInverse(row: Kept): boolean {
  const { reason } = row;
  // Written by the operation's chart.
  const { context } = snapshotOf(row) as { readonly context: { readonly escalatedFrom: string } };
  return context.escalatedFrom === 'compensation' && (reason === 'inverse-failed' || reason === 'definition-fault');
}
