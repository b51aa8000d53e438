/**
 * What undici offers that sends a request again behind the caller's back. Each is arranged so that it does, which is
 * shown first with undici alone; then a charge goes the same way, past the check that would have refused it, and the
 * gate lets it through once.
 */

import { once } from 'node:events';
import { constants, createSecureServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import {
  Agent,
  buildConnector,
  type Dispatcher,
  getGlobalDispatcher,
  interceptors,
  RetryAgent,
  setGlobalDispatcher,
} from 'undici';
import { afterEach, describe, expect, test } from 'vitest';
import { checkedDispatcher, ownDispatcher } from '../../src/providers/dispatchers.ts';
import { certificateFor } from './certificates.ts';
import { charge } from './departing.ts';
import { type Call, type Conduct, wireProvider } from './wire-provider.ts';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function provider(conduct: Conduct) {
  const running = await wireProvider(conduct);
  closing.push(running.close);
  return { ...running, url: `http://127.0.0.1:${running.port}/charges` };
}

function closed<D extends Dispatcher>(dispatcher: D): D {
  closing.push(() => dispatcher.destroy());
  return dispatcher;
}

/** What is on its way, also what should not be, arrives before this resolves. */
async function arrived(dispatcher: Dispatcher): Promise<void> {
  await dispatcher.close();
}

/** The same request without a gate; what comes of it does not matter. */
async function ungated(dispatcher: Dispatcher, url: string, method: 'POST' | 'PUT'): Promise<void> {
  const { origin, pathname } = new URL(url);
  const headers = { 'idempotency-key': 'ungated' };
  await dispatcher
    .request({ origin, path: pathname, method, headers, body: '{}' })
    .then(({ body }) => body.text())
    .catch(() => undefined);
}

const commitAndReset: Conduct = {
  request({ commit, socket }) {
    commit();
    socket.resetAndDestroy();
  },
};

const swiftly = { minTimeout: 1, maxTimeout: 1, maxRetries: 2 };

describe('a dispatcher that retries', () => {
  test.each<[string, 'POST' | 'PUT', (agent: Agent) => Dispatcher]>([
    ['a RetryAgent and a PUT', 'PUT', (agent) => new RetryAgent(agent, swiftly)],
    ['a RetryAgent told to retry a POST', 'POST', (agent) => new RetryAgent(agent, { ...swiftly, methods: ['POST'] })],
    ['the interceptor and a PUT', 'PUT', (agent) => agent.compose(interceptors.retry(swiftly))],
  ])('sends a lost request again, and through the gate once: %s', async (_, method, retrying) => {
    const { url, effects } = await provider(commitAndReset);
    const dispatcher = retrying(closed(new Agent()));
    await ungated(dispatcher, url, method);

    const arrival = await charge(dispatcher, { url, method });
    await arrived(dispatcher);

    expect(effects('ungated')).toBeGreaterThan(1);
    expect(arrival).toMatchObject({ gate: 'opened', status: null, reason: 'repeat-refused' });
    expect(effects('order-17')).toBe(1);
    await expect(checkedDispatcher(dispatcher)).rejects.toMatchObject({ code: 'DEFINITION_INVALID' });
  });

  test('sends again what was answered with 503, and through the gate once', async () => {
    const { url, effects } = await provider({
      request({ commit, answer }) {
        commit();
        answer(503);
      },
    });
    const dispatcher = closed(new Agent()).compose(interceptors.retry(swiftly));
    await ungated(dispatcher, url, 'PUT');

    const arrival = await charge(dispatcher, { url, method: 'PUT' });
    await arrived(dispatcher);

    expect(effects('ungated')).toBeGreaterThan(1);
    expect(arrival).toMatchObject({ gate: 'opened', status: null, reason: 'repeat-refused' });
    expect(effects('order-17')).toBe(1);
  });

  test('is not used by us when the host made it the global one', async () => {
    const { url, effects } = await provider(commitAndReset);
    const before = getGlobalDispatcher();
    setGlobalDispatcher(new RetryAgent(closed(new Agent()), swiftly));
    closing.push(async () => setGlobalDispatcher(before));
    await ungated(getGlobalDispatcher(), url, 'PUT');

    const arrival = await charge(closed(await ownDispatcher()), { url, method: 'PUT' });

    expect(effects('ungated')).toBeGreaterThan(1);
    expect(arrival).toMatchObject({ gate: 'opened', status: null, reason: 'connection-lost' });
    expect(effects('order-17')).toBe(1);
  });
});

describe('a dispatcher that looks hosts up itself', () => {
  test('sends to the other family what timed out on the first, and through the gate once', async () => {
    const sockets: Socket[] = [];
    const { port, effects } = await provider({
      request({ commit, answer, headers }) {
        const first = effects(headers.get('idempotency-key')) === 0;
        commit();
        // The established connection of the client times out, as the kernel reports it after a long silence.
        if (first) sockets.at(-1)?.destroy(Object.assign(new Error('timed out'), { code: 'ETIMEDOUT' }));
        else answer(201);
      },
    });
    const connector = buildConnector({});
    const connect: buildConnector.connector = (options, connected) =>
      connector(options, (...[error, socket]) => {
        if (error !== null) return connected(error, null);
        sockets.push(socket);
        connected(null, socket);
      });
    const lookup: NonNullable<Parameters<typeof interceptors.dns>[0]>['lookup'] = (_origin, _options, found) =>
      found(null, [
        { address: '127.0.0.1', family: 4, ttl: 60_000 },
        { address: '::ffff:127.0.0.1', family: 6, ttl: 60_000 },
      ]);
    const dualStack = () => closed(new Agent({ connect })).compose(interceptors.dns({ dualStack: true, lookup }));
    const url = `http://psp.example:${port}/charges`;
    await ungated(dualStack(), url, 'POST');

    const dispatcher = dualStack();
    const arrival = await charge(dispatcher, { url });
    await arrived(dispatcher);

    expect(effects('ungated')).toBe(2);
    expect(arrival).toMatchObject({ gate: 'opened', status: null, reason: 'repeat-refused' });
    expect(effects('order-17')).toBe(1);
  });
});

describe('a redirect', () => {
  const redirecting = (status: number): Conduct => ({
    request({ path, commit, socket, answer }) {
      if (path === '/charges')
        return void socket.write(`HTTP/1.1 ${status} See\r\nlocation: /elsewhere\r\ncontent-length: 0\r\n\r\n`);
      commit();
      answer(200);
    },
  });

  test.each([301, 302, 303, 307, 308])('is a reply like any other, and is not followed: %i', async (status) => {
    const { url, effects } = await provider(redirecting(status));

    const arrival = await charge(closed(await ownDispatcher()), { url });

    expect(arrival).toMatchObject({ status, headers: { location: '/elsewhere' }, body: { type: 'whole' } });
    expect(effects()).toBe(0);
  });

  test.each([303, 307, 308])('is followed by an interceptor, and not through the gate: %i', async (status) => {
    const { url, effects } = await provider(redirecting(status));
    const dispatcher = closed(new Agent()).compose(interceptors.redirect({ maxRedirections: 1 }));
    await ungated(dispatcher, url, 'POST');

    const arrival = await charge(dispatcher, { url });
    await arrived(dispatcher);

    expect(effects()).toBe(1);
    expect(arrival).toMatchObject({ gate: 'opened', status: null, reason: 'repeat-refused' });
  });
});

describe('a dispatcher that pipelines', () => {
  const keys = ['order-1', 'order-2', 'order-3'];
  /** Commits all that is sent on the first connection, and resets it when there are three. */
  const losing = (connections: () => number): Conduct => ({
    request(call: Call) {
      call.commit();
      if (connections() > 1) call.answer(201);
      else if (call.place === keys.length) call.socket.resetAndDestroy();
    },
  });
  const pipelining = () => closed(new Agent({ pipelining: 10, connections: 1 }));

  test('sends again what was behind a lost request', async () => {
    const running = await provider(losing(() => running.connections()));
    const dispatcher = pipelining();
    const send = async (key: string) => {
      const again = { idempotent: true, blocking: false, headers: { 'idempotency-key': key } };
      const path = new URL(running.url).pathname;
      const { body } = await dispatcher.request({
        origin: new URL(running.url).origin,
        path,
        method: 'POST',
        ...again,
      });
      await body.text();
    };
    // The pipeline is used once the connection is there; until then everything waits.
    await Promise.allSettled(keys.map(send));

    expect(keys.map((key) => running.effects(key))).toEqual([1, 2, 2]);
  });

  test('gets one charge at a time, and sends each once', async () => {
    const running = await provider(losing(() => running.connections()));
    const dispatcher = pipelining();
    const { url } = running;

    const arrivals = await Promise.all(
      keys.map((key, n) =>
        charge(dispatcher, { url, headers: { 'idempotency-key': key }, timeoutMs: n === 0 ? 150 : 2000 }),
      ),
    );

    expect(arrivals).toMatchObject([{ status: null, reason: 'timed-out' }, { status: 201 }, { status: 201 }]);
    expect(keys.map((key) => running.effects(key))).toEqual([1, 1, 1]);
  });
});

describe('HTTP/2', () => {
  /** An origin that speaks it, and a dispatcher that does, past the check. */
  async function over2(serve: (stream: ServerHttp2Stream, commit: () => void) => void) {
    const certificate = await certificateFor('localhost');
    const server = createSecureServer(certificate);
    let effects = 0;
    server.on('sessionError', () => undefined);
    server.on('stream', (stream) => {
      stream.on('error', () => undefined);
      stream.resume().once('end', () => serve(stream, () => (effects += 1)));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    closing.push(async () => server.close());
    const dispatcher = closed(new Agent({ allowH2: true, connect: { ca: certificate.cert, servername: 'localhost' } }));
    // A server that listens on a port has such an address.
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/charges`;
    return { dispatcher, url, effects: () => effects };
  }

  test('is refused, and carries one charge where a connection speaks it nevertheless', async () => {
    const { dispatcher, url, effects } = await over2((stream, commit) => {
      commit();
      stream.respond({ ':status': 201 });
      stream.end('{}');
    });

    const arrival = await charge(dispatcher, { url });

    expect(arrival).toMatchObject({ gate: 'opened', status: 201, body: { type: 'whole' } });
    expect(effects()).toBe(1);
    await expect(checkedDispatcher(dispatcher)).rejects.toMatchObject({ code: 'DEFINITION_INVALID' });
  });

  test('proves by a refused stream that nothing was processed', async () => {
    const { dispatcher, url } = await over2((stream) => stream.close(constants.NGHTTP2_REFUSED_STREAM));

    expect(await charge(dispatcher, { url })).toMatchObject({ gate: 'opened', status: null, refusedStream: true });
  });

  test('that goes away after the effect gets no second request', async () => {
    const { dispatcher, url, effects } = await over2((stream, commit) => {
      commit();
      stream.session?.goaway();
      stream.session?.destroy();
    });

    const arrival = await charge(dispatcher, { url, timeoutMs: 1000 });

    expect(arrival).toMatchObject({ gate: 'opened', status: null, refusedStream: false });
    expect(effects()).toBe(1);
  });
});
