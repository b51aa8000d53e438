/**
 * An inverse is an operation like any other: its reply can be lost, it can be refused, and it can be given up on. It is
 * found out, or handed to a person, and the saga goes on from there; it never makes a second effect, and the others are
 * taken back all the same.
 */

import { afterEach, describe, expect, test } from 'vitest';
import { notApplied } from 'sagacity';
import { mortal } from '../support/mortal-store.ts';
import { fair, now, onlyDoubt, order, purchase, sagaReached, sagaShop, type SagaShop } from '../support/saga-shop.ts';

let shop: SagaShop;
afterEach(() => shop.close());

const decision = { by: 'the shop', evidence: 'a look at the provider' };

describe('a compensation whose reply is lost', () => {
  test.each([
    { became: 'and was applied is found, and not sent again', call: 'do+drop', sent: 1 },
    { became: 'and was not applied is sent again under its key', call: 'drop', sent: 2 },
  ] as const)('$became', async ({ call, sent }) => {
    shop = await sagaShop();
    const selling = purchase(shop.trade);
    const orchestrator = await shop.open([selling]);
    await shop.provider.calls(['decline'], 'payment');
    await shop.provider.calls([call], 'release');

    const run = await orchestrator.submit(selling, order);
    await shop.pass('5m');

    expect(await now(run)).toEqual({ status: 'compensated', cause: { step: 'payment', code: 'declined' } });
    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'release', 'void']);
    const posts = (await shop.provider.received({ kind: 'release' })).filter(({ method }) => method === 'POST');
    expect(posts).toHaveLength(sent);
    expect(new Set(posts.map(({ key }) => key)).size).toBe(1);
  });
});

describe('a compensation that is refused', () => {
  async function refused() {
    shop = await sagaShop();
    const selling = purchase(shop.trade);
    const orchestrator = await shop.open([selling]);
    await shop.provider.calls(['decline'], 'payment');
    await shop.provider.calls(['decline'], 'release');
    const run = await orchestrator.submit(selling, order);
    await sagaReached(run, 'escalated');
    await shop.pass('10m');
    return { orchestrator, run, doubt: await onlyDoubt(orchestrator) };
  }

  test('asks a person about the effect that stands, with both causes, and nothing else is taken back meanwhile', async () => {
    const { run, doubt } = await refused();

    const cause = { step: 'payment', code: 'declined' };
    expect(await now(run)).toEqual({ status: 'escalated', reason: 'inverse-failed', cause });
    expect(doubt).toMatchObject({ action: 'stock.reserve', state: 'escalated', reason: 'inverse-failed' });
    expect(await shop.kept()).toEqual(['authorisation', 'reservation']);
  });

  test.each(['taken-back', 'left-standing'] as const)(
    'and %s by a person is over, and the others are taken back',
    async (effect) => {
      const { orchestrator, run, doubt } = await refused();

      await orchestrator.operator.resolve(doubt.id, effect, { ...decision, seen: doubt.seen });
      await sagaReached(run, 'compensated');
      await shop.pass('10m');

      expect(await now(run)).toEqual({ status: 'compensated', cause: { step: 'payment', code: 'declined' } });
      expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'void']);
      expect(await orchestrator.operator.doubts()).toEqual([]);
    },
  );

  test('does not keep the others from being taken back where all are at once', async () => {
    shop = await sagaShop();
    const selling = fair(shop.trade, { compensation: 'parallel' });
    const orchestrator = await shop.open([selling]);
    await shop.provider.calls(['decline'], 'payment');
    await shop.provider.calls(['decline'], 'release');

    const run = await orchestrator.submit(selling, order);
    await shop.pass('1m');

    expect(await run.status()).toBe('escalated');
    expect((await shop.kept()).slice(3).toSorted()).toEqual(['cancellation', 'void']);
  });
});

describe('a compensation that has no attempts left', () => {
  test('asks a person for another one, and has its effect with that', async () => {
    shop = await sagaShop({ release: { attempts: 2 } });
    const selling = purchase(shop.trade);
    const orchestrator = await shop.open([selling]);
    await shop.provider.calls(['decline'], 'payment');
    await shop.provider.calls(['busy409', 'busy409'], 'release');

    const run = await orchestrator.submit(selling, order);
    await shop.pass('10m');
    const meanwhile = await now(run);
    const doubt = await onlyDoubt(orchestrator);
    await orchestrator.operator.resolve(doubt.id, notApplied('it was busy'), { ...decision, seen: doubt.seen });
    await shop.pass('10m');

    const cause = { step: 'payment', code: 'declined' };
    expect(meanwhile).toEqual({ status: 'escalated', reason: 'inverse-failed', cause });
    expect(doubt).toMatchObject({ action: 'stock.release', state: 'escalated' });
    expect(await now(run)).toEqual({ status: 'compensated', cause });
    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'release', 'void']);
  });
});

describe('a compensation whose process dies', () => {
  test('after the provider has acted is found by the next one, which goes on with the others', async () => {
    shop = await sagaShop();
    const selling = purchase(shop.trade);
    // Born, three ends, and no end of the first inverse.
    const dying = mortal(shop.store, { side: 'before', write: 5 });
    const first = await shop.open([selling], { store: dying });
    await shop.provider.calls(['decline'], 'payment');
    const run = await first.submit(selling, order);
    await shop.rest();
    const left = await shop.kept();

    const second = await shop.open([selling]);
    await shop.pass('5m');

    expect(dying.isDead).toBe(true);
    expect(left).toEqual(['authorisation', 'reservation', 'release']);
    expect(await now(await second.sagaRun({ saga: selling, key: 'order-17' }))).toEqual({
      status: 'compensated',
      cause: { step: 'payment', code: 'declined' },
    });
    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'release', 'void']);
    expect(run.id).toBe((await second.sagaRun({ saga: selling, key: 'order-17' })).id);
  });
});
