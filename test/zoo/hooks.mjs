/** Node's hook for the loading of modules: gives the defective source instead of the file's, and notes that it did. */

import { appendFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** @type {import('./planted.ts').Planted} */
let planted = { sources: new Map(), noteIn: null };

export function initialize(given) {
  planted = given;
}

export async function load(url, context, nextLoad) {
  const loaded = await nextLoad(url, context);
  const path = url.startsWith('file:') ? fileURLToPath(url) : url;
  const source = planted.sources.get(path);
  if (source === undefined) return loaded;
  if (planted.noteIn !== null) appendFileSync(planted.noteIn, `${path}\n`);
  return { ...loaded, source };
}
