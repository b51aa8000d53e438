/**
 * What who submits a charge a second time is told, state by state: always something at once or within the time they
 * gave, never a second effect.
 */

import { afterEach, describe, expect, test } from 'vitest';
import { notApplied } from 'sagacity';
import { charges } from '../support/scripted-charge.ts';
import { severable, type SeverableStore } from '../support/severable-store.ts';
import { keysSent, now, type Stage, stage } from '../support/stage.ts';
import { arrangements, order, stageIn, type StageIn } from '../support/stage-in.ts';
import { reached } from '../support/world.ts';

let shop: Stage;
afterEach(() => shop.close());

async function arranged(...given: Parameters<typeof stageIn>): Promise<StageIn> {
  const made = await stageIn(...given);
  shop = made;
  return made;
}

describe('a charge that nobody has submitted before', () => {
  test('is executed for its submitter', async () => {
    shop = await stage();

    const run = await shop.orchestrator.submit(shop.charge, order);
    await reached(run, 'succeeded');

    expect(run.submission).toBe('new');
    expect(await shop.provider.records()).toHaveLength(1);
  });
});

describe('a charge that is at the provider now', () => {
  test('is joined, and says that it is in progress when the time to wait is over', async () => {
    const { orchestrator, charge, clock, provider } = await arranged('in-progress');

    const second = await orchestrator.submit(charge, order);
    const waiting = second.result({ within: '2s' });
    await clock.advance('2s');

    expect(second.submission).toBe('joined');
    expect(await waiting).toEqual({ status: 'in-progress', state: 'in-progress' });
    expect(await keysSent(provider)).toHaveLength(1);
  });

  test('gives the same result to everybody who waits for it', async () => {
    const { orchestrator, charge, provider, run } = await arranged('in-progress');

    const second = await orchestrator.submit(charge, order);
    const waiting = Promise.all([run.result({ within: '5s' }), second.result({ within: '5s' })]);
    await provider.release();
    const [first, joined] = await waiting;

    expect(first).toEqual({ status: 'succeeded', output: { chargeId: 'payment_1' }, reference: 'payment_1' });
    expect(joined).toEqual(first);
    expect(second.id).toBe(run.id);
    expect(await provider.records()).toHaveLength(1);
  });
});

describe('a charge whose process has died', () => {
  test('is recovered, and its second submitter gets the result of the first request', async () => {
    let store: SeverableStore | undefined;
    shop = await stage({ on: (kept) => (store = severable(kept)) });
    await shop.provider.faults(['commit-then-hold']);
    await shop.orchestrator.submit(shop.charge, order);
    await shop.provider.logged(({ event }) => event === 'HOLD');
    store?.sever();

    const next = shop.another();
    await next.start();
    const second = await next.submit(shop.charge, order);
    const end = await second.result({ within: '5s' });

    expect(second.submission).toBe('joined');
    expect(end).toMatchObject({ status: 'succeeded', reference: 'payment_1' });
    expect(await shop.provider.records()).toHaveLength(1);
    expect(await keysSent(shop.provider)).toHaveLength(1);
  });

  test('is taken over by the process it is submitted to when the dead one has missed its heartbeats', async () => {
    let store: SeverableStore | undefined;
    shop = await stage({ on: (kept) => (store = severable(kept)) });
    const next = shop.another();
    await next.start();
    await shop.provider.faults(['commit-then-hold']);
    await shop.orchestrator.submit(shop.charge, order);
    await shop.provider.logged(({ event }) => event === 'HOLD');
    store?.sever();

    const second = await next.submit(shop.charge, order);
    const early = await second.status();
    await shop.clock.advance('20s');
    await reached(second, 'succeeded');

    expect(early).toBe('in-progress');
    expect(second.submission).toBe('joined');
    expect(await keysSent(shop.provider)).toHaveLength(1);
  });
});

describe('a charge that is complete', () => {
  test('is replayed with its stored output, and nothing is asked or sent', async () => {
    const { orchestrator, charge, provider, store } = await arranged('succeeded');
    const asked = (await provider.received()).length;
    const turns = store.written.length;

    const second = await orchestrator.submit(charge, order);
    const end = await second.result({ within: '5s' });

    expect(second.submission).toBe('replayed');
    expect(end).toEqual({ status: 'succeeded', output: { chargeId: 'payment_1' }, reference: 'payment_1' });
    expect(await provider.received()).toHaveLength(asked);
    expect(store.written).toHaveLength(turns);
  });
});

describe('a charge that was declined', () => {
  test('is replayed as declined, and the provider is not asked again', async () => {
    const { orchestrator, charge, provider } = await arranged('failed');

    const second = await orchestrator.submit(charge, order);
    const end = await second.result({ within: '5s' });

    expect(second.submission).toBe('replayed');
    expect(end).toEqual({ status: 'failed', code: 'card_declined' });
    expect(await provider.records()).toHaveLength(0);
    expect(await keysSent(provider)).toHaveLength(1);
  });
});

describe('a charge that was proven not to have been applied and has attempts left', () => {
  test('is joined, and runs again under the same key', async () => {
    const { orchestrator, charge, provider, clock, run } = await arranged('pending');

    const second = await orchestrator.submit(charge, order);
    const before = await now(second);
    await clock.advance('1s');
    await reached(second, 'succeeded');

    expect(second.submission).toBe('joined');
    expect(before).toEqual({ status: 'in-progress', state: 'pending' });
    expect(await provider.records()).toHaveLength(1);
    expect((await run.history()).filter(({ kind }) => kind === 'start')).toHaveLength(2);
  });

  test('is replayed as failed once no attempt is left', async () => {
    const refused = () => notApplied('the connection was refused');
    shop = await stage({ steps: [refused, refused, charges], attempts: 2 });
    await shop.orchestrator.submit(shop.charge, order);
    await shop.pass('5s');

    const second = await shop.orchestrator.submit(shop.charge, order);
    await shop.pass('1m');

    expect(second.submission).toBe('replayed');
    expect(await now(second)).toEqual({ status: 'failed', code: 'attempts-exhausted' });
    expect(await keysSent(shop.provider)).toHaveLength(0);
  });
});

describe('a charge that is in doubt', () => {
  test.each(['unknown', 'reconciling'] as const)('and %s is joined, says so, and is not executed', async (state) => {
    const { orchestrator, charge, provider, run } = await arranged(state);

    const second = await orchestrator.submit(charge, order);

    expect(second.submission).toBe('joined');
    expect(second.id).toBe(run.id);
    expect(await now(second)).toEqual({ status: 'in-progress', state });
    expect(await keysSent(provider)).toHaveLength(1);
    expect(await provider.records()).toHaveLength(1);
  });

  test('and escalated is joined, says why, and is never executed', async () => {
    const { orchestrator, charge, provider } = await arranged('escalated');

    const second = await orchestrator.submit(charge, order);
    const end = await second.result({ within: '1h' });
    await shop.pass('10m');

    expect(second.submission).toBe('joined');
    expect(end).toEqual({ status: 'escalated', reason: 'no-lookup' });
    expect(await keysSent(provider)).toHaveLength(1);
    expect(await provider.records()).toHaveLength(1);
  });
});

describe('other parameters under the key of a charge', () => {
  test.each(arrangements)('that is %s are a conflict, and change nothing', async (state) => {
    const { orchestrator, charge, provider, store, run } = await arranged(state);
    const received = (await provider.received()).length;
    const turns = store.written.length;

    const second = orchestrator.submit(charge, { ...order, amount: 1 });

    await expect(second).rejects.toMatchObject({
      code: 'IDEMPOTENCY_CONFLICT',
      retryable: false,
      facts: { operationId: run.id, key: 'order-17', paths: ['amount'] },
    });
    expect(await run.status()).toBe(state);
    expect(await provider.received()).toHaveLength(received);
    expect(store.written).toHaveLength(turns);
  });

  test('do not show their values in the error', async () => {
    const { orchestrator, charge } = await arranged('succeeded');

    const refusal: unknown = await orchestrator.submit(charge, { ...order, amount: 987_654 }).catch((error) => error);

    expect(JSON.stringify(refusal)).not.toContain('987654');
    expect(JSON.stringify(refusal)).not.toContain('1200');
  });
});
