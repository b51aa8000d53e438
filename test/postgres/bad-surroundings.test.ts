/**
 * Whoever starts in bad surroundings is told so: one error that names what is wrong and what to do about it, within
 * seconds, without the password of the url in it, and with nothing written. Once that was done, a start works.
 */

import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { inspect } from 'node:util';
import { createOrchestrator, isSagacityError, type SagacityError, type Store } from 'sagacity';
import { migrate, postgresStore, type PostgresStoreOptions } from 'sagacity/postgres';
import { scriptedProvider, type ScriptedProvider } from 'sagacity/testing';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { as, grants, role, run } from '../support/other-users.ts';
import { freshDatabase } from '../support/postgres.ts';
import { chargeCard } from '../support/shop.ts';
import { until } from '../support/world.ts';
import { transactionPooler } from '../support/transaction-pooler.ts';

/** In every url, though the cluster of the tests asks nobody for it. */
const PASSWORD = 'canary-7f3a';

let provider: ScriptedProvider;
/** A migrated database, for those who leave it as it is. */
let shop: string;
const cleanups: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  provider = await scriptedProvider();
  shop = await migrated();
});

afterEach(async () => {
  for (const cleanUp of cleanups.splice(0).toReversed()) await cleanUp();
});

afterAll(() => provider.close());

/** The options of a store that cannot start, and of one that can because somebody did what the error said. */
interface Surroundings {
  readonly bad: PostgresStoreOptions;
  readonly good: PostgresStoreOptions;
  /** What has to be done in between, when other options alone do not help. */
  readonly mend?: () => Promise<unknown>;
  /** Leads to the database, by a user who may see all of it. */
  readonly owner: string;
}

interface Case {
  readonly name: string;
  readonly make: () => Promise<Surroundings>;
  readonly code: SagacityError['code'];
  /** What is wrong, and what to do now. */
  readonly says: readonly RegExp[];
}

const cases: readonly Case[] = [
  {
    name: 'no server at the port',
    async make() {
      return { owner: shop, bad: { url: at(shop, await freePort()) }, good: { url: shop } };
    },
    code: 'STORE_UNAVAILABLE',
    says: [/127\.0\.0\.1:\d+ could not be reached \(ECONNREFUSED\)/, /call again/],
  },
  {
    name: 'no server at any of two ports',
    async make() {
      const none = new URL(at(shop, await freePort()));
      const [first, second] = [`127.0.0.1:${await freePort()}`, none.host];
      return { owner: shop, bad: { url: none.href.replace(second, `${first},${second}`) }, good: { url: shop } };
    },
    code: 'STORE_UNAVAILABLE',
    says: [/127\.0\.0\.1:\d+, 127\.0\.0\.1:\d+ could not be reached \(ECONNREFUSED\)/],
  },
  {
    name: 'a server that accepts and never answers',
    async make() {
      const port = await listening(() => {});
      return { owner: shop, bad: { url: at(shop, port), deadlineMs: 1_000 }, good: { url: shop } };
    },
    code: 'STORE_UNAVAILABLE',
    says: [/127\.0\.0\.1:\d+ could not be reached/],
  },
  {
    name: 'a server that accepts and hangs up',
    async make() {
      const port = await listening((client) => void client.end());
      return { owner: shop, bad: { url: at(shop, port) }, good: { url: shop } };
    },
    code: 'STORE_UNAVAILABLE',
    says: [/127\.0\.0\.1:\d+ could not be reached/],
  },
  {
    name: 'no such database',
    async make() {
      const missing = new URL(shop);
      missing.pathname = 'no_such_shop';
      return { owner: shop, bad: { url: missing.href }, good: { url: shop } };
    },
    code: 'STORE_UNUSABLE',
    says: [/database of the url does not exist \(SQLSTATE 3D000\)/, /Create it, or correct the url/],
  },
  {
    name: 'a user nobody knows',
    async make() {
      return { owner: shop, bad: { url: as(shop, 'nobody_here') }, good: { url: shop } };
    },
    code: 'STORE_UNUSABLE',
    says: [/refused the login \(SQLSTATE 28000\)/, /Check user, password/],
  },
  {
    name: 'a wrong password',
    async make() {
      const user = await role(shop, "login password 'another'");
      await askForPassword(user);
      return mendedBy(shop, user, `alter role ${user} password '${PASSWORD}'; ${grants(user)}`);
    },
    code: 'STORE_UNUSABLE',
    says: [/refused the login \(SQLSTATE 28P01\)/, /Check user, password/],
  },
  {
    name: 'a user who may not log in',
    async make() {
      const user = await role(shop, 'nologin');
      return mendedBy(shop, user, `alter role ${user} login; ${grants(user)}`);
    },
    code: 'STORE_UNUSABLE',
    says: [/refused the login \(SQLSTATE 28000\)/, /Check user, password/],
  },
  {
    name: 'a user who may not connect to the database',
    async make() {
      const owner = await migrated();
      const user = await role(owner, 'login');
      const name = new URL(owner).pathname.slice(1);
      await run(owner, `revoke connect on database ${name} from public`);
      return mendedBy(owner, user, `grant connect on database ${name} to ${user}; ${grants(user)}`);
    },
    code: 'STORE_UNUSABLE',
    says: [/refused the login \(SQLSTATE 42501\)/],
  },
  {
    name: 'a user who may not use the schema',
    async make() {
      const user = await role(shop, 'login');
      return mendedBy(shop, user, grants(user));
    },
    code: 'STORE_UNUSABLE',
    says: [/may not use the schema sagacity of database/, /Grant it: usage on the schema/],
  },
  {
    name: 'a user who may use the schema and none of its tables',
    async make() {
      const user = await role(shop, 'login');
      await run(shop, `grant usage on schema sagacity to ${user}`);
      return mendedBy(shop, user, grants(user));
    },
    code: 'STORE_UNUSABLE',
    says: [/may not select on operation, .*select on migration/, /Grant it: select, insert, update and delete/],
  },
  {
    name: 'a user who may do everything except insert attempts',
    async make() {
      const user = await role(shop, 'login');
      await run(shop, `${grants(user)}; revoke insert on sagacity.attempt from ${user}`);
      return mendedBy(shop, user, grants(user));
    },
    code: 'STORE_UNUSABLE',
    says: [/may not insert on attempt\./, /Grant it/],
  },
  {
    name: 'a server that does not tell a user which timeline it is on',
    async make() {
      const owner = await migrated();
      const user = await role(owner, 'login');
      await run(owner, `${grants(user)}; revoke execute on function pg_current_wal_lsn() from public`);
      return mendedBy(owner, user, `grant execute on function pg_current_wal_lsn() to ${user}`);
    },
    code: 'STORE_UNUSABLE',
    says: [/does not tell which timeline it is on \(SQLSTATE 42501\)/, /Grant execute on .*pg_current_wal_lsn/],
  },
  {
    name: 'a user who may not create the schema it is to migrate',
    async make() {
      const owner = await withPassword();
      const user = await role(owner, 'login');
      const good = { url: as(owner, user), migrate: true };
      const name = new URL(owner).pathname.slice(1);
      return { owner, bad: good, good, mend: () => run(owner, `grant create on database ${name} to ${user}`) };
    },
    code: 'STORE_UNUSABLE',
    says: [/lacks rights on the schema sagacity \(SQLSTATE 42501\)/],
  },
  {
    name: 'a user whose sessions are read-only',
    async make() {
      const user = await role(shop, 'login');
      await run(shop, `${grants(user)}; alter role ${user} set default_transaction_read_only = on`);
      return mendedBy(shop, user, `alter role ${user} reset default_transaction_read_only`);
    },
    code: 'STORE_UNUSABLE',
    says: [/read-only/, /Change default_transaction_read_only/],
  },
  {
    name: 'a user who has no connection left',
    async make() {
      const user = await role(shop, 'login connection limit 0');
      await run(shop, grants(user));
      return mendedBy(shop, user, `alter role ${user} connection limit 20`);
    },
    code: 'STORE_UNAVAILABLE',
    says: [/could not be reached \(SQLSTATE 53300\)/],
  },
  {
    name: 'a schema that was never migrated',
    async make() {
      const owner = await withPassword();
      return { owner, bad: { url: owner }, good: { url: owner }, mend: () => migrate({ url: owner }) };
    },
    code: 'SCHEMA_OUTDATED',
    says: [/schema sagacity lacks 0000_operations/, /npx sagacity migrate --url/, /migrate: true/],
  },
  {
    name: 'a schema of another name',
    async make() {
      return { owner: shop, bad: { url: shop, schema: 'shop' }, good: { url: shop, schema: 'shop', migrate: true } };
    },
    code: 'SCHEMA_OUTDATED',
    says: [/schema shop lacks 0000_operations/],
  },
  {
    name: 'a schema of an older version',
    async make() {
      const owner = await migrated();
      await run(owner, 'update sagacity.migration set number = -1 where number = 0');
      return {
        ...{ owner, bad: { url: owner }, good: { url: owner } },
        mend: () => run(owner, 'update sagacity.migration set number = 0 where number = -1'),
      };
    },
    code: 'SCHEMA_OUTDATED',
    says: [/lacks 0000_operations/, /npx sagacity migrate/],
  },
  {
    name: 'a schema of a newer version',
    async make() {
      const owner = await migrated();
      await run(owner, "insert into sagacity.migration values (999, '0999_later', 'c')");
      return {
        ...{ owner, bad: { url: owner, migrate: true }, good: { url: owner } },
        mend: () => run(owner, 'delete from sagacity.migration where number = 999'),
      };
    },
    code: 'SCHEMA_OUTDATED',
    says: [/migration 999, and this version knows them up to/, /Install the version of sagacity/],
  },
  {
    name: 'a single connection',
    async make() {
      return { owner: shop, bad: { url: shop, connections: 1 }, good: { url: shop, connections: 2 } };
    },
    code: 'STORE_UNUSABLE',
    says: [/One connection cannot carry the heartbeat/, /connections: 2/],
  },
  {
    name: 'a pooler in between that was not told of',
    make: () => pooled('ignored'),
    code: 'STORE_UNUSABLE',
    says: [/transaction pooler is in between/, /pooler: true/],
  },
  {
    name: 'a pooler in between that refuses settings',
    make: () => pooled('refused'),
    code: 'STORE_UNUSABLE',
    says: [/transaction pooler is in between \(SQLSTATE 08P01\)/, /pooler: true/],
  },
  {
    name: 'a setting in the url that the server does not know',
    async make() {
      return { owner: shop, bad: { url: `${shop}?schema=shop` }, good: { url: shop } };
    },
    code: 'STORE_UNUSABLE',
    says: [/does not know a setting in the url, or its value \(SQLSTATE 42704\)/, /take that one out/],
  },
];

describe.each(cases)('$name', ({ make, code, says }) => {
  test('is named at the start, which writes nothing and works once it was put right', async () => {
    const { bad, good, mend, owner } = await make();
    const before = await contents(owner);
    const began = performance.now();

    const refusal = await refusalOf(() => started(postgresStore(bad)));

    expect(performance.now() - began).toBeLessThan(6_000);
    expect(refusal.code).toBe(code);
    expect(refusal.retryable).toBe(code === 'STORE_UNAVAILABLE');
    for (const words of says) expect(refusal.message).toMatch(words);
    expect(inspect(refusal, { depth: Infinity, showHidden: true })).not.toContain(PASSWORD);
    expect(await contents(owner)).toEqual(before);

    await mend?.();
    expect(await chargeStatus(postgresStore(good))).toBe('succeeded');
  });
});

describe('a server that accepts and hangs up', () => {
  test('is asked once for each start, not for ever', async () => {
    let connections = 0;
    const port = await listening((client) => {
      connections += 1;
      client.end();
    });
    const store = postgresStore({ url: `postgres://shop@127.0.0.1:${port}/shop`, deadlineMs: 500 });

    await refusalOf(() => store.open());
    await refusalOf(() => store.open());

    expect(connections).toBe(2);
  });
});

describe('options that no surroundings make right', () => {
  const url = `postgres://shop:${PASSWORD}@127.0.0.1/shop`;
  const options: readonly [string, unknown][] = [
    ['a url without a protocol', { url: `shop:${PASSWORD}@127.0.0.1/shop` }],
    ['a url of something else', { url: `mysql://shop:${PASSWORD}@127.0.0.1/shop` }],
    ['a url that is none', { url: `postgres://shop:${PASSWORD}@[/shop` }],
    ['a port that is none', { url: `postgres://shop:${PASSWORD}@127.0.0.1:port/shop` }],
    ['an escape that is none', { url: `postgres://shop:${PASSWORD}%zz@127.0.0.1/shop` }],
    ['a wish for a server that is none', { url: `${url}?target_session_attrs=best` }],
    ['a password that is not escaped', { url: `postgres://shop:12/${PASSWORD}@127.0.0.1/shop` }],
    ['a url without a host', { url: 'postgres:///shop' }],
    ['a host behind the question mark', { url: `${url}?sslmode=prefer&host=/tmp` }],
    ['a time-out that is ours', { url: `${url}?statement_timeout=5000` }],
    ['a setting of plans that is ours', { url: `${url}?enable_seqscan=on` }],
    ['an empty url', { url: '' }],
    ['no url', {}],
    ['a url that is no text', { url: new URL(url) }],
    ['the schema public', { url, schema: 'public' }],
    ['a schema of the server', { url, schema: 'pg_catalog' }],
    ['a schema that is more than a name', { url, schema: 'Robert"; drop table students; --' }],
    ['a schema in capitals', { url, schema: 'Sagacity' }],
    ['a schema that is too long', { url, schema: 's'.repeat(64) }],
    ['an empty schema', { url, schema: '' }],
    ['no connections', { url, connections: 0 }],
    ['fewer connections than none', { url, connections: -1 }],
    ['half a connection', { url, connections: 2.5 }],
    ['endless connections', { url, connections: Number.POSITIVE_INFINITY }],
    ['more connections than any server has', { url, connections: 1e9 }],
    ['connections as a text', { url, connections: '6' }],
    ['a deadline of nothing', { url, deadlineMs: 0 }],
    ['a deadline in the past', { url, deadlineMs: -1 }],
    ['a deadline that is no number', { url, deadlineMs: Number.NaN }],
    ['no deadline at all', { url, deadlineMs: Number.POSITIVE_INFINITY }],
    ['a deadline as a text', { url, deadlineMs: '5000' }],
  ];

  test.each(options)('%s is refused at once, and not shown', (_, given) => {
    const refusal = refusedAtOnce(() => postgresStore(given as PostgresStoreOptions));

    expect(refusal.code).toBe('DEFINITION_INVALID');
    expect(refusal.message).toMatch(/url|schema|connections|deadlineMs/i);
    expect(inspect(refusal, { depth: Infinity, showHidden: true })).not.toContain(PASSWORD);
  });
});

/** What is bad for this user until the owner of the database runs `mend`. */
function mendedBy(owner: string, user: string, mend: string): Surroundings {
  const options = { url: as(owner, user) };
  return { owner, bad: options, good: options, mend: () => run(owner, mend) };
}

/** From now on the cluster asks `user` for a password. */
async function askForPassword(user: string): Promise<void> {
  const [{ hba_file: file } = {}] = await run(shop, 'show hba_file');
  const rules = await readFile(String(file), 'utf8');
  await writeFile(String(file), `host all ${user} 127.0.0.1/32 scram-sha-256\n${rules}`);
  await run(shop, 'select pg_reload_conf()');
  const asked = () =>
    run(as(shop, user), 'select 1').then(
      () => null,
      () => true,
    );
  await until(asked, 'the cluster to ask for a password');
}

/** An empty database; its url, with the password in it. */
async function withPassword(): Promise<string> {
  return withPasswordOf(await freshDatabase());
}

/** A migrated database; its url, with the password in it. */
async function migrated(): Promise<string> {
  const url = await withPassword();
  await migrate({ url });
  return url;
}

async function pooled(settings: 'ignored' | 'refused'): Promise<Surroundings> {
  const pooler = await transactionPooler(shop, { settings });
  cleanups.push(() => pooler.close());
  return { owner: shop, bad: { url: pooler.url }, good: { url: pooler.url, pooler: true } };
}

function withPasswordOf(url: string): string {
  const changed = new URL(url);
  changed.password = PASSWORD;
  return changed.href;
}

function at(url: string, port: number): string {
  const changed = new URL(url);
  changed.port = String(port);
  return changed.href;
}

/** Every table of the database, with the number of its rows. */
async function contents(url: string): Promise<readonly unknown[]> {
  return run(
    url,
    `select n.nspname, c.relname, xpath('/row/n/text()', query_to_xml(format('select count(*) as n from %I.%I', n.nspname, c.relname), false, true, ''))::text as rows
     from pg_namespace n left join pg_class c on c.relnamespace = n.oid and c.relkind = 'r'
     where n.nspname !~ '^(pg_|information_schema)' and c.relname is not null
     order by 1, 2`,
  );
}

/** A server that is none; what it does with a client is `greet`. */
async function listening(greet: (client: Socket) => void): Promise<number> {
  const clients = new Set<Socket>();
  const server = createServer((client) => {
    clients.add(client);
    client.on('error', () => {});
    client.resume();
    greet(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanups.push(async () => {
    server.close();
    for (const client of clients) client.destroy();
    await once(server, 'close');
  });
  return portOf(server);
}

/** A port at which nobody listens. */
async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const port = portOf(server);
  server.close();
  await once(server, 'close');
  return port;
}

function portOf(server: ReturnType<typeof createServer>): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server listens on no port.');
  return address.port;
}

async function started(store: Store) {
  const charge = chargeCard(provider.url);
  const orchestrator = createOrchestrator({ store, definitions: [charge], tenant: 'shop-1' });
  cleanups.push(() => orchestrator.stop({ within: '1s' }));
  await orchestrator.start();
  return { orchestrator, charge };
}

let orders = 0;

/** Starts, and charges a card, which one that was told of bad surroundings before must be able to do. */
async function chargeStatus(store: Store): Promise<string> {
  const { orchestrator, charge } = await started(store);
  const run = await orchestrator.submit(charge, {
    orderId: `order-${orders++}`,
    amount: 5,
  });
  return (await run.result({ within: '10s' })).status;
}

async function refusalOf(act: () => Promise<unknown>): Promise<SagacityError> {
  const error: unknown = await act().then(
    () => new Error('It was not refused.'),
    (thrown: unknown) => thrown,
  );
  if (isSagacityError(error)) return error;
  throw error;
}

function refusedAtOnce(act: () => unknown): SagacityError {
  try {
    act();
  } catch (error) {
    if (isSagacityError(error)) return error;
    throw error;
  }
  throw new Error('It was not refused.');
}
