/**
 * What a saga names as its own is no other saga's until it has settled: whoever wants it meanwhile is refused, with the
 * holder named, and nothing of theirs is begun. The provider's records are the proof.
 */

import { afterEach, describe, expect, test } from 'vitest';
import { isSagacityError, saga, typed } from 'sagacity';
import { order, type Part, sagaReached, sagaShop, type SagaShop, type Trade } from '../support/saga-shop.ts';

let shop: SagaShop;
afterEach(() => shop.close());

interface Change extends Part {
  readonly customer: string;
}

const first: Change = { orderId: 'order-1', customer: 'customer-9' };
const second: Change = { orderId: 'order-2', customer: 'customer-9' };
const other: Change = { orderId: 'order-3', customer: 'customer-5' };

/** Takes money, of one order of a customer at a time. */
function billing({ pay, reserve }: Trade) {
  return saga('billing', {
    input: typed<Change>(),
    key: ({ input }) => input.orderId,
    lock: ({ input }) => [`customer ${input.customer}`, `order ${input.orderId}`],
  })
    .step('goods', reserve, ({ input: { orderId } }) => ({ orderId }))
    .step('payment', pay, ({ input: { orderId } }) => ({ orderId }));
}

async function open() {
  shop = await sagaShop();
  const selling = billing(shop.trade);
  const orchestrator = await shop.open([selling]);
  return { selling, orchestrator };
}

describe('a saga that wants what another one has', () => {
  test('is refused with the holder named, and does nothing', async () => {
    const { selling, orchestrator } = await open();
    shop.hold('payment');
    const holder = await orchestrator.submit(selling, first);
    await shop.held('payment');

    const refused = orchestrator.submit(selling, second);

    await expect(refused).rejects.toMatchObject({
      code: 'RESOURCE_LOCKED',
      message: expect.stringMatching(/customer customer-9 \(held by /),
      facts: { saga: 'billing', key: 'order-2', holders: { 'customer customer-9': holder.id } },
    });
    expect(await shop.kept('order-2')).toEqual([]);
    await expect(orchestrator.sagaRun({ saga: selling, key: 'order-2' })).rejects.toMatchObject({
      code: 'SAGA_NOT_FOUND',
    });
  });

  test('is not refused once the holder has settled', async () => {
    const { selling, orchestrator } = await open();
    await sagaReached(await orchestrator.submit(selling, first), 'succeeded');

    const run = await orchestrator.submit(selling, second);
    await sagaReached(run, 'succeeded');

    expect(await shop.kept('order-2')).toEqual(['reservation', 'payment']);
  });

  test('has to wait until all that the holder did has been taken back', async () => {
    const { selling, orchestrator } = await open();
    await shop.provider.calls(['decline'], 'payment');
    shop.hold('release');
    const holder = await orchestrator.submit(selling, first);
    await shop.held('release');

    const meanwhile = await orchestrator.submit(selling, second).catch((error: unknown) => error);
    shop.letGo('release');
    await sagaReached(holder, 'compensated');
    const run = await orchestrator.submit(selling, second);
    await sagaReached(run, 'succeeded');

    expect(isSagacityError(meanwhile, 'RESOURCE_LOCKED')).toBe(true);
    expect(await shop.kept('order-1')).toEqual(['reservation', 'release']);
  });

  test('is the holder itself when it is submitted again', async () => {
    const { selling, orchestrator } = await open();
    shop.hold('payment');
    const holder = await orchestrator.submit(selling, first);
    await shop.held('payment');

    const again = await orchestrator.submit(selling, first);

    expect(again).toMatchObject({ id: holder.id, submission: 'joined' });
  });

  test('takes what it does not share with anybody, also in another tenant', async () => {
    const { selling, orchestrator } = await open();
    shop.hold('payment');
    await orchestrator.submit(selling, first);
    await shop.held('payment');
    const elsewhere = await shop.open([selling], { tenant: 'shop-2' });

    const runs = [await orchestrator.submit(selling, other), await elsewhere.submit(selling, second)];

    expect(runs.map(({ submission }) => submission)).toEqual(['new', 'new']);
  });
});

describe('of twenty sagas that want the same at once', () => {
  test('one begins, and nineteen name it', async () => {
    const { selling, orchestrator } = await open();
    shop.hold('payment');
    const orders = Array.from({ length: 20 }, (_, n) => ({ orderId: `order-${n}`, customer: 'customer-9' }));

    const answers = await Promise.allSettled(orders.map((one) => orchestrator.submit(selling, one)));
    await shop.held('payment');

    const begun = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value.id] : []));
    const named = answers.flatMap((answer) =>
      answer.status === 'rejected' && isSagacityError(answer.reason, 'RESOURCE_LOCKED')
        ? Object.values(answer.reason.facts['holders'] ?? {})
        : [],
    );
    expect(begun).toHaveLength(1);
    expect(named).toEqual(Array.from({ length: 19 }, () => begun[0]));
    expect(await shop.provider.records()).toHaveLength(2);
  });
});

describe('a lock that is none', () => {
  test.each([
    { given: [''], says: /lock is empty/, code: 'INPUT_INVALID' },
    { given: [7], says: /lock must be a string/, code: 'INPUT_INVALID' },
    { given: 'customer-9', says: /gives no list/, code: 'DEFINITION_INVALID' },
  ])('$given is refused, and nothing is begun', async ({ given, says, code }) => {
    shop = await sagaShop();
    const selling = saga('odd', {
      input: typed<Part>(),
      key: ({ input }) => input.orderId,
      // Nobody with a compiler could write it.
      lock: () => given as never,
    }).step('goods', shop.trade.reserve, ({ input }) => input);
    const orchestrator = await shop.open([selling]);

    const refused = orchestrator.submit(selling, order);

    await expect(refused).rejects.toMatchObject({ code, message: expect.stringMatching(says) });
    expect(await shop.kept()).toEqual([]);
  });

  test('is that of a saga that is a step: it is refused where it is registered', async () => {
    shop = await sagaShop();
    const outer = saga('outer', { input: typed<Change>(), key: ({ input }) => input.orderId }).step(
      'bill',
      billing(shop.trade),
      ({ input }) => input,
    );

    await expect(shop.open([outer])).rejects.toThrow(
      /Step bill of saga outer is begun with version 1 of billing, which has a lock/,
    );
  });

  test('is refused where it is defined', () => {
    const odd = { input: typed<Part>(), key: () => 'key', lock: ['customer-9'] };

    // Nobody with a compiler could write it.
    expect(() => saga('odd', odd as never)).toThrow(/lock of saga odd is of the wrong kind/);
  });
});

describe('what a saga holds', () => {
  test('is free after it was ended as it stood', async () => {
    const { selling, orchestrator } = await open();
    shop.hold('reservation');
    const holder = await orchestrator.submit(selling, first);
    await shop.held('reservation');

    await orchestrator.operator.terminate(holder.id, { by: 'the shop', reason: 'a test' });
    const meanwhile = await orchestrator.submit(selling, second).catch((error: unknown) => error);
    shop.letGo('reservation');
    await sagaReached(holder, 'terminated');
    const run = await orchestrator.submit(selling, second);

    expect(isSagacityError(meanwhile, 'RESOURCE_LOCKED')).toBe(true);
    expect(run.submission).toBe('new');
  });
});
