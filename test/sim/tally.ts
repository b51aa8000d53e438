/**
 * What has struck and what has happened at all, over all schedules. A situation that the library must master and that
 * no schedule ever reached has not been tried: every one is listed from the start, with 0.
 */

import { type Fault, faults, faultsOfContracts, faultsOfDefinitions } from './faults.ts';
import { situations } from './situations.ts';

export interface Counts {
  readonly faults: Readonly<Record<string, number>>;
  readonly sometimes: Readonly<Record<string, number>>;
}

export class Tally {
  readonly #faults = new Map<string, number>(
    [...faults, ...faultsOfContracts, ...faultsOfDefinitions].map((fault) => [fault, 0]),
  );
  readonly #sometimes = new Map<string, number>(situations.map((situation) => [situation, 0]));

  struck(fault: Fault): void {
    this.#faults.set(fault, (this.#faults.get(fault) ?? 0) + 1);
  }

  /** Counts a situation. One that is not listed is a mistake of the simulator, and an error. */
  met(situation: string): void {
    const before = this.#sometimes.get(situation);
    if (before === undefined) throw new Error(`"${situation}" is no situation of the list in situations.ts.`);
    this.#sometimes.set(situation, before + 1);
  }

  /** Whether a situation is on the list. */
  knows(situation: string): boolean {
    return this.#sometimes.has(situation);
  }

  get counts(): Counts {
    return { faults: Object.fromEntries(this.#faults), sometimes: Object.fromEntries(this.#sometimes) };
  }
}

/** Both together. */
export function sumOf(a: Counts, b: Counts): Counts {
  return { faults: added(a.faults, b.faults), sometimes: added(a.sometimes, b.sometimes) };
}

function added(a: Counts['faults'], b: Counts['faults']): Counts['faults'] {
  const sum: Record<string, number> = { ...a };
  for (const [name, count] of Object.entries(b)) sum[name] = (sum[name] ?? 0) + count;
  return sum;
}
