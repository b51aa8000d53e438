/**
 * What an operation costs the database, counted in turns that were written. Every start is recorded before anything
 * is sent, and still an operation that goes well costs two writes.
 */

import { afterEach, describe, expect, test } from 'vitest';
import { notApplied } from 'sagacity';
import { figure } from '../support/figures.ts';
import { charges } from '../support/scripted-charge.ts';
import { type Stage, stage } from '../support/stage.ts';
import { arrangements, order, stageIn } from '../support/stage-in.ts';
import { reached } from '../support/world.ts';

let shop: Stage;
afterEach(() => shop.close());

describe('an operation alone', () => {
  test('costs two writes when it goes well: start and end', async () => {
    shop = await stage();

    await reached(await shop.orchestrator.submit(shop.charge, order), 'succeeded');
    await shop.pass('5m');

    figure('writes of an operation that goes well', shop.store.written.length, 2);
    expect(shop.store.written).toHaveLength(2);
    expect(await shop.provider.records()).toHaveLength(1);
  });

  test('costs two writes when it is declined', async () => {
    shop = await stage();
    await shop.provider.faults(['decline']);

    await reached(await shop.orchestrator.submit(shop.charge, order), 'failed');
    await shop.pass('5m');

    expect(shop.store.written).toHaveLength(2);
  });

  test('costs three writes when its reply is lost and it is found', async () => {
    shop = await stage();
    await shop.provider.faults(['commit-then-drop']);

    await reached(await shop.orchestrator.submit(shop.charge, order), 'succeeded');
    await shop.pass('5m');

    figure('writes of an operation that is looked up', shop.store.written.length, 3);
    expect(shop.store.written).toHaveLength(3);
    expect(await shop.provider.records()).toHaveLength(1);
  });

  test('costs one write more for every further look-up', async () => {
    shop = await stage();
    await shop.provider.faults(['commit-then-drop']);
    await shop.provider.lookups(['lookup500', 'lookup500', 'ok']);

    const run = await shop.orchestrator.submit(shop.charge, order);
    await reached(run, 'reconciling');
    await shop.pass('30s');

    expect(await run.status()).toBe('succeeded');
    figure('writes of an operation that is looked up three times', shop.store.written.length, 5);
    expect(shop.store.written).toHaveLength(5);
  });

  test('costs two writes more for every further attempt', async () => {
    shop = await stage({ steps: [() => notApplied('the connection was refused'), charges] });

    const run = await shop.orchestrator.submit(shop.charge, order);
    await reached(run, 'pending');
    await shop.pass('5s');

    expect(await run.status()).toBe('succeeded');
    figure('writes of an operation with two attempts', shop.store.written.length, 4);
    expect(shop.store.written).toHaveLength(4);
  });

  test('costs one write more where nothing runs when it is submitted', async () => {
    shop = await stage({ start: false });

    const run = await shop.orchestrator.submit(shop.charge, order);
    await shop.orchestrator.start();
    await reached(run, 'succeeded');
    await shop.pass('5m');

    figure('writes of an operation that is submitted before anything runs', shop.store.written.length, 3);
    expect(shop.store.written).toHaveLength(3);
  });

  test('costs one write more where no slot is free when it is submitted', async () => {
    shop = await stage({ concurrency: 1 });
    await shop.provider.faults(['commit-then-hold']);
    const first = await shop.orchestrator.submit(shop.charge, order);
    await shop.provider.logged(({ event }) => event === 'HOLD');

    const run = await shop.orchestrator.submit(shop.charge, { ...order, orderId: 'order-18' });
    const waits = await run.status();
    await shop.provider.release();
    await reached(first, 'succeeded');
    await shop.pass('5s');

    expect(waits).toBe('pending');
    expect(await run.status()).toBe('succeeded');
    expect(shop.store.written.filter(({ id }) => id === run.id)).toHaveLength(3);
    expect(await shop.provider.records()).toHaveLength(2);
  });
});

describe('a second submission', () => {
  test.each(arrangements)('of a charge that is %s writes nothing', async (state) => {
    const arranged = await stageIn(state);
    shop = arranged;
    const turns = shop.store.written.length;

    const second = await shop.orchestrator.submit(shop.charge, order);
    await second.result({ within: 0 });

    figure(`writes of a second submission of a charge that is ${state}`, shop.store.written.length - turns, 0);
    expect(shop.store.written).toHaveLength(turns);
    expect(second.id).toBe(arranged.run.id);
  });

  test('by fifty at once costs no more than one alone', async () => {
    shop = await stage();

    const runs = await Promise.all(Array.from({ length: 50 }, () => shop.orchestrator.submit(shop.charge, order)));
    await Promise.all(runs.map((run) => run.result({ within: '10s' })));

    figure('writes of fifty simultaneous submissions of one operation', shop.store.written.length, 2);
    expect(shop.store.written).toHaveLength(2);
  });
});
