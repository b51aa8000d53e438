/**
 * A worker in a process of its own on a shared database, and what a test does to it: let it halt, block its event loop,
 * freeze it, thaw it, kill it. What it has reached is awaited by what it says, and by the state of the process.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { setTimeout as passed } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Duration } from 'sagacity';
import type { RecordKind } from '../../src/ports/store.ts';
import { chargeCard } from '../support/shop.ts';
import type { SwiftTimes } from '../support/shared-database.ts';
import { until } from '../support/world.ts';

/** Short, so that a worker that is away is soon found dead. */
export const briefHeartbeat = { every: '200ms', timeout: '1s' } as const;

/** Where a charge pauses: before a turn that tells of this is sent to the store, or after the store has written it. */
export interface Pause {
  readonly side: 'before' | 'after';
  readonly turn: RecordKind;
  /** `halt`: this charge goes no further. `block` and `freeze`: nothing in the process does, until it is let go on. */
  readonly how: 'halt' | 'block' | 'freeze';
}

/** What a worker process is told on its command line. */
export interface WorkerTask {
  readonly database: string;
  readonly provider: string;
  readonly times: SwiftTimes;
  readonly heartbeat: { readonly every: Duration; readonly timeout: Duration };
  /** Charged in this order, the next one when the last has come to its pause. */
  readonly charges: readonly Charging[];
  /** Kills itself as soon as a late result is handed over, so that nothing that it does afterwards is seen. */
  readonly endAfterHandOver?: boolean;
}

export interface Charging {
  readonly orderId: string;
  /** The provider knows no key and cannot be asked. */
  readonly blind?: boolean;
  readonly pause?: Pause;
}

/** What a worker process says on its way. */
export type Word = `paused ${string}` | 'renewal refused' | 'handed over';

/** The charge of the shop at a provider that knows no key and cannot be asked. */
export function blindCharge(url: string) {
  return chargeCard(url, { action: 'card.charge-blindly', keyless: true, keyRetention: 'none', lookup: 'none' });
}

export interface WorkerProcess {
  /** Resolves when it has said this; rejects with its complaints when it ends without, or is silent for a minute. */
  said(word: Word): Promise<void>;
  /** Stops the whole process, by its id; resolves when it stands still. */
  freeze(): Promise<void>;
  /** Resolves when it stands still. */
  frozen(): Promise<void>;
  /** Lets a process go on that is blocked or frozen. */
  goOn(): void;
  /** Kills it, by its id, if it is still there; resolves when it is gone. */
  kill(): Promise<void>;
  /** Resolves when it is gone. */
  readonly ended: Promise<unknown>;
}

export function startWorker(task: WorkerTask): WorkerProcess {
  const child = spawn(
    process.execPath,
    [
      ...['--import', 'tsx', '--conditions=sagacity-source'],
      ...[fileURLToPath(new URL('./worker.child.ts', import.meta.url)), JSON.stringify(task)],
    ],
    { cwd: fileURLToPath(new URL('../..', import.meta.url)), stdio: ['pipe', 'pipe', 'pipe'] },
  );
  const { pid } = child;
  if (pid === undefined) throw new Error('No worker process could be started.');
  const ended = once(child, 'close');
  const frozen = () => until(async () => ((await stateOf(pid)) === 'T' ? true : null), 'the worker to be frozen');
  return {
    said: listenTo(child, ended),
    ended,
    async frozen() {
      await frozen();
    },
    async freeze() {
      process.kill(pid, 'SIGSTOP');
      await frozen();
    },
    goOn() {
      child.stdin.write('\n');
      process.kill(pid, 'SIGCONT');
    },
    async kill() {
      if (child.exitCode === null && child.signalCode === null) process.kill(pid, 'SIGKILL');
      await ended;
    },
  };
}

function listenTo(child: ChildProcess, ended: Promise<unknown>): WorkerProcess['said'] {
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
