/** Chance from the operating system: unpredictable, independent between processes, never seeded. */

import { randomBytes, randomUUID } from 'node:crypto';
import type { Random } from '../../ports/random.ts';

/** Creates the source of chance that production uses. */
export function systemRandom(): Random {
  return {
    // 48 random bits fit a double exactly, so the quotient never reaches 1.
    number: () => randomBytes(6).readUIntBE(0, 6) / 2 ** 48,
    id: () => randomUUID(),
  };
}
