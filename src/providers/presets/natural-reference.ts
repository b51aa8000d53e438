/**
 * Providers without a header for keys, whose records have a reference that is ours, unique, and never freed: a second
 * record under it is refused, for ever. The reference is the key then, and the refusal says that it was done before.
 */

import { contract } from '../../define/contract.ts';
import type { Contract, ReplyRule } from '../../domain/contract.ts';
import type { Duration } from '../../domain/duration.ts';
import { type Described, described } from './described.ts';

export interface NaturalReference extends Described {
  /** Its path in the body, such as `external_shipment_id`. What is sent there is the key. */
  readonly reference: string;
  /** The reply by which a duplicate is refused, such as `{ status: 409 }`. */
  readonly duplicate: Pick<ReplyRule, 'status' | 'headers' | 'body'>;
  /** After this long a look-up by the reference shows a record that exists. */
  readonly visibleWithin: Duration;
  /** How late a request that was sent can still take effect. Left out: the provider does not say. */
  readonly arrivalLimit?: Duration;
}

/**
 * The contract of an endpoint that refuses a second record with the same reference.
 *
 * @example
 * const shipments = naturalReference({
 *   name: 'carrier/shipments', docs: 'https://docs.carrier.example/shipments', verified: '2026-11-30',
 *   reference: 'external_shipment_id', duplicate: { status: 409 }, visibleWithin: '1m',
 * });
 */
export function naturalReference({
  reference,
  duplicate,
  visibleWithin,
  arrivalLimit,
  replies,
  ...rest
}: NaturalReference): Contract {
  return contract({
    ...described(rest),
    key: { in: 'body', name: reference },
    keyRetention: 'for-ever',
    sameKey: {
      afterSuccess: 'told',
      whileRunning: 'unsaid',
      afterRefusal: 're-executes',
      afterServerError: 're-executes',
      // It does not look further than the reference.
      otherParameters: 'first-reply',
    },
    lookup: { by: 'reference', visibleWithin, ...(arrivalLimit === undefined ? {} : { arrivalLimit }) },
    replies: [...(replies ?? []), { ...duplicate, proves: 'done-before' }],
  });
}
