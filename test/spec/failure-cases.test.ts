/**
 * The failures a provider and a process can meet on the way out, one by one. The proof is what the provider holds at
 * the end and how often it was asked to act, never what our own side believes.
 */

import { afterEach, describe, expect, test } from 'vitest';
import { inconclusive, notApplied, succeeded } from 'sagacity';
import { charges, gate } from '../support/scripted-charge.ts';
import { severable, type SeverableStore } from '../support/severable-store.ts';
import { keysSent, now, type Stage, stage, statesOf } from '../support/stage.ts';
import { reached } from '../support/world.ts';

let shop: Stage;
afterEach(() => shop.close());

const order = { orderId: 'order-17', amount: 1200 };

describe('a charge that failed before the provider committed it', () => {
  test('is sent again under the same key and leaves one record', async () => {
    shop = await stage();
    await shop.provider.faults(['fail-before-commit']);

    const run = await shop.orchestrator.submit(shop.charge, order);
    await reached(run, 'reconciling');
    await shop.pass('2m');

    expect(await now(run)).toMatchObject({ status: 'succeeded', reference: 'payment_1' });
    expect(await shop.provider.records()).toHaveLength(1);
    const keys = await keysSent(shop.provider);
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
  });
});

describe('a charge that was committed and answered with an error', () => {
  test('is replayed by the provider when it is sent again under the same key', async () => {
    shop = await stage({ lookup: 'none' });
    await shop.provider.faults(['commit-then-error']);

    const run = await shop.orchestrator.submit(shop.charge, order);
    await reached(run, 'pending');
    await shop.pass('5s');

    expect(await now(run)).toMatchObject({ status: 'succeeded', reference: 'payment_1' });
    expect(await shop.provider.records()).toHaveLength(1);
    const keys = await keysSent(shop.provider);
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
  });

  test('is found and not sent again where the provider can be asked', async () => {
    shop = await stage();
    await shop.provider.faults(['commit-then-error']);

    const run = await shop.orchestrator.submit(shop.charge, order);
    await reached(run, 'succeeded');

    expect(await shop.provider.records()).toHaveLength(1);
    expect(await keysSent(shop.provider)).toHaveLength(1);
    expect(await statesOf(run)).toEqual(['pending', 'in-progress', 'unknown', 'succeeded']);
  });
});

describe('a charge that was committed and whose reply was lost', () => {
  test('is found by the look-up and leaves one record', async () => {
    shop = await stage();
    await shop.provider.faults(['commit-then-drop']);

    const run = await shop.orchestrator.submit(shop.charge, order);
    await reached(run, 'succeeded');

    expect(await shop.provider.records()).toHaveLength(1);
    expect(await keysSent(shop.provider)).toHaveLength(1);
    expect(await statesOf(run)).toEqual(['pending', 'in-progress', 'unknown', 'succeeded']);
  });
});

describe('a look-up that finds nothing', () => {
  test('leads to a resubmission under the same key inside the window', async () => {
    shop = await stage();
    await shop.provider.calls(['drop']);

    const run = await shop.orchestrator.submit(shop.charge, order);
    await reached(run, 'reconciling');
    await shop.pass('44s');
    const early = await keysSent(shop.provider);
    await shop.pass('1m');

    expect(early).toHaveLength(1);
    expect((await now(run)).status).toBe('succeeded');
    expect(await shop.provider.records()).toHaveLength(1);
    const keys = await keysSent(shop.provider);
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
  });

  test('leads to a person when the provider no longer knows the key, and nothing is sent', async () => {
    shop = await stage({ keyRetention: '1h' });
    await shop.provider.calls(['drop']);

    const run = await shop.orchestrator.submit(shop.charge, order);
    await reached(run, 'reconciling');
    await shop.orchestrator.stop({ within: 0 });
    await shop.clock.advance('2h');
    const later = shop.another();
    await later.start();
    await reached(await later.run(run.id), 'escalated');
    await shop.pass('2m');

    expect(await shop.provider.records()).toHaveLength(0);
    expect(await keysSent(shop.provider)).toHaveLength(1);
    expect(await later.operator.doubts()).toMatchObject([{ id: run.id, state: 'escalated', reason: 'window-passed' }]);
  });

  test('leads to a person when it could never tell, and nothing is sent', async () => {
    shop = await stage({ lookup: { giveUpAfter: '1m' } });
    await shop.provider.faults(['commit-then-drop']);
    await shop.provider.lookups(Array.from({ length: 50 }, (_, n) => (n % 2 === 0 ? 'lookup500' : 'garbage')));

    const run = await shop.orchestrator.submit(shop.charge, order);
    await reached(run, 'reconciling');
    await shop.pass('5m');

    expect(await now(run)).toEqual({ status: 'escalated', reason: 'lookup-exhausted' });
    expect(await shop.provider.records()).toHaveLength(1);
    expect(await keysSent(shop.provider)).toHaveLength(1);
  });
});

describe('a provider that ignores keys and cannot be asked', () => {
  test('is never sent the charge again by itself', async () => {
    shop = await stage({ keyRetention: 'none', lookup: 'none' });
    await shop.provider.faults(['commit-then-drop']);

    const run = await shop.orchestrator.submit(shop.charge, order);
    await reached(run, 'escalated');
    await shop.pass('10m');

    expect(await now(run)).toEqual({ status: 'escalated', reason: 'no-lookup' });
    expect(await shop.provider.records()).toHaveLength(1);
    expect(await keysSent(shop.provider)).toHaveLength(1);
  });
});

describe('one key with another payload', () => {
  test('is a conflict here, before anything is sent', async () => {
    shop = await stage();
    await reached(await shop.orchestrator.submit(shop.charge, order), 'succeeded');

    const second = shop.orchestrator.submit(shop.charge, { ...order, amount: 9 });

    await expect(second).rejects.toMatchObject({ code: 'IDEMPOTENCY_CONFLICT', facts: { paths: ['amount'] } });
    expect(await keysSent(shop.provider)).toHaveLength(1);
  });

  test('is refused by the provider as well, without effect', async () => {
    shop = await stage({ start: false });
    await post(shop.provider.url, 'key-1', order);

    const reply = await post(shop.provider.url, 'key-1', { ...order, amount: 9 });

    expect(reply.status).toBe(422);
    expect(await shop.provider.records()).toHaveLength(1);
  });
});

describe('a client that makes a new key for every attempt', () => {
  test('charges twice when a reply is lost: this is what the library is for', async () => {
    shop = await stage({ start: false });
    await shop.provider.faults(['commit-then-drop']);

    await expect(post(shop.provider.url, 'attempt-1', order)).rejects.toThrow('fetch failed');
    const reply = await post(shop.provider.url, 'attempt-2', order);

    expect(reply.status).toBe(201);
    expect(await shop.provider.records()).toHaveLength(2);
  });
});

describe('fifty submissions of one charge at the same time', () => {
  test('are executed by one', async () => {
    shop = await stage();

    const runs = await Promise.all(
      Array.from({ length: 50 }, () => shop.orchestrator.submit(shop.charge, { ...order })),
    );
    const ends = await Promise.all(runs.map((run) => run.result({ within: '10s' })));

    expect(await shop.provider.records()).toHaveLength(1);
    expect(await keysSent(shop.provider)).toHaveLength(1);
    expect(runs.filter(({ submission }) => submission === 'new')).toHaveLength(1);
    expect(new Set(ends.map((end) => JSON.stringify(end))).size).toBe(1);
    expect(ends[0]).toMatchObject({ status: 'succeeded', reference: 'payment_1' });
  });
});

describe('a process that dies between the recorded start and the result', () => {
  test('leaves an unknown outcome that is looked up, and sent once', async () => {
    const atTheDoor = gate();
    let store: SeverableStore | undefined;
    const holds = async () => {
      atTheDoor.open();
      await new Promise<never>(() => {});
    };
    shop = await stage({ steps: [holds, charges], on: (kept) => (store = severable(kept)) });

    const run = await shop.orchestrator.submit(shop.charge, order);
    await atTheDoor.passed;
    store?.sever();
    const next = shop.another();
    await next.start();
    const taken = await next.run(run.id);
    await reached(taken, 'reconciling');
    const sentAtTakeOver = await keysSent(shop.provider);
    await shop.pass('2m');

    expect(sentAtTakeOver).toEqual([]);
    expect((await now(taken)).status).toBe('succeeded');
    expect(await shop.provider.records()).toHaveLength(1);
    expect(await keysSent(shop.provider)).toHaveLength(1);
    expect((await statesOf(taken)).slice(0, 4)).toEqual(['pending', 'in-progress', 'unknown', 'reconciling']);
  });

  test('leaves it to a person where nothing can prove it', async () => {
    const atTheDoor = gate();
    let store: SeverableStore | undefined;
    const holds = async () => {
      atTheDoor.open();
      await new Promise<never>(() => {});
    };
    shop = await stage({
      ...{ steps: [holds, charges], keyRetention: 'none', lookup: 'none' },
      on: (kept) => (store = severable(kept)),
    });

    const run = await shop.orchestrator.submit(shop.charge, order);
    await atTheDoor.passed;
    store?.sever();
    const next = shop.another();
    await next.start();
    const taken = await next.run(run.id);
    await reached(taken, 'escalated');
    await shop.pass('10m');

    expect(await now(taken)).toEqual({ status: 'escalated', reason: 'no-lookup' });
    expect(await keysSent(shop.provider)).toEqual([]);
  });
});

describe('a process that dies after the provider acted and before the result was recorded', () => {
  test('leaves one record, which is looked up and adopted', async () => {
    let store: SeverableStore | undefined;
    shop = await stage({
      on: (kept) => (store = severable(kept, (turn) => turn.state === 'succeeded')),
    });

    const run = await shop.orchestrator.submit(shop.charge, order);
    await shop.provider.logged(({ event }) => event === 'NEW');
    store?.sever();
    const next = shop.another();
    await next.start();
    const taken = await next.run(run.id);
    await shop.pass('2m');

    expect(await now(taken)).toMatchObject({ status: 'succeeded', reference: 'payment_1' });
    expect(await shop.provider.records()).toHaveLength(1);
    expect(await keysSent(shop.provider)).toHaveLength(1);
  });
});

describe('a charge whose every attempt was proven not to have been applied', () => {
  test('has failed for certain and for all to see once its attempts are used up', async () => {
    shop = await stage({ steps: [() => notApplied('the connection was refused')], attempts: 3 });

    const run = await shop.orchestrator.submit(shop.charge, order);
    await shop.pass('10s');

    expect(await now(run)).toEqual({ status: 'failed', code: 'attempts-exhausted' });
    expect((await run.history()).filter(({ kind }) => kind === 'start')).toHaveLength(3);
    expect(await shop.provider.records()).toHaveLength(0);
    const asked = await shop.orchestrator.run(run.id);
    expect(await asked.status()).toBe('failed');
  });
});

describe('a flow that is run by hand once more', () => {
  test('is answered from the first run when its key is the business identity', async () => {
    shop = await stage();
    await reached(await shop.orchestrator.submit(shop.charge, order), 'succeeded');

    const rerun = await shop.orchestrator.submit(shop.charge, order);

    expect(rerun.submission).toBe('replayed');
    expect(await now(rerun)).toMatchObject({ status: 'succeeded', reference: 'payment_1' });
    expect(await keysSent(shop.provider)).toHaveLength(1);
  });

  test('charges again when its key is that of the run, which must therefore be chosen', async () => {
    let runId = 0;
    shop = await stage({ key: ({ orderId }) => `${orderId}/run-${(runId += 1)}` });
    await reached(await shop.orchestrator.submit(shop.charge, order), 'succeeded');

    const rerun = await shop.orchestrator.submit(shop.charge, order);
    await reached(rerun, 'succeeded');

    expect(rerun.submission).toBe('new');
    expect(await shop.provider.records()).toHaveLength(2);
  });
});

describe('a success that cannot be used', () => {
  test('with a body that is no JSON is looked up for its id, and not sent again', async () => {
    shop = await stage();
    await shop.provider.faults(['garbage']);

    const run = await shop.orchestrator.submit(shop.charge, order);
    await reached(run, 'succeeded');

    expect(await now(run)).toMatchObject({ status: 'succeeded', output: { chargeId: 'payment_1' } });
    expect(await shop.provider.records()).toHaveLength(1);
    expect(await keysSent(shop.provider)).toHaveLength(1);
  });

  test('with a body that is no JSON is left to a person where nobody can be asked', async () => {
    shop = await stage({ keyRetention: 'none', lookup: 'none' });
    await shop.provider.faults(['garbage']);

    const run = await shop.orchestrator.submit(shop.charge, order);
    await reached(run, 'escalated');
    await shop.pass('10m');

    expect(await shop.provider.records()).toHaveLength(1);
    expect(await keysSent(shop.provider)).toHaveLength(1);
  });

  test('with an output that is too large gets it from the look-up, and is not sent again', async () => {
    shop = await stage({
      steps: [async ({ send }) => succeeded('x'.repeat(1_000_001), { reference: (await send()).id ?? '' })],
    });

    const run = await shop.orchestrator.submit(shop.charge, order);
    await reached(run, 'succeeded');

    expect(await now(run)).toEqual({
      ...{ status: 'succeeded', output: { chargeId: 'payment_1' }, reference: 'payment_1' },
    });
    expect(await keysSent(shop.provider)).toHaveLength(1);
  });

  test('with an output that is too large is left to a person where nobody can be asked, even with a safe key', async () => {
    shop = await stage({
      steps: [async ({ send }) => succeeded('x'.repeat(1_000_001), { reference: (await send()).id ?? '' })],
      lookup: 'none',
    });

    const run = await shop.orchestrator.submit(shop.charge, order);
    await reached(run, 'escalated');
    await shop.pass('10m');

    expect(await now(run)).toEqual({ status: 'escalated', reason: 'output-unusable' });
    expect(await shop.provider.records()).toHaveLength(1);
    expect(await keysSent(shop.provider)).toHaveLength(1);
  });
});

describe('a charge that is cancelled while it is at the provider', () => {
  test('is not sent again, and what happened is adopted', async () => {
    shop = await stage();
    await shop.provider.faults(['commit-then-hold']);

    const run = await shop.orchestrator.submit(shop.charge, order);
    await shop.provider.logged(({ event }) => event === 'HOLD');
    const cancelling = shop.orchestrator.cancel(run.id, { by: 'the shop', reason: 'changed its mind' });
    await shop.pass('1m');

    expect(await cancelling).toEqual({ status: 'accepted' });
    expect(await now(run)).toMatchObject({ status: 'succeeded', reference: 'payment_1' });
    expect(await shop.provider.records()).toHaveLength(1);
    expect(await keysSent(shop.provider)).toHaveLength(1);
  });

  test('is left to a person where nothing can prove what happened', async () => {
    shop = await stage({ lookup: 'none' });
    await shop.provider.faults(['commit-then-hold']);

    const run = await shop.orchestrator.submit(shop.charge, order);
    await shop.provider.logged(({ event }) => event === 'HOLD');
    const cancelling = shop.orchestrator.cancel(run.id, { by: 'the shop', reason: 'changed its mind' });
    await shop.pass('10m');

    expect(await cancelling).toEqual({ status: 'accepted' });
    expect((await now(run)).status).toBe('escalated');
    expect(await keysSent(shop.provider)).toHaveLength(1);
  });
});

describe('a record that the provider is still working on', () => {
  test('is asked about again, and neither sent nor given up', async () => {
    const answers = [inconclusive('the payment is being processed'), inconclusive('the payment is being processed')];
    shop = await stage({
      steps: [() => Promise.reject(new Error('The connection broke.'))],
      lookup: { ask: () => answers.shift() ?? { type: 'found', records: [succeeded({ chargeId: 'payment_1' })] } },
    });

    const run = await shop.orchestrator.submit(shop.charge, order);
    await reached(run, 'reconciling');
    await shop.pass('1m');

    expect((await now(run)).status).toBe('succeeded');
    expect(answers).toEqual([]);
    expect((await run.history()).filter(({ kind }) => kind === 'start')).toHaveLength(1);
  });
});

function post(url: string, key: string, body: object): Promise<Response> {
  return fetch(`${url}/payments`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': key },
    body: JSON.stringify(body),
  });
}
