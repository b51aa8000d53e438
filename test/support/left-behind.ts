/**
 * What a command that starts servers and processes has left behind. It gets a folder of its own for everything
 * temporary, under which whatever it starts can be told from what others have started.
 */

import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, vi } from 'vitest';

export interface OwnFolder {
  /** Of the test that is running. */
  readonly path: string;
  /** Our folders in the command's, and the processes that were started with one of them. */
  leftBehind(): Promise<readonly string[]>;
}

/** For every test of the file that calls it. */
export function inAFolderOfItsOwn(): OwnFolder {
  let folder = '';
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sagacity-test-'));
    // The PostgreSQL server may be another user.
    await chmod(folder, 0o755);
    vi.stubEnv('TMPDIR', folder);
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    await rm(folder, { recursive: true, force: true });
  });
  return {
    get path() {
      return folder;
    },
    async leftBehind() {
      const { stdout } = await promisify(execFile)('ps', ['-A', '-ww', '-o', 'args']);
      const names = await readdir(folder);
      return [
        ...names.filter((name) => name.startsWith('sagacity-')),
        ...stdout.split('\n').filter((command) => command.includes(folder)),
      ];
    },
  };
}
