/**
 * Starts processes with a defect, from the side of who starts them. Whether the defect was met at all is asked at the
 * end: a process that never loads the file proves nothing.
 */

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { type Defect, defectAt, defectiveSources, root } from './defect.ts';
import { LOADED, loader, PATH } from './planted.ts';

/** What stands between `node` and its script, for TypeScript as it is, with a defect or without one. */
export const nodeArguments: readonly string[] = [
  ...['--import', loader, '--import', 'tsx'],
  '--conditions=sagacity-source',
];

export interface Plant {
  readonly defect: Defect;
  /** To be added to the environment of every process that shall have the defect. */
  readonly env: Readonly<Record<string, string>>;
  /** The defect's files that no process has loaded so far; empty: the defect was there. */
  unmet(): Promise<readonly string[]>;
  /** Forgets what was noted. */
  remove(): Promise<void>;
}

/** Rejects with DefectUnusable when the defect of this file cannot be put in. */
export async function plant(path: string): Promise<Plant> {
  const defect = await defectAt(path);
  const files = [...defectiveSources(defect).keys()];
  const folder = await mkdtemp(join(tmpdir(), 'sagacity-defect-'));
  const notes = join(folder, 'loaded');
  return {
    defect,
    env: { [PATH]: resolve(root, path), [LOADED]: notes },
    async unmet() {
      const loaded = new Set((await readFile(notes, 'utf8').catch(() => '')).split('\n'));
      return files.filter((file) => !loaded.has(file)).map((file) => relative(root, file));
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
