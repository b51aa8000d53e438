/**
 * When somebody has to approve an order before its goods leave, and how that is said: as the signal `approved`, which may
 * come before the order has got that far.
 */

import { signal, typed } from 'sagacity';
import type { Order } from './operations.ts';

export const approved = signal('approved', { payload: typed<{ readonly by: string }>() });

const approvedFrom = 5_000;

export function needsApproval({ total }: Pick<Order, 'total'>): boolean {
  return total >= approvedFrom;
}
