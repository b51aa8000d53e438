/** The arguments of a command that takes `--json` and `--help` and nothing else. */

import { parseArgs } from 'node:util';

/** What was asked for; null when the usage was, or when an argument is none: that is said, and the exit code is 2. */
export function readJsonFlag(usage: string): { readonly json: boolean } | null {
  try {
    const flag = { type: 'boolean', default: false } as const;
    const { values } = parseArgs({ options: { json: flag, help: flag } });
    if (!values.help) return { json: values.json };
    process.stdout.write(`${usage}\n`);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}\n`);
    process.exitCode = 2;
  }
  return null;
}
