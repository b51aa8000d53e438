/**
 * `npm run demo -- --cluster`: three workers, a PostgreSQL and a NATS server of their own, and a provider in a process of
 * its own, under orders that come in all the while and blows that fall all the while. Then everything is let come to its
 * end, and the provider is asked what it has.
 */

import { setTimeout as pause } from 'node:timers/promises';
import { createOrchestrator, isSagacityError, type Orchestrator } from 'sagacity';
import { natsWaker } from 'sagacity/nats';
import { migrate, postgresStore } from 'sagacity/postgres';
import { privateNats, privatePostgres, spawnProvider } from 'sagacity/testing';
import { type Blow, blowsFor, type Scene, type Struck } from './blows.ts';
import { chanceOf } from './chance.ts';
import { startCrew } from './crew.ts';
import { judge } from './judge.ts';
import { instruct, type Scripted, scripted } from './script.ts';
import { fulfilmentAt } from './shop.ts';
import { blowsMissing, type ClusterSummary, summaryOf } from './summary.ts';
import { stateLine } from './table.ts';
import { watchOn, type Watch } from './watch.ts';

export interface ClusterOptions {
  readonly sagas: number;
  readonly seed: number;
}

export interface Telling {
  /** Registers what must be undone at the end, whatever happens meanwhile. */
  readonly atTheEnd: (undo: () => Promise<unknown>) => void;
  readonly progress: (what: string) => void;
  readonly complain: (what: string) => void;
}

const WORKERS = 3;
const ORDER_EVERY_MS = 100;

/** Everything has come to its end by then, or is lost. */
const ENDED_WITHIN_MS = 180_000;

export async function cluster({ sagas, seed }: ClusterOptions, telling: Telling): Promise<ClusterSummary> {
  const { atTheEnd, progress, complain } = telling;
  const began = performance.now();
  const faults: string[] = [];
  const fault = (what: string) => {
    faults.push(what);
    complain(what);
  };
  const until = <Thing>(starting: Promise<Thing>, undo: (thing: Thing) => Promise<unknown>) => {
    // Told to end while it starts, the demo still has to end it.
    atTheEnd(async () => {
      const thing = await starting.catch(() => null);
      if (thing !== null) await undo(thing);
    });
    return starting;
  };

  progress('starting NATS, PostgreSQL and a provider of its own');
  const nats = await until(privateNats(), (server) => server.close());
  const database = await until(privatePostgres(), (server) => server.close());
  const provider = await until(spawnProvider(), (company) => company.close());
  const url = await database.createDatabase();
  await migrate({ url });
  const chance = chanceOf(seed);
  const scripts = scripted(sagas, chance);
  await instruct(provider, sagas, chance);

  progress('starting three workers');
  const crew = startCrew(WORKERS, [url, nats.url, provider.url], fault);
  atTheEnd(() => crew.end());
  await inTime(crew.complete(), 'three workers to be at work');
  const fulfilment = fulfilmentAt(provider.url);
  // It places orders and works on none: that is what the workers are for.
  const shop = createOrchestrator({
    store: postgresStore({ url, connections: 3, deadlineMs: 3_000 }),
    waker: natsWaker({ servers: nats.url }),
    definitions: [fulfilment],
    tenant: 'demo-shop',
  });
  atTheEnd(() => shop.stop({ within: '1s' }));
  const watch = watchOn(url);
  atTheEnd(() => watch.close());

  const struck: Struck = { kills: 0, natsRestarts: 0, natsStoreEmptied: false, postgresRestarts: 0, left: [] };
  const scene: Scene = { ...{ crew, watch, database, nats, chance, struck }, tell: progress };
  let placed = 0;
  const stopTelling = everySecond(async () => {
    const counts = await watch.counts();
    progress(stateLine({ passedMs: performance.now() - began, workers: crew.atWork, placed, sagas, counts }));
  });
  atTheEnd(async () => stopTelling());
  const place = async (orders: readonly Scripted[]) => {
    for (const { order } of orders) {
      await Promise.all([submitted(shop, () => shop.submit(fulfilment, order)), pause(ORDER_EVERY_MS)]);
      placed += 1;
    }
  };
  await underBlows(scripts, blowsFor(sagas, chance), scene, place);

  progress('all orders are placed and all blows have fallen: waiting for the end of everything');
  await crew.complete();
  await restingWithin(ENDED_WITHIN_MS, watch);
  stopTelling();
  const found = { states: await watch.states(), records: await provider.records() };
  const takeOvers = struck.left.length === 0 ? 0 : await watch.takenOver(struck.left);
  await crew.stop();

  const judgement = judge(scripts, found);
  const neverStruck = blowsMissing(struck, takeOvers);
  for (const complaint of [...judgement.complaints, ...neverStruck]) fault(complaint);
  return summaryOf(judgement, struck, {
    ...{ takeOvers, seed, ms: Math.round(performance.now() - began) },
    ok: faults.length === 0,
  });
}

/** Between two blows a share of the orders is placed, and goes on being placed while the blow falls. */
async function underBlows(
  scripts: readonly Scripted[],
  blows: readonly Blow[],
  scene: Scene,
  place: (orders: readonly Scripted[]) => Promise<void>,
): Promise<void> {
  const share = Math.ceil(scripts.length / blows.length);
  for (const [n, blow] of blows.entries()) {
    const placing = place(scripts.slice(n * share, (n + 1) * share));
    const falling = pause(ORDER_EVERY_MS * (1 + scene.chance.below(share))).then(() => blow(scene));
    await Promise.all([placing, falling]);
  }
}

/** A customer who is not answered comes again, with the same order. */
async function submitted(shop: Orchestrator<true>, submit: () => ReturnType<typeof shop.submit>): Promise<void> {
  for (;;) {
    try {
      await submit();
      return;
    } catch (error) {
      if (!isSagacityError(error) || !error.retryable) throw error;
      await pause(200);
    }
  }
}

/** Resolves when nothing moves any more, or is too late; what is wrong then, the judgement says. */
async function restingWithin(ms: number, watch: Watch): Promise<void> {
  const lostAt = performance.now() + ms;
  while ((await watch.underWay()) > 0 && performance.now() < lostAt) await pause(200);
}

const PATIENCE_MS = 120_000;

async function inTime(work: Promise<void>, what: string): Promise<void> {
  const late = new AbortController();
  const timeout = pause(PATIENCE_MS, undefined, { signal: late.signal }).then(() => {
    throw new Error(`Waited ${PATIENCE_MS / 1000} s for ${what}.`);
  });
  try {
    await Promise.race([work, timeout]);
  } finally {
    late.abort();
    timeout.catch(() => {});
  }
}

/** Calls it each second, the next time when the last has ended. Returns what ends that. */
function everySecond(work: () => Promise<void>): () => void {
  let isOver = false;
  const turn = () => {
    if (!isOver) void work().finally(() => (isOver ? null : setTimeout(turn, 1_000).unref()));
  };
  turn();
  return () => {
    isOver = true;
  };
}
