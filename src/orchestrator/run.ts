/**
 * What `submit` returns. A run is a view of the stored operation: it holds nothing of its own, survives nothing, and
 * any process can make another one. Waiting is prompt where this process writes the turns, and polls otherwise.
 */

import { decode } from '../domain/codec.ts';
import { type Duration, milliseconds } from '../domain/duration.ts';
import { operationNotFound } from '../domain/errors.ts';
import type { Json } from '../domain/json.ts';
import { type EscalationReason, isSettled, type OperationState } from '../domain/operation-state.ts';
import { assertKeyText, KEY_LENGTH_MAX, TENANT_LENGTH_MAX } from '../domain/text.ts';
import type { Result } from '../define/result.ts';
import type { Clock } from '../ports/clock.ts';
import type { Logger } from '../ports/logger.ts';
import type { OperationRef, OperationRow, RecordKind, Store, StoredRecord } from '../ports/store.ts';
import { contextOf, fromStored, storedOutput } from './row.ts';
import { type NextChange, nextChange, type Watchers } from './watchers.ts';

/** One fact of a history, as people read it. */
export interface HistoryRecord {
  /** The history number: how many turns the operation had made when this was written. */
  readonly revision: number;
  readonly at: Date;
  readonly kind: RecordKind;
  /** Which attempt it speaks of, if it speaks of one. */
  readonly attempt: number | null;
  /** The states the operation passed through in the turn that wrote this, in order; on the turn's last record. */
  readonly states?: readonly OperationState[];
  /** What was learnt: an outcome, a finding, a decision and who made it. Outputs are the values they were. */
  readonly facts: Readonly<Record<string, unknown>>;
}

/** How a submission met its operation. */
export type Submission = 'new' | 'joined' | 'replayed';

/** One operation, as its submitter sees it. */
export interface Run<Output = unknown, Code extends string = string> {
  /** Names the operation within its tenant; a pure function of tenant, action and key. */
  readonly id: string;
  readonly tenant: string;
  /** `new`: this submission created it. `joined`: it was there and not settled. `replayed`: it had settled already. */
  readonly submission: Submission;
  /** The state as stored now. */
  status(): Promise<OperationState>;
  /**
   * The ending, as soon as there is one, or what it is doing when `within` is over or the orchestrator stops. Always
   * resolves, unless the store cannot be read, or (SCHEMA_OUTDATED) how it ended was written by a later release than this
   * process runs.
   */
  result(options: { readonly within: Duration }): Promise<Result<Output, Code>>;
  /**
   * Calls `onStatus` with the state as stored now, and whenever it is seen to have changed, also by another process;
   * states between two looks may be left out. Ends by itself when it has settled or the orchestrator stops, and with the
   * function that it returns. What `onStatus` throws is logged and ends nothing.
   *
   * @example
   * const end = run.follow((status) => page.show(status));
   */
  follow(onStatus: (status: OperationState) => void): () => void;
  /** Everything that is recorded about it, oldest first. */
  history(): Promise<readonly HistoryRecord[]>;
}

/** What a view of something stored works with. */
export interface Viewing {
  readonly store: Store;
  readonly clock: Clock;
  readonly watchers: Watchers;
  readonly logger: Logger;
}

export function runOf<Output, Code extends string>(
  ref: OperationRef,
  submission: Submission,
  around: Viewing,
): Run<Output, Code> {
  const { store, clock, watchers } = around;
  return {
    id: ref.id,
    tenant: ref.tenant,
    submission,
    status: async () => (await existing(store, ref)).state,
    async result({ within }) {
      return await awaited(around, within, {
        next: (deadline) => nextChange(ref, clock, watchers, deadline),
        // What was stored under this action was made by the definition whose types these are.
        read: async () => resultOf(await existing(store, ref)) as Result<Output, Code>,
        moves: ({ status }) => status === 'in-progress' || status === 'compensating',
      });
    },
    follow: (onStatus) =>
      followed(around, {
        ...{ ref, onStatus, isOver: isSettled },
        read: async () => (await existing(store, ref)).state,
      }),
    async history() {
      await existing(store, ref);
      return (await store.records(ref)).map(historyRecord);
    },
  };
}

/** What is read as soon as it does not move by itself any more, or as it is when the time is over. */
export async function awaited<Answer>(
  { clock, watchers }: Pick<Viewing, 'clock' | 'watchers'>,
  within: Duration,
  {
    next,
    read,
    moves,
  }: {
    /** What may change the answer, waited for until the deadline by the monotonic clock. */
    readonly next: (deadline: number) => NextChange;
    readonly read: () => Promise<Answer>;
    readonly moves: (answer: Answer) => boolean;
  },
): Promise<Answer> {
  const deadline = clock.monotonic() + milliseconds(within, 'within');
  for (;;) {
    const changed = next(deadline);
    try {
      const answer = await read();
      if (!moves(answer) || watchers.isClosed || clock.monotonic() >= deadline) return answer;
      await changed.promise;
      // The orchestrator has stopped, and its store with it: this is the last that it knows.
      if (watchers.isClosed) return answer;
    } finally {
      changed.forget();
    }
  }
}

/** Reads what is to be followed now and after each change that is heard of, and tells what is new of it. */
export function followed<Status>(
  { clock, watchers, logger }: Viewing,
  {
    ref,
    read,
    isOver,
    onStatus,
  }: {
    readonly ref: OperationRef;
    readonly read: () => Promise<Status>;
    readonly isOver: (status: Status) => boolean;
    readonly onStatus: (status: Status) => void;
  },
): () => void {
  let hasEnded = false;
  let change: NextChange | null = null;
  let last: Status | null = null;

  function tell(status: Status): void {
    if (hasEnded || status === last) return;
    last = status;
    try {
      onStatus(status);
    } catch (error) {
      logger.error({ operation: ref.id, error }, 'who follows a run threw');
    }
  }

  async function look(): Promise<void> {
    while (!hasEnded && !watchers.isClosed) {
      const changed = nextChange(ref, clock, watchers, Number.POSITIVE_INFINITY);
      change = changed;
      try {
        const status = await read();
        tell(status);
        if (isOver(status)) return;
        await changed.promise;
      } catch (error) {
        // It is read again at the next change, or after a poll's pause.
        logger.debug({ operation: ref.id, error }, 'a run that is followed could not be read');
        await changed.promise;
      } finally {
        changed.forget();
      }
    }
  }

  void look();
  return () => {
    hasEnded = true;
    change?.forget();
  };
}

/** A stored record as people read it. */
export function historyRecord({ revision, at, kind, attempt, body }: StoredRecord): HistoryRecord {
  // Record bodies are objects: the orchestrator writes nothing else.
  const { states, ...facts } = decode(body) as Facts & { states?: readonly OperationState[] };
  return {
    ...{ revision, at: new Date(at), kind, attempt, facts: readable(facts) },
    ...(states === undefined ? {} : { states }),
  };
}

/** The stored operation. Rejects with INPUT_INVALID for what can name none, and with OPERATION_NOT_FOUND. */
export async function existing(store: Store, ref: OperationRef): Promise<OperationRow> {
  assertKeyText('tenant', ref.tenant, TENANT_LENGTH_MAX);
  assertKeyText('operation id', ref.id, KEY_LENGTH_MAX);
  const row = await store.read(ref);
  if (row === null) throw operationNotFound(ref.tenant, ref.id);
  return row;
}

type Facts = Readonly<Record<string, unknown>>;

/**
 * The facts of a record with the outputs in them as values. An output is encoded when its attempt ends and once more
 * with the record it stands in: at the end of an attempt as `output`, in what a look-up found as `records[].output`,
 * in evidence and in a person's decision as `outcome.output`.
 */
function readable(facts: Facts): Facts {
  const { outcome, records } = facts;
  return {
    ...withOutput(facts),
    ...(isFacts(outcome) ? { outcome: withOutput(outcome) } : {}),
    ...(Array.isArray(records)
      ? { records: records.map((record: unknown) => (isFacts(record) ? withOutput(record) : record)) }
      : {}),
  };
}

function withOutput(facts: Facts): Facts {
  if (!('output' in facts)) return facts;
  try {
    // Encoded once by whoever wrote the record.
    return { ...facts, output: decode(facts['output'] as Json) };
  } catch {
    // A record cuts what is nested too deep, at times inside a tag. The history is told nevertheless, as it is stored.
    return facts;
  }
}

function isFacts(value: unknown): value is Facts {
  return typeof value === 'object' && value !== null;
}

function resultOf(row: OperationRow): Result {
  switch (row.state) {
    case 'succeeded': {
      const reference = contextOf(fromStored(row)).history.result?.reference ?? null;
      return { status: 'succeeded', output: decode(storedOutput(row)), ...(reference === null ? {} : { reference }) };
    }
    case 'failed':
      return { status: 'failed', code: contextOf(fromStored(row)).code ?? 'attempts-exhausted' };
    case 'escalated':
      // The chart writes a reason whenever it escalates, and only from the closed list.
      return { status: 'escalated', reason: row.reason as EscalationReason };
    case 'compensating':
    case 'compensated':
      return { status: row.state };
    default:
      return { status: 'in-progress', state: row.state };
  }
}
