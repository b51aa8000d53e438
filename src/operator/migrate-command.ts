/**
 * `sagacity migrate`: brings the tables of a database to this version, or only says what is missing, or prints the SQL
 * for teams that apply their own. The database is the authority on what it has, and orders however many run this at
 * once; a schema that is newer than this version, or another's, is left as it is.
 */

import { type Command, Option } from 'commander';
import { migrate, migrationSql, missingMigrations } from '../postgres.ts';
import { isSagacityError } from '../domain/errors.ts';
import { databaseUrl } from './database-url.ts';
import { answer } from './output.ts';

interface Flags {
  readonly url?: string;
  readonly schema: string;
  readonly check?: boolean;
  readonly print?: boolean;
  readonly json?: boolean;
}

export function addMigrateCommand(program: Command): void {
  program
    .command('migrate')
    .description('Brings the tables of a database to this version.')
    .option('--url <url>', 'of the database; by default SAGACITY_URL, else DATABASE_URL of the environment')
    .option('--schema <name>', 'where the tables are', 'sagacity')
    .option('--check', 'change nothing, and say what is missing')
    .addOption(
      new Option('--print', 'write the SQL of all migrations, each a transaction of its own; needs no url').conflicts([
        'check',
        'json',
      ]),
    )
    .option('--json', 'one JSON object a line, the last {"summary":"migrate","ok":...}; nothing if options are wrong')
    .addHelpText('after', exitCodes)
    .action((flags: Flags) => act(flags));
}

const exitCodes = `
Exit code: 0 all ok; 1 migrations are missing (--check), or the schema is newer than this version or another's;
2 could not run.`;

async function act({ url, schema, check = false, print = false, json = false }: Flags): Promise<void> {
  if (print) {
    answer(migrationSql({ schema }).trimEnd());
    return;
  }
  try {
    const database = { url: databaseUrl(url), schema };
    const names = check ? await missingMigrations(database) : await migrate(database);
    const ok = !check || names.length === 0;
    for (const { number, name } of names) {
      answer(json ? JSON.stringify({ migration: number, name }) : `${check ? 'missing' : 'applied'} ${name}`);
    }
    const counts = { applied: check ? 0 : names.length, missing: check ? names.length : 0 };
    answer(json ? summary({ ok, schema, ...counts }) : `sagacity: ${verdict(schema, counts)}`);
    if (!ok) process.exitCode = 1;
  } catch (error) {
    const code = isSagacityError(error) ? error.code : 'FAILED';
    // Options that cannot be right are told, and not repeated.
    const ran = code !== 'DEFINITION_INVALID';
    if (json && ran) answer(summary({ ok: false, schema, applied: null, missing: null, error: code }));
    throw error;
  }
}

/** The last line for programs. Null: the run ended before anybody knew. */
function summary(found: {
  readonly ok: boolean;
  readonly schema: string;
  readonly applied: number | null;
  readonly missing: number | null;
  readonly error?: string;
}): string {
  return JSON.stringify({ summary: 'migrate', ...found });
}

/** The last line for people. */
function verdict(schema: string, { applied, missing }: { readonly applied: number; readonly missing: number }): string {
  if (applied > 0) return `${migrations(applied)} applied to schema ${schema}`;
  if (missing > 0) return `${migrations(missing)} missing from schema ${schema}; without --check they are applied`;
  return `schema ${schema} is up to date`;
}

function migrations(count: number): string {
  return `${count} migration${count === 1 ? '' : 's'}`;
}
