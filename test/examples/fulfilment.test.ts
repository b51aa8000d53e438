/**
 * The fulfilment example in both styles. Whatever happens to an order, the chain and the hand-written machine leave the
 * same records at the companies, made under the same keys, and end the same way. What is expected is written down once
 * for both.
 */

import { describe, expect, test } from 'vitest';
import type { SagaResult } from 'sagacity';
import type { Order } from '../../examples/fulfilment/operations.ts';
import { type FulfilmentRun, fulfilmentShop, type FulfilmentShop, type Style } from '../support/fulfilment-shop.ts';
import { until } from '../support/world.ts';
import { runExample } from './run-example.ts';

interface Ended {
  readonly end: SagaResult;
  /** How many records of each kind the companies hold. */
  readonly records: Readonly<Record<string, number>>;
}

/** Plays it in both styles, each in a shop of its own. */
async function inBoth(play: (shop: FulfilmentShop) => Promise<FulfilmentRun>): Promise<Ended> {
  const chain = await played('chain', play);
  const machine = await played('machine', play);
  expect(machine).toEqual(chain);
  const { end, records } = chain;
  return { end, records };
}

async function played(style: Style, play: (shop: FulfilmentShop) => Promise<FulfilmentRun>) {
  const shop = await fulfilmentShop(style);
  try {
    const run = await play(shop);
    const end = await shop.endOf(run);
    // What has ended has ended.
    await shop.pass('2m');
    expect(await run.result({ within: 0 })).toEqual(end);
    const stored = await shop.provider.records();
    const records: Record<string, number> = {};
    for (const { kind } of stored) records[kind] = (records[kind] ?? 0) + 1;
    return { end, records, keys: stored.map(({ kind, key }) => `${kind} ${key}`).toSorted() };
  } finally {
    await shop.close();
  }
}

type Kind = 'authorisation' | 'reservation' | 'shipment' | 'capture' | 'email' | 'void' | 'release' | 'cancellation';
type Mode = 'decline' | 'drop' | 'commit-then-drop' | 'commit-then-hold';

/** An order in which the call for this kind of record goes wrong in this way. */
async function submitWith(shop: FulfilmentShop, faults: Partial<Record<Kind, Mode>>): Promise<FulfilmentRun> {
  for (const [kind, mode] of Object.entries(faults)) await shop.provider.faults([mode], kind);
  return shop.submit();
}

function held({ provider }: FulfilmentShop, kind: Kind) {
  return provider.logged((entry) => entry.event === 'HOLD' && entry.kind === kind);
}

function cancel({ orchestrator }: FulfilmentShop, { id }: FulfilmentRun) {
  return orchestrator.cancel(id, { by: 'shop', reason: 'ordered twice' });
}

const prepared = { authorisation: 1, reservation: 1 };
const takenBack = { release: 1, void: 1 };
const delivered = { ...prepared, shipment: 1, capture: 1 };
const shipmentTakenBack = { ...prepared, shipment: 1, cancellation: 1, ...takenBack };
const fulfilled = {
  ...{
    end: {
      status: 'succeeded',
      output: { approvedBy: null, shipmentIds: ['shipment_1'], captureId: 'capture_1', messageId: 'email_1' },
    },
  },
  records: { ...delivered, email: 1 },
};

function compensated(step: string | null, code: string) {
  return { status: 'compensated', cause: { step, code } };
}

describe('an order', () => {
  test('that nothing goes wrong with is fulfilled, one record each', async () => {
    expect(await inBoth((shop) => shop.submit())).toEqual(fulfilled);
  });

  test.each(['authorisation', 'reservation', 'shipment', 'capture'] as const)(
    'whose %s is made and its reply lost is fulfilled, with that one record',
    async (kind) => {
      expect(await inBoth((shop) => submitWith(shop, { [kind]: 'commit-then-drop' }))).toEqual(fulfilled);
    },
  );

  test('whose e-mail is refused is fulfilled without it', async () => {
    expect(await inBoth((shop) => submitWith(shop, { email: 'decline' }))).toEqual({
      end: { status: 'succeeded', output: { ...fulfilled.end.output, messageId: null } },
      records: delivered,
    });
  });
});

describe('an order that is refused', () => {
  test.each([
    ['payment', 'card_declined', 'authorisation', { reservation: 1, release: 1 }],
    ['stock', 'out_of_stock', 'reservation', { authorisation: 1, void: 1 }],
    ['shipment', 'address_refused', 'shipment', { ...prepared, ...takenBack }],
    ['capture', 'authorisation_expired', 'capture', shipmentTakenBack],
  ] as const)('at its %s has what succeeded taken back', async (step, code, kind, records) => {
    expect(await inBoth((shop) => submitWith(shop, { [kind]: 'decline' }))).toEqual({
      end: compensated(step, code),
      records,
    });
  });

  test.each(['cancellation', 'release', 'void'] as const)(
    'and the reply to whose %s is lost has it taken back once',
    async (kind) => {
      const ended = await inBoth((shop) => submitWith(shop, { capture: 'decline', [kind]: 'commit-then-drop' }));

      expect(ended).toEqual({ end: compensated('capture', 'authorisation_expired'), records: shipmentTakenBack });
    },
  );
});

describe('an order whose stock the warehouse does not take back', () => {
  /** Its stock is reserved last, so that is what is taken back first. */
  async function submit(shop: FulfilmentShop): Promise<FulfilmentRun> {
    const run = await submitWith(shop, { reservation: 'commit-then-hold', shipment: 'decline', release: 'decline' });
    await held(shop, 'reservation');
    await until(async () => {
      const story = await run.history();
      return story.find(({ operation, kind }) => operation?.action === 'payment.authorise' && kind === 'end') ?? null;
    }, 'the payment to be recorded');
    await shop.provider.release();
    return run;
  }

  test('is escalated, and still says why it was being taken back', async () => {
    expect(await inBoth(submit)).toEqual({
      end: { ...compensated('shipment', 'address_refused'), status: 'escalated', reason: 'inverse-failed' },
      records: prepared,
    });
  });

  test.each(['taken-back', 'left-standing'] as const)('ends when a person says %s', async (effect) => {
    const ended = await inBoth(async (shop) => {
      const run = await submit(shop);
      await shop.endOf(run);
      const [doubt, ...others] = await shop.orchestrator.operator.doubts();
      expect([doubt?.action, doubt?.reason, others]).toEqual(['stock.reserve', 'inverse-failed', []]);
      await shop.orchestrator.operator.resolve(doubt?.id ?? '', effect, {
        ...{ by: 'on-call', evidence: 'the warehouse says so on the telephone', seen: doubt?.seen ?? '' },
      });
      return run;
    });

    expect(ended).toEqual({ end: compensated('shipment', 'address_refused'), records: { ...prepared, void: 1 } });
  });
});

describe('an order that is cancelled', () => {
  test('before its pivot is taken back, with what was under way', async () => {
    const ended = await inBoth(async (shop) => {
      const run = await submitWith(shop, { shipment: 'commit-then-hold' });
      await held(shop, 'shipment');
      expect(await cancel(shop, run)).toEqual({ status: 'accepted' });
      await shop.provider.release();
      return run;
    });

    expect(ended).toEqual({ end: compensated(null, 'cancelled'), records: shipmentTakenBack });
  });

  test('while its pivot is under way is fulfilled, if that has succeeded', async () => {
    const ended = await inBoth(async (shop) => {
      const run = await submitWith(shop, { capture: 'commit-then-hold' });
      await held(shop, 'capture');
      expect(await cancel(shop, run)).toEqual({ status: 'accepted' });
      return run;
    });

    expect(ended).toEqual(fulfilled);
  });

  test('while its pivot is under way is taken back, if that never arrived', async () => {
    const ended = await inBoth(async (shop) => {
      await shop.provider.lookups(['lookup500(60000)'], 'capture');
      const run = await submitWith(shop, { capture: 'drop' });
      await shop.provider.logged(({ event, kind }) => event === 'LOOKUP' && kind === 'capture');
      expect(await cancel(shop, run)).toEqual({ status: 'accepted' });
      return run;
    });

    expect(ended).toEqual({ end: compensated(null, 'cancelled'), records: shipmentTakenBack });
  });

  test('after its pivot is fulfilled: it is too late', async () => {
    const ended = await inBoth(async (shop) => {
      const run = await submitWith(shop, { email: 'commit-then-hold' });
      await held(shop, 'email');
      expect(await cancel(shop, run)).toEqual({ status: 'too-late' });
      await shop.provider.release();
      return run;
    });

    expect(ended).toEqual(fulfilled);
  });
});

const large = { total: 6_000 };
const byShiftLead = { status: 'succeeded', output: { ...fulfilled.end.output, approvedBy: 'shift-lead' } };

/** A large order that has got as far as it does without an approval. */
async function submitLarge(shop: FulfilmentShop, other: Partial<Order> = {}): Promise<FulfilmentRun> {
  const run = await shop.submit({ ...large, ...other });
  await shop.pass('5s');
  expect(await run.status()).toBe('waiting');
  return run;
}

describe('a large order', () => {
  test('waits with its goods reserved until it is approved, and is fulfilled then', async () => {
    const ended = await inBoth(async (shop) => {
      const run = await submitLarge(shop);
      await shop.pass('3h', '1h');
      expect((await shop.provider.records()).map(({ kind }) => kind).toSorted()).toEqual(Object.keys(prepared));
      expect(await shop.approve()).toEqual({ status: 'applied' });
      return run;
    });

    expect(ended).toEqual({ end: byShiftLead, records: fulfilled.records });
  });

  test('that was approved before it was placed does not wait', async () => {
    const ended = await inBoth(async (shop) => {
      expect(await shop.approve()).toEqual({ status: 'waiting' });
      return shop.submit(large);
    });

    expect(ended).toEqual({ end: byShiftLead, records: fulfilled.records });
  });

  test('that is cancelled while it waits is taken back', async () => {
    const ended = await inBoth(async (shop) => {
      const run = await submitLarge(shop);
      expect(await cancel(shop, run)).toEqual({ status: 'accepted' });
      return run;
    });

    expect(ended).toEqual({ end: compensated(null, 'cancelled'), records: { ...prepared, ...takenBack } });
  });

  test.each([
    ['chain', { step: 'approval', code: 'timed-out' }],
    // A chart that takes back without a refusal names what it heard then.
    ['machine', { step: null, code: 'timed-out' }],
  ] as const)('that nobody approves in time is taken back: %s', async (style, cause) => {
    const ended = await played(style, async (shop) => {
      const run = await submitLarge(shop);
      await shop.pass('47h', '1h');
      expect(await run.status()).toBe('waiting');
      await shop.pass('1h', '1m');
      return run;
    });

    expect(ended).toMatchObject({ end: { status: 'compensated', cause }, records: { ...prepared, ...takenBack } });
  });
});

describe('an order that is small enough', () => {
  test('waits for nobody, and an approval that comes for it all the same is refused in the end', async () => {
    const ended = await inBoth(async (shop) => {
      await shop.approve();
      const run = await shop.submit({ total: 4_999 });
      await shop.endOf(run);
      await expect(shop.approve()).rejects.toMatchObject({ code: 'SIGNAL_REFUSED' });
      return run;
    });

    expect(ended).toEqual(fulfilled);
  });
});

describe('an order in several parcels', () => {
  const inParcels = { parcels: ['lamp', 'shade', 'bulb'] };

  test('is shipped in as many, and the mail and the output name them all', async () => {
    const ended = await inBoth((shop) => shop.submit(inParcels));

    expect(ended).toEqual({
      end: {
        status: 'succeeded',
        output: { ...fulfilled.end.output, shipmentIds: ['shipment_1', 'shipment_2', 'shipment_3'] },
      },
      records: { ...fulfilled.records, shipment: 3 },
    });
  });

  test('of which one is refused has those before it cancelled, and none after it is sent', async () => {
    const ended = await inBoth(async (shop) => {
      await shop.provider.faults(['ok', 'decline'], 'shipment');
      const run = await shop.submit(inParcels);
      await shop.endOf(run);
      expect(await shop.provider.received({ kind: 'shipment' })).toHaveLength(2);
      return run;
    });

    expect(ended).toEqual({ end: compensated('parcels', 'address_refused'), records: shipmentTakenBack });
  });

  test('that cannot be paid has every one of them cancelled', async () => {
    const ended = await inBoth(async (shop) => {
      await shop.provider.faults(['decline'], 'capture');
      return shop.submit(inParcels);
    });

    expect(ended).toEqual({
      end: compensated('capture', 'authorisation_expired'),
      records: { ...prepared, shipment: 3, cancellation: 3, ...takenBack },
    });
  });

  test('waits for its approval like any other', async () => {
    const ended = await inBoth(async (shop) => {
      const run = await submitLarge(shop, inParcels);
      await shop.approve();
      return run;
    });

    expect(ended).toMatchObject({ end: { output: { approvedBy: 'shift-lead' } }, records: { shipment: 3 } });
  });
});

describe('an order whose time is over', () => {
  test('is taken back, once it is proven how what was under way has ended', async () => {
    const ended = await inBoth(async (shop) => {
      const run = await submitLarge(shop);
      await shop.pass('47h', '1h');
      await shop.provider.faults(['drop'], 'shipment');
      await shop.provider.lookups(['lookup500(11100000)'], 'shipment');
      await shop.approve();
      await shop.pass('3h', '1m');
      expect(await run.result({ within: 0 })).toEqual({ ...compensated(null, 'timed-out'), status: 'compensating' });
      // The carrier can be asked again.
      await shop.pass('2h', '1m');
      return run;
    });

    expect(ended).toEqual({ end: compensated(null, 'timed-out'), records: { ...prepared, ...takenBack } });
  });
});

describe('an order whose process dies', () => {
  /** The process stops as it is, and another one starts on the same store. */
  async function dies(shop: FulfilmentShop, kind: Kind): Promise<FulfilmentRun> {
    await held(shop, kind);
    void shop.orchestrator.stop({ within: 0 });
    const next = shop.another();
    await next.start();
    return shop.runAt(next);
  }

  test.each(['authorisation', 'reservation', 'shipment', 'capture', 'email'] as const)(
    'at its %s is fulfilled by another one',
    async (kind) => {
      const ended = await inBoth(async (shop) => {
        await submitWith(shop, { [kind]: 'commit-then-hold' });
        return dies(shop, kind);
      });

      expect(ended).toEqual(fulfilled);
    },
  );

  test.each(['cancellation', 'release', 'void'] as const)(
    'at the %s on its way back is taken back by another one',
    async (kind) => {
      const ended = await inBoth(async (shop) => {
        await submitWith(shop, { capture: 'decline', [kind]: 'commit-then-hold' });
        return dies(shop, kind);
      });

      expect(ended).toEqual({ end: compensated('capture', 'authorisation_expired'), records: shipmentTakenBack });
    },
  );
});

describe('the program of the example', () => {
  test('shows an order that is fulfilled, one that is taken back, and one that was approved and sent in parcels', async () => {
    const ran = await runExample('examples/fulfilment/main.ts');

    const orders = ran.stdout.split(/^(?=order-)/m).map((told) => told.trimEnd().split('\n'));
    const operations = ({ length }: readonly string[]) => length - 2;
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(orders.map(([outcome]) => outcome)).toEqual([
      'order-17 is fulfilled: shipment_1',
      'order-18 is taken back, because of shipment: address_refused',
      'order-19 is fulfilled, as shift-lead approved: shipment_2, shipment_3',
    ]);
    // The parcels of the last have a story of their own.
    expect(orders.map(operations)).toEqual([11, 14, 8]);
    expect(orders[0]).toContain('  shipment.create: lookup -> succeeded');
    expect(orders[1]).toContain('  payment.authorise: moved -> compensated');
    expect(orders.map((told) => told.at(-1)?.split(/[:,] /).slice(1).toSorted())).toEqual([
      ['authorisation', 'capture', 'email', 'reservation', 'shipment'],
      ['authorisation', 'release', 'reservation', 'void'],
      ['authorisation', 'capture', 'email', 'reservation', 'shipment', 'shipment'],
    ]);
  }, 180_000);
});
