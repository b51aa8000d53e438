/**
 * A process of a shop that installs the tables by itself as it starts, on one database after the other as it is told,
 * and does its work there once. Its store has the fewest connections
 * that there may be. It ends with its channel.
 */

import { createOrchestrator, operation, succeeded, typed } from 'sagacity';
import { postgresStore } from 'sagacity/postgres';

/** Where it is to start. */
export interface Installation {
  readonly url: string;
  readonly pooler: boolean;
}

const charge = operation('card.charge', {
  input: typed<string>(),
  key: ({ input }) => input,
  execute: () => succeeded(null),
  keyRetention: '24h',
  lookup: 'none',
});

process.on('message', (installation: Installation) => {
  install(installation).then(
    (status) => process.send?.(status),
    (error: unknown) => process.send?.(String(error)),
  );
});

async function install({ url, pooler }: Installation): Promise<string> {
  const store = postgresStore({ url, pooler, connections: 2, migrate: true });
  const orchestrator = createOrchestrator({ store, definitions: [charge], tenant: 'shop-1' });
  try {
    await orchestrator.start();
    const run = await orchestrator.submit(charge, `order-${process.pid}`);
    const { status } = await run.result({ within: '20s' });
    return status;
  } finally {
    await orchestrator.stop();
  }
}
