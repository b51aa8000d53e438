/** `sagacity check` on real databases: what it tells people and programs, how it ends, and that it changes nothing. */

import { migrate } from 'sagacity/postgres';
import { describe, expect, test } from 'vitest';
import { privateNats } from '../../src/testing/private-nats/private-nats.ts';
import { privatePostgres } from '../../src/testing/private-postgres/private-postgres.ts';
import { run } from '../support/other-users.ts';
import { transactionPooler } from '../support/transaction-pooler.ts';
import { emptyDatabase, PASSWORD, sagacity, startSagacity } from './command.ts';

describe.concurrent('a database in which nothing is wrong', () => {
  test('gets a row for each thing that was looked at', async () => {
    const server = await privatePostgres();
    const url = await server.createDatabase();
    await migrate({ url });

    const ended = await sagacity('check', '--url', url);
    await server.close();

    expect([ended.code, ended.stderr]).toEqual([0, '']);
    expect(ended.stdout.split('\n')).toEqual([
      expect.stringMatching(/^✓ database {2}PostgreSQL \d+, database \w+\.$/),
      '✓ database  Schema sagacity is up to date.',
      '✓ role      User postgres has the rights that are needed.',
      '✓ pooler    The settings of a session reach the server.',
      '✓ clock     This process and the database agree about the time, within 5 s.',
      '✓ standby   What is acknowledged is on disk.',
      expect.stringMatching(/^✓ pool {6}The store may open 6 connections, and the server has \d+ left for it\.$/),
      'sagacity: nothing is wrong',
      '',
    ]);
  });
});

test('NATS is looked at where it is named', async () => {
  const [url, server] = await Promise.all([emptyDatabase(), privateNats()]);
  await migrate({ url });

  const there = await sagacity('check', '--url', url, '--nats', server.url);
  await server.close();
  const gone = await sagacity('check', '--url', url, '--nats', server.url);

  expect(there.stdout).toMatch(/\n✓ nats {6}NATS 2\.\d+\.\d+ answers, and JetStream keeps timers\.\n/);
  expect(gone.stdout).toMatch(/\n! nats {6}NATS cannot be reached \(CONNECTION_REFUSED\)\.\n {12}Check the addresses/);
  expect([there.code, gone.code]).toEqual([0, 0]);
});

describe.concurrent('a database of which something is to be warned', () => {
  test('is told with what to do, and passes', async () => {
    const url = await emptyDatabase();
    await migrate({ url });

    const [told, listed] = await Promise.all([
      sagacity('check', '--url', url),
      startSagacity(['check', '--json'], { SAGACITY_URL: url }).ended,
    ]);

    expect([told.code, told.stderr]).toEqual([0, '']);
    expect(told.stdout).toMatch(/\n! standby {3}fsync is off: a crash loses .*\n {12}Turn it on, .*\n/);
    expect(told.stdout).toMatch(/\nsagacity: 1 warning\n$/);
    expect(listed.code).toBe(0);
    expect(parsed(listed.stdout).filter(({ level }) => level !== 'ok')).toEqual([
      {
        ...{ check: 'standby', level: 'warning' },
        says: expect.stringMatching(/^fsync is off/),
        remedy: expect.stringMatching(/^Turn it on/),
      },
      { summary: 'check', ok: true, schema: 'sagacity', faults: 0, warnings: 1 },
    ]);
  });
});

describe.concurrent('a database that the store could not start on', () => {
  test('is refused, and left as it is', async () => {
    const url = await emptyDatabase();

    const told = await sagacity('check', '--url', url);
    const listed = await sagacity('check', '--json', '--schema', 'other', '--url', url);
    const schemas = await run(url, "select from pg_namespace where nspname in ('sagacity', 'other')");

    expect([told.code, told.stderr]).toEqual([1, '']);
    expect(told.stdout).toMatch(
      /\n✗ database {2}The schema sagacity lacks 0000_operations.*\n {12}Run: npx sagacity mig/,
    );
    expect(told.stdout).toMatch(/\nsagacity: 1 fault, 1 warning\n$/);
    expect(listed.code).toBe(1);
    expect(parsed(listed.stdout).at(-1)).toMatchObject({ summary: 'check', ok: false, schema: 'other', faults: 1 });
    expect(schemas).toHaveLength(0);
  });

  test('because nothing listens there, is answered as well', async () => {
    const ended = await sagacity('check', '--url', `postgres://owner:${PASSWORD}@127.0.0.1:1/shop`);

    expect([ended.code, ended.stderr]).toEqual([1, '']);
    expect(ended.stdout).toMatch(/^✗ database {2}.* could not be reached \(ECONNREFUSED\)\.\n.*\nsagacity: 1 fault\n$/);
  });
});

describe.concurrent('a database behind a transaction pooler', () => {
  test('is in order once the pooler is told of', async () => {
    const url = await emptyDatabase();
    await migrate({ url });
    const pooler = await transactionPooler(url, { settings: 'refused' });

    const [untold, toldOf] = await Promise.all([
      sagacity('check', '--url', pooler.url),
      sagacity('check', '--pooler', '--url', pooler.url),
    ]);
    await pooler.close();

    expect([untold.code, toldOf.code]).toEqual([1, 0]);
    expect(untold.stdout).toMatch(/^✗ pooler {4}.*a transaction pooler is in between/);
    expect(toldOf.stdout).toContain('✓ pooler    Nothing depends on a session.');
  });
});

describe.concurrent('words that mean nothing', () => {
  test.each<[string, string[], string]>([
    ['no url', ['check'], 'No database was named. Give --url <url>'],
    ['a url that is none', ['check', '--url', `shop:${PASSWORD}@db`], 'url is no url of a PostgreSQL server.'],
    ['a schema that is none', ['check', '--url', 'postgres://o@db/shop', '--schema', 'S'], 'cannot be the schema'],
    ['a misspelt option', ['check', '--scheme', 'shop'], "unknown option '--scheme'\n(Did you mean --schema?)"],
  ])('are refused before anything is asked: %s', async (_what, words, said) => {
    const ended = await sagacity(...words);

    expect([ended.code, ended.stdout]).toEqual([2, '']);
    expect(ended.stderr).toContain(said);
  });
});

function parsed(lines: string): Record<string, unknown>[] {
  return lines
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}
