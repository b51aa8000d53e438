/**
 * The store's statements cost the same among ten operations and among a million, whatever the server believes of its
 * tables: its statistics may be old, and a plan is as old as its connection. So every plan is looked at that the server
 * would make, or has kept, for the texts that the code sends, on connections of the store's own kind.
 */

import type postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { migrate } from 'sagacity/postgres';
import { systemClock } from '../../src/adapters/local/clock.ts';
import { Connection } from '../../src/adapters/postgres/connection.ts';
import { statementNames } from '../../src/adapters/postgres/executor.ts';
import { figure } from '../support/figures.ts';
import { databaseAt, freshDatabase } from '../support/postgres.ts';
import { growTo, TIMELINES } from './crowd.ts';
import { faultsOf, pagesOf, type Plan, partOf } from './plan.ts';
import { everyStatement, type Sent } from './statements.ts';

const PATIENCE_MS = 60_000;
const GROWING_MS = 180_000;

const statements = await everyStatement();
const claim = theOnly(statements.filter(({ name }) => name === 'claim-due'));
const claimInTurn = theOnly(statements.filter(({ name }) => name === 'claim-in-turn'));
const titles = statements.map((sent): [string, Sent] => [sent.title, sent]);

let url: string;
let sql: postgres.Sql;
let size = 0;
const connections: Connection[] = [];
/** Keeps the plans that it made among ten operations, one of which is this. */
let old: Connection;
let oldPlan: Plan;
let direct: Connection;
let pooled: Connection;

beforeAll(async () => {
  url = await freshDatabase();
  await migrate({ url });
  sql = databaseAt(url);
  for (const table of ['operation', 'saga', 'attempt', 'handover', 'signal', 'lock', 'worker', 'timeline']) {
    await sql`alter table sagacity.${sql(table)} set (autovacuum_enabled = off)`;
  }
  // For the sessions that begin from now on: what starts and renews on it is carried out.
  await sql.unsafe(`alter database ${new URL(url).pathname.slice(1)} set sagacity.timeline = '${TIMELINES.at(-1)}'`);
  await grow(10);
  await sql`analyze`;
  [old, direct, pooled] = [await keeping(), connected(), connected({ pooler: true })];
  for (const sent of statements) await old.batch(`begin; ${execute(sent)}; rollback`, PATIENCE_MS);
  oldPlan = await planOf(old, execute(claim));
}, GROWING_MS);

afterAll(async () => {
  for (const connection of connections) connection.close();
  await sql.end();
});

async function grow(to: number): Promise<void> {
  await growTo(sql, size, to);
  size = to;
}

/** A connection as the store makes them. */
function connected({ pooler = false } = {}): Connection {
  const route = { url, pooler, statementTimeoutMs: PATIENCE_MS, connectTimeoutMs: PATIENCE_MS };
  const connection = new Connection(route, systemClock());
  connections.push(connection);
  return connection;
}

/** A connection that makes one plan for a statement, good for any values, and keeps it: what a used one comes to. */
async function keeping(): Promise<Connection> {
  const connection = connected();
  await connection.batch('set plan_cache_mode = force_generic_plan', PATIENCE_MS);
  for (const sent of statements) await connection.batch(`prepare ${nameOf(sent)} as ${sent.text}`, PATIENCE_MS);
  return connection;
}

function nameOf(sent: Sent): string {
  return `statement_${statements.indexOf(sent)}`;
}

/** What a connection that keeps is told. */
function execute(sent: Sent): string {
  const values = sent.values.map((value) => {
    if (value === null) return 'null';
    // What is sent are texts and numbers.
    return typeof value === 'number' ? value : `'${(value as string).replaceAll("'", "''")}'`;
  });
  return `execute ${nameOf(sent)}${values.length === 0 ? '' : `(${values.join(', ')})`}`;
}

interface Explained {
  readonly Plan: Plan;
  readonly 'Execution Time': number;
}

async function explained(connection: Connection, what: string, text: string, values: readonly unknown[] = []) {
  const [row] = await connection.run(`explain (${what}format json) ${text}`, values, PATIENCE_MS);
  if (row === undefined) throw new Error('EXPLAIN said nothing.');
  // What EXPLAIN gives as JSON, which the driver has parsed.
  const [answer] = row['QUERY PLAN'] as [Explained];
  return answer;
}

const planOf = async (connection: Connection, text: string, values: readonly unknown[] = []) =>
  (await explained(connection, '', text, values)).Plan;

/** Carries it out by a plan for any values, after `before`, and takes everything back. */
async function carriedOut(sent: Sent, before = ''): Promise<Explained> {
  try {
    await old.batch(`begin; ${before}`, PATIENCE_MS);
    return await explained(old, 'analyze, buffers, ', execute(sent));
  } finally {
    await old.batch('rollback', PATIENCE_MS);
  }
}

/** Which tables a statement may read whole. */
function whole({ name }: Sent): readonly string[] {
  // Nothing stays in this table that does not wait for a worker.
  const claims = ['claim-due', 'claim-sagas-due', 'claim-in-turn', 'claim-sagas-in-turn'];
  return [...claims, 'handed-over'].includes(name) ? ['handover'] : [];
}

/** Behind a pooler the settings of the server decide: it may read what is tiny when the plan is made. */
function wholeNow(): readonly string[] {
  return [
    ...['handover', 'worker', 'timeline'],
    ...(size > 10 ? [] : ['operation', 'saga', 'attempt', 'signal']),
    // Two pages among ten thousand operations.
    ...(size > 10_000 ? [] : ['lock']),
  ];
}

test('every statement is looked at', () => {
  expect(new Set(statements.map(({ name }) => name))).toEqual(new Set(statementNames));
});

lookAtAll('ten operations', () => null);
lookAtAll('ten thousand operations with the statistics of ten', () => grow(10_000));
lookAtAll('a million operations with the statistics of ten', () => grow(1_000_000));

describe('a full claim by the plan from the time of ten, among a million operations', () => {
  /** The operations of one tenant whose numbers are smaller: a third of `number`. */
  const below = (number: number) => `tenant = 'shop-1' and id < 'op-${String(number).padStart(7, '0')}'`;

  test('is carried out by that plan, estimates and all', async () => {
    const plan = await planOf(old, execute(claim));

    expect(plan).toEqual(oldPlan);
  });

  test('learns from a few pages who owns five thousand of them', async () => {
    const owned = `update sagacity.operation set owner = 'worker-' || 1 + right(id, 1)::int % 4 where ${below(15_000)}`;

    const { Plan: plan } = await carriedOut(claim, owned);

    const lost = partOf(plan, 'lost');
    const pages = lost === null ? Number.NaN : pagesOf(lost);
    figure('pages by which a claim learns who owns five thousand operations', pages, 100);
    expect(pages).toBeLessThanOrEqual(100);
  });

  test('touches few pages when twenty thousand of them are due', async () => {
    const due = `update sagacity.operation set due_at = now() - interval '1 day' where owner is null and ${below(60_000)}`;

    const { Plan: plan } = await carriedOut(claim, due);

    figure('pages that a full claim touches among twenty thousand due operations', pagesOf(plan), claim.pagesMax);
    expect(pagesOf(plan)).toBeLessThanOrEqual(claim.pagesMax);
  });

  test('passes over twenty thousand due ones of another tenant, or of another action, where tenants take turns', async () => {
    const due = `update sagacity.operation set due_at = now() - interval '1 day' where owner is null and ${below(60_000)}`;
    const ofAnother = `update sagacity.operation set action = 'label.print' where ${below(60_000)}`;

    for (const before of [due, `${due}; ${ofAnother}`]) {
      const { Plan: plan } = await carriedOut(claimInTurn, before);

      figure('pages that a claim in turn touches among them', pagesOf(plan), claimInTurn.pagesMax);
      expect(pagesOf(plan)).toBeLessThanOrEqual(claimInTurn.pagesMax);
    }
  });
});

// What the claims above took back is swept away, too.
lookAtAll('a million operations with statistics of their own', () => sql`vacuum analyze`);

/** Looks at every statement after `arrange`, which makes the tables what `among` says. */
function lookAtAll(among: string, arrange: () => unknown): void {
  describe(`among ${among}`, () => {
    let young: Connection;

    beforeAll(async () => {
      await arrange();
      young = await keeping();
    }, GROWING_MS);

    test.each(titles)('%s comes to its rows by indexes', async (_, sent) => {
      const faults = {
        ofAPlanForAnyValues: faultsOf(await planOf(young, execute(sent)), whole(sent)),
        ofAPlanForTheseValues: faultsOf(await planOf(direct, sent.text, sent.values), whole(sent)),
        ofThePlanFromTheTimeOfTen: faultsOf(await planOf(old, execute(sent)), whole(sent)),
        ofAPlanBehindAPooler: faultsOf(await planOf(pooled, sent.text, sent.values), wholeNow()),
      };

      expect(faults).toEqual({
        ofAPlanForAnyValues: [],
        ofAPlanForTheseValues: [],
        ofThePlanFromTheTimeOfTen: [],
        ofAPlanBehindAPooler: [],
      });
    });

    test.each(titles)('%s touches few pages', async (title, sent) => {
      const { Plan: plan, 'Execution Time': ms } = await carriedOut(sent);

      const pages = pagesOf(plan);
      figure(`pages that ${title} touches among ${among}`, pages, sent.pagesMax);
      figure(`milliseconds that ${title} takes among ${among}`, ms, 100);
      expect(pages).toBeLessThanOrEqual(sent.pagesMax);
    });
  });
}

function theOnly([one, ...others]: readonly Sent[]): Sent {
  if (one === undefined || others.length > 0) throw new Error('There is not exactly one.');
  return one;
}
