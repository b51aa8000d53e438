/**
 * Definitions as they are driven: operations by action, sagas by name and version with their chart prepared once. What
 * cannot be run durably, or would mean two things by one name, is refused here, before anything is stored.
 */

import { definitionInvalid, definitionMissing, type ErrorFacts } from '../domain/errors.ts';
import { type Limits, limitsOf } from '../domain/limits.ts';
import { placeOf } from '../define/made-at.ts';
import { isMigration, type Migration } from '../define/migration.ts';
import { isOperation, type Operation } from '../define/operation.ts';
import { isSaga } from '../define/saga.ts';
import { type Chain, type HandWritten, partsIn, type Saga, type StepCompensation } from '../define/saga-flow.ts';
import { itemOf } from '../define/saga-names.ts';
import type { Signal } from '../define/signal.ts';
import { compensationOfTarget, type Target } from '../define/step-target.ts';
import type { AnyStateMachine } from 'xstate';
import { sagaMachine } from '../../machines/saga.ts';
import { structuralHash } from '../kernel/hash.ts';
import { type Kernel, kernelOf } from '../kernel/kernel.ts';
import { lintMachine } from '../kernel/lint.ts';
import { lintNames, lintSaga } from '../kernel/lint-saga.ts';
import { stepsOf } from '../kernel/steps.ts';
import { isBuilder } from '../kernel/nodes.ts';
import { refuseTwoCopies } from '../ports/copies.ts';
import type { SagaVersion } from '../ports/store.ts';

/** A saga that can be driven. */
export interface RunnableSaga {
  readonly definition: Saga;
  readonly name: string;
  readonly version: number;
  /** The structure of its chart. */
  readonly hash: string;
  readonly kernel: Kernel;
  /** How what is under way in it is moved on to a later version; null: it ends in this one. */
  readonly onward: Onward | null;
  /** Made by the builder: its chart takes cancellations and deadlines itself, and its context is known. */
  readonly isChain: boolean;
  /** By the id of the actor that waits for it; for the items of a forEach see {@link stepBy}. */
  readonly steps: ReadonlyMap<string, SagaStep>;
  /** The names of the signals' places that take it back when they have been waited for in vain. */
  readonly waits: readonly string[];
  /** Every saga that is registered with it, by {@link sagaLabel}: its own steps are among them. */
  readonly sagas: ReadonlyMap<string, RunnableSaga>;
  readonly limits: Limits;
  /** The chart's named actions: done after a turn is written, once, with their parameters and nothing else. */
  readonly actions: ReadonlyMap<string, (params: unknown) => unknown>;
}

/** A registered migration. */
export interface Onward {
  readonly to: RunnableSaga;
  readonly move: Migration['move'];
}

export interface SagaStep {
  readonly step: string;
  /** What its author calls it: of an item of a forEach, the forEach. */
  readonly part: string;
  /** How many there may be of it, each of which is a step of its own; null: it is one. */
  readonly atMost: number | null;
  readonly target: Target;
  readonly compensate: StepCompensation | null;
}

/** The step that an actor of the chart stands for. */
export function stepBy({ steps }: Pick<RunnableSaga, 'steps'>, actorId: string): SagaStep | undefined {
  const item = itemOf(actorId);
  const forEach = item === null ? undefined : steps.get(item.part);
  return forEach === undefined || forEach.atMost === null ? steps.get(actorId) : { ...forEach, step: actorId };
}

export interface Registry {
  readonly operations: ReadonlyMap<string, Operation>;
  /** By {@link sagaLabel}. */
  readonly sagas: ReadonlyMap<string, RunnableSaga>;
}

export function sagaLabel({ name, version }: { readonly name: string; readonly version: number }): string {
  return `${name}@${version}`;
}

/** The newest version of it that is registered; null: none is. */
export function newestOf(sagas: Registry['sagas'], name: string): RunnableSaga | null {
  const versions = [...sagas.values()].filter((saga) => saga.name === name);
  return versions.toSorted((a, b) => a.version - b.version).at(-1) ?? null;
}

/**
 * The definitions by name, with everything they name themselves; two different ones of one name are refused. The version
 * that a migration leads from is there with it, and only for what is under way. Of a process with two copies of the
 * library nothing is accepted.
 */
export function registered(
  given: readonly unknown[],
  migrations: readonly unknown[] = [],
  limits: Limits = limitsOf(),
): Registry {
  refuseTwoCopies();
  const operations = new Map<string, Operation>();
  const sagas = new Map<string, RunnableSaga>();
  const registerOperation = (definition: Operation): void => {
    const known = operations.get(definition.action);
    if (known === definition) return;
    if (known !== undefined) {
      const { action } = definition;
      const remedy = 'An action names one effect: give one of them another name.';
      throw underOneName(`the action ${action}`, [known, definition], remedy, { action });
    }
    operations.set(definition.action, definition);
    registerInverse(definition.compensate);
  };
  const registerInverse = (compensate: StepCompensation | null): void => {
    if (compensate !== null && 'operation' in compensate) registerOperation(compensate.operation);
  };
  const registerSaga = (definition: Saga): void => {
    const label = sagaLabel(definition);
    const known = sagas.get(label);
    if (known?.definition === definition) return;
    if (known !== undefined) {
      const { name, version } = definition;
      const remedy = 'Give the newer one the next version, or the other one another name.';
      throw underOneName(`saga ${name} in version ${version}`, [known.definition, definition], remedy, {
        saga: name,
        version,
      });
    }
    const saga = runnable(definition, sagas, limits);
    sagas.set(label, saga);
    for (const { target, compensate } of saga.steps.values()) {
      if (target.type === 'saga') registerSaga(target);
      else registerOperation(target);
      registerInverse(compensate);
    }
  };
  for (const definition of given) {
    if (isOperation(definition)) registerOperation(definition);
    else if (isSaga(definition)) registerSaga(definition);
    else {
      throw definitionInvalid(
        'definitions holds something that is neither an operation nor a saga.',
        'List what operation() and saga() returned.',
      );
    }
  }
  const leading = migrations.map((migration) => {
    if (isMigration(migration)) return migration;
    throw definitionInvalid('migrations holds something that is no migration.', 'List what migration() returned.');
  });
  // The latest first: what one leads to is there by then, with where that is moved on to.
  for (const { from, to, move } of leading.toSorted((a, b) => b.from.version - a.from.version)) {
    const target = sagas.get(sagaLabel(to));
    if (target?.definition !== to) throw unregistered(from, to, target?.definition);
    registerSaga(from);
    const leaving = sagas.get(sagaLabel(from));
    if (leaving === undefined) continue;
    if (leaving.onward !== null) throw twofold(from, [leaving.onward.to, to]);
    sagas.set(sagaLabel(from), { ...leaving, onward: { to: target, move } });
  }
  for (const saga of sagas.values()) refuseBadChildren(saga);
  return { operations, sagas };
}

/** Of two definitions under one name. */
function underOneName(what: string, two: readonly [object, object], remedy: string, facts: ErrorFacts) {
  const places = two.map(placeOf);
  const told = places[0] === places[1] ? `Both were made at ${places[0]}.` : `Made at ${places.join(' and at ')}.`;
  return definitionInvalid(`Two definitions share ${what}. ${told}`, remedy, { ...facts, places });
}

/**
 * Throws DEFINITION_MISSING unless the definition that is registered under the name is the one given, the same object;
 * what another copy of the library has made, loaded since, is refused as that.
 */
export function refuseUnregistered<Known extends object>(
  name: string,
  given: object | undefined,
  known: Known | undefined,
): asserts known is Known {
  if (known !== undefined && known === given) return;
  refuseTwoCopies();
  if (known === undefined || given === undefined) throw definitionMissing(name);
  throw definitionMissing(name, { given: placeOf(given), registered: placeOf(known) });
}

function unregistered(from: Saga, to: Saga, other: Saga | undefined) {
  const places = other === undefined ? {} : { places: [placeOf(other), placeOf(to)] };
  return definitionInvalid(
    `The migration of saga ${from.name} from version ${from.version} leads to version ${to.version}, ` +
      (other === undefined
        ? 'which is not registered.'
        : `of which another definition is registered (made at ${placeOf(other)}) than the one given (made at ${placeOf(to)}).`),
    'Add the definition that it leads to, the same object, to createOrchestrator({ definitions }).',
    { saga: from.name, from: from.version, to: to.version, ...places },
  );
}

function twofold({ name, version }: Saga, targets: readonly SagaVersion[]) {
  const to = targets.map((target) => target.version);
  return definitionInvalid(
    `Two migrations of saga ${name} lead from version ${version}: to ${to.join(' and to ')}.`,
    'Register one of them: where a saga goes on must not depend on which is asked first.',
    { saga: name, from: version, to },
  );
}

/** A step is begun with the newest version of its saga, which need not be the one that it was written with. */
function refuseBadChildren({ name, version, steps, sagas }: RunnableSaga): void {
  for (const { step, target, compensate } of steps.values()) {
    const newest = target.type === 'saga' ? newestOf(sagas, target.name) : null;
    if (newest === null) continue;
    const way = wayTo(name, newest);
    if (way !== null) {
      throw definitionInvalid(
        `Saga ${name} would have itself inside, without end: ${[name, ...way].join(' -> ')}.`,
        'Steps are begun with the newest versions that are registered: leave one of these out of that circle.',
        { saga: name, version, sagas: [name, ...way] },
      );
    }
    if (newest.definition.options.lock !== null) {
      throw definitionInvalid(
        `Step ${step} of saga ${name} is begun with version ${newest.version} of ${newest.name}, which has a lock.`,
        'A step would wait for whoever holds it, and nobody would be told: lock it in the saga that is submitted.',
        { saga: name, version, step },
      );
    }
    if (compensate !== null && 'byItself' in compensate && newest.definition.pivotStep !== null) {
      throw definitionInvalid(
        `Step ${step} of saga ${name} is begun with version ${newest.version} of ${newest.name}, which has a pivot and cannot take itself back.`,
        "Say in the step how it is taken back: compensate ({ operation, input } or { none: 'reason' }).",
        { saga: name, version, step },
      );
    }
  }
}

/** From a saga to one of this name inside, by the newest versions. */
function wayTo(name: string, from: RunnableSaga, passed: readonly string[] = []): readonly string[] | null {
  if (from.name === name) return [name];
  if (passed.includes(from.name)) return null;
  for (const { target } of from.steps.values()) {
    const next = target.type === 'saga' ? newestOf(from.sagas, target.name) : null;
    const rest = next === null ? null : wayTo(name, next, [...passed, from.name]);
    if (rest !== null) return [from.name, ...rest];
  }
  return null;
}

function runnable(definition: Saga, sagas: Registry['sagas'], limits: Limits): RunnableSaga {
  const { name, version, flow } = definition;
  const machine = sagaMachine(definition);
  if (flow.type === 'machine') refuseUndurable(definition, flow, machine);
  else refuseSharedSignals(definition, flow);
  const steps = flow.type === 'chain' ? stepsOfChain(flow) : stepsOfMachine(flow, machine);
  return {
    ...{ definition, name, version, steps, sagas, limits },
    hash: structuralHash(machine),
    kernel: kernelOf(machine),
    onward: null,
    isChain: flow.type === 'chain',
    waits: flow.type === 'chain' ? waitsIn(flow) : [],
    actions: actionsOf(machine),
  };
}

/** What is sent under a name is looked at by one schema, and whichever waits gets it: two would make it chance. */
function refuseSharedSignals({ name: saga, version }: Saga, { parts }: Chain): void {
  const signals = new Map<string, Signal>();
  for (const part of partsIn(parts)) {
    if (part.type !== 'waitFor') continue;
    const { signal } = part;
    const known = signals.get(signal.name) ?? signal;
    if (known !== signal) {
      const remedy = 'Define it once and wait for that one, or give one of them another name.';
      const facts = { saga, version, signal: signal.name };
      throw underOneName(`the signal ${signal.name} in saga ${saga}`, [known, signal], remedy, facts);
    }
    signals.set(signal.name, signal);
  }
}

/** What the builder makes is durable by its making; what is written by hand is looked at. */
function refuseUndurable(definition: Saga, { operations, takesNothingBack }: HandWritten, machine: AnyStateMachine) {
  const { name, version, pivotStep: pivot } = definition;
  const findings = [
    ...lintMachine(machine),
    ...lintSaga(machine, { operations: Object.keys(operations), takesNothingBack, pivot }),
    ...lintNames(machine),
  ];
  if (findings.length === 0) return;
  const told = findings.map(({ state, message, remedy }) => `${state}: ${message} ${remedy}`);
  throw definitionInvalid(
    `The machine of saga ${name} cannot be run durably.`,
    `${told.length === 1 ? 'Change this' : `Change these ${told.length}`}: ${told.join(' | ')}`,
    { saga: name, version, findings: findings.map(({ code, state }) => ({ code, state })) },
  );
}

function stepsOfChain({ parts }: Chain): ReadonlyMap<string, SagaStep> {
  return new Map(
    partsIn(parts).flatMap((part): [string, SagaStep][] => {
      if (!('target' in part)) return [];
      const { name, target, compensate } = part;
      const atMost = part.type === 'forEach' ? part.atMost : null;
      return [[name, { step: name, part: name, atMost, target, compensate }]];
    }),
  );
}

function waitsIn({ parts }: Chain): readonly string[] {
  return partsIn(parts).flatMap((part) =>
    part.type === 'waitFor' && part.otherwise === 'compensate' ? part.name : [],
  );
}

function stepsOfMachine({ operations }: HandWritten, machine: AnyStateMachine): ReadonlyMap<string, SagaStep> {
  return new Map(
    stepsOf(machine).flatMap(({ actorId, step, src }) => {
      const target = operations[src];
      if (target === undefined) return [];
      return [[actorId, { step, part: step, atMost: null, target, compensate: compensationOfTarget(target) }]];
    }),
  );
}

function actionsOf({ implementations }: AnyStateMachine): RunnableSaga['actions'] {
  const named = Object.entries<unknown>(implementations.actions);
  return new Map(
    named.flatMap(([name, action]) =>
      typeof action === 'function' && !isBuilder(action)
        ? [[name, (params: unknown): unknown => action({}, params)]]
        : [],
    ),
  );
}
