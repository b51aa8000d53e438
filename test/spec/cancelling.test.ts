/**
 * Asking for a charge to be given up. It ends as cancelled only when every attempt is proven to have had no effect;
 * success wins, and what nobody can prove is left to a person.
 */

import { afterEach, describe, expect, test } from 'vitest';
import { notApplied, succeeded } from 'sagacity';
import { charges, gate } from '../support/scripted-charge.ts';
import { keysSent, now, type Stage, stage, statesOf } from '../support/stage.ts';
import { order, stageIn, type StageIn } from '../support/stage-in.ts';
import { reached } from '../support/world.ts';

let shop: Stage;
afterEach(() => shop.close());

async function arranged(...given: Parameters<typeof stageIn>): Promise<StageIn> {
  const made = await stageIn(...given);
  shop = made;
  return made;
}

const who = { by: 'Ada of the shop', reason: 'the customer changed their mind' };

describe('a charge that has not been sent', () => {
  test('fails as cancelled, and never is', async () => {
    shop = await stage({ concurrency: 1 });
    await shop.provider.faults(['commit-then-hold']);
    const first = await shop.orchestrator.submit(shop.charge, order);
    await shop.provider.logged(({ event }) => event === 'HOLD');
    const run = await shop.orchestrator.submit(shop.charge, { ...order, orderId: 'order-18' });

    const cancelled = await shop.orchestrator.cancel(run.id, who);
    await shop.provider.release();
    await reached(first, 'succeeded');
    await shop.pass('1m');

    expect(cancelled).toEqual({ status: 'accepted' });
    expect(await now(run)).toEqual({ status: 'failed', code: 'cancelled' });
    expect(await keysSent(shop.provider)).toHaveLength(1);
  });

  test('and waits for its next attempt fails as cancelled, kept with who asked and why', async () => {
    const { orchestrator, provider, run } = await arranged('pending');

    const cancelled = await orchestrator.cancel(run.id, who);
    await shop.pass('1m');

    expect(cancelled).toEqual({ status: 'accepted' });
    expect(await now(run)).toEqual({ status: 'failed', code: 'cancelled' });
    expect(await keysSent(provider)).toEqual([]);
    expect((await run.history()).at(-1)).toMatchObject({ kind: 'cancel', states: ['failed'], facts: who });
  });
});

describe('a charge that is in flight', () => {
  test('is aborted, looked up, and has succeeded after all', async () => {
    const { orchestrator, provider, clock, run } = await arranged('in-progress');
    await provider.logged(({ event }) => event === 'HOLD');

    const cancelled = await orchestrator.cancel(run.id, who);
    await provider.logged(({ event }) => event === 'GONE');
    await clock.advance('1s');
    await reached(run, 'succeeded');

    expect(cancelled).toEqual({ status: 'accepted' });
    expect(await now(run)).toMatchObject({ status: 'succeeded', reference: 'payment_1' });
    expect(await provider.records()).toHaveLength(1);
    expect(await keysSent(provider)).toHaveLength(1);
  });

  test('is aborted, and fails as cancelled once its absence is proven', async () => {
    const sending = gate();
    shop = await stage({
      lookup: { arrivalLimit: '1m' },
      steps: [
        ({ abortSignal }) => {
          sending.open();
          return new Promise((_, reject) => abortSignal.addEventListener('abort', () => reject(new Error('aborted'))));
        },
      ],
    });
    const run = await shop.orchestrator.submit(shop.charge, order);
    await sending.passed;

    const cancelled = await shop.orchestrator.cancel(run.id, who);
    await reached(run, 'reconciling');
    await shop.pass('3m');

    expect(cancelled).toEqual({ status: 'accepted' });
    expect(await now(run)).toEqual({ status: 'failed', code: 'cancelled' });
    expect(await provider()).toEqual([]);
  });

  test('fails as cancelled at once when the executor proves that it was not applied', async () => {
    const sending = gate();
    shop = await stage({
      steps: [
        ({ abortSignal }) => {
          sending.open();
          return new Promise((answer) =>
            abortSignal.addEventListener('abort', () => answer(notApplied('it had not left'))),
          );
        },
      ],
    });
    const run = await shop.orchestrator.submit(shop.charge, order);
    await sending.passed;

    await shop.orchestrator.cancel(run.id, who);
    await reached(run, 'failed');
    await shop.pass('1m');

    expect(await now(run)).toEqual({ status: 'failed', code: 'cancelled' });
    expect((await run.history()).filter(({ kind }) => kind === 'start')).toHaveLength(1);
  });

  test('succeeds when its reply comes in spite of the abort', async () => {
    const [sending, reply] = [gate(), gate()];
    shop = await stage({
      steps: [
        async ({ send }) => {
          const { id } = await send();
          sending.open();
          await reply.passed;
          return succeeded({ chargeId: id }, { reference: id ?? '' });
        },
      ],
      lookup: 'none',
    });
    const run = await shop.orchestrator.submit(shop.charge, order);
    await sending.passed;

    const cancelled = await shop.orchestrator.cancel(run.id, who);
    reply.open();
    await reached(run, 'succeeded');

    expect(cancelled).toEqual({ status: 'accepted' });
    expect(await now(run)).toMatchObject({ status: 'succeeded', reference: 'payment_1' });
    expect(await provider()).toHaveLength(1);
  });
});

describe('a charge whose outcome is unknown', () => {
  test('fails as cancelled once its absence is proven, and is not sent again', async () => {
    shop = await stage({ lookup: { arrivalLimit: '1m' } });
    await shop.provider.calls(['drop']);
    const run = await shop.orchestrator.submit(shop.charge, order);
    await reached(run, 'reconciling');

    const cancelled = await shop.orchestrator.cancel(run.id, who);
    await shop.pass('90s');
    const meanwhile = await run.status();
    await shop.pass('90s');

    expect(cancelled).toEqual({ status: 'accepted' });
    expect(meanwhile).toBe('reconciling');
    expect(await now(run)).toEqual({ status: 'failed', code: 'cancelled' });
    expect(await provider()).toEqual([]);
    expect(await keysSent(shop.provider)).toHaveLength(1);
  });

  test('is handed to a person when it is absent and may still arrive, and is not sent again', async () => {
    shop = await stage();
    await shop.provider.calls(['drop']);
    const run = await shop.orchestrator.submit(shop.charge, order);
    await reached(run, 'reconciling');

    const cancelled = await shop.orchestrator.cancel(run.id, who);
    await shop.pass('2m');

    expect(cancelled).toEqual({ status: 'accepted' });
    expect(await now(run)).toEqual({ status: 'escalated', reason: 'absent-not-final' });
    expect(await keysSent(shop.provider)).toHaveLength(1);
  });

  test('succeeds when it is found', async () => {
    shop = await stage();
    await shop.provider.faults(['commit-then-drop']);
    await shop.provider.lookups(['lag', 'lag']);
    const run = await shop.orchestrator.submit(shop.charge, order);
    await reached(run, 'reconciling');

    const cancelled = await shop.orchestrator.cancel(run.id, who);
    await shop.pass('2m');

    expect(cancelled).toEqual({ status: 'accepted' });
    expect(await now(run)).toMatchObject({ status: 'succeeded', reference: 'payment_1' });
    expect(await provider()).toHaveLength(1);
    expect(await keysSent(shop.provider)).toHaveLength(1);
  });

  test('is left to a person instead of being sent again where nobody can be asked', async () => {
    shop = await stage({ lookup: 'none' });
    await shop.provider.faults(['commit-then-drop']);
    const run = await shop.orchestrator.submit(shop.charge, order);
    await reached(run, 'pending');

    const cancelled = await shop.orchestrator.cancel(run.id, who);
    await shop.pass('10m');

    expect(cancelled).toEqual({ status: 'accepted' });
    expect(await now(run)).toEqual({ status: 'escalated', reason: 'no-lookup' });
    expect(await provider()).toHaveLength(1);
    expect(await keysSent(shop.provider)).toHaveLength(1);
  });

  test('and escalated fails as cancelled when a person states that it was not applied, and is not sent again', async () => {
    shop = await stage({ keyRetention: 'none', lookup: 'none' });
    await shop.provider.calls(['drop']);
    const run = await shop.orchestrator.submit(shop.charge, order);
    await reached(run, 'escalated');

    const cancelled = await shop.orchestrator.cancel(run.id, who);
    const meanwhile = await run.status();
    const [doubt] = await shop.orchestrator.operator.doubts();
    await shop.orchestrator.operator.resolve(run.id, notApplied('the dashboard shows nothing'), {
      ...{ by: who.by, evidence: 'the dashboard', seen: doubt?.seen ?? '' },
    });
    await shop.pass('10m');

    expect(cancelled).toEqual({ status: 'accepted' });
    expect(meanwhile).toBe('escalated');
    expect(await now(run)).toEqual({ status: 'failed', code: 'cancelled' });
    expect(await keysSent(shop.provider)).toHaveLength(1);
  });
});

describe('a charge that has settled', () => {
  test.each(['succeeded', 'failed'] as const)('as %s is too late to cancel, and who tried is kept', async (state) => {
    const { orchestrator, run } = await arranged(state);
    const end = await now(run);

    const cancelled = await orchestrator.cancel(run.id, who);

    expect(cancelled).toEqual({ status: 'too-late' });
    expect(await now(run)).toEqual(end);
    expect((await run.history()).at(-1)).toMatchObject({ kind: 'cancel', facts: { ...who, accepted: false } });
    expect(await orchestrator.operator.doubts()).toEqual([]);
  });

  test('as cancelled is too late to cancel again', async () => {
    const { orchestrator, run } = await arranged('pending');
    await orchestrator.cancel(run.id, who);

    const again = await orchestrator.cancel(run.id, who);

    expect(again).toEqual({ status: 'too-late' });
    expect(await statesOf(run)).toEqual(['pending', 'in-progress', 'pending', 'failed']);
  });
});

describe('a cancellation', () => {
  test('without a name or a reason is refused, and so is one of nothing', async () => {
    const { orchestrator, run } = await arranged('pending');

    const nameless = orchestrator.cancel(run.id, { ...who, by: ' ' });
    const groundless = orchestrator.cancel(run.id, { ...who, reason: '' });
    const pointless = orchestrator.cancel('op_0', who);

    await expect(nameless).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    await expect(groundless).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    await expect(pointless).rejects.toMatchObject({ code: 'OPERATION_NOT_FOUND' });
    expect(await run.status()).toBe('pending');
  });

  test('made where nothing runs waits for a process that works', async () => {
    shop = await stage({ start: false, steps: [charges] });
    const run = await shop.orchestrator.submit(shop.charge, order);

    const cancelling = shop.orchestrator.cancel(run.id, { ...who, within: '2s' });
    await shop.clock.advance('3s');
    const cancelled = await cancelling;
    await shop.orchestrator.start();
    await reached(run, 'failed');
    await shop.pass('1m');

    expect(cancelled).toEqual({ status: 'waiting' });
    expect(await now(run)).toEqual({ status: 'failed', code: 'cancelled' });
    expect(await keysSent(shop.provider)).toEqual([]);
  });
});

function provider() {
  return shop.provider.records();
}
