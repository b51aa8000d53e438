// Preloaded (`node --import`) for tools that call the JavaScript API of TypeScript, which TypeScript 7 does not have:
// whoever asks for `typescript` gets the installed 5.9. Only the tool's own process is affected; what users and
// `npm run build` compile with stays TypeScript 7.

import Module, { register } from 'node:module';
import { isMainThread } from 'node:worker_threads';

const alias = (specifier) => specifier.replace(/^typescript(?=\/|$)/, 'typescript-5.9');

export function resolve(specifier, context, nextResolve) {
  return nextResolve(alias(specifier), context);
}

// The hooks run in a thread of their own, which loads this file again.
if (isMainThread) {
  register(import.meta.url);
  const original = Module._resolveFilename;
  Module._resolveFilename = (specifier, ...rest) => original.call(Module, alias(specifier), ...rest);
}
