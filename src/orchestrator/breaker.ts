/**
 * The breaker of one company, as this process knows it: while most attempts there prove nothing or are not applied, no
 * more are begun, so that a company that is ill does not fill the list of doubts. After a pause one attempt goes out to
 * try; its end closes the breaker, or opens it again for longer. What could go wrong is that it stays open for ever: a
 * try that ends without a word about the company leaves its place to the next.
 */

import type { CancelTimer, Clock } from '../ports/clock.ts';

/** When it opens, and for how long. */
export interface BreakerPolicy {
  /** The ends of this long count. */
  readonly withinMs: number;
  /** It opens when there were so many ... */
  readonly ends: number;
  /** ... and so large a part of them was ill. */
  readonly share: number;
  readonly pauseMs: number;
  /** The pause doubles with each try that fails, up to this. */
  readonly maxPauseMs: number;
}

/** `half-open`: one attempt may try. */
export type BreakerState = 'closed' | 'open' | 'half-open';

/** What the end of an attempt says about the company. */
export type Condition = 'well' | 'ill' | 'unsaid';

/** One attempt may be begun. */
export interface Pass {
  ended(condition: Condition): void;
  /** It is over, or was not used. Calling it again does nothing. */
  giveBack(): void;
}

/** The window moves on by such a part of itself. */
const SLICES = 10;

interface Slice {
  readonly number: number;
  ends: number;
  ill: number;
}

export class Breaker {
  readonly #policy: BreakerPolicy;
  readonly #clock: Clock;
  readonly #onChange: (state: BreakerState, before: BreakerState) => void;
  #state: BreakerState = 'closed';
  #slices: Slice[] = [];
  #pauseMs: number;
  /** The one that tries. */
  #trying: Pass | null = null;
  #cancelTimer: CancelTimer = () => {};
  #isStopped = false;

  /** `onChange` is called after each change, also when an attempt may try again. */
  constructor(policy: BreakerPolicy, clock: Clock, onChange: (state: BreakerState, before: BreakerState) => void) {
    this.#policy = policy;
    this.#clock = clock;
    this.#onChange = onChange;
    this.#pauseMs = policy.pauseMs;
  }

  get state(): BreakerState {
    return this.#state;
  }

  /** An attempt may be begun now. */
  get isPassable(): boolean {
    return this.#state === 'closed' || (this.#state === 'half-open' && this.#trying === null);
  }

  /** For an attempt that may be begun. */
  pass(): Pass {
    const pass: Pass = {
      ended: (condition) => this.#ended(pass, condition),
      giveBack: () => this.#over(pass),
    };
    if (this.#state === 'half-open') this.#trying = pass;
    return pass;
  }

  /** No timer is left, and none is set any more. */
  stop(): void {
    this.#isStopped = true;
    this.#cancelTimer();
  }

  #ended(pass: Pass, condition: Condition): void {
    if (condition === 'unsaid') return;
    if (this.#state === 'closed') return this.#count(condition);
    // What was begun before it opened is no news.
    if (pass !== this.#trying) return;
    this.#trying = null;
    if (condition === 'well') return this.#close();
    this.#pauseMs = Math.min(2 * this.#pauseMs, this.#policy.maxPauseMs);
    this.#open();
  }

  #over(pass: Pass): void {
    if (pass !== this.#trying) return;
    this.#trying = null;
    this.#onChange(this.#state, this.#state);
  }

  #count(condition: Condition): void {
    const { withinMs, ends, share } = this.#policy;
    const number = Math.floor(this.#clock.monotonic() / (withinMs / SLICES));
    this.#slices = this.#slices.filter((slice) => slice.number > number - SLICES);
    const last = this.#slices.at(-1);
    const slice = last?.number === number ? last : { number, ends: 0, ill: 0 };
    if (slice !== last) this.#slices.push(slice);
    slice.ends += 1;
    if (condition === 'ill') slice.ill += 1;
    const counted = this.#slices.reduce((sum, each) => sum + each.ends, 0);
    const ill = this.#slices.reduce((sum, each) => sum + each.ill, 0);
    if (counted >= ends && ill >= share * counted) this.#open();
  }

  #open(): void {
    this.#slices = [];
    this.#turn('open');
    if (this.#isStopped) return;
    this.#cancelTimer = this.#clock.after(this.#pauseMs, () => this.#turn('half-open'));
  }

  #close(): void {
    this.#pauseMs = this.#policy.pauseMs;
    this.#turn('closed');
  }

  #turn(state: BreakerState): void {
    const before = this.#state;
    this.#state = state;
    this.#onChange(state, before);
  }
}
