/** Which database a command works on: the one that was given, else the environment's. Its url is never shown. */

import { definitionInvalid } from '../domain/errors.ts';
import { note } from './output.ts';

const variables = ['SAGACITY_URL', 'DATABASE_URL'] as const;

/** The url that was given, or the first that the environment holds; that one is told, by the name of its variable. */
export function databaseUrl(given: string | undefined): string {
  if (given !== undefined) return given;
  for (const variable of variables) {
    const url = process.env[variable];
    if (url === undefined || url === '') continue;
    note(`the url is that of ${variable}`);
    return url;
  }
  throw definitionInvalid('No database was named.', `Give --url <url>, or set ${variables.join(' or ')}.`);
}
