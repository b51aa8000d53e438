/**
 * Square. The key is in the body; a second send gets the reply of the first success, one with other parameters an error,
 * whose code is assumed to be that of Square's list. How long a key is kept is not published. What a send does while the
 * first is under way, after a refusal and after an error of the server was not found.
 */

import { contract, type ContractOptions } from '../../define/contract.ts';

const shared = {
  ...{ version: '1', verified: '2026-11-30' },
  docs: 'https://developer.squareup.com/docs/build-basics/common-api-patterns/idempotency',
  key: { in: 'body', name: 'idempotency_key', maxLength: 45 },
  keyRetention: 'unsaid',
  sameKey: {
    afterSuccess: 'first-reply',
    whileRunning: 'unsaid',
    afterRefusal: 'unsaid',
    afterServerError: 'unsaid',
    otherParameters: 'refused',
  },
  lookup: 'none',
  replies: [{ status: 400, body: { 'errors.0.code': 'IDEMPOTENCY_KEY_REUSED' }, proves: 'key-conflict' }],
  codeAt: 'errors.0.code',
} as const satisfies Omit<ContractOptions, 'name'>;

/** Square, by endpoint. Its records are told by webhooks; a look-up by key was not found. */
export const square = {
  payments: contract({ ...shared, name: 'square/payments' }),
  refunds: contract({ ...shared, name: 'square/refunds' }),
};
