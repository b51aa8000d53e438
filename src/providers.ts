/** `sagacity/providers`: what is known of the companies that operations go to. */

export { contract, type ContractOptions, type ContractLookupOptions, type KeyOptions } from './define/contract.ts';
export type {
  Contract,
  ContractKey,
  ContractLookup,
  KeyScope,
  Proven,
  ReplyRule,
  SameKey,
  StatusMatch,
} from './domain/contract.ts';
export type { Described, DescribedLookup } from './providers/presets/described.ts';
export { adyen } from './providers/presets/adyen.ts';
export { goCardless } from './providers/presets/gocardless.ts';
export { type IdempotencyKeyHeader, idempotencyKeyHeader } from './providers/presets/idempotency-key-header.ts';
export { increase } from './providers/presets/increase.ts';
export { type LookupOnly, lookupOnly } from './providers/presets/lookup-only.ts';
export { type NaturalReference, naturalReference } from './providers/presets/natural-reference.ts';
export { noContract } from './providers/presets/no-contract.ts';
export { paypal } from './providers/presets/paypal.ts';
export { type RepeatableRequests, repeatableRequests } from './providers/presets/repeatable-requests.ts';
export { square } from './providers/presets/square.ts';
export { stripeV1 } from './providers/presets/stripe-v1.ts';
export { stripeV2 } from './providers/presets/stripe-v2.ts';
