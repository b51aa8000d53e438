/**
 * Five processes' worth of orchestrators, each with a store and connections of its own, are given one identity at the
 * same moment. The provider of these tests ignores keys, so that a second executor would leave a second record.
 */

import type postgres from 'postgres';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createOrchestrator, isSagacityError, type Orchestrator, type Run } from 'sagacity';
import { postgresStore } from 'sagacity/postgres';
import { scriptedProvider, type ScriptedProvider, type Turn } from 'sagacity/testing';
import { applyTurns } from '../../src/adapters/postgres/turn.ts';
import { databaseAt, freshDatabase } from '../support/postgres.ts';
import { chargeCard } from '../support/shop.ts';
import { type Session, sessionAt } from './sessions.ts';
import { ACTION, birth, fresh } from './turns.ts';

type Store = ReturnType<typeof postgresStore>;
type ChargeRun = Run<{ chargeId: string }, 'card_declined'>;

const ROUNDS = 50;
const PER_ORCHESTRATOR = 10;

let url: string;
let provider: ScriptedProvider;
let charge: ReturnType<typeof chargeCard>;
let stores: readonly Store[];
let orchestrators: readonly Orchestrator<false>[];
let session: Session;
let sql: postgres.Sql;

beforeAll(async () => {
  url = await freshDatabase();
  provider = await scriptedProvider();
  charge = chargeCard(provider.url, { keyless: true, keyRetention: 'none' });
  stores = Array.from({ length: 5 }, () => postgresStore({ url, migrate: true }));
  orchestrators = stores.map((store) => createOrchestrator({ store, definitions: [charge] }));
  await Promise.all(orchestrators.map((each) => each.start()));
  session = sessionAt(url);
  sql = databaseAt(url);
});

beforeEach(() => provider.reset());

afterAll(async () => {
  await Promise.all(orchestrators.map((each) => each.stop()));
  await provider.close();
  session.close();
  await sql.end();
});

function storeOf(n: number): Store {
  const store = stores[n];
  if (store === undefined) throw new Error(`There is no store ${n}.`);
  return store;
}

/** Ten submissions at each of the five, all in the same moment, of what `amount` says for each of the fifty. */
function submitFifty(tenant: string, orderId: string, amount: (n: number) => number = () => 5) {
  const each = Array.from({ length: PER_ORCHESTRATOR }, (_, n) =>
    orchestrators.map((orchestrator, at) =>
      orchestrator.submit(charge, { orderId, amount: amount(n * orchestrators.length + at) }, { tenant }),
    ),
  );
  return Promise.allSettled(each.flat());
}

function runsIn(settled: readonly PromiseSettledResult<ChargeRun>[]): readonly ChargeRun[] {
  return settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
}

function refusalsIn(settled: readonly PromiseSettledResult<ChargeRun>[]): readonly unknown[] {
  return settled.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []));
}

/** What all of them say in the end: the one that executes first, because the others read what it has written. */
async function resultsOf(runs: readonly ChargeRun[]) {
  const created = runs.filter(({ submission }) => submission === 'new');
  await Promise.all(created.map((run) => run.result({ within: '20s' })));
  return await Promise.all(runs.map((run) => run.result({ within: '20s' })));
}

async function stored(tenant: string) {
  const rows = await sql<{ id: string; state: string; amount: number; starts: number }[]>`
    select
      o.id,
      o.state,
      (o.input -> 'amount')::int as amount,
      (
        select count(*)::int
        from sagacity.attempt a
        where a.tenant = o.tenant and a.subject = o.id and a.kind = 'start'
      ) as starts
    from sagacity.operation o
    where o.tenant = ${tenant}`;
  return [...rows];
}

describe('fifty submissions of one identity at the same moment, at five orchestrators of one database', () => {
  // Seconds, unless the machine is busy with other tests.
  test(`are one execution and one record, ${ROUNDS} times in a row`, async () => {
    const tenant = fresh('shop');

    for (let round = 1; round <= ROUNDS; round += 1) {
      const settled = await submitFifty(tenant, `order-${round}`);

      const runs = runsIn(settled);
      const results = await resultsOf(runs);
      expect(refusalsIn(settled)).toEqual([]);
      expect(runs.map(({ submission }) => submission).filter((how) => how === 'new')).toHaveLength(1);
      expect(new Set(runs.map(({ id }) => id)).size).toBe(1);
      expect(results[0]).toMatchObject({ status: 'succeeded' });
      expect(results).toEqual(results.map(() => results[0]));
      expect(await provider.records()).toHaveLength(round);
    }
    const rows = await stored(tenant);
    expect(rows).toHaveLength(ROUNDS);
    expect(rows.filter(({ state, starts }) => state !== 'succeeded' || starts !== 1)).toEqual([]);
  });

  test('of two intents carry out one of the two, and are conflicts for the other', async () => {
    const tenant = fresh('shop');

    for (let round = 1; round <= 10; round += 1) {
      const amounts = (n: number) => (n % 2 === 0 ? 5 : 7);
      const settled = await submitFifty(tenant, `order-${round}`, amounts);

      const runs = runsIn(settled);
      const refusals = refusalsIn(settled);
      const results = await resultsOf(runs);
      const executed = new Set(settled.flatMap((each, n) => (each.status === 'fulfilled' ? [amounts(n)] : [])));
      expect([runs.length, refusals.length]).toEqual([25, 25]);
      expect(refusals.filter((error) => !isSagacityError(error, 'IDEMPOTENCY_CONFLICT'))).toEqual([]);
      expect(executed.size).toBe(1);
      expect(results.map(({ status }) => status)).toEqual(runs.map(() => 'succeeded'));
      const row = (await stored(tenant)).find(({ id }) => id === runs[0]?.id);
      expect(row).toMatchObject({ amount: [...executed][0], starts: 1, state: 'succeeded' });
      expect(await provider.records()).toHaveLength(round);
    }
  });
});

describe('two operations with different ids and the same identity', () => {
  const twins = (): readonly [Turn, Turn] => {
    const [tenant, key] = [fresh('shop'), fresh('order')];
    return [birth(tenant, { key }), birth(tenant, { key })];
  };
  const ways: readonly (readonly [string, (twins: readonly [Turn, Turn]) => Promise<readonly boolean[]>])[] = [
    [
      'in one statement',
      async (both) => {
        const receipts = await applyTurns(session.database, both);
        return both.map(({ turn }) => receipts.has(turn));
      },
    ],
    [
      'in one store',
      async (both) => {
        const receipts = await Promise.all(both.map((turn) => storeOf(0).turn(turn)));
        return receipts.map((receipt) => receipt !== null);
      },
    ],
    [
      'in two stores at the same moment',
      async ([one, other]) => {
        const receipts = await Promise.all([storeOf(0).turn(one), storeOf(1).turn(other)]);
        return receipts.map((receipt) => receipt !== null);
      },
    ],
  ];

  test.each(ways)('are one operation when they are born %s, ten times in a row', async (_, bear) => {
    for (let round = 0; round < 10; round += 1) {
      const both = twins();
      const [{ tenant, birth: born }] = both;

      const written = await bear(both);

      const owner = await storeOf(2).readByIdentity({ tenant, action: ACTION, key: born?.key ?? '' });
      expect(written.toSorted()).toEqual([false, true]);
      expect(owner).toMatchObject({ id: both[written.indexOf(true)]?.id, turn: both[written.indexOf(true)]?.turn });
      expect(await stored(tenant)).toHaveLength(1);
      expect(await Promise.all(both.map((turn) => storeOf(2).records(turn)))).toMatchObject(
        written.map((wrote) => (wrote ? [{ revision: 1, n: 0 }] : [])),
      );
    }
  });

  test('keep the others of their statement out of it', async () => {
    const both = twins();
    const others = Array.from({ length: 30 }, () => birth(both[0].tenant));

    const receipts = await applyTurns(session.database, [...both, ...others]);

    expect(receipts.size).toBe(31);
    expect(others.every(({ turn }) => receipts.has(turn))).toBe(true);
    expect(await stored(both[0].tenant)).toHaveLength(31);
  });
});

describe('an identity that another operation, of an id of its own, takes in the same moment as a submission', () => {
  /** What a submission stores: the same identity, parameters and snapshot under an id that is not made from them. */
  const foreign = async (tenant: string, orderId: string): Promise<Turn> => {
    const template = fresh('shop');
    const run = await orchestrators[0]?.submit(charge, { orderId, amount: 5 }, { tenant: template });
    await run?.result({ within: '20s' });
    const row = run === undefined ? null : await storeOf(0).read({ tenant: template, id: run.id });
    if (row === null || row === undefined) throw new Error('Nothing was stored.');
    const { action, key, providerKey, fingerprint, input, snapshot, output, state } = row;
    return birth(tenant, {
      ...{ snapshot, output, state, records: [] },
      birth: { tenant, action, key, providerKey, fingerprint, input },
    });
  };

  test.each([
    ['joins or replays it when the parameters are the same', 5],
    ['is a conflict when the parameters are others', 7],
  ])('%s, and never both are there', async (_, amount) => {
    for (let round = 0; round < 10; round += 1) {
      const [tenant, orderId] = [fresh('shop'), fresh('order')];
      const turn = await foreign(tenant, orderId);
      const records = (await provider.records()).length;

      const submitting = submitFifty(tenant, orderId, () => amount);
      // A submission takes a moment before its statement leaves: in every other round it gets that moment.
      if (round % 2 === 1) await new Promise<void>((resume) => void setImmediate(resume));
      const [receipt, settled] = await Promise.all([storeOf(1).turn(turn), submitting]);

      const runs = runsIn(settled);
      const refusals = refusalsIn(settled);
      const results = await resultsOf(runs);
      const foreignWon = receipt !== null;
      expect(await stored(tenant)).toHaveLength(1);
      expect(refusals.filter((error) => !isSagacityError(error, 'IDEMPOTENCY_CONFLICT'))).toEqual([]);
      expect(results.map(({ status }) => status)).toEqual(runs.map(() => 'succeeded'));
      if (foreignWon) {
        expect([runs.length, refusals.length]).toEqual(amount === 5 ? [50, 0] : [0, 50]);
        expect(runs.filter(({ submission, id }) => submission !== 'replayed' || id !== turn.id)).toEqual([]);
      } else {
        expect([runs.length, refusals.length]).toEqual([50, 0]);
        expect(runs.filter(({ id }) => id === turn.id)).toEqual([]);
      }
      expect(await provider.records()).toHaveLength(records + (foreignWon ? 0 : 1));
    }
  });
});
