/**
 * `npm run sim`: plays seeded schedules of the whole library, or tries deliberate defects, broken guarantees or every
 * order of a small scope. Exit 0 only if nothing was wrong, 1 if something was, 2 if it could not run.
 */

import { readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { wholeNumber } from '../support/whole-number.ts';
import { DefectUnusable } from '../zoo/defect.ts';
import { type Cast, SAGAS_EACH } from './plan.ts';
import { playAll, PlayersFailed, type Progress } from './players.ts';
import { rowOf, rowText, summaryOf, tableOf, verdictOn } from './report.ts';
import { play } from './schedule.ts';
import { Tally } from './tally.ts';
import { zoo, zooRowText, zooVerdict } from './zoo.ts';

const usage = `Usage: npm run sim -- [--schedules N] [--first SEED] [--sagas] [--json]
       npm run sim -- --seed SEED [--sagas]
       npm run sim -- --zoo [NAME ...] [--json]
       npm run sim -- --guarantees [--json]
       npm run sim -- --exhaustive [--json]

Plays schedules of the whole library in virtual time, with orders that stand alone and sagas of random shape: workers
that are killed, frozen, stopped and started, a database that loses requests, replies and commits, wakes that are lost
and forged, providers that do it and hang up, callers that ask twice, and persons who decide. Every rule is checked
after every step; then all is healed, and everything has to end.

  --schedules N   how many (default 2000); those of test/seeds.json come first
  --first SEED    the first of their seeds (default SAGACITY_SEED, or 1)
  --seed SEED     plays this one and prints everything that happens in it
  --sagas         schedules of ${SAGAS_EACH} sagas and nothing else
  --zoo           puts each defect of test/zoo/defects in, and plays until it is caught; NAMEs choose some of them
  --guarantees    breaks each guarantee of the README once; its specification must fail
  --exhaustive    every order of what can happen to one operation, two workers, at most two crashes
  --processes N   how many play side by side (default: the processors)
  --json          one JSON object a line on stdout, the last {"summary":...,"ok":...}; progress on stderr
  --help          this text

Exit code: 0 all right, 1 something was wrong, 2 could not run.`;

/** Modes that are commands of their own; they read the same arguments. */
const elsewhere = { '--guarantees': '../zoo/guarantees/main.ts', '--exhaustive': './exhaustive/main.ts' } as const;

const PROGRESS_EVERY_MS = 5_000;

await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<void> {
  for (const [flag, command] of Object.entries(elsewhere)) {
    if (!args.includes(flag)) continue;
    process.argv = [...process.argv.slice(0, 2), ...args.filter((arg) => arg !== flag)];
    await import(command);
    return;
  }
  const options = readOptions(args);
  if (options === null) return;
  // The players end with this process.
  process.once('SIGINT', () => process.exit(130)).once('SIGTERM', () => process.exit(143));
  try {
    const ok =
      options.seed === null
        ? await (options.zoo ? tryZoo(options) : playMany(options))
        : await show(options.seed, options.cast);
    process.exitCode = ok ? 0 : 1;
  } catch (error) {
    if (!(error instanceof PlayersFailed || error instanceof DefectUnusable)) throw error;
    process.stderr.write(`The simulator could not run: ${error.message}\n`);
    process.exitCode = 2;
  }
}

interface Options {
  readonly schedules: number;
  readonly first: number;
  readonly seed: number | null;
  readonly cast: Cast;
  readonly processes: number;
  readonly zoo: boolean;
  readonly names: readonly string[];
  readonly json: boolean;
}

function readOptions(args: readonly string[]): Options | null {
  try {
    const flag = { type: 'boolean', default: false } as const;
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        schedules: { type: 'string', default: '2000' },
        first: { type: 'string', default: process.env['SAGACITY_SEED'] ?? '1' },
        seed: { type: 'string' },
        processes: { type: 'string', default: String(availableParallelism()) },
        ...{ sagas: flag, zoo: flag, json: flag, help: flag },
      },
    });
    if (values.help) {
      process.stdout.write(`${usage}\n`);
      return null;
    }
    if (positionals.length > 0 && !values.zoo) throw new Error(`"${positionals[0]}" is no option.`);
    return {
      schedules: wholeNumber('--schedules', values.schedules),
      first: wholeNumber('--first', values.first),
      seed: values.seed === undefined ? null : wholeNumber('--seed', values.seed),
      cast: values.sagas ? 'sagas' : 'all',
      processes: wholeNumber('--processes', values.processes),
      ...{ zoo: values.zoo, names: positionals, json: values.json },
    };
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}\n`);
    process.exitCode = 2;
    return null;
  }
}

async function playMany({ schedules, first, cast, processes, json }: Options): Promise<boolean> {
  const kept = cast === 'all' ? await keptSeeds() : [];
  const seeds = [...kept, ...Array.from({ length: schedules }, (_, index) => first + index)];
  const began = performance.now();
  const told = teller(seeds.length, began);
  const whole = await playAll({ seeds, cast, processes, onProgress: told });
  const ms = performance.now() - began;
  const summary = summaryOf(whole, { firstSeed: first, cast, processes, ms });
  for (const broken of whole.broken) print(json ? JSON.stringify(rowOf(broken, cast)) : rowText(broken, cast));
  if (json) print(JSON.stringify(summary));
  else print(`${tableOf(summary)}\n\n${verdictOn(summary, ms)}`);
  return summary.ok;
}

/** Seeds that showed a fault once, each with what it was. */
async function keptSeeds(): Promise<readonly number[]> {
  const text = await readFile(new URL('../seeds.json', import.meta.url), 'utf8');
  // Ours, and read by a test.
  return (JSON.parse(text) as { seed: number }[]).map(({ seed }) => seed);
}

function teller(total: number, began: number): (so: Progress) => boolean {
  let toldAt = began;
  return ({ schedules, events, broken }) => {
    const now = performance.now();
    if (now - toldAt >= PROGRESS_EVERY_MS) {
      toldAt = now;
      const seconds = Math.round((now - began) / 1000);
      process.stderr.write(
        `${seconds} s: ${schedules} of ${total} schedules, ${events} events, ${broken.length} wrong\n`,
      );
    }
    return true;
  };
}

async function show(seed: number, cast: Cast): Promise<boolean> {
  const { plan, account, violation, events, hash } = await play(seed, new Tally(), cast);
  print(JSON.stringify(plan, null, 2));
  print(account.join('\n'));
  if (violation === null) print(`Seed ${seed} broke no rule (${events} events, trace ${hash}).`);
  else print(`Seed ${seed} broke ${violation.invariant}: ${violation.message}`);
  return violation === null;
}

async function tryZoo({ processes, names, json }: Options): Promise<boolean> {
  const began = performance.now();
  const onRow = (row: Parameters<typeof zooRowText>[0]) => print(json ? JSON.stringify(row) : zooRowText(row));
  const summary = await zoo({ processes, only: names, onRow });
  print(json ? JSON.stringify(summary) : zooVerdict(summary, performance.now() - began));
  return summary.ok;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
