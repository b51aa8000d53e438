// Runs a command to its end and hands back its exit code and everything it printed. A command that cannot be started
// counts as one that failed, with the reason as its output, so callers have one thing to look at.

import { spawn } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of package.json. */
export const root = fileURLToPath(new URL('..', import.meta.url));

/** Runs `command` from the repository (or `cwd`), with the installed tools on the path. */
export function run(command, args, { cwd = root } = {}) {
  return new Promise((resolve) => {
    const path = `${join(root, 'node_modules/.bin')}${delimiter}${process.env.PATH}`;
    const child = spawn(command, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, PATH: path } });
    const output = [];
    child.stdout.on('data', (chunk) => output.push(chunk));
    child.stderr.on('data', (chunk) => output.push(chunk));
    child.on('error', (error) => resolve({ ok: false, code: -1, output: error.message }));
    child.on('close', (code) => resolve({ ok: code === 0, code, output: Buffer.concat(output).toString('utf8') }));
  });
}
