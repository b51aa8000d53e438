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

/**
 * Whole milliseconds to wait after attempt `attempt` (counted from 1) before the next one. Exponential backoff
 * doubles from `delayMs`; no delay exceeds `maxDelayMs`. `random` is a number in [0, 1) and counts only with jitter.
 */
export function backoffMs(retry: Retry, attempt: number, random: number): number {
  const planned = Math.min(grown(retry, attempt), retry.maxDelayMs);
  return Math.round(retry.jitter === 'full' ? random * planned : planned);
}

function grown(retry: Retry, attempt: number): number {
  // Beyond 2^1000 the factor becomes Infinity, and Infinity times a delay of 0 is not a number.
  const doublings = retry.backoff === 'exponential' ? Math.min(attempt - 1, 1000) : 0;
  return retry.delayMs * 2 ** doublings;
}
