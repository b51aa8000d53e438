/** `npm run sim -- --exhaustive`, by itself. Exit 0 only if no state was wrong and none without a way to an end. */

import { readJsonFlag } from '../../support/json-flag.ts';
import { exhaustive, type Story } from './exhaustive.ts';

const usage = `Usage: npm run sim -- --exhaustive [--json]

Every order of what can happen to one operation of two workers, for eight kinds of provider, breadth first over the
decisions and the claim rules as they are shipped. In one order there are at most two attempts, and at most two of these
in all (one for the providers with a key and a look-up): crashes, stops, a worker that is not heard, a
cancellation, a person's decision.

  --json   one JSON object on stdout, {"summary":"sim-exhaustive",...}; progress on stderr
  --help   this text

Exit code: 0 all right, 1 something was wrong, 2 could not run.`;

const options = readJsonFlag(usage);
if (options !== null) run(options);

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
