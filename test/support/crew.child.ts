/**
 * A process with several orchestrators on one database and one NATS, each with connections of its own. It works until it
 * is ended, does what its parent asks, and tells what its orchestrators hear and claim.
 */

import postgres from 'postgres';
import { createOrchestrator } from 'sagacity';
import { natsWaker } from 'sagacity/nats';
import { postgresStore } from 'sagacity/postgres';
import { setTimeout as pause } from 'node:timers/promises';
import type { OperationRow, Store } from '../../src/ports/store.ts';
import type { Waker } from '../../src/ports/waker.ts';
import { overlay } from '../../src/testing/overlay.ts';
import type { Asked, Counted, CrewTask, Said } from './crew.ts';
import { reminder } from './ledger.ts';

// The parent wrote it.
const task = JSON.parse(process.argv[2] ?? '') as CrewTask;
process.once('disconnect', () => process.exit(3));

const counted = { due: 0, freed: 0, woken: 0, claims: 0, claimed: 0 } satisfies Counted;
const books = postgres(task.databaseUrl, { max: 2, onnotice: () => {} });
const { action, refusesFirst = false } = task;
const definition = reminder(books, {
  ...{ action, by: task.name, refusesFirst },
  afterwards(of) {
    say({ says: 'made', orderId: of.orderId });
    return task.repliesNever === true ? new Promise(() => {}) : undefined;
  },
});
const crew = Array.from({ length: task.orchestrators }, () => {
  const waker = natsWaker({ servers: task.natsUrl });
  const orchestrator = createOrchestrator({
    store: watched(postgresStore({ url: task.databaseUrl, connections: 3 })),
    waker: overheard(waker),
    definitions: [definition],
    tenant: 'shop-1',
    ...{ concurrency: task.concurrency, sweepEvery: task.sweepEvery, heartbeat: task.heartbeat },
  });
  return { orchestrator, waker };
});

process.on('message', (asked: Asked) => void obey(asked));
await Promise.all(crew.map(({ orchestrator }) => orchestrator.start()));
while (!crew.every(({ waker }) => waker.state().keepsTimers)) await pause(10);
say({ says: 'at work' });

async function obey(asked: Asked): Promise<void> {
  if (asked.asks === 'count') return say({ says: 'counted', counted });
  if (asked.asks === 'stop') {
    await Promise.all(crew.map(({ orchestrator }) => orchestrator.stop()));
    return say({ says: 'stopped' });
  }
  const [first] = crew;
  const run = await first?.orchestrator.submit(definition, { orderId: asked.orderId });
  say({ says: 'submitted', id: run?.id ?? '' });
}

function say(said: Said): void {
  process.send?.(said);
}

function watched(store: Store): Store {
  return overlay(store, {
    async claim(...which: Parameters<Store['claim']>): Promise<readonly OperationRow[]> {
      const claimed = await store.claim(...which);
      counted.claims += 1;
      counted.claimed += claimed.length;
      return claimed;
    },
  });
}

function overheard(waker: Waker): Waker {
  return {
    ...waker,
    start: (onWake, onNews) =>
      waker.start(
        async (wake) => {
          await onWake(wake);
          counted.woken += 1;
        },
        (news) => {
          if (news.kind !== 'said') counted[news.kind] += 1;
          onNews(news);
        },
      ),
  };
}
