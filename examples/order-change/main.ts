/**
 * A shop changes its order while two are under way: one whose payment nobody knows the outcome of, one whose goods. The
 * first goes on in the new version, the second ends in the old one, and neither makes anything twice. Run it:
 * node --import tsx --conditions=sagacity-source examples/order-change/main.ts
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createOrchestrator, type CreateOptions } from 'sagacity';
import { pgliteStore } from 'sagacity/pglite';
import { scriptedProvider } from 'sagacity/testing';
import { operationsAt } from '../fulfilment/operations.ts';
import { versionsAt } from './versions.ts';

const provider = await scriptedProvider();
const data = await mkdtemp(join(tmpdir(), 'sagacity-order-change-'));
const { orderV1, orderV2, screened } = versionsAt(provider.url, operationsAt(provider.url));
const shop = (options: Pick<CreateOptions, 'definitions' | 'migrations'>) =>
  createOrchestrator({ store: pgliteStore(data), tenant: 'shop', ...options });

const before = shop({ definitions: [orderV1] });
await before.start();
await begin('order-17', 'reservation');
await begin('order-18', 'authorisation');
await before.stop({ within: 0 });
await provider.release();

const after = shop({ definitions: [orderV2], migrations: [screened] });
// Nothing is taken up before it is started: first the versions and the migration are looked at.
for (const { saga, version, inFlight } of await after.operator.versions())
  console.log(`${saga} in version ${version}: ${inFlight} under way`);
const { moves, left, refused } = await after.operator.migrate(screened, { dryRun: true });
console.log(`of version 1: ${moves} to be moved, ${left} left, ${refused.length} refused`);
await after.start();
for (const orderId of ['order-17', 'order-18']) {
  const run = await after.sagaRun({ saga: orderV2, key: orderId });
  const { status } = await run.result({ within: '60s' });
  const ours = (await provider.records()).filter((record) => record.orderId === orderId);
  console.log(`${orderId} ${status}: ${ours.map(({ kind }) => kind).join(', ')}`);
}

await after.stop();
await provider.close();
await rm(data, { recursive: true, force: true });

/** Begins an order in the first version, and waits until a reply about it is held back at the company. */
async function begin(orderId: string, kind: string): Promise<void> {
  await provider.faults(['commit-then-hold'], kind);
  const address = { address: 'Quay 1', email: 'orders@quay.example' };
  await before.submit(orderV1, { orderId, total: 1200, lines: ['lamp'], ...address });
  await provider.logged((entry) => entry.event === 'HOLD' && entry.kind === kind);
}
