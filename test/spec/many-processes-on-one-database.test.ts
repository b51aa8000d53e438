/**
 * Processes of several orchestrators each, on one PostgreSQL and one NATS. What they do for others are records in a
 * table beside the store's, one for each call of an executor, with nothing that would keep a second one from being made:
 * so the records at the end are the calls. Time is real.
 */

import type postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createOrchestrator, type Orchestrator } from 'sagacity';
import { natsWaker } from 'sagacity/nats';
import { postgresStore } from 'sagacity/postgres';
import { privateNats, type PrivateNats, testClock } from 'sagacity/testing';
import { silentLogger } from '../../src/ports/logger.ts';
import type { Store } from '../../src/ports/store.ts';
import { overlay } from '../../src/testing/overlay.ts';
import { type Bundle, bundled } from '../kill/bundle.ts';
import { beginCrew, type CrewProcess, crewProgram, type CrewTask } from '../support/crew.ts';
import { gate } from '../support/interrupted.ts';
import { openBooks, reminder, type Reminder } from '../support/ledger.ts';
import { eventually, isConnected, keepsTimers } from '../support/nats-processes.ts';
import { databaseAt, freshDatabase } from '../support/postgres.ts';
import { severable } from '../support/severable-store.ts';
import { told } from '../support/timed.ts';

let program: Bundle;
let server: PrivateNats;

beforeAll(async () => {
  [program, server] = await Promise.all([bundled(crewProgram), privateNats()]);
});
afterAll(async () => {
  await Promise.all([program.remove(), server.close()]);
});

interface Place {
  readonly url: string;
  readonly sql: postgres.Sql;
  /** Open, and no orchestrator's. */
  readonly store: Store;
  /** Begins a process here; resolves when all of it works. */
  begin(name: string, task?: Partial<CrewTask>): Promise<CrewProcess>;
  /** Ends all processes. */
  close(): Promise<void>;
}

/** A database of its own, with books beside the store's tables. */
async function place(): Promise<Place> {
  const url = await freshDatabase();
  const store = postgresStore({ url, migrate: true, connections: 3 });
  await store.open();
  const sql = databaseAt(url);
  await openBooks(sql);
  const processes: CrewProcess[] = [];
  return {
    ...{ url, sql, store },
    async begin(name, task = {}) {
      const process = beginCrew(program.path, {
        ...{ name, databaseUrl: url, natsUrl: server.url, action: 'reminder.send' },
        ...{ orchestrators: 1, concurrency: 32, sweepEvery: '100ms', heartbeat: { every: '5s', timeout: '1m' } },
        ...task,
      });
      processes.push(process);
      await process.said('at work');
      return process;
    },
    async close() {
      await Promise.all(processes.map((process) => process.kill()));
      await Promise.all([store.close(), sql.end()]);
    },
  };
}

function orders(series: string, count: number): readonly Reminder[] {
  return Array.from({ length: count }, (_, n) => ({ orderId: `${series}-${n}` }));
}

/** One column of text of a query's rows. */
async function lines(rows: Promise<readonly { readonly line: string }[]>): Promise<readonly string[]> {
  return (await rows).map(({ line }) => line);
}

/** How many operations there are of each state. */
function states(sql: postgres.Sql): Promise<readonly string[]> {
  return lines(sql<{ line: string }[]>`
    select count(*) || ' ' || state as line from sagacity.operation group by state order by state`);
}

function settled(sql: postgres.Sql): Promise<void> {
  return eventually(async () => {
    const moving = await sql`
      select from sagacity.operation where state not in ('succeeded', 'failed', 'escalated') limit 1`;
    return moving.length === 0;
  }, 'every operation to be settled');
}

/** Each round takes a fifth of a second on a quiet machine with two cores. */
const ROUNDS = 200;
const ABANDONED = 50;

describe(`${ABANDONED} operations of a dead worker that twenty orchestrators in four processes find at once`, () => {
  const half = ABANDONED / 2;
  const names = ['north', 'east', 'south', 'west'];
  let here: Place;
  let herald: Herald;

  beforeAll(async () => {
    here = await place();
    const task = { orchestrators: 5, concurrency: 4, sweepEvery: '1s' } as const;
    await Promise.all(names.map((name) => here.begin(name, task)));
    herald = await heraldOf(here);
  });
  afterAll(async () => {
    await herald.close();
    await here.close();
  });

  test('are executed or found by one each, once each, again and again', { timeout: 600_000 }, async () => {
    let dying = doomed(0);
    for (let round = 0; round < ROUNDS; round += 1) {
      const worker = await dying;
      await here.sql`update sagacity.worker set dead_at = now() where id = ${worker}`;
      herald.tellFreed();
      // Meanwhile the next one takes up what it will leave.
      if (round + 1 < ROUNDS) dying = doomed(round + 1);
      await over(round);
    }

    const { sql } = here;
    expect(await states(sql)).toEqual([`${ROUNDS * ABANDONED} succeeded`]);
    expect(
      await lines(sql<{ line: string }[]>`
        select count(*) || ' records of ' || count(distinct key) || ' keys' as line from books`),
    ).toEqual([`${ROUNDS * ABANDONED} records of ${ROUNDS * ABANDONED} keys`]);
    expect(
      await lines(sql<{ line: string }[]>`
        select count(*) || ' of ' || part || ' by ' || who || ': ' || kinds as line
        from (
          select
            split_part(b.order_id, '-', 1) as part,
            case b.made_by when 'the dead' then 'the dead' else 'the living' end as who,
            (select string_agg(a.kind, ', ' order by a.revision, a.n) from sagacity.attempt a where a.subject = o.id) as kinds
          from sagacity.operation o join books b on b.key = o.provider_key
        ) as made
        group by part, who, kinds
        order by part`),
    ).toEqual([
      `${ROUNDS * half} of begun by the dead: start, end, lookup`,
      `${ROUNDS * half} of waiting by the living: moved, start, end`,
    ]);
    expect(
      await lines(sql<{ line: string }[]>`
        select distinct made_by as line from books where made_by <> 'the dead' order by made_by`),
    ).toEqual(names.toSorted());
    const [row] = await sql<{ claims: number }[]>`select sum(generation - 1)::int as claims from sagacity.operation`;
    expect(row?.claims).toBeLessThanOrEqual(ROUNDS * ABANDONED * 1.01);
  });

  /** Every operation of a round has settled. */
  function over(round: number): Promise<void> {
    return eventually(async () => {
      const moving = await here.sql`
        select from sagacity.operation
        where split_part(key, '-', 2) = ${String(round)} and state not in ('succeeded', 'failed', 'escalated')
        limit 1`;
      return moving.length === 0;
    }, 'a round to be over');
  }

  /** A worker that has had its records made for half of what it owns, has heard of none, and says nothing any more. */
  async function doomed(round: number): Promise<string> {
    let worker = '';
    let made = 0;
    const allMade = gate();
    const send = reminder(here.sql, {
      by: 'the dead',
      afterwards() {
        made += 1;
        if (made === half) allMade.open();
        return new Promise(() => {});
      },
    });
    const own = severable(
      overlay(here.store, {
        // It is open, for all of them.
        async open() {},
        async close() {},
        enlist(id: string) {
          worker = id;
          return here.store.enlist(id);
        },
        // It takes up nothing but its own.
        claim: async () => [],
        // What it has no slot for it claims in the same moment.
        turn: (turn: Parameters<Store['turn']>[0]) =>
          here.store.turn(turn.owner === null ? { ...turn, owner: worker, generation: 1 } : turn),
      }),
    );
    const orchestrator = createOrchestrator({
      ...{ store: own, definitions: [send], tenant: 'shop-1', concurrency: half, sweepEvery: '1h' },
      heartbeat: { every: '1h', timeout: '3h' },
    });
    await orchestrator.start();
    const submit = (each: Reminder) => orchestrator.submit(send, each);
    await Promise.all(orders(`begun-${round}`, half).map(submit));
    await allMade.pass();
    await Promise.all(orders(`waiting-${round}`, half).map(submit));
    own.sever();
    void orchestrator.stop({ within: '1ms' });
    return worker;
  }
});

interface Herald {
  /** Tells all processes at once that something is anybody's. */
  tellFreed(): void;
  close(): Promise<void>;
}

async function heraldOf({ store }: Place): Promise<Herald> {
  const waker = natsWaker({ servers: server.url });
  waker.open?.(store.ledger?.() ?? '', silentLogger);
  await isConnected(waker);
  return {
    tellFreed: () => waker.tell?.({ kind: 'freed' }),
    close: async () => waker.close?.(),
  };
}

describe('a process that serves another action than those on the same database and NATS', () => {
  const names = ['pay-1', 'pay-2', 'pay-3'];
  let here: Place;
  let strangers: readonly CrewProcess[];

  beforeAll(async () => {
    here = await place();
    strangers = await Promise.all(names.map((name) => here.begin(name, { action: 'card.charge', orchestrators: 2 })));
  });
  afterAll(() => here.close());

  test('leaves alone what it is told is due, and its own process takes that with its next sweep', async () => {
    const parcels = orders('told', 40);
    const before = await heard();
    await submitted(parcels);

    await eventually(async () => (await heard()).due - before.due === 40, 'forty to be told of');
    await sweepsMore();
    const leftAlone = await rowsOf('told');
    await shipping('ship-1');
    await settled(here.sql);

    expect(leftAlone).toEqual(Array.from({ length: 40 }, () => 'pending of nobody, generation 0, revision 1'));
    expect((await heard()).claimed).toBe(0);
    expect(await rowsOf('told')).toEqual(
      Array.from({ length: 40 }, () => expect.stringMatching(/^succeeded of nobody, generation 1,/)),
    );
    expect(await madeBy('told')).toEqual(['40 by ship-1']);
  });

  test('leaves alone what timers bring it, and the next process of its own takes that', async () => {
    const parcels = orders('put off', 20);
    const first = await shipping('ship-2', { refusesFirst: true });
    await submitted(parcels);
    await eventually(async () => (await refusals()) === 20, 'twenty to be refused');
    const before = await heard();
    first.ask({ asks: 'stop' });
    await first.said('stopped');
    const placed = await footprints('put off');

    await eventually(async () => (await heard()).woken - before.woken >= 20, 'twenty timers to come');
    await sweepsMore();
    const leftAlone = await footprints('put off');
    await shipping('ship-3');
    await settled(here.sql);

    expect(leftAlone).toEqual(placed);
    expect((await heard()).claimed).toBe(0);
    expect(await madeBy('put off')).toEqual(['20 by ship-3']);
  });

  /** Begins a process that serves the other action, for this test. */
  async function shipping(name: string, task: Partial<CrewTask> = {}): Promise<CrewProcess> {
    const begun = await here.begin(name, { action: 'parcel.ship', ...task });
    onTestFinished(() => begun.kill());
    return begun;
  }

  /** Of all strangers together. */
  async function heard() {
    const counted = await Promise.all(strangers.map((stranger) => stranger.counted()));
    const sum = (of: (each: (typeof counted)[number]) => number) => counted.reduce((all, each) => all + of(each), 0);
    return {
      due: sum(({ due }) => due),
      woken: sum(({ woken }) => woken),
      claims: sum(({ claims }) => claims),
      claimed: sum(({ claimed }) => claimed),
    };
  }

  /** Each of them has asked for what is due some times more. */
  async function sweepsMore(): Promise<void> {
    const before = (await heard()).claims;
    await eventually(async () => (await heard()).claims > before + 60, 'the others to sweep');
  }

  /** By a process that does not work. */
  async function submitted(parcels: readonly Reminder[]): Promise<void> {
    const desk = deskIn(here);
    await desk.orchestrator.operator.doubts();
    await keepsTimers(desk.waker);
    await Promise.all(parcels.map((parcel) => desk.orchestrator.submit(desk.ship, parcel)));
  }

  function rowsOf(series: string): Promise<readonly string[]> {
    return lines(here.sql<{ line: string }[]>`
      select
        state || ' of ' || coalesce(owner, 'nobody') || ', generation ' || generation || ', revision ' || revision as line
      from sagacity.operation where key like ${`${series}-%`} order by id`);
  }

  /** Every row of a series, with its place and its writer. */
  function footprints(series: string): Promise<readonly string[]> {
    return lines(here.sql<{ line: string }[]>`
      select concat_ws(' ', o.ctid, o.xmin, o) as line
      from sagacity.operation o where o.key like ${`${series}-%`} order by o.id`);
  }

  async function refusals(): Promise<number> {
    const ends = await here.sql`select from sagacity.attempt where kind = 'end' and body ->> 'outcome' = 'not-applied'`;
    return ends.length;
  }

  function madeBy(series: string): Promise<readonly string[]> {
    return lines(here.sql<{ line: string }[]>`
      select count(distinct key) || ' by ' || made_by as line
      from books where order_id like ${`${series}-%`} group by made_by order by made_by`);
  }
});

describe('a result that is awaited in another process than the one that has it under way', () => {
  test('comes when a third one has looked up what the second left as it was killed', async () => {
    const here = await place();
    onTestFinished(() => here.close());
    const heartbeat = { every: '200ms', timeout: '1s' } as const;
    const owner = await here.begin('owner', { heartbeat, repliesNever: true });
    owner.ask({ asks: 'submit', orderId: 'order-17' });
    const { id } = await owner.said('submitted');
    await owner.said('made');
    const desk = deskIn(here);
    const run = await desk.orchestrator.run(id);
    await isConnected(desk.waker);

    const awaited = run.result({ within: '1h' });
    await here.begin('heir', { heartbeat });
    await owner.kill();
    const result = await awaited;

    expect(result).toEqual({ status: 'succeeded', output: { id: '1' }, reference: '1' });
    expect(await told(run)).toEqual([
      'start -> pending in-progress',
      'end unknown -> unknown',
      'lookup found -> succeeded',
    ]);
    // It is read as it is asked for, and once for each turn that is told of; no time has passed for the waiting one.
    expect(desk.reads()).toBeLessThanOrEqual(1 + 1 + 3);
    expect(await lines(here.sql<{ line: string }[]>`select order_id || ' by ' || made_by as line from books`)).toEqual([
      'order-17 by owner',
    ]);
  });
});

interface Desk {
  readonly orchestrator: Orchestrator<true>;
  readonly waker: ReturnType<typeof natsWaker>;
  readonly ship: ReturnType<typeof reminder>;
  /** How often it has read an operation. */
  reads(): number;
}

/** A process that does not work. Time stands still for it, so that whoever waits there waits for news alone. */
function deskIn({ url, sql }: Place): Desk {
  const waker = natsWaker({ servers: server.url });
  let reads = 0;
  const own = postgresStore({ url, connections: 2 });
  const store = overlay(own, {
    read(ref: Parameters<Store['read']>[0]) {
      reads += 1;
      return own.read(ref);
    },
  });
  const [remind, ship] = [
    reminder(sql, { by: 'the desk' }),
    reminder(sql, { action: 'parcel.ship', by: 'the desk', delay: '5s' }),
  ];
  const definitions = [remind, ship];
  const orchestrator = createOrchestrator({ store, waker, definitions, tenant: 'shop-1', clock: testClock() });
  onTestFinished(() => orchestrator.stop());
  return { orchestrator, waker, ship, reads: () => reads };
}
