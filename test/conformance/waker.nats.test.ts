/**
 * The waker over NATS keeps the promises of the port, and goes on when NATS does not: on a server of its own that is
 * stopped, killed, emptied and tampered with. Time is real here.
 */

import { privateNats, wakerSuite } from 'sagacity/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { natsWaker } from 'sagacity/nats';
import { setTimeout as pause } from 'node:timers/promises';
import { keepsTimers } from '../support/nats-processes.ts';
import { silentLogger } from '../../src/ports/logger.ts';

wakerSuite(
  {
    ...{ name: 'NATS', reachesOthers: true },
    async make() {
      const server = await privateNats();
      return {
        async make(ledger) {
          const waker = natsWaker({ servers: server.url });
          waker.open?.(ledger, silentLogger);
          await keepsTimers(waker);
          return waker;
        },
        passes: (ms) => pause(ms),
        now: () => performance.now(),
        dispose: () => server.close(),
      };
    },
  },
  { afterAll, beforeAll, describe, expect, test },
);
