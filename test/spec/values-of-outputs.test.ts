/**
 * An effect that has happened stays one effect whatever its executor returned or threw: what JSON and databases cannot
 * carry comes back as it was, or as a marker in its place, and nothing an executor does stops the process.
 */

import vm from 'node:vm';
import { PGlite } from '@electric-sql/pglite';
import { createOrchestrator, failed, type Finding, notApplied, operation, succeeded, typed, unknown } from 'sagacity';
import { pgliteStore } from 'sagacity/pglite';
import { postgresStore } from 'sagacity/postgres';
import { memoryStore, scriptedProvider, type ScriptedProvider } from 'sagacity/testing';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { isUnstorable } from '../../src/domain/unstorable.ts';
import type { Store } from '../../src/ports/store.ts';
import { gate, type Script, scriptedCharge, type Sending } from '../support/scripted-charge.ts';
import { freshDatabase } from '../support/postgres.ts';
import { reached } from '../support/world.ts';

let provider: ScriptedProvider;
let instance: PGlite;
let url: string;
let orders = 0;
const toClose: (() => Promise<void>)[] = [];
const crashes: unknown[] = [];
const noteCrash = (error: unknown) => void crashes.push(error);

beforeAll(async () => {
  process.on('unhandledRejection', noteCrash);
  provider = await scriptedProvider();
  [instance, url] = await Promise.all([PGlite.create(), freshDatabase()]);
});

afterEach(async () => {
  await Promise.all(toClose.splice(0).map((close) => close()));
  const [crash] = crashes.splice(0);
  if (crash !== undefined) throw new Error('A promise was rejected and nobody noticed.', { cause: crash });
});

afterAll(async () => {
  process.off('unhandledRejection', noteCrash);
  await provider.close();
  await instance.close();
});

const stores: [string, () => Store][] = [
  ['in memory', () => memoryStore()],
  ['in PGlite', () => pgliteStore({ instance })],
  ['on PostgreSQL', () => postgresStore({ url, migrate: true })],
];

describe.each(stores)('an executor that made an effect, with a store %s,', (_, newStore) => {
  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['a text with a NUL', 'a\u0000b'],
    ['a member named by a NUL', { 'a\u0000b': 1 }],
    ['the first half of a surrogate pair', 'x\ud800y'],
    ['the second half of a surrogate pair', 'x\udc00y'],
    ['an emoji cut in two', '\ud83d\ude00'.slice(0, 1)],
    ['a whole emoji', '\ud83d\ude00'],
    ['a big integer', 9_007_199_254_740_993n],
    ['a date', new Date(0)],
    ['an invalid date', new Date(Number.NaN)],
    ['NaN, both infinities and minus zero', [Number.NaN, Infinity, -Infinity, -0]],
    ['an undefined member', { amount: undefined }],
    ['a Map and a Set', { map: new Map([[{ id: 1 }, 2n]]), set: new Set(['a', 1]) }],
    ['bytes', new Uint8Array([0, 255])],
    ['an array with a hole', Object.assign(new Array(3), { 0: 1, 2: 3 })],
    ['what looks like our own writing', { $: ['bigint', '17'] }],
    ['a number that JSON writes in another way', 1e21],
    ['a member named __proto__', JSON.parse('{"__proto__":{"isAdmin":true},"a":1}')],
  ])('and returned %s has succeeded once, and returns the same', async (__, output) => {
    const { end, records } = await carryOut(newStore(), async ({ send }) => {
      const { id } = await send();
      return succeeded(output, { reference: id ?? '' });
    });

    expect(end).toMatchObject({ status: 'succeeded' });
    expect(outputOf(end)).toStrictEqual(output);
    expect(records).toHaveLength(1);
    // Whether the prototype of all objects has been changed.
    expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined();
  });

  test('and returned everything at once keeps what it can, and marks the rest', async () => {
    class Receipt {}
    const cycle: { self?: unknown } = {};
    cycle.self = cycle;
    const output = {
      ...{ b: 1n, m: new Map([[1, 2]]), s: new Set([1]), d: new Date(0), n: Number.NaN, z: -0, u: undefined },
      f() {},
      symbol: Symbol('receipt'),
      receipt: new Receipt(),
      cycle,
      get broken() {
        throw new Error('no');
      },
    };

    const { end, records, run } = await carryOut(newStore(), async ({ send }) => {
      const { id } = await send();
      return succeeded(output, { reference: id ?? '' });
    });

    // It is looked at member by member below.
    const kept = outputOf(end) as Record<string, unknown>;
    const { b, m, s, d, n, z: zero } = kept;
    expect({ b, m, s, d, n, z: zero }).toStrictEqual({
      ...{ b: 1n, m: new Map([[1, 2]]), s: new Set([1]), d: new Date(0), n: Number.NaN, z: -0 },
    });
    expect('u' in kept && kept['u']).toBeUndefined();
    expect(marker(kept['f'])).toEqual(['function', 'output.f']);
    expect(marker(kept['symbol'])).toEqual(['symbol', 'output.symbol']);
    expect(marker(kept['receipt'])).toEqual(['instance', 'output.receipt']);
    // A cycle is broken where it closes.
    expect(marker((kept['cycle'] as { self: unknown }).self)).toEqual(['cycle', 'output.cycle.self']);
    expect(marker(kept['broken'])).toEqual(['getter', 'output.broken']);
    expect(records).toHaveLength(1);
    expect((await run.history()).map(({ kind }) => kind)).toEqual(['start', 'end']);
  });

  test('and returned more than can be kept is looked up, and not sent again', async () => {
    const { end, records } = await carryOut(newStore(), async ({ send }) => {
      const { id } = await send();
      return succeeded('x'.repeat(1_000_001), { reference: id ?? '' });
    });

    expect(end).toMatchObject({ status: 'succeeded', output: { chargeId: expect.stringMatching(/^payment_/) } });
    expect(records).toHaveLength(1);
  });

  test.each<[string, (sending: Sending) => unknown]>([
    ['nothing', () => undefined],
    ['a text', () => 'done'],
    ['a success without an output', () => ({ type: 'succeeded' })],
    ['a failure without a code', () => ({ type: 'failed' })],
    ['an outcome of no known type', () => ({ type: 'perhaps', reason: 'who knows' })],
    ['an object that breaks when it is looked at', () => hostile()],
    ['an outcome whose type breaks', () => Object.defineProperty({}, 'type', { get: breaks, enumerable: true })],
    ['an outcome whose code breaks', () => Object.defineProperty({ type: 'failed' }, 'code', { get: breaks })],
  ])('and returned %s instead of an outcome is unknown, and found', async (__, step) => {
    const { end, records, run } = await carryOut(newStore(), async (sending) => {
      await sending.send();
      return step(sending);
    });

    expect(end).toMatchObject({ status: 'succeeded', output: { chargeId: expect.stringMatching(/^payment_/) } });
    expect(records).toHaveLength(1);
    expect((await run.history()).map(({ kind }) => kind)).toEqual(['start', 'end', 'lookup']);
  });

  test.each<[string, unknown]>([
    ['is no text', { id: 17 }],
    ['cannot be made a text', Object.create(null)],
    ['breaks when it is read', hostile()],
    ['holds a NUL and half of a surrogate pair', 'a\u0000b\ud800'],
  ])('and gave a reference that %s has succeeded once', async (__, reference) => {
    const { end, records } = await carryOut(
      newStore(),
      async ({ send }) => {
        await send();
        return { type: 'succeeded', output: { paid: true }, reference };
      },
      { lookup: 'none' },
    );

    expect(end).toMatchObject({ status: 'succeeded', output: { paid: true } });
    expect(JSON.stringify(end)).not.toContain('[object');
    expect(records).toHaveLength(1);
  });

  test.each<[string, unknown, object]>([
    [
      'an error with a chain of causes',
      chain(),
      { name: 'Error', message: 'charge', causes: [{ message: 'socket' }, { message: 'reset', code: 'ECONNRESET' }] },
    ],
    [
      'an error of many errors',
      new AggregateError([new Error('one'), new Error('two')], 'both'),
      { name: 'AggregateError', message: 'both', causes: [{ message: 'one' }, { message: 'two' }] },
    ],
    [
      'an error with fields that hold secrets',
      Object.assign(new Error('no'), {
        code: 'E_NO',
        statusCode: 503,
        headers: { authorization: 'Bearer open-sesame' },
      }),
      { message: 'no', code: 'E_NO' },
    ],
    ['an error that is its own cause', circular(), { message: 'again' }],
    [
      'an error whose message breaks',
      Object.defineProperty(new Error('x'), 'message', { get: breaks }),
      { name: 'Error' },
    ],
    [
      'an error of another realm',
      vm.runInNewContext('new TypeError("from elsewhere")'),
      { name: 'TypeError', message: 'from elsewhere' },
    ],
    ['an error with a NUL and half of a surrogate pair', new Error('a\u0000b\ud800'), { message: 'a\u0000b\ud800' }],
    ['an error with a very long message', new Error('x'.repeat(100_000)), { message: 'x'.repeat(1_000) }],
    ['a text', 'just a text', { message: 'just a text' }],
    ['undefined', undefined, { message: 'undefined was thrown.' }],
    ['null', null, { message: 'null was thrown.' }],
    ['a big integer', 17n, { message: '17' }],
    ['a symbol', Symbol('no'), { message: 'Symbol(no)' }],
    ['an object that breaks when it is looked at', hostile(), {}],
  ])('and threw %s is unknown, recorded, and found', async (__, thrown, told) => {
    const { end, records, run } = await carryOut(newStore(), async ({ send }) => {
      await send();
      throw thrown;
    });

    expect(end).toMatchObject({ status: 'succeeded', output: { chargeId: expect.stringMatching(/^payment_/) } });
    expect(records).toHaveLength(1);
    const history = await run.history();
    expect(history.map(({ kind }) => kind)).toEqual(['start', 'end', 'lookup']);
    expect(history[1]?.facts).toMatchObject({ outcome: 'unknown', error: told });
    expect(JSON.stringify(history)).not.toContain('open-sesame');
  });

  test.each<[string, () => unknown]>([
    ['a refusal', () => failed('no\u0000\ud800')],
    ['a proof that nothing was applied', () => notApplied('no\u0000\ud800')],
    ['doubt', () => unknown('no\u0000\ud800')],
  ])('that returned %s with awkward texts is recorded with them', async (__, step) => {
    const { run } = await carryOut(newStore(), step, {
      ...{ attempts: 1, keyRetention: 'none', lookup: 'none' },
    });

    const [, end] = await run.history();
    expect(JSON.stringify(end?.facts)).toContain(JSON.stringify('no\u0000\ud800').slice(1, -1));
    expect(end?.states?.at(-1)).toMatch(/failed|escalated/);
  });

  test('is told in its history with the values themselves', async () => {
    const output = { at: new Date(0), amount: 5n, note: null, lines: new Set(['a\0b']), $: 'dear' };

    const { run } = await carryOut(newStore(), () => succeeded(output, { reference: 'payment_1' }));

    const [, end] = await run.history();
    expect(end?.facts['output']).toStrictEqual(output);
    expect(end?.facts).toMatchObject({ outcome: 'succeeded', reference: 'payment_1' });
  });

  test('and was found has the values of the record in its history', async () => {
    const output = { at: new Date(0), amount: 5n };
    const ask = (): Finding => ({ type: 'found', records: [succeeded(output, { reference: 'payment_1' })] });

    const { run } = await carryOut(newStore(), breaks, { lookup: { ask } });

    const lookup = (await run.history()).find(({ kind }) => kind === 'lookup');
    expect(lookup?.facts['records']).toStrictEqual([{ type: 'succeeded', output, reference: 'payment_1' }]);
  });

  test('and whose output a person supplied has that in its history', async () => {
    const output = { at: new Date(0), amount: 5n };
    const { run, orchestrator } = await carryOut(newStore(), breaks, { keyRetention: 'none', lookup: 'none' });
    const seen = (await orchestrator.operator.doubts()).find(({ id }) => id === run.id)?.seen ?? '';

    await orchestrator.operator.resolve(run.id, succeeded(output), { by: 'on-call', evidence: 'the books', seen });

    const verdict = (await run.history()).find(({ kind }) => kind === 'verdict');
    expect(verdict?.facts['outcome']).toStrictEqual({ type: 'succeeded', output });
  });

  test('and came back late has the values in its history', async () => {
    const output = { at: new Date(0), amount: 5n };
    const late = gate();
    const { run } = await carryOut(
      newStore(),
      async () => {
        await late.passed;
        return succeeded(output, { reference: 'payment_1' });
      },
      { keyRetention: 'none', lookup: 'none', timeout: '50ms' },
    );
    late.open();
    await reached(run, 'succeeded');

    const evidence = (await run.history()).find(({ kind }) => kind === 'evidence');

    expect(evidence?.facts['outcome']).toStrictEqual({ type: 'succeeded', output, reference: 'payment_1' });
  });

  test('and nested its output as deep as it goes still has a history', async () => {
    const deep = Array.from({ length: 45 }).reduce((inner: unknown) => new Map([[1, inner]]), 1);

    const { run } = await carryOut(newStore(), () => succeeded(deep));

    expect((await run.history()).map(({ kind }) => kind)).toEqual(['start', 'end']);
  });

  describe('and whose output does not fit its schema', () => {
    const output = z.object({ chargeId: z.string().startsWith('payment_') });
    const step = async ({ send }: Sending) => {
      const { id } = await send();
      return succeeded({ chargeId: 17 }, { reference: id ?? '' });
    };

    test('gets it from the look-up, and is not sent again', async () => {
      const { end, records } = await carryOut(newStore(), step, { output });

      expect(end).toMatchObject({ status: 'succeeded', output: { chargeId: expect.stringMatching(/^payment_/) } });
      expect(records).toHaveLength(1);
    });

    test('is left to a person where nobody can be asked, and is not sent again under a safe key', async () => {
      const { end, records, sent } = await carryOut(newStore(), step, { output, lookup: 'none' });

      expect(end).toEqual({ status: 'escalated', reason: 'output-unusable' });
      expect(records).toHaveLength(1);
      expect(sent).toHaveLength(1);
    });

    test('is left to a person where the look-up brings nothing better', async () => {
      const ask = (): Finding => ({ type: 'found', records: [succeeded({ chargeId: 17 })] });

      const { end, records, sent } = await carryOut(newStore(), step, { output, lookup: { ask } });

      expect(end).toEqual({ status: 'escalated', reason: 'output-unusable' });
      expect(records).toHaveLength(1);
      expect(sent).toHaveLength(1);
    });

    test('because the schema itself breaks is left to a person as well', async () => {
      const broken = z.unknown().transform(() => {
        throw new Error('no');
      });

      const { end, records } = await carryOut(newStore(), step, { output: broken, lookup: 'none' });

      expect(end).toEqual({ status: 'escalated', reason: 'output-unusable' });
      expect(records).toHaveLength(1);
    });
  });

  test.each<[string, () => unknown]>([
    ['throws', breaks],
    ['returns nothing', () => undefined],
    ['returns an object that breaks when it is looked at', hostile],
    ['finds no record', () => ({ type: 'found', records: [] })],
    ['finds what is no record', () => ({ type: 'found', records: [17] })],
    ['finds a record that breaks when it is looked at', () => ({ type: 'found', records: [hostile()] })],
    [
      'cannot tell and breaks when it is asked why',
      () => Object.defineProperty({ type: 'inconclusive' }, 'reason', { get: breaks }),
    ],
  ])('and whose look-up %s stays in doubt, and is asked about again', async (__, ask) => {
    let asked = 0;
    const { end, records, run } = await carryOut(
      newStore(),
      async ({ send }) => {
        await send();
        throw new Error('The connection broke.');
      },
      {
        lookup: {
          every: 1,
          // A look-up without a compiler can answer anything.
          ask: () => ((asked += 1) === 1 ? ask() : { type: 'found', records: [succeeded({ paid: true })] }) as Finding,
        },
      },
    );

    expect(end).toMatchObject({ status: 'succeeded', output: { paid: true } });
    expect(records).toHaveLength(1);
    const lookups = (await run.history()).filter(({ kind }) => kind === 'lookup');
    expect(lookups.map(({ facts }) => facts['finding'])).toEqual(['inconclusive', 'found']);
  });

  test('gets its input from the store as it was submitted', async () => {
    const input = {
      ...{ b: 9_007_199_254_740_993n, d: new Date(0), z: -0, text: 'a\u0000b', emoji: '\ud83d\ude00' },
      proto: JSON.parse('{"__proto__":{"isAdmin":true}}') as unknown,
    };
    const seen: unknown[] = [];
    const definition = operation(`values.${(orders += 1)}`, {
      input: typed<typeof input>(),
      key: () => 'order-17',
      execute: (context) => {
        seen.push(context.input);
        return succeeded(null);
      },
      keyRetention: '24h',
      lookup: 'none',
    });
    const orchestrator = createOrchestrator({ store: newStore(), definitions: [definition], tenant: 'shop-1' });
    toClose.push(() => orchestrator.stop());

    const run = await orchestrator.submit(definition, input);
    await orchestrator.start();
    await run.result({ within: '10s' });
    const again = await orchestrator.submit(definition, { ...input });
    const other = orchestrator.submit(definition, { ...input, proto: {} });

    expect(seen).toStrictEqual([input]);
    expect(again.submission).toBe('replayed');
    await expect(other).rejects.toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' });
  });
});

/** Carries one charge out on `store` and says how it ended, what the provider holds of it, and what it was sent. */
async function carryOut(store: Store, step: (sending: Sending) => unknown, script: Script = {}) {
  const orderId = `order-${(orders += 1)}`;
  const { definition } = scriptedCharge(provider.url, { ...script, action: `charge.${orderId}`, steps: [step] });
  const orchestrator = createOrchestrator({ store, definitions: [definition], tenant: 'shop-1' });
  await orchestrator.start();
  toClose.push(() => orchestrator.stop());
  const run = await orchestrator.submit(definition, { orderId, amount: 5 });
  const end = await run.result({ within: '20s' });
  const records = (await provider.records()).filter((record) => record.orderId === orderId);
  const keys = new Set(records.map(({ key }) => key));
  const sent = (await provider.received()).filter(({ method, key }) => method === 'POST' && keys.has(key));
  return { run, end, records, sent, orchestrator };
}

function outputOf(end: object): unknown {
  return 'output' in end ? end.output : undefined;
}

function marker(value: unknown): readonly unknown[] {
  return isUnstorable(value) ? [value.kind, value.path] : ['no marker', value];
}

function breaks(): never {
  throw new Error('It breaks when it is looked at.');
}

function hostile(): object {
  return new Proxy(
    {},
    { get: breaks, has: breaks, ownKeys: breaks, getPrototypeOf: breaks, getOwnPropertyDescriptor: breaks },
  );
}

function chain(): Error {
  const reset = Object.assign(new Error('reset'), { code: 'ECONNRESET' });
  return new Error('charge', { cause: new Error('socket', { cause: reset }) });
}

function circular(): Error {
  const error = new Error('again');
  error.cause = error;
  return Object.assign(error, { self: error });
}
