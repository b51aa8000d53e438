/**
 * How long to wait between attempts. A pure function of the policy, the attempt and one random number, so that the
 * same history always plans the same delay; full jitter keeps many processes from returning all at once.
 */

/** How often an operation is attempted, and how far apart. `attempts` is the total, the first one included. */
export interface Retry {
  readonly attempts: number;
  readonly backoff: 'fixed' | 'exponential';
  readonly delayMs: number;
  readonly maxDelayMs: number;
  readonly jitter: 'full' | 'none';
}

/** What an attempt has asked for beside what is planned: by its provider, or because nothing changes soon. */
export interface PauseAsked {
  readonly retryAfterMs?: number;
  readonly longestPause?: true;
}

/**
 * Whole milliseconds to wait after attempt `attempt` (counted from 1) before the next one. Exponential backoff
 * doubles from `delayMs`; what is planned never exceeds `maxDelayMs`. `random` is a number in [0, 1) and counts only with
 * jitter. Nobody comes back sooner than was asked: the random part is added to that, so that those who were asked for the
 * same pause do not come back together.
 */
export function backoffMs(retry: Retry, attempt: number, random: number, asked: PauseAsked = {}): number {
  const planned = Math.min(grown(retry, attempt), retry.maxDelayMs);
  const atLeast = Math.max(asked.retryAfterMs ?? 0, asked.longestPause === true ? retry.maxDelayMs : 0);
  return retry.jitter === 'full' ? atLeast + Math.round(random * planned) : Math.max(atLeast, planned);
}

function grown(retry: Retry, attempt: number): number {
  // Beyond 2^1000 the factor becomes Infinity, and Infinity times a delay of 0 is not a number.
  const doublings = retry.backoff === 'exponential' ? Math.min(attempt - 1, 1000) : 0;
  return retry.delayMs * 2 ** doublings;
}
