/**
 * The copies of this library that are loaded in the process: each enters itself when it is loaded, in one list for all,
 * whatever their versions. Two are one too many: a definition, a store or an error of one is a stranger to the other. The
 * same file loaded again, as by a development server, is not a second one, and neither is it in another thread.
 */

import { definitionInvalid } from '../domain/errors.ts';

/** Of `package.json`. */
const version = '0.1.0';

const copies = Symbol.for('sagacity.copies');

/** What every copy reads and writes, this version's and later ones: versions by the places that they came from. */
interface Process {
  [copies]?: Map<string, string>;
}

// Only copies of this library know the symbol.
const shared = globalThis as Process;
const loaded = (shared[copies] ??= new Map());
loaded.set(placeOf(import.meta.url), version);

/** Throws DEFINITION_INVALID when more than one copy is loaded. */
export function refuseTwoCopies(): void {
  if (loaded.size < 2) return;
  const found = [...loaded].map(([place, version]) => ({ version, place }));
  throw definitionInvalid(
    `${found.length} copies of sagacity are loaded in this process: ${found.map(told).join(' and ')}. ` +
      'What is defined with one means nothing to the other.',
    'Leave one: `npm ls sagacity` shows who brings them, and `npm dedupe` makes them one where their versions allow it. ' +
      'Two places in one package are its source and what was built from it: load all of it under the same conditions.',
    { copies: found },
  );
}

function told({ version, place }: { readonly version: string; readonly place: string }): string {
  return `version ${version} at ${place}`;
}

/** The folder of the sources, or the file that a bundler has put them into. Some bundlers leave no url. */
function placeOf(url: string | undefined): string {
  if (url === undefined) return 'an unknown place';
  return url
    .replace(/[?#].*$/, '')
    .replace(/\/ports\/copies\.[jt]s$/, '')
    .replace(/^file:\/\//, '');
}
