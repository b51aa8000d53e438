/**
 * The time and the timeline of a database, as far as the store asks it: held still and moved for every session that
 * begins afterwards.
 */

import type postgres from 'postgres';
import type { StoreUnderTest } from '../../src/testing/store-under-test.ts';

/**
 * The means by which the store suite moves time and timeline on a server. Sessions take a setting of their database with them when
 * they begin: `renew` ends those that there are, so that others begin.
 */
export async function databaseTime(
  database: postgres.Sql,
  renew: () => unknown,
): Promise<Required<Pick<StoreUnderTest, 'advance' | 'still' | 'failOver'>>> {
  const [{ name } = { name: '' }] = await database<{ name: string }[]>`select current_database() as name`;
  let skewMs = 0;
  let failOvers = 0;
  const set = async (setting: string) => {
    await database.unsafe(`alter database ${name} ${setting}`);
    await renew();
  };
  return {
    async advance(ms) {
      skewMs += ms;
      await set(`set sagacity.skew_ms = '${skewMs}'`);
    },
    async still(work) {
      await set(`set sagacity.still_at_ms = '${Date.now()}'`);
      await work();
      await set('reset sagacity.still_at_ms');
    },
    async failOver() {
      failOvers += 1;
      await set(`set sagacity.timeline = 'after fail-over ${failOvers}'`);
    },
  };
}
