/**
 * `sagacity check`: what is right and what is wrong with a database, and with NATS, before anything runs on it, as
 * `check()` of an orchestrator would find it there. The process that is compared with the database is the command's own.
 */

import type { Command } from 'commander';
import type { CheckupFinding } from '../domain/checkup.ts';
import { postgresStore } from '../postgres.ts';
import { databaseUrl } from './database-url.ts';
import { answer } from './output.ts';

interface Flags {
  readonly url?: string;
  readonly schema: string;
  readonly pooler?: boolean;
  readonly nats?: string;
  readonly json?: boolean;
}

export function addCheckCommand(program: Command): void {
  program
    .command('check')
    .description('Says what is right and what is wrong with a database, and changes nothing.')
    .option('--url <url>', 'of the database; by default SAGACITY_URL, else DATABASE_URL of the environment')
    .option('--schema <name>', 'where the tables are', 'sagacity')
    .option('--pooler', 'a pooler in transaction mode is in between, and is told of in postgresStore({ pooler: true })')
    .option(
      '--nats <servers>',
      'looks at NATS, too: addresses, with commas between them, of servers without credentials',
    )
    .option('--json', 'one JSON object a line, the last {"summary":"check","ok":...}; nothing if options are wrong')
    .addHelpText('after', exitCodes)
    .action((flags: Flags) => act(flags));
}

const exitCodes = `
Exit code: 0 all ok, or warnings only; 1 a fault was found; 2 could not run.`;

async function act({ url, schema, pooler = false, nats, json = false }: Flags): Promise<void> {
  const store = postgresStore({ url: databaseUrl(url), schema, pooler });
  // The other commands begin sooner without it.
  const { createOrchestrator } = await import('../create-orchestrator.ts');
  const { natsWaker } = await import('../nats.ts');
  const wakes = nats === undefined ? {} : { waker: natsWaker({ servers: nats.split(',') }) };
  const { ok, findings } = await createOrchestrator({ store, definitions: [], ...wakes }).check();
  for (const finding of findings) answer(json ? JSON.stringify(finding) : told(finding));
  const counts = { faults: count(findings, 'fault'), warnings: count(findings, 'warning') };
  answer(json ? JSON.stringify({ summary: 'check', ok, schema, ...counts }) : `sagacity: ${verdict(counts)}`);
  if (!ok) process.exitCode = 1;
}

const marks = { ok: '✓', warning: '!', fault: '✗' } as const;

/** One row, and what to do in another. */
function told({ check, level, says, remedy }: CheckupFinding): string {
  const row = `${marks[level]} ${check.padEnd(8)}  ${says}`;
  return remedy === null ? row : `${row}\n${' '.repeat(12)}${remedy}`;
}

function count(findings: readonly CheckupFinding[], asked: CheckupFinding['level']): number {
  return findings.filter(({ level }) => level === asked).length;
}

/** The last line for people. */
function verdict({ faults, warnings }: { readonly faults: number; readonly warnings: number }): string {
  if (faults + warnings === 0) return 'nothing is wrong';
  return [many(faults, 'fault'), many(warnings, 'warning')].flatMap((words) => words ?? []).join(', ');
}

function many(number: number, word: string): string | null {
  if (number === 0) return null;
  return `${number} ${word}${number === 1 ? '' : 's'}`;
}
