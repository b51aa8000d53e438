/** What an operation's history says in numbers. The history is the authority; nothing is counted beside it. */

import type { HistoryRecord } from 'sagacity';

export interface Told {
  readonly attempts: number;
  readonly lookups: number;
  readonly states: readonly string[];
}

export function toldBy(history: readonly HistoryRecord[]): Told {
  return {
    attempts: history.filter(({ kind }) => kind === 'start').length,
    lookups: history.filter(({ kind }) => kind === 'lookup').length,
    states: history.flatMap(({ states }) => states ?? []),
  };
}
