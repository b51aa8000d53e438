/**
 * Two sessions meet at what sagas share on a real server: one holds it in an open transaction, and the birth of the other
 * is on its way already. At most one of them is born; what the other has taken before it met is free a minute later, and
 * not before. Each condition that this rests on is also taken out, to see that its test would tell.
 */

import type postgres from 'postgres';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { postgresStore } from 'sagacity/postgres';
import type { SagaTurn } from 'sagacity/testing';
import { sagaBirth, sagaMoving } from '../../src/testing/store-turns.ts';
import { databaseAt, freshDatabase } from '../support/postgres.ts';
import { applySaga, type Holder, holderAt, replacing, type Session, sessionAt, waits } from './sessions.ts';
import { fresh } from './turns.ts';

const PATIENT = { lockTimeoutMs: 10_000 };
const born = { owner: null, generation: 1, revision: 1 };

let store: ReturnType<typeof postgresStore>;
let session: Session;
let onlooker: postgres.Sql;
let url: string;
let holders: Holder[] = [];

beforeAll(async () => {
  url = await freshDatabase();
  store = postgresStore({ url, migrate: true });
  await store.open();
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

function locking(tenant: string, ...locks: readonly string[]): SagaTurn {
  return sagaBirth(tenant, {}, { locks });
}

/** Who holds what of a tenant, as the table has it. */
async function held(tenant: string): Promise<Readonly<Record<string, string>>> {
  const rows = await onlooker<{ resource: string; saga: string }[]>`
    select resource, saga from sagacity.lock where tenant = ${tenant} order by resource`;
  return Object.fromEntries(rows.map(({ resource, saga }) => [resource, saga]));
}

/** As if all that is held had been taken so much earlier. */
async function takenEarlier(tenant: string, seconds: number): Promise<void> {
  await onlooker`
    update sagacity.lock set at = at - ${seconds}::int * interval '1 second' where tenant = ${tenant}`;
}

/** Two that want b; the second has taken a when it meets the first, which is about to be born. */
async function met(edit?: (text: string) => string) {
  const tenant = fresh('shop');
  const [first, second] = [locking(tenant, 'b', 'c'), locking(tenant, 'a', 'b')];
  const holder = await holding();
  await applySaga(holder.database, first);
  const late = applySaga(edit === undefined ? session.database : session.edited(edit), second, PATIENT);
  await waits(onlooker, 'saga-turn', late);
  return { tenant, first, second, holder, late };
}

describe('a birth that meets another, which wants a part of the same', () => {
  test('writes nothing once the other is born', async () => {
    const { tenant, first, second, holder, late } = await met();

    await holder.commit();

    expect(await late).toBe(null);
    expect(await store.readSaga(second)).toBe(null);
    expect(await store.sagaRecords(second)).toEqual([]);
    expect(await held(tenant)).toEqual({ a: second.id, b: first.id, c: first.id });
  });

  test('writes nothing either when the other was on its way for minutes, in a transaction of its host', async () => {
    const { tenant, first, second, holder, late } = await met();
    await holder.sql`update sagacity.lock set at = at - interval '5 minutes' where tenant = ${tenant}`;

    await holder.commit();

    expect(await late).toBe(null);
    expect(await store.readSaga(second)).toBe(null);
    expect(await held(tenant)).toEqual({ a: second.id, b: first.id, c: first.id });
  });

  test('has all that it wants when the other was rolled back', async () => {
    const { tenant, first, second, holder, late } = await met();

    await holder.rollback();

    expect(await late).toMatchObject({ revision: 1 });
    expect(await store.readSaga(first)).toBe(null);
    expect(await held(tenant)).toEqual({ a: second.id, b: second.id });
  });

  test('would be born beside it if nobody counted what it has', async () => {
    const counted = 'where k.tenant = g.tenant and k.saga = g.id) = jsonb_array_length(g.locks)';
    const { first, second, holder, late } = await met(replacing(counted, 'where true) >= 0'));

    await holder.commit();

    expect(await late).toMatchObject({ revision: 1 });
    expect([(await store.readSaga(first))?.id, (await store.readSaga(second))?.id]).toEqual([first.id, second.id]);
  });
});

describe('what a saga has taken that was not born', () => {
  test('is its own, when it comes again and can be', async () => {
    const { tenant, first, second, holder, late } = await met();
    await holder.commit();
    await late;

    const early = await store.sagaTurn(second);
    await store.sagaTurn(sagaMoving(first, born, { state: 'succeeded' }));
    const again = await store.sagaTurn(second);

    expect([early, again]).toMatchObject([null, { revision: 1 }]);
    expect(await held(tenant)).toEqual({ a: second.id, b: second.id });
  });

  test('is free for others a minute later, and not before', async () => {
    const { tenant, first, holder, late } = await met();
    await holder.commit();
    await late;
    const next = locking(tenant, 'a');

    await takenEarlier(tenant, 50);
    const early = await store.sagaTurn(next);
    await takenEarlier(tenant, 11);
    const inTime = await store.sagaTurn(next);

    expect([early, inTime]).toMatchObject([null, { revision: 1 }]);
    expect(await held(tenant)).toEqual({ a: next.id, b: first.id, c: first.id });
  });

  /** It was left behind an hour ago, and somebody else wants it while its saga comes again. */
  async function comingAgain(edit?: (text: string) => string) {
    const { tenant, second, holder: earlier, late: refused, first } = await met();
    await earlier.commit();
    await refused;
    await store.sagaTurn(sagaMoving(first, born, { state: 'succeeded' }));
    await takenEarlier(tenant, 3_600);
    const holder = await holding();
    expect(await applySaga(holder.database, second)).toMatchObject({ revision: 1 });
    const other = locking(tenant, 'a');
    const late = applySaga(edit === undefined ? session.database : session.edited(edit), other, PATIENT);
    await waits(onlooker, 'saga-turn', late);
    await holder.commit();
    return { tenant, second, other, late };
  }

  test('is not taken from a saga that is born after all, at the same moment', async () => {
    const { tenant, second, other, late } = await comingAgain();

    expect(await late).toBe(null);
    expect(await store.readSaga(other)).toBe(null);
    expect(await held(tenant)).toEqual({ a: second.id, b: second.id });
  });

  test('would be, if only the sagas were asked that are seen and not when it was taken', async () => {
    const asked = "(l.at <= excluded.at - interval '1 minute' and not exists";
    const isUnchanged = replacing('and v.at = l.at', '');
    const { second, other, late } = await comingAgain((text) => isUnchanged(replacing(asked, '(not exists')(text)));

    expect(await late).toMatchObject({ revision: 1 });
    expect(await store.readSaga(second)).not.toBe(null);
    expect((await held(other.tenant))['a']).toBe(other.id);
  });
});
