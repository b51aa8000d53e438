import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { backoffMs, type Retry } from '../../src/domain/backoff.ts';
import './seed.ts';

const exponential: Retry = { attempts: 10, backoff: 'exponential', delayMs: 1000, maxDelayMs: 30_000, jitter: 'none' };

describe('a delay without jitter', () => {
  test('doubles from the first up to the maximum', () => {
    const attempts = [1, 2, 3, 4, 5, 6, 7, 2000];

    const delays = attempts.map((attempt) => backoffMs(exponential, attempt, 0.5));

    expect(delays).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
  });

  test('stays the same when the backoff is fixed', () => {
    const fixed: Retry = { ...exponential, backoff: 'fixed' };

    const delays = [1, 2, 9].map((attempt) => backoffMs(fixed, attempt, 0.5));

    expect(delays).toEqual([1000, 1000, 1000]);
  });

  test('never exceeds the maximum, also when it is fixed', () => {
    const impatient: Retry = { ...exponential, backoff: 'fixed', maxDelayMs: 300 };

    const delay = backoffMs(impatient, 1, 0);

    expect(delay).toBe(300);
  });

  test('of nothing remains nothing, however many attempts there were', () => {
    const immediate: Retry = { ...exponential, delayMs: 0 };

    const delay = backoffMs(immediate, 5000, 0.9);

    expect(delay).toBe(0);
  });
});

describe('a delay after which the provider asked for a longer one', () => {
  test('is the longer of the two', () => {
    const delays = [500, 90_000].map((retryAfterMs) => backoffMs(exponential, 1, 0, { retryAfterMs }));

    expect(delays).toEqual([1000, 90_000]);
  });

  test('is spread from there on, not up to there', () => {
    const jittered: Retry = { ...exponential, jitter: 'full' };

    const delays = [0, 0.5, 0.9999].map((random) => backoffMs(jittered, 1, random, { retryAfterMs: 90_000 }));

    expect(delays).toEqual([90_000, 90_500, 91_000]);
  });

  test('is the longest that is planned where nothing changes soon, or what was asked for if that is longer', () => {
    const asked = [{ longestPause: true }, { longestPause: true, retryAfterMs: 90_000 }] as const;

    const delays = asked.map((pause) => backoffMs(exponential, 1, 0, pause));

    expect(delays).toEqual([30_000, 90_000]);
  });
});

describe('a delay with full jitter', () => {
  const jittered: Retry = { ...exponential, jitter: 'full' };

  test('is the random part of the planned delay, in whole milliseconds', () => {
    const delays = [0, 0.25, 0.3333, 0.9999].map((random) => backoffMs(jittered, 3, random));

    expect(delays).toEqual([0, 1000, 1333, 4000]);
  });

  test('is a whole number between nothing and the planned delay', () => {
    const attempts = fc.integer({ min: 1, max: 10_000 });
    const randoms = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

    fc.assert(
      fc.property(attempts, randoms, (attempt, random) => {
        const delay = backoffMs(jittered, attempt, random);

        expect(Number.isInteger(delay)).toBe(true);
        expect(delay).toBeGreaterThanOrEqual(0);
        expect(delay).toBeLessThanOrEqual(backoffMs(exponential, attempt, random));
      }),
    );
  });
});
