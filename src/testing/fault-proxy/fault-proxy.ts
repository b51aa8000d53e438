/**
 * A network that misbehaves on command: a TCP proxy in front of any server, in this process and without special
 * rights. It listens on 127.0.0.1 only. One fault holds at a time, for all connections; each command replaces the
 * fault before and takes effect when it returns. What the network held back and what it lost is decided here, so a
 * test that counts at the server counts what arrived, and knows why.
 */

import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { type Connection, connection, type Filter, hungConnection, type Target } from './connection.ts';
import { blackHole, cutAfter, delay, type Direction, type Fault, hold, pass, split, throttle } from './faults.ts';

export interface FaultProxy {
  readonly host: string;
  readonly port: number;
  /** The given url with host and port replaced by the proxy's. */
  urlFor(url: string): string;
  /** How many connections are open, also those whose client has gone while the server's side is kept open. */
  readonly connections: number;

  /** No fault: open and new connections pass, and what was kept or delayed goes on at once, in order. */
  pass(): void;
  /**
   * Every piece of every open and new connection is passed on `ms` milliseconds after it arrived, and up to `jitterMs`
   * more by chance. Order is kept, so a piece may have to wait for the one before it.
   */
  delay(ms: number, jitterMs?: number): void;
  /** Each direction of every open and new connection lets through at most so many bytes a second. */
  throttle(bytesPerSecond: number): void;
  /**
   * Every open and new connection is cut when `bytes` more have passed, in the given direction or in both together.
   * Those bytes arrive; then both peers see the connection closed.
   */
  cutAfter(bytes: number, direction?: Direction): void;
  /** Every connection open now is reset on both sides (RST) and what waited in it is lost. New ones pass. */
  reset(): void;
  /**
   * Nothing is passed on any more in open and new connections, in neither direction: no bytes, no FIN, no RST. Their
   * sockets stay open, and no peer learns that the other is gone. What this swallowed is lost: a connection in which
   * something was swallowed stays silent in that direction, also after `pass()`.
   */
  halfOpen(): void;
  /** As `halfOpen()`, in one direction; the other passes. */
  blackHole(direction: Direction): void;
  /**
   * Bytes of open and new connections are kept in one direction, in order, until `release()`, or until another
   * command takes them over; the other direction passes. A sender that goes away meanwhile takes nothing with it: its
   * bytes go on later, and the receiver learns that it has gone only after having answered.
   */
  hold(direction: Direction): void;
  /** Ends a hold: what was kept goes on, in order, and the proxy passes. Without a hold it changes nothing. */
  release(): void;
  /**
   * Nobody listens: new connections get ECONNREFUSED, open ones are cut on both sides. The next command listens again
   * on the same port.
   */
  refuse(): void;
  /** New connections are accepted, never connected to the server and never answered. Open ones pass. */
  hang(): void;
  /** Every byte of open and new connections is written by itself. */
  split(): void;
  /**
   * Puts a filter that understands a protocol before the faults, one for each connection opened from now on, in place
   * of an earlier filter. `postgresFaults` does that.
   */
  filter(perConnection: () => Filter): void;

  /** Cuts every connection and listens no more; when it resolves all sockets are closed. Safe to call twice. */
  close(): Promise<void>;
}

type Door = 'serving' | 'hanging' | 'refusing';

const host = '127.0.0.1';

/**
 * Starts a proxy on a free port in front of `target`, passing. Resolves when it listens.
 *
 * @example
 * const proxy = await faultProxy({ port: 5432 });
 * const url = proxy.urlFor('postgres://shop@localhost:5432/orders');
 * proxy.hold('to-server');
 */
export async function faultProxy(target: Target): Promise<FaultProxy> {
  const open = new Set<Connection>();
  let fault: Fault = pass;
  let door: Door = 'serving';
  let held = false;
  let filterOf: (() => Filter) | undefined;
  let closing: Promise<void> | undefined;

  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    const accepted = door === 'hanging' ? hungConnection(client) : connection(client, target, fault, filterOf?.());
    open.add(accepted);
    void allClosed(accepted).then(() => open.delete(accepted));
  });
  server.listen(0, host);
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The fault proxy listens on no port.');
  const { port } = address;

  const become = (next: Fault, nextDoor: Door = 'serving') => {
    if (closing !== undefined) throw new Error('This fault proxy is closed. Start another one for more faults.');
    fault = next;
    door = nextDoor;
    held = false;
    for (const each of open) each.treat(next);
    moveDoor();
  };

  let opening = false;
  // Listening begins one tick after it was asked for, so a door that is on the move is looked at again then.
  const moveDoor = () => {
    if (opening) return;
    if (door === 'refusing' && server.listening) server.close();
    if (door === 'refusing' || server.listening) return;
    opening = true;
    server.listen(port, host, () => {
      opening = false;
      moveDoor();
    });
  };

  const eachSocket = (act: (socket: Socket) => void) => {
    for (const { sockets } of open) for (const socket of sockets) act(socket);
  };
  // Sockets go first: what was kept must not slip out when the fault ends.
  const refuse = () => {
    eachSocket((socket) => socket.destroy());
    become(pass, 'refusing');
  };

  return {
    host,
    port,
    urlFor(url) {
      const through = new URL(url);
      through.host = `${host}:${port}`;
      return through.href;
    },
    get connections() {
      return open.size;
    },
    pass: () => become(pass),
    delay(ms, jitterMs = 0) {
      become(delay(amount('delay', 'milliseconds', ms, 0), amount('delay', 'milliseconds of jitter', jitterMs, 0)));
    },
    throttle: (bytesPerSecond) => become(throttle(amount('throttle', 'bytes a second', bytesPerSecond, 1))),
    cutAfter: (bytes, direction) => become(cutAfter(amount('cutAfter', 'bytes', bytes, 1), direction)),
    reset() {
      // A socket that is still connecting has nothing to reset, and would wait with it.
      eachSocket((socket) => void (socket.connecting ? socket.destroy() : socket.resetAndDestroy()));
      become(pass);
    },
    halfOpen: () => become(blackHole()),
    blackHole: (direction) => become(blackHole(direction)),
    hold(direction) {
      become(hold(direction));
      held = true;
    },
    release() {
      if (held) become(pass);
    },
    refuse,
    hang: () => become(pass, 'hanging'),
    split: () => become(split),
    filter(perConnection) {
      filterOf = perConnection;
    },
    close() {
      if (closing === undefined) {
        refuse();
        closing = Promise.all([...open].map(allClosed)).then(() => {});
      }
      return closing;
    },
  };
}

async function allClosed({ sockets }: Connection): Promise<void> {
  await Promise.all(
    sockets.map(async (socket) => {
      if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
    }),
  );
}

/** Timers cannot wait much longer than twice as many milliseconds. */
const most = 1_000_000_000;

function amount(command: string, unit: string, value: number, least: number): number {
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new RangeError(`${command} takes a whole number of ${unit} from ${least} to ${most}, not ${value}.`);
}
