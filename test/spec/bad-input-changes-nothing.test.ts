/**
 * Everything a caller can get wrong is refused with a typed error before anything is written or sent: what does not
 * fit its schema, what no database could give back, identities that could not be told apart, and orchestrators that
 * could not work.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import {
  createOrchestrator,
  type CreateOptions,
  failed,
  operation,
  type Orchestrator,
  succeeded,
  typed,
} from 'sagacity';
import { pgliteStore } from 'sagacity/pglite';
import { memoryStore, testClock } from 'sagacity/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { lockDirectory } from '../../src/adapters/pglite/lock.ts';
import { storeUnavailable } from '../../src/domain/errors.ts';
import type { AnyOperation } from '../../src/orchestrator/orchestrator.ts';
import type { Store } from '../../src/ports/store.ts';
import { overlay } from '../../src/testing/overlay.ts';
import { type CountingStore, counting } from '../support/world.ts';

let executed: number;
let store: CountingStore;
let open: { stop(): Promise<void> }[];

beforeEach(() => {
  executed = 0;
  store = counting(memoryStore());
  open = [];
});

afterEach(async () => {
  await Promise.all(open.map((each) => each.stop()));
});

describe('input that does not fit its schema', () => {
  const charge = definition({ input: z.object({ orderId: z.string(), amount: z.number().int().positive() }) });

  test.each([
    ['a missing member', { orderId: 'order-17' }, ['amount']],
    ['a member of another type', { orderId: 17, amount: 5 }, ['orderId']],
    ['a value out of range', { orderId: 'order-17', amount: -5 }, ['amount']],
    ['several mistakes', { orderId: 17, amount: 0.5 }, ['orderId', 'amount']],
    ['nothing at all', undefined, ['']],
    ['another shape', 'order-17', ['']],
  ])('because of %s is refused with the places', async (_, input, places) => {
    const orchestrator = await started([charge]);

    const refusal = await refusalOf(orchestrator.submit(charge, input));

    expect(refusal).toMatchObject({ code: 'INPUT_INVALID', retryable: false });
    expect(issuesOf(refusal)).toEqual(places);
    nothingHappened();
  });

  test('is not quoted in the error, which may reach a log', async () => {
    const orchestrator = await started([charge]);

    const refusal = await refusalOf(orchestrator.submit(charge, { orderId: 'order-17', amount: 'secret-4711' }));

    expect(JSON.stringify(refusal)).not.toContain('secret-4711');
    nothingHappened();
  });

  test('is refused as well when the schema takes its time', async () => {
    const slow = definition({
      input: z.object({ orderId: z.string() }).refine(async ({ orderId }) => Promise.resolve(orderId === 'order-1')),
    });
    const orchestrator = await started([slow]);

    const refusal = await refusalOf(orchestrator.submit(slow, { orderId: 'order-17' }));

    expect(refusal).toMatchObject({ code: 'INPUT_INVALID' });
    nothingHappened();
  });
});

describe('input that could not be stored and given back', () => {
  class Basket {
    readonly lines = 1;
  }
  const cycle: { self?: unknown } = {};
  cycle.self = cycle;

  test.each([
    ['a Map', { part: new Map([[1, 2]]) }],
    ['a Set', { part: new Set([1]) }],
    ['a function', { part: () => 1 }],
    ['a symbol', { part: Symbol('basket') }],
    ['an instance of a class', { part: new Basket() }],
    ['a cycle', { part: cycle }],
    ['NaN', { part: Number.NaN }],
    ['Infinity', { part: Number.POSITIVE_INFINITY }],
    ['an integer that no longer counts', { part: 2 ** 53 }],
    ['an invalid date', { part: new Date(Number.NaN) }],
    ['an error', { part: new Error('no') }],
    ['a regular expression', { part: /order/ }],
    ['a promise', { part: Promise.resolve() }],
    ['half of a surrogate pair', { part: 'order\ud800' }],
  ])('because it holds %s is refused with the path', async (_, input) => {
    const charge = definition();
    const orchestrator = await started([charge]);

    const refusal = await refusalOf(orchestrator.submit(charge, input));

    expect(refusal).toMatchObject({ code: 'INPUT_INVALID', retryable: false });
    expect(String(refusal)).toContain('part');
    nothingHappened();
  });
});

describe('a key that could not tell two intents apart', () => {
  test.each<[string, unknown]>([
    ['is empty', ''],
    ['is too long', 'k'.repeat(501)],
    ['holds half of a surrogate pair', 'order-\ud800'],
    ['holds a NUL', 'order-17\0'],
    ['is no text', 17],
    ['is missing', undefined],
  ])('because it %s is refused', async (_, key) => {
    // Callers without a compiler can return anything.
    const charge = definition({ key: () => key as string });
    const orchestrator = await started([charge]);

    const refusal = await refusalOf(orchestrator.submit(charge, { orderId: 'order-17' }));

    expect(refusal).toMatchObject({ code: 'INPUT_INVALID', facts: { name: 'idempotency key' } });
    nothingHappened();
  });
});

describe('a tenant that is none', () => {
  test.each<[string, unknown]>([
    ['empty', ''],
    ['too long', 't'.repeat(201)],
    ['half of a surrogate pair', 'shop-\udc00'],
    ['a text with a NUL', 'shop\0'],
    ['no text', 17],
  ])('because it is %s is refused', async (_, tenant) => {
    const charge = definition();
    const orchestrator = await started([charge], { tenant: undefined });

    // Callers without a compiler can name anything.
    const refusal = await refusalOf(orchestrator.submit(charge, { orderId: 'order-17' }, { tenant: tenant as string }));

    expect(refusal).toMatchObject({ code: 'INPUT_INVALID', facts: { name: 'tenant' } });
    nothingHappened();
  });

  test('is demanded in every call when the orchestrator has none, by the compiler and when it runs', async () => {
    const charge = definition();
    const orchestrator: Orchestrator<false> = createOrchestrator({ store, definitions: [charge] });
    await begun(orchestrator);

    // @ts-expect-error A tenant is missing.
    const submitting = orchestrator.submit(charge, { orderId: 'order-17' });
    // @ts-expect-error A tenant is missing.
    const cancelling = orchestrator.cancel('op_1', { by: 'the shop', reason: 'a mistake' });
    // @ts-expect-error A tenant is missing.
    const asking = orchestrator.run('op_1');

    await expect(submitting).rejects.toMatchObject({ code: 'INPUT_INVALID', facts: { name: 'tenant' } });
    await expect(cancelling).rejects.toMatchObject({ code: 'INPUT_INVALID', facts: { name: 'tenant' } });
    await expect(asking).rejects.toMatchObject({ code: 'INPUT_INVALID', facts: { name: 'tenant' } });
    nothingHappened();
  });

  test('is not taken per call where it is fixed', async () => {
    const charge = definition();
    const orchestrator = createOrchestrator({ store, definitions: [charge], tenant: 'shop-1' });
    await begun(orchestrator);

    // @ts-expect-error The tenant is fixed.
    const run = await orchestrator.submit(charge, { orderId: 'order-17' }, { tenant: 'shop-2' });

    expect(run.tenant).toBe('shop-1');
  });
});

describe('an id that no operation can have', () => {
  test.each<[string, unknown]>([
    ['empty', ''],
    ['a text with a NUL', '\0'],
    ['half of a surrogate pair', 'op_\ud800'],
    ['a number', 17],
    ['a big integer', 17n],
    ['missing', undefined],
  ])('because it is %s is refused by every call that takes one', async (_, given) => {
    const orchestrator = await started([definition()]);
    const { operator } = orchestrator;
    // Callers without a compiler can name anything.
    const id = given as string;
    const decision = { by: 'the shop', evidence: 'the books', seen: '1.turn' };

    const asked = await Promise.all([
      refusalOf(orchestrator.run(id)),
      refusalOf(orchestrator.cancel(id, { by: 'the shop', reason: 'a mistake' })),
      refusalOf(operator.resolve(id, failed('no'), decision)),
      refusalOf(operator.lookUp(id, decision)),
    ]);

    for (const refusal of asked) {
      expect(refusal).toMatchObject({ code: 'INPUT_INVALID', facts: { name: 'operation id' } });
    }
    nothingHappened();
  });
});

describe('a definition that this orchestrator cannot execute', () => {
  test('because it is not listed is refused', async () => {
    const orchestrator = await started([definition()]);
    const refund = definition({ action: 'card.refund' });

    const refusal = await refusalOf(orchestrator.submit(refund, { orderId: 'order-17' }));

    expect(refusal).toMatchObject({ code: 'DEFINITION_MISSING', facts: { action: 'card.refund' } });
    nothingHappened();
  });

  test('because another one of its action is listed is refused', async () => {
    const orchestrator = await started([definition()]);
    const sameAction = definition();

    const refusal = await refusalOf(orchestrator.submit(sameAction, { orderId: 'order-17' }));

    expect(refusal).toMatchObject({ code: 'DEFINITION_MISSING', facts: { action: 'card.charge' } });
    expect(refusal).toMatchObject({ message: expect.stringContaining('Another definition of card.charge') });
    nothingHappened();
  });

  test('alone because it has no key is refused', async () => {
    const keyless = operation('card.charge', {
      input: typed<unknown>(),
      execute: () => succeeded(null),
      keyRetention: '24h',
      lookup: 'none',
    });
    const orchestrator = await started([keyless]);

    const refusal = await refusalOf(orchestrator.submit(keyless, { orderId: 'order-17' }));

    expect(refusal).toMatchObject({ code: 'DEFINITION_INVALID', facts: { action: 'card.charge', option: 'key' } });
    nothingHappened();
  });
});

describe('an orchestrator that could not work', () => {
  // Callers without a compiler can write anything.
  test.each<[string, Partial<CreateOptions>]>([
    ['two definitions of one action', { definitions: [definition(), definition()] }],
    ['no operation among its definitions', { definitions: [{ action: 'card.charge' } as unknown as AnyOperation] }],
    ['a concurrency of zero', { concurrency: 0 }],
    ['half a slot', { concurrency: 1.5 }],
    ['a concurrency that is no number', { concurrency: Number.NaN }],
    ['a heartbeat that one lost renewal ends', { heartbeat: { every: '10s', timeout: '15s' } }],
    ['a heartbeat without a pause', { heartbeat: { every: 0, timeout: 0 } }],
    ['a heartbeat that is no duration', { heartbeat: { every: 'soon' as '1s', timeout: '15s' } }],
    ['a negative pause between sweeps', { sweepEvery: -1 }],
    ['no pause between sweeps', { sweepEvery: 0 }],
  ])('because of %s is refused when it is made', (_, options) => {
    const making = () => createOrchestrator({ store, definitions: [definition()], tenant: 'shop-1', ...options });

    expect(making).toThrow(expect.objectContaining({ code: 'DEFINITION_INVALID' }));
    nothingHappened();
  });

  test('because it has been stopped refuses everything', async () => {
    const charge = definition();
    const orchestrator = createOrchestrator({ store, definitions: [charge], tenant: 'shop-1' });
    await begun(orchestrator);
    await orchestrator.stop();

    const calls = [
      orchestrator.start(),
      orchestrator.submit(charge, { orderId: 'order-17' }),
      orchestrator.run('op_1'),
      orchestrator.cancel('op_1', { by: 'the shop', reason: 'a mistake' }),
      orchestrator.operator.doubts(),
      orchestrator.operator.resolve('op_1', succeeded(null), { by: 'Ada', evidence: 'a mail', seen: '1.turn' }),
      orchestrator.operator.lookUp('op_1', { by: 'Ada', evidence: 'a mail', seen: '1.turn' }),
    ];

    const ends = await Promise.allSettled(calls);
    // Rejections have no type; the assertion is about theirs.
    expect(ends.map((end) => end.status === 'rejected' && (end.reason as { code?: unknown }).code)).toEqual(
      calls.map(() => 'ORCHESTRATOR_STOPPED'),
    );
    nothingHappened();
  });
});

describe('a store that cannot be opened', () => {
  test('rejects the start and every call with its one clear error, and nothing pretends', async () => {
    const charge = definition();
    const closed = closedStore(store);
    const orchestrator = createOrchestrator({ store: closed, definitions: [charge], tenant: 'shop-1' });
    open.push(orchestrator);

    const calls = [
      orchestrator.start(),
      orchestrator.submit(charge, { orderId: 'order-17' }),
      orchestrator.run('op_1'),
      orchestrator.operator.doubts(),
    ];

    const ends = await Promise.allSettled(calls);
    for (const end of ends) {
      expect(end).toMatchObject({
        status: 'rejected',
        reason: { code: 'STORE_UNAVAILABLE', retryable: true, message: expect.stringContaining('no route to it') },
      });
    }
    expect(closed.calls).toEqual([]);
    nothingHappened();
  });

  test('can be tried again, and then everything works', async () => {
    const charge = definition();
    const closed = closedStore(store);
    const orchestrator = createOrchestrator({ store: closed, definitions: [charge], tenant: 'shop-1' });
    open.push(orchestrator);
    await expect(orchestrator.start()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });

    closed.repair();
    await orchestrator.start();
    const run = await orchestrator.submit(charge, { orderId: 'order-17' });

    expect(await run.result({ within: '5s' })).toMatchObject({ status: 'succeeded' });
    expect(executed).toBe(1);
  });
});

describe('a PGlite directory', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'sagacity-'));
  });
  afterEach(async () => {
    await rm(directory, { recursive: true, force: true });
    await rm(`${directory}.lock`, { force: true });
  });

  test('that somebody holds stops the start and the submission, until it is free', async () => {
    const charge = definition();
    const holder = await lockDirectory(directory);
    const orchestrator = createOrchestrator({ store: pgliteStore(directory), definitions: [charge], tenant: 'shop-1' });
    open.push(orchestrator);

    const starting = await refusalOf(orchestrator.start());
    const submitting = await refusalOf(orchestrator.submit(charge, { orderId: 'order-17' }));
    await holder.release();
    await orchestrator.start();
    const run = await orchestrator.submit(charge, { orderId: 'order-17' });

    expect(starting).toMatchObject({ code: 'STORE_UNAVAILABLE', message: expect.stringContaining(directory) });
    expect(submitting).toMatchObject({ code: 'STORE_UNAVAILABLE', message: expect.stringContaining(directory) });
    expect(run.submission).toBe('new');
    expect(await run.result({ within: '10s' })).toMatchObject({ status: 'succeeded' });
    expect(executed).toBe(1);
  });
});

describe('a database that a newer version has migrated', () => {
  test('stops the start and the submission, and stays as it is', async () => {
    const instance = await PGlite.create();
    const earlier = pgliteStore({ instance });
    await earlier.open();
    await earlier.close();
    await instance.exec(
      "insert into sagacity.migration (number, name, checksum) values (99, '0099_later', 'of another text')",
    );
    const charge = definition();
    const orchestrator = createOrchestrator({ store: pgliteStore({ instance }), definitions: [charge], tenant: 'a' });
    open.push(orchestrator);

    const starting = await refusalOf(orchestrator.start());
    const submitting = await refusalOf(orchestrator.submit(charge, { orderId: 'order-17' }));

    expect(starting).toMatchObject({ code: 'SCHEMA_OUTDATED', retryable: false, facts: { found: 99 } });
    expect(submitting).toMatchObject({ code: 'SCHEMA_OUTDATED' });
    const { rows } = await instance.query('select count(*)::int as count from sagacity.operation');
    expect(rows).toEqual([{ count: 0 }]);
    expect(executed).toBe(0);
    await instance.close();
  });
});

function definition(given: { action?: string; input?: z.ZodType; key?: () => string } = {}) {
  return operation(given.action ?? 'card.charge', {
    input: given.input ?? typed<unknown>(),
    key: given.key ?? (() => 'order-17'),
    execute: () => {
      executed += 1;
      return succeeded(null);
    },
    keyRetention: '24h',
    lookup: 'none',
  });
}

async function started(
  definitions: readonly AnyOperation[],
  { tenant }: { tenant: string | undefined } = { tenant: 'shop-1' },
): Promise<Orchestrator> {
  const options = { store, definitions, clock: testClock() };
  return begun(tenant === undefined ? createOrchestrator(options) : createOrchestrator({ ...options, tenant }));
}

async function begun<Started extends Orchestrator>(orchestrator: Started): Promise<Started> {
  open.push(orchestrator);
  await orchestrator.start();
  return orchestrator;
}

async function refusalOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => {
      throw new Error('It was not refused.');
    },
    (error: unknown) => error,
  );
}

function issuesOf(refusal: unknown): unknown {
  // The type of the facts is open; the assertion that follows is about them.
  const { facts } = refusal as { facts: { issues: readonly { path: string }[] } };
  return facts.issues.map(({ path }) => path);
}

function nothingHappened(): void {
  expect(store.written).toEqual([]);
  expect(executed).toBe(0);
}

/** A store that does not open before it is repaired, and remembers what else it was asked for. */
function closedStore(kept: Store): Store & { readonly calls: readonly string[]; repair(): void } {
  let broken = true;
  const calls: string[] = [];
  const noting: Store = new Proxy(kept, {
    get(target, name) {
      // Every member of a store that is called is a method of it.
      const member = Reflect.get(target, name) as unknown;
      if (typeof member !== 'function' || name === 'open' || name === 'close') return member;
      return (...given: unknown[]) => {
        calls.push(String(name));
        return Reflect.apply(member, target, given) as unknown;
      };
    },
  });
  return overlay(noting, {
    calls,
    repair() {
      broken = false;
    },
    async open() {
      if (broken) throw storeUnavailable('The database did not answer: there is no route to it.', 'Check the address.');
      await kept.open();
    },
  });
}
