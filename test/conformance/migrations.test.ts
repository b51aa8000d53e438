/** The tables in Drizzle, the SQL files, the embedded text and what a database says it ran are one and the same. */

import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { PGlite } from '@electric-sql/pglite';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { embeddedMigrations } from '../../drizzle/embed.ts';
import { type Migration, migrations } from '../../drizzle/migrations.ts';
import { rendered } from '../../src/adapters/postgres/executor.ts';
import { applyMigrations, type MigrationDriver } from '../../src/adapters/postgres/migrate.ts';
import { pgliteStore } from '../../src/pglite.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

describe('the migrations in the repository', () => {
  test('are embedded as the files have them', async () => {
    const committed = await readFile(join(root, 'drizzle/migrations.ts'), 'utf8');

    expect(committed).toBe(embeddedMigrations());
  });

  test('lead to the tables that Drizzle knows, so that generating yields nothing new', async () => {
    const out = await mkdtemp(join(tmpdir(), 'sagacity-drizzle-'));
    await cp(join(root, 'drizzle'), out, { recursive: true });
    const before = await readdir(out);

    const { stdout } = await run(
      process.execPath,
      [
        join(root, 'node_modules/drizzle-kit/bin.cjs'),
        'generate',
        '--dialect=postgresql',
        '--schema=./drizzle/tables.ts',
        `--out=${relative(root, out)}`,
      ],
      { cwd: root },
    );

    expect(stdout).toContain('No schema changes');
    expect(await readdir(out)).toEqual(before);
    await rm(out, { recursive: true });
  });
});

describe('a database', () => {
  let instance: PGlite;
  let driver: MigrationDriver;

  beforeAll(async () => {
    instance = await PGlite.create();
    driver = {
      read: async (statement) => {
        const { text, values } = rendered(statement);
        return (await instance.query<Record<string, unknown>>(text, [...values])).rows;
      },
      batch: async (text) => {
        await instance.exec(text);
      },
    };
  });

  beforeEach(async () => {
    await instance.exec('drop schema if exists sagacity cascade');
  });

  afterAll(() => instance.close());

  const migrate = (list?: readonly Migration[]) => applyMigrations(driver, 'sagacity', list);

  const applied = async (): Promise<unknown[]> =>
    (await instance.query('select number, name, checksum from sagacity.migration order by number')).rows;

  const second = (sql: string): Migration[] => [...migrations, { number: 1, name: '0001_more', checksum: 'c1', sql }];

  test('gets every migration once, by however many at the same moment', async () => {
    await Promise.all([migrate(), migrate(), migrate()]);
    await migrate();

    expect(await applied()).toEqual(migrations.map(({ number, name, checksum }) => ({ number, name, checksum })));
  });

  test('gets a later migration on top of the earlier ones', async () => {
    await migrate();

    await migrate(second('create table sagacity.more (a int);'));

    expect((await applied()).length).toBe(2);
    expect((await instance.query('select * from sagacity.more')).rows).toEqual([]);
  });

  test('has nothing of a migration that failed half-way', async () => {
    await migrate();

    const migrating = migrate(second('create table sagacity.more (a int); select 1 / 0;'));

    await expect(migrating).rejects.toMatchObject({ code: '22012' });
    expect((await applied()).length).toBe(1);
    await expect(instance.query('select * from sagacity.more')).rejects.toMatchObject({ code: '42P01' });
  });

  test('that is newer than this version is refused, with both versions and what to do', async () => {
    await migrate(second('create table sagacity.more (a int);'));

    const opening = pgliteStore({ instance }).open();

    await expect(opening).rejects.toMatchObject({
      code: 'SCHEMA_OUTDATED',
      message: expect.stringMatching(/migration 1, .* up to 0\. Install the version of sagacity/),
      facts: { found: 1, newest: 0 },
    });
  });

  test('that ran another text under the same number is refused untouched', async () => {
    await migrate();
    await instance.exec(`update sagacity.migration set checksum = 'another'`);

    const migrating = migrate(second('create table sagacity.more (a int);'));

    await expect(migrating).rejects.toMatchObject({ code: 'SCHEMA_OUTDATED', facts: { number: 0, found: 'another' } });
    expect((await applied()).length).toBe(1);
  });
});
