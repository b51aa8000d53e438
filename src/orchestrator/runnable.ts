/**
 * Definitions as they are driven: operations by action, sagas by name and version with their chart prepared once. What
 * cannot be run durably, or would mean two things by one name, is refused here, before anything is stored.
 */

import { definitionInvalid } from '../domain/errors.ts';
import { isOperation, type Operation } from '../define/operation.ts';
import { isSaga } from '../define/saga.ts';
import type { Chain, HandWritten, Part, Saga, StepCompensation } from '../define/saga-flow.ts';
import { compensationOfTarget, type Target } from '../define/step-target.ts';
import type { AnyStateMachine } from 'xstate';
import { sagaMachine } from '../../machines/saga.ts';
import { structuralHash } from '../kernel/hash.ts';
import { type Kernel, kernelOf } from '../kernel/kernel.ts';
import { lintMachine } from '../kernel/lint.ts';
import { lintNames, lintSaga } from '../kernel/lint-saga.ts';
import { stepsOf } from '../kernel/steps.ts';
import { isBuilder } from '../kernel/nodes.ts';

/** A saga that can be driven. */
export interface RunnableSaga {
  readonly definition: Saga;
  readonly name: string;
  readonly version: number;
  /** The structure of its chart. */
  readonly hash: string;
  readonly kernel: Kernel;
  /** Made by the builder: its chart takes cancellations and deadlines itself, and its context is known. */
  readonly isChain: boolean;
  /** By the id of the actor that waits for it. */
  readonly steps: ReadonlyMap<string, SagaStep>;
  /** Every saga that is registered with it, by {@link sagaLabel}: its own steps are among them. */
  readonly sagas: ReadonlyMap<string, RunnableSaga>;
  /** The chart's named actions: done after a turn is written, once, with their parameters and nothing else. */
  readonly actions: ReadonlyMap<string, (params: unknown) => unknown>;
}

export interface SagaStep {
  readonly step: string;
  readonly target: Target;
  readonly compensate: StepCompensation | null;
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

/** The definitions by name, with everything they name themselves; two different ones of one name are refused. */
export function registered(given: readonly unknown[]): Registry {
  const operations = new Map<string, Operation>();
  const sagas = new Map<string, RunnableSaga>();
  const registerOperation = (definition: Operation): void => {
    const known = operations.get(definition.action);
    if (known === definition) return;
    if (known !== undefined) {
      throw definitionInvalid(
        `Two definitions share the action ${definition.action}.`,
        'An action names one effect: give one of them another name.',
        { action: definition.action },
      );
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
      throw definitionInvalid(
        `Two definitions share the saga ${definition.name} in version ${definition.version}.`,
        'Give the newer one the next version, or the other one another name.',
        { saga: definition.name, version: definition.version },
      );
    }
    const saga = runnable(definition, sagas);
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
  for (const saga of sagas.values()) refuseBadChildren(saga);
  return { operations, sagas };
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

function runnable(definition: Saga, sagas: Registry['sagas']): RunnableSaga {
  const { name, version, flow } = definition;
  const machine = sagaMachine(definition);
  if (flow.type === 'machine') refuseUndurable(definition, flow, machine);
  const steps = flow.type === 'chain' ? stepsOfChain(flow) : stepsOfMachine(flow, machine);
  return {
    ...{ definition, name, version, steps, sagas },
    hash: structuralHash(machine),
    kernel: kernelOf(machine),
    isChain: flow.type === 'chain',
    actions: actionsOf(machine),
  };
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
  const steps = new Map<string, SagaStep>();
  const walk = (part: Part): void => {
    if ('branches' in part) for (const branch of Object.values(part.branches)) branch.forEach(walk);
    if (part.type === 'step')
      steps.set(part.name, { step: part.name, target: part.target, compensate: part.compensate });
  };
  parts.forEach(walk);
  return steps;
}

function stepsOfMachine({ operations }: HandWritten, machine: AnyStateMachine): ReadonlyMap<string, SagaStep> {
  return new Map(
    stepsOf(machine).flatMap(({ actorId, step, src }) => {
      const target = operations[src];
      return target === undefined ? [] : [[actorId, { step, target, compensate: compensationOfTarget(target) }]];
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
