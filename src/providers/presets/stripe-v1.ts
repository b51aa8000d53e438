/**
 * Stripe, API v1. It saves the first reply under a key from the moment on in which an endpoint begins to execute, errors
 * and 500 included, and compares parameters. What comes before that (limits, missing credentials, invalid parameters, a
 * key that is in use) is not saved. A refusal of a card is such a saved reply, so that it holds for every send. The codes
 * of conflicts are those of Stripe's list of error codes.
 */

import { contract, type ContractOptions } from '../../define/contract.ts';

const shared = {
  ...{ version: '1', docs: 'https://docs.stripe.com/api/idempotent_requests', verified: '2026-11-30' },
  key: { in: 'header', name: 'Idempotency-Key', maxLength: 255 },
  // Keys may be removed once they are that old; one that is used again is a new request.
  keyRetention: '24h',
  sameKey: {
    afterSuccess: 'first-reply',
    whileRunning: 'refused',
    afterRefusal: 'first-reply',
    afterServerError: 'first-reply',
    otherParameters: 'refused',
  },
  replies: [
    { status: 409, body: { 'error.code': 'idempotency_key_in_use' }, proves: 'running' },
    { status: '4xx', body: { 'error.type': 'idempotency_error' }, proves: 'key-conflict' },
    { status: 401, proves: 'locked-out' },
    { status: 402, proves: 'refused', speaksFor: 'key' },
  ],
  codeAt: 'error.code',
  replayHeader: 'Idempotent-Replayed',
} as const satisfies Omit<ContractOptions, 'name' | 'lookup'>;

// Its search shows what was written within a minute, and within an hour while Stripe is in trouble. Lists and single
// records show it at once; the minute is for us.
const bySearch = { by: 'reference', visibleWithin: '1h' } as const;

/**
 * Stripe v1, by endpoint. Look up payment intents and charges by a reference in their `metadata` through the search;
 * captures in their payment intent; refunds in the list of their payment intent.
 */
export const stripeV1 = {
  paymentIntents: contract({ ...shared, name: 'stripe-v1/payment-intents', lookup: bySearch }),
  charges: contract({ ...shared, name: 'stripe-v1/charges', lookup: bySearch }),
  captures: contract({ ...shared, name: 'stripe-v1/captures', lookup: { by: 'reference', visibleWithin: '1m' } }),
  refunds: contract({ ...shared, name: 'stripe-v1/refunds', lookup: { by: 'list', visibleWithin: '1m' } }),
};
