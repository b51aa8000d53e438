/**
 * Over which connections requests leave: those of an agent of our own, or of a dispatcher that the host passes for
 * its proxy, certificates or socket options. The host's global dispatcher is never used, whatever it was set to.
 *
 * Some of what undici offers sends a request again behind the caller's back: retrying and redirecting interceptors,
 * the one for DNS, pipelining. A dispatcher is taken only where it can be seen that nothing of the kind is in it; what
 * cannot be recognised is refused. The one thing that does not show is HTTP/2 inside a host's own `connect`, and it
 * repeats nothing without asking the gate of a dispatch, which lets a request through once. The check does not become
 * idle by that gate: to go on with a reply that was cut, the retrying interceptor sends the request again without asking.
 *
 * undici is loaded at the first use, because those who send nothing should not pay for it.
 */

import { EventEmitter } from 'node:events';
import { types } from 'node:util';
import type { Agent, Dispatcher } from 'undici';
import { definitionInvalid } from '../domain/errors.ts';

type Undici = typeof import('undici');

/** A new agent of our own. Close it when the sender stops. */
export async function ownDispatcher(): Promise<Agent> {
  const { Agent } = await import('undici');
  return new Agent(ownOptions);
}

/** What our own agent is made with. */
export const ownOptions = {
  allowH2: false,
  pipelining: 1,
  connect: { timeout: 10_000 },
  // An idle connection is dropped before the provider drops it: a request that meets its closing is in doubt.
  keepAliveTimeout: 4000,
  keepAliveTimeoutThreshold: 2000,
  keepAliveMaxTimeout: 60_000,
} as const satisfies Agent.Options;

/**
 * Takes the dispatcher of a host, which the host closes, or rejects with DEFINITION_INVALID, which says what of it could
 * send a request twice, or cannot be recognised, and what to pass instead.
 *
 * @example
 * const dispatcher = await checkedDispatcher(new ProxyAgent('http://proxy.shop.example:3128'));
 */
export async function checkedDispatcher(given: unknown): Promise<Pick<Dispatcher, 'dispatch'>> {
  const undici = await import('undici');
  const dispatcher = plain(given, undici);
  const isBound = dispatcher instanceof undici.Pool || dispatcher instanceof undici.Client;
  return isBound ? onlyToItsOrigin(dispatcher) : dispatcher;
}

/** A Pool and a Client send everything to their own origin, whatever the URL says, and its keys and data with it. */
function onlyToItsOrigin(dispatcher: Dispatcher): Pick<Dispatcher, 'dispatch'> {
  const bound = member(dispatcher, 'url');
  if (!(bound instanceof URL)) throw hidden('url');
  return {
    dispatch(options, handler) {
      if (new URL(String(options.origin)).origin !== bound.origin) {
        throw refused('belongs to another origin than the request', 'Pass an Agent, or one of the provider.');
      }
      return dispatcher.dispatch(options, handler);
    },
  };
}

function plain(given: unknown, undici: Undici): Dispatcher {
  if (types.isProxy(given)) {
    throw refused('is composed with interceptors', 'Pass the agent itself, without compose().');
  }
  if (!(given instanceof EventEmitter)) throw refused('is not a dispatcher of undici', passAnAgent);
  const { Agent, Client, Pool, ProxyAgent } = undici;
  const kind = [Agent, Client, Pool, ProxyAgent].find(({ prototype }) => Object.getPrototypeOf(given) === prototype);
  if (kind === undefined) throw refused(unrecognised(given), passAnAgent);
  // Its prototype is that of one of the four.
  const dispatcher = given as Agent | InstanceType<typeof Client | typeof Pool | typeof ProxyAgent>;
  if (dispatcher.dispatch !== kind.prototype.dispatch) {
    throw refused(`is ${aKind(kind.name)} with a dispatch of its own`, passAnAgent);
  }
  if (kind === ProxyAgent) checkProxyAgent(dispatcher, undici);
  else if (kind === Client) checkPipelining(numberOf(member(dispatcher, 'pipelining')));
  else checkPooled(dispatcher, kind === Agent ? new Agent() : new Pool('http://localhost'));
  return dispatcher;
}

/** `sample` is one of the same kind that was given no options. */
function checkPooled(dispatcher: Dispatcher, sample: Dispatcher): void {
  if (member(dispatcher, 'factory') !== member(sample, 'factory')) {
    throw refused('has a factory of its own', 'Leave the factory out, and pass its options to the agent.');
  }
  checkOptions(member(dispatcher, 'options'));
}

function checkOptions(options: unknown): void {
  if (typeof options !== 'object' || options === null) throw hidden('options');
  const { pipelining, interceptors, connect, tls } = options as Readonly<Record<string, unknown>>;
  checkPipelining(numberOf(pipelining ?? 1));
  if (interceptors !== undefined) throw refused('has interceptors', 'Leave the option interceptors out.');
  if ([options, connect, tls].some(speaksHttp2)) {
    throw refused('speaks HTTP/2, over which less can be proven', 'Set allowH2: false.');
  }
}

function checkPipelining(pipelining: number): void {
  if (!(pipelining <= 1)) {
    throw refused('pipelines, and sends again what was behind a lost request', 'Set pipelining: 1.');
  }
}

/** A proxy is passed through a tunnel, where it sees bytes; one that reads requests may send them again itself. */
function checkProxyAgent(dispatcher: Dispatcher, undici: Undici): void {
  const protocol = String(new Map(Object.entries(Object(member(dispatcher, 'proxy agent options')))).get('protocol'));
  if (member(dispatcher, 'tunnel proxy') !== true || !/^https?:$/.test(protocol)) {
    throw refused('is a ProxyAgent without a tunnel', 'Use an HTTP proxy with proxyTunnel: true.');
  }
  if (['request tls settings', 'proxy tls settings'].some((name) => speaksHttp2(member(dispatcher, name)))) {
    throw refused('speaks HTTP/2, over which less can be proven', 'Set allowH2: false.');
  }
  const agent = member(dispatcher, 'proxy agent');
  if (typeof agent !== 'object' || agent === null) throw hidden('proxy agent');
  const options = member(agent, 'options');
  checkOptions(options);
  // A factory of the host hides inside undici's own. It connects to nothing, so it is asked for one.
  const factory = member(agent, 'factory');
  if (typeof factory !== 'function') throw hidden('factory');
  const made: unknown = factory('http://localhost', options);
  plain(made, undici);
  // Given twice, it still has one.
  if (agent instanceof EventEmitter) agent.off('connectionError', hangUp).on('connectionError', hangUp);
}

/**
 * undici takes a proxy that closes the connection on CONNECT for a mishap of that connection: it connects again, at
 * once and for ever, and holds what waits. So the client that could not connect is destroyed, and what waits is told.
 */
function hangUp(_origin: URL, targets: readonly Dispatcher[], error: Error & { readonly code?: unknown }): void {
  const client = targets.at(-1);
  if (error.code === 'UND_ERR_SOCKET' && client !== undefined) client.destroy(error).catch(() => undefined);
}

function speaksHttp2(options: unknown): boolean {
  if (typeof options !== 'object' || options === null) return false;
  const { allowH2, useH2c } = options as Readonly<Record<string, unknown>>;
  return Boolean(allowH2) || Boolean(useH2c);
}

/** undici keeps what it was made with under symbols; a member that is not where it was says that undici changed. */
function member(owner: object, description: string): unknown {
  const key = Object.getOwnPropertySymbols(owner).find((symbol) => symbol.description === description);
  if (key === undefined) throw hidden(description);
  return Reflect.get(owner, key);
}

function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : Number.NaN;
}

function unrecognised(given: object): string {
  const { name } = given.constructor;
  const known = ['Agent', 'Client', 'Pool', 'ProxyAgent'].includes(name);
  return known ? `is ${aKind(name)} of another copy of undici` : `is ${aKind(name)}, and may send a request twice`;
}

function aKind(name: string): string {
  return `${/^[AEIOU]/.test(name) ? 'an' : 'a'} ${name}`;
}

const passAnAgent = 'Pass a plain Agent, Pool, Client or ProxyAgent of undici 7, the one that sagacity depends on.';

function hidden(what: string) {
  return refused(`does not show its ${what}`, passAnAgent);
}

function refused(what: string, remedy: string) {
  return definitionInvalid(`The dispatcher of the managed sender ${what}.`, remedy);
}
