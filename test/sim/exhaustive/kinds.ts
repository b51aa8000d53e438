/**
 * The kinds of provider that are searched, and the times they are searched with. The definitions of `operation()` are
 * the authority for what a policy may say; every policy here would pass there. All times are multiples of one tick, so
 * that few instants matter and every order of them that the constants allow is reached by letting ticks pass.
 */

import type { Policy } from '../../../src/domain/policy.ts';

/**
 * One step of time. Short enough that one tick of waiting keeps an operation in its worker's hands, long enough that
 * two ticks give it back (a worker holds what is due within ten seconds).
 */
export const TICK = 6_000;

/** Workers that are heard renew twice a tick. */
export const HEARTBEAT = { everyMs: TICK / 2, timeoutMs: TICK } as const;

const lookup = { visibleWithinMs: TICK, arrivalLimitMs: null, everyMs: 4 * TICK, giveUpAfterMs: 2 * TICK } as const;

const policy: Policy = {
  contract: null,
  keyRetentionMs: null,
  lookup: null,
  timeoutMs: TICK,
  sendWithinMs: TICK,
  retry: { attempts: 2, backoff: 'fixed', delayMs: TICK, maxDelayMs: TICK, jitter: 'none' },
  inverse: false,
};

const limited = { ...lookup, arrivalLimitMs: TICK, giveUpAfterMs: 3 * TICK };
/** So late that a request can arrive when another one, sent after it under the same key, is forgotten. */
const late = { ...lookup, arrivalLimitMs: 4 * TICK, giveUpAfterMs: 6 * TICK };
const atOnce = { ...policy.retry, delayMs: 0, maxDelayMs: 0 };
/** As short as it can be if an absence is to count early enough for another attempt. */
const retained = { keyRetentionMs: 6 * TICK, retry: atOnce };

/** What each kind of provider knows and can be asked. */
export const KINDS = {
  'key and look-up': { ...policy, ...retained, lookup },
  'key and look-up with a limit': { ...policy, ...retained, keyRetentionMs: 7 * TICK, lookup: limited },
  'key and a longer limit': { ...policy, ...retained, lookup: late },
  'key that a refusal releases': { ...policy, ...retained, keyRetentionMs: 7 * TICK, lookup: limited },
  'key only': { ...policy, keyRetentionMs: 5 * TICK },
  'look-up only': { ...policy, lookup },
  'look-up only with a limit': { ...policy, lookup: limited },
  neither: policy,
} as const satisfies Record<string, Policy>;

/** It shows what it has refused, and decides the next request under the key anew. */
export function releasesRefused(given: Policy): boolean {
  return given === KINDS['key that a refusal releases'];
}

export type Kind = keyof typeof KINDS;

export const kinds = Object.keys(KINDS) as readonly Kind[];
