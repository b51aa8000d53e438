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
      let failOvers = 0;
      const set = (setting: string, value: string) =>
        instance.query('select set_config($1, $2, false)', [`sagacity.${setting}`, value]);
      return {
        store: pgliteStore({ instance }),
        async advance(ms) {
          skewMs += ms;
          await set('skew_ms', String(skewMs));
        },
        async failOver() {
          failOvers += 1;
          await set('timeline', `after fail-over ${failOvers}`);
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
