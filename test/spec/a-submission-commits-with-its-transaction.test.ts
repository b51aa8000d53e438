import { PGlite } from '@electric-sql/pglite';
import { drizzle } from 'drizzle-orm/pglite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createOrchestrator, type Orchestrator, type Run, type Store, type Transaction, type Waker } from 'sagacity';
import { pgliteStore } from 'sagacity/pglite';
import { postgresStore } from 'sagacity/postgres';
import { memoryStore, scriptedProvider, type ScriptedProvider } from 'sagacity/testing';
import { waits } from '../postgres/sessions.ts';
import { embeddedHosts, type Host, ORDERS, serverHosts } from '../support/host-transactions.ts';
import { databaseAt, freshDatabase } from '../support/postgres.ts';
import { gate } from '../support/scripted-charge.ts';
import { chargeCard, type Payment } from '../support/shop.ts';

/** One process that only submits, and another that works and is woken by nobody: it finds by its sweep what it does. */
interface Processes {
  readonly submitter: Orchestrator<true>;
  readonly worker: Orchestrator<true>;
}

type ChargeRun = Run<{ chargeId: string }, 'card_declined'>;

let provider: ScriptedProvider;
let charge: ReturnType<typeof chargeCard>;
let url: string;
let onlooker: ReturnType<typeof databaseAt>;
let instance: PGlite;
let onServer: Processes;
let embedded: Processes;
let orders = 0;

// Making an embedded database takes a busy machine many seconds.
beforeAll(async () => {
  provider = await scriptedProvider();
  charge = chargeCard(provider.url);
  url = await freshDatabase();
  onlooker = databaseAt(url);
  await onlooker.unsafe(ORDERS);
  onServer = await processes(() => postgresStore({ url, migrate: true }));
  instance = new PGlite();
  await instance.exec(ORDERS);
  embedded = await processes(() => pgliteStore({ instance }));
});

afterAll(async () => {
  for (const { submitter, worker } of [onServer, embedded]) await Promise.all([submitter.stop(), worker.stop()]);
  await instance.close();
  await onlooker.end();
  await provider.close();
});

async function processes(store: () => Store): Promise<Processes> {
  const nobody: Waker = { start: async () => {}, wake() {}, stop: async () => {} };
  const process = () =>
    createOrchestrator({
      ...{ store: store(), definitions: [charge], tenant: 'shop-1', waker: nobody },
      sweepEvery: '50ms',
    });
  const [worker, submitter] = [process(), process()];
  await worker.start();
  // A process that only submits opens its store with its first call.
  await submitter.operator.doubts();
  return { worker, submitter };
}

function payment(): Payment {
  orders += 1;
  return { orderId: `order-${orders}`, amount: 5 };
}

function insert(orderId: string): string {
  return `insert into shop_order (id) values ('${orderId}')`;
}

/** How many records the provider has of an order. */
async function charges(orderId: string): Promise<number> {
  return (await provider.records()).filter((record) => record.orderId === orderId).length;
}

const kinds = [
  ...Object.entries(serverHosts).map(([kind, open]) => ({
    kind,
    open: () => open(url, 2),
    processes: () => onServer,
    sessions: 'many',
  })),
  ...Object.entries(embeddedHosts).map(([kind, open]) => ({
    kind,
    open: () => open(instance),
    processes: () => embedded,
    sessions: 'one',
  })),
];

describe.each(kinds)('a submission in $kind', ({ open, processes, sessions }) => {
  let host: Host;
  beforeAll(() => {
    host = open();
  });
  afterAll(() => host.end());

  async function orderKept(orderId: string): Promise<boolean> {
    return (await host.query(`select id from shop_order where id = '${orderId}'`)).length === 1;
  }

  /** As another process sees it. */
  async function result(run: ChargeRun) {
    const seen = await processes().worker.run(run.id);
    return await seen.result({ within: '20s' });
  }

  test('commits with the rows of the host, and is found and charged once without a wake', async () => {
    const { submitter } = processes();
    const bought = payment();

    const run = await host.transact(async ({ tx, query }) => {
      await query(insert(bought.orderId));
      return await submitter.submit(charge, bought, { tx });
    });

    expect(run.submission).toBe('new');
    expect(await orderKept(bought.orderId)).toBe(true);
    expect(await result(run)).toMatchObject({ status: 'succeeded' });
    expect(await run.status()).toBe('succeeded');
    expect(await charges(bought.orderId)).toBe(1);
  });

  test('is gone with a rollback, and only what is committed later is charged', async () => {
    const { submitter } = processes();
    const [withdrawn, bought] = [payment(), payment()];
    const runs: ChargeRun[] = [];

    const transaction = host.transact(async ({ tx, query }) => {
      await query(insert(withdrawn.orderId));
      runs.push(await submitter.submit(charge, withdrawn, { tx }));
      throw new Error('The shop has nothing left of it.');
    });

    await expect(transaction).rejects.toThrow('The shop has nothing left of it.');
    const later = await host.transact(({ tx }) => submitter.submit(charge, bought, { tx }));
    expect(await result(later)).toMatchObject({ status: 'succeeded' });
    expect(runs.map(({ submission }) => submission)).toEqual(['new']);
    for (const run of runs) {
      await expect(run.status()).rejects.toMatchObject({ code: 'OPERATION_NOT_FOUND' });
      await expect(submitter.run(run.id)).rejects.toMatchObject({ code: 'OPERATION_NOT_FOUND' });
    }
    expect(await orderKept(withdrawn.orderId)).toBe(false);
    expect([await charges(withdrawn.orderId), await charges(bought.orderId)]).toEqual([0, 1]);
  });

  test('is gone with a rollback to a savepoint before it, and the rest commits', async () => {
    const { submitter } = processes();
    const [kept, withdrawn] = [payment(), payment()];

    const [first, second] = await host.transact(async ({ tx, query }) => {
      await query(insert(kept.orderId));
      const one = await submitter.submit(charge, kept, { tx });
      await query('savepoint before_the_second');
      const other = await submitter.submit(charge, withdrawn, { tx });
      await query('rollback to savepoint before_the_second');
      return [one, other];
    });

    expect(await result(first)).toMatchObject({ status: 'succeeded' });
    await expect(second.status()).rejects.toMatchObject({ code: 'OPERATION_NOT_FOUND' });
    expect([await charges(kept.orderId), await charges(withdrawn.orderId)]).toEqual([1, 0]);
  });

  test('conflicts with other parameters that were used before, and the host may go on and commit', async () => {
    const { submitter } = processes();
    const bought = payment();
    await result(await submitter.submit(charge, bought));

    await host.transact(async ({ tx, query }) => {
      const conflicting = submitter.submit(charge, { ...bought, amount: 6 }, { tx });
      await expect(conflicting).rejects.toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' });
      await query(insert(bought.orderId));
    });

    expect(await orderKept(bought.orderId)).toBe(true);
    expect(await charges(bought.orderId)).toBe(1);
  });

  test('conflicts with other parameters used earlier in the same transaction, which commits the first', async () => {
    const { submitter } = processes();
    const bought = payment();

    const run = await host.transact(async ({ tx, query }) => {
      const first = await submitter.submit(charge, bought, { tx });
      const conflicting = submitter.submit(charge, { ...bought, amount: 6 }, { tx });
      await expect(conflicting).rejects.toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' });
      await query(insert(bought.orderId));
      return first;
    });

    expect(await result(run)).toMatchObject({ status: 'succeeded' });
    expect((await submitter.submit(charge, bought)).submission).toBe('replayed');
    expect(await orderKept(bought.orderId)).toBe(true);
    expect(await charges(bought.orderId)).toBe(1);
  });

  test('of one identity twice in a transaction is joined, and charged once', async () => {
    const { submitter } = processes();
    const bought = payment();

    const [first, second] = await host.transact(async ({ tx }) => [
      await submitter.submit(charge, bought, { tx }),
      await submitter.submit(charge, bought, { tx }),
    ]);

    expect([first.submission, second.submission]).toEqual(['new', 'joined']);
    expect(second.id).toBe(first.id);
    expect(await result(second)).toMatchObject({ status: 'succeeded' });
    expect(await charges(bought.orderId)).toBe(1);
  });

  test('of what has settled is a replay with the stored output', async () => {
    const { submitter } = processes();
    const bought = payment();
    const settled = await result(await submitter.submit(charge, bought));

    const run = await host.transact(({ tx }) => submitter.submit(charge, bought, { tx }));

    expect(run.submission).toBe('replayed');
    expect(await run.result({ within: 0 })).toEqual(settled);
    expect(await charges(bought.orderId)).toBe(1);
  });

  // In an embedded database everybody else waits for the end of a transaction.
  if (sessions === 'one') return;

  test('is not there before the commit, for nobody', async () => {
    const { submitter, worker } = processes();
    const bought = payment();

    const run = await host.transact(async ({ tx }) => {
      const inside = await submitter.submit(charge, bought, { tx });
      await expect(inside.status()).rejects.toMatchObject({ code: 'OPERATION_NOT_FOUND' });
      await expect(inside.result({ within: '5s' })).rejects.toMatchObject({ code: 'OPERATION_NOT_FOUND' });
      await expect(worker.run(inside.id)).rejects.toMatchObject({ code: 'OPERATION_NOT_FOUND' });
      return inside;
    });

    expect(await result(run)).toMatchObject({ status: 'succeeded' });
  });

  test.each([
    // By then the first one may have been charged already.
    ['commits', 'meets what that made', ['joined', 'replayed']],
    ['rolls back', 'is new', ['new']],
  ])('waits for another transaction that made it first; when that %s it %s', async (end, _, submissions) => {
    const { submitter, worker } = processes();
    const bought = payment();
    const [made, ended] = [gate(), gate()];

    const first = host.transact(async ({ tx }) => {
      await submitter.submit(charge, bought, { tx });
      made.open();
      await ended.passed;
      if (end === 'rolls back') throw new Error('The first one was withdrawn.');
    });
    await made.passed;
    const second = host.transact(async ({ tx, query }) => {
      await query(insert(bought.orderId));
      const waiting = worker.submit(charge, bought, { tx });
      await waits(onlooker, 'turn', waiting).finally(ended.open);
      return await waiting;
    });
    const [firstEnd, run] = await Promise.all([
      first.then(
        () => 'commits',
        () => 'rolls back',
      ),
      second,
    ]);

    expect(firstEnd).toBe(end);
    expect(submissions).toContain(run.submission);
    expect(await orderKept(bought.orderId)).toBe(true);
    expect(await result(run)).toMatchObject({ status: 'succeeded' });
    expect(await charges(bought.orderId)).toBe(1);
  });
});

describe('a submission given the embedded database and no transaction of it', () => {
  const candidates: Readonly<Record<string, () => unknown>> = {
    'the instance': () => instance,
    'a Drizzle database': () => drizzle(instance),
  };

  test.each(Object.keys(candidates))('is refused, and nothing is stored: %s', async (name) => {
    const bought = payment();
    // What no compiler would let pass.
    const tx = candidates[name]?.() as Transaction;

    const submitting = embedded.submitter.submit(charge, bought, { tx });

    await expect(submitting).rejects.toMatchObject({ code: 'TRANSACTION_BROKEN' });
    expect((await embedded.submitter.submit(charge, bought)).submission).toBe('new');
  });

  test.each(Object.keys(candidates))('is refused by the deadline inside of a transaction: %s', async (name) => {
    const hasty = createOrchestrator({
      ...{ store: pgliteStore({ instance, deadlineMs: 200 }), definitions: [charge], tenant: 'shop-1' },
    });
    await hasty.operator.doubts();
    const bought = payment();
    // The names of the table.
    const tx = (candidates[name] as () => Transaction)();

    const error: unknown = await instance.transaction(() =>
      hasty.submit(charge, bought, { tx }).catch((thrown: unknown) => thrown),
    );

    expect(error).toMatchObject({ code: 'TRANSACTION_BROKEN' });
    expect((await embedded.submitter.submit(charge, bought)).submission).toBe('new');
    await hasty.stop();
  });
});

describe('a submission in a transaction, to a store that has none', () => {
  test('is refused, and nothing is stored', async () => {
    const host = serverHosts['a node-postgres client'](url, 1);
    const orchestrator = createOrchestrator({ store: memoryStore(), definitions: [charge], tenant: 'shop-1' });
    const bought = payment();

    const submitting = host.transact(({ tx }) => orchestrator.submit(charge, bought, { tx }));

    await expect(submitting).rejects.toMatchObject({ code: 'DEFINITION_INVALID' });
    expect((await orchestrator.submit(charge, bought)).submission).toBe('new');
    await orchestrator.stop();
    await host.end();
  });
});
