/**
 * What a saga tells: how it ended and because of what, its story and that of its operations as one, and what a second
 * submission of it gets. Tenants never meet in any of it.
 */

import { afterEach, describe, expect, test } from 'vitest';
import { fair, fulfilment, now, order, purchase, sagaReached, sagaShop, type SagaShop } from '../support/saga-shop.ts';

let shop: SagaShop;
afterEach(() => shop.close());

const who = { by: 'the shop', reason: 'the customer changed their mind' };

describe('the result of a saga', () => {
  test('that succeeded is the outputs of its steps by name', async () => {
    shop = await sagaShop();
    const selling = purchase(shop.trade);
    const orchestrator = await shop.open([selling]);

    const run = await orchestrator.submit(selling, order);
    await sagaReached(run, 'succeeded');

    const output = { money: { id: 'authorisation_1' }, goods: { id: 'reservation_1' }, payment: { id: 'payment_1' } };
    expect(await now(run)).toEqual({ status: 'succeeded', output });
  });

  test('leaves out what was refused after the pivot and may be missing', async () => {
    shop = await sagaShop();
    const selling = fulfilment(shop.trade);
    const orchestrator = await shop.open([selling]);
    await shop.provider.calls(['decline'], 'email');

    const run = await orchestrator.submit(selling, order);
    await sagaReached(run, 'succeeded');

    const result = await now(run);
    expect(result).toMatchObject({ status: 'succeeded', output: { capture: { id: 'capture_1' } } });
    expect(result).not.toHaveProperty('output.email');
    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'booking', 'capture']);
  });

  test.each([
    { step: 'money', kind: 'authorisation', mode: 'decline', code: 'declined' },
    { step: 'goods', kind: 'reservation', mode: 'decline', code: 'declined' },
    { step: 'payment', kind: 'payment', mode: 'decline', code: 'declined' },
    { step: 'goods', kind: 'reservation', mode: 'busy409', code: 'attempts-exhausted' },
  ] as const)('names $step as what was $code', async ({ step, kind, mode, code }) => {
    shop = await sagaShop();
    const selling = purchase(shop.trade);
    const orchestrator = await shop.open([selling]);
    await shop.provider.calls([mode, mode, mode], kind);

    const run = await orchestrator.submit(selling, order);
    await shop.pass('1m');

    expect(await now(run)).toEqual({ status: 'compensated', cause: { step, code } });
  });

  test('names the first refusal where several were refused', async () => {
    shop = await sagaShop();
    const selling = fair(shop.trade);
    const orchestrator = await shop.open([selling]);
    await shop.provider.calls(['decline'], 'reservation');
    await shop.provider.calls(['decline'], 'booking');
    for (const kind of ['reservation', 'booking'] as const) shop.hold(kind);
    const run = await orchestrator.submit(selling, order);
    for (const kind of ['booking', 'reservation'] as const) {
      await shop.held(kind);
      shop.letGo(kind);
      await shop.rest();
    }

    await sagaReached(run, 'compensated');

    expect(await now(run)).toEqual({ status: 'compensated', cause: { step: 'courier', code: 'declined' } });
  });

  test('is given as soon as there is one, and tells where it stands when the time is over', async () => {
    shop = await sagaShop();
    const selling = purchase(shop.trade);
    const orchestrator = await shop.open([selling]);
    shop.hold('reservation');
    const run = await orchestrator.submit(selling, order);
    await shop.held('reservation');

    const waiting = run.result({ within: '2s' });
    await shop.clock.advance('3s');
    const early = await waiting;
    const patient = run.result({ within: '1h' });
    shop.letGo('reservation');

    expect(early).toEqual({ status: 'in-progress' });
    expect(await patient).toMatchObject({ status: 'succeeded' });
  });
});

describe('the history of a saga', () => {
  test('tells of it and of its operations as one story, in the order of what happened', async () => {
    shop = await sagaShop();
    const selling = purchase(shop.trade);
    const orchestrator = await shop.open([selling]);
    await shop.provider.calls(['decline'], 'payment');

    const run = await orchestrator.submit(selling, order);
    await sagaReached(run, 'compensated');

    const story = (await run.history())
      .filter(({ kind }) => kind === 'start' || kind === 'end')
      .map(({ kind, operation, facts }) => [kind, operation?.action, facts['outcome']].filter(Boolean).join(' '));
    expect(story.filter((line) => line.startsWith('start'))).toEqual([
      'start payment.authorise',
      'start stock.reserve',
      'start payment.take',
      'start stock.release',
      'start payment.void',
    ]);
    expect(story.filter((line) => line.startsWith('end'))).toEqual([
      'end payment.authorise succeeded',
      'end stock.reserve succeeded',
      'end payment.take failed',
      'end stock.release succeeded',
      'end payment.void succeeded',
    ]);
    const own = (await run.history()).filter(({ operation }) => operation === null);
    expect(own.map(({ revision }) => revision)).toEqual([1, 2, 3, 4, 6]);
    expect(own.map(({ states }) => states)).toEqual([
      ['money'],
      ['goods'],
      ['payment'],
      ['compensating'],
      ['compensated'],
    ]);
  });
});

describe('a saga that is submitted again', () => {
  test('while it is under way is joined', async () => {
    shop = await sagaShop();
    const selling = purchase(shop.trade);
    const orchestrator = await shop.open([selling]);
    shop.hold('reservation');
    const run = await orchestrator.submit(selling, order);
    await shop.held('reservation');

    const again = await orchestrator.submit(selling, order);
    shop.letGo('reservation');
    await sagaReached(again, 'succeeded');

    expect([run.submission, again.submission]).toEqual(['new', 'joined']);
    expect(again.id).toBe(run.id);
    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'payment']);
  });

  test('fifty times at once is carried out once', async () => {
    shop = await sagaShop();
    const selling = purchase(shop.trade);
    const orchestrator = await shop.open([selling]);

    const runs = await Promise.all(Array.from({ length: 50 }, () => orchestrator.submit(selling, order)));
    await sagaReached(runs[0] ?? orchestratorFailed(), 'succeeded');

    expect(runs.filter(({ submission }) => submission === 'new')).toHaveLength(1);
    expect(new Set(runs.map(({ id }) => id)).size).toBe(1);
    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'payment']);
  });

  test.each(['succeeded', 'compensated'] as const)(
    'after it has %s is replayed, by the next process too',
    async (end) => {
      shop = await sagaShop();
      const selling = purchase(shop.trade);
      const orchestrator = await shop.open([selling]);
      if (end === 'compensated') await shop.provider.calls(['decline'], 'payment');
      const run = await orchestrator.submit(selling, order);
      await sagaReached(run, end);
      const [result, kept] = [await now(run), await shop.kept()];
      await orchestrator.stop();
      const second = await shop.open([selling]);

      const again = await second.submit(selling, order);
      await shop.pass('5m');

      expect(again.submission).toBe('replayed');
      expect(await now(again)).toEqual(result);
      expect(await shop.kept()).toEqual(kept);
    },
  );

  test('with another input is a conflict, and nothing is sent for it', async () => {
    shop = await sagaShop();
    const selling = purchase(shop.trade);
    const orchestrator = await shop.open([selling]);
    const run = await orchestrator.submit(selling, order);
    await sagaReached(run, 'succeeded');

    const other = orchestrator.submit(selling, { ...order, of: 'another basket' });

    await expect(other).rejects.toMatchObject({ code: 'IDEMPOTENCY_CONFLICT', facts: { paths: ['of'] } });
    expect(await shop.provider.received()).toHaveLength(3);
  });
});

function orchestratorFailed(): never {
  throw new Error('Nothing was submitted.');
}

describe('sagas of two tenants with the same order', () => {
  test('never meet: each has its own effects, end, history and cancellation', async () => {
    shop = await sagaShop();
    const selling = purchase(shop.trade);
    const first = await shop.open([selling]);
    await shop.provider.calls(['decline'], 'payment');
    const run = await first.submit(selling, order);
    await sagaReached(run, 'compensated');
    await first.stop();
    const second = await shop.open([selling], { tenant: 'shop-2' });

    const other = await second.submit(selling, order);
    await sagaReached(other, 'succeeded');

    expect(other.submission).toBe('new');
    expect(other.id).not.toBe(run.id);
    expect(await shop.kept()).toEqual([
      ...['authorisation', 'reservation', 'release', 'void'],
      ...['authorisation', 'reservation', 'payment'],
    ]);
    const keys = (await shop.provider.records()).map(({ key }) => key);
    expect(new Set(keys).size).toBe(keys.length);
    await expect(second.sagaRun(run.id)).rejects.toMatchObject({ code: 'SAGA_NOT_FOUND' });
    await expect(second.cancel(run.id, who)).rejects.toMatchObject({ code: 'SAGA_NOT_FOUND' });
    await expect(second.operator.terminate(run.id, who)).rejects.toMatchObject({ code: 'SAGA_NOT_FOUND' });
    await expect(second.signal(run.id, { type: 'approved' }, { eventId: 'event-1' })).rejects.toMatchObject({
      code: 'SAGA_NOT_FOUND',
    });
  });
});
