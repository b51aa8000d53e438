/**
 * What had settled shortly before a fail-over is asked about once more: a word that contradicted it may be among the
 * commits that are gone. The provider's answer is recorded once; it moves nothing, and a contradiction waits for a
 * person among the doubts.
 */

import type { Orchestrator, Run } from 'sagacity';
import { afterEach, describe, expect, test } from 'vitest';
import { failingOver, type FailingOver } from '../support/failing-over.ts';
import { timedShop, type TimedChargeOptions, type TimedShop, told } from '../support/timed.ts';
import { reached, until } from '../support/world.ts';

let shop: TimedShop;
let database: FailingOver;
afterEach(() => shop.close());

type ChargeRun = Run<{ chargeId: string }, 'card_declined'>;

const payment = { orderId: 'order-17', amount: 5 };

async function working(): Promise<Orchestrator<true>> {
  const started = shop.another({ store: database.store });
  await started.start();
  return started;
}

/** A charge that has settled, and the process that charged; time has gone on by `ago` since. */
async function settled(options: TimedChargeOptions, ago: '1m' | '20m' = '1m'): Promise<ChargeRun> {
  shop = await timedShop({ start: false, shared: true, ...options });
  database = failingOver(shop.clock);
  const orchestrator = await working();
  const run = await orchestrator.submit(shop.charge, payment);
  await reached(run, 'succeeded', 'failed');
  await shop.pass(ago);
  return run;
}

/** The last renewal is lost, and nothing else. */
async function failOver(): Promise<void> {
  let renewals = 0;
  database.failOver(({ verb }) => {
    if (verb === 'renew') renewals += 1;
    return renewals > 2;
  });
  await shop.pass('1m');
}

async function lookUps(): Promise<number> {
  return (await shop.provider.received()).filter(({ method }) => method === 'GET').length;
}

async function contradicted(): Promise<number> {
  const doubts = await shop.another({ store: database.store }).operator.doubts();
  return doubts.filter(({ contradictedAt }) => contradictedAt !== null).length;
}

describe('a charge that had succeeded a minute before the database failed over', () => {
  test('is looked up once more, by one of several processes, and has succeeded still', async () => {
    const run = await settled({});
    await working();
    const before = await lookUps();

    await failOver();
    await until(async () => ((await told(run)).some((line) => line.startsWith('lookup')) ? true : null), 'its record');
    await shop.pass('5m');

    expect(await run.status()).toBe('succeeded');
    expect((await told(run)).filter((line) => line.startsWith('lookup found'))).not.toEqual([]);
    expect(await lookUps()).toBeGreaterThan(before);
    expect(await contradicted()).toBe(0);
    const asked = await lookUps();
    await (await working()).stop();
    await shop.pass('5m');
    expect(await lookUps()).toBe(asked);
    expect(await shop.provider.records()).toHaveLength(1);
  });

  test('is listed for a person when its provider shows no record of it, and is not charged again', async () => {
    const run = await settled({});
    await shop.provider.lookups(['lag(600000)']);

    await failOver();
    await shop.pass('2m');

    expect(await run.status()).toBe('succeeded');
    expect(await contradicted()).toBe(1);
    expect(await shop.provider.records()).toHaveLength(1);
  });

  test('is left alone where its provider cannot be asked', async () => {
    const run = await settled({ lookup: 'none' });

    await failOver();
    await shop.pass('5m');

    expect(await run.status()).toBe('succeeded');
    expect(await lookUps()).toBe(0);
    expect(await contradicted()).toBe(0);
  });
});

describe('a charge that had settled long before the database failed over', () => {
  test('is not asked about', async () => {
    await settled({}, '20m');

    await failOver();
    await shop.pass('5m');

    expect(await lookUps()).toBe(0);
  });
});

describe('a charge on a database that has never failed over', () => {
  test('is not asked about by the next process that starts', async () => {
    await settled({});

    await working();
    await shop.pass('2m');

    expect(await lookUps()).toBe(0);
  });
});
