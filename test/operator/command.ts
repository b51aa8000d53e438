/** The command `sagacity` as people run it: a process of its own, known by what it printed and how it ended. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { freshDatabase } from '../support/postgres.ts';

export interface Ended {
  /** Null: a signal ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
}

/** Part of every url that these tests give to the command; wherever it shows, a password has been shown. */
export const PASSWORD = 'open-sesame-17';

/** The url of an empty database, with a password in it, which the cluster does not ask for. */
export async function emptyDatabase(): Promise<string> {
  const url = new URL(await freshDatabase());
  url.password = PASSWORD;
  return url.href;
}

const root = fileURLToPath(new URL('../..', import.meta.url));
const main = ['--import', 'tsx', '--conditions=sagacity-source', 'src/operator/main.ts'];

/** Starts it. Of the databases that the environment may name, it sees those in `environment` alone. */
export function startSagacity(words: readonly string[], environment: Readonly<Record<string, string>> = {}): Running {
  const { SAGACITY_URL: _, DATABASE_URL: __, ...inherited } = process.env;
  const child = spawn(process.execPath, [...main, ...words], {
    ...{ cwd: root, env: { ...inherited, ...environment }, stdio: ['ignore', 'pipe', 'pipe'] },
    // One that hangs has failed its test by then, and does not outlive it for long.
    ...{ timeout: 60_000, killSignal: 'SIGKILL' },
  });
  return { child, ended: endOf(child) };
}

/** Runs it to its end. */
export function sagacity(...words: string[]): Promise<Ended> {
  return startSagacity(words).ended;
}

async function endOf(child: ChildProcess): Promise<Ended> {
  const said = { stdout: '', stderr: '' };
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (said.stdout += text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (said.stderr += text));
  await once(child, 'close');
  if (`${said.stdout}${said.stderr}`.includes(PASSWORD)) throw new Error('The command showed a password.');
  return { code: child.exitCode, ...said };
}
