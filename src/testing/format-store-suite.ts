/**
 * The promises of the store port about the format that a snapshot is in, as tests that `storeSuite` declares with the rest:
 * it is kept with what was written in it, and what this version does not read is claimed by nobody here.
 */

import { FORMATS_READ } from '../domain/format.ts';
import type { Fence, OperationRef, SagaTurn, Store, Turn, Turns } from '../ports/store.ts';
import { birth, fresh, handing, moving, sagaBirth, sagaMoving, step, stepped } from './store-turns.ts';
import type { Bench, TestApi } from './store-under-test.ts';

const MINUTE = 60_000;

/** More than anybody claims, or looks at, in one statement. */
const MANY = 250;

/** Only a later release reads it. */
const LATER = Math.max(...FORMATS_READ) + 1;

const [OLDER = 1, NEWER = 2] = FORMATS_READ;

/** How a row is after its birth, when nobody owns it. */
const born: Fence = { owner: null, generation: 1, revision: 1 };

/** Of operations, or of sagas: of an action, or of a name, that no other test has. */
interface Kind {
  readonly called: string;
  /** Due after so long, and owned by this worker. */
  readonly born: (tenant: string, format: number, inMs: number, owner?: string) => Promise<OperationRef>;
  /** Its next turn, in this format. */
  readonly moved: (ref: OperationRef, format: number) => Promise<void>;
  /** Gives what other tests left claimable to a living worker: it would take turns too. */
  readonly drain: () => Promise<void>;
  readonly claim: (
    store: Store,
    worker: string,
    limit: number,
    which?: OperationRef | Turns,
  ) => Promise<readonly OperationRef[]>;
}

export function formatTests({ verb, advance, enlisted, rowOf, sagaOf, apply, applySaga }: Bench, api: TestApi): void {
  const { describe, test, expect } = api;
  const idsOf = (rows: readonly { readonly id: string }[]): string[] => rows.map(({ id }) => id);

  describe('the format of what is stored', () => {
    test('is that of the last turn of an operation', async () => {
      const start = birth(fresh('shop'), { format: LATER });
      await apply(start);
      const before = await rowOf(start);
      await apply(moving(start, born, { format: OLDER }));

      expect([before.format, (await rowOf(start)).format]).toEqual([LATER, OLDER]);
    });

    test('is that of the last turn of a saga, and of each of its operations that of the last turn that changed it', async () => {
      const [changed, left] = [step({ format: OLDER }), step({ format: OLDER })];
      const start = sagaBirth(fresh('shop'), { format: OLDER, operations: [changed, left] });
      await applySaga(start);
      const before = await sagaOf(start);
      const added = step({ format: NEWER });
      await applySaga(
        sagaMoving(start, born, { format: NEWER, operations: [stepped(changed, { format: NEWER }), added] }),
      );

      const after = await sagaOf(start);
      expect([before.format, ...before.operations.map(({ format }) => format)]).toEqual([OLDER, OLDER, OLDER]);
      expect([after.format, ...after.operations.map(({ format }) => format)]).toEqual([NEWER, NEWER, OLDER, NEWER]);
    });

    test('stands in every list', async () => {
      const tenant = fresh('shop');
      const doubtful = birth(tenant, { state: 'escalated', format: LATER });
      const settled = birth(tenant, { state: 'succeeded', format: LATER }, { action: fresh('gift') });
      const escalated = sagaBirth(tenant, { state: 'escalated', format: LATER });
      await apply(doubtful);
      await apply(settled);
      await applySaga(escalated);
      const page = { tenant, limit: 10, after: null };

      const listed = [
        ...(await verb().doubts(page)),
        ...(await verb().settledBetween({
          ...{ actions: [settled.birth?.action ?? ''], from: 0, to: Number.MAX_SAFE_INTEGER, limit: 10, after: null },
        })),
        ...(await verb().escalatedSagas(page)),
        ...(await verb().sagasInFlight({ ...page, name: 'order', version: 1 })),
      ];

      expect(listed.map(({ id, format }) => ({ id, format }))).toEqual(
        [doubtful, settled, escalated, escalated].map(({ id }) => ({ id, format: LATER })),
      );
    });
  });

  const kinds: readonly Kind[] = [operations(), sagas()];
  for (const { called, born: bear, moved, drain, claim } of kinds) {
    describe(`${called} in a format that this version does not read`, () => {
      test('is left, due, handed something over, of a dead worker or asked for', async () => {
        const tenant = fresh('shop');
        const [due, said, left] = [
          await bear(tenant, LATER, 0),
          await bear(tenant, LATER, 99 * MINUTE),
          await bear(tenant, LATER, 0, fresh('nobody')),
        ];
        await verb().handOver(handing(said, 'h1'));
        await advance(MINUTE);
        const worker = await enlisted();

        const rows = [
          ...(await claim(verb(), worker, 1_000)),
          ...(await claim(verb(), worker, 1_000, { without: [] })),
          ...(await claim(verb(), worker, 1_000, { without: [tenant] })),
        ];
        for (const ref of [due, said, left]) rows.push(...(await claim(verb(), worker, 1, ref)));

        expect(rows).toEqual([]);
      });

      test('keeps nothing else from being claimed, be it older and be there as much of it as may be', async () => {
        const tenant = fresh('shop');
        await Promise.all(Array.from({ length: MANY }, () => bear(tenant, LATER, 0)));
        const [first, second] = [await bear(tenant, NEWER, MINUTE), await bear(tenant, OLDER, 2 * MINUTE)];
        await advance(10 * MINUTE);
        await drain();

        const rows = [
          ...(await claim(verb(), await enlisted(), 1)),
          ...(await claim(verb(), await enlisted(), 1, { without: [] })),
        ];

        expect(idsOf(rows)).toEqual(idsOf([first, second]));
      });

      test('takes no turn from the tenants that have something else', async () => {
        const shop = fresh('shop');
        for (let n = 0; n < 5; n += 1) await bear(`${shop}-${n}`, LATER, 0);
        const last = [await bear(`${shop}-5`, NEWER, MINUTE), await bear(`${shop}-5`, NEWER, 2 * MINUTE)];
        await advance(10 * MINUTE);
        await drain();

        const rows = await claim(verb(), await enlisted(), 2, { without: [] });

        expect(idsOf(rows)).toEqual(idsOf(last));
      });

      test('is given out as ever once a turn has written it in another', async () => {
        const ref = await bear(fresh('shop'), LATER, 0);

        await moved(ref, OLDER);
        const rows = await claim(verb(), await enlisted(), 1, ref);

        expect(idsOf(rows)).toEqual([ref.id]);
      });
    });
  }

  function operations(): Kind {
    const action = fresh('gift.wrap');
    return {
      called: 'an operation',
      async born(tenant, format, inMs, owner) {
        const turn: Turn = birth(tenant, { format, dueInMs: inMs, owner: owner ?? null }, { action });
        await apply(turn);
        return turn;
      },
      async moved(ref, format) {
        await apply(moving(ref, born, { format, state: 'pending', dueInMs: 0 }));
      },
      async drain() {
        await verb().claim(await enlisted(), ['payment.authorise', 'label.buy'], 10_000);
      },
      claim: (store, worker, limit, which) => store.claim(worker, [action], limit, which),
    };
  }

  function sagas(): Kind {
    const name = fresh('gift');
    return {
      called: 'a saga',
      async born(tenant, format, inMs, owner) {
        const dues = [{ name: 'timer', inMs }];
        const turn: SagaTurn = sagaBirth(tenant, { format, dues, owner: owner ?? null }, { name });
        await applySaga(turn);
        return turn;
      },
      async moved(ref, format) {
        await applySaga(sagaMoving(ref, born, { format, dues: [{ name: 'timer', inMs: 0 }] }));
      },
      async drain() {
        const orders = ['order', 'return'].flatMap((each) => [1, 2].map((version) => ({ name: each, version })));
        await verb().claimSagas(await enlisted(), orders, 10_000);
      },
      claim: (store, worker, limit, which) => store.claimSagas(worker, [{ name, version: 1 }], limit, which),
    };
  }
}
