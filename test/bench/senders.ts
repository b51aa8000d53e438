/**
 * The two that are compared: undici as it comes, and the managed sender on top of it. Both send the same bytes and
 * headers over an agent of their own with the same options, and read the whole reply.
 */

import { Agent } from 'undici';
import { systemClock } from '../../src/adapters/local/clock.ts';
import { dispatchOnce } from '../../src/providers/dispatch.ts';
import { ownDispatcher, ownOptions } from '../../src/providers/dispatchers.ts';

/** Makes one call with this idempotency key, and throws unless the provider has carried it out. */
type MakeOneCall = (key: string) => Promise<void>;

export interface Sender {
  readonly call: MakeOneCall;
  readonly close: () => Promise<void>;
}

export type SenderName = 'undici' | 'sagacity';

/** What makes each, for a provider at this URL. */
export const senders: Readonly<Record<SenderName, (url: string) => Promise<Sender>>> = {
  undici: bareUndici,
  sagacity: managed,
};

const body = JSON.stringify({ orderId: 'order-17', amountMinor: '12000', currency: 'EUR', capture: 'later' });

const headersOf = (key: string) => ({ 'content-type': 'application/json', 'idempotency-key': key });

async function bareUndici(url: string): Promise<Sender> {
  const agent = new Agent(ownOptions);
  const { origin, pathname } = new URL(url);
  return {
    async call(key) {
      const request = { origin, path: pathname, method: 'POST', headers: headersOf(key), body };
      const reply = await agent.request(request);
      await reply.body.bytes();
      if (reply.statusCode !== 201) throw new Error(`undici was answered ${reply.statusCode}.`);
    },
    close: () => agent.close(),
  };
}

async function managed(url: string): Promise<Sender> {
  const agent = await ownDispatcher();
  const clock = systemClock();
  const departure = {
    mayLeave: () => null,
    timeoutMs: 30_000,
    bodyMaxBytes: 1_000_000,
    freshConnection: false,
  };
  return {
    async call(key) {
      const outgoing = { method: 'POST', url, headers: headersOf(key), body };
      // Every attempt has a signal of its own.
      const { signal } = new AbortController();
      const arrival = await dispatchOnce(agent, outgoing, { ...departure, signal }, clock);
      if (arrival.gate === 'shut' || arrival.status !== 201) throw new Error(`The sender was told ${arrival.gate}.`);
    },
    close: () => agent.close(),
  };
}
