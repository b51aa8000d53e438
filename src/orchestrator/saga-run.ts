/**
 * What `submit` of a saga returns: a view of the stored saga, as `Run` is one of an operation.
 */

import { decode } from '../domain/codec.ts';
import type { Duration } from '../domain/duration.ts';
import type { Json } from '../domain/json.ts';
import type { EscalationReason } from '../domain/operation-state.ts';
import type { SagaState } from '../domain/saga-state.ts';
import type { SagaResult } from '../define/saga-result.ts';
import type { OperationRef, SagaRow } from '../ports/store.ts';
import { existingSaga } from './command.ts';
import { awaited, type HistoryRecord, historyRecord, type Submission, type Viewing } from './run.ts';
import type { Course } from './saga-course.ts';
import { nextRest } from './watchers.ts';

/** One fact of a saga's story: its own, or of one of its operations. */
export interface StoryRecord extends Omit<HistoryRecord, 'states'> {
  /** As of an operation's history; of the saga itself the states of its chart: a name, or an object of those within it. */
  readonly states?: readonly (string | object)[];
  /** The operation that it is about, and its action; null: the saga itself. */
  readonly operation: { readonly id: string; readonly action: string } | null;
}

/** One saga, as its submitter sees it. */
export interface SagaRun<Output = unknown, Cause = unknown> {
  /** Names the saga within its tenant; a pure function of tenant, name and key. */
  readonly id: string;
  readonly tenant: string;
  /** `new`: this submission created it. `joined`: it was there and not settled. `replayed`: it had settled already. */
  readonly submission: Submission;
  /** The state as stored now. */
  status(): Promise<SagaState>;
  /**
   * The ending, as soon as there is one, or where it stands when `within` is over or the orchestrator stops, also when a
   * person is asked. Always resolves, unless the store cannot be read.
   */
  result(options: { readonly within: Duration }): Promise<SagaResult<Output, Cause>>;
  /** Everything that is recorded about it and its operations, as one story, oldest first. */
  history(): Promise<readonly StoryRecord[]>;
}

export function sagaRunOf<Output, Cause>(
  ref: OperationRef,
  submission: Submission,
  viewing: Viewing,
): SagaRun<Output, Cause> {
  const { store, clock, watchers } = viewing;
  return {
    id: ref.id,
    tenant: ref.tenant,
    submission,
    status: async () => (await existingSaga(store, ref)).state,
    async result({ within }) {
      return await awaited(viewing, within, {
        next: (deadline) => nextRest(ref, clock, watchers, deadline),
        // What was stored under this name was made by the definition whose types these are.
        read: async () => resultOf(await existingSaga(store, ref)) as SagaResult<Output, Cause>,
        moves: ({ status }) => ['in-progress', 'waiting', 'compensating'].includes(status),
      });
    },
    async history() {
      const { operations } = await existingSaga(store, ref);
      const actions = new Map(operations.map(({ id, action }) => [id, action]));
      return (await store.sagaRecords(ref)).map((record) => ({
        ...historyRecord(record),
        operation:
          record.operation === null ? null : { id: record.operation, action: actions.get(record.operation) ?? '' },
      }));
    },
  };
}

function resultOf(row: SagaRow): SagaResult {
  // Written by `toStoredCourse`.
  const { compensation } = decode(row.snapshot) as Pick<Course, 'compensation'>;
  const cause = compensation?.cause ?? null;
  switch (row.state) {
    case 'succeeded':
      return {
        status: 'succeeded',
        output: row.output === null ? undefined : decode((row.output as { value: Json }).value),
      };
    case 'escalated':
      // A turn writes a reason whenever it escalates, and only from the closed list.
      return { status: 'escalated', reason: row.reason as EscalationReason, cause };
    case 'compensating':
    case 'compensated':
      return { status: row.state, cause: cause ?? { step: null, code: 'requested' } };
    default:
      return { status: row.state };
  }
}
