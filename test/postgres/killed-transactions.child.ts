/**
 * Transactions on the `postgres` driver whose connections are terminated, in a process of their own: the driver ends
 * its process by an error that nobody can catch. With `survive` the process notes that and goes on.
 */

import { type Kill, killed } from './killed-transactions.ts';
import { submitterAt } from './shop-letters.ts';

interface KilledTask {
  readonly url: string;
  readonly survive: boolean;
  readonly kills: readonly Kill[];
}

// The test that started this process wrote it.
const { url, survive, kills } = JSON.parse(process.argv[2] ?? '') as KilledTask;

if (survive) {
  process.on('uncaughtException', ({ message }) => console.error(message));
  process.on('unhandledRejection', (reason) => console.error(reason));
}
const submitter = submitterAt(url, 500);
const left = [...kills];
// Several at a time: most of them wait for what never comes.
await Promise.all(Array.from({ length: 5 }, inTurn));
await submitter.stop();

async function inTurn(): Promise<void> {
  for (let kill = left.shift(); kill !== undefined; kill = left.shift()) {
    console.log(JSON.stringify(await killed(url, submitter, kill)));
  }
}
