/**
 * Two copies of the library in one process are refused before anything is stored: what one of them made is a stranger
 * to the other. The refusal says where both are, so that somebody can remove one. The other copies here are real ones,
 * in folders of their own, loaded by processes of their own.
 */

import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { SagacityError } from 'sagacity';
import type { Host } from '../support/second-copy.child.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const own = join(root, 'src');
const program = join(root, 'test/support/second-copy.child.ts');

let folder: string;
let version: string;

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'sagacity-copy-')));
  ({ version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')));
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

/** The whole library in a folder of this test's; where that is. */
async function copied(name: string): Promise<string> {
  const copy = join(folder, name);
  await mkdir(copy);
  for (const part of ['src', 'machines', 'drizzle', 'package.json']) {
    await cp(join(root, part), join(copy, part), { recursive: true });
  }
  return copy;
}

/** What a host is refused with that loads the library and the copy in `of`; null: it works. */
async function refusalOf(host: Host, of: string): Promise<SagacityError | null> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--import', 'tsx', '--conditions=sagacity-source', program, host, of],
    { cwd: root, timeout: 60_000, killSignal: 'SIGKILL' },
  );
  return JSON.parse(stdout).refusal;
}

describe('a host into which another package brought a copy of its own', () => {
  let copy: string;
  beforeAll(async () => {
    copy = await copied('of-another-package');
  });

  test.each<Host>([
    'loads it',
    'lists a definition of it',
    'makes its orchestrator with it',
    'loads its postgres',
    'loads its pglite',
    'loads its xstate',
    'submits a definition of it later',
  ])('and that %s is told of both places, and how they become one', async (host) => {
    const refusal = await refusalOf(host, copy);

    expect(refusal).toMatchObject({ code: 'DEFINITION_INVALID', retryable: false });
    expect(refusal?.message).toContain('2 copies of sagacity are loaded in this process: ');
    expect(refusal?.message).toContain(`version ${version} at ${own}`);
    expect(refusal?.message).toContain(`version ${version} at ${join(copy, 'src')}`);
    expect(refusal?.message).toMatch(/Leave one: `npm ls sagacity` .* `npm dedupe` /);
  });

  test('is told of both versions when they differ', async () => {
    const later = await copied('of-another-version');
    const file = join(later, 'src/ports/copies.ts');
    const text = await readFile(file, 'utf8');
    await writeFile(file, text.replace(`'${version}'`, `'7.0.0'`));

    const refusal = await refusalOf('loads it', later);

    expect(refusal?.facts['copies']).toEqual([
      { version, place: own },
      { version: '7.0.0', place: join(later, 'src') },
    ]);
  });
});

describe('a host that loads the source of a package and what was built from it', () => {
  test('is told of both, which are two copies although the package is one', async () => {
    const built = await copied('dist');

    const refusal = await refusalOf('loads it', built);

    expect(refusal?.message).toContain(` at ${own} and version ${version} at ${join(folder, 'dist/src')}. `);
    expect(refusal?.message).toContain('load all of it under the same conditions');
  });
});

describe('a host that loads the same copy again, as a development server does', () => {
  test('works on, with definitions from before and from after', async () => {
    const before = await import('sagacity');
    const { memoryStore } = await import('sagacity/testing');

    vi.resetModules();
    const after = await import('sagacity');

    expect(after.operation).not.toBe(before.operation);
    for (const { createOrchestrator } of [before, after]) {
      const definitions = [before, after].map(({ operation, succeeded, typed }, n) =>
        operation(`card.charge-${n}`, {
          ...{ input: typed<string>(), key: () => 'order-17', execute: () => succeeded(null) },
          ...{ keyRetention: '24h', lookup: 'none' },
        }),
      );
      expect(createOrchestrator({ store: memoryStore(), definitions, tenant: 'shop-1' })).toBeDefined();
    }
  });
});
