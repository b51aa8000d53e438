/** A store that is away for a minute says so once, however many operations wait for it, and once that it is back. */

import { createOrchestrator, inconclusive, type Logger, operation, type Run, typed, unknown } from 'sagacity';
import { memoryStore, testClock } from 'sagacity/testing';
import { describe, expect, test } from 'vitest';
import { storeUnavailable } from '../../src/domain/errors.ts';
import type { Store } from '../../src/ports/store.ts';
import { evenChance } from '../support/chance.ts';
import { reached } from '../support/world.ts';

/** A store that can be away. */
function leaving(store: Store): { readonly store: Store; away: boolean } {
  const state = {
    away: false,
    store: new Proxy(store, {
      get(target, name: keyof Store) {
        const verb = target[name];
        if (typeof verb !== 'function') return verb;
        return (...args: never[]) => {
          if (state.away) return Promise.reject(storeUnavailable('The database is away.', 'Call again.'));
          // Each verb takes what the port says, and is given what it was called with.
          return (verb as (...given: never[]) => unknown).apply(target, args);
        };
      },
    }),
  };
  return state;
}

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
