/** The parent's side of a bundled program that says words over its channel. It ends with its parent. */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { dirname } from 'node:path';
import { eventually } from './nats-processes.ts';

export interface SpeakingProcess<Said extends { readonly says: string }> {
  readonly child: ChildProcess;
  /** What it has said, oldest first. */
  readonly words: Said[];
  /** Resolves when it has said such a thing; rejects when it ended without. */
  readonly hasSaid: (word: Said['says']) => Promise<void>;
  /** SIGKILL, if it is still there; resolves when it is gone. */
  readonly kill: () => Promise<void>;
}

/** Also those of a test that is torn down halfway end with this process. */
const living = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of living) child.kill('SIGKILL');
});

/** Begins a bundled program, which is told its task on the command line. */
export function beginSpeaking<Said extends { readonly says: string }>(
  program: string,
  task: object,
): SpeakingProcess<Said> {
  const child = fork(program, [JSON.stringify(task)], {
    ...{ cwd: dirname(program), execArgv: [], stdio: ['ignore', 'ignore', 'pipe', 'ipc'] },
  });
  living.add(child);
  const words: Said[] = [];
  let complaints = '';
  let hasEnded = false;
  child.stderr?.on('data', (chunk: Buffer) => {
    complaints = (complaints + chunk.toString('utf8')).slice(-4_000);
  });
  child.on('message', (said: Said) => void words.push(said));
  const ended = once(child, 'close').then(() => {
    living.delete(child);
    hasEnded = true;
  });
  return {
    child,
    words,
    async hasSaid(word) {
      const isThere = () => words.some(({ says }) => says === word);
      await eventually(() => {
        if (hasEnded && !isThere()) throw new Error(`A process is over and has not said "${word}": ${complaints}`);
        return isThere();
      }, `a process to say "${word}"`);
    },
    async kill() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      await ended;
    },
  };
}
