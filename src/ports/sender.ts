/**
 * The managed way out, as a port: what `http` does for an attempt or a look-up. The sender is the authority on whether a
 * request left this process; the orchestrator asks it where an executor threw or did not end in time.
 */

import type { AttemptHttp, LookupHttp } from '../domain/http.ts';
import type { Contract } from '../domain/contract.ts';
import type { AttemptResult } from '../domain/attempt.ts';

/** For whom something is sent, and until when. */
export interface Sending {
  readonly tenant: string;
  readonly action: string;
  /** The company, by the name that the orchestrator's `providers` may list; null: the definition names none. */
  readonly provider: string | null;
  /** As it was when the operation was submitted; null: nothing is known of the provider. */
  readonly contract: Contract | null;
  readonly idempotencyKey: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export interface SendingAttempt extends Sending {
  /** When the first request that the key counts from could leave, by the store's clock. */
  readonly firstSentAt: number;
  /** Asked when the request is about to leave: null when it may, otherwise why it may not any more. */
  readonly mayLeave: () => string | null;
}

export interface Sender {
  /** Before anything is sent. Rejects with DEFINITION_INVALID for connections over which nothing may be sent. */
  open(): Promise<void>;
  attempt(sending: SendingAttempt): Attempted;
  lookUp(sending: Sending): LookupHttp;
  /** Closes its connections. Nothing is sent any more. */
  close(): Promise<void>;
}

/** One attempt, as far as it goes by `http`. */
export interface Attempted {
  readonly http: AttemptHttp;
  /**
   * Lets nothing leave any more. What is proven by that: it was not sent. Null: nothing was to be sent by `http`, or it
   * has left.
   */
  shut(): AttemptResult | null;
  /** What has been seen of the request so far; null: none was made by `http`. */
  seen(): Seen | null;
}

export interface Seen {
  /** What it proves by itself, whatever the executor made of it; of a success that is nothing without the executor. */
  readonly result: AttemptResult;
  /** Evidence for the history: status, some headers, a digest of the body, times. Nothing that was sent is in it. */
  readonly told: Readonly<Record<string, unknown>>;
  /** What somebody has to look at, because it concerns all that goes there; null: nothing. */
  readonly alarm: 'locked-out' | 'key-conflict' | null;
  /** No connection to the provider could be had, so that nothing left: that says something of the provider. */
  readonly isUnreached: boolean;
}
