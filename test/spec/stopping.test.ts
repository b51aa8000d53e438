/**
 * A stop begins nothing new, lets what is in flight end, and is over in the time it was given whatever the store and
 * the providers do. What had to be cut off is unknown, and found out after the next start.
 */

import { afterEach, describe, expect, test } from 'vitest';
import { charges, gate } from '../support/scripted-charge.ts';
import { severable, type SeverableStore } from '../support/severable-store.ts';
import { keysSent, now, type Stage, stage, statesOf } from '../support/stage.ts';
import { order } from '../support/stage-in.ts';
import { reached, until } from '../support/world.ts';
import { overlay } from '../../src/testing/overlay.ts';

let shop: Stage;
afterEach(() => shop.close());

describe('a stop while a charge is at the provider', () => {
  test('lets it end, records its end, and leaves nothing behind that keeps a process alive', async () => {
    shop = await stage();
    await shop.provider.faults(['commit-then-hold']);
    const run = await shop.orchestrator.submit(shop.charge, order);
    await shop.provider.logged(({ event }) => event === 'HOLD');

    const stopping = shop.orchestrator.stop({ within: '10s' });
    await shop.clock.advance('5s');
    const meanwhile = await now(await shop.another().run(run.id));
    await shop.provider.release();
    await stopping;

    expect(meanwhile).toEqual({ status: 'in-progress', state: 'in-progress' });
    expect(await now(await shop.another().run(run.id))).toMatchObject({ status: 'succeeded', reference: 'payment_1' });
    expect(await shop.provider.records()).toHaveLength(1);
    expect(shop.clock.pending()).toBe(0);
  });

  test('refuses what is submitted meanwhile', async () => {
    shop = await stage();
    await shop.provider.faults(['commit-then-hold']);
    await shop.orchestrator.submit(shop.charge, order);
    await shop.provider.logged(({ event }) => event === 'HOLD');

    const stopping = shop.orchestrator.stop({ within: '10s' });
    const second = shop.orchestrator.submit(shop.charge, { ...order, orderId: 'order-18' });

    await expect(second).rejects.toMatchObject({ code: 'ORCHESTRATOR_STOPPED' });
    await shop.provider.release();
    await stopping;
    expect(await keysSent(shop.provider)).toHaveLength(1);
  });

  test('aborts it when the time is over: unknown, and found after the next start', async () => {
    shop = await stage();
    await shop.provider.faults(['commit-then-hold']);
    const run = await shop.orchestrator.submit(shop.charge, order);
    await shop.provider.logged(({ event }) => event === 'HOLD');

    const took = await timeTaken(shop.orchestrator.stop({ within: '500ms' }));
    const stopped = await now(await shop.another().run(run.id));
    const row = await shop.store.read(run);
    const next = shop.another();
    await next.start();
    const taken = await next.run(run.id);
    await reached(taken, 'succeeded');

    expect(took).toBeLessThanOrEqual(1_000);
    expect(stopped).toEqual({ status: 'in-progress', state: 'unknown' });
    expect(row).toMatchObject({ owner: null, dueAt: expect.any(Number) });
    expect(await statesOf(taken)).toEqual(['pending', 'in-progress', 'unknown', 'succeeded']);
    expect(await shop.provider.records()).toHaveLength(1);
    expect(await keysSent(shop.provider)).toHaveLength(1);
  });

  test('does not wait for an executor that ignores its signal', async () => {
    const sending = gate();
    const ignores = () => {
      sending.open();
      return new Promise<never>(() => {});
    };
    shop = await stage({ steps: [ignores, charges] });
    const run = await shop.orchestrator.submit(shop.charge, order);
    await sending.passed;

    const took = await timeTaken(shop.orchestrator.stop({ within: '500ms' }));

    expect(took).toBeLessThanOrEqual(1_500);
    expect(await now(await shop.another().run(run.id))).toEqual({ status: 'in-progress', state: 'unknown' });
  });
});

describe('a stop while a look-up is on its way', () => {
  test('ends in time, and the next start asks again', async () => {
    const asked = gate();
    let answers = false;
    shop = await stage({
      lookup: {
        ask: () => {
          asked.open();
          if (!answers) return new Promise<never>(() => {});
          return { type: 'found', records: [{ type: 'succeeded', output: null, reference: 'payment_1' }] };
        },
      },
    });
    await shop.provider.faults(['commit-then-drop']);
    const run = await shop.orchestrator.submit(shop.charge, order);
    await asked.passed;

    const took = await timeTaken(shop.orchestrator.stop({ within: '500ms' }));
    answers = true;
    const next = shop.another();
    await next.start();
    await reached(await next.run(run.id), 'succeeded');

    expect(took).toBeLessThanOrEqual(1_000);
    expect(await shop.provider.records()).toHaveLength(1);
    expect(await keysSent(shop.provider)).toHaveLength(1);
  });
});

describe('a stop that is asked for twice', () => {
  test('is one stop', async () => {
    shop = await stage();

    const first = shop.orchestrator.stop();
    const second = shop.orchestrator.stop({ within: '1h' });

    expect(second).toBe(first);
    await first;
  });

  test('and of an orchestrator that was never started does nothing', async () => {
    shop = await stage({ start: false });

    await shop.orchestrator.stop();

    await expect(shop.orchestrator.start()).rejects.toMatchObject({ code: 'ORCHESTRATOR_STOPPED' });
    expect(shop.clock.pending()).toBe(0);
  });
});

describe('a stop whose store does not answer any more', () => {
  test('is over two seconds after its time', async () => {
    let store: SeverableStore | undefined;
    shop = await stage({ on: (kept) => (store = severable(kept)) });
    await shop.provider.faults(['commit-then-hold']);
    const run = await shop.orchestrator.submit(shop.charge, order);
    await shop.provider.logged(({ event }) => event === 'HOLD');
    store?.sever();
    await shop.clock.advance('2s');

    const took = await timeTaken(shop.orchestrator.stop({ within: '1s' }));
    const next = shop.another();
    await next.start();
    await reached(await next.run(run.id), 'succeeded');

    expect(took).toBeLessThanOrEqual(1_000 + 2_000);
    expect(await shop.provider.records()).toHaveLength(1);
    expect(await keysSent(shop.provider)).toHaveLength(1);
  });

  test('is over in time as well when nothing was in flight', async () => {
    let store: SeverableStore | undefined;
    shop = await stage({ on: (kept) => (store = severable(kept)) });
    store?.sever();
    await shop.clock.advance('2s');

    const took = await timeTaken(shop.orchestrator.stop({ within: '1s' }));

    expect(took).toBeLessThanOrEqual(1_000 + 2_000);
  });
});

describe('a stop before the start has ended', () => {
  test('wins: the start is refused, and nothing works afterwards', async () => {
    const opened = gate();
    shop = await stage({
      start: false,
      on: (kept) => overlay(kept, { open: () => opened.passed }),
    });
    const run = await shop.another().submit(shop.charge, order);

    const starting = shop.orchestrator.start().then(
      () => 'started',
      (error: { code?: string }) => error.code,
    );
    const stopping = shop.orchestrator.stop({ within: '1s' });
    opened.open();
    await timeTaken(stopping);
    await shop.clock.advance('1m');

    expect(await starting).toBe('ORCHESTRATOR_STOPPED');
    expect(await now(await shop.another().run(run.id))).toEqual({ status: 'in-progress', state: 'pending' });
    expect(await keysSent(shop.provider)).toEqual([]);
    expect(shop.clock.pending()).toBe(0);
  });

  test('wins also when the store opens only after the stop is over', async () => {
    const opened = gate();
    const enlisted: string[] = [];
    shop = await stage({
      start: false,
      on: (kept) =>
        overlay(kept, {
          open: () => opened.passed,
          async enlist(worker: string) {
            enlisted.push(worker);
            return await kept.enlist(worker);
          },
        }),
    });
    const run = await shop.another().submit(shop.charge, order);

    const starting = shop.orchestrator.start().then(
      () => 'started',
      (error: { code?: string }) => error.code,
    );
    await timeTaken(shop.orchestrator.stop({ within: '1s' }));
    opened.open();
    const answer = await starting;
    await shop.clock.advance('1m');

    expect(answer).toBe('ORCHESTRATOR_STOPPED');
    expect(enlisted).toEqual([]);
    expect(await now(await shop.another().run(run.id))).toEqual({ status: 'in-progress', state: 'pending' });
    expect(shop.clock.pending()).toBe(0);
  });
});

describe('work that was accepted and not started', () => {
  test('is left by a stop as it is, and carried out by the next process', async () => {
    shop = await stage({ concurrency: 1 });
    await shop.provider.faults(['commit-then-hold']);
    const first = await shop.orchestrator.submit(shop.charge, order);
    await shop.provider.logged(({ event }) => event === 'HOLD');
    const second = await shop.orchestrator.submit(shop.charge, { ...order, orderId: 'order-18' });
    const waiting = await shop.store.read(second);

    const stopping = shop.orchestrator.stop({ within: '10s' });
    await shop.provider.release();
    await timeTaken(stopping);
    const released = await shop.store.read(second);
    const sent = await keysSent(shop.provider);
    const next = shop.another();
    await next.start();
    await reached(await next.run(second.id), 'succeeded');

    // There was no slot for it: until one comes free it is anybody's.
    expect(waiting).toMatchObject({ state: 'pending', owner: null });
    expect(released).toMatchObject({ state: 'pending', owner: null, dueAt: expect.any(Number) });
    expect(sent).toHaveLength(1);
    expect(await now(await next.run(first.id))).toMatchObject({ status: 'succeeded' });
    expect(await shop.provider.records()).toHaveLength(2);
  });

  test('and waits for its next attempt is released as well', async () => {
    shop = await stage({ lookup: 'none' });
    await shop.provider.faults(['commit-then-drop']);
    const run = await shop.orchestrator.submit(shop.charge, order);
    await reached(run, 'pending');

    await timeTaken(shop.orchestrator.stop());
    const released = await shop.store.read(run);
    await shop.clock.advance('1m');
    const sent = await keysSent(shop.provider);
    const next = shop.another();
    await next.start();
    await reached(await next.run(run.id), 'succeeded');

    expect(released).toMatchObject({ state: 'pending', owner: null });
    expect(sent).toHaveLength(1);
    expect(await shop.provider.records()).toHaveLength(1);
  });
});

/** How long `work` takes by the test's clock, which moves on in small steps until it is done. */
async function timeTaken(work: Promise<unknown>): Promise<number> {
  const began = shop.clock.monotonic();
  let ended = false;
  void work.then(() => {
    ended = true;
  });
  await until(async () => {
    if (ended) return true;
    await shop.clock.advance('50ms');
    return ended ? true : null;
  }, 'it to end');
  return shop.clock.monotonic() - began;
}
