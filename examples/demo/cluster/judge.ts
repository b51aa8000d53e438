/**
 * Decides whether all orders ended as their script says. The provider, asked in its own process, is the authority on what
 * was done; the database on how each saga ended.
 */

import type { ProviderRecord } from 'sagacity/testing';
import { type Ending, endings, recordsOf, type Scripted } from './script.ts';

/** What was found when everything had come to its end. */
export interface Found {
  /** The state of each order's saga. */
  readonly states: ReadonlyMap<string, string>;
  readonly records: readonly Pick<ProviderRecord, 'orderId' | 'kind'>[];
}

export type Counts = Readonly<Record<Ending, number>>;

export interface Judgement {
  readonly ended: Counts;
  readonly expected: Counts;
  /** Orders of which the provider has other records than it should. */
  readonly wrongCounts: number;
  /** All that is wrong, in words. */
  readonly complaints: readonly string[];
}

export function judge(scripts: readonly Scripted[], { states, records }: Found): Judgement {
  const held = new Map<string, Map<string, number>>();
  for (const { orderId, kind } of records) {
    const kinds = held.get(orderId ?? '') ?? new Map<string, number>();
    held.set(orderId ?? '', kinds.set(kind, (kinds.get(kind) ?? 0) + 1));
  }
  const wrongEndings: string[] = [];
  const wrongRecords: string[] = [];
  for (const { order, ending } of scripts) {
    const { orderId } = order;
    const state = states.get(orderId) ?? 'not there';
    if (state !== ending) wrongEndings.push(`${orderId} is ${state} and has to be ${ending}`);
    const kinds = held.get(orderId) ?? new Map<string, number>();
    held.delete(orderId);
    const wrong = wrongKinds(ending, kinds);
    if (wrong.length > 0) wrongRecords.push(`${orderId} (${ending}): the provider has ${wrong.join(', ')}`);
  }
  for (const orderId of held.keys())
    wrongRecords.push(`the provider has records of "${orderId}", which nobody ordered`);
  return {
    ended: countsOf([...states.values()]),
    expected: countsOf(scripts.map(({ ending }) => ending)),
    wrongCounts: wrongRecords.length,
    complaints: [...wrongRecords, ...wrongEndings],
  };
}

function wrongKinds(ending: Ending, kinds: ReadonlyMap<string, number>): string[] {
  const due = recordsOf[ending];
  return [...new Set([...Object.keys(due), ...kinds.keys()])].flatMap((kind) => {
    const { from, to } = due[kind] ?? { from: 0, to: 0 };
    const count = kinds.get(kind) ?? 0;
    return count >= from && count <= to ? [] : [`${count} of ${kind}`];
  });
}

function countsOf(states: readonly string[]): Counts {
  const [succeeded = 0, compensated = 0, escalated = 0] = endings.map(
    (ending) => states.filter((state) => state === ending).length,
  );
  return { succeeded, compensated, escalated };
}
