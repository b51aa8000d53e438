/**
 * Works with a waker over NATS and closes it when it is told to; then nothing keeps this process, which has nothing else
 * to do. Where NATS is, and whether it is waited for, is told on the command line.
 */

import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { natsWaker } from 'sagacity/nats';
import { silentLogger } from '../../src/ports/logger.ts';

const [servers = '', until] = process.argv.slice(2);
const waker = natsWaker({ servers });
waker.open?.('a-database', silentLogger);
await waker.start(
  async () => {},
  () => {},
);
while (until === 'found' && !waker.state().keepsTimers) await pause(10);
const wake = (delayMs: number) => waker.wake({ tenant: 'shop-1', operationId: 'op-1', generation: 1 }, delayMs);
wake(60_000);
const told = once(process, 'message');
process.send?.('ready');
await told;
wake(60_000);
waker.tell?.({ kind: 'freed' });
const began = performance.now();
await waker.stop();
await waker.close?.();
process.send?.(performance.now() - began, () => process.disconnect());
