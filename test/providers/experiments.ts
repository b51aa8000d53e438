/**
 * The faults a wire has, as a table: how each is arranged, and what must be known afterwards. Nothing here is mocked:
 * every row has a server on loopback that does just this, and counts its effects. A row says whether the gate of the
 * dispatch opened, what was shown of the reply, and how many effects there are; never which error code was seen,
 * because that is what proves nothing.
 *
 * A body that is a stream and throws midway is no row: what is sent is text or bytes, whole before it leaves.
 */

import { once } from 'node:events';
import type { LookupFunction, Socket } from 'node:net';
import type { TlsOptions } from 'node:tls';
import { Agent, type buildConnector, type Dispatcher, ProxyAgent } from 'undici';
import type { Arrival } from '../../src/providers/arrival.ts';
import { checkedDispatcher, ownOptions } from '../../src/providers/dispatchers.ts';
import { certificateFor } from './certificates.ts';
import { type Charge, charge } from './departing.ts';
import { fullBacklog } from './full-backlog.ts';
import { type Call, type Conduct, committed, type WireProvider, wireProvider } from './wire-provider.ts';

export interface Experiment {
  readonly fault: string;
  readonly arrange: Arrange;
  readonly gate: 'shut' | 'opened' | 'either';
  /** Where the kernel decides what is seen first, both. */
  readonly shown: Shown | 'not sent or no status';
  readonly effects: 0 | 1;
}

export type Shown = 'not sent' | 'no status' | 'status with broken body' | 'whole';

export function shownBy(arrival: Arrival): Shown {
  if (arrival.gate === 'shut') return 'not sent';
  if (arrival.status === null) return 'no status';
  return arrival.body.type === 'broken' ? 'status with broken body' : 'whole';
}

/** A charge that is about to meet a fault. */
export interface Scene {
  readonly dispatcher: Dispatcher;
  readonly charge: Omit<Charge, 'clock'>;
  readonly effects: () => number;
}

export type AtEnd = (close: () => Promise<unknown>) => void;
type Arrange = (atEnd: AtEnd) => Promise<Scene>;

/** Long enough for a loopback that answers, short enough to wait for where nothing does. */
const patienceMs = 150;

const reply = (text: string): string => text.replaceAll('\n', '\r\n');
const created = 'HTTP/1.1 201 Created\ncontent-length: 12\n\n{"id":"p_1"}';

// What a provider does.

/** Commits, then does this with the connection. */
const commits = (then: (socket: Socket, call: Call) => unknown): Conduct => ({
  request(call) {
    call.commit();
    then(call.socket, call);
  },
});
/** Does this with the connection, and nothing else. */
const reads = (then: (socket: Socket) => unknown): Conduct => ({ request: ({ socket }) => void then(socket) });
const sends = (text: string) => (socket: Socket) => socket.write(reply(text));
const sendsAndEnds = (text: string) => (socket: Socket) => socket.end(reply(text));
const ends = (socket: Socket) => socket.end();
const resets = (socket: Socket) => socket.resetAndDestroy();
const hangs = (): undefined => undefined;
const sendsAndResets = (text: string) => (socket: Socket) => socket.write(reply(text), () => socket.resetAndDestroy());

/** Sends one piece every so many milliseconds, for as long as the connection lasts. */
const drips = (everyMs: number, pieces: Iterable<string>) => (socket: Socket) => {
  const rest = pieces[Symbol.iterator]();
  const timer = setInterval(() => {
    const next = rest.next();
    if (next.done === true) clearInterval(timer);
    else socket.write(reply(next.value));
  }, everyMs);
  socket.once('close', () => clearInterval(timer));
};

const interim = 'HTTP/1.1 103 Early Hints\n\n';

/** Answers before the body was read. */
const early = (effect: 'commits' | 'refuses', then: (socket: Socket) => unknown): Conduct => ({
  head(call) {
    if (effect === 'commits') call.commit();
    then(call.socket);
  },
});

const tooLarge = 'HTTP/1.1 413 Content Too Large\ncontent-length: 2\n\n{}';

// How a charge gets there.

const toLoopback: LookupFunction = (_host, { all }, found) => {
  if (all === true) found(null, [{ address: '127.0.0.1', family: 4 }]);
  else found(null, '127.0.0.1', 4);
};
const toBothFamilies: LookupFunction = (_host, _options, found) =>
  found(null, [
    { address: '::1', family: 6 },
    { address: '127.0.0.1', family: 4 },
  ]);
const toNowhere: LookupFunction = (_host, _options, found) =>
  found(Object.assign(new Error('no such host'), { code: 'ENOTFOUND' }), '', 0);

function agent(atEnd: AtEnd, connect: buildConnector.BuildOptions = {}): Agent {
  const made = new Agent({ ...ownOptions, connect: { ...ownOptions.connect, ...connect } });
  atEnd(() => made.destroy());
  return made;
}

async function running(atEnd: AtEnd, conduct: Conduct, tls?: TlsOptions): Promise<WireProvider> {
  const provider = await wireProvider(conduct, tls);
  atEnd(provider.close);
  return provider;
}

/** A provider that speaks plain HTTP. */
function plainly(conduct: Conduct, more: Partial<Charge> = {}): Arrange {
  return async (atEnd) => {
    const { port, effects } = await running(atEnd, conduct);
    const url = `http://127.0.0.1:${port}/charges`;
    return { dispatcher: agent(atEnd), charge: { url, ...more }, effects };
  };
}

/** A provider that does not answer in time. */
const inVain = (conduct: Conduct): Arrange => plainly(conduct, { timeoutMs: patienceMs });

const upload = { body: 'x'.repeat(8 * 1024 * 1024) };

/** A host under its name, over TLS where it is https, found by this look-up. */
function byName(
  scheme: 'http' | 'https',
  lookup: LookupFunction,
  conduct: Conduct,
  more: { readonly tls?: TlsOptions; readonly ca?: string; readonly timeoutMs?: number } = {},
): Arrange {
  const { tls, ca, timeoutMs = 2000 } = more;
  return async (atEnd) => {
    const { port, effects } = await running(atEnd, conduct, tls);
    const dispatcher = agent(atEnd, ca === undefined ? { lookup } : { lookup, ca });
    return {
      dispatcher,
      charge: { url: `${scheme}://psp.example:${port}/charges`, timeoutMs },
      effects,
    };
  };
}

/** A host whose certificate is for this name, and trusted by those who know it. */
function certified(name: string, trusted: boolean, more: TlsOptions = {}): Arrange {
  return async (atEnd) => {
    const certificate = await certificateFor(name);
    const ca = trusted ? { ca: certificate.cert } : {};
    return byName('https', toLoopback, committed, { tls: { ...certificate, ...more }, ...ca })(atEnd);
  };
}

/** A port on which nobody listens any more. */
async function deserted(): Promise<number> {
  const { port, close } = await wireProvider({});
  await close();
  return port;
}

const refusedPort =
  (host: string, connect: buildConnector.BuildOptions = {}): Arrange =>
  async (atEnd) => ({
    dispatcher: agent(atEnd, connect),
    charge: { url: `http://${host}:${await deserted()}/charges` },
    effects: () => 0,
  });

const unanswered =
  (connectMs: number, timeoutMs: number): Arrange =>
  async (atEnd) => {
    const { port, close } = await fullBacklog();
    atEnd(close);
    const dispatcher = agent(atEnd, { timeout: connectMs });
    return { dispatcher, charge: { url: `http://127.0.0.1:${port}/charges`, timeoutMs }, effects: () => 0 };
  };

/** An origin behind a proxy that answers CONNECT like this. */
const behindProxy =
  (then: (socket: Socket) => unknown): Arrange =>
  async (atEnd) => {
    const origin = await running(atEnd, committed);
    const proxy = await running(atEnd, reads(then));
    const dispatcher = new ProxyAgent(`http://127.0.0.1:${proxy.port}`);
    atEnd(() => dispatcher.destroy());
    await checkedDispatcher(dispatcher);
    return { dispatcher, charge: { url: `http://127.0.0.1:${origin.port}/charges` }, effects: origin.effects };
  };

/** A connection that has served one request already, or that was closed after it, and the close was seen. */
function reused(then: Conduct, afterWarmUp: 'kept' | 'closed', more: Partial<Charge> = {}): Arrange {
  const conduct: Conduct = {
    request(call) {
      if (call.path !== '/warm-up') return then.request?.(call);
      call.answer(200);
      if (afterWarmUp === 'closed') call.socket.end();
    },
  };
  return async (atEnd) => {
    const scene = await plainly(conduct, more)(atEnd);
    const closed = afterWarmUp === 'closed' ? once(scene.dispatcher, 'disconnect') : null;
    await charge(scene.dispatcher, { url: scene.charge.url.replace('/charges', '/warm-up') });
    await closed;
    return scene;
  };
}

/** The provider has the request when it is given up. */
const abortedOnArrival: Arrange = (atEnd) => {
  const given = new AbortController();
  return plainly(
    commits(() => given.abort()),
    { signal: given.signal },
  )(atEnd);
};

/** Carries out what comes on a connection of its own, and hangs up on what comes on a used one. */
const hangsUpOnReuse: Conduct = {
  request: (call) => void (call.place === 1 ? committed.request?.(call) : call.socket.end()),
};

const notSent = { gate: 'shut', shown: 'not sent', effects: 0 } as const;
const silence = { gate: 'opened', shown: 'no status', effects: 0 } as const;
const silenceAfterEffect = { gate: 'opened', shown: 'no status', effects: 1 } as const;
const brokenBody = { gate: 'opened', shown: 'status with broken body', effects: 1 } as const;
const whole = { gate: 'opened', shown: 'whole', effects: 1 } as const;
const refusedWhole = { gate: 'opened', shown: 'whole', effects: 0 } as const;

const http13 = { minVersion: 'TLSv1.3' } as const;
const http12 = { maxVersion: 'TLSv1.2' } as const;
const wantsCertificate = { requestCert: true, rejectUnauthorized: true } as const;

const created100 = 'HTTP/1.1 201 Created\ncontent-length: 100\n\n{"id":"p_1"}';
const createdChunked = 'HTTP/1.1 201 Created\ntransfer-encoding: chunked\n\n50\n{"id":"p_1"}';

/** The names are those of the measured table of the contracts. */
export const experiments: readonly Experiment[] = [
  // Nothing was written.
  { fault: 'refused', arrange: refusedPort('127.0.0.1'), ...notSent },
  { fault: 'refused, localhost dual stack', arrange: refusedPort('localhost', { lookup: toBothFamilies }), ...notSent },
  { fault: 'DNS', arrange: byName('http', toNowhere, committed), ...notSent },
  { fault: 'SYN never answered', arrange: unanswered(10_000, patienceMs), ...notSent },
  { fault: 'SYN never answered, connecting given up', arrange: unanswered(100, 5000), ...notSent },
  { fault: 'self-signed', arrange: certified('psp.example', false), ...notSent },
  { fault: 'wrong name', arrange: certified('other.example', true), ...notSent },
  {
    fault: 'plaintext port',
    arrange: byName('https', toLoopback, {
      accept: (socket) => void socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')),
    }),
    ...notSent,
  },
  { fault: 'RST in TLS handshake', arrange: byName('https', toLoopback, onHello(resets)), ...notSent },
  { fault: 'FIN in TLS handshake', arrange: byName('https', toLoopback, onHello(ends)), ...notSent },
  {
    fault: 'hang in TLS handshake',
    arrange: byName('https', toLoopback, onHello(hangs), { timeoutMs: patienceMs }),
    ...notSent,
  },
  {
    fault: 'mTLS cert refused, TLS 1.2',
    arrange: certified('psp.example', true, { ...wantsCertificate, ...http12 }),
    ...notSent,
  },
  {
    fault: 'proxy answers CONNECT with 502',
    arrange: behindProxy(sendsAndEnds('HTTP/1.1 502 Bad Gateway\n\n')),
    ...notSent,
  },
  { fault: 'proxy closes on CONNECT', arrange: behindProxy(ends), ...notSent },

  // Something was, or may have been, written; no status came back.
  {
    fault: 'mTLS cert refused, TLS 1.3',
    arrange: certified('psp.example', true, { ...wantsCertificate, ...http13 }),
    ...silence,
  },
  {
    fault: 'RST on accept',
    arrange: plainly({ accept: resets }),
    gate: 'either',
    shown: 'not sent or no status',
    effects: 0,
  },
  { fault: 'FIN on accept', arrange: plainly({ accept: ends }), ...silence },
  { fault: 'read, RST, no commit', arrange: plainly(reads(resets)), ...silence },
  { fault: 'read, FIN, no commit', arrange: plainly(reads(ends)), ...silence },
  { fault: 'commit, RST', arrange: plainly(commits(resets)), ...silenceAfterEffect },
  { fault: 'commit, FIN', arrange: plainly(commits(ends)), ...silenceAfterEffect },
  { fault: 'hang without commit', arrange: inVain(reads(hangs)), ...silence },
  { fault: 'hang with commit', arrange: inVain(commits(hangs)), ...silenceAfterEffect },
  {
    fault: 'trickled headers',
    arrange: inVain(commits(drips(5, 'HTTP/1.1 201 Created\nx: '.padEnd(500, '.')))),
    ...silenceAfterEffect,
  },
  { fault: '1xx for ever', arrange: inVain(commits(drips(20, endlessly(interim)))), ...silenceAfterEffect },
  { fault: '1xx, then 201', arrange: plainly(commits(drips(5, [interim, interim, created]))), ...whole },
  {
    fault: 'unsolicited 100',
    arrange: plainly(commits(sends(`HTTP/1.1 100 Continue\n\n${created}`))),
    ...silenceAfterEffect,
  },
  {
    fault: 'unexpected 101',
    arrange: plainly(commits(sends('HTTP/1.1 101 Switching Protocols\nconnection: upgrade\nupgrade: raw\n\n'))),
    ...silenceAfterEffect,
  },
  { fault: 'half status line', arrange: plainly(commits(sendsAndEnds('HTTP/1.1 20'))), ...silenceAfterEffect },
  { fault: 'garbage', arrange: plainly(commits(sends('SSH-2.0-OpenSSH_9.2p1\n'))), ...silenceAfterEffect },
  {
    fault: '20 KB headers',
    arrange: plainly(commits(sends(`HTTP/1.1 201 Created\nx-large: ${'x'.repeat(20_000)}\ncontent-length: 0\n\n`))),
    ...silenceAfterEffect,
  },
  { fault: 'abort after send', arrange: abortedOnArrival, ...silenceAfterEffect },

  // A status came back, and the body did not, or not all of it.
  { fault: '201 then body hang', arrange: inVain(commits(sends(created100))), ...brokenBody },
  { fault: '201 then body cut, content-length', arrange: plainly(commits(sendsAndEnds(created100))), ...brokenBody },
  { fault: '201 then body cut, chunked', arrange: plainly(commits(sendsAndEnds(createdChunked))), ...brokenBody },
  { fault: '201 then RST', arrange: plainly(commits(sendsAndResets(created100))), ...brokenBody },
  {
    fault: '201 too large',
    arrange: plainly(commits((_, { answer }) => answer(201, 'x'.repeat(20_000)))),
    ...brokenBody,
  },

  // All of it came back, whatever it is worth.
  {
    fault: '201 close-delimited, cut',
    arrange: plainly(commits(sendsAndEnds('HTTP/1.1 201 Created\n\n{"id":"p_'))),
    ...whole,
  },
  { fault: '201 HTML', arrange: plainly(commits((_, { answer }) => answer(201, '<html>'))), ...whole },
  { fault: '201 empty', arrange: plainly(commits((_, { answer }) => answer(201))), ...whole },
  {
    fault: 'early 413 while uploading, keep',
    arrange: plainly(early('refuses', sends(tooLarge)), upload),
    ...refusedWhole,
  },
  {
    fault: 'early 413 while uploading, close',
    arrange: plainly(early('refuses', sendsAndEnds(tooLarge)), upload),
    ...refusedWhole,
  },
  {
    fault: 'early 413 while uploading, RST',
    arrange: plainly(early('refuses', sendsAndResets(tooLarge)), upload),
    ...refusedWhole,
  },
  { fault: 'early 201 while uploading', arrange: plainly(early('commits', sends(created)), upload), ...whole },

  // The keep-alive race: the same error, and both truths.
  { fault: 'keep-alive race, FIN, no commit', arrange: reused(reads(ends), 'kept'), ...silence },
  { fault: 'keep-alive race, RST, no commit', arrange: reused(reads(resets), 'kept'), ...silence },
  { fault: 'keep-alive race, commit, FIN', arrange: reused(commits(ends), 'kept'), ...silenceAfterEffect },
  { fault: 'keep-alive race, commit, RST', arrange: reused(commits(resets), 'kept'), ...silenceAfterEffect },
  { fault: 'keep-alive closed, seen in time', arrange: reused(committed, 'closed'), ...whole },
  {
    fault: 'keep-alive race, connection of its own',
    arrange: reused(hangsUpOnReuse, 'kept', { freshConnection: true }),
    ...whole,
  },
];

/** Once the client has said hello. */
function onHello(then: (socket: Socket) => unknown): Conduct {
  return { accept: (socket) => void socket.once('data', () => then(socket)) };
}

function* endlessly(text: string): Generator<string> {
  while (true) yield text;
}
