/**
 * Workers in processes of their own, on a database in a directory, that kill themselves at a named point. Nothing is
 * simulated: the process is gone, and what is left is the directory and what the provider did.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { operation, type Result, typed } from 'sagacity';
import { pgliteStore } from 'sagacity/pglite';
import type { LogEvent } from '../../src/testing/provider/log.ts';
import type { CallModeName } from '../../src/testing/provider/modes.ts';
import { operationId, type Scope, scopeOf } from '../../src/domain/idempotency.ts';
import type { RecordKind } from '../../src/ports/store.ts';
import { chargeCard, type Payment } from './shop.ts';

/** A point in the life of an operation: around the n-th turn that tells of something, or when the provider logs an event. */
export type Point =
  | { readonly side: 'before' | 'after'; readonly turn: RecordKind; readonly nth?: number }
  | { readonly logged: LogEvent };

/** A payment to charge. `calls` is what the provider makes of it; at `haltAt` the operation goes no further. */
export interface Charging {
  readonly orderId: string;
  readonly calls?: readonly CallModeName[];
  readonly haltAt?: Point;
}

/** What a worker process is told on its command line: it takes its steps one after the other. */
export interface WorkerTask {
  readonly directory: string;
  readonly url: string;
  /** Charged in this order, the next one when the last is settled or halted. If any is halted, the worker then kills itself. */
  readonly charges: readonly Charging[];
  /** The worker kills itself before it writes the first turn that tells of this, whatever the operation. */
  readonly dieBefore?: RecordKind;
  /** Ids of operations that it waits for, until each is settled. */
  readonly settle: readonly string[];
}

/** What a worker process says of each operation that it has settled. */
export interface WorkerReport {
  readonly id: string;
  readonly result: Result<unknown>;
  readonly history: readonly string[];
}

export interface WorkerEnd {
  readonly signal: NodeJS.Signals | null;
  readonly code: number | null;
  readonly reports: readonly WorkerReport[];
  readonly complaints: string;
}

export function scopeOfCharge(orderId: string): Scope {
  return scopeOf('shop-1', 'card.charge', orderId);
}

export function idOfCharge(orderId: string): string {
  return operationId(scopeOfCharge(orderId));
}

/** The charge of the shop with times that a real clock gets through soon, and a busy machine does not run into. */
export function quickCharge(url: string) {
  const { execute, find, key } = chargeCard(url).options;
  if (find === null || key === null) throw new Error('A charge has a key and can be looked up.');
  return operation('card.charge', {
    input: typed<Payment>(),
    key,
    execute,
    keyRetention: '24h',
    lookup: { visibleWithin: '100ms', every: '200ms', find },
    timeout: '5s',
    sendWithin: '2s',
    retry: { attempts: 5, backoff: 'fixed', delay: '100ms', jitter: 'none' },
  });
}

/** Empty, migrated directories: the first takes seconds to make, the others are copies of it. */
export async function preparedDirectories(): Promise<{ next(): Promise<string>; remove(): Promise<void> }> {
  const root = await mkdtemp(join(tmpdir(), 'sagacity-crash-'));
  const original = join(root, 'original');
  const store = pgliteStore(original);
  await store.open();
  await store.close();
  let copies = 0;
  return {
    async next() {
      copies += 1;
      const directory = join(root, `copy-${copies}`);
      await cp(original, directory, { recursive: true });
      return directory;
    },
    remove: () => rm(root, { recursive: true, force: true }),
  };
}

export interface WorkerProcess {
  readonly ended: Promise<WorkerEnd>;
  /** Kills the process, by its id, if it is still there. */
  kill(): Promise<void>;
}

export function startWorker(task: WorkerTask): WorkerProcess {
  const script = fileURLToPath(new URL('./worker.child.ts', import.meta.url));
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', '--conditions=sagacity-source', script, JSON.stringify(task)],
    { cwd: fileURLToPath(new URL('../..', import.meta.url)), stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const ended = endOf(child);
  return {
    ended,
    async kill() {
      if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
        process.kill(child.pid, 'SIGKILL');
      await ended;
    },
  };
}

async function endOf(child: ChildProcess): Promise<WorkerEnd> {
  const said: string[] = [];
  const complaints: string[] = [];
  child.stdout?.on('data', (chunk: Buffer) => said.push(chunk.toString('utf8')));
  child.stderr?.on('data', (chunk: Buffer) => complaints.push(chunk.toString('utf8')));
  await once(child, 'close');
  const text = said.join('').trim();
  return {
    signal: child.signalCode,
    code: child.exitCode,
    // Each line the script writes is a report.
    reports: text === '' ? [] : text.split('\n').map((line) => JSON.parse(line) as WorkerReport),
    complaints: complaints.join('').trim(),
  };
}
