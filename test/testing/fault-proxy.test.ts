/** What two peers see of each other when the network between them misbehaves: real sockets, one echoing server. */

import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { FaultProxy } from '../../src/testing/fault-proxy/fault-proxy.ts';
import { faultProxy } from '../../src/testing/fault-proxy/fault-proxy.ts';
import { until } from '../support/world.ts';

/** One end of a connection and all that happened to it. */
interface Peer {
  readonly socket: Socket;
  /** What arrived, piece by piece. */
  readonly pieces: string[];
  ended: boolean;
  closed: boolean;
  error: string | null;
  readonly text: string;
}

let echo: Server;
let proxy: FaultProxy;
/** The server's ends, in order of arrival. */
let served: Peer[];
let echoing: boolean;
/** What reached the proxy, whatever the fault made of it. */
let reached: { toServer: string; toClient: string };
let clients: Peer[];

beforeEach(async () => {
  served = [];
  clients = [];
  echoing = true;
  reached = { toServer: '', toClient: '' };
  echo = createServer({ allowHalfOpen: true }, (socket) => {
    served.push(peer(socket));
    socket.on('data', (piece) => void (echoing && socket.write(piece)));
    socket.on('end', () => socket.end());
  });
  echo.listen(0, '127.0.0.1');
  await once(echo, 'listening');
  proxy = await faultProxy({ port: portOf(echo) });
  proxy.filter(() => ({
    toServer(bytes) {
      reached.toServer += bytes.toString();
      return { bytes };
    },
    toClient(bytes) {
      reached.toClient += bytes.toString();
      return { bytes };
    },
  }));
});

afterEach(async () => {
  await proxy.close();
  for (const { socket } of [...clients, ...served]) socket.destroy();
  echo.close();
});

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');
  return address.port;
}

function peer(socket: Socket): Peer {
  const pieces: string[] = [];
  const self = {
    ...{ socket, pieces, ended: false, closed: false },
    // A cast, because the error is null only until there is one.
    error: null as string | null,
    get text() {
      return pieces.join('');
    },
  };
  socket.setNoDelay(true);
  socket.on('data', (piece) => pieces.push(piece.toString()));
  socket.on('end', () => (self.ended = true));
  socket.on('close', () => (self.closed = true));
  socket.on('error', (fault: NodeJS.ErrnoException) => (self.error = fault.code ?? fault.message));
  return self;
}

function dial(port = proxy.port): Peer {
  const client = peer(connect({ port, host: '127.0.0.1' }));
  clients.push(client);
  return client;
}

/** A client whose connection has gone all the way to the server and back. */
async function connected(): Promise<Peer> {
  const client = dial();
  await says(client, 'hello');
  client.pieces.length = 0;
  served.at(-1)?.pieces.splice(0);
  reached = { toServer: '', toClient: '' };
  return client;
}

/** Sends, and waits for the echo. */
async function says(client: Peer, text: string): Promise<void> {
  client.socket.write(text);
  await hears(client, text);
}

async function hears(client: Peer, text: string): Promise<void> {
  await until(() => client.text.includes(text) || null, `"${text}" to come back`);
}

/** A round trip begun by the server, which a hold to the server does not stop; whatever was sent before has arrived. */
async function serverCalls(client: Peer): Promise<void> {
  const before = served.length;
  await until(() => served.length > before || null, 'the server to be reached');
  served.at(-1)?.socket.write('news');
  await hears(client, 'news');
}

function served0(): Peer {
  const first = served[0];
  if (first === undefined) throw new Error('Nobody has reached the server.');
  return first;
}

describe('a proxy without a fault', () => {
  test('passes bytes both ways and counts what is open', async () => {
    const client = dial();

    await says(client, 'two crates');

    expect(served0().text).toBe('two crates');
    expect(proxy.connections).toBe(1);
  });

  test('passes the end of a stream and lets the other direction finish', async () => {
    const client = dial();

    client.socket.end('last words');
    await until(() => (client.closed && served0().closed) || null, 'both peers to be closed');
    await until(() => proxy.connections === 0 || null, 'the connection to be gone');

    expect(client).toMatchObject({ text: 'last words', error: null });
    expect(served0()).toMatchObject({ ended: true, error: null });
  });

  test('passes a reset on', async () => {
    const client = await connected();

    client.socket.resetAndDestroy();
    await until(() => served0().closed || null, 'the server to lose its client');

    expect(served0().error).toBe('ECONNRESET');
  });

  test('resets the client of a server that nobody runs', async () => {
    echo.close();
    const client = dial();

    await until(() => client.closed || null, 'the client to be closed');

    expect(client.error).toBe('ECONNRESET');
  });

  test('puts itself into a url and leaves the rest', () => {
    const host = `127.0.0.1:${proxy.port}`;

    expect(proxy.urlFor('postgres://shop:s%40fe@db.example:5432/orders?sslmode=disable')).toBe(
      `postgres://shop:s%40fe@${host}/orders?sslmode=disable`,
    );
    expect(proxy.urlFor('http://carrier.example/v1')).toBe(`http://${host}/v1`);
  });
});

describe('a slow network', () => {
  test('delays every piece and keeps the order in spite of jitter', async () => {
    const client = await connected();
    const pieces = Array.from({ length: 20 }, (_, n) => `${n};`);
    proxy.delay(60, 40);
    const began = performance.now();

    for (const piece of pieces) {
      client.socket.write(piece);
      await until(() => reached.toServer.endsWith(piece) || null, `"${piece}" to reach the proxy`);
    }
    await hears(client, '19;');

    expect(client.text).toBe(pieces.join(''));
    expect(performance.now() - began).toBeGreaterThan(100);
  });

  test('lets what it delayed go at once when the fault ends', async () => {
    const client = await connected();
    proxy.delay(600_000);
    client.socket.write('waiting');
    await until(() => reached.toServer === 'waiting' || null, 'the bytes to reach the proxy');

    proxy.pass();
    await hears(client, 'waiting');

    expect(served0().text).toBe('waiting');
  });

  test('throttles to so many bytes a second', async () => {
    const client = await connected();
    proxy.throttle(1000);
    const began = performance.now();

    client.socket.write('x'.repeat(300));
    await until(() => served0().text.length === 300 || null, 'all bytes to arrive');

    expect(performance.now() - began).toBeGreaterThan(250);
  });

  test('splits into single bytes', async () => {
    const client = await connected();
    proxy.split();

    await says(client, 'apart');

    expect(served0().pieces).toEqual(['a', 'p', 'a', 'r', 't']);
    expect(client.pieces).toEqual(['a', 'p', 'a', 'r', 't']);
  });
});

describe('a connection that is cut after some bytes', () => {
  test('delivers these bytes and is closed for both peers', async () => {
    const client = await connected();
    proxy.cutAfter(4, 'to-server');

    client.socket.write('abcdefgh');
    await until(() => (client.closed && served0().closed) || null, 'both peers to be closed');

    expect(served0().text).toBe('abcd');
  });

  test('counts one direction only, if asked to, and in every connection anew', async () => {
    const first = await connected();
    proxy.cutAfter(4, 'to-client');

    first.socket.write('abcdefgh');
    await until(() => first.closed || null, 'the first client to be closed');
    const second = dial();
    second.socket.write('ijklmnop');
    await until(() => second.closed || null, 'the second client to be closed');

    expect([first.text, second.text]).toEqual(['abcd', 'ijkl']);
    expect(served.map(({ text }) => text)).toEqual(['abcdefgh', 'ijklmnop']);
  });

  test('counts both directions together otherwise', async () => {
    const client = await connected();
    proxy.cutAfter(6);

    client.socket.write('abcd');
    await until(() => client.closed || null, 'the client to be closed');

    expect(served0().text).toBe('abcd');
    expect(client.text).toBe('ab');
  });
});

describe('a reset', () => {
  test('is seen by both peers of open connections, and by no new one', async () => {
    const client = await connected();

    proxy.reset();
    await until(() => (client.closed && served0().closed) || null, 'both peers to be closed');

    expect([client.error, served0().error]).toEqual(['ECONNRESET', 'ECONNRESET']);
    await says(dial(), 'again');
  });
});

describe('a half-open connection', () => {
  test('carries nothing and tells neither peer that the other has gone', async () => {
    const client = await connected();
    proxy.halfOpen();

    client.socket.write('lost');
    served0().socket.write('lost too');
    await until(() => (reached.toServer !== '' && reached.toClient !== '') || null, 'the bytes to reach the proxy');
    served0().socket.end();
    proxy.pass();
    client.socket.write('later');
    await says(dial(), 'a new client');

    expect(client).toMatchObject({ text: '', ended: false, closed: false });
    expect(served0()).toMatchObject({ text: '', ended: false });
    expect(proxy.connections).toBe(2);
  });

  test('outlives its client', async () => {
    const client = await connected();
    proxy.halfOpen();

    client.socket.write('lost');
    await until(() => reached.toServer === 'lost' || null, 'the bytes to reach the proxy');
    client.socket.resetAndDestroy();
    proxy.pass();
    await says(dial(), 'a new client');

    expect(served0()).toMatchObject({ text: '', ended: false, closed: false, error: null });
  });

  test('goes on if nothing was lost in it', async () => {
    const client = await connected();

    proxy.halfOpen();
    proxy.pass();
    await says(client, 'still here');

    expect(served0().text).toBe('still here');
  });
});

describe('a black hole in one direction', () => {
  test('swallows the replies and passes the requests', async () => {
    const client = await connected();
    proxy.blackHole('to-client');

    client.socket.write('one ');
    await until(() => reached.toClient === 'one ' || null, 'the reply to reach the proxy');
    proxy.pass();
    client.socket.write('two');
    await until(() => reached.toClient === 'one two' || null, 'the second reply to reach the proxy');
    await says(dial(), 'a new client');

    expect(served0().text).toBe('one two');
    expect(client).toMatchObject({ text: '', ended: false });
  });

  test('swallows the requests and passes what the server says', async () => {
    const client = await connected();
    proxy.blackHole('to-server');

    client.socket.write('one');
    await until(() => reached.toServer === 'one' || null, 'the request to reach the proxy');
    served0().socket.write('anybody there?');
    await hears(client, 'anybody there?');

    expect(served0().text).toBe('');
  });
});

describe('a held request', () => {
  test.each([
    ['ended', (socket: Socket) => socket.destroy()],
    ['reset', (socket: Socket) => socket.resetAndDestroy()],
  ])('reaches the server in order after its client has died and %s the connection', async (_, die) => {
    const client = await connected();
    proxy.hold('to-server');
    client.socket.write('ship ');
    client.socket.write('it');
    await until(() => reached.toServer === 'ship it' || null, 'the request to reach the proxy');
    die(client.socket);
    await serverCalls(dial());
    const held = served0().text;
    echoing = false;

    proxy.release();
    await until(() => served0().text === 'ship it' || null, 'the request to arrive');
    await serverCalls(dial());
    const unanswered = { ended: served0().ended, closed: served0().closed };
    served0().socket.write('shipped');
    await until(() => served0().closed || null, 'the server to learn that its client has gone');

    expect(held).toBe('');
    expect(unanswered).toEqual({ ended: false, closed: false });
  });

  test('leaves no connection behind when the answer comes before the end', async () => {
    const client = await connected();
    proxy.hold('to-server');
    client.socket.write('ship ');
    client.socket.write('it');
    await until(() => reached.toServer === 'ship it' || null, 'the request to reach the proxy');
    client.socket.destroy();
    const caller = dial();
    await serverCalls(caller);

    proxy.release();
    caller.socket.destroy();
    await until(() => (served0().closed && proxy.connections === 0) || null, 'both connections to be gone');

    expect(served0()).toMatchObject({ text: 'ship it', ended: true });
  });

  test('leaves no connection behind when the server closes without an answer', async () => {
    const client = await connected();
    echoing = false;
    proxy.hold('to-server');
    client.socket.write('ship it');
    client.socket.destroy();
    await serverCalls(dial());

    proxy.release();
    await until(() => served0().text === 'ship it' || null, 'the request to arrive');
    await serverCalls(dial());
    served0().socket.end();
    await until(() => (served0().closed && proxy.connections === 2) || null, 'the connection to be gone');

    expect(served0()).toMatchObject({ ended: true, error: null });
  });

  test('does not slip out when the proxy closes', async () => {
    const client = await connected();
    proxy.hold('to-server');
    client.socket.write('too late');
    await until(() => reached.toServer === 'too late' || null, 'the request to reach the proxy');

    await proxy.close();
    await until(() => served0().closed || null, 'the server to lose its client');

    expect(served0().text).toBe('');
  });

  test('lets replies pass meanwhile, and new connections are held too', async () => {
    const client = await connected();
    proxy.hold('to-server');

    served0().socket.write('news');
    await hears(client, 'news');
    const second = dial();
    second.socket.write('second');
    await until(() => reached.toServer === 'second' || null, 'the second request to reach the proxy');
    const during = served.map(({ text }) => text);
    proxy.pass();

    await hears(second, 'second');
    expect(during.join('')).toBe('');
  });
});

describe('a held reply', () => {
  test('comes when it is released, and the request was carried out before', async () => {
    const client = await connected();
    proxy.hold('to-client');
    client.socket.write('charge');
    await until(() => reached.toClient === 'charge' || null, 'the reply to reach the proxy');

    const during = [served0().text, client.text];
    proxy.release();
    await hears(client, 'charge');

    expect(during).toEqual(['charge', '']);
  });
});

describe('a release without a hold', () => {
  test('leaves the fault as it is', async () => {
    const client = await connected();
    proxy.split();

    proxy.release();
    await says(client, 'abc');

    expect(served0().pieces).toEqual(['a', 'b', 'c']);
  });
});

describe('a server that nobody runs', () => {
  test('refuses new connections and cuts open ones until the fault ends', async () => {
    const client = await connected();

    proxy.refuse();
    const refused = dial();
    await until(() => (refused.closed && client.closed && served0().closed) || null, 'all to be closed');
    proxy.pass();
    const back = dial();

    expect(refused.error).toBe('ECONNREFUSED');
    await says(back, 'back again');
  });

  test('stays away when it goes, comes and goes again within one turn', async () => {
    proxy.refuse();
    proxy.pass();
    proxy.refuse();
    await new Promise((resume) => setImmediate(resume));
    const refused = dial();

    await until(() => refused.closed || null, 'the client to be closed');

    expect(refused.error).toBe('ECONNREFUSED');
  });

  test('comes back once when it is told so twice within one turn', async () => {
    proxy.refuse();
    proxy.pass();
    proxy.pass();
    await new Promise((resume) => setImmediate(resume));

    await says(dial(), 'back again');

    expect(served).toHaveLength(1);
  });
});

describe('a server that hangs', () => {
  test('accepts new connections and never answers, while open ones pass', async () => {
    const before = await connected();

    proxy.hang();
    const hung = dial();
    hung.socket.write('hello?');
    await until(() => proxy.connections === 2 || null, 'the proxy to accept');
    await says(before, 'as ever');

    expect(hung).toMatchObject({ text: '', ended: false, closed: false, error: null });
    expect(served).toHaveLength(1);
  });

  test('leaves those it accepted hanging when it recovers', async () => {
    proxy.hang();
    const hung = dial();
    await until(() => proxy.connections === 1 || null, 'the proxy to accept');

    proxy.pass();
    hung.socket.write('hello?');
    await says(dial(), 'a new client');
    hung.socket.end();
    await until(() => hung.closed || null, 'the hung client to be closed');

    expect(hung.text).toBe('');
    expect(served).toHaveLength(1);
  });
});

describe('a proxy that is closed', () => {
  test('cuts its connections, refuses new ones, and can be closed again', async () => {
    const client = await connected();

    await Promise.all([proxy.close(), proxy.close()]);
    await proxy.close();
    const refused = dial();
    await until(() => (client.closed && served0().closed && refused.closed) || null, 'all to be closed');

    expect(proxy.connections).toBe(0);
    expect(refused.error).toBe('ECONNREFUSED');
    expect(() => proxy.pass()).toThrow('This fault proxy is closed');
  });
});

describe('a delayed connection that both peers reset', () => {
  test('leaves no timer behind', async () => {
    const timers = () => process.getActiveResourcesInfo().filter((each) => each === 'Timeout').length;
    const client = await connected();
    const idle = timers();
    proxy.delay(600_000);
    client.socket.write('late');
    await until(() => timers() > idle || null, 'the timer');
    const waiting = timers();

    served0().socket.resetAndDestroy();
    client.socket.resetAndDestroy();
    await until(() => proxy.connections === 0 || null, 'the connection to be gone');

    expect(timers()).toBeLessThan(waiting);
  });
});

describe('a fault that makes no sense', () => {
  test.each([
    ['delay', () => proxy.delay(-1)],
    ['delay', () => proxy.delay(1, Number.NaN)],
    ['delay', () => proxy.delay(2 ** 31)],
    ['throttle', () => proxy.throttle(0)],
    ['cutAfter', () => proxy.cutAfter(0)],
  ])('is refused by name: %s', (name, command) => {
    expect(command).toThrow(new RegExp(`^${name} takes a whole number of`));
  });
});
