/**
 * Every row of the chart that the search meets, once, with what everybody asks of it. Two rows are one position when
 * the store would keep the same of both. The chart's row is the authority; what stands beside it is read from it.
 */

import type { History } from '../../../src/domain/attempt.ts';
import type { Json } from '../../../src/domain/json.ts';
import { isSettled, type OperationState } from '../../../src/domain/operation-state.ts';
import { isResubmission } from '../../../src/domain/policy.ts';
import type { KernelRow } from '../../../src/kernel/row.ts';
import { contextOf, fromStored, stateOf, waitOf } from '../../../src/orchestrator/row.ts';
import { toStored } from '../../../src/orchestrator/stored.ts';
import type { OperationRow } from '../../../src/ports/store.ts';

export interface Position {
  readonly id: number;
  /** Shared by positions from which the same can follow: those that differ in how often something was begun only. */
  readonly shape: number;
  readonly row: KernelRow;
  readonly state: OperationState;
  readonly reason: string | null;
  readonly history: History;
  readonly format: number;
  /** The same object for the same position, so that a stored row tells which one it is. */
  readonly snapshot: Json;
  readonly output: Json | null;
  /** Generations of what the chart waits for; null: it does not. */
  readonly due: number | null;
  readonly attempt: number | null;
  readonly lookup: number | null;
  readonly wait: { readonly id: string; readonly delayMs: number } | null;
  /** A next start would be a resubmission. */
  readonly resubmits: boolean;
}

export class Positions {
  readonly #known = new Map<string, Position>();
  readonly #bySnapshot = new WeakMap<object, Position>();
  readonly #read = new Set<Position>();
  readonly #shapes = new Map<string, number>();

  of(row: KernelRow): Position {
    const { format, snapshot, output } = toStored(row);
    const name = textOf([snapshot, output]);
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const { history, reason } = contextOf(row);
    const [due, attempt, lookup] = [row.timers['due'], row.children['attempt'], row.children['lookup']];
    const position: Position = {
      ...{ id: this.#known.size, shape: this.#shapeOf(row), row, state: stateOf(row) },
      ...{ reason, history, format, snapshot, output },
      ...{ due: due?.generation ?? null, attempt: attempt?.generation ?? null, lookup: lookup?.generation ?? null },
      wait: waitOf(row),
      resubmits: isResubmission(history),
    };
    this.#known.set(name, position);
    this.#bySnapshot.set(objectOf(snapshot), position);
    return position;
  }

  /**
   * Generations only tell a result that comes from one that comes too late, a pause counts once, when it begins, and
   * what is settled moves no more.
   */
  #shapeOf(row: KernelRow): number {
    const state = stateOf(row);
    const { policy: _, facts: __, history, ...context } = contextOf(row);
    const waitsFor = [Object.keys(row.children), Object.keys(row.timers)];
    // Of the chart's context all is JSON but an output, which is JSON already.
    const name = isSettled(state) ? state : textOf([state, waitsFor, context, history] as unknown as Json);
    const known = this.#shapes.get(name);
    if (known !== undefined) return known;
    this.#shapes.set(name, this.#shapes.size);
    return this.#shapes.size - 1;
  }

  /** What the store holds. */
  at(kept: { readonly snapshot: Json } | null): Position | null {
    return kept === null ? null : (this.#bySnapshot.get(objectOf(kept.snapshot)) ?? null);
  }

  /** What a worker makes of a claimed row. The first time, what it reads must be what was written. */
  read(claimed: OperationRow, kept: { readonly snapshot: Json } | null): Position {
    const position = this.at(kept);
    if (position === null) throw new Error('The store holds a snapshot that nobody wrote.');
    if (!this.#read.has(position) && this.of(fromStored(claimed)) !== position) {
      throw new Error(`Position ${position.id} is not read back as it was written.`);
    }
    this.#read.add(position);
    return position;
  }
}

/** The same for the same, as a store has it: it knows no order of members, and what was left out is put back anywhere. */
function textOf(json: Json): string {
  if (typeof json !== 'object' || json === null) return JSON.stringify(json);
  if (Array.isArray(json)) return `[${json.map(textOf).join()}]`;
  const members = Object.entries(json).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, value]) => `${name}:${textOf(value)}`).join()}}`;
}

function objectOf(snapshot: Json): object {
  if (typeof snapshot !== 'object' || snapshot === null) throw new Error('A snapshot is an object.');
  return snapshot;
}
