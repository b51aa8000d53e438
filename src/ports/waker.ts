import type { CheckupFinding } from '../domain/checkup.ts';

/**
 * "Look at this operation at that time." A wake is a hint: it may be lost, late, early, repeated or forged, and
 * changes latency only. The receiver re-checks everything against the store; the sweep finds what no wake announced.
 */
export interface Wake {
  readonly tenant: string;
  readonly operationId: string;
  /** Generation of the claim the wake was armed under; an older one than the row's is ignored. */
  readonly generation: number;
}

export interface Waker {
  /** Delivers wakes to `onWake` from now on, until `stop`. `onWake` never throws. */
  start(onWake: (wake: Wake) => void): Promise<void>;
  /** Asks for a wake after `delayMs`; a later call for the same operation replaces an earlier one. */
  wake(wake: Wake, delayMs: number): void;
  /** Forgets everything armed; resolves when no further `onWake` will be called. */
  stop(): Promise<void>;
  /**
   * Looks at what wakes go through, for whoever checks a set-up, whether started or not; changes nothing. Settles in
   * bounded time and does not reject because of what it finds. That wakes do not get through is a warning, because sweeps
   * find what they would have announced. Left out by wakers that never leave the process.
   */
  examine?(): Promise<readonly CheckupFinding[]>;
  /** Whether wakes of other processes get through at the moment. Left out likewise. */
  isConnected?(): boolean;
}
