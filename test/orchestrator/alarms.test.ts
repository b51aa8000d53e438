/** What somebody has to hear of at once is said at once, and not with every attempt. */

import { testClock } from 'sagacity/testing';
import { describe, expect, test } from 'vitest';
import { Alarms } from '../../src/orchestrator/alarms.ts';

function alarms() {
  const clock = testClock();
  const heard: object[] = [];
  const silent = () => {};
  const error = (facts: object) => void heard.push(facts);
  const all = new Alarms({ debug: silent, info: silent, warn: silent, error }, clock);
  const hear = (alarm: unknown, more: { operation?: string; provider?: string | null; action?: string } = {}) => {
    const whose = { operation: 'op_1', tenant: 'shop-1', action: 'card.charge', provider: 'bank', ...more };
    const body: object = { outcome: 'not-applied', alarm, reason: 'status 401' };
    all.hear(body, whose);
  };
  return { clock, heard, hear };
}

describe('an alarm in the end of an attempt', () => {
  test('is said with the ids that it is about, and nothing of the reply', () => {
    const { heard, hear } = alarms();

    hear('locked-out');

    expect(heard).toEqual([
      ...[{ operation: 'op_1', tenant: 'shop-1', action: 'card.charge', provider: 'bank', alarm: 'locked-out' }],
    ]);
  });

  test('is said once for each provider and kind in a minute', async () => {
    const { clock, heard, hear } = alarms();

    for (const operation of ['op_1', 'op_2', 'op_3']) hear('locked-out', { operation });
    hear('key-conflict');
    hear('locked-out', { provider: 'mailer' });
    await clock.advance(59_999);
    hear('locked-out');
    const before = heard.length;
    await clock.advance(1);
    hear('locked-out', { operation: 'op_4' });

    expect(before).toBe(3);
    expect(heard.at(-1)).toMatchObject({ operation: 'op_4', alarm: 'locked-out' });
  });

  test('is told apart by action where no provider is named', () => {
    const { heard, hear } = alarms();

    hear('locked-out', { provider: null });
    hear('locked-out', { provider: null, action: 'card.refund' });

    expect(heard).toHaveLength(2);
  });

  test.each([undefined, null, 'on fire', true])('is none where there is none: %o', (alarm) => {
    const { heard, hear } = alarms();

    hear(alarm);

    expect(heard).toEqual([]);
  });
});
