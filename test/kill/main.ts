/**
 * `npm run kill`: kills worker processes at every durable boundary, on a PostgreSQL server of its own, and judges by the
 * provider's records. Exit 0 only if every case was struck and nothing was wrong, 1 if something was, 2 if it could not
 * run. Whatever happens, everything it started is gone when it ends.
 */

import { parseArgs } from 'node:util';
import { type AtTheEnd, say, toTheEnd } from '../support/to-the-end.ts';
import { wholeNumber } from '../support/whole-number.ts';
import { recoveries } from './case.ts';
import { flowNames } from './flows.ts';
import { kill, type Killing, type Telling } from './kill.ts';
import { points } from './points.ts';
import { matrixSummary, pairsSummary, pictureOf, type Row, rowText, verdictOn } from './report.ts';
import { signals } from './strike.ts';

const usage = `Usage: npm run kill -- [--flow FLOW ...] [--point POINT ...] [--signal SIGNAL ...] [--recovery RECOVERY ...] [--json]
       npm run kill -- --random PAIRS [--seed N] [--flow FLOW ...] [--json]

Plays each flow in a worker process on a real PostgreSQL server, with the provider in a process of its own, and lets the
process strike itself at every point around what it makes durable and around what it sends. Others come to the end of the
flow; then the provider's records are counted, and rows without a next step are looked for.

  --flow FLOW          ${flowNames.join(', ')} (default: all)
  --point POINT        such as "during end" (default: all that a flow comes by)
  --signal SIGNAL      ${signals.join(', ')} (default: all)
  --recovery RECOVERY  ${recoveries.join(', ')} (default: all)
  --random PAIRS       so many pairs: a process is killed at one point, and the next one at another
  --seed N             what chance chooses by (default SAGACITY_SEED, or 1)
  --processes N        how many cases are played at a time (default 6)
  --json               one JSON object a line on stdout, the last {"summary":"kill",...}; progress on stderr
  --help               this text

Exit code: 0 all right, 1 something was wrong, 2 could not run.`;

const PROGRESS_EVERY_MS = 5_000;

const options = readOptions(process.argv.slice(2));
if (options !== null) await toTheEnd('The kill matrix', (atTheEnd) => run(options, atTheEnd));

interface Options extends Killing {
  readonly json: boolean;
}

function readOptions(args: string[]): Options | null {
  try {
    const flag = { type: 'boolean', default: false } as const;
    const several = { type: 'string', multiple: true, default: [] as string[] } as const;
    const { values } = parseArgs({
      args,
      options: {
        ...{ flow: several, point: several, signal: several, recovery: several },
        random: { type: 'string' },
        seed: { type: 'string', default: process.env['SAGACITY_SEED'] ?? '1' },
        processes: { type: 'string', default: '6' },
        ...{ json: flag, help: flag },
      },
    });
    if (values.help) {
      process.stdout.write(`${usage}\n`);
      return null;
    }
    const flows = among('--flow', flowNames, values.flow);
    return {
      flows: flows.length === 0 ? flowNames : flows,
      points: among('--point', points, values.point),
      signals: among('--signal', signals, values.signal),
      recoveries: among('--recovery', recoveries, values.recovery),
      random:
        values.random === undefined
          ? null
          : { pairs: wholeNumber('--random', values.random), seed: wholeNumber('--seed', values.seed) },
      processes: wholeNumber('--processes', values.processes),
      json: values.json,
    };
  } catch (error) {
    say(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
  }
  process.exitCode = 2;
  return null;
}

function among<Name extends string>(option: string, names: readonly Name[], given: readonly string[]): Name[] {
  return given.map((text) => {
    const name = names.find((one) => one === text);
    if (name === undefined) throw new Error(`${option} is "${text}", and must be one of: ${names.join(', ')}.`);
    return name;
  });
}

/** True when all was right. */
async function run({ json, ...killing }: Options, atTheEnd: AtTheEnd): Promise<boolean> {
  const began = performance.now();
  const rows: Row[] = [];
  let [doing, total] = ['beginning', 0];
  const progress = () => {
    const wrong = rows.filter(({ ok }) => !ok).length;
    const seconds = Math.round((performance.now() - began) / 1000);
    say(`kill: ${seconds} s, ${doing}: ${rows.length} of ${total || '?'} cases, ${wrong} wrong`);
  };
  const telling: Telling = {
    doing(what) {
      doing = what;
      progress();
    },
    total(cases) {
      total = cases;
    },
    row(row) {
      rows.push(row);
      if (json) process.stdout.write(`${JSON.stringify(row)}\n`);
      if (!row.ok) say(`kill: ${rowText(row)}`);
    },
  };
  const timer = setInterval(progress, PROGRESS_EVERY_MS);
  try {
    const { counts } = await kill(killing, telling, atTheEnd);
    const ms = performance.now() - began;
    const { flows, points: chosen, signals: struck, recoveries: followed, random } = killing;
    const isWhole = flows.length === flowNames.length && [chosen, struck, followed].every(({ length }) => length === 0);
    const summary = random === null ? matrixSummary(counts, rows, isWhole, ms) : pairsSummary(rows, random.seed, ms);
    if (json) process.stdout.write(`${JSON.stringify(summary)}\n`);
    else process.stdout.write(`${random === null ? `${pictureOf(rows)}\n\n` : ''}${verdictOn(summary)}\n`);
    return summary.ok;
  } finally {
    clearInterval(timer);
  }
}
