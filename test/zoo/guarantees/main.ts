/**
 * `npm run sim -- --guarantees`, by itself. Exit 0 only if every guarantee was broken and its specification
 * noticed. Told to end, it ends what it has started first.
 */

import { readJsonFlag } from '../../support/json-flag.ts';
import { DefectUnusable } from '../defect.ts';
import { guarantees } from './guarantees.ts';
import { SpecsDidNotRun } from './specs.ts';
import { rowJson, rowText, verdictText } from './table.ts';

const usage = `Usage: node --import tsx --conditions=sagacity-source test/zoo/guarantees/main.ts [--json]

Breaks each guarantee of the README once, with a defect that is put in as the module is loaded, and runs the
specification that proves it: that must fail, by an assertion.

  --json   one JSON object a line on stdout, {"guarantee","defect","spec","caught"}, the last
           {"summary":"sim-guarantees",...}; progress on stderr
  --help   this text

Exit code: 0 every one was caught, 1 one was not noticed, 2 one could not be tried.`;

const options = readJsonFlag(usage);
if (options !== null) await run(options);

async function run({ json }: { readonly json: boolean }): Promise<void> {
  const began = performance.now();
  const stop = new AbortController();
  for (const [signal, code] of [['SIGINT', 130] as const, ['SIGTERM', 143] as const]) {
    process.once(signal, () => stop.abort(code));
  }
  try {
    const { summary, exitCode } = await guarantees({
      onRow: (row) => print(json ? rowJson(row) : rowText(row)),
      onProgress: (doing) => process.stderr.write(`guarantees: ${doing}\n`),
      signal: stop.signal,
    });
    print(json ? JSON.stringify(summary) : verdictText(summary, performance.now() - began));
    process.exitCode = exitCode;
  } catch (error) {
    if (stop.signal.aborted) {
      process.exitCode = Number(stop.signal.reason);
      return;
    }
    if (!(error instanceof DefectUnusable || error instanceof SpecsDidNotRun)) throw error;
    process.stderr.write(`The guarantees could not be tried: ${error.message}\n`);
    process.exitCode = 2;
  }
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
