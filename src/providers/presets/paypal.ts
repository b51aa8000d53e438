/**
 * PayPal. A send under a known `PayPal-Request-Id` gets the latest state of the first one, and may be made again after a
 * time-out or a 5xx for as long as the id is stored, which is another time in each API. Of two at once the second may be
 * refused. What it does with other parameters, and with a refusal, was not found. A duplicate invoice number says that
 * something was captured before, and not by whom: that is no refusal of ours, it must be looked up.
 */

import { contract, type ContractOptions } from '../../define/contract.ts';

const shared = {
  ...{ version: '1', verified: '2026-11-30' },
  key: { in: 'header', name: 'PayPal-Request-Id', maxLength: 108 },
  sameKey: {
    afterSuccess: 'current-state',
    whileRunning: 'refused',
    afterRefusal: 'unsaid',
    afterServerError: 'resumes',
    otherParameters: 'unsaid',
  },
  lookup: 'none',
  replies: [
    { status: 409, body: { 'details.0.issue': 'PREVIOUS_REQUEST_IN_PROGRESS' }, proves: 'running' },
    { status: 422, body: { 'details.0.issue': 'DUPLICATE_INVOICE_ID' }, proves: 'unknown', sendAgain: 'ask-first' },
  ],
  codeAt: 'details.0.issue',
} as const satisfies Omit<ContractOptions, 'name' | 'docs' | 'keyRetention'>;

// Up to 72 hours by arrangement with PayPal.
const orders = { ...shared, docs: 'https://developer.paypal.com/docs/api/orders/v2/', keyRetention: '6h' } as const;
const payments = {
  ...shared,
  docs: 'https://developer.paypal.com/docs/api/payments/v2/',
  keyRetention: '45d',
} as const;

/** PayPal, by endpoint: orders and their captures (Orders v2), captures of authorisations and refunds (Payments v2). */
export const paypal = {
  orders: contract({ ...orders, name: 'paypal-orders-v2/orders' }),
  orderCaptures: contract({ ...orders, name: 'paypal-orders-v2/captures' }),
  captures: contract({ ...payments, name: 'paypal-payments-v2/captures' }),
  refunds: contract({ ...payments, name: 'paypal-payments-v2/refunds' }),
};
