/**
 * Steps that are taken at the same time and do not end alike: one refusal gives the whole up, once, and what the others
 * bring is waited for and taken back. What a person decides meanwhile is not overwritten by a truth that comes later;
 * that is recorded beside it and shown.
 */

import { afterEach, describe, expect, test } from 'vitest';
import { failed, saga, typed } from 'sagacity';
import {
  fair,
  now,
  onlyDoubt,
  order,
  type Part,
  purchase,
  sagaReached,
  sagaShop,
  type SagaShop,
} from '../support/saga-shop.ts';

let shop: SagaShop;
afterEach(() => shop.close());

const who = { by: 'the shop', reason: 'the customer changed their mind' };

describe('a branch that succeeds after its sibling was refused', () => {
  test('is waited for and taken back, and nothing else before it', async () => {
    shop = await sagaShop();
    const selling = fair(shop.trade);
    const orchestrator = await shop.open([selling]);
    shop.hold('reservation');
    await shop.provider.calls(['decline'], 'authorisation');
    const run = await orchestrator.submit(selling, order);
    await shop.held('reservation');

    await shop.pass('5s');
    const meanwhile = { status: await run.status(), kept: (await shop.kept()).toSorted() };
    shop.letGo('reservation');
    await sagaReached(run, 'compensated');
    await shop.pass('5m');

    expect(meanwhile).toEqual({ status: 'compensating', kept: ['booking', 'reservation'] });
    expect(await now(run)).toEqual({ status: 'compensated', cause: { step: 'money', code: 'declined' } });
    expect((await shop.kept()).slice(2)).toEqual(['release', 'cancellation']);
  });

  test('is found first when its reply is lost and it cannot be asked about at once', async () => {
    shop = await sagaShop();
    const selling = fair(shop.trade);
    const orchestrator = await shop.open([selling]);
    await shop.provider.calls(['decline'], 'authorisation');
    await shop.provider.calls(['do+drop'], 'reservation');
    await shop.provider.lookups(['lookup500', 'lookup500', 'lookup500'], 'reservation');

    const run = await orchestrator.submit(selling, order);
    await shop.pass('6s');
    const meanwhile = (await shop.kept()).toSorted();
    await shop.pass('5m');

    expect(meanwhile).toEqual(['booking', 'reservation']);
    expect(await run.status()).toBe('compensated');
    expect((await shop.kept()).slice(2)).toEqual(['release', 'cancellation']);
  });

  test('is left out when it is proven not to have happened', async () => {
    shop = await sagaShop();
    const selling = fair(shop.trade);
    const orchestrator = await shop.open([selling]);
    await shop.provider.calls(['decline'], 'authorisation');
    await shop.provider.calls(['drop'], 'reservation');

    const run = await orchestrator.submit(selling, order);
    await shop.pass('5m');

    expect(await run.status()).toBe('compensated');
    expect(await shop.kept()).toEqual(['booking', 'cancellation']);
  });
});

describe('five branches of which three are refused at once', () => {
  test('enter the failure path once, and take back the two that succeeded', async () => {
    shop = await sagaShop();
    const { authorise, reserve, book, pay } = shop.trade;
    const selling = saga('five', { input: typed<Part>(), key: ({ input }) => input.orderId })
      .parallel('all', (branch) => ({
        one: branch.step('money', authorise, ({ input }) => input),
        two: branch.step('goods', reserve, ({ input }) => input),
        three: branch.step('courier', book, ({ input }) => input),
        four: branch.step('spare', book, ({ input }) => input),
        five: branch.step('payment', pay, ({ input }) => input),
      }))
      .step('more', pay, ({ input }) => input);
    const orchestrator = await shop.open([selling]);
    await shop.provider.calls(['decline', 'decline'], 'booking');
    await shop.provider.calls(['decline'], 'payment');
    for (const kind of ['booking', 'payment'] as const) shop.hold(kind);
    const run = await orchestrator.submit(selling, order);
    for (const kind of ['booking', 'payment'] as const) await shop.held(kind);

    for (const kind of ['booking', 'payment'] as const) shop.letGo(kind);
    await sagaReached(run, 'compensated');
    await shop.pass('5m');

    expect((await shop.kept()).toSorted()).toEqual(['authorisation', 'release', 'reservation', 'void']);
    const history = await run.history();
    const entered = history.filter(({ operation, states }) => operation === null && states?.includes('compensating'));
    expect(entered).toHaveLength(1);
    expect(history.filter(({ facts }) => facts['event'] === 'compensation.begun')).toHaveLength(2);
    expect(await now(run)).toMatchObject({ cause: { code: 'declined' } });
  });
});

describe('a person who decides that a step has failed before its success is known', () => {
  test('has the saga taken back by that; the truth is set beside it and shown, and moves nothing', async () => {
    shop = await sagaShop({ reservation: { keyRetention: 'none', lookup: 'none', isDeaf: true } });
    const selling = purchase(shop.trade);
    const orchestrator = await shop.open([selling]);
    shop.hold('reservation');
    const run = await orchestrator.submit(selling, order);
    await shop.held('reservation');
    await shop.pass('11s');
    const { id, seen } = await onlyDoubt(orchestrator);

    await orchestrator.operator.resolve(id, failed('out_of_stock'), { by: who.by, evidence: 'a call', seen });
    await sagaReached(run, 'compensated');
    const end = await now(run);
    shop.letGo('reservation');
    await shop.pass('5m');

    expect(end).toEqual({ status: 'compensated', cause: { step: 'goods', code: 'out_of_stock' } });
    expect(await now(run)).toEqual(end);
    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'void']);
    const doubt = await onlyDoubt(orchestrator);
    expect(doubt).toMatchObject({ id, state: 'failed' });
    expect(doubt.contradictedAt).not.toBeNull();
    const about = (await run.history()).filter(({ operation }) => operation?.id === id);
    expect(about.find(({ kind }) => kind === 'verdict')).toMatchObject({ facts: { by: who.by } });
    expect(about.find(({ kind }) => kind === 'evidence')).toMatchObject({ facts: { source: 'late-result' } });
  });
});
