/**
 * Two sessions meet at one saga of a real server, as in `fences.test.ts` they meet at one operation: one holds its row in
 * an open transaction, and the statement of the other is on its way already. A turn of a saga that comes too late must
 * change nothing of the saga and nothing of its operations. Each fence is also taken out, to see that its test would tell.
 */

import type postgres from 'postgres';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { postgresStore } from 'sagacity/postgres';
import type { OperationRef, SagaReceipt, SagaRow, SagaTurn } from 'sagacity/testing';
import { claimSaga, claimSagasDue } from '../../src/adapters/postgres/claim.ts';
import type { Database } from '../../src/adapters/postgres/executor.ts';
import { retireWorker } from '../../src/adapters/postgres/workers.ts';
import { sagaBirth, sagaMoving, step, stepped } from '../../src/testing/store-turns.ts';
import { databaseAt, freshDatabase } from '../support/postgres.ts';
import { hold, ofTenant, pausing } from './paused-claim.ts';
import {
  applyOne,
  applySaga,
  footprint,
  footprintOfSaga,
  type Holder,
  holderAt,
  replacing,
  type Session,
  sessionAt,
  waits,
} from './sessions.ts';
import { birth, fresh } from './turns.ts';

const PATIENT = { lockTimeoutMs: 10_000 };
const DEFINITIONS = [{ name: 'order', version: 1 }];
const born = { generation: 1, revision: 1 };

let url: string;
let store: ReturnType<typeof postgresStore>;
let session: Session;
let onlooker: postgres.Sql;
let here: string;
let holders: Holder[] = [];

beforeAll(async () => {
  url = await freshDatabase();
  store = postgresStore({ url, migrate: true });
  await store.open();
  here = (await store.enlist(fresh('worker'))).id;
  session = sessionAt(url);
  onlooker = databaseAt(url);
});

afterEach(async () => {
  // What a failed test left open would hold up the next one.
  await Promise.all(holders.map((holder) => holder.abandon()));
  holders = [];
});

afterAll(async () => {
  session.close();
  await store.close();
  await onlooker.end();
});

/** An open transaction, ended with the test at the latest. */
async function holding(): Promise<Holder> {
  const holder = await holderAt(url);
  holders.push(holder);
  return holder;
}

async function enlisted(): Promise<string> {
  const worker = fresh('worker');
  await store.enlist(worker);
  return worker;
}

/** A saga in the middle of its first step, with something handed over; its worker has been declared dead. */
async function abandoned(): Promise<{
  readonly ref: OperationRef;
  readonly owner: string;
  readonly operation: string;
}> {
  const owner = await enlisted();
  const start = { sendWithinMs: 5_000, retentionMs: 60_000, marginMs: 8_000, insideWindow: false };
  const operation = step({ start });
  const turn = sagaBirth(fresh('shop'), {
    ...{ owner, operations: [operation], timeline: here },
    dues: [{ name: 'within', inMs: 0 }],
  });
  await written(turn);
  await store.handOver({ tenant: turn.tenant, id: turn.id, handoverId: 'h1', body: { said: 'captured' } });
  await onlooker`update sagacity.worker set dead_at = now() where id = ${owner}`;
  return { ref: { tenant: turn.tenant, id: turn.id }, owner, operation: operation.id };
}

async function written(turn: SagaTurn): Promise<void> {
  expect(await store.sagaTurn(turn)).not.toBe(null);
}

/** Takes `ref` over for a living worker, in the transaction of `holder`. */
async function takeOver(holder: Holder, ref: OperationRef): Promise<string> {
  const heir = await enlisted();
  const claimed = await claimSaga(holder.database, heir, DEFINITIONS, ref);
  expect(claimed).toMatchObject([{ id: ref.id, owner: heir, generation: 2 }]);
  return heir;
}

/** The turn with which a worker would end the first step and begin the second. */
function goingOn({ ref, owner, operation }: Awaited<ReturnType<typeof abandoned>>): SagaTurn {
  return sagaMoving(
    ref,
    { ...born, owner },
    { operations: [stepped({ id: operation }, { state: 'succeeded' }), step()], takes: ['h1'] },
  );
}

const ways: readonly (readonly [string, (turn: SagaTurn) => Promise<SagaReceipt | null>])[] = [
  ['through the store', (turn) => store.sagaTurn(turn)],
  ['in a statement that waits as long as it takes', (turn) => applySaga(session.database, turn, PATIENT)],
];

describe.each(ways)('a turn of a saga %s, while somebody else holds its row', (_, apply) => {
  test('changes nothing once the saga has been taken over', async () => {
    const saga = await abandoned();
    const holder = await holding();
    await takeOver(holder, saga.ref);
    const takenOver = await footprintOfSaga(holder.sql, saga.ref);
    const turn = goingOn(saga);

    const late = apply(turn);
    await waits(onlooker, 'saga-turn', late);
    await holder.commit();

    expect(await late).toBe(null);
    expect(await footprintOfSaga(onlooker, saga.ref)).toEqual(takenOver);
    expect(await footprint(onlooker, { tenant: saga.ref.tenant, id: turn.operations[1]?.id ?? '' })).toEqual([]);
    expect(takenOver).toHaveLength(5);
  });

  test('is written with all of it when the take-over was rolled back', async () => {
    const saga = await abandoned();
    const holder = await holding();
    await takeOver(holder, saga.ref);

    const late = apply(goingOn(saga));
    await waits(onlooker, 'saga-turn', late);
    await holder.rollback();

    expect(await late).toMatchObject({ revision: 2, met: [] });
    const row = await store.readSaga(saga.ref);
    expect(row).toMatchObject({ owner: saga.owner, revision: 2, handovers: [] });
    expect(row?.operations.map(({ state, revision }) => [state, revision])).toEqual([
      ['succeeded', 2],
      ['in-progress', 1],
    ]);
    expect(await store.sagaRecords(saga.ref)).toHaveLength(5);
  });

  test('is written when the row was changed without being taken over', async () => {
    const saga = await abandoned();
    const { tenant, id } = saga.ref;
    const holder = await holding();
    await holder.sql`update sagacity.saga set reason = 'limit' where tenant = ${tenant} and id = ${id}`;

    const late = apply(goingOn(saga));
    await waits(onlooker, 'saga-turn', late);
    await holder.commit();

    expect(await late).toMatchObject({ revision: 2 });
    expect(await store.sagaRecords(saga.ref)).toHaveLength(5);
  });

  test('leaves the others of its statement alone', async () => {
    const saga = await abandoned();
    const others = Array.from({ length: 20 }, () => sagaBirth(saga.ref.tenant));
    await Promise.all(others.map(written));
    const holder = await holding();
    await takeOver(holder, saga.ref);

    const late = apply(goingOn(saga));
    const receipts = Promise.all(
      others.map((each) => store.sagaTurn(sagaMoving(each, { ...born, owner: null }, { operations: [step()] }))),
    );
    await waits(onlooker, 'saga-turn', late);
    await holder.commit();

    expect(await late).toBe(null);
    expect((await receipts).map((receipt) => receipt?.revision)).toEqual(others.map(() => 2));
  });
});

describe('a turn of a saga that waits for its row', () => {
  const changes: readonly (readonly [string, string])[] = [
    ['another owner', `owner = 'somebody'`],
    ['no owner', 'owner = null'],
    ['another generation', 'generation = generation + 1'],
    ['another revision', 'revision = revision + 1'],
  ];
  test.each(changes)('changes nothing when the row has got %s, and nothing else', async (_, change) => {
    const saga = await abandoned();
    const holder = await holding();
    await holder.sql.unsafe(`update sagacity.saga set ${change} where tenant = $1 and id = $2`, [
      saga.ref.tenant,
      saga.ref.id,
    ]);
    const changed = await footprintOfSaga(holder.sql, saga.ref);

    const late = applySaga(session.database, goingOn(saga), PATIENT);
    await waits(onlooker, 'saga-turn', late);
    await holder.commit();

    expect(await late).toBe(null);
    expect(await footprintOfSaga(onlooker, saga.ref)).toEqual(changed);
  });

  test('changes nothing when another turn has moved the saga and its operation on', async () => {
    const saga = await abandoned();
    const holder = await holding();
    await applySaga(holder.database, goingOn(saga));
    const movedOn = await footprintOfSaga(holder.sql, saga.ref);

    const late = applySaga(session.database, goingOn(saga), PATIENT);
    await waits(onlooker, 'saga-turn', late);
    await holder.commit();

    expect(await late).toBe(null);
    expect(await footprintOfSaga(onlooker, saga.ref)).toEqual(movedOn);
  });

  test('writes the due times that it keeps as the row has them by then', async () => {
    const saga = await abandoned();
    const { tenant, id } = saga.ref;
    const holder = await holding();
    await holder.sql`update sagacity.saga set dues = '{"within": 17000}' where tenant = ${tenant} and id = ${id}`;

    const late = applySaga(session.database, { ...goingOn(saga), dues: [{ name: 'within', inMs: null }] }, PATIENT);
    await waits(onlooker, 'saga-turn', late);
    await holder.commit();

    expect(await late).toMatchObject({ dues: { within: 17_000 }, dueAt: 17_000 });
  });

  const fence =
    'and s.owner is not distinct from g.owner_was and s.generation = g.generation_was and s.revision = g.revision_was';
  const elsewhere = `
    and exists (
      select from sagacity.saga f
      where
        f.tenant = g.tenant
        and f.id = g.id
        and f.owner is not distinct from g.owner_was
        and f.generation = g.generation_was
        and f.revision = g.revision_was
    )`;
  test.each([
    ['it had no fence', ''],
    ['its fence were asked of the row as it was found, not of the row that is updated', elsewhere],
  ])('would be written over the take-over if %s', async (_, replacement) => {
    const unfenced = session.edited(replacing(fence, replacement));
    const saga = await abandoned();
    const holder = await holding();
    await takeOver(holder, saga.ref);

    const late = applySaga(unfenced, goingOn(saga), PATIENT);
    await waits(onlooker, 'saga-turn', late);
    await holder.commit();

    expect(await late).toMatchObject({ revision: 2 });
    expect(await store.readSaga(saga.ref)).toMatchObject({ owner: saga.owner, generation: 1, handovers: [] });
    expect(await store.sagaRecords(saga.ref)).toHaveLength(5);
  });
});

describe.each(ways)('the birth of a saga %s, while somebody else is about to commit', (_, apply) => {
  const twins: readonly (readonly [string, (of: SagaTurn) => SagaTurn])[] = [
    ['the same identity under another id', ({ tenant, birth: of }) => sagaBirth(tenant, {}, { key: of?.key ?? '' })],
    ['the same id with another identity', ({ tenant, id }) => sagaBirth(tenant, { id })],
  ];

  test.each(twins)('%s, writes nothing once that has committed', async (_what, twinOf) => {
    const late = sagaBirth(fresh('shop'), { operations: [step()] });
    const first = twinOf(late);
    const holder = await holding();
    expect(await applySaga(holder.database, first)).not.toBe(null);
    const before = await footprintOfSaga(holder.sql, first);

    const receipt = apply(late);
    await waits(onlooker, 'saga-turn', receipt);
    await holder.commit();

    expect(await receipt).toBe(null);
    expect(await footprintOfSaga(onlooker, first)).toEqual(before);
    expect(await store.read({ tenant: late.tenant, id: late.operations[0]?.id ?? '' })).toBe(null);
  });

  test.each(twins)('%s, is written when that was rolled back', async (_what, twinOf) => {
    const late = sagaBirth(fresh('shop'), { operations: [step()] });
    const holder = await holding();
    await applySaga(holder.database, twinOf(late));

    const receipt = apply(late);
    await waits(onlooker, 'saga-turn', receipt);
    await holder.rollback();

    expect(await receipt).toMatchObject({ revision: 1, met: [] });
    expect((await store.readSaga(late))?.operations).toHaveLength(1);
  });
});

describe.each(ways)('a turn of a saga %s that brings what somebody else is about to commit', (_, apply) => {
  const others: readonly (readonly [string, (database: Database, tenant: string, key: string) => Promise<unknown>])[] =
    [
      ['as one that stands alone', (database, tenant, key) => applyOne(database, birth(tenant, { key }))],
      [
        'as one of another saga',
        (database, tenant, key) => applySaga(database, sagaBirth(tenant, { operations: [step({}, { key })] })),
      ],
    ];

  test.each(others)('%s meets it, and is written with the rest', async (_what, bring) => {
    const [tenant, key] = [fresh('shop'), fresh('order')];
    const holder = await holding();
    await bring(holder.database, tenant, key);
    const [meeting, other] = [step({}, { key }), step()];
    const turn = sagaBirth(tenant, { operations: [meeting, other] });

    const receipt = apply(turn);
    await waits(onlooker, 'saga-turn', receipt);
    await holder.commit();

    expect(await receipt).toMatchObject({ met: [meeting.id], operations: { [other.id]: { revision: 1 } } });
    expect(await store.sagaRecords(turn)).toHaveLength(2);
    expect(await store.records({ tenant, id: meeting.id })).toEqual([]);
  });

  test.each(others)('%s has it when that was rolled back', async (_what, bring) => {
    const [tenant, key] = [fresh('shop'), fresh('order')];
    const holder = await holding();
    await bring(holder.database, tenant, key);
    const turn = sagaBirth(tenant, { operations: [step({}, { key })] });

    const receipt = apply(turn);
    await waits(onlooker, 'saga-turn', receipt);
    await holder.rollback();

    expect(await receipt).toMatchObject({ met: [] });
    expect(await store.readByIdentity({ tenant, action: 'payment.authorise', key })).toMatchObject({ saga: turn.id });
  });
});

/** A way to become claimable, how it is claimed, and the statement without its fence. */
interface Claimable {
  readonly make: () => Promise<OperationRef>;
  readonly claim: (database: Database, worker: string, ref: OperationRef) => Promise<readonly SagaRow[]>;
  readonly name: 'claim-sagas-due' | 'claim-saga';
  readonly unfenced: (text: string) => string;
}

const unowned = (dues: SagaTurn['dues']) => async (): Promise<OperationRef> => {
  const turn = sagaBirth(fresh('shop'), { dues, operations: [step()] });
  await written(turn);
  const ref = { tenant: turn.tenant, id: turn.id };
  await store.handOver({ ...ref, handoverId: 'h1', body: {} });
  return ref;
};
const left = async (): Promise<OperationRef> => (await abandoned()).ref;

const byDue: Pick<Claimable, 'name' | 'claim'> = {
  name: 'claim-sagas-due',
  claim: (database, worker) => claimSagasDue(database, worker, DEFINITIONS, 1_000),
};
const byId: Pick<Claimable, 'name' | 'claim'> = {
  name: 'claim-saga',
  claim: (database, worker, ref) => claimSaga(database, worker, DEFINITIONS, ref),
};
const anyOwner = replacing(
  'and ( o.owner = any (array(select lost.id from lost)) or o.owner is null and ( o.due_at is not null or exists ' +
    '( select from "sagacity"."handover" h where h.tenant = $6::text and h.aggregate = $7::text ) ) )',
  'and $6::text is not null and $7::text is not null',
);

const claimables: readonly (readonly [string, Claimable])[] = [
  [
    'that was due',
    {
      ...byDue,
      make: unowned([{ name: 'timer', inMs: 0 }]),
      unfenced: replacing('o.owner is null and o.due_at <= clock.now', 'o.due_at <= clock.now'),
    },
  ],
  [
    'that something was handed over for',
    { ...byDue, make: unowned([]), unfenced: replacing('where o.owner is null and o.version', 'where o.version') },
  ],
  [
    'that a dead worker had left',
    {
      ...byDue,
      make: left,
      unfenced: replacing('where o.owner = any (array(select lost.id from lost)) and', 'where'),
    },
  ],
  ['that belonged to nobody, by its id,', { ...byId, make: unowned([]), unfenced: anyOwner }],
  ['that a dead worker had left, by its id,', { ...byId, make: left, unfenced: anyOwner }],
];

describe.each(claimables)('the claim of a saga %s', (_, { make, claim, name, unfenced }) => {
  test('neither waits for somebody who holds the row nor takes it from him', async () => {
    const ref = await make();
    const holder = await holding();
    await takeOver(holder, ref);
    const takenOver = await footprintOfSaga(holder.sql, ref);

    const claimed = await claim(session.database, await enlisted(), ref);
    await holder.commit();

    expect(claimed.filter(ofTenant(ref))).toEqual([]);
    expect(await footprintOfSaga(onlooker, ref)).toEqual(takenOver);
  });

  test('changes nothing when another worker has claimed it since it was seen', async () => {
    const ref = await make();
    const holder = await holding();
    await hold(holder);
    await takeOver(holder, ref);
    const takenOver = await footprintOfSaga(holder.sql, ref);

    const late = claim(session.edited(pausing), await enlisted(), ref);
    await waits(onlooker, name, late);
    await holder.commit();

    expect((await late).filter(ofTenant(ref))).toEqual([]);
    expect(await footprintOfSaga(onlooker, ref)).toEqual(takenOver);
  });

  test('succeeds when the other claim was rolled back, and gives the saga with its operations', async () => {
    const ref = await make();
    const worker = await enlisted();
    const holder = await holding();
    await hold(holder);
    await takeOver(holder, ref);

    const late = claim(session.edited(pausing), worker, ref);
    await waits(onlooker, name, late);
    await holder.rollback();

    const [row] = (await late).filter(ofTenant(ref));
    expect(row).toMatchObject({ id: ref.id, owner: worker, generation: 2 });
    expect(row?.operations).toMatchObject([{ saga: ref.id, revision: 1 }]);
  });

  test('would take it from the other worker if it had no fence', async () => {
    const ref = await make();
    const worker = await enlisted();
    const holder = await holding();
    await hold(holder);
    await takeOver(holder, ref);

    const late = claim(
      session.edited((text) => unfenced(pausing(text))),
      worker,
      ref,
    );
    await waits(onlooker, name, late);
    await holder.commit();

    expect((await late).filter(ofTenant(ref))).toMatchObject([{ owner: worker, generation: 3 }]);
  });

  test('leaves what a turn has moved on since: its operations and hand-overs would be those from before', async () => {
    const ref = await make();
    const seen = await store.readSaga(ref);
    const holder = await holding();
    await hold(holder);
    const was = { ...born, owner: seen?.owner ?? null };
    const moved = sagaMoving(ref, was, {
      ...{ dues: [{ name: 'timer', inMs: 0 }], takes: ['h1'] },
      operations: [stepped({ id: seen?.operations[0]?.id ?? '' }, { state: 'succeeded' })],
    });
    const receipt = await applySaga(holder.database, moved);
    const movedOn = await footprintOfSaga(holder.sql, ref);

    const late = claim(session.edited(pausing), await enlisted(), ref);
    await waits(onlooker, name, late);
    await holder.commit();

    expect(receipt).toMatchObject({ revision: 2 });
    expect((await late).filter(ofTenant(ref))).toEqual([]);
    expect(await footprintOfSaga(onlooker, ref)).toEqual(movedOn);
  });
});

describe('the retirement of a worker that waits for the row of its saga', () => {
  test('leaves what has been taken over, and releases what a rolled back take-over has left', async () => {
    const owner = await enlisted();
    const [taken, kept] = [sagaBirth(fresh('shop'), { owner }), sagaBirth(fresh('shop'), { owner })];
    await written(taken);
    await written(kept);
    const holder = await holding();
    await holder.sql`update sagacity.saga set owner = 'heir', generation = 2 where id = ${taken.id}`;

    const late = retireWorker(session.database, owner);
    await waits(onlooker, 'retire', late);
    await holder.commit();
    await late;

    expect(await store.readSaga(taken)).toMatchObject({ owner: 'heir', generation: 2 });
    expect(await store.readSaga(kept)).toMatchObject({ owner: null, generation: 2 });
  });
});
