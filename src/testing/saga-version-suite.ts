/**
 * The promises of the store port about versions of sagas, as tests that `storeSuite` declares with the rest: how many run
 * in each, which those are, how one goes on in another version, and who is given what no longer fits its chart.
 */

import type { Fence, OperationRef, SagaRow, SagaTurn, SagaVersionRow } from '../ports/store.ts';
import { fresh, handing, sagaBirth, sagaMoving, step, stepped } from './store-turns.ts';
import type { Bench, TestApi } from './store-under-test.ts';

const minute = 60_000;

/** How a saga is after its birth, when nobody owns it. */
const born: Fence = { owner: null, generation: 1, revision: 1 };

export function sagaVersionTests({ verb, enlisted }: Bench, { describe, test, expect }: TestApi): void {
  const apply = async (turn: SagaTurn): Promise<void> => {
    if ((await verb().sagaTurn(turn)) === null) throw new Error(`Turn ${turn.turn} was not written.`);
  };
  const sagaOf = async ({ tenant, id }: OperationRef): Promise<SagaRow> => {
    const row = await verb().readSaga({ tenant, id });
    if (row === null) throw new Error(`There is no saga ${id}.`);
    return row;
  };
  const idsOf = (rows: readonly { readonly id: string }[]): string[] => rows.map(({ id }) => id);
  const states = [
    'in-progress',
    'waiting',
    'compensating',
    'escalated',
    'succeeded',
    'compensated',
    'terminated',
  ] as const;
  /** One in each state, of this version. */
  const oneOfEach = async (tenant: string, name: string, version: number): Promise<readonly SagaTurn[]> => {
    const turns = states.map((state) => sagaBirth(tenant, { state }, { name, version }));
    for (const turn of turns) await apply(turn);
    return turns;
  };

  describe('the versions of sagas', () => {
    test('are told with how many are not settled, and how many of those are escalated', async () => {
      const tenant = fresh('shop');
      for (const version of [1, 2]) await oneOfEach(tenant, 'order', version);
      await oneOfEach(tenant, 'order', 10);
      await apply(sagaBirth(tenant, { state: 'waiting' }, { name: 'a return', version: 3 }));
      await apply(sagaBirth(tenant, { state: 'succeeded' }, { name: 'a gift', version: 1 }));

      const rows = await verb().sagaVersions({ tenant });

      expect(rows).toEqual([
        { name: 'a return', version: 3, inFlight: 1, escalated: 0 },
        { name: 'order', version: 1, inFlight: 4, escalated: 1 },
        { name: 'order', version: 2, inFlight: 4, escalated: 1 },
        { name: 'order', version: 10, inFlight: 4, escalated: 1 },
      ]);
    });

    test('are those of one tenant when one is named, and of all otherwise', async () => {
      const name = fresh('trade');
      const [left, right] = [fresh('shop'), fresh('shop')];
      await oneOfEach(left, name, 1);
      await apply(sagaBirth(right, {}, { name }));
      const ofName = (rows: readonly SagaVersionRow[]) => rows.filter((row) => row.name === name);

      const [ofOne, ofAll] = [
        await verb().sagaVersions({ tenant: right }),
        await verb().sagaVersions({ tenant: null }),
      ];

      expect(ofName(ofOne)).toEqual([{ name, version: 1, inFlight: 1, escalated: 0 }]);
      expect(ofName(ofAll)).toEqual([{ name, version: 1, inFlight: 5, escalated: 1 }]);
    });

    test('lose what moves on to another, which it is then', async () => {
      const tenant = fresh('shop');
      const operation = step();
      const start = sagaBirth(tenant, { state: 'waiting', operations: [operation] });
      await apply(start);

      const becomes = { version: 2, hash: 'hash-2' };
      await apply(sagaMoving(start, born, { state: 'waiting', becomes, snapshot: { value: 'elsewhere' } }));
      const moved = await sagaOf(start);
      await apply(sagaMoving(start, { ...born, revision: 2 }, { state: 'waiting', operations: [stepped(operation)] }));

      expect(await verb().sagaVersions({ tenant })).toEqual([{ name: 'order', version: 2, inFlight: 1, escalated: 0 }]);
      expect(moved).toMatchObject({ ...becomes, snapshot: { value: 'elsewhere' }, key: start.birth?.key ?? '' });
      expect(await sagaOf(start)).toMatchObject({ ...becomes, revision: 3 });
      expect(idsOf(moved.operations)).toEqual([operation.id]);
    });

    test('stay what they are when a turn that would move one on is refused', async () => {
      const tenant = fresh('shop');
      const start = sagaBirth(tenant);
      await apply(start);
      const stale = { ...born, revision: 0 };

      const receipt = await verb().sagaTurn(sagaMoving(start, stale, { becomes: { version: 2, hash: 'hash-2' } }));

      expect(receipt).toBe(null);
      expect(await sagaOf(start)).toMatchObject({ version: 1, hash: 'hash-1' });
    });
  });

  describe('the sagas of a version', () => {
    test('are those that are not settled, whole, by tenant and id', async () => {
      const tenant = fresh('shop');
      const turns = await oneOfEach(tenant, 'order', 1);
      await oneOfEach(tenant, 'order', 2);
      await oneOfEach(tenant, 'return', 1);
      const [first] = turns;
      if (first === undefined) throw new Error('One is needed.');
      await apply(sagaMoving(first, born, { operations: [step()] }));
      await verb().handOver(handing(first, 'h1'));

      const rows = await verb().sagasInFlight({ tenant, name: 'order', version: 1, limit: 100, after: null });

      expect(idsOf(rows)).toEqual(idsOf(turns.slice(0, 4)).toSorted());
      const told = rows.find(({ id }) => id === first.id);
      expect([told?.operations.length, told?.handovers.length]).toEqual([1, 1]);
      expect({ ...told, now: 0 }).toMatchObject({ ...(await sagaOf(first)), now: 0, operations: [{}] });
    });

    test('are paged without omission or repetition, and keep the place of their reader', async () => {
      const tenant = fresh('shop');
      const turns = Array.from({ length: 7 }, () => sagaBirth(tenant));
      for (const turn of turns) await apply(turn);
      const page = (after: OperationRef | null) =>
        verb().sagasInFlight({ tenant, name: 'order', version: 1, limit: 3, after });

      const first = await page(null);
      for (const turn of turns) {
        if (idsOf(first).includes(turn.id)) await apply(sagaMoving(turn, born, { state: 'succeeded' }));
      }
      const second = await page(first.at(-1) ?? null);
      const third = await page(second.at(-1) ?? null);

      expect([...idsOf(first), ...idsOf(second), ...idsOf(third)]).toEqual(idsOf(turns).toSorted());
    });

    test('are of one tenant when one is named, and of all otherwise', async () => {
      const name = fresh('trade');
      const [left, right] = [sagaBirth(fresh('shop'), {}, { name }), sagaBirth(fresh('shop'), {}, { name })];
      await apply(left);
      await apply(right);
      const of = (tenant: string | null) => verb().sagasInFlight({ tenant, name, version: 1, limit: 10, after: null });

      expect(idsOf(await of(left.tenant))).toEqual([left.id]);
      expect(idsOf(await of(null))).toEqual(idsOf([left, right].toSorted((a, b) => (a.tenant < b.tenant ? -1 : 1))));
    });
  });

  describe('a saga that is escalated because its chart has changed', () => {
    const overdue = [{ name: 'timer', inMs: 0 }];
    const changed = (tenant: string, turn: Partial<SagaTurn> = {}): SagaTurn =>
      sagaBirth(tenant, { state: 'escalated', reason: 'definition-changed', dues: overdue, ...turn });
    const served = (hash?: string) => [
      { name: 'order', version: 1, ...(hash === undefined ? {} : { hash }) },
      { name: 'order', version: 2, hash: 'hash-1' },
    ];

    test('is left by who has another chart, due, handed something over, orphaned or asked for', async () => {
      const tenant = fresh('shop');
      const turns = [changed(tenant), changed(tenant, { dues: [] }), changed(tenant, { owner: fresh('nobody') })];
      for (const turn of turns) await apply(turn);
      await verb().handOver(handing(turns[1] ?? { tenant, id: '' }, 'h1'));
      const worker = await enlisted();

      const swept = await verb().claimSagas(worker, served('hash-2'), 1_000);
      const asked = await Promise.all(turns.map((ref) => verb().claimSagas(worker, served('hash-2'), 1, ref)));

      expect([...swept.filter((row) => row.tenant === tenant), ...asked.flat()]).toEqual([]);
      for (const turn of turns) expect((await sagaOf(turn)).generation).toBe(1);
    });

    test('is given to who has its chart, and to who can go on from any', async () => {
      const tenant = fresh('shop');
      const turns = [changed(tenant), changed(tenant)];
      for (const turn of turns) await apply(turn);
      const worker = await enlisted();

      const [fitting, any] = turns.map((ref, n) => ({ ref, definitions: served(n === 0 ? 'hash-1' : undefined) }));
      const rows = [];
      for (const asking of [fitting, any]) {
        if (asking !== undefined) rows.push(...(await verb().claimSagas(worker, asking.definitions, 1, asking.ref)));
      }

      expect(idsOf(rows)).toEqual(idsOf(turns));
    });

    test('is told from what has another chart and is not escalated because of it', async () => {
      const tenant = fresh('shop');
      const waiting = sagaBirth(tenant, { state: 'waiting', dues: [{ name: 'timer', inMs: minute }] });
      const faulty = sagaBirth(tenant, { state: 'escalated', reason: 'definition-fault', dues: overdue });
      for (const turn of [waiting, faulty]) await apply(turn);
      const worker = await enlisted();

      const rows = [];
      for (const ref of [waiting, faulty]) rows.push(...(await verb().claimSagas(worker, served('hash-2'), 1, ref)));

      expect(idsOf(rows)).toEqual(idsOf([waiting, faulty]));
    });
  });
}
