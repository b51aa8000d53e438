/**
 * The two that are compared: undici as it comes, and the managed sender on top of it. Both send the same bytes and
 * headers over an agent of their own with the same options, and read the whole reply.
 */

import { Agent } from 'undici';
import { systemClock } from '../../src/adapters/local/clock.ts';
import { succeeded } from 'sagacity';
import { idempotencyKeyHeader } from 'sagacity/providers';
import { ownOptions } from '../../src/providers/dispatchers.ts';
import { httpSender } from '../../src/providers/http-sender.ts';

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

const json = { orderId: 'order-17', amountMinor: '12000', currency: 'EUR', capture: 'later' };
const body = JSON.stringify(json);

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

const charges = idempotencyKeyHeader({
  ...{ name: 'card-company/charges', docs: 'https://docs.card-company.example', verified: 'unverified' },
  ...{ keyRetention: '24h', encoding: 'raw', lookup: 'none' },
});

/** An attempt each, as the orchestrator makes them: under a contract, with a signal of its own. */
async function managed(url: string): Promise<Sender> {
  const { origin, pathname } = new URL(url);
  const sender = httpSender(systemClock(), { cards: { url: origin } });
  const to = { tenant: 'shop', action: 'card.charge', provider: 'cards', contract: charges, timeoutMs: 30_000 };
  return {
    async call(key) {
      const { signal } = new AbortController();
      const sending = { ...to, idempotencyKey: key, signal, firstSentAt: 0, mayLeave: () => null };
      const outcome = await sender
        .attempt(sending)
        .http.send({ url: pathname, json }, ({ body: charge }) => succeeded(charge));
      if (outcome.type !== 'succeeded') throw new Error(`The sender was told ${outcome.type}.`);
    },
    close: () => sender.close(),
  };
}
