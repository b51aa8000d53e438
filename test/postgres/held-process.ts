/**
 * A worker in a process of its own, and what a test does to it: freeze it, thaw it, let it go on where it is blocked,
 * kill it. What it has reached is awaited by what it says, and by the state of the process.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { setTimeout as passed } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { until } from '../support/world.ts';

export interface HeldProcess<Word extends string> {
  /** Resolves when it has said this; rejects with its complaints when it ends without, or is silent for a minute. */
  said(word: Word): Promise<void>;
  /** Stops the whole process, by its id; resolves when it stands still. */
  freeze(): Promise<void>;
  /** Resolves when it stands still. */
  frozen(): Promise<void>;
  /** Lets a process go on that is frozen; where it blocks next, it stays. */
  thaw(): void;
  /** Lets a process go on that is blocked or frozen. */
  goOn(): void;
  /** Kills it, by its id, if it is still there; resolves when it is gone. */
  kill(): Promise<void>;
  /** Resolves when it is gone. */
  readonly ended: Promise<unknown>;
}

/** Starts Node with these arguments. */
export function startHeld<Word extends string>(args: readonly string[]): HeldProcess<Word> {
  const child = spawn(process.execPath, args, {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const { pid } = child;
  if (pid === undefined) throw new Error('No worker process could be started.');
  const ended = once(child, 'close');
  const frozen = () => until(async () => ((await stateOf(pid)) === 'T' ? true : null), 'the worker to be frozen');
  const thaw = () => void process.kill(pid, 'SIGCONT');
  return {
    said: listenTo(child, ended),
    ...{ ended, thaw },
    async frozen() {
      await frozen();
    },
    async freeze() {
      process.kill(pid, 'SIGSTOP');
      await frozen();
    },
    goOn() {
      child.stdin.write('\n');
      thaw();
    },
    async kill() {
      if (child.exitCode === null && child.signalCode === null) process.kill(pid, 'SIGKILL');
      await ended;
    },
  };
}

function listenTo(child: ChildProcess, ended: Promise<unknown>): (word: string) => Promise<void> {
  const words = new Set<string>();
  const waiting = new Map<string, () => void>();
  const complaints: string[] = [];
  child.stderr?.on('data', (chunk: Buffer) => complaints.push(chunk.toString('utf8')));
  if (child.stdout !== null) {
    createInterface({ input: child.stdout }).on('line', (word) => {
      words.add(word);
      waiting.get(word)?.();
    });
  }
  return async (word) => {
    if (words.has(word)) return;
    const patience = new AbortController();
    const said = new Promise<string>((resolve) => waiting.set(word, () => resolve(word)));
    const first = await Promise.race([
      said,
      ended.then(() => 'is over'),
      passed(PATIENCE_MS, 'is silent', { signal: patience.signal, ref: false }),
    ]);
    patience.abort();
    if (words.has(word)) return;
    throw new Error(`The worker ${first} and has not said "${word}": ${complaints.join('').trim()}`);
  };
}

/** A process takes a second to start, and on a busy machine many times as long. */
const PATIENCE_MS = 60_000;

/** The state of a process as the kernel tells it: it stands after the name, which is in brackets. */
async function stateOf(pid: number): Promise<string | undefined> {
  const told = await readFile(`/proc/${pid}/stat`, 'utf8');
  return told.slice(told.lastIndexOf(')') + 2).split(' ')[0];
}
