/**
 * What reaches a process sooner than its next sweep would. Everything here is a hint: it may be lost, late, early,
 * repeated or forged, and changes latency only. The receiver checks everything again against the store; the sweep finds
 * what no wake announced.
 */

import type { CheckupFinding } from '../domain/checkup.ts';
import type { Logger } from './logger.ts';
import type { OperationRef } from './store.ts';

/** "Look at this operation, or saga, at that time." */
export interface Wake {
  readonly tenant: string;
  readonly operationId: string;
  /**
   * That it had when the wake was armed: under another one it has a wake of its own, and this one is ignored. Null:
   * whatever it has, because something was said about it.
   */
  readonly generation: number | null;
}

/** What is told to other processes. */
export type News =
  /** Something was said about it: who holds it attends to it. */
  | { readonly kind: 'said'; readonly ref: OperationRef }
  /** It is due and nobody's: one process takes it, if it has room. */
  | { readonly kind: 'due'; readonly ref: OperationRef }
  /** What a process held is anybody's: each looks, as far as it has room. */
  | { readonly kind: 'freed' }
  /** A turn of it was written; `rests`: it has settled, or a person is asked. For those who watch it. */
  | { readonly kind: 'changed'; readonly ref: OperationRef; readonly rests: boolean };

export interface Waker {
  /**
   * Gets ready to tell, without waiting for whom it needs for that. `ledger` names the database that it is about: what
   * is said about one is never heard where another one is meant. Left out by a waker that needs none of it.
   */
  open?(ledger: string, logger: Logger): void;
  /**
   * Delivers wakes to `onWake` from now on, until `stop`, and what other processes tell to `onNews`. `onWake` resolves
   * when what follows is durable or was left, and never rejects; neither throws.
   */
  start(onWake: (wake: Wake) => Promise<void>, onNews: (news: Told) => void): Promise<void>;
  /**
   * Asks for a wake after `delayMs`; a later call for the same operation replaces an earlier one, unless that is out of
   * reach by now: then both come. `whose`: it is held by the process that asks, and nobody else can do anything about it,
   * or anybody can (which is what is meant without it). What is anybody's may still be asked for after `stop`.
   */
  wake(wake: Wake, delayMs: number, whose?: 'mine' | 'anybodys'): void;
  /** Tells other processes. Left out by a waker that reaches none. */
  tell?(news: News): void;
  /** Calls `onChange` when another process tells that it has changed; returns what ends that. */
  watch?(ref: OperationRef, onChange: (rests: boolean) => void): () => void;
  /** Forgets everything armed; resolves when nothing will be delivered any more. What is told still goes out. */
  stop(): Promise<void>;
  /** Ends what `open` began, once what was told has gone out. */
  close?(): Promise<void>;
  /**
   * Looks at what wakes go through, for whoever checks a set-up, whether started or not; changes nothing. Settles in
   * bounded time and does not reject because of what it finds. That wakes do not get through is a warning, because sweeps
   * find what they would have announced. Left out by wakers that never leave the process.
   */
  examine?(): Promise<readonly CheckupFinding[]>;
  /** How it is at the moment: whether wakes of other processes get through. Left out likewise. */
  state?(): { readonly isConnected: boolean };
}

/** What is heard by all, or in the case of `due` by one. */
export type Told = Exclude<News, { readonly kind: 'changed' }>;
