import { afterEach, describe, expect, test } from 'vitest';
import { storeInDoubt, storeUnavailable } from '../../src/domain/errors.ts';
import { isSettled } from '../../src/domain/operation-state.ts';
import { accepted, audit } from '../support/audit.ts';
import { overlay } from '../../src/testing/overlay.ts';
import { interrupted } from '../support/interrupted.ts';
import { severable, type SeverableStore } from '../support/severable-store.ts';
import { timedShop, type TimedShop, type TimedShopOptions } from '../support/timed.ts';

let shop: TimedShop;
afterEach(() => shop.close());

/** Six orders in flight at once, one of each fate at the provider. */
const FATES = ['ok', 'commit-then-drop', 'drop', 'decline', 'fail-before-commit', 'commit-then-error'] as const;

async function submitSix(): Promise<void> {
  await shop.provider.calls(FATES);
  for (const [n] of FATES.entries()) {
    // Who dies in the middle never hears that it was accepted, and who is told no may try again.
    shop.orchestrator.submit(shop.charge, { orderId: `order-${n}`, amount: n }).catch(() => {});
  }
}

async function expectEverythingSettled(): Promise<void> {
  expect(await audit(shop.store)).toEqual([]);
  const rows = await Promise.all(accepted(shop.store).map((ref) => shop.store.read(ref)));
  expect(rows.filter((row) => row === null || !isSettled(row.state))).toEqual([]);
  const records = await shop.provider.records();
  const charged = records.map(({ orderId }) => orderId);
  expect(new Set(charged).size).toBe(charged.length);
  const succeeded = rows.flatMap((row) => (row?.state === 'succeeded' ? [row.key] : []));
  expect(charged.toSorted()).toEqual(succeeded.toSorted());
}

const everyTurn = Array.from({ length: 24 }, (_, n) => n + 1);

describe.each(['before', 'after'] as const)('a process that dies %s a turn is written', (side) => {
  test.each(everyTurn)('loses nothing when it was turn %i: the next process takes it up', async (fatal) => {
    let dying: SeverableStore | undefined;
    let turns = 0;
    const dieAtTurn = () => {
      turns += 1;
      // From here on the process hears nothing any more, also of turns that were on their way.
      if (turns < fatal) return undefined;
      dying?.sever();
      return new Promise<never>(() => {});
    };
    shop = await timedShop({
      lookup: { arrivalLimit: '1m' },
      seen(store) {
        dying = severable(store);
        return interrupted(dying, { [side]: dieAtTurn });
      },
    });
    await submitSix();
    await shop.pass('1m');
    expect(turns).toBeGreaterThanOrEqual(fatal);

    await shop.another().start();
    await shop.pass('2s');
    const soonAfter = await audit(shop.store);
    await shop.pass('5m', '2s');

    expect(soonAfter).toEqual([]);
    await expectEverythingSettled();
  });
});

/** What the store does to the process that asks, for twenty seconds, and whatever it asks. */
const outages: Readonly<Record<string, (during: () => boolean) => NonNullable<TimedShopOptions['seen']>>> = {
  'takes no turns': (during) => (store) =>
    interrupted(store, { before: () => void (during() && raise(storeUnavailable('It is away.', 'Try later.'))) }),
  'loses its answers to turns': (during) => (store) =>
    interrupted(store, { after: () => void (during() && raise(storeInDoubt('The answer was lost.'))) }),
  'loses its answers to claims': (during) => (store) =>
    overlay(store, {
      async claim(...asked) {
        const claimed = await store.claim(...asked);
        return during() ? raise(storeInDoubt('The answer was lost.')) : claimed;
      },
    }),
  'reads nothing': (during) => (store) =>
    overlay(store, {
      async read(ref) {
        return during() ? raise(storeUnavailable('It is away.', 'Try later.')) : store.read(ref);
      },
    }),
  'takes no hand-overs and no renewals': (during) => (store) =>
    overlay(store, {
      async handOver(handover) {
        return during() ? raise(storeUnavailable('It is away.', 'Try later.')) : store.handOver(handover);
      },
      async renew(...given) {
        return during() ? raise(storeUnavailable('It is away.', 'Try later.')) : store.renew(...given);
      },
    }),
};

describe.each(Object.keys(outages))('a store that %s for a while', (outage) => {
  test.each(['0s', '1s', '44s'] as const)('loses nothing when that begins at %s', async (begins) => {
    let away = false;
    const seen = outages[outage]?.(() => away);
    shop = await timedShop(seen === undefined ? {} : { seen });
    away = begins === '0s';
    await submitSix();
    await shop.pass(begins);

    away = true;
    await shop.pass('20s');
    away = false;
    await shop.pass('10s');
    const soonAfter = await audit(shop.store);
    await shop.pass('3m', '2s');

    expect(soonAfter).toEqual([]);
    await expectEverythingSettled();
  });
});

describe('an operation whose owner cannot read what was handed over to it', () => {
  test('is taken up again as soon as it can be read', async () => {
    let away = false;
    const reads = outages['reads nothing']?.(() => away);
    const lookup = { arrivalLimit: '1m' } as const;
    shop = await timedShop({ shared: true, lookup, ...(reads === undefined ? {} : { seen: reads }) });
    await shop.provider.calls(['drop']);
    const run = await shop.orchestrator.submit(shop.charge, { orderId: 'order-17', amount: 5 });
    await shop.pass('1s');
    away = true;
    const elsewhere = shop.another();
    const asked = await elsewhere.cancel(run.id, { by: 'operator-3', reason: 'the customer left', within: 0 });
    await shop.pass('5s');

    away = false;
    await shop.pass('2m');

    expect(asked.status).toBe('waiting');
    expect(await audit(shop.store)).toEqual([]);
    expect(await run.result({ within: 0 })).toEqual({ status: 'failed', code: 'cancelled' });
    expect(await shop.provider.records()).toHaveLength(0);
  });
});

describe('an orchestrator that is stopped', () => {
  test.each([0, 1, 5, 44])('after %i seconds leaves everything to the next one', async (seconds) => {
    shop = await timedShop();
    await submitSix();
    await shop.pass(seconds * 1000);

    const stopping = shop.orchestrator.stop({ within: '1s' });
    await shop.clock.advance('5s');
    await stopping;
    const stopped = await audit(shop.store);
    await shop.another().start();
    await shop.pass('3m', '2s');

    expect(stopped).toEqual([]);
    expect(accepted(shop.store)).toHaveLength(FATES.length);
    await expectEverythingSettled();
  });
});

describe('twenty operations that have one slot between them', () => {
  test('all come to their end', async () => {
    shop = await timedShop({ concurrency: 1 });
    await shop.provider.calls(['ok', 'commit-then-drop', 'drop', 'decline']);
    const runs = await Promise.all(
      Array.from({ length: 20 }, (_, n) => shop.orchestrator.submit(shop.charge, { orderId: `order-${n}`, amount: n })),
    );

    await shop.pass('2m');

    const states = await Promise.all(runs.map((run) => run.status()));
    expect(states.filter((state) => state === 'succeeded')).toHaveLength(19);
    expect(states.filter((state) => state === 'failed')).toHaveLength(1);
    expect(await shop.provider.records()).toHaveLength(19);
    expect(await audit(shop.store)).toEqual([]);
  });
});

describe('an operation submitted where nothing runs', () => {
  test('waits, and is executed by a process that starts later', async () => {
    shop = await timedShop({ start: false });
    const run = await shop.orchestrator.submit(shop.charge, { orderId: 'order-17', amount: 5 });
    await shop.pass('1h', '10m');
    const waiting = [await run.status(), await audit(shop.store), await shop.provider.received()];

    await shop.another().start();
    await shop.pass('1s');

    expect(waiting).toEqual(['pending', [], []]);
    expect(await run.status()).toBe('succeeded');
    expect(await shop.provider.records()).toHaveLength(1);
  });
});

describe('an operation whose definition a process does not have', () => {
  test.each(['pending', 'in-progress', 'reconciling'] as const)('is left alone by it while %s', async (state) => {
    let dying: SeverableStore | undefined;
    shop = await timedShop({
      start: state !== 'pending',
      seen(store) {
        dying = severable(store);
        return dying;
      },
    });
    await shop.provider.calls([state === 'reconciling' ? 'drop' : 'commit-then-hold']);
    const run = await shop.orchestrator.submit(shop.charge, { orderId: 'order-17', amount: 5 });
    if (state === 'in-progress') await shop.provider.logged(({ event }) => event === 'HOLD');
    else await shop.pass('1s');
    dying?.sever();
    const before = await shop.store.read(run);
    const stranger = shop.another({ definitions: [shop.charging({ action: 'mail.send' })] });
    await stranger.start();
    await shop.clock.advance('30s');
    const whileStrange = await shop.store.read(run);

    await shop.provider.quiet();
    await shop.another().start();
    await shop.pass('3m', '2s');

    expect(before?.state).toBe(state);
    expect(whileStrange).toEqual({ ...before, now: whileStrange?.now });
    expect((await shop.store.read(run))?.state).toBe('succeeded');
    expect(await shop.provider.records()).toHaveLength(1);
  });
});

function raise(error: Error): never {
  throw error;
}
