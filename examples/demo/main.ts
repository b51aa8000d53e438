/**
 * `npm run demo`: plays every scenario against a provider in a process of its own and shows what came of it; or, with
 * `--cluster`, lets worker processes fulfil orders while everything around them breaks. Exit 0 only if all of it was
 * right, 1 if something was wrong, 2 if the demo could not run. Whatever happens, the processes it started are gone and
 * its temporary directories removed when it ends.
 */

import type { ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createOrchestrator } from 'sagacity';
import { privatePostgres, spawnProvider } from 'sagacity/testing';
import { fulfilmentAsChain } from '../fulfilment/builder.ts';
import { operationsAt } from '../fulfilment/operations.ts';
import { cluster, type ClusterOptions } from './cluster/cluster.ts';
import { clusterTable, clusterVerdict } from './cluster/table.ts';
import { judged } from './judge.ts';
import { startNode } from './kill.ts';
import { scenarios } from './scenarios.ts';
import { shopAt } from './shop.ts';
import { storeIn } from './store.ts';
import { type Line, tableOf, verdictOn } from './table.ts';

const usage = `Usage: npm run demo -- [--postgres] [--json]
       npm run demo -- --cluster [--sagas N] [--seed N] [--json]

Loses replies, kills a worker, asks twice and takes back half an order, then counts the records at the provider. Or lets
three workers fulfil orders while it kills them, empties NATS and stops PostgreSQL, and counts the records then.

  --json       one JSON object a line on stdout, the last {"summary":"demo",...}; progress on stderr
  --postgres   on a PostgreSQL server that it starts for itself, instead of PGlite
  --cluster    with worker processes, and PostgreSQL and NATS servers that it starts for itself
  --sagas N    how many orders the cluster gets, 10 or more (default 200)
  --seed N     what chance chooses by in the cluster (default SAGACITY_SEED, or 1)
  --help       this text

Exit code: 0 all right, 1 something was wrong, 2 could not run.`;

/** What has to be undone at the end, the latest first. */
const undo: (() => Promise<unknown>)[] = [];

/** Set once somebody has asked for the end: nothing new is begun and nothing more is said. */
let interruptedBy: number | null = null;

const options = readOptions(process.argv.slice(2));
if (options !== null) {
  const interrupted = interruption();
  try {
    const ok = await Promise.race([demo(options), interrupted]);
    process.exitCode = ok ? 0 : 1;
  } catch (error) {
    process.exitCode = 2;
    complain(`The demo could not run: ${error instanceof Error ? error.message : String(error)}`);
  } finally {
    await cleanUp();
  }
  // What was interrupted may still wait for something that is gone now.
  if (interruptedBy !== null) process.exit(interruptedBy);
}

/** Resolves when the demo is told to end. Told a second time it ends on the spot. */
function interruption(): Promise<false> {
  return new Promise((resolve) => {
    for (const [signal, code] of [['SIGINT', 130] as const, ['SIGTERM', 143] as const]) {
      process.once(signal, () => {
        interruptedBy = code;
        resolve(false);
      });
    }
  });
}

interface Options {
  readonly json: boolean;
  readonly postgres: boolean;
  /** Null: the scenarios. */
  readonly cluster: ClusterOptions | null;
}

function readOptions(args: string[]): Options | null {
  try {
    const flag = { type: 'boolean', default: false } as const;
    const number = { type: 'string' } as const;
    const { values } = parseArgs({
      args,
      options: { ...{ json: flag, postgres: flag, cluster: flag, help: flag }, ...{ sagas: number, seed: number } },
    });
    if (values.help) {
      process.stdout.write(`${usage}\n`);
      return null;
    }
    const { json, postgres, cluster, sagas = '200', seed } = values;
    if (!cluster && (values.sagas ?? seed) !== undefined) throw new Error('--sagas and --seed go with --cluster.');
    const given = {
      sagas: wholeNumber('--sagas', sagas, 10),
      seed: wholeNumber('--seed', seed ?? process.env['SAGACITY_SEED'] ?? '1', 0),
    };
    return { json, postgres, cluster: cluster ? given : null };
  } catch (error) {
    complain(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
  }
  process.exitCode = 2;
  return null;
}

function wholeNumber(option: string, text: string, from: number): number {
  const value = Number(text);
  if (text !== '' && Number.isSafeInteger(value) && value >= from && value <= 1_000_000) return value;
  throw new Error(`${option} is "${text}", and must be a whole number from ${from} to 1000000.`);
}

async function demo({ json, postgres, cluster: given }: Options): Promise<boolean> {
  return given === null ? await playScenarios({ json, postgres }) : await runCluster(given, json);
}

async function runCluster(given: ClusterOptions, json: boolean): Promise<boolean> {
  const summary = await cluster(given, { progress, complain, atTheEnd: (step) => undo.push(step) });
  if (interruptedBy !== null) return false;
  if (json) print(summary);
  else process.stdout.write(`${clusterTable(summary, inColour())}\n\n${clusterVerdict(summary)}\n`);
  return summary.ok;
}

async function playScenarios({ json, postgres }: Pick<Options, 'json' | 'postgres'>): Promise<boolean> {
  const began = performance.now();
  const root = await mkdtemp(join(tmpdir(), 'sagacity-demo-'));
  undo.push(() => rm(root, { recursive: true, force: true }));
  const [database, workerDatabase] = postgres ? await databases() : [join(root, 'shop'), join(root, 'worker')];
  progress('opening the database and starting the provider');
  const provider = await spawnProvider();
  undo.push(() => provider.close());
  const shop = shopAt(provider.url);
  const fulfilment = fulfilmentAsChain(operationsAt(provider.url));
  const store = storeIn(database);
  const orchestrator = createOrchestrator({
    store,
    definitions: [...Object.values(shop), fulfilment],
    tenant: 'demo-shop',
    sweepEvery: '200ms',
  });
  const starting = orchestrator.start();
  // The database must not write to its directory any more when that is removed.
  undo.push(async () => {
    await starting.catch(() => {});
    await orchestrator.stop({ within: '1s' });
  });
  await starting;

  const lines: Line[] = [];
  for (const scenario of scenarios) {
    progress(scenario.name);
    const stage = { provider, orchestrator, shop, fulfilment, start, workerDatabase };
    const { row } = await judged(scenario, stage, complain);
    if (interruptedBy !== null) return false;
    lines.push({ row, story: scenario.story });
    if (json) print(row);
  }

  const rows = lines.map(({ row }) => row);
  const ok = rows.length > 0 && rows.every((row) => row.ok);
  const ms = Math.round(performance.now() - began);
  if (json) print({ summary: 'demo', scenarios: rows.length, store: store.name, ok, ms });
  else process.stdout.write(`${tableOf(lines, inColour())}\n\n${verdictOn(rows, ms, store.name)}\n`);
  return ok;
}

/** Two empty databases of a PostgreSQL server that is gone, with its data, when the demo is. */
async function databases(): Promise<[string, string]> {
  progress('starting a PostgreSQL server of its own');
  const starting = privatePostgres();
  // Told to end while the server starts, the demo still has to close it.
  undo.push(async () => {
    const cluster = await starting.catch(() => null);
    await cluster?.close();
  });
  const cluster = await starting;
  return [await cluster.createDatabase(), await cluster.createDatabase()];
}

/** Starts a process of ours, which is gone when the demo is. */
function start(command: string, args: readonly string[]): ChildProcess {
  const child = startNode(command, args);
  undo.push(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await gone;
  });
  return child;
}

async function cleanUp(): Promise<void> {
  for (let step = undo.pop(); step !== undefined; step = undo.pop()) {
    await step().catch((error: unknown) => complain(`Could not clean up: ${String(error)}`));
  }
}

function inColour(): boolean {
  return process.stdout.isTTY && (process.env['NO_COLOR'] ?? '') === '';
}

function print(line: object): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

function progress(what: string): void {
  if (interruptedBy === null) process.stderr.write(`demo: ${what}\n`);
}

function complain(what: string): void {
  if (interruptedBy === null) process.stderr.write(`${what}\n`);
}
