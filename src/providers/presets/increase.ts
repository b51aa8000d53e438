/**
 * Increase. At most one object is made under a key, for ever; a second send gets it with `Idempotent-Replayed`, one with
 * other parameters is refused with its id, and lists can be filtered by key. What a send does while the first is under way,
 * after a refusal and after an error of the server was not found.
 */

import { contract, type ContractOptions } from '../../define/contract.ts';

const shared = {
  ...{ version: '1', docs: 'https://increase.com/documentation/idempotency-keys', verified: '2026-11-30' },
  key: { in: 'header', name: 'Idempotency-Key', maxLength: 200 },
  keyRetention: 'for-ever',
  sameKey: {
    afterSuccess: 'current-state',
    whileRunning: 'unsaid',
    afterRefusal: 'unsaid',
    afterServerError: 'unsaid',
    otherParameters: 'refused',
  },
  // How soon a list shows what was made is not said; the minute is for us, and a second send is one effect anyway.
  lookup: { by: 'list', visibleWithin: '1m' },
  replies: [{ status: 409, body: { type: 'idempotency_key_already_used_error' }, proves: 'key-conflict' }],
  codeAt: 'type',
  replayHeader: 'Idempotent-Replayed',
} as const satisfies Omit<ContractOptions, 'name'>;

/** Increase, by endpoint. Look up in the list of the same endpoint, filtered by `idempotency_key`. */
export const increase = {
  accountTransfers: contract({ ...shared, name: 'increase/account-transfers' }),
  achTransfers: contract({ ...shared, name: 'increase/ach-transfers' }),
  wireTransfers: contract({ ...shared, name: 'increase/wire-transfers' }),
};
