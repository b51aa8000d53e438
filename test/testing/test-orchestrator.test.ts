import { describe, expect, test } from 'vitest';
import { absent, failed, found, operation, type Outcome, saga, succeeded, typed } from 'sagacity';
import { reply, testFetch, testOrchestrator, testProvider } from 'sagacity/testing';

const charges = testProvider('charge');
const order = { orderId: 'order-17', amount: 1200 };

async function findCharge({ idempotencyKey }: { readonly idempotencyKey: string }) {
  const charge = await charges.find(idempotencyKey);
  return charge === null ? absent() : found(succeeded(charge.id));
}

/** A charge at a company that honours keys and can be asked. */
function charging(meanwhile: () => Promise<unknown> = async () => {}) {
  return operation('card.charge', {
    input: typed<{ orderId: string; amount: number }>(),
    key: ({ input }) => input.orderId,
    async execute({ input, idempotencyKey, attempt }) {
      await meanwhile();
      const charge = await charges.make(idempotencyKey, { amount: input.amount, attempt });
      return input.amount > 0 ? succeeded(charge.id) : failed('no_amount');
    },
    keyRetention: '24h',
    lookup: {
      visibleWithin: '30s',
      arrivalLimit: '30s',
      find: findCharge,
    },
  });
}

/** At a company that knows no keys and cannot be asked. */
const letter = operation('letter.send', {
  input: typed<{ orderId: string }>(),
  key: ({ input }) => input.orderId,
  async execute({ input }) {
    const sent = await testProvider('letter').make(null, input);
    return sent.kind === 'letter' ? succeeded(sent.id) : failed('no_paper');
  },
  ...{ keyRetention: 'none', lookup: 'none' },
});

async function charged(script: Parameters<typeof reply<ReturnType<typeof charging>>>[1][]) {
  const charge = charging();
  const world = await testOrchestrator({
    definitions: [charge],
    script: script.map((says) => reply(charge, says)),
  });
  const run = await world.orchestrator.submit(charge, order);
  const result = await world.settled(run);
  const ends = (await run.history()).filter(({ kind }) => kind === 'end').map(({ facts }) => facts['outcome']);
  return { result, ends, attempts: world.records(charge).map(({ body }) => (body as { attempt: number }).attempt) };
}

describe('an attempt without a line in the script', () => {
  test('has its executor called, and what that made is counted', async () => {
    const { result, attempts } = await charged([]);

    expect([result.status, attempts]).toEqual(['succeeded', [1]]);
  });
});

describe('an attempt whose reply is lost', () => {
  test('has made its record and is unknown, until it is looked up', async () => {
    const { result, ends, attempts } = await charged(['lost']);

    expect(result).toMatchObject({ status: 'succeeded', output: 'charge_1' });
    expect(ends).toContain('unknown');
    expect(attempts).toEqual([1]);
  });
});

describe('attempts whose requests are lost', () => {
  test('make nothing, and the one after them does', async () => {
    const { result, attempts } = await charged(['request-lost', 'request-lost']);

    expect([result.status, attempts]).toEqual(['succeeded', [3]]);
  });
});

describe('an attempt that is answered instead', () => {
  test('makes nothing and ends with that answer', async () => {
    const { result, attempts } = await charged([failed('no_amount')]);

    expect(result).toMatchObject({ status: 'failed', code: 'no_amount' });
    expect(attempts).toEqual([]);
  });
});

describe('a line for an operation', () => {
  test('deep in a saga is met there, on the way back too', async () => {
    const voiding = operation('card.void', {
      input: typed<{ orderId: string }>(),
      execute: async ({ input, idempotencyKey }) => {
        return succeeded((await testProvider('void').make(idempotencyKey, input)).id);
      },
      ...{ keyRetention: '24h', lookup: 'none' },
    });
    const charge = operation('card.charge', {
      input: typed<{ orderId: string }>(),
      execute: async ({ idempotencyKey }) => succeeded((await charges.make(idempotencyKey, {})).id),
      ...{ keyRetention: '24h', lookup: 'none' },
      compensate: { operation: voiding, input: ({ input }) => input },
    });
    const selling = saga('selling', { input: typed<{ orderId: string }>(), key: ({ input }) => input.orderId })
      .step('charge', charge, ({ input }) => input)
      .pivot('letter', letter, ({ input }) => input);
    const { orchestrator, settled, records } = await testOrchestrator({
      definitions: [selling],
      script: [reply(letter, failed('no_paper')), reply(voiding, 'lost')],
    });

    const result = await settled(await orchestrator.submit(selling, { orderId: order.orderId }));

    expect(result).toMatchObject({ status: 'compensated', cause: { step: 'letter', code: 'no_paper' } });
    expect([charge, voiding, letter].map((made) => records(made).length)).toEqual([1, 1, 0]);
  });

  test('that is in none of the definitions is refused', async () => {
    const definitions = [charging()];

    for (const stranger of [letter, charging()]) {
      await expect(testOrchestrator({ definitions, script: [reply(stranger, 'lost')] })).rejects.toMatchObject({
        code: 'DEFINITION_MISSING',
      });
    }
    const { records } = await testOrchestrator({ definitions });
    expect(() => records(letter)).toThrow('letter.send is not registered');
    expect(() => records('letter.send')).toThrow('letter.send is not registered');
  });
});

describe('a run that is waited for', () => {
  test('is given as it is when a person is asked', async () => {
    const { orchestrator, settled, records } = await testOrchestrator({
      definitions: [letter],
      script: [reply(letter, 'lost')],
    });

    const result = await settled(await orchestrator.submit(letter, { orderId: 'order-17' }));

    expect(result).toMatchObject({ status: 'escalated', reason: 'no-lookup' });
    expect(records(letter)).toHaveLength(1);
  });

  test('and does not end in time is told of with what it waits for, and no parameters', async () => {
    const charge = charging();
    const { orchestrator, settled } = await testOrchestrator({
      definitions: [charge],
      script: [reply(charge, 'request-lost')],
    });
    const run = await orchestrator.submit(charge, order);

    await expect(settled(run, { within: '10s' })).rejects.toThrow(
      `${run.id} is reconciling after 10s of the test's time. It waits for ${run.id} (reconciling).`,
    );
  });
});

describe('a process that is restarted', () => {
  test('gets nothing through any more, and the next one goes on', async () => {
    const gates: (() => void)[] = [];
    const charge = charging(() => new Promise<void>((open) => void gates.push(open)));
    const world = await testOrchestrator({ definitions: [charge] });
    const first = world.orchestrator;
    const run = await first.submit(charge, order);
    await world.clock.advance(0);
    expect(gates).toHaveLength(1);

    const next = await world.restart();
    gates[0]?.();
    const settling = world.settled(run);
    const opening = setInterval(() => gates.at(-1)?.());
    const result = await settling.finally(() => clearInterval(opening));

    expect(world.orchestrator).toBe(next);
    expect(next).not.toBe(first);
    expect(result.status).toBe('succeeded');
    expect(world.records(charge).map(({ body }) => body)).toEqual([{ amount: 1200, attempt: 2 }]);
  });
});

describe('the books of a test provider', () => {
  test('are those of one test orchestrator', async () => {
    const charge = charging();
    const worlds = [
      await testOrchestrator({ definitions: [charge] }),
      await testOrchestrator({ definitions: [charge] }),
    ];

    for (const { orchestrator, settled } of worlds) await settled(await orchestrator.submit(charge, order));

    expect(worlds.map(({ records }) => records(charge).map(({ id }) => id))).toEqual([['charge_1'], ['charge_1']]);
  });

  test('are closed to everybody but its executors and look-ups', async () => {
    await expect(charges.make('key', {})).rejects.toThrow('by executors and look-ups of a test orchestrator only');
    await expect(charges.find('key')).rejects.toThrow('by executors and look-ups of a test orchestrator only');
  });

  test('hold one record a key, one more for every request without a key, and refuse another body', async () => {
    const seen: unknown[] = [];
    const url = 'http://bank.example/payments';
    const post = async (key: string | null, body: object) => {
      const headers: Record<string, string> = key === null ? {} : { 'idempotency-key': key };
      const { status } = await testFetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
      seen.push(status);
    };
    const probe = operation('probe', {
      input: typed<{ orderId: string }>(),
      key: ({ input }) => input.orderId,
      async execute() {
        await post('a/b', { n: 1 });
        await post('a/b', { n: 1 });
        await post(null, { n: 1 });
        await post(null, { n: 1 });
        seen.push(await (await testFetch(`${url}/by-idempotency-key/a%2Fb`)).json());
        seen.push((await testFetch(`${url}/by-idempotency-key/c`)).status);
        seen.push((await testFetch(url, { method: 'DELETE' })).status);
        await post('a/b', { n: 2 }).catch((error: unknown) => seen.push((error as Error).message));
        return succeeded(null);
      },
      ...{ keyRetention: 'none', lookup: 'none' },
    });
    const { orchestrator, settled, records } = await testOrchestrator({ definitions: [probe] });

    await settled(await orchestrator.submit(probe, { orderId: 'order-17' }));

    const first = { id: 'payments_1', kind: 'payments', key: 'a/b', body: { n: 1 } };
    expect(seen).toEqual([201, 201, 201, 201, expect.objectContaining(first), 404, 405, 422]);
    expect(records(probe).map(({ id, key }) => [id, key])).toEqual([
      ['payments_1', 'a/b'],
      ['payments_2', null],
      ['payments_3', null],
    ]);
  });
});

/** Three requests to one company, each lost before it is sent again, under keys that are made here. */
function insistent(keyOf: (inner: number, idempotencyKey: string) => string) {
  return operation('card.charge', {
    input: typed<{ orderId: string; amount: number }>(),
    key: ({ input }) => input.orderId,
    async execute({ input, idempotencyKey }): Promise<Outcome<string>> {
      for (const inner of [1, 2, 3]) {
        await charges.make(keyOf(inner, idempotencyKey), { amount: input.amount }).catch(() => {});
      }
      throw new Error('The reply was lost.');
    },
    keyRetention: '24h',
    lookup: {
      visibleWithin: '30s',
      find: findCharge,
    },
  });
}

describe('an executor whose client sends again by itself', () => {
  test('under the one key makes one record, in one attempt', async () => {
    const charge = insistent((_inner, idempotencyKey) => idempotencyKey);
    const { orchestrator, records, settled } = await testOrchestrator({ definitions: [charge] });

    const run = await orchestrator.submit(charge, order);

    expect(await settled(run)).toMatchObject({ status: 'succeeded' });
    expect(records(charge)).toHaveLength(1);
    expect((await run.history()).filter(({ kind }) => kind === 'start')).toHaveLength(1);
  });

  test('under keys of its own fails the test that it is run in, and says what to do', async () => {
    const charge = insistent((inner, idempotencyKey) => `${idempotencyKey}-${inner}`);
    const { orchestrator, records, settled } = await testOrchestrator({ definitions: [charge] });

    const run = await orchestrator.submit(charge, order);

    const refusal = { code: 'DEFINITION_INVALID', message: expect.stringMatching(/two keys.*retries off/) };
    await expect(settled(run)).rejects.toMatchObject(refusal);
    expect(() => records(charge)).toThrow(expect.objectContaining(refusal));
  });

  test('under another key in its next attempt fails it as well', async () => {
    const charge = operation('card.charge', {
      input: typed<{ orderId: string; amount: number }>(),
      key: ({ input }) => input.orderId,
      async execute({ input, idempotencyKey, attempt }) {
        await charges.make(`${idempotencyKey}-${attempt}`, { amount: input.amount });
        throw new Error('The reply was lost.');
      },
      ...{ keyRetention: '24h', lookup: 'none' },
    });
    const { orchestrator, settled } = await testOrchestrator({ definitions: [charge] });

    const run = await orchestrator.submit(charge, order);

    await expect(settled(run)).rejects.toMatchObject({ code: 'DEFINITION_INVALID' });
  });
});

describe('an operation that is sent by http', () => {
  test('is sent to a test provider under its key, whatever the host', async () => {
    const charge = operation('card.charge', {
      input: typed<{ orderId: string; amount: number }>(),
      key: ({ input }) => input.orderId,
      execute: ({ input, idempotencyKey, http }) =>
        http.send(
          { url: 'https://cards.example/charge', json: input, headers: { 'idempotency-key': idempotencyKey } },
          ({ body }) => succeeded(body),
        ),
      ...{ keyRetention: '24h', lookup: 'none' },
    });
    const { orchestrator, records, settled } = await testOrchestrator({
      definitions: [charge],
      script: [reply(charge, 'lost')],
    });

    const run = await orchestrator.submit(charge, order);

    expect(await settled(run)).toMatchObject({ status: 'succeeded' });
    expect(records(charge)).toEqual([expect.objectContaining({ body: order })]);
  });
});
