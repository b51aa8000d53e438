/**
 * One dispatch of one request, and the proof of what became of it. Error codes prove nothing: the same ECONNRESET is
 * seen for a request that never left and for one that was carried out. So the authority is a gate. undici asks the
 * handler for its word (`onRequestStart`) in the same call that then writes the head: while nobody asked, not a byte
 * was written; once it was asked and let the request through, nothing but a reply proves anything.
 *
 * The gate lets a request through once. Whatever asks a second time (a retry, a redirect, another address, a lost
 * pipeline) is about to send it again, and is stopped before it writes. The time is ours as well, over the whole
 * call: undici's timers begin anew with every interim reply, and it hears no signal while it connects.
 */

import type { Dispatcher } from 'undici';
import type { CancelTimer, Clock } from '../ports/clock.ts';
import type { Arrival, BodyBreak, Departure, Evidence, GivenUp, NoReply, Outgoing, Reply } from './arrival.ts';
import { digestOf, ReplyBytes } from './reply-body.ts';
import { isRefusedStream, wireError } from './wire-error.ts';

/**
 * Sends a request once, at the most, and resolves with what the wire has shown. It never rejects. When it resolves,
 * its timer is cleared and a request that was given up has had its connection destroyed; one that waits in a queue or
 * for a connection is turned away when its turn comes.
 *
 * @example
 * const arrival = await dispatchOnce(await ownDispatcher(), outgoing, departure, clock);
 * if (arrival.gate === 'shut') return notApplied(arrival.reason);
 */
export function dispatchOnce(
  dispatcher: Pick<Dispatcher, 'dispatch'>,
  outgoing: Outgoing,
  departure: Departure,
  clock: Clock,
): Promise<Arrival> {
  return new Promise((arrive) => {
    new Passage(departure, clock, arrive).begin(dispatcher, outgoing);
  });
}

/** What undici is told when the gate stays shut, or a request is given up. Its code is none that anybody retries. */
class Stopped extends Error {
  readonly code = 'SAGACITY_STOPPED';

  constructor() {
    super('Stopped by the sender.');
    this.name = 'Stopped';
  }
}

type Head = Pick<Reply, 'status' | 'headers'>;

class Passage implements Dispatcher.DispatchHandler {
  readonly #departure: Departure;
  readonly #clock: Clock;
  readonly #arrive: (arrival: Arrival) => void;
  readonly #beganAt: number;
  readonly #body: ReplyBytes;
  #cancelTimer: CancelTimer | null = null;
  #dispatched = false;
  #controller: Dispatcher.DispatchController | null = null;
  #gateAt: number | null = null;
  #headAt: number | null = null;
  #head: Head | null = null;
  #over = false;

  constructor(departure: Departure, clock: Clock, arrive: (arrival: Arrival) => void) {
    this.#departure = departure;
    this.#clock = clock;
    this.#arrive = arrive;
    this.#beganAt = clock.monotonic();
    this.#body = new ReplyBytes(departure.bodyMaxBytes);
  }

  begin(dispatcher: Pick<Dispatcher, 'dispatch'>, outgoing: Outgoing): void {
    const { signal, timeoutMs } = this.#departure;
    // undici would still open the gate for a signal that was aborted before.
    if (signal.aborted) return this.#neverLeft('aborted', null);
    try {
      this.#cancelTimer = this.#clock.after(timeoutMs, () => this.#giveUp('timed-out'));
      signal.addEventListener('abort', this);
      dispatcher.dispatch(optionsOf(outgoing, this.#departure), this);
      this.#dispatched = true;
    } catch (error) {
      this.onResponseError(null, error);
    }
  }

  /** The signal was aborted. */
  handleEvent(): void {
    this.#giveUp('aborted');
  }

  /** The gate. A refusal is thrown, because an abort would destroy a connection that the next request can use. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#gateAt !== null) return this.#refuseRepeat(controller);
    const now = this.#clock.monotonic();
    const objection = this.#over ? null : this.#objection(now);
    if (objection !== null) this.#neverLeft(objection, null);
    if (this.#over) throw new Stopped();
    this.#controller = controller;
    this.#gateAt = now;
  }

  /** The first byte of a head. Interim replies come first, if there are any; the last one told is the reply's own. */
  onResponseStarted(): void {
    if (!this.#over) this.#headAt = this.#clock.monotonic();
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: Received): void {
    if (this.#over || status < 200) return;
    this.#headAt ??= this.#clock.monotonic();
    this.#head = { status, headers: oneValueEach(headers) };
  }

  onResponseData(controller: Dispatcher.DispatchController, piece: Uint8Array): void {
    if (this.#over || this.#head === null || this.#body.add(piece)) return;
    this.#reply(this.#head, 'too-large', null);
    controller.abort(new Stopped());
  }

  onResponseEnd(): void {
    if (!this.#over && this.#head !== null) this.#reply(this.#head, null, null);
  }

  onResponseError(_: Dispatcher.DispatchController | null, error: unknown): void {
    if (this.#over) return;
    if (this.#gateAt === null) this.#neverLeft(this.#dispatched ? 'not-connected' : 'not-dispatched', error);
    else if (this.#head === null) this.#noReply('connection-lost', error);
    else this.#reply(this.#head, 'cut-off', error);
  }

  #objection(now: number): string | null {
    const { timeoutMs, mayLeave } = this.#departure;
    // In a process that stood still, the gate is reached before the timer that should have fired.
    if (now - this.#beganAt >= timeoutMs) return 'timed-out';
    try {
      return mayLeave();
    } catch {
      return 'not-dispatched';
    }
  }

  /** An abort, and not a refusal by throwing: whoever repeats takes an abort for the end. */
  #refuseRepeat(controller: Dispatcher.DispatchController): void {
    if (!this.#over) {
      if (this.#head === null) this.#noReply('repeat-refused', null);
      else this.#reply(this.#head, 'cut-off', null);
    }
    controller.abort(new Stopped());
  }

  #giveUp(why: GivenUp): void {
    if (this.#over) return;
    if (this.#gateAt === null) return this.#neverLeft(why, null);
    if (this.#head === null) this.#noReply(why, null);
    else this.#reply(this.#head, why, null);
    this.#controller?.abort(new Stopped());
  }

  #neverLeft(reason: string, error: unknown): void {
    this.#end({ gate: 'shut', reason, ...this.#evidence(error, null) });
  }

  #noReply(reason: NoReply['reason'], error: unknown): void {
    this.#end({ gate: 'opened', status: null, reason, ...this.#evidence(error, null) });
  }

  #reply({ status, headers }: Head, brokenBy: BodyBreak | null, error: unknown): void {
    const bytes = this.#body.bytes();
    const body =
      brokenBy === null ? ({ type: 'whole', bytes } as const) : ({ type: 'broken', reason: brokenBy, bytes } as const);
    this.#end({ gate: 'opened', status, headers, body, ...this.#evidence(error, digestOf(bytes)) });
  }

  #evidence(error: unknown, bodyDigest: string | null): Evidence {
    const since = (at: number | null): number | null => (at === null ? null : Math.round(at - this.#beganAt));
    return {
      timings: {
        gateMs: since(this.#gateAt),
        headMs: since(this.#headAt),
        endMs: Math.round(this.#clock.monotonic() - this.#beganAt),
      },
      error: error === null ? null : wireError(error),
      bodyDigest,
      refusedStream: error !== null && isRefusedStream(error),
    };
  }

  #end(arrival: Arrival): void {
    this.#over = true;
    this.#cancelTimer?.();
    this.#departure.signal.removeEventListener('abort', this);
    this.#arrive(arrival);
  }
}

type Received = Readonly<Record<string, string | string[] | undefined>>;

function oneValueEach(headers: Received): Readonly<Record<string, string>> {
  const single: Record<string, string> = {};
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    if (value !== undefined) single[name] = typeof value === 'string' ? value : value.join(', ');
  }
  return single;
}

/**
 * The request as undici takes it. Its own timers are off, since the time is ours; it must not take the request for
 * one that it may send again or line up behind another.
 */
function optionsOf({ method, url, headers, body }: Outgoing, { freshConnection }: Departure) {
  const { origin, pathname, search } = new URL(url);
  return {
    // An agent keeps connections by the text of the origin. With this text it never finds one that was used before.
    origin: freshConnection ? `${origin}/` : origin,
    path: `${pathname}${search}`,
    method,
    // A copy, because a ProxyAgent adds to what it is given.
    headers: { ...headers },
    body,
    idempotent: false,
    headersTimeout: 0,
    bodyTimeout: 0,
    reset: freshConnection,
  } satisfies Dispatcher.DispatchOptions;
}
