/** Whether a result tells of an end, or only where something stands. */

import type { Result, SagaResult } from 'sagacity';

export function isOver({ status }: Pick<Result<unknown> | SagaResult<unknown>, 'status'>): boolean {
  return !['in-progress', 'waiting', 'compensating'].includes(status);
}
