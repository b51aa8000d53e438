// Everything about the code that no test says: format, lint, clocks and chance, types, directions of imports, dead
// code, duplication, package shape and the public API. Each step is a command of its own and the authority on its
// subject; all run, two at a time, even if one fails. The package is built once, for the two steps that look at what
// users get; if the build fails, those fail with it.

import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root, run } from './child.mjs';
import { pack } from './pack.mjs';
import { readOptions } from './options.mjs';

const usage = `Usage: npm run check -- [--json]

Checks format, lint, clocks and chance, types, directions, dead code, duplication, build, package shape and API report.

  --json   one JSON object a line on stdout, the last {"summary":"check","ok":...}; what failed steps say on stderr
  --help   this text

Exit code: 0 all ok, 1 something is wrong, 2 could not run.`;

const atOnce = 2;

const depcruise = [
  '--import',
  './.ci/typescript-5.9.mjs',
  'node_modules/dependency-cruiser/bin/dependency-cruise.mjs',
  '--output-type',
  'err-long',
];

/** Longest first, so that the short ones fill the gaps. A step with `needs` waits for that step and shares its fate. */
const steps = [
  { step: 'build', run: () => run('npm', ['run', '--silent', 'build']) },
  { step: 'lint', run: () => run('oxlint', ['--type-aware', '--deny-warnings']) },
  { step: 'API report', needs: 'build', run: () => run('node', ['.ci/api.mjs']) },
  { step: 'package shape', needs: 'build', run: packageShape },
  { step: 'types', run: () => run('tsc', ['--noEmit']) },
  { step: 'dead code', run: () => run('knip', ['--treat-config-hints-as-errors', '--no-progress']) },
  { step: 'directions', run: () => run('node', [...depcruise, ...present(['src', 'machines', 'drizzle'])]) },
  { step: 'clocks and chance', run: clocksAndChance },
  { step: 'format', run: () => run('biome', ['format', '--reporter=summary', '--colors=off']) },
  { step: 'duplication', run: () => run('jscpd', ['--config', '.jscpd.json', '--no-colors', '--no-tips']) },
];

const options = readOptions(usage);
if (options !== undefined) await main(options);

async function main({ json }) {
  const began = performance.now();
  const results = await runAll(({ step, ok, seconds, output }) => {
    const said = output.trim();
    if (json) console.log(JSON.stringify({ step, ok, seconds }));
    else console.log(`${ok ? 'ok    ' : 'FAILED'} ${seconds.toFixed(1).padStart(5)} s  ${step}`);
    if (!ok && said !== '') (json ? console.error : console.log)(said.replace(/^/gm, '    '));
  });
  const failed = results.filter((result) => !result.ok).map((result) => result.step);
  const ok = failed.length === 0;
  const seconds = secondsSince(began);
  if (json) console.log(JSON.stringify({ summary: 'check', ok, steps: results.length, failed, seconds }));
  else console.log(ok ? `check: ok in ${seconds} s` : `check: ${failed.join(', ')} failed (${seconds} s)`);
  process.exitCode = ok ? 0 : 1;
}

/** Runs all steps, at most `atOnce` at a time, and tells of each as it ends. */
async function runAll(tell) {
  const waiting = [...steps];
  const results = [];
  const done = new Map();
  let wake = () => {};

  const lane = async () => {
    while (waiting.length > 0) {
      const index = waiting.findIndex((step) => step.needs === undefined || done.has(step.needs));
      if (index === -1) {
        // What is left waits for a step that the other lane is running.
        await new Promise((resolve) => {
          wake = resolve;
        });
        continue;
      }
      const [step] = waiting.splice(index, 1);
      const began = performance.now();
      const { ok, output } =
        step.needs !== undefined && !done.get(step.needs)
          ? { ok: false, output: `not run: ${step.needs} failed` }
          : await step.run();
      const result = { step: step.step, ok, output, seconds: secondsSince(began) };
      done.set(step.step, ok);
      results.push(result);
      tell(result);
      wake();
    }
  };

  await Promise.all(Array.from({ length: atOnce }, lane));
  return results;
}

/** A check that finds nothing proves nothing, unless it finds what was planted. */
async function clocksAndChance() {
  const selfTest = await run('node', ['.ci/ban-globals.mjs', '--self-test']);
  return selfTest.ok ? run('node', ['.ci/ban-globals.mjs']) : selfTest;
}

/** Looks at the tarball, because what matters is what users install. */
async function packageShape() {
  const work = mkdtempSync(join(tmpdir(), 'sagacity-shape-'));
  try {
    const packed = await pack(work);
    if (!packed.ok) return packed;
    const publint = await run('publint', ['run', packed.tarball, '--strict']);
    const attw = await run('attw', [packed.tarball, '--profile', 'esm-only', '--no-emoji', '--no-color']);
    return {
      ok: publint.ok && attw.ok,
      output: [publint, attw]
        .filter(({ ok }) => !ok)
        .map(({ output }) => output)
        .join('\n'),
    };
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Git keeps no empty folder, so one that has no file yet is missing in a clone. */
function present(folders) {
  return folders.filter((folder) => existsSync(join(root, folder)));
}

function secondsSince(began) {
  return Math.round((performance.now() - began) / 100) / 10;
}
