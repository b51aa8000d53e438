/**
 * What may be wrong with a transaction that is given as `tx`, on a real server: it is none, it is aborted, it clashes,
 * its connection dies. The submission is then refused with a typed error, in time and without its parameters, and
 * nothing of it outlives the transaction. Where the `postgres` driver makes that impossible, the last group says so.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { drizzle as drizzleOnNodePostgres } from 'drizzle-orm/node-postgres';
import { drizzle as drizzleOnPostgres } from 'drizzle-orm/postgres-js';
import fc from 'fast-check';
import pg from 'pg';
import type postgres from 'postgres';
import { migrate } from 'sagacity/postgres';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Orchestrator, Transaction } from 'sagacity';
import '../domain/seed.ts';
import { type Host, type Inside, ORDERS, type ServerHost, serverHosts } from '../support/host-transactions.ts';
import { databaseAt, freshDatabase } from '../support/postgres.ts';
import { gate } from '../support/scripted-charge.ts';
import type { DeadHandle, DeadHandleEnd } from './dead-handles.child.ts';
import { type Kill, type Killed, killed, points } from './killed-transactions.ts';
import { waits } from './sessions.ts';
import { letter, letterAbout, type Said, saidOf, submitterAt } from './shop-letters.ts';

const DEADLINE_MS = 5_000;
const SHORT_DEADLINE_MS = 1_000;

const survivors = [
  'a node-postgres client',
  'a function over a node-postgres client',
  'a Drizzle transaction on node-postgres',
] as const;
const onPostgres = ['a transaction of postgres', 'a Drizzle transaction on postgres'] as const;
const kinds = [...survivors, ...onPostgres];

let url: string;
let onlooker: postgres.Sql;
let submitter: Orchestrator<true>;
let hasty: Orchestrator<true>;
let orders = 0;

beforeAll(async () => {
  url = await freshDatabase();
  onlooker = databaseAt(url);
  await onlooker.unsafe(ORDERS);
  submitter = submitterAt(url, DEADLINE_MS);
  hasty = submitterAt(url, SHORT_DEADLINE_MS);
  // A process that only submits opens its store with its first call.
  await Promise.all([submitter, hasty].map((each) => each.operator.doubts()));
});

afterAll(async () => {
  await Promise.all([submitter.stop(), hasty.stop()]);
  await onlooker.end();
});

function order(): string {
  orders += 1;
  return `order-${orders}`;
}

function insert(orderId: string): string {
  return `insert into shop_order (id) values ('${orderId}')`;
}

/** Which of these have their row and their operation. */
async function stored(...orderIds: readonly string[]) {
  const rows = await onlooker<{ id: string }[]>`select id from shop_order where id = any(${[...orderIds]})`;
  const operations = await onlooker<{ key: string }[]>`
    select key from sagacity.operation where key = any(${[...orderIds]})`;
  return { rows: rows.map(({ id }) => id).toSorted(), operations: operations.map(({ key }) => key).toSorted() };
}

const nothing = { rows: [], operations: [] };

function broken(sqlstate: string | null = null): Said {
  return { said: 'TRANSACTION_BROKEN', sqlstate, leaked: false };
}

const invalid: Said = { said: 'INPUT_INVALID', sqlstate: null, leaked: false };

async function withHost<Result>(
  kind: ServerHost,
  connections: number,
  use: (host: Host) => Promise<Result>,
): Promise<Result> {
  const host = serverHosts[kind](url, connections);
  try {
    return await use(host);
  } finally {
    await host.end();
  }
}

describe('what each statement is its own transaction of', () => {
  let pool: pg.Pool;
  let client: postgres.Sql;
  let outside: pg.PoolClient;
  beforeAll(async () => {
    pool = new pg.Pool({ connectionString: url, max: 2 });
    outside = await pool.connect();
    client = databaseAt(url);
  });
  afterAll(async () => {
    outside.release();
    await pool.end();
    await client.end();
  });

  const candidates: Readonly<Record<string, () => unknown>> = {
    'a pool of node-postgres': () => pool,
    'a node-postgres client that has not begun': () => outside,
    'a Drizzle database on node-postgres': () => drizzleOnNodePostgres(pool),
    'a client of postgres': () => client,
    // With a client of its own, because Drizzle changes it.
    'a Drizzle database on postgres': () => drizzleOnPostgres(databaseAt(url)),
    'a function over a pool': () => async (text: string, values: unknown[]) =>
      (await pool.query<pg.QueryResultRow>(text, values)).rows,
  };

  test.each(Object.keys(candidates))('is refused before anything is written: %s', async (name) => {
    const orderId = order();
    // Most of them no compiler would let pass.
    const tx = candidates[name]?.() as Transaction;

    const said = await saidOf(submitter.submit(letter, letterAbout(orderId), { tx }));

    expect(said).toEqual(broken());
    expect(await stored(orderId)).toEqual(nothing);
  });

  test('is refused also where the operation is there already', async () => {
    const orderId = order();
    await submitter.submit(letter, letterAbout(orderId));

    const said = await saidOf(
      submitter.submit(letter, letterAbout(orderId), {
        tx: async (text, values) => (await pool.query(text, values)).rows as object[],
      }),
    );

    expect(said).toEqual(broken());
  });
});

describe('what runs no statements', () => {
  test.each([
    ['a number', 17],
    ['a text', 'begin'],
    ['null', null],
    ['undefined, where a transaction was meant', undefined],
    ['an object of something else', { commit: true }],
    ['a list', []],
    ['a function that returns nothing', async () => {}],
    ['a function that keeps the rows to itself', async () => []],
    ['a function that gives the rows as lists', async () => [['"17"']]],
    ['a function that gives rows of its own', async () => [{ id: 17 }]],
    ['a function that gives the number of rows', async () => ({ rows: 1 })],
  ])('is refused as bad input: %s', async (_, tx) => {
    const orderId = order();
    // What no compiler would let pass.
    const given = tx as unknown as Transaction;

    const said = await saidOf(submitter.submit(letter, letterAbout(orderId), { tx: given }));

    expect(said).toEqual(invalid);
    expect(await stored(orderId)).toEqual(nothing);
  });

  test('is refused as bad input though it runs them: a function that drops the rows', async () => {
    const orderId = order();
    await withHost('a node-postgres client', 1, (host) =>
      host.transact(async ({ query }) => {
        const tx: Transaction = async (text) => {
          await query(text.includes('turn') ? 'select' : 'select 1');
          return [];
        };

        expect(await saidOf(submitter.submit(letter, letterAbout(orderId), { tx }))).toEqual(invalid);
      }),
    );

    expect(await stored(orderId)).toEqual(nothing);
  });

  test.each([
    [
      'at once',
      (text: string) => {
        throw new Error(text);
      },
    ],
    ['later', (text: string, values: unknown[]) => Promise.reject(new Error(`${text} ${values.join(' ')}`))],
  ])('is refused as broken when it throws %s, and what it threw is not shown', async (_, tx) => {
    const orderId = order();

    const said = await saidOf(submitter.submit(letter, letterAbout(orderId), { tx }));

    expect(said).toEqual(broken());
    expect(await stored(orderId)).toEqual(nothing);
  });

  test('is refused in time when it never answers', async () => {
    const orderId = order();
    const began = performance.now();

    const said = await saidOf(hasty.submit(letter, letterAbout(orderId), { tx: () => new Promise(() => {}) }));

    expect(said).toEqual(broken());
    expect(performance.now() - began).toBeLessThan(SHORT_DEADLINE_MS + 2_000);
  });

  test('is refused in time when it answers late, and what it runs after the rollback writes nothing', async () => {
    const orderId = order();
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query('begin');
    const rolledBack = gate();
    const running: Promise<readonly object[]>[] = [];
    const tx: Transaction = (text, values) => {
      const isSecond = running.length === 1;
      const answer = (async () => {
        if (isSecond) await rolledBack.passed;
        return (await client.query<pg.QueryResultRow>(text, values)).rows;
      })();
      running.push(answer);
      return answer;
    };

    const said = await saidOf(hasty.submit(letter, letterAbout(orderId), { tx }));
    await client.query('rollback');
    rolledBack.open();
    await Promise.all(running);

    expect(said).toEqual(broken());
    expect(running).toHaveLength(2);
    expect(await stored(orderId)).toEqual(nothing);
    await client.end();
  });
});

describe('a handle that goes on in another transaction, as the postgres driver does when a connection dies', () => {
  test.each([
    { times: 1, from: 2 },
    // Its turn is then in the transaction that it began in, which is dead in the case of the driver.
    { times: 1, from: 3 },
    { times: 2, from: 2 },
    { times: 2, from: 3 },
    { times: 2, from: 4 },
  ])('is refused: submission $times of an order, from its statement $from on', async ({ times, from }) => {
    const orderId = order();
    const pool = new pg.Pool({ connectionString: url, max: 2 });
    const client = await pool.connect();
    await client.query('begin');
    if (times === 2) await submitter.submit(letter, letterAbout(orderId), { tx: client });
    let statements = 0;
    const tx: Transaction = (text, values) => {
      statements += 1;
      return (statements < from ? client : pool).query<pg.QueryResultRow>(text, values);
    };

    const said = await saidOf(submitter.submit(letter, letterAbout(orderId), { tx }));
    await client.query(times === 2 ? 'commit' : 'rollback');

    expect(said).toEqual(broken());
    expect((await stored(orderId)).operations).toEqual(times === 2 ? [orderId] : []);
    client.release();
    await pool.end();
  });
});

describe.each(kinds)('a transaction and a submission that it may not be able to carry: %s', (kind) => {
  /** Runs a transaction that submits at its end and gives up when that is refused; what the submission said. */
  function submitting(
    host: Host,
    orderId: string,
    before: (inside: Inside) => Promise<unknown>,
    isolation: Parameters<Host['transact']>[1] = 'read committed',
  ): Promise<Said> {
    let said: Said | null = null;
    const transaction = host.transact(async (inside) => {
      await inside.query(insert(orderId));
      await before(inside);
      const submission = submitter.submit(letter, letterAbout(orderId), { tx: inside.tx });
      said = await saidOf(submission);
      await submission;
    }, isolation);
    return transaction.then(
      () => said ?? invalid,
      () => said ?? invalid,
    );
  }

  test('aborted by an error of the host', async () => {
    const orderId = order();

    const said = await withHost(kind, 1, (host) =>
      submitting(host, orderId, ({ query }) => query('select 1 / 0').catch(() => {})),
    );

    expect(said).toEqual(broken('25P02'));
    expect(await stored(orderId)).toEqual(nothing);
  });

  test.each(['repeatable read', 'serializable'] as const)(
    '%s, whose snapshot is older than the same submission of somebody else; run again, it joins that',
    async (isolation) => {
      const orderId = order();

      const [said, saidAgain] = await withHost(kind, 1, async (host) => [
        await submitting(
          host,
          orderId,
          async () => void (await submitter.submit(letter, letterAbout(orderId))),
          isolation,
        ),
        await submitting(host, orderId, async () => {}, isolation),
      ]);

      expect(said).toEqual(broken('40001'));
      expect(saidAgain?.said).toBe('joined');
      expect(await stored(orderId)).toEqual({ rows: [orderId], operations: [orderId] });
    },
  );

  test('chosen to end a deadlock; the other one commits', async () => {
    const [one, other] = [order(), order()];
    const [oneIsMade, otherIsMade] = [gate(), gate()];

    const [said, otherSaid] = await withHost(kind, 2, (host) => {
      const victim = submitting(host, one, async ({ tx, query }) => {
        await query("set local deadlock_timeout = '10ms'");
        await submitter.submit(letter, letterAbout(other), { tx });
        otherIsMade.open();
        await oneIsMade.passed;
      });
      const survivor = (async () => {
        await otherIsMade.passed;
        return await host.transact(async ({ tx, query }) => {
          await query("set local deadlock_timeout = '1min'");
          await submitter.submit(letter, letterAbout(one), { tx });
          const waiting = submitter.submit(letter, letterAbout(other), { tx });
          await waits(onlooker, 'turn', waiting).finally(oneIsMade.open);
          return await saidOf(waiting);
        });
      })();
      return Promise.all([victim, survivor]);
    });

    expect(said).toEqual(broken('40P01'));
    expect(otherSaid.said).toBe('new');
    expect(await stored(one, other)).toEqual({ rows: [], operations: [one, other].toSorted() });
  });

  test.each(['0', '3s'])('a lock timeout of %s is the same after a submission as before', async (lockTimeout) => {
    const orderId = order();

    const settings = await withHost(kind, 1, (host) =>
      host.transact(async ({ tx, query }) => {
        await query(`set local lock_timeout = '${lockTimeout}'`);
        await submitter.submit(letter, letterAbout(orderId), { tx });
        return await query('show lock_timeout');
      }),
    );

    expect(settings).toMatchObject([{ lock_timeout: lockTimeout }]);
  });

  test.each([
    ['than the host says', "set local lock_timeout = '20ms'"],
    ['than its deadline', 'select 1'],
  ])('that waits for another one longer %s; it is free to roll back at once', async (_, setting) => {
    const orderId = order();
    const [made, ended] = [gate(), gate()];

    const said = await withHost(kind, 2, async (host) => {
      const first = host.transact(async ({ tx }) => {
        await hasty.submit(letter, letterAbout(orderId), { tx });
        made.open();
        await ended.passed;
      });
      await made.passed;
      let told: Said | null = null;
      const second = host.transact(async ({ tx, query }) => {
        await query(setting);
        const submission = hasty.submit(letter, letterAbout(orderId), { tx });
        told = await saidOf(submission);
        await submission;
      });
      await second.catch(() => {});
      ended.open();
      await first;
      return told;
    });

    expect(said).toEqual(broken('55P03'));
    expect((await stored(orderId)).operations).toEqual([orderId]);
  });

  test('of a user without the right to the tables of Sagacity', async () => {
    const orderId = order();

    const said = await withHost(kind, 1, (host) =>
      submitting(host, orderId, ({ query }) => query('set local role pg_monitor')),
    );

    expect(said).toEqual(broken('42501'));
    expect(await stored(orderId)).toEqual(nothing);
  });

  test('on another database that has the tables as well', async () => {
    const elsewhere = await freshDatabase();
    await migrate({ url: elsewhere });
    const administrator = databaseAt(elsewhere);
    await administrator.unsafe(ORDERS);
    const host = serverHosts[kind](elsewhere, 1);
    const orderId = order();

    const said = await submitting(host, orderId, async () => {});

    expect(said.said).toBe('TRANSACTION_BROKEN');
    expect(await administrator`select id from sagacity.operation`).toHaveLength(0);
    await Promise.all([host.end(), administrator.end()]);
  });

  test('on a database without the tables of Sagacity', async () => {
    const elsewhere = await freshDatabase();
    const administrator = databaseAt(elsewhere);
    await administrator.unsafe(ORDERS);
    await administrator.end();
    const host = serverHosts[kind](elsewhere, 1);
    const orderId = order();

    const said = await submitting(host, orderId, async () => {});

    expect(said).toEqual(broken('42P01'));
    await host.end();
  });
});

/** Rows and operations share one fate, and what the host was told of it is true. */
async function expectOneFate(rounds: readonly Killed[]): Promise<void> {
  const { rows, operations } = await stored(...rounds.map(({ orderId }) => orderId));
  expect(operations).toEqual(rows);
  const committed = rounds.filter(({ told }) => told === 'committed').map(({ orderId }) => orderId);
  expect(rows).toEqual(expect.arrayContaining(committed));
  // A commit that was on its way may have been carried out unheard.
  const certain = rounds.filter(({ point }) => point !== 'at the commit').filter(({ told }) => told !== 'committed');
  expect(certain.filter(({ orderId }) => rows.includes(orderId))).toEqual([]);
  expect(rounds.filter(({ submission }) => submission?.leaked)).toEqual([]);
}

/** A round for each point and each thing that the driver may know. */
function everyKill(of: readonly ServerHost[], knowing: readonly Kill['driver'][]): readonly Kill[] {
  return of.flatMap((kind) =>
    points.flatMap((point) => knowing.map((driver) => ({ kind, orderId: order(), point, driver }))),
  );
}

/** Rounds at points that chance chooses, always the same for one seed. Some are spared. */
function someKills(count: number, of: readonly ServerHost[], knowing: readonly Kill['driver'][]): readonly Kill[] {
  const kill = fc.record({
    kind: fc.constantFrom(...of),
    point: fc.constantFrom(...points, null),
    driver: fc.constantFrom(...knowing),
  });
  return fc.sample(kill, count).map((chosen) => ({ ...chosen, orderId: order() }));
}

describe('a transaction whose connection is terminated', () => {
  test('at each point: with node-postgres its row and its submission commit together or not at all', async () => {
    const rounds: Killed[] = [];

    for (const kill of everyKill(survivors, ['unaware', 'aware'])) rounds.push(await killed(url, submitter, kill));

    await expectOneFate(rounds);
    for (const { point, told, submission } of rounds) {
      const struckLater = point === 'before the commit' || point === 'at the commit';
      expect(submission?.said).toBe(struckLater ? 'new' : 'TRANSACTION_BROKEN');
      if (point !== 'at the commit') expect(told).toBe('failed');
    }
  });

  test('at points that chance chose: with node-postgres the same', async () => {
    const rounds: Killed[] = [];

    for (const kill of someKills(20, survivors, ['unaware', 'aware'])) rounds.push(await killed(url, submitter, kill));

    await expectOneFate(rounds);
    expect(rounds.filter(({ told }) => told === 'committed')).not.toEqual([]);
  });

  test('at each point and at points that chance chose: with postgres the same, where the process survives', async () => {
    const knowing = ['unaware', 'aware', 'reconnected'] as const;
    const kills = [...everyKill(onPostgres, knowing), ...someKills(20, onPostgres, knowing)];

    const reports = await reportsOf<Killed>('killed-transactions', { url, survive: true, kills });

    expect(reports).toHaveLength(kills.length);
    await expectOneFate(reports);
    expect(reports.filter(({ told }) => told === 'committed')).not.toEqual([]);
    for (const { point, told, submission } of reports) {
      if (point === 'before the submission' || point?.endsWith('its turn') === true)
        expect(submission?.said).toBe('TRANSACTION_BROKEN');
      if (told === 'committed') expect(submission?.said).toBe('new');
    }
  });

  test('ends the process in the postgres driver, whoever asks next; nothing of it is stored', async () => {
    const orderId = order();
    const kill: Kill = { kind: 'a transaction of postgres', orderId, point: 'before the submission', driver: 'aware' };

    const { code, complaints } = await child('killed-transactions', { url, survive: false, kills: [kill] });

    expect(code).not.toBe(0);
    expect(complaints).toContain("Cannot read properties of null (reading 'write')");
    expect(await stored(orderId)).toEqual(nothing);
  });
});

describe.each(onPostgres)('a handle of the postgres driver that outlives its connection: %s', (kind) => {
  /** Alone, or while another caller's transaction is on the connection that the driver made anew. */
  const handles: readonly Omit<DeadHandle, 'kind'>[] = [
    { name: 'alone', first: 'submits, with no other under way', secondSubmits: null, second: 'commits' },
    { name: 'struck before', first: 'rolls back', secondSubmits: 'after', second: 'commits' },
    { name: 'intruding', first: 'submits', secondSubmits: 'after', second: 'commits' },
    { name: 'struck after', first: 'rolls back', secondSubmits: 'before', second: 'commits' },
    { name: 'committed early', first: 'commits', secondSubmits: 'before', second: 'rolls back' },
  ];
  let ends: ReadonlyMap<string, DeadHandleEnd>;
  const named = (name: string) => `${kind}: ${name}`;

  beforeAll(async () => {
    const task = { url, handles: handles.map((handle) => ({ ...handle, kind, name: named(handle.name) })) };
    const reports = await reportsOf<DeadHandleEnd>('dead-handles', task);
    ends = new Map(reports.map((report) => [report.name, report]));
  });

  async function seen(name: string) {
    const end = ends.get(named(name));
    const [first, second] = [`${named(name)} first`, `${named(name)} second`];
    const { rows, operations } = await stored(first, second);
    const short = (long: string) => long.slice(named(name).length + 1);
    return {
      told: end?.told,
      submissions: { first: end?.submissions.first?.said, second: end?.submissions.second?.said },
      rows: rows.map(short),
      operations: operations.map(short),
    };
  }

  test('does not submit: on the new connection it is no transaction', async () => {
    expect(await seen('alone')).toMatchObject({
      told: { first: 'failed' },
      submissions: { first: 'TRANSACTION_BROKEN' },
      rows: ['second'],
      operations: [],
    });
  });

  test('ends the transaction of another caller, whose later submission is refused', async () => {
    expect(await seen('struck before')).toMatchObject({
      submissions: { second: 'TRANSACTION_BROKEN' },
      rows: [],
      operations: [],
    });
  });

  // What follows is what nobody can see from here. When one of these fails, the driver has been repaired: then take it
  // out, and the warning about the driver with it.

  test('is not recognised inside the transaction of another caller, and commits with that', async () => {
    expect(await seen('intruding')).toEqual({
      told: { first: 'failed', second: 'committed' },
      submissions: { first: 'new', second: 'new' },
      rows: ['second'],
      operations: ['first', 'second'],
    });
  });

  test('rolls back what another caller has written and submitted, who is told that it was committed', async () => {
    expect(await seen('struck after')).toEqual({
      told: { first: 'failed', second: 'committed' },
      submissions: { first: undefined, second: 'new' },
      rows: [],
      operations: [],
    });
  });

  test('commits what another caller has written and submitted, who is told that it was rolled back', async () => {
    expect(await seen('committed early')).toEqual({
      told: { first: 'failed', second: 'failed' },
      submissions: { first: undefined, second: 'new' },
      rows: ['second'],
      operations: ['second'],
    });
  });
});

describe('fifty transactions at once on a pool of two', () => {
  test.each(kinds)('all commit, also those that submit something outside of themselves: %s', async (kind) => {
    const inside = Array.from({ length: 50 }, order);
    const outside = inside.filter((_, n) => n % 5 === 0).map((orderId) => `${orderId}-outside`);
    const began = performance.now();

    await withHost(kind, 2, (host) =>
      Promise.all(
        inside.map((orderId) =>
          host.transact(async ({ tx, query }) => {
            await query(insert(orderId));
            await submitter.submit(letter, letterAbout(orderId), { tx });
            const more = `${orderId}-outside`;
            if (outside.includes(more)) await submitter.submit(letter, letterAbout(more));
          }),
        ),
      ),
    );

    expect(performance.now() - began).toBeLessThan(DEADLINE_MS);
    expect(await stored(...inside)).toEqual({ rows: inside.toSorted(), operations: inside.toSorted() });
    expect((await stored(...outside)).operations).toEqual(outside.toSorted());
  });

  test('are refused by the deadline where they wait for themselves, and hold up nobody else', async () => {
    const [inside, meanwhile] = [[order(), order()], order()];
    const patient = submitterAt(url, 1_500);
    const said: Said[] = [];

    const [transactions, other] = await withHost('a node-postgres client', 2, (host) =>
      Promise.all([
        Promise.allSettled(
          inside.map((orderId) =>
            host.transact(async ({ tx }) => {
              await patient.submit(letter, letterAbout(orderId), { tx });
              // Without tx it waits for the end of the transaction, which waits for it.
              const again = patient.submit(letter, letterAbout(orderId));
              said.push(await saidOf(again));
              await again;
            }),
          ),
        ),
        patient.submit(letter, letterAbout(meanwhile)),
      ]),
    );

    expect(transactions.map(({ status }) => status)).toEqual(inside.map(() => 'rejected'));
    expect(said.map((each) => each.said)).toEqual(inside.map(() => 'STORE_UNAVAILABLE'));
    expect(other.submission).toBe('new');
    expect((await stored(...inside)).operations).toEqual([]);
    await patient.stop();
  });
});

/** What a process reports, a line each, until it ends well. */
async function reportsOf<Report>(script: string, task: object): Promise<readonly Report[]> {
  const { code, said, complaints } = await child(script, task);
  if (code !== 0) throw new Error(`The process ${script} ended with ${code}:\n${complaints}`);
  // The script of this name writes nothing else.
  return said.split('\n').map((line) => JSON.parse(line) as Report);
}

interface ChildEnd {
  readonly code: number | null;
  readonly said: string;
  readonly complaints: string;
}

async function child(script: string, task: object): Promise<ChildEnd> {
  const path = fileURLToPath(new URL(`./${script}.child.ts`, import.meta.url));
  const running = spawn(
    process.execPath,
    ['--import', 'tsx', '--conditions=sagacity-source', path, JSON.stringify(task)],
    { cwd: fileURLToPath(new URL('../..', import.meta.url)), stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const said: string[] = [];
  const complaints: string[] = [];
  running.stdout.on('data', (chunk: Buffer) => said.push(chunk.toString('utf8')));
  running.stderr.on('data', (chunk: Buffer) => complaints.push(chunk.toString('utf8')));
  await once(running, 'close');
  return { code: running.exitCode, said: said.join('').trim(), complaints: complaints.join('') };
}
