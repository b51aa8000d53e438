/**
 * The outcome of a charge is what all its attempts prove together. An answer about one attempt says nothing about
 * another whose reply was lost, and two records are two effects whatever was promised.
 */

import { afterEach, describe, expect, test } from 'vitest';
import { failed, type Finding, found, inconclusive, notApplied, type Run, succeeded } from 'sagacity';
import { charges, gate, type Step } from '../support/scripted-charge.ts';
import { keysSent, now, type Stage, stage, statesOf } from '../support/stage.ts';
import { order } from '../support/stage-in.ts';
import { reached, until } from '../support/world.ts';

let shop: Stage;
afterEach(() => shop.close());

describe('a second send that is refused after the reply to the first was lost', () => {
  test('does not undo the first: a person decides, and the operation has not failed', async () => {
    shop = await stage({ lookup: 'none', attempts: 2 });
    await shop.provider.calls(['commit-then-drop', 'decline']);

    const run = await shop.orchestrator.submit(shop.charge, order);
    await reached(run, 'pending');
    await shop.pass('10m');

    expect(await shop.provider.records()).toHaveLength(1);
    expect(await keysSent(shop.provider)).toHaveLength(2);
    expect(await now(run)).toEqual({ status: 'escalated', reason: 'no-lookup' });
    expect(await statesOf(run)).not.toContain('failed');
  });

  test('is overtaken by a third one that is answered from the record of the first', async () => {
    shop = await stage({ lookup: 'none', attempts: 3 });
    await shop.provider.calls(['commit-then-drop', 'decline']);

    const run = await shop.orchestrator.submit(shop.charge, order);
    await reached(run, 'pending');
    await shop.pass('10m');

    expect(await shop.provider.records()).toHaveLength(1);
    expect(await now(run)).toMatchObject({ status: 'succeeded', reference: 'payment_1' });
  });

  test('does fail it when the first was refused as well', async () => {
    shop = await stage({ lookup: 'none', attempts: 2, steps: [refusesLate(), charges] });
    await shop.provider.calls(['decline']);

    const run = await shop.orchestrator.submit(shop.charge, order);
    await shop.clock.advance('10s');
    await reached(run, 'pending');
    await shop.pass('5s');
    const before = await run.status();
    firstAnswer.open();
    await reached(run, 'failed');

    expect(before).toBe('escalated');
    expect(await now(run)).toEqual({ status: 'failed', code: 'card_declined' });
    expect(await shop.provider.records()).toHaveLength(0);
  });
});

describe('a second send that was not applied after the reply to the first was lost', () => {
  test('does not exhaust the operation: a person decides', async () => {
    shop = await stage({ lookup: 'none', attempts: 3, steps: [charges, () => notApplied('429 Too Many Requests')] });
    await shop.provider.faults(['commit-then-drop']);

    const run = await shop.orchestrator.submit(shop.charge, order);
    await reached(run, 'pending');
    await shop.pass('10m');

    expect(await shop.provider.records()).toHaveLength(1);
    expect((await run.history()).filter(({ kind }) => kind === 'start')).toHaveLength(3);
    expect(await now(run)).toEqual({ status: 'escalated', reason: 'no-lookup' });
    expect(await statesOf(run)).not.toContain('failed');
  });

  test('exhausts it once the first was looked up and proven absent', async () => {
    const steps = [charges, () => notApplied('429 Too Many Requests')];
    shop = await stage({ attempts: 2, steps, lookup: { arrivalLimit: '1m' } });
    await shop.provider.calls(['drop']);

    const run = await shop.orchestrator.submit(shop.charge, order);
    await reached(run, 'reconciling');
    await shop.pass('4m');

    expect(await shop.provider.records()).toHaveLength(0);
    expect(await now(run)).toEqual({ status: 'failed', code: 'attempts-exhausted' });
  });
});

describe('a refusal that a look-up shows after a person had said that the first send was not applied', () => {
  test('is not taken for the answer to the second one, which took effect', async () => {
    let shows: Finding = inconclusive('the books are closed');
    shop = await stage({
      keyRetention: 'none',
      lookup: { every: '1s', giveUpAfter: '1m', ask: () => shows },
      steps: [
        () => {
          throw new Error('socket hang up');
        },
        async ({ send }) => {
          await send();
          throw new Error('socket hang up');
        },
      ],
    });
    const run = await shop.orchestrator.submit(shop.charge, order);
    await reached(run, 'reconciling');
    await shop.pass('3m');
    const [doubt] = await shop.orchestrator.operator.doubts();

    // Declined, and not a word of it reached anybody before the person asked.
    shows = found(failed('card_declined'));
    await shop.orchestrator.operator.resolve(run.id, notApplied('it is not in the books'), {
      ...{ by: 'on-call', evidence: 'the books of this morning', seen: doubt?.seen ?? '' },
    });
    await shop.pass('3m');

    expect(await shop.provider.records()).toHaveLength(1);
    expect(await now(run)).toEqual({ status: 'escalated', reason: 'lookup-exhausted' });
    expect(await statesOf(run)).not.toContain('failed');
  });
});

describe('a refusal that arrives late, while another attempt is unproven', () => {
  test('is kept as evidence and settles nothing', async () => {
    shop = await stage({ lookup: 'none', attempts: 2, steps: [refusesLate(), charges] });
    await shop.provider.faults(['commit-then-drop']);

    const run = await shop.orchestrator.submit(shop.charge, order);
    await shop.clock.advance('10s');
    await reached(run, 'pending');
    await shop.pass('5s');
    firstAnswer.open();
    await evidenceOf(run);

    expect(await shop.provider.records()).toHaveLength(1);
    expect(await now(run)).toEqual({ status: 'escalated', reason: 'no-lookup' });
    expect(await statesOf(run)).not.toContain('failed');
  });

  test('does not stop the attempt that is in flight from succeeding', async () => {
    shop = await stage({ lookup: 'none', attempts: 2, steps: [refusesLate(), charges] });
    await shop.provider.faults(['commit-then-hold']);

    const run = await shop.orchestrator.submit(shop.charge, order);
    await shop.clock.advance('10s');
    await reached(run, 'pending');
    await shop.clock.advance('1s');
    await shop.provider.logged(({ event }) => event === 'HOLD');
    firstAnswer.open();
    await evidenceOf(run);
    const meanwhile = await run.status();
    await shop.provider.release();
    await reached(run, 'succeeded');

    expect(meanwhile).toBe('in-progress');
    expect(await shop.provider.records()).toHaveLength(1);
    expect(await shop.orchestrator.operator.doubts()).toEqual([]);
  });
});

describe('a success that arrives late', () => {
  test('settles an operation that had been handed to a person', async () => {
    shop = await stage({ keyRetention: 'none', lookup: 'none', steps: [stubborn] });
    await shop.provider.faults(['commit-then-hold']);

    const run = await shop.orchestrator.submit(shop.charge, order);
    await shop.provider.logged(({ event }) => event === 'HOLD');
    await shop.clock.advance('10s');
    await reached(run, 'escalated');
    await shop.provider.release();
    await reached(run, 'succeeded');

    expect(await now(run)).toMatchObject({ status: 'succeeded', reference: 'payment_1' });
    expect(await shop.provider.records()).toHaveLength(1);
    expect(await keysSent(shop.provider)).toHaveLength(1);
  });

  test('and names the same record as the second attempt is one effect', async () => {
    const second = gate();
    shop = await stage({ lookup: 'none', steps: [stubborn, after(second.passed)] });
    await shop.provider.calls(['commit-then-hold']);

    const run = await shop.orchestrator.submit(shop.charge, order);
    await shop.provider.logged(({ event }) => event === 'HOLD');
    await shop.clock.advance('11s');
    await reached(run, 'in-progress');
    await shop.provider.release();
    await reached(run, 'succeeded');
    second.open();
    await shop.provider.logged(({ event }) => event === 'REPLAY');
    await evidenceOf(run, 2);

    expect(await shop.provider.records()).toHaveLength(1);
    expect(await now(run)).toMatchObject({ status: 'succeeded', reference: 'payment_1' });
    expect(await shop.orchestrator.operator.doubts()).toEqual([]);
  });
});

describe('a provider that broke the promise of its key', () => {
  test('and shows two records is a matter for a person, and nothing more is sent', async () => {
    shop = await stage();
    await shop.provider.faults(['lie+drop']);

    const run = await shop.orchestrator.submit(shop.charge, order);
    await reached(run, 'escalated');
    await shop.pass('10m');

    expect(await shop.provider.records()).toHaveLength(2);
    expect(await now(run)).toEqual({ status: 'escalated', reason: 'two-effects' });
    expect(await keysSent(shop.provider)).toHaveLength(1);
  });

  test('and answers two attempts with two records is listed with the doubts, though the first answer stands', async () => {
    shop = await stage({ lookup: 'none', steps: [stubborn, charges] });
    await shop.provider.calls(['commit-then-hold', 'lie']);

    const run = await shop.orchestrator.submit(shop.charge, order);
    await shop.provider.logged(({ event }) => event === 'HOLD');
    await shop.clock.advance('11s');
    await reached(run, 'succeeded');
    const before = await shop.orchestrator.operator.doubts();
    await shop.provider.release();
    await evidenceOf(run);

    expect(await shop.provider.records()).toHaveLength(2);
    expect(before).toEqual([]);
    expect(await now(run)).toMatchObject({ status: 'succeeded', reference: 'payment_2' });
    expect(await shop.orchestrator.operator.doubts()).toMatchObject([
      { id: run.id, state: 'succeeded', contradictedAt: expect.any(Date) },
    ]);
  });

  test('and answers the late one first is listed with the doubts as well', async () => {
    const second = gate();
    shop = await stage({ lookup: 'none', steps: [stubborn, after(second.passed)] });
    await shop.provider.calls(['commit-then-hold', 'lie']);

    const run = await shop.orchestrator.submit(shop.charge, order);
    await shop.provider.logged(({ event }) => event === 'HOLD');
    await shop.clock.advance('11s');
    await reached(run, 'in-progress');
    await shop.provider.release();
    await reached(run, 'succeeded');
    second.open();
    await evidenceOf(run, 2);

    expect(await shop.provider.records()).toHaveLength(2);
    expect(await now(run)).toMatchObject({ status: 'succeeded', reference: 'payment_1' });
    expect(await shop.orchestrator.operator.doubts()).toMatchObject([{ id: run.id, contradictedAt: expect.any(Date) }]);
  });

  test('is not settled by the late reply of either of them', async () => {
    const reply = gate();
    shop = await stage({
      steps: [
        async ({ send }) => {
          const { id } = await send();
          await reply.passed;
          return succeeded({ chargeId: id }, { reference: id ?? '' });
        },
      ],
    });
    await shop.provider.faults(['lie']);

    const run = await shop.orchestrator.submit(shop.charge, order);
    await shop.provider.logged(({ event, n }) => event === 'NEW' && n === 1);
    await shop.pass('10s');
    await reached(run, 'escalated');
    reply.open();
    await evidenceOf(run);

    expect(await shop.provider.records()).toHaveLength(2);
    expect(await now(run)).toEqual({ status: 'escalated', reason: 'two-effects' });
  });
});

let firstAnswer = gate();

/** An attempt that outlives its time and then turns out to have been declined. */
function refusesLate(): Step {
  firstAnswer = gate();
  return async () => {
    await firstAnswer.passed;
    return failed('card_declined');
  };
}

/** Charges, and waits for the reply even when the attempt has been given up. */
const stubborn: Step = async ({ send }) => {
  const { id } = await send({ stubborn: true });
  return succeeded({ chargeId: id }, { reference: id ?? '' });
};

function after(passed: Promise<void>): Step {
  return async (sending) => {
    await passed;
    return stubborn(sending);
  };
}

/** Waits until so many late words have been taken into the history. */
function evidenceOf(run: Run, count = 1): Promise<true> {
  return until(
    async () => ((await run.history()).filter(({ kind }) => kind === 'evidence').length >= count ? true : null),
    'the evidence to be kept',
  );
}
