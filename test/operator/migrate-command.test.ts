/**
 * `sagacity migrate` on real databases: what it leaves in them, by however many at once and wherever one is killed,
 * what it refuses, and what it tells people and programs.
 */

import { createServer } from 'node:net';
import { readFileSync } from 'node:fs';
import { once } from 'node:events';
import { migrate } from 'sagacity/postgres';
import { describe, expect, test } from 'vitest';
import { migrations } from '../../drizzle/migrations.ts';
import { databaseAt } from '../support/postgres.ts';
import { until } from '../support/world.ts';
import { emptyDatabase, PASSWORD, type Running, sagacity, startSagacity } from './command.ts';

const names = migrations.map(({ name }) => name);
const rows = migrations.map(({ number, name }) => ({ migration: number, name }));
const count = `${names.length} ${names.length === 1 ? 'migration' : 'migrations'}`;

/** What ran in a schema, by its own account. */
async function ledgerOf(url: string, schema = 'sagacity'): Promise<unknown[]> {
  const sql = databaseAt(url);
  const found = await sql`select number, name, checksum from ${sql(schema)}.migration order by number`;
  await sql.end();
  return [...found];
}

const fullLedger = migrations.map(({ number, name, checksum }) => ({ number, name, checksum }));

/** Every table and function of every schema, and the writer of every row of a ledger: equal if nothing was changed. */
async function contentsOf(url: string): Promise<string[]> {
  const sql = databaseAt(url);
  const things = await sql<{ thing: string }[]>`
    with own as (select oid, nspname from pg_namespace where nspname not like 'pg\_%' and nspname <> 'information_schema')
    select concat_ws(' ', n.nspname, c.relname, c.xmin) as thing from own n left join pg_class c on c.relnamespace = n.oid
    union all
    select concat_ws(' ', n.nspname, p.proname, p.xmin) from own n join pg_proc p on p.pronamespace = n.oid`;
  const ledgers = await sql<{ ledger: string }[]>`
    select query_to_xml(format('select xmin, m from %s m', c.oid::regclass), true, true, '')::text as ledger
    from pg_class c where c.relname = 'migration'`;
  await sql.end();
  return [...things.map(({ thing }) => thing), ...ledgers.map(({ ledger }) => ledger)].toSorted();
}

/** Runs statements of a test's own. */
async function execute(url: string, text: string): Promise<void> {
  const sql = databaseAt(url);
  await sql.unsafe(text).simple();
  await sql.end();
}

describe.concurrent('a database without tables', () => {
  test('gets what is missing, and nothing the second time', async () => {
    const url = await emptyDatabase();

    const first = await sagacity('migrate', '--url', url);
    const second = await sagacity('migrate', '--url', url);

    const applied = [...names.map((name) => `applied ${name}`), `sagacity: ${count} applied to schema sagacity`];
    expect(first).toEqual({ code: 0, stdout: `${applied.join('\n')}\n`, stderr: '' });
    expect(second).toEqual({ code: 0, stdout: 'sagacity: schema sagacity is up to date\n', stderr: '' });
    expect(await ledgerOf(url)).toEqual(fullLedger);
  });

  test('is checked without being changed, and lacks everything until it is migrated', async () => {
    const url = await emptyDatabase();
    const untouched = await contentsOf(url);

    const before = await sagacity('migrate', '--check', '--url', url);
    const left = await contentsOf(url);
    await migrate({ url });
    const after = await sagacity('migrate', '--check', '--url', url);

    expect(before.code).toBe(1);
    expect(before.stdout.split('\n').slice(0, -2)).toEqual(names.map((name) => `missing ${name}`));
    expect(before.stdout).toContain(`\nsagacity: ${count} missing from schema sagacity; without --check `);
    expect(left).toEqual(untouched);
    expect(after).toEqual({ code: 0, stdout: 'sagacity: schema sagacity is up to date\n', stderr: '' });
  });

  test('gets the tables in the schema that is named, and in no other', async () => {
    const url = await emptyDatabase();

    const ended = await sagacity('migrate', `--url=${url}`, '--schema=other');

    expect(ended.stdout).toMatch(/ applied to schema other\n$/);
    expect(await ledgerOf(url, 'other')).toEqual(fullLedger);
    await expect(ledgerOf(url)).rejects.toMatchObject({ code: '42P01' });
  });

  test('may be named by the environment, first by SAGACITY_URL', async () => {
    const [url, another] = [await emptyDatabase(), await emptyDatabase()];

    const [first, second] = await Promise.all([
      startSagacity(['migrate'], { SAGACITY_URL: url, DATABASE_URL: 'mysql://elsewhere' }).ended,
      startSagacity(['migrate'], { SAGACITY_URL: '', DATABASE_URL: another }).ended,
    ]);

    expect([first.code, first.stderr]).toEqual([0, 'sagacity: the url is that of SAGACITY_URL\n']);
    expect([second.code, second.stderr]).toEqual([0, 'sagacity: the url is that of DATABASE_URL\n']);
    expect([await ledgerOf(url), await ledgerOf(another)]).toEqual([fullLedger, fullLedger]);
  });

  test('is told to programs line by line', async () => {
    const url = await emptyDatabase();

    const lacking = await sagacity('migrate', '--check', '--json', '--url', url);
    const applied = await sagacity('migrate', '--json', '--url', url);

    const summary = { summary: 'migrate', schema: 'sagacity' };
    const all = names.length;
    expect(parsed(lacking.stdout)).toEqual([...rows, { ...summary, ok: false, applied: 0, missing: all }]);
    expect(parsed(applied.stdout)).toEqual([...rows, { ...summary, ok: true, applied: all, missing: 0 }]);
    expect([lacking.code, lacking.stderr, applied.code, applied.stderr]).toEqual([1, '', 0, '']);
  });

  test('has everything once the printed SQL has run', async () => {
    const url = await emptyDatabase();

    const printed = await sagacity('migrate', '--print', '--schema', 'other');
    await execute(url, printed.stdout);
    const checked = await sagacity('migrate', '--check', '--schema', 'other', '--url', url);

    expect([printed.code, printed.stderr]).toEqual([0, '']);
    expect(checked.code).toBe(0);
    expect(await ledgerOf(url, 'other')).toEqual(fullLedger);
  });
});

describe('a database that ten processes migrate at once', () => {
  test('gets every migration once, and all ten succeed', async () => {
    const url = await emptyDatabase();
    const turn = await held(url, theirTurn);

    const processes: Running[] = [];
    while (processes.length < 10) {
      // No more start at a time than the machine has processors for.
      processes.push(startSagacity(['migrate', '--url', url]), startSagacity(['migrate', '--url', url]));
      await turn.waited(processes.length);
    }
    await turn.release();
    const ended = await Promise.all(processes.map((each) => each.ended));

    expect(ended.map(({ code, stderr }) => [code, stderr])).toEqual(ended.map(() => [0, '']));
    expect(await ledgerOf(url)).toEqual(fullLedger);
    expect(ended.filter(({ stdout }) => stdout.includes('1 migration applied')).length).toBe(1);
  });
});

describe('a process that is killed while it migrates', () => {
  test.each([
    ['it waits for its turn', ''],
    ['some tables are made', 'create schema sagacity'],
  ])('leaves nothing when %s, and the next one succeeds', async (_when, before) => {
    const url = await emptyDatabase();
    await execute(url, before);
    const untouched = await contentsOf(url);
    const lock = await held(url, before === '' ? theirTurn : oneOfTheTables);

    const killed = startSagacity(['migrate', '--url', url]);
    const [session] = await lock.waited(1);
    await kill(killed);
    await lock.ended(session);
    await lock.release();
    const left = await contentsOf(url);
    const next = await sagacity('migrate', '--url', url);

    expect((await killed.ended).code).toBeNull();
    expect(left).toEqual(untouched);
    expect(next.stdout).toContain(`${count} applied`);
    expect(await ledgerOf(url)).toEqual(fullLedger);
  });

  test('leaves all or nothing when the server learns of it too late', async () => {
    const url = await emptyDatabase();
    const turn = await held(url, theirTurn);

    const killed = startSagacity(['migrate', '--url', url]);
    await turn.waited(1);
    await kill(killed);
    await turn.release();
    const next = await sagacity('migrate', '--url', url);

    expect((await killed.ended).code).toBeNull();
    expect(next.code).toBe(0);
    expect(await ledgerOf(url)).toEqual(fullLedger);
  });
});

describe.concurrent('a schema that is not of this version', () => {
  const newer = `insert into sagacity.migration (number, name, checksum) values (999, '0999_later', 'c')`;
  const text = `update sagacity.migration set checksum = 'another' where number = 0`;

  test.each<[string, string, RegExp]>([
    ['newer', newer, /has Sagacity's migration 999, .* Install the version of sagacity that wrote it/],
    ['of another text', text, /Migration 0 \(0000_operations\) was applied .* move the schema sagacity away/],
  ])('is left as it is when it is %s, and the check says the same', async (_how, change, said) => {
    const url = await emptyDatabase();
    await migrate({ url });
    await execute(url, change);
    const untouched = await contentsOf(url);

    const [migrated, checked] = await Promise.all([
      sagacity('migrate', '--json', '--url', url),
      sagacity('migrate', '--check', '--url', url),
    ]);

    const unknown = { applied: null, missing: null, error: 'SCHEMA_OUTDATED' };
    expect([migrated.code, checked.code]).toEqual([1, 1]);
    expect(parsed(migrated.stdout)).toEqual([{ summary: 'migrate', ok: false, schema: 'sagacity', ...unknown }]);
    expect([migrated.stderr, checked.stdout]).toEqual([expect.stringMatching(said), '']);
    expect(checked.stderr).toBe(migrated.stderr);
    expect(await contentsOf(url)).toEqual(untouched);
  });

  test.each([
    ['an operation', 'create schema sagacity; create table sagacity.operation (id int)'],
    ['a ledger', 'create schema sagacity; create table sagacity.migration (id int)'],
  ])("is left as it is when it holds somebody's table of %s", async (_what, change) => {
    const url = await emptyDatabase();
    await execute(url, change);
    const untouched = await contentsOf(url);

    const ended = await sagacity('migrate', '--url', url);

    expect([ended.code, ended.stdout]).toEqual([1, '']);
    expect(ended.stderr).toMatch(/schema sagacity holds tables that no migration .* Name a schema of its own/);
    expect(await contentsOf(url)).toEqual(untouched);
  });
});

describe.concurrent('a database that cannot be used', () => {
  const summary = { summary: 'migrate', ok: false, schema: 'sagacity', applied: null, missing: null };

  test('is given up at once when nothing listens there', async () => {
    const url = `postgres://owner:${PASSWORD}@127.0.0.1:${await unusedPort()}/shop`;

    const ended = await sagacity('migrate', '--json', '--url', url);

    expect(ended.code).toBe(2);
    expect(parsed(ended.stdout)).toEqual([{ ...summary, error: 'STORE_UNAVAILABLE' }]);
    expect(ended.stderr).toMatch(/could not be reached \(ECONNREFUSED\)\. .*Needed: a PostgreSQL server that answers/);
  });

  test('is named as missing, as refusing the login, or as withholding rights', async () => {
    const url = await emptyDatabase();
    const guest = `guest_of_${new URL(url).pathname.slice(1)}`;
    await execute(url, `create role ${guest} login`);

    const [missing, refused, withheld] = await Promise.all([
      sagacity('migrate', '--url', changed(url, { pathname: 'no_such_database' })),
      sagacity('migrate', '--url', changed(url, { username: 'nobody_here' })),
      sagacity('migrate', '--url', changed(url, { username: guest })),
    ]);

    expect([missing.code, refused.code, withheld.code]).toEqual([2, 2, 2]);
    expect(missing.stderr).toMatch(/database of the url does not exist .*Create it, or correct the url/);
    expect(refused.stderr).toMatch(/refused the login .*Check user, password and pg_hba\.conf/);
    expect(withheld.stderr).toContain(
      'lacks rights on the schema sagacity (SQLSTATE 42501). Give the url of its owner',
    );
  });
});

describe.concurrent('words that mean nothing', () => {
  const url = `postgres://owner:${PASSWORD}@db.internal/shop`;

  test.each<[string, string[], string]>([
    ['no url', ['migrate'], 'No database was named. Give --url <url>, or set SAGACITY_URL or DATABASE_URL.'],
    ['a url that is none', ['migrate', '--url='], 'url is no url of a PostgreSQL server. Write postgres://'],
    ['a url without its option', ['migrate', url], "too many arguments for 'migrate'."],
    ['a url without its command', [url], "unknown command '...'"],
    ['a url for a schema', ['migrate', '--json', '--url', url, '--schema', url], '"..." cannot be the schema'],
    ['a misspelt option', ['migrate', `--ulr=${url}`], "unknown option '--ulr'\n(Did you mean --url?)"],
    ['a misspelt command', ['migrat'], "unknown command 'migrat'\n(Did you mean migrate?)"],
    ['two ways to answer', ['migrate', '--print', '--check'], "option '--print' cannot be used with option '--check'"],
    ['nothing', [], 'Usage: sagacity'],
  ])('are refused before anything is done: %s', async (_what, words, said) => {
    const ended = await sagacity(...words);

    expect([ended.code, ended.stdout]).toEqual([2, '']);
    expect(ended.stderr).toContain(said);
  });
});

describe.concurrent('the command', () => {
  test('tells its version and how it is used', async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'));

    const [asked, help, helpOnOne] = await Promise.all([
      sagacity('--version'),
      sagacity('--help'),
      startSagacity(['migrate', '--help'], { SAGACITY_URL: `postgres://o:${PASSWORD}@db.internal/shop` }).ended,
    ]);

    expect(asked).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
    expect(help).toEqual({ code: 0, stdout: expect.stringMatching(/^Usage: sagacity .*\n +migrate /s), stderr: '' });
    expect([helpOnOne.code, helpOnOne.stderr]).toEqual([0, '']);
    expect(helpOnOne.stdout).toMatch(/--url .*--schema .*--check .*--print .*--json .*Exit code: 0 .*1 .*2 /s);
  });

  test('does not claim success when nobody took its answer', async () => {
    const deaf = startSagacity(['migrate', '--print']);
    deaf.child.stdout?.destroy();

    const ended = await deaf.ended;

    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain('Standard output could not be written');
  });
});

function parsed(lines: string): unknown[] {
  return lines
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

function changed(url: string, parts: { readonly pathname?: string; readonly username?: string }): string {
  return Object.assign(new URL(url), parts).href;
}

/** Of this machine, where nothing listens: it was free a moment ago. */
async function unusedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('A TCP server has a port.');
  return address.port;
}

async function kill({ child, ended }: Running): Promise<void> {
  child.kill('SIGKILL');
  await ended;
}

/** The lock that every migration of the schema `sagacity` takes first. */
const theirTurn = `select pg_advisory_xact_lock(hashtextextended('sagacity.migration', 0))`;

/** The last table of the first migration, in a schema that is there: whoever makes it as well waits. */
const oneOfTheTables = 'create table sagacity.worker (id int)';

/** Does something in a transaction that stays open until it is released, and undone. */
async function held(url: string, text: string) {
  const [holder, onlooker] = [databaseAt(url), databaseAt(url)];
  await holder.unsafe(`begin; ${text}`).simple();
  const sessions = async () => {
    // Looks fifty times a second: more would take the processor from those that are waited for.
    const found = await onlooker<{ pid: number }[]>`
      select a.pid from pg_sleep(0.02), pg_stat_activity a
      where a.datname = current_database() and a.application_name = 'sagacity' and a.wait_event_type = 'Lock'`;
    return found.map(({ pid }) => pid);
  };
  return {
    /** Resolves with the sessions of migrating processes that wait, once they are `many`. */
    waited: (many: number) =>
      until(async () => {
        const waiting = await sessions();
        return waiting.length >= many ? waiting : null;
      }, `${many} migrations to wait`),
    /** Ends a session, as the server does when it learns that its client is gone. */
    async ended(pid: number | undefined) {
      await onlooker`select pg_terminate_backend(${pid ?? null}::int)`;
      await until(async () => ((await sessions()).length === 0 ? true : null), 'the session to end');
    },
    async release() {
      await holder`rollback`;
      await Promise.all([holder.end(), onlooker.end()]);
    },
  };
}
