/**
 * How the operation of another ended for a step that has joined it, as far as that is not a success: refused as it was
 * refused, taken back by its owner, or given up there before it had any effect, which is no cancellation of the saga
 * that only joined it. Nothing leaves such an end, and its key is used up: who joins cannot take its place.
 */

import { type OperationFailed, operationFailed } from '../domain/operation-failed.ts';
import type { OperationRow } from '../ports/store.ts';
import { contextOf, fromStored } from './row.ts';

/** What the step is told; null: it has not failed, so far. */
export function failureOfJoined(row: OperationRow, step: string): OperationFailed | null {
  const { history, code, escalatedFrom } = contextOf(fromStored(row));
  const { state, action } = row;
  const told = (end: string, message?: string) =>
    operationFailed({ step, action, code: end, ...(message === undefined ? {} : { message }) });
  const isUndone = state === 'escalated' && escalatedFrom === 'compensation';
  if (state === 'compensating' || state === 'compensated' || isUndone) {
    return told('taken-back', `${named(row, step)} is taken back${byOwner(row)}. ${ANOTHER_KEY}`);
  }
  if (state !== 'failed') return null;
  if (!history.cancelled || code !== 'cancelled') return told(code ?? 'refused');
  return told('given-up', `${named(row, step)} was given up${byOwner(row)} before it had any effect. ${ANOTHER_KEY}`);
}

const ANOTHER_KEY = 'Its key means that one for ever: what is still wanted is submitted so that it makes another key.';

function named({ action, id }: OperationRow, step: string): string {
  return `Operation ${action} (${id}) that step ${step} has joined`;
}

function byOwner({ saga }: OperationRow): string {
  return saga === null ? '' : ` by saga ${saga}, which has it`;
}
