/**
 * Opens a store, works, and closes it; then nothing keeps this process, which has nothing else to do. What it works on
 * when it closes is told on the command line; it says `ready` and closes when it is told to.
 */

import { once } from 'node:events';
import { postgresStore } from 'sagacity/postgres';

const [url = '', open = '0'] = process.argv.slice(2);
const store = postgresStore({ url, connections: 4, deadlineMs: 5_000 });
await store.open();
const [timeline] = await Promise.all(['worker-1', 'worker-2', 'worker-3'].map((id) => store.enlist(id)));
await store.renew('worker-1', 60_000, timeline?.id ?? '');

const told = once(process, 'message');
process.send?.('ready');
await told;
const calls = Array.from({ length: Number(open) }, (_, n) => store.enlist(`another-worker-${n}`));
const endings = Promise.allSettled(calls);
// Those at the head of the line are on their way by now.
await new Promise<void>((resume) => setTimeout(resume, 200));
await store.close();
const statuses = (await endings).map(({ status }) => status);
process.send?.(statuses, () => process.disconnect());
