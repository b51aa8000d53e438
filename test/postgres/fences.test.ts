/**
 * Two sessions meet at one row of a real server. One holds it in an open transaction that takes the operation over; the
 * statement of the worker that is losing it is on its way already and has read the row as it was. Once the take-over
 * has committed, that statement must change nothing: this is what PostgreSQL's second look at the row's own conditions
 * is for. Each fence is also taken out or misplaced, to see that its test would tell.
 */

import type postgres from 'postgres';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { postgresStore } from 'sagacity/postgres';
import type { OperationRef, OperationRow, Receipt, Start, Turn } from 'sagacity/testing';
import { claimDue, claimOne } from '../../src/adapters/postgres/claim.ts';
import type { Database } from '../../src/adapters/postgres/executor.ts';
import { buryWorkers, enlistWorker, renewWorker, retireWorker } from '../../src/adapters/postgres/workers.ts';
import { databaseAt, freshDatabase } from '../support/postgres.ts';
import { applyTurns } from '../../src/adapters/postgres/turn.ts';
import { hold, ofTenant, pausing } from './paused-claim.ts';
import { applyOne, footprint, type Holder, holderAt, replacing, type Session, sessionAt, waits } from './sessions.ts';
import { ACTION, birth, fresh, move } from './turns.ts';

type Store = ReturnType<typeof postgresStore>;

const MINUTE_MS = 60_000;
const PATIENT = { lockTimeoutMs: 10_000 };

let url: string;
let store: Store;
let session: Session;
let onlooker: postgres.Sql;
/** The timeline that the server is on. */
let here: string;
let holders: Holder[] = [];
const sessions: Session[] = [];

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
  for (const each of sessions.splice(0)) each.close();
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

async function dead(worker: string): Promise<void> {
  await onlooker`update sagacity.worker set dead_at = now() where id = ${worker}`;
}

/** An operation in the middle of an attempt, with something handed over; its worker has been declared dead. */
async function abandoned(): Promise<{ readonly ref: OperationRef; readonly owner: string }> {
  const owner = await enlisted();
  const turn = birth(fresh('shop'), { owner, state: 'in-progress', dueInMs: 0, start: starting() });
  await written(turn);
  await store.handOver({ tenant: turn.tenant, id: turn.id, handoverId: 'h1', body: { said: 'captured' } });
  await dead(owner);
  return { ref: { tenant: turn.tenant, id: turn.id }, owner };
}

/** A start on the timeline that the server is on, unless it is said. */
function starting(start: Partial<Start> = {}): Start {
  return {
    ...{ sendWithinMs: 5_000, retentionMs: MINUTE_MS, marginMs: 8_000, insideWindow: false, timeline: here },
    ...start,
  };
}

async function written(turn: Turn): Promise<void> {
  expect(await store.turn(turn)).not.toBe(null);
}

/** Takes `ref` over for a living worker, in the transaction of `holder`. */
async function takeOver(holder: Holder, ref: OperationRef): Promise<string> {
  const heir = await enlisted();
  const claimed = await claimOne(holder.database, heir, [ACTION], ref);
  expect(claimed).toMatchObject([{ id: ref.id, owner: heir, generation: 2 }]);
  return heir;
}

/** The turn with which a worker would end its attempt; it applies the hand-over and leaves records. */
function ending(ref: OperationRef, owner: string): Turn {
  return move(
    ref,
    { owner, generation: 1, revision: 1 },
    { state: 'succeeded', output: { id: 'pi_1' }, takes: ['h1'] },
  );
}

const ways: readonly (readonly [string, (turn: Turn) => Promise<Receipt | null>])[] = [
  ['through the store', (turn) => store.turn(turn)],
  ['in a statement that waits as long as it takes', (turn) => applyOne(session.database, turn, PATIENT)],
];

describe.each(ways)('a turn %s, while somebody else holds the row', (_, apply) => {
  test('changes nothing once its operation has been taken over', async () => {
    const { ref, owner } = await abandoned();
    const holder = await holding();
    await takeOver(holder, ref);
    const takenOver = await footprint(holder.sql, ref);

    const late = apply(ending(ref, owner));
    await waits(onlooker, 'turn', late);
    await holder.commit();

    expect(await late).toBe(null);
    expect(await footprint(onlooker, ref)).toEqual(takenOver);
    expect(takenOver).toHaveLength(3);
  });

  test('is written when the take-over was rolled back', async () => {
    const { ref, owner } = await abandoned();
    const holder = await holding();
    await takeOver(holder, ref);

    const late = apply(ending(ref, owner));
    await waits(onlooker, 'turn', late);
    await holder.rollback();

    expect(await late).toMatchObject({ revision: 2 });
    expect(await store.read(ref)).toMatchObject({ state: 'succeeded', owner, revision: 2, handovers: [] });
    expect(await store.records(ref)).toHaveLength(2);
  });

  test('is written when the row was changed without being taken over', async () => {
    const { ref, owner } = await abandoned();
    const holder = await holding();
    await holder.sql`update sagacity.operation set reason = 'limit' where tenant = ${ref.tenant} and id = ${ref.id}`;

    const late = apply(ending(ref, owner));
    await waits(onlooker, 'turn', late);
    await holder.commit();

    expect(await late).toMatchObject({ revision: 2 });
    expect(await store.read(ref)).toMatchObject({ state: 'succeeded', handovers: [] });
    expect(await store.records(ref)).toHaveLength(2);
  });

  test('leaves the others of its statement alone', async () => {
    const { ref, owner } = await abandoned();
    const others = Array.from({ length: 20 }, () => birth(ref.tenant));
    await Promise.all(others.map(written));
    const holder = await holding();
    await takeOver(holder, ref);

    const late = apply(ending(ref, owner));
    const receipts = Promise.all(
      others.map((each) => store.turn(move(each, { owner: null, generation: 1, revision: 1 }))),
    );
    await waits(onlooker, 'turn', late);
    await holder.commit();

    expect(await late).toBe(null);
    expect((await receipts).map((receipt) => receipt?.revision)).toEqual(others.map(() => 2));
  });
});

describe('a turn that waits for its row', () => {
  const changes: readonly (readonly [string, string])[] = [
    ['another owner', `owner = 'somebody'`],
    ['no owner', 'owner = null'],
    ['another generation', 'generation = generation + 1'],
    ['another revision', 'revision = revision + 1'],
    ['a window that is over', `window_ends_at = now() - interval '1 second'`],
  ];
  test.each(changes)('changes nothing when the row has got %s, and nothing else', async (_, change) => {
    const { ref, owner } = await abandoned();
    const start = starting({ insideWindow: true });
    const holder = await holding();
    await holder.sql.unsafe(`update sagacity.operation set ${change} where tenant = $1 and id = $2`, [
      ref.tenant,
      ref.id,
    ]);
    const changed = await footprint(holder.sql, ref);

    const late = applyOne(session.database, { ...ending(ref, owner), start }, PATIENT);
    await waits(onlooker, 'turn', late);
    await holder.commit();

    expect(await late).toBe(null);
    expect(await footprint(onlooker, ref)).toEqual(changed);
  });

  const fence =
    'and o.owner is not distinct from g.owner_was and o.generation = g.generation_was and o.revision = g.revision_was';
  const elsewhere = `
    and exists (
      select from sagacity.operation s
      where
        s.tenant = g.tenant
        and s.id = g.id
        and s.owner is not distinct from g.owner_was
        and s.generation = g.generation_was
        and s.revision = g.revision_was
    )`;
  test.each([
    ['it had no fence', ''],
    ['its fence were asked of the row as it was found, not of the row that is updated', elsewhere],
  ])('would be written over the take-over if %s', async (_, replacement) => {
    const unfenced = session.edited(replacing(fence, replacement));
    const { ref, owner } = await abandoned();
    const holder = await holding();
    await takeOver(holder, ref);

    const late = applyOne(unfenced, ending(ref, owner), PATIENT);
    await waits(onlooker, 'turn', late);
    await holder.commit();

    expect(await late).toMatchObject({ revision: 2 });
    expect(await store.read(ref)).toMatchObject({ owner, generation: 1, state: 'succeeded', handovers: [] });
    expect(await store.records(ref)).toHaveLength(2);
  });
});

describe.each([...ways, ['inside a transaction of the caller', inTransaction] as const])(
  'a birth %s, while somebody else is about to commit',
  (_, apply) => {
    const twins: readonly (readonly [string, (of: Turn) => Turn])[] = [
      ['the same identity under another id', ({ tenant, birth: born }) => birth(tenant, { key: born?.key ?? '' })],
      ['the same id with another identity', ({ tenant, id }) => birth(tenant, { id })],
      ['the same of both', ({ tenant, id, birth: born }) => birth(tenant, { id, key: born?.key ?? '' })],
    ];

    test.each(twins)('%s, writes nothing once that has committed', async (_what, twinOf) => {
      const late = birth(fresh('shop'), { records: [{ kind: 'start', attempt: 1, body: { late: true } }] });
      const first = twinOf(late);
      const holder = await holding();
      expect(await applyOne(holder.database, first)).not.toBe(null);
      const before = await footprint(holder.sql, first);

      const receipt = apply(late);
      await waits(onlooker, 'turn', receipt);
      await holder.commit();

      expect(await receipt).toBe(null);
      expect(await footprint(onlooker, first)).toEqual(before);
      expect(await everythingOf(late.tenant)).toEqual({ operations: 1, records: 1 });
    });

    test.each(twins)('%s, is written when that was rolled back', async (_what, twinOf) => {
      const late = birth(fresh('shop'));
      const holder = await holding();
      expect(await applyOne(holder.database, twinOf(late))).not.toBe(null);

      const receipt = apply(late);
      await waits(onlooker, 'turn', receipt);
      await holder.rollback();

      expect(await receipt).toMatchObject({ revision: 1 });
      expect(await store.read(late)).toMatchObject({ turn: late.turn, born: late.turn });
      expect(await everythingOf(late.tenant)).toEqual({ operations: 1, records: 1 });
    });
  },
);

async function everythingOf(tenant: string): Promise<{ operations: number; records: number } | undefined> {
  const [counted] = await onlooker<{ operations: number; records: number }[]>`
    select
      (select count(*)::int from sagacity.operation o where o.tenant = ${tenant}) as operations,
      (select count(*)::int from sagacity.attempt a where a.tenant = ${tenant}) as records`;
  return counted;
}

describe('the start of an attempt on another timeline than the server is on', () => {
  const elsewhere = () => starting({ timeline: fresh('timeline') });
  const everyWay = [...ways, ['inside a transaction of the caller', inTransaction] as const] as const;
  const unfenced = replacing(`or doc -> 'start' ->> 'timeline' =`, 'or null is distinct from');

  test.each(everyWay)('is not written as a birth %s, and leaves the identity to others', async (_, apply) => {
    const turn = birth(fresh('shop'), { start: elsewhere() });

    const receipt = await apply(turn);

    expect(receipt).toBe(null);
    expect(await everythingOf(turn.tenant)).toEqual({ operations: 0, records: 0 });
    expect(await apply({ ...turn, start: starting() })).toMatchObject({ revision: 1 });
  });

  test.each(everyWay)('is not written as a move %s', async (_, apply) => {
    const { ref, owner } = await abandoned();
    const before = await footprint(onlooker, ref);

    const receipt = await apply({ ...ending(ref, owner), start: elsewhere() });

    expect(receipt).toBe(null);
    expect(await footprint(onlooker, ref)).toEqual(before);
    expect(await apply({ ...ending(ref, owner), start: starting() })).toMatchObject({ revision: 2 });
  });

  test('waits for nobody who holds its row', async () => {
    const { ref, owner } = await abandoned();
    const holder = await holding();
    await takeOver(holder, ref);

    const receipt = await applyOne(session.database, { ...ending(ref, owner), start: elsewhere() });

    expect(receipt).toBe(null);
  });

  test('leaves the others of its statement alone', async () => {
    const tenant = fresh('shop');
    const moved = await Promise.all(Array.from({ length: 3 }, () => abandoned()));
    const starts = [elsewhere(), starting(), null];
    const turns = [
      ...starts.map((start) => birth(tenant, { start })),
      ...moved.map(({ ref, owner }, n) => ({ ...ending(ref, owner), start: starts[n] ?? null })),
    ];

    const receipts = await applyTurns(session.database, turns);

    expect(turns.map(({ turn }) => receipts.has(turn))).toEqual([false, true, true, false, true, true]);
    expect(await everythingOf(tenant)).toEqual({ operations: 2, records: 2 });
    const revisions = await Promise.all(moved.map(async ({ ref }) => (await store.read(ref))?.revision));
    expect(revisions).toEqual([1, 2, 2]);
  });

  test('would be written if it had no fence', async () => {
    const { ref, owner } = await abandoned();
    const turns = [birth(ref.tenant, { start: elsewhere() }), { ...ending(ref, owner), start: elsewhere() }];

    const receipts = await applyTurns(session.edited(unfenced), turns);

    expect(receipts.size).toBe(2);
  });
});

async function inTransaction(turn: Turn): Promise<Receipt | null> {
  const host = await holding();
  const inside = await store.within?.(host.sql);
  if (inside === undefined) throw new Error('The store has no verbs for a transaction.');
  const receipt = await inside.turn(turn);
  await host.commit();
  return receipt;
}

describe('a birth in a database without the unique identity', () => {
  test('would be written beside the other one', async () => {
    const elsewhere = await freshDatabase();
    const lawless = postgresStore({ url: elsewhere, migrate: true });
    await lawless.open();
    const onlookerThere = databaseAt(elsewhere);
    await onlookerThere`alter table sagacity.operation drop constraint operation_identity`;
    const late = birth(fresh('shop'));
    const holder = await holderAt(elsewhere);
    await applyOne(holder.database, birth(late.tenant, { key: late.birth?.key ?? '' }));

    const receipt = lawless.turn(late);

    expect(await receipt).not.toBe(null);
    await holder.commit();
    expect(await onlookerThere`select from sagacity.operation where tenant = ${late.tenant}`).toHaveLength(2);
    await lawless.close();
    await onlookerThere.end();
  });
});

/** A way to become claimable, how it is claimed, and the statement without its fence. */
interface Claimable {
  readonly make: () => Promise<OperationRef>;
  readonly claim: (database: Database, worker: string, ref: OperationRef) => Promise<readonly OperationRow[]>;
  readonly name: 'claim-due' | 'claim-one';
  readonly unfenced: (text: string) => string;
}

const unowned = (turn: Partial<Turn>) => async (): Promise<OperationRef> => {
  const { tenant, id, ...rest } = birth(fresh('shop'), turn);
  await written({ tenant, id, ...rest });
  await store.handOver({ tenant, id, handoverId: 'h1', body: {} });
  return { tenant, id };
};
const left = async (): Promise<OperationRef> => (await abandoned()).ref;

const byDue: Pick<Claimable, 'name' | 'claim'> = {
  name: 'claim-due',
  claim: (database, worker) => claimDue(database, worker, [ACTION], 1_000),
};
const byId: Pick<Claimable, 'name' | 'claim'> = {
  name: 'claim-one',
  claim: (database, worker, ref) => claimOne(database, worker, [ACTION], ref),
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
      make: unowned({ dueInMs: 0 }),
      unfenced: replacing('o.owner is null and o.due_at <= clock.now', 'o.due_at <= clock.now'),
    },
  ],
  [
    'that something was handed over for',
    {
      ...byDue,
      make: unowned({ dueInMs: null }),
      unfenced: replacing('where o.owner is null and o.saga', 'where o.saga'),
    },
  ],
  [
    'that a dead worker had left',
    {
      ...byDue,
      make: left,
      unfenced: replacing('where o.owner = any (array(select lost.id from lost)) and', 'where'),
    },
  ],
  ['that belonged to nobody, by its id,', { ...byId, make: unowned({}), unfenced: anyOwner }],
  ['that a dead worker had left, by its id,', { ...byId, make: left, unfenced: anyOwner }],
];

describe.each(claimables)('the claim of an operation %s', (_, { make, claim, name, unfenced }) => {
  test('neither waits for somebody who holds the row nor takes it from him', async () => {
    const ref = await make();
    const holder = await holding();
    await takeOver(holder, ref);
    const takenOver = await footprint(holder.sql, ref);

    const claimed = await claim(session.database, await enlisted(), ref);
    await holder.commit();

    expect(claimed.filter(ofTenant(ref))).toEqual([]);
    expect(await footprint(onlooker, ref)).toEqual(takenOver);
  });

  test('changes nothing when another worker has claimed it since it was seen', async () => {
    const ref = await make();
    const holder = await holding();
    await hold(holder);
    await takeOver(holder, ref);
    const takenOver = await footprint(holder.sql, ref);

    const late = claim(session.edited(pausing), await enlisted(), ref);
    await waits(onlooker, name, late);
    await holder.commit();

    expect((await late).filter(ofTenant(ref))).toEqual([]);
    expect(await footprint(onlooker, ref)).toEqual(takenOver);
  });

  test('succeeds when the other claim was rolled back', async () => {
    const ref = await make();
    const worker = await enlisted();
    const holder = await holding();
    await hold(holder);
    await takeOver(holder, ref);

    const late = claim(session.edited(pausing), worker, ref);
    await waits(onlooker, name, late);
    await holder.rollback();

    expect((await late).filter(ofTenant(ref))).toMatchObject([{ id: ref.id, owner: worker, generation: 2 }]);
  });

  test('raises the generation that it finds, not the one that it saw', async () => {
    const ref = await make();
    const worker = await enlisted();
    const holder = await holding();
    await hold(holder);
    await holder.sql`update sagacity.operation set generation = 7 where tenant = ${ref.tenant} and id = ${ref.id}`;

    const late = claim(session.edited(pausing), worker, ref);
    await waits(onlooker, name, late);
    await holder.commit();

    expect((await late).filter(ofTenant(ref))).toMatchObject([{ owner: worker, generation: 8 }]);
    expect(await store.read(ref)).toMatchObject({ owner: worker, generation: 8 });
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
});

describe('the claim of an operation that a turn has moved on since the claim saw it', () => {
  test('changes nothing when it is due later now', async () => {
    const turn = birth(fresh('shop'), { dueInMs: 0 });
    await written(turn);
    const holder = await holding();
    await hold(holder);
    const was = { owner: null, generation: 1, revision: 1 };
    await applyOne(holder.database, move(turn, was, { state: 'pending', dueInMs: MINUTE_MS }));
    const putOff = await footprint(holder.sql, turn);

    const late = claimDue(session.edited(pausing), await enlisted(), [ACTION], 1_000);
    await waits(onlooker, 'claim-due', late);
    await holder.commit();

    expect((await late).filter(({ tenant }) => tenant === turn.tenant)).toEqual([]);
    expect(await footprint(onlooker, turn)).toEqual(putOff);
  });

  test.each(claimables)(
    'does not hand over again what the turn has taken: one %s',
    async (_, { make, claim, name }) => {
      const ref = await make();
      const seen = await store.read(ref);
      const holder = await holding();
      await hold(holder);
      const was = { owner: seen?.owner ?? null, generation: 1, revision: 1 };
      const taken = await applyOne(holder.database, move(ref, was, { dueInMs: 0, takes: ['h1'] }));

      const late = claim(session.edited(pausing), await enlisted(), ref);
      await waits(onlooker, name, late);
      await holder.commit();

      expect(taken).toMatchObject({ revision: 2 });
      expect((await late).filter(ofTenant(ref)).flatMap(({ handovers }) => handovers)).toEqual([]);
    },
  );
});

describe('a renewal that waits for its worker, whom somebody is declaring dead', () => {
  const dying = async (): Promise<{ worker: string; holder: Holder }> => {
    const worker = await enlisted();
    await onlooker`update sagacity.worker set beat_at = now() - interval '1 hour' where id = ${worker}`;
    const holder = await holding();
    expect(await buryWorkers(holder.database, fresh('undertaker'), { timeoutMs: MINUTE_MS })).toBe(1);
    return { worker, holder };
  };
  const rowOf = (sql: postgres.ISql, worker: string) =>
    sql`select w.ctid::text, w.xmin::text, w::text from sagacity.worker w where w.id = ${worker}`;

  test('is refused and changes nothing once the worker is dead', async () => {
    const { worker, holder } = await dying();
    const buried = await rowOf(holder.sql, worker);

    const renewed = store.renew(worker, 24 * 60 * MINUTE_MS, here);
    await waits(onlooker, 'renew', renewed);
    await holder.commit();

    expect(await renewed).toBe(false);
    expect(await rowOf(onlooker, worker)).toEqual(buried);
  });

  test('succeeds when the worker was spared', async () => {
    const { worker, holder } = await dying();

    const renewed = store.renew(worker, 24 * 60 * MINUTE_MS, here);
    await waits(onlooker, 'renew', renewed);
    await holder.rollback();

    expect(await renewed).toBe(true);
    expect(await store.renew(worker, MINUTE_MS, here)).toBe(true);
  });

  test('would bring the dead back if it had no fence', async () => {
    const { worker, holder } = await dying();
    const unfenced = session.edited(replacing('and w.dead_at is null', ''));

    const renewed = renewWorker(unfenced, worker, 24 * 60 * MINUTE_MS, here);
    await waits(onlooker, 'renew', renewed);
    await holder.commit();

    expect(await renewed).toBe(true);
  });

  test('keeps the burial off when it comes first', async () => {
    const worker = await enlisted();
    await onlooker`update sagacity.worker set beat_at = now() - interval '1 hour' where id = ${worker}`;
    const holder = await holding();
    expect(await renewWorker(holder.database, worker, 24 * 60 * MINUTE_MS, here)).toBe(true);

    const buried = store.bury(fresh('undertaker'), { timeoutMs: MINUTE_MS });
    await waits(onlooker, 'bury', buried);
    await holder.commit();

    expect(await buried).toBe(0);
    expect(await store.renew(worker, MINUTE_MS, here)).toBe(true);
  });
});

describe('a renewal on another timeline than the server is on', () => {
  const beat = async (worker: string) => {
    const [row] =
      await onlooker`select w.ctid::text, w.xmin::text, w::text from sagacity.worker w where w.id = ${worker}`;
    return row;
  };

  test('is refused and changes nothing', async () => {
    const worker = await enlisted();
    const before = await beat(worker);

    const renewed = await store.renew(worker, MINUTE_MS, fresh('timeline'));

    expect(renewed).toBe(false);
    expect(await beat(worker)).toEqual(before);
    expect(await store.renew(worker, MINUTE_MS, here)).toBe(true);
  });

  test('would succeed if it had no fence', async () => {
    const worker = await enlisted();
    const unfenced = session.edited(replacing('and $3::text = (select', 'and $3::text is distinct from (select'));

    const renewed = await renewWorker(unfenced, worker, MINUTE_MS, fresh('timeline'));

    expect(renewed).toBe(true);
  });
});

describe('two workers that are the first on a timeline', () => {
  /** Sessions that find the server on a timeline on which nobody has been enlisted. */
  const movedOn = async (): Promise<{ holder: Holder; other: Session }> => {
    const timeline = fresh('timeline');
    const holder = await holding();
    await holder.sql`select set_config('sagacity.timeline', ${timeline}, true)`;
    const other = sessionAt(onTimeline(url, timeline));
    sessions.push(other);
    return { holder, other };
  };

  test('are told one time, when the second waits for the first', async () => {
    const { holder, other } = await movedOn();
    const first = await enlistWorker(holder.database, fresh('worker'));

    const second = enlistWorker(other.database, fresh('worker'));
    await waits(onlooker, 'enlist', second);
    await holder.commit();

    expect(first.changedAt).not.toBe(null);
    expect(await second).toEqual(first);
  });

  test('are told the time of the second, when the first was rolled back', async () => {
    const { holder, other } = await movedOn();
    const first = await enlistWorker(holder.database, fresh('worker'));

    const second = enlistWorker(other.database, fresh('worker'));
    await waits(onlooker, 'enlist', second);
    await holder.rollback();

    expect((await second).id).toBe(first.id);
    expect(await enlistWorker(other.database, fresh('worker'))).toEqual(await second);
  });

  test('hold up no third one once that is noted', async () => {
    const { holder, other } = await movedOn();
    const noted = await enlistWorker(other.database, fresh('worker'));

    const first = await enlistWorker(holder.database, fresh('worker'));
    const third = await enlistWorker(other.database, fresh('worker'));

    expect([first, third]).toEqual([noted, noted]);
  });

  test('would be told nothing if the second did not touch what the first has noted', async () => {
    const { holder, other } = await movedOn();
    await enlistWorker(holder.database, fresh('worker'));
    const careless = other.edited(replacing('do update set seen_at = t.seen_at', 'do nothing'));

    const second = enlistWorker(careless, fresh('worker'));
    await waits(onlooker, 'enlist', second);
    await holder.commit();

    await expect(second).rejects.toThrow('told no timeline');
  });
});

/** Whoever connects by it finds the server on this timeline. */
function onTimeline(server: string, timeline: string): string {
  const changed = new URL(server);
  changed.searchParams.set('sagacity.timeline', timeline);
  return changed.href;
}

describe('the retirement of a worker that had been declared dead, while another takes its operation over', () => {
  test('releases nothing once the take-over has committed', async () => {
    const { ref, owner } = await abandoned();
    const holder = await holding();
    const heir = await takeOver(holder, ref);
    const takenOver = await footprint(holder.sql, ref);

    const retired = store.retire(owner);
    await waits(onlooker, 'retire', retired);
    await holder.commit();
    await retired;

    expect(await footprint(onlooker, ref)).toEqual(takenOver);
    expect(await store.turn(move(ref, { owner: heir, generation: 2, revision: 1 }))).toMatchObject({ revision: 2 });
  });

  test('releases the operation when the take-over was rolled back', async () => {
    const { ref, owner } = await abandoned();
    const holder = await holding();
    await takeOver(holder, ref);

    const retired = store.retire(owner);
    await waits(onlooker, 'retire', retired);
    await holder.rollback();
    await retired;

    expect(await store.read(ref)).toMatchObject({ owner: null, generation: 2 });
  });

  test('would release it under the heir if the fence were asked of the row as it was found', async () => {
    const { ref, owner } = await abandoned();
    const asFound = 'from sagacity.operation s where s.tenant = o.tenant and s.id = o.id and s.owner =';
    const misplaced = session.edited(replacing('where o.owner =', asFound));
    const holder = await holding();
    await takeOver(holder, ref);

    const retired = retireWorker(misplaced, owner);
    await waits(onlooker, 'retire', retired);
    await holder.commit();
    await retired;

    expect(await store.read(ref)).toMatchObject({ owner: null, generation: 3 });
  });
});

describe('a take-over that meets a turn of the former owner', () => {
  test('leaves the row to the turn, and takes it afterwards as the turn left it', async () => {
    const { ref, owner } = await abandoned();
    const heir = await enlisted();
    const holder = await holding();
    expect(await applyOne(holder.database, ending(ref, owner))).not.toBe(null);

    const meanwhile = await store.claim(heir, [ACTION], 1, ref);
    await holder.commit();
    const afterwards = await store.claim(heir, [ACTION], 1, ref);

    expect(meanwhile).toEqual([]);
    expect(afterwards).toMatchObject([{ owner: heir, generation: 2, revision: 2, state: 'succeeded', handovers: [] }]);
    expect(await store.turn(move(ref, { owner, generation: 1, revision: 2 }))).toBe(null);
  });
});
