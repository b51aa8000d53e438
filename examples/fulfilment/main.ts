/**
 * Three orders from beginning to end: one is sent although the carrier's reply is lost, one is taken back because the
 * carrier refuses it, and one is large, so that it waits for an approval, and sent in two parcels. The companies are
 * scripted and start here, so that they can be told to do that. Run it:
 * node --import tsx --conditions=sagacity-source examples/fulfilment/main.ts
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createOrchestrator, type SagaRunOf, type StoryRecord } from 'sagacity';
import { pgliteStore } from 'sagacity/pglite';
import { scriptedProvider } from 'sagacity/testing';
import { approved, needsApproval } from './approval.ts';
import { fulfilmentAsChain } from './builder.ts';
import { operationsAt, type Order } from './operations.ts';

const provider = await scriptedProvider();
const data = await mkdtemp(join(tmpdir(), 'sagacity-fulfilment-'));
// The saga is all that is listed: its operations and their inverses are found in it.
const fulfilment = fulfilmentAsChain(operationsAt(provider.url));
const orchestrator = createOrchestrator({ store: pgliteStore(data), definitions: [fulfilment], tenant: 'shop' });
await orchestrator.start();

await provider.faults(['commit-then-drop', 'decline'], 'shipment');
await fulfil({ orderId: 'order-17', total: 1200, lines: ['lamp'], address: 'Quay 1', email: 'orders@quay.example' });
await fulfil({ orderId: 'order-18', total: 800, lines: ['chair'], address: 'nowhere', email: 'orders@quay.example' });
await fulfil({
  ...{ orderId: 'order-19', total: 6_000, lines: ['table', 'chair'], parcels: ['table', 'chair'] },
  ...{ address: 'Quay 1', email: 'orders@quay.example' },
});

await orchestrator.stop();
await provider.close();
await rm(data, { recursive: true, force: true });

async function fulfil(order: Order): Promise<void> {
  const run = await orchestrator.submit(fulfilment, order);
  if (needsApproval(order)) {
    await run.reached('approval', { within: '30s' });
    await orchestrator.signal(run.id, approved, { by: 'shift-lead' }, { eventId: `${order.orderId} is approved` });
  }
  const end = await run.result({ within: '30s' });
  console.log(`${order.orderId} ${saidOf(end)}`);
  for (const record of await run.history()) if (record.operation !== null) console.log(`  ${lineOf(record)}`);
  const ours = (await provider.records()).filter(({ orderId }) => orderId === order.orderId);
  console.log(`  the companies hold: ${ours.map(({ kind }) => kind).join(', ')}`);
}

function saidOf(end: Awaited<ReturnType<SagaRunOf<typeof fulfilment>['result']>>): string {
  if (end.status === 'succeeded') {
    const { approvedBy, shipmentIds } = end.output;
    return `is fulfilled${approvedBy === null ? '' : `, as ${approvedBy} approved`}: ${shipmentIds.join(', ')}`;
  }
  if (end.status === 'compensated') return `is taken back, because of ${end.cause.step}: ${end.cause.code}`;
  return `is ${end.status}`;
}

/** What happened to which operation, and the states that it went through. */
function lineOf({ operation, kind, states = [] }: StoryRecord): string {
  // Of an operation they are names; only a chart can be in several states at once.
  const names = states.filter((state) => typeof state === 'string');
  return `${operation?.action}: ${kind} -> ${names.join(', ')}`;
}
