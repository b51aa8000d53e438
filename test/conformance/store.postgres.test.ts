/** The store on a server keeps the promises of the port: the same suite as memory and the embedded database. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { postgresStore } from 'sagacity/postgres';
import { storeSuite } from '../../src/testing/store-suite.ts';
import { databaseTime } from '../support/database-time.ts';
import { databaseAt, freshDatabase } from '../support/postgres.ts';

storeSuite(
  {
    name: 'postgres',
    async make() {
      const url = await freshDatabase();
      const database = databaseAt(url);
      const store = postgresStore({ url, migrate: true });
      const time = await databaseTime(database, async () => {
        await store.close();
        await store.open();
      });
      return {
        store,
        ...time,
        dispose: () => database.end(),
      };
    },
  },
  { afterAll, beforeAll, describe, expect, test },
);
