/**
 * The chart's own row of a stored operation. The chart's context is stored without what the store knows
 * better (`facts`, read anew before every turn) and without the output, which has a column of its own. There it is
 * wrapped as `{ "value": ... }`: a store keeps what it has when it is given null, and null may well be the output.
 */

import { decode } from '../domain/codec.ts';
import type { Json } from '../domain/json.ts';
import type { OperationState } from '../domain/operation-state.ts';
import type { Facts } from '../domain/policy.ts';
import type { KernelRow } from '../kernel/row.ts';
import type { OperationContext } from '../../machines/operation.ts';
import type { OperationRow } from '../ports/store.ts';
import { snapshotOf } from './snapshot.ts';

/** As it is kept. */
export type StoredContext = Omit<OperationContext, 'facts'>;

export function stateOf(row: KernelRow): OperationState {
  // The chart is flat: its value is the name of one of its states.
  return row.value as OperationState;
}

export function contextOf(row: KernelRow): OperationContext {
  // The row was made by the operation chart.
  return row.context as OperationContext;
}

/** What the row waits for and for how long, or null: an attempt is running, or nothing will happen by itself. */
export function waitOf(row: KernelRow): { readonly id: string; readonly delayMs: number } | null {
  const due = row.timers['due'];
  if (due !== undefined) return { id: `due ${due.generation}`, delayMs: due.delayMs };
  const lookup = row.children['lookup'];
  if (lookup === undefined) return null;
  // The chart gives its look-ups this input.
  const { delayMs } = lookup.input as { delayMs: number };
  return { id: `lookup ${lookup.generation}`, delayMs };
}

/** The chart's row with the facts of this moment. */
export function withFacts(row: KernelRow, facts: Facts): KernelRow {
  return { ...row, context: { ...contextOf(row), facts } };
}

/** Throws SCHEMA_OUTDATED for one that another version has written in a format which this one does not read. */
export function fromStored(stored: OperationRow): KernelRow {
  // Written by `toStored`.
  const row = snapshotOf(stored) as KernelRow & { context: StoredContext };
  const { result } = row.context.history;
  const context: StoredContext = {
    ...row.context,
    history: { ...row.context.history, result: result === null ? null : { ...result, output: storedOutput(stored) } },
  };
  return { ...row, context };
}

/** The output, encoded; null also while there is none. */
export function storedOutput({ output }: OperationRow): Json {
  if (output === null) return null;
  // Written by `toStored`.
  return (output as { readonly value: Json }).value;
}

/** What an operation that has succeeded brought. */
export function outputOf({ row }: { readonly row: KernelRow }): unknown {
  const { result } = contextOf(row).history;
  // An output in the history is JSON: it is encoded when its attempt ends.
  return result === null ? undefined : decode(result.output as Json);
}
