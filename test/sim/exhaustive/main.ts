/** `npm run sim -- --exhaustive`, by itself. Exit 0 only if no state was wrong and none without a way to an end. */

import { parseArgs } from 'node:util';
import { exhaustive, type Story } from './exhaustive.ts';

const usage = `Usage: npm run sim -- --exhaustive [--json]

Every order of what can happen to one operation of two workers, with two crashes, something that goes wrong on the way
and two attempts, for six kinds of provider, breadth first over the decisions and the claim rules as they are shipped.

  --json   one JSON object on stdout, {"summary":"sim-exhaustive",...}; progress on stderr
  --help   this text

Exit code: 0 all right, 1 something was wrong, 2 could not run.`;

const options = readOptions(process.argv.slice(2));
if (options !== null) run(options);

function readOptions(args: string[]): { readonly json: boolean } | null {
  try {
    const flag = { type: 'boolean', default: false } as const;
    const { values } = parseArgs({ args, options: { json: flag, help: flag } });
    if (!values.help) return { json: values.json };
    process.stdout.write(`${usage}\n`);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}\n`);
    process.exitCode = 2;
  }
  return null;
}

function run({ json }: { readonly json: boolean }): void {
  const { summary, stories } = exhaustive({
    onKind: (kind, { states, violations }) =>
      process.stderr.write(`${kind}: ${states} states, ${violations} of them wrong\n`),
  });
  for (const story of stories) process.stderr.write(`${storyText(story)}\n`);
  const { states, transitions, violations, cut, ms } = summary;
  process.stdout.write(
    json
      ? `${JSON.stringify(summary)}\n`
      : `${states} states and ${transitions} steps between them, ${violations} wrong, ${cut} steps beyond two attempts left out (${Math.round(ms / 1000)} s).\n`,
  );
  process.exitCode = summary.ok ? 0 : 1;
}

function storyText({ kind, what, steps }: Story): string {
  return [`${kind}: ${what}`, ...steps.map((step, at) => `  ${at + 1}. ${step}`)].join('\n');
}
