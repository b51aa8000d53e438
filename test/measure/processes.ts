/** The parent's side of a process that is measured: what it says, and how it ends. It ends with its parent. */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface Measured {
  /** Resolves when it has ended in order; rejects with its last words when it ended in any other way by itself. */
  readonly ended: Promise<void>;
  tell(what: object): void;
  /** Kills it, if it is still there. */
  end(): Promise<void>;
}

/** Of what a process said on its standard error, this much is kept. */
const LAST_WORDS = 4_000;

/** Starts a program that lies here with one argument, as JSON. */
export function startProcess<Said>(program: string, task: object, onSaid: (said: Said) => void): Measured {
  const path = fileURLToPath(new URL(program, import.meta.url));
  const child: ChildProcess = fork(path, [JSON.stringify(task)], {
    // The loader is found from here, wherever the command was started.
    ...{ cwd: dirname(path), execArgv: process.execArgv, stdio: ['ignore', 'ignore', 'pipe', 'ipc'] },
  });
  let isEndedByUs = false;
  let lastWords = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    lastWords = (lastWords + chunk.toString('utf8')).slice(-LAST_WORDS);
  });
  // Our own programs say what they say they say.
  child.on('message', (said) => onSaid(said as Said));
  const ended = new Promise<void>((resolve, reject) => {
    child.once('close', (code, signal) => {
      if (isEndedByUs || code === 0) resolve();
      else reject(new Error(`A process ended by itself (${signal ?? `exit ${code}`}): ${lastWords.trim()}`));
    });
  });
  // Whoever is interested asks for it.
  ended.catch(() => {});
  return {
    ended,
    tell: (what) => void child.send(what),
    async end() {
      isEndedByUs = true;
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, 'close');
      child.kill('SIGKILL');
      await gone;
    },
  };
}
