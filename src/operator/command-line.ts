/**
 * The command line: one program, and one file for each of its commands. Exit code 0 says that all is well, 1 that what
 * was asked about is not, 2 that nothing could be asked, and what is needed for that. No url that was typed is ever
 * repeated, wherever it was typed, because it may hold a password.
 */

import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { type ErrorCode, isSagacityError } from '../domain/errors.ts';
import { addCheckCommand } from './check-command.ts';
import { addMigrateCommand } from './migrate-command.ts';
import { failWhenAnswersAreLost, note } from './output.ts';

const commands = [addMigrateCommand, addCheckCommand];

/** Does what the words say, and leaves the exit code with the process. */
export async function runCommandLine(words: readonly string[]): Promise<void> {
  failWhenAnswersAreLost();
  const complain = (text: string) => note(withoutUrls(text, words));
  const program = new Command('sagacity')
    .description('Looks after the database of Sagacity, an in-process saga orchestrator.')
    .version(installedVersion())
    .exitOverride()
    .configureOutput({ outputError: (text) => complain(text.replace(/^error: /, '').trimEnd()) })
    .showHelpAfterError('See --help.');
  for (const add of commands) add(program);
  try {
    await program.parseAsync(words.flatMap(nameAndValue), { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.exitCode !== 0) process.exitCode = 2;
      return;
    }
    complain(messageOf(error));
    process.exitCode = isSagacityError(error) && answersNo.includes(error.code) ? 1 : 2;
  }
}

/** The errors that are an answer about the database; any other says that there was none. */
const answersNo: readonly ErrorCode[] = ['SCHEMA_OUTDATED'];

function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const isSilent = isSagacityError(error, 'STORE_UNAVAILABLE') && error.cause === undefined;
  return isSilent ? `${message} Needed: a PostgreSQL server that answers at the url.` : message;
}

/** This package finds itself by its name, from source and from dist alike. */
function installedVersion(): string {
  const text = readFileSync(new URL(import.meta.resolve('sagacity/package.json')), 'utf8');
  // npm installs no package without one.
  const { version } = JSON.parse(text) as { version: string };
  return version;
}

/** `--name=value` as two words: a misspelt name is then refused by itself, with its near miss and without the value. */
function nameAndValue(word: string): string[] {
  const [, name, value] = /^(--[\w-]+)=(.*)$/s.exec(word) ?? [];
  return name === undefined || value === undefined ? [word] : [name, value];
}

/** Whoever refuses a word quotes it, bare or as JSON. */
function withoutUrls(text: string, words: readonly string[]): string {
  const urls = words.flatMap(nameAndValue).filter((word) => /:\/\/|@|password/i.test(word));
  const quoted = urls.flatMap((url) => [url, JSON.stringify(url).slice(1, -1)]);
  return quoted.reduce((rest, url) => rest.replaceAll(url, '...'), text);
}
