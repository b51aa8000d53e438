/**
 * Chance that always falls in the middle, so that a pause which is spread in production has one length in a
 * specification. Ids stay as they are.
 */

import type { Random } from 'sagacity/testing';
import { systemRandom } from '../../src/adapters/local/random.ts';

export function evenChance(): Random {
  return { ...systemRandom(), number: () => 0.5 };
}
