/**
 * A host that loads this library and, from the folder that it is told, another copy of it. Prints what becomes of that
 * as one line of JSON.
 */

import { createOrchestrator, isSagacityError } from 'sagacity';
import { memoryStore } from 'sagacity/testing';
import { chargeCard } from './shop.ts';

export type Host = keyof typeof hosts;

const [, , host = '', folder = ''] = process.argv;
const charge = chargeCard('http://127.0.0.1:1');

/** Of the other copy; what it has is what this one has. */
const other = (entry: string): Promise<typeof import('sagacity')> => import(`${folder}/src/${entry}.ts`);

const made = (definition = charge) =>
  createOrchestrator({ store: memoryStore(), definitions: [definition], tenant: 'shop-1' });

const hosts = {
  async 'loads it'() {
    await other('index');
    made();
  },
  async 'lists a definition of it'() {
    made(await chargeOf(other('index')));
  },
  async 'makes its orchestrator with it'() {
    const { createOrchestrator: create } = await other('index');
    create({ store: memoryStore(), definitions: [charge], tenant: 'shop-1' });
  },
  async 'loads its postgres'() {
    await other('postgres');
    made();
  },
  async 'loads its pglite'() {
    await other('pglite');
    made();
  },
  async 'loads its xstate'() {
    await other('xstate');
    made();
  },
  async 'submits a definition of it later'() {
    const orchestrator = made();
    await orchestrator.submit(await chargeOf(other('index')), { orderId: 'order-17', amount: 5 });
  },
};

async function chargeOf(copy: ReturnType<typeof other>): Promise<typeof charge> {
  const { operation } = await copy;
  const { input, execute } = charge.options;
  // The same operation, made by the other copy.
  return operation('card.charge', {
    ...{ input, execute, key: () => 'order-17', keyRetention: '24h', lookup: 'none' },
  }) as unknown as typeof charge;
}

try {
  // The test that started this process wrote it.
  await hosts[host as Host]();
  console.log(JSON.stringify({ refusal: null }));
} catch (error) {
  if (!isSagacityError(error)) throw error;
  console.log(JSON.stringify({ refusal: error }));
}
