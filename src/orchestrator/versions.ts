/**
 * Several versions of a saga in one process: what is new begins in the newest of them, what is under way ends in its own,
 * and one question tells how many are left of each, so that a version which nobody needs any more can be taken away.
 */

import { definitionInvalid } from '../domain/errors.ts';
import { assertKeyText, TENANT_LENGTH_MAX } from '../domain/text.ts';
import type { SagaVersion, SagaVersionRow, Store } from '../ports/store.ts';
import { newestOf, type Registry, sagaLabel } from './runnable.ts';

/** A version of a saga: how many sagas run in it, and whether this process can run it. */
export interface VersionInFlight {
  /** The name of its definition, and which version of it. */
  readonly saga: string;
  readonly version: number;
  /** How many are not settled. */
  readonly inFlight: number;
  /** How many of those are escalated. */
  readonly escalated: number;
  /** This process has it among its definitions, or moves it on: otherwise those that run in it wait for one that does. */
  readonly isRegistered: boolean;
}

/** Refuses with DEFINITION_INVALID to begin in a version that is there for what is under way. */
export function refuseOlder({ name, version }: SagaVersion, { sagas }: Pick<Registry, 'sagas'>): void {
  const newest = newestOf(sagas, name)?.version;
  if (newest === undefined || version === newest) return;
  throw definitionInvalid(
    `Saga ${name} is submitted in version ${version}, and its newest version here is ${newest}.`,
    `Submit version ${newest}: version ${version} is registered for what began in it and is still under way.`,
    { saga: name, version, newest },
  );
}

/** Those in which something is in flight, and those that are registered here, by name and version. */
export async function versionsOf(
  store: Pick<Store, 'sagaVersions'>,
  { sagas }: Pick<Registry, 'sagas'>,
  tenant: string | null,
): Promise<readonly VersionInFlight[]> {
  if (tenant !== null) assertKeyText('tenant', tenant, TENANT_LENGTH_MAX);
  const rows = new Map<string, SagaVersionRow>();
  for (const { name, version } of sagas.values())
    rows.set(sagaLabel({ name, version }), { name, version, inFlight: 0, escalated: 0 });
  for (const row of await store.sagaVersions({ tenant })) rows.set(sagaLabel(row), row);
  return [...rows.values()].toSorted(byName).map(({ name, version, inFlight, escalated }) => ({
    ...{ saga: name, version, inFlight, escalated },
    isRegistered: sagas.has(sagaLabel({ name, version })),
  }));
}

function byName(a: SagaVersion, b: SagaVersion): number {
  if (a.name === b.name) return a.version - b.version;
  return a.name < b.name ? -1 : 1;
}
