/** Several orchestrators in this process, each with connections of its own to one PostgreSQL database. */

import { notApplied, operation, succeeded, typed } from 'sagacity';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/adapters/local/clock.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Store } from '../../src/ports/store.ts';
import { overlay } from '../../src/testing/overlay.ts';
import { gate } from '../support/interrupted.ts';
import {
  orders,
  sharedDatabase,
  type SharedDatabase,
  swiftCharge,
  VISIBLE_WITHIN_MS,
} from '../support/shared-database.ts';
import { chargeCard, type Payment } from '../support/shop.ts';
import { told } from '../support/timed.ts';
import { until } from '../support/world.ts';

let shared: SharedDatabase;
beforeEach(async () => {
  shared = await sharedDatabase();
});
afterEach(() => shared.close());

/** Where workers wait before they claim, so that all of them do it in the same moment. */
function startingLine(size: number) {
  let line = gate();
  let full = gate();
  const waiting = new Set<string>();
  return {
    /** A store whose claims wait here. */
    before: (store: Store): Store =>
      overlay(store, {
        async claim(worker, ...which) {
          waiting.add(worker);
          if (waiting.size === size) full.open();
          await line.pass();
          return store.claim(worker, ...which);
        },
      }),
    /** Resolves when every worker waits. */
    full: () => full.pass(),
    open: () => line.open(),
    close() {
      line = gate();
      full = gate();
      waiting.clear();
    },
  };
}

/** Counts the sweeps of a worker, each of which begins with burying the dead, and notes in which one it claimed what. */
function sweepsOf() {
  let swept = 0;
  const claimedIn = new Map<string, number>();
  return {
    claimedIn,
    seen: (store: Store): Store =>
      overlay(store, {
        bury(worker, which) {
          swept += 1;
          return store.bury(worker, which);
        },
        async claim(...which) {
          const claimed = await store.claim(...which);
          for (const { key } of claimed) claimedIn.set(key, swept);
          return claimed;
        },
      }),
    /** Resolves when it has swept this often from now on. */
    async more(count: number): Promise<void> {
      const enough = swept + count;
      await until(() => (swept > enough ? true : null), `a worker to sweep ${count} times`);
    },
  };
}

/** How many operations there are of each state and generation. */
async function tally(): Promise<readonly string[]> {
  const rows = await shared.sql<{ line: string }[]>`
    select count(*) || ' ' || state || ' of generation ' || generation as line
    from sagacity.operation group by state, generation order by state, generation`;
  return rows.map(({ line }) => line);
}

/** Every row of an action, with its place and its writer. */
async function rowsOf(action: string): Promise<readonly string[]> {
  const rows = await shared.sql<{ line: string }[]>`
    select concat_ws(' ', o.ctid, o.xmin, o) as line from sagacity.operation o where o.action = ${action} order by o.id`;
  return rows.map(({ line }) => line);
}

function idsOf(placed: readonly Payment[]): readonly string[] {
  return placed.map(({ orderId }) => orderId).toSorted();
}

/** Twenty workers that claim in the same moment. */
async function twenty(onSend: (key: string) => void) {
  const line = startingLine(20);
  const charge = chargeCard(shared.provider.url, { onSend });
  const workers = Array.from({ length: 20 }, () =>
    shared.orchestrator({ definitions: [charge], seen: (store) => line.before(store) }),
  );
  const starting = Promise.all(workers.map((each) => each.start()));
  await line.full();
  return { line, charge, starting };
}

describe('operations of a dead worker that twenty others find in the same moment', () => {
  test('are taken over by one each and executed once, if nothing had been begun', async () => {
    const rounds = Array.from({ length: 8 }, (_, n) => orders(`round-${n}`, 50));
    const sent: string[] = [];
    const { line, charge, starting } = await twenty((key) => void sent.push(key));

    for (const round of rounds) {
      await line.full();
      await shared.accept(charge, round);
      await shared.abandon('card.charge', 50);
      line.open();
      await shared.quiet();
      line.close();
    }
    line.open();
    await starting;

    expect(await tally()).toEqual(['400 succeeded of generation 2']);
    expect(new Set(sent).size).toBe(400);
    expect(sent).toHaveLength(400);
    expect(await shared.charged()).toEqual(idsOf(rounds.flat()));
    expect(await shared.sentKeys()).toHaveLength(400);
  });

  test('are taken over by one each and sent no more, if the provider had acted', async () => {
    const placed = orders('order', 50);
    const sent: string[] = [];
    const { line, starting } = await twenty((key) => void sent.push(key));
    await shared.provider.faults(placed.map(() => 'commit-then-hold' as const));
    const charge = chargeCard(shared.provider.url);
    const first = shared.orchestrator({
      ...{ definitions: [charge], concurrency: 50, heartbeat: { every: '1m', timeout: '3m' } },
    });
    await first.start();
    const runs = await Promise.all(placed.map((order) => first.submit(charge, order)));
    let held = 0;
    await shared.provider.logged(({ event }) => event === 'HOLD' && ++held === 50);

    await shared.declareDead();
    line.open();
    await starting;
    await shared.quiet();
    const takenOver = await tally();
    const settled = await settledRows();
    await shared.provider.release();
    await until(async () => ((await evidence()) === 50 ? true : null), 'fifty late results to be recorded');

    expect(takenOver).toEqual(['50 succeeded of generation 2']);
    expect(sent).toEqual([]);
    expect(await settledRows()).toEqual(settled);
    expect(await Promise.all(runs.map(told))).toEqual(
      runs.map(() => [
        'start -> pending in-progress',
        'end unknown -> unknown',
        'lookup found -> succeeded',
        'evidence ->',
      ]),
    );
    expect(await shared.charged()).toEqual(idsOf(placed));
    expect(await shared.sentKeys()).toHaveLength(50);
  });

  async function settledRows() {
    return shared.sql`select id, state, since, output, contradicted_at from sagacity.operation order by id`;
  }

  /** How many late results have been applied; none may wait any more. */
  async function evidence(): Promise<number> {
    const [row] = await shared.sql<{ count: number }[]>`
      select count(*)::int from sagacity.attempt
      where kind = 'evidence' and not exists (select from sagacity.handover)`;
    return row?.count ?? 0;
  }
});

describe('operations of an action that one of two workers does not know', () => {
  test('are left alone by it, due or abandoned, and done when the other starts', async () => {
    const [pay, ship] = [chargeCard(shared.provider.url), chargeCard(shared.provider.url, { action: 'parcel.ship' })];
    const parcels = orders('parcel', 10);
    await shared.accept(ship, parcels);
    await shared.abandon('parcel.ship', 5);
    const placed = await rowsOf('parcel.ship');
    const sweeps = sweepsOf();
    await shared.orchestrator({ definitions: [pay], seen: sweeps.seen }).start();

    await sweeps.more(5);
    const leftAlone = await rowsOf('parcel.ship');
    const chargedMeanwhile = await shared.charged();
    await shared.orchestrator({ definitions: [ship] }).start();
    await shared.quiet();

    expect(leftAlone).toEqual(placed);
    expect(chargedMeanwhile).toEqual([]);
    expect([...sweeps.claimedIn]).toEqual([]);
    expect(await tally()).toEqual(['5 succeeded of generation 1', '5 succeeded of generation 2']);
    expect(await shared.charged()).toEqual(idsOf(parcels));
  });

  test('do not keep it from what it knows, however many and old they are', async () => {
    const [pay, ship] = [chargeCard(shared.provider.url), chargeCard(shared.provider.url, { action: 'parcel.ship' })];
    const placed = orders('order', 50);
    await shared.accept(ship, orders('parcel', 1_000));
    await shared.accept(pay, placed);
    await shared.abandon('parcel.ship', 500);
    await shared.abandon('card.charge', 25);
    const parcels = await rowsOf('parcel.ship');
    const sweeps = sweepsOf();

    await shared.orchestrator({ definitions: [pay], concurrency: 64, seen: sweeps.seen }).start();
    await until(async () => ((await shared.charged()).length === 50 ? true : null), 'fifty orders to be charged');

    expect([...sweeps.claimedIn.keys()].toSorted()).toEqual(idsOf(placed));
    expect(Math.max(...sweeps.claimedIn.values())).toBeLessThanOrEqual(2);
    expect(await rowsOf('parcel.ship')).toEqual(parcels);
    expect(await shared.charged()).toEqual(idsOf(placed));
  });
});

describe('fifty operations that are due for two workers with two slots each', () => {
  test('are each claimed once, and shared: neither sits idle while the other has a queue', async () => {
    const placed = orders('order', 50);
    const line = startingLine(2);
    const shares = [0, 0];
    const workers = shares.map((_, n) => {
      const onSend = () => {
        shares[n] = (shares[n] ?? 0) + 1;
      };
      const definitions = [chargeCard(shared.provider.url, { onSend })];
      return shared.orchestrator({ definitions, concurrency: 2, seen: (store) => line.before(store) });
    });
    const starting = Promise.all(workers.map((each) => each.start()));
    await shared.provider.calls(placed.map(() => 'slow(40)' as const));
    await shared.accept(chargeCard(shared.provider.url), placed);

    await line.full();
    line.open();
    await starting;
    await shared.quiet();

    expect(await tally()).toEqual(['50 succeeded of generation 1']);
    expect(await shared.charged()).toEqual(idsOf(placed));
    expect(await shared.sentKeys()).toHaveLength(50);
    expect(Math.min(...shares)).toBeGreaterThanOrEqual(15);
  });
});

describe('a backlog that is many times larger than the slots of the only worker', () => {
  test('does not wait for the next sweep', async () => {
    const placed = orders('order', 150);
    const charge = chargeCard(shared.provider.url);
    await shared.accept(charge, placed);

    await shared.orchestrator({ definitions: [charge], concurrency: 8, sweepEvery: '1h' }).start();
    await shared.quiet();

    expect(await tally()).toEqual(['150 succeeded of generation 1']);
    expect(await shared.charged()).toEqual(idsOf(placed));
  });
});

describe('two workers whose wall clocks are twenty minutes apart', () => {
  const clocksApart = [600_000, -600_000].map((aheadMs): Clock => {
    const clock = systemClock();
    return { ...clock, now: () => clock.now() + aheadMs };
  });

  test('take nothing over from each other', async () => {
    const placed = orders('order', 10);
    const charge = chargeCard(shared.provider.url);
    const workers = clocksApart.map((clock) => {
      const sweeps = sweepsOf();
      return { sweeps, orchestrator: shared.orchestrator({ definitions: [charge], clock, seen: sweeps.seen }) };
    });
    await Promise.all(workers.map(({ orchestrator }) => orchestrator.start()));
    await shared.provider.faults(placed.map(() => 'commit-then-hold' as const));
    const runs = await Promise.all(
      workers.flatMap(({ orchestrator }, n) =>
        placed.slice(5 * n, 5 * n + 5).map((order) => orchestrator.submit(charge, order)),
      ),
    );
    let held = 0;
    await shared.provider.logged(({ event }) => event === 'HOLD' && ++held === 10);

    await Promise.all(workers.map(({ sweeps }) => sweeps.more(5)));
    const inFlight = await tally();
    const dead = await shared.sql`select from sagacity.worker where dead_at is not null`;
    await shared.provider.release();
    await shared.quiet();

    expect(inFlight).toEqual(['10 in-progress of generation 1']);
    expect(dead).toHaveLength(0);
    expect(await Promise.all(runs.map(told))).toEqual(
      runs.map(() => ['start -> pending in-progress', 'end succeeded -> succeeded']),
    );
    expect(await shared.charged()).toEqual(idsOf(placed));
    expect(await shared.sentKeys()).toHaveLength(10);
  });

  test('try again and send again when it is time by the database, also after a take-over', async () => {
    const [refused, lost] = [orders('refused', 10), orders('lost', 10)];
    const times = { sendWithin: 500, timeout: 1_000, delay: 3_000 };
    const charge = swiftCharge(shared.provider.url, times, {
      first: ({ orderId }) => (orderId.startsWith('refused') ? notApplied('the connection was refused') : null),
    });
    const [ahead, behind] = clocksApart.map((clock) =>
      shared.orchestrator({ definitions: [charge], clock, heartbeat: { every: '500ms', timeout: '15s' } }),
    );
    if (ahead === undefined || behind === undefined) throw new Error('There are two workers.');
    await ahead.start();
    await shared.provider.calls(lost.map(() => 'drop' as const));
    await Promise.all([...refused, ...lost].map((order) => ahead.submit(charge, order)));
    await until(async () => ((await firstEnds()) === 20 ? true : null), 'the first attempts to end');

    // The one that is ahead comes back under another name: from here on both work.
    await shared.declareDead();
    await behind.start();
    await until(async () => (await tally()).every((line) => !line.endsWith('generation 1')) || null, 'the take-over');
    await shared.quiet();

    expect(await shared.charged()).toEqual(idsOf([...refused, ...lost]));
    const [pauses] = await shared.sql`
      select
        min(pause) filter (where o.key like 'refused%')::int as "shortestRetry",
        min(pause) filter (where o.key like 'lost%')::int as "shortestResubmission",
        max(pause)::int as longest
      from
        sagacity.operation o
        cross join lateral (
          select
            1000 * extract(epoch from min(a.at) filter (where a.kind = 'start' and a.number = 2) - min(a.at) filter (
              where a.kind = case when o.key like 'refused%' then 'end' else 'start' end and a.number = 1
            )) as pause
          from sagacity.attempt a
          where a.subject = o.id
        ) as between_attempts`;
    const absenceCounts = times.sendWithin + times.timeout + VISIBLE_WITHIN_MS;
    expect(pauses?.['shortestRetry']).toBeGreaterThanOrEqual(times.delay);
    expect(pauses?.['shortestResubmission']).toBeGreaterThanOrEqual(absenceCounts + times.delay);
    expect(pauses?.['longest']).toBeLessThan(absenceCounts + times.delay + 10_000);
  });

  async function firstEnds(): Promise<number> {
    const [row] = await shared.sql<{ count: number }[]>`
      select count(*)::int from sagacity.attempt where kind = 'end' and number = 1`;
    return row?.count ?? 0;
  }
});

describe('two thousand operations that are due in the same second, and eight workers', () => {
  test('are executed once each, and hardly one is claimed twice', async () => {
    const placed = orders('reminder', 2_000);
    const ledger: string[] = [];
    const everyone = gate();
    const remind = operation('reminder.send', {
      input: typed<Payment>(),
      key: ({ input }) => input.orderId,
      async execute({ input }) {
        ledger.push(input.orderId);
        if (ledger.length === placed.length) everyone.open();
        return succeeded({ chargeId: input.orderId });
      },
      keyRetention: '24h',
      lookup: 'none',
    });
    const line = startingLine(8);
    const workers = Array.from({ length: 8 }, () =>
      shared.orchestrator({ definitions: [remind], seen: (store) => line.before(store) }),
    );
    const starting = Promise.all(workers.map((each) => each.start()));
    await shared.accept(remind, placed);
    await shared.sql`update sagacity.operation set due_at = date_trunc('second', now())`;

    await line.full();
    line.open();
    await starting;
    await everyone.pass();
    await shared.quiet();

    expect(ledger.toSorted()).toEqual(idsOf(placed));
    const [row] = await shared.sql<{ claims: number; kept: number }[]>`
      select sum(generation)::int as claims, count(*) filter (where state = 'succeeded')::int as kept
      from sagacity.operation`;
    expect(row?.kept).toBe(2_000);
    expect(row?.claims).toBeLessThanOrEqual(2_400);
  });
});
