// Packs what was built into a tarball, as a release would. Nothing is built here: a caller that has not built packs an
// old or an empty `dist`.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './child.mjs';

/** Packs into `folder` and names the tarball. */
export async function pack(folder) {
  const { ok, output } = await run('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder]);
  const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz'));
  if (!ok || tarball === undefined) return { ok: false, output: `npm pack made no tarball\n${output}` };
  return { ok: true, output, tarball: join(folder, tarball) };
}
