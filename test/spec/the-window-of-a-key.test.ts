/**
 * A provider knows a key for a time, and only inside it are two requests one effect. What may start, and what an
 * absence proves, is measured against that time with the way of a request taken off; a start after everything earlier
 * is proven to be without effect has a time of its own.
 */

import { afterEach, describe, expect, test } from 'vitest';
import { absent, createOrchestrator, inconclusive, notApplied, type Run } from 'sagacity';
import { memoryStore, type ScriptedProvider } from 'sagacity/testing';
import { evenChance } from '../support/chance.ts';
import { type Charge, timedShop, type TimedShop, type TimedShopOptions } from '../support/timed.ts';
import { reached } from '../support/world.ts';

let shop: TimedShop;
afterEach(() => shop.close());

type ChargeRun = Run<{ chargeId: string }, 'card_declined'>;
type Execute = Charge['options']['execute'];

const payment = { orderId: 'order-17', amount: 5 };
const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

/** A charge that pauses `delayMs` between attempts and executes as `execute` says; `send` charges for real. */
async function charged(
  options: TimedShopOptions & { readonly delayMs: number; readonly calls?: Parameters<ScriptedProvider['calls']>[0] },
  execute: (context: Parameters<Execute>[0], send: Execute) => ReturnType<Execute>,
): Promise<ChargeRun> {
  const { delayMs, calls = [], ...rest } = options;
  shop = await timedShop({ start: false, ...rest });
  await shop.provider.calls(calls);
  const { policy, options: told } = shop.charge;
  const retry = { ...policy.retry, backoff: 'fixed', delayMs, maxDelayMs: delayMs, jitter: 'none' } as const;
  const charge: Charge = {
    ...shop.charge,
    policy: { ...policy, retry },
    options: { ...told, execute: (context) => execute(context, told.execute) },
  };
  const orchestrator = shop.another({ definitions: [charge] });
  await orchestrator.start();
  return orchestrator.submit(charge, payment);
}

/** The first `unsent` attempts never leave; the reply to the next one is lost on its way back. */
function losingAReply(unsent = 1): Parameters<typeof charged>[1] {
  return async (context, send) => {
    if (context.attempt <= unsent) return notApplied('the connection was refused');
    const outcome = await send(context);
    if (context.attempt === unsent + 1) throw new Error('The reply was lost.');
    return outcome;
  };
}

describe('a charge that is first sent when the key of its first start would be forgotten', () => {
  test('is not failed by a look-up that came before its record showed', async () => {
    const run = await charged(
      { keyRetention: '1h', lookup: { arrivalLimit: '1m' }, attempts: 2, delayMs: 2 * hour },
      losingAReply(),
    );
    await shop.provider.lookups(['lag']);

    await shop.clock.advance('2h');
    await shop.pass('5m');

    expect(await run.status()).toBe('succeeded');
    expect(await shop.provider.records()).toHaveLength(1);
    expect(await shop.sentKeys()).toHaveLength(1);
  });

  test('is not charged twice by another attempt that such a look-up would allow', async () => {
    const run = await charged(
      { keyRetention: '1h', lookup: { arrivalLimit: '1m' }, attempts: 3, delayMs: 2 * hour },
      losingAReply(),
    );
    await shop.provider.calls([`forget(${hour})`]);
    await shop.provider.lookups(['lag']);

    await shop.clock.advance('2h');
    await shop.pass('5m');
    await shop.clock.advance('3h');
    await shop.pass('1m');

    expect(await run.status()).toBe('succeeded');
    expect(await shop.provider.records()).toHaveLength(1);
    expect(await shop.sentKeys()).toHaveLength(1);
  });

  test('is not sent again while the provider may still count from a request that was not applied', async () => {
    const run = await charged({ keyRetention: '1h', attempts: 4, delayMs: 40 * minute }, losingAReply(2));
    await shop.provider.calls(['drop']);

    await shop.clock.advance('80m');
    await shop.pass('2m');

    expect(await run.result({ within: 0 })).toEqual({ status: 'escalated', reason: 'window-passed' });
    expect(await shop.provider.records()).toHaveLength(0);
    expect(await shop.sentKeys()).toHaveLength(1);
  });
});

describe('a charge whose reply was lost, and whose next attempt is due near the end of the window', () => {
  test.each([
    ['would arrive after it, however fast it starts', 2, 10],
    ['would arrive after it because its executor takes its time', 12, 14],
  ])('is handed to a person when it %s', async (_, startsBeforeEnd, onTheWay) => {
    const run = await charged(
      { keyRetention: '1h', lookup: 'none', delayMs: hour - startsBeforeEnd * second },
      async (context, send) => {
        if (context.attempt > 1) await new Promise<void>((go) => void shop.clock.after(onTheWay * second, go));
        const outcome = await send({ ...context, abortSignal: new AbortController().signal });
        if (context.attempt === 1) throw new Error('The reply was lost.');
        return outcome;
      },
    );
    await shop.provider.calls([`forget(${hour})`]);
    await reached(run, 'escalated');

    await shop.clock.advance(hour - 20 * second);
    await shop.pass('2m');

    expect(await shop.provider.records()).toHaveLength(1);
    expect(await run.result({ within: 0 })).toEqual({ status: 'escalated', reason: 'window-passed' });
    expect(await shop.sentKeys()).toHaveLength(1);
  });

  test('is sent again when it can still arrive inside it', async () => {
    const run = await charged(
      { keyRetention: '1h', lookup: 'none', delayMs: hour - 20 * second },
      async (context, send) => {
        const outcome = await send(context);
        if (context.attempt === 1) throw new Error('The reply was lost.');
        return outcome;
      },
    );
    await shop.provider.calls([`forget(${hour})`]);
    await reached(run, 'pending');

    await shop.clock.advance(hour - 30 * second);
    await shop.pass('1m');

    expect(await shop.provider.records()).toHaveLength(1);
    expect(await run.status()).toBe('succeeded');
    expect(await shop.sentKeys()).toHaveLength(2);
  });
});

describe('a charge whose request can arrive when its key, sent again, is forgotten', () => {
  const late = { keyRetention: '1h', lookup: { arrivalLimit: '2h' }, attempts: 2, delayMs: second } as const;

  test('is not sent again while that can be', async () => {
    const run = await charged({ ...late, calls: [`late(${90 * minute})`, `forget(${hour})`] }, (context, send) =>
      send(context),
    );

    await shop.pass('3h', '1m');

    expect(await shop.provider.records()).toHaveLength(1);
    expect(await run.status()).toBe('succeeded');
    expect(await shop.sentKeys()).toHaveLength(1);
  });

  test('is sent again once its absence is final', async () => {
    const run = await charged({ ...late, calls: ['drop'] }, (context, send) => send(context));

    await shop.pass('2h', '1m');
    const sentBefore = (await shop.sentKeys()).length;
    await shop.pass('2h', '1m');

    expect(sentBefore).toBe(1);
    expect(await run.status()).toBe('succeeded');
    expect(await shop.provider.records()).toHaveLength(1);
  });

  test('is sent again at once by a definition whose key outlasts its requests', async () => {
    const run = await charged(
      { ...late, keyRetention: '24h', calls: [`late(${90 * minute})`, `forget(${24 * hour})`] },
      (context, send) => send(context),
    );

    await shop.pass('3h', '1m');

    expect(await shop.provider.records()).toHaveLength(1);
    expect(await run.status()).toBe('succeeded');
    expect(await shop.sentKeys()).toHaveLength(2);
  });
});

describe('a process that was suspended until the provider had forgotten the key', () => {
  test('does not take an absence for proof: a person is asked', async () => {
    shop = await timedShop({ start: false, attempts: 1 });
    let asleepMs = 0;
    // What a suspended machine shows: time of day goes on, the steady counter stands still.
    const clock = { ...shop.clock, now: () => shop.clock.now() + asleepMs };
    const { options } = shop.charge;
    const charge: Charge = {
      ...shop.charge,
      options: { ...options, find: () => (asleepMs === 0 ? inconclusive('it is away') : absent()) },
    };
    const orchestrator = createOrchestrator({
      ...{ store: memoryStore({ clock }), clock, random: evenChance(), definitions: [charge], tenant: 'shop-1' },
      heartbeat: { every: '1h', timeout: '40h' },
    });
    await shop.provider.calls(['commit-then-drop']);
    await orchestrator.start();
    const run = await orchestrator.submit(charge, payment);
    await reached(run, 'reconciling');

    asleepMs = 25 * hour;
    await shop.pass('5m', '10s');
    const ended = await run.result({ within: 0 });
    const stopping = orchestrator.stop({ within: '1s' });
    await shop.pass('5s');
    await stopping;

    expect(ended).toEqual({ status: 'escalated', reason: 'window-passed' });
    expect(await shop.provider.records()).toHaveLength(1);
  });
});
