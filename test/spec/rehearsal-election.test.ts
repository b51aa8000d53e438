/**
 * Expected. The callers: one is told that it is new, the others that they joined, and all the same result. The bank,
 * which would charge for every request: one charge. Operator: nothing to do.
 */

import { describe, expect, test } from 'vitest';
import { testOrchestrator } from 'sagacity/testing';
import { chargingBlindly, order } from '../support/rehearsed-charge.ts';

describe('fifty submissions of one charge that are let go at the same moment', () => {
  test('are one charge at a bank that ignores keys', async () => {
    const charge = chargingBlindly();
    const { orchestrator, records, settled } = await testOrchestrator({ definitions: [charge] });
    let open = (): void => {};
    const barrier = new Promise<void>((resolve) => {
      open = resolve;
    });

    const submitting = Array.from({ length: 50 }, () => barrier.then(() => orchestrator.submit(charge, order)));
    open();
    const runs = await Promise.all(submitting);
    const results = [];
    for (const run of runs) results.push(await settled(run));

    expect(records(charge)).toHaveLength(1);
    expect(runs.filter(({ submission }) => submission === 'new')).toHaveLength(1);
    expect(new Set(runs.map(({ id }) => id)).size).toBe(1);
    expect(results).toEqual(results.map(() => ({ status: 'succeeded', output: 'charge_1' })));
  });
});
