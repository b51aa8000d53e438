/** The in-process waker keeps the promises of the port, on a clock that stands still, and leaves no timer behind. */

import { testClock, type Wake, wakerSuite } from 'sagacity/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { localWaker } from '../../src/adapters/local/waker.ts';

wakerSuite(
  {
    ...{ name: 'in-process', reachesOthers: false },
    async make() {
      const clock = testClock();
      return {
        make: async () => localWaker(clock),
        passes: (ms) => clock.advance(ms),
        now: () => clock.monotonic(),
        dispose: async () => {},
      };
    },
  },
  { afterAll, beforeAll, describe, expect, test },
);

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

describe('a timer of the in-process waker', () => {
  test('may be longer than what a timer of Node can hold', async () => {
    const { clock, waker, woken } = await started();
    const delayMs = 2 ** 31 + 5_000;

    waker.wake(wake('op-1'), delayMs);
    await clock.advance(delayMs - 1);
    const early = woken.length;
    await clock.advance(1);

    expect(early).toBe(0);
    expect(woken).toEqual([wake('op-1')]);
  });

  test('leaves nothing behind when it is replaced or forgotten', async () => {
    const { clock, waker } = await started();
    waker.wake(wake('op-1', 1), 1_000);
    waker.wake(wake('op-1', 2), 5_000);
    const armed = clock.pending();

    await waker.stop();

    expect([armed, clock.pending()]).toEqual([1, 0]);
  });
});
