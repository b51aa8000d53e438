/**
 * Breadth first through every world that can be reached, so that the first path to a wrong one is a shortest one. Then
 * backwards from the worlds in which an operation has come to its end, or waits for a person, by the steps that need
 * nothing to go wrong and nobody to act: a world that is not reached that way is stuck.
 */

import { isSettled } from '../../../src/domain/operation-state.ts';
import { wrongWith, wrongWithStep } from './invariants.ts';
import { keyOfWorld } from './key.ts';
import { nextSteps } from './steps.ts';
import type { Surroundings } from './worker.ts';
import type { Bounds } from './worker-steps.ts';
import { beginning, type Left, type World } from './world.ts';

export interface Violation {
  readonly what: string;
  /** From the beginning; the number of the step taken in each world. */
  readonly path: readonly number[];
}

export interface Searched {
  readonly states: number;
  readonly transitions: number;
  readonly cut: number;
  readonly violations: number;
  /** The first of each sort. */
  readonly first: readonly Violation[];
}

export interface Limits extends Bounds {
  readonly left: Left;
}

export function search(around: Surroundings, limits: Limits, stopAtFirst: boolean): Searched {
  const states = new States();
  const first = new Map<string, Violation>();
  let violations = 0;
  let transitions = 0;
  let cut = 0;
  const violated = (what: string, pathOf: () => readonly number[]) => {
    violations += 1;
    if (!first.has(what)) first.set(what, { what, path: pathOf() });
  };
  const nameOf = (world: World) =>
    keyOfWorld(around.policy, limits.attempts, world, around.decisions.positions.at(world.store.operation));

  const start = beginning(limits.left);
  states.add(nameOf(start), -1, 0);
  let level: { readonly world: World; readonly at: number }[] = [{ world: start, at: 0 }];
  while (level.length > 0 && !(stopAtFirst && violations > 0)) {
    const next: typeof level = [];
    for (const { world, at } of level) {
      const found = nextSteps(around, limits, world);
      if (found.cut > 0) {
        cut += found.cut;
        states.end(at);
      }
      for (const [choice, step] of found.steps.entries()) {
        transitions += 1;
        const wrong = step.breaks ?? wrongWithStep(world, step.world);
        if (wrong !== null) {
          violated(wrong, () => [...states.pathTo(at), choice]);
          continue;
        }
        const name = nameOf(step.world);
        const known = states.find(name);
        const to = known ?? states.add(name, at, choice);
        if (!step.isExtra) states.link(at, to);
        if (known !== undefined) continue;
        const bad = wrongWith(around, step.world);
        if (bad === null) next.push({ world: step.world, at: to });
        else violated(bad, () => states.pathTo(to));
        // Where it goes from what is wrong is not asked.
        if (bad !== null || hasEnded(step.world)) states.end(to);
      }
    }
    level = next;
  }
  if (!(stopAtFirst && violations > 0)) {
    const stuck = states.firstStuck();
    if (stuck !== null) violated('it cannot come to an end from here', () => states.pathTo(stuck));
  }
  return { states: states.size, transitions, cut, violations, first: [...first.values()] };
}

function hasEnded({ store: { operation } }: World): boolean {
  return operation !== null && (isSettled(operation.state) || operation.state === 'escalated');
}

/** The graph as it is found: who was reached from where, and which steps need nothing to go wrong. */
class States {
  readonly #numbers = new Map<string, number>();
  #parents = new Int32Array(1024);
  #choices = new Uint16Array(1024);
  #ends = new Uint8Array(1024);
  #from = new Int32Array(4096);
  #to = new Int32Array(4096);
  #links = 0;

  get size(): number {
    return this.#numbers.size;
  }

  find(name: string): number | undefined {
    return this.#numbers.get(name);
  }

  add(name: string, parent: number, choice: number): number {
    const number = this.#numbers.size;
    this.#numbers.set(name, number);
    if (number === this.#parents.length) {
      this.#parents = grown(this.#parents, new Int32Array(2 * number));
      this.#choices = grown(this.#choices, new Uint16Array(2 * number));
      this.#ends = grown(this.#ends, new Uint8Array(2 * number));
    }
    this.#parents[number] = parent;
    this.#choices[number] = choice;
    return number;
  }

  /** Nothing more is asked of this state. */
  end(number: number): void {
    this.#ends[number] = 1;
  }

  link(from: number, to: number): void {
    if (this.#links === this.#from.length) {
      this.#from = grown(this.#from, new Int32Array(2 * this.#links));
      this.#to = grown(this.#to, new Int32Array(2 * this.#links));
    }
    this.#from[this.#links] = from;
    this.#to[this.#links] = to;
    this.#links += 1;
  }

  pathTo(number: number): number[] {
    const path: number[] = [];
    for (let at = number; at > 0; at = this.#parents[at] ?? 0) path.push(this.#choices[at] ?? 0);
    return path.reverse();
  }

  /** Going backwards from the ends: the first state that is not reached, or null. */
  firstStuck(): number | null {
    const offsets = new Int32Array(this.size + 1);
    for (let link = 0; link < this.#links; link += 1) {
      const to = this.#to[link] ?? 0;
      offsets[to + 1] = (offsets[to + 1] ?? 0) + 1;
    }
    for (let at = 0; at < this.size; at += 1) offsets[at + 1] = (offsets[at + 1] ?? 0) + (offsets[at] ?? 0);
    const fill = offsets.slice();
    const sources = new Int32Array(this.#links);
    for (let link = 0; link < this.#links; link += 1) {
      const to = this.#to[link] ?? 0;
      const place = fill[to] ?? 0;
      sources[place] = this.#from[link] ?? 0;
      fill[to] = place + 1;
    }
    const reached = this.#ends.slice(0, this.size);
    const waiting: number[] = [];
    for (let at = 0; at < this.size; at += 1) if (reached[at] === 1) waiting.push(at);
    for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
      for (let link = offsets[at] ?? 0; link < (offsets[at + 1] ?? 0); link += 1) {
        const source = sources[link] ?? 0;
        if (reached[source] === 1) continue;
        reached[source] = 1;
        waiting.push(source);
      }
    }
    const stuck = reached.indexOf(0);
    return stuck === -1 ? null : stuck;
  }
}

function grown<Numbers extends Int32Array | Uint16Array | Uint8Array>(old: Numbers, bigger: Numbers): Numbers {
  bigger.set(old);
  return bigger;
}
