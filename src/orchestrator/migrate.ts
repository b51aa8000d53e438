/**
 * Moving everything that is under way in one version on to a later one, at a person's word and a page at a time: what a
 * migration makes of each stored saga is tried and told first, and only a turn of its owner moves it.
 */

import { definitionInvalid } from '../domain/errors.ts';
import type { Migration } from '../define/migration.ts';
import type { Operation } from '../define/operation.ts';
import type { Kernel } from '../kernel/kernel.ts';
import type { Clock } from '../ports/clock.ts';
import type { OperationRef, SagaRow, Store } from '../ports/store.ts';
import { chartValueOf, type Asked, pageOf } from './lists.ts';
import type { Driver } from './driver.ts';
import type { Moving } from './moving-on.ts';
import { type Registry, type RunnableSaga, sagaLabel } from './runnable.ts';
import { movingOnOf, sagaNow } from './saga.ts';

/** A saga that cannot be moved on. It goes on in its version, as it was. */
export interface NotMoved {
  readonly id: string;
  readonly tenant: string;
  /** Where its chart stands: a name, or an object of those within it; null: a later release wrote it. */
  readonly state: string | object | null;
  readonly why: string;
}

/** What a migration makes of a page of the sagas that are under way in the version that it leads from. */
export interface MigrationReport {
  /** How many it moves on. Without `dryRun` each of them has been told to, and does so with its next turn. */
  readonly moves: number;
  /** How many its `move` leaves where they are. */
  readonly left: number;
  readonly refused: readonly NotMoved[];
  /** The last saga of the page, to go on after; null: that was the last page. */
  readonly after: Pick<NotMoved, 'tenant' | 'id'> | null;
}

interface Migrating {
  readonly store: Store;
  readonly clock: Clock;
  readonly driver: Driver;
  readonly registry: Registry;
  /** Of operations. */
  readonly kernel: Kernel;
}

/** How long the store may be in doubt about a word before the call says so. */
const PATIENCE_MS = 10_000;

export async function migrateSagas(
  { store, clock, driver, registry, kernel }: Migrating,
  migration: Migration,
  { dryRun = false, ...asked }: Asked<OperationRef> & { readonly dryRun?: boolean },
): Promise<MigrationReport> {
  const saga = leavingIn(registry, migration);
  const page = pageOf(asked);
  const rows = await store.sagasInFlight({ ...page, name: saga.name, version: saga.version });
  const found = rows.map((row) => ({ row, moving: movingOfRow(row, saga, registry.operations, kernel) }));
  const moves = found.filter(({ moving }) => 'moved' in moving);
  if (!dryRun) {
    const said = { kind: 'look', at: `migration to version ${migration.to.version}` } as const;
    const giveUpAt = clock.monotonic() + PATIENCE_MS;
    await Promise.all(
      moves.map(({ row: { tenant, id } }) => driver.handOver({ tenant, id }, said, driver.newHandoverId(), giveUpAt)),
    );
  }
  const last = rows.length < page.limit ? undefined : rows.at(-1);
  return {
    moves: moves.length,
    left: found.filter(({ moving }) => 'left' in moving).length,
    refused: found.flatMap(({ row, moving }) => ('why' in moving ? [notMoved(row, moving.why)] : [])),
    after: last === undefined ? null : { tenant: last.tenant, id: last.id },
  };
}

/** The version that it leads from, if the migration is registered here. */
function leavingIn({ sagas }: Registry, { from, to, move }: Migration): RunnableSaga {
  const saga = sagas.get(sagaLabel(from));
  if (saga?.definition === from && saga.onward?.move === move && saga.onward.to.definition === to) return saga;
  throw definitionInvalid(
    `The migration of saga ${from.name} from version ${from.version} to ${to.version} is not registered here.`,
    'Add it, the same object, to createOrchestrator({ migrations }): who is told to move has to know how.',
    { saga: from.name, from: from.version, to: to.version },
  );
}

function movingOfRow(
  row: SagaRow,
  saga: RunnableSaga,
  operations: ReadonlyMap<string, Operation>,
  kernel: Kernel,
): Moving {
  try {
    return movingOnOf(sagaNow(row, saga, operations, kernel)) ?? { left: true };
  } catch {
    return { why: 'this process cannot read it' };
  }
}

function notMoved(row: SagaRow, why: string): NotMoved {
  const { id, tenant } = row;
  return { id, tenant, state: chartValueOf(row), why };
}
