/**
 * What is done to the cluster while orders are under way: workers are killed, NATS is killed and loses everything that it
 * kept, PostgreSQL is stopped in the middle of everything. A blow that strikes nothing does not count.
 */

import { setTimeout as pause } from 'node:timers/promises';
import type { PrivateNats, PrivatePostgres } from 'sagacity/testing';
import type { Chance } from './chance.ts';
import type { Crew } from './crew.ts';
import type { Owned, Watch } from './watch.ts';

export interface Scene {
  readonly crew: Crew;
  readonly watch: Watch;
  readonly database: PrivatePostgres;
  readonly nats: PrivateNats;
  readonly chance: Chance;
  /** Tells what has just happened. */
  readonly tell: (what: string) => void;
  readonly struck: Struck;
}

/** The blows that have struck while something was under way. */
export interface Struck {
  kills: number;
  natsRestarts: number;
  natsStoreEmptied: boolean;
  postgresRestarts: number;
  /** What killed workers left. */
  readonly left: Owned[];
}

export type Blow = (scene: Scene) => Promise<void>;

/** In an order that chance decides. */
export function blowsFor(sagas: number, chance: Chance): readonly Blow[] {
  const kills = Math.min(8, Math.max(3, Math.round(sagas / 30)));
  return chance.shuffled([...Array.from({ length: kills }, () => killWorker), emptyNats, stopPostgres]);
}

/** So long is waited for something that can be struck. */
const PATIENCE_MS = 20_000;

async function killWorker({ crew, watch, chance, tell, struck }: Scene): Promise<void> {
  await crew.complete();
  let worker = crew.anyOf(chance);
  await sought(async () => {
    worker = crew.anyOf(chance);
    return (await watch.ownedBy(worker.ids)).length > 0;
  });
  await crew.kill(worker);
  // Nobody takes what it held before it has missed its heartbeat.
  const held = await watch.ownedBy(worker.ids);
  tell(`worker ${worker.child.pid} was killed with ${held.length} orders in its hands`);
  if (held.length === 0) return;
  struck.kills += 1;
  struck.left.push(...held);
}

async function emptyNats({ nats, watch, tell, struck }: Scene): Promise<void> {
  const isStruck = await sought(async () => (await watch.underWay()) > 0);
  await nats.kill();
  await nats.empty();
  struck.natsStoreEmptied = true;
  tell('NATS was killed and has lost all that it kept');
  await pause(1_000);
  await nats.start();
  tell('NATS is back, with nothing');
  if (isStruck) struck.natsRestarts += 1;
}

async function stopPostgres({ database, watch, tell, struck }: Scene): Promise<void> {
  const isStruck = await sought(async () => (await watch.underWay()) > 0);
  await database.stop('immediate');
  tell('PostgreSQL was stopped in the middle of everything');
  await pause(1_500);
  await database.start();
  tell('PostgreSQL is back');
  if (isStruck) struck.postgresRestarts += 1;
}

/** False when it did not come about in time. */
async function sought(comesAbout: () => Promise<boolean>): Promise<boolean> {
  const giveUpAt = performance.now() + PATIENCE_MS;
  while (!(await comesAbout())) {
    if (performance.now() > giveUpAt) return false;
    await pause(20);
  }
  return true;
}
