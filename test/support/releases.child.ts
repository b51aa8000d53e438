/** A process of some release that sells: it works until it is ended, and does what its parent asks. */

import { createOrchestrator, isSagacityError } from 'sagacity';
import { postgresStore } from 'sagacity/postgres';
import { type Asked, goodsAt, type Said, type SellingTask, type Sold, type Told } from './releases.ts';

// The parent wrote it.
const task = JSON.parse(process.argv[2] ?? '') as SellingTask;
process.once('disconnect', () => process.exit(3));

const { approved, email, purchase, approval } = goodsAt(task.providerUrl);
const orchestrator = createOrchestrator({
  store: postgresStore({ url: task.databaseUrl, connections: 4 }),
  definitions: [email, purchase, approval],
  tenant: 'shop-1',
  ...{ concurrency: 16, sweepEvery: '50ms', heartbeat: { every: '200ms', timeout: '1s' } },
});

process.on('message', (asked: Asked) => void obey(asked));
await orchestrator.start();
say({ says: 'at work' });

async function obey(asked: Asked): Promise<void> {
  switch (asked.asks) {
    case 'sell':
      await Promise.all(asked.orderIds.map((orderId) => sell(asked.what, orderId)));
      return say({ says: 'sold' });
    case 'approve':
      await Promise.all(asked.orderIds.map(approve));
      return say({ says: 'approved' });
    case 'results':
      return say({
        says: 'results',
        results: await Promise.all(asked.orderIds.map((orderId) => told(asked.what, orderId))),
      });
    case 'stop':
      await orchestrator.stop();
      return say({ says: 'stopped' });
  }
}

function sell(what: Sold, orderId: string) {
  switch (what) {
    case 'email':
      return orchestrator.submit(email, { orderId });
    case 'purchase':
      return orchestrator.submit(purchase, { orderId });
    case 'approval':
      return orchestrator.submit(approval, { orderId });
  }
}

async function approve(orderId: string): Promise<void> {
  const by = { by: 'the shop' };
  await orchestrator.signal({ saga: approval, key: orderId }, approved, by, { eventId: orderId, within: 0 });
}

async function told(what: Sold, orderId: string): Promise<Told> {
  const run = await sell(what, orderId);
  const state = await run.status();
  try {
    const { status } = await run.result({ within: 0 });
    return { orderId, state, status };
  } catch (error) {
    if (!isSagacityError(error)) throw error;
    return { orderId, state, status: error.code, facts: error.facts };
  }
}

function say(said: Said): void {
  process.send?.(said);
}
