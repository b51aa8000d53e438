/**
 * A worker in a process of its own, there to be killed. It submits one charge, waits for its end and prints one line.
 * It does exactly the same when it is started again: what it finds in its database decides what happens. It ends
 * with the process that started it.
 */

import { createOrchestrator } from 'sagacity';
import { shopAt } from './shop.ts';
import { storeIn } from './store.ts';
import { toldBy } from './told.ts';

const [database, url, orderId] = process.argv.slice(2);
if (database === undefined || url === undefined || orderId === undefined) {
  throw new Error('Usage: worker.ts DATABASE PROVIDER-URL ORDER-ID');
}
process.stdin.once('close', () => process.exit(3)).resume();

const { chargeCard } = shopAt(url);
const orchestrator = createOrchestrator({
  store: storeIn(database),
  definitions: [chargeCard],
  tenant: 'demo-shop',
  sweepEvery: '200ms',
  // On a server the killed worker keeps its claim until it has missed its heartbeat: short, as somebody is watching.
  heartbeat: { every: '500ms', timeout: '3s' },
});
await orchestrator.start();
const run = await orchestrator.submit(chargeCard, { orderId, amount: 1200 });
const end = await run.result({ within: '90s' });
const report = {
  ...toldBy(await run.history()),
  submission: run.submission,
  resultId: end.status === 'succeeded' ? end.output.id : null,
};
await orchestrator.stop();
process.stdout.write(`${JSON.stringify(report)}\n`, () => process.exit(0));
