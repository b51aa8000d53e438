/** Both clocks keep the promises of their port: the test's moves on command, the system's waits as long as asked. */

import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/adapters/local/clock.ts';
import { testClock } from '../../src/testing/clock.ts';

describe('a clock that a test moves', () => {
  test('fires what falls due on the way, in the order of the due times', async () => {
    const clock = testClock(1_000);
    const fired: [string, number][] = [];
    const note = (name: string) => (): void => void fired.push([name, clock.now()]);
    clock.after(2_000, note('b'));
    clock.after(1_000, note('a'));
    clock.after(2_000, note('c'));
    clock.after(5_000, note('later'));
    clock.after(1_500, note('cancelled'))();

    await clock.advance('3s');

    expect(fired).toEqual([
      ['a', 2_000],
      ['b', 3_000],
      ['c', 3_000],
    ]);
    expect([clock.now(), clock.monotonic(), clock.pending()]).toEqual([4_000, 3_000, 1]);
  });

  test('lets what a timer started finish, and fires the timers it sets on the way', async () => {
    const clock = testClock(0);
    const fired: number[] = [];
    const tick = async (): Promise<void> => {
      for (let step = 0; step < 20; step += 1) await Promise.resolve();
      fired.push(clock.now());
      clock.after(1_000, () => void tick());
    };
    clock.after(1_000, () => void tick());

    await clock.advance('3s');

    expect(fired).toEqual([1_000, 2_000, 3_000]);
  });

  test('moves forward only', async () => {
    const clock = testClock();

    await expect(clock.advance(-1)).rejects.toThrow('negative');
  });
});

describe('the clock of the system', () => {
  test('fires once, not before the delay has passed', async () => {
    const clock = systemClock();
    const startedAt = clock.monotonic();

    await new Promise<void>((resolve) => void clock.after(5, resolve));

    expect(clock.monotonic() - startedAt).toBeGreaterThanOrEqual(5);
  });

  test('holds a timer that is longer than Node can set', async () => {
    const clock = systemClock();
    const delays = [2 ** 31, 2 ** 32 + 5_000, 400 * 24 * 3_600_000, 2 ** 40];
    const fired: number[] = [];
    const warnings: string[] = [];
    const warned = ({ name }: Error) => void warnings.push(name);
    process.on('warning', warned);
    onTestFinished(() => void process.off('warning', warned));

    const cancels = delays.map((delayMs) => clock.after(delayMs, () => fired.push(delayMs)));
    await new Promise<void>((resolve) => void clock.after(20, resolve));
    for (const cancel of [...cancels, ...cancels]) cancel();

    expect(fired).toEqual([]);
    expect(warnings).toEqual([]);
  });
});
