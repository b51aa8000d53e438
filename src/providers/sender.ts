/**
 * The managed sender. One attempt is one request, which leaves at most once, only while it may, and with the key where
 * the contract puts it; what it proves is decided by the gate it went through and by the contract, never by the code of
 * an error. What is kept of it is evidence without contents: a status, a few headers, a digest.
 */

import type { AttemptHttp, HttpOutcome, HttpReply, HttpRequest, LookupHttp } from '../domain/http.ts';
import type { AttemptResult } from '../domain/attempt.ts';
import type { Contract } from '../domain/contract.ts';
import { definitionInvalid, isSagacityError } from '../domain/errors.ts';
import { type Finding, inconclusive, isOutcome, type Outcome, type Unknown, unknown } from '../domain/outcome.ts';
import { type Reply, type ReplyBody, saysDone, type Verdict, verdictOf } from '../domain/reply.ts';
import { cutText } from '../domain/text.ts';
import type { Clock } from '../ports/clock.ts';
import type { Attempted, Seen, Sender, Sending, SendingAttempt } from '../ports/sender.ts';
import type { Arrival, Departure, Outgoing } from './arrival.ts';
import type { Access } from './access.ts';
import { outgoingOf, Unsendable } from './outgoing.ts';

/** What a reply's body may have, in bytes. */
const BODY_MAX_BYTES = 1_048_576;

/** A call ends this long before its attempt does, so that what it has seen is still told. */
const EARLIER_MS = 100;
const EARLIER_SHARE = 0.05;

export interface SenderOptions {
  readonly clock: Clock;
  readonly accessTo: (provider: string | null) => Access;
  /** Sends it at most once, asks `mayLeave` as it is about to leave, and does not reject for what becomes of it. */
  readonly dispatch: (provider: string | null, outgoing: Outgoing, departure: Departure) => Promise<Arrival>;
  readonly open: () => Promise<void>;
  readonly close: () => Promise<void>;
}

export function managedSender(options: SenderOptions): Sender {
  return {
    attempt: (sending) => new Attempt(options, sending),
    lookUp: (sending) => lookUpBy(options, sending),
    ...{ open: options.open, close: options.close },
  };
}

class Attempt implements Attempted {
  readonly #options: SenderOptions;
  readonly #sending: SendingAttempt;
  readonly #beganAt: number;
  #isMade = false;
  #hasLeft = false;
  /** Why nothing may leave any more. */
  #shut: string | null = null;
  #seen: Seen | null = null;

  constructor(options: SenderOptions, sending: SendingAttempt) {
    this.#options = options;
    this.#sending = sending;
    this.#beganAt = options.clock.monotonic();
  }

  readonly http: AttemptHttp = {
    send: (request, read) => this.#sendOnce(request, read),
    through: (call, read, replyTo) => this.#through(call, read, replyTo),
    get: (request, read) => this.#get(request, read),
  };

  shut(): AttemptResult | null {
    this.#shut ??= 'its time was over';
    if (!this.#isMade || this.#hasLeft) return null;
    return notSent(this.#shut);
  }

  seen(): Seen | null {
    return this.#seen;
  }

  async #sendOnce<Read extends Outcome | PromiseLike<Outcome>>(
    request: HttpRequest,
    read: (reply: HttpReply) => Read,
  ): Promise<Awaited<Read> | HttpOutcome> {
    this.#make();
    const { reply, ...seen } = await this.#send(request);
    this.#seen = seen;
    if (reply === null) return outcomeOnly(seen.result);
    return await this.#readBy(read, reply.shown, reply.whole, seen.told);
  }

  async #through<Answer, Read extends Outcome | PromiseLike<Outcome>>(
    call: (signal: AbortSignal) => Answer,
    read: (answer: Awaited<Answer>) => Read,
    replyTo: (error: unknown) => HttpReply | null,
  ): Promise<Awaited<Read> | HttpOutcome> {
    this.#make();
    const { contract, signal } = this.#sending;
    const why = this.#mayLeave();
    if (why !== null) {
      this.#seen = seenAs(notSent(why), { gate: 'shut' });
      return outcomeOnly(this.#seen.result);
    }
    const see = (reply: Reply, shown: Seen['told']): HttpOutcome => {
      const verdict = verdictOf(contract, reply, this.#options.clock.now());
      const result = resultOf(verdict, contract);
      this.#seen = seenAs(result, { ...shown, proves: verdict.proves }, { alarm: alarmOf(verdict) });
      return outcomeOnly(result);
    };
    const told = { gate: 'opened', by: 'sdk', ...(contract === null ? {} : { contract: nameOf(contract) }) };
    see({ type: 'none', refusedStream: false }, told);
    let answer: Awaited<Answer>;
    try {
      answer = await call(signal);
    } catch (error) {
      const reply = shownBy(replyTo, error);
      if (reply === null) return see({ type: 'none', refusedStream: false }, { ...told, error: nameIn(error) });
      const { status, headers, body } = reply;
      return see(
        { type: 'reply', status, headers: lowerCase(headers), body: { type: 'whole', value: body } },
        { ...told, status },
      );
    }
    const success: Answered = { type: 'reply', status: 200, headers: {}, body: { type: 'whole', value: undefined } };
    return await this.#readBy(read, answer, success, told);
  }

  /** Once. */
  #make(): void {
    const { action } = this.#sending;
    if (this.#isMade) {
      throw definitionInvalid(
        `${action} sends a second request in one attempt.`,
        'An attempt is one request: make what follows an operation of its own.',
        { action },
      );
    }
    this.#isMade = true;
  }

  /** It has happened, or so it is told; what nobody can read of it is unknown. */
  async #readBy<Shown, Read extends Outcome | PromiseLike<Outcome>>(
    read: (shown: Shown) => Read,
    shown: Shown,
    reply: Answered,
    told: Seen['told'],
  ): Promise<Awaited<Read> | HttpOutcome> {
    const { outcome, error } = await readBy(read, shown);
    if (outcome !== null) return outcome;
    const unreadable = this.#outcomeOf(reply, { type: 'broken', reason: 'it could not be read' });
    this.#seen = seenAs(unreadable, { ...told, unreadable: error });
    return outcomeOnly(unreadable);
  }

  async #get<Read extends Outcome | PromiseLike<Outcome>>(
    request: HttpRequest,
    read: (reply: HttpReply) => Read,
  ): Promise<Awaited<Read> | Unknown> {
    const answer = await answerTo(this.#options, this.#sending, this.#beganAt, request);
    if (typeof answer === 'string') return unknown(answer);
    return isSuccess(answer.status) ? await read(answer) : unknown(`status ${answer.status}`);
  }

  async #send(request: HttpRequest): Promise<Sent> {
    const { clock, dispatch, accessTo } = this.#options;
    const { provider, contract, signal, timeoutMs } = this.#sending;
    let arrival: Arrival;
    try {
      const outgoing = await outgoingOf(request, request.method ?? 'POST', this.#sending, accessTo(provider));
      const leftMs = timeoutMs - (clock.monotonic() - this.#beganAt);
      arrival = await dispatch(provider, outgoing, {
        mayLeave: () => this.#mayLeave(),
        timeoutMs: Math.max(1, Math.floor(leftMs - Math.min(EARLIER_MS, leftMs * EARLIER_SHARE))),
        signal,
        bodyMaxBytes: BODY_MAX_BYTES,
        freshConnection: contract === null,
      });
    } catch (error) {
      // Only what is done before a request is handed over can throw.
      return { ...seenAs(notSent(whyUnsendable(error)), { gate: 'shut' }), reply: null };
    }
    return this.#sentBy(arrival, contract);
  }

  #mayLeave(): string | null {
    const why = this.#shut ?? this.#sending.mayLeave();
    this.#hasLeft ||= why === null;
    return why;
  }

  #sentBy(arrival: Arrival, contract: Contract | null): Sent {
    const reply = replyIn(arrival);
    const verdict = verdictOf(contract, reply, this.#options.clock.now());
    const told = toldOf(arrival, verdict, contract);
    const reason = arrival.gate === 'shut' ? arrival.reason : verdict.reason;
    const isUnreached = arrival.gate === 'shut' && UNREACHED.has(arrival.reason);
    const result = resultOf({ ...verdict, reason }, contract);
    const seen = seenAs(result, told, { alarm: alarmOf(verdict), isUnreached });
    if (!saysDone(verdict.proves) || reply.type !== 'reply' || reply.body.type !== 'whole')
      return { ...seen, reply: null };
    const shown = { status: reply.status, headers: reply.headers, body: reply.body.value };
    return { ...seen, reply: { shown, whole: reply } };
  }

  #outcomeOf(reply: Answered, body: ReplyBody): AttemptResult {
    const { contract } = this.#sending;
    return resultOf(verdictOf(contract, { ...reply, body }, this.#options.clock.now()), contract);
  }
}

/** As a dispatch says it. */
const UNREACHED: ReadonlySet<string> = new Set(['not-connected', 'timed-out']);

interface Sent extends Seen {
  /** What the executor is to read; null: it says nothing that it could tell. */
  readonly reply: { readonly shown: HttpReply; readonly whole: Answered } | null;
}

/** What is seen, and most often nothing beside it. */
function seenAs(
  result: AttemptResult,
  told: Seen['told'],
  { alarm = null, isUnreached = false }: Partial<Pick<Seen, 'alarm' | 'isUnreached'>> = {},
): Seen {
  return { result, told, alarm, isUnreached };
}

type Answered = Extract<Reply, { type: 'reply' }>;

/**
 * What a verdict makes of an attempt. A success proves nothing here: what it is, the executor reads. Without a contract
 * the definition has said what the key is worth.
 */
function resultOf(
  { proves, reason, code, speaksFor, sendAgain, retryAfterMs }: Verdict,
  contract: Contract | null,
): AttemptResult {
  const pause = retryAfterMs === null ? {} : { retryAfterMs };
  switch (proves) {
    case 'not-sent':
      return notSent(reason);
    case 'not-done':
    case 'too-late':
      return { type: 'not-applied', reason, ...pause };
    case 'locked-out':
      return { type: 'not-applied', reason, longestPause: true, ...pause };
    case 'refused':
      return { type: 'failed', code: code ?? 'refused', ...(speaksFor === 'key' ? { speaksFor } : {}) };
    case 'key-conflict':
      return { type: 'failed', code: 'idempotency-conflict' };
    case 'done':
    case 'done-before':
    case 'unreadable':
    case 'accepted':
    case 'running':
    case 'unknown':
      return {
        type: 'unknown',
        reason: proves === 'accepted' || proves === 'running' ? `${proves} (${reason})` : reason,
        ...(contract !== null && sendAgain === 'ask-first' ? { sendAgain } : {}),
        ...pause,
      };
  }
}

function notSent(reason: string): AttemptResult {
  return { type: 'not-applied', reason, sent: false };
}

/** The sender's own results have no output that could be unusable. */
function outcomeOnly(result: AttemptResult): HttpOutcome {
  if (result.type === 'failed' || result.type === 'not-applied' || result.type === 'unknown') return result;
  throw new Error('The sender proves no success by itself.');
}

async function readBy<Shown, Read extends Outcome | PromiseLike<Outcome>>(
  read: (shown: Shown) => Read,
  shown: Shown,
): Promise<{ readonly outcome: Awaited<Read> | null; readonly error: string }> {
  try {
    const outcome = await read(shown);
    const isOne: boolean = isOutcome(outcome);
    return isOne ? { outcome, error: '' } : { outcome: null, error: 'it was read as no outcome' };
  } catch (error) {
    // Its message may hold what the provider wrote.
    return { outcome: null, error: nameIn(error) };
  }
}

function nameIn(error: unknown): string {
  return cutText(error instanceof Error ? error.name : typeof error, 100);
}

/** What an SDK's error stands for; who cannot tell has seen none. */
function shownBy(replyTo: (error: unknown) => HttpReply | null, error: unknown): HttpReply | null {
  try {
    const reply = replyTo(error);
    return Number.isInteger(reply?.status) ? reply : null;
  } catch {
    return null;
  }
}

function lowerCase(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), String(value)]));
}

function nameOf({ name, version }: Contract): string {
  return `${name} ${version}`;
}

function whyUnsendable(error: unknown): string {
  if (isSagacityError(error, 'DEFINITION_INVALID')) return error.message;
  if (error instanceof Unsendable) return `the request could not be made: ${error.message}`;
  return 'the request could not be made, or its credentials not be had';
}

function replyIn(arrival: Arrival): Reply {
  if (arrival.gate === 'shut') return { type: 'not-sent' };
  if (arrival.status === null) return { type: 'none', refusedStream: arrival.refusedStream };
  return { type: 'reply', status: arrival.status, headers: arrival.headers, body: bodyIn(arrival) };
}

function bodyIn({ body, headers }: Extract<Arrival, { status: number }>): ReplyBody {
  if (body.type === 'broken') return { type: 'broken', reason: body.reason };
  if (body.bytes.length === 0) return { type: 'whole', value: undefined };
  if (!/^(identity)?$/i.test(headers['content-encoding'] ?? '')) return { type: 'broken', reason: 'it is packed' };
  const isJson = /[/+]json\b/i.test(headers['content-type'] ?? '');
  try {
    const text = new TextDecoder('utf-8', { fatal: isJson }).decode(body.bytes);
    return { type: 'whole', value: isJson ? JSON.parse(text) : text };
  } catch {
    return { type: 'broken', reason: 'it is not the JSON that it is said to be' };
  }
}

/** Kept of a reply's headers: what tells when, which, and how often. */
const TELLING: ReadonlySet<string> = new Set([
  ...['date', 'content-type', 'content-length', 'retry-after', 'request-id', 'x-request-id', 'x-correlation-id'],
  ...['paypal-debug-id', 'pspreference', 'idempotent-replayed', 'stripe-should-retry', 'transient-error'],
]);
const HEADER_LENGTH_MAX = 200;

function toldOf(arrival: Arrival, verdict: Verdict, contract: Contract | null): Seen['told'] {
  const { gate, timings, error, bodyDigest } = arrival;
  const status = gate === 'opened' ? arrival.status : null;
  const headers = gate === 'opened' && arrival.status !== null ? arrival.headers : {};
  const telling: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (TELLING.has(name) || name === contract?.replayHeader) telling[name] = cutText(value, HEADER_LENGTH_MAX);
  }
  return {
    ...{ gate, proves: verdict.proves, timings },
    ...(status === null ? {} : { status, headers: telling }),
    ...(bodyDigest == null ? {} : { bodyDigest }),
    ...(error == null ? {} : { error }),
    ...(verdict.isReplay ? { replayed: true } : {}),
    ...(contract === null ? {} : { contract: nameOf(contract) }),
  };
}

function alarmOf({ proves }: Verdict): Seen['alarm'] {
  return proves === 'locked-out' || proves === 'key-conflict' ? proves : null;
}

function lookUpBy(options: SenderOptions, sending: Sending): LookupHttp {
  const beganAt = options.clock.monotonic();
  return { ask: (request, read) => askBy(options, sending, beganAt, request, read) };
}

async function askBy<Found extends Finding | PromiseLike<Finding>>(
  options: SenderOptions,
  sending: Sending,
  beganAt: number,
  request: HttpRequest,
  read: (reply: HttpReply) => Found,
): Promise<Awaited<Found> | Finding<never, never>> {
  const answer = await answerTo(options, sending, beganAt, request);
  if (typeof answer === 'string') return inconclusive(answer);
  return isAnswer(answer.status) ? await read(answer) : inconclusive(`status ${answer.status}`);
}

/**
 * A request that changes nothing; a text says why there is no whole reply. It has no key: a provider that knew that from a
 * question would take the effect itself for a repetition.
 */
async function answerTo(
  { clock, dispatch, accessTo }: SenderOptions,
  sending: Sending,
  beganAt: number,
  request: HttpRequest,
): Promise<HttpReply | string> {
  const { provider, signal, timeoutMs } = sending;
  let arrival: Arrival;
  try {
    const caller = { ...sending, contract: null };
    const outgoing = await outgoingOf(request, request.method ?? 'GET', caller, accessTo(provider));
    const leftMs = Math.max(1, Math.floor(timeoutMs - (clock.monotonic() - beganAt)));
    const departure = { mayLeave: () => null, timeoutMs: leftMs, signal, bodyMaxBytes: BODY_MAX_BYTES };
    arrival = await dispatch(provider, outgoing, { ...departure, freshConnection: false });
  } catch (error) {
    return whyUnsendable(error);
  }
  const reply = replyIn(arrival);
  if (reply.type !== 'reply') return arrival.gate === 'shut' ? arrival.reason : 'no reply';
  const { status, headers, body } = reply;
  return body.type === 'broken'
    ? `an answer that cannot be read (status ${status})`
    : { status, headers, body: body.value };
}

/** It was answered; what it says about a record, the look-up of this provider knows. */
function isAnswer(status: number): boolean {
  return isSuccess(status) || status === 404 || status === 410;
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}
