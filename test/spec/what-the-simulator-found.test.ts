/**
 * Faults that seeded schedules brought to light, each as the shortest story that shows it. Found once by chance, they
 * are tried here for certain.
 */

import { createOrchestrator, type Logger, notApplied, type Orchestrator } from 'sagacity';
import { afterEach, describe, expect, test } from 'vitest';
import { storeInDoubt, storeUnavailable } from '../../src/domain/errors.ts';
import { evenChance } from '../support/chance.ts';
import { overlay } from '../../src/testing/overlay.ts';
import { gate } from '../support/interrupted.ts';
import { charges, type Script } from '../support/scripted-charge.ts';
import { now, type Stage, stage, statesOf } from '../support/stage.ts';
import { order } from '../support/stage-in.ts';
import { reached, until } from '../support/world.ts';

let shop: Stage;
let beside: Orchestrator<true> | null = null;
afterEach(async () => {
  await beside?.stop({ within: 0 });
  beside = null;
  await shop.close();
});

describe('a process whose wakes are all lost', () => {
  const deaf = { start: async () => {}, wake() {}, stop: async () => {} };

  async function staged(script: Script): Promise<Orchestrator<true>> {
    shop = await stage({ start: false, ...script });
    const { store, clock, charge } = shop;
    beside = createOrchestrator({
      ...{ store, clock, random: evenChance(), definitions: [charge], tenant: 'shop-1', waker: deaf },
    });
    await beside.start();
    return beside;
  }

  test('tries again what it holds, with the next sweep after it is due', async () => {
    const orchestrator = await staged({ steps: [() => notApplied('the connection was refused'), charges] });
    const run = await orchestrator.submit(shop.charge, order);
    await reached(run, 'pending');

    await shop.pass('4s');

    expect(await now(run)).toMatchObject({ status: 'succeeded' });
    expect(await shop.provider.records()).toHaveLength(1);
  });

  test('looks up again what it holds, with the next sweep after it is due', async () => {
    const orchestrator = await staged({ lookup: { every: '1s', visibleWithin: '2s' } });
    await shop.provider.faults(['drop']);
    const run = await orchestrator.submit(shop.charge, order);
    await reached(run, 'reconciling');

    await shop.pass('40s');

    expect(await now(run)).toMatchObject({ status: 'succeeded' });
    expect(await shop.provider.records()).toHaveLength(1);
  });
});

describe('a charge that is on its way while the store cannot be read', () => {
  test('is recorded when it has ended, and never in doubt', async () => {
    const reply = gate();
    let isAway = false;
    const lines: string[] = [];
    shop = await stage({
      steps: [
        async (sending) => {
          const outcome = await charges(sending);
          await reply.pass();
          return outcome;
        },
      ],
      on: (store) =>
        overlay(store, {
          read: async (ref) => {
            if (isAway) throw storeUnavailable('No connection.', 'Try again.');
            return store.read(ref);
          },
        }),
      logger: linesOf(lines),
    });
    const run = await shop.orchestrator.submit(shop.charge, order);
    await reply.reached;

    isAway = true;
    const cancelling = shop.another().cancel(run.id, { by: 'the customer', reason: 'ordered twice', within: 0 });
    await cancelling;
    await shop.clock.advance('3s');
    isAway = false;
    reply.open();
    await reached(await shop.another().run(run.id), 'succeeded');

    expect(await statesOf(await shop.another().run(run.id))).not.toContain('unknown');
    expect(await shop.provider.records()).toHaveLength(1);
    expect(lines.filter((line) => line.startsWith('error'))).toEqual([]);
  });
});

describe('a stop while the store is in doubt about an ending', () => {
  test('leaves no timer behind and calls it no error: the next start finds out', async () => {
    let inDoubt = false;
    const lines: string[] = [];
    shop = await stage({
      on: (store) =>
        overlay(store, {
          turn: async (turn) => {
            if (inDoubt) throw storeInDoubt('A call was not answered.');
            return store.turn(turn);
          },
        }),
      logger: linesOf(lines),
    });
    await shop.provider.faults(['commit-then-hold']);
    const run = await shop.orchestrator.submit(shop.charge, order);
    await shop.provider.logged(({ event }) => event === 'HOLD');

    inDoubt = true;
    await shop.provider.release();
    let hasStopped = false;
    void shop.orchestrator.stop({ within: '100ms' }).then(() => {
      hasStopped = true;
    });
    await until(async () => {
      await shop.clock.advance('100ms');
      return hasStopped ? true : null;
    }, 'the stop');
    await shop.clock.advance('2500ms');
    inDoubt = false;

    expect(shop.clock.pending()).toBe(0);
    expect(lines.filter((line) => line.startsWith('error'))).toEqual([]);
    const next = shop.another();
    await next.start();
    expect(await reached(await next.run(run.id), 'succeeded')).toBe('succeeded');
    expect(await shop.provider.records()).toHaveLength(1);
  });
});

describe('a charge whose provider says how late a request can arrive', () => {
  test('has not failed for an absence before that, though it may not be sent again', async () => {
    shop = await stage({
      attempts: 1,
      lookup: { visibleWithin: '1s', arrivalLimit: '60s', every: '1s' },
      steps: [
        () => {
          throw new Error('socket hang up');
        },
      ],
    });
    const run = await shop.orchestrator.submit(shop.charge, order);
    await reached(run, 'reconciling');

    await shop.pass('30s');
    const beforeTheLimit = await run.status();
    await shop.pass('120s');

    expect(beforeTheLimit).toBe('reconciling');
    expect(await now(run)).toEqual({ status: 'failed', code: 'attempts-exhausted' });
  });
});

function linesOf(lines: string[]): Logger {
  const at = (level: string) => (_: object, message: string) => void lines.push(`${level}: ${message}`);
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}
