/**
 * The running side of the saga builder. A saga never changes: each verb makes a new one that holds the parts of the one
 * before and one more, so that any of them can be kept, shared or taken in two directions. What the verbs promise to
 * the compiler stands in `saga-chain.ts`; here every type has been forgotten.
 */

import { definitionInvalid } from '../domain/errors.ts';
import type { Chain, CompensationOrder, Part, Saga, SagaFunctions, SagaParts, WhenChanged } from './saga-flow.ts';
import { madeWith } from './made-at.ts';
import { isFunction, refuseUnless } from './option-kinds.ts';
import {
  chooseOf,
  forEachOf,
  type Given,
  type GivenForEach,
  parallelOf,
  type Place,
  pivotOf,
  sleepOf,
  stepOf,
  waitForOf,
  withPart,
} from './saga-parts.ts';

/** A saga whose flow is a chain, with the verbs that make it longer. Its own members are those of every saga. */
export class SagaBuilder implements SagaParts {
  readonly type = 'saga';
  readonly name: string;
  readonly version: number;
  readonly options: SagaFunctions;
  readonly withinMs: number | null;
  readonly compensation: CompensationOrder;
  readonly whenChanged: WhenChanged;
  readonly pivotStep: string | null;
  readonly flow: Chain;

  constructor(saga: Omit<SagaParts, 'type' | 'flow'>, parts: readonly Part[], pivotStep = saga.pivotStep) {
    this.name = saga.name;
    this.version = saga.version;
    this.options = saga.options;
    this.withinMs = saga.withinMs;
    this.compensation = saga.compensation;
    this.whenChanged = saga.whenChanged;
    this.pivotStep = pivotStep;
    this.flow = Object.freeze({ type: 'chain', parts, output: null });
    Object.freeze(this);
  }

  step(...given: Given): SagaBuilder {
    return this.#with(stepOf(this.#place, given));
  }

  pivot(...given: Given): SagaBuilder {
    const step = pivotOf(this.#place, given);
    return this.#with(step, step.name);
  }

  parallel(...given: Given): SagaBuilder {
    return this.#with(parallelOf(this.#place, given, openBranch));
  }

  choose(...given: Given): SagaBuilder {
    return this.#with(chooseOf(this.#place, given, openBranch));
  }

  waitFor(...given: Given): SagaBuilder {
    return this.#with(waitForOf(this.#place, given));
  }

  forEach(...given: GivenForEach): SagaBuilder {
    return this.#with(forEachOf(this.#place, given));
  }

  sleep(...given: Given): SagaBuilder {
    return this.#with(sleepOf(this.#place, given));
  }

  output(make: unknown): Saga {
    const subject = { called: `saga ${this.name}`, facts: { saga: this.name } };
    refuseUnless(
      isFunction(make),
      subject,
      'output',
      'a function of the input and the outputs: ({ payment }) => ({ ... })',
    );
    // What is not a function has been refused on the line above.
    const flow = Object.freeze({ ...this.flow, output: make as Chain['output'] });
    const { type, name, version, options, withinMs, compensation, whenChanged, pivotStep } = this;
    const parts = { name, version, options, withinMs, compensation, whenChanged, pivotStep, flow };
    return madeWith(this, Object.freeze({ type, ...parts }));
  }

  get #place(): Place {
    return { saga: this.name, way: this.pivotStep === null ? 'backward' : 'forward' };
  }

  #with(part: Part, pivotStep = this.pivotStep): SagaBuilder {
    return madeWith(this, new SagaBuilder(this, withPart(this.#place, this.flow.parts, part), pivotStep));
  }
}

/** What `parallel` and `choose` hand to their author, who gives it back with steps. */
class Branch {
  readonly type = 'branch';
  readonly #place: Place;
  readonly #parts: readonly Part[];

  constructor(place: Place, parts: readonly Part[]) {
    this.#place = place;
    this.#parts = parts;
    Object.freeze(this);
  }

  step(...given: Given): Branch {
    return this.#with(stepOf(this.#place, given));
  }

  parallel(...given: Given): Branch {
    return this.#with(parallelOf(this.#place, given, openBranch));
  }

  choose(...given: Given): Branch {
    return this.#with(chooseOf(this.#place, given, openBranch));
  }

  waitFor(...given: Given): Branch {
    return this.#with(waitForOf(this.#place, given));
  }

  forEach(...given: GivenForEach): Branch {
    return this.#with(forEachOf(this.#place, given));
  }

  sleep(...given: Given): Branch {
    return this.#with(sleepOf(this.#place, given));
  }

  /** For callers without a compiler, who would only read that it is not a function. */
  pivot(): never {
    throw definitionInvalid(
      `A branch of saga ${this.#place.saga} has a pivot in it.`,
      'The way back cannot end in one branch and not in another: put the pivot before or after them.',
      { saga: this.#place.saga },
    );
  }

  /** Null when it was begun elsewhere, where steps saw other things. */
  partsFrom(place: Place): readonly Part[] | null {
    return this.#place === place ? this.#parts : null;
  }

  #with(part: Part): Branch {
    return new Branch(this.#place, withPart(this.#place, this.#parts, part));
  }
}

function openBranch(inside: Place) {
  return {
    branch: new Branch(inside, Object.freeze([])),
    partsOf: (value: unknown) => (value instanceof Branch ? value.partsFrom(inside) : null),
  };
}
