/**
 * What is stored of an operation and of a saga: the only place that writes snapshots, and in one format. Of an operation
 * it is the chart's row, without what the store knows better (`facts`) and without the output, which has a column of its
 * own. There it is wrapped as `{ "value": ... }`: a store keeps what it has when it is given null, and null may well be
 * the output. Of a saga it is its course, without what its operations know.
 */

import { encode } from '../domain/codec.ts';
import { FORMAT_WRITTEN } from '../domain/format.ts';
import type { Json } from '../domain/json.ts';
import { lean, type Model } from '../domain/lean.ts';
import type { KernelRow } from '../kernel/row.ts';
import type { Member } from './aggregate.ts';
import { operationModel, sagaModel } from './format-2.ts';
import { contextOf, type StoredContext } from './row.ts';
import type { RunnableSaga } from './runnable.ts';
import { type ChainContext, type Course, outputsIn } from './saga-course.ts';

export interface Snapshot {
  readonly format: number;
  readonly snapshot: Json;
}

/** What is stored of the chart's row, and the output beside it (null: none yet). */
export function toStored(row: KernelRow): Snapshot & { readonly output: Json | null } {
  const { facts: _, ...context } = contextOf(row);
  const { result } = context.history;
  const stored: StoredContext = {
    ...context,
    history: { ...context.history, result: result === null ? null : { ...result, output: null } },
  };
  return {
    ...written({ ...row, context: stored }, operationModel),
    // An output in the history is JSON already: it is encoded when its attempt ends.
    output: result === null ? null : { value: result.output as Json },
  };
}

/** What is stored of a saga's course, beside the operations that it has. */
export function toStoredCourse(course: Course, saga: RunnableSaga, members: ReadonlyMap<string, Member>): Snapshot {
  const { chart } = course;
  const kept = saga.isChain ? withoutKnown(chart.context as ChainContext, course, members) : chart.context;
  const children = Object.entries(chart.children).map(
    ([id, { src, generation }]) => [id, { src, generation }] as const,
  );
  return written({ ...course, chart: { ...chart, context: kept, children: Object.fromEntries(children) } }, sagaModel);
}

function written(value: object, model: Model): Snapshot {
  const snapshot = lean(encode(value, { onUnsupported: 'refuse', rootName: 'snapshot' }), model);
  return { format: FORMAT_WRITTEN, snapshot };
}

/** What a chart of the builder knows and its saga's rows do not: an output that a person stated. */
function withoutKnown({ outputs, items }: ChainContext, course: Course, members: ReadonlyMap<string, Member>) {
  const known = outputsIn(course, members);
  const own = Object.entries(outputs).filter(([step]) => !Object.hasOwn(known, step));
  return { outputs: Object.fromEntries(own), items };
}
