/**
 * What is said to a saga within a transaction of the caller's is said with its commit or not at all, together with the
 * rest of it: an approval and the row that tells of it, or a saga and what is said to it before it has begun.
 */

import { PGlite } from '@electric-sql/pglite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createOrchestrator, type Orchestrator, saga, signal, typed } from 'sagacity';
import { pgliteStore } from 'sagacity/pglite';

const approved = signal('approved', { payload: typed<{ readonly by: string }>() });

interface Order {
  readonly orderId: string;
}

const selling = saga('selling', { input: typed<Order>(), key: ({ input }) => input.orderId })
  .waitFor('approval', approved, { within: '1h', otherwise: 'compensate' })
  .output(({ approval }) => approval.by);

let instance: PGlite;
let orchestrator: Orchestrator<true>;

// Making an embedded database takes a busy machine many seconds.
beforeAll(async () => {
  instance = new PGlite();
  const store = pgliteStore({ instance });
  orchestrator = createOrchestrator({ store, definitions: [selling], tenant: 'shop-1', sweepEvery: '50ms' });
  await orchestrator.start();
});

afterAll(async () => {
  await orchestrator.stop();
  await instance.close();
});

const said = { by: 'shift-lead' };
const targetOf = (orderId: string) => ({ saga: selling, key: orderId });

describe('a signal in a transaction of the caller’s', () => {
  test('is said when that commits', async () => {
    const run = await orchestrator.submit(selling, { orderId: 'order-1' });

    const sent = await instance.transaction((tx) =>
      orchestrator.signal(run.id, approved, said, { eventId: 'click-1', tx }),
    );

    expect(sent).toEqual({ status: 'waiting' });
    expect(await run.result({ within: '30s' })).toEqual({ status: 'succeeded', output: 'shift-lead' });
    expect(await orchestrator.signalStatus(run.id, { signal: approved, eventId: 'click-1' })).toEqual({
      status: 'applied',
    });
  });

  test('is not said when that is rolled back', async () => {
    const run = await orchestrator.submit(selling, { orderId: 'order-2' });

    const failing = instance.transaction(async (tx) => {
      await orchestrator.signal(run.id, approved, said, { eventId: 'click-2', tx });
      throw new Error('the rest of it failed');
    });

    await expect(failing).rejects.toThrow('the rest of it failed');
    expect(await orchestrator.signalStatus(run.id, { signal: approved, eventId: 'click-2' })).toEqual({
      status: 'unknown',
    });
    expect(await run.status()).toBe('waiting');
  });

  test('can be for a saga that is submitted in the same one', async () => {
    await instance.transaction(async (tx) => {
      await orchestrator.signal(targetOf('order-3'), approved, said, { eventId: 'click-3', tx });
      await orchestrator.submit(selling, { orderId: 'order-3' }, { tx });
    });

    const run = await orchestrator.sagaRun(targetOf('order-3'));
    expect(await run.result({ within: '30s' })).toEqual({ status: 'succeeded', output: 'shift-lead' });
  });

  test('with another payload than before is refused, and the transaction decides about the rest', async () => {
    await orchestrator.signal(targetOf('order-4'), approved, said, { eventId: 'click-4' });

    const failing = instance.transaction((tx) =>
      orchestrator.signal(targetOf('order-4'), approved, { by: 'another' }, { eventId: 'click-4', tx }),
    );

    await expect(failing).rejects.toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' });
  });
});
