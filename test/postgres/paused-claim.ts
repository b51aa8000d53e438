/**
 * A claim that pauses, for the test, between what it has seen and its locks on rows: it waits for a lock that `hold`
 * holds until its transaction ends.
 */

import type { OperationRef } from 'sagacity/testing';
import { type Holder, replacing } from './sessions.ts';

const PAUSE = 4_711;

/** Edits the statement of a claim. */
export const pausing = replacing(
  '::text::jsonb) as what',
  `::text::jsonb) as what from pg_advisory_xact_lock_shared(${PAUSE})`,
);

export async function hold(holder: Holder): Promise<void> {
  await holder.sql`select pg_advisory_xact_lock(${PAUSE})`;
}

/** Of all that was claimed, what is of one test: each has a tenant of its own. */
export const ofTenant =
  ({ tenant }: OperationRef) =>
  (row: OperationRef) =>
    row.tenant === tenant;
