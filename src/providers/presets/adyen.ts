/**
 * Adyen. The first reply is given again; a send while the first is under way is refused with code 704, as 409 or 422. A
 * `transient-error: true` says of an error that nothing was done, as does code 703, that the store of keys is away. Keys are
 * not shared between regions. What it does with other parameters, after a refusal, and after an error that is not
 * transient, was not found. A payment that the issuer refused is a success by HTTP: read its `resultCode`.
 */

import { contract } from '../../define/contract.ts';

/** Adyen, by endpoint. Its records are told by webhooks; a look-up by reference was not found. */
export const adyen = {
  payments: contract({
    ...{ name: 'adyen-checkout/payments', version: '1', verified: '2026-11-30' },
    docs: 'https://docs.adyen.com/development-resources/api-idempotency',
    key: { in: 'header', name: 'idempotency-key', maxLength: 64 },
    scope: ['account', 'region'],
    // Its page said 31 days before; the shorter time counts.
    keyRetention: '7d',
    sameKey: {
      afterSuccess: 'first-reply',
      whileRunning: 'refused',
      afterRefusal: 'unsaid',
      afterServerError: 'unsaid',
      otherParameters: 'unsaid',
    },
    lookup: 'none',
    replies: [
      { status: [409, 422], body: { errorCode: '704' }, proves: 'running' },
      { status: 503, body: { errorCode: '703' }, proves: 'not-done' },
      { status: ['4xx', '5xx'], headers: { 'transient-error': 'true' }, proves: 'not-done' },
    ],
    codeAt: 'errorCode',
  }),
};
