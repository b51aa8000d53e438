/**
 * Sagas where their rows are shared: many processes on one PostgreSQL, and hosts that submit within their own
 * transactions. Whoever drives a saga, its effects are made once; whoever cancels it, it is taken back once.
 */

import { PGlite } from '@electric-sql/pglite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AnySaga, createOrchestrator, type Orchestrator, saga, type Store, typed, type Waker } from 'sagacity';
import { pgliteStore } from 'sagacity/pglite';
import { postgresStore } from 'sagacity/postgres';
import { embeddedHosts, type Host, ORDERS, serverHosts } from '../support/host-transactions.ts';
import { fulfilment, purchase, tradeAt, type Trade } from '../support/saga-shop.ts';
import { severable, type SeverableStore } from '../support/severable-store.ts';
import { sharedDatabase, type SharedDatabase } from '../support/shared-database.ts';
import { until } from '../support/world.ts';

let shared: SharedDatabase;
let trade: Trade;

beforeAll(async () => {
  shared = await sharedDatabase();
  trade = tradeAt(shared.provider.url);
});
afterAll(() => shared.close());

const who = { by: 'the shop', reason: 'the customer changed their mind' };

describe('a saga that fifty cancel through four processes', () => {
  test('is taken back once, and all of them are heard', async () => {
    const selling = fulfilment(trade);
    const all = Array.from({ length: 4 }, () => shared.orchestrator({ definitions: [selling] }));
    await Promise.all(all.map((each) => each.start()));
    await shared.provider.calls(['commit-then-hold'], 'reservation');
    const run = await all[0]?.submit(selling, { orderId: 'order-1' });
    await shared.provider.logged(({ event, kind }) => event === 'HOLD' && kind === 'reservation');

    const cancelling = Array.from({ length: 50 }, async (_, n) => all[n % 4]?.cancel(run?.id ?? '', who));
    const answers = await Promise.all(cancelling);
    await shared.provider.release();
    await shared.sagasSettled();
    await Promise.all(all.map((each) => each.stop()));

    expect(new Set(answers.map((answer) => answer?.status))).toEqual(new Set(['accepted']));
    expect(await stateOf(run?.id ?? '')).toBe('compensated');
    expect(await shared.kept('order-1')).toEqual(['authorisation', 'reservation', 'release', 'void']);
  });
});

async function stateOf(id: string): Promise<string | undefined> {
  return (await shared.store.readSaga({ tenant: 'shop-1', id }))?.state;
}

describe('forty sagas that three processes share', () => {
  test('make each of their effects once, whether they succeed or are taken back', async () => {
    const selling = purchase(trade);
    const all = Array.from({ length: 3 }, () => shared.orchestrator({ definitions: [selling], concurrency: 8 }));
    await Promise.all(all.map((each) => each.start()));
    await shared.provider.calls(
      Array.from({ length: 15 }, () => 'decline' as const),
      'payment',
    );

    const runs = await Promise.all(
      Array.from({ length: 40 }, async (_, n) => all[n % 3]?.submit(selling, { orderId: `order-2-${n}` })),
    );
    await shared.sagasSettled();
    const ends = await Promise.all(runs.map((run) => stateOf(run?.id ?? '')));
    await Promise.all(all.map((each) => each.stop()));

    const effects = await Promise.all(runs.map(async (_, n) => (await shared.kept(`order-2-${n}`)).join(' ')));
    const expected = ends.map((end) =>
      end === 'succeeded' ? 'authorisation reservation payment' : 'authorisation reservation release void',
    );
    expect(effects).toEqual(expected);
    expect(ends.filter((end) => end === 'compensated')).toHaveLength(15);
  });
});

describe('a saga whose process is gone', () => {
  const heartbeat = { every: '200ms', timeout: '1s' } as const;

  /** An orchestrator that is cut off from its database at a word. */
  async function doomed(selling: AnySaga) {
    const seen: SeverableStore[] = [];
    const dying = shared.orchestrator({
      ...{ definitions: [selling], heartbeat },
      seen(store) {
        const cut = severable(store);
        seen.push(cut);
        return cut;
      },
    });
    await dying.start();
    const sever = () => {
      for (const each of seen) each.sever();
    };
    return { dying, sever };
  }

  test('is gone on with by another one, which finds what was under way', async () => {
    const selling = purchase(trade);
    const { dying, sever } = await doomed(selling);
    await shared.provider.calls(['commit-then-hold'], 'reservation');
    const { id } = await dying.submit(selling, { orderId: 'order-3' });
    await until(async () => ((await shared.kept('order-3')).length === 2 ? true : null), 'the reservation to be made');
    sever();

    const other = shared.orchestrator({ definitions: [selling], heartbeat });
    await other.start();
    await shared.sagasSettled();
    await shared.provider.release();
    await other.stop();

    expect(await stateOf(id)).toBe('succeeded');
    expect(await shared.kept('order-3')).toEqual(['authorisation', 'reservation', 'payment']);
  });

  test('is gone on with in the middle of a list, of which nothing is done twice or left out', async () => {
    const parcels = Array.from({ length: 12 }, (_, n) => `parcel-4-${n}`);
    const selling = sendingEach(trade);
    const { dying, sever } = await doomed(selling);
    const once = Array.from({ length: 5 }, () => 'ok' as const);
    await shared.provider.calls([...once, 'commit-then-hold', 'commit-then-hold', 'commit-then-hold'], 'reservation');
    const { id } = await dying.submit(selling, { orderId: 'order-4', parcels });
    const made = async () => (await Promise.all(parcels.map((each) => shared.kept(each)))).flat().length;
    await until(async () => ((await made()) === 8 ? true : null), 'five to be done, and three to be under way');
    sever();

    const other = shared.orchestrator({ definitions: [selling], heartbeat });
    await other.start();
    await shared.sagasSettled();
    await shared.provider.release();
    const run = await other.sagaRun({ saga: selling, key: 'order-4' });
    const end = await run.result({ within: 0 });
    await other.stop();

    expect(await stateOf(id)).toBe('succeeded');
    expect(await Promise.all(parcels.map((each) => shared.kept(each)))).toEqual(parcels.map(() => ['reservation']));
    expect(await shared.kept('order-4')).toEqual(['payment']);
    expect(end.status === 'succeeded' && new Set(end.output.parcels.map(({ id: of }) => of)).size).toBe(12);
  });
});

/** Reserve each of the parcels, three at a time, and pay. */
function sendingEach({ reserve, pay }: Trade) {
  const input = typed<{ orderId: string; parcels: readonly string[] }>();
  return saga('list', { input, key: ({ input: { orderId } }) => orderId })
    .forEach(
      'parcels',
      ({ input: { parcels } }) => parcels,
      reserve,
      ({ item }) => ({ orderId: item }),
      {
        concurrency: 3,
      },
    )
    .step('payment', pay, ({ input: { orderId } }) => ({ orderId }));
}

interface Hosted {
  readonly submitter: Orchestrator<true>;
  readonly worker: Orchestrator<true>;
  readonly host: Host;
}

describe.each(['PostgreSQL', 'PGlite'] as const)(
  'a saga that is submitted in a transaction of the host on %s',
  (where) => {
    let hosted: Hosted;
    let selling: ReturnType<typeof purchase>;
    let instance: PGlite | null = null;

    beforeAll(async () => {
      selling = purchase(trade);
      if (where === 'PostgreSQL') {
        await shared.sql.unsafe(ORDERS);
        const host = serverHosts['a node-postgres client'](shared.url, 2);
        hosted = { host, ...(await processes(() => postgresStore({ url: shared.url }))) };
        return;
      }
      const own = new PGlite();
      instance = own;
      await own.exec(ORDERS);
      const host = embeddedHosts['a transaction of PGlite'](own);
      hosted = { host, ...(await processes(() => pgliteStore({ instance: own }))) };
    });
    afterAll(async () => {
      await Promise.all([hosted.submitter.stop(), hosted.worker.stop()]);
      await hosted.host.end();
      await instance?.close();
    });

    async function processes(store: () => Store) {
      const nobody: Waker = { start: async () => {}, wake() {}, stop: async () => {} };
      const made = () =>
        createOrchestrator({
          ...{ store: store(), definitions: [selling], tenant: `shop of ${where}`, waker: nobody, sweepEvery: '50ms' },
        });
      const [worker, submitter] = [made(), made()];
      await worker.start();
      await submitter.operator.doubts();
      return { worker, submitter };
    }

    test('commits with it, and begins after the commit', async () => {
      const { submitter, worker, host } = hosted;
      const orderId = `order of ${where}`;

      const run = await host.transact(async ({ tx, query }) => {
        await query(`insert into shop_order (id) values ('${orderId}')`);
        return await submitter.submit(selling, { orderId }, { tx });
      });
      const seen = await worker.sagaRun({ saga: selling, key: orderId });

      expect(run.submission).toBe('new');
      expect(await seen.result({ within: '20s' })).toMatchObject({ status: 'succeeded' });
      expect(await shared.kept(orderId)).toEqual(['authorisation', 'reservation', 'payment']);
    });

    test('is gone with a rollback', async () => {
      const { submitter, worker, host } = hosted;
      const orderId = `withdrawn of ${where}`;

      const transaction = host.transact(async ({ tx }) => {
        await submitter.submit(selling, { orderId }, { tx });
        throw new Error('The shop has nothing left of it.');
      });

      await expect(transaction).rejects.toThrow('nothing left of it');
      await expect(worker.sagaRun({ saga: selling, key: orderId })).rejects.toMatchObject({ code: 'SAGA_NOT_FOUND' });
      expect(await shared.kept(orderId)).toEqual([]);
    });

    test('joins one that is there, and conflicts with one of another input', async () => {
      const { submitter, host } = hosted;
      const orderId = `joined of ${where}`;
      const first = await host.transact(({ tx }) => submitter.submit(selling, { orderId }, { tx }));

      const [again, other] = await Promise.all([
        host.transact(({ tx }) => submitter.submit(selling, { orderId }, { tx })),
        host
          .transact(({ tx }) => submitter.submit(selling, { orderId, of: 'another' }, { tx }))
          .catch((error: unknown) => error),
      ]);

      expect(again.id).toBe(first.id);
      expect(again.submission).not.toBe('new');
      expect(other).toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' });
    });
  },
);
