/**
 * A release is rolled out while the one before it goes on working, on the same database: real processes of both, which
 * die and take over what the other has written. Which formats they read and write is built into each; see
 * `test/fixtures`. Whoever wrote a row last, each of its effects is made once. The provider's records are the proof.
 */

import type postgres from 'postgres';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { postgresStore } from 'sagacity/postgres';
import { scriptedProvider, type ScriptedProvider } from 'sagacity/testing';
import type { Bundle } from '../kill/bundle.ts';
import { eventually } from '../support/nats-processes.ts';
import { databaseAt, freshDatabase } from '../support/postgres.ts';
import { beginSeller, type Release, released, type Seller, type Sold } from '../support/releases.ts';

const programs = new Map<Release, Bundle>();
let provider: ScriptedProvider;
let sql: postgres.Sql;
let url: string;
let sellers: Seller[];

beforeAll(async () => {
  const releases: readonly Release[] = ['before', 'between', 'now'];
  await Promise.all(releases.map(async (release) => programs.set(release, await released(release))));
});
afterAll(async () => {
  await Promise.all([...programs.values()].map((bundle) => bundle.remove()));
});

beforeEach(async () => {
  sellers = [];
  [url, provider] = await Promise.all([freshDatabase(), scriptedProvider()]);
  const store = postgresStore({ url, migrate: true, connections: 2 });
  await store.open();
  await store.close();
  sql = databaseAt(url);
  await noteFormats();
});
afterEach(async () => {
  await Promise.all(sellers.map((seller) => seller.kill()));
  await Promise.all([sql.end(), provider.close()]);
});

/** Every change of a format is noted as it commits, and every saga that has something newer than itself. */
async function noteFormats(): Promise<void> {
  await sql.unsafe(`
    create table rewritten (what text, was smallint, became smallint);
    create table out_of_step (saga text);
    create function note_format() returns trigger language plpgsql as $$ begin
      insert into public.rewritten values (tg_table_name, old.format, new.format);
      return null;
    end $$;
    create function note_out_of_step() returns trigger language plpgsql as $$ begin
      insert into public.out_of_step
      select s.id
      from sagacity.saga s join sagacity.operation o on o.saga = s.id and o.tenant = s.tenant
      where s.id in (to_jsonb(new) ->> 'id', to_jsonb(new) ->> 'saga') and o.format > s.format;
      return null;
    end $$;
    create trigger note_format after update on sagacity.saga
      for each row when (old.format <> new.format) execute function public.note_format();
    create trigger note_format after update on sagacity.operation
      for each row when (old.format <> new.format) execute function public.note_format();
    create constraint trigger note_out_of_step after insert or update on sagacity.saga
      deferrable initially deferred for each row execute function public.note_out_of_step();
    create constraint trigger note_out_of_step after insert or update on sagacity.operation
      deferrable initially deferred for each row execute function public.note_out_of_step();
  `);
}

/** A process of this release, at work. */
async function begun(release: Release): Promise<Seller> {
  const bundle = programs.get(release);
  if (bundle === undefined) throw new Error(`Nothing was built of the release ${release}.`);
  const seller = await beginSeller(bundle, { databaseUrl: url, providerUrl: provider.url });
  sellers.push(seller);
  return seller;
}

function orders(series: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, n) => `${series}-${n}`);
}

function sell(seller: Seller, what: Sold, orderIds: readonly string[]) {
  return seller.ask({ asks: 'sell', what, orderIds }, 'sold');
}

function approve(seller: Seller, orderIds: readonly string[]) {
  return seller.ask({ asks: 'approve', orderIds }, 'approved');
}

/** How often a row went from one format to the other. */
async function rewritten(what: 'saga' | 'operation', was: number, became: number): Promise<number> {
  const rows = await sql`select from rewritten r where r.what = ${what} and r.was = ${was} and r.became = ${became}`;
  return rows.length;
}

async function settled(): Promise<void> {
  await eventually(async () => {
    const moving = await sql`
      select from sagacity.saga where state not in ('succeeded', 'compensated')
      union all
      select from sagacity.operation where saga is null and state <> 'succeeded'`;
    return moving.length === 0;
  }, 'everything to be settled');
}

/** The kinds of the records about each order, in the order in which they were made. */
async function kept(): Promise<ReadonlyMap<string, string>> {
  const byOrder = new Map<string, string>();
  for (const { orderId, kind } of await provider.records()) {
    const of = orderId ?? '';
    byOrder.set(of, byOrder.has(of) ? `${byOrder.get(of)} ${kind}` : kind);
  }
  return byOrder;
}

/** What each order must have led to, by how it ended. */
async function due(): Promise<ReadonlyMap<string, string>> {
  const ends = await sql<{ key: string; name: string; state: string }[]>`
    select key, name, state from sagacity.saga
    union all
    select key, action, state from sagacity.operation where saga is null`;
  return new Map(ends.map(({ key, name, state }) => [key, effects[`${name} ${state}`] ?? `${name} ${state}`]));
}

const effects: Readonly<Record<string, string>> = {
  'purchase succeeded': 'authorisation reservation payment',
  'purchase compensated': 'authorisation reservation release void',
  'approval succeeded': 'authorisation reservation',
  'email.send succeeded': 'email',
};

/** In the first the one is killed, in the second the other. Each takes some seconds: the dead one is missed first. */
const ROUNDS = 2;

describe('a process that writes the new format beside one that reads both and writes the old one', () => {
  test('takes over from it and leaves to it, again and again, and every effect is made once', async () => {
    let [old, recent] = await Promise.all([begun('between'), begun('now')]);
    const waiting: string[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      await provider.calls(['do+drop', 'ok', 'busy409', 'do+500', 'ok', 'busy409', 'do+drop'], 'reservation');
      await provider.calls(['ok', 'decline', 'ok', 'do+500', 'decline', 'busy409'], 'payment');
      await provider.calls(['do+drop', 'busy409', 'busy409', 'do+500'], 'email');
      const toApprove = waiting.splice(0);
      const before = (await provider.records()).length;
      await Promise.all(
        [old, recent].map(async (seller, n) => {
          const approvals = orders(`approval-${round}-${n}`, 3);
          waiting.push(...approvals);
          await sell(seller, 'approval', approvals);
          await sell(seller, 'purchase', orders(`purchase-${round}-${n}`, 6));
          await sell(seller, 'email', orders(`email-${round}-${n}`, 4));
          // Each of them says to some of what the other has begun that it may go on.
          await approve(
            seller,
            toApprove.filter((_, place) => place % 2 === n),
          );
        }),
      );
      await eventually(async () => (await provider.records()).length > before + 12, 'some of it to be done');
      if (round % 2 === 0) {
        await caughtAndKilled(old, `caught-${round}`);
        await takenOver(1, 2);
        old = await begun('between');
      } else {
        await caughtAndKilled(recent, `caught-${round}`);
        await takenOver(2, 1);
        recent = await begun('now');
      }
    }
    await approve(old, waiting);
    await settled();

    expect(await kept()).toEqual(await due());
    expect([...(await due()).values()].filter((made) => made.endsWith('void')).length).toBeGreaterThan(0);
    expect(await sql`select * from out_of_step`).toEqual([]);
  });

  /** Kills it while one of its purchases is under way: a provider that does not answer keeps it so. */
  async function caughtAndKilled(seller: Seller, orderId: string): Promise<void> {
    // What else is under way, or sent again, takes some of them.
    await provider.calls(
      Array.from({ length: 8 }, () => 'commit-then-hold' as const),
      'authorisation',
    );
    await sell(seller, 'purchase', [orderId]);
    await eventually(
      async () => (await provider.records({ kind: 'authorisation' })).some((made) => made.orderId === orderId),
      'a purchase to be under way',
    );
    await seller.kill();
  }

  /** The one that is left, which is of the other release, has written what the dead one left. */
  async function takenOver(was: number, became: number): Promise<void> {
    for (const what of ['saga', 'operation'] as const) {
      await eventually(
        async () => (await rewritten(what, was, became)) > 0,
        `a row of ${what} to go from format ${was} to ${became}`,
      );
    }
  }
});

describe('a process of a release that reads the old format only, beside this one', () => {
  test('takes what is in the old one, leaves what is in the new one, and says so', async () => {
    const [first, recent] = await Promise.all([begun('before'), begun('now')]);
    await sell(recent, 'email', ['email-done']);
    await eventually(async () => (await stateOf('email-done')) === 'succeeded', 'a mail to be sent');
    await sell(recent, 'approval', orders('approval-new', 3));
    await eventually(async () => (await waitingFor('approval-new')) === 3, 'three to wait for their approval');
    await provider.calls(
      Array.from({ length: 6 }, () => 'commit-then-hold' as const),
      'reservation',
    );
    await sell(first, 'purchase', orders('purchase-old', 3));
    await sell(recent, 'purchase', orders('purchase-new', 3));
    await eventually(async () => (await provider.records({ kind: 'reservation' })).length === 6, 'all to be under way');
    await Promise.all([first.kill(), recent.kill()]);
    const left = await footprints('new');

    const second = await begun('before');
    await eventually(async () => (await unsettledOf('purchase-old')) === 0, 'what is in the old format to be settled');
    await approve(second, orders('approval-new', 3));
    await sweepsMore();
    const { results } = await second.ask({ asks: 'results', what: 'email', orderIds: ['email-done'] }, 'results');
    const asked = await second.ask(
      { asks: 'results', what: 'purchase', orderIds: orders('purchase-new', 1) },
      'results',
    );
    const untouched = await footprints('new');
    const formats = await sql`select distinct format from sagacity.saga where key like 'purchase-old-%'`;
    await second.ask({ asks: 'stop' }, 'stopped');
    await second.kill();
    await begun('now');
    await settled();

    expect(untouched).toEqual(left);
    expect(formats).toEqual([{ format: 1 }]);
    expect(results).toEqual([
      {
        ...{ orderId: 'email-done', state: 'succeeded', status: 'SCHEMA_OUTDATED' },
        facts: { tenant: 'shop-1', id: expect.any(String), action: 'email.send', format: 2, reads: [1] },
      },
    ]);
    expect(asked.results).toEqual([{ orderId: 'purchase-new-0', state: 'in-progress', status: 'in-progress' }]);
    expect(await kept()).toEqual(await due());
    expect((await kept()).size).toBe(10);
    expect([await rewritten('saga', 2, 1), await rewritten('operation', 2, 1)]).toEqual([0, 0]);
  });

  async function stateOf(key: string): Promise<string | undefined> {
    const [row] = await sql<{ state: string }[]>`select state from sagacity.operation where key = ${key}`;
    return row?.state;
  }

  async function waitingFor(series: string): Promise<number> {
    const rows = await sql`select from sagacity.saga where key like ${`${series}-%`} and state = 'waiting'`;
    return rows.length;
  }

  async function unsettledOf(series: string): Promise<number> {
    const rows = await sql`select from sagacity.saga where key like ${`${series}-%`} and state <> 'succeeded'`;
    return rows.length;
  }

  /** Every saga of a series with its operations, each with its place and its writer. */
  async function footprints(series: string): Promise<readonly unknown[]> {
    return await sql`
      select s.ctid, s.xmin, s.id, s.owner, s.generation from sagacity.saga s where s.key like ${`%-${series}-%`}
      union all
      select o.ctid, o.xmin, o.id, o.owner, o.generation
      from sagacity.operation o join sagacity.saga s on s.id = o.saga
      where s.key like ${`%-${series}-%`}
      order by id`;
  }

  /** Whoever is at work has declared the others dead, and looked for what they left several times since. */
  async function sweepsMore(): Promise<void> {
    const beats = async () =>
      Number((await sql`select sum(extract(epoch from beat_at)) as at from sagacity.worker`)[0]?.['at']);
    await eventually(
      async () => (await sql`select from sagacity.worker where dead_at is null`).length === 1,
      'one to be left',
    );
    const before = await beats();
    // It beats every 200 ms and sweeps every 50.
    await eventually(async () => (await beats()) > before + 0.5, 'it to sweep');
  }
});
