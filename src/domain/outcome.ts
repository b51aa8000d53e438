/**
 * What one attempt proved, and what a look-up found. Outcomes are values that executors return; whatever an executor
 * throws is `unknown`, because an exception proves nothing about the other company's books.
 */

/** The effect is proven to have happened. `reference` is the provider's own name for the record. */
export interface Succeeded<Output> {
  readonly type: 'succeeded';
  readonly output: Output;
  readonly reference?: string;
}

/** The provider refused for good: nothing happened and nothing will. `code` is the refusal in the caller's words. */
export interface Failed<Code extends string> {
  readonly type: 'failed';
  readonly code: Code;
  /** The provider gives this answer to every send under the key: what it says of this one it says of all of them. */
  readonly speaksFor?: 'key';
}

/** Proven not to have happened, and worth another attempt. `sent: false` when it never left this process. */
export interface NotApplied {
  readonly type: 'not-applied';
  readonly reason: string;
  readonly sent?: false;
  /** The provider asks for at least this pause before the next attempt. */
  readonly retryAfterMs?: number;
  /** Nothing changes by itself soon: the next attempt is made after the longest pause that the definition allows. */
  readonly longestPause?: true;
}

/** Nobody knows: it may have happened. It is looked up or handed to a person, never assumed. */
export interface Unknown {
  readonly type: 'unknown';
  readonly reason: string;
  /** Another send under the same key could do it a second time, or would teach nothing: a look-up comes first. */
  readonly sendAgain?: 'ask-first';
  /** The provider asks for at least this pause before it is sent again. */
  readonly retryAfterMs?: number;
}

export type Outcome<Output = unknown, Code extends string = string> =
  | Succeeded<Output>
  | Failed<Code>
  | NotApplied
  | Unknown;

/** An outcome that settles: what a provider's record can show, and what a person can state. */
export type Settling<Output = unknown, Code extends string = string> = Succeeded<Output> | Failed<Code>;

/** What a look-up found at the provider. */
export type Finding<Output = unknown, Code extends string = string> =
  | { readonly type: 'found'; readonly records: readonly [Settling<Output, Code>, ...Settling<Output, Code>[]] }
  | { readonly type: 'absent' }
  | { readonly type: 'inconclusive'; readonly reason: string };

/**
 * The effect happened. Return it from `execute` once the provider has confirmed; give its record id as `reference`
 * so that two answers can be told to speak of one effect.
 *
 * @example
 * return succeeded({ chargeId: charge.id }, { reference: charge.id });
 */
export function succeeded<Output>(output: Output, options: { reference?: string } = {}): Succeeded<Output> {
  return options.reference === undefined
    ? { type: 'succeeded', output }
    : { type: 'succeeded', output, reference: options.reference };
}

/**
 * The provider refused for good and nothing happened. The code reaches `result()` as written here. A refusal speaks of one
 * request: while another one may be on its way, the operation has not failed. Say `speaksFor: 'key'` only where the
 * provider gives the same answer to whatever else was sent under the key.
 *
 * @example
 * return failed('card_declined', { speaksFor: 'key' });
 */
export function failed<const Code extends string>(code: Code, options: { speaksFor?: 'key' } = {}): Failed<Code> {
  const { speaksFor } = options;
  return speaksFor === undefined ? { type: 'failed', code } : { type: 'failed', code, speaksFor };
}

/** Proven not to have happened (refused connection, 429 under a contract that says so): it may be tried again. */
export function notApplied(reason: string): NotApplied {
  return { type: 'not-applied', reason };
}

/** Nobody can tell whether it happened. The library finds out; it does not try again on a guess. */
export function unknown(reason: string): Unknown {
  return { type: 'unknown', reason };
}

/**
 * The look-up found the provider's record; more than one record means more than one effect. A record that was refused
 * settles an operation of several attempts once nothing sent can arrive any more, or where it speaks for the key.
 */
export function found<Output = never, Code extends string = never>(
  record: Settling<Output, Code>,
  ...more: Settling<Output, Code>[]
): Finding<Output, Code> {
  return { type: 'found', records: [record, ...more] };
}

/** The provider answered that it has no such record. Whether that counts as proof is the policy's decision. */
export function absent(): Finding<never, never> {
  return { type: 'absent' };
}

/** The look-up could not tell: it failed, or the record is still being processed. It will be asked again. */
export function inconclusive(reason = 'the look-up could not tell'): Finding<never, never> {
  return { type: 'inconclusive', reason };
}

/** Tells whether what an executor returned, or a hand-over holds, has the shape of an outcome. */
export function isOutcome(said: unknown): said is Outcome {
  if (typeof said !== 'object' || said === null || !('type' in said)) return false;
  switch (said.type) {
    case 'succeeded':
      return 'output' in said;
    case 'failed':
      return 'code' in said && typeof said.code === 'string';
    case 'not-applied':
    case 'unknown':
      return 'reason' in said && typeof said.reason === 'string';
    default:
      return false;
  }
}
