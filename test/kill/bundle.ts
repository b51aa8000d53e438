/**
 * The program of worker processes in one file: hundreds of processes are begun, and each would spend most of its life
 * reading and translating the same modules. What is in it is the library as it is, or with the defect that this process
 * was started with.
 */

import { appendFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { type Planted, plantedHere } from '../zoo/planted.ts';

export interface Bundle {
  readonly path: string;
  remove(): Promise<void>;
}

const workers = fileURLToPath(new URL('worker.child.ts', import.meta.url));

const nothing: Planted = { sources: new Map(), noteIn: null };

/**
 * By default the program of the workers that are killed at their kill points. `instead`: what takes the place of files, by
 * their paths.
 */
export async function bundled(program = workers, instead: ReadonlyMap<string, string> = new Map()): Promise<Bundle> {
  const { sources, noteIn } = (await plantedHere()) ?? nothing;
  const folder = await mkdtemp(join(tmpdir(), 'sagacity-kill-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  const path = join(folder, 'worker.mjs');
  try {
    await build({
      entryPoints: [program],
      outfile: path,
      ...{ bundle: true, platform: 'node', format: 'esm', sourcemap: 'inline', logLevel: 'silent' },
      conditions: ['sagacity-source'],
      // The client of NATS is no module of the language, and asks for those of Node in its own way.
      banner: { js: "import { createRequire } from 'node:module';\nconst require = createRequire(import.meta.url);" },
      // Loaded on use, and not used.
      external: ['@electric-sql/pglite', 'pg'],
      plugins: [
        {
          name: 'planted',
          setup(building) {
            building.onLoad({ filter: /\.ts$/ }, ({ path: file }) => {
              const other = instead.get(file);
              if (other !== undefined) return { contents: other, loader: 'ts' };
              const contents = sources.get(file);
              if (contents === undefined) return null;
              if (noteIn !== null) appendFileSync(noteIn, `${file}\n`);
              return { contents, loader: 'ts' };
            });
          },
        },
      ],
    });
    return { path, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}
