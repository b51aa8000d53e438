/**
 * What is known of a provider's idempotency, as data: where its key goes, how long it is remembered, what a second send
 * under it does, how one looks up, and what each reply proves. It is kept with every operation that is made under it, so
 * that what was agreed when the first request left decides to the end, whatever becomes of the definition. Its authority
 * is the provider's documentation, which it names; what that does not say is left unsaid here, and decided as if nothing
 * could be relied on.
 */

/** Plain and frozen, as `contract()` makes it. Times are whole milliseconds. */
export interface Contract {
  readonly type: 'contract';
  /** Provider, API and endpoint, such as `stripe-v1/charges`. */
  readonly name: string;
  /** Of this description; another one is another contract. */
  readonly version: string;
  /** Where the provider says so. */
  readonly docs: string;
  /** The day on which that was read, `YYYY-MM-DD`; null: nobody has verified it. */
  readonly verifiedOn: string | null;
  /** Null: the provider takes no key. */
  readonly key: ContractKey | null;
  /** What a key is unique within, besides the key itself: the same key elsewhere is another one. */
  readonly scope: readonly KeyScope[];
  /** How long the key is remembered, from the first request on; null: it is not, or nobody says how long. */
  readonly keyRetentionMs: number | null;
  /** Null: it takes no key. */
  readonly sameKey: SameKey | null;
  /** Null: nobody can be asked. */
  readonly lookup: ContractLookup | null;
  /** In order; the first that fits a reply decides, and what none fits is read as HTTP has it. */
  readonly replies: readonly ReplyRule[];
  /** Where a refusal names its reason in the body, such as `error.code`; null: its status has to do. */
  readonly codeAt: string | null;
  /** A header that says by its presence that a reply was given before; null: there is none. */
  readonly replayHeader: string | null;
}

export type KeyScope = 'account' | 'region' | 'endpoint';

export interface ContractKey {
  readonly in: 'header' | 'body' | 'query';
  /** Of the header or query parameter, or the path in the body. */
  readonly name: string;
  /** `sf-string`: in double quotes, as RFC 8941 writes a string; `raw`: as it is. */
  readonly encoding: 'raw' | 'sf-string';
  /** A header that says beside it when the first request left, as HTTP writes dates; null: there is none. */
  readonly firstSentHeader: string | null;
}

/** What a send does under a key that the provider knows. `unsaid`: its documentation does not tell. */
export interface SameKey {
  /** `first-reply`: that again; `current-state`: the record as it is now; `told`: a reply that says it is done already. */
  readonly afterSuccess: 'first-reply' | 'current-state' | 'told';
  readonly whileRunning: 'refused' | 'waits' | 'unsaid';
  readonly afterRefusal: 'first-reply' | 're-executes' | 'unsaid';
  /** `first-reply`: the same error for ever; `re-executes`: as if nothing had been sent; `resumes`: goes on where it was. */
  readonly afterServerError: 'first-reply' | 're-executes' | 'resumes' | 'unsaid';
  /** `refused`; `first-reply`: in silence; `re-executes`: it is another effect. */
  readonly otherParameters: 'refused' | 'first-reply' | 're-executes' | 'unsaid';
}

export interface ContractLookup {
  readonly by: 'key' | 'reference' | 'list';
  readonly visibleWithinMs: number;
  /** How late a request that was sent can still take effect; null: nobody says. */
  readonly arrivalLimitMs: number | null;
}

/**
 * What a reply proves about the attempt that it answers.
 *  - `done`: it has happened; `done-before`: by an earlier send under this key.
 *  - `accepted`: it may yet happen, or not.
 *  - `refused`: it has not happened and will not; `not-done`: it has not, and may be sent again.
 *  - `locked-out`: it has not, because our credentials were not accepted.
 *  - `key-conflict`: it has not, because the key was used for something else before.
 *  - `running`: an earlier send under this key is not over.
 *  - `too-late`: it has not, because it came after the time in which the key counts.
 *  - `unknown`: nothing.
 */
export type Proven =
  | 'done'
  | 'done-before'
  | 'accepted'
  | 'refused'
  | 'not-done'
  | 'locked-out'
  | 'key-conflict'
  | 'running'
  | 'too-late'
  | 'unknown';

/** A reply fits when all that is named does. */
export interface ReplyRule {
  readonly status?: StatusMatch | readonly StatusMatch[];
  /** By lower-case name, the value that it has, in any case; `*`: whatever it has. */
  readonly headers?: Readonly<Record<string, string>>;
  /** By path (`error.type`, `errors.0.code`), the value that stands there; `*`: whatever stands there. */
  readonly body?: Readonly<Record<string, string | number | boolean | null>>;
  readonly proves: Proven;
  /** Of a refusal. Left out: what the contract finds at `codeAt`, or `http-` and the status. */
  readonly code?: string;
  /**
   * What it says of a refusal holds for every send under this key, because the provider gives its first answer again;
   * `send`, which is the default: of this one only.
   */
  readonly speaksFor?: 'send' | 'key';
  /**
   * Whether it can be sent again under the same key without asking first what became of it. Left out: as the contract's
   * `sameKey` has it.
   */
  readonly sendAgain?: 'unasked' | 'ask-first';
}

/** A status, or all of a hundred. */
export type StatusMatch = number | '2xx' | '3xx' | '4xx' | '5xx';

/** The key as it goes to the provider. */
export function writtenKey({ encoding }: ContractKey, providerKey: string): string {
  return encoding === 'sf-string' ? `"${providerKey}"` : providerKey;
}
