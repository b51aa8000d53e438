/** stub */
import type { Saga } from './saga-flow.ts';
export function isSaga(value: unknown): value is Saga {
  return typeof value === 'object' && value !== null && 'type' in value && value.type === 'saga';
}
