/**
 * A worker process of the measurement of outages: it works, and submits an operation every few milliseconds until it is
 * told that it was the last. A submission that is not accepted is made again. It ends with its parent.
 */

import { setTimeout as pause } from 'node:timers/promises';
import { createOrchestrator, isSagacityError, operation } from 'sagacity';
import { natsWaker } from 'sagacity/nats';
import { postgresStore } from 'sagacity/postgres';
import { aided } from '../support/company.ts';
import { loggerOfFaults } from '../support/faults-logged.ts';

/** What a process is told on its command line. */
export interface OutagesTask {
  readonly name: string;
  readonly databaseUrl: string;
  readonly natsUrls: readonly string[];
  readonly providerUrl: string;
}

export type OutagesSaid =
  | { readonly says: 'at work' }
  /** Something was logged that no outage explains. */
  | { readonly says: 'fault'; readonly what: string }
  /** These orders were accepted, and no more will come. */
  | { readonly says: 'accepted'; readonly orderIds: readonly string[] };

const SUBMIT_EVERY_MS = 100;

/** More are not under way at once. */
const UNDER_WAY_MAX = 30;

// The parent wrote it.
const { name, databaseUrl, natsUrls, providerUrl } = JSON.parse(process.argv[2] ?? '') as OutagesTask;
process.once('disconnect', () => process.exit(3));

const charge = operation('card.charge', aided(providerUrl, 'payments'));
const orchestrator = createOrchestrator({
  store: postgresStore({ url: databaseUrl, deadlineMs: 3_000 }),
  waker: natsWaker({ servers: [...natsUrls], replicas: 3 }),
  definitions: [charge],
  ...{ tenant: 'shop-1', logger: loggerOfFaults((what) => say({ says: 'fault', what })) },
});

let isOver = false;
process.on('message', () => {
  isOver = true;
});
await orchestrator.start();
say({ says: 'at work' });
const accepted: string[] = [];
const underWay = new Set<Promise<void>>();
for (let n = 1; !isOver; n += 1) {
  if (underWay.size < UNDER_WAY_MAX) {
    const submitting: Promise<void> = submit(`${name}-${n}`).finally(() => underWay.delete(submitting));
    underWay.add(submitting);
  }
  await pause(SUBMIT_EVERY_MS);
}
await Promise.all(underWay);
say({ says: 'accepted', orderIds: accepted });

async function submit(orderId: string): Promise<void> {
  for (;;) {
    try {
      await orchestrator.submit(charge, { orderId, amount: 1200 });
      accepted.push(orderId);
      return;
    } catch (error) {
      if (!isSagacityError(error) || !error.retryable) throw error;
      await pause(200);
    }
  }
}

function say(said: OutagesSaid): void {
  process.send?.(said);
}
