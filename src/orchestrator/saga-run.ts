/**
 * What `submit` of a saga returns: a view of the stored saga, as `Run` is one of an operation.
 */

import { decode } from '../domain/codec.ts';
import type { Duration } from '../domain/duration.ts';
import type { Json } from '../domain/json.ts';
import type { EscalationReason } from '../domain/operation-state.ts';
import { isSagaSettled, type SagaState } from '../domain/saga-state.ts';
import type { SagaResult } from '../define/saga-result.ts';
import { isLibraryEvent } from '../domain/library-event.ts';
import type { Kernel } from '../kernel/kernel.ts';
import type { OperationRef, SagaRecord, SagaRow, SagaVersion } from '../ports/store.ts';
import { existingSaga } from './command.ts';
import { awaited, followed, type HistoryRecord, historyRecord, type Submission, type Viewing } from './run.ts';
import { courseOf } from './saga-course.ts';
import type { RunnableSaga } from './runnable.ts';
import { refuseUnreadable } from './snapshot.ts';
import { nextChange, nextRest } from './watchers.ts';

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
   * person is asked. Always resolves, unless the store cannot be read, or (SCHEMA_OUTDATED) how it ended was written by a
   * later release than this process runs.
   */
  result(options: { readonly within: Duration }): Promise<SagaResult<Output, Cause>>;
  /**
   * The signals and events that it would take where it stands, for who shows buttons; a guard can still refuse one. Empty
   * for a saga that takes none or has ended. Rejects with DEFINITION_MISSING when its version is not listed here.
   */
  accepts(): Promise<readonly string[]>;
  /**
   * True as soon as its chart has come to a state, by its name (of the chart, or of a step: `'approval'`), or to one with a
   * tag, also when it has left it since; false when `within` is over, or it has ended without.
   */
  reached(what: string | { readonly tag: string }, options: { readonly within: Duration }): Promise<boolean>;
  /**
   * Calls `onStatus` with the state as stored now, and whenever it is seen to have changed, also by another process;
   * states between two looks may be left out. Ends by itself when it has settled or the orchestrator stops, and with the
   * function that it returns. What `onStatus` throws is logged and ends nothing.
   */
  follow(onStatus: (status: SagaState) => void): () => void;
  /** Everything that is recorded about it and its operations, as one story, oldest first. */
  history(): Promise<readonly StoryRecord[]>;
}

/** What a view of a saga works with. */
export interface SagaViewing extends Viewing {
  /** What runs sagas like this one. Throws DEFINITION_MISSING. */
  readonly sagaOf: (row: SagaVersion) => RunnableSaga;
}

export function sagaRunOf<Output, Cause>(
  ref: OperationRef,
  submission: Submission,
  viewing: SagaViewing,
): SagaRun<Output, Cause> {
  const { store, clock, watchers, sagaOf } = viewing;
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
    async accepts() {
      const row = await existingSaga(store, ref);
      return acceptedBy(row, sagaOf(row));
    },
    async reached(what, { within }) {
      const seen = await awaited(viewing, within, {
        next: (deadline) => nextChange(ref, clock, watchers, deadline),
        read: async () => {
          const row = await existingSaga(store, ref);
          const { kernel } = sagaOf(row);
          const values = (await store.sagaRecords(ref)).flatMap(visitedIn);
          return { hasBeen: values.some((value) => isIn(kernel, value, what)), isOver: isSagaSettled(row.state) };
        },
        moves: ({ hasBeen, isOver }) => !hasBeen && !isOver,
      });
      return seen.hasBeen;
    },
    follow: (onStatus) =>
      followed(viewing, {
        ...{ ref, onStatus, isOver: isSagaSettled },
        read: async () => (await existingSaga(store, ref)).state,
      }),
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

function acceptedBy(row: SagaRow, { kernel }: RunnableSaga): readonly string[] {
  // What a chart takes does not depend on what it remembers.
  const { chart, isFrozen } = courseOf(row);
  if (isFrozen || isSagaSettled(row.state)) return [];
  return kernel.awaits(chart).filter((type) => !isLibraryEvent(type));
}

/** The states of the chart that a record of the saga itself tells of. */
function visitedIn({ operation, body }: SagaRecord): readonly unknown[] {
  const states = (body as { readonly states?: readonly unknown[] }).states;
  return operation === null && Array.isArray(states) ? states : [];
}

function isIn(kernel: Kernel, value: unknown, what: string | { readonly tag: string }): boolean {
  return typeof what === 'string' ? kernel.isIn(value, what) : kernel.hasTag(value, what.tag);
}

function resultOf(row: SagaRow): SagaResult {
  const causeOf = () => courseOf(row).compensation?.cause ?? null;
  switch (row.state) {
    case 'succeeded':
      refuseUnreadable(row);
      return {
        status: 'succeeded',
        output: row.output === null ? undefined : decode((row.output as { value: Json }).value),
      };
    case 'escalated':
      // A turn writes a reason whenever it escalates, and only from the closed list.
      return { status: 'escalated', reason: row.reason as EscalationReason, cause: causeOf() };
    case 'compensating':
    case 'compensated':
      return { status: row.state, cause: causeOf() ?? { step: null, code: 'requested' } };
    default:
      return { status: row.state };
  }
}
