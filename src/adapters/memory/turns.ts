/**
 * How tenants take turns when more is due than fits: the oldest of each, tenant after tenant, from where the claim before
 * ended. What was handed over, and what the dead have left, is given to whoever asks, and counts as its tenant's.
 */

import type { OperationRef } from '../../ports/store.ts';

export interface Candidate<Row> {
  readonly row: Row;
  /** It is due, and nothing else makes it claimable. */
  readonly isOnlyDue: boolean;
}

/** `candidates`: oldest first. `after`: the tenant whose turn was the last one. */
export function byTurns<Row extends OperationRef>(
  candidates: readonly Candidate<Row>[],
  { limit, after, without }: { readonly limit: number; readonly after: string; readonly without: readonly string[] },
): { readonly rows: readonly Row[]; readonly after: string } {
  const open = candidates.filter(({ row, isOnlyDue }) => !isOnlyDue || !without.includes(row.tenant));
  const tenants = [...new Set(open.flatMap(({ row, isOnlyDue }) => (isOnlyDue ? row.tenant : [])))].sort();
  const inTurn = [...tenants.filter((tenant) => tenant > after), ...tenants.filter((tenant) => tenant <= after)];
  const counted = new Map<string, number>();
  const placed = open.map(({ row, isOnlyDue }) => {
    const round = counted.get(row.tenant) ?? 0;
    counted.set(row.tenant, round + 1);
    return { row, round, turn: isOnlyDue ? inTurn.indexOf(row.tenant) : -1 };
  });
  const picked = placed.toSorted((a, b) => a.round - b.round || a.turn - b.turn).slice(0, limit);
  const last = picked.findLast(({ turn }) => turn >= 0);
  return { rows: picked.map(({ row }) => row), after: last?.row.tenant ?? after };
}
