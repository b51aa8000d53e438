/**
 * Providers that follow OASIS Repeatable Requests 1.0, as several services of Azure do: a key, and beside it the time at
 * which the first request left. What comes later than the key is tracked is refused with 412 instead of being done again,
 * which no other scheme does. As Azure has it, a send under a known key is refused with 409 while the first is under way,
 * gets its result if that was a success or a refusal, is executed after an error of the server, and is rejected with other
 * parameters.
 */

import { contract } from '../../define/contract.ts';
import type { Contract } from '../../domain/contract.ts';
import type { Duration } from '../../domain/duration.ts';
import { type Described, described, type DescribedLookup } from './described.ts';

export interface RepeatableRequests extends Described, DescribedLookup {
  /** How long the service tracks a request. Default `5m`, the least that the standard allows. */
  readonly tracked?: Duration;
}

/**
 * The contract of a service that takes `Repeatability-Request-ID` and `Repeatability-First-Sent`.
 *
 * @example
 * const emails = repeatableRequests({
 *   name: 'azure-communication/emails', docs: 'https://learn.microsoft.com/rest/api/communication/repeatable-requests',
 *   verified: '2026-11-30', lookup: 'none',
 * });
 */
export function repeatableRequests({ tracked = '5m', lookup, replies, ...rest }: RepeatableRequests): Contract {
  return contract({
    ...described(rest),
    key: { in: 'header', name: 'Repeatability-Request-ID', firstSentHeader: 'Repeatability-First-Sent' },
    keyRetention: tracked,
    sameKey: {
      afterSuccess: 'first-reply',
      whileRunning: 'refused',
      afterRefusal: 'first-reply',
      afterServerError: 're-executes',
      otherParameters: 'refused',
    },
    lookup,
    replies: [
      ...(replies ?? []),
      { status: 412, proves: 'too-late' },
      { status: 409, proves: 'running' },
      // Neither the id nor the time that are sent can be malformed: what is rejected is what they were used for.
      { status: 400, headers: { 'repeatability-result': 'rejected' }, proves: 'key-conflict' },
    ],
  });
}
