/**
 * One of the cluster's workers, a process of its own that may be killed at any moment. It says on its output which worker
 * it is to the database, and when it is at work. SIGTERM stops it in order; it ends with the process that started it.
 */

import { setTimeout as pause } from 'node:timers/promises';
import { createOrchestrator, isSagacityError, type Store } from 'sagacity';
import { natsWaker } from 'sagacity/nats';
import { postgresStore } from 'sagacity/postgres';
import { fulfilmentAt } from './shop.ts';

const [database, nats, url] = process.argv.slice(2);
if (database === undefined || nats === undefined || url === undefined) {
  throw new Error('Usage: worker.ts DATABASE-URL NATS-URL PROVIDER-URL');
}
process.stdin.once('close', () => process.exit(3)).resume();

const orchestrator = createOrchestrator({
  store: tellingItsName(postgresStore({ url: database, connections: 4, deadlineMs: 3_000 })),
  waker: natsWaker({ servers: nats }),
  definitions: [fulfilmentAt(url)],
  tenant: 'demo-shop',
  // A killed worker keeps its claims until it has missed its heartbeat: short, as somebody is watching.
  heartbeat: { every: '1s', timeout: '3s' },
});
process.once('SIGTERM', () => void orchestrator.stop({ within: '2s' }).then(() => process.exit(0)));
await startWhenThereIsADatabase();
say({ says: 'at work' });

/** The same store; under which id it lists this process is said each time. */
function tellingItsName(store: Store): Store {
  return {
    ...store,
    async enlist(id) {
      const timeline = await store.enlist(id);
      say({ says: 'enlisted', id });
      return timeline;
    },
  };
}

async function startWhenThereIsADatabase(): Promise<void> {
  for (;;) {
    try {
      return await orchestrator.start();
    } catch (error) {
      if (!isSagacityError(error) || !error.retryable) throw error;
      await pause(200);
    }
  }
}

function say(what: object): void {
  process.stdout.write(`${JSON.stringify(what)}\n`);
}
