/**
 * Kills a worker at the worst moment: the provider has committed, and nobody has written down that it did. That
 * moment is not guessed by time; the provider's log says when it has come. A kill counts only if the process ended by
 * that signal.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { ScriptedProvider } from 'sagacity/testing';
import type { Told } from './told.ts';

/** Starts a process that ends, at the latest, with the demo. */
export type StartProcess = (command: string, args: readonly string[]) => ChildProcess;

export interface KilledAndRestarted extends Told {
  readonly kills: number;
  /** How the second start met the operation: it is there already. */
  readonly submission: string;
  readonly resultId: string | null;
}

const PATIENCE_MS = 90_000;

/** Charges one order in a worker, kills it while the provider holds its reply, and starts the same worker again. */
export async function killAndRestart(
  provider: ScriptedProvider,
  start: StartProcess,
  database: string,
  orderId: string,
): Promise<KilledAndRestarted> {
  const args = [fileURLToPath(new URL('worker.ts', import.meta.url)), database, provider.url, orderId];
  await provider.faults(['commit-then-hold'], 'payment');
  const logged = provider.logged(({ event, kind }) => event === 'HOLD' && kind === 'payment');

  const first = start(process.execPath, args);
  const firstEnd = ended(first);
  const early = firstEnd.then(({ code, signal }) => {
    throw new Error(`The worker ended (${signal ?? `exit ${code}`}) before the provider had committed.`);
  });
  await inTime(Promise.race([logged, early]), 'the provider to commit');
  first.kill('SIGKILL');
  const { signal } = await inTime(firstEnd, 'the killed worker to be gone');

  const second = start(process.execPath, args);
  const { code, output } = await inTime(ended(second), 'the restarted worker');
  if (code !== 0) throw new Error(`The restarted worker ended with ${code}.`);
  // Our own worker prints what it says it prints.
  const report = JSON.parse(output) as Omit<KilledAndRestarted, 'kills'>;
  return { ...report, kills: signal === 'SIGKILL' ? 1 : 0 };
}

/** Starts a process whose standard input is ours to close; its complaints go where ours go. */
export function startNode(command: string, args: readonly string[]): ChildProcess {
  return spawn(command, [...process.execArgv, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
}

async function ended(child: ChildProcess) {
  const output = child.stdout === null ? Promise.resolve('') : text(child.stdout);
  // These are the arguments of a child process's exit event.
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  return { code, signal, output: await output };
}

async function inTime<Result>(work: Promise<Result>, what: string): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`Waited ${PATIENCE_MS / 1000} s for ${what}.`)), PATIENCE_MS);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
