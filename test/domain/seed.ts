/**
 * The seed of the property tests: fixed, so that a run can be repeated, and printed, so that it can be repeated
 * elsewhere. SAGACITY_SEED overrides it.
 */

import fc from 'fast-check';

const seed = Number(process.env['SAGACITY_SEED'] ?? 20_261_129);

console.info(`Property tests run with SAGACITY_SEED=${seed}.`);
fc.configureGlobal({ seed, numRuns: 300 });
