/**
 * A process is dropped around each single write that a saga makes, the write made or not, and another one finishes on the
 * same store. The provider then has exactly the records of an undisturbed run, in whatever direction the saga went; only
 * where a provider knows neither keys nor look-ups is a person asked, and nothing is sent again.
 */

import { afterEach, describe, expect, test } from 'vitest';
import type { Orchestrator, Saga, SagaCause, SagaState } from 'sagacity';
import { memoryStore } from 'sagacity/testing';
import type { Store } from '../../src/ports/store.ts';
import { type Death, mortal } from '../support/mortal-store.ts';
import { bundle, sale, slowSale } from '../support/parcel.ts';
import {
  approval,
  fair,
  fulfilment,
  type Kind,
  type Part,
  sagaShop,
  type SagaShop,
  type Trade,
} from '../support/saga-shop.ts';
import { until } from '../support/world.ts';

let shop: SagaShop;
afterEach(() => shop.close());

interface Scenario {
  readonly situation: string;
  readonly selling: (trade: Trade) => Saga<string, Part, unknown, SagaCause, Part>;
  readonly refuses?: Kind;
  /** What somebody does while it waits, and does again when they hear nothing. */
  readonly act?: (orchestrator: Orchestrator<true>, id: string) => Promise<unknown>;
  /** The record that they wait for instead, where it is one of its steps that waits. */
  readonly actsAfter?: Kind;
  readonly end: SagaState;
  readonly kept: readonly string[];
}

const eventId = 'event-1';
const who = { by: 'the shop', reason: 'the customer changed their mind' };

const scenarios: readonly Scenario[] = [
  {
    situation: 'five steps that succeed',
    selling: fulfilment,
    end: 'succeeded',
    kept: ['authorisation', 'reservation', 'booking', 'capture', 'email'],
  },
  {
    situation: 'three steps that are taken back',
    selling: fulfilment,
    refuses: 'capture',
    end: 'compensated',
    kept: ['authorisation', 'reservation', 'booking', 'cancellation', 'release', 'void'],
  },
  {
    situation: 'steps beside each other that are taken back at once',
    selling: (trade) => fair(trade, { compensation: 'parallel' }),
    refuses: 'payment',
    end: 'compensated',
    kept: ['authorisation', 'reservation', 'booking', 'cancellation', 'release', 'void'],
  },
  {
    situation: 'an event that is awaited and comes',
    selling: approval,
    act: (orchestrator, id) => orchestrator.signal(id, { type: 'approved' }, { eventId, within: '1m' }),
    end: 'succeeded',
    kept: ['authorisation', 'reservation'],
  },
  {
    situation: 'an event that is awaited, and a cancellation instead',
    selling: approval,
    act: (orchestrator, id) => orchestrator.cancel(id, { ...who, within: '1m' }),
    end: 'compensated',
    kept: ['authorisation', 'void'],
  },
  {
    situation: 'a step that is a saga and succeeds',
    selling: sale,
    end: 'succeeded',
    kept: ['authorisation', 'reservation', 'booking', 'payment'],
  },
  {
    situation: 'a step that is a saga and is refused',
    selling: sale,
    refuses: 'booking',
    end: 'compensated',
    kept: ['authorisation', 'reservation', 'release', 'void'],
  },
  {
    situation: 'a step that is a saga and takes itself back',
    selling: sale,
    refuses: 'payment',
    end: 'compensated',
    kept: ['authorisation', 'reservation', 'booking', 'cancellation', 'release', 'void'],
  },
  {
    situation: 'a step that is a saga and is cancelled when the time of its parent is over',
    selling: (trade) => slowSale(trade, '2m'),
    end: 'compensated',
    kept: ['authorisation', 'reservation', 'release', 'void'],
  },
  {
    situation: 'a step that is a saga with such a step, and all of it is ended as it stands',
    selling: bundle,
    act: (orchestrator, id) => orchestrator.operator.terminate(id, { ...who, within: '1m' }),
    actsAfter: 'reservation',
    end: 'terminated',
    kept: ['authorisation', 'reservation'],
  },
];

let orders = 0;

/** Runs it in one process after the other, each but the last of which dies; what became of it. */
async function played(scenario: Scenario, deaths: readonly Death[] = []) {
  orders += 1;
  const order = { orderId: `order-${orders}` };
  const store = memoryStore({ clock: shop.clock });
  const definition = scenario.selling(shop.trade);
  let died = 0;
  for (const death of deaths) died += (await process(scenario, definition, order, store, death)).isDead ? 1 : 0;
  const { orchestrator, writes } = await process(scenario, definition, order, store, null);
  await shop.pass('3m');
  await orchestrator.stop();
  const row = await store.readSagaByIdentity({ tenant: 'shop-1', name: definition.name, key: order.orderId });
  return { end: row?.state, reason: row?.reason, kept: await shop.kept(order.orderId), writes, died };
}

/** Nobody was told that it was accepted, or what became of what they said, so they come again to each process. */
async function process(
  { act, actsAfter }: Scenario,
  definition: ReturnType<Scenario['selling']>,
  order: Part,
  store: Store,
  death: Death | null,
) {
  const seen = mortal(store, death);
  const orchestrator = await shop.open([definition], { store: seen });
  let id: string | null = null;
  let isToAct = act !== undefined;
  let isHeard = act === undefined;
  const submitting = orchestrator.submit(definition, order);
  submitting.then(
    (run) => {
      id = run.id;
    },
    () => {},
  );
  await until(async () => {
    await shop.pass('1s');
    if (seen.isDead) return true;
    if (id === null) return null;
    const isWaiting =
      actsAfter === undefined
        ? (await store.readSaga({ tenant: 'shop-1', id }))?.state !== 'in-progress'
        : (await shop.kept(order.orderId)).includes(actsAfter);
    if (isToAct && isWaiting) {
      isToAct = false;
      const hear = () => {
        isHeard = true;
      };
      // That it was refused is an answer as well: it had been heard before.
      act?.(orchestrator, id).then(hear, hear);
    }
    return isHeard && (death === null || (await isOver(store, id))) ? true : null;
  }, 'the process to die, or to have heard');
  return { orchestrator, writes: seen.writes, isDead: seen.isDead };
}

async function isOver(store: Store, id: string): Promise<boolean> {
  const row = await store.readSaga({ tenant: 'shop-1', id });
  return row !== null && row.dueAt === null && row.owner === null;
}

/** Around each of the writes. */
function deathsOf(writes: number): readonly Death[] {
  return Array.from({ length: writes }, (_, n) => n + 1).flatMap((write) => [
    { side: 'before', write } as const,
    { side: 'after', write } as const,
  ]);
}

describe.each(scenarios)('a saga of $situation', (scenario) => {
  const { end, kept, refuses } = scenario;

  test('has the same effects wherever its process is dropped', async () => {
    shop = await sagaShop(refuses === undefined ? {} : { [refuses]: { isRefused: true } });
    const undisturbed = await played(scenario);
    const deaths = deathsOf(undisturbed.writes);

    const wrong: unknown[] = [];
    for (const death of deaths) {
      const after = await played(scenario, [death]);
      const isWhole = after.end === end && after.kept.toSorted().join() === kept.toSorted().join();
      if (!isWhole || after.died !== 1) wrong.push({ death, after });
    }

    expect(undisturbed).toMatchObject({ end });
    expect(undisturbed.kept.toSorted()).toEqual(kept.toSorted());
    expect(wrong).toEqual([]);
    expect(deaths.length).toBeGreaterThan(5);
  });
});

describe('a saga that is taken back by processes that die one after the other', () => {
  test('takes each effect back once', async () => {
    const taken = scenarios.filter(
      ({ refuses, selling }) => refuses === 'capture' || (refuses === 'payment' && selling === sale),
    );
    shop = await sagaShop({ capture: { isRefused: true }, payment: { isRefused: true } });
    const wrong: unknown[] = [];
    for (const scenario of taken) {
      const { writes } = await played(scenario);
      for (const write of Array.from({ length: writes - 1 }, (_, n) => n + 2)) {
        // The next one dies before what it has learnt is written, and the one after that once it is.
        const after = await played(scenario, [
          { side: 'before', write },
          { side: 'before', write: 3 },
          { side: 'after', write: 3 },
        ]);
        if (after.end !== 'compensated' || after.kept.join() !== scenario.kept.join()) wrong.push({ write, after });
      }
    }

    expect(wrong).toEqual([]);
  });
});

describe('a saga with a step whose provider knows neither keys nor look-ups', () => {
  test('asks a person where the step may have been sent, and otherwise has all of its effects', async () => {
    shop = await sagaShop({ reservation: { keyRetention: 'none', lookup: 'none' } });
    const [scenario] = scenarios;
    if (scenario === undefined) throw new Error('There is no scenario.');
    const { writes } = await played(scenario);

    const ends: Record<string, unknown> = {};
    for (const death of deathsOf(writes)) {
      const { end, reason, kept } = await played(scenario, [death]);
      ends[`${death.side} ${death.write}`] = { end, reason, kept: kept.length };
    }

    const whole = { end: 'succeeded', reason: null, kept: 5 };
    const asked = { end: 'escalated', reason: 'no-lookup' };
    expect(ends).toEqual({
      ...Object.fromEntries(deathsOf(writes).map(({ side, write }) => [`${side} ${write}`, whole])),
      // Its start is written with the second write and its end with the third.
      'after 2': { ...asked, kept: 1 },
      'before 3': { ...asked, kept: 2 },
    });
  });
});
