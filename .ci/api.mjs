// Keeps the public names and types of each subpath as a readable report in test/package/api, so that every change of
// them shows in review. The reports are made from the built declarations (dist/), by api-extractor; without --update
// nothing in the repository is written, and a report that is missing, differs or has no subpath any more is a failure.
//
// Usage: node .ci/api.mjs [--update]     (after `npm run build`)

import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Extractor, ExtractorConfig } from '@microsoft/api-extractor';
import { root } from './child.mjs';
import { nameOf, subpaths } from './subpaths.mjs';

const committed = join(root, 'test/package/api');
const update = process.argv.includes('--update');
const work = mkdtempSync(join(tmpdir(), 'sagacity-api-'));

try {
  if (update) mkdirSync(committed, { recursive: true });
  const expected = new Set();
  let ok = true;
  for (const { subpath, types } of subpaths()) {
    const file = `${nameOf(subpath)}.api.md`;
    expected.add(file);
    const { report, problems } = extract(join(root, types), file);
    for (const problem of problems) console.log(`${subpath}: ${problem}`);
    if (problems.length > 0) ok = false;
    else if (!keep(file, report)) ok = false;
  }
  const present = existsSync(committed) ? readdirSync(committed) : [];
  for (const file of present.filter((name) => !expected.has(name))) {
    if (update) rmSync(join(committed, file));
    else console.log(`test/package/api/${file} belongs to no subpath`);
    ok = ok && update;
  }
  if (!ok && !update) console.log('If the change of the public names is meant: npm run api:update');
  process.exitCode = ok ? 0 : 1;
} finally {
  rmSync(work, { recursive: true, force: true });
}

/** Compares a fresh report with the committed one, or writes it; false if they differ. */
function keep(file, report) {
  const path = join(committed, file);
  const before = existsSync(path) ? readFileSync(path, 'utf8') : '';
  if (before === report) return true;
  if (update) {
    writeFileSync(path, report);
    console.log(`wrote test/package/api/${file}`);
    return true;
  }
  console.log(`test/package/api/${file} is ${before === '' ? 'missing' : 'out of date'}`);
  for (const line of difference(before.split('\n'), report.split('\n'))) console.log(line);
  return false;
}

/** Lines only one side has: enough to recognise the change; the exact one is what `git diff` shows after an update. */
function difference(before, after) {
  const gone = before.filter((line) => !after.includes(line)).map((line) => `  - ${line}`);
  const come = after.filter((line) => !before.includes(line)).map((line) => `  + ${line}`);
  return [...gone, ...come];
}

function extract(entry, file) {
  if (!existsSync(entry)) return { report: '', problems: [`${entry} does not exist; npm run build`] };
  const problems = [];
  const config = ExtractorConfig.prepare({
    configObjectFullPath: undefined,
    packageJsonFullPath: join(root, 'package.json'),
    configObject: {
      projectFolder: root,
      mainEntryPointFilePath: entry,
      newlineKind: 'lf',
      compiler: {
        overrideTsconfig: {
          compilerOptions: {
            target: 'ES2022',
            lib: ['ES2023'],
            module: 'nodenext',
            moduleResolution: 'nodenext',
            types: ['node'],
            strict: true,
            skipLibCheck: true,
          },
          files: [entry],
        },
      },
      apiReport: { enabled: true, reportFileName: file, reportFolder: work, reportTempFolder: join(work, 'temp') },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      messages: {
        extractorMessageReporting: {
          default: { logLevel: 'none' },
          // A type that users meet but cannot name: seen in the report, so that it is a decision.
          'ae-forgotten-export': { logLevel: 'none', addToApiReportFile: true },
        },
        tsdocMessageReporting: { default: { logLevel: 'none' } },
        compilerMessageReporting: { default: { logLevel: 'error' } },
      },
    },
  });
  Extractor.invoke(config, {
    localBuild: true,
    messageCallback: (message) => {
      message.handled = true;
      if (message.logLevel === 'error') problems.push(message.formatMessageWithLocation(root));
    },
  });
  const made = join(work, file);
  if (!existsSync(made)) return { report: '', problems: [...problems, 'api-extractor made no report'] };
  return { report: readFileSync(made, 'utf8'), problems };
}
