/**
 * One run: a PostgreSQL cluster of its own, a network before it that loses messages, a provider and two workers in
 * processes of their own, and customers. The database is mistreated for the given time; then everything is healed, and
 * what was accepted has to come to its end before it is judged.
 */

import { setTimeout as pause } from 'node:timers/promises';
import postgres from 'postgres';
import { postgresStore } from 'sagacity/postgres';
import { privatePostgres, spawnProvider } from 'sagacity/testing';
import { faultProxy } from '../../src/testing/fault-proxy/fault-proxy.ts';
import { postgresFaults } from '../../src/testing/fault-proxy/postgres-faults.ts';
import { unfinished } from '../support/database-audit.ts';
import { type AtTheEnd, undoneAtTheEnd } from '../support/to-the-end.ts';
import { audit } from './audit.ts';
import { chanceOf } from './chance.ts';
import { torment } from './faults.ts';
import { startLoad } from './load.ts';
import type { Notes } from './notes.ts';
import { startWorker } from './worker.ts';

export interface TortureOptions {
  /** How long the database is mistreated; one round of all faults is played in any case. */
  readonly minutes: number;
  readonly seed: number;
}

/** The lines of the server's log begin with their SQLSTATE. */
const withStates = { log_line_prefix: '%e ' };

/** Everything that was accepted has come to its end by then, or is lost. */
const HEALED_WITHIN_MS = 45_000;

/** Runs and notes. Rejects when it could not: that says nothing about the library. */
export async function torture({ minutes, seed }: TortureOptions, notes: Notes, atTheEnd: AtTheEnd): Promise<void> {
  notes.doing('starting a PostgreSQL server and a provider');
  const server = await undoneAtTheEnd(atTheEnd, privatePostgres({ settings: withStates }), (cluster) =>
    cluster.close(),
  );
  const url = await server.createDatabase();
  await migrate(url);
  const provider = await undoneAtTheEnd(atTheEnd, spawnProvider(), (company) => company.close());
  const network = await undoneAtTheEnd(atTheEnd, faultProxy({ port: server.port }), (door) => door.close());
  const losing = postgresFaults(network);

  notes.doing('starting the workers');
  const start = (name: string) =>
    undoneAtTheEnd(atTheEnd, startWorker(name, [network.urlFor(url), provider.url], notes), (worker) => worker.end());
  const workers = await Promise.all([start('A'), start('B')]);
  await Promise.all(workers.map((worker) => worker.begin()));

  const load = startLoad({ workers, provider, notes, chance: chanceOf(seed) });
  atTheEnd(async () => load.giveUp());
  const overAt = performance.now() + minutes * 60_000;
  const scene = { ...{ server, url, network, losing, workers, provider, load, notes }, chance: chanceOf(seed + 1) };
  await torment(scene, () => performance.now() > overAt);

  notes.doing('healed: waiting for the end of everything');
  losing.clear();
  await provider.quiet();
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  atTheEnd(() => sql.end({ timeout: 1 }));
  const lostAt = performance.now() + HEALED_WITHIN_MS;
  await Promise.race([load.finish(), pause(HEALED_WITHIN_MS, undefined, { ref: false })]);
  load.giveUp();
  await untilQuiet(sql, lostAt);

  notes.doing('judging');
  for (const complaint of await audit({ sql, provider, workers, orders: load.orders, log: server.log }))
    notes.wrong(complaint);
}

async function migrate(url: string): Promise<void> {
  const store = postgresStore({ url, migrate: true });
  await store.open();
  await store.close();
}

/** Nothing has moved at two looks: a late result may be on its way when everything looks settled. */
async function untilQuiet(sql: postgres.Sql, lostAt: number): Promise<void> {
  for (let looks = 0; looks < 2 && performance.now() < lostAt; await pause(500)) {
    looks = (await unfinished(sql)) === 0 ? looks + 1 : 0;
  }
}
