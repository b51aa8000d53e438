/** Turns as the tests of the server give them to a store: a payment of an invented shop, with one record each. */

import type { Fence, OperationRef, Turn } from 'sagacity/testing';
import { birth as born, fresh, moving } from '../../src/testing/store-turns.ts';

export { fresh };

export const ACTION = 'payment.authorise';

/** The birth of an operation with an identity of its own, unless `key` says which. */
export function birth(tenant: string, { key, ...turn }: Partial<Turn> & { key?: string } = {}): Turn {
  return born(tenant, turn, { action: ACTION, ...(key === undefined ? {} : { key }) });
}

/** The next turn of an operation that is as `was` says. */
export function move(ref: OperationRef, was: Fence, turn: Partial<Turn> = {}): Turn {
  return { ...moving(ref, was, turn), was };
}
