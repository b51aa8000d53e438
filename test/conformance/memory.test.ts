/** What only the memory store promises: rows that outlive a close, and rows that two stores share. */

import { describe, expect, test } from 'vitest';
import { memoryStore } from '../../src/adapters/memory/store.ts';
import type { Store } from '../../src/ports/store.ts';
import { testClock } from '../../src/testing/clock.ts';

describe('a memory store', () => {
  test('keeps its rows when it is closed and opened again', async () => {
    const store = memoryStore({ clock: testClock() });
    await store.open();
    await submit(store, 'op-1');

    await store.close();
    await store.open();

    expect(await store.read({ tenant: 'shop', id: 'op-1' })).toMatchObject({ state: 'pending', revision: 1 });
  });

  test('hands out copies, so that nobody changes a row from outside', async () => {
    const store = memoryStore({ clock: testClock() });
    const input = { amount: 1200 };
    await submit(store, 'op-1', input);
    input.amount = 1;

    const row = await store.read({ tenant: 'shop', id: 'op-1' });
    Object.assign(row?.input ?? {}, { amount: 2 });

    expect((await store.read({ tenant: 'shop', id: 'op-1' }))?.input).toEqual({ amount: 1200 });
  });

  test('may stand on the rows of another, each with a clock of its own', async () => {
    const first = memoryStore({ clock: testClock(1_000) });
    const second = memoryStore({ clock: testClock(2_000), sharedWith: first });

    await submit(first, 'op-1');

    expect(await second.read({ tenant: 'shop', id: 'op-1' })).toMatchObject({ createdAt: 1_000, now: 2_000 });
  });

  test('shares rows with nothing but a memory store', () => {
    const foreign: Store = { ...memoryStore() };

    expect(() => memoryStore({ sharedWith: foreign })).toThrow('made by memoryStore');
  });
});

async function submit(store: Store, id: string, input: { amount: number } = { amount: 1200 }): Promise<void> {
  await store.turn({
    tenant: 'shop',
    id,
    turn: 'turn-1',
    birth: { tenant: 'shop', action: 'payment.authorise', key: id, providerKey: id, fingerprint: 'fp', input },
    was: null,
    owner: null,
    generation: 0,
    state: 'pending',
    dueInMs: 0,
    reason: null,
    contradicted: false,
    format: 1,
    snapshot: null,
    output: null,
    start: null,
    records: [],
    takes: [],
  });
}
