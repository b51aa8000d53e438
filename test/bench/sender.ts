/**
 * What the managed sender costs beside undici as it comes: processor time per call and the time a call takes, one at a
 * time and many at once, in rounds by turns, so that what else the machine does falls on both.
 */

import { type AtTheEnd, undoneAtTheEnd } from '../support/to-the-end.ts';
import { startProcess } from '../measure/processes.ts';
import type { ProviderSaid } from './provider.child.ts';
import { type Sender, type SenderName, senders } from './senders.ts';

export interface SenderRow {
  readonly system: SenderName;
  readonly concurrency: number;
  readonly calls: number;
  /** Counted by the provider: as many as calls, or something is wrong. */
  readonly effects: number;
  readonly cpuUsPerCall: number;
  readonly p50Us: number;
}

const ROUNDS = 5;
const CONCURRENCIES = [1, 32];
const names: readonly SenderName[] = ['undici', 'sagacity'];

/** The calls of each row are spread over its rounds. */
export async function benchSenders(
  calls: number,
  doing: (what: string) => void,
  atTheEnd: AtTheEnd,
): Promise<readonly SenderRow[]> {
  const provider = await startProvider(atTheEnd);
  const systems: { readonly system: SenderName; readonly sender: Sender }[] = [];
  for (const system of names) {
    const sender = await undoneAtTheEnd(atTheEnd, senders[system](provider.url), (made) => made.close());
    systems.push({ system, sender });
  }
  const rows: SenderRow[] = [];
  for (const concurrency of CONCURRENCIES) {
    const rounds = new Map<SenderName, Round[]>(names.map((name) => [name, []]));
    // The first round, in which the code gets warm, does not count.
    for (let round = 0; round <= ROUNDS; round += 1) {
      doing(`${concurrency} at once, round ${round} of ${ROUNDS}`);
      for (const { system, sender } of systems) {
        const timed = await oneRound(sender, Math.ceil(calls / ROUNDS), concurrency, `${system}-${round}`);
        const effects = await provider.counted();
        if (round > 0) rounds.get(system)?.push({ ...timed, effects });
      }
    }
    rows.push(...names.map((system) => rowOf(system, concurrency, rounds.get(system) ?? [])));
  }
  return rows;
}

interface Round {
  readonly calls: number;
  readonly effects: number;
  readonly cpuUsPerCall: number;
  readonly callsUs: readonly number[];
}

async function oneRound(
  { call }: Sender,
  calls: number,
  concurrency: number,
  keys: string,
): Promise<Omit<Round, 'effects'>> {
  const callsUs = new Array<number>(calls).fill(0);
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let n = next++; n < calls; n = next++) {
      const began = performance.now();
      await call(`${keys}-${n}`);
      callsUs[n] = (performance.now() - began) * 1000;
    }
  };
  const before = process.cpuUsage();
  await Promise.all(Array.from({ length: concurrency }, lane));
  const { user, system } = process.cpuUsage(before);
  return { calls, cpuUsPerCall: (user + system) / calls, callsUs };
}

function rowOf(system: SenderName, concurrency: number, rounds: readonly Round[]): SenderRow {
  const sum = (of: (round: Round) => number) => rounds.reduce((total, round) => total + of(round), 0);
  return {
    ...{ system, concurrency, calls: sum((round) => round.calls), effects: sum((round) => round.effects) },
    cpuUsPerCall: tenths(medianOf(rounds.map((round) => round.cpuUsPerCall))),
    p50Us: tenths(medianOf(rounds.flatMap((round) => round.callsUs))),
  };
}

/** How many times the processor time of bare undici the sender takes, where it is most; and what the provider counted. */
export function verdictOn(rows: readonly SenderRow[]): SenderVerdict {
  const ratios = rows.flatMap((ours) => {
    const bare = rows.find((row) => row.system === 'undici' && row.concurrency === ours.concurrency);
    return ours.system === 'sagacity' && bare !== undefined ? [ours.cpuUsPerCall / bare.cpuUsPerCall] : [];
  });
  const ratio = Math.round(Math.max(...ratios) * 100) / 100;
  const effects = rows.reduce((total, row) => total + row.effects, 0);
  const once = rows.every((row) => row.effects === row.calls);
  return { summary: 'bench-sender', ok: once && ratio <= RATIO_LIMIT, ratio, effects };
}

export interface SenderVerdict {
  readonly summary: 'bench-sender';
  readonly ok: boolean;
  readonly ratio: number;
  readonly effects: number;
}

/** More than this is wrong. What it should be is half of it. */
export const RATIO_LIMIT = 4;

function medianOf(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

function tenths(value: number): number {
  return Math.round(value * 10) / 10;
}

async function startProvider(atTheEnd: AtTheEnd) {
  let told: ((said: ProviderSaid) => void) | null = null;
  const child = startProcess<ProviderSaid>('../bench/provider.child.ts', {}, (said) => told?.(said));
  atTheEnd(() => child.end());
  const says = async (): Promise<ProviderSaid> => {
    const said = new Promise<ProviderSaid>((resolve) => {
      told = resolve;
    });
    const gone = child.ended.then(() => {
      throw new Error('The provider has ended.');
    });
    return await Promise.race([said, gone]);
  };
  const { port } = await says();
  return {
    url: `http://127.0.0.1:${port}/charges`,
    /** The effects since the last time. A key that came twice is one too many, and shows as one too few. */
    async counted(): Promise<number> {
      const said = says();
      child.tell({});
      const { requests, keys } = (await said).counted ?? { requests: 0, keys: 0 };
      return requests === keys ? keys : -1;
    },
  };
}
