import { afterEach, describe, expect, test } from 'vitest';
import { storeInDoubt, storeUnavailable } from '../../src/domain/errors.ts';
import type { OperationRow, StoredRecord } from '../../src/ports/store.ts';
import { interrupted, tells } from '../support/interrupted.ts';
import { timedShop, type TimedShop } from '../support/timed.ts';

let shop: TimedShop;
afterEach(() => shop.close());

interface Seen {
  readonly row: OperationRow | null;
  readonly records: readonly StoredRecord[];
}

/** A shop that reads its own store whenever a request is about to leave. */
async function watchfulShop(options: { start?: boolean } = {}): Promise<readonly Seen[]> {
  const seen: Seen[] = [];
  shop = await timedShop({
    ...options,
    async onSend() {
      const row = await shop.store.readByIdentity({ tenant: 'shop-1', action: 'card.charge', key: 'order-1' });
      seen.push({ row, records: row === null ? [] : await shop.store.records(row) });
    },
  });
  return seen;
}

describe('an attempt that is about to leave', () => {
  test('is in the store as a start already, when it is the first', async () => {
    const seen = await watchfulShop();

    const run = await shop.orchestrator.submit(shop.charge, { orderId: 'order-1', amount: 5 });
    await run.result({ within: '30s' });

    expect(await shop.provider.records()).toHaveLength(1);
    expect(seen).toHaveLength(1);
    expect(seen[0]?.row).toMatchObject({ state: 'in-progress', firstStartedAt: expect.any(Number) });
    expect(seen[0]?.records.map(({ kind, attempt }) => [kind, attempt])).toEqual([['start', 1]]);
  });

  test('is in the store as a start already, when it was accepted where nothing ran', async () => {
    const seen = await watchfulShop({ start: false });

    await shop.orchestrator.submit(shop.charge, { orderId: 'order-1', amount: 5 });
    await shop.another().start();
    await shop.pass('1s');

    expect(await shop.provider.records()).toHaveLength(1);
    expect(seen[0]?.row).toMatchObject({ state: 'in-progress' });
    expect(seen[0]?.records.map(({ kind }) => kind)).toEqual(['moved', 'start']);
  });

  test('is in the store as a start already, when it is sent again', async () => {
    const seen = await watchfulShop();
    await shop.provider.calls(['drop']);

    await shop.orchestrator.submit(shop.charge, { orderId: 'order-1', amount: 5 });
    await shop.pass('1m');

    expect(await shop.provider.records()).toHaveLength(1);
    const starts = seen.map(({ records }) => records.filter(({ kind }) => kind === 'start').length);
    expect(starts).toEqual([1, 2]);
    expect(seen[1]?.row).toMatchObject({ state: 'in-progress' });
  });
});

describe('a store that does not take the start', () => {
  test('means that nothing is sent, and the submission says so', async () => {
    shop = await timedShop({
      seen: (store) =>
        interrupted(store, { before: () => raise(storeUnavailable('The database is away.', 'Try later.')) }),
    });

    const submitting = shop.orchestrator.submit(shop.charge, { orderId: 'order-1', amount: 5 });

    await expect(submitting).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true });
    await shop.pass('2m');
    expect(await shop.provider.received()).toEqual([]);
    expect(await shop.store.readByIdentity({ tenant: 'shop-1', action: 'card.charge', key: 'order-1' })).toBeNull();
  });

  test('means that nothing is sent as long as it lasts, and once afterwards', async () => {
    let away = true;
    shop = await timedShop({
      start: false,
      seen: (store) =>
        interrupted(store, {
          before: (turn) => {
            if (away && tells(turn, 'start')) throw storeUnavailable('The database is away.', 'Try later.');
          },
        }),
    });
    const run = await shop.orchestrator.submit(shop.charge, { orderId: 'order-1', amount: 5 });
    await shop.orchestrator.start();
    await shop.pass('1m');
    const whileAway = await shop.provider.received();

    away = false;
    await shop.pass('10s');

    expect(whileAway).toEqual([]);
    expect(await run.status()).toBe('succeeded');
    expect(await shop.provider.records()).toHaveLength(1);
  });

  test('means that nothing is sent while nobody knows whether it took it', async () => {
    let lost = true;
    shop = await timedShop({
      seen: (store) =>
        interrupted(store, {
          after: () => {
            if (lost) throw storeInDoubt('The connection was lost.', new Error('ECONNRESET'));
          },
        }),
    });
    const submitting = shop.orchestrator.submit(shop.charge, { orderId: 'order-1', amount: 5 });
    await shop.pass('3s');
    const whileLost = await shop.provider.received();

    lost = false;
    await shop.pass('3s');
    const run = await submitting;
    await shop.pass('30s');

    expect(whileLost).toEqual([]);
    expect(await run.status()).toBe('succeeded');
    expect(await shop.provider.records()).toHaveLength(1);
  });
});

function raise(error: Error): never {
  throw error;
}
