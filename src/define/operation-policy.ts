/**
 * From what a definition says about its provider to the policy that every decision reads: durations in milliseconds,
 * defaults filled in, and combinations refused under which a safe decision could never be made. The definition is the
 * authority; a wrong statement about the provider's memory is the one mistake this library cannot catch at run time.
 */

import type { Retry } from '../domain/backoff.ts';
import { type Duration, formatDuration, lastingMs, milliseconds } from '../domain/duration.ts';
import { definitionInvalid } from '../domain/errors.ts';
import type { Policy } from '../domain/policy.ts';
import { refuseOtherWords } from './option-kinds.ts';
import { refuseUnknownOptions } from './option-names.ts';

/** How often an operation is attempted in all, and how far apart. What is left out keeps its default. */
export interface RetryOptions {
  /** Attempts in total, the first one included: 1 to 10. Default 3. */
  readonly attempts?: number;
  /** Default `'exponential'`: each pause is twice the one before. */
  readonly backoff?: 'fixed' | 'exponential';
  /** The first pause. Default `'1s'`. */
  readonly delay?: Duration;
  /** No pause is longer. Default `'30s'`. */
  readonly maxDelay?: Duration;
  /** Default `'full'`: a random part of the pause, so that many operations do not come back together. */
  readonly jitter?: 'full' | 'none';
}

/** When a look-up is asked, and what its answers are worth. */
export interface LookupTimes {
  /** After this long the provider's look-up shows a record that exists. An absence that is seen earlier proves nothing. */
  readonly visibleWithin: Duration;
  /**
   * How late a request that was sent can still take effect, counted from the end of its attempt; an executor that sends
   * after its abort breaks it. An absence that is seen after it is final: without attempts left, or cancelled, the
   * operation has failed. Left out: nobody says, and no absence is final. While the provider knows the key it is enough
   * to send again; where nothing may be sent any more, a person is asked (`absent-not-final`).
   */
  readonly arrivalLimit?: Duration;
  /** Pause before the second look-up (the first is made at once); it doubles, up to an hour. Default `'5s'`. */
  readonly every?: Duration;
  /** After this long without an answer a person is asked. Default `'3d'`. */
  readonly giveUpAfter?: Duration;
}

/** The part of a definition that becomes its policy. */
export interface PolicyOptions {
  readonly keyRetention: Duration | 'none';
  readonly lookup: LookupTimes | 'none';
  readonly timeout?: Duration | undefined;
  readonly sendWithin?: Duration | undefined;
  readonly retry?: RetryOptions | undefined;
}

const ATTEMPTS_MAX = 10;

/**
 * The policy of the operation `action`. Throws DEFINITION_INVALID for a duration or word that is none, for attempts
 * outside 1 to 10, and when an attempt could still be invisible at the moment its key is forgotten.
 */
export function policyOf(action: string, options: PolicyOptions): Policy {
  const lasting = (duration: Duration, option: string) => lastingMs(duration, `${option} of ${action}`);
  const policy: Policy = {
    keyRetentionMs: options.keyRetention === 'none' ? null : lasting(options.keyRetention, 'keyRetention'),
    lookup: options.lookup === 'none' ? null : lookupOf(action, options.lookup),
    timeoutMs: lasting(options.timeout ?? '30s', 'timeout'),
    sendWithinMs: lasting(options.sendWithin ?? '5s', 'sendWithin'),
    retry: retryOf(action, options.retry ?? {}),
    inverse: false,
    contract: null,
  };
  refuseForgottenKey(action, policy);
  return Object.freeze(policy);
}

function lookupOf(action: string, lookup: LookupTimes): Policy['lookup'] {
  refuseUnknownOptions(`lookup of ${action}`, lookup, [
    'visibleWithin',
    'find',
    'arrivalLimit',
    'every',
    'giveUpAfter',
  ]);
  const { arrivalLimit, every = '5s', giveUpAfter = '3d' } = lookup;
  const policy = {
    visibleWithinMs: milliseconds(lookup.visibleWithin, `lookup.visibleWithin of ${action}`),
    arrivalLimitMs: arrivalLimit === undefined ? null : milliseconds(arrivalLimit, `lookup.arrivalLimit of ${action}`),
    everyMs: lastingMs(every, `lookup.every of ${action}`),
    giveUpAfterMs: lastingMs(giveUpAfter, `lookup.giveUpAfter of ${action}`),
  };
  refuseGivingUpEarly(action, policy);
  return Object.freeze(policy);
}

/** A look-up that is given up before an absence could count would never settle what did not happen. */
function refuseGivingUpEarly(action: string, policy: NonNullable<Policy['lookup']>): void {
  const decisiveMs = policy.visibleWithinMs + (policy.arrivalLimitMs ?? 0);
  if (decisiveMs < policy.giveUpAfterMs) return;
  throw definitionInvalid(
    `lookup.giveUpAfter of ${action} (${formatDuration(policy.giveUpAfterMs)}) is not longer than visibleWithin and arrivalLimit together (${formatDuration(decisiveMs)}).`,
    'Raise giveUpAfter: an absence counts only after that time.',
    { option: 'lookup.giveUpAfter' },
  );
}

function retryOf(action: string, retry: RetryOptions): Retry {
  if (typeof retry !== 'object' || retry === null) {
    throw definitionInvalid(`retry of ${action} is not an object.`, 'Write for example retry: { attempts: 5 }.', {
      option: 'retry',
    });
  }
  refuseUnknownOptions(`retry of ${action}`, retry, ['attempts', 'backoff', 'delay', 'maxDelay', 'jitter']);
  const { attempts = 3, backoff = 'exponential', delay = '1s', maxDelay = '30s', jitter = 'full' } = retry;
  if (!Number.isInteger(attempts) || attempts < 1 || attempts > ATTEMPTS_MAX) {
    throw definitionInvalid(
      `retry.attempts of ${action} is ${typeof attempts === 'number' ? attempts : `a value of type ${typeof attempts}`}.`,
      `Write a whole number from 1 to ${ATTEMPTS_MAX}; the first attempt counts.`,
      { option: 'retry.attempts' },
    );
  }
  refuseOtherWords(`retry.backoff of ${action}`, backoff, ['fixed', 'exponential']);
  refuseOtherWords(`retry.jitter of ${action}`, jitter, ['full', 'none']);
  const delayMs = milliseconds(delay, `retry.delay of ${action}`);
  const maxDelayMs = milliseconds(maxDelay, `retry.maxDelay of ${action}`);
  if (delayMs > maxDelayMs) {
    throw definitionInvalid(
      `retry.delay of ${action} (${formatDuration(delayMs)}) is longer than retry.maxDelay (${formatDuration(maxDelayMs)}).`,
      'Raise maxDelay or lower delay.',
      { option: 'retry.delay' },
    );
  }
  return Object.freeze({ attempts, backoff, delayMs, maxDelayMs, jitter });
}

/** Between the latest send and the look-up that can prove its absence the provider must still know the key. */
function refuseForgottenKey(action: string, policy: Policy): void {
  if (policy.keyRetentionMs === null) return;
  const spans: [string, number][] = [
    ['sendWithin', policy.sendWithinMs],
    ['timeout', policy.timeoutMs],
  ];
  if (policy.lookup !== null) spans.push(['lookup.visibleWithin', policy.lookup.visibleWithinMs]);
  const neededMs = spans.reduce((sum, [, ms]) => sum + ms, 0);
  if (neededMs < policy.keyRetentionMs) return;
  const sum = spans.map(([name, ms]) => `${name} (${formatDuration(ms)})`).join(' + ');
  throw definitionInvalid(
    `${action}: ${sum} is ${formatDuration(neededMs)}, which is not below keyRetention (${formatDuration(policy.keyRetentionMs)}).`,
    "The provider would forget the key before a lost reply can be cleared up: shorten them, or write keyRetention: 'none'.",
    { option: 'keyRetention', neededMs, keyRetentionMs: policy.keyRetentionMs },
  );
}
