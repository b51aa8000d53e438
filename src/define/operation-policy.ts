/**
 * From what a definition says about its provider to the policy that every decision reads: durations in milliseconds,
 * defaults filled in, and combinations refused under which a safe decision could never be made. The definition is the
 * authority; a wrong statement about the provider's memory is the one mistake this library cannot catch at run time.
 */

import type { Retry } from '../domain/backoff.ts';
import type { Contract } from '../domain/contract.ts';
import { type Duration, formatDuration, lastingMs, milliseconds } from '../domain/duration.ts';
import { definitionInvalid } from '../domain/errors.ts';
import { arrivalLimitMs, type Policy } from '../domain/policy.ts';
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

/** When a look-up is asked, and for how long. */
export interface AskingTimes {
  /** Pause before the second look-up (the first is made at once); it doubles, up to an hour. Default `'5s'`. */
  readonly every?: Duration;
  /** After this long without an answer a person is asked. Default `'3d'`. */
  readonly giveUpAfter?: Duration;
}

/** When a look-up is asked, and what its answers are worth. */
export interface LookupTimes extends AskingTimes {
  /** After this long the provider's look-up shows a record that exists. An absence that is seen earlier proves nothing. */
  readonly visibleWithin: Duration;
  /**
   * How late a request that was sent can still take effect, counted from the end of its attempt; an executor that sends
   * after its abort breaks it. An absence that is seen after it is final: without attempts left, or cancelled, the
   * operation has failed. Left out: nobody says, and no absence is final. While the provider knows the key it is enough
   * to send again; where nothing may be sent any more, a person is asked (`absent-not-final`). The longer this is, the
   * earlier sending again under the key stops: what is sent must arrive, however late, while the provider knows it. Where
   * that leaves no time it is sent again once its absence is final.
   */
  readonly arrivalLimit?: Duration;
}

/** The part of a definition that becomes its policy; what it says of its provider is complete, or in the contract. */
export interface PolicyOptions {
  readonly contract?: Contract;
  readonly keyRetention?: Duration | 'none';
  readonly lookup?: LookupTimes | AskingTimes | 'none';
  readonly timeout?: Duration | undefined;
  readonly sendWithin?: Duration | undefined;
  readonly retry?: RetryOptions | undefined;
}

const ATTEMPTS_MAX = 10;

/**
 * The policy of the operation `action`. Throws DEFINITION_INVALID for a duration or word that is none, for attempts
 * outside 1 to 10, and when an attempt could still be invisible at the moment its key is forgotten; with a contract also
 * when the last of its attempts could be, or could arrive after that where nobody is asked, and when nothing that the
 * contract offers is used to settle a lost reply.
 */
export function policyOf(action: string, options: PolicyOptions): Policy {
  const lasting = (duration: Duration, option: string) => lastingMs(duration, `${option} of ${action}`);
  const { contract = null, keyRetention = 'none', lookup = 'none' } = options;
  const stated = keyRetention === 'none' ? null : lasting(keyRetention, 'keyRetention');
  const policy: Policy = {
    contract,
    keyRetentionMs: contract === null ? stated : contract.keyRetentionMs,
    lookup: lookup === 'none' ? null : lookupOf(action, timesOf(action, lookup, contract), lookup),
    timeoutMs: lasting(options.timeout ?? '30s', 'timeout'),
    sendWithinMs: lasting(options.sendWithin ?? '5s', 'sendWithin'),
    retry: retryOf(action, options.retry ?? {}),
    inverse: false,
  };
  if (contract !== null) refuseUnprovable(action, policy, contract);
  refuseForgottenKey(action, policy);
  return Object.freeze(policy);
}

type Worth = Pick<NonNullable<Policy['lookup']>, 'visibleWithinMs' | 'arrivalLimitMs'>;

/** What a look-up's answers are worth: as the contract has it, or as the definition says itself. */
function timesOf(action: string, lookup: LookupTimes | AskingTimes, contract: Contract | null): Worth {
  if (contract === null) {
    refuseUnknownOptions(`lookup of ${action}`, lookup, [
      'visibleWithin',
      'find',
      'arrivalLimit',
      'every',
      'giveUpAfter',
    ]);
    // Without a contract a definition says it itself.
    const { visibleWithin, arrivalLimit } = lookup as LookupTimes;
    return {
      visibleWithinMs: milliseconds(visibleWithin, `lookup.visibleWithin of ${action}`),
      arrivalLimitMs:
        arrivalLimit === undefined ? null : milliseconds(arrivalLimit, `lookup.arrivalLimit of ${action}`),
    };
  }
  const said = ['visibleWithin', 'arrivalLimit'].find((option) => Object.hasOwn(lookup, option));
  if (said !== undefined) throw saidTwice(action, `lookup.${said}`, contract);
  refuseUnknownOptions(`lookup of ${action}`, lookup, ['find', 'every', 'giveUpAfter']);
  if (contract.lookup !== null) return contract.lookup;
  throw definitionInvalid(
    `${action} has a look-up, and its contract ${contract.name} says that nobody can be asked.`,
    "Describe the look-up in the contract (lookup: { by, visibleWithin }), or write lookup: 'none'.",
    { action, option: 'lookup', contract: contract.name },
  );
}

/** What the contract says is not said beside it: of two statements one would be wrong in silence. */
export function saidTwice(action: string, option: string, { name }: Contract): Error {
  return definitionInvalid(
    `${action} says ${option}, and so does its contract ${name}.`,
    `Leave ${option} out: with a contract, that decides.`,
    { action, option, contract: name },
  );
}

/**
 * A reply that is lost is settled by a look-up or by another send under the same key. Where there is neither, the contract
 * has to say so: that it could be asked, and is not, is a mistake.
 */
function refuseUnprovable(action: string, { lookup }: Policy, contract: Contract): void {
  if (lookup !== null || contract.lookup === null || contract.key !== null) return;
  throw definitionInvalid(
    `${action} has no look-up, and its contract ${contract.name} no key: nothing would settle a lost reply.`,
    `Add lookup: { find }: the provider can be asked by ${contract.lookup.by}.`,
    { action, option: 'lookup', contract: contract.name },
  );
}

function lookupOf(
  action: string,
  { visibleWithinMs, arrivalLimitMs }: Worth,
  { every = '5s', giveUpAfter = '3d' }: AskingTimes,
): Policy['lookup'] {
  const policy = {
    visibleWithinMs,
    arrivalLimitMs,
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

/**
 * Between the latest send and the look-up that can prove its absence the provider must still know the key. A definition
 * that states the retention itself answers for its first attempt; with a contract, all of them must fit, each after the
 * longest pause. Where nobody is asked, the last of them must have arrived by then, however late.
 */
function refuseForgottenKey(action: string, policy: Policy): void {
  if (policy.keyRetentionMs === null) return;
  const spans: [string, number][] = [
    ['sendWithin', policy.sendWithinMs],
    ['timeout', policy.timeoutMs],
  ];
  const further = policy.retry.attempts - 1;
  if (policy.contract !== null && further > 0) {
    const each = policy.retry.maxDelayMs + policy.timeoutMs;
    spans.push([`${further} times retry.maxDelay and timeout`, further * each]);
  }
  if (policy.lookup !== null) spans.push(['lookup.visibleWithin', policy.lookup.visibleWithinMs]);
  else if (arrivalLimitMs(policy) > 0) spans.push(['arrivalLimit of the contract', arrivalLimitMs(policy)]);
  const neededMs = spans.reduce((sum, [, ms]) => sum + ms, 0);
  if (neededMs < policy.keyRetentionMs) return;
  const sum = spans.map(([name, ms]) => `${name} (${formatDuration(ms)})`).join(' + ');
  const { contract } = policy;
  const whose = contract === null ? '' : ` of the contract ${contract.name}`;
  const instead = contract === null ? "or write keyRetention: 'none'" : 'or lower retry.attempts';
  throw definitionInvalid(
    `${action}: ${sum} is ${formatDuration(neededMs)}, which is not below keyRetention${whose} (${formatDuration(policy.keyRetentionMs)}).`,
    `The provider would forget the key before a lost reply can be cleared up: shorten them, ${instead}.`,
    { option: 'keyRetention', neededMs, keyRetentionMs: policy.keyRetentionMs },
  );
}
