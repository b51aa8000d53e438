/** Opens the embedded store where its optional peer is not installed, and says how that failed. */

import { register } from 'node:module';
import { pgliteStore } from '../../src/pglite.ts';

const withoutPeer = `export async function resolve(specifier, context, next) {
  if (!specifier.startsWith('@electric-sql/')) return await next(specifier, context);
  throw Object.assign(new Error("Cannot find package '" + specifier + "'"), { code: 'ERR_MODULE_NOT_FOUND' });
}`;
register(`data:text/javascript,${encodeURIComponent(withoutPeer)}`);

await pgliteStore()
  .open()
  .catch((error: unknown) => console.log(JSON.stringify(error)));
