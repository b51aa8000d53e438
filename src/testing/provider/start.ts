/**
 * Starts a scripted provider for a test, in this process or in one of its own. In its own process it survives the
 * death of every worker under test, and its ledger is a proof that no bug of ours can have touched.
 */

import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { dirname, resolve as absolute } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { providerAt } from './client.ts';
import type { ProviderClient } from './client.ts';
import { isObject } from './payload.ts';
import { startServer } from './server.ts';
import type { ServerOptions } from './server.ts';

export interface ScriptedProvider extends ProviderClient {
  /** The process the provider lives in: this one, or its own. */
  readonly pid: number;
  /** Stops the provider; resolves when it is gone. A `logged` that still waits rejects. */
  close(): Promise<void>;
}

export type SpawnOptions = Pick<ServerOptions, 'port' | 'ledger' | 'keyHeader'>;

/**
 * Starts a provider inside this process. The promise resolves when it listens on 127.0.0.1.
 *
 * @example
 * const provider = await scriptedProvider();
 * await provider.faults(['commit-then-drop']);
 * // ... run the code under test against provider.url ...
 * const made = await provider.records({ key: 'order-17' });
 * await provider.close();
 */
export async function scriptedProvider(options: ServerOptions = {}): Promise<ScriptedProvider> {
  const server = await startServer(options);
  return { ...providerAt(server.url), pid: process.pid, close: () => server.close() };
}

/**
 * Starts a provider in a process of its own. The promise resolves when it listens, and rejects with what the process
 * said when it could not start. `close()` stops that process by its id; should this process die first, the provider
 * ends by itself, so that no test run leaves one behind.
 */
export async function spawnProvider(options: SpawnOptions = {}): Promise<ScriptedProvider> {
  const isSource = import.meta.url.endsWith('.ts');
  const command = fileURLToPath(new URL(isSource ? './main.ts' : './main.js', import.meta.url));
  const loader = isSource ? ['--import', 'tsx'] : [];
  const child = spawn(process.execPath, [...loader, command, ...flagsOf(options)], {
    // The loader is found from here, wherever the tests were started.
    cwd: dirname(command),
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const { url, pid } = await listening(child);
  return {
    ...providerAt(url),
    pid,
    async close() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, 'exit');
      process.kill(pid, 'SIGTERM');
      await gone;
    },
  };
}

function flagsOf({ port = 0, ledger, keyHeader }: SpawnOptions): string[] {
  return [
    '--json',
    '--until-stdin-ends',
    '--port',
    String(port),
    ...(ledger === undefined ? [] : ['--ledger', absolute(ledger)]),
    ...(keyHeader === undefined ? [] : ['--key-header', keyHeader]),
  ];
}

function listening(child: ChildProcess): Promise<{ url: string; pid: number }> {
  return new Promise((resolve, reject) => {
    const complaints: string[] = [];
    child.stderr?.on('data', (chunk: Buffer) => complaints.push(chunk.toString('utf8')));
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      reject(new Error(`The provider did not start (${signal ?? `exit ${code}`}): ${complaints.join('').trim()}`));
    });
    if (child.stdout === null) return;
    // The lines after the first are read and let go: a full pipe would stop the provider.
    createInterface({ input: child.stdout }).on('line', (line) => {
      const told = readLine(line);
      if (told !== undefined) resolve(told);
    });
  });
}

function readLine(line: string): { url: string; pid: number } | undefined {
  const told: unknown = JSON.parse(line);
  if (!isObject(told)) return undefined;
  const { listening: url, pid } = told;
  return typeof url === 'string' && typeof pid === 'number' ? { url, pid } : undefined;
}
