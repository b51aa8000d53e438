/**
 * `health()` tells at once, and without asking anybody, whether a process carries out what is due and whether a restart
 * would help. An outage of the database makes it not ready; only a process that is stuck by itself is not live.
 */

import { createOrchestrator, type Health, type Orchestrator, type Store } from 'sagacity';
import { afterEach, describe, expect, test } from 'vitest';
import { localWaker } from '../../src/adapters/local/waker.ts';
import { overlay } from '../../src/testing/overlay.ts';
import { leaving } from '../support/leaving-store.ts';
import { gate } from '../support/scripted-charge.ts';
import { severable } from '../support/severable-store.ts';
import { type Stage, stage } from '../support/stage.ts';
import { order } from '../support/stage-in.ts';
import { reached, until } from '../support/world.ts';

let shop: Stage;
afterEach(() => shop.close());

describe('a process', () => {
  test('that was not started is live, and not ready', async () => {
    shop = await stage({ start: false });

    const health = shop.orchestrator.health();

    expect(health).toEqual({
      ...{ live: true, ready: false, phase: 'new', why: 'start() was not called.' },
      worker: { id: null, isFresh: false },
      store: { name: 'memory', answers: false },
      waker: { isConnected: null },
      inFlight: 0,
      slots: { taken: 0, size: 32 },
      breakers: {},
    });
  });

  test('that only submits stays so, however much it submits', async () => {
    shop = await stage({ start: false });

    await shop.orchestrator.submit(shop.charge, order);

    expect(shop.orchestrator.health()).toMatchObject({ live: true, ready: false, phase: 'new' });
  });

  test('that is starting is not ready before it has looked for what is due', async () => {
    const [opened, swept] = [gate(), gate()];
    const sweeping = gate();
    shop = await stage({
      start: false,
      on: (kept) =>
        overlay(kept, {
          open: () => opened.passed,
          async bury(worker, which) {
            sweeping.open();
            if (which !== 'others') await swept.passed;
            return await kept.bury(worker, which);
          },
        }),
    });

    const starting = shop.orchestrator.start();
    const opening = shop.orchestrator.health();
    opened.open();
    await sweeping.passed;
    const looking = shop.orchestrator.health();
    swept.open();
    await starting;

    for (const health of [opening, looking]) {
      expect(health).toMatchObject({ live: true, ready: false, phase: 'starting', why: 'The start is not over yet.' });
    }
    expect(shop.orchestrator.health()).toMatchObject({ ready: true, phase: 'started' });
  });

  test('that was started is ready, and tells what it is busy with', async () => {
    shop = await stage({ concurrency: 2 });
    await shop.provider.faults(['commit-then-hold']);
    const idle = shop.orchestrator.health();
    const run = await shop.orchestrator.submit(shop.charge, order);
    await shop.provider.logged(({ event }) => event === 'HOLD');
    const busy = shop.orchestrator.health();
    await shop.provider.release();
    await reached(run, 'succeeded');

    expect(idle).toEqual({
      ...{ live: true, ready: true, phase: 'started', why: null },
      worker: { id: expect.any(String), isFresh: true },
      store: { name: 'memory', answers: true },
      waker: { isConnected: null },
      inFlight: 0,
      slots: { taken: 0, size: 2 },
      breakers: {},
    });
    expect(busy).toEqual({ ...idle, inFlight: 1, slots: { taken: 1, size: 2 } });
    await until(() => (shop.orchestrator.health().inFlight === 0 ? true : null), 'nothing to be in flight');
    expect(shop.orchestrator.health()).toEqual(idle);
  });

  test('whose start has failed may be started again', async () => {
    shop = await stage({ start: false });
    const database = leaving(shop.store);
    const orchestrator = shop.another(database.store);

    database.away = true;
    await expect(orchestrator.start()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    const failed = orchestrator.health();
    database.away = false;
    await orchestrator.start();

    expect(failed).toMatchObject({ live: true, ready: false, phase: 'new' });
    expect(orchestrator.health()).toMatchObject({ live: true, ready: true, phase: 'started' });
  });
});

describe('a process whose waker is cut off from others', () => {
  test('says so, and is ready all the same, because it sweeps', async () => {
    shop = await stage({ start: false });
    const waker = { ...localWaker(shop.clock), state: () => ({ isConnected: false }) };
    const { store, clock } = shop;
    const orchestrator = createOrchestrator({ store, clock, waker, definitions: [shop.charge], tenant: 'shop-1' });
    await orchestrator.start();

    const health = orchestrator.health();
    await orchestrator.stop();

    expect(health).toMatchObject({ live: true, ready: true, waker: { isConnected: false } });
  });
});

describe('a process that is told to stop', () => {
  test('is not ready from then on, live all the while, and says when it has stopped', async () => {
    shop = await stage();
    await shop.provider.faults(['commit-then-hold']);
    await shop.orchestrator.submit(shop.charge, order);
    await shop.provider.logged(({ event }) => event === 'HOLD');

    const stopping = shop.orchestrator.stop({ within: '10s' });
    await shop.clock.advance('5s');
    const meanwhile = shop.orchestrator.health();
    await shop.provider.release();
    await stopping;
    const afterwards = shop.orchestrator.health();

    expect(meanwhile).toMatchObject({ live: true, ready: false, phase: 'stopping', inFlight: 1 });
    expect(meanwhile.why).toBe('It is stopping, and begins nothing new.');
    expect(afterwards).toMatchObject({ live: true, ready: false, phase: 'stopped', inFlight: 0 });
  });
});

describe('a database that is away for an hour', () => {
  test('makes a process not ready within two sweeps, never not live, and ready again when it is back', async () => {
    shop = await stage({ start: false });
    const database = leaving(shop.store);
    const orchestrator = shop.another(database.store);
    await orchestrator.start();

    database.away = true;
    await shop.clock.advance('2s');
    const soon = orchestrator.health();
    const during = await healthsOver(60, orchestrator);
    database.away = false;
    // The heartbeat first, by which the worker is another one, and then a sweep.
    await shop.clock.advance('6s');
    const afterwards = orchestrator.health();

    expect(soon).toMatchObject({ live: true, ready: false, store: { answers: false } });
    expect(soon.why).toBe('The memory store did not answer the last sweep.');
    expect(during.map(({ live, ready }) => ({ live, ready }))).toEqual(
      during.map(() => ({ live: true, ready: false })),
    );
    expect(during.at(-1)).toMatchObject({ worker: { isFresh: false }, store: { answers: false } });
    expect(during.at(-1)?.why).toMatch(/heartbeat of its worker does not reach the store/);
    expect(afterwards).toMatchObject({ live: true, ready: true, why: null, store: { answers: true } });
  });

  test('makes it not ready, and never not live, also when calls are not even refused', async () => {
    shop = await stage({ start: false });
    const database = severable(shop.store);
    const orchestrator = shop.another(database);
    await orchestrator.start();

    database.sever();
    const during = await healthsOver(60, orchestrator);

    expect(during.map(({ live, ready }) => ({ live, ready }))).toEqual(
      during.map(() => ({ live: true, ready: false })),
    );
  });

  test('is an outage also for a process whose heartbeat has minutes to be missed in', async () => {
    shop = await stage({ start: false });
    const store = severable(shop.store);
    const patient = createOrchestrator({
      ...{ store, clock: shop.clock, definitions: [shop.charge], tenant: 'shop-1' },
      heartbeat: { every: '30s', timeout: '3m' },
    });
    await patient.start();

    store.sever();
    const lives: boolean[] = [];
    while (lives.length < 40) {
      await shop.clock.advance('15s');
      lives.push(patient.health().live);
    }
    const stopping = patient.stop({ within: 0 });
    await shop.clock.advance('10s');
    await stopping;

    expect(lives).toEqual(lives.map(() => true));
  });
});

describe('a sweep that hangs although the store answers', () => {
  const hanging = (kept: Store) =>
    overlay(kept, {
      handedOver: (...asked) => (isStuck ? new Promise<never>(() => {}) : kept.handedOver(...asked)),
    });
  let isStuck = false;
  afterEach(() => {
    isStuck = false;
  });

  test('makes a process not live, and not ready, after a minute', async () => {
    shop = await stage({ on: hanging });

    isStuck = true;
    await shop.clock.advance('55s');
    const patient = shop.orchestrator.health();
    await shop.clock.advance('10s');
    const stuck = shop.orchestrator.health();

    expect(patient).toMatchObject({ live: true, ready: true });
    expect(stuck).toMatchObject({ live: false, ready: false, phase: 'started', store: { answers: true } });
    expect(stuck.why).toMatch(
      /^No sweep has come round for 6\d s, although the store answers\. Restart the process\.$/,
    );
  });

  test('is no reason to restart a process that is about to end', async () => {
    shop = await stage({ on: hanging });
    isStuck = true;
    await shop.clock.advance('2m');

    const stopping = shop.orchestrator.stop({ within: '1s' });
    const health = shop.orchestrator.health();
    await shop.clock.advance('10s');
    await stopping;

    expect(health).toMatchObject({ live: true, ready: false, phase: 'stopping' });
  });
});

/** How the process is after each of so many minutes. */
async function healthsOver(minutes: number, orchestrator: Orchestrator<true>): Promise<readonly Health[]> {
  const healths: Health[] = [];
  while (healths.length < minutes) {
    await shop.clock.advance('1m');
    healths.push(orchestrator.health());
  }
  return healths;
}
