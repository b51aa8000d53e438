/**
 * What is sent to a provider, under which conditions it may leave, and what came of it, as values. An arrival says
 * what the wire has shown and nothing more: whether the gate opened, whether a status was read, whether the body is
 * whole. What that proves about the effect is decided elsewhere, from these values and the provider's contract.
 */

/** What is to be sent: the whole request, its body as text or bytes. */
export interface Outgoing {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | null;
}

/** Under which conditions it may leave, and until when it is waited for. */
export interface Departure {
  /** Asked once, as the head is about to be written: null, or why the request may not leave any more. */
  readonly mayLeave: () => string | null;
  /** The whole call, from the dispatch to the last byte of the reply. */
  readonly timeoutMs: number;
  /** Aborted while nothing is written: it never leaves. Aborted later: it is given up. */
  readonly signal: AbortSignal;
  /** How much of the reply's body is read. */
  readonly bodyMaxBytes: number;
  /** On a connection that no other request was or will be sent on; of a host's Pool or Client: none afterwards. */
  readonly freshConnection: boolean;
}

/** The body of a reply: all of it, or what was read before it broke. */
export type ReplyBody =
  | { readonly type: 'whole'; readonly bytes: Uint8Array }
  | { readonly type: 'broken'; readonly reason: BodyBreak; readonly bytes: Uint8Array };

/** Why a body is not whole: it ended too early, passed the cap, or was given up. */
export type BodyBreak = 'cut-off' | 'too-large' | GivenUp;

/** Why a request is not waited for any longer. */
export type GivenUp = 'timed-out' | 'aborted';

/**
 * What came of one dispatch. `shut`: not a byte was handed to a connection, which proves that the provider never saw
 * the request. `opened`: the head was, or was about to be, written; nothing but a reply proves what became of it.
 */
export type Arrival = NeverLeft | NoReply | Reply;

export interface NeverLeft extends Evidence {
  readonly gate: 'shut';
  /** What `mayLeave` said, or `not-dispatched`, `not-connected`, `timed-out`, `aborted`. */
  readonly reason: string;
}

export interface NoReply extends Evidence {
  readonly gate: 'opened';
  readonly status: null;
  /** `repeat-refused`: something below was about to send the request a second time, and was kept from it. */
  readonly reason: 'connection-lost' | 'repeat-refused' | GivenUp;
}

export interface Reply extends Evidence {
  readonly gate: 'opened';
  readonly status: number;
  /** By lower-case name; of a header that came more than once, the values joined by a comma. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: ReplyBody;
}

export interface Evidence {
  readonly timings: Timings;
  /** What the connection said, if it said anything. */
  readonly error: WireError | null;
  /** SHA-256, in hexadecimal, of the bytes of the body that were kept; null where there are none. */
  readonly bodyDigest: string | null;
  /** The provider's HTTP/2 end said that it did not process the request. Never of a connection of our own. */
  readonly refusedStream: boolean;
}

/** Whole milliseconds since the dispatch; null for what did not happen. */
export interface Timings {
  readonly gateMs: number | null;
  readonly headMs: number | null;
  readonly endMs: number;
}

/** An error of the wire without its message, which may carry addresses and data. */
export interface WireError {
  readonly name: string;
  readonly code: string | null;
}
