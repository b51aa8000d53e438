/**
 * What a saga takes back: whatever is proven to have succeeded and has an inverse, the last to settle first, each by an
 * operation of its own. What failed is not taken back, what is declared to need nothing is left, nothing is taken back
 * twice, and nothing while it is open how another one ended. The provider's records are the proof.
 */

import { afterEach, describe, expect, test } from 'vitest';
import { saga, succeeded, typed } from 'sagacity';
import {
  fair,
  fulfilment,
  now,
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

describe('a saga whose pivot was refused', () => {
  test('takes back every step before it by its inverse, the last one first, and nothing else', async () => {
    shop = await sagaShop();
    const selling = fulfilment(shop.trade);
    const orchestrator = await shop.open([selling]);
    await shop.provider.calls(['decline'], 'capture');

    const run = await orchestrator.submit(selling, order);
    await sagaReached(run, 'compensated');
    await shop.pass('10m');

    const taken = ['authorisation', 'reservation', 'booking'];
    expect(await shop.kept()).toEqual([...taken, 'cancellation', 'release', 'void']);
    expect(await now(run)).toEqual({ status: 'compensated', cause: { step: 'capture', code: 'declined' } });
    const actions = (await run.history())
      .filter(({ kind }) => kind === 'start')
      .map(({ operation }) => operation?.action);
    expect(actions.slice(-3)).toEqual(['courier.cancel', 'stock.release', 'payment.void']);
  });
});

describe('a saga with steps that were taken at the same time', () => {
  test('takes them back in the reverse order of their ends, not of their beginnings', async () => {
    shop = await sagaShop();
    const selling = fair(shop.trade);
    const orchestrator = await shop.open([selling]);
    for (const kind of ['authorisation', 'reservation', 'booking'] as const) shop.hold(kind);
    await shop.provider.calls(['decline'], 'payment');

    const run = await orchestrator.submit(selling, order);
    for (const kind of ['booking', 'authorisation', 'reservation'] as const) {
      await shop.held(kind);
      shop.letGo(kind);
      await shop.rest();
    }
    await sagaReached(run, 'compensated');

    expect((await shop.kept()).slice(3)).toEqual(['release', 'void', 'cancellation']);
  });

  test('takes them back one after the other', async () => {
    shop = await sagaShop();
    const selling = fair(shop.trade);
    const orchestrator = await shop.open([selling]);
    const inverses = ['void', 'release', 'cancellation'] as const;
    for (const kind of inverses) shop.hold(kind);
    await shop.provider.calls(['decline'], 'payment');

    const run = await orchestrator.submit(selling, order);
    await sagaReached(run, 'compensating');
    await shop.pass('5s');
    const meanwhile = await shop.kept();
    for (const kind of inverses) shop.letGo(kind);
    await sagaReached(run, 'compensated');

    expect(meanwhile).toHaveLength(4);
    expect((await shop.kept()).slice(3).toSorted()).toEqual(inverses.toSorted());
  });

  test('takes them back all at once where that is asked for', async () => {
    shop = await sagaShop();
    const selling = fair(shop.trade, { compensation: 'parallel' });
    const orchestrator = await shop.open([selling]);
    const inverses = ['void', 'release', 'cancellation'] as const;
    for (const kind of inverses) shop.hold(kind);
    await shop.provider.calls(['decline'], 'payment');

    const run = await orchestrator.submit(selling, order);
    await sagaReached(run, 'compensating');
    await Promise.all(inverses.map((kind) => shop.held(kind)));
    const meanwhile = await run.status();
    for (const kind of inverses) shop.letGo(kind);
    await sagaReached(run, 'compensated');

    expect(meanwhile).toBe('compensating');
    expect((await shop.kept()).slice(3).toSorted()).toEqual(inverses.toSorted());
  });
});

describe('a step that is declared to need no inverse', () => {
  test('is left as it is, and the others are taken back', async () => {
    shop = await sagaShop();
    const { authorise, invoice, reserve } = shop.trade;
    const selling = saga('billing', { input: typed<Part>(), key: ({ input }) => input.orderId })
      .step('money', authorise, ({ input }) => input)
      .step('paper', invoice, ({ input }) => input)
      .step('goods', reserve, ({ input }) => input);
    const orchestrator = await shop.open([selling]);
    await shop.provider.calls(['decline'], 'reservation');

    const run = await orchestrator.submit(selling, order);
    await sagaReached(run, 'compensated');
    await shop.pass('10m');

    expect(await shop.kept()).toEqual(['authorisation', 'invoice', 'void']);
  });
});

describe('a step that failed', () => {
  test('is not taken back', async () => {
    shop = await sagaShop();
    const selling = purchase(shop.trade);
    const orchestrator = await shop.open([selling]);
    await shop.provider.calls(['decline'], 'reservation');

    const run = await orchestrator.submit(selling, order);
    await sagaReached(run, 'compensated');
    await shop.pass('10m');

    expect(await shop.kept()).toEqual(['authorisation', 'void']);
    expect(await shop.provider.received({ kind: 'release' })).toEqual([]);
  });

  test('as the first one ends the saga as compensated, with nothing taken back', async () => {
    shop = await sagaShop();
    const selling = purchase(shop.trade);
    const orchestrator = await shop.open([selling]);
    await shop.provider.calls(['decline'], 'authorisation');

    const run = await orchestrator.submit(selling, order);
    await sagaReached(run, 'compensated');
    await shop.pass('10m');

    expect(await now(run)).toEqual({ status: 'compensated', cause: { step: 'money', code: 'declined' } });
    expect(await shop.provider.received()).toHaveLength(1);
  });
});

describe('a saga that is to be taken back while nobody knows how one of its steps ended', () => {
  test('waits for three look-ups that prove nothing, and takes it back when the fourth finds it', async () => {
    shop = await sagaShop();
    const selling = purchase(shop.trade);
    const orchestrator = await shop.open([selling]);
    await shop.provider.calls(['do+drop'], 'reservation');
    await shop.provider.lookups(['lookup500', 'lookup500', 'lookup500'], 'reservation');

    const run = await orchestrator.submit(selling, order);
    await shop.rest();
    await orchestrator.cancel(run.id, who);
    await shop.pass('6s');
    const meanwhile = { status: await run.status(), kept: await shop.kept() };
    await shop.pass('10m');

    expect(meanwhile).toEqual({ status: 'compensating', kept: ['authorisation', 'reservation'] });
    expect(await run.status()).toBe('compensated');
    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'release', 'void']);
    expect((await run.history()).filter(({ kind }) => kind === 'lookup')).toHaveLength(4);
  });

  test('leaves it out when it is proven absent, and does not send it again', async () => {
    shop = await sagaShop({ reservation: { keyRetention: 'none', lookup: { arrivalLimit: '1m' } } });
    const selling = purchase(shop.trade);
    const orchestrator = await shop.open([selling]);
    await shop.provider.calls(['drop'], 'reservation');
    await shop.provider.lookups(['lookup500', 'lookup500', 'lookup500'], 'reservation');

    const run = await orchestrator.submit(selling, order);
    await shop.rest();
    await orchestrator.cancel(run.id, who);
    await shop.pass('10m');

    expect(await run.status()).toBe('compensated');
    expect(await shop.kept()).toEqual(['authorisation', 'void']);
    expect(
      (await shop.provider.received({ kind: 'reservation' })).filter(({ method }) => method === 'POST'),
    ).toHaveLength(1);
    expect(await shop.provider.received({ kind: 'release' })).toEqual([]);
  });

  test('asks a person when it cannot be found out, and goes on with what they say', async () => {
    shop = await sagaShop({ reservation: { keyRetention: 'none', lookup: 'none' } });
    const selling = purchase(shop.trade);
    const orchestrator = await shop.open([selling]);
    await shop.provider.calls(['do+drop'], 'reservation');

    const run = await orchestrator.submit(selling, order);
    await sagaReached(run, 'escalated');
    await orchestrator.cancel(run.id, who);
    await shop.pass('10m');
    const meanwhile = { result: await now(run), kept: await shop.kept() };
    const [doubt] = await orchestrator.operator.doubts();
    await orchestrator.operator.resolve(doubt?.id ?? '', succeeded({ id: 'reservation_1' }), {
      ...{ by: who.by, evidence: 'the warehouse shows it', seen: doubt?.seen ?? '' },
    });
    await sagaReached(run, 'compensated');

    const cause = { step: null, code: 'cancelled' };
    expect(meanwhile).toEqual({
      result: { status: 'escalated', reason: 'no-lookup', cause },
      kept: ['authorisation', 'reservation'],
    });
    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'release', 'void']);
  });
});

describe('a saga whose compensation fails', () => {
  test('keeps why it was taken back beside why it could not be', async () => {
    shop = await sagaShop();
    const selling = purchase(shop.trade);
    const orchestrator = await shop.open([selling]);
    await shop.provider.calls(['decline'], 'reservation');
    await shop.provider.calls(['decline'], 'void');

    const run = await orchestrator.submit(selling, order);
    await sagaReached(run, 'escalated');

    const cause = { step: 'goods', code: 'declined' };
    expect(await now(run)).toEqual({ status: 'escalated', reason: 'inverse-failed', cause });
    const refusal = (await run.history()).findLast(({ facts }) => facts['event'] === 'compensation.refused');
    expect(refusal).toMatchObject({ operation: { action: 'payment.authorise' }, facts: { code: 'declined' } });
  });
});
