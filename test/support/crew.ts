/** The parent's side of a process with several orchestrators: what it is told, asked, and says. It ends with its parent. */

import { fileURLToPath } from 'node:url';
import type { Duration } from 'sagacity';
import { eventually } from './nats-processes.ts';
import { beginSpeaking } from './speaking-process.ts';

/** What a process is told on its command line. */
export interface CrewTask {
  /** Stands in the books beside what it made. */
  readonly name: string;
  readonly databaseUrl: string;
  readonly natsUrl: string;
  readonly orchestrators: number;
  /** The only one that it serves. */
  readonly action: string;
  readonly concurrency: number;
  readonly sweepEvery: Duration;
  readonly heartbeat: { readonly every: Duration; readonly timeout: Duration };
  /** No reply of its company ever comes, though the record is made. */
  readonly repliesNever?: boolean;
  /** See `ReminderOptions`. */
  readonly refusesFirst?: boolean;
}

export type Asked =
  | { readonly asks: 'count' }
  | { readonly asks: 'stop' }
  | { readonly asks: 'submit'; readonly orderId: string };

/** What its orchestrators heard and did, all of them together. */
export interface Counted {
  /** News, by their kinds. */
  readonly due: number;
  readonly freed: number;
  /** Wakes that have been attended to. */
  readonly woken: number;
  /** Claims that the store has answered, and what they brought. */
  readonly claims: number;
  readonly claimed: number;
}

export type Said =
  | { readonly says: 'at work' | 'stopped' }
  | { readonly says: 'made'; readonly orderId: string }
  | { readonly says: 'submitted'; readonly id: string }
  | { readonly says: 'counted'; readonly counted: Counted };

export interface CrewProcess {
  readonly pid: number;
  /** Resolves when it has said such a thing, from its beginning on; rejects when it ended without. */
  said<Word extends Said['says']>(word: Word): Promise<Extract<Said, { readonly says: Word }>>;
  ask(asked: Asked): void;
  counted(): Promise<Counted>;
  /** SIGKILL, if it is still there; resolves when it is gone. */
  kill(): Promise<void>;
}

/** The program of `crew.child.ts`, for `bundled`. */
export const crewProgram = fileURLToPath(new URL('crew.child.ts', import.meta.url));

/** Begins a process of a bundled `crewProgram`. */
export function beginCrew(program: string, task: CrewTask): CrewProcess {
  const { child, words, hasSaid, kill } = beginSpeaking<Said>(program, task);
  const said: CrewProcess['said'] = async (word) => {
    const isIt = (each: Said): each is Extract<Said, { readonly says: typeof word }> => each.says === word;
    await hasSaid(word);
    // It is there.
    return words.findLast(isIt) as Extract<Said, { readonly says: typeof word }>;
  };
  return {
    pid: child.pid ?? 0,
    said,
    ask: (asked) => void child.send(asked),
    async counted() {
      const before = words.filter(({ says }) => says === 'counted').length;
      child.send({ asks: 'count' } satisfies Asked);
      await eventually(() => words.filter(({ says }) => says === 'counted').length > before, 'a process to count');
      return (await said('counted')).counted;
    },
    kill,
  };
}
