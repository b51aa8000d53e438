/** What a private cluster promises: it is real, it is nobody else's, it survives being killed, and it leaves nothing. */

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Sql } from 'postgres';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  privatePostgres,
  type PrivatePostgres,
  type PrivatePostgresOptions,
} from '../../src/testing/private-postgres/private-postgres.ts';
import { databaseAt, freshDatabase } from '../support/postgres.ts';
import { until } from '../support/world.ts';

const clients: Sql[] = [];

afterEach(async () => {
  vi.unstubAllEnvs();
  await Promise.all(clients.splice(0).map((sql) => sql.end({ timeout: 0 })));
});

describe('a private cluster', () => {
  let server: PrivatePostgres;

  beforeAll(async () => {
    server = await privatePostgres({
      binaries: 'local',
      settings: { autovacuum: 'off', work_mem: '3MB', cluster_name: `the shop's \\ own` },
    });
  });

  afterAll(() => server.close());

  test('answers at its url', async () => {
    const rows = await client(server.url)`select 1 as one`;

    expect(rows).toEqual([{ one: 1 }]);
  });

  test('tells where it is, what it is, and where it logs', async () => {
    const [row] = await client(server.url)`
      select inet_server_addr()::text as host, inet_server_port() as port,
        current_setting('server_version_num')::int / 10000 as version
    `;

    expect(row).toEqual({ host: `${server.host}/32`, port: server.port, version: server.version });
    expect(isThere(server.pid)).toBe(true);
    expect(await readFile(server.log, 'utf8')).toContain('database system is ready to accept connections');
  });

  test('has the settings that were asked for, and PostgreSQL decides on the others', async () => {
    const rows = await client(server.url)`
      select name, setting from pg_settings
      where name in ('autovacuum', 'work_mem', 'cluster_name', 'max_connections', 'fsync', 'synchronous_commit')
    `;

    expect(Object.fromEntries(rows.map(({ name, setting }) => [name, setting]))).toEqual({
      autovacuum: 'off',
      work_mem: '3072',
      cluster_name: `the shop's \\ own`,
      max_connections: '200',
      fsync: 'on',
      synchronous_commit: 'on',
    });
  });

  test('can be reached at no other address of this machine', async () => {
    const others = addressesOfThisMachine().filter((address) => address !== server.host);

    const reached = await Promise.all(others.map((address) => accepts(address, server.port)));
    const [row] = await client(server.url)`show listen_addresses`;

    expect(reached).toEqual(others.map(() => false));
    expect(await accepts(server.host, server.port)).toBe(true);
    expect(row).toEqual({ listen_addresses: '127.0.0.1' });
  });

  test('creates databases that are empty, each its own', async () => {
    const [one, other] = [await server.createDatabase(), await server.createDatabase()];
    const tables = (url: string) => client(url)`select tablename from pg_tables where schemaname = 'public'`;

    const before = await tables(one);
    await client(one)`create table orders (id text)`;

    expect(before).toEqual([]);
    expect(await tables(one)).toEqual([{ tablename: 'orders' }]);
    expect(await tables(other)).toEqual([]);
  });

  test('refuses to be started while it is up', async () => {
    await expect(server.start()).rejects.toThrow(`The PostgreSQL server is up (pid ${server.pid})`);
  });
});

describe('a private cluster that goes down and comes back', () => {
  let server: PrivatePostgres;

  beforeAll(async () => {
    server = await privatePostgres();
  });

  afterAll(() => server.close());

  test.each([
    ['is stopped', () => server.stop()],
    ['is stopped at once', () => server.stop('immediate')],
    ['is killed', () => server.kill()],
  ])('%s: keeps what was committed, and its port', async (_how, goDown) => {
    const url = await server.createDatabase();
    const { pid, port } = server;
    await client(url)`create table orders as select 'order-17' as id`;

    await goDown();
    const meanwhile = { pid: server.pid, accepts: await accepts(server.host, port), isThere: isThere(pid) };
    await server.start();

    expect(meanwhile).toEqual({ pid: null, accepts: false, isThere: false });
    expect(await client(url)`select id from orders`).toEqual([{ id: 'order-17' }]);
    expect(server.port).toBe(port);
    expect(server.pid).not.toBe(pid);
  });

  test('is killed while it is at work: can be started at once, because no process of it is left', async () => {
    const [watching, working] = [client(server.url), client(server.url)];
    // A backend at work does not notice that its postmaster is gone.
    const work = working`select count(*) from generate_series(1, 4000000)`.catch((error: Error) => error);
    await until(async () => {
      const busy = await watching`
        select pid from pg_stat_activity where state = 'active' and query like '%generate_series%' and pid <> pg_backend_pid()
      `;
      return busy.length > 0 ? busy : null;
    }, 'the server to be at work');

    await server.kill();
    await server.start();
    await work;

    expect(await client(server.url)`select 1 as one`).toEqual([{ one: 1 }]);
  });
});

describe('a private cluster that is closed', () => {
  test('leaves no process and no folder, also when it is closed twice, and cannot be started', async () => {
    const server = await privatePostgres();
    const { pid, log } = server;

    await Promise.all([server.close(), server.close()]);
    await server.close();

    expect(server.pid).toBeNull();
    expect(isThere(pid)).toBe(false);
    expect(existsSync(dirname(log))).toBe(false);
    await expect(server.start()).rejects.toThrow('This cluster is closed');
  });

  test('leaves no folder and no shared memory when it was killed before', async () => {
    const server = await privatePostgres();
    const folder = dirname(server.log);
    await server.kill();
    const segment = await segmentOf(folder);
    const before = await sharedMemory();

    await server.close();

    expect(before).toContain(segment);
    expect(await sharedMemory()).not.toContain(segment);
    expect(existsSync(folder)).toBe(false);
  });
});

describe('a private cluster whose process is killed', () => {
  test('is ended, and its folder removed', async () => {
    const script = fileURLToPath(new URL('./private-postgres.child.ts', import.meta.url));
    const child = spawn(process.execPath, ['--import', 'tsx', '--conditions=sagacity-source', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = await once(createInterface({ input: child.stdout }), 'line');
    // The script wrote it.
    const server = JSON.parse(line) as { pid: number; port: number; log: string };
    const before = { isThere: isThere(server.pid), accepts: await accepts('127.0.0.1', server.port) };

    child.kill('SIGKILL');

    expect(before).toEqual({ isThere: true, accepts: true });
    await until(() => (isThere(server.pid) ? null : true), 'the server to end');
    await until(() => (existsSync(dirname(server.log)) ? null : true), 'its folder to be removed');
    expect(await accepts('127.0.0.1', server.port)).toBe(false);
  });
});

describe('the cluster that all tests of a run share', () => {
  test('gives each test a database of its own, and need not survive a crash of the machine', async () => {
    const [one, other] = await Promise.all([freshDatabase(), freshDatabase()]);

    const [row] = await client(one)`select current_database() as name, current_setting('fsync') as fsync`;

    expect(row).toEqual({ name: new URL(one).pathname.slice(1), fsync: 'off' });
    expect(new URL(other).host).toBe(new URL(one).host);
    expect(other).not.toBe(one);
  });
});

describe('the programs of a private cluster', () => {
  test.each<[string, PrivatePostgresOptions, string | undefined]>([
    ['when asked for', { binaries: 'package' }, 'local'],
    ['when the environment says so', {}, 'package'],
  ])('are those of the npm package %s', async (_when, options, environment) => {
    vi.stubEnv('SAGACITY_TEST_POSTGRES', environment);

    const server = await privatePostgres(options);
    const [row] = await client(await server.createDatabase())`select version()`;
    await server.close();

    expect(server.version).toBe(18);
    expect(row?.['version']).toContain('PostgreSQL 18.');
  });

  test('cannot be those of a place nobody knows', async () => {
    vi.stubEnv('SAGACITY_TEST_POSTGRES', 'elsewhere');

    const starting = privatePostgres();

    await expect(starting).rejects.toThrow('SAGACITY_TEST_POSTGRES is "elsewhere". It can be "local" or "package"');
  });
});

describe('a private cluster that cannot start', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sagacity-'));
    await chmod(folder, 0o755);
  });

  afterEach(() => rm(folder, { recursive: true, force: true }));

  test('tells what the server logged, and leaves nothing', async () => {
    vi.stubEnv('TMPDIR', folder);

    const starting = privatePostgres({ settings: { no_such_setting: '1' } });

    await expect(starting).rejects.toThrow(/ended before it accepted connections.*"no_such_setting"/s);
    expect(await readdir(folder)).toEqual([]);
  });

  test('tells what initdb said, and leaves nothing', async () => {
    const [bin, empty] = [join(folder, 'bin'), join(folder, 'tmp')];
    await Promise.all([bin, empty].map((each) => mkdir(each)));
    await writeFile(join(bin, 'initdb'), '#!/bin/sh\necho "the disk is full" >&2\nexit 3\n', { mode: 0o755 });
    await writeFile(join(bin, 'postgres'), '');
    vi.stubEnv('PATH', `${bin}${delimiter}${process.env['PATH']}`);
    vi.stubEnv('TMPDIR', empty);

    const starting = privatePostgres({ binaries: 'local' });

    await expect(starting).rejects.toThrow(`${join(bin, 'initdb')} failed (exit 3)`);
    await expect(starting).rejects.toThrow('the disk is full');
    expect(await readdir(empty)).toEqual([]);
  });
});

/** Ended after each test; what the server did to it meanwhile does not matter. */
function client(url: string): Sql {
  const sql = databaseAt(url);
  clients.push(sql);
  return sql;
}

function addressesOfThisMachine(): string[] {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return all.filter(({ scopeid }) => !scopeid).map(({ address }) => address);
}

async function accepts(host: string, port: number): Promise<boolean> {
  const socket = connect(port, host);
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** The id of the server's segment of shared memory, which its lock file names at the end of the seventh line. */
async function segmentOf(folder: string): Promise<string | undefined> {
  const lines = (await readFile(join(folder, 'data', 'postmaster.pid'), 'utf8')).split('\n');
  return lines[6]?.trim().split(/\s+/)[1];
}

/** The ids of all segments of this machine. */
async function sharedMemory(): Promise<readonly (string | undefined)[]> {
  const { stdout } = await promisify(execFile)('ipcs', ['-m']);
  return stdout.split('\n').map((line) => line.split(/\s+/)[1]);
}

function isThere(pid: number | null): boolean {
  if (pid === null) return false;
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
