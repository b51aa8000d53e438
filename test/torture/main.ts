/**
 * `npm run torture`: mistreats a PostgreSQL server of its own under the library as it is, and judges by the provider's
 * records. Exit 0 only if every kind of fault has struck and nothing was wrong, 1 if something was, 2 if it could not
 * run. Whatever happens, everything it started is gone when it ends.
 */

import { parseArgs } from 'node:util';
import { type AtTheEnd, say, toTheEnd } from '../support/to-the-end.ts';
import type { Notes } from './notes.ts';
import { progressLine, tableOf, verdictOn } from './table.ts';
import { newTally, summaryOf } from './tally.ts';
import { torture, type TortureOptions } from './torture.ts';

const usage = `Usage: npm run torture -- [--minutes N] [--seed N] [--json]

Ends sessions of a PostgreSQL server that it starts for itself, loses requests and replies of each statement, silences
the network, stops the server, stops it during a take-over and kills it, under a shop at work; then heals everything and
counts the records at the provider.

  --minutes N   how long the server is mistreated, fractions allowed (default 2); every fault strikes in any case
  --seed N      what chance chooses by (default SAGACITY_SEED, or 1)
  --json        one JSON object on stdout, {"summary":"torture",...}; progress on stderr
  --help        this text

Exit code: 0 all right, 1 something was wrong, 2 could not run.`;

const PROGRESS_EVERY_MS = 5_000;
const options = readOptions(process.argv.slice(2));
if (options !== null) await toTheEnd('The torture', (atTheEnd) => run(options, atTheEnd));

interface Options extends TortureOptions {
  readonly json: boolean;
}

function readOptions(args: string[]): Options | null {
  try {
    const flag = { type: 'boolean', default: false } as const;
    const { values } = parseArgs({
      args,
      options: {
        minutes: { type: 'string', default: '2' },
        seed: { type: 'string', default: process.env['SAGACITY_SEED'] ?? '1' },
        ...{ json: flag, help: flag },
      },
    });
    if (values.help) {
      process.stdout.write(`${usage}\n`);
      return null;
    }
    const [minutes, seed] = [Number(values.minutes), Number(values.seed)];
    if (!(minutes > 0 && minutes <= 10_000))
      throw new Error(`--minutes takes a number above 0, not "${values.minutes}".`);
    if (!Number.isSafeInteger(seed)) throw new Error(`--seed takes a whole number, not "${values.seed}".`);
    return { minutes, seed, json: values.json };
  } catch (error) {
    say(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
  }
  process.exitCode = 2;
  return null;
}

/** True when all was right. */
async function run({ json, ...given }: Options, atTheEnd: AtTheEnd): Promise<boolean> {
  const began = performance.now();
  const passedMs = () => Math.round(performance.now() - began);
  const tally = newTally();
  let doing = 'beginning';
  const progress = () => say(`torture: ${progressLine(tally, doing, passedMs())}`);
  const complain = (what: string) => say(`torture (seed ${given.seed}): ${what}`);
  const notes: Notes = {
    ...{ tally, complain },
    wrong(what) {
      tally.wrongCounts += 1;
      complain(what);
    },
    doing(what) {
      doing = what;
      progress();
    },
  };
  const timer = setInterval(progress, PROGRESS_EVERY_MS);
  try {
    await torture(given, notes, atTheEnd);
  } finally {
    clearInterval(timer);
  }
  const summary = summaryOf(tally, given.seed, passedMs());
  if (!summary.ok) complain(verdictOn(summary));
  process.stdout.write(json ? `${JSON.stringify(summary)}\n` : `${tableOf(summary)}\n\n${verdictOn(summary)}\n`);
  return summary.ok;
}
