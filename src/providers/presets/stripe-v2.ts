/**
 * Stripe, API v2. A send under a known key does not repeat what succeeded, and drives on what failed or was half done.
 * What it says of a key that is in use was not found; that it refuses other parameters is known, and the form in which it
 * does is assumed to be that of v1.
 */

import { contract } from '../../define/contract.ts';

/** Stripe v2, by endpoint. There is no look-up that its documentation promises; the same key is the way to know. */
export const stripeV2 = {
  outboundPayments: contract({
    ...{ name: 'stripe-v2/outbound-payments', version: '1', verified: '2026-11-30' },
    docs: 'https://docs.stripe.com/api-v2-overview#idempotency',
    key: { in: 'header', name: 'Idempotency-Key', maxLength: 255 },
    keyRetention: '30d',
    sameKey: {
      afterSuccess: 'current-state',
      whileRunning: 'unsaid',
      afterRefusal: 're-executes',
      afterServerError: 'resumes',
      otherParameters: 'refused',
    },
    lookup: 'none',
    replies: [{ status: '4xx', body: { 'error.type': 'idempotency_error' }, proves: 'key-conflict' }],
    codeAt: 'error.code',
  }),
};
