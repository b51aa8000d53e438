/** How many attempts and look-ups this process carries out at once. A start is recorded only with a slot in hand. */
export class Slots {
  readonly size: number;
  readonly #waiting: (() => void)[] = [];
  #taken = 0;
  readonly #onFree: () => void;

  /** `onFree` is called when a slot has come free that nobody waited for. */
  constructor(size: number, onFree: () => void) {
    this.size = size;
    this.#onFree = onFree;
  }

  get free(): number {
    return Math.max(0, this.size - this.#taken);
  }

  /** A slot at once, or null. The function gives it back; calling it again does nothing. */
  tryTake(): (() => void) | null {
    if (this.#taken >= this.size) return null;
    this.#taken += 1;
    return this.#giver();
  }

  /** A slot as soon as one is free, in the order of asking. */
  async take(): Promise<() => void> {
    const now = this.tryTake();
    if (now !== null) return now;
    await new Promise<void>((resume) => this.#waiting.push(resume));
    return this.#giver();
  }

  /** Gives one slot back: to who has waited longest, or to the pool. */
  #giver(): () => void {
    let given = false;
    return () => {
      if (given) return;
      given = true;
      const next = this.#waiting.shift();
      if (next !== undefined) return next();
      this.#taken -= 1;
      this.#onFree();
    };
  }
}
