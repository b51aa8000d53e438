/**
 * One limit as it stands: how many permits of it are out, and which of its rate's tokens. A token that was used comes back
 * a fixed time later, so that no window of that length has more of them than there are; one that was not used comes back
 * with its permit.
 */

import type { Ceiling } from '../define/work-limit.ts';
import type { CancelTimer, Clock } from '../ports/clock.ts';

export class Quota {
  readonly #ceiling: Ceiling;
  readonly #clock: Clock;
  readonly #onToken: () => void;
  #out = 0;
  /** Tokens of permits that are out and not used yet. */
  #reserved = 0;
  /** When each token that was used is back, in order. */
  readonly #backAt: number[] = [];
  #cancelTimer: CancelTimer | null = null;
  #isStopped = false;

  /** `onToken` is called when a token has come back after there were none. */
  constructor(ceiling: Ceiling, clock: Clock, onToken: () => void) {
    this.#ceiling = ceiling;
    this.#clock = clock;
    this.#onToken = onToken;
  }

  /** How many permits there are now. */
  get left(): number {
    return Math.max(0, Math.min(this.#ceiling.concurrency - this.#out, this.#tokens()));
  }

  /** How many there are when nobody has any. */
  get size(): number {
    const { concurrency, pace } = this.#ceiling;
    return Math.min(concurrency, pace?.atOnce ?? Infinity);
  }

  /** Nothing of it is out or on its way back: it need not be kept. */
  get isIdle(): boolean {
    return this.#out === 0 && this.left === this.size;
  }

  take(isUsed = false): void {
    this.#out += 1;
    if (!isUsed) this.#reserved += 1;
    this.#awaitToken();
  }

  use(): void {
    this.#reserved -= 1;
    const { pace } = this.#ceiling;
    if (pace === null) return;
    this.#backAt.push(this.#clock.monotonic() + pace.everyMs);
    this.#awaitToken();
  }

  giveBack(isUsed: boolean): void {
    this.#out -= 1;
    if (!isUsed) this.#reserved -= 1;
  }

  /** No timer is left, and none is set any more. */
  stop(): void {
    this.#isStopped = true;
    this.#cancelTimer?.();
  }

  #tokens(): number {
    const { pace } = this.#ceiling;
    if (pace === null) return Infinity;
    const now = this.#clock.monotonic();
    const [first] = this.#backAt;
    if (first !== undefined && first <= now) {
      const still = this.#backAt.findIndex((at) => at > now);
      this.#backAt.splice(0, still === -1 ? this.#backAt.length : still);
    }
    return pace.atOnce - this.#reserved - this.#backAt.length;
  }

  /** Once there is none left. */
  #awaitToken(): void {
    if (this.#cancelTimer !== null || this.#isStopped || this.#tokens() > 0) return;
    const [first] = this.#backAt;
    if (first === undefined) return;
    // A whole millisecond at least, so that time has moved on whatever the clock's fractions come to.
    const waitMs = Math.max(1, Math.ceil(first - this.#clock.monotonic()));
    this.#cancelTimer = this.#clock.after(waitMs, () => {
      this.#cancelTimer = null;
      this.#onToken();
      this.#awaitToken();
    });
  }
}
