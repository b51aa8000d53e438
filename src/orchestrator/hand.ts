/**
 * The permits of one turn. The turn takes one for each attempt that it would start; once it is computed, those of what it
 * does not start after all are given back, and the others go out with the attempts when it is written. A turn that is not
 * written leaves nothing behind.
 */

import type { Errand, Permit, Permits } from './permits.ts';

/** What a turn sees of it. */
export interface Startable {
  /** Whether the first attempt of this operation may be started now; it waits for its own permit otherwise. */
  take(operation: string, action: string): boolean;
}

/** Of a turn that may start nothing. */
export const emptyHand: Startable = { take: () => false };

export class Hand implements Startable {
  readonly #permits: Permits;
  readonly #tenant: string;
  readonly #atMost: number;
  readonly #held = new Map<string, Permit>();
  #spare: Permit | null = null;
  #isShort = false;

  /** For a turn that may start `atMost` attempts. */
  constructor(permits: Permits, tenant: Errand['tenant'], atMost: number) {
    this.#permits = permits;
    this.#tenant = tenant;
    this.#atMost = atMost;
  }

  /** It has the permit of an operation that is due. */
  with(operation: string, permit: Permit): this {
    this.#held.set(operation, permit);
    return this;
  }

  /** It has the permit of what has ended, and what is started next may go on with that. */
  withSpare(permit: Permit): this {
    this.#spare = permit;
    return this;
  }

  /** Something kept an attempt waiting that is not the slots: a limit of its own. */
  get isShort(): boolean {
    return this.#isShort;
  }

  take(operation: string, action: string): boolean {
    if (this.#held.has(operation)) return true;
    if (this.#held.size >= this.#atMost) return false;
    const permit = this.#permits.tryTake({ tenant: this.#tenant, action, kind: 'first' }, this.#spare);
    if (permit === null) {
      this.#isShort ||= this.#permits.free > 0;
      return false;
    }
    this.#spare = null;
    this.#held.set(operation, permit);
    return true;
  }

  /** The turn is computed, and starts these: nothing else is needed. */
  close(starts: readonly string[]): void {
    for (const [operation, permit] of this.#held) {
      if (starts.includes(operation)) continue;
      this.#held.delete(operation);
      permit.giveBack();
    }
    this.#spare?.giveBack();
    this.#spare = null;
  }

  /** The permit of an attempt that is carried out now, out of this hand. */
  play(operation: string): Permit {
    const permit = this.#held.get(operation);
    if (permit === undefined) throw new Error(`Operation ${operation} is started without a permit.`);
    this.#held.delete(operation);
    return permit;
  }
}
