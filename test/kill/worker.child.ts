/**
 * A worker in a process of its own, that plays a flow and strikes itself where it is told to: an orchestrator of the
 * library as it is, seen from outside. It ends with its parent.
 */

import { EventEmitter, once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { createOrchestrator, type Orchestrator } from 'sagacity';
import { type NatsWaker, natsWaker } from 'sagacity/nats';
import { postgresStore } from 'sagacity/postgres';
import { callerWithKillPoints, providerAt, wakerWithKillPoints, withKillPoints } from 'sagacity/testing';
import { loggerOfFaults } from '../support/faults-logged.ts';
import { bearing, flows, type Stage } from './flows.ts';
import { watchLetters } from './letters.ts';
import type { Asked, Said, Task } from './life.ts';
import { shopAt } from './shop.ts';
import { Striker } from './strike.ts';
import { watchWire } from './wire.ts';

// The parent wrote it.
const { databaseUrl, providerUrl, natsUrl, flow, strike, isFirst } = JSON.parse(process.argv[2] ?? '') as Task;

const passing = new EventEmitter();
const striker = new Striker(strike, (point) => passing.emit(point));
const logger = loggerOfFaults((what) => say({ says: 'fault', what }));
const shop = shopAt(providerUrl);
const definitions = Object.values(shop).filter((defined) => defined.type !== 'signal');
const wakers: NatsWaker[] = [];
/** Where a wake is to tell what is due, no sweep shall find it first; who comes next has to find what was left. */
const overNats = () => {
  const waker = natsWaker({ servers: natsUrl });
  wakers.push(waker);
  return { waker: wakerWithKillPoints(waker, striker.reached), sweepEvery: isFirst ? '5s' : '1s' } as const;
};
const open = (): Orchestrator<true> =>
  createOrchestrator({
    store: withKillPoints(postgresStore({ url: databaseUrl, connections: 3, deadlineMs: 3_000 }), striker.reached),
    caller: callerWithKillPoints((_call, go) => go(), striker.reached),
    definitions,
    ...{ tenant: 'shop-1', logger },
    ...(flows[flow].overNats === null ? { sweepEvery: '100ms' } : overNats()),
    heartbeat: { every: '250ms', timeout: '1500ms' },
  });
const stage: Stage = {
  ...{ shop, open, provider: providerAt(providerUrl) },
  passed: async (point) => (striker.counts.has(point) ? null : await once(passing, point)),
  next: (point) => once(passing, point),
  async timersKept() {
    while (!wakers.every((waker) => waker.state().keepsTimers)) await pause(10);
  },
};
/** The orchestrator that takes over what another process has left. */
let takingOver: Orchestrator<true> | null = null;

process.once('disconnect', () => process.exit(3));
process.on('message', (asked: Asked) => void obey(asked));
watchWire({ database: portOf(databaseUrl), provider: portOf(providerUrl) }, striker);
watchLetters(portOf(natsUrl), striker);
say({ says: 'loaded' });

async function obey(asked: Asked): Promise<void> {
  if (asked === 'take over') {
    const orchestrator = open();
    takingOver = orchestrator;
    await bearing(() => orchestrator.start());
    return;
  }
  const told = await flows[flow].play(stage);
  await takingOver?.stop();
  process.send?.({ says: 'played', told, counts: Object.fromEntries(striker.counts) } satisfies Said, () =>
    process.exit(0),
  );
}

function say(said: Said): void {
  process.send?.(said);
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}
