/**
 * The provider's own time. It is another company, so its clock is not ours: real by default, and replaceable so
 * that a test can move it by hand.
 */

export interface ProviderClock {
  /** Milliseconds; only differences and order matter, except that a ledger file keeps them across a restart. */
  now(): number;
  /** Calls `fire` once, `ms` milliseconds from now. */
  setTimer(ms: number, fire: () => void): void;
}

export const realClock: ProviderClock = {
  now: () => Date.now(),
  setTimer(ms, fire) {
    // A timer nobody waits for must not keep a closed provider's process alive.
    setTimeout(fire, ms).unref();
  },
};

export function pause(clock: ProviderClock, ms = 0): Promise<void> {
  return new Promise((resolve) => clock.setTimer(ms, resolve));
}
