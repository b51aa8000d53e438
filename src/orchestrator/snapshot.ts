/**
 * The only place that reads a stored snapshot, in whatever format it is. What is in one that this version does not read
 * is refused before anybody looks into it: it is left, as it is, to a process that does.
 */

import { decode } from '../domain/codec.ts';
import { schemaOutdated, type SagacityError } from '../domain/errors.ts';
import { FORMATS_READ, isReadable } from '../domain/format.ts';
import { whole } from '../domain/lean.ts';
import type { OperationRow, SagaRow } from '../ports/store.ts';
import { operationModel, sagaModel } from './format-2.ts';

export type StoredOperation = Pick<OperationRow, 'tenant' | 'id' | 'action' | 'format' | 'snapshot'>;
export type StoredSaga = Pick<SagaRow, 'tenant' | 'id' | 'name' | 'format' | 'snapshot'>;

/** What was stored. Throws SCHEMA_OUTDATED. */
export function snapshotOf(row: StoredOperation | StoredSaga): unknown {
  refuseUnreadable(row);
  const { format, snapshot } = row;
  if (format === 1) return decode(snapshot);
  return decode(whole(snapshot, 'action' in row ? operationModel : sagaModel));
}

/** Throws SCHEMA_OUTDATED for what another version has written in a format that this one does not read. */
export function refuseUnreadable(row: StoredOperation | StoredSaga): void {
  if (!isReadable(row)) throw unreadable(row);
}

function unreadable(row: StoredOperation | StoredSaga): SagacityError {
  const { tenant, id, format } = row;
  const isOperation = 'action' in row;
  const what = isOperation ? `Operation ${id} of ${row.action}` : `Saga ${id} of ${row.name}`;
  return schemaOutdated(
    `${what} (tenant ${tenant}) is stored in format ${format}, and this process reads ${FORMATS_READ.join(' and ')}.`,
    'Nothing was changed, and whoever reads it goes on with it. Update the library in this process to the release that ' +
      'the others run.',
    { tenant, id, ...(isOperation ? { action: row.action } : { saga: row.name }), format, reads: FORMATS_READ },
  );
}
