/** What a claim promises in which tenants take turns, of operations and of sagas alike. */

import type { OperationRef, Store, Turns } from '../ports/store.ts';
import { fresh } from './store-turns.ts';
import type { Bench, TestApi } from './store-under-test.ts';

/** One kind of what can be claimed. */
export interface Claiming {
  /** Gives everything that other tests left claimable to a living worker. */
  readonly drain: () => Promise<void>;
  /** Lets one be born that is due after so long, and tells its id. */
  readonly born: (tenant: string, inMs: number, owner: string | null) => Promise<string>;
  readonly claim: (store: Store, worker: string, limit: number, turns: Turns) => Promise<readonly OperationRef[]>;
}

const MINUTE = 60_000;
const none: Turns = { without: [] };

export function turnTests(
  { verb, enlisted, advance }: Bench,
  { describe, test, expect }: TestApi,
  { drain, born, claim: claimFrom }: Claiming,
): void {
  const claim = (worker: string, limit: number, turns: Turns) => claimFrom(verb(), worker, limit, turns);
  /** So many of each tenant, all of the first one older than all of the next. */
  const crowd = async (counts: readonly number[]): Promise<readonly { tenant: string; ids: string[] }[]> => {
    await drain();
    const shop = fresh('shop');
    const tenants: { tenant: string; ids: string[] }[] = [];
    for (const [n, count] of counts.entries()) {
      const tenant = `${shop}-${n}`;
      const ids: string[] = [];
      for (let nth = 0; nth < count; nth += 1) ids.push(await born(tenant, 1_000 * (100 * n + nth), null));
      tenants.push({ tenant, ids });
    }
    await advance(10 * MINUTE);
    return tenants;
  };

  describe('in turn', () => {
    test('takes the oldest of each tenant before the second of any, however much older that is', async () => {
      const [many, few, one] = await crowd([6, 2, 1]);

      const rows = await claim(await enlisted(), 4, none);

      const first = new Set(rows.slice(0, 3).map(({ id }) => id));
      expect(first).toEqual(new Set([many?.ids[0], few?.ids[0], one?.ids[0]]));
      expect([many?.ids[1], few?.ids[1]].includes(rows[3]?.id)).toBe(true);
    });

    test('goes on with the tenant after the one it ended with, and comes round', async () => {
      const tenants = await crowd([4, 4, 4, 4]);
      const worker = await enlisted();

      const asked: string[][] = [];
      for (let n = 0; n < 4; n += 1) asked.push((await claim(worker, 2, none)).map(({ tenant }) => tenant));

      const [first = []] = asked;
      const names = tenants.map(({ tenant }) => tenant);
      const others = names.filter((name) => !first.includes(name));
      expect(asked[1]?.toSorted()).toEqual(others.toSorted());
      expect(asked.slice(2)).toEqual(asked.slice(0, 2));
    });

    test('gives everything in the end, each once, oldest first of each tenant', async () => {
      const tenants = await crowd([9, 1, 5]);
      const worker = await enlisted();

      const all: OperationRef[] = [];
      for (let rows = await claim(worker, 4, none); rows.length > 0; rows = await claim(worker, 4, none)) {
        expect(rows.length).toBeLessThan(5);
        all.push(...rows);
      }

      for (const { tenant, ids } of tenants) {
        expect(all.filter((row) => row.tenant === tenant).map(({ id }) => id)).toEqual(ids);
      }
    });

    test('leaves what is due of those that have no turn, and gives the rest to the others', async () => {
      const [many, few] = await crowd([5, 3]);

      const rows = await claim(await enlisted(), 8, { without: [many?.tenant ?? ''] });

      expect(rows.map(({ id }) => id)).toEqual(few?.ids);
    });

    test('gives what was handed over and what a dead worker left, also of those that have no turn', async () => {
      const [shop] = await crowd([3]);
      const { tenant = '', ids: [said = ''] = [] } = shop ?? {};
      await verb().handOver({ tenant, id: said, handoverId: fresh('said'), body: {} });
      const left = await born(tenant, MINUTE, fresh('nobody'));

      const rows = await claim(await enlisted(), 8, { without: [tenant] });

      expect(rows.map(({ id }) => id).toSorted()).toEqual([said, left].toSorted());
    });

    test('leaves what is not due yet, and passes over who has nothing else', async () => {
      await drain();
      const shop = fresh('shop');
      const early = await born(`${shop}-a`, 5 * MINUTE, null);
      await born(`${shop}-b`, 50 * MINUTE, null);
      const other = await born(`${shop}-c`, 6 * MINUTE, null);
      await advance(10 * MINUTE);
      const worker = await enlisted();

      const ids = (await claim(worker, 8, none)).map(({ id }) => id);

      expect(ids.toSorted()).toEqual([early, other].toSorted());
      expect(await claim(worker, 8, none)).toEqual([]);
    });

    test('of several workers at once gives each row to one of them', async () => {
      const tenants = await crowd([8, 8, 8]);
      const workers = [await enlisted(), await enlisted(), await enlisted()];

      const shares = await Promise.all(workers.map((worker) => claim(worker, 6, none)));
      const ids = shares.flat().map(({ id }) => id);

      expect(new Set(ids).size).toBe(ids.length);
      const ours = tenants.flatMap((each) => each.ids);
      expect(ids.filter((id) => !ours.includes(id))).toEqual([]);
    });
  });
}
