/**
 * The measurement of outages: two processes submit and work all the time. PostgreSQL is stopped and started, again and
 * again, and each time it is noted how soon afterwards the database recorded the next operation as settled; then one of
 * three NATS servers is killed. When all is quiet, the records at the provider are counted.
 */

import { setTimeout as pause } from 'node:timers/promises';
import postgres from 'postgres';
import { migrate } from 'sagacity/postgres';
import { privateNatsCluster, privatePostgres, type ScriptedProvider, spawnProvider } from 'sagacity/testing';
import { readLeft, unfinished } from '../support/database-audit.ts';
import { type AtTheEnd, undoneAtTheEnd } from '../support/to-the-end.ts';
import { chanceOf } from '../torture/chance.ts';
import type { OutagesSaid, OutagesTask } from './outages.child.ts';
import { type Measured, startProcess } from './processes.ts';

export interface OutagesOptions {
  readonly restarts: number;
  readonly seed: number;
}

export interface OutagesTelling {
  readonly doing: (what: string) => void;
  readonly complain: (what: string) => void;
}

export interface Outages {
  readonly postgresRestarts: number;
  readonly natsNodesKilled: number;
  /** From when the server accepted connections until the next operation settled, by the database's clock. */
  readonly resumeMs: readonly number[];
  readonly operations: number;
  readonly wrongCounts: number;
  /** Processes that ended by themselves: what nobody catches ends them. */
  readonly uncaught: number;
}

/** Work goes on for so long before each outage, and around the end of the NATS server. */
const BETWEEN_MS = 2_000;
const AROUND_NATS_MS = 5_000;

/** Servers are away for up to this. */
const OUTAGE_MAX_MS = 3_000;

/** What has not come by then is lost. */
const PATIENCE_MS = 60_000;

export async function measureOutages(
  { restarts, seed }: OutagesOptions,
  { doing, complain }: OutagesTelling,
  atTheEnd: AtTheEnd,
): Promise<Outages> {
  doing('starting three NATS servers, PostgreSQL and a provider');
  const chance = chanceOf(seed);
  const cluster = await undoneAtTheEnd(atTheEnd, privateNatsCluster(), (servers) =>
    Promise.all(servers.map((server) => server.close())),
  );
  const database = await undoneAtTheEnd(atTheEnd, privatePostgres(), (server) => server.close());
  const provider = await undoneAtTheEnd(atTheEnd, spawnProvider(), (company) => company.close());
  const databaseUrl = await database.createDatabase();
  await migrate({ url: databaseUrl });

  let uncaught = 0;
  let wrongCounts = 0;
  const wrong = (what: string) => {
    wrongCounts += 1;
    complain(what);
  };
  const accepted: string[] = [];
  const task = { databaseUrl, providerUrl: provider.url, natsUrls: cluster.map(({ url }) => url) };
  const workers = ['A', 'B'].map((name) => {
    const worker = startWorker({ ...task, name }, accepted, wrong);
    atTheEnd(() => worker.process.end());
    worker.process.ended.catch((error: Error) => {
      uncaught += 1;
      complain(error.message);
    });
    return worker;
  });
  await Promise.all(workers.map(({ atWork }) => atWork));

  const resumeMs: number[] = [];
  for (let n = 1; n <= restarts; n += 1) {
    doing(`outage ${n} of ${restarts} of PostgreSQL`);
    await pause(BETWEEN_MS);
    await database.stop(chance.is(0.5) ? 'fast' : 'immediate');
    await pause(chance.below(OUTAGE_MAX_MS));
    await database.start();
    resumeMs.push(await settledAfter(Date.now(), databaseUrl));
    doing(`the next operation settled ${resumeMs.at(-1)} ms after PostgreSQL was back`);
  }
  doing('killing one of three NATS servers');
  await pause(AROUND_NATS_MS);
  const node = chance.oneOf(cluster);
  await node.kill();
  const natsNodesKilled = 1;
  await pause(AROUND_NATS_MS);
  await settledAfter(Date.now(), databaseUrl);
  await node.start();
  await pause(BETWEEN_MS);

  doing('waiting for the end of everything');
  await Promise.all(workers.map((worker) => worker.finish()));
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  atTheEnd(() => sql.end({ timeout: 1 }));
  const lostAt = performance.now() + PATIENCE_MS;
  while ((await unfinished(sql)) > 0 && performance.now() < lostAt) await pause(100);
  for (const what of await wrongIn(sql, provider, accepted)) wrong(what);
  return { postgresRestarts: restarts, natsNodesKilled, resumeMs, operations: accepted.length, wrongCounts, uncaught };
}

interface Worker {
  readonly process: Measured;
  /** Resolves when it works; rejects when it ended instead. */
  readonly atWork: Promise<void>;
  /** Resolves when it has told what was accepted, or has ended. */
  finish(): Promise<void>;
}

function startWorker(task: OutagesTask, accepted: string[], wrong: (what: string) => void): Worker {
  let begin = () => {};
  let end = () => {};
  const working = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const finished = new Promise<void>((resolve) => {
    end = resolve;
  });
  const process = startProcess<OutagesSaid>('outages.child.ts', task, (said) => {
    if (said.says === 'at work') return begin();
    if (said.says === 'fault') return wrong(`worker ${task.name} logged "${said.what}"`);
    accepted.push(...said.orderIds);
    return end();
  });
  return {
    process,
    atWork: Promise.race([working, process.ended]),
    async finish() {
      process.tell({ isOver: true });
      await Promise.race([finished, process.ended.catch(() => {}), pause(PATIENCE_MS, undefined, { ref: false })]);
    },
  };
}

/** In how many milliseconds after `since` the next operation settled; rejects when none did. */
async function settledAfter(since: number, url: string): Promise<number> {
  // A new connection each time: the last server's have ended with it.
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    const lostAt = performance.now() + PATIENCE_MS;
    while (performance.now() < lostAt) {
      const [next] = await sql<{ at: number | null }[]>`
        select min(extract(epoch from since) * 1000)::float8 as at
        from sagacity.operation
        where state in ('succeeded', 'failed') and since >= to_timestamp(${since / 1000}::float8)`;
      if (next !== undefined && next.at !== null) return Math.round(next.at - since);
      await pause(20);
    }
  } finally {
    await sql.end({ timeout: 1 });
  }
  throw new Error(`No operation settled within ${PATIENCE_MS / 1000} s.`);
}

async function wrongIn(sql: postgres.Sql, provider: ScriptedProvider, accepted: readonly string[]): Promise<string[]> {
  const left = await readLeft(sql, provider);
  const stored = new Set(left.operations.map(({ key }) => key));
  return [
    ...accepted.filter((orderId) => !stored.has(orderId)).map((orderId) => `${orderId} was accepted and is not stored`),
    ...left.operations.flatMap((row) =>
      [...left.wrongWith(row), ...left.wrongCount(row)].map((what) => `${row.key} ${what} [${row.state}]`),
    ),
    ...left.strays,
  ];
}
