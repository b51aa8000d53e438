/**
 * Faults of sagas that seeded schedules brought to light, each as the shortest story that shows it. Found once by
 * chance, they are tried here for certain.
 */

import { absent, createOrchestrator, found, operation, type Orchestrator, saga, succeeded, typed } from 'sagacity';
import { memoryStore, type TestClock, testClock } from 'sagacity/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { storeUnavailable } from '../../src/domain/errors.ts';
import type { Store } from '../../src/ports/store.ts';
import { evenChance } from '../support/chance.ts';
import { failingOver } from '../support/failing-over.ts';
import { overlay } from '../support/interrupted.ts';

describe('a saga', () => {
  const booked = new Set<string>();
  const book = operation('room.book', {
    input: typed<{ readonly trip: string }>(),
    execute: ({ idempotencyKey }) => {
      booked.add(idempotencyKey);
      return succeeded({ room: 7 });
    },
    keyRetention: '1h',
    lookup: {
      visibleWithin: '1s',
      find: ({ idempotencyKey }) => (booked.has(idempotencyKey) ? found(succeeded({ room: 7 })) : absent()),
    },
    compensate: { none: 'the room is paid at the desk' },
  });
  const travel = saga('travel', { input: typed<{ readonly trip: string }>(), key: ({ input }) => input.trip }).step(
    'room',
    book,
    ({ input }) => ({ trip: input.trip }),
  );
  let clock: TestClock;
  const running: Orchestrator<true>[] = [];
  beforeEach(() => {
    clock = testClock();
    booked.clear();
  });
  afterEach(async () => {
    const stopping = Promise.all(running.splice(0).map((one) => one.stop({ within: 0 })));
    await clock.advance('5s');
    await stopping;
  });

  function traveller(store: Store): Orchestrator<true> {
    const made = createOrchestrator({
      ...{ store, clock, random: evenChance(), definitions: [travel], tenant: 'agency-1' },
    });
    running.push(made);
    return made;
  }

  test('that was claimed while the next claim failed is taken up all the same', async () => {
    const store = memoryStore({ clock });
    const run = await traveller(store).submit(travel, { trip: 'trip-17' });
    let failures = 0;
    const claimless = overlay(store, {
      claim: async () => {
        failures += 1;
        throw storeUnavailable('No connection.', 'Try again.');
      },
    });

    await traveller(claimless).start();
    await clock.advance('10s');

    expect(failures).toBeGreaterThan(0);
    expect(await run.status()).toBe('succeeded');
  });

  test('that had succeeded before a fail-over has its steps asked about once more, and none of it waits for ever', async () => {
    const database = failingOver(clock);
    const orchestrator = traveller(database.store);
    await orchestrator.start();
    const run = await orchestrator.submit(travel, { trip: 'trip-17' });
    await clock.advance('1m');
    const before = await run.status();

    let renewals = 0;
    database.failOver(({ verb }) => {
      if (verb === 'renew') renewals += 1;
      return renewals > 2;
    });
    await clock.advance('2m');

    expect([before, await run.status()]).toEqual(['succeeded', 'succeeded']);
    const asked = (await run.history()).filter(({ kind }) => kind === 'lookup');
    expect(asked.map(({ facts, operation: about }) => [facts['finding'], about?.action])).toEqual([
      ['found', 'room.book'],
    ]);
  });
});
