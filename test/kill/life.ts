/** The parent's side of a process that plays a flow: how it is begun, and how it ends. */

import { type ChildProcess, execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { FlowName, Told } from './flows.ts';
import type { Point } from './points.ts';
import { type Signal, stopping, type Strike } from './strike.ts';

/** What a process is told on its command line. */
export interface Task {
  readonly databaseUrl: string;
  readonly providerUrl: string;
  readonly natsUrl: string;
  readonly flow: FlowName;
  readonly strike: Strike | null;
  /** Nobody came before it who may have left something. */
  readonly isFirst: boolean;
}

/** `play`: the flow, to its end. `take over`: goes on with what others have left, and plays when that is asked as well. */
export type Asked = 'play' | 'take over';

export type Said =
  | { readonly says: 'loaded' }
  /** Something was logged that no kill explains. */
  | { readonly says: 'fault'; readonly what: string }
  | ({ readonly says: 'played' } & Played);

export interface Played {
  /** What the callers were told. */
  readonly told: readonly Told[];
  /** How often each point was reached. */
  readonly counts: Readonly<Partial<Record<Point, number>>>;
}

/** How far a process came: it was struck, or it has played to the end. */
export type Came = { readonly by: Signal } | Played;

export interface Life {
  /** Resolves when it is there, and has not begun. */
  readonly loaded: Promise<void>;
  /** What it logged that no kill explains. */
  readonly faults: readonly string[];
  ask(asked: Asked): void;
  /** Resolves when it was struck or has played; rejects when it ended in any other way, or is too late. */
  came(): Promise<Came>;
  /** Lets a stopped process go on. Resolves as `came`. */
  goOn(): Promise<Came>;
  /** Ends it, if it has not ended. */
  end(): Promise<void>;
}

/** As long as a busy machine may take for one life. */
const LIFE_MS = 60_000;

/** Of what a process said on its standard error, this much is kept. */
const LAST_WORDS = 4_000;

/** Also one that stands still ends with this process. */
const living = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of living) child.kill('SIGKILL');
});

/** Begins a process of this program. */
export function beginLife(program: string, task: Task): Life {
  const child = fork(program, [JSON.stringify(task)], {
    // What it leaves of itself when it aborts goes with its program.
    ...{ cwd: dirname(program), execArgv: [], stdio: ['ignore', 'pipe', 'pipe', 'ipc'] },
  });
  living.add(child);
  const faults: string[] = [];
  let lastWords = '';
  let isEndedByUs = false;
  let load = () => {};
  let tell: (came: Came) => void = () => {};
  let fail: (error: Error) => void = () => {};
  let next = coming();
  const loaded = new Promise<void>((resolve) => {
    load = resolve;
  });
  function coming(): Promise<Came> {
    const came = new Promise<Came>((resolve, reject) => {
      tell = resolve;
      fail = reject;
    });
    // Whoever is interested asks for it.
    came.catch(() => {});
    return came;
  }
  child.stderr?.on('data', (chunk: Buffer) => {
    lastWords = (lastWords + chunk.toString('utf8')).slice(-LAST_WORDS);
  });
  child.stdout?.on('data', (chunk: Buffer) => {
    if (chunk.toString('utf8') === stopping) void stopped(child).then(() => tell({ by: 'SIGSTOP' }), fail);
  });
  child.on('message', (said: Said) => {
    if (said.says === 'loaded') load();
    else if (said.says === 'fault') faults.push(said.what);
    else tell(said);
  });
  child.once('exit', (code, signal) => {
    living.delete(child);
    if (isEndedByUs) return;
    if (signal === 'SIGKILL' || signal === 'SIGABRT') tell({ by: signal });
    // What it said last may still be on its way; having played it says so before it ends.
    else
      child.once('close', () =>
        fail(new Error(`It ended by itself (${signal ?? `exit ${code}`}): ${lastWords.trim()}`)),
      );
  });
  return {
    ...{ loaded, faults },
    ask: (asked) => void child.send(asked),
    came: () => inTime(next, task),
    goOn() {
      next = coming();
      child.kill('SIGCONT');
      return inTime(next, task);
    },
    async end() {
      isEndedByUs = true;
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
  };
}

/** Resolves when the system says that the process stands still. */
async function stopped(child: ChildProcess): Promise<void> {
  for (;;) {
    const { stdout } = await promisify(execFile)('ps', ['-o', 'stat=', '-p', String(child.pid)]);
    if (stdout.trim().startsWith('T')) return;
    await pause(20);
  }
}

async function inTime(came: Promise<Came>, { flow, strike }: Task): Promise<Came> {
  const late = new AbortController();
  const timeout = pause(LIFE_MS, undefined, { signal: late.signal }).then(() => {
    const where = strike === null ? 'unharmed' : `to be struck at ${strike.point}`;
    throw new Error(`A process that plays ${flow}, ${where}, has not come to its end within ${LIFE_MS / 1000} s.`);
  });
  try {
    return await Promise.race([came, timeout]);
  } finally {
    late.abort();
    timeout.catch(() => {});
  }
}
