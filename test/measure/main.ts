/**
 * `npm run measure -- timers` and `npm run measure -- outages`: figures of the library as it is, with worker processes
 * and servers of their own. Exit 0 only if nothing was wrong, 1 if something was, 2 if it could not run. Whatever
 * happens, everything it started is gone when it ends.
 */

import { parseArgs } from 'node:util';
import { say, toTheEnd } from '../support/to-the-end.ts';
import { wholeNumber } from '../support/whole-number.ts';
import { type Mode, modes } from './lateness.ts';
import { runOutages } from './outages-report.ts';
import { runTimers } from './timers-report.ts';

const usage = `Usage: npm run measure -- timers [--timers N] [--seconds N] [--mode MODE] [--seed N] [--json]
       npm run measure -- outages [--restarts N] [--json]

timers: how late sagas go on that sleep until a time that chance decides, when the process that armed them is gone:
with NATS, with nothing but the sweep, and with NATS that loses all it kept half way.
outages: how soon operations settle again after PostgreSQL was stopped under load, and what one of three NATS servers
that is killed costs; then the records at the provider are counted.

  --timers N     how many sagas in each mode (default 10000)
  --seconds N    within how many seconds they are due (default 30)
  --mode MODE    only this one (${modes.join(', ')}); can be repeated
  --restarts N   how often PostgreSQL is stopped and started (default 10)
  --seed N       what chance chooses by (default SAGACITY_SEED, or 1)
  --json         one JSON object a line on stdout, the last {"summary":"measure-...",...}; progress on stderr
  --help         this text

Exit code: 0 all right, 1 something was wrong, 2 could not run.`;

const options = readOptions(process.argv.slice(2));
if (options !== null) {
  const { what } = options;
  await toTheEnd('The measurement', (atTheEnd) =>
    what === 'timers' ? runTimers(options, atTheEnd) : runOutages(options, atTheEnd),
  );
}

interface Options {
  readonly what: 'timers' | 'outages';
  readonly timers: number;
  readonly seconds: number;
  readonly modes: readonly Mode[];
  readonly restarts: number;
  readonly seed: number;
  readonly json: boolean;
}

function readOptions(args: string[]): Options | null {
  try {
    const flag = { type: 'boolean', default: false } as const;
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        timers: { type: 'string', default: '10000' },
        seconds: { type: 'string', default: '30' },
        mode: { type: 'string', multiple: true, default: [] },
        restarts: { type: 'string', default: '10' },
        seed: { type: 'string', default: process.env['SAGACITY_SEED'] ?? '1' },
        ...{ json: flag, help: flag },
      },
    });
    if (values.help) {
      process.stdout.write(`${usage}\n`);
      return null;
    }
    const [what, ...more] = positionals;
    if ((what !== 'timers' && what !== 'outages') || more.length > 0) {
      throw new Error('Say what is to be measured: timers or outages.');
    }
    const chosen = values.mode.map((text) => {
      const mode = modes.find((name) => name === text);
      if (mode === undefined) throw new Error(`--mode is "${text}", and must be one of: ${modes.join(', ')}.`);
      return mode;
    });
    return {
      what,
      timers: wholeNumber('--timers', values.timers),
      seconds: wholeNumber('--seconds', values.seconds),
      modes: chosen.length === 0 ? modes : chosen,
      restarts: wholeNumber('--restarts', values.restarts),
      seed: wholeNumber('--seed', values.seed),
      json: values.json,
    };
  } catch (error) {
    say(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
  }
  process.exitCode = 2;
  return null;
}
