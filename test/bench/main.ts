/**
 * `npm run bench -- sender`: what the library costs beside what it stands on, in one run on one machine. Exit 0 only if
 * it is within its limit and nothing was done twice, 1 if not, 2 if it could not run.
 */

import { parseArgs } from 'node:util';
import { type AtTheEnd, say, toTheEnd } from '../support/to-the-end.ts';
import { wholeNumber } from '../support/whole-number.ts';
import { benchSenders, RATIO_LIMIT, type SenderRow, verdictOn } from './sender.ts';

const usage = `Usage: npm run bench -- sender [--calls N] [--json]

sender: the processor time of a call through the managed sender, beside one of undici with the same bytes and headers,
to a provider in another process that answers at once; one call at a time and 32 at once.

  --calls N   how many calls each makes, at either concurrency (default 10000)
  --json      one JSON object a line on stdout, the last {"summary":"bench-sender",...}; progress on stderr
  --help      this text

Exit code: 0 within ${RATIO_LIMIT} times of undici and every call had one effect, 1 not, 2 could not run.`;

const columns: readonly (keyof SenderRow)[] = ['concurrency', 'calls', 'effects', 'cpuUsPerCall', 'p50Us'];

const options = readOptions(process.argv.slice(2));
if (options !== null) {
  const { calls, json } = options;
  await toTheEnd('The benchmark', (atTheEnd) => runSender(calls, json, atTheEnd));
}

async function runSender(calls: number, json: boolean, atTheEnd: AtTheEnd): Promise<boolean> {
  const rows = await benchSenders(calls, (what) => say(`bench: ${what}`), atTheEnd);
  const verdict = verdictOn(rows);
  if (json) {
    for (const line of [...rows, verdict]) process.stdout.write(`${JSON.stringify(line)}\n`);
  } else {
    const judged = verdict.ok ? 'within the limit' : 'Not right: the limit';
    process.stdout.write(
      `${tableOf(rows)}\n\n${verdict.ratio} times undici at the most; ${judged} is ${RATIO_LIMIT}.\n`,
    );
  }
  return verdict.ok;
}

function tableOf(rows: readonly SenderRow[]): string {
  const lines = [
    ['system', ...columns],
    ...rows.map((row) => [row.system, ...columns.map((name) => String(row[name]))]),
  ];
  return lines
    .map(([system = '', ...cells]) => [system.padEnd(10), ...cells.map((cell) => cell.padStart(12))].join(' '))
    .join('\n');
}

function readOptions(args: string[]): { readonly calls: number; readonly json: boolean } | null {
  try {
    const flag = { type: 'boolean', default: false } as const;
    const { values, positionals } = parseArgs({
      ...{ args, allowPositionals: true },
      options: { calls: { type: 'string', default: '10000' }, json: flag, help: flag },
    });
    if (values.help) {
      process.stdout.write(`${usage}\n`);
      return null;
    }
    if (positionals.length !== 1 || positionals[0] !== 'sender') throw new Error('Say what is to be compared: sender.');
    return { calls: wholeNumber('--calls', values.calls), json: values.json };
  } catch (error) {
    say(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
  }
  process.exitCode = 2;
  return null;
}
