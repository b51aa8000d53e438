/**
 * A saga takes one of several branches, by what is known when it comes there: the others do nothing, and whatever was
 * taken is taken back like any other step. The provider's records are the proof.
 */

import { afterEach, describe, expect, test } from 'vitest';
import { saga, typed } from 'sagacity';
import { mortal } from '../support/mortal-store.ts';
import { now, order, type Part, sagaReached, sagaShop, type SagaShop } from '../support/saga-shop.ts';
import { until } from '../support/world.ts';

let shop: SagaShop;
afterEach(() => shop.close());

type Way = 'shelf' | 'courier' | 'nothing';

/** Authorise, then take goods from the shelf or book a courier and write an invoice, or nothing of it; then pay. */
function selling({ authorise, reserve, book, invoice, pay }: SagaShop['trade'], pick: () => Way) {
  return saga('selling', { input: typed<Part>(), key: ({ input }) => input.orderId })
    .step('money', authorise, ({ input }) => input)
    .choose('delivery', pick, (branch) => ({
      shelf: branch.step('goods', reserve, ({ input, money }) => ({ ...input, of: money.id })),
      courier: branch
        .step('trip', book, ({ input }) => input)
        .step('bill', invoice, ({ input, trip }) => ({ ...input, of: trip.id })),
      nothing: branch,
    }))
    .step('payment', pay, ({ input, goods, trip }) => ({ ...input, of: goods?.id ?? trip?.id ?? 'nothing' }));
}

describe('a saga that chooses', () => {
  test.each<[Way, readonly string[], readonly string[]]>([
    ['shelf', ['authorisation', 'reservation', 'payment'], ['goods', 'money', 'payment']],
    ['courier', ['authorisation', 'booking', 'invoice', 'payment'], ['bill', 'money', 'payment', 'trip']],
    ['nothing', ['authorisation', 'payment'], ['money', 'payment']],
  ])('takes the branch %s and no other', async (way, kept, outputs) => {
    shop = await sagaShop();
    const definition = selling(shop.trade, () => way);
    const orchestrator = await shop.open([definition]);
    const run = await orchestrator.submit(definition, order);
    await sagaReached(run, 'succeeded');

    const end = await now(run);

    expect(await shop.kept()).toEqual(kept);
    expect(end.status === 'succeeded' && Object.keys(end.output).toSorted()).toEqual(outputs);
  });

  test('takes back what the branch did, and nothing of the others', async () => {
    shop = await sagaShop({ payment: { isRefused: true } });
    const definition = selling(shop.trade, () => 'courier');
    const orchestrator = await shop.open([definition]);
    const run = await orchestrator.submit(definition, order);
    await sagaReached(run, 'compensated');

    expect(await now(run)).toMatchObject({ cause: { step: 'payment', code: 'declined' } });
    // Nothing takes an invoice back.
    expect(await shop.kept()).toEqual(['authorisation', 'booking', 'invoice', 'cancellation', 'void']);
  });

  test('takes everything back when a step of the branch is refused', async () => {
    shop = await sagaShop({ reservation: { isRefused: true } });
    const definition = selling(shop.trade, () => 'shelf');
    const orchestrator = await shop.open([definition]);
    const run = await orchestrator.submit(definition, order);
    await sagaReached(run, 'compensated');

    expect(await now(run)).toMatchObject({ cause: { step: 'goods', code: 'declined' } });
    expect(await shop.kept()).toEqual(['authorisation', 'void']);
  });

  test('is cancelled in the middle of a branch', async () => {
    shop = await sagaShop();
    const definition = selling(shop.trade, () => 'shelf');
    const orchestrator = await shop.open([definition]);
    shop.hold('reservation');
    const run = await orchestrator.submit(definition, order);
    await shop.held('reservation');

    const cancelling = orchestrator.cancel(run.id, { by: 'the shop', reason: 'out of stock' });
    await shop.rest();
    shop.letGo('reservation');
    await shop.pass('1m');
    await cancelling;

    expect(await now(run)).toMatchObject({ status: 'compensated', cause: { step: null, code: 'cancelled' } });
    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'release', 'void']);
  });

  test('goes on with the branch it has taken after a crash, whatever would be chosen by then', async () => {
    shop = await sagaShop();
    let way: Way = 'courier';
    const definition = selling(shop.trade, () => way);
    // The second write ends the first step and begins the branch.
    const store = mortal(shop.store, { side: 'after', write: 2 });
    const doomed = await shop.open([definition], { store });
    const { id } = await doomed.submit(definition, order);
    await until(() => (store.isDead ? true : null), 'the process to die');

    way = 'shelf';
    const orchestrator = await shop.open([definition]);
    await shop.pass('2m');

    expect(await (await orchestrator.sagaRun(id)).status()).toBe('succeeded');
    expect(await shop.kept()).toEqual(['authorisation', 'booking', 'invoice', 'payment']);
  });

  test('chooses within a parallel, and again within what it has chosen', async () => {
    shop = await sagaShop();
    const { authorise, reserve, book, pay } = shop.trade;
    const definition = saga('nested', { input: typed<Part>(), key: ({ input }) => input.orderId })
      .parallel('both', (branch) => ({
        bank: branch.step('money', authorise, ({ input }) => input),
        carrier: branch.choose(
          'delivery',
          ({ input }) => (input.orderId === order.orderId ? 'far' : 'near'),
          (way) => ({
            near: way,
            far: way
              .step('goods', reserve, ({ input }) => input)
              .choose(
                'trip',
                ({ goods }) => (goods.id.startsWith('reservation') ? 'booked' : 'none'),
                (inner) => ({ booked: inner.step('courier', book, ({ input }) => input), none: inner }),
              ),
          }),
        ),
      }))
      .step('payment', pay, ({ input }) => input);
    const orchestrator = await shop.open([definition]);
    const run = await orchestrator.submit(definition, order);
    await sagaReached(run, 'succeeded');

    expect((await shop.kept()).toSorted()).toEqual(['authorisation', 'booking', 'payment', 'reservation']);
  });
});

describe('a choice that is none of the branches', () => {
  test('is a fault of the definition: nothing is lost, and the mended one goes on', async () => {
    shop = await sagaShop();
    let way = 'by balloon' as Way;
    const definition = selling(shop.trade, () => way);
    const orchestrator = await shop.open([definition]);
    const run = await orchestrator.submit(definition, order);
    await sagaReached(run, 'escalated');
    const faulty = await now(run);
    const [told] = await orchestrator.operator.escalatedSagas();

    way = 'nothing';
    await shop.pass('2m');

    expect(faulty).toMatchObject({ status: 'escalated', reason: 'definition-fault' });
    // What was said may be a part of the input.
    expect(JSON.stringify(told)).toContain('says none of its branches: shelf, courier, nothing');
    expect(JSON.stringify(told)).not.toContain('balloon');
    expect(await now(run)).toMatchObject({ status: 'succeeded' });
    expect(await shop.kept()).toEqual(['authorisation', 'payment']);
  });
});
