/**
 * What could not be proven is decided by a person, on the history they have seen, with their name and their evidence.
 * A decision that comes too late, or that contradicts what is proven, changes nothing.
 */

import { afterEach, describe, expect, test } from 'vitest';
import { createOrchestrator, failed, inconclusive, notApplied, type Orchestrator, succeeded } from 'sagacity';
import * as z from 'zod';
import { type Evidence, seenOf, toBody } from '../../src/orchestrator/handover.ts';
import { charges, gate, type Script, type Step } from '../support/scripted-charge.ts';
import { keysSent, now, type Stage, stage, statesOf } from '../support/stage.ts';
import { order, stageIn, type StageIn } from '../support/stage-in.ts';
import { reached, until } from '../support/world.ts';

let shop: Stage;
afterEach(() => shop.close());

async function arranged(...given: Parameters<typeof stageIn>): Promise<StageIn> {
  const made = await stageIn(...given);
  shop = made;
  return made;
}

const who = { by: 'Ada of payments', evidence: 'the dashboard shows payment_1' };
const charged = succeeded({ chargeId: 'payment_1' }, { reference: 'payment_1' });

describe('the list of doubts', () => {
  test('shows what is unknown, reconciling and escalated, the longest in doubt first, and nothing else', async () => {
    let hangs = false;
    shop = await stage({
      steps: [
        async (sending) => {
          if (sending.input.orderId === 'order-4') return charges(sending);
          throw new Error('The connection broke.');
        },
      ],
      lookup: {
        giveUpAfter: '1m',
        ask: () => (hangs ? new Promise<never>(() => {}) : inconclusive('it is in progress')),
      },
    });
    const submit = (orderId: string) => shop.orchestrator.submit(shop.charge, { orderId, amount: 5 });

    const first = await submit('order-1');
    await shop.pass('3m');
    hangs = true;
    const second = await submit('order-2');
    await reached(second, 'unknown');
    hangs = false;
    await shop.clock.advance('1s');
    const third = await submit('order-3');
    await reached(third, 'reconciling');
    await reached(await submit('order-4'), 'succeeded');

    const doubts = await shop.orchestrator.operator.doubts();
    expect(doubts.map(({ key, state, reason }) => [key, state, reason])).toEqual([
      ['order-1', 'escalated', 'lookup-exhausted'],
      ['order-2', 'unknown', null],
      ['order-3', 'reconciling', null],
    ]);
    for (const [n, run] of [first, second, third].entries()) {
      const last = (await run.history()).at(-1);
      expect(doubts[n]).toMatchObject({ id: run.id, tenant: 'shop-1', action: 'card.charge' });
      expect(doubts[n]?.seen.split('.')[0]).toBe(String(last?.revision));
      expect(doubts[n]?.idempotencyKey).toMatch(/^[0-9a-f-]{36}$/);
    }
    expect(doubts[0]?.dueAt).toBeNull();
    expect(doubts[2]?.dueAt).toBeInstanceOf(Date);
  });

  test('is read page by page', async () => {
    shop = await stage({ keyRetention: 'none', lookup: 'none', steps: [() => Promise.reject(new Error('lost'))] });
    for (const orderId of ['order-1', 'order-2', 'order-3']) {
      await reached(await shop.orchestrator.submit(shop.charge, { orderId, amount: 5 }), 'escalated');
      await shop.clock.advance('1s');
    }

    const { operator } = shop.orchestrator;
    const page = await operator.doubts({ limit: 2 });
    const last = page.at(-1);
    const rest = await operator.doubts({ limit: 2, ...(last === undefined ? {} : { after: last }) });

    expect([...page, ...rest].map(({ key }) => key)).toEqual(['order-1', 'order-2', 'order-3']);
  });

  test.each<[string, object]>([
    ['no entries', { limit: 0 }],
    ['fewer than none', { limit: -1 }],
    ['half an entry', { limit: 0.5 }],
    ['more than a thousand', { limit: 1_001 }],
    ['a text', { limit: '10' }],
    ['nothing that is a number', { limit: Number.NaN }],
    ['what comes after no id', { after: { tenant: 'shop-1', id: '\0' } }],
    ['what comes after no tenant', { after: { tenant: 17, id: 'op_1' } }],
  ])('refuses a page of %s', async (_, query) => {
    shop = await stage();

    const asking = shop.orchestrator.operator.doubts(query);

    await expect(asking).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  });
});

describe('a person who decides an escalated charge', () => {
  test('settles it as succeeded, with what they found', async () => {
    const { orchestrator, run, provider } = await arranged('escalated');

    const decided = await orchestrator.operator.resolve(run.id, charged, { ...who, seen: await seen(orchestrator) });

    expect(decided).toEqual({ status: 'applied' });
    expect(await now(run)).toEqual({ status: 'succeeded', output: { chargeId: 'payment_1' }, reference: 'payment_1' });
    expect(await provider.records()).toHaveLength(1);
    expect(await keysSent(provider)).toHaveLength(1);
    expect((await run.history()).at(-1)).toMatchObject({
      kind: 'verdict',
      states: ['succeeded'],
      facts: { ...who, seen: expect.stringMatching(/^2\../), outcome: { type: 'succeeded', reference: 'payment_1' } },
    });
    expect(await orchestrator.operator.doubts()).toEqual([]);
  });

  test('settles it as failed, with a code', async () => {
    const { orchestrator, run, provider } = await arranged('escalated');

    const decided = await orchestrator.operator.resolve(run.id, failed('written_off'), {
      ...who,
      seen: await seen(orchestrator),
    });

    expect(decided).toEqual({ status: 'applied' });
    expect(await now(run)).toEqual({ status: 'failed', code: 'written_off' });
    expect(await keysSent(provider)).toHaveLength(1);
    expect((await run.history()).at(-1)).toMatchObject({ kind: 'verdict', facts: who });
  });

  test('has it sent once more, under the same key, by stating that it was not applied', async () => {
    shop = await stage({ keyRetention: 'none', lookup: 'none', attempts: 1 });
    await shop.provider.calls(['drop']);
    const run = await shop.orchestrator.submit(shop.charge, order);
    await reached(run, 'escalated');

    await shop.orchestrator.operator.resolve(run.id, notApplied('the dashboard shows nothing'), {
      ...who,
      seen: await seen(shop.orchestrator),
    });
    await shop.pass('5s');

    expect(await now(run)).toMatchObject({ status: 'succeeded', reference: 'payment_1' });
    expect(await shop.provider.records()).toHaveLength(1);
    const keys = await keysSent(shop.provider);
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
  });

  test('grants one attempt and not two', async () => {
    shop = await stage({ keyRetention: 'none', lookup: 'none', attempts: 1 });
    await shop.provider.calls(['drop', 'drop']);
    const run = await shop.orchestrator.submit(shop.charge, order);
    await reached(run, 'escalated');

    const decision = { ...who, seen: await seen(shop.orchestrator) };
    await shop.orchestrator.operator.resolve(run.id, notApplied('the dashboard shows nothing'), decision);
    await shop.pass('10m');

    expect(await now(run)).toEqual({ status: 'escalated', reason: 'no-lookup' });
    expect(await keysSent(shop.provider)).toHaveLength(2);
    expect(await shop.provider.records()).toHaveLength(0);
  });
});

describe('an output that a person supplies', () => {
  const output = z.object({ chargeId: z.string(), fee: z.number().default(0) });
  const lost: Step = async ({ send }) => {
    await send();
    throw new Error('The connection broke.');
  };

  async function inDoubt(script: Script = {}) {
    shop = await stage({ keyRetention: 'none', lookup: 'none', steps: [lost], ...script });
    const run = await shop.orchestrator.submit(shop.charge, order);
    await reached(run, 'escalated');
    return { run, decision: { ...who, seen: await seen(shop.orchestrator) } };
  }

  test('goes through the output schema, as an executor’s does', async () => {
    const { run, decision } = await inDoubt({ output });

    await shop.orchestrator.operator.resolve(run.id, charged, decision);

    expect(await now(run)).toMatchObject({ status: 'succeeded', output: { chargeId: 'payment_1', fee: 0 } });
  });

  test.each<[string, unknown]>([
    ['does not fit the schema', { chargeId: 17 }],
    ['is larger than can be kept', { chargeId: 'x'.repeat(1_000_001) }],
    ['cannot be stored', { chargeId: 'payment_1', charge() {} }],
  ])('is refused when it %s, and nothing is decided', async (_, supplied) => {
    const { run, decision } = await inDoubt({ output });
    const turns = shop.store.written.length;

    const deciding = shop.orchestrator.operator.resolve(run.id, succeeded(supplied), decision);

    await expect(deciding).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    expect(await run.status()).toBe('escalated');
    expect(shop.store.written).toHaveLength(turns);
  });

  test('is kept unseen where the definition is not registered', async () => {
    const { run, decision } = await inDoubt({ output });
    const office = createOrchestrator({ store: shop.store, clock: shop.clock, definitions: [], tenant: run.tenant });
    const supplied = succeeded({ chargeId: 17 });

    const deciding = office.operator.resolve(run.id, supplied, { ...decision, within: '2s' });
    await shop.clock.advance('3s');

    expect(await deciding).toEqual({ status: 'applied' });
    expect(await now(run)).toEqual({ status: 'succeeded', output: { chargeId: 17 } });
    await office.stop();
  });

  test.each<[string, unknown]>([
    ['null', null],
    ['undefined', undefined],
    ['another charge', { chargeId: 'payment_2' }],
  ])('replaces what was stored before, also when it is %s', async (_, supplied) => {
    shop = await stage();
    await shop.provider.faults(['lie+drop']);
    const run = await shop.orchestrator.submit(shop.charge, order);
    await reached(run, 'escalated');
    const decision = { ...who, seen: await seen(shop.orchestrator) };

    await shop.orchestrator.operator.resolve(run.id, succeeded(supplied, { reference: 'payment_2' }), decision);

    expect(await now(run)).toStrictEqual({ status: 'succeeded', output: supplied, reference: 'payment_2' });
  });
});

describe('a decision that is refused', () => {
  test('because the history moved on changes nothing', async () => {
    const { orchestrator, run } = await arranged('escalated');
    const decision = { ...who, seen: await seen(orchestrator) };
    await orchestrator.operator.resolve(run.id, failed('written_off'), decision);
    const history = await run.history();

    const second = orchestrator.operator.resolve(run.id, charged, decision);

    await expect(second).rejects.toMatchObject({
      code: 'RESOLUTION_REFUSED',
      facts: { id: run.id, seen: decision.seen },
    });
    expect(await now(run)).toEqual({ status: 'failed', code: 'written_off' });
    expect(await run.history()).toEqual(history);
  });

  test('because another was made on the same history at the same time is kept with why', async () => {
    const { orchestrator, run } = await arranged('escalated');
    const decision = { ...who, seen: await seen(orchestrator) };

    const ends = await Promise.allSettled([
      orchestrator.operator.resolve(run.id, failed('written_off'), decision),
      orchestrator.operator.resolve(run.id, charged, { ...decision, by: 'Grace of support' }),
    ]);

    expect(ends.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    expect(ends.find(({ status }) => status === 'rejected')).toMatchObject({ reason: { code: 'RESOLUTION_REFUSED' } });
    const verdicts = (await run.history()).filter(({ kind }) => kind === 'verdict');
    expect(verdicts.map(({ facts }) => facts['accepted'])).toEqual([true, false]);
  });

  test.each(['pending', 'reconciling', 'succeeded', 'failed'] as const)(
    'because the charge is %s and not escalated',
    async (state) => {
      const { orchestrator, run, provider, store } = await arranged(state);
      const before = await provider.records();

      const deciding = orchestrator.operator.resolve(run.id, charged, { ...who, seen: await lastSeen(store, run) });

      await expect(deciding).rejects.toMatchObject({
        code: 'RESOLUTION_REFUSED',
        message: expect.stringContaining('not escalated'),
      });
      expect(await run.status()).toBe(state);
      expect(await provider.records()).toEqual(before);
    },
  );

  test('because an attempt is in flight, which goes on', async () => {
    const { orchestrator, run, provider, store } = await arranged('in-progress');

    const deciding = orchestrator.operator.resolve(run.id, failed('written_off'), {
      ...who,
      seen: await lastSeen(store, run),
    });
    await expect(deciding).rejects.toMatchObject({
      code: 'RESOLUTION_REFUSED',
      message: expect.stringContaining('in flight'),
    });
    await provider.release();

    expect(await reached(run, 'succeeded', 'failed')).toBe('succeeded');
  });

  test.each([
    ['nobody makes it', { by: '' }],
    ['nobody but a space makes it', { by: ' ' }],
    ['it rests on nothing', { evidence: '' }],
    ['it names no history', { seen: '' }],
    // Callers without a compiler can give back the number that was shown in an earlier form.
    ['it names a number', { seen: 2 as unknown as string }],
  ])('because %s', async (_, flaw) => {
    const { orchestrator, run, store } = await arranged('escalated');
    const turns = store.written.length;

    const deciding = orchestrator.operator.resolve(run.id, charged, { ...who, seen: '2.turn', ...flaw });

    await expect(deciding).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    expect(await run.status()).toBe('escalated');
    expect(store.written).toHaveLength(turns);
  });

  test('because it is no decision at all', async () => {
    const { orchestrator, run } = await arranged('escalated');
    // A caller without a compiler can say this.
    const undecided = { type: 'unknown', reason: 'who knows' } as unknown as typeof charged;

    const deciding = orchestrator.operator.resolve(run.id, undecided, { ...who, seen: '2.turn' });

    await expect(deciding).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    expect(await run.status()).toBe('escalated');
  });

  test('because there is no such operation', async () => {
    const { orchestrator } = await arranged('escalated');

    const deciding = orchestrator.operator.resolve('op_0', charged, { ...who, seen: '2.turn' });

    await expect(deciding).rejects.toMatchObject({ code: 'OPERATION_NOT_FOUND' });
  });

  test('because evidence was waiting that settles it: the evidence is applied first', async () => {
    const reply = gate();
    const late: Step = async ({ send }) => {
      const { id } = await send();
      await reply.passed;
      return succeeded({ chargeId: id }, { reference: id ?? '' });
    };
    shop = await stage({ keyRetention: 'none', lookup: 'none', steps: [late] });
    const run = await shop.orchestrator.submit(shop.charge, order);
    await shop.provider.logged(({ event }) => event === 'NEW');
    await shop.pass('10s');
    await reached(run, 'escalated');
    const decision = { ...who, seen: await seen(shop.orchestrator) };

    reply.open();
    const deciding = shop.orchestrator.operator.resolve(run.id, failed('written_off'), decision);

    await expect(deciding).rejects.toMatchObject({ code: 'RESOLUTION_REFUSED' });
    expect(await reached(run, 'succeeded', 'failed')).toBe('succeeded');
    expect((await run.history()).map(({ kind }) => kind).slice(2)).toEqual(['evidence', 'verdict']);
    expect(await shop.provider.records()).toHaveLength(1);
  });

  test('because evidence was waiting that they had not seen, although it settles nothing', async () => {
    shop = await stage({ lookup: 'none', attempts: 2 });
    await shop.provider.calls(['commit-then-drop', 'drop']);
    const run = await shop.orchestrator.submit(shop.charge, order);
    await reached(run, 'pending');
    await shop.pass('5s');
    const decision = { ...who, seen: await seen(shop.orchestrator) };
    await shop.orchestrator.stop({ within: 0 });
    const office = shop.another();

    const decided = await office.operator.resolve(run.id, failed('written_off'), { ...decision, within: 0 });
    const refusal: Evidence = { kind: 'evidence', source: 'late-result', attempt: 2, outcome: failed('card_declined') };
    await shop.store.handOver({ tenant: run.tenant, id: run.id, handoverId: 'late-1', body: toBody(refusal) });
    const worker = shop.another();
    await worker.start();
    const taken = await worker.run(run.id);
    const history = await until(async () => {
      const records = await taken.history();
      return records.at(-1)?.kind === 'verdict' ? records : null;
    }, 'the decision to be applied or refused');

    expect(decided).toEqual({ status: 'waiting' });
    expect(history.slice(-2).map(({ kind }) => kind)).toEqual(['evidence', 'verdict']);
    expect(history.at(-1)?.facts).toMatchObject({ accepted: false, by: who.by });
    expect(await taken.status()).toBe('escalated');
    expect(await shop.provider.records()).toHaveLength(1);
  });
});

describe('a look-up at the word of a person', () => {
  test('asks the provider once more, at once, and adopts what it finds', async () => {
    shop = await stage({ lookup: { giveUpAfter: '1m' } });
    await shop.provider.faults(['commit-then-drop']);
    await shop.provider.lookups(Array.from({ length: 50 }, () => 'lookup500'));
    const run = await shop.orchestrator.submit(shop.charge, order);
    await reached(run, 'reconciling');
    await shop.pass('5m');
    await shop.provider.quiet();

    const decided = await shop.orchestrator.operator.lookUp(run.id, { ...who, seen: await seen(shop.orchestrator) });
    await reached(run, 'succeeded');

    expect(decided).toEqual({ status: 'applied' });
    expect(await shop.provider.records()).toHaveLength(1);
    expect(await keysSent(shop.provider)).toHaveLength(1);
    expect((await statesOf(run)).slice(-3)).toEqual(['escalated', 'reconciling', 'succeeded']);
  });

  test('is refused where nobody can be asked', async () => {
    const { orchestrator, run } = await arranged('escalated');

    const asking = orchestrator.operator.lookUp(run.id, { ...who, seen: await seen(orchestrator) });

    await expect(asking).rejects.toMatchObject({
      code: 'RESOLUTION_REFUSED',
      message: expect.stringContaining('no look-up'),
    });
    expect(await run.status()).toBe('escalated');
  });
});

describe('two effects', () => {
  test('are settled by a person who says which one stands', async () => {
    shop = await stage();
    await shop.provider.faults(['lie+drop']);
    const run = await shop.orchestrator.submit(shop.charge, order);
    await reached(run, 'escalated');

    const decided = await shop.orchestrator.operator.resolve(run.id, charged, {
      ...who,
      evidence: 'payment_2 was refunded by hand',
      seen: await seen(shop.orchestrator),
    });

    expect(decided).toEqual({ status: 'applied' });
    expect(await now(run)).toMatchObject({ status: 'succeeded', reference: 'payment_1' });
    expect(await keysSent(shop.provider)).toHaveLength(1);
  });

  test('are not sent a third time by a person who says that nothing was applied', async () => {
    shop = await stage();
    await shop.provider.faults(['lie+drop']);
    const run = await shop.orchestrator.submit(shop.charge, order);
    await reached(run, 'escalated');

    const deciding = shop.orchestrator.operator.resolve(run.id, notApplied('I saw nothing'), {
      ...who,
      seen: await seen(shop.orchestrator),
    });

    await expect(deciding).rejects.toMatchObject({ code: 'RESOLUTION_REFUSED' });
    expect(await run.status()).toBe('escalated');
    expect(await keysSent(shop.provider)).toHaveLength(1);
  });
});

describe('a decision made where nothing runs', () => {
  test('is kept, and applied by the next process that works', async () => {
    const { run, provider, clock, orchestrator, another } = await arranged('escalated');
    await orchestrator.stop({ within: 0 });
    const office = another();

    const deciding = office.operator.resolve(run.id, charged, { ...who, seen: await seen(office), within: '2s' });
    await clock.advance('3s');
    const decided = await deciding;
    const before = await (await office.run(run.id)).status();
    const worker = another();
    await worker.start();
    const end = await reached(await worker.run(run.id), 'succeeded', 'failed');

    expect(decided).toEqual({ status: 'waiting' });
    expect(before).toBe('escalated');
    expect(end).toBe('succeeded');
    expect(await provider.records()).toHaveLength(1);
  });

  test('is applied while it waits when another process works', async () => {
    const { run, clock, another } = await arranged('escalated');
    const office = another();

    const deciding = office.operator.resolve(run.id, charged, { ...who, seen: await seen(office), within: '10s' });
    await clock.advance('3s');

    expect(await deciding).toEqual({ status: 'applied' });
    expect(await now(run)).toMatchObject({ status: 'succeeded', reference: 'payment_1' });
  });
});

/** The history that the only doubt shows. */
async function seen(orchestrator: Orchestrator<true>): Promise<string> {
  const [doubt] = await until(async () => {
    const doubts = await orchestrator.operator.doubts();
    return doubts.length > 0 ? doubts : null;
  }, 'a doubt to be listed');
  return doubt?.seen ?? '';
}

/** What would name the history of what is not listed among the doubts. */
async function lastSeen(store: StageIn['store'], run: StageIn['run']): Promise<string> {
  const row = await store.read(run);
  return row === null ? '' : seenOf(row);
}
