/**
 * A client of the `postgres` driver with one connection at most, and with what the driver lacks: it can be ended at
 * once, whatever it is doing, and for one statement it tries each host once. Left alone the driver would connect again
 * for a statement that nobody waits for any more, and for ever, without a pause, where peers hang up while it connects.
 */

import { connect, type Socket } from 'node:net';
import postgres from 'postgres';

/** How a connection is made. */
export interface Route {
  readonly url: string;
  /** A transaction pooler is in between: nothing may depend on the session. */
  readonly pooler: boolean;
  /** Server-side limit of a statement, so that it has ended there before its deadline here. */
  readonly statementTimeoutMs: number;
  readonly connectTimeoutMs: number;
}

export interface Client {
  readonly sql: postgres.Sql;
  /** It was ended, by its owner or because no host answered: the next statement needs another one. */
  readonly isOver: boolean;
  /** Call before each statement: `failed` is called when the client ends before the driver has said anything. */
  begin(failed: (why: unknown) => void): void;
  /** Ends it. Harmless when it is over. */
  end(why: unknown): void;
}

/**
 * Makes a client; it connects with its first statement. `nextSocket` counts the sockets of all clients of an owner.
 * `onLost` is called when a connection of its has ended.
 */
export function clientFor(
  { url, pooler, statementTimeoutMs, connectTimeoutMs }: Route,
  nextSocket: () => number,
  onLost: () => void = () => {},
): Client {
  let socket: Socket | null = null;
  let isOver = false;
  let tries = 0;
  let lastError = new Error('The server hung up.');
  let fail: (why: unknown) => void = () => {};

  const end = (why: unknown): void => {
    isOver = true;
    socket?.destroy();
    fail(why);
  };
  const open = ({ host, port, path }: Hosts): Socket => {
    // Every host had its turn, and the driver begins anew.
    if (!isOver && tries === host.length) end(lastError);
    if (isOver) throw new Error('This client has ended.');
    tries += 1;
    const n = nextSocket() % host.length;
    const to = path === false ? { host: host[n] ?? 'localhost', port: port[n] ?? 5432 } : { path };
    socket = connect(to).setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_MS);
    socket.on('error', (error) => {
      lastError = error;
    });
    socket.once('close', onLost);
    // The driver names the host to TLS by this.
    return Object.assign(socket, { host: host[n] });
  };
  const options = {
    max: 1,
    max_pipeline: 1,
    fetch_types: false,
    prepare: !pooler,
    connect_timeout: connectTimeoutMs / 1000,
    backoff: () => RECONNECT_PAUSE_S,
    onnotice: () => {},
    connection: pooler ? { application_name: 'sagacity' } : { ...session, statement_timeout: statementTimeoutMs },
    // The driver's documented way to bring a socket of one's own.
    socket: open,
  };
  const sql = postgres(url, options);
  return {
    sql,
    get isOver() {
      return isOver;
    },
    begin(failed) {
      tries = 0;
      fail = failed;
    },
    end,
  };
}

/** The hosts of a url, and where each of them listens, as the driver reads them. */
interface Hosts {
  readonly host: readonly string[];
  readonly port: readonly number[];
  readonly path: string | false;
}

/** A peer that is gone without a word is noticed although nothing is asked of it. */
const KEEP_ALIVE_MS = 30_000;

/** After a connection broke, the next one is tried no sooner than this. */
const RECONNECT_PAUSE_S = 0.1;

/**
 * Our statements meet few rows by their keys. Their plans are made once per connection and kept, also while tables grow
 * from ten rows to millions between two runs of ANALYZE; so the plans that are good only for small tables are shut out.
 */
const session = {
  application_name: 'sagacity',
  // Every table is named with its schema: nothing else may decide what `now()` is.
  search_path: 'pg_catalog',
  default_transaction_isolation: 'read committed',
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_mergejoin: 'off',
  jit: 'off',
} as const;

/** Whether the store decides about this setting of a session. */
export function isOurSetting(name: string): boolean {
  return name === 'statement_timeout' || (name in session && name !== 'application_name');
}
