/**
 * How a process treats one company: how much goes out to it, when it is left alone because it is ill, and how often it is
 * sent to again. A company that an operation names is treated with care also where nothing is said about it.
 */

import { type Duration, lastingMs } from '../domain/duration.ts';
import { definitionInvalid } from '../domain/errors.ts';
import { isObject, refuseUnless, type Subject } from '../define/option-kinds.ts';
import { refuseUnknownOptions } from '../define/option-names.ts';
import type { ProviderAccess } from '../define/provider-access.ts';
import { type Ceiling, ceilingOf, type WorkLimit } from '../define/work-limit.ts';
import type { BreakerPolicy } from './breaker.ts';

/**
 * What goes out to one company from one process.
 *
 * @example
 * const bank: ProviderLimit = { rate: '100/s', breaker: { ends: 50, share: 0.8 }, retryBudget: { retries: 20, per: '10s' } };
 */
export interface ProviderLimit extends WorkLimit {
  /**
   * When most attempts there prove nothing or are not applied, none is begun for a pause; then one tries, and its end
   * decides whether all go on or wait for twice as long. Look-ups go on, a few at a time.
   */
  readonly breaker?: BreakerOptions | 'none';
  /** How often it is sent to again: what is more waits. First attempts do not. Default `{ retries: 100, per: '10s' }`. */
  readonly retryBudget?: RetryBudget | 'none';
}

/** What is left out keeps its default. */
export interface BreakerOptions {
  /** The ends of attempts that count are those of this long. Default `'30s'`. */
  readonly within?: Duration;
  /** It opens when there were at least so many. Default 20. */
  readonly ends?: number;
  /** So large a part of which proved nothing, or was sent and not applied: more than 0, up to 1. Default 0.5. */
  readonly share?: number;
  /** How long nothing is begun. Default `'10s'`. */
  readonly pause?: Duration;
  /** The pause doubles with each attempt that tried in vain, up to this. Default `'5m'`. */
  readonly maxPause?: Duration;
}

/** So many further attempts in any time of this length, whichever operation they are of. It refills by time alone. */
export interface RetryBudget {
  readonly retries: number;
  readonly per: Duration;
}

/** It as it is kept. */
export interface ProviderCare {
  readonly ceiling: Ceiling | null;
  readonly breaker: BreakerPolicy | null;
  readonly retryBudget: Ceiling | null;
}

/** Throws DEFINITION_INVALID for what is no such limit. `option` is where it was given. */
export function providerCareOf(
  given: (ProviderLimit & ProviderAccess) | undefined,
  subject: Subject,
  option: string,
): ProviderCare {
  if (given !== undefined)
    refuseUnless(isObject(given), subject, option, "{ rate: '100/s' }, { breaker } or { retryBudget }");
  refuseUnknownOptions(`${option} of ${subject.called}`, given ?? {}, [
    'concurrency',
    'rate',
    'breaker',
    'retryBudget',
    ...accessNames,
  ]);
  const { breaker, retryBudget, url, credentials, dispatcher, ...limit } = given ?? {};
  const saysMore = [breaker, retryBudget, url, credentials, dispatcher].some((one) => one !== undefined);
  const hasLimit = Object.keys(limit).length > 0 || (given !== undefined && !saysMore);
  return {
    ceiling: hasLimit ? ceilingOf(limit, subject, option) : null,
    breaker: breaker === 'none' ? null : breakerOf(breaker ?? {}, subject, `${option}.breaker`),
    retryBudget:
      retryBudget === 'none'
        ? null
        : budgetOf(retryBudget ?? { retries: 100, per: '10s' }, subject, `${option}.retryBudget`),
  };
}

/** What the sender reads. */
const accessNames = ['url', 'credentials', 'dispatcher'] as const satisfies readonly (keyof ProviderAccess)[];

function breakerOf(given: BreakerOptions, subject: Subject, option: string): BreakerPolicy {
  refuseUnless(isObject(given), subject, option, "{ ends: 20, share: 0.5, pause: '10s' }, or 'none'");
  const called = `${option} of ${subject.called}`;
  refuseUnknownOptions(called, given, ['within', 'ends', 'share', 'pause', 'maxPause']);
  const { within = '30s', ends = 20, share = 0.5, pause = '10s', maxPause = '5m' } = given;
  refuseUnless(isCount(ends), subject, `${option}.ends`, 'a whole number from 1');
  refuseUnless(share > 0 && share <= 1, subject, `${option}.share`, 'a number above 0 and up to 1');
  const policy = {
    withinMs: lastingMs(within, `${option}.within of ${subject.called}`),
    ...{ ends, share },
    pauseMs: lastingMs(pause, `${option}.pause of ${subject.called}`),
    maxPauseMs: lastingMs(maxPause, `${option}.maxPause of ${subject.called}`),
  };
  if (policy.maxPauseMs >= policy.pauseMs) return policy;
  throw definitionInvalid(`${called} has a pause that is longer than maxPause.`, 'Raise maxPause or lower pause.', {
    ...subject.facts,
    option: `${option}.maxPause`,
  });
}

function budgetOf(given: RetryBudget, subject: Subject, option: string): Ceiling {
  refuseUnless(isObject(given), subject, option, "{ retries: 100, per: '10s' }, or 'none'");
  refuseUnknownOptions(`${option} of ${subject.called}`, given, ['retries', 'per']);
  refuseUnless(isCount(given.retries), subject, `${option}.retries`, 'a whole number from 1');
  const everyMs = lastingMs(given.per, `${option}.per of ${subject.called}`);
  return { concurrency: Infinity, pace: { atOnce: given.retries, everyMs } };
}

function isCount(given: unknown): boolean {
  return typeof given === 'number' && Number.isSafeInteger(given) && given >= 1;
}
