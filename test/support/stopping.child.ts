/**
 * A process that charges one order and has nothing else to do: it is told on its command line where, and says `stopping`
 * once a signal has made it stop.
 */

import { createOrchestrator } from 'sagacity';
import { postgresStore } from 'sagacity/postgres';
import { chargeCard, type Payment } from './shop.ts';

export interface StoppingTask {
  readonly database: string;
  readonly provider: string;
  readonly order: Payment;
  readonly stopWithin: '5s' | '500ms';
}

// The test that started this process wrote it.
const task = JSON.parse(process.argv[2] ?? '') as StoppingTask;
const charge = chargeCard(task.provider);
const orchestrator = createOrchestrator({
  ...{ store: postgresStore({ url: task.database }), definitions: [charge], tenant: 'shop-1' },
  ...{ stopOn: ['SIGTERM', 'SIGINT'], stopWithin: task.stopWithin },
});
await orchestrator.start();
await orchestrator.submit(charge, task.order);

const watch = setInterval(() => {
  if (orchestrator.health().phase !== 'stopping') return;
  clearInterval(watch);
  console.log('stopping');
}, 10);
// It must not be what keeps this process.
watch.unref();
