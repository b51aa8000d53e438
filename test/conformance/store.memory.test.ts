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
      let timeline = 1;
      return {
        store: memoryStore({ clock, timeline: () => String(timeline) }),
        advance: (ms) => clock.advance(ms),
        async failOver() {
          timeline += 1;
        },
        dispose: async () => {},
      };
    },
  },
  { afterAll, beforeAll, describe, expect, test },
);
