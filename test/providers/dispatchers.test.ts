/** Which dispatchers of a host are taken: those of which it can be seen that they send a request once. */

import { EventEmitter } from 'node:events';
import { connect } from 'node:net';
import {
  Agent,
  BalancedPool,
  Client,
  type Dispatcher,
  EnvHttpProxyAgent,
  H2CClient,
  interceptors,
  MockAgent,
  Pool,
  ProxyAgent,
  RetryAgent,
  RoundRobinPool,
} from 'undici';
import { describe, expect, test } from 'vitest';
import { isSagacityError } from '../../src/domain/errors.ts';
import { checkedDispatcher, ownDispatcher } from '../../src/providers/dispatchers.ts';
import { charge } from './departing.ts';
import { committed, wireProvider } from './wire-provider.ts';

const origin = 'http://127.0.0.1:9';

describe('a plain dispatcher', () => {
  test.each<[string, unknown]>([
    ['an Agent', new Agent()],
    ['an Agent with one connection', new Agent({ connections: 1, pipelining: 1, allowH2: false })],
    ['an Agent with options for its sockets', new Agent({ connect: { timeout: 500, localAddress: '127.0.0.1' } })],
    ['an Agent without keep-alive', new Agent({ pipelining: 0 })],
    ['a ProxyAgent', new ProxyAgent(origin)],
    ['a ProxyAgent with a token', new ProxyAgent({ uri: origin, token: 'Basic c2hvcDpzaG9w', connections: 1 })],
  ])('is taken as it is: %s', async (_, given) => {
    expect(await checkedDispatcher(given)).toBe(given);
  });

  test('is our own agent as well', async () => {
    const own = await ownDispatcher();

    expect(await checkedDispatcher(own)).toBe(own);
  });
});

describe('a dispatcher of one origin', () => {
  test.each<[string, (to: string) => Dispatcher]>([
    ['a Pool', (to) => new Pool(to, { connections: 2 })],
    ['a Client', (to) => new Client(to)],
  ])('is taken, and sends to no other: %s', async (_, made) => {
    const provider = await wireProvider(committed);
    const mine = `http://127.0.0.1:${provider.port}`;
    const given = made(mine);
    const dispatcher = await checkedDispatcher(given);

    const there = await charge(dispatcher, { url: `${mine}/charges`, freshConnection: true });
    const elsewhere = await charge(dispatcher, { url: 'http://psp.example/charges' });
    await given.destroy();
    await provider.close();

    expect(there).toMatchObject({ status: 201 });
    expect(elsewhere).toMatchObject({ gate: 'shut', reason: 'not-dispatched', error: { code: 'DEFINITION_INVALID' } });
    expect(provider.effects()).toBe(1);
  });
});

describe('a ProxyAgent', () => {
  test('carries a charge through its tunnel, and leaves the headers as they were given', async () => {
    const provider = await wireProvider(committed);
    const proxy = await wireProvider({
      request({ path, socket }) {
        const [host, port] = path.split(':');
        const onward = connect(Number(port), host).on('error', () => undefined);
        socket.removeAllListeners('data').write('HTTP/1.1 200 Connected\r\n\r\n');
        socket.pipe(onward).pipe(socket);
      },
    });
    const given = new ProxyAgent(`http://127.0.0.1:${proxy.port}`);
    const url = `http://127.0.0.1:${provider.port}/charges`;
    const headers = Object.freeze({ 'idempotency-key': 'order-17' });

    const arrival = await charge(await checkedDispatcher(given), { url, headers, freshConnection: true });
    await given.destroy();
    for (const { close } of [proxy, provider]) await close();

    expect(arrival).toMatchObject({ gate: 'opened', status: 201 });
    expect(provider.effects('order-17')).toBe(1);
  });
});

describe('a proxy that closes the connection on CONNECT', () => {
  test('is told at once, and is not asked again and again', async () => {
    const proxy = await wireProvider({ request: ({ socket }) => socket.end() });
    const given = new ProxyAgent(`http://127.0.0.1:${proxy.port}`);
    const dispatcher = await checkedDispatcher(given);

    const arrivals = await Promise.all([1, 2].map(() => charge(dispatcher, { url: 'http://127.0.0.1:9/charges' })));
    const asked = proxy.connections();
    await given.destroy();
    await proxy.close();

    expect(arrivals).toMatchObject([
      { gate: 'shut', reason: 'not-connected' },
      { gate: 'shut', reason: 'not-connected' },
    ]);
    expect(asked).toBe(2);
  });
});

class ShopAgent extends Agent {}

/** One that is called like undici's, and is not: of another copy, or of another version. */
const otherCopy = new (class Agent extends EventEmitter {
  dispatch(): boolean {
    return false;
  }
})();

function withDispatchOfItsOwn(agent: Dispatcher): Dispatcher {
  return Object.assign(agent, { dispatch: agent.dispatch.bind(agent) });
}

const { retry, redirect, dns } = interceptors;
const makes = (made: Dispatcher) => () => made;

describe('a dispatcher that could send a request twice', () => {
  test.each<[string, unknown, RegExp]>([
    ['a RetryAgent', new RetryAgent(new Agent()), /RetryAgent/],
    ['composed with retry', new Agent().compose(retry()), /composed with interceptors/],
    ['composed with redirect', new Agent().compose(redirect({ maxRedirections: 1 })), /composed with interceptors/],
    ['composed with dns', new Pool(origin).compose(dns()), /composed with interceptors/],
    ['a composed proxy agent', new ProxyAgent(origin).compose(retry()), /composed with interceptors/],
    ['an Agent that makes composed pools', new Agent({ factory: makes(new Pool(origin).compose(retry())) }), /factory/],
    ['a Pool that makes its clients', new Pool(origin, { factory: makes(new Client(origin)) }), /factory/],
    ['a ProxyAgent that makes composed pools', proxyThatMakes(new Pool(origin).compose(retry())), /composed/],
    ['a ProxyAgent that makes retrying agents', proxyThatMakes(new RetryAgent(new Agent())), /RetryAgent/],
    ['an Agent with interceptors', new Agent({ interceptors: { Client: [], Agent: [retry()] } }), /interceptors/],
    ['with a dispatch of its own', withDispatchOfItsOwn(new Agent()), /dispatch of its own/],
    ['a kind of its own', new ShopAgent(), /ShopAgent/],
    ['an Agent that pipelines', new Agent({ pipelining: 2 }), /pipelin/],
    ['a Pool that pipelines', new Pool(origin, { pipelining: 10 }), /pipelin/],
    ['a Client that pipelines', new Client(origin, { pipelining: 2 }), /pipelin/],
    ['a ProxyAgent that pipelines', new ProxyAgent({ uri: origin, pipelining: 2 }), /pipelin/],
    ['a ProxyAgent without a tunnel', new ProxyAgent({ uri: origin, proxyTunnel: false }), /tunnel/],
    ['a ProxyAgent over SOCKS', new ProxyAgent('socks5://127.0.0.1:9'), /tunnel/],
    ['a BalancedPool', new BalancedPool(origin), /BalancedPool/],
    ['a RoundRobinPool', new RoundRobinPool(origin), /RoundRobinPool/],
    ['an EnvHttpProxyAgent', new EnvHttpProxyAgent(), /EnvHttpProxyAgent/],
    ['a MockAgent', new MockAgent(), /MockAgent/],
  ])('is refused: %s', async (_, given, what) => {
    expect(await refusalOf(given)).toMatch(what);
  });
});

describe('a dispatcher over which less can be proven, or nothing', () => {
  test.each<[string, unknown, RegExp]>([
    ['an Agent with HTTP/2', new Agent({ allowH2: true }), /HTTP\/2/],
    ['an Agent that connects with HTTP/2', new Agent({ connect: { allowH2: true } }), /HTTP\/2/],
    ['a Pool with HTTP/2', new Pool(origin, { allowH2: true }), /HTTP\/2/],
    ['a ProxyAgent with HTTP/2 behind it', proxyWithHttp2('requestTls'), /HTTP\/2/],
    ['a ProxyAgent with HTTP/2 before it', proxyWithHttp2('proxyTls'), /HTTP\/2/],
    [
      'a ProxyAgent of one connection with HTTP/2',
      new ProxyAgent({ uri: origin, connections: 1, allowH2: true }),
      /HTTP\/2/,
    ],
    ['a client for HTTP/2', new H2CClient(origin), /H2CClient/],
    ['an agent of another copy', otherCopy, /another copy of undici/],
    ['an object of no class', Object.create(null), /not a dispatcher/],
    ['a function', () => true, /not a dispatcher/],
    ['nothing', null, /not a dispatcher/],
  ])('is refused: %s', async (_, given, what) => {
    expect(await refusalOf(given)).toMatch(what);
  });

  test('is told what to pass instead', async () => {
    expect(await refusalOf(new RetryAgent(new Agent()))).toBe(
      'The dispatcher of the managed sender is a RetryAgent, and may send a request twice. ' +
        'Pass a plain Agent, Pool, Client or ProxyAgent of undici 7, the one that sagacity depends on.',
    );
  });
});

function proxyThatMakes(made: Dispatcher): ProxyAgent {
  return new ProxyAgent({ uri: origin, factory: makes(made) });
}

function proxyWithHttp2(where: 'requestTls' | 'proxyTls'): ProxyAgent {
  // undici hands these to its connector, whose options are more than what its types say.
  return new ProxyAgent({ uri: origin, [where]: { allowH2: true } } as ProxyAgent.Options);
}

/** The message of the refusal, or a word that matches nothing. */
async function refusalOf(given: unknown): Promise<string> {
  const refusal: unknown = await checkedDispatcher(given).catch((error: unknown) => error);
  return isSagacityError(refusal, 'DEFINITION_INVALID') ? refusal.message : 'taken';
}
