/**
 * The promises of the store port about what sagas share with others, as tests that `storeSuite` declares with the rest:
 * a saga is born with all that it names or not at all, nobody else of its tenant is while it holds it, and nothing stays
 * held for ever.
 */

import type { Fence, HeldLock, SagaBirth, SagaTurn } from '../ports/store.ts';
import { countPresent, fences, fresh, sagaBirth, sagaMoving, step } from './store-turns.ts';
import type { Bench, TestApi } from './store-under-test.ts';

/** How a saga is after its birth, when nobody owns it. */
const born: Fence = { owner: null, generation: 1, revision: 1 };

/** By then everybody who could still bring an unborn saga has ended. */
const LEFT_BEHIND_MS = 61_000;

export function lockTests(
  { verb, advance, sagaOf, applySaga: apply }: Bench,
  { describe, test, expect }: TestApi,
): void {
  const locking = (
    tenant: string,
    locks: readonly string[],
    turn: Partial<SagaTurn> = {},
    birth: Partial<SagaBirth> = {},
  ): SagaTurn => sagaBirth(tenant, turn, { ...birth, locks });
  const held = async (tenant: string, ...resources: readonly string[]): Promise<readonly HeldLock[]> => {
    const locks = await verb().heldLocks(tenant, resources);
    return locks.toSorted((a, b) => (a.resource < b.resource ? -1 : 1));
  };
  const by = ({ id }: SagaTurn, ...resources: readonly string[]): HeldLock[] =>
    resources.map((resource) => ({ resource, saga: id }));

  describe('a saga that is born with locks', () => {
    test('holds all that it names, and is told as their holder', async () => {
      const tenant = fresh('shop');
      const saga = locking(tenant, ['a', 'b']);

      await apply(saga);

      expect(await held(tenant, 'c', 'b', 'a')).toEqual(by(saga, 'a', 'b'));
      expect(await held(tenant, 'b')).toEqual(by(saga, 'b'));
      expect(await held(tenant)).toEqual([]);
    });

    test('keeps out another that wants any of them, of which nothing is written', async () => {
      const tenant = fresh('shop');
      const saga = locking(tenant, ['a', 'b']);
      await apply(saga);
      const operation = step();
      const late = locking(tenant, ['b', 'c'], { operations: [operation] });

      const receipt = await verb().sagaTurn(late);

      expect(receipt).toBe(null);
      expect(await verb().readSaga(late)).toBe(null);
      expect(await verb().read({ tenant, id: operation.id })).toBe(null);
      expect(await verb().sagaRecords(late)).toEqual([]);
      expect(await held(tenant, 'a', 'b', 'c')).toEqual(by(saga, 'a', 'b'));
    });

    test('leaves what it does not name to others, and everything to another tenant', async () => {
      const [tenant, other] = [fresh('shop'), fresh('shop')];
      const [saga, beside] = [locking(tenant, ['a', 'b']), locking(tenant, ['c'])];
      const elsewhere = locking(other, ['a', 'b'], { id: saga.id });

      for (const turn of [saga, beside, elsewhere, sagaBirth(tenant)]) await apply(turn);
      await apply(sagaMoving(saga, born, { state: 'succeeded' }));

      expect(await held(tenant, 'a', 'b', 'c')).toEqual(by(beside, 'c'));
      expect(await held(other, 'a', 'b', 'c')).toEqual(by(elsewhere, 'a', 'b'));
    });

    for (const state of ['succeeded', 'compensated', 'terminated'] as const) {
      test(`frees them with the turn after which it is ${state}, and not with one that is refused`, async () => {
        const tenant = fresh('shop');
        const saga = locking(tenant, ['a', 'b'], { owner: 'w1' });
        const next = locking(tenant, ['b', 'a']);
        await apply(saga);

        for (const [, was] of fences) await verb().sagaTurn(sagaMoving(saga, was, { state }));
        const early = await verb().sagaTurn(next);
        await apply(sagaMoving(saga, { ...born, owner: 'w1' }, { state }));
        const between = await held(tenant, 'a', 'b');
        await apply(next);

        expect([early, between]).toEqual([null, []]);
        expect(await held(tenant, 'a', 'b')).toEqual(by(next, 'a', 'b'));
      });
    }

    for (const state of ['waiting', 'compensating', 'escalated', 'in-progress'] as const) {
      test(`keeps them while it is ${state}, however long, and nobody else takes a part`, async () => {
        const tenant = fresh('shop');
        const saga = locking(tenant, ['a']);
        await apply(saga);
        await apply(sagaMoving(saga, born, { state }));
        await advance(LEFT_BEHIND_MS);

        const receipt = await verb().sagaTurn(locking(tenant, ['a', 'b']));

        expect(receipt).toBe(null);
        expect(await held(tenant, 'a', 'b')).toEqual(by(saga, 'a'));
      });
    }

    test('keeps them when its birth is repeated, and nothing is written twice', async () => {
      const tenant = fresh('shop');
      const saga = locking(tenant, ['a', 'b']);
      await apply(saga);

      const repeated = await verb().sagaTurn(saga);

      expect(repeated).toBe(null);
      expect((await sagaOf(saga)).revision).toBe(1);
      expect((await verb().sagaRecords(saga)).length).toBe(1);
      expect(await held(tenant, 'a', 'b')).toEqual(by(saga, 'a', 'b'));
    });

    test('takes nothing when it is submitted again after it has settled', async () => {
      const tenant = fresh('shop');
      const saga = locking(tenant, ['a', 'b']);
      await apply(saga);
      await apply(sagaMoving(saga, born, { state: 'succeeded' }));

      const repeated = await verb().sagaTurn(saga);
      const again = await verb().sagaTurn({ ...saga, turn: fresh('turn') });

      expect([repeated, again]).toEqual([null, null]);
      expect(await held(tenant, 'a', 'b')).toEqual([]);
      await apply(locking(tenant, ['a', 'b']));
    });

    test('may settle with its birth, and holds nothing then', async () => {
      const tenant = fresh('shop');

      await apply(locking(tenant, ['a'], { state: 'terminated' }));

      await apply(locking(tenant, ['a']));
    });

    test('frees its own only, when 20 settle at the same moment', async () => {
      const tenant = fresh('shop');
      const sagas = Array.from({ length: 40 }, (_, n) => locking(tenant, [`a-${n}`, `b-${n}`]));
      await Promise.all(sagas.map(apply));

      await Promise.all(
        sagas.map((saga, n) => apply(sagaMoving(saga, born, { state: n % 2 === 0 ? 'succeeded' : 'waiting' }))),
      );

      const resources = sagas.flatMap((_, n) => [`a-${n}`, `b-${n}`]);
      const open = sagas.flatMap((saga, n) => (n % 2 === 0 ? [] : by(saga, `a-${n}`, `b-${n}`)));
      expect(await held(tenant, ...resources)).toEqual(open.toSorted((a, b) => (a.resource < b.resource ? -1 : 1)));
    });
  });

  describe('sagas that want the same at the same moment', () => {
    test('are born once among 10, and the one that is born holds it', async () => {
      const tenant = fresh('shop');
      const turns = Array.from({ length: 10 }, () => locking(tenant, ['a', 'b']));

      const receipts = await Promise.all(turns.map((turn) => verb().sagaTurn(turn)));

      const [saga, ...others] = turns.filter((_, index) => receipts[index] !== null);
      if (saga === undefined) throw new Error('None was born.');
      expect(others).toEqual([]);
      expect(await Promise.all(turns.map((turn) => verb().readSaga(turn))).then(countPresent)).toBe(1);
      expect(await held(tenant, 'a', 'b')).toEqual(by(saga, 'a', 'b'));
    });

    test('are born once when they are one, sent 10 times', async () => {
      const tenant = fresh('shop');
      const saga = locking(tenant, ['a', 'b']);

      const receipts = await Promise.all(Array.from({ length: 10 }, () => verb().sagaTurn(saga)));

      expect(countPresent(receipts)).toBe(1);
      expect((await verb().sagaRecords(saga)).length).toBe(1);
      expect(await held(tenant, 'a', 'b')).toEqual(by(saga, 'a', 'b'));
    });

    test('are born at most once when they want a part of it, and nothing is held for ever', async () => {
      const tenant = fresh('shop');
      const turns = Array.from({ length: 10 }, (_, n) => locking(tenant, n % 2 === 0 ? ['a', 'b'] : ['b', 'c']));

      const receipts = await Promise.all(turns.map((turn) => verb().sagaTurn(turn)));

      const winners = turns.filter((_, index) => receipts[index] !== null);
      expect(winners.length).toBeLessThan(2);
      for (const saga of winners) {
        expect(await held(tenant, ...(saga.birth?.locks ?? []))).toEqual(by(saga, ...(saga.birth?.locks ?? [])));
        await apply(sagaMoving(saga, born, { state: 'compensated' }));
      }
      await advance(LEFT_BEHIND_MS);
      const next = locking(tenant, ['a', 'b', 'c']);
      await apply(next);
      expect(await held(tenant, 'a', 'b', 'c')).toEqual(by(next, 'a', 'b', 'c'));
    });
  });
}
