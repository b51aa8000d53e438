/**
 * What a run has counted, and whether that is all right. It is right only if nothing went wrong and every kind of fault
 * has struck: a fault that never came proves nothing.
 */

import { statementNames } from '../../src/adapters/postgres/executor.ts';

export type TorturedStatement = (typeof statementNames)[number];

/** What was lost of one statement. */
export interface Losses {
  lostRequests: number;
  lostReplies: number;
}

export interface Tally {
  calls: number;
  terminated: number;
  readonly statements: Readonly<Record<TorturedStatement, Losses>>;
  serverStops: number;
  postmasterKills: number;
  readBack: number;
  uncaught: number;
  hung: number;
  wrongCounts: number;
  operations: number;
  sagas: number;
  /** Sagas that were told to have been taken back. */
  takenBack: number;
}

/** The last line of `--json`. */
export interface Summary extends Losses, Readonly<Tally> {
  readonly summary: 'torture';
  readonly ok: boolean;
  readonly seed: number;
  readonly ms: number;
}

export function newTally(): Tally {
  const none = statementNames.map((name) => [name, { lostRequests: 0, lostReplies: 0 }]);
  return {
    ...{ calls: 0, terminated: 0 },
    // Made of the names that the type lists.
    statements: Object.fromEntries(none) as Record<TorturedStatement, Losses>,
    ...{ serverStops: 0, postmasterKills: 0, readBack: 0, uncaught: 0, hung: 0, wrongCounts: 0 },
    ...{ operations: 0, sagas: 0, takenBack: 0 },
  };
}

/** All that was lost. */
export function lossesIn({ statements }: Pick<Tally, 'statements'>): Losses {
  const sum = (of: keyof Losses) => Object.values(statements).reduce((total, losses) => total + losses[of], 0);
  return { lostRequests: sum('lostRequests'), lostReplies: sum('lostReplies') };
}

/** The kinds of fault that have not struck, and what should have followed from them and did not. */
export function neverStruck(tally: Tally): readonly string[] {
  const { terminated, serverStops, postmasterKills, readBack, takenBack } = tally;
  const counts = Object.entries({ terminated, serverStops, postmasterKills, readBack, takenBack });
  for (const [name, { lostRequests, lostReplies }] of Object.entries(tally.statements)) {
    counts.push([`lostRequests of ${name}`, lostRequests], [`lostReplies of ${name}`, lostReplies]);
  }
  return counts.filter(([, count]) => count === 0).map(([name]) => name);
}

export function summaryOf(tally: Tally, seed: number, ms: number): Summary {
  const { uncaught, hung, wrongCounts } = tally;
  const ok = uncaught === 0 && hung === 0 && wrongCounts === 0 && neverStruck(tally).length === 0;
  const { calls, terminated, statements, serverStops, postmasterKills, readBack, operations, sagas, takenBack } = tally;
  return {
    ...{ summary: 'torture', ok, seed, calls, terminated, ...lossesIn(tally), statements },
    ...{ serverStops, postmasterKills, readBack, uncaught, hung, wrongCounts, operations, sagas, takenBack, ms },
  };
}
