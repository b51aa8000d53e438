/**
 * A record that a look-up shows is the provider's own word: a dead one (voided, expired, failed) is no success and is not
 * made alive by sending again, and two of them are two effects, whatever was promised. What could go wrong is that one of
 * two is picked, or that what is dead is taken for what happened.
 */

import { afterEach, describe, expect, test } from 'vitest';
import { absent, failed, type Finding, found, inconclusive, succeeded } from 'sagacity';
import { onlyDoubt, purchase, sagaReached, type SagaShop, sagaShop } from '../support/saga-shop.ts';
import type { Step } from '../support/scripted-charge.ts';
import { keysSent, now, type Stage, stage, statesOf } from '../support/stage.ts';
import { reached } from '../support/world.ts';

let shop: Stage | SagaShop;
afterEach(() => shop.close());

const order = { orderId: 'order-17', amount: 1200 };
const lost: Step = async ({ send }) => {
  await send();
  throw new Error('The reply was lost.');
};
const alive = succeeded({ chargeId: 'payment_1' }, { reference: 'payment_1' });

/** A charge of which every reply is lost, and of which look-ups tell this once it was sent so often. */
async function asked(answerAfter: (sent: number) => Finding): Promise<Stage> {
  let sent = 0;
  const step: Step = (sending) => {
    sent += 1;
    return lost(sending);
  };
  const ask = () => answerAfter(sent);
  shop = await stage({ steps: [step], lookup: { visibleWithin: 0, arrivalLimit: '1m', every: '5s', ask } });
  return shop;
}

describe('a charge whose record exists and is dead', () => {
  test.each(['voided', 'expired', 'rejected'])('has failed, as the provider calls it: %s', async (code) => {
    const { orchestrator, charge, provider } = await asked(() => found(failed(code)));

    const run = await orchestrator.submit(charge, order);
    await reached(run, 'failed');

    expect(await now(run)).toEqual({ status: 'failed', code });
    expect(await statesOf(run)).toEqual(['pending', 'in-progress', 'unknown', 'failed']);
    expect(await keysSent(provider)).toHaveLength(1);
  });

  test('is not sent again while it was still being made', async () => {
    const told = [inconclusive('pending'), inconclusive('pending')];
    const { orchestrator, charge, provider, pass } = await asked(() => told.shift() ?? found(failed('expired')));

    const run = await orchestrator.submit(charge, order);
    await pass('1m');

    expect(await now(run)).toEqual({ status: 'failed', code: 'expired' });
    expect(await keysSent(provider)).toHaveLength(1);
  });

  test('is asked about until no other request of it can arrive, and then has failed', async () => {
    const { orchestrator, charge, provider, pass } = await asked((sent) =>
      sent < 2 ? absent() : found(failed('voided')),
    );

    const run = await orchestrator.submit(charge, order);
    await pass('30s');
    const early = await run.status();
    await pass('5m');

    expect(early).toBe('reconciling');
    expect(await now(run)).toEqual({ status: 'failed', code: 'voided' });
    expect(await keysSent(provider)).toHaveLength(2);
  });

  test('has failed at once where that is the answer to all that is sent under its key', async () => {
    const { orchestrator, charge, provider, pass } = await asked((sent) =>
      sent < 2 ? absent() : found(failed('declined', { speaksFor: 'key' })),
    );

    const run = await orchestrator.submit(charge, order);
    await pass('30s');

    expect(await now(run)).toEqual({ status: 'failed', code: 'declined' });
    expect(await keysSent(provider)).toHaveLength(2);
  });

  test('is not failed by the refusal of its second request while the first one is on its way', async () => {
    let sent = 0;
    let arrive = async (): Promise<unknown> => undefined;
    const travels: Step = ({ attempt, send }) => {
      sent = attempt;
      arrive = () => send({ stubborn: true });
      throw new Error('The connection broke.');
    };
    const isRefused: Step = ({ attempt }) => {
      sent = attempt;
      return failed('declined');
    };
    const ask = async (): Promise<Finding> => {
      if ((await shop.provider.records()).length > 0) return found(alive);
      return sent < 2 ? absent() : found(failed('declined'));
    };
    shop = await stage({
      steps: [travels, isRefused],
      lookup: { visibleWithin: 0, arrivalLimit: '10m', every: '5s', ask },
    });
    const { orchestrator, charge, provider, pass } = shop;

    const run = await orchestrator.submit(charge, order);
    await pass('5m');
    const early = await run.status();
    await arrive();
    await pass('10m');

    expect([sent, early]).toEqual([2, 'reconciling']);
    expect(await provider.records()).toHaveLength(1);
    expect(await now(run)).toMatchObject({ status: 'succeeded', reference: 'payment_1' });
  });

  test('has succeeded where another record of it is alive', async () => {
    const { orchestrator, charge, provider } = await asked(() => found(failed('voided'), alive));

    const run = await orchestrator.submit(charge, order);
    await reached(run, 'succeeded');

    expect(await now(run)).toMatchObject({ status: 'succeeded', reference: 'payment_1' });
    expect(await keysSent(provider)).toHaveLength(1);
  });

  test('has failed by one of them where all records are dead', async () => {
    const { orchestrator, charge } = await asked(() => found(failed('voided'), failed('expired')));

    const run = await orchestrator.submit(charge, order);
    await reached(run, 'failed');

    expect(await now(run)).toEqual({ status: 'failed', code: 'voided' });
  });
});

describe('a charge of which the provider has two records under one key', () => {
  test('is handed to a person with the names of both, and nothing is picked, sent or taken back', async () => {
    const { orchestrator, charge, provider, pass } = (shop = await stage());
    await provider.calls(['lie+drop']);

    const run = await orchestrator.submit(charge, order);
    await pass('10m');

    const records = await provider.records();
    expect(records).toHaveLength(2);
    expect(await now(run)).toEqual({ status: 'escalated', reason: 'two-effects' });
    const [evidence] = (await run.history()).flatMap(({ kind, facts }) =>
      kind === 'lookup' ? [facts['records']] : [],
    );
    expect(evidence).toMatchObject(records.map(({ id }) => ({ type: 'succeeded', reference: id })));
    expect(await keysSent(provider)).toHaveLength(1);
  });

  test('holds its saga: no later step is sent, and none before it is taken back', async () => {
    const selling = (shop = await sagaShop());
    const sale = purchase(selling.trade);
    const orchestrator = await selling.open([sale]);
    await selling.provider.calls(['lie+drop'], 'reservation');

    const run = await orchestrator.submit(sale, { orderId: order.orderId });
    await sagaReached(run, 'escalated');
    await selling.pass('1h');

    expect(await selling.kept()).toEqual(['authorisation', 'reservation', 'reservation']);
    expect(await run.status()).toBe('escalated');
    expect(await onlyDoubt(orchestrator)).toMatchObject({ action: 'stock.reserve', reason: 'two-effects' });
  });
});
