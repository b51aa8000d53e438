/**
 * Expected, of who submits once more: `joined` while it is under way or in doubt, also when the process that held it has
 * died; `replayed` with what was stored once it is over. The bank: never more than one charge. Operator: nothing, except
 * where nobody can be asked.
 */

import { describe, expect, test } from 'vitest';
import { failed } from 'sagacity';
import { reply, testOrchestrator } from 'sagacity/testing';
import { charging, chargingBlindly, order } from '../support/rehearsed-charge.ts';

describe('who submits a charge once more', () => {
  test('while it is under way joins it at once', async () => {
    const charge = charging();
    const { orchestrator, records, settled } = await testOrchestrator({ definitions: [charge] });
    const first = await orchestrator.submit(charge, order);

    const second = await orchestrator.submit(charge, order);

    expect([first.submission, second.submission]).toEqual(['new', 'joined']);
    expect(await settled(second)).toMatchObject({ status: 'succeeded', output: 'charge_1' });
    expect(records(charge)).toHaveLength(1);
  });

  test('behind a process that has died joins it, and is not kept waiting', async () => {
    let calls = 0;
    const charge = charging((made) => {
      calls += 1;
      return calls === 1 ? new Promise(() => {}) : made;
    });
    const { orchestrator, clock, records, settled, restart } = await testOrchestrator({ definitions: [charge] });
    await orchestrator.submit(charge, order);
    await clock.advance(0);
    const next = await restart();

    const second = await next.submit(charge, order);
    const result = await settled(second, { within: '2m' }).catch((error: unknown) => String(error));

    expect(second.submission).toBe('joined');
    expect(result).toMatchObject({ status: 'succeeded', output: 'charge_1' });
    expect(records(charge)).toHaveLength(1);
  });

  test('once it has succeeded or was refused has the stored answer replayed, also after a restart', async () => {
    for (const amount of [1200, 0]) {
      const charge = charging();
      const { orchestrator, records, settled, restart } = await testOrchestrator({ definitions: [charge] });
      const answer = await settled(await orchestrator.submit(charge, { ...order, amount }));
      const next = await restart();

      const again = await next.submit(charge, { ...order, amount });

      expect(again.submission).toBe('replayed');
      expect(await settled(again)).toEqual(answer);
      expect(records(charge)).toHaveLength(amount === 0 ? 0 : 1);
    }
  });

  test('while nobody knows joins it, and sends nothing', async () => {
    const charge = chargingBlindly();
    const { orchestrator, records, settled } = await testOrchestrator({
      definitions: [charge],
      script: [reply(charge, 'lost')],
    });
    await settled(await orchestrator.submit(charge, order));

    const again = await orchestrator.submit(charge, order);

    expect(again.submission).toBe('joined');
    expect(await settled(again)).toMatchObject({ status: 'escalated', reason: 'no-lookup' });
    expect(records(charge)).toHaveLength(1);
  });

  test('under another key after a refusal is a new intent', async () => {
    const charge = charging();
    const { orchestrator, records, settled } = await testOrchestrator({
      definitions: [charge],
      script: [reply(charge, failed('declined'))],
    });
    await settled(await orchestrator.submit(charge, order));

    const another = await orchestrator.submit(charge, { ...order, orderId: 'order-42-again' });

    expect(another.submission).toBe('new');
    expect(await settled(another)).toMatchObject({ status: 'succeeded' });
    expect(records(charge)).toHaveLength(1);
  });
});
