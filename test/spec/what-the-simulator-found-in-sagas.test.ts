/**
 * Faults of sagas that seeded schedules brought to light, each as the shortest story that shows it. Found once by
 * chance, they are tried here for certain.
 */

import {
  absent,
  createOrchestrator,
  found,
  notApplied,
  operation,
  type Orchestrator,
  type OrchestratorOptions,
  saga,
  succeeded,
  typed,
} from 'sagacity';
import { memoryStore, type TestClock, testClock } from 'sagacity/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { storeUnavailable } from '../../src/domain/errors.ts';
import { operationMachine } from '../../machines/operation.ts';
import { kernelOf } from '../../src/kernel/kernel.ts';
import { advance, birth, type OperationHappening } from '../../src/orchestrator/advance.ts';
import { type HandedOver, toBody } from '../../src/orchestrator/handover.ts';
import { endOf } from '../../src/orchestrator/perform.ts';
import type { AnySaga, Ports } from '../../src/orchestrator/orchestrator.ts';
import type { Wake, Waker } from '../../src/ports/waker.ts';
import type { Store } from '../../src/ports/store.ts';
import { evenChance } from '../support/chance.ts';
import { failingOver } from '../support/failing-over.ts';
import { overlay } from '../../src/testing/overlay.ts';
import { gate } from '../support/interrupted.ts';
import { onlyDoubt, order, type Part, sagaShop, type SagaShop } from '../support/saga-shop.ts';

interface Trip {
  readonly trip: string;
}

describe('a saga', () => {
  const booked = new Set<string>();
  const book = operation('room.book', {
    input: typed<Trip>(),
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
  const travel = saga('travel', { input: typed<Trip>(), key: ({ input }) => input.trip }).step(
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

  function traveller(
    store: Store,
    definition: AnySaga = travel,
    more: Partial<OrchestratorOptions & Ports> = {},
  ): Orchestrator<true> {
    const made = createOrchestrator({
      ...{ store, clock, random: evenChance(), definitions: [definition], tenant: 'agency-1', ...more },
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

  test('whose deadline falls due after its pivot is left in peace by it', async () => {
    const sent = gate();
    const send = operation('ticket.send', {
      input: typed<Trip>(),
      execute: async () => {
        await sent.pass();
        return succeeded({ sent: true });
      },
      timeout: '5m',
      keyRetention: '1h',
      lookup: 'none',
    });
    const ticket = saga('ticket', { input: typed<Trip>(), key: ({ input }) => input.trip, within: '10s' })
      .pivot('room', book, ({ input }) => input)
      .step('send', send, ({ input }) => input);
    const stored = memoryStore({ clock });
    let turns = 0;
    const store = overlay(stored, {
      sagaTurn(turn) {
        turns += 1;
        // Without end it would never come to the judgement.
        return turns > 50 ? new Promise(() => {}) : stored.sagaTurn(turn);
      },
    });
    const orchestrator = traveller(store, ticket);
    await orchestrator.start();
    const run = await orchestrator.submit(ticket, { trip: 'trip-17' });

    await clock.advance('1m');
    const written = turns;
    sent.open();
    await clock.advance('1s');

    expect(written).toBeLessThan(5);
    expect(await run.status()).toBe('succeeded');
  });

  test('that waits for several things needs no more wakes while its worker does not know whether it is alive', async () => {
    const refuse = operation('seat.book', {
      input: typed<Trip>(),
      execute: () => notApplied('HTTP 429'),
      keyRetention: '1h',
      lookup: 'none',
      compensate: { none: 'a seat is free until it is paid' },
      retry: { attempts: 3, delay: '6s', jitter: 'none' },
    });
    const seats = saga('seats', { input: typed<Trip>(), key: ({ input }) => input.trip }).parallel(
      'both',
      (branch) => ({
        one: branch.step('window', refuse, ({ input }) => input),
        other: branch.step('aisle', refuse, ({ input }) => input),
      }),
    );
    let wakes = 0;
    let hear: (wake: Wake) => Promise<void> = async () => {};
    // As on a network: each is delivered, also when another one was asked for later.
    const waker: Waker = {
      start: async (onWake) => void (hear = onWake),
      wake(wake, delayMs) {
        wakes += 1;
        clock.after(delayMs, () => void hear(wake));
      },
      stop: async () => {},
    };
    const stored = memoryStore({ clock });
    let isAway = false;
    const away = async () => {
      throw storeUnavailable('No connection.', 'Try again.');
    };
    const store = overlay(stored, {
      renew: (...given) => (isAway ? away() : stored.renew(...given)),
      enlist: (...given) => (isAway ? away() : stored.enlist(...given)),
    });
    const orchestrator = traveller(store, seats, { waker, heartbeat: { every: '1s', timeout: '4s' } });
    await orchestrator.start();
    await orchestrator.submit(seats, { trip: 'trip-17' });
    isAway = true;

    await clock.advance('16s');

    expect(wakes).toBeLessThan(40);
  });

  test('keeps in the history of a step what a fail-over may have lost of it, also when that is reckoned with as it is cancelled', () => {
    const kernel = kernelOf(operationMachine);
    const facts = { now: 0, sendBy: null, windowEndsAt: null, lostStartOn: null, random: 0.5 };
    const { row } = birth(kernel, book.policy, facts, false);

    const told = { type: 'told', event: { type: 'cancel.requested' }, why: {} } as const;
    const turn = advance(kernel, row, '1.turn', told, { ...facts, lostStartOn: 'timeline-2' });

    expect(turn?.records.map(({ kind, attempt }) => [kind, attempt])).toEqual([
      ['moved', null],
      ['moved', 1],
    ]);
  });

  test('of which a step is taken back is not contradicted by a reply that says it had happened', () => {
    const kernel = kernelOf(operationMachine);
    const facts = { now: 0, sendBy: 1_000, windowEndsAt: null, lostStartOn: null, random: 0.5 };
    const policy = { ...book.policy, lookup: null, keyRetentionMs: null };
    const said = (handoverId: string, body: HandedOver): OperationHappening => ({
      type: 'handed.over',
      handovers: [{ tenant: 'agency-1', id: 'op_1', handoverId, body: toBody(body) }],
    });
    const output = { room: 7 };
    const happenings: OperationHappening[] = [
      { type: 'attempt.ended', generation: 1, ...endOf({ type: 'unknown', reason: 'no reply' }) },
      said('decision', {
        ...{
          kind: 'verdict',
          outcome: succeeded(output),
          by: 'the person on call',
          evidence: 'their ledger',
          seen: '2',
        },
      }),
      { type: 'told', event: { type: 'compensation.begun', unsettledJoiners: 0 }, why: {} },
      { type: 'told', event: { type: 'compensation.succeeded' }, why: {} },
      said('late', { kind: 'evidence', source: 'late-result', attempt: 1, outcome: succeeded(output) }),
    ];
    let { row } = birth(kernel, policy, facts, true);

    let contradicted = false;
    for (const [at, happening] of happenings.entries()) {
      const turn = advance(kernel, row, String(at + 1), happening, facts);
      row = turn?.row ?? row;
      contradicted ||= turn?.contradicted === true;
    }

    expect([row.value, contradicted]).toEqual(['compensated', false]);
  });
});

describe('a saga that has joined what waits for a person', () => {
  let shop: SagaShop;
  afterEach(() => shop.close());

  test('is looked at ever more seldom meanwhile, and goes on soon after they have decided', async () => {
    shop = await sagaShop({ reservation: { isShared: true, keyRetention: 'none', lookup: 'none' } });
    const { authorise, reserve } = shop.trade;
    const delivery = saga('delivery', { input: typed<Part>(), key: ({ input }) => input.orderId })
      .step('deposit', authorise, ({ input }) => input)
      .step('goods', reserve, ({ input }) => input);
    const orchestrator = await shop.open([reserve, delivery]);
    await shop.provider.calls(['do+drop'], 'reservation');
    await orchestrator.submit(reserve, order);
    const joiner = await orchestrator.submit(delivery, order);
    await shop.pass('10m');

    const before = await shop.store.readSaga(joiner);
    await shop.pass('10m');
    const after = await shop.store.readSaga(joiner);
    const { id, seen } = await onlyDoubt(orchestrator);
    await orchestrator.operator.resolve(id, succeeded({ id: 'reservation_1' }), {
      ...{ by: 'the shop', evidence: 'the warehouse shows it', seen },
    });
    await shop.pass('1s');

    expect((after?.revision ?? 0) - (before?.revision ?? 0)).toBeLessThanOrEqual(11);
    expect(await joiner.status()).toBe('succeeded');
  });
});
