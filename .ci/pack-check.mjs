// Proves that the package works for somebody who installs it: the tarball, in a project of its own with the peers a
// user has, is imported by every subpath, required from CommonJS, and compiled against with the oldest and the newest
// TypeScript we promise, under both module resolutions. The consumer files in test/package/consumers stand for users.
//
// Errors that TypeScript finds in the declarations of other packages are not ours and are left out; those in our own
// declarations count, which `skipLibCheck` would hide.

import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root, run } from './child.mjs';
import { pack } from './pack.mjs';
import { nameOf, subpaths } from './subpaths.mjs';
import { readOptions } from './options.mjs';

const usage = `Usage: npm run pack:check -- [--json]

Builds, packs, installs the tarball in an empty project and uses every subpath from there.

  --json   one JSON object a line on stdout, the last {"summary":"pack:check","subpaths":N,"ok":...}
  --help   this text

Exit code: 0 all ok, 1 something is wrong, 2 could not run.`;

const compilers = [
  { ts: '5.9', tsc: join(root, 'node_modules/typescript-5.9/bin/tsc') },
  { ts: '7', tsc: join(root, 'node_modules/typescript/bin/tsc') },
];

const resolutions = {
  nodenext: { module: 'nodenext', moduleResolution: 'nodenext' },
  bundler: { module: 'esnext', moduleResolution: 'bundler' },
};

/** What a user installs beside us, in the versions we develop with. */
const companions = ['xstate', 'drizzle-orm', '@electric-sql/pglite', '@types/node'];

class CouldNotRun extends Error {}

const options = readOptions(usage);
if (options !== undefined) await main(options);

async function main({ json }) {
  const work = mkdtempSync(join(tmpdir(), 'sagacity-pack-'));
  const modules = subpaths();
  try {
    const { rows, ok } = await check(work, modules);
    for (const row of rows) console.log(json ? JSON.stringify(row) : tableLine(row));
    if (json) console.log(JSON.stringify({ summary: 'pack:check', subpaths: modules.length, ok }));
    else console.log(`pack:check: ${modules.length} subpaths, ${ok ? 'ok' : 'FAILED'}`);
    process.exitCode = ok ? 0 : 1;
  } catch (error) {
    if (!(error instanceof CouldNotRun)) throw error;
    progress(error.message);
    if (json) console.log(JSON.stringify({ summary: 'pack:check', subpaths: modules.length, ok: false }));
    process.exitCode = 2;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

async function check(work, modules) {
  const built = await step('build', run('npm', ['run', '--silent', 'build']));
  const packed = built.ok ? await step('pack', pack(work)) : built;
  if (!packed.ok) return { rows: failedRows(modules), ok: false };
  const project = await install(work, packed.tarball);
  writeConsumers(project, modules);
  const errors = await typeErrors(project);
  const imports = new Map();
  for (const { subpath, specifier } of modules) imports.set(subpath, await loads(project, specifier));
  const rootLoadsAlone = await loadsWithoutOptionalPeers(project);
  if (!rootLoadsAlone) imports.set('.', false);
  const rows = modules.flatMap(({ subpath }) =>
    compilers.map(({ ts }) => {
      const types = !errors.some((error) => error.ts === ts && (error.file === undefined || error.file === subpath));
      return { subpath, ts, imports: imports.get(subpath), types, ok: imports.get(subpath) && types };
    }),
  );
  return { rows, ok: rows.every((row) => row.ok) };
}

function failedRows(modules) {
  return modules.flatMap(({ subpath }) =>
    compilers.map(({ ts }) => ({ subpath, ts, imports: false, types: false, ok: false })),
  );
}

async function install(work, tarball) {
  const project = join(work, 'consumer');
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'consumer', private: true, type: 'module' }));
  const wanted = companions.map((name) => `${name}@${installedVersion(name)}`);
  const quiet = ['--no-audit', '--no-fund', '--no-package-lock', '--ignore-scripts', '--prefer-offline'];
  const { ok } = await step('install', run('npm', ['install', ...quiet, tarball, ...wanted], { cwd: project }));
  if (!ok) throw new CouldNotRun('The consumer project could not be installed: npm must reach its registry or cache.');
  return project;
}

function installedVersion(name) {
  const manifest = join(root, 'node_modules', name, 'package.json');
  if (!existsSync(manifest)) throw new CouldNotRun(`${name} is not installed: npm ci`);
  return JSON.parse(readFileSync(manifest, 'utf8')).version;
}

function writeConsumers(project, modules) {
  for (const { subpath, specifier } of modules) {
    const from = join(root, 'test/package/consumers', `${nameOf(subpath)}.ts`);
    const to = join(project, `${nameOf(subpath)}.ts`);
    if (existsSync(from)) copyFileSync(from, to);
    else
      writeFileSync(
        to,
        `// test/package/consumers has no file that uses ${specifier}\nexport const missing: never = 0;\n`,
      );
  }
  for (const [resolution, how] of Object.entries(resolutions)) {
    const compilerOptions = {
      ...how,
      target: 'ES2022',
      lib: ['ES2023'],
      types: ['node'],
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      skipLibCheck: false,
      noEmit: true,
    };
    const files = modules.map(({ subpath }) => `${nameOf(subpath)}.ts`);
    writeFileSync(join(project, `tsconfig.${resolution}.json`), JSON.stringify({ compilerOptions, files }));
  }
}

/** All errors that are ours, with the subpath whose consumer file has them, or none if they are in the package. */
async function typeErrors(project) {
  const ofFile = new Map(subpaths().map(({ subpath }) => [`${nameOf(subpath)}.ts`, subpath]));
  const errors = [];
  for (const resolution of Object.keys(resolutions)) {
    const runs = compilers.map(async ({ ts, tsc }) => {
      const args = [tsc, '--project', `tsconfig.${resolution}.json`, '--pretty', 'false'];
      const { ok, output } = await run('node', args, { cwd: project });
      const lines = output.split('\n').filter((line) => /^\S.*error TS\d+/.test(line));
      const ours = lines.filter((line) => !/^node_modules\/(?!sagacity\/)/.test(line));
      for (const line of ours) {
        progress(`TypeScript ${ts}, ${resolution}: ${line}`);
        errors.push({ ts, file: ofFile.get(/^([^(]+)\(/.exec(line)?.[1] ?? '') });
      }
      // A compiler that fails without naming an error did not check anything.
      if (!ok && lines.length === 0) {
        progress(`TypeScript ${ts}, ${resolution}: ${output.trim()}`);
        errors.push({ ts, file: undefined });
      }
      const others = lines.length - ours.length;
      const aside = others > 0 ? `, ${others} in declarations of other packages left out` : '';
      progress(`types, TypeScript ${ts}, ${resolution}: ${ours.length} errors${aside}`);
    });
    await Promise.all(runs);
  }
  return errors;
}

/** Imports a subpath, and requires it, which a top-level await anywhere below it would forbid. */
async function loads(project, specifier) {
  const script = (body) => ['--input-type=module', '--eval', body];
  const name = JSON.stringify(specifier);
  const imported = await step(`import ${specifier}`, run('node', script(`await import(${name})`), { cwd: project }));
  const body = `const { createRequire } = await import('node:module'); createRequire(process.cwd() + '/x.cjs')(${name})`;
  const required = await step(`require ${specifier}`, run('node', script(body), { cwd: project }));
  return imported.ok && required.ok;
}

async function loadsWithoutOptionalPeers(project) {
  const { name, peerDependenciesMeta = {} } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const optional = Object.keys(peerDependenciesMeta).filter((peer) => peerDependenciesMeta[peer].optional === true);
  for (const peer of optional) rmSync(join(project, 'node_modules', peer), { recursive: true, force: true });
  progress(`removed ${optional.join(', ')}`);
  return loads(project, name);
}

/** Says how a piece of work ended, with what it printed if it failed. */
async function step(name, work) {
  const began = performance.now();
  const result = await work;
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  progress(`${result.ok ? 'ok    ' : 'FAILED'} ${seconds.padStart(5)} s  ${name}`);
  if (!result.ok) progress(result.output.trim().replace(/^/gm, '    '));
  return result;
}

function progress(line) {
  console.error(line);
}

function tableLine({ subpath, ts, imports, types, ok }) {
  const word = (good) => (good ? 'ok' : 'FAILED').padEnd(7);
  return `${subpath.padEnd(12)} TypeScript ${ts.padEnd(4)} imports ${word(imports)} types ${word(types)} ${word(ok)}`.trimEnd();
}
