/**
 * Every fault of the wire that was measured, met by a real charge: the gate and the status say the truth about the
 * effect, and there is never a second one.
 */

import { afterEach, describe, expect, test } from 'vitest';
import { charge, countingClock } from './departing.ts';
import { experiments, shownBy } from './experiments.ts';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** Where the kernel decides what is seen first. */
const undecided = [
  { gate: 'shut', shown: 'not sent' },
  { gate: 'opened', shown: 'no status' },
];

const named = experiments.map((one) => [`${one.fault}: ${one.shown}, ${one.effects} effects`, one] as const);

describe('a charge that meets a fault of the wire', () => {
  test.each(named)('%s', async (_, { arrange, gate, shown, effects }) => {
    const scene = await arrange((close) => closing.push(close));
    const clock = countingClock();

    const arrival = await charge(scene.dispatcher, { ...scene.charge, clock });
    // A request that was given up must not arrive later either: the last connection is gone before effects are counted.
    await scene.dispatcher.destroy();

    const seen = { gate: arrival.gate, shown: shownBy(arrival) };
    expect(gate === 'either' ? undecided : [{ gate, shown }]).toContainEqual(seen);
    expect(scene.effects()).toBe(effects);
    expect(clock.waiting()).toBe(0);
    expect(JSON.stringify(arrival.error)).not.toMatch(/127\.0\.0\.1|psp\.example|order-17/);
  });
});
