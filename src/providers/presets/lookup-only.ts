/**
 * Providers that take no key and can be asked: what was sent and not answered is looked up, and sent again only where the
 * provider says how late it could still have arrived.
 */

import { contract } from '../../define/contract.ts';
import type { Contract } from '../../domain/contract.ts';
import type { Duration } from '../../domain/duration.ts';
import { type Described, described } from './described.ts';

export interface LookupOnly extends Described {
  /** By a reference of ours that the record carries, or through a list of records. */
  readonly by: 'reference' | 'list';
  /** After this long a look-up shows a record that exists. */
  readonly visibleWithin: Duration;
  /** How late a request that was sent can still take effect. Left out: the provider does not say. */
  readonly arrivalLimit?: Duration;
}

/**
 * The contract of an endpoint without keys whose records can be found.
 *
 * @example
 * const bookings = lookupOnly({
 *   name: 'carrier/bookings', docs: 'https://docs.carrier.example/bookings', verified: '2026-11-30',
 *   by: 'reference', visibleWithin: '1m',
 * });
 */
export function lookupOnly({ by, visibleWithin, arrivalLimit, replies, ...rest }: LookupOnly): Contract {
  return contract({
    ...described(rest),
    key: 'none',
    lookup: { by, visibleWithin, ...(arrivalLimit === undefined ? {} : { arrivalLimit }) },
    ...(replies === undefined ? {} : { replies }),
  });
}
