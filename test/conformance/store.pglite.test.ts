/** The embedded store keeps the promises of the port: the same suite as memory, the same statements as PostgreSQL. */

import { PGlite } from '@electric-sql/pglite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pgliteStore } from '../../src/adapters/pglite/store.ts';
import { storeSuite } from '../../src/testing/store-suite.ts';

storeSuite(
  {
    name: 'pglite',
    async make() {
      const instance = await PGlite.create();
      let skewMs = 0;
      return {
        store: pgliteStore({ instance }),
        async advance(ms) {
          skewMs += ms;
          await instance.query(`select set_config('sagacity.skew_ms', $1, false)`, [String(skewMs)]);
        },
        // The database's clock stands still within a transaction, and this instance has one session for everything.
        async still(work) {
          await instance.exec('begin');
          await work();
          await instance.exec('commit');
        },
        dispose: () => instance.close(),
      };
    },
  },
  { afterAll, beforeAll, describe, expect, test },
);
