import { afterEach, describe, expect, test } from 'vitest';
import { operation, type OperationState, type Run, succeeded, typed } from 'sagacity';
import { timedShop, type TimedShop, type TimedShopOptions } from '../support/timed.ts';
import { reached } from '../support/world.ts';

let shop: TimedShop;
afterEach(() => shop.close());

const payment = { orderId: 'order-17', amount: 711_711 };
const otherPayment = { orderId: 'order-17', amount: 822_822 };

/** How a charge is brought to rest, or to a halt, in each state. */
const inState: Readonly<
  Record<string, { options?: TimedShopOptions; prepare?: () => Promise<void>; after?: () => Promise<void> }>
> = {
  pending: { options: { start: false } },
  'in-progress': {
    prepare: () => shop.provider.faults(['commit-then-hold']),
    after: async () => void (await shop.provider.logged(({ event }) => event === 'HOLD')),
  },
  succeeded: {},
  failed: { prepare: () => shop.provider.calls(['decline']) },
  unknown: {
    async prepare() {
      await shop.provider.calls(['drop']);
      await shop.provider.lookups(['slow(5000)']);
    },
  },
  reconciling: { prepare: () => shop.provider.calls(['drop']) },
  escalated: {
    options: { keyRetention: 'none', lookup: 'none' },
    prepare: () => shop.provider.calls(['drop']),
  },
};

describe.each(Object.keys(inState))('a key whose operation is %s', (state) => {
  test('is refused for other parameters before anything is sent, naming paths and no values', async () => {
    const { options, prepare, after } = inState[state] ?? {};
    shop = await timedShop(options);
    await prepare?.();
    const run: Run<unknown, string> = await shop.orchestrator.submit(shop.charge, payment);
    // The keys of the table are states.
    await reached(run, state as OperationState);
    await after?.();
    const before = {
      requests: await shop.sentKeys(),
      records: await shop.provider.records(),
      history: await run.history(),
    };

    const error: unknown = await shop.orchestrator.submit(shop.charge, otherPayment).catch((thrown: unknown) => thrown);

    expect(error).toMatchObject({ code: 'IDEMPOTENCY_CONFLICT', retryable: false });
    const said = `${error instanceof Error ? error.message : ''} ${JSON.stringify(error)}`;
    expect(said).toContain('amount');
    expect(said).not.toMatch(/711_?711|822_?822/);
    expect({
      requests: await shop.sentKeys(),
      records: await shop.provider.records(),
      history: await run.history(),
    }).toEqual(before);
    expect(await run.status()).toBe(state);
  });
});

interface Letter {
  readonly orderId: string;
  readonly note?: string | undefined;
  readonly lines: readonly { readonly sku: string; readonly count: number; readonly gift?: boolean | undefined }[];
}

describe('the same parameters written differently', () => {
  test('are the same intent: omitted, reordered or undefined', async () => {
    shop = await timedShop();
    let sent = 0;
    const send = operation('mail.send', {
      input: typed<Letter>(),
      key: ({ input }) => input.orderId,
      execute() {
        sent += 1;
        return succeeded({ sent });
      },
      keyRetention: 'none',
      lookup: 'none',
    });
    const orchestrator = shop.another({ definitions: [send] });
    await orchestrator.start();
    const first = await orchestrator.submit(send, { orderId: 'order-17', lines: [{ sku: 'tea', count: 2 }] });
    await reached(first, 'succeeded');

    const again = [
      await orchestrator.submit(send, { lines: [{ count: 2, sku: 'tea' }], orderId: 'order-17' }),
      await orchestrator.submit(send, { orderId: 'order-17', note: undefined, lines: [{ sku: 'tea', count: 2 }] }),
      await orchestrator.submit(send, { orderId: 'order-17', lines: [{ gift: undefined, sku: 'tea', count: 2 }] }),
    ];

    expect(sent).toBe(1);
    expect(again.map(({ id, submission }) => [id, submission])).toEqual(again.map(() => [first.id, 'replayed']));
  });

  test('are another intent when the order of a list, a number or an empty text differs', async () => {
    shop = await timedShop();
    const send = operation('mail.send', {
      input: typed<Letter>(),
      key: ({ input }) => input.orderId,
      execute: () => succeeded('sent'),
      keyRetention: 'none',
      lookup: 'none',
    });
    const orchestrator = shop.another({ definitions: [send] });
    await orchestrator.start();
    const tea = { sku: 'tea', count: 2 };
    const cup = { sku: 'cup', count: 1 };
    await orchestrator.submit(send, { orderId: 'order-17', lines: [tea, cup] });

    const others: readonly Letter[] = [
      { orderId: 'order-17', lines: [cup, tea] },
      { orderId: 'order-17', lines: [tea, { ...cup, count: 3 }] },
      { orderId: 'order-17', note: '', lines: [tea, cup] },
    ];

    for (const other of others) {
      await expect(orchestrator.submit(send, other)).rejects.toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' });
    }
  });
});
