/**
 * GoCardless. A second send under a key that made something is told so, with 409 and the id of what was made: that is no
 * failure, it is the record. It is told the same with other parameters, so that the record has to be compared. How long a
 * key is kept, and what a send does while the first is under way, was not found.
 */

import { contract, type ContractOptions } from '../../define/contract.ts';

const shared = {
  ...{ version: '1', docs: 'https://gocardless.com/blog/idempotency-keys', verified: '2026-11-30' },
  key: { in: 'header', name: 'Idempotency-Key' },
  keyRetention: 'unsaid',
  sameKey: {
    afterSuccess: 'told',
    whileRunning: 'unsaid',
    afterRefusal: 'unsaid',
    afterServerError: 'unsaid',
    otherParameters: 'first-reply',
  },
  lookup: 'none',
  replies: [{ status: 409, body: { 'error.errors.0.reason': 'idempotent_creation_conflict' }, proves: 'done-before' }],
  codeAt: 'error.errors.0.reason',
} as const satisfies Omit<ContractOptions, 'name'>;

/**
 * GoCardless, by endpoint. Read what 409 names (`error.errors[0].links.conflicting_resource_id`) before it counts:
 * `http.get` in the function that reads the reply.
 */
export const goCardless = {
  payments: contract({ ...shared, name: 'gocardless/payments' }),
  refunds: contract({ ...shared, name: 'gocardless/refunds' }),
  outboundPayments: contract({ ...shared, name: 'gocardless/outbound-payments' }),
};
