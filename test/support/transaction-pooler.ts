/**
 * A pooler in transaction mode, as small as it can be: clients log in at the pooler, and each of their transactions
 * gets a session of the server, another one every time, that was begun with no settings of theirs. So whatever a client
 * leaves in a session, or expects there, is somebody else's the next moment.
 */

import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { type Message, messages } from '../../src/testing/fault-proxy/postgres-messages.ts';

export interface TransactionPooler {
  /** Leads through the pooler to the database of the server's url. */
  readonly url: string;
  /** How often a client got another session than the one before. */
  readonly changes: number;
  /** Ends the sessions of the server: the next transactions begin new ones. */
  renew(): void;
  close(): Promise<void>;
}

export interface PoolerOptions {
  /** What is made of settings that clients begin a session with: PgBouncer refuses them, unless told to ignore them. */
  readonly settings?: 'ignored' | 'refused';
}

/** Sessions of the server; with two at least, a client that works alone meets another one every time. */
export const SESSIONS = 3;

/** Starts a pooler in front of the database that `url` leads to, on a free port of 127.0.0.1. */
export async function transactionPooler(
  url: string,
  { settings = 'ignored' }: PoolerOptions = {},
): Promise<TransactionPooler> {
  const free: Session[] = [];
  const line: ((session: Session) => void)[] = [];
  const clients = new Set<Socket>();
  const all = new Set<Session>();
  let changes = 0;

  const giveBack = (session: Session) => {
    const next = line.shift();
    if (next === undefined) free.push(session);
    else next(session);
  };
  const discard = (session: Session) => {
    session.end();
    all.delete(session);
    if (free.includes(session)) free.splice(free.indexOf(session), 1);
  };
  const begin = () => {
    const session = sessionAt(url, { ready: () => giveBack(session), gone: () => discard(session) });
    all.add(session);
  };
  const take = (give: (session: Session) => void) => {
    if (all.size < SESSIONS) begin();
    const session = free.shift();
    if (session === undefined) line.push(give);
    else give(session);
  };

  const server = createServer({ noDelay: true }, (client) => {
    clients.add(client);
    client.on('error', () => {});
    let last: Session | null = null;
    serve(client, {
      settings,
      take: (give) =>
        take((session) => {
          if (last !== null && last !== session) changes += 1;
          last = session;
          give(session);
        }),
      giveBack,
      discard,
    });
    client.once('close', () => clients.delete(client));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The pooler listens on no port.');
  const through = new URL(url);
  through.host = `127.0.0.1:${address.port}`;
  return {
    url: through.href,
    get changes() {
      return changes;
    },
    renew() {
      for (const session of all) discard(session);
    },
    async close() {
      const closed = once(server, 'close');
      server.close();
      for (const client of clients) client.destroy();
      for (const session of all) discard(session);
      await closed;
    },
  };
}

/** A session of the server. */
interface Session {
  /** Gives it to a client, who hears every message of it until it is idle. */
  serve(onMessage: (message: Message) => void, onGone: () => void): void;
  send(bytes: Buffer): void;
  end(): void;
}

/** Messages by their type: of the client Query, Sync, FunctionCall and Terminate, of the server ReadyForQuery. */
const ENDED_BY_READY = new Set(['Q', 'S', 'F']);
const TERMINATE = 'X';
const READY = 'Z';
const IDLE = 'I';

function sessionAt(url: string, on: { readonly ready: () => void; readonly gone: () => void }): Session {
  const { hostname, port, username, pathname } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  const replies = messages();
  let onMessage = ({ type }: Message) => {
    if (type === READY) on.ready();
  };
  let onGone = () => {};
  socket.write(startup({ user: decodeURIComponent(username), database: decodeURIComponent(pathname.slice(1)) }));
  socket.on('error', () => {});
  socket.on('data', (bytes) => {
    replies.add(bytes);
    for (let message = replies.next('type'); message !== null; message = replies.next('type')) onMessage(message);
  });
  socket.once('close', () => {
    onGone();
    on.gone();
  });
  return {
    serve(hear, gone) {
      onMessage = hear;
      onGone = gone;
    },
    send: (bytes) => void socket.write(bytes),
    end: () => void socket.destroy(),
  };
}

interface Around {
  readonly settings: 'ignored' | 'refused';
  readonly take: (give: (session: Session) => void) => void;
  readonly giveBack: (session: Session) => void;
  readonly discard: (session: Session) => void;
}

/** Serves one client from its first byte to its last. */
function serve(client: Socket, { settings, take, giveBack, discard }: Around): void {
  const requests = messages();
  /** What the client has sent and no session has got yet. */
  const waiting: Message[] = [];
  let starting = true;
  let session: Session | null = null;
  let isTaking = false;
  /** How often the server has still to say that it is ready. */
  let owed = 0;

  const forward = (message: Message) => {
    if (ENDED_BY_READY.has(message.type)) owed += 1;
    session?.send(message.bytes);
  };
  const hear = (message: Message) => {
    client.write(message.bytes);
    if (message.type !== READY) return;
    owed -= 1;
    if (owed > 0 || message.body.toString('latin1') !== IDLE || session === null) return;
    const served = session;
    session = null;
    served.serve(
      () => {},
      () => {},
    );
    giveBack(served);
    if (waiting.length > 0) takeOne();
  };
  const takeOne = () => {
    if (isTaking || session !== null) return;
    isTaking = true;
    take((taken) => {
      isTaking = false;
      if (client.destroyed) return giveBack(taken);
      session = taken;
      taken.serve(hear, () => void client.destroy());
      for (const message of waiting.splice(0)) forward(message);
    });
  };
  const begin = ({ body }: Message) => {
    if (body.readInt32BE(0) === ENCRYPTION_REQUEST) return void client.write('N');
    const asked = settingsOf(body);
    if (settings === 'refused' && asked.length > 0) {
      client.end(refusal('08P01', `unsupported startup parameter: ${asked[0]}`));
      return;
    }
    starting = false;
    client.write(welcome);
  };

  client.on('data', (bytes) => {
    requests.add(bytes);
    for (;;) {
      const message = requests.next(starting ? 'no-type' : 'type');
      if (message === null) return;
      if (starting) begin(message);
      else if (message.type === TERMINATE) client.end();
      else if (session !== null) forward(message);
      else {
        waiting.push(message);
        takeOne();
      }
    }
  });
  // A transaction that its client left is nobody's any more.
  client.once('close', () => {
    if (session !== null) discard(session);
  });
}

const ENCRYPTION_REQUEST = 80_877_103;
const VERSION_3 = 196_608;

/** What every pooler lets a client begin a session with. */
const ORDINARY = new Set(['user', 'database', 'client_encoding', 'application_name']);

function settingsOf(startupBody: Buffer): readonly string[] {
  const parts = startupBody.toString('utf8', 4).split('\0');
  const names = parts.filter((name, n) => n % 2 === 0 && name !== '');
  return names.filter((name) => !ORDINARY.has(name));
}

function startup(parameters: Readonly<Record<string, string>>): Buffer {
  const version = Buffer.alloc(4);
  version.writeInt32BE(VERSION_3);
  const pairs = Object.entries(parameters).map(([name, value]) => `${name}\0${value}\0`);
  return sized(Buffer.concat([version, Buffer.from(`${pairs.join('')}\0`)]));
}

function message(type: string, body: Buffer | string): Buffer {
  return Buffer.concat([Buffer.from(type), sized(Buffer.from(body))]);
}

/** With its length before it, which counts itself. */
function sized(body: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length + 4);
  return Buffer.concat([length, body]);
}

/** AuthenticationOk, some ParameterStatus, BackendKeyData and ReadyForQuery. */
const welcome = Buffer.concat([
  message('R', Buffer.alloc(4)),
  message('S', 'server_version\0' + '15.0\0'),
  message('S', 'client_encoding\0UTF8\0'),
  message('S', 'standard_conforming_strings\0on\0'),
  message('K', Buffer.alloc(8)),
  message(READY, IDLE),
]);

function refusal(sqlstate: string, text: string): Buffer {
  return message('E', `SFATAL\0VFATAL\0C${sqlstate}\0M${text}\0\0`);
}
