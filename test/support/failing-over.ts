/**
 * A database that fails over to a standby which never got the last commits: what was acknowledged is gone, and another
 * timeline begins. Every process keeps what it believes; nobody is told.
 */

import { isDeepStrictEqual } from 'node:util';
import { noRows, type Rows } from '../../src/adapters/memory/rows.ts';
import { storeOn } from '../../src/adapters/memory/store.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { NewRecord, OperationRef, Store, Turn } from '../../src/ports/store.ts';
import { overlay } from '../../src/testing/overlay.ts';

/** Something that the database had acknowledged. */
export interface Commit {
  readonly verb: keyof Store;
  readonly turn: Turn | null;
}

export interface FailingOver {
  readonly store: Store;
  /** The turns that are written and not lost, in order. */
  readonly written: readonly Turn[];
  /** How many workers were ever enlisted, on any timeline. */
  readonly enlisted: number;
  /** Loses the first commit for which `isLost` holds, and every later one. */
  failOver(isLost: (commit: Commit) => boolean): void;
}

export function failingOver(clock: Pick<Clock, 'now'>): FailingOver {
  let rows = noRows();
  let timeline = 1;
  let enlisted = 0;
  const commits: (Commit & { readonly before: Rows })[] = [];
  const primary = storeOn(() => rows, { clock, timeline: () => `timeline-${timeline}` });
  const acknowledged =
    <Given extends unknown[], Answer>(verb: keyof Store, call: (...given: Given) => Promise<Answer>) =>
    async (...given: Given): Promise<Answer> => {
      const before = structuredClone(rows);
      const answer = await call(...given);
      if (!isDeepStrictEqual(rows, before)) commits.push({ verb, turn: null, before });
      return answer;
    };
  return {
    store: overlay(primary, {
      enlist: acknowledged('enlist', (...given: Parameters<Store['enlist']>) => {
        enlisted += 1;
        return primary.enlist(...given);
      }),
      renew: acknowledged('renew', (...given: Parameters<Store['renew']>) => primary.renew(...given)),
      bury: acknowledged('bury', (...given: Parameters<Store['bury']>) => primary.bury(...given)),
      retire: acknowledged('retire', (...given: Parameters<Store['retire']>) => primary.retire(...given)),
      claim: acknowledged('claim', (...given: Parameters<Store['claim']>) => primary.claim(...given)),
      sagaTurn: acknowledged('sagaTurn', (...given: Parameters<Store['sagaTurn']>) => primary.sagaTurn(...given)),
      claimSagas: acknowledged('claimSagas', (...given: Parameters<Store['claimSagas']>) =>
        primary.claimSagas(...given),
      ),
      handOver: acknowledged('handOver', (...given: Parameters<Store['handOver']>) => primary.handOver(...given)),
      async turn(turn) {
        const before = structuredClone(rows);
        const receipt = await primary.turn(turn);
        if (receipt !== null) commits.push({ verb: 'turn', turn, before });
        return receipt;
      },
    }),
    get written() {
      return commits.flatMap(({ turn }) => (turn === null ? [] : [turn]));
    },
    get enlisted() {
      return enlisted;
    },
    failOver(isLost) {
      const first = commits.findIndex(isLost);
      const lost = commits[first];
      if (lost === undefined) throw new Error('Nothing was committed that could be lost.');
      rows = lost.before;
      commits.length = first;
      timeline += 1;
    },
  };
}

/** The birth of an operation, of any if none is named. */
export function birth(of?: OperationRef): (commit: Commit) => boolean {
  return ({ turn }) => turn !== null && turn.birth !== null && (of === undefined || turn.id === of.id);
}

/** The `nth` turn that tells a record of this kind. */
export function nth(n: number, kind: NewRecord['kind']): (commit: Commit) => boolean {
  let told = 0;
  return ({ turn }) => {
    if (turn?.records.some((record) => record.kind === kind) === true) told += 1;
    return told === n;
  };
}

/** An operation given to a worker. */
export function isClaim({ verb }: Commit): boolean {
  return verb === 'claim';
}
