/**
 * What a provider promises is kept with each operation that is made under it, and what its replies prove decides what
 * may follow: whether it is sent again without asking, after which pause, and what a refusal says of the attempts before
 * it. What could go wrong is a second effect, or a request that is repeated for ever.
 */

import { afterEach, describe, expect, test } from 'vitest';
import { failed, notApplied, unknown } from 'sagacity';
import { contract, type ContractOptions } from 'sagacity/providers';
import { charges, scriptedCharge, type Step } from '../support/scripted-charge.ts';
import { keysSent, now, type Stage, stage, statesOf } from '../support/stage.ts';
import { reached, until } from '../support/world.ts';

let shop: Stage;
afterEach(() => shop.close());

const order = { orderId: 'order-17', amount: 1200 };
const described = {
  ...{ name: 'card-company/charges', version: '1', docs: 'https://docs.card-company.example/keys' },
  ...{ verified: 'unverified', lookup: 'none' },
} as const satisfies Partial<ContractOptions>;

/** It remembers a key, and everything that it has answered under it. */
const remembering = (keyRetention: '24h' | '1h' = '24h', lookup: ContractOptions['lookup'] = 'none') =>
  contract({
    ...{ ...described, lookup },
    key: { in: 'header', name: 'Idempotency-Key' },
    keyRetention,
    sameKey: {
      ...{ afterSuccess: 'first-reply', whileRunning: 'unsaid', afterRefusal: 'first-reply' },
      ...{ afterServerError: 'first-reply', otherParameters: 'unsaid' },
    },
  });
const forgetful = contract({ ...described, version: '2', key: 'none' });

const lost: Step = async ({ send }) => {
  await send();
  throw new Error('The reply was lost.');
};
const repeatsItsFailure: Step = async ({ send }) => {
  const { status } = await send();
  return { ...unknown(`status ${status}`), sendAgain: 'ask-first' };
};

describe('a charge that was submitted under a contract', () => {
  test('goes by that contract after a restart, whatever its definition says by then', async () => {
    shop = await stage({ contract: remembering(), lookup: 'none', steps: [lost, charges] });
    const run = await shop.orchestrator.submit(shop.charge, order);
    await reached(run, 'pending');
    await shop.orchestrator.stop({ within: 0 });

    const { definition } = scriptedCharge(shop.provider.url, { contract: forgetful, lookup: 'none' });
    const later = shop.redefined(definition);
    await later.start();
    await shop.clock.advance('1s');
    const again = await later.run(run.id);
    await until(async () => ((await keysSent(shop.provider)).length === 2 ? true : null), 'the second request');
    await reached(again, 'succeeded');

    expect(await shop.provider.records()).toHaveLength(1);
    expect(new Set(await keysSent(shop.provider)).size).toBe(1);
  });

  const late = remembering('1h', { by: 'key', visibleWithin: '1s', arrivalLimit: '40m' });

  test.each([
    ['the key was forgotten', remembering('1h'), '2h'],
    ['it could arrive after the key is forgotten, though nobody is asked', late, '30m'],
  ] as const)('is not sent again when its process was away until %s', async (_, kept, away) => {
    shop = await stage({ contract: kept, lookup: 'none', steps: [lost, charges] });
    const run = await shop.orchestrator.submit(shop.charge, order);
    await reached(run, 'pending');
    await shop.orchestrator.stop({ within: 0 });

    await shop.clock.advance(away);
    const later = shop.another();
    await later.start();
    const again = await later.run(run.id);
    await reached(again, 'escalated');

    expect(await now(again)).toEqual({ status: 'escalated', reason: 'window-passed' });
    expect(await keysSent(shop.provider)).toHaveLength(1);
  });
});

describe('a provider that repeats its stored failure for ever', () => {
  const failing = Array.from({ length: 9 }, () => 'fail-before-commit' as const);

  test('is sent to as often as configured, asked in between each time, and no more', async () => {
    shop = await stage({
      ...{ steps: [repeatsItsFailure], attempts: 3, lookup: { visibleWithin: '1s', arrivalLimit: '1m' } },
    });
    await shop.provider.calls(failing);

    const run = await shop.orchestrator.submit(shop.charge, order);
    await shop.pass('10m');

    expect(await now(run)).toEqual({ status: 'failed', code: 'attempts-exhausted' });
    expect(await shop.provider.records()).toHaveLength(0);
    const keys = await keysSent(shop.provider);
    expect(keys).toHaveLength(3);
    expect(new Set(keys).size).toBe(1);
    const told = (await run.history()).map(({ kind, facts }) => facts['outcome'] ?? facts['finding'] ?? kind);
    expect(told.filter((word) => word === 'unknown' || word === 'absent').slice(0, 2)).not.toEqual([
      'unknown',
      'unknown',
    ]);
  });

  test('is sent to once where it cannot be asked: a person is', async () => {
    shop = await stage({ contract: remembering(), lookup: 'none', steps: [repeatsItsFailure] });
    await shop.provider.calls(failing);

    const run = await shop.orchestrator.submit(shop.charge, order);
    await shop.pass('10m');

    expect(await now(run)).toEqual({ status: 'escalated', reason: 'no-lookup' });
    expect(await keysSent(shop.provider)).toHaveLength(1);
  });

  test('is not sent to again because of an earlier reply that was only lost', async () => {
    shop = await stage({ contract: remembering(), lookup: 'none', steps: [lost, repeatsItsFailure] });

    const run = await shop.orchestrator.submit(shop.charge, order);
    await shop.pass('10m');

    expect(await statesOf(run)).toEqual([
      ...['pending', 'in-progress', 'unknown', 'pending', 'in-progress', 'unknown', 'escalated'],
    ]);
    expect(await shop.provider.records()).toHaveLength(1);
    expect(await keysSent(shop.provider)).toHaveLength(2);
  });
});

describe('a refusal that the provider gives to every send under the key', () => {
  const declined: Step = async ({ send }) => {
    await send();
    return failed('card_declined', { speaksFor: 'key' });
  };
  const declinedOnce: Step = async ({ send }) => {
    await send();
    return failed('card_declined');
  };

  test('says what became of the request whose reply was lost', async () => {
    shop = await stage({ contract: remembering(), lookup: 'none', steps: [lost, declined] });
    await shop.provider.calls(['decline', 'decline']);

    const run = await shop.orchestrator.submit(shop.charge, order);
    await shop.pass('1m');

    expect(await now(run)).toEqual({ status: 'failed', code: 'card_declined' });
    expect(await shop.provider.records()).toHaveLength(0);
    expect(await keysSent(shop.provider)).toHaveLength(2);
  });

  test('says nothing of it when it is given to this send only', async () => {
    shop = await stage({ contract: remembering(), lookup: 'none', steps: [lost, declinedOnce] });
    await shop.provider.calls(['ok', 'decline']);

    const run = await shop.orchestrator.submit(shop.charge, order);
    await shop.pass('10m');

    expect((await now(run)).status).toBe('escalated');
    expect(await shop.provider.records()).toHaveLength(1);
  });
});

describe('a provider that asks to be left alone for a time', () => {
  const busy = (retryAfterMs: unknown): Step => {
    return async ({ send }) => {
      await send();
      return { ...notApplied('status 429'), retryAfterMs };
    };
  };

  test('is not sent to sooner, and then is', async () => {
    shop = await stage({ steps: [busy(20_000), charges] });
    await shop.provider.calls(['busy409']);

    const run = await shop.orchestrator.submit(shop.charge, order);
    await shop.pass('19s');
    const early = await keysSent(shop.provider);
    await shop.pass('2s');

    expect(early).toHaveLength(1);
    expect(await run.status()).toBe('succeeded');
    expect(await keysSent(shop.provider)).toHaveLength(2);
  });

  test('is left alone for a day at most', async () => {
    shop = await stage({ steps: [busy(1e15), charges] });
    await shop.provider.calls(['busy409']);

    const run = await shop.orchestrator.submit(shop.charge, order);
    await reached(run, 'pending');
    await until(async () => ((await run.history()).length > 1 ? true : null), 'the end of the attempt');

    const dueAt = (await shop.store.read({ tenant: run.tenant, id: run.id }))?.dueAt ?? 0;
    expect(dueAt - shop.clock.now()).toBe(86_400_000);
  });

  test.each([NaN, -5, '20000', null])('is sent to after the planned pause when the time is none: %o', async (none) => {
    shop = await stage({ steps: [busy(none), charges] });
    await shop.provider.calls(['busy409']);

    const run = await shop.orchestrator.submit(shop.charge, order);
    await shop.pass('2s');

    expect(await run.status()).toBe('succeeded');
  });

  test('is not waited for beyond the time of the key while a reply is missing: a person is asked at once', async () => {
    shop = await stage({ contract: remembering('1h'), lookup: 'none', steps: [lost, busy(3_600_000), charges] });

    const run = await shop.orchestrator.submit(shop.charge, order);
    await shop.pass('5s');

    expect(await now(run)).toEqual({ status: 'escalated', reason: 'window-passed' });
    expect(await keysSent(shop.provider)).toHaveLength(2);
    expect(await shop.provider.records()).toHaveLength(1);
  });

  test('is waited for, however long, when nothing is missing', async () => {
    shop = await stage({ contract: remembering('1h'), lookup: 'none', steps: [busy(7_200_000), charges] });
    await shop.provider.calls(['busy409']);

    const run = await shop.orchestrator.submit(shop.charge, order);
    await shop.pass('1s');
    await shop.clock.advance('2h');
    await reached(run, 'succeeded');

    expect(await shop.provider.records()).toHaveLength(1);
  });
});
