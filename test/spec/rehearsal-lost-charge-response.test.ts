/**
 * Expected. The caller: no answer at first, and then that the charge succeeded. The bank: one charge. Operator: nothing
 * to do. That no reply came in time must not be taken for proof that nothing was charged.
 */

import { describe, expect, test } from 'vitest';
import { reply, testOrchestrator } from 'sagacity/testing';
import { charging, order } from '../support/rehearsed-charge.ts';

describe('a charge that is made and whose reply never comes', () => {
  test('is unknown when its time is over, is looked up, and succeeds with the one record there is', async () => {
    const charge = charging(() => new Promise(() => {}));
    const { orchestrator, clock, records, settled } = await testOrchestrator({ definitions: [charge] });
    const run = await orchestrator.submit(charge, order);

    await clock.advance('9s');
    const meanwhile = await run.result({ within: 0 });
    const result = await settled(run);

    expect(meanwhile.status).toBe('in-progress');
    expect(result).toMatchObject({ status: 'succeeded', output: 'charge_1', reference: 'charge_1' });
    expect(records(charge)).toHaveLength(1);
    const ends = (await run.history()).filter(({ kind }) => kind === 'end');
    expect(ends.map(({ facts }) => facts['outcome'])).toEqual(['unknown']);
  });
});

describe('a charge whose request is lost on its way', () => {
  test('is sent again under the same key once it is proven absent', async () => {
    const charge = charging();
    const { orchestrator, records, settled } = await testOrchestrator({
      definitions: [charge],
      script: [reply(charge, 'request-lost')],
    });

    const result = await settled(await orchestrator.submit(charge, order));

    expect(result).toMatchObject({ status: 'succeeded', output: 'charge_1' });
    expect(records(charge)).toHaveLength(1);
  });
});
