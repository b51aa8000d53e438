/** One run of the server, from its start to its end. It accepts connections when its greeting comes. */

import { closeSync, openSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { Guard } from '../guard.ts';

export interface NatsServer {
  /** `null` once it has ended. */
  readonly pid: number | null;
  /** Resolves when it accepts connections; rejects when it ended instead, or after 30 seconds. */
  accepting(): Promise<void>;
  /** Sends a signal, if it is there; resolves when it has ended. */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
}

export interface NatsRun {
  readonly program: string;
  readonly guard: Guard;
  readonly port: number;
  readonly log: string;
  readonly args: readonly string[];
}

const patienceMs = 30_000;

export function startNatsServer({ program, guard, port, log, args }: NatsRun): NatsServer {
  const file = openSync(log, 'a');
  const child = guard.launch(program, ['-a', '127.0.0.1', '-p', String(port), ...args], ['ignore', file, file]);
  closeSync(file);
  const ended = new Promise<void>((resolve) => {
    child.once('close', () => resolve());
    child.once('error', () => resolve());
  });
  const isUp = () => child.pid !== undefined && child.exitCode === null && child.signalCode === null;
  return {
    get pid() {
      return isUp() ? (child.pid ?? null) : null;
    },
    async accepting() {
      const deadline = performance.now() + patienceMs;
      while (!(await isGreeting(port))) {
        const why = isUp() ? 'did not accept connections within 30 s' : 'ended before it accepted connections';
        if (!isUp() || performance.now() > deadline) {
          throw new Error(`The NATS server ${why}. The end of its log:\n${readFileSync(log, 'utf8').slice(-2_000)}`);
        }
        await pause(10);
      }
    },
    async end(signal) {
      child.kill(signal);
      await ended;
    },
  };
}

/** The server speaks first. */
function isGreeting(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const answer = (isThere: boolean) => {
      socket.destroy();
      resolve(isThere);
    };
    socket.setTimeout(1_000, () => answer(false));
    socket.once('error', () => answer(false));
    socket.once('data', (data) => answer(data.toString().startsWith('INFO')));
  });
}
