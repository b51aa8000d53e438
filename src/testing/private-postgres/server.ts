/**
 * One run of the server, from its start to the end of its last process. PostgreSQL is the authority on both: it writes
 * into its lock file when it accepts connections, and all of its processes inherit a pipe that closes with the last.
 */

import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import type { Installation } from './initialise.ts';

export interface Server {
  /** Of the postmaster; `null` once that has ended. */
  readonly pid: number | null;
  /** Resolves when it accepts connections; rejects with a `NotStarted` when it ended instead, or after 30 seconds. */
  accepting(): Promise<void>;
  /** Sends the postmaster a signal, if it is there; resolves when its last process has ended. */
  end(signal: 'SIGINT' | 'SIGQUIT' | 'SIGKILL'): Promise<void>;
}

export class NotStarted extends Error {
  readonly addressInUse: boolean;

  constructor(what: string, logged: string) {
    super(`${what} The end of its log:\n${logged.slice(-2_000)}`);
    this.addressInUse = logged.includes('could not create any TCP/IP sockets');
  }
}

const patienceMs = 30_000;

export function startServer({ bin, data, log, guard }: Installation, port: number): Server {
  const file = openSync(log, 'a');
  const before = statSync(log).size;
  const child = guard.launch(join(bin, 'postgres'), ['-D', data, '-p', String(port)], ['ignore', file, file, 'pipe']);
  closeSync(file);
  const held = child.stdio[3];
  if (held instanceof Readable) held.resume();
  let fault: Error | null = null;
  child.on('error', (error) => {
    fault = error;
  });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const isUp = () => child.exitCode === null && child.signalCode === null;
  const logged = () => readFileSync(log).subarray(before).toString('utf8');
  return {
    get pid() {
      return isUp() ? (child.pid ?? null) : null;
    },
    async accepting() {
      const deadline = performance.now() + patienceMs;
      while (!(await isReady(data, child.pid))) {
        if (fault !== null) throw fault;
        if (!isUp()) throw new NotStarted('The PostgreSQL server ended before it accepted connections.', logged());
        if (performance.now() > deadline) {
          throw new NotStarted('The PostgreSQL server did not accept connections within 30 s.', logged());
        }
        await pause(10);
      }
    },
    async end(signal) {
      child.kill(signal);
      const giveUp = new AbortController();
      const late = pause(patienceMs, 'late', giveUp).catch(() => undefined);
      const which = await Promise.race([ended, late]);
      giveUp.abort();
      if (which === 'late')
        throw new Error(`The PostgreSQL server did not end within 30 s of ${signal}. Its log: ${log}`);
    },
  };
}

/**
 * Removes the shared memory that a killed server leaves in the system, as its next start would. PostgreSQL does so
 * before it looks at anything else, also when it is only told to check that it could start.
 */
export async function clearAfterKill({ bin, data, guard }: Installation): Promise<void> {
  if (!existsSync(lockFileIn(data))) return;
  await once(guard.launch(join(bin, 'postgres'), ['--check', '-D', data], 'ignore'), 'close');
}

/** Its lock file names the postmaster in the first line, and in the eighth how far it is, as pg_ctl reads it too. */
async function isReady(data: string, pid: number | undefined): Promise<boolean> {
  const lines = await readFile(lockFileIn(data), 'utf8').then(
    (text) => text.split('\n'),
    () => [],
  );
  return lines[0] === String(pid) && lines[7]?.trim() === 'ready';
}

function lockFileIn(data: string): string {
  return join(data, 'postmaster.pid');
}
