/**
 * The promises of the store port about sagas, as tests that `storeSuite` declares with the rest. A turn of a saga is
 * written with everything that it changes of its operations, or not at all: so each refusal is followed by a look at all
 * that it would have touched.
 */

import { decode, encode } from '../domain/codec.ts';
import { FORMAT_WRITTEN } from '../domain/format.ts';
import type { Json } from '../domain/json.ts';
import type {
  EscalatedSagaRow,
  Fence,
  NewRecord,
  OperationRef,
  SagaRow,
  SagaTurn,
  SagaVersion,
  Start,
} from '../ports/store.ts';
import {
  birth,
  countPresent,
  fences,
  fresh,
  handing,
  moving,
  sagaBirth,
  sagaMoving,
  step,
  stepped,
  values,
} from './store-turns.ts';
import type { Bench, TestApi } from './store-under-test.ts';
import { turnTests } from './turn-store-suite.ts';

const minute = 60_000;

/** What the workers of the invented shops know how to run. */
const definitions: readonly SagaVersion[] = [
  { name: 'order', version: 1 },
  { name: 'order', version: 2 },
  { name: 'return', version: 1 },
];
const actions = ['payment.authorise', 'label.buy'];

/** How a saga is after its birth, when nobody owns it. */
const born: Fence = { owner: null, generation: 1, revision: 1 };
const next = (revision: number): Fence => ({ ...born, revision });

export function sagaTests(held: Bench, api: TestApi): void {
  const { describe, test, expect } = api;
  const { verb, advance, still, movable, here, enlist, enlisted, rowOf, starting } = held;
  const { apply: applyOne, applySaga: apply, sagaOf } = held;

  /** All that there is of a saga. */
  const everythingOf = async (ref: OperationRef): Promise<unknown> => {
    const row = await sagaOf(ref);
    const timeless = { ...row, now: 0, operations: row.operations.map((operation) => ({ ...operation, now: 0 })) };
    return { ...timeless, records: await verb().sagaRecords(ref) };
  };
  /** Claims as a worker would, and tells only of the tenant in question: other tests left rows of theirs. */
  const claimed = async (worker: string, tenant: string): Promise<SagaRow[]> => {
    const rows = await verb().claimSagas(worker, definitions, 1_000);
    return rows.filter((row) => row.tenant === tenant);
  };
  /** Gives everything that other tests left claimable to a living worker, so that limits count only our own. */
  const drain = async (): Promise<void> => {
    await verb().claimSagas(await enlisted(), definitions, 10_000);
  };
  const idsOf = (rows: readonly { readonly id: string }[]): string[] => rows.map(({ id }) => id);
  /** The start of a change; the timeline is that of its turn. */
  const begun = (start: Partial<Start> = {}): Omit<Start, 'timeline'> => {
    const { timeline: _, ...rest } = starting(start);
    return rest;
  };

  describe('the birth of a saga', () => {
    test('is written as it was given, with its operations, at the time of the store', async () => {
      const tenant = fresh('shop');
      const operation = step({ state: 'in-progress', start: begun() });
      const turn = sagaBirth(tenant, {
        ...{ owner: 'w1', reason: 'limit', operations: [operation], timeline: here() },
        dues: [{ name: 'within', inMs: 5_000 }],
      });

      const receipt = await apply(turn);

      const row = await sagaOf(turn);
      expect(row).toEqual({
        tenant,
        id: turn.id,
        name: 'order',
        key: turn.birth?.key,
        version: 1,
        hash: 'hash-1',
        fingerprint: 'fp-1',
        owner: 'w1',
        generation: 1,
        revision: 1,
        turn: turn.turn,
        born: turn.turn,
        state: 'in-progress',
        since: receipt.now,
        dueAt: receipt.now + 5_000,
        dues: { within: receipt.now + 5_000 },
        createdAt: receipt.now,
        reason: 'limit',
        input: { items: 3 },
        format: FORMAT_WRITTEN,
        snapshot: { value: 'in-progress' },
        output: null,
        operations: [
          {
            tenant,
            id: operation.id,
            saga: turn.id,
            action: 'payment.authorise',
            key: operation.birth?.key,
            providerKey: operation.birth?.providerKey,
            fingerprint: 'fp-1',
            owner: null,
            generation: 0,
            revision: 1,
            turn: turn.turn,
            born: turn.turn,
            state: 'in-progress',
            since: receipt.now,
            dueAt: null,
            createdAt: receipt.now,
            firstStartedAt: receipt.now,
            sendBy: receipt.now + 5_000,
            windowEndsAt: receipt.now + 52_000,
            reason: null,
            contradictedAt: null,
            input: { amount: 1200 },
            format: FORMAT_WRITTEN,
            snapshot: { value: 'in-progress' },
            output: null,
            handovers: [],
            now: row.now,
          },
        ],
        handovers: [],
        now: row.now,
      });
      expect(receipt).toEqual({
        ...{ revision: 1, now: receipt.now, since: receipt.now, met: [] },
        ...{ dueAt: receipt.now + 5_000, dues: { within: receipt.now + 5_000 } },
        operations: {
          [operation.id]: {
            revision: 1,
            since: receipt.now,
            createdAt: receipt.now,
            firstStartedAt: receipt.now,
            sendBy: receipt.now + 5_000,
            windowEndsAt: receipt.now + 52_000,
          },
        },
      });
      expect(await rowOf({ tenant, id: operation.id })).toMatchObject({ saga: turn.id, born: turn.turn });
    });

    test('happens once when 50 turns bring the same identity at the same moment', async () => {
      const tenant = fresh('shop');
      const turns = Array.from({ length: 50 }, () =>
        sagaBirth(tenant, { operations: [step(), step()] }, { key: 'order-17' }),
      );

      const receipts = await Promise.all(turns.map((turn) => verb().sagaTurn(turn)));

      const written = turns.filter((_, index) => receipts[index] !== null);
      expect(written.length).toBe(1);
      const row = await verb().readSagaByIdentity({ tenant, name: 'order', key: 'order-17' });
      expect([row?.id, row?.turn]).toEqual([written[0]?.id, written[0]?.turn]);
      expect(await Promise.all(turns.map((turn) => verb().readSaga(turn))).then(countPresent)).toBe(1);
      const histories = await Promise.all(turns.map((turn) => verb().sagaRecords(turn)));
      expect(histories.flat().length).toBe(3);
      const operations = turns.flatMap((turn) => turn.operations.map(({ id }) => verb().read({ tenant, id })));
      expect(await Promise.all(operations).then(countPresent)).toBe(2);
    });

    test('happens once when 50 turns bring the same id at the same moment', async () => {
      const tenant = fresh('shop');
      const turns = Array.from({ length: 50 }, () => sagaBirth(tenant, { id: 'one', operations: [step()] }));

      const receipts = await Promise.all(turns.map((turn) => verb().sagaTurn(turn)));

      expect(countPresent(receipts)).toBe(1);
      const written = turns.find((_, index) => receipts[index] !== null);
      const row = await sagaOf({ tenant, id: 'one' });
      expect([row.key, idsOf(row.operations)]).toEqual([written?.birth?.key, idsOf(written?.operations ?? [])]);
      expect((await verb().sagaRecords({ tenant, id: 'one' })).length).toBe(2);
    });

    test('is written once when it is repeated, and the rows name the turn that made them', async () => {
      const turn = sagaBirth(fresh('shop'), { operations: [step()], dues: [{ name: 'within', inMs: 5_000 }] });
      await apply(turn);
      const before = await everythingOf(turn);
      await advance(1_000);

      const repeated = await verb().sagaTurn(turn);

      expect(repeated).toBe(null);
      expect(await everythingOf(turn)).toEqual(before);
      const row = await sagaOf(turn);
      expect([row.turn, row.born, row.operations[0]?.turn]).toEqual([turn.turn, turn.turn, turn.turn]);
    });

    test('is another saga under another key, another name or another tenant, and not in another version', async () => {
      const [tenant, other] = [fresh('shop'), fresh('shop')];
      const turns = [
        sagaBirth(tenant, {}, { key: 'order-17' }),
        sagaBirth(tenant, {}, { key: 'order-18' }),
        sagaBirth(tenant, {}, { key: 'order-17', name: 'return' }),
        sagaBirth(other, {}, { key: 'order-17' }),
      ];

      const receipts = await Promise.all(turns.map((turn) => verb().sagaTurn(turn)));
      const later = await verb().sagaTurn(sagaBirth(tenant, {}, { key: 'order-17', version: 2 }));

      expect(countPresent(receipts)).toBe(4);
      expect(later).toBe(null);
    });

    test('that rests on another timeline writes nothing, and leaves its identities to the next', async () => {
      const tenant = fresh('shop');
      const operation = step({ start: begun() }, { key: 'order-17' });
      const turn = sagaBirth(tenant, { operations: [operation], timeline: fresh('timeline') }, { key: 'order-17' });

      const receipt = await verb().sagaTurn(turn);

      expect(receipt).toBe(null);
      expect(await verb().readSaga(turn)).toBe(null);
      expect(await verb().read({ tenant, id: operation.id })).toBe(null);
      expect(await verb().sagaRecords(turn)).toEqual([]);
      const second = step({ start: begun() }, { key: 'order-17' });
      const then = sagaBirth(tenant, { operations: [second], timeline: here() }, { key: 'order-17' });
      expect(Object.keys((await apply(then)).operations)).toEqual([second.id]);
    });

    test('of 40 sagas at the same moment keeps each with its own', async () => {
      const tenant = fresh('shop');
      const turns = Array.from({ length: 40 }, (_, n) =>
        sagaBirth(tenant, {
          operations: Array.from({ length: n % 4 }, () => step()),
          dues: [{ name: `due-${n}`, inMs: minute + n }],
        }),
      );

      const receipts = await Promise.all(turns.map(apply));

      for (const [n, turn] of turns.entries()) {
        const [row, receipt] = [await sagaOf(turn), receipts[n]];
        expect(idsOf(row.operations)).toEqual(idsOf(turn.operations));
        expect(Object.keys(receipt?.operations ?? {}).sort()).toEqual(idsOf(turn.operations).sort());
        expect(row.dues).toEqual({ [`due-${n}`]: row.createdAt + minute + n });
        expect((await verb().sagaRecords(turn)).length).toBe(1 + (n % 4));
      }
    });
  });

  describe('a move of a saga', () => {
    test('is applied while the row is as it was, and changes of its operations what it names', async () => {
      const [first, second] = [step(), step()];
      const start = sagaBirth(fresh('shop'), { owner: 'w1', operations: [first, second] });
      const { now: bornAt } = await apply(start);
      await advance(1_000);
      const third = step({ state: 'in-progress' });
      const turn = sagaMoving(start, { ...born, owner: 'w1' }, { owner: 'w2', generation: 7, state: 'waiting' });
      const ended = stepped(first, { state: 'succeeded', output: { id: 'pi_1' } });

      const receipt = await apply({ ...turn, operations: [ended, third] });

      const row = await sagaOf(start);
      expect(row).toMatchObject({
        ...{ owner: 'w2', generation: 7, revision: 2, turn: turn.turn, born: start.turn },
        ...{ state: 'waiting', since: receipt.now, createdAt: bornAt, snapshot: { value: 'waiting' } },
        input: { items: 3 },
      });
      const told = row.operations.map(({ id, state, revision, turn, output }) => [id, state, revision, turn, output]);
      expect(told).toEqual([
        [first.id, 'succeeded', 2, turn.turn, { id: 'pi_1' }],
        [second.id, 'in-progress', 1, start.turn, null],
        [third.id, 'in-progress', 1, turn.turn, null],
      ]);
      expect([receipt.revision, receipt.met]).toEqual([2, []]);
      expect(receipt.operations).toEqual({
        [first.id]: {
          ...{ revision: 2, since: receipt.now, createdAt: bornAt },
          ...{ firstStartedAt: null, sendBy: null, windowEndsAt: null },
        },
        [third.id]: {
          ...{ revision: 1, since: receipt.now, createdAt: receipt.now },
          ...{ firstStartedAt: null, sendBy: null, windowEndsAt: null },
        },
      });
    });

    for (const [what, was] of fences) {
      test(`that expects ${what} writes nothing: no row, no operation, no history, no hand-over taken`, async () => {
        const [operation, another] = [step(), step()];
        const start = sagaBirth(fresh('shop'), { owner: 'w1', operations: [operation] });
        await apply(start);
        await verb().handOver(handing(start, 'h1'));
        const before = await everythingOf(start);

        const receipt = await verb().sagaTurn(
          sagaMoving(start, was, {
            ...{ takes: ['h1'], state: 'compensating', dues: [{ name: 'within', inMs: 0 }] },
            operations: [stepped(operation, { state: 'failed' }), another],
          }),
        );

        expect(receipt).toBe(null);
        expect(await everythingOf(start)).toEqual(before);
        expect(await verb().read({ tenant: start.tenant, id: another.id })).toBe(null);
      });
    }

    test('by a worker that was taken for dead changes nothing once another has claimed the saga', async () => {
      const [dead, heir] = [await enlisted(), await enlisted()];
      const operation = step();
      const start = sagaBirth(fresh('shop'), { owner: dead, operations: [operation] });
      await apply(start);
      await verb().retire(dead);
      await verb().claimSagas(heir, definitions, 1, start);
      const before = await everythingOf(start);

      const late = await verb().sagaTurn(
        sagaMoving(start, { ...born, owner: dead }, { operations: [stepped(operation, { state: 'succeeded' })] }),
      );

      expect(late).toBe(null);
      expect(await everythingOf(start)).toEqual(before);
    });

    test('is applied once when 50 turns expect the same row at the same moment', async () => {
      const operation = step();
      const start = sagaBirth(fresh('shop'), { operations: [operation] });
      await apply(start);
      const turns = Array.from({ length: 50 }, () =>
        sagaMoving(start, born, { operations: [stepped(operation, { state: 'succeeded' }), step()] }),
      );

      const receipts = await Promise.all(turns.map((turn) => verb().sagaTurn(turn)));

      expect(countPresent(receipts)).toBe(1);
      const row = await sagaOf(start);
      const written = turns.find((_, index) => receipts[index] !== null);
      expect([row.turn, row.revision]).toEqual([written?.turn, 2]);
      expect(idsOf(row.operations)).toEqual([operation.id, written?.operations[1]?.id]);
      expect((await verb().sagaRecords(start)).length).toBe(5);
    });

    test('is written once when it is repeated, and the row names the turn', async () => {
      const operation = step();
      const start = sagaBirth(fresh('shop'), { owner: 'w1', operations: [operation] });
      await apply(start);
      const turn = sagaMoving(start, { ...born, owner: 'w1' }, { operations: [stepped(operation), step()] });
      await apply(turn);
      const before = await everythingOf(start);

      const repeated = await verb().sagaTurn(turn);

      expect(repeated).toBe(null);
      expect(await everythingOf(start)).toEqual(before);
      expect(await sagaOf(start)).toMatchObject({ turn: turn.turn, revision: 2 });
    });

    test('that rests on another timeline writes nothing, and on this one is written', async () => {
      const operation = step();
      const start = sagaBirth(fresh('shop'), { operations: [operation] });
      await apply(start);
      await verb().handOver(handing(start, 'h1'));
      const before = await everythingOf(start);
      const turn = sagaMoving(start, born, { operations: [stepped(operation, { start: begun() })], takes: ['h1'] });

      const elsewhere = await verb().sagaTurn({ ...turn, timeline: fresh('timeline') });
      const unchanged = await everythingOf(start);
      const received = await verb().sagaTurn({ ...turn, timeline: here() });

      expect([elsewhere, unchanged]).toEqual([null, before]);
      expect(received?.revision).toBe(2);
    });

    test('that rests on a timeline which was left by a fail-over writes nothing', async () => {
      await movable(async (failOver) => {
        await enlist(fresh('worker'));
        const left = here();
        const operation = step();
        const start = sagaBirth(fresh('shop'), { operations: [operation] });
        await apply(start);
        const turn = sagaMoving(start, born, { operations: [stepped(operation, { start: begun() })] });

        await failOver();

        expect(await verb().sagaTurn({ ...turn, timeline: left })).toBe(null);
        await enlist(fresh('worker'));
        expect((await apply({ ...turn, timeline: here() })).revision).toBe(2);
      });
    });

    test('of a saga that does not exist writes nothing', async () => {
      const ghost = sagaBirth(fresh('shop'));
      const operation = step();

      const receipt = await verb().sagaTurn(sagaMoving(ghost, born, { operations: [operation] }));

      expect(receipt).toBe(null);
      expect(await verb().readSaga(ghost)).toBe(null);
      expect(await verb().read({ tenant: ghost.tenant, id: operation.id })).toBe(null);
      expect(await verb().sagaRecords(ghost)).toEqual([]);
    });

    test('keeps the time since which the state holds until the state changes', async () => {
      const start = sagaBirth(fresh('shop'), { state: 'waiting' });
      const begin = await apply(start);
      await advance(1_000);

      const same = await apply(sagaMoving(start, born, { state: 'waiting' }));
      const changed = await apply(sagaMoving(start, next(2), { state: 'compensating' }));

      expect(same.since).toBe(begin.since);
      expect(changed.since).toBe(changed.now);
      expect(changed.now).toBeGreaterThanOrEqual(begin.now + 1_000);
    });

    test('keeps the output that is stored unless it brings one, and sets and clears the reason', async () => {
      const start = sagaBirth(fresh('shop'));
      await apply(start);

      await apply(sagaMoving(start, born, { output: { total: 1 }, reason: 'limit' }));
      await apply(sagaMoving(start, next(2), { output: null }));
      const kept = await sagaOf(start);
      await apply(sagaMoving(start, next(3), { output: { total: 2 } }));

      expect([kept.output, kept.reason]).toEqual([{ total: 1 }, null]);
      expect((await sagaOf(start)).output).toEqual({ total: 2 });
    });
  });

  describe('the list of escalated sagas', () => {
    const listed = async (tenant: string, after: EscalatedSagaRow | null = null, limit = 10): Promise<string[]> =>
      idsOf(await verb().escalatedSagas({ tenant, limit, after }));
    const escalating = (tenant: string, turn: Partial<SagaTurn> = {}): SagaTurn =>
      sagaBirth(tenant, { state: 'escalated', reason: 'definition-fault', ...turn });
    /** Four that are escalated one after the other. */
    const four = async (tenant: string): Promise<readonly [SagaTurn, SagaTurn, SagaTurn, SagaTurn]> => {
      const turns = [escalating(tenant), escalating(tenant), escalating(tenant), escalating(tenant)] as const;
      for (const turn of turns) {
        await apply(turn);
        await advance(10);
      }
      return turns;
    };

    test('has what is escalated, and no other, with what tells about it', async () => {
      const tenant = fresh('shop');
      const states = ['waiting', 'escalated', 'in-progress', 'compensating', 'succeeded', 'terminated'] as const;
      const turns = states.map((state) => sagaBirth(tenant, { state, reason: 'joined' }));
      for (const turn of turns) await apply(turn);
      const [, escalated] = turns;
      if (escalated === undefined) throw new Error('One is needed.');
      await verb().handOver(handing(escalated, 'h1'));

      const rows = await verb().escalatedSagas({ tenant, limit: 10, after: null });

      const { id, name, version, key, reason, since, dueAt, format, snapshot } = await sagaOf(escalated);
      expect(rows).toEqual([{ tenant, id, name, version, key, reason, since, dueAt, format, snapshot }]);
    });

    test('begins with what has been escalated longest, whatever moved since, and tells when it is due', async () => {
      const tenant = fresh('shop');
      const [first, second, third, fourth] = await four(tenant);

      const { dueAt } = await apply(
        sagaMoving(first, born, { state: 'escalated', dues: [{ name: 'fault', inMs: minute }] }),
      );
      await apply(sagaMoving(second, born, { state: 'in-progress' }));
      await apply(sagaMoving(second, next(2), { state: 'escalated' }));

      expect(await listed(tenant)).toEqual([first.id, third.id, fourth.id, second.id]);
      const [oldest] = await verb().escalatedSagas({ tenant, limit: 1, after: null });
      expect(oldest?.dueAt).toBe(dueAt);
    });

    test('is paged without omission or repetition', async () => {
      const tenant = fresh('shop');
      const turns = Array.from({ length: 7 }, () => escalating(tenant));
      await still(async () => {
        for (const [index, turn] of turns.entries()) {
          await apply(turn);
          if (index % 2 === 0) await advance(10);
        }
      });

      const seen: string[] = [];
      let after: EscalatedSagaRow | null = null;
      for (let page = 0; page < 4; page += 1) {
        const rows: readonly EscalatedSagaRow[] = await verb().escalatedSagas({ tenant, limit: 2, after });
        seen.push(...idsOf(rows));
        after = rows.at(-1) ?? null;
      }

      expect(seen.length).toBe(7);
      expect([...seen].sort()).toEqual(turns.map(({ id }) => id).sort());
      expect(seen[0]).toBe(turns[0]?.id);
    });

    test('keeps the place of its reader when what it ended at has left', async () => {
      const tenant = fresh('shop');
      const [first, second, third, fourth] = await four(tenant);
      const page = await verb().escalatedSagas({ tenant, limit: 2, after: null });

      await apply(sagaMoving(first, born, { state: 'terminated' }));
      await apply(sagaMoving(second, born, { state: 'in-progress' }));

      expect(idsOf(page)).toEqual([first.id, second.id]);
      expect(await listed(tenant, page.at(-1))).toEqual([third.id, fourth.id]);
      expect(await listed(tenant)).toEqual([third.id, fourth.id]);
    });

    test('is of one tenant when one is named, and of all otherwise', async () => {
      const [left, right] = [escalating(fresh('shop')), escalating(fresh('shop'))];
      await apply(left);
      await apply(right);

      const ofAll = await verb().escalatedSagas({ tenant: null, limit: 10_000, after: null });

      expect(await listed(left.tenant)).toEqual([left.id]);
      expect(ofAll.filter(({ id }) => id === left.id || id === right.id).length).toBe(2);
    });
  });

  describe('an operation of a saga', () => {
    test('is listed with its saga in the order of birth, whatever it is called', async () => {
      const start = sagaBirth(fresh('shop'), {
        operations: [step({}, { key: 'z' }), step({ id: `z-${fresh('op')}` }, { key: 'b' }), step({}, { key: 'm' })],
      });
      const later = [step({ id: `a-${fresh('op')}` }, { key: 'y' }), step({}, { key: 'a', action: 'label.buy' })];

      await still(async () => {
        await apply(start);
        await apply(
          sagaMoving(start, born, { operations: [...start.operations.map(({ id }) => stepped({ id })), ...later] }),
        );
      });

      const { operations } = await sagaOf(start);
      expect(operations.map(({ key }) => key)).toEqual(['z', 'b', 'm', 'y', 'a']);
    });

    test('is found by id and identity, with its own history, and what it is to the doubts', async () => {
      const tenant = fresh('shop');
      const operation = step({ state: 'unknown', contradicted: true }, { key: 'order-17' });
      const start = sagaBirth(tenant, { operations: [operation] });
      const { now } = await apply(start);
      await apply(sagaMoving(start, born, { operations: [stepped(operation, { state: 'reconciling' })] }));

      const row = await rowOf({ tenant, id: operation.id });

      expect(row).toMatchObject({ saga: start.id, state: 'reconciling', revision: 2, contradictedAt: now });
      expect(await verb().readByIdentity({ tenant, action: 'payment.authorise', key: 'order-17' })).toMatchObject({
        id: operation.id,
        saga: start.id,
      });
      expect((await verb().records(row)).map(({ revision, body }) => [revision, body])).toEqual([
        [1, { to: 'unknown' }],
        [2, { to: 'reconciling' }],
      ]);
      expect(idsOf(await verb().doubts({ tenant, limit: 5, after: null }))).toEqual([operation.id]);
    });

    test('is listed among what settled', async () => {
      const action = fresh('action');
      const operation = step({}, { action });
      const start = sagaBirth(fresh('shop'), { operations: [operation] });
      await apply(start);

      const { now } = await apply(
        sagaMoving(start, born, { operations: [stepped(operation, { state: 'succeeded' })] }),
      );

      const query = { actions: [action], from: now, to: now, limit: 5, after: null };
      expect((await verb().settledBetween(query)).map(({ id, saga }) => [id, saga])).toEqual([
        [operation.id, start.id],
      ]);
    });

    test('keeps its output unless the change brings one, and the time of the first contradiction', async () => {
      const operation = step({ state: 'succeeded', output: { id: 'pi_1' } });
      const start = sagaBirth(fresh('shop'), { operations: [operation] });
      await apply(start);
      const contradiction = stepped(operation, { state: 'succeeded', contradicted: true });

      const first = await apply(sagaMoving(start, born, { operations: [contradiction] }));
      await advance(1_000);
      await apply(sagaMoving(start, next(2), { operations: [contradiction] }));

      const [row] = (await sagaOf(start)).operations;
      expect([row?.output, row?.contradictedAt]).toEqual([{ id: 'pi_1' }, first.now]);
      expect(row?.since).toBe(row?.createdAt);
    });

    test('is moved by its saga only', async () => {
      const tenant = fresh('shop');
      const operation = step();
      await apply(sagaBirth(tenant, { operations: [operation] }));
      const ref = { tenant, id: operation.id };

      const alone = await verb().turn(moving(ref, { owner: null, generation: 0, revision: 1 }));

      expect(alone).toBe(null);
      expect((await rowOf(ref)).revision).toBe(1);
    });

    test('is never claimed by itself, due or handed over, swept or asked for', async () => {
      const tenant = fresh('shop');
      const operation = step({ state: 'unknown' });
      await apply(sagaBirth(tenant, { owner: fresh('nobody'), operations: [operation] }));
      const ref = { tenant, id: operation.id };
      await verb().handOver(handing(ref, 'h1'));
      const worker = await enlisted();

      const swept = await verb().claim(worker, actions, 1_000);
      const asked = await verb().claim(worker, actions, 1, ref);

      expect([...swept.filter((row) => row.tenant === tenant), ...asked]).toEqual([]);
      expect(await rowOf(ref)).toMatchObject({ owner: null, generation: 0 });
    });

    const strangers: readonly (readonly [string, (tenant: string) => Promise<string>])[] = [
      ['there is not', async () => fresh('op')],
      [
        'belongs to another saga',
        async (tenant) => {
          const operation = step();
          await apply(sagaBirth(tenant, { operations: [operation] }));
          return operation.id;
        },
      ],
      [
        'stands alone',
        async (tenant) => {
          const alone = birth(tenant);
          await applyOne(alone);
          return alone.id;
        },
      ],
      [
        'belongs to the saga of another tenant that has the same id',
        async () => {
          const operation = step();
          await apply(sagaBirth(fresh('shop'), { id: 'saga-1', operations: [operation] }));
          return operation.id;
        },
      ],
    ];
    for (const [what, stranger] of strangers) {
      test(`that ${what} is not changed, and nothing of the turn is written`, async () => {
        const tenant = fresh('shop');
        const id = await stranger(tenant);
        const own = step();
        const start = sagaBirth(tenant, { id: 'saga-1', operations: [own] });
        await apply(start);
        const [before, strange] = [await everythingOf(start), await verb().read({ tenant, id })];

        const receipt = await verb().sagaTurn(
          sagaMoving(start, born, { operations: [stepped(own), stepped({ id }), step()] }),
        );

        expect(receipt).toBe(null);
        expect(await everythingOf(start)).toEqual(before);
        expect((await verb().read({ tenant, id }))?.turn).toBe(strange?.turn);
      });
    }
  });

  describe('the start of an attempt by a saga', () => {
    const again = begun({ insideWindow: true });

    test('counts its times as one that stands alone does', async () => {
      const operation = step({ start: begun({ sendWithinMs: 10_000 }) });
      const start = sagaBirth(fresh('shop'), { operations: [operation], timeline: here() });
      const first = (await apply(start)).operations[operation.id];
      await advance(10_000);

      const inside = await apply(sagaMoving(start, born, { operations: [stepped(operation, { start: again })] }));
      const second = inside.operations[operation.id];

      const { createdAt: at = 0 } = first ?? {};
      expect([first?.firstStartedAt, first?.sendBy, first?.windowEndsAt]).toEqual([at, at + 10_000, at + 52_000]);
      expect([second?.firstStartedAt, second?.sendBy, second?.windowEndsAt]).toEqual([
        at,
        inside.now + 5_000,
        at + 52_000,
      ]);
    });

    test('inside the window is written until the millisecond before its end, and not at its end', async () => {
      const [early, late] = [step({ start: begun() }), step({ start: begun() })];
      const tenant = fresh('shop');
      const [inTime, tooLate] = [sagaBirth(tenant, { operations: [early] }), sagaBirth(tenant, { operations: [late] })];

      await still(async () => {
        const first = await apply(inTime);
        await apply(tooLate);
        await advance(51_999);
        const inside = await apply(sagaMoving(inTime, born, { operations: [stepped(early, { start: again })] }));
        await advance(1);
        const before = await everythingOf(tooLate);
        const outside = await verb().sagaTurn(
          sagaMoving(tooLate, born, { operations: [step(), stepped(late, { start: again })] }),
        );

        expect(inside.operations[early.id]?.sendBy).toBe(first.now + 52_000);
        expect(outside).toBe(null);
        expect(await everythingOf(tooLate)).toEqual(before);
      });
    });

    test('inside the window of one holds up the whole turn when the window of another is over', async () => {
      const [forgotten, known] = [step({ start: begun({ retentionMs: 20_000 }) }), step({ start: begun() })];
      const start = sagaBirth(fresh('shop'), { operations: [forgotten, known] });
      await apply(start);
      await advance(30_000);
      const before = await everythingOf(start);

      const both = await verb().sagaTurn(
        sagaMoving(start, born, {
          operations: [stepped(known, { start: again }), stepped(forgotten, { start: again })],
        }),
      );
      const unchanged = await everythingOf(start);
      const one = await verb().sagaTurn(
        sagaMoving(start, born, { operations: [stepped(known, { start: again }), stepped(forgotten)] }),
      );

      expect([both, unchanged]).toEqual([null, before]);
      expect(one?.revision).toBe(2);
    });

    test('inside a window that there is not writes nothing', async () => {
      const operation = step();
      const start = sagaBirth(fresh('shop'), { operations: [operation] });
      await apply(start);

      const receipt = await verb().sagaTurn(
        sagaMoving(start, born, { operations: [stepped(operation, { start: again })] }),
      );

      expect(receipt).toBe(null);
    });
  });

  describe('an operation that cannot be born', () => {
    const key = 'order-17';
    const elsewhere: readonly (readonly [string, (start: SagaTurn) => Promise<unknown>])[] = [
      ['an earlier one of the same saga', async (start) => apply({ ...start, operations: [step({}, { key })] })],
      [
        'one of another saga',
        async (start) => {
          await apply(start);
          await apply(sagaBirth(start.tenant, { operations: [step({}, { key })] }));
        },
      ],
      [
        'one that stands alone',
        async (start) => {
          await apply(start);
          await applyOne(birth(start.tenant, {}, { key }));
        },
      ],
    ];
    for (const [whose, arrange] of elsewhere) {
      test(`because its identity is that of ${whose} is met, and the rest of the turn is written`, async () => {
        const { tenant } = sagaBirth(fresh('shop'));
        const start = sagaBirth(tenant);
        await arrange(start);
        const before = await verb().readByIdentity({ tenant, action: 'payment.authorise', key });
        const [meeting, other] = [step({}, { key }), step()];

        const receipt = await apply(sagaMoving(start, born, { operations: [meeting, other] }));

        expect(receipt.met).toEqual([meeting.id]);
        expect(Object.keys(receipt.operations)).toEqual([other.id]);
        const after = await verb().readByIdentity({ tenant, action: 'payment.authorise', key });
        expect({ ...after, now: 0 }).toEqual({ ...before, now: 0 });
        expect(await verb().read({ tenant, id: meeting.id })).toBe(null);
        expect(await verb().records({ tenant, id: meeting.id })).toEqual([]);
        expect((await sagaOf(start)).revision).toBe(2);
      });
    }

    test('because the same turn brings its identity twice is met by the first', async () => {
      const twins = [step({}, { key }), step({}, { key })];
      const start = sagaBirth(fresh('shop'), { operations: twins });

      const receipt = await apply(start);

      expect([Object.keys(receipt.operations), receipt.met]).toEqual([[twins[0]?.id], [twins[1]?.id]]);
      expect(idsOf((await sagaOf(start)).operations)).toEqual([twins[0]?.id]);
      expect((await verb().sagaRecords(start)).length).toBe(2);
    });

    test('because its id is taken is met, whatever its identity', async () => {
      const tenant = fresh('shop');
      const alone = birth(tenant);
      await applyOne(alone);
      const start = sagaBirth(tenant, { operations: [step({ id: alone.id })] });

      const receipt = await apply(start);

      expect([receipt.operations, receipt.met]).toEqual([{}, [alone.id]]);
      expect(await rowOf(alone)).toMatchObject({ saga: null, revision: 1 });
      expect((await verb().records(alone)).length).toBe(1);
    });

    test('is met by all sagas but one that bring its identity at the same moment', async () => {
      const tenant = fresh('shop');
      const turns = Array.from({ length: 20 }, () => sagaBirth(tenant, { operations: [step({}, { key }), step()] }));

      const receipts = await Promise.all(turns.map(apply));

      expect(receipts.filter(({ met }) => met.length === 1).length).toBe(19);
      const row = await verb().readByIdentity({ tenant, action: 'payment.authorise', key });
      const [first] = turns.filter((_, index) => receipts[index]?.met.length === 0);
      expect([row?.saga, row?.id]).toEqual([first?.id, first?.operations[0]?.id]);
    });
  });

  describe('what a saga waits for', () => {
    test('is due at a time of its own, kept, added or given up by each turn, and the saga at the earliest', async () => {
      const start = sagaBirth(fresh('shop'), {
        dues: [
          { name: 'within', inMs: minute },
          { name: 'step.payment', inMs: 300.5 },
        ],
      });
      const first = await apply(start);
      await advance(1_000);

      const second = await apply(
        sagaMoving(start, born, {
          dues: [
            { name: 'within', inMs: null },
            { name: 'signal', inMs: 5_000 },
          ],
        }),
      );
      const then = await sagaOf(start);
      const third = await apply(sagaMoving(start, next(2), { dues: [{ name: 'signal', inMs: 2_000 }] }));
      const fourth = await apply(sagaMoving(start, next(3), { dues: [] }));

      expect(first.dues).toEqual({ within: first.now + minute, 'step.payment': first.now + 301 });
      expect(first.dueAt).toBe(first.now + 301);
      expect(second.dues).toEqual({ within: first.now + minute, signal: second.now + 5_000 });
      expect(second.dueAt).toBe(second.now + 5_000);
      expect([then.dues, then.dueAt]).toEqual([second.dues, second.dueAt]);
      expect([third.dues, third.dueAt]).toEqual([{ signal: third.now + 2_000 }, third.now + 2_000]);
      expect([fourth.dues, fourth.dueAt]).toEqual([{}, null]);
      expect([(await sagaOf(start)).dues, (await sagaOf(start)).dueAt]).toEqual([{}, null]);
    });

    test('is due at exactly the time that it names, past or to come, and keeps it while it is said to be as before', async () => {
      const start = sagaBirth(fresh('shop'));
      const { now } = await apply(start);
      const [past, soon, late] = [now - minute - 1, now + 1_001, now + 90 * 24 * 60 * minute + 7];

      const first = await apply(
        sagaMoving(start, born, {
          dues: [
            { name: 'signal', inMs: 0, at: late },
            { name: 'expiry', inMs: null, at: soon },
          ],
        }),
      );
      await advance(10);
      const second = await apply(
        sagaMoving(start, next(2), {
          dues: [
            { name: 'signal', inMs: null },
            { name: 'expiry', inMs: null },
          ],
        }),
      );
      const third = await apply(
        sagaMoving(start, next(3), {
          dues: [
            { name: 'signal', inMs: null, at: past },
            { name: 'expiry', inMs: null },
          ],
        }),
      );

      expect([first.dues, first.dueAt]).toEqual([{ signal: late, expiry: soon }, soon]);
      expect([second.dues, second.dueAt]).toEqual([{ signal: late, expiry: soon }, soon]);
      expect([third.dues, third.dueAt]).toEqual([{ signal: past, expiry: soon }, past]);
      expect([(await sagaOf(start)).dues, (await sagaOf(start)).dueAt]).toEqual([third.dues, past]);
    });

    test('is claimed at the time that it names, and not a millisecond before', async () => {
      const due = sagaBirth(fresh('shop'));
      await still(async () => {
        const { now } = await apply(due);
        await apply(sagaMoving(due, born, { dues: [{ name: 'expiry', inMs: null, at: now + minute }] }));
        const worker = await enlisted();

        await advance(minute - 1);
        const early = await claimed(worker, due.tenant);
        await advance(1);
        const inTime = await claimed(worker, due.tenant);

        expect([idsOf(early), idsOf(inTime)]).toEqual([[], [due.id]]);
      });
    });

    test('is due at once when it is said to be as before, and it was not there before', async () => {
      const start = sagaBirth(fresh('shop'), { dues: [{ name: 'new', inMs: null }] });

      const first = await apply(start);
      await advance(1_000);
      const second = await apply(
        sagaMoving(start, born, {
          dues: [
            { name: 'new', inMs: null },
            { name: 'newer', inMs: null },
          ],
        }),
      );

      expect([first.dues, first.dueAt]).toEqual([{ new: first.now }, first.now]);
      expect(second.dues).toEqual({ new: first.now, newer: second.now });
    });

    test('may be called anything', async () => {
      const names = ['', '__proto__', 'a.b', "it's", '"quoted"', '\\', '{}', '💳', 'constructor'];
      const start = sagaBirth(fresh('shop'), { dues: names.map((name, n) => ({ name, inMs: n * 1_000 })) });

      const { now } = await apply(start);

      const { dues } = await sagaOf(start);
      expect(Object.entries(dues).toSorted(([, a], [, b]) => a - b)).toEqual(
        names.map((name, n) => [name, now + n * 1_000]),
      );
    });
  });

  describe('the story of a saga', () => {
    const record = (kind: NewRecord['kind'], attempt: number | null, body: Json): NewRecord => ({
      kind,
      attempt,
      body,
    });

    test('is told in the order in which it was written, of the saga first and then of its operations', async () => {
      const first = step({ id: `z-${fresh('op')}`, records: [record('start', 1, 'z1')] }, { key: 'z' });
      const second = step({ id: `a-${fresh('op')}`, records: [record('start', 1, 'a1')] }, { key: 'a' });
      const start = sagaBirth(fresh('shop'), { operations: [first, second], records: [record('moved', null, 's1')] });

      await still(async () => {
        const begin = await apply(start);
        await apply(
          sagaMoving(start, born, {
            operations: [
              stepped(second, { records: [record('end', 1, 'a2'), record('evidence', null, 'a3')] }),
              stepped(first, { records: [record('end', 1, 'z2')] }),
            ],
            records: [record('moved', null, 's2'), record('cancel', null, 's3')],
          }),
        );
        await apply(
          sagaMoving(start, next(2), {
            operations: [stepped(first, { records: [record('start', 2, 'z3')] })],
            records: [],
          }),
        );

        const told = await verb().sagaRecords(start);
        expect(told.map(({ body, operation, revision, n }) => [body, operation, revision, n])).toEqual([
          ['s1', null, 1, 0],
          ['z1', first.id, 1, 0],
          ['a1', second.id, 1, 0],
          ['s2', null, 2, 0],
          ['s3', null, 2, 1],
          ['a2', second.id, 2, 0],
          ['a3', second.id, 2, 1],
          ['z2', first.id, 2, 0],
          ['z3', first.id, 3, 0],
        ]);
        expect(told[1]).toEqual({
          ...{ operation: first.id, revision: 1, n: 0 },
          ...{ kind: 'start', attempt: 1, at: begin.now, body: 'z1' },
        });
      });
    });

    test('is of one saga, and of no other', async () => {
      const tenant = fresh('shop');
      const [ours, theirs] = [sagaBirth(tenant, { operations: [step()] }), sagaBirth(tenant, { operations: [step()] })];
      await Promise.all([ours, theirs].map(apply));

      const told = await verb().sagaRecords(ours);

      expect(told.map(({ operation }) => operation)).toEqual([null, ours.operations[0]?.id]);
    });
  });

  describe('claiming sagas', () => {
    test('takes what is due, the oldest first, up to the limit', async () => {
      await drain();
      const tenant = fresh('shop');
      const turns = [30, 10, 40, 20].map((seconds) =>
        sagaBirth(tenant, { dues: [{ name: 'timer', inMs: seconds * 1_000 }] }),
      );
      for (const turn of turns) await apply(turn);
      const worker = await enlisted();
      await advance(minute);

      const first = await verb().claimSagas(worker, definitions, 3);
      const rest = await verb().claimSagas(worker, definitions, 3);

      expect(idsOf([...first, ...rest])).toEqual([1, 3, 0, 2].map((index) => turns[index]?.id));
      expect(first.length).toBe(3);
    });

    test('gives whole rows, owned by the worker, one generation on and otherwise unchanged', async () => {
      const turn = sagaBirth(fresh('shop'), {
        ...{ dues: [{ name: 'timer', inMs: 0 }], generation: 4 },
        operations: [step(), step()],
      });
      await apply(turn);
      await verb().handOver(handing(turn, 'h1', { said: 'late' }));
      const before = await everythingOf(turn);
      const worker = await enlisted();

      const rows = await claimed(worker, turn.tenant);

      const after = await sagaOf(turn);
      const timeless = (row: SagaRow) => ({
        ...row,
        now: 0,
        operations: row.operations.map((operation) => ({ ...operation, now: 0 })),
      });
      expect(rows.map(timeless)).toEqual([timeless(after)]);
      expect(await everythingOf(turn)).toEqual({ ...Object(before), owner: worker, generation: 5 });
    });

    test('leaves what is not due until its time comes', async () => {
      const turn = sagaBirth(fresh('shop'), { dues: [{ name: 'timer', inMs: minute }] });
      await apply(turn);
      const worker = await enlisted();

      const early = await claimed(worker, turn.tenant);
      await advance(minute);
      const inTime = await claimed(worker, turn.tenant);

      expect([early.length, inTime.length]).toEqual([0, 1]);
    });

    test('never takes what a living worker owns', async () => {
      const [owner, other] = [await enlisted(), await enlisted()];
      const turn = sagaBirth(fresh('shop'), { owner, dues: [{ name: 'timer', inMs: 0 }] });
      await apply(turn);
      await verb().handOver(handing(turn, 'h1'));

      const swept = await claimed(other, turn.tenant);
      const asked = await verb().claimSagas(other, definitions, 1, turn);

      expect([...swept, ...asked]).toEqual([]);
      expect(await sagaOf(turn)).toMatchObject({ owner, generation: 1 });
    });

    test('takes over from the dead and from workers that have no row', async () => {
      const tenant = fresh('shop');
      const [dead, heir] = [await enlisted(), await enlisted()];
      await verb().retire(dead);
      const late = sagaBirth(tenant, { owner: dead });
      const lost = sagaBirth(tenant, { owner: fresh('nobody'), generation: 3 });
      await apply(late);
      await apply(lost);

      const rows = await claimed(heir, tenant);

      expect(rows.find(({ id }) => id === late.id)).toMatchObject({ owner: heir, generation: 2 });
      expect(rows.find(({ id }) => id === lost.id)).toMatchObject({ owner: heir, generation: 4 });
      expect(await verb().sagaTurn(sagaMoving(late, { ...born, owner: dead }))).toBe(null);
    });

    test('takes over from a worker that was buried', async () => {
      const silent = await enlisted();
      const turn = sagaBirth(fresh('shop'), { owner: silent });
      await apply(turn);
      await advance(20_000);
      const heir = await enlisted();

      const before = await claimed(heir, turn.tenant);
      await verb().bury(heir, { timeoutMs: 15_000 });
      const after = await claimed(heir, turn.tenant);

      expect([idsOf(before), idsOf(after)]).toEqual([[], [turn.id]]);
    });

    test('gives nothing to a worker that is dead or has no row', async () => {
      const turn = sagaBirth(fresh('shop'), { dues: [{ name: 'timer', inMs: 0 }] });
      await apply(turn);
      const dead = await enlisted();
      await verb().retire(dead);

      const swept = await claimed(dead, turn.tenant);
      const asked = await verb().claimSagas(dead, definitions, 1, turn);
      const nobody = await claimed(fresh('nobody'), turn.tenant);

      expect([...swept, ...asked, ...nobody]).toEqual([]);
      expect(await sagaOf(turn)).toMatchObject({ owner: null, generation: 1 });
    });

    test('takes what was handed something over, due or not, settled or waiting for a person', async () => {
      const tenant = fresh('shop');
      const settled = sagaBirth(tenant, { state: 'succeeded' });
      const escalated = sagaBirth(tenant, { state: 'escalated' });
      const later = sagaBirth(tenant, { state: 'waiting', dues: [{ name: 'timer', inMs: minute }] });
      const quiet = sagaBirth(tenant, { state: 'succeeded' });
      for (const turn of [settled, escalated, later, quiet]) await apply(turn);
      for (const turn of [settled, escalated, later]) await verb().handOver(handing(turn, 'h1'));

      const rows = await claimed(await enlisted(), tenant);

      expect(idsOf(rows).toSorted()).toEqual([settled.id, escalated.id, later.id].toSorted());
      expect(rows.flatMap(({ handovers }) => handovers).length).toBe(3);
    });

    test('takes one saga when asked for it, due or later, unless it rests or a living worker owns it', async () => {
      const tenant = fresh('shop');
      const later = sagaBirth(tenant, { dues: [{ name: 'timer', inMs: minute }] });
      const orphan = sagaBirth(tenant, { owner: fresh('nobody') });
      const settled = sagaBirth(tenant, { state: 'succeeded' });
      const told = sagaBirth(tenant, { state: 'escalated' });
      for (const turn of [later, orphan, settled, told]) await apply(turn);
      await verb().handOver(handing(told, 'h1'));
      const worker = await enlisted();

      const rows = [];
      for (const { id } of [later, orphan, settled, told, { id: 'no-such-saga' }]) {
        rows.push(await verb().claimSagas(worker, definitions, 1, { tenant, id }));
      }

      expect(rows.map((found) => found.map(({ id, generation }) => [id, generation]))).toEqual([
        [[later.id, 2]],
        [[orphan.id, 2]],
        [],
        [[told.id, 2]],
        [],
      ]);
    });

    test('leaves the name and the version that the worker does not know, due, asked for or orphaned', async () => {
      await drain();
      const tenant = fresh('shop');
      const dues = [{ name: 'timer', inMs: 0 }];
      const newer = sagaBirth(tenant, { dues }, { version: 2 });
      const orphan = sagaBirth(tenant, { owner: fresh('nobody') }, { version: 2 });
      const other = sagaBirth(tenant, { dues }, { name: 'return' });
      const known = sagaBirth(tenant, { dues: [{ name: 'timer', inMs: 1 }] });
      for (const turn of [newer, orphan, other, known]) await apply(turn);
      await verb().handOver(handing(newer, 'h1'));
      await advance(10);
      const worker = await enlisted();
      const served = [{ name: 'order', version: 1 }];

      const asked = await verb().claimSagas(worker, served, 1, newer);
      const swept = await verb().claimSagas(worker, served, 1);
      const nothing = await verb().claimSagas(worker, [], 10);

      expect([asked, nothing]).toEqual([[], []]);
      expect(idsOf(swept)).toEqual([known.id]);
      expect((await claimed(worker, tenant)).length).toBe(3);
    });

    test('gives each saga to one of the workers that ask at the same moment', async () => {
      await drain();
      const tenant = fresh('shop');
      const turns = Array.from({ length: 40 }, () => sagaBirth(tenant, { dues: [{ name: 'timer', inMs: 0 }] }));
      await Promise.all(turns.map(apply));
      const workers = await Promise.all(Array.from({ length: 8 }, enlisted));

      const shares = await Promise.all(workers.map((worker) => verb().claimSagas(worker, definitions, 10)));

      const ids = idsOf(shares.flat());
      expect(new Set(ids).size).toBe(ids.length);
      expect((await claimed(await enlisted(), tenant)).length + ids.length).toBe(40);
    });

    turnTests(held, api, {
      drain,
      async born(tenant, inMs, owner) {
        const turn = sagaBirth(tenant, { owner, dues: [{ name: 'timer', inMs }] });
        await apply(turn);
        return turn.id;
      },
      claim: (store, worker, limit, turns) => store.claimSagas(worker, definitions, limit, turns),
    });

    test('gives no operation, and claiming operations no saga', async () => {
      const tenant = fresh('shop');
      const alone = birth(tenant, { dueInMs: 0 });
      const saga = sagaBirth(tenant, { dues: [{ name: 'timer', inMs: 0 }] });
      await applyOne(alone);
      await apply(saga);
      const worker = await enlisted();

      const [sagas, operations] = [
        await claimed(worker, tenant),
        await verb().claim(worker, [...actions, 'order'], 1_000),
      ];

      expect(idsOf(sagas)).toEqual([saga.id]);
      expect(idsOf(operations.filter((row) => row.tenant === tenant))).toEqual([alone.id]);
    });
  });

  describe('a hand-over to a saga', () => {
    test('waits with it, the oldest first, and goes with the turn that takes it', async () => {
      const operation = step();
      const turn = sagaBirth(fresh('shop'), { operations: [operation] });
      await verb().handOver(handing(turn, 'z', { early: true }));
      await apply(turn);
      for (const id of ['a', 'm', 'a']) await verb().handOver(handing(turn, id, { id }));

      const before = await sagaOf(turn);
      const told = { takes: ['z', 'm', 'never-handed-over'], operations: [stepped(operation)] };
      await apply(sagaMoving(turn, born, told));

      expect(before.handovers).toEqual([
        handing(turn, 'z', { early: true }),
        handing(turn, 'a', { id: 'a' }),
        handing(turn, 'm', { id: 'm' }),
      ]);
      expect(before.operations[0]?.handovers).toEqual([]);
      expect((await sagaOf(turn)).handovers).toEqual([handing(turn, 'a', { id: 'a' })]);
    });

    test('is found by the worker that owns the saga, as those to its operations that stand alone', async () => {
      const tenant = fresh('shop');
      const [owner, other] = [await enlisted(), await enlisted()];
      const saga = sagaBirth(tenant, { owner });
      const alone = birth(tenant, { owner });
      const others = sagaBirth(tenant, { owner: other });
      await apply(saga);
      await applyOne(alone);
      await apply(others);
      for (const { id } of [saga, alone, saga]) await verb().handOver(handing({ tenant, id }, fresh('h')));

      const found = await verb().handedOver(owner, 10);

      expect(found).toEqual([
        { tenant, id: saga.id },
        { tenant, id: alone.id },
      ]);
      expect(await verb().handedOver(owner, 1)).toEqual([{ tenant, id: saga.id }]);
      expect(await verb().handedOver(other, 10)).toEqual([]);
    });
  });

  describe('a worker that retires', () => {
    test('releases the sagas that it owns, each due at once, and its own turns are refused from then on', async () => {
      const tenant = fresh('shop');
      const [leaving, heir] = [await enlisted(), await enlisted()];
      const plain = sagaBirth(tenant, { owner: leaving });
      const timed = sagaBirth(tenant, {
        ...{ owner: leaving, state: 'terminated', operations: [step()] },
        dues: [{ name: 'within', inMs: minute }],
      });
      await apply(plain);
      const { dues } = await apply(timed);

      await verb().retire(leaving);

      expect(await sagaOf(plain)).toMatchObject({ owner: null, generation: 2, revision: 1 });
      expect(await sagaOf(timed)).toMatchObject({ owner: null, generation: 2, dues });
      expect(await verb().sagaTurn(sagaMoving(plain, { ...born, owner: leaving }))).toBe(null);
      expect(idsOf(await claimed(heir, tenant)).toSorted()).toEqual([plain.id, timed.id].toSorted());
    });
  });

  describe('two tenants whose sagas have the same names', () => {
    test('have rows, operations, identities and histories of their own', async () => {
      const [left, right] = [fresh('shop'), fresh('shop')];
      const of = (tenant: string) =>
        sagaBirth(
          tenant,
          {
            ...{ id: 'saga-1', turn: 'turn-1', snapshot: { of: tenant } },
            operations: [step({ id: 'op-1', snapshot: { of: tenant } }, { key: 'order-17' })],
          },
          { key: 'order-17' },
        );
      await apply(of(left));
      await apply(of(right));
      for (const tenant of [left, right])
        await verb().handOver(handing({ tenant, id: 'saga-1' }, 'h1', { of: tenant }));
      const before = await everythingOf({ tenant: right, id: 'saga-1' });
      const moved = stepped({ id: 'op-1' }, { state: 'succeeded' });

      await apply(sagaMoving({ tenant: left, id: 'saga-1' }, born, { operations: [moved], takes: ['h1'] }));

      expect(await everythingOf({ tenant: right, id: 'saga-1' })).toEqual(before);
      const row = await sagaOf({ tenant: left, id: 'saga-1' });
      expect([row.revision, row.handovers, row.operations[0]?.state]).toEqual([2, [], 'succeeded']);
      const identity = { name: 'order', key: 'order-17' };
      expect((await verb().readSagaByIdentity({ ...identity, tenant: right }))?.tenant).toBe(right);
      expect(await verb().readSagaByIdentity({ ...identity, tenant: fresh('shop') })).toBe(null);
      expect((await verb().sagaRecords({ tenant: right, id: 'saga-1' })).length).toBe(2);
    });

    test('claim only the saga they name', async () => {
      const [left, right] = [fresh('shop'), fresh('shop')];
      const dues = [{ name: 'timer', inMs: 0 }];
      await apply(sagaBirth(left, { id: 'saga-1', dues }));
      await apply(sagaBirth(right, { id: 'saga-1', dues }));

      const rows = await verb().claimSagas(await enlisted(), definitions, 10, { tenant: left, id: 'saga-1' });

      expect(rows.map(({ tenant }) => tenant)).toEqual([left]);
      expect((await sagaOf({ tenant: right, id: 'saga-1' })).owner).toBe(null);
    });
  });

  describe('a value of a saga', () => {
    for (const [what, value] of values()) {
      test(`holding ${what} comes back as it was, wherever it is stored`, async () => {
        const stored = encode(value);
        const records: readonly NewRecord[] = [{ kind: 'end', attempt: 1, body: stored }];
        const kept = { snapshot: { stored }, output: { stored }, records };
        const turn = sagaBirth(
          fresh('shop'),
          { ...kept, operations: [step(kept, { input: stored })] },
          { input: stored },
        );

        await apply(turn);
        await verb().handOver(handing(turn, 'h1', stored));

        const row = await sagaOf(turn);
        const [operation] = row.operations;
        const told = await verb().sagaRecords(turn);
        const bare = [row.input, operation?.input, row.handovers[0]?.body, ...told.map(({ body }) => body)];
        const wrapped = [row.snapshot, row.output, operation?.snapshot, operation?.output];
        expect(bare).toStrictEqual(bare.map(() => stored));
        expect(wrapped).toStrictEqual(wrapped.map(() => ({ stored })));
        expect(decode(row.input)).toStrictEqual(value);
      });
    }
  });
}
