/** Runs an example as its reader would: in a process of its own, with TypeScript as it is. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Resolves when the process has ended; one that takes longer than `deadlineMs` is told to stop. */
export async function runExample(file: string, args: readonly string[] = [], deadlineMs = 170_000): Promise<Ran> {
  const child = spawn(process.execPath, ['--import', 'tsx', '--conditions=sagacity-source', file, ...args], {
    cwd: root,
    env: { ...process.env, NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const timer = setTimeout(() => child.kill('SIGTERM'), deadlineMs);
  try {
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
    return { code: typeof code === 'number' ? code : null, stdout, stderr };
  } finally {
    clearTimeout(timer);
  }
}
