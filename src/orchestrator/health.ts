/**
 * How a process is, judged from what it knows at the moment, without asking anybody: so that a probe costs nothing and
 * is answered also while the database is away.
 */

import type { BreakerState } from './breaker.ts';

export interface Health {
  /**
   * False only when a restart would help: no sweep has come round for 60 times `sweepEvery` (and twice the time-out of
   * the heartbeat, and a minute), although the heartbeat goes through to the store. An outage of the database never makes
   * it false, nor does a stop. A process whose event loop is blocked answers no probe at all: give yours a time-out.
   */
  readonly live: boolean;
  /** Whether this process carries out what is due: it is started, its worker is fresh, and the store answers. */
  readonly ready: boolean;
  /** `starting` until the first sweep is over, `stopped` once a stop is. */
  readonly phase: 'new' | 'starting' | 'started' | 'stopping' | 'stopped';
  /** `isFresh`: its heartbeat has been answered lately, so that it may begin something. `id` is null before it has one. */
  readonly worker: { readonly id: string | null; readonly isFresh: boolean };
  /** `answers`: it answered the last sweep and the last heartbeats; false while nothing was asked. */
  readonly store: { readonly name: string; readonly answers: boolean };
  /** `isConnected`: whether wakes of other processes get through; null: this waker knows of none. Sweeps do without. */
  readonly waker: { readonly isConnected: boolean | null };
  /** Attempts and look-ups on their way, or waiting for a permit to be: what a stop waits for. */
  readonly inFlight: number;
  readonly slots: { readonly taken: number; readonly size: number };
  /** By the provider that operations name: while it is `open` nothing is begun there, `half-open`: one attempt tries. */
  readonly breakers: Readonly<Record<string, BreakerState>>;
  /** Why it is not ready, or not live; null: it is both. */
  readonly why: string | null;
}

/** What the orchestrator knows about itself. */
export interface Vitals extends Pick<Health, 'phase' | 'worker' | 'waker' | 'inFlight' | 'slots' | 'breakers'> {
  readonly store: { readonly name: string; readonly answered: boolean };
  /** Since the last sweep was over, or since the first one was begun; null: there was none. */
  readonly sinceSweepMs: number | null;
  readonly sweepEveryMs: number;
  readonly heartbeatTimeoutMs: number;
}

const SWEEPS_MISSED = 60;
/** A heartbeat counts for one time-out after the store fell silent: by then it is known whether it did. */
const TIMEOUTS_MISSED = 2;
const PATIENCE_MS = 60_000;

export function healthOf(vitals: Vitals): Health {
  const { phase, worker, store, waker, inFlight, slots, breakers } = vitals;
  const answers = store.answered && worker.isFresh;
  const stuck = stuckness(vitals);
  const why = stuck ?? unreadiness(vitals, answers);
  return {
    ...{ live: stuck === null, ready: why === null, phase, worker },
    ...{ store: { name: store.name, answers }, waker, inFlight, slots, breakers, why },
  };
}

function stuckness({ phase, worker, sinceSweepMs, sweepEveryMs, heartbeatTimeoutMs }: Vitals): string | null {
  const isAtWork = phase === 'starting' || phase === 'started';
  if (!isAtWork || !worker.isFresh || sinceSweepMs === null) return null;
  const patienceMs = Math.max(SWEEPS_MISSED * sweepEveryMs, TIMEOUTS_MISSED * heartbeatTimeoutMs, PATIENCE_MS);
  if (sinceSweepMs < patienceMs) return null;
  return `No sweep has come round for ${Math.floor(sinceSweepMs / 1_000)} s, although the store answers. Restart the process.`;
}

function unreadiness({ phase, worker, store }: Vitals, answers: boolean): string | null {
  if (phase !== 'started') return whyNot[phase];
  if (!worker.isFresh) return 'The heartbeat of its worker does not reach the store; until it does, nothing is begun.';
  if (!answers) return `The ${store.name} store did not answer the last sweep.`;
  return null;
}

const whyNot: Readonly<Record<Exclude<Health['phase'], 'started'>, string>> = {
  new: 'start() was not called.',
  starting: 'The start is not over yet.',
  stopping: 'It is stopping, and begins nothing new.',
  stopped: 'It has stopped.',
};
