/**
 * The parent's side of a worker process. Every call to it is counted and has a deadline, after which it counts as hung;
 * a process that ends without having been ended by us counts as an uncaught error, and another takes its place. What
 * was asked of a process that is gone is answered with that.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { allowedMs, type Answer, type Asked, mayEndWith, type Said, type Verb, type Verbs } from './calls.ts';
import type { Notes } from './notes.ts';

export interface WorkerProcess {
  ask<Name extends Verb>(verb: Name, ...args: Parameters<Verbs[Name]>): Promise<Answer<ReturnType<Verbs[Name]>>>;
  /** Starts its orchestrator, as often as it takes while the database is not there. */
  begin(): Promise<void>;
  /** Stops its orchestrator and begins with another. */
  restart(): Promise<void>;
  /** Kills the process. Resolves when another one is there; its orchestrator has not begun. */
  replace(): Promise<void>;
  /** Ends it for good. */
  end(): Promise<void>;
}

/** A process, and what it has still to answer. */
interface Living {
  readonly child: ChildProcess;
  readonly asked: Map<number, (answer: Answer<unknown>) => void>;
  readonly loaded: Promise<void>;
  /** Set before we end it. */
  endedByUs: boolean;
}

const script = fileURLToPath(new URL('worker.child.ts', import.meta.url));

/** Of what a process said on its standard error, this much is kept. */
const LAST_WORDS = 4_000;

/** Starts a process; its orchestrator has not begun. `args` are those of `worker.child.ts`. */
export async function startWorker(name: string, args: readonly string[], notes: Notes): Promise<WorkerProcess> {
  const { tally, complain, wrong } = notes;
  let calls = 0;
  let over = false;

  const launch = (): Living => {
    const child = fork(script, [...args], {
      // The loader is found from here, wherever the command was started.
      ...{ cwd: dirname(script), execArgv: process.execArgv, stdio: ['ignore', 'ignore', 'pipe', 'ipc'] },
    });
    const asked: Living['asked'] = new Map();
    let load = () => {};
    let lastWords = '';
    const loaded = new Promise<void>((resolve) => {
      load = resolve;
    });
    const mine: Living = { child, asked, loaded, endedByUs: false };
    child.stderr?.on('data', (chunk: Buffer) => {
      lastWords = (lastWords + chunk.toString('utf8')).slice(-LAST_WORDS);
    });
    child.on('message', (said: Said) => {
      if (said.says === 'loaded') load();
      else if (said.says === 'read-back') tally.readBack += 1;
      else if (said.says === 'fault') wrong(`worker ${name} logged "${said.what}"`);
      else asked.get(said.n)?.(said.answer);
    });
    child.once('exit', (code, signal) => {
      for (const settle of asked.values()) settle(gone);
      if (mine.endedByUs || over) return;
      tally.uncaught += 1;
      living = launch();
      void begin();
      // What it said last may still be on its way.
      child.once('close', () => {
        complain(`worker ${name} ended by itself (${signal ?? `exit ${code}`}):\n${lastWords.trimEnd()}`);
      });
    });
    return mine;
  };

  const ask: WorkerProcess['ask'] = async (verb, ...args) => {
    tally.calls += 1;
    const answer = await answerTo(living, { n: (calls += 1), verb, args });
    if (answer.how === 'hung') {
      tally.hung += 1;
      complain(`worker ${name} has not answered "${verb}" within ${allowedMs[verb]} ms`);
    } else if (answer.how === 'refused' && !mayEndWith(verb, answer.code)) {
      wrong(`worker ${name} answered "${verb}" with ${answer.code}: ${answer.message}`);
    }
    // Our own worker answers what the verb says.
    return answer as Answer<ReturnType<Verbs[typeof verb]>>;
  };

  const begin = async () => {
    const mine = living;
    await Promise.race([mine.loaded, once(mine.child, 'exit')]);
    while (mine === living && !over) {
      const answer = await ask('start');
      if (answer.how !== 'refused' || !mayEndWith('start', answer.code)) return;
      await pause(100);
    }
  };

  const kill = async () => {
    const { child } = living;
    living.endedByUs = true;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  };

  let living = launch();
  await Promise.race([living.loaded, failedStart(living.child)]);
  return {
    ask,
    begin,
    async restart() {
      await ask('stop');
      await begin();
    },
    async replace() {
      await kill();
      living = launch();
      await living.loaded;
    },
    async end() {
      over = true;
      await kill();
    },
  };
}

const gone = { how: 'refused', code: 'GONE', message: 'The worker process is not there.' } as const;

function answerTo({ child, asked }: Living, call: Asked): Promise<Answer<unknown>> {
  if (!child.connected) return Promise.resolve(gone);
  return new Promise((resolve) => {
    const settle = (answer: Answer<unknown>) => {
      clearTimeout(timer);
      asked.delete(call.n);
      resolve(answer);
    };
    const timer = setTimeout(() => settle({ how: 'hung' }), allowedMs[call.verb]);
    asked.set(call.n, settle);
    child.send(call, (error) => {
      if (error !== null) settle(gone);
    });
  });
}

async function failedStart(child: ChildProcess): Promise<never> {
  await once(child, 'exit');
  throw new Error('A worker process ended before it had loaded.');
}
