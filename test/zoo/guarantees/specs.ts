/**
 * Runs specifications with vitest, in a process of its own, and reads its report. What cannot be read from the report
 * did not run: nothing is concluded from an exit code alone.
 */

import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { root } from '../defect.ts';

/** What became of one specification. */
export interface SpecReport {
  readonly spec: string;
  readonly tests: number;
  readonly failed: readonly FailedTest[];
  /** Why the file did not get as far as its tests; null: it did. */
  readonly broken: string | null;
}

export interface FailedTest {
  readonly title: string;
  /** One for the test, and one for each hook that failed after it. */
  readonly messages: readonly string[];
}

/** Nobody could tell what became of the specifications. */
export class SpecsDidNotRun extends Error {
  override readonly name = 'SpecsDidNotRun';
}

export interface SpecRun {
  readonly specs: readonly string[];
  /** Added to the environment: the defect, if there is one. */
  readonly env?: Readonly<Record<string, string>>;
  /** Ends the run before its time; then it rejects. */
  readonly signal?: AbortSignal | undefined;
}

/** The reports of the specifications, by their paths from the repository. Rejects with SpecsDidNotRun. */
export async function runSpecs({ specs, env = {}, signal }: SpecRun): Promise<ReadonlyMap<string, SpecReport>> {
  const folder = await mkdtemp(join(tmpdir(), 'sagacity-specs-'));
  try {
    const file = join(folder, 'report.json');
    const said = await vitest([...specs, '--reporter=json', `--outputFile=${file}`], env, signal);
    signal?.throwIfAborted();
    const report = await readFile(file, 'utf8').catch(() => {
      throw new SpecsDidNotRun(`vitest left no report: ${lastLine(said)}`);
    });
    const reports = reportsIn(report);
    const missing = specs.filter((spec) => !reports.has(spec));
    if (missing.length > 0) throw new SpecsDidNotRun(`vitest did not run ${missing.join(', ')}: ${lastLine(said)}`);
    return reports;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Resolves, with what it complained of, when vitest has ended, well or badly. */
async function vitest(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  signal: AbortSignal | undefined,
): Promise<string> {
  const child = spawn(
    process.execPath,
    ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/zoo/vitest.config.ts', ...args],
    { cwd: root, env: { ...unconcerned(process.env), ...env, NO_COLOR: '1' }, stdio: ['ignore', 'ignore', 'pipe'] },
  );
  const end = () => child.kill('SIGTERM');
  signal?.addEventListener('abort', end);
  try {
    const [complaints] = await Promise.all([text(child.stderr), once(child, 'exit')]);
    return complaints;
  } finally {
    signal?.removeEventListener('abort', end);
  }
}

/** Without what belongs to a run that this one was started from, and without figures: they would be a defect's. */
function unconcerned(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => !/^(VITEST|SAGACITY_DEFECT|SAGACITY_FIGURES$)/.test(name)),
  );
}

/** What vitest's JSON reporter writes, as far as it is read here. */
interface VitestReport {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly failureMessages: readonly string[] | null;
    }[];
  }[];
}

function reportsIn(json: string): ReadonlyMap<string, SpecReport> {
  // Written by vitest, whose version is pinned.
  const { testResults } = JSON.parse(json) as VitestReport;
  return new Map(
    testResults.map(({ name, status, message, assertionResults }) => {
      const spec = relative(root, name);
      const failed = assertionResults
        .filter((test) => test.status === 'failed')
        .map(({ fullName, failureMessages }) => ({ title: fullName, messages: failureMessages ?? [] }));
      const broken = status === 'failed' && failed.length === 0 ? firstLine(message) : null;
      return [spec, { spec, tests: assertionResults.length, failed, broken }];
    }),
  );
}

export function firstLine(said: string): string {
  return said.trim().split('\n')[0] ?? '';
}

function lastLine(said: string): string {
  return said.trim().split('\n').at(-1) ?? '';
}
