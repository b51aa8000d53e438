/**
 * Reads what EXPLAIN says. A plan is good when it comes to its rows by an index, with a condition that makes the place
 * in the index narrow, so that it costs the same in a table of any size.
 */

/** A node of a plan, as far as it is looked at. */
export interface Plan {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly Filter?: string;
  readonly 'Subplan Name'?: string;
  /** With those of the nodes below. */
  readonly 'Shared Hit Blocks'?: number;
  readonly 'Shared Read Blocks'?: number;
  readonly Plans?: readonly Plan[];
}

interface Index {
  readonly of: string;
  /** What a condition must name at least. */
  readonly narrowedBy: readonly string[];
}

const indexes: Readonly<Record<string, Index>> = {
  operation_pk: { of: 'operation', narrowedBy: ['id'] },
  operation_identity: { of: 'operation', narrowedBy: ['key'] },
  operation_due: { of: 'operation', narrowedBy: ['due_at'] },
  operation_turn: { of: 'operation', narrowedBy: ['tenant'] },
  operation_owner: { of: 'operation', narrowedBy: ['owner'] },
  // Holds nothing but doubts.
  operation_doubt: { of: 'operation', narrowedBy: [] },
  operation_settled: { of: 'operation', narrowedBy: ['since'] },
  operation_saga: { of: 'operation', narrowedBy: ['saga'] },
  saga_pk: { of: 'saga', narrowedBy: ['id'] },
  saga_identity: { of: 'saga', narrowedBy: ['key'] },
  saga_due: { of: 'saga', narrowedBy: ['due_at'] },
  saga_turn: { of: 'saga', narrowedBy: ['tenant'] },
  saga_owner: { of: 'saga', narrowedBy: ['owner'] },
  // Holds nothing but what is escalated.
  saga_escalated: { of: 'saga', narrowedBy: [] },
  // Holds nothing but what has not settled.
  saga_in_flight: { of: 'saga', narrowedBy: [] },
  attempt_pk: { of: 'attempt', narrowedBy: ['tenant', 'subject'] },
  handover_pk: { of: 'handover', narrowedBy: ['tenant', 'aggregate'] },
  signal_pk: { of: 'signal', narrowedBy: ['saga'] },
  lock_pk: { of: 'lock', narrowedBy: ['resource'] },
  lock_saga: { of: 'lock', narrowedBy: ['saga'] },
  worker_pkey: { of: 'worker', narrowedBy: ['id'] },
  // Holds nothing but the living.
  worker_living: { of: 'worker', narrowedBy: [] },
  // Holds one entry for each fail-over there was.
  timeline_pkey: { of: 'timeline', narrowedBy: [] },
};

/** Every place where the plan would read more, the larger the tables are, except those that may be read `whole`. */
export function faultsOf(plan: Plan, whole: readonly string[], parent?: Plan): readonly string[] {
  const { 'Node Type': type, 'Relation Name': table, 'Index Name': name, 'Index Cond': condition = '' } = plan;
  const faults = (plan.Plans ?? []).flatMap((child) => faultsOf(child, whole, plan));
  if (type === 'Seq Scan' && table !== undefined && !whole.includes(table)) faults.push(`reads all of ${table}`);
  if (name === undefined) return faults;
  const index = indexes[name];
  if (index === undefined) return [...faults, `goes by ${name}, of which this test knows nothing`];
  const missing = index.narrowedBy.filter((column) => !new RegExp(`\\(${column} `).test(condition));
  // The first entry of an index costs the same in any index, unless entries are left out to come to it.
  const onlyFirst = parent?.['Node Type'] === 'Limit' && type.startsWith('Index') && plan.Filter === undefined;
  if (missing.length > 0 && !onlyFirst && !whole.includes(index.of)) {
    faults.push(`goes through ${name} without ${missing.join(', ')}`);
  }
  return faults;
}

/** How many pages the server touched to carry a plan out. */
export function pagesOf(plan: Plan): number {
  return (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0);
}

/** The part of a plan that a name in WITH stands for. */
export function partOf(plan: Plan, name: string): Plan | null {
  if (plan['Subplan Name'] === `CTE ${name}`) return plan;
  for (const child of plan.Plans ?? []) {
    const part = partOf(child, name);
    if (part !== null) return part;
  }
  return null;
}
