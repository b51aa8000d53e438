/**
 * The answers to "what now?" for one operation: may it be sent again, must it be looked up, can it only be handed to
 * a person? Pure functions of the history, the policy and the facts of the moment; the chart asks them as guards.
 * The rule behind all of them: what is not proven is never repeated on a guess.
 */

import { type History, proofOf } from './attempt.ts';
import { backoffMs, type Retry } from './backoff.ts';
import type { Contract } from './contract.ts';
import type { EscalationReason } from './operation-state.ts';

/** What a definition said about its provider, in milliseconds; pinned into the operation when it is submitted. */
export interface Policy {
  /** What the provider's replies prove and where its key goes; null: the definition has said all there is to know. */
  readonly contract: Contract | null;
  /** How long the provider knows a key, from the start that it first saw it in; null: it does not. */
  readonly keyRetentionMs: number | null;
  readonly lookup: LookupPolicy | null;
  /** One attempt, from its start. */
  readonly timeoutMs: number;
  /** An attempt must leave within this long of its recorded start. */
  readonly sendWithinMs: number;
  readonly retry: Retry;
  /** The operation undoes another one: it never gives up by itself, it escalates. */
  readonly inverse: boolean;
}

export interface LookupPolicy {
  /** After this long a record that exists is visible to the look-up. */
  readonly visibleWithinMs: number;
  /** How late a request that was sent can still take effect; null: nobody says, and no absence is final. */
  readonly arrivalLimitMs: number | null;
  /** Pause before the second look-up; doubles from there up to {@link LOOKUP_PAUSE_MAX_MS}. */
  readonly everyMs: number;
  /** Looked up for this long after the last send, then handed to a person. */
  readonly giveUpAfterMs: number;
}

/** What only the store and the process know at the moment of deciding. Times by the store's clock. */
export interface Facts {
  readonly now: number;
  /** Until when the last started attempt was allowed to leave; null: none was started. */
  readonly sendBy: number | null;
  /** When it was created, once it is: what was sent without a recorded start, before a fail-over, left before that. */
  readonly createdAt?: number;
  /** Until when another attempt may start under the same key; null: none was started, or no key is retained. */
  readonly windowEndsAt: number | null;
  /** The timeline on which a start of this operation may be missing, since a fail-over; null: none can be. */
  readonly lostStartOn: string | null;
  /** In [0, 1): spreads delays so that many operations do not come back together. */
  readonly random: number;
}

/** Sends refused in a row because their time had passed, after which a person is asked. */
export const REFUSED_SENDS_MAX = 10;

/** Look-ups back off to this pause and no further. */
export const LOOKUP_PAUSE_MAX_MS = 3_600_000;

/** Attempts that count: started, and not proven never to have left this process. */
export function attemptsLeft(history: History, policy: Policy): boolean {
  const counted = history.attempts.filter((attempt) => attempt.standing !== 'not-sent').length;
  return counted < policy.retry.attempts + history.grants;
}

/**
 * How long after its start a request can still take effect, as far as anybody says. What is left of the provider's memory
 * of the key has to be longer when something is sent again under it, or else that could do it once more.
 */
export function marginMs(policy: Policy): number {
  return policy.sendWithinMs + policy.timeoutMs + arrivalLimitMs(policy);
}

/** A contract says how late a request can arrive also where nobody is asked. */
export function arrivalLimitMs({ contract, lookup }: Pick<Policy, 'contract' | 'lookup'>): number {
  return (contract?.lookup ?? lookup)?.arrivalLimitMs ?? 0;
}

/** The proof of all attempts together under this policy. */
export function proof(history: History, policy: Policy): ReturnType<typeof proofOf> {
  return proofOf(history, policy.keyRetentionMs !== null);
}

/** A fail-over may have lost a start of it, and that has not been reckoned with on this timeline yet. */
export function startMayBeLost(history: History, { lostStartOn }: Facts): boolean {
  return lostStartOn !== null && history.attempts.every(({ assumedOn }) => assumedOn !== lostStartOn);
}

/**
 * The code with which the operation has failed for certain, or null. A start that may be missing is one more attempt
 * without proof: neither an absence nor a refusal, which speaks for its own attempt only, settles anything before.
 */
export function failureOf(history: History, policy: Policy, facts: Facts): string | null {
  if (startMayBeLost(history, facts) || mayStillArrive(history)) return null;
  const proven = proof(history, policy);
  if (proven.type === 'refused') return proven.code;
  if (proven.type !== 'without-effect') return null;
  if (history.cancelled) return 'cancelled';
  return attemptsLeft(history, policy) ? null : 'attempts-exhausted';
}

/**
 * An absence was seen while the request could still arrive, up to a limit that the definition names, or at any time:
 * enough to send again under the same key, and not enough to say that nothing happened.
 */
function mayStillArrive({ attempts }: History): boolean {
  return attempts.some(({ standing }) => standing === 'absent');
}

/** An earlier attempt could still take effect, so that another send is safe only under a key the provider knows. */
export function isResubmission(history: History): boolean {
  return history.attempts.some(({ standing }) => standing === 'unproven' || standing === 'absent');
}

/** May the next attempt start, as far as the provider's memory of the key is concerned? */
export function windowAllows(history: History, policy: Policy, facts: Facts): boolean {
  return !isResubmission(history) || keyCounts(policy, facts);
}

/** May the next attempt start now that it is due? Late evidence may have used up the attempts since it was planned. */
export function mayStart(history: History, policy: Policy, facts: Facts): boolean {
  if (history.cancelled) return false;
  if (!isResubmission(history)) return true;
  return attemptsLeft(history, policy) && windowAllows(history, policy, facts) && !mustAskFirst(history);
}

function isWindowOpen(facts: Facts): boolean {
  return facts.windowEndsAt === null || facts.now < facts.windowEndsAt;
}

/** The provider knows the key, so that what it says of that now holds for all that was sent under it. */
export function keyCounts(policy: Policy, facts: Facts): boolean {
  return policy.keyRetentionMs !== null && isWindowOpen(facts);
}

/** The pause before the next attempt is over before the provider forgets the key, if that matters. */
function pauseFits(history: History, policy: Policy, facts: Facts): boolean {
  return (
    !isResubmission(history) || isWindowOpen({ ...facts, now: facts.now + attemptPauseMs(history, policy, facts) })
  );
}

/** After an attempt that was not applied: wait and start another? An unproven earlier one is checked when it is due. */
export function mayTryAgain(history: History, policy: Policy, facts: Facts): boolean {
  const last = history.attempts.at(-1);
  const repeatable = last?.standing === 'without-effect' || last?.standing === 'not-sent';
  return repeatable && !hasEffect(history, policy) && isToGoOn(history, policy) && pauseFits(history, policy, facts);
}

/** Every attempt is proven without effect and another is allowed. */
export function mayStartAfresh(history: History, policy: Policy, facts: Facts): boolean {
  const isProven = proof(history, policy).type === 'without-effect';
  return isProven && isToGoOn(history, policy) && pauseFits(history, policy, facts);
}

function isToGoOn(history: History, policy: Policy): boolean {
  return !history.cancelled && attemptsLeft(history, policy);
}

/** Another send under the key could do it again, or would teach nothing, before it is known what became of this one. */
function mustAskFirst({ attempts }: History): boolean {
  return attempts.some(({ standing, askFirst }) => standing === 'unproven' && askFirst === true);
}

/** Nobody can be asked, but the contract makes the same key safe: send again under it? */
export function mayResubmitUnasked(history: History, policy: Policy, facts: Facts): boolean {
  return (
    policy.lookup === null &&
    keyCounts(policy, facts) &&
    !hasEffect(history, policy) &&
    !mustAskFirst(history) &&
    isToGoOn(history, policy) &&
    pauseFits(history, policy, facts)
  );
}

/** An effect is proven, or several are. */
export function hasEffect(history: History, policy: Policy): boolean {
  const { type } = proof(history, policy);
  return type === 'effect' || type === 'two-effects';
}

/** Why an operation that can neither be looked up nor sent again waits for a person. */
export function reasonWithoutLookup(history: History, policy: Policy, facts: Facts): EscalationReason {
  if (hasEffect(history, policy)) return 'output-unusable';
  if (isOutOfTime(history, policy, facts)) return 'window-passed';
  const isAssumed = history.attempts.some(
    ({ standing, assumedOn }) => standing === 'unproven' && assumedOn !== undefined,
  );
  return isAssumed ? 'timeline-changed' : 'no-lookup';
}

/** The provider will have forgotten the key before another attempt, which is left, can start. */
function isOutOfTime(history: History, policy: Policy, facts: Facts): boolean {
  if (policy.keyRetentionMs === null) return false;
  const isPlanned = isToGoOn(history, policy) && !mustAskFirst(history);
  return !isWindowOpen(facts) || (isPlanned && !pauseFits(history, policy, facts));
}

/** How much it proves that a look-up which began at `beganAt` found nothing. */
export function absenceCounts(policy: Policy, facts: Facts, beganAt: number): 'not-yet' | 'inside-window' | 'finally' {
  const { lookup } = policy;
  if (lookup === null) return 'not-yet';
  if (lookup.arrivalLimitMs !== null && beganAt >= visibleFrom(policy, lookup, facts) + lookup.arrivalLimitMs)
    return 'finally';
  const counts = beganAt >= visibleFrom(policy, lookup, facts) && keyCounts(policy, facts);
  return counts ? 'inside-window' : 'not-yet';
}

/** From here on a record of anything sent so far would be visible, unless it is still on its way. */
function visibleFrom(policy: Policy, lookup: LookupPolicy, facts: Facts): number {
  return facts.sendBy === null ? facts.now : facts.sendBy + policy.timeoutMs + lookup.visibleWithinMs;
}

/**
 * Why looking up further is pointless after a look-up that settled nothing, or null to go on. `answer` is what it
 * said and when it began.
 */
export function lookupGivesUp(
  history: History,
  policy: Policy,
  facts: Facts,
  answer: { readonly type: string; readonly beganAt: number },
): EscalationReason | null {
  const { lookup } = policy;
  if (lookup === null) return 'no-lookup';
  if (answer.type === 'found-unusably') return 'output-unusable';
  if (answer.type === 'absent') {
    if (hasEffect(history, policy)) return 'output-unusable';
    const final = lookup.arrivalLimitMs !== null;
    if (!final && answer.beganAt >= visibleFrom(policy, lookup, facts)) {
      return isOutOfTime(history, policy, facts) ? 'window-passed' : 'absent-not-final';
    }
  }
  const lastLeftBy = facts.sendBy ?? facts.createdAt ?? facts.now;
  const givesUpAt = lastLeftBy + policy.timeoutMs + lookup.giveUpAfterMs;
  return facts.now >= givesUpAt ? 'lookup-exhausted' : null;
}

/** Pause before the next look-up: doubling, spread, and no longer than until an absence would count. */
export function lookupPauseMs(history: History, policy: Policy, facts: Facts): number {
  const { lookup } = policy;
  if (lookup === null || history.lookups === 0) return 0;
  const pause = Math.min(lookup.everyMs * 2 ** Math.min(history.lookups - 1, 30), LOOKUP_PAUSE_MAX_MS);
  const spread = Math.ceil(pause * (1 + facts.random) * 0.5);
  const decisive = [
    visibleFrom(policy, lookup, facts),
    visibleFrom(policy, lookup, facts) + (lookup.arrivalLimitMs ?? 0),
  ]
    .map((at) => at - facts.now)
    .filter((ms) => ms > 0);
  return Math.min(spread, ...decisive);
}

/** Pause before the next attempt, at least as long as the last one asked for; none before the first. */
export function attemptPauseMs(history: History, policy: Policy, facts: Facts): number {
  const last = history.attempts.at(-1);
  return last === undefined ? 0 : backoffMs(policy.retry, history.attempts.length, facts.random, last);
}
