import { afterEach, describe, expect, test } from 'vitest';
import { absent, failed, found, notApplied, type Run, succeeded } from 'sagacity';
import { type Charge, timedShop, type TimedShop, type TimedShopOptions, told } from '../support/timed.ts';
import { reached } from '../support/world.ts';

let shop: TimedShop;
afterEach(() => shop.close());

type ChargeRun = Run<{ chargeId: string }, 'card_declined'>;

const payment = { orderId: 'order-17', amount: 5 };

/** A charge of which the first call goes as `mode` says. */
async function charged(
  mode: Parameters<TimedShop['provider']['calls']>[0][number],
  options: TimedShopOptions = {},
): Promise<ChargeRun> {
  shop = await timedShop(options);
  await shop.provider.calls([mode]);
  return shop.orchestrator.submit(shop.charge, payment);
}

async function seenOf(run: ChargeRun): Promise<string> {
  const [doubt] = await shop.orchestrator.operator.doubts();
  expect(doubt?.id).toBe(run.id);
  return doubt?.seen ?? '';
}

const who = { by: 'operator-3', evidence: 'seen in the dashboard' };

/** Charged once, with a reply that is too long to be kept. */
async function chargedUnusably(): Promise<{ run: ChargeRun; operator: TimedShop['orchestrator']['operator'] }> {
  const { execute } = shop.charge.options;
  const charge: Charge = {
    ...shop.charge,
    options: {
      ...shop.charge.options,
      async execute(context) {
        const outcome = await execute(context);
        if (outcome.type !== 'succeeded') return outcome;
        return succeeded({ chargeId: 'x'.repeat(1_000_001) }, { reference: outcome.reference ?? '' });
      },
    },
  };
  const orchestrator = shop.another({ definitions: [charge] });
  await orchestrator.start();
  const run = await orchestrator.submit(charge, payment);
  await reached(run, 'escalated');
  return { run, operator: orchestrator.operator };
}

async function expectOneKey(posts: number): Promise<void> {
  const keys = await shop.sentKeys();
  expect(keys).toHaveLength(posts);
  expect(new Set(keys).size).toBe(1);
}

describe('an unknown outcome that a look-up finds', () => {
  test('is adopted, and nothing is sent again', async () => {
    const run = await charged('commit-then-error');

    await shop.pass('3m');

    expect(await run.result({ within: 0 })).toMatchObject({ status: 'succeeded', reference: 'payment_1' });
    expect(await shop.provider.records()).toHaveLength(1);
    await expectOneKey(1);
  });
});

describe('an unknown outcome whose look-up finds nothing', () => {
  test('waits while the request may still be on its way, and adopts it when it arrives', async () => {
    const run = await charged('late(20000)');

    await shop.pass('10s');
    const early = await told(run);
    await shop.pass('2m');

    expect(early).toEqual(expect.arrayContaining(['lookup absent -> reconciling']));
    expect(early.filter((line) => line.startsWith('start'))).toHaveLength(1);
    expect(await run.status()).toBe('succeeded');
    expect(await shop.provider.records()).toHaveLength(1);
    await expectOneKey(1);
  });

  test('is sent again under the same key once it would be visible, and not a moment sooner', async () => {
    const run = await charged('drop');

    await shop.pass('45s');
    const before = await shop.sentKeys();
    await shop.pass('5s');

    // Five seconds to leave, ten for the attempt, thirty until it shows.
    expect(before).toHaveLength(1);
    expect(await run.status()).toBe('succeeded');
    expect(await shop.provider.records()).toHaveLength(1);
    await expectOneKey(2);
  });

  test('stays one effect when the first request arrives after the second', async () => {
    const run = await charged('late(60000)');

    await shop.pass('3m');

    expect(await run.status()).toBe('succeeded');
    expect(await shop.provider.records()).toHaveLength(1);
    await expectOneKey(2);
  });

  test.each<[string, { attempts?: number; cancelled?: boolean }]>([
    ['no attempts are left', { attempts: 1 }],
    ['it is to be given up', { cancelled: true }],
  ])(
    'is no failure when %s: the request may still arrive, and a person is asked',
    async (_, { cancelled, ...policy }) => {
      const run = await charged('late(120000)', policy);
      await reached(run, 'reconciling');
      if (cancelled === true) {
        await shop.orchestrator.cancel(run.id, { by: 'the customer', reason: 'ordered twice', within: 0 });
      }
      await shop.pass('90s');
      const waiting = await run.result({ within: 0 });
      const before = await shop.provider.records();

      expect([waiting, before.length]).toEqual([{ status: 'escalated', reason: 'absent-not-final' }, 0]);
      await shop.pass('1m');
      await shop.orchestrator.operator.lookUp(run.id, { ...who, seen: await seenOf(run), within: 0 });
      await shop.pass('10s');

      expect(await run.status()).toBe('succeeded');
      expect(await shop.provider.records()).toHaveLength(1);
      await expectOneKey(1);
    },
  );

  test('is handed to a person when the provider does not know keys, for an absence is not final', async () => {
    const run = await charged('drop', { keyRetention: 'none' });

    await shop.pass('30m', '10s');

    expect(await run.result({ within: 0 })).toEqual({ status: 'escalated', reason: 'absent-not-final' });
    expect(await shop.provider.records()).toHaveLength(0);
    await expectOneKey(1);
  });

  test('is sent again without a retained key only after the last moment it could have arrived', async () => {
    const run = await charged('drop', { keyRetention: 'none', lookup: { arrivalLimit: '1m' } });

    await shop.pass('105s');
    const before = await shop.sentKeys();
    await shop.pass('10s');

    expect(before).toHaveLength(1);
    expect(await run.status()).toBe('succeeded');
    expect(await shop.provider.records()).toHaveLength(1);
    await expectOneKey(2);
  });

  test('is handed to a person when the key is forgotten before an absence could be seen', async () => {
    const run = await charged('drop', { keyRetention: '1h' });
    await shop.provider.lookups(['lookup500(3600000)']);

    await shop.pass('3h', '10s');

    expect(await run.result({ within: 0 })).toEqual({ status: 'escalated', reason: 'window-passed' });
    expect(await shop.provider.records()).toHaveLength(0);
    await expectOneKey(1);
  });
});

describe('an unknown outcome at a provider that knows keys and cannot be asked', () => {
  test('is sent again under the same key inside the window', async () => {
    const run = await charged('commit-then-drop', { lookup: 'none' });

    await shop.pass('30s');

    expect(await run.status()).toBe('succeeded');
    expect(await shop.provider.records()).toHaveLength(1);
    await expectOneKey(2);
  });

  test('is never sent again after it: a person is asked', async () => {
    const run = await charged('commit-then-drop', { lookup: 'none', keyRetention: '1h' });
    await shop.pass('500ms', '100ms');
    const stopping = shop.orchestrator.stop({ within: '1s' });
    await shop.clock.advance('5s');
    await stopping;
    expect(await run.status()).toBe('pending');

    await shop.clock.advance('1h');
    await shop.another().start();
    await shop.pass('1m');

    expect(await run.result({ within: 0 })).toEqual({ status: 'escalated', reason: 'window-passed' });
    expect(await shop.provider.records()).toHaveLength(1);
    await expectOneKey(1);
  });

  test('is handed to a person when no attempts are left', async () => {
    const run = await charged('commit-then-drop', { lookup: 'none', attempts: 1 });

    await shop.pass('1m');

    expect(await run.result({ within: 0 })).toEqual({ status: 'escalated', reason: 'no-lookup' });
    expect(await shop.provider.records()).toHaveLength(1);
    await expectOneKey(1);
  });
});

describe('an unknown outcome at a provider that neither knows keys nor can be asked', () => {
  test('is handed to a person at once, who settles it', async () => {
    const run = await charged('commit-then-drop', { lookup: 'none', keyRetention: 'none' });
    await shop.pass('500ms', '100ms');
    const waiting = await run.result({ within: 0 });
    await shop.pass('10m', '10s');

    const decided = await shop.orchestrator.operator.resolve(
      run.id,
      succeeded({ chargeId: 'payment_1' }, { reference: 'payment_1' }),
      { by: 'operator-3', evidence: 'seen in the dashboard', seen: await seenOf(run) },
    );

    expect(waiting).toEqual({ status: 'escalated', reason: 'no-lookup' });
    expect(decided).toEqual({ status: 'applied' });
    expect(await run.result({ within: 0 })).toEqual({
      status: 'succeeded',
      output: { chargeId: 'payment_1' },
      reference: 'payment_1',
    });
    expect(await shop.provider.records()).toHaveLength(1);
    await expectOneKey(1);
  });

  test('fails when a person says so, and is not sent again', async () => {
    const run = await charged('drop', { lookup: 'none', keyRetention: 'none' });
    await shop.pass('1s');
    const decision = { by: 'operator-3', evidence: 'the order was given up', seen: await seenOf(run) };

    await shop.orchestrator.operator.resolve(run.id, failed('given_up'), decision);
    await shop.pass('10m', '10s');

    expect(await run.result({ within: 0 })).toEqual({ status: 'failed', code: 'given_up' });
    expect(await shop.provider.records()).toHaveLength(0);
    await expectOneKey(1);
  });

  test('is sent once more, under the same key, when a person proves that it was not applied', async () => {
    const run = await charged('drop', { lookup: 'none', keyRetention: 'none' });
    await shop.pass('1s');
    const decision = { by: 'operator-3', evidence: 'the provider has no such payment', seen: await seenOf(run) };

    await shop.orchestrator.operator.resolve(run.id, notApplied('not in their books'), decision);
    await shop.pass('10s');

    expect(await run.status()).toBe('succeeded');
    expect(await shop.provider.records()).toHaveLength(1);
    await expectOneKey(2);
  });
});

describe('a reply that comes after its attempt was given up', () => {
  test('settles the outcome by itself', async () => {
    shop = await timedShop({ lookup: 'none', keyRetention: 'none', deaf: true });
    await shop.provider.faults(['commit-then-hold']);
    const run = await shop.orchestrator.submit(shop.charge, payment);
    await shop.provider.logged(({ event }) => event === 'HOLD');
    await shop.clock.advance('11s');
    const givenUp = await run.result({ within: 0 });

    await shop.provider.release();
    await reached(run, 'succeeded');

    expect(givenUp).toEqual({ status: 'escalated', reason: 'no-lookup' });
    expect(await shop.provider.records()).toHaveLength(1);
    expect((await told(run)).at(-1)).toBe('evidence -> succeeded');
    await expectOneKey(1);
  });
});

describe('a person who names a record', () => {
  test('is contradicted by a later reply that names another one: both are shown', async () => {
    shop = await timedShop({ lookup: 'none', keyRetention: 'none', deaf: true });
    await shop.provider.faults(['commit-then-hold']);
    const run = await shop.orchestrator.submit(shop.charge, payment);
    await shop.provider.logged(({ event }) => event === 'HOLD');
    await shop.clock.advance('11s');
    const stated = succeeded({ chargeId: 'payment_9' }, { reference: 'payment_9' });
    await shop.orchestrator.operator.resolve(run.id, stated, { ...who, seen: await seenOf(run) });
    const before = await shop.orchestrator.operator.doubts();

    await shop.provider.release();
    await shop.pass('2s');

    expect(await shop.provider.records()).toHaveLength(1);
    expect(before).toEqual([]);
    expect(await shop.orchestrator.operator.doubts()).toMatchObject([
      { id: run.id, state: 'succeeded', contradictedAt: expect.any(Date) },
    ]);
  });

  test('other than the one that is proven is heard, and the operation stays listed', async () => {
    shop = await timedShop({ lookup: 'none', keyRetention: 'none' });
    const { run, operator } = await chargedUnusably();
    const stated = succeeded({ chargeId: 'payment_9' }, { reference: 'payment_9' });

    await operator.resolve(run.id, stated, { ...who, seen: await seenOf(run) });

    expect(await operator.doubts()).toMatchObject([
      { id: run.id, state: 'succeeded', contradictedAt: expect.any(Date) },
    ]);
    expect(await shop.provider.records()).toHaveLength(1);
  });
});

describe('a person who says that a charge failed', () => {
  test('is refused when it is proven to have happened', async () => {
    shop = await timedShop({ lookup: 'none', keyRetention: 'none' });
    const { run, operator } = await chargedUnusably();
    const seen = await seenOf(run);

    const deciding = operator.resolve(run.id, failed('given_up'), { ...who, seen });

    await expect(deciding).rejects.toMatchObject({
      code: 'RESOLUTION_REFUSED',
      message: expect.stringContaining('contradicts what is proven'),
    });
    expect(await run.result({ within: 0 })).toEqual({ status: 'escalated', reason: 'output-unusable' });
    expect(await shop.provider.records()).toHaveLength(1);
  });
});

describe('a look-up that shows two records of which one cannot be used', () => {
  test.each([
    ['first', 0],
    ['second', 1],
  ])('(the %s) hands both to a person as two effects', async (_, flawed) => {
    shop = await timedShop();
    await shop.provider.faults(['lie+drop']);
    const { find } = shop.charge.options;
    const charge: Charge = {
      ...shop.charge,
      options: {
        ...shop.charge.options,
        async find(context) {
          const finding = (await find?.(context)) ?? absent();
          if (finding.type !== 'found') return finding;
          const [first, ...more] = finding.records.map((record, n) =>
            n === flawed && record.type === 'succeeded'
              ? succeeded({ chargeId: 'x'.repeat(1_000_001) }, { reference: record.reference ?? '' })
              : record,
          );
          return first === undefined ? absent() : found(first, ...more);
        },
      },
    };
    const orchestrator = shop.another({ definitions: [charge] });
    await orchestrator.start();

    const run = await orchestrator.submit(charge, payment);
    await shop.pass('1m');

    expect(await shop.provider.records()).toHaveLength(2);
    expect(await run.result({ within: 0 })).toEqual({ status: 'escalated', reason: 'two-effects' });
    expect((await run.history()).at(-1)?.facts['references']).toHaveLength(2);
    await expectOneKey(1);
  });
});

describe('a look-up that fails for two days', () => {
  test('never makes the operation fail: it is handed to a person, whose look-up settles it', async () => {
    let down = true;
    let asked = 0;
    shop = await timedShop({ sweepEvery: '10m', heartbeat: { every: '10m', timeout: '30m' } });
    await shop.provider.faults(['commit-then-drop']);
    const find = shop.charge.options.find;
    const doubtful: Charge = {
      ...shop.charge,
      policy: { ...shop.charge.policy, lookup: lasting(shop.charge) },
      options: {
        ...shop.charge.options,
        find(context) {
          asked += 1;
          if (down || find === null) throw new Error('The provider cannot be asked.');
          return find(context);
        },
      },
    };
    const orchestrator = shop.another({ definitions: [doubtful] });
    await orchestrator.start();
    const run = await orchestrator.submit(doubtful, payment);
    await shop.pass('5s');

    await shop.clock.advance('47h');
    const nearly = await run.result({ within: 0 });
    await shop.clock.advance('2h');
    const overdue = await run.result({ within: 0 });
    const askedAlone = asked;
    down = false;
    const decision = { by: 'operator-3', evidence: 'their status page is green again', seen: await seenOf(run) };
    await orchestrator.operator.lookUp(run.id, decision);
    await shop.pass('5s');

    expect(nearly).toEqual({ status: 'in-progress', state: 'reconciling' });
    expect(overdue).toEqual({ status: 'escalated', reason: 'lookup-exhausted' });
    expect(askedAlone).toBeGreaterThan(40);
    expect(await run.status()).toBe('succeeded');
    expect((await told(run)).join('\n')).not.toContain('failed');
    expect(await shop.provider.records()).toHaveLength(1);
    await expectOneKey(1);
  });
});

/** Looked up for two days before a person is asked. */
function lasting(charge: Charge): Charge['policy']['lookup'] {
  const { lookup } = charge.policy;
  return lookup === null ? null : { ...lookup, giveUpAfterMs: 48 * 3_600_000 };
}
