/**
 * A breaker by itself: what opens it, what it lets through, and that it never stays open for want of anybody who tries.
 */

import { testClock, type TestClock } from 'sagacity/testing';
import { beforeEach, describe, expect, test } from 'vitest';
import { Breaker, type BreakerState, type Condition } from '../../src/orchestrator/breaker.ts';

const policy = { withinMs: 30_000, ends: 10, share: 0.5, pauseMs: 10_000, maxPauseMs: 30_000 };

let clock: TestClock;
let breaker: Breaker;
let told: BreakerState[];

beforeEach(() => {
  clock = testClock();
  told = [];
  breaker = new Breaker(policy, clock, (state, before) => {
    if (state !== before) told.push(state);
  });
});

function ended(...conditions: Condition[]): void {
  for (const condition of conditions) {
    const pass = breaker.pass();
    pass.ended(condition);
    pass.giveBack();
  }
}

const many = (count: number, condition: Condition) => Array.from({ length: count }, () => condition);

async function opened(): Promise<void> {
  ended(...many(10, 'ill'));
  await clock.advance(0);
}

describe('a breaker', () => {
  test.each<[string, Condition[], BreakerState]>([
    ['stays closed while too few have ended', many(9, 'ill'), 'closed'],
    ['opens when all of enough were ill', many(10, 'ill'), 'open'],
    ['opens when half of them were', [...many(5, 'well'), ...many(5, 'ill')], 'open'],
    ['stays closed when fewer were', [...many(6, 'well'), ...many(5, 'ill')], 'closed'],
    ['does not count what says nothing', [...many(9, 'ill'), ...many(9, 'unsaid')], 'closed'],
  ])('%s', (_, conditions, state) => {
    ended(...conditions);

    expect(breaker.state).toBe(state);
    expect(breaker.isPassable).toBe(state === 'closed');
  });

  test('forgets what ended long ago', async () => {
    ended(...many(9, 'ill'));
    await clock.advance('31s');

    ended(...many(9, 'ill'));

    expect(breaker.state).toBe('closed');
  });

  test('counts what ended in several parts of its time together', async () => {
    for (let n = 0; n < 10; n += 1) {
      ended('ill');
      await clock.advance('2s');
    }

    expect(told[0]).toBe('open');
  });
});

describe('a breaker that is open', () => {
  beforeEach(opened);

  test('lets one try after its pause, and no other beside it', async () => {
    await clock.advance('9s');
    const early = breaker.isPassable;
    await clock.advance('1s');
    const due = breaker.isPassable;
    breaker.pass();

    expect([early, due, breaker.isPassable]).toEqual([false, true, false]);
  });

  test('closes when that ends well, and begins to count anew', async () => {
    await clock.advance('10s');
    ended('well');

    ended(...many(9, 'ill'));

    expect(told).toEqual(['open', 'half-open', 'closed']);
  });

  test('opens for longer each time that it ends ill, up to the longest pause', async () => {
    const pauses: number[] = [];
    for (let n = 0; n < 4; n += 1) {
      const openedAt = clock.monotonic();
      while (breaker.state === 'open') await clock.advance('1s');
      pauses.push(clock.monotonic() - openedAt);
      ended('ill');
    }

    expect(pauses).toEqual([10_000, 20_000, 30_000, 30_000]);
  });

  test('begins with its first pause again once it was closed', async () => {
    await clock.advance('10s');
    ended('ill');
    await clock.advance('20s');
    ended('well');
    await opened();

    await clock.advance('10s');

    expect(breaker.state).toBe('half-open');
  });

  test.each<[string, (pass: ReturnType<Breaker['pass']>) => void]>([
    ['was not used', (pass) => pass.giveBack()],
    [
      'says nothing',
      (pass) => {
        pass.ended('unsaid');
        pass.giveBack();
      },
    ],
  ])('lets the next one try when one %s', async (_, end) => {
    await clock.advance('10s');

    end(breaker.pass());

    expect([breaker.state, breaker.isPassable]).toEqual(['half-open', true]);
  });

  test('learns nothing from what was begun before', async () => {
    await clock.advance('10s');
    const before = breaker.pass();
    before.ended('ill');
    await clock.advance('20s');

    before.ended('well');
    before.giveBack();

    expect([breaker.state, breaker.isPassable]).toEqual(['half-open', true]);
  });
});

test('a breaker that is stopped has no timer left, and sets none', async () => {
  breaker.stop();

  await opened();

  expect(clock.pending()).toBe(0);
});
