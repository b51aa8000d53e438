/**
 * What operations cost a server, counted in transactions that wrote: the ids of transactions, which the server gives to
 * those only. Nothing else writes in this cluster, and heartbeats are longer than the run.
 */

import type postgres from 'postgres';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import {
  createOrchestrator,
  isSagacityError,
  type Orchestrator,
  type Run,
  saga,
  signal,
  type Store,
  typed,
} from 'sagacity';
import { postgresStore } from 'sagacity/postgres';
import { privatePostgres, type PrivatePostgres, scriptedProvider, type ScriptedProvider } from 'sagacity/testing';
import { figure } from '../support/figures.ts';
import { databaseAt } from '../support/postgres.ts';
import { chargeCard } from '../support/shop.ts';
import { until } from '../support/world.ts';

const order = { orderId: 'order-17', amount: 1200 };

let cluster: PrivatePostgres;
let onlooker: postgres.Sql;
let shop: Shop;

beforeAll(async () => {
  cluster = await privatePostgres({ settings: { autovacuum: 'off' } });
  onlooker = databaseAt(cluster.url);
});

afterEach(() => shop.close());

afterAll(async () => {
  await onlooker.end();
  await cluster.close();
});

interface Shop {
  readonly provider: ScriptedProvider;
  readonly orchestrator: Orchestrator<true>;
  readonly charge: ReturnType<typeof chargeCard>;
  readonly instalments: ReturnType<typeof fourCharges>;
  readonly approval: ReturnType<typeof approvedCharge>;
  /** Resolves when the orchestrator has looked for work so many times more. */
  swept(times: number): Promise<void>;
  close(): Promise<void>;
}

async function opened(): Promise<Shop> {
  const provider = await scriptedProvider();
  const charge = chargeCard(provider.url);
  const instalments = fourCharges(charge);
  const approval = approvedCharge(charge);
  const url = await cluster.createDatabase();
  const store = sweepsCounted(postgresStore({ url, migrate: true }));
  const orchestrator = createOrchestrator({
    ...{ store, definitions: [charge, instalments, approval], tenant: 'shop-1', concurrency: 256, sweepEvery: '50ms' },
    heartbeat: { every: '10m', timeout: '30m' },
  });
  await orchestrator.start();
  return {
    ...{ provider, orchestrator, charge, instalments, approval },
    async swept(times) {
      const enough = store.sweeps() + times;
      await until(() => (store.sweeps() >= enough ? true : null), `${times} sweeps`);
    },
    async close() {
      await provider.release();
      await orchestrator.stop({ within: '2s' });
      await provider.close();
    },
  };
}

/** A saga of four steps, each of which waits for the one before. */
function fourCharges(charge: ReturnType<typeof chargeCard>) {
  const kept = { compensate: { none: 'a charge that has been made stands' } } as const;
  const part = ({ input }: { input: { orderId: string; amount: number } }) => input;
  return saga('instalments', {
    input: typed<{ orderId: string; amount: number }>(),
    key: ({ input }) => input.orderId,
  })
    .step('first', charge, part, kept)
    .step('second', charge, part, kept)
    .step('third', charge, part, kept)
    .step('fourth', charge, part, kept);
}

const approved = signal('approved', { payload: typed<{ by: string }>() });

/** Holds the till, and waits for a word before its only step. */
function approvedCharge(charge: ReturnType<typeof chargeCard>) {
  return saga('approved-charge', {
    input: typed<{ orderId: string; amount: number }>(),
    key: ({ input }) => input.orderId,
    lock: () => ['till-1'],
  })
    .waitFor('approval', approved, { within: '1h', otherwise: 'compensate' })
    .step('charge', charge, ({ input }) => input, { compensate: { none: 'it is the last step' } });
}

function sweepsCounted(store: Store): Store & { sweeps(): number } {
  let answered = 0;
  return {
    ...store,
    async claim(...args) {
      const claimed = await store.claim(...args);
      answered += 1;
      return claimed;
    },
    sweeps: () => answered,
  };
}

/** How many transactions wrote while `work` was done and in some sweeps after it. */
async function writesOf(work: () => Promise<unknown>): Promise<number> {
  const before = await nextTransaction();
  await work();
  await shop.swept(5);
  return (await nextTransaction()) - before;
}

/** The id that the next transaction gets that writes. Asking takes none. */
async function nextTransaction(): Promise<number> {
  const [row] = await onlooker<{ next: number }[]>`select pg_snapshot_xmax(pg_current_snapshot())::text::int as next`;
  return row?.next ?? Number.NaN;
}

async function ended(
  run: Pick<Run, 'id'> & { result(options: { within: '40s' }): Promise<{ status: string }> },
): Promise<string> {
  return (await run.result({ within: '40s' })).status;
}

describe('an operation alone', () => {
  test('is written by two transactions when it goes well: start and end', async () => {
    shop = await opened();

    const writes = await writesOf(async () => {
      expect(await ended(await shop.orchestrator.submit(shop.charge, order))).toBe('succeeded');
    });

    figure('write transactions of an operation that goes well', writes, 2);
    expect(writes).toBe(2);
    expect(await shop.provider.records()).toHaveLength(1);
  });

  test('is written by three when its reply is lost and it is found', async () => {
    shop = await opened();
    await shop.provider.faults(['commit-then-drop']);

    const writes = await writesOf(async () => {
      expect(await ended(await shop.orchestrator.submit(shop.charge, order))).toBe('succeeded');
    });

    figure('write transactions of an operation that is looked up', writes, 3);
    expect(writes).toBe(3);
    expect(await shop.provider.records()).toHaveLength(1);
  });
});

describe('a second submission', () => {
  test('that joins an attempt on its way writes nothing', async () => {
    shop = await opened();
    await shop.provider.faults(['commit-then-hold']);
    const first = await shop.orchestrator.submit(shop.charge, order);
    await shop.provider.logged(({ event }) => event === 'HOLD');
    let second: Run<unknown, string> | undefined;

    const writes = await writesOf(async () => {
      second = await shop.orchestrator.submit(shop.charge, order);
    });

    figure('write transactions of a join', writes, 0);
    expect(writes).toBe(0);
    expect(second).toMatchObject({ id: first.id, submission: 'joined' });
  });

  test('of what is settled writes nothing', async () => {
    shop = await opened();
    const first = await shop.orchestrator.submit(shop.charge, order);
    await ended(first);
    let second: Run<unknown, string> | undefined;

    const writes = await writesOf(async () => {
      second = await shop.orchestrator.submit(shop.charge, order);
    });

    figure('write transactions of a replay', writes, 0);
    expect(writes).toBe(0);
    expect(second).toMatchObject({ id: first.id, submission: 'replayed' });
  });

  test('that is in conflict writes nothing', async () => {
    shop = await opened();
    await ended(await shop.orchestrator.submit(shop.charge, order));
    let refusal: unknown;

    const writes = await writesOf(async () => {
      refusal = await shop.orchestrator.submit(shop.charge, { ...order, amount: 1 }).catch((error: unknown) => error);
    });

    figure('write transactions of a conflict', writes, 0);
    expect(writes).toBe(0);
    expect(isSagacityError(refusal, 'IDEMPOTENCY_CONFLICT')).toBe(true);
  });
});

describe('256 operations that are submitted at once', () => {
  test('are written by fewer transactions than there are operations, all starts and ends together', async () => {
    shop = await opened();
    const orders = Array.from({ length: 256 }, (_, n) => ({ orderId: `order-${n}`, amount: 100 }));

    const writes = await writesOf(async () => {
      const runs = await Promise.all(orders.map((each) => shop.orchestrator.submit(shop.charge, each)));
      const ends = await Promise.all(runs.map(ended));
      expect(new Set(ends)).toEqual(new Set(['succeeded']));
    });

    figure('write transactions of 256 operations that are submitted at once', writes, 255);
    expect(writes).toBeLessThan(256);
    expect(await shop.provider.records()).toHaveLength(256);
  });
});

describe('a saga of four steps', () => {
  test('is written by five transactions: the end of a step and the start of the next are one', async () => {
    shop = await opened();

    const writes = await writesOf(async () => {
      expect(await ended(await shop.orchestrator.submit(shop.instalments, order))).toBe('succeeded');
    });

    figure('write transactions of a saga of four steps', writes, 5);
    expect(writes).toBe(5);
    expect(await shop.provider.records()).toHaveLength(4);
  });

  test('is written by fewer transactions than there are sagas, when 256 are submitted at once', async () => {
    shop = await opened();
    const orders = Array.from({ length: 256 }, (_, n) => ({ orderId: `order-${n}`, amount: 100 }));

    const writes = await writesOf(async () => {
      const runs = await Promise.all(orders.map((each) => shop.orchestrator.submit(shop.instalments, each)));
      const ends = await Promise.all(runs.map(ended));
      expect(new Set(ends)).toEqual(new Set(['succeeded']));
    });

    figure('write transactions of 256 sagas of four steps that are submitted at once', writes, 255);
    expect(writes).toBeLessThan(256);
    expect(await shop.provider.records()).toHaveLength(1_024);
  });
});

describe('a saga that holds something and waits for a signal', () => {
  test('is written by five transactions: birth with lock, signal, claim, step with what it has heard, end', async () => {
    shop = await opened();

    const writes = await writesOf(async () => {
      const run = await shop.orchestrator.submit(shop.approval, order);
      await shop.orchestrator.signal(run.id, approved, { by: 'shift-lead' }, { eventId: 'click-81' });
      expect(await ended(run)).toBe('succeeded');
    });

    figure('write transactions of a saga with a lock and a signal', writes, 5);
    expect(writes).toBe(5);
    expect(await shop.provider.records()).toHaveLength(1);
  });

  test('is sent it again by no transaction that writes', async () => {
    shop = await opened();
    const run = await shop.orchestrator.submit(shop.approval, order);
    const say = () => shop.orchestrator.signal(run.id, approved, { by: 'shift-lead' }, { eventId: 'click-81' });
    await say();
    await ended(run);

    const writes = await writesOf(async () => {
      expect(await say()).toEqual({ status: 'applied' });
    });

    figure('write transactions of a signal that was sent before', writes, 0);
    expect(writes).toBe(0);
  });

  test('keeps out another by no transaction that writes', async () => {
    shop = await opened();
    await shop.orchestrator.submit(shop.approval, order);
    let refusal: unknown;

    const writes = await writesOf(async () => {
      const other = { ...order, orderId: 'order-18' };
      refusal = await shop.orchestrator.submit(shop.approval, other).catch((error: unknown) => error);
    });

    figure('write transactions of a saga that wants what another holds', writes, 0);
    expect(writes).toBe(0);
    expect(isSagacityError(refusal, 'RESOURCE_LOCKED')).toBe(true);
  });
});

describe('an orchestrator with nothing to do', () => {
  test('writes nothing when it looks for work, also while an attempt is on its way', async () => {
    shop = await opened();
    await ended(await shop.orchestrator.submit(shop.charge, order));
    await shop.provider.faults(['commit-then-hold']);
    await shop.orchestrator.submit(shop.charge, { ...order, orderId: 'order-18' });
    await shop.provider.logged(({ event }) => event === 'HOLD');

    const writes = await writesOf(() => shop.swept(20));

    figure('write transactions of twenty sweeps that find nothing', writes, 0);
    expect(writes).toBe(0);
  });
});
