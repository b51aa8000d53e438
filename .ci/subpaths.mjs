// The subpaths a user can import from the package, read from `exports` of package.json, which is the authority.

import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { root } from './child.mjs';

/** All subpaths that are modules: `{ subpath: './testing', specifier: 'sagacity/testing', types: './dist/...' }`. */
export function subpaths() {
  const { name, exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  return Object.entries(exports)
    .filter(([, target]) => typeof target === 'object' && target !== null)
    .map(([subpath, target]) => ({ subpath, specifier: posix.join(name, subpath), types: target.types }));
}

/** A file name for a subpath: `index` for the root. */
export function nameOf(subpath) {
  return subpath === '.' ? 'index' : subpath.slice(2).replaceAll('/', '-');
}
