import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { absent, failed, found, operation, succeeded, typed } from 'sagacity';
import { boundariesOf, type Flow, killAt, reply, testFetch, testProvider } from 'sagacity/testing';
import { fulfilmentAsChain } from '../../examples/fulfilment/builder.ts';
import { operationsAt } from '../../examples/fulfilment/operations.ts';
import { order } from '../support/fulfilment-shop.ts';

const actions = ['payment.authorise', 'stock.reserve', 'shipment.create', 'payment.capture', 'email.send'];

/** The fulfilment of an order at companies that are reached like this. */
function fulfilling(send: typeof fetch): Flow {
  const fulfilment = fulfilmentAsChain(operationsAt('http://companies.example', send));
  return { definitions: [fulfilment], begin: (orchestrator) => orchestrator.submit(fulfilment, order) };
}

/** Every boundary at which a company is left with another number of records than one, and which records those are. */
async function wrongAt(flow: Flow): Promise<Readonly<Record<string, readonly string[]>>> {
  const wrong: Record<string, readonly string[]> = {};
  for (const boundary of await boundariesOf(flow)) {
    const { records } = await killAt(flow, boundary);
    const miscounted = actions.filter((action) => records(action).length !== 1);
    if (miscounted.length > 0) wrong[boundary] = miscounted;
  }
  return wrong;
}

describe('a flow that is killed at every boundary', () => {
  test('is sound with executors that hand on the key they are given', async () => {
    expect(await wrongAt(fulfilling(testFetch))).toEqual({});
  });

  test('betrays executors that make keys of their own', async () => {
    const ownKey: typeof fetch = (resource, init) => {
      const headers = new Headers(init?.headers);
      if (headers.has('idempotency-key')) headers.set('idempotency-key', randomUUID());
      return testFetch(resource, { ...init, headers });
    };

    for (const action of ['payment.authorise', 'shipment.create', 'payment.capture']) {
      await expect(killAt(fulfilling(ownKey), `after request of ${action}`)).rejects.toMatchObject({
        code: 'DEFINITION_INVALID',
        message: expect.stringContaining(`${action} has sent one`),
      });
    }
  });

  test('goes by the same boundaries each time, in the order in which it reaches them', async () => {
    const flow = fulfilling(testFetch);

    const boundaries = await boundariesOf(flow);

    expect(await boundariesOf(flow)).toEqual(boundaries);
    expect(new Set(boundaries).size).toBe(boundaries.length);
    expect(boundaries.slice(0, 4)).toEqual([
      'before birth of fulfilment',
      'during birth of fulfilment',
      'after birth of fulfilment',
      'before request of payment.authorise',
    ]);
    expect(boundaries.at(-1)).toBe('after ending of fulfilment');
  });
});

describe('a kill that proves nothing', () => {
  test('is refused when its boundary is not reached', async () => {
    await expect(killAt(fulfilling(testFetch), 'after word of fulfilment')).rejects.toThrow(
      'never goes by "after word of fulfilment"',
    );
  });

  test('is refused when the script has a line that no attempt has met', async () => {
    const charge = charging();
    const flow: Flow = {
      definitions: [charge],
      script: [reply(charge, failed('declined')), reply(charge, 'lost')],
      begin: (orchestrator) => orchestrator.submit(charge, { orderId: 'order-17' }),
    };

    await expect(boundariesOf(flow)).rejects.toThrow('fewer attempts than its script has lines: card.charge');
  });

  test('is refused when what is to be begun cannot be', async () => {
    const flow: Flow = { definitions: [charging()], begin: (orchestrator) => orchestrator.submit(charging(), {}) };

    await expect(boundariesOf(flow)).rejects.toMatchObject({ code: 'DEFINITION_MISSING' });
  });
});

describe('a flow with a reply that is lost', () => {
  test('is killed around its look-up as well, and has one record wherever that is', async () => {
    const charge = charging();
    const flow: Flow = {
      definitions: [charge],
      script: [reply(charge, 'lost')],
      begin: (orchestrator) => orchestrator.submit(charge, { orderId: 'order-17' }),
    };

    const boundaries = await boundariesOf(flow);
    const counts = new Set<number>();
    for (const boundary of boundaries) counts.add((await killAt(flow, boundary)).records(charge).length);

    expect(boundaries).toEqual(
      expect.arrayContaining(['before question of card.charge', 'after look-up of card.charge']),
    );
    expect([...counts]).toEqual([1]);
  });
});

function charging() {
  const charges = testProvider('charge');
  return operation('card.charge', {
    input: typed<{ orderId?: string }>(),
    key: ({ input }) => input.orderId ?? 'none',
    async execute({ input, idempotencyKey }) {
      const charge = await charges.make(idempotencyKey, input);
      return charge.kind === 'charge' ? succeeded(charge.id) : failed('declined');
    },
    keyRetention: '24h',
    lookup: {
      visibleWithin: '30s',
      async find({ idempotencyKey }) {
        const charge = await charges.find(idempotencyKey);
        return charge === null ? absent() : found(succeeded(charge.id));
      },
    },
  });
}
