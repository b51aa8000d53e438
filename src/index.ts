/** The public names of Sagacity, listed by hand. */

export { type ErrorCode, isSagacityError, SagacityError } from './domain/errors.ts';
export { absent, failed, found, inconclusive, notApplied, succeeded, unknown } from './domain/outcome.ts';
export type { Finding, Outcome } from './domain/outcome.ts';
