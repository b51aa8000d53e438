/**
 * G14 at the database. Two tenants have operations and sagas of the same ids, keys, signals and locks; every statement
 * that serves one of them leaves the other as it was. Then each condition on the tenant is cut out of its statement, one
 * at a time, and the same look must find that the tenants have met: a statement without its tenant fails this test.
 */

import { randomUUID } from 'node:crypto';
import { type Database, type Executor, rendered, type StatementName } from '../../src/adapters/postgres/executor.ts';
import { tables } from '../../src/adapters/postgres/schema.ts';
import { applySagaTurns } from '../../src/adapters/postgres/saga-turn.ts';
import { applyTurns } from '../../src/adapters/postgres/turn.ts';
import { type Verbs, verbs } from '../../src/adapters/postgres/verbs.ts';
import type postgres from 'postgres';
import { migrate } from 'sagacity/postgres';
import type { OperationRow, SagaRow } from 'sagacity/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sagaBirth, sagaMoving, step, stepped } from '../../src/testing/store-turns.ts';
import { databaseAt, freshDatabase } from '../support/postgres.ts';
import { ACTION, birth, move } from './turns.ts';

let sql: postgres.Sql;

beforeAll(async () => {
  const url = await freshDatabase();
  await migrate({ url });
  sql = databaseAt(url);
});

afterAll(() => sql.end());

type Edit = (name: StatementName, text: string) => string;

/** Both tenants as the database has them, and the verbs on it; `edit` may change a statement on its way. */
interface Houses {
  readonly store: Verbs;
  readonly database: Database;
  /** Where nothing is edited. */
  readonly exact: Database;
  readonly mine: string;
  readonly other: string;
  readonly worker: string;
}

async function houses(edit: Edit): Promise<Houses> {
  await sql`truncate sagacity.operation, sagacity.saga, sagacity.handover, sagacity.signal, sagacity.lock, sagacity.worker`;
  const exact: Database = { tables, execute: run((_, text) => text) };
  const database: Database = { tables, execute: run(edit) };
  // Named so that whoever takes the first row that fits takes the other's.
  const [mine, other, worker] = [`b-${randomUUID()}`, `a-${randomUUID()}`, `worker-${randomUUID()}`];
  const setUp = verbs({ read: exact.execute, write: exact.execute, renew: exact.execute }, tables);
  await setUp.enlist(worker);
  for (const tenant of [mine, other]) {
    const of = { records: [{ kind: 'moved' as const, attempt: null, body: { of: tenant } }] };
    await applyTurns(exact, [birth(tenant, { id: 'op-1', key: 'order-17', owner: worker, state: 'unknown', ...of })]);
    await applyTurns(exact, [birth(tenant, { id: 'op-2', key: 'order-18', generation: 0, state: 'escalated', ...of })]);
    await applyTurns(exact, [birth(tenant, { id: 'op-3', key: 'order-19', owner: worker, ...of })]);
    await applyTurns(exact, [birth(tenant, { id: 'op-4', key: 'order-20', generation: 0, state: 'succeeded', ...of })]);
    await setUp.handOver({ tenant, id: 'op-1', handoverId: 'h-1', body: { of: tenant } });
    await setUp.handOver({ tenant, id: 'op-2', handoverId: 'h-1', body: { of: tenant } });
  }
  await setUp.handOver({ tenant: other, id: 'op-4', handoverId: 'h-1', body: { of: other } });
  const { execute } = database;
  const store = verbs({ read: execute, write: execute, renew: execute }, tables);
  return { store, exact, database, mine, other, worker };
}

function run(edit: Edit): Executor {
  return async (statement) => {
    const { text, values } = rendered(statement);
    return await sql.unsafe<Record<string, unknown>[]>(edit(statement.name, text), [...values] as (string | number)[]);
  };
}

async function stored(tenant: string): Promise<unknown> {
  const operations = await sql`select * from sagacity.operation where tenant = ${tenant} order by id`;
  const sagas = await sql`select * from sagacity.saga where tenant = ${tenant} order by id`;
  const records = await sql`select * from sagacity.attempt where tenant = ${tenant} order by subject, revision, n`;
  const handovers = await sql`select * from sagacity.handover where tenant = ${tenant} order by aggregate, id`;
  const signals = await sql`select * from sagacity.signal where tenant = ${tenant} order by saga, name, event_id`;
  const locks = await sql`select * from sagacity.lock where tenant = ${tenant} order by resource`;
  const rows = { operations: [...operations], sagas: [...sagas], records: [...records], handovers: [...handovers] };
  return structuredClone({ ...rows, signals: [...signals], locks: [...locks] });
}

/** Notes what betrays that the tenants have met. */
type See = (what: string, seen: unknown, expected: unknown) => void;

const of = (tenant: string, id: string) => ({ tenant, id });
const names = (rows: readonly { readonly tenant: string; readonly id: string }[]) =>
  rows.map(({ tenant, id }) => `${tenant} ${id}`).sort();
const mixed = (rows: readonly (OperationRow | SagaRow)[]) =>
  rows.filter(({ tenant, handovers }) => handovers.some((handover) => handover.tenant !== tenant));

type Look = (houses: Houses, see: See) => Promise<void>;

const looks: readonly Look[] = [operationsMeet, sagasMeet, signalsMeet, locksMeet];

/** What betrays that the tenants have met: the other one's rows changed, or something of it was told. */
async function meetings(houses: Houses, look: Look): Promise<readonly string[]> {
  const found: string[] = [];
  await look(houses, (what, seen, expected) => {
    if (JSON.stringify(seen) !== JSON.stringify(expected)) found.push(what);
  });
  return found;
}

async function operationsMeet({ store, exact, database, mine, other, worker }: Houses, see: See): Promise<void> {
  const [first, second, third, fourth] = ['op-1', 'op-2', 'op-3', 'op-4'].map((id) => of(mine, id));
  if (!first || !second || !third || !fourth) throw new Error('Four operations are needed.');
  const before = await stored(other);

  const read = [];
  for (const tenant of [mine, other]) {
    read.push(await store.read(of(tenant, 'op-1')));
    read.push(await store.readByIdentity({ tenant, action: ACTION, key: 'order-17' }));
  }
  see(
    'one was read for the other',
    read.map((row) => row?.tenant),
    [mine, mine, other, other],
  );
  const told = [
    ...read.slice(0, 2),
    await store.records(first),
    await store.doubts({ tenant: mine, limit: 10, after: null }),
    await store.claim(worker, [ACTION], 10, second),
  ];
  const page = await store.doubts({ tenant: mine, limit: 10, after: first });
  const ever = { actions: [ACTION], from: 0, to: Date.now() + 60_000, limit: 10 };
  const settled = await store.settledBetween({ ...ever, after: null });
  const settledLater = await store.settledBetween({ ...ever, after: fourth });
  const was = { owner: worker, generation: 1, revision: 1 };
  await applyTurns(database, [move(first, was, { owner: null, state: 'succeeded', takes: ['h-1'] })]);
  see('the other tenant was changed', await stored(other), before);
  see('something of the other tenant was told', JSON.stringify(told).includes(other), false);
  see('a page began elsewhere', names(page), names([second]));
  see('not all that settled was listed', names(settled), names([fourth, of(other, 'op-4')]));
  see('hand-overs of one were listed with the other', mixed(settled), []);
  see('a page began before its end', names(settledLater).includes(names([fourth])[0] ?? ''), false);

  see('claimed for a hand-over to another', await store.claim(worker, [ACTION], 10, fourth), []);
  await applyTurns(exact, [move(of(other, 'op-4'), { owner: null, generation: 0, revision: 1 }, { takes: ['h-1'] })]);

  await store.handOver({ ...third, handoverId: 'h-2', body: { of: mine } });
  const handed = await store.handedOver(worker, 10);
  see('hand-overs of one were counted for the other', names(handed), names([of(other, 'op-1'), second, third]));

  await applyTurns(exact, [move(of(other, 'op-1'), was, { owner: null, state: 'succeeded', takes: ['h-1'] })]);
  await applyTurns(exact, [move(of(other, 'op-2'), { owner: null, generation: 0, revision: 1 }, { takes: ['h-1'] })]);
  await store.handOver({ ...first, handoverId: 'h-3', body: { of: mine } });
  see('claimed for another', names(await store.claim(worker, [ACTION], 10)), names([first]));
  await applyTurns(exact, [move(first, { ...was, generation: 2, revision: 2 }, { owner: null })]);
  await store.handOver({ ...of(other, 'op-1'), handoverId: 'h-4', body: { of: other } });
  const both = await store.claim(worker, [ACTION], 10);
  see('claimed twice', names(both), names([first, of(other, 'op-1')]));
  see('hand-overs of one were given with the other', mixed(both), []);
}

async function sagasMeet({ store, exact, database, mine, other, worker }: Houses, see: See): Promise<void> {
  const order = { name: 'order', version: 1 };
  const definitions = [order];
  const owned = { owner: worker, generation: 1, revision: 1 };
  const unowned = { owner: null, generation: 0, revision: 1 };
  for (const tenant of [mine, other]) {
    const records = [{ kind: 'moved' as const, attempt: null, body: { of: tenant } }];
    const steps = (...ids: readonly string[]) => ids.map((id) => step({ id, records }, { key: id }));
    const sagas = [
      {
        id: 'saga-1',
        owner: worker,
        state: 'in-progress',
        operations: steps('step-1', ...(tenant === mine ? [] : ['step-9'])),
      },
      { id: 'saga-2', owner: null, generation: 0, state: 'escalated', operations: steps('step-2') },
      { id: 'saga-4', owner: null, generation: 0, state: 'succeeded' },
    ] as const;
    for (const saga of sagas) await applySagaTurns(exact, [sagaBirth(tenant, { ...saga, records }, { key: saga.id })]);
    for (const id of ['saga-1', 'saga-2', 'step-1', 'step-2']) {
      await store.handOver({ tenant, id, handoverId: 'h-1', body: { of: tenant } });
    }
  }
  await store.handOver({ tenant: other, id: 'saga-4', handoverId: 'h-1', body: { of: other } });
  const [first, second, fourth] = [of(mine, 'saga-1'), of(mine, 'saga-2'), of(mine, 'saga-4')];
  const before = await stored(other);

  const read = [];
  for (const tenant of [mine, other]) {
    read.push(await store.readSaga(of(tenant, 'saga-1')));
    read.push(await store.readSagaByIdentity({ tenant, name: 'order', key: 'saga-1' }));
  }
  see(
    'a saga was read for the other',
    read.map((row) => row?.tenant),
    [mine, mine, other, other],
  );
  const story = await store.sagaRecords(first);
  const escalated = await store.escalatedSagas({ tenant: mine, limit: 10, after: null });
  see('not the escalated sagas of one were listed', names(escalated), names([second]));
  see('the sagas of another were counted', await store.sagaVersions({ tenant: mine }), [
    { ...order, inFlight: 2, escalated: 1 },
  ]);
  const inFlight = await store.sagasInFlight({ ...order, tenant: mine, limit: 10, after: null });
  see('not the sagas in flight of one were listed', names(inFlight), names([first, second]));
  see('something of the other tenant was listed', JSON.stringify(inFlight).includes(other), false);
  const told = [...read.slice(0, 2), story, await store.claimSagas(worker, definitions, 10, second)];
  see('a story was told twice', story.length, 2);
  const strange = sagaMoving(first, owned, { operations: [stepped({ id: 'step-9' })] });
  see('the operation of another was thought its own', (await applySagaTurns(database, [strange])).size, 0);
  const moved = { owner: null, operations: [stepped({ id: 'step-1' }, { state: 'succeeded' })], takes: ['h-1'] };
  await applySagaTurns(database, [sagaMoving(first, owned, moved)]);
  see('the sagas of the other tenant were changed', await stored(other), before);
  see('something of the other tenant was told with a saga', JSON.stringify(told).includes(other), false);

  see('claimed for a hand-over to another', await store.claimSagas(worker, definitions, 10, fourth), []);
  const takes = { owner: null, takes: ['h-1'] };
  await applySagaTurns(exact, [sagaMoving(of(other, 'saga-4'), unowned, takes)]);
  await applySagaTurns(exact, [sagaMoving(of(other, 'saga-2'), unowned, takes)]);
  await applySagaTurns(exact, [sagaMoving(of(other, 'saga-1'), owned, takes)]);
  await store.handOver({ ...first, handoverId: 'h-3', body: { of: mine } });
  see('a saga was claimed for another', names(await store.claimSagas(worker, definitions, 10)), names([first]));
  await applySagaTurns(exact, [sagaMoving(first, { ...owned, generation: 2, revision: 2 }, { owner: null })]);
  await store.handOver({ ...of(other, 'saga-1'), handoverId: 'h-4', body: { of: other } });
  const both = await store.claimSagas(worker, definitions, 10);
  see('sagas were claimed twice', names(both), names([first, of(other, 'saga-1')]));
  see('hand-overs of one were given with the saga of the other', mixed(both), []);
  const parts = both.flatMap(({ tenant, operations }) => operations.filter((part) => part.tenant !== tenant));
  see('operations of one were given with the saga of the other', parts, []);
  see(
    'hand-overs of one were given with the operations of the other',
    mixed(both.flatMap(({ operations }) => operations)),
    [],
  );
}

/** How a saga is after its birth, when nobody owns it. */
const newborn = { owner: null, generation: 1, revision: 1 };

async function signalsMeet({ store, exact, database, mine, other }: Houses, see: See): Promise<void> {
  const event = { name: 'order.paid', eventId: 'event-1' };
  const sentTo = (tenant: string) => ({
    ...{ ...of(tenant, 'saga-1'), ...event, fingerprint: tenant, keepForMs: 60_000 },
    ...{ handoverId: 'h-1', body: { of: tenant } },
  });
  for (const tenant of [mine, other]) await applySagaTurns(exact, [sagaBirth(tenant, { id: 'saga-1' })]);
  await store.signal(sentTo(other));
  const before = await stored(other);

  const told = [
    await store.signal(sentTo(mine)),
    await store.signal(sentTo(mine)),
    await store.readSignal(sentTo(mine)),
  ].map((row) => row?.fingerprint);
  const applied = [{ ...event, state: 'applied' as const, why: null }];
  await applySagaTurns(database, [sagaMoving(of(mine, 'saga-1'), newborn, { signals: applied, takes: ['h-1'] })]);

  see('a signal was told to the other', told, [mine, mine, mine]);
  see('the signals of the other tenant were changed', await stored(other), before);
}

async function locksMeet({ store, exact, database, mine, other }: Houses, see: See): Promise<void> {
  const locking = (tenant: string, id: string, ...locks: readonly string[]) => sagaBirth(tenant, { id }, { locks });
  await applySagaTurns(exact, [locking(other, 'saga-1', 'cart', 'till'), locking(other, 'saga-2')]);
  // The other one's saga of this id is open, and this one was never born.
  await sql`insert into sagacity.lock values (${mine}, 'left', 'saga-2', now() - interval '1 hour')`;
  const before = await stored(other);

  const held = await store.heldLocks(mine, ['till']);
  const born = await applySagaTurns(database, [locking(mine, 'saga-1', 'cart', 'left')]);
  await applySagaTurns(database, [sagaMoving(of(mine, 'saga-1'), newborn, { state: 'succeeded' })]);
  see('the other was told as a holder', held, []);
  const beside = await applySagaTurns(database, [locking(mine, 'saga-4', 'till')]);
  see('what the other holds kept a saga from being born', [born.size, beside.size], [1, 1]);
  see('the locks of the other tenant were changed', await stored(other), before);

  const both = await applySagaTurns(
    database,
    [mine, other].map((tenant) => locking(tenant, 'saga-3', 'both')),
  );
  see('the locks of two were counted as those of one', both.size, 2);
}

/** `x.tenant = ...` in each of the forms our statements have, and in the order by which a list goes on. */
const CONDITION = /(\w+\.tenant)( collate "C")? = (any \(array\[\w+\.tenant\]\)|\$\d*::text|\w+\.tenant)/g;

/** A condition of a statement; `look` sends it. */
interface Cut {
  readonly name: StatementName;
  readonly nth: number;
  readonly place: string;
  readonly look: Look;
}

/** A statement may leave parts out that nothing needs: a condition is known by what comes before it. */
async function conditions(): Promise<readonly Cut[]> {
  const cuts: Cut[] = [];
  for (const look of looks) {
    const seen = new Set<string>();
    const noting: Edit = (name, text) => {
      for (const [nth, place] of placesIn(text).entries()) {
        if (!seen.has(`${name} ${place}`)) cuts.push({ name, nth, place, look });
        seen.add(`${name} ${place}`);
      }
      return text;
    };
    await meetings(await houses(noting), look);
  }
  return cuts;
}

/** Where its conditions on the tenant stand: each with what comes before it. */
function placesIn(text: string): readonly string[] {
  const plain = text.replaceAll(/\$\d+/g, '$').replaceAll(/\s+/g, ' ');
  const places = [...plain.matchAll(CONDITION)].map(({ 0: condition, index }) =>
    plain.slice(Math.max(0, index - BEFORE_LENGTH), index + condition.length),
  );
  return places.map((place, n) => `${place} ${places.slice(0, n).filter((each) => each === place).length}`);
}

const BEFORE_LENGTH = 100;

/** The text without the condition at this place; a parameter stays used. */
function without(text: string, place: string): string {
  const nth = placesIn(text).indexOf(place);
  let n = -1;
  return text.replaceAll(CONDITION, (condition: string, ...groups: string[]) => {
    n += 1;
    if (n !== nth) return condition;
    return groups[2]?.startsWith('$') ? `${groups[2]} is not null` : 'true';
  });
}

/**
 * Conditions that narrow a search and keep nobody out: which dead workers there are is the same for all tenants, one
 * claimed row meets one picked row, and a lock that is seen is known by when it was taken.
 */
const harmless = [
  'claim-one, condition 1',
  'claim-one, condition 7',
  'claim-saga, condition 1',
  'claim-saga, condition 9',
  'saga-turn, condition 6',
];

describe('two tenants with the same ids, keys and hand-overs', () => {
  test('are served without meeting', async () => {
    const found: string[] = [];
    for (const look of looks) found.push(...(await meetings(await houses((_, text) => text), look)));

    expect(found).toEqual([]);
  });

  test('meet as soon as any statement loses any of its conditions on the tenant', { timeout: 180_000 }, async () => {
    const cuts = await conditions();
    const unnoticed = new Map<string, string>();
    const noticed = new Set<string>();

    for (const { name, nth, place, look } of cuts) {
      const which = `${name} ${place}`;
      if (noticed.has(which)) continue;
      const cut = await houses((each, text) => (each === name ? without(text, place) : text));
      const found = await meetings(cut, look).catch((error: unknown) => [String(error)]);
      if (found.length === 0) unnoticed.set(which, `${name}, condition ${nth + 1}`);
      else noticed.add(which);
    }

    expect([...unnoticed].filter(([which]) => !noticed.has(which)).map(([, condition]) => condition)).toEqual(harmless);
    expect(new Set(cuts.map(({ name }) => name))).toEqual(
      new Set([
        ...['turn', 'claim-due', 'claim-one', 'handed-over', 'read', 'read-by-identity', 'records', 'doubts'],
        ...[
          'escalated-sagas',
          'saga-versions',
          'sagas-in-flight',
          'settled-between',
          'saga-turn',
          'claim-sagas-due',
          'claim-saga',
          'read-saga',
          'read-saga-by-identity',
        ],
        ...['saga-records', 'signal', 'read-signal', 'held-locks'],
      ]),
    );
  });
});
