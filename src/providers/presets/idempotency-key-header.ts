/**
 * Providers that follow the draft of the IETF, "The Idempotency-Key HTTP Header Field" (read as
 * draft-ietf-httpapi-idempotency-key-header-06): a key in quotes, 400 without it, 422 for other parameters, 409 while the
 * first is under way, and otherwise the first result, success or error. What follows from an error of the server it leaves
 * to the resource, and so does this.
 */

import { contract } from '../../define/contract.ts';
import type { Contract, SameKey } from '../../domain/contract.ts';
import type { Duration } from '../../domain/duration.ts';
import { type Described, described, type DescribedLookup } from './described.ts';

export interface IdempotencyKeyHeader extends Described, DescribedLookup {
  /** What the resource publishes of how long it keeps a key. */
  readonly keyRetention: Duration | 'for-ever' | 'unsaid';
  /** `raw` for one that takes quotes for a part of the key, against the draft. Default `sf-string`. */
  readonly encoding?: 'raw' | 'sf-string';
  /** What the resource says of a send after an error of the server. Default `unsaid`. */
  readonly afterServerError?: SameKey['afterServerError'];
}

/**
 * The contract of a resource that takes `Idempotency-Key` as the draft of the IETF has it.
 *
 * @example
 * const charges = idempotencyKeyHeader({
 *   name: 'card-company/charges', docs: 'https://docs.card-company.example/keys', verified: '2026-11-30',
 *   keyRetention: '24h', lookup: { by: 'key', visibleWithin: '1m' },
 * });
 */
export function idempotencyKeyHeader(options: IdempotencyKeyHeader): Contract {
  return contract({
    ...described(options),
    key: { in: 'header', name: 'Idempotency-Key', encoding: options.encoding ?? 'sf-string' },
    keyRetention: options.keyRetention,
    sameKey: {
      afterSuccess: 'first-reply',
      whileRunning: 'refused',
      afterRefusal: 'first-reply',
      afterServerError: options.afterServerError ?? 'unsaid',
      otherParameters: 'refused',
    },
    lookup: options.lookup,
    replies: [...(options.replies ?? []), { status: 409, proves: 'running' }, { status: 422, proves: 'key-conflict' }],
  });
}
