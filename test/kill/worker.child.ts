/**
 * A worker in a process of its own, that plays a flow and strikes itself where it is told to: an orchestrator of the
 * library as it is, seen from outside. It ends with its parent.
 */

import { EventEmitter, once } from 'node:events';
import { createOrchestrator, type Orchestrator } from 'sagacity';
import { postgresStore } from 'sagacity/postgres';
import { callerWithKillPoints, providerAt, withKillPoints } from 'sagacity/testing';
import { loggerOfFaults } from '../support/faults-logged.ts';
import { bearing, flows, type Stage } from './flows.ts';
import type { Asked, Said, Task } from './life.ts';
import { shopAt } from './shop.ts';
import { Striker } from './strike.ts';
import { watchWire } from './wire.ts';

// The parent wrote it.
const { databaseUrl, providerUrl, flow, strike } = JSON.parse(process.argv[2] ?? '') as Task;

const passing = new EventEmitter();
const striker = new Striker(strike, (point) => passing.emit(point));
const logger = loggerOfFaults((what) => say({ says: 'fault', what }));
const shop = shopAt(providerUrl);
const open = (): Orchestrator<true> =>
  createOrchestrator({
    store: withKillPoints(postgresStore({ url: databaseUrl, connections: 3, deadlineMs: 3_000 }), striker.reached),
    caller: callerWithKillPoints((_call, go) => go(), striker.reached),
    definitions: Object.values(shop),
    ...{ tenant: 'shop-1', sweepEvery: '100ms', logger },
    heartbeat: { every: '250ms', timeout: '1500ms' },
  });
const stage: Stage = {
  ...{ shop, open, provider: providerAt(providerUrl) },
  passed: async (point) => (striker.counts.has(point) ? null : await once(passing, point)),
  next: (point) => once(passing, point),
};
/** The orchestrator that takes over what another process has left. */
let takingOver: Orchestrator<true> | null = null;

process.once('disconnect', () => process.exit(3));
process.on('message', (asked: Asked) => void obey(asked));
watchWire({ database: portOf(databaseUrl), provider: portOf(providerUrl) }, striker);
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
