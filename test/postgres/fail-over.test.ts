/**
 * Real servers that come back: one that was killed, and a standby that was promoted without the last commits of its
 * primary. The standby is a copy of the primary's data, made while that was down, and takes its place at the same port;
 * what the primary acknowledged afterwards is lost, as it is with asynchronous replication. The store must notice.
 */

import { execFile } from 'node:child_process';
import { rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Store } from 'sagacity';
import { postgresStore } from 'sagacity/postgres';
import type { Start } from 'sagacity/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type PrivatePostgres, privatePostgres } from '../../src/testing/private-postgres/private-postgres.ts';
import { databaseAt } from '../support/postgres.ts';
import { until } from '../support/world.ts';
import { birth, fresh, move } from './turns.ts';
import { endingOf } from './working-shop.ts';

const HOUR_MS = 3_600_000;
const was = { owner: null, generation: 1, revision: 1 };

let server: PrivatePostgres;
let url: string;
let store: Store;

beforeAll(async () => {
  server = await privatePostgres({ settings: { fsync: 'off' } });
});

beforeEach(async () => {
  url = await server.createDatabase();
  store = postgresStore({ url, migrate: true });
  await store.open();
});

afterEach(() => store.close());

afterAll(() => server.close());

function startOn(timeline: string): Start {
  return { sendWithinMs: 5_000, retentionMs: 60_000, marginMs: 8_000, insideWindow: false, timeline };
}

/** The folder of the server's data, or one beside it. */
function folder(name: 'data' | 'standby' | 'lost'): string {
  return join(dirname(server.log), name);
}

/** From now on the standby has what the primary has acknowledged until now, and gets no more. */
async function leaveStandbyBehind(): Promise<void> {
  await server.stop();
  // With its owner, who is not who runs the tests.
  await promisify(execFile)('cp', ['-a', folder('data'), folder('standby')]);
  await server.start();
}

/** The standby takes the place of the primary, which loses its data, and is promoted after `meanwhile`. */
async function failOver(meanwhile: () => Promise<void>): Promise<void> {
  await server.stop('immediate');
  await rename(folder('data'), folder('lost'));
  await rename(folder('standby'), folder('data'));
  await writeFile(join(folder('data'), 'standby.signal'), '');
  const starting = server.start();
  const onlooker = databaseAt(url);
  await until(
    () =>
      onlooker`select from (select 1) as one where pg_is_in_recovery()`.then(
        ({ length }) => (length === 1 ? true : null),
        () => null,
      ),
    'the standby to answer',
  );
  await meanwhile();
  await onlooker`select pg_promote()`;
  await onlooker.end();
  await starting;
}

describe('a server that is killed and started again', () => {
  test('is on the timeline it was on: renewals and starts go on', async () => {
    const worker = fresh('worker');
    const before = await store.enlist(worker);

    await server.kill();
    await server.start();
    const after = await store.enlist(fresh('worker'));

    expect(after).toEqual({ id: before.id, changedAt: null });
    expect(await store.renew(worker, HOUR_MS, before.id)).toBe(true);
    expect(await store.turn(birth(fresh('shop'), { start: startOn(before.id) }))).not.toBe(null);
  });
});

describe('a standby that is promoted without the last commits', () => {
  test('is on another timeline: it takes neither the renewals nor the starts of before, and tells since when', async () => {
    const worker = fresh('worker');
    const before = await store.enlist(worker);
    const kept = birth(fresh('shop'));
    const lost = birth(kept.tenant, { start: startOn(before.id) });
    await store.turn(kept);
    await leaveStandbyBehind();
    const acknowledged = await store.turn(lost);

    let during = '';
    await failOver(async () => {
      during = (await endingOf(store.renew(worker, HOUR_MS, before.id))).how;
    });
    const renewed = await store.renew(worker, HOUR_MS, before.id);
    const late = [
      await store.turn(birth(kept.tenant, { start: startOn(before.id) })),
      await store.turn(move(kept, was, { start: startOn(before.id) })),
    ];
    const after = await store.enlist(fresh('worker'));

    expect(acknowledged).not.toBe(null);
    expect(await store.read(lost)).toBe(null);
    expect([during, renewed, ...late]).toEqual(['STORE_UNAVAILABLE', false, null, null]);
    expect(after.id).not.toBe(before.id);
    expect([before.changedAt, typeof after.changedAt]).toEqual([null, 'number']);
    expect(await store.enlist(fresh('worker'))).toEqual(after);
    expect(await store.renew(worker, HOUR_MS, after.id)).toBe(true);
    expect(await store.turn(move(kept, was, { start: startOn(after.id) }))).toMatchObject({ revision: 2 });
  });
});
