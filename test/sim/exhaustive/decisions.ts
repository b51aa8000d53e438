/**
 * The shipped decisions, asked once per question. `advance` and `birth` are pure, so the same position, happening and
 * distances in time have the same answer; the search asks some thousand different questions some million times. What
 * is exchanged for a defect in a test is exchanged here.
 */

import type { Facts, Policy } from '../../../src/domain/policy.ts';
import { type Kernel, kernelOf } from '../../../src/kernel/kernel.ts';
import { operationMachine } from '../../../machines/operation.ts';
import { type Advance, advance, birth, type OperationHappening } from '../../../src/orchestrator/advance.ts';
import { type Position, Positions } from './positions.ts';

/** The functions that decide. A test of the search puts a defect in their place. */
export interface Rulings {
  readonly kernel: Kernel;
  readonly advance: typeof advance;
  readonly birth: typeof birth;
}

export const shipped: Rulings = { kernel: kernelOf(operationMachine), advance, birth };

/** What a turn would write. */
export interface Decided extends Pick<Advance, 'records' | 'takes' | 'contradicted'> {
  readonly position: Position;
}

/** Times that a decision depends on, by the store's clock. */
export type Times = Pick<Facts, 'now' | 'sendBy' | 'windowEndsAt'>;

export class Decisions {
  readonly positions = new Positions();
  readonly #rulings: Rulings;
  readonly #policy: Policy;
  readonly #answers = new Map<string, Decided | null>();

  constructor(policy: Policy, rulings: Rulings) {
    this.#policy = policy;
    this.#rulings = rulings;
  }

  birth(now: number, startsNow: boolean): Decided {
    const facts = factsOf({ now, sendBy: null, windowEndsAt: null });
    const born = this.#asked(`birth ${startsNow}`, () => {
      const { kernel, birth: make } = this.#rulings;
      return make(kernel, this.#policy, facts, startsNow);
    });
    if (born === null) throw new Error('Nothing was born.');
    return born;
  }

  /** `name` tells the happening apart from every other one that can happen to this position. */
  advance(from: Position, seen: string, happening: OperationHappening, name: string, times: Times): Decided | null {
    const { now, sendBy, windowEndsAt } = times;
    const question = `${from.id} ${name} ${since(sendBy, now)} ${since(windowEndsAt, now)}`;
    return this.#asked(question, () =>
      this.#rulings.advance(this.#rulings.kernel, from.row, seen, happening, factsOf(times)),
    );
  }

  #asked(question: string, ask: () => Advance | null): Decided | null {
    const known = this.#answers.get(question);
    if (known !== undefined) return known;
    const answer = ask();
    const decided = answer === null ? null : this.#decided(answer);
    this.#answers.set(question, decided);
    return decided;
  }

  #decided({ row, records, takes, contradicted }: Advance): Decided {
    return { position: this.positions.of(row), records, takes, contradicted };
  }
}

function since(at: number | null, now: number): number | string {
  return at === null ? '-' : now - at;
}

/** No chance: with this number a back-off without jitter is exact and a look-up's pause is the shortest it can be. */
function factsOf(times: Times): Facts {
  return { ...times, random: 0, lostStartOn: null };
}
