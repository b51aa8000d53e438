/**
 * What people read to find what waits for them: operations in doubt, and sagas that are escalated, the longest first and
 * a page at a time. Neither tells parameters.
 */

import { inputInvalid } from '../domain/errors.ts';
import { isReadable } from '../domain/format.ts';
import type { EscalationReason, OperationState } from '../domain/operation-state.ts';
import { retriedBy } from '../domain/idempotency.ts';
import { assertKeyText, KEY_LENGTH_MAX, TENANT_LENGTH_MAX } from '../domain/text.ts';
import type { EscalatedSagaRow, OperationRef, OperationRow, Store } from '../ports/store.ts';
import { seenOf } from './handover.ts';
import { type CompensationCause, courseOf } from './saga-course.ts';
import type { StoredSaga } from './snapshot.ts';

/** An operation that waits for proof or for a person, or that was contradicted after it had settled. */
export interface Doubt {
  readonly id: string;
  readonly tenant: string;
  readonly action: string;
  readonly key: string;
  /** The key the provider knows it by. */
  readonly idempotencyKey: string;
  readonly state: OperationState;
  readonly reason: EscalationReason | null;
  /** When it came into this state. */
  readonly since: Date;
  /** When the library acts next by itself; null: it waits for a person. */
  readonly dueAt: Date | null;
  /**
   * Until when it may be sent again under its key while an attempt is unproven; null: the provider knows no keys, or
   * nothing was sent yet.
   */
  readonly windowEndsAt: Date | null;
  readonly contradictedAt: Date | null;
  /** The operation that had no effect, in the place of which it is tried; null: it is the first of its key. */
  readonly retryOf: string | null;
  /** Names the history that is shown here, and no other, also after a fail-over: give it back as `seen`, as it is. */
  readonly seen: string;
}

/** A saga that waits for a person, because of one of its operations or by itself. */
export interface EscalatedSaga {
  readonly id: string;
  readonly tenant: string;
  /** The name of its definition, and which version of it. */
  readonly saga: string;
  readonly version: number;
  readonly key: string;
  readonly reason: EscalationReason;
  /** When it came into this state. */
  readonly since: Date;
  /** When something of it is due by itself: another try, a look at who has joined, its deadline; null: nothing is. */
  readonly dueAt: Date | null;
  /**
   * Where its chart stands, such as `'email failed'`: a name, or an object of those within it. Null: a later release than
   * this process runs wrote it, and what follows is not known here either.
   */
  readonly states: string | object | null;
  /** Why it is being taken back; null: it is not. */
  readonly cause: CompensationCause | null;
  /** What its definition threw, when that is the reason. */
  readonly fault: string | null;
  /** The sagas that have joined what is to be taken back, when that is the reason. */
  readonly heldBy: readonly string[];
}

/** What a person asks a list for; `tenant` null: of every tenant. */
export interface Asked<Place> {
  readonly tenant: string | null;
  readonly limit?: number;
  /** The last one of the page before. */
  readonly after?: Place | null;
}

/** Pages hold `PAGE` unless told otherwise, and never more than `PAGE_MAX`. */
const PAGE = 100;
const PAGE_MAX = 1_000;

export async function doubtsOf(store: Store, asked: Asked<Pick<Doubt, 'tenant' | 'id'>>): Promise<readonly Doubt[]> {
  const rows = await store.doubts(pageOf(asked));
  return rows.map(doubtOf);
}

export async function escalatedSagasOf(
  store: Store,
  asked: Asked<Pick<EscalatedSaga, 'tenant' | 'id' | 'since'>>,
): Promise<readonly EscalatedSaga[]> {
  const { after, ...page } = pageOf(asked);
  if (after !== null && !isTime(after.since)) {
    throw inputInvalid('since of after is no time. Give back the last saga that the list showed, as it is.', {
      name: 'after',
    });
  }
  const place = after === null ? null : { ...after, since: after.since.getTime() };
  const rows = await store.escalatedSagas({ ...page, after: place });
  return rows.map(escalatedSagaOf);
}

/** Rejects with INPUT_INVALID what no list can be asked for. */
export function pageOf<Place extends OperationRef>({ tenant, limit = PAGE, after = null }: Asked<Place>) {
  if (tenant !== null) assertKeyText('tenant', tenant, TENANT_LENGTH_MAX);
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > PAGE_MAX) {
    throw inputInvalid(`limit is not a whole number from 1 to ${PAGE_MAX}. Ask for the rest with after.`, {
      name: 'limit',
    });
  }
  if (after !== null) {
    assertKeyText('tenant of after', after.tenant, TENANT_LENGTH_MAX);
    assertKeyText('id of after', after.id, KEY_LENGTH_MAX);
  }
  return { tenant, limit, after };
}

function isTime(given: unknown): boolean {
  return given instanceof Date && !Number.isNaN(given.getTime());
}

function doubtOf(row: OperationRow): Doubt {
  return {
    id: row.id,
    tenant: row.tenant,
    action: row.action,
    key: row.key,
    idempotencyKey: row.providerKey,
    state: row.state,
    // The chart writes reasons from the closed list only.
    reason: row.reason as EscalationReason | null,
    since: new Date(row.since),
    dueAt: timeOf(row.dueAt),
    windowEndsAt: timeOf(row.windowEndsAt),
    contradictedAt: timeOf(row.contradictedAt),
    retryOf: retriedBy(row.key),
    seen: seenOf(row),
  };
}

function escalatedSagaOf(row: EscalatedSagaRow): EscalatedSaga {
  const course = isReadable(row) ? courseOf(row) : null;
  const { id, tenant, name: saga, version, key } = row;
  return {
    ...{ id, tenant, saga, version, key },
    // A turn writes a reason whenever it escalates, and only from the closed list.
    reason: row.reason as EscalationReason,
    since: new Date(row.since),
    dueAt: timeOf(row.dueAt),
    states: chartValueOf(row),
    cause: course?.compensation?.cause ?? null,
    fault: course?.fault?.message ?? null,
    heldBy: course?.heldBy ?? [],
  };
}

/** Where the chart of a stored saga stands; null: it is in a format that this version does not read. */
export function chartValueOf(row: StoredSaga): string | object | null {
  // The value of a chart is the name of a state, or an object of them.
  return isReadable(row) ? (courseOf(row).chart.value as string | object) : null;
}

function timeOf(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms);
}
