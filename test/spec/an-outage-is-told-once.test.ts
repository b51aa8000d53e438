/** A store that is away for a minute says so once, however many operations wait for it, and once that it is back. */

import { createOrchestrator, inconclusive, type Logger, operation, type Run, typed, unknown } from 'sagacity';
import { memoryStore, testClock } from 'sagacity/testing';
import { describe, expect, test } from 'vitest';
import { evenChance } from '../support/chance.ts';
import { leaving } from '../support/leaving-store.ts';
import { reached } from '../support/world.ts';

describe('a minute without the store, with twenty operations in doubt', () => {
  test('is a line for the sweep, a line for the heartbeat, and one when it is over', async () => {
    const clock = testClock();
    const told: string[] = [];
    const tell = (_: object, message: string) => void told.push(message);
    const logger: Logger = { debug() {}, info: tell, warn: tell, error: tell };
    const doubtful = operation('card.charge', {
      input: typed<{ orderId: string }>(),
      key: ({ input }) => input.orderId,
      execute: () => Promise.resolve(unknown('the reply was lost')),
      keyRetention: '24h',
      lookup: { visibleWithin: '1s', every: '1s', find: () => Promise.resolve(inconclusive('it is in progress')) },
    });
    const holder = leaving(memoryStore({ clock }));
    const orchestrator = createOrchestrator({
      ...{ store: holder.store, clock, random: evenChance(), logger, definitions: [doubtful], tenant: 'shop-1' },
      heartbeat: { every: '5s', timeout: '3m' },
    });
    await orchestrator.start();
    const runs: Run[] = [];
    for (let n = 0; n < 20; n += 1) runs.push(await orchestrator.submit(doubtful, { orderId: `order-${n}` }));
    for (const run of runs) await reached(run, 'unknown', 'reconciling');
    told.length = 0;

    holder.away = true;
    await clock.advance('1m');
    const during = [...told];
    holder.away = false;
    await clock.advance('10s');

    expect(during.toSorted()).toEqual([
      'heartbeat did not reach the store',
      'sweep did not reach the store; the next one will',
    ]);
    expect(told.slice(during.length)).toEqual(['the store answers again']);
    await orchestrator.stop({ within: 0 });
  });
});
