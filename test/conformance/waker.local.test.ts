import { testClock } from 'sagacity/testing';
import { describe, expect, test } from 'vitest';
import { localWaker } from '../../src/adapters/local/waker.ts';
import type { Wake } from '../../src/ports/waker.ts';

const wake = (operationId: string, generation = 1): Wake => ({ tenant: 'shop', operationId, generation });

async function started() {
  const clock = testClock();
  const waker = localWaker(clock);
  const woken: Wake[] = [];
  await waker.start(
    async (each) => void woken.push(each),
    () => {},
  );
  return { clock, waker, woken };
}

describe('the in-process waker', () => {
  test('wakes when the delay is over and not before, also beyond what a timer of Node can hold', async () => {
    const { clock, waker, woken } = await started();
    const delayMs = 2 ** 31 + 5_000;

    waker.wake(wake('op-1'), delayMs);
    await clock.advance(delayMs - 1);
    const early = woken.length;
    await clock.advance(1);

    expect(early).toBe(0);
    expect(woken).toEqual([wake('op-1')]);
  });

  test('wakes at once what is due at once, after the caller has gone on', async () => {
    const { waker, woken } = await started();

    waker.wake(wake('op-1'), 0);
    const meanwhile = woken.length;
    await Promise.resolve();

    expect(meanwhile).toBe(0);
    expect(woken).toEqual([wake('op-1')]);
  });

  test('keeps one wake an operation and tenant: the latest request counts', async () => {
    const { clock, waker, woken } = await started();

    waker.wake(wake('op-1', 1), 1_000);
    waker.wake(wake('op-1', 2), 5_000);
    waker.wake({ ...wake('op-1'), tenant: 'other' }, 2_000);
    await clock.advance('10s');

    expect(woken).toEqual([{ ...wake('op-1'), tenant: 'other' }, wake('op-1', 2)]);
    expect(clock.pending()).toBe(0);
  });

  test('forgets everything when it stops, and takes nothing while it is not started', async () => {
    const { clock, waker, woken } = await started();
    waker.wake(wake('op-1'), 1_000);
    waker.wake(wake('op-2'), 0);

    await waker.stop();
    waker.wake(wake('op-3'), 0);
    await clock.advance('1h');

    expect(woken).toEqual([]);
    expect(clock.pending()).toBe(0);
  });
});
