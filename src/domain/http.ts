/**
 * What executors and look-ups send by. `http` puts the key where the contract says, sends once, and tells by evidence
 * what came of it; it follows nothing, repeats nothing, and lets a request leave only while it may.
 */

import type { Failed, Finding, NotApplied, Outcome, Unknown } from './outcome.ts';

/** One request. At most one of `json`, `form` and `body`. */
export interface HttpRequest {
  /** Default `POST` for an attempt and `GET` for a look-up. */
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Absolute, or a path below the `url` of the operation's provider. */
  readonly url: string;
  /** Beside those of the provider's `credentials`, the key and the content type. They are not kept in the history. */
  readonly headers?: Readonly<Record<string, string>>;
  /** What JSON can hold. */
  readonly json?: unknown;
  /** Sent as `application/x-www-form-urlencoded`. */
  readonly form?: Readonly<Record<string, string>>;
  /** Sent as it is, with the content type that `headers` name. */
  readonly body?: string | Uint8Array;
}

/** A reply that came as a whole. */
export interface HttpReply {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  /** JSON where it was some, otherwise text; undefined where it was empty. What is in it is the provider's word. */
  readonly body: unknown;
}

/** What a provider's reply can make of an attempt without its executor. */
export type HttpOutcome = Failed<string> | NotApplied | Unknown;

export interface AttemptHttp {
  /**
   * Sends one request, once: an attempt is one request, and a second one throws. The operation's key goes where the
   * contract says, whatever the method; without a contract put it there yourself, in `headers` or in the body. `read` is
   * called for a success, or for what the contract knows as done before, and says what it is: a record has a state of its
   * own. Everything else has its outcome from the contract: never sent or proven not done is not applied, a refusal has
   * failed with its code, the rest is unknown. Does not reject for what a provider, a network or `read` does; what `read`
   * throws at is a success that cannot be read.
   *
   * @example
   * execute: ({ input, http }) =>
   *   http.send({ url: '/v1/charges', json: { amount: input.amount } }, ({ body }) => chargeIn(body)),
   */
  send<Read extends Outcome | PromiseLike<Outcome>>(
    request: HttpRequest,
    read: (reply: HttpReply) => Read,
  ): Promise<Awaited<Read> | HttpOutcome>;
  /**
   * Sends it by a vendor's SDK instead, in the place of `send`. Give the SDK the key and the signal, and switch its own
   * retries off: one call here is one attempt, whatever is sent beneath it. When it throws, `replyIn` says which reply its
   * error stands for, and the contract what that proves; null: it stands for none, and whatever was sent is unknown. That
   * nothing was sent is never proven, because an SDK does not show when it sends.
   *
   * @example
   * execute: ({ input, idempotencyKey, http }) =>
   *   http.through(
   *     (signal) => cards.charges.create(input, { idempotencyKey, signal, retries: 0 }),
   *     (charge) => succeeded({ chargeId: charge.id }, { reference: charge.id }),
   *     (error) => (error instanceof CardsError ? { status: error.status, headers: error.headers, body: error.body } : null),
   *   ),
   */
  through<Answer, Read extends Outcome | PromiseLike<Outcome>>(
    call: (signal: AbortSignal) => Answer,
    read: (answer: Awaited<Answer>) => Read,
    replyIn: (error: unknown) => HttpReply | null,
  ): Promise<Awaited<Read> | HttpOutcome>;
  /**
   * Reads what is there already, while a reply is read: the record that a provider names instead of making it again. It
   * changes nothing and is no attempt. `read` is called for a success; anything else is unknown.
   */
  get<Read extends Outcome | PromiseLike<Outcome>>(
    request: HttpRequest,
    read: (reply: HttpReply) => Read,
  ): Promise<Awaited<Read> | Unknown>;
}

export interface LookupHttp {
  /**
   * Asks; changes nothing, has no key, and may be called again for further pages. `read` is called for a success and for
   * 404 and 410, which mean that there is no record only where the provider's look-up says so; anything else is
   * inconclusive.
   *
   * @example
   * find: ({ http, idempotencyKey }) =>
   *   http.ask({ url: `/v1/charges?key=${idempotencyKey}` }, ({ body }) => recordsIn(body)),
   */
  ask<Found extends Finding | PromiseLike<Finding>>(
    request: HttpRequest,
    read: (reply: HttpReply) => Found,
  ): Promise<Awaited<Found> | Finding<never, never>>;
}

/** What the name of a header is made of (RFC 9110, 5.6.2). */
export const HEADER_NAME: RegExp = /^[\w!#$%&'*+.^`|~-]+$/;
