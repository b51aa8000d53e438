/**
 * A worker in a process of its own, there to be killed. It submits one charge, waits for its end and prints one line.
 * It does exactly the same when it is started again: what it finds in its directory decides what happens. It ends
 * with the process that started it.
 */

import { createOrchestrator } from 'sagacity';
import { pgliteStore } from 'sagacity/pglite';
import { shopAt } from './shop.ts';
import { toldBy } from './told.ts';

const [directory, url, orderId] = process.argv.slice(2);
if (directory === undefined || url === undefined || orderId === undefined) {
  throw new Error('Usage: worker.ts DIRECTORY PROVIDER-URL ORDER-ID');
}
process.stdin.once('close', () => process.exit(3)).resume();

const { chargeCard } = shopAt(url);
const orchestrator = createOrchestrator({
  store: pgliteStore(directory),
  definitions: [chargeCard],
  tenant: 'demo-shop',
  sweepEvery: '200ms',
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
