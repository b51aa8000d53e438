/** The memory store keeps the promises of the port, under a clock that stands still. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { memoryStore } from '../../src/adapters/memory/store.ts';
import { testClock } from '../../src/testing/clock.ts';
import { storeSuite } from '../../src/testing/store-suite.ts';

storeSuite(
  {
    name: 'memory',
    async make() {
      const clock = testClock();
      return { store: memoryStore({ clock }), advance: (ms) => clock.advance(ms), dispose: async () => {} };
    },
  },
  { afterAll, beforeAll, describe, expect, test },
);
