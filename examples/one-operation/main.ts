/**
 * One charge whose reply is lost, from beginning to end. The payment provider is scripted and starts here, so that it
 * can be told to take the money and hang up. Run it: node --import tsx --conditions=sagacity-source examples/one-operation/main.ts
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { absent, createOrchestrator, failed, found, inconclusive, operation, succeeded, typed } from 'sagacity';
import { pgliteStore } from 'sagacity/pglite';
import { scriptedProvider } from 'sagacity/testing';

interface Payment {
  orderId: string;
  amount: number;
  currency: string;
}

const provider = await scriptedProvider();

const chargeCard = operation('card.charge', {
  input: typed<Payment>(),
  // One order, one charge: the key comes from the business, never from the attempt.
  key: ({ input }) => input.orderId,
  async execute({ input, idempotencyKey, abortSignal }) {
    const reply = await fetch(`${provider.url}/charges`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
      body: JSON.stringify(input),
      signal: abortSignal,
    });
    if (reply.status === 402) return failed('card_declined');
    // Not a clear yes and not a clear no: thrown, and therefore unknown.
    if (!reply.ok) throw new Error(`The provider replied ${reply.status}.`);
    return succeeded({ chargeId: await idIn(reply) });
  },
  keyRetention: '24h',
  lookup: {
    visibleWithin: '30s',
    async find({ idempotencyKey, abortSignal }) {
      const reply = await fetch(`${provider.url}/charges/by-idempotency-key/${idempotencyKey}`, {
        signal: abortSignal,
      });
      if (reply.status === 404) return absent();
      return reply.ok ? found(succeeded({ chargeId: await idIn(reply) })) : inconclusive();
    },
  },
});

const data = await mkdtemp(join(tmpdir(), 'sagacity-one-operation-'));
const orchestrator = createOrchestrator({ store: pgliteStore(data), definitions: [chargeCard], tenant: 'shop' });
await orchestrator.start();

await provider.faults(['commit-then-drop']);
const charge = await orchestrator.submit(chargeCard, { orderId: 'order-17', amount: 1200, currency: 'EUR' });
const end = await charge.result({ within: '30s' });

for (const { kind, states } of await charge.history()) console.log(`${kind}: ${states?.join(', ') ?? 'no change'}`);
if (end.status === 'succeeded') console.log(`charged once: ${end.output.chargeId}`);
else console.log(`not charged: ${end.status}`);

const again = await orchestrator.submit(chargeCard, { orderId: 'order-17', amount: 1200, currency: 'EUR' });
console.log(`submitted again: ${again.submission}`);
console.log(`charges at the provider: ${(await provider.records()).length}`);

await orchestrator.stop();
await provider.close();
await rm(data, { recursive: true, force: true });

async function idIn(reply: Response): Promise<string> {
  const body: unknown = await reply.json();
  if (typeof body === 'object' && body !== null && 'id' in body && typeof body.id === 'string') return body.id;
  throw new Error('The reply holds no charge.');
}
