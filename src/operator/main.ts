#!/usr/bin/env node
/** The command `sagacity`, as npm installs it. A peer that is missing is named with the line that installs it. */

try {
  const { runCommandLine } = await import('./command-line.ts');
  await runCommandLine(process.argv.slice(2));
} catch (error) {
  const missing = error instanceof Error ? /Cannot find package '([^']+)'/.exec(error.message)?.[1] : undefined;
  if (missing === undefined) throw error;
  process.stderr.write(`sagacity: The package ${missing} is not installed. Run: npm install ${missing}\n`);
  process.exitCode = 2;
}
