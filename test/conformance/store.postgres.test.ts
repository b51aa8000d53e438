/** The store on a server keeps the promises of the port: the same suite as memory and the embedded database. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { postgresStore } from 'sagacity/postgres';
import { storeSuite } from '../../src/testing/store-suite.ts';
import { databaseAt, freshDatabase } from '../support/postgres.ts';

storeSuite(
  {
    name: 'postgres',
    async make() {
      const url = await freshDatabase();
      const database = databaseAt(url);
      const store = postgresStore({ url, migrate: true });
      const [{ name } = { name: '' }] = await database<{ name: string }[]>`select current_database() as name`;
      let skewMs = 0;
      // Sessions take a setting of their database with them when they begin: the store begins new ones.
      const set = async (setting: string) => {
        await database.unsafe(`alter database ${name} ${setting}`);
        await store.close();
        await store.open();
      };
      return {
        store,
        async advance(ms) {
          skewMs += ms;
          await set(`set sagacity.skew_ms = '${skewMs}'`);
        },
        async still(work) {
          await set(`set sagacity.still_at_ms = '${Date.now()}'`);
          await work();
          await set('reset sagacity.still_at_ms');
        },
        dispose: () => database.end(),
      };
    },
  },
  { afterAll, beforeAll, describe, expect, test },
);
