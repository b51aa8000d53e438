/**
 * The bytes of the first request hang somewhere between us and the provider while its worker dies, another takes over,
 * looks it up and finds nothing. Then they arrive. A provider that retains the key makes both requests one effect; at
 * one that does not, nothing may be sent a second time.
 */

import { createOrchestrator, operation, type Orchestrator, typed } from 'sagacity';
import { postgresStore } from 'sagacity/postgres';
import { faultProxy, type FaultProxy, scriptedProvider, type ScriptedProvider } from 'sagacity/testing';
import { afterEach, describe, expect, test } from 'vitest';
import { severable } from '../support/severable-store.ts';
import { chargeCard, type Payment } from '../support/shop.ts';
import { freshDatabase } from '../support/postgres.ts';

let provider: ScriptedProvider;
let proxy: FaultProxy;
const workers: Orchestrator<true>[] = [];

afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.stop({ within: 0 })));
  await proxy.close();
  await provider.close();
});

/** A charge with short patience; `keyless`: at a provider that ignores keys. */
function charge(url: string, keyless: boolean) {
  const { execute, find, key } = chargeCard(url, { keyless }).options;
  if (find === null || key === null) throw new Error('A charge has a key and can be looked up.');
  return operation('card.charge', {
    input: typed<Payment>(),
    ...{ key, execute },
    keyRetention: keyless ? 'none' : '1h',
    lookup: { visibleWithin: '100ms', every: '200ms', find },
    ...{ timeout: '500ms', sendWithin: '500ms' },
    retry: { attempts: 3, backoff: 'fixed', delay: '100ms', jitter: 'none' },
  });
}

async function held(keyless: boolean) {
  provider = await scriptedProvider();
  proxy = await faultProxy({ port: Number(new URL(provider.url).port) });
  proxy.hold('to-server');
  const url = await freshDatabase();
  const heartbeat = { every: '200ms', timeout: '1s' } as const;
  const worker = (definition: ReturnType<typeof charge>, sever = false) => {
    const store = severable(postgresStore({ url, migrate: true }));
    const orchestrator = createOrchestrator({
      ...{ store, heartbeat, definitions: [definition], tenant: 'shop-1', sweepEvery: '100ms' },
    });
    workers.push(orchestrator);
    return { orchestrator, definition, die: () => sever && store.sever() };
  };
  const first = worker(charge(proxy.urlFor(provider.url).replace(/\/$/, ''), keyless), true);
  const second = worker(charge(provider.url, keyless));
  await first.orchestrator.start();
  await first.orchestrator.submit(first.definition, { orderId: 'order-17', amount: 1200 });
  first.die();
  await second.orchestrator.start();
  return second.orchestrator.submit(second.definition, { orderId: 'order-17', amount: 1200 });
}

/** The held request arrives, and the provider has dealt with it. */
async function arrives(): Promise<void> {
  const before = (await provider.received()).filter(({ method }) => method === 'POST').length;
  const logged = provider.logged(({ event }) => event === 'NEW' || event === 'REPLAY');
  proxy.release();
  await logged;
  expect((await provider.received()).filter(({ method }) => method === 'POST').length).toBe(before + 1);
}

describe('a first request that arrives after the second', () => {
  test('is the same charge, at a provider that knows the key', async () => {
    const run = await held(false);
    const end = await run.result({ within: '20s' });

    await arrives();

    const records = await provider.records({ kind: 'payment' });
    expect(records).toHaveLength(1);
    expect(end).toMatchObject({ status: 'succeeded', output: { chargeId: records[0]?.id } });
    expect((await run.history()).map(({ kind }) => kind)).toContain('lookup');
  });

  test('is the only one, at a provider that ignores keys: a person was asked instead of sending again', async () => {
    const run = await held(true);
    const end = await run.result({ within: '20s' });

    await arrives();

    expect(end).toEqual({ status: 'escalated', reason: 'absent-not-final' });
    expect(await provider.records({ kind: 'payment' })).toHaveLength(1);
  });
});
