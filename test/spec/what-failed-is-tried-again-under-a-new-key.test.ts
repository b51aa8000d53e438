/**
 * What a provider has refused under a key it may refuse for ever, also when the input was corrected. A new try is a new
 * operation with a key of its own, linked to the old one, and only after that is proven to have had no effect. Whoever
 * tries the same one again meets the same new one.
 */

import { afterEach, describe, expect, test } from 'vitest';
import { failed, inconclusive, isSagacityError, succeeded, unknown } from 'sagacity';
import { order, purchase, sagaReached, type SagaShop, sagaShop } from '../support/saga-shop.ts';
import { charges, scriptedCharge, type Step } from '../support/scripted-charge.ts';
import type { Payment } from '../support/shop.ts';
import { keysSent, now, type Stage, stage } from '../support/stage.ts';
import { reached } from '../support/world.ts';

let shop: Stage | SagaShop;
afterEach(() => shop.close());

const wrong: Payment = { orderId: 'order-17', amount: 1200 };
const corrected: Payment = { orderId: 'order-17', amount: 700 };

/** A charge that is declined at first, and has failed by that. */
async function declined(script: Parameters<typeof stage>[0] = {}) {
  const started = (shop = await stage(script));
  await started.provider.calls(['decline']);
  const run = await started.orchestrator.submit(started.charge, wrong);
  await reached(run, 'failed');
  return { ...started, run };
}

async function refusalOf(submitting: Promise<unknown>): Promise<{ code: string; message: string }> {
  const error: unknown = await submitting.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!isSagacityError(error)) throw new Error('Nothing was refused.');
  return error;
}

describe('a charge that has failed', () => {
  test('is tried again under another key, with the corrected input, and linked to the old one', async () => {
    const { orchestrator, charge, provider, run, store } = await declined();

    const again = await orchestrator.submit(charge, corrected, { retryOf: run.id });
    await reached(again, 'succeeded');

    expect(again.submission).toBe('new');
    expect(again.id).not.toBe(run.id);
    const keys = await keysSent(provider);
    expect(new Set(keys).size).toBe(2);
    expect(await provider.records()).toMatchObject([{ orderId: 'order-17' }]);
    expect((await again.history())[0]?.facts).toMatchObject({ retryOf: run.id });
    const row = await store.read({ tenant: 'shop-1', id: again.id });
    expect(row?.input).toEqual(corrected);
    expect(row?.snapshot).toMatchObject({ context: { retryOf: { id: run.id, key: 'order-17' } } });
    expect(await now(run)).toEqual({ status: 'failed', code: 'card_declined' });
  });

  test('is tried again once, however many do so at the same time, and what they get later is a replay', async () => {
    const { orchestrator, charge, provider, run } = await declined();

    const all = await Promise.all(
      Array.from({ length: 20 }, () => orchestrator.submit(charge, corrected, { retryOf: run.id })),
    );
    await reached(all[0] ?? run, 'succeeded');
    const later = await orchestrator.submit(charge, corrected, { retryOf: run.id });

    expect(new Set(all.map(({ id }) => id)).size).toBe(1);
    expect(all.filter(({ submission }) => submission === 'new')).toHaveLength(1);
    expect(later.submission).toBe('replayed');
    expect(await provider.records()).toHaveLength(1);
  });

  test('is tried again with one input: another one is a conflict', async () => {
    const { orchestrator, charge, provider, run } = await declined();
    const again = await orchestrator.submit(charge, corrected, { retryOf: run.id });
    await reached(again, 'succeeded');

    const { code } = await refusalOf(orchestrator.submit(charge, wrong, { retryOf: run.id }));

    expect(code).toBe('IDEMPOTENCY_CONFLICT');
    expect(await provider.records()).toHaveLength(1);
  });

  test('has a retry that can be retried in its turn, and each of them has a key of its own', async () => {
    const { orchestrator, charge, provider, run } = await declined();
    await provider.calls(['decline']);
    const second = await orchestrator.submit(charge, corrected, { retryOf: run.id });
    await reached(second, 'failed');

    const third = await orchestrator.submit(charge, { ...corrected, amount: 5 }, { retryOf: second.id });
    await reached(third, 'succeeded');

    expect(new Set(await keysSent(provider)).size).toBe(3);
    expect((await third.history())[0]?.facts).toMatchObject({ retryOf: second.id });
    expect(await provider.records()).toHaveLength(1);
  });

  test('keeps its own answer: submitted as before it is a replay, and a conflict with other input', async () => {
    const { orchestrator, charge, run } = await declined();
    await orchestrator.submit(charge, corrected, { retryOf: run.id });

    const replayed = await orchestrator.submit(charge, wrong);
    const { code } = await refusalOf(orchestrator.submit(charge, corrected));

    expect([replayed.id, replayed.submission]).toEqual([run.id, 'replayed']);
    expect(code).toBe('IDEMPOTENCY_CONFLICT');
  });

  test('shows in the list of doubts what it was tried in the place of', async () => {
    const { orchestrator, charge, provider, run } = await declined({ keyRetention: 'none', lookup: 'none' });
    await provider.calls(['drop']);

    const again = await orchestrator.submit(charge, corrected, { retryOf: run.id });
    await reached(again, 'escalated');

    expect(await orchestrator.operator.doubts()).toMatchObject([{ id: again.id, retryOf: run.id }]);
  });

  test('after a stored failure that was repeated for ever is charged once in all', async () => {
    const repeats: Step = async ({ send }) => {
      const { status } = await send();
      return status < 300 ? charged : { ...unknown(`status ${status}`), sendAgain: 'ask-first' };
    };
    const started = (shop = await stage({
      ...{ steps: [repeats], attempts: 2, lookup: { visibleWithin: '1s', arrivalLimit: '1m' } },
    }));
    await started.provider.calls(['fail-before-commit', 'fail-before-commit']);
    const run = await started.orchestrator.submit(started.charge, wrong);
    await started.pass('5m');

    const again = await started.orchestrator.submit(started.charge, wrong, { retryOf: run.id });
    await reached(again, 'succeeded');

    expect(await now(run)).toEqual({ status: 'failed', code: 'attempts-exhausted' });
    expect(await started.provider.records()).toHaveLength(1);
  });
});

const charged = succeeded({ chargeId: 'payment_1' }, { reference: 'payment_1' });

describe('what is not proven to have had no effect', () => {
  test.each<
    [string, Step[], Parameters<typeof stage>[0], 'in-progress' | 'reconciling' | 'escalated' | 'succeeded', RegExp]
  >([
    ['is under way', [() => new Promise(() => {})], {}, 'in-progress', /it is in-progress\. Wait for its end/],
    [
      'is in doubt',
      [lost],
      { lookup: { ask: () => inconclusive() } },
      'reconciling',
      /Nobody knows yet whether it had an effect/,
    ],
    ['waits for a person', [lost], { keyRetention: 'none', lookup: 'none' }, 'escalated', /operator\.resolve/],
    ['has succeeded', [charges], {}, 'succeeded', /It had its effect\. Use a new key for a new intent/],
  ])('is refused, and nothing is sent: it %s', async (_, steps, script, state, remedy) => {
    const started = (shop = await stage({ ...script, steps }));
    const run = await started.orchestrator.submit(started.charge, wrong);
    await reached(run, state);
    const sent = (await keysSent(started.provider)).length;

    const { code, message } = await refusalOf(
      started.orchestrator.submit(started.charge, corrected, { retryOf: run.id }),
    );

    expect(code).toBe('RETRY_REFUSED');
    expect(message).toContain(run.id);
    expect(message).toMatch(remedy);
    expect(await keysSent(started.provider)).toHaveLength(sent);
  });

  test('is refused when its provider has contradicted its failure since', async () => {
    let answer: (outcome: unknown) => void = () => {};
    const late: Step = () => new Promise((resolve) => (answer = resolve));
    const started = (shop = await stage({ steps: [late], keyRetention: 'none', lookup: 'none', timeout: '1s' }));
    const run = await started.orchestrator.submit(started.charge, wrong);
    await reached(run, 'in-progress');
    await started.clock.advance('2s');
    await reached(run, 'escalated');
    const [doubt] = await started.orchestrator.operator.doubts();
    await started.orchestrator.operator.resolve(run.id, failed('card_declined'), {
      ...{ by: 'the shop', evidence: 'the bank said so', seen: doubt?.seen ?? '' },
    });
    answer(charged);
    await started.clock.advance('2s');

    const { code, message } = await refusalOf(
      started.orchestrator.submit(started.charge, corrected, { retryOf: run.id }),
    );

    expect(code).toBe('RETRY_REFUSED');
    expect(message).toContain('it is failed, and contradicted since. It is among operator.doubts()');
  });
});

describe('what is another intent', () => {
  test('is refused: another key, another action, nothing at all', async () => {
    const { orchestrator, charge, provider, run, redefined } = await declined();
    const { definition: refund } = scriptedCharge(provider.url, { action: 'card.refund' });
    const desk = redefined(refund);

    const otherKey = await refusalOf(
      orchestrator.submit(charge, { ...corrected, orderId: 'order-18' }, { retryOf: run.id }),
    );
    const otherAction = await refusalOf(desk.submit(refund, corrected, { retryOf: run.id }));
    const nothing = await refusalOf(orchestrator.submit(charge, corrected, { retryOf: 'op_none' }));
    const noId = await refusalOf(orchestrator.submit(charge, corrected, { retryOf: '' }));

    expect(otherKey).toMatchObject({ code: 'RETRY_REFUSED', message: expect.stringContaining('"order-18"') });
    expect(otherAction).toMatchObject({ code: 'RETRY_REFUSED', message: expect.stringContaining('card.charge') });
    expect([nothing.code, noId.code]).toEqual(['OPERATION_NOT_FOUND', 'INPUT_INVALID']);
    expect(await keysSent(provider)).toHaveLength(1);
  });

  test('is refused: a saga, a step of one, and what takes something back', async () => {
    const selling = (shop = await sagaShop());
    const { pay, authorise, voiding } = selling.trade;
    const sale = purchase(selling.trade);
    const orchestrator = await selling.open([sale, pay, authorise]);
    await selling.provider.calls(['decline'], 'reservation');
    const run = await orchestrator.submit(sale, order);
    await sagaReached(run, 'compensated');
    const steps = (await run.history()).flatMap(({ operation: one }) => one ?? []);
    const idOf = (action: string) => steps.find((one) => one.action === action)?.id ?? '';

    const ofSaga = await refusalOf(orchestrator.submit(sale, order, { retryOf: run.id }));
    const bySaga = await refusalOf(orchestrator.submit(authorise, order, { retryOf: run.id }));
    const ofStep = await refusalOf(
      orchestrator.submit(selling.trade.reserve, order, { retryOf: idOf('stock.reserve') }),
    );
    const ofInverse = await refusalOf(orchestrator.submit(voiding, order, { retryOf: idOf('payment.void') }));

    expect(ofSaga).toMatchObject({ code: 'INPUT_INVALID', message: expect.stringContaining('retryOf') });
    expect(bySaga).toMatchObject({ code: 'RETRY_REFUSED', message: expect.stringContaining('it is a saga') });
    expect(ofStep.message).toContain(`it is a step of saga ${run.id}`);
    expect(ofInverse.code).toBe('RETRY_REFUSED');
  });
});

function lost({ send }: Parameters<Step>[0]): Promise<never> {
  return send().then(() => Promise.reject(new Error('The reply was lost.')));
}
