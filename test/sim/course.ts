/**
 * What the parts of one schedule share: its plan, its time, its chance, what has been struck so far, and the account
 * of what happened. A fault strikes only through here, so that what is counted is what struck.
 */

import { Agenda } from './agenda.ts';
import { type Chance, seeded } from './chance.ts';
import type { Fault } from './faults.ts';
import type { Plan } from './plan.ts';
import type { Tally } from './tally.ts';

/** A rule that does not hold, found in one schedule. */
export class Violation extends Error {
  readonly invariant: string;

  constructor(invariant: string, what: string) {
    super(what);
    this.invariant = invariant;
  }
}

/** Virtual time begins here: what is printed reads like a day. */
export const BEGINS_AT = Date.UTC(2026, 0, 1, 12);

export class Course {
  readonly plan: Plan;
  readonly chance: Chance;
  readonly agenda: Agenda;
  readonly tally: Tally;
  readonly account: string[] = [];
  /** From then on no fault strikes but what is kept for ever. */
  healed = false;
  #violation: Violation | null = null;

  constructor(plan: Plan, tally: Tally) {
    this.plan = plan;
    this.tally = tally;
    // Another stream than the plan's own, which was drawn from the seed itself.
    this.chance = seeded(Math.imul(plan.seed, 0x9e_37_79_b1) ^ 0x5a_6a_5a_6a);
    this.agenda = new Agenda(this.chance);
  }

  /** Milliseconds since the epoch, by nobody's clock. */
  get now(): number {
    return BEGINS_AT + this.agenda.now;
  }

  /** Whether the fault strikes here; counted if it does. */
  strikes(fault: Fault): boolean {
    if (!this.comes(fault)) return false;
    this.tally.struck(fault);
    return true;
  }

  /** Whether it is time for the fault, which may find nothing to strike. */
  comes(fault: Fault): boolean {
    const rate = this.plan.rates[fault];
    return !this.healed && rate > 0 && this.chance.is(rate);
  }

  tell(who: string, what: string): void {
    this.account.push(`${(this.agenda.now / 1000).toFixed(3).padStart(9)}  ${who.padEnd(9)} ${what}`);
  }

  /** Keeps the first violation; the schedule ends after the event that showed it. */
  violated(invariant: string, what: string): void {
    if (this.#violation !== null) return;
    this.#violation = new Violation(invariant, what);
    this.tell('WRONG', `${invariant}: ${what}`);
  }

  get violation(): Violation | null {
    return this.#violation;
  }
}
