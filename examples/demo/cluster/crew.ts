/**
 * The workers, each in a process of its own. One that is killed is followed by another one; a kill counts only if the
 * process ended by that signal. One that ends without having been told to is a fault, and is followed as well.
 */

import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { startNode } from '../kill.ts';
import type { Chance } from './chance.ts';

export interface Crew {
  /** How many are at work. */
  readonly atWork: number;
  /** One of those that are at work. */
  anyOf(chance: Chance): Worker;
  /** Kills it. Resolves when it is gone; another one is on its way then. */
  kill(worker: Worker): Promise<void>;
  /** Resolves when all are at work. */
  complete(): Promise<void>;
  /** Stops all in order. */
  stop(): Promise<void>;
  /** Ends them, whatever they are doing. */
  end(): Promise<void>;
}

export interface Worker {
  readonly child: ChildProcess;
  /** Under which ids the database knows it, one after the other. */
  readonly ids: readonly string[];
}

interface Member extends Worker {
  readonly ids: string[];
  readonly atWork: Promise<void>;
  isAtWork: boolean;
  /** Set before we end it. */
  isEndedByUs: boolean;
}

const program = fileURLToPath(new URL('worker.ts', import.meta.url));

/** Starts so many; resolves at once. `complain` is told of each that ends by itself. */
export function startCrew(size: number, args: readonly string[], complain: (what: string) => void): Crew {
  const members = new Set<Member>();
  let isOver = false;
  for (let n = 0; n < size; n += 1) launch();

  function launch(): void {
    const child = startNode(process.execPath, [program, ...args]);
    let begin = () => {};
    const atWork = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const member: Member = { child, atWork, ids: [], isAtWork: false, isEndedByUs: false };
    members.add(member);
    if (child.stdout !== null) {
      createInterface({ input: child.stdout }).on('line', (line) => {
        // Our own worker says what it says it says.
        const said = JSON.parse(line) as { says: 'at work' } | { says: 'enlisted'; id: string };
        if (said.says === 'enlisted') return member.ids.push(said.id);
        member.isAtWork = true;
        return begin();
      });
    }
    child.once('close', (code, signal) => {
      member.isAtWork = false;
      members.delete(member);
      // Whoever waits for it waits for the next one.
      begin();
      if (member.isEndedByUs || isOver) return;
      complain(`a worker ended by itself (${signal ?? `exit ${code}`})`);
      launch();
    });
  }

  async function ended({ child }: Worker): Promise<NodeJS.Signals | null> {
    // Only once it is closed has all been read that it said.
    const [, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
    return signal;
  }

  return {
    get atWork() {
      return [...members].filter(({ isAtWork }) => isAtWork).length;
    },
    anyOf(chance) {
      const all = [...members].filter(({ isAtWork }) => isAtWork);
      const worker = all[chance.below(all.length)];
      if (worker === undefined) throw new Error('No worker is at work.');
      return worker;
    },
    async kill(worker) {
      const signal = await endOf(worker, 'SIGKILL');
      if (signal !== 'SIGKILL') complain(`a worker that was to be killed ended before that (${signal ?? 'by itself'})`);
      launch();
    },
    async complete() {
      while (![...members].every(({ isAtWork }) => isAtWork)) {
        await Promise.all([...members].map(({ atWork }) => atWork));
      }
    },
    async stop() {
      isOver = true;
      const signals = await Promise.all([...members].map((member) => endOf(member, 'SIGTERM')));
      for (const signal of signals) if (signal !== null) complain(`a worker that was told to stop ended by ${signal}`);
    },
    async end() {
      isOver = true;
      await Promise.all([...members].map((member) => endOf(member, 'SIGKILL')));
    },
  };

  async function endOf(worker: Worker, by: 'SIGTERM' | 'SIGKILL'): Promise<NodeJS.Signals | null> {
    for (const member of members) if (member === worker) member.isEndedByUs = true;
    const gone = ended(worker);
    worker.child.kill(by);
    return await gone;
  }
}
