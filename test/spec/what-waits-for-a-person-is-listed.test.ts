/**
 * A saga that is escalated by itself has no operation in doubt, and the list of doubts says nothing of it. The list of
 * escalated sagas does: why, since when, where its chart stands and what the person needs to know. What they decided, or
 * what was mended, leaves it.
 */

import { afterEach, describe, expect, test } from 'vitest';
import { type EscalatedSaga, saga, succeeded, typed } from 'sagacity';
import { onlyDoubt, order, type Part, purchase, sagaReached, sagaShop, type SagaShop } from '../support/saga-shop.ts';
import { heldUp } from '../support/shared-reservation.ts';

let shop: SagaShop;
afterEach(() => shop.close());

const who = { by: 'the shop', reason: 'the customer waits' };
const identity = { input: typed<Part>(), key: ({ input }: { input: Part }) => input.orderId };

describe('a saga whose step was refused after its pivot', () => {
  test('is listed with where it stands, and gone once a person has stated the output', async () => {
    shop = await sagaShop();
    const { capture, email } = shop.trade;
    const selling = saga('sale', identity)
      .pivot('capture', capture, ({ input }) => input)
      .step('email', email, ({ input }) => input);
    const orchestrator = await shop.open([selling]);
    await shop.provider.calls(['decline'], 'email');
    const run = await orchestrator.submit(selling, order);
    await sagaReached(run, 'escalated');

    const listed = await orchestrator.operator.escalatedSagas();
    const stated = succeeded({ id: 'by phone' });
    await orchestrator.operator.resolveStep(run.id, stated, { by: who.by, evidence: 'a call' });
    await sagaReached(run, 'succeeded');

    expect(listed).toEqual([
      {
        ...{ id: run.id, tenant: 'shop-1', saga: 'sale', version: 1, key: 'order-17', reason: 'step-failed' },
        ...{ since: expect.any(Date), dueAt: null, states: 'email failed', cause: null, fault: null, heldBy: [] },
      },
    ]);
    expect(await orchestrator.operator.doubts()).toEqual([]);
    expect(await orchestrator.operator.escalatedSagas()).toEqual([]);
  });
});

describe('a saga whose definition is at fault', () => {
  const odd = (isOdd: boolean) => {
    const { authorise, reserve } = shop.trade;
    return saga('odd', identity)
      .step('money', authorise, ({ input }) => input)
      .step('goods', reserve, ({ input }) => {
        if (isOdd) throw new Error('the order has no lines');
        return input;
      });
  };

  test('is listed with what it threw and when it is tried again, and gone once it is mended', async () => {
    shop = await sagaShop();
    const selling = odd(true);
    const first = await shop.open([selling]);
    const run = await first.submit(selling, order);
    await sagaReached(run, 'escalated');
    const [listed] = await first.operator.escalatedSagas();
    await first.stop();

    const second = await shop.open([odd(false)]);
    await shop.pass('61s');

    expect(listed).toMatchObject({
      ...{ id: run.id, reason: 'definition-fault', states: 'money', fault: expect.stringMatching(/has no lines/) },
    });
    expect((listed?.dueAt?.getTime() ?? 0) - (listed?.since.getTime() ?? 0)).toBe(60_000);
    expect(JSON.stringify(listed)).not.toContain('orderId');
    expect(await second.operator.escalatedSagas()).toEqual([]);
    expect(await shop.kept()).toEqual(['authorisation', 'reservation']);
  });

  test('is gone when a person has ended it as it stands', async () => {
    shop = await sagaShop();
    const selling = odd(true);
    const orchestrator = await shop.open([selling]);
    const run = await orchestrator.submit(selling, order);
    await sagaReached(run, 'escalated');

    await orchestrator.operator.terminate(run.id, who);

    expect(await orchestrator.operator.escalatedSagas()).toEqual([]);
  });
});

describe('a saga that has to take back what an open saga has joined', () => {
  test('is listed with that saga, and gone once a person has ended that one', async () => {
    shop = await sagaShop({ reservation: { isShared: true } });
    const { orchestrator, owner, joiner } = await heldUp(shop);

    const listed = await orchestrator.operator.escalatedSagas();
    await orchestrator.operator.terminate(joiner.id, who);
    shop.letGo('booking');
    await sagaReached(joiner, 'terminated');
    await shop.pass('10s');

    expect(listed).toMatchObject([
      {
        ...{ id: owner.id, reason: 'joined', heldBy: [joiner.id], dueAt: expect.any(Date) },
        cause: { step: 'payment', code: 'declined' },
      },
    ]);
    expect(await orchestrator.operator.escalatedSagas()).toEqual([]);
    expect(await owner.status()).toBe('compensated');
  });
});

describe('a saga with an operation that a person is asked about', () => {
  test('is listed with its reason, beside that operation among the doubts', async () => {
    shop = await sagaShop({ reservation: { keyRetention: 'none', lookup: 'none' } });
    const selling = purchase(shop.trade);
    const orchestrator = await shop.open([selling]);
    await shop.provider.calls(['drop'], 'reservation');
    const run = await orchestrator.submit(selling, order);
    await sagaReached(run, 'escalated');

    const listed = await orchestrator.operator.escalatedSagas();

    expect(listed).toMatchObject([{ id: run.id, reason: 'no-lookup', dueAt: null }]);
    expect(await onlyDoubt(orchestrator)).toMatchObject({ action: 'stock.reserve', reason: 'no-lookup' });
  });
});

describe('the list of escalated sagas', () => {
  test('is read page by page, longest first, and is of one tenant', async () => {
    shop = await sagaShop({ payment: { isRefused: true } });
    const selling = saga('sale', identity)
      .pivot('capture', shop.trade.capture, ({ input }) => input)
      .step('payment', shop.trade.pay, ({ input }) => input);
    const orchestrator = await shop.open([selling]);
    const other = await shop.open([selling], { tenant: 'shop-2' });
    for (const orderId of ['order-1', 'order-2', 'order-3']) {
      await sagaReached(await orchestrator.submit(selling, { orderId }), 'escalated');
      await shop.pass('1s');
    }

    const page = await orchestrator.operator.escalatedSagas({ limit: 2 });
    const [, last] = page;
    const rest = await orchestrator.operator.escalatedSagas({ ...(last === undefined ? {} : { after: last }) });

    expect([...page, ...rest].map(({ key }) => key)).toEqual(['order-1', 'order-2', 'order-3']);
    expect(await other.operator.escalatedSagas()).toEqual([]);
  });

  test.each<[string, object]>([
    ['no entries', { limit: 0 }],
    ['more than a thousand', { limit: 1_001 }],
    ['what comes after no id', { after: { tenant: 'shop-1', id: '\0', since: new Date() } }],
    ['what comes after no time', { after: { tenant: 'shop-1', id: 'sg_1' } }],
    ['what comes after a time that is none', { after: { tenant: 'shop-1', id: 'sg_1', since: new Date('soon') } }],
  ])('refuses a page of %s', async (_, query) => {
    shop = await sagaShop();
    const orchestrator = await shop.open([purchase(shop.trade)]);

    const asking: Promise<readonly EscalatedSaga[]> = orchestrator.operator.escalatedSagas(query);

    await expect(asking).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  });
});
