/**
 * The promises of the store port as tests that every adapter passes, ours and yours. The port's comments are the
 * authority; each test here holds an adapter to one of them. The suite brings no test runner: hand it the functions
 * of yours. Each test has a tenant and workers of its own, so that all of them share one database.
 */

import { decode, encode } from '../domain/codec.ts';
import { FORMAT_WRITTEN } from '../domain/format.ts';
import type { Json } from '../domain/json.ts';
import type { NewRecord, OperationRef, OperationRow, Receipt, SettledQuery, Timeline } from '../ports/store.ts';
import { formatTests } from './format-store-suite.ts';
import { lockTests } from './lock-store-suite.ts';
import { sagaTests } from './saga-store-suite.ts';
import { signalTests } from './signal-store-suite.ts';
import { sagaVersionTests } from './saga-version-suite.ts';
import { birth, countPresent, fences, fresh, handing, moving, values } from './store-turns.ts';
import { bench, type StoreUnderTest, type TestApi } from './store-under-test.ts';
import { turnTests } from './turn-store-suite.ts';

const minute = 60_000;

/** The last that a Date can tell. */
const LAST_MOMENT = 8_640_000_000_000_000;

/** The actions of the invented shops below, all of them known to the workers unless a test says otherwise. */
const actions = ['payment.authorise', 'label.buy'];

/**
 * Declares the conformance tests of a store.
 *
 * @example
 * import { afterAll, beforeAll, describe, expect, test } from 'vitest';
 * storeSuite({ name: 'mine', make: makeMine }, { afterAll, beforeAll, describe, expect, test });
 */
export function storeSuite(
  subject: { readonly name: string; readonly make: () => Promise<StoreUnderTest> },
  api: TestApi,
): void {
  const { describe, test, beforeAll, afterAll, expect } = api;
  let made: StoreUnderTest | undefined;
  /** What the very first worker was told. */
  let first: Timeline | undefined;

  const held = bench(() => {
    if (made === undefined) throw new Error('The store of the suite was not made.');
    return made;
  });
  const { verb, advance, still, movable, here, enlist, enlisted, rowOf, apply, starting } = held;
  const renew = (worker: string, timeoutMs: number): Promise<boolean> => verb().renew(worker, timeoutMs, here());
  /** Claims as a worker would, and tells only of the tenant in question: other tests left rows of theirs. */
  const claimed = async (worker: string, tenant: string): Promise<OperationRow[]> => {
    const rows = await verb().claim(worker, actions, 1_000);
    return rows.filter((row) => row.tenant === tenant);
  };
  /** Gives everything that other tests left claimable to a living worker, so that limits count only our own. */
  const drain = async (): Promise<void> => {
    await verb().claim(await enlisted(), actions, 10_000);
  };

  /** What settled of these actions, of whichever tenant: every test here has actions of its own. */
  const settled = (actions: readonly string[], query: Partial<SettledQuery> = {}): Promise<readonly OperationRow[]> =>
    verb().settledBetween({ actions, from: 0, to: LAST_MOMENT, limit: 100, after: null, ...query });
  const idsOf = (rows: readonly OperationRow[]): string[] => rows.map(({ id }) => id);

  describe(`the ${subject.name} store`, () => {
    beforeAll(async () => {
      made = await subject.make();
      await made.store.open();
      first = await enlist(fresh('worker'));
    }, minute);

    afterAll(async () => {
      await made?.store.close();
      await made?.dispose();
    }, minute);

    describe('a birth', () => {
      test('is written as it was given, at the time of the store', async () => {
        const tenant = fresh('shop');
        const turn = birth(tenant, { owner: 'w1', state: 'in-progress', dueInMs: 5_000, reason: 'limit' });

        const receipt = await apply(turn);

        const row = await rowOf(turn);
        expect(row).toEqual({
          tenant,
          id: turn.id,
          saga: null,
          action: 'payment.authorise',
          key: turn.birth?.key,
          providerKey: turn.birth?.providerKey,
          fingerprint: 'fp-1',
          owner: 'w1',
          generation: 1,
          revision: 1,
          turn: turn.turn,
          born: turn.turn,
          state: 'in-progress',
          since: receipt.now,
          dueAt: receipt.now + 5_000,
          createdAt: receipt.now,
          firstStartedAt: null,
          sendBy: null,
          windowEndsAt: null,
          reason: 'limit',
          contradictedAt: null,
          input: { amount: 1200 },
          format: FORMAT_WRITTEN,
          snapshot: { value: 'in-progress' },
          output: null,
          handovers: [],
          now: row.now,
        });
        expect(row.now).toBeGreaterThanOrEqual(receipt.now);
        expect(receipt).toEqual({ ...timesOf(row), revision: 1, now: receipt.now });
      });

      test('happens once when 50 turns bring the same identity at the same moment', async () => {
        const tenant = fresh('shop');
        const turns = Array.from({ length: 50 }, () => birth(tenant, {}, { key: 'order-17' }));

        const receipts = await Promise.all(turns.map((turn) => verb().turn(turn)));

        const born = turns.filter((_, index) => receipts[index] !== null);
        expect(born.length).toBe(1);
        const row = await verb().readByIdentity({ tenant, action: 'payment.authorise', key: 'order-17' });
        expect([row?.id, row?.turn]).toEqual([born[0]?.id, born[0]?.turn]);
        const histories = await Promise.all(turns.map((turn) => verb().records(turn)));
        expect(histories.flat().length).toBe(1);
        expect(await Promise.all(turns.map((turn) => verb().read(turn))).then(countPresent)).toBe(1);
      });

      test('happens once when 50 turns bring the same id at the same moment', async () => {
        const tenant = fresh('shop');
        const turns = Array.from({ length: 50 }, () => ({ ...birth(tenant), id: 'one' }));

        const receipts = await Promise.all(turns.map((turn) => verb().turn(turn)));

        expect(countPresent(receipts)).toBe(1);
        const born = turns.find((_, index) => receipts[index] !== null);
        expect((await rowOf({ tenant, id: 'one' })).key).toBe(born?.birth?.key);
        expect((await verb().records({ tenant, id: 'one' })).length).toBe(1);
      });

      test('is written once when it is repeated, and the row names the turn that made it', async () => {
        const turn = birth(fresh('shop'));
        await apply(turn);
        const before = await rowOf(turn);

        const repeated = await verb().turn(turn);

        expect(repeated).toBe(null);
        const row = await rowOf(turn);
        expect({ ...row, now: 0 }).toEqual({ ...before, now: 0 });
        expect([row.turn, row.born]).toEqual([turn.turn, turn.turn]);
        expect((await verb().records(turn)).length).toBe(1);
      });

      test('is another operation under another key, another action or another tenant', async () => {
        const [tenant, other] = [fresh('shop'), fresh('shop')];
        const turns = [
          birth(tenant, {}, { key: 'order-17' }),
          birth(tenant, {}, { key: 'order-18' }),
          birth(tenant, {}, { key: 'order-17', action: 'label.buy' }),
          birth(other, {}, { key: 'order-17' }),
        ];

        const receipts = await Promise.all(turns.map((turn) => verb().turn(turn)));

        expect(countPresent(receipts)).toBe(4);
      });

      test('with the start of an attempt counts its times from that moment', async () => {
        const turn = birth(fresh('shop'), { start: starting({ sendWithinMs: 10_000, retentionMs: 60_000 }) });

        const receipt = await apply(turn);

        expect(receipt.firstStartedAt).toBe(receipt.now);
        expect(receipt.sendBy).toBe(receipt.now + 10_000);
        expect(receipt.windowEndsAt).toBe(receipt.now + 60_000 - 8_000);
        expect(timesOf(await rowOf(turn))).toEqual(timesOf(receipt));
      });

      test('with a start on another timeline writes nothing, and leaves its identity to the next', async () => {
        const tenant = fresh('shop');
        const elsewhere = starting({ timeline: fresh('timeline') });
        const turn = birth(tenant, { start: elsewhere }, { key: 'order-17' });

        const receipt = await verb().turn(turn);

        expect(receipt).toBe(null);
        expect(await verb().read(turn)).toBe(null);
        expect(await verb().records(turn)).toEqual([]);
        const next = await apply(birth(tenant, { start: starting() }, { key: 'order-17' }));
        expect(next.firstStartedAt).toBe(next.now);
      });

      test('may be in doubt or contradicted from the beginning', async () => {
        const turn = birth(fresh('shop'), { state: 'unknown', contradicted: true, output: { id: 'pi_1' } });

        const receipt = await apply(turn);

        expect(await rowOf(turn)).toMatchObject({ contradictedAt: receipt.now, output: { id: 'pi_1' } });
        expect((await verb().doubts({ tenant: turn.tenant, limit: 5, after: null })).length).toBe(1);
      });
    });

    describe('a move', () => {
      test('is applied while the row is as it was, and counts one revision', async () => {
        const start = birth(fresh('shop'), { owner: 'w1' });
        await apply(start);
        const turn = moving(start, { owner: 'w1', generation: 1, revision: 1 }, { owner: 'w2', generation: 7 });

        const receipt = await apply({ ...turn, snapshot: { value: 'unknown' }, state: 'unknown', dueInMs: 300 });

        const row = await rowOf(start);
        expect(row).toMatchObject({
          owner: 'w2',
          generation: 7,
          revision: 2,
          turn: turn.turn,
          born: start.turn,
          state: 'unknown',
          dueAt: receipt.now + 300,
          snapshot: { value: 'unknown' },
          input: { amount: 1200 },
        });
        expect(receipt).toEqual({ ...timesOf(row), revision: 2, now: receipt.now });
      });

      for (const [what, was] of fences) {
        test(`that expects ${what} writes nothing: no row, no history, no hand-over taken`, async () => {
          const start = birth(fresh('shop'), { owner: 'w1' });
          await apply(start);
          await verb().handOver(handing(start, 'h1'));
          const before = await rowOf(start);

          const receipt = await verb().turn(moving(start, was, { takes: ['h1'], state: 'failed' }));

          expect(receipt).toBe(null);
          expect({ ...(await rowOf(start)), now: 0 }).toEqual({ ...before, now: 0 });
          expect((await verb().records(start)).length).toBe(1);
        });
      }

      test('that starts an attempt on another timeline writes nothing: no row, no history, no hand-over taken', async () => {
        const elsewhere = starting({ timeline: fresh('timeline') });
        const start = birth(fresh('shop'), { owner: 'w1' });
        await apply(start);
        await verb().handOver(handing(start, 'h1'));
        const before = await rowOf(start);

        const was = { owner: 'w1', generation: 1, revision: 1 };
        const receipt = await verb().turn(moving(start, was, { start: elsewhere, takes: ['h1'] }));

        expect(receipt).toBe(null);
        expect({ ...(await rowOf(start)), now: 0 }).toEqual({ ...before, now: 0 });
        expect((await verb().records(start)).length).toBe(1);
        expect((await apply(moving(start, was, { start: starting(), takes: ['h1'] }))).revision).toBe(2);
      });

      test('of an unowned row is applied when nobody is expected to own it', async () => {
        const start = birth(fresh('shop'), { owner: null });
        await apply(start);

        const owned = await verb().turn(moving(start, { owner: 'w1', generation: 1, revision: 1 }));
        const unowned = await verb().turn(moving(start, { owner: null, generation: 1, revision: 1 }));

        expect(owned).toBe(null);
        expect(unowned?.revision).toBe(2);
      });

      test('is applied once when 50 turns expect the same row at the same moment', async () => {
        const start = birth(fresh('shop'), { owner: 'w1' });
        await apply(start);
        const turns = Array.from({ length: 50 }, () => moving(start, { owner: 'w1', generation: 1, revision: 1 }));

        const receipts = await Promise.all(turns.map((turn) => verb().turn(turn)));

        expect(countPresent(receipts)).toBe(1);
        const row = await rowOf(start);
        expect(row.revision).toBe(2);
        expect(row.turn).toBe(turns.find((_, index) => receipts[index] !== null)?.turn);
        expect((await verb().records(start)).length).toBe(2);
      });

      test('is written once when it is repeated, and the row names the turn', async () => {
        const start = birth(fresh('shop'), { owner: 'w1' });
        await apply(start);
        const turn = moving(start, { owner: 'w1', generation: 1, revision: 1 });
        await apply(turn);

        const repeated = await verb().turn(turn);

        expect(repeated).toBe(null);
        expect(await rowOf(start)).toMatchObject({ turn: turn.turn, revision: 2 });
        expect((await verb().records(start)).length).toBe(2);
      });

      test('of an operation that does not exist writes nothing', async () => {
        const ghost = birth(fresh('shop'));

        const receipt = await verb().turn(moving(ghost, { owner: null, generation: 1, revision: 1 }));

        expect(receipt).toBe(null);
        expect(await verb().read(ghost)).toBe(null);
        expect(await verb().records(ghost)).toEqual([]);
      });

      test('keeps the time since which the state holds until the state changes', async () => {
        const start = birth(fresh('shop'), { state: 'unknown' });
        const born = await apply(start);
        await advance(1_000);

        const same = await apply(moving(start, { owner: null, generation: 1, revision: 1 }, { state: 'unknown' }));
        const changed = await apply(
          moving(start, { owner: null, generation: 1, revision: 2 }, { state: 'reconciling' }),
        );

        expect(same.since).toBe(born.since);
        expect(same.now).toBeGreaterThanOrEqual(born.now + 1_000);
        expect(changed.since).toBe(changed.now);
      });

      test('sets and clears when the row is due and why it waits', async () => {
        const start = birth(fresh('shop'), { dueInMs: 5_000, reason: 'no-lookup' });
        await apply(start);

        const cleared = await apply(moving(start, { owner: null, generation: 1, revision: 1 }, { dueInMs: null }));
        const afterwards = await rowOf(start);
        const set = await apply(
          moving(start, { owner: null, generation: 1, revision: 2 }, { dueInMs: 0, reason: 'limit' }),
        );

        expect([cleared.dueAt, afterwards.dueAt, afterwards.reason]).toEqual([null, null, null]);
        expect(set.dueAt).toBe(set.now);
        expect((await rowOf(start)).reason).toBe('limit');
      });

      test('keeps the output that is stored unless it brings one', async () => {
        const start = birth(fresh('shop'));
        await apply(start);

        await apply(moving(start, { owner: null, generation: 1, revision: 1 }, { output: { id: 'pi_1' } }));
        await apply(moving(start, { owner: null, generation: 1, revision: 2 }, { output: null }));
        const kept = await rowOf(start);
        await apply(moving(start, { owner: null, generation: 1, revision: 3 }, { output: { id: 'pi_2' } }));

        expect(kept.output).toEqual({ id: 'pi_1' });
        expect((await rowOf(start)).output).toEqual({ id: 'pi_2' });
      });

      test('that contradicts what is settled keeps the time of the first contradiction', async () => {
        const start = birth(fresh('shop'), { state: 'failed' });
        await apply(start);

        const first = await apply(
          moving(start, { owner: null, generation: 1, revision: 1 }, { state: 'failed', contradicted: true }),
        );
        await advance(1_000);
        await apply(
          moving(start, { owner: null, generation: 1, revision: 2 }, { state: 'failed', contradicted: true }),
        );
        await apply(moving(start, { owner: null, generation: 1, revision: 3 }, { state: 'failed' }));

        expect((await rowOf(start)).contradictedAt).toBe(first.now);
      });

      test('appends its records in their order, after those of earlier turns', async () => {
        const record = (kind: NewRecord['kind'], attempt: number | null, body: Json): NewRecord => ({
          kind,
          attempt,
          body,
        });
        const start = birth(fresh('shop'), { records: [record('start', 1, { n: 0 })] });
        const born = await apply(start);

        const moved = await apply(
          moving(
            start,
            { owner: null, generation: 1, revision: 1 },
            { records: [record('end', 1, 'x'), record('evidence', null, null), record('start', 2, [1, 2])] },
          ),
        );
        await apply(moving(start, { owner: null, generation: 1, revision: 2 }, { records: [] }));

        expect(await verb().records(start)).toEqual([
          { revision: 1, n: 0, kind: 'start', attempt: 1, at: born.now, body: { n: 0 } },
          { revision: 2, n: 0, kind: 'end', attempt: 1, at: moved.now, body: 'x' },
          { revision: 2, n: 1, kind: 'evidence', attempt: null, at: moved.now, body: null },
          { revision: 2, n: 2, kind: 'start', attempt: 2, at: moved.now, body: [1, 2] },
        ]);
      });
    });

    describe('the window in which another attempt may start under the same key', () => {
      const again = { owner: null, generation: 1, revision: 1 };

      test('ends before the key is forgotten by as long as a request may be on its way', async () => {
        const start = birth(fresh('shop'), { start: starting({ retentionMs: 60_000, marginMs: 20_000 }) });

        const first = await apply(start);

        expect(first.windowEndsAt).toBe(first.now + 40_000);
      });

      test('keeps its first start and its end when another attempt starts inside it', async () => {
        const start = birth(fresh('shop'), { start: starting() });
        const first = await apply(start);
        await advance(10_000);

        const second = await apply(moving(start, again, { start: starting({ insideWindow: true }) }));

        expect(second.firstStartedAt).toBe(first.now);
        expect(second.windowEndsAt).toBe(first.now + 52_000);
        expect(second.sendBy).toBe(second.now + 5_000);
      });

      test('bounds the time by which an attempt must leave whose earlier ones are unproven', async () => {
        const start = birth(fresh('shop'), { start: starting() });
        const first = await apply(start);
        await advance(30_000);

        const second = await apply(
          moving(start, again, { start: starting({ sendWithinMs: 40_000, insideWindow: true }) }),
        );

        expect(second.sendBy).toBe(first.now + 52_000);
      });

      test('bounds nothing when all earlier attempts are proven to be without effect', async () => {
        const start = birth(fresh('shop'), { start: starting() });
        const first = await apply(start);
        await advance(51_000);

        const second = await apply(moving(start, again, { start: starting() }));

        expect(second.sendBy).toBe(second.now + 5_000);
        expect(second.windowEndsAt).toBe(first.now + 52_000);
        expect(second.firstStartedAt).toBe(first.now);
      });

      test('admits an unproven operation until the millisecond before its end, and not at its end', async () => {
        const [early, late] = [birth(fresh('shop')), birth(fresh('shop'))];
        const resubmission = { start: starting({ insideWindow: true }) };

        await still(async () => {
          const first = await apply({ ...early, start: starting() });
          await apply({ ...late, start: starting() });
          await advance(51_999);
          const inside = await verb().turn(moving(early, again, resubmission));
          await advance(1);
          const outside = await verb().turn(moving(late, again, resubmission));

          expect(inside?.sendBy).toBe(first.now + 52_000);
          expect(outside).toBe(null);
        });

        expect([(await rowOf(early)).revision, (await rowOf(late)).revision]).toEqual([2, 1]);
        expect((await verb().records(late)).length).toBe(1);
      });

      test('is kept by a fresh start while the key may be known, and restarted once it is forgotten', async () => {
        const [early, late] = [birth(fresh('shop')), birth(fresh('shop'))];

        await still(async () => {
          const first = await apply({ ...early, start: starting() });
          const other = await apply({ ...late, start: starting() });
          // Sent by 5,000, on its way for 3,000 more, known for 60,000 from then.
          await advance(67_999);
          const kept = await apply(moving(early, again, { start: starting() }));
          await advance(1);
          const restarted = await apply(moving(late, again, { start: starting() }));

          expect(kept.windowEndsAt).toBe(first.now + 52_000);
          expect(kept.sendBy).toBe(kept.now + 5_000);
          expect(restarted.windowEndsAt).toBe(restarted.now + 52_000);
          expect(restarted.sendBy).toBe(restarted.now + 5_000);
          expect(restarted.firstStartedAt).toBe(other.now);
        });
      });

      test('does not exist where the provider forgets, and then admits nothing unproven', async () => {
        const start = birth(fresh('shop'), { start: starting({ retentionMs: null }) });
        const first = await apply(start);

        const unproven = await verb().turn(moving(start, again, { start: starting({ insideWindow: true }) }));
        const proven = await apply(moving(start, again, { start: starting({ retentionMs: null }) }));

        expect([first.windowEndsAt, first.sendBy]).toEqual([null, first.now + 5_000]);
        expect(unproven).toBe(null);
        expect([proven.windowEndsAt, proven.firstStartedAt]).toEqual([null, first.now]);
      });

      test('counts from the first start even when it is declared later', async () => {
        const start = birth(fresh('shop'), { start: starting({ retentionMs: null }) });
        const first = await apply(start);
        await advance(10_000);

        const second = await apply(moving(start, again, { start: starting() }));

        expect(second.windowEndsAt).toBe(first.now + 52_000);
      });

      test('is left alone by turns that start nothing', async () => {
        const start = birth(fresh('shop'), { start: starting({ retentionMs: 60_000 }) });
        const first = await apply(start);
        await advance(1_000);

        const second = await apply(moving(start, { owner: null, generation: 1, revision: 1 }));

        expect([second.firstStartedAt, second.sendBy, second.windowEndsAt]).toEqual([
          first.firstStartedAt,
          first.sendBy,
          first.windowEndsAt,
        ]);
      });
    });

    describe('claiming', () => {
      test('takes what is due, the oldest first, up to the limit', async () => {
        await drain();
        const tenant = fresh('shop');
        const turns = [30, 10, 40, 20].map((seconds) => birth(tenant, { dueInMs: seconds * 1_000 }));
        for (const turn of turns) await apply(turn);
        const worker = await enlisted();
        await advance(minute);

        const first = await verb().claim(worker, actions, 3);
        const rest = await verb().claim(worker, actions, 3);

        const dueOrder = [1, 3, 0, 2].map((index) => turns[index]?.id);
        expect([...first, ...rest].map(({ id }) => id)).toEqual(dueOrder);
        expect(first.length).toBe(3);
      });

      test('gives whole rows, owned by the worker, one generation on and otherwise unchanged', async () => {
        const turn = birth(fresh('shop'), { dueInMs: 0, generation: 4 });
        await apply(turn);
        await verb().handOver(handing(turn, 'h1', { said: 'late' }));
        const before = await rowOf(turn);
        const worker = await enlisted();

        const rows = await claimed(worker, turn.tenant);

        const after = await rowOf(turn);
        expect(rows.map((row) => ({ ...row, now: 0 }))).toEqual([{ ...after, now: 0 }]);
        expect({ ...after, now: 0 }).toEqual({ ...before, owner: worker, generation: 5, now: 0 });
      });

      test('leaves what is not due until its time comes', async () => {
        const turn = birth(fresh('shop'), { dueInMs: minute });
        await apply(turn);
        const worker = await enlisted();

        const early = await claimed(worker, turn.tenant);
        await advance(minute);
        const inTime = await claimed(worker, turn.tenant);

        expect([early.length, inTime.length]).toEqual([0, 1]);
      });

      test('never takes what a living worker owns', async () => {
        const tenant = fresh('shop');
        const [owner, other] = [await enlisted(), await enlisted()];
        const turn = birth(tenant, { owner, dueInMs: 0 });
        await apply(turn);
        await verb().handOver(handing(turn, 'h1'));

        const swept = await claimed(other, tenant);
        const asked = await verb().claim(other, actions, 1, turn);

        expect([swept.length, asked.length]).toEqual([0, 0]);
        expect(await rowOf(turn)).toMatchObject({ owner, generation: 1 });
      });

      test('takes over from the dead, and shuts the former owner out', async () => {
        const tenant = fresh('shop');
        const [dead, heir] = [await enlisted(), await enlisted()];
        const turn = birth(tenant, { owner: dead, dueInMs: null });
        await apply(turn);
        await verb().retire(dead);
        const late = birth(tenant, { owner: dead, dueInMs: null });
        await apply(late);

        const rows = await claimed(heir, tenant);

        expect(rows.find(({ id }) => id === late.id)).toMatchObject({ owner: heir, generation: 2, revision: 1 });
        expect(await verb().turn(moving(late, { owner: dead, generation: 1, revision: 1 }))).toBe(null);
        expect(await verb().turn(moving(turn, { owner: dead, generation: 1, revision: 1 }))).toBe(null);
      });

      test('takes over from a worker that has no row', async () => {
        const turn = birth(fresh('shop'), { owner: fresh('nobody'), dueInMs: null, generation: 3 });
        await apply(turn);
        const heir = await enlisted();

        const rows = await claimed(heir, turn.tenant);

        expect(rows.map(({ id, owner, generation }) => [id, owner, generation])).toEqual([[turn.id, heir, 4]]);
      });

      test('gives nothing to a worker that is dead or has no row', async () => {
        const turn = birth(fresh('shop'));
        await apply(turn);
        const dead = await enlisted();
        await verb().retire(dead);

        const swept = await claimed(dead, turn.tenant);
        const asked = await verb().claim(dead, actions, 1, turn);
        const nobody = await claimed(fresh('nobody'), turn.tenant);

        expect([...swept, ...asked, ...nobody]).toEqual([]);
        expect(await rowOf(turn)).toMatchObject({ owner: null, generation: turn.generation });
      });

      test('takes what was handed something over, due or not, settled or waiting for a person', async () => {
        const tenant = fresh('shop');
        const settled = birth(tenant, { state: 'succeeded' });
        const escalated = birth(tenant, { state: 'escalated' });
        const later = birth(tenant, { state: 'unknown', dueInMs: minute });
        const quiet = birth(tenant, { state: 'succeeded' });
        for (const turn of [settled, escalated, later, quiet]) await apply(turn);
        for (const turn of [settled, escalated, later])
          await verb().handOver(handing(turn, 'h1', { said: turn.state }));

        const rows = await claimed(await enlisted(), tenant);

        expect(rows.map(({ id }) => id).sort()).toEqual([settled.id, escalated.id, later.id].sort());
        expect(rows.flatMap(({ handovers }) => handovers).length).toBe(3);
      });

      test('takes one operation when asked for it, due or later, unless it rests or a living worker owns it', async () => {
        const tenant = fresh('shop');
        const unowned = birth(tenant, { dueInMs: minute });
        const orphan = birth(tenant, { owner: fresh('nobody'), dueInMs: null });
        const settled = birth(tenant, { state: 'succeeded' });
        const told = birth(tenant, { state: 'escalated' });
        for (const turn of [unowned, orphan, settled, told]) await apply(turn);
        await verb().handOver(handing(told, 'h1'));
        const worker = await enlisted();

        const rows = [
          await verb().claim(worker, actions, 1, { tenant, id: unowned.id }),
          await verb().claim(worker, actions, 1, { tenant, id: orphan.id }),
          await verb().claim(worker, actions, 1, { tenant, id: settled.id }),
          await verb().claim(worker, actions, 1, { tenant, id: told.id }),
          await verb().claim(worker, actions, 1, { tenant, id: 'no-such-operation' }),
        ];

        expect(rows.map((found) => found.map(({ id, generation }) => [id, generation]))).toEqual([
          [[unowned.id, 2]],
          [[orphan.id, 2]],
          [],
          [[told.id, 2]],
          [],
        ]);
      });

      test('leaves what the worker does not know how to run, due, asked for or orphaned', async () => {
        await drain();
        const tenant = fresh('shop');
        const due = birth(tenant, { dueInMs: 0 }, { action: 'label.buy' });
        const orphan = birth(tenant, { owner: fresh('nobody') }, { action: 'label.buy' });
        const known = birth(tenant, { dueInMs: 1 });
        for (const turn of [due, orphan, known]) await apply(turn);
        await verb().handOver(handing(due, 'h1'));
        await advance(10);
        const worker = await enlisted();

        const asked = await verb().claim(worker, ['payment.authorise'], 1, due);
        const swept = await verb().claim(worker, ['payment.authorise'], 1);
        const nothing = await verb().claim(worker, [], 10);

        expect(asked).toEqual([]);
        expect(swept.map(({ id }) => id)).toEqual([known.id]);
        expect(nothing).toEqual([]);
        expect((await claimed(worker, tenant)).length).toBe(2);
      });

      test('gives each operation to one of the workers that ask at the same moment', async () => {
        await drain();
        const tenant = fresh('shop');
        await Promise.all(Array.from({ length: 40 }, () => apply(birth(tenant, { dueInMs: 0 }))));
        const workers = await Promise.all(Array.from({ length: 8 }, enlisted));

        const shares = await Promise.all(workers.map((worker) => verb().claim(worker, actions, 10)));

        const ids = shares.flat().map(({ id }) => id);
        expect(new Set(ids).size).toBe(ids.length);
        expect((await claimed(await enlisted(), tenant)).length + ids.length).toBe(40);
      });

      turnTests(held, api, {
        drain,
        async born(tenant, dueInMs, owner) {
          const turn = birth(tenant, { dueInMs, owner });
          await apply(turn);
          return turn.id;
        },
        claim: (store, worker, limit, turns) => store.claim(worker, actions, limit, turns),
      });
    });

    describe('the timeline of the store', () => {
      test('has not changed for the first worker there ever was', async () => {
        expect(first?.changedAt).toBe(null);
      });

      test('is the same for one worker after the other, however often each is enlisted', async () => {
        const [one, other] = [fresh('worker'), fresh('worker')];

        const told = [await enlist(one), await enlist(other), await enlist(one)];

        expect(told[1]).toEqual(told[0]);
        expect(told[2]).toEqual(told[0]);
      });

      test('is one for all that start at the same moment', async () => {
        await movable(async (failOver) => {
          const before = await enlist(fresh('worker'));
          await failOver();

          const told = await Promise.all(Array.from({ length: 20 }, () => enlist(fresh('worker'))));

          expect(countPresent(told.map(({ changedAt }) => changedAt))).toBe(told.length);
          expect(new Set(told.map(({ id, changedAt }) => `${id} ${changedAt}`)).size).toBe(1);
          expect(told[0]?.id === before.id).toBe(false);
        });
      });

      test('has changed after a fail-over, at the time when the first worker was enlisted on it', async () => {
        await movable(async (failOver) => {
          const before = await enlist(fresh('worker'));

          await still(async () => {
            await failOver();
            await advance(1_000);
            const changed = await enlist(fresh('worker'));
            const { now } = await apply(birth(fresh('shop')));
            await advance(1_000);
            const later = await enlist(fresh('worker'));

            expect(changed.id === before.id).toBe(false);
            expect(changed.changedAt).toBe(now);
            expect(later).toEqual(changed);
          });
        });
      });

      test('that was left by a fail-over takes no renewal and no start any more', async () => {
        await movable(async (failOver) => {
          const tenant = fresh('shop');
          const worker = await enlisted();
          const [moved, other] = [birth(tenant, { owner: worker }), birth(tenant, { owner: worker })];
          await apply(moved);
          await apply(other);
          const was = { owner: worker, generation: 1, revision: 1 };
          const left = here();

          await failOver();

          expect(await verb().renew(worker, minute, left)).toBe(false);
          expect(await verb().turn(birth(tenant, { start: starting({ timeline: left }) }))).toBe(null);
          expect(await verb().turn(moving(moved, was, { start: starting({ timeline: left }) }))).toBe(null);
          expect((await apply(moving(other, was))).revision).toBe(2);
          await enlist(fresh('worker'));
          expect(await renew(worker, minute)).toBe(true);
          expect((await apply(moving(moved, was, { start: starting() }))).revision).toBe(2);
        });
      });

      test('is asked of each turn of those that come together', async () => {
        const tenant = fresh('shop');
        const elsewhere = starting({ timeline: fresh('timeline') });
        const turns = [null, elsewhere, starting(), elsewhere, null].map((start) => birth(tenant, { start }));

        const receipts = await Promise.all(turns.map((turn) => verb().turn(turn)));

        expect(receipts.map((receipt) => receipt !== null)).toEqual([true, false, true, false, true]);
        const rows = await Promise.all(turns.map((turn) => verb().read(turn)));
        expect(rows.map((row) => row !== null)).toEqual([true, false, true, false, true]);
      });
    });

    describe('a worker', () => {
      test('renews itself while its last renewal is younger than the time-out, and not when it is as old', async () => {
        const [prompt, slow] = [fresh('worker'), fresh('worker')];

        await still(async () => {
          await enlist(prompt);
          await enlist(slow);
          await advance(14_999);
          const inTime = await renew(prompt, 15_000);
          await advance(1);
          const tooLate = await renew(slow, 15_000);
          await advance(14_998);
          const again = await renew(prompt, 15_000);

          expect([inTime, tooLate, again]).toEqual([true, false, true]);
        });
      });

      test('is not renewed on a timeline that the store is not on, and goes on with its last renewal', async () => {
        const worker = fresh('worker');

        await still(async () => {
          await enlist(worker);
          await advance(10_000);
          const elsewhere = await verb().renew(worker, 15_000, fresh('timeline'));
          await advance(5_000);
          const tooLate = await renew(worker, 15_000);

          expect([elsewhere, tooLate]).toEqual([false, false]);
        });
      });

      test('that never enlisted cannot renew itself', async () => {
        expect(await renew(fresh('worker'), 15_000)).toBe(false);
      });

      test('is buried when its last renewal is older than the time-out, and never lives again', async () => {
        const [silent, lively] = [await enlisted(), await enlisted()];
        const turn = birth(fresh('shop'), { owner: silent });
        await apply(turn);
        await advance(20_000);
        await enlist(lively);
        const young = await enlisted();

        const buried = await verb().bury(young, { timeoutMs: 15_000 });

        expect(buried).toBeGreaterThanOrEqual(2);
        await enlist(silent);
        expect(await renew(silent, minute)).toBe(false);
        expect(await renew(young, minute)).toBe(true);
        expect((await claimed(young, turn.tenant)).length).toBe(1);
        expect(await verb().bury(young, { timeoutMs: 15_000 })).toBe(0);
      });

      test('that is alone declares all others dead and lives on', async () => {
        const [first, second, alone] = [await enlisted(), await enlisted(), await enlisted()];

        const buried = await verb().bury(alone, 'others');

        expect(buried).toBeGreaterThanOrEqual(2);
        expect([await renew(first, minute), await renew(second, minute), await renew(alone, minute)]).toEqual([
          false,
          false,
          true,
        ]);
      });

      test('that retires releases what it owns at once, and its own turns are refused from then on', async () => {
        const tenant = fresh('shop');
        const [leaving, next] = [await enlisted(), await enlisted()];
        const turn = birth(tenant, { owner: leaving, state: 'in-progress' });
        const later = birth(tenant, { owner: leaving, dueInMs: minute });
        const receipts = [await apply(turn), await apply(later)];

        await verb().retire(leaving);

        const row = await rowOf(turn);
        expect([row.owner, row.generation, row.revision]).toEqual([null, 2, 1]);
        expect(await renew(leaving, minute)).toBe(false);
        expect(await verb().turn(moving(turn, { owner: leaving, generation: 1, revision: 1 }))).toBe(null);
        expect((await claimed(next, tenant)).map(({ id }) => id)).toEqual([turn.id]);
        expect(await rowOf(later)).toMatchObject({ owner: null, dueAt: receipts[1]?.dueAt });
      });

      test('that retires leaves what is settled or waits for a person without a due time', async () => {
        const tenant = fresh('shop');
        const leaving = await enlisted();
        const turns = [
          birth(tenant, { owner: leaving, state: 'succeeded' }),
          birth(tenant, { owner: leaving, state: 'escalated' }),
        ];
        for (const turn of turns) await apply(turn);

        await verb().retire(leaving);

        for (const turn of turns) expect(await rowOf(turn)).toMatchObject({ owner: null, dueAt: null, generation: 2 });
        expect(await claimed(await enlisted(), tenant)).toEqual([]);
      });
    });

    describe('a hand-over', () => {
      test('waits with its operation, the oldest first', async () => {
        const turn = birth(fresh('shop'));
        await apply(turn);
        const ids = ['z', 'a', 'm', 'b'];

        for (const id of ids) await verb().handOver(handing(turn, id, { id }));

        const { handovers } = await rowOf(turn);
        expect(handovers).toEqual(ids.map((id) => handing(turn, id, { id })));
        const [claimedRow] = await claimed(await enlisted(), turn.tenant);
        expect(claimedRow?.handovers).toEqual(handovers);
      });

      test('counts once however often it is repeated', async () => {
        const turn = birth(fresh('shop'));
        await apply(turn);

        await Promise.all(Array.from({ length: 10 }, () => verb().handOver(handing(turn, 'h1', { said: 'found' }))));
        await verb().handOver(handing(turn, 'h1', { said: 'absent' }));

        expect((await rowOf(turn)).handovers).toEqual([handing(turn, 'h1', { said: 'found' })]);
      });

      test('goes with the turn that takes it, and only that one', async () => {
        const turn = birth(fresh('shop'));
        await apply(turn);
        for (const id of ['h1', 'h2', 'h3']) await verb().handOver(handing(turn, id));

        await apply(
          moving(turn, { owner: null, generation: 1, revision: 1 }, { takes: ['h1', 'h3', 'never-handed-over'] }),
        );

        expect((await rowOf(turn)).handovers.map(({ handoverId }) => handoverId)).toEqual(['h2']);
      });

      test('is found by the worker that owns the operation, and by no other', async () => {
        const tenant = fresh('shop');
        const [owner, other] = [await enlisted(), await enlisted()];
        const turns = [birth(tenant, { owner }), birth(tenant, { owner }), birth(tenant, { owner: other })];
        for (const turn of turns) await apply(turn);
        const [first, second] = turns.map(({ id }) => ({ tenant, id }));
        for (const turn of [second, first, second]) if (turn) await verb().handOver(handing(turn, fresh('h')));

        const found = await verb().handedOver(owner, 10);

        expect(found).toEqual([second, first]);
        expect(await verb().handedOver(owner, 1)).toEqual([second]);
        expect(await verb().handedOver(other, 10)).toEqual([]);
      });

      test('may come before its operation', async () => {
        const turn = birth(fresh('shop'));

        await verb().handOver(handing(turn, 'h1'));
        await apply(turn);

        expect((await rowOf(turn)).handovers.length).toBe(1);
      });
    });

    describe('two tenants that use the same names', () => {
      test('have rows, identities and histories of their own', async () => {
        const [left, right] = [fresh('shop'), fresh('shop')];
        const same = { id: 'op-1', turn: 'turn-1' };
        await apply({ ...birth(left, { snapshot: { of: 'left' } }, { key: 'order-17' }), ...same });
        await apply({ ...birth(right, { snapshot: { of: 'right' } }, { key: 'order-17' }), ...same });
        const turn = moving({ tenant: left, id: 'op-1' }, { owner: null, generation: 1, revision: 1 });

        await apply({ ...turn, snapshot: { of: 'left, moved' } });

        expect(await rowOf({ tenant: left, id: 'op-1' })).toMatchObject({
          revision: 2,
          snapshot: { of: 'left, moved' },
        });
        expect(await rowOf({ tenant: right, id: 'op-1' })).toMatchObject({ revision: 1, snapshot: { of: 'right' } });
        expect((await verb().records({ tenant: right, id: 'op-1' })).length).toBe(1);
        const identity = { action: 'payment.authorise', key: 'order-17' };
        expect((await verb().readByIdentity({ ...identity, tenant: right }))?.tenant).toBe(right);
        expect(await verb().readByIdentity({ ...identity, tenant: fresh('shop') })).toBe(null);
      });

      test('never take hand-overs of each other, nor of another operation of their own', async () => {
        const [left, right] = [fresh('shop'), fresh('shop')];
        const [ours, theirs, sibling] = [
          { ...birth(left), id: 'op-1' },
          { ...birth(right), id: 'op-1' },
          { ...birth(left), id: 'op-2' },
        ];
        for (const turn of [ours, theirs, sibling]) {
          await apply(turn);
          await verb().handOver(handing(turn, 'h1', { for: turn.id, of: turn.tenant }));
        }

        await apply(moving(ours, { owner: null, generation: 1, revision: 1 }, { takes: ['h1'] }));

        expect((await rowOf(ours)).handovers).toEqual([]);
        expect((await rowOf(theirs)).handovers).toEqual([handing(theirs, 'h1', { for: 'op-1', of: right })]);
        expect((await rowOf(sibling)).handovers).toEqual([handing(sibling, 'h1', { for: 'op-2', of: left })]);
      });

      test('claim only the operation they name', async () => {
        const [left, right] = [fresh('shop'), fresh('shop')];
        await apply({ ...birth(left, { dueInMs: 0 }), id: 'op-1' });
        await apply({ ...birth(right, { dueInMs: 0 }), id: 'op-1' });

        const rows = await verb().claim(await enlisted(), actions, 10, { tenant: left, id: 'op-1' });

        expect(rows.map(({ tenant }) => tenant)).toEqual([left]);
        expect((await rowOf({ tenant: right, id: 'op-1' })).owner).toBe(null);
      });
    });

    describe('the list of doubts', () => {
      test('has what is unknown, reconciling, escalated or contradicted, the longest first', async () => {
        const tenant = fresh('shop');
        const states = [
          'escalated',
          'succeeded',
          'unknown',
          'in-progress',
          'failed',
          'reconciling',
          'pending',
        ] as const;
        const turns = states.map((state) => birth(tenant, { state, contradicted: state === 'failed' }));
        for (const turn of turns) {
          await apply(turn);
          await advance(10);
        }

        const rows = await verb().doubts({ tenant, limit: 10, after: null });

        expect(rows.map(({ state }) => state)).toEqual(['escalated', 'unknown', 'failed', 'reconciling']);
        expect(rows.map((row) => ({ ...row, now: 0 }))).toEqual(
          await Promise.all(rows.map(async (row) => ({ ...(await rowOf(row)), now: 0 }))),
        );
      });

      test('is paged without omission or repetition', async () => {
        const tenant = fresh('shop');
        const turns = Array.from({ length: 7 }, () => birth(tenant, { state: 'unknown' }));
        await still(async () => {
          for (const [index, turn] of turns.entries()) {
            await apply(turn);
            if (index % 2 === 0) await advance(10);
          }
        });

        const seen: string[] = [];
        let after: OperationRef | null = null;
        for (let page = 0; page < 4; page += 1) {
          const rows: readonly OperationRow[] = await verb().doubts({ tenant, limit: 2, after });
          seen.push(...rows.map(({ id }) => id));
          after = rows.at(-1) ?? null;
        }

        expect(seen.length).toBe(7);
        expect([...seen].sort()).toEqual(turns.map(({ id }) => id).sort());
        expect(seen[0]).toBe(turns[0]?.id);
      });

      test('keeps its order and the place of its reader while doubts go on and end', async () => {
        const tenant = fresh('shop');
        const turns = Array.from({ length: 4 }, () => birth(tenant, { state: 'unknown' }));
        for (const turn of turns) {
          await apply(turn);
          await advance(10);
        }
        const [first, second, third, fourth] = turns.map(({ id }) => ({ tenant, id }));
        if (!first || !second || !third || !fourth) throw new Error('Four operations are needed.');
        const was = { owner: null, generation: 1, revision: 1 };

        await apply(moving(first, was, { state: 'succeeded' }));
        await apply(moving(second, was, { state: 'reconciling' }));

        const ids = async (after: OperationRef | null): Promise<string[]> =>
          (await verb().doubts({ tenant, limit: 10, after })).map(({ id }) => id);
        expect(await ids(null)).toEqual([second.id, third.id, fourth.id]);
        expect(await ids(first)).toEqual([second.id, third.id, fourth.id]);
        expect(await ids(second)).toEqual([third.id, fourth.id]);
        expect(await ids(fourth)).toEqual([]);
      });

      test('is of one tenant when one is named, and of all otherwise', async () => {
        const [left, right] = [birth(fresh('shop'), { state: 'unknown' }), birth(fresh('shop'), { state: 'unknown' })];
        await apply(left);
        await apply(right);

        const ofOne = await verb().doubts({ tenant: left.tenant, limit: 1_000, after: null });
        const ofAll = await verb().doubts({ tenant: null, limit: 10_000, after: null });

        expect(ofOne.map(({ id }) => id)).toEqual([left.id]);
        expect(ofAll.filter(({ id }) => id === left.id || id === right.id).length).toBe(2);
      });
    });

    describe('the list of what settled in a span of time', () => {
      test('has what succeeded, failed or was compensated, the earliest first, whichever tenant it is of', async () => {
        const [action, left, right] = [fresh('action'), fresh('shop'), fresh('shop')];
        const states = [
          'compensated',
          'unknown',
          'failed',
          'in-progress',
          'succeeded',
          'pending',
          'reconciling',
          'escalated',
          'compensating',
          'succeeded',
        ] as const;
        for (const [n, state] of states.entries()) {
          await apply(birth(n % 4 === 0 ? left : right, { state, contradicted: state === 'failed' }, { action }));
          await advance(10);
        }

        const rows = await settled([action]);

        expect(rows.map(({ tenant, state }) => [tenant, state])).toEqual([
          [left, 'compensated'],
          [right, 'failed'],
          [left, 'succeeded'],
          [right, 'succeeded'],
        ]);
        expect(rows.map((row) => ({ ...row, now: 0 }))).toEqual(
          await Promise.all(rows.map(async (row) => ({ ...(await rowOf(row)), now: 0 }))),
        );
      });

      test('reaches from its first millisecond to its last, and no further', async () => {
        const [action, tenant] = [fresh('action'), fresh('shop')];
        const turns = Array.from({ length: 5 }, () => birth(tenant, { state: 'succeeded' }, { action }));
        const times: number[] = [];
        for (const turn of turns) {
          times.push((await apply(turn)).since);
          await advance(10);
        }
        const [from, to] = [times[1] ?? 0, times[3] ?? 0];

        const whole = await settled([action], { from, to });
        const within = await settled([action], { from: from + 1, to: to - 1 });
        const turned = await settled([action], { from: to, to: from });

        const ids = turns.map(({ id }) => id);
        expect(idsOf(whole)).toEqual(ids.slice(1, 4));
        expect(idsOf(within)).toEqual(ids.slice(2, 3));
        expect(turned).toEqual([]);
      });

      test('counts from when an operation settled, until it moves on', async () => {
        const action = fresh('action');
        const turn = birth(fresh('shop'), { state: 'in-progress' }, { action });
        const { since: begun } = await apply(turn);
        await advance(10);
        const fence = { owner: null, generation: 1 };
        const ended = await apply(moving(turn, { ...fence, revision: 1 }, { state: 'succeeded' }));
        await advance(10);
        const again = await apply(moving(turn, { ...fence, revision: 2 }, { state: 'succeeded' }));
        const span = { from: ended.now, to: ended.now };

        const before = await settled([action], { from: begun, to: ended.now - 1 });
        const then = await settled([action], span);
        const after = await settled([action], { from: ended.now + 1, to: again.now });
        await apply(moving(turn, { ...fence, revision: 3 }, { state: 'compensating' }));
        const movedOn = await settled([action], span);

        expect([before, after, movedOn]).toEqual([[], [], []]);
        expect(then.map(({ id, since, revision }) => [id, since, revision])).toEqual([[turn.id, ended.now, 3]]);
      });

      test('is of the actions it is asked for', async () => {
        const [tenant, paying, sending, other] = [fresh('shop'), fresh('action'), fresh('action'), fresh('action')];
        for (const action of [paying, sending, other]) {
          await apply(birth(tenant, { state: 'failed' }, { action }));
          await advance(10);
        }

        const ofTwo = await settled([sending, paying, fresh('action')]);
        const ofNone = await settled([]);

        expect(ofTwo.map(({ action }) => action)).toEqual([paying, sending]);
        expect(ofNone).toEqual([]);
      });

      test('is paged without omission or repetition, also where several settled at the same moment', async () => {
        const [action, left, right] = [fresh('action'), fresh('shop'), fresh('shop')];
        const turns = Array.from({ length: 9 }, (_, n) =>
          birth(n % 2 === 0 ? left : right, { state: 'succeeded' }, { action }),
        );
        await still(async () => {
          for (const [n, turn] of turns.entries()) {
            await apply(turn);
            if (n % 4 === 0) await advance(10);
          }
        });

        const pages: (readonly OperationRow[])[] = [];
        for (let after: OperationRef | null = null; pages.length < 5; after = pages.at(-1)?.at(-1) ?? null) {
          pages.push(await settled([action], { limit: 2, after }));
        }

        expect(pages.map(({ length }) => length)).toEqual([2, 2, 2, 2, 1]);
        expect(idsOf(pages.flat()).toSorted()).toEqual(turns.map(({ id }) => id).toSorted());
        expect(idsOf(pages.flat())).toEqual(idsOf(await settled([action])));
        const times = pages.flat().map(({ since }) => since);
        expect(times).toEqual(times.toSorted((a, b) => a - b));
        expect(await settled([action], { after: pages.at(-1)?.at(-1) ?? null })).toEqual([]);
      });

      test('begins again, and leaves nothing out, when what a page ended with has moved on', async () => {
        const [action, tenant] = [fresh('action'), fresh('shop')];
        const turns = Array.from({ length: 4 }, () => birth(tenant, { state: 'succeeded' }, { action }));
        const times: number[] = [];
        for (const turn of turns) {
          times.push((await apply(turn)).since);
          await advance(10);
        }
        const [first, second, third, fourth] = turns.map(({ id }) => ({ tenant, id }));
        if (!first || !second || !third || !fourth) throw new Error('Four operations are needed.');
        const page = { to: times[3] ?? 0, after: second };
        const goesOn = await settled([action], page);

        await apply(moving(second, { owner: null, generation: 1, revision: 1 }, { state: 'compensating' }));
        const whileCompensating = await settled([action], page);
        await apply(moving(second, { owner: null, generation: 1, revision: 2 }, { state: 'compensated' }));
        const whenCompensated = await settled([action], page);

        expect(idsOf(goesOn)).toEqual([third.id, fourth.id]);
        expect(idsOf(whileCompensating)).toEqual([first.id, third.id, fourth.id]);
        expect(idsOf(whenCompensated)).toEqual([first.id, third.id, fourth.id]);
      });

      test('has nothing after an operation that there is not', async () => {
        const [action, tenant] = [fresh('action'), fresh('shop')];
        const turns = Array.from({ length: 2 }, () => birth(tenant, { state: 'succeeded' }, { action }));
        for (const turn of turns) {
          await apply(turn);
          await advance(10);
        }
        const ids = turns.map(({ id }) => id);

        const rows = await settled([action], { after: { tenant: fresh('shop'), id: ids[0] ?? '' } });

        expect(rows).toEqual([]);
        expect(idsOf(await settled([action]))).toEqual(ids);
      });

      test('shows what was handed over for each, and for no other', async () => {
        const [action, left, right] = [fresh('action'), fresh('shop'), fresh('shop')];
        const ours = { ...birth(left, { state: 'succeeded' }, { action }), id: 'op-1' };
        const theirs = { ...birth(right, { state: 'succeeded' }, { action }), id: 'op-1' };
        await apply(ours);
        await advance(10);
        await apply(theirs);
        await verb().handOver(handing(theirs, 'h1', { status: 'captured' }));
        await verb().handOver(handing(theirs, 'h2', { status: 'refunded' }));

        const rows = await settled([action]);

        expect(rows.map(({ tenant, handovers }) => [tenant, handovers])).toEqual([
          [left, []],
          [right, [handing(theirs, 'h1', { status: 'captured' }), handing(theirs, 'h2', { status: 'refunded' })]],
        ]);
      });
    });

    describe('a value', () => {
      for (const [what, value] of values()) {
        test(`holding ${what} comes back as it was, wherever it is stored`, async () => {
          const stored = encode(value);
          const turn = birth(
            fresh('shop'),
            { snapshot: { stored }, output: { stored }, records: [{ kind: 'end', attempt: 1, body: stored }] },
            { input: stored },
          );

          await apply(turn);
          await verb().handOver(handing(turn, 'h1', stored));

          const row = await rowOf(turn);
          const [record] = await verb().records(turn);
          const found = [row.input, row.handovers[0]?.body, record?.body, row.snapshot, row.output];
          expect(found).toStrictEqual([stored, stored, stored, { stored }, { stored }]);
          expect(decode(row.input)).toStrictEqual(value);
          expect(({} as Record<string, unknown>)['isAdmin']).toBe(undefined);
        });
      }
    });

    describe('an Error in a value', () => {
      test('keeps its name, message, code and cause', async () => {
        const declined = Object.assign(new Error('card declined', { cause: new TypeError('no route') }), {
          code: 'E1',
        });
        const turn = birth(fresh('shop'), {}, { input: encode({ declined }) });

        await apply(turn);

        const row = await rowOf(turn);
        expect(row.input).toStrictEqual(encode({ declined }));
        expect(decode(row.input)).toMatchObject({
          declined: {
            name: 'Error',
            message: 'card declined',
            code: 'E1',
            cause: { name: 'TypeError', message: 'no route' },
          },
        });
      });
    });

    describe('a text', () => {
      for (const [what, text] of texts()) {
        test(`with ${what} names one thing as tenant, id, key, worker and hand-over`, async () => {
          const unique = fresh('');
          const tenant = `${text.slice(0, 120)}${unique}`;
          const turn = {
            ...birth(tenant, { owner: `${text}${unique}` }, { key: text }),
            id: `${text.slice(0, 120)}id`,
          };
          await verb().enlist(`${text}${unique}`);

          await apply(turn);
          await verb().handOver(handing(turn, text));

          const row = await rowOf(turn);
          expect([row.tenant, row.id, row.key, row.owner]).toEqual([tenant, turn.id, text, `${text}${unique}`]);
          expect(row.handovers).toEqual([handing(turn, text)]);
          const identity = { tenant, action: 'payment.authorise', key: text };
          expect((await verb().readByIdentity(identity))?.id).toBe(turn.id);
          expect(await verb().handedOver(`${text}${unique}`, 5)).toEqual([{ tenant, id: turn.id }]);
          await apply(moving(turn, { owner: `${text}${unique}`, generation: 1, revision: 1 }, { takes: [text] }));
          expect((await rowOf(turn)).handovers).toEqual([]);
        });
      }

      test('differs from every other, however alike they look', async () => {
        const tenant = fresh('shop');
        const alike = [
          'a',
          'A',
          'a ',
          ' a',
          'a\n',
          'é',
          'e\u0301',
          'ﬁ',
          'fi',
          'ß',
          'ss',
          'İ',
          'i',
          '\u200ba',
          '1',
          '1.0',
          'null',
        ];
        const turns = alike.map((key) => birth(tenant, {}, { key }));

        const receipts = await Promise.all(turns.map((turn) => verb().turn(turn)));

        expect(countPresent(receipts)).toBe(alike.length);
        const found = await Promise.all(
          alike.map((key) => verb().readByIdentity({ tenant, action: 'payment.authorise', key })),
        );
        expect(found.map((row) => row?.id)).toEqual(turns.map(({ id }) => id));
      });
    });

    sagaTests(held, api);
    signalTests(held, api);
    lockTests(held, api);
    sagaVersionTests(held, api);

    formatTests(held, api);
  });
}

/** Well-formed texts of at most 500 UTF-16 code units that a careless statement would misread. */
function texts(): [string, string][] {
  return [
    ['an injection', `'; drop table sagacity.operation; --`],
    ['a placeholder', '$1 ${2} :name ? %s'],
    ['backslashes and quotes', `\\ \\\\ \\' "" E'\\n' $$ $tag$`],
    ['JSON in it', `{"a":"b"}]'::jsonb`],
    ['line ends and tabs', 'a\r\nb\tc'],
    ['signs outside the basic plane, 500 long', '\u{1f6d2}'.repeat(250)],
    [
      'signs of three bytes, 500 long',
      Array.from({ length: 500 }, (_, n) => String.fromCodePoint(0x4e00 + n * 17)).join(''),
    ],
    ['letters of the alphabet, 500 long', 'k'.repeat(500)],
    ['both directions and marks', 'שלום\u202eabc\u202c e\u0301\u0327 \ufeff\u200d'],
    ['the last signs of the planes', '\ufffd\uffff\u{10ffff}\ue000'],
  ];
}

function timesOf(times: Omit<Receipt, 'revision' | 'now'>): Omit<Receipt, 'revision' | 'now'> {
  const { since, dueAt, firstStartedAt, sendBy, windowEndsAt } = times;
  return { since, dueAt, firstStartedAt, sendBy, windowEndsAt };
}
