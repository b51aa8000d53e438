/**
 * What a service submits or says within its own transaction can begin only after the commit, of which nobody tells the
 * process that submitted. With `announce` the transaction does. Nobody sweeps here for as long as the tests last, so that
 * whatever begins was heard of; the provider's records are the proof.
 */

import { createOrchestrator, type Orchestrator, saga, signal, typed } from 'sagacity';
import { postgresStore } from 'sagacity/postgres';
import { scriptedProvider, type ScriptedProvider } from 'sagacity/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { serverHosts } from '../support/host-transactions.ts';
import { databaseAt, freshDatabase } from '../support/postgres.ts';
import { chargeCard, type Payment } from '../support/shop.ts';
import { until } from '../support/world.ts';

let provider: ScriptedProvider;
let charge: ReturnType<typeof chargeCard>;
let url: string;
let onlooker: ReturnType<typeof databaseAt>;
let host: ReturnType<(typeof serverHosts)['a node-postgres client']>;
let submitter: Orchestrator<true>;
let worker: Orchestrator<true>;
let selling: ReturnType<typeof approvedSale>;

const approved = signal('approved', { payload: typed<{ by: string }>() });

function approvedSale() {
  return saga('sale', { input: typed<Payment>(), key: ({ input }) => input.orderId })
    .waitFor('approval', approved, { within: '2d', otherwise: 'compensate' })
    .pivot('payment', charge, ({ input }) => input);
}

beforeAll(async () => {
  provider = await scriptedProvider();
  charge = chargeCard(provider.url);
  selling = approvedSale();
  url = await freshDatabase();
  onlooker = databaseAt(url);
  host = serverHosts['a node-postgres client'](url, 2);
  [worker, submitter] = [process(), process()];
  await worker.start();
  await listening();
});

afterAll(async () => {
  await Promise.all([submitter.stop(), worker.stop(), host.end()]);
  await onlooker.end();
  await provider.close();
});

/** One that is told of nothing but commits, and sweeps when it starts and not again. */
function process(): Orchestrator<true> {
  return createOrchestrator({
    store: postgresStore({ url, migrate: true, announce: true }),
    ...{ definitions: [charge, selling], tenant: 'shop-1', sweepEvery: '1h' },
  });
}

/** Resolves when a session listens on the server, other than `before`; with its process id. */
function listening(before = 0): Promise<number> {
  return until(async () => {
    const [session] = await onlooker<{ pid: number }[]>`
      select pid from pg_stat_activity where lower(query) like 'listen %' and state = 'idle' and pid <> ${before}`;
    return session?.pid ?? null;
  }, 'a session that listens');
}

async function charges(orderId: string): Promise<number> {
  return (await provider.records()).filter((record) => record.orderId === orderId).length;
}

describe('what is submitted in a transaction that announces it', () => {
  test('begins with the commit, and not before', async () => {
    const { run, before } = await host.transact(async ({ tx }) => ({
      run: await submitter.submit(charge, { orderId: 'order-1', amount: 5 }, { tx }),
      before: await charges('order-1'),
    }));

    expect(before).toBe(0);
    expect(await run.result({ within: '20s' })).toMatchObject({ status: 'succeeded' });
    expect(await charges('order-1')).toBe(1);
  });

  test('is never heard of when the transaction is rolled back', async () => {
    const refused = host.transact(async ({ tx }) => {
      await submitter.submit(charge, { orderId: 'order-2', amount: 5 }, { tx });
      throw new Error('out of stock');
    });
    await expect(refused).rejects.toThrow('out of stock');

    // Whatever was announced before it has been heard by then.
    const run = await host.transact(({ tx }) => submitter.submit(charge, { orderId: 'order-3', amount: 5 }, { tx }));
    await run.result({ within: '20s' });

    expect(await charges('order-2')).toBe(0);
    expect(await charges('order-3')).toBe(1);
  });

  test('is heard of again after the session that listens was lost', async () => {
    const lost = await listening();
    await onlooker`select pg_terminate_backend(${lost})`;
    await listening(lost);

    const run = await host.transact(({ tx }) => submitter.submit(charge, { orderId: 'order-4', amount: 5 }, { tx }));

    expect(await run.result({ within: '20s' })).toMatchObject({ status: 'succeeded' });
    expect(await charges('order-4')).toBe(1);
  });

  test('wakes the saga that waits for it, when it is a signal', async () => {
    const run = await worker.submit(selling, { orderId: 'order-5', amount: 5 });

    await host.transact(({ tx }) =>
      submitter.signal({ saga: selling, key: 'order-5' }, approved, { by: 'shift-lead' }, { eventId: 'click-1', tx }),
    );

    expect(await run.result({ within: '20s' })).toMatchObject({ status: 'succeeded' });
    expect(await charges('order-5')).toBe(1);
  });
});

test('what anybody else says on the channel does nothing', async () => {
  const [{ channel } = { channel: '' }] = await onlooker<{ channel: string }[]>`
    select trim(both '"' from split_part(query, ' ', 2)) as channel from pg_stat_activity where lower(query) like 'listen %'`;
  for (const said of ['', '{', '[1,2]', '["shop-1"]', '["shop-1","op_nobody"]']) {
    await onlooker`select pg_notify(${channel}, ${said})`;
  }

  const run = await host.transact(({ tx }) => submitter.submit(charge, { orderId: 'order-6', amount: 5 }, { tx }));

  expect(channel).toMatch(/^sagacity_[0-9a-f]{24}$/);
  expect(await run.result({ within: '20s' })).toMatchObject({ status: 'succeeded' });
});

test('a store behind a pooler in transaction mode cannot announce, and says so', () => {
  expect(() => postgresStore({ url, pooler: true, announce: true })).toThrow(
    expect.objectContaining({ code: 'DEFINITION_INVALID', message: expect.stringContaining('announce') }),
  );
});
