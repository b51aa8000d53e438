/**
 * A NATS server for tests alone, with JetStream, in a folder and on a port of its own, that can be stopped, killed,
 * emptied and started again like the real one it is; or several of them as one cluster. It listens on 127.0.0.1 only.
 * Should this process die without closing it, even by SIGKILL, the server is ended and the folder removed within
 * seconds. Linux and macOS.
 */

import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { guardFolder } from '../guard.ts';
import { type NatsServer, startNatsServer } from './server.ts';

export interface PrivateNatsOptions {
  /** Whoever connects has to give these. */
  readonly credentials?: { readonly user: string; readonly pass: string };
  /** `false`: it keeps nothing, as a server on which JetStream is not enabled. */
  readonly jetStream?: boolean;
}

export interface PrivateNats {
  /** `nats://127.0.0.1:PORT`, without credentials. */
  readonly url: string;
  readonly port: number;
  /** `null` while it is down. */
  readonly pid: number | null;
  /** Resolves when the server has ended; what JetStream keeps stays. */
  stop(): Promise<void>;
  /** SIGKILL. Resolves when it has ended. */
  kill(): Promise<void>;
  /** Forgets everything that JetStream keeps. Only while it is down. */
  empty(): Promise<void>;
  /** Starts it again on the same port, as before or otherwise; resolves when it accepts connections. */
  start(options?: PrivateNatsOptions): Promise<void>;
  /** Ends it and removes its folder. A second call does nothing. */
  close(): Promise<void>;
}

/**
 * Starts a server. The promise resolves when it accepts connections, and rejects with what to install when the machine
 * has none.
 *
 * @example
 * const server = await privateNats();
 * const waker = natsWaker({ servers: server.url });
 * // ...
 * await server.kill();
 * await server.empty();
 * await server.start();
 * await server.close();
 */
export async function privateNats(options: PrivateNatsOptions = {}): Promise<PrivateNats> {
  const [port = 0] = await freePorts(1);
  return await launched(port, [], options);
}

/** Starts three servers as one cluster; resolves when they have found each other. */
export async function privateNatsCluster(): Promise<readonly [PrivateNats, PrivateNats, PrivateNats]> {
  const [one = 0, two = 0, three = 0, ...routes] = await freePorts(6);
  const known = routes.map((route) => `nats://${host}:${route}`).join(',');
  const member = (port: number, index: number) =>
    launched(port, [
      ...['--name', `member-${index + 1}`, '--cluster_name', 'private'],
      ...['--cluster', `nats://${host}:${routes[index]}`, '--routes', known],
    ]);
  return await Promise.all([member(one, 0), member(two, 1), member(three, 2)]);
}

const host = '127.0.0.1';

async function launched(port: number, more: readonly string[], options: PrivateNatsOptions = {}): Promise<PrivateNats> {
  const program = await natsServerProgram();
  const folder = await mkdtemp(join(tmpdir(), 'sagacity-nats-'));
  const guard = await guardFolder(folder, null);
  const [store, log] = [join(folder, 'store'), join(folder, 'server.log')];
  const run = ({ credentials, jetStream = true }: PrivateNatsOptions) => {
    const keeping = jetStream ? ['-js', '-sd', store] : [];
    const login = credentials === undefined ? [] : ['--user', credentials.user, '--pass', credentials.pass];
    return startNatsServer({ program, guard, port, log, args: [...keeping, ...login, ...more] });
  };
  let server: NatsServer;
  try {
    server = run(options);
    await server.accepting();
  } catch (fault) {
    await guard.release();
    throw fault;
  }
  let closing: Promise<void> | undefined;
  return {
    ...{ url: `nats://${host}:${port}`, port },
    get pid() {
      return server.pid;
    },
    stop: () => server.end('SIGTERM'),
    kill: () => server.end('SIGKILL'),
    async empty() {
      if (server.pid !== null) throw new Error(`The NATS server is up (pid ${server.pid}). Stop or kill it first.`);
      await rm(store, { recursive: true, force: true });
    },
    async start(otherwise = options) {
      if (closing !== undefined) throw new Error('This server is closed and its folder is gone. Create another.');
      if (server.pid !== null) throw new Error(`The NATS server is up (pid ${server.pid}). Stop or kill it first.`);
      server = run(otherwise);
      await server.accepting();
    },
    close() {
      closing ??= guard.release();
      return closing;
    },
  };
}

/** The program on PATH. Rejects with what to install. */
async function natsServerProgram(): Promise<string> {
  const found = await promisify(execFile)('sh', ['-c', 'command -v nats-server || ls /usr/sbin/nats-server']).catch(
    () => null,
  );
  const program = found?.stdout.trim() ?? '';
  if (program !== '') return program;
  throw new Error(
    'nats-server was not found on PATH. Install it (Debian: apt-get install nats-server; Homebrew: brew install nats-server).',
  );
}

/** Below the ports that systems give to outgoing connections, one of which could take it while the server is down. */
const [lowest, beyond] = [20_000, 32_000];

/** Ports that nobody listens on, all different. */
async function freePorts(count: number): Promise<readonly number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = randomInt(lowest, beyond);
    if (await isFree(port)) ports.add(port);
  }
  return [...ports];
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, host, () => server.close(() => resolve(true)));
  });
}
