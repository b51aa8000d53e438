/**
 * Sees to it that a server does not outlive whoever started it. A shell holds the other end of a pipe from here; when
 * the pipe closes, because the guard was released or because this process is gone, however it ended, the shell ends
 * the program that was launched last and removes the folder. It is told the pid of that program at once, so that only
 * a kill between two system calls could leave it unguarded.
 */

import { type ChildProcess, spawn, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import type { User } from './private-postgres/unprivileged-user.ts';

export interface Guard {
  /** Starts a program of the server in the folder, as the user. At most one runs at a time. */
  launch(program: string, args: readonly string[], stdio: StdioOptions): ChildProcess;
  /** Resolves when what was launched last has ended and the folder is removed. */
  release(): Promise<void>;
}

/** SIGQUIT ends PostgreSQL without a checkpoint, and NATS; one that was stopped in mid-air (SIGSTOP) does not hear it. */
const script = `
trap '' HUP INT TERM
pid=
while read -r line; do pid=$line; done
if [ -n "$pid" ]; then
  kill -QUIT "$pid"
  left=100
  while [ "$left" -gt 0 ] && kill -0 "$pid"; do
    sleep 0.1
    left=$((left - 1))
  done
  [ "$left" -gt 0 ] || kill -KILL "$pid"
fi
rm -rf -- "$1"
`;

export async function guardFolder(folder: string, user: User | null): Promise<Guard> {
  // In a session of its own, as all that is launched: a Ctrl-C at the terminal is for the tests alone.
  const shell = spawn('sh', ['-c', script, 'sh', folder], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
  await once(shell, 'spawn');
  const gone = once(shell, 'exit');
  const tell = (pid: number | undefined) => {
    if (shell.stdin.writable) shell.stdin.write(`${pid ?? ''}\n`);
  };
  return {
    launch(program, args, stdio) {
      const child = spawn(program, args, { cwd: folder, detached: true, env: environment(), stdio, ...user });
      tell(child.pid);
      child.once('exit', () => tell(undefined));
      return child;
    },
    async release() {
      shell.stdin.end();
      await gone;
    },
  };
}

/** PGDATA, PGPORT and their like are meant for another server; messages stay English, because they are searched. */
function environment(): NodeJS.ProcessEnv {
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith('PG'));
  return { ...Object.fromEntries(others), LC_ALL: 'C' };
}
