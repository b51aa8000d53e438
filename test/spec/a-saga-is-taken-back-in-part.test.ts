/**
 * A saga that is to be taken back waits for what is in doubt. A person who cannot wait has what is proven taken back
 * meanwhile; what turns out to have succeeded after all is taken back as well then. The provider's records are the
 * proof.
 */

import { afterEach, describe, expect, test } from 'vitest';
import { failed, succeeded } from 'sagacity';
import { now, onlyDoubt, order, purchase, sagaReached, sagaShop, type SagaShop } from '../support/saga-shop.ts';

let shop: SagaShop;
afterEach(() => shop.close());

const who = { by: 'the shop', reason: 'the customer wants their money now' };

/** Cancelled while nobody knows whether its goods are reserved. */
async function inDoubt() {
  shop = await sagaShop({ reservation: { keyRetention: 'none', lookup: 'none' } });
  const selling = purchase(shop.trade);
  const orchestrator = await shop.open([selling]);
  await shop.provider.calls(['do+drop'], 'reservation');
  const run = await orchestrator.submit(selling, order);
  await sagaReached(run, 'escalated');
  await orchestrator.cancel(run.id, who);
  await shop.pass('1m');
  return { orchestrator, run };
}

describe('a saga that is to be taken back and waits for what is in doubt', () => {
  test('takes back what is proven at the word of a person, and goes on waiting', async () => {
    const { orchestrator, run } = await inDoubt();
    const before = await shop.kept();

    const answer = await orchestrator.operator.compensate(run.id, who);
    await shop.pass('1m');

    expect(answer).toEqual({ status: 'applied' });
    expect(before).toEqual(['authorisation', 'reservation']);
    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'void']);
    expect(await now(run)).toEqual({
      ...{ status: 'escalated', reason: 'no-lookup' },
      cause: { step: null, code: 'cancelled' },
    });
  });

  test('takes back what is found to have succeeded after all', async () => {
    const { orchestrator, run } = await inDoubt();
    await orchestrator.operator.compensate(run.id, who);
    await shop.pass('1m');
    const { id, seen } = await onlyDoubt(orchestrator);

    await orchestrator.operator.resolve(id, succeeded({ id: 'reservation_1' }), {
      ...{ by: who.by, evidence: 'the warehouse shows it', seen },
    });
    await sagaReached(run, 'compensated');

    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'void', 'release']);
  });

  test('ends when that is found not to have happened', async () => {
    const { orchestrator, run } = await inDoubt();
    await orchestrator.operator.compensate(run.id, who);
    await shop.pass('1m');
    const { id, seen } = await onlyDoubt(orchestrator);

    await orchestrator.operator.resolve(id, failed('never-arrived'), {
      ...{ by: who.by, evidence: 'the warehouse has nothing', seen },
    });
    await sagaReached(run, 'compensated');
    await shop.pass('1m');

    expect(await now(run)).toEqual({ status: 'compensated', cause: { step: null, code: 'cancelled' } });
    expect(await shop.provider.received({ kind: 'release' })).toEqual([]);
  });

  test('takes back what is proven once, however often it is said', async () => {
    const { orchestrator, run } = await inDoubt();

    await Promise.all([
      orchestrator.operator.compensate(run.id, who),
      orchestrator.operator.compensate(run.id, who),
      orchestrator.cancel(run.id, who),
    ]);
    await shop.pass('1m');

    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'void']);
  });

  test('takes back what is in doubt and found while an inverse is in flight, after it', async () => {
    const { orchestrator, run } = await inDoubt();
    shop.hold('void');
    await orchestrator.operator.compensate(run.id, who);
    await shop.held('void');
    const { id, seen } = await onlyDoubt(orchestrator);
    await orchestrator.operator.resolve(id, succeeded({ id: 'reservation_1' }), {
      ...{ by: who.by, evidence: 'the warehouse shows it', seen },
    });
    await shop.rest();
    const meanwhile = await shop.kept();

    shop.letGo('void');
    await sagaReached(run, 'compensated');

    expect(meanwhile).toEqual(['authorisation', 'reservation', 'void']);
    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'void', 'release']);
  });
});
