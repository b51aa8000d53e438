/** Single statements lost on their way to or from a real PostgreSQL. The proof is the rows that are there. */

import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import postgres from 'postgres';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { faultProxy, type FaultProxy } from '../../src/testing/fault-proxy/fault-proxy.ts';
import { postgresFaults, type PostgresFaults } from '../../src/testing/fault-proxy/postgres-faults.ts';
import { databaseAt, freshDatabase } from '../support/postgres.ts';
import { until } from '../support/world.ts';

let url: string;
/** Past the proxy. */
let books: postgres.Sql;
let proxy: FaultProxy;
let proxies: FaultProxy[];
let faults: PostgresFaults;
let clients: postgres.Sql[];
let sql: postgres.Sql;

beforeAll(async () => {
  url = await freshDatabase();
  books = databaseAt(url);
  await books`create table parcel (id text primary key)`;
});

afterAll(() => books.end());

beforeEach(async () => {
  clients = [];
  proxies = [];
  proxy = await before({ port: Number(new URL(url).port) });
  faults = postgresFaults(proxy);
  sql = client();
});

afterEach(async () => {
  await Promise.all(clients.map((each) => each.end({ timeout: 0 })));
  await Promise.all(proxies.map((each) => each.close()));
  await books`truncate parcel`;
});

async function before({ port }: { readonly port: number }): Promise<FaultProxy> {
  const made = await faultProxy({ port });
  proxies.push(made);
  return made;
}

/** The driver's types do not know `max_pipeline`. */
type Options = postgres.Options<Record<string, never>> & { max_pipeline?: number };

function client(options: Options = {}, through = proxy): postgres.Sql {
  const usual: Options = { max: 1, fetch_types: false, max_pipeline: 1, backoff: () => 0, onnotice: () => {} };
  const made = postgres(through.urlFor(url), Object.assign(usual, options));
  clients.push(made);
  return made;
}

/** What a proxy's clients send from now on, in the pieces in which it comes. */
function tap(tapped: FaultProxy): string[] {
  const wire: string[] = [];
  tapped.filter(() => ({
    toServer(bytes) {
      wire.push(bytes.toString());
      return { bytes };
    },
    toClient: (bytes) => ({ bytes }),
  }));
  return wire;
}

/** The statement of most tests; it has a parameter, so the driver parses it first and executes it in a second go. */
function send(id: string, by = sql) {
  return by`/* send parcel */ insert into parcel (id) values (${id})`;
}

/** The same as text, for a simple query. */
const sendNow = (id: string) => `/* send parcel */ insert into parcel (id) values ('${id}')`;

async function sent(): Promise<string[]> {
  const rows = await books<{ id: string }[]>`select id from parcel order by id`;
  return rows.map(({ id }) => id);
}

const closed = expect.objectContaining({ code: 'CONNECTION_CLOSED' });

describe('a lost request', () => {
  test('leaves no row, and the client hears that its connection was closed', async () => {
    const fault = faults.add({ matching: /send parcel/, lose: 'request' });

    await expect(send('a')).rejects.toEqual(closed);
    await fault.struck;

    expect(await sent()).toEqual([]);
    expect(fault.count).toBe(1);
  });

  test('strikes once: the next try arrives', async () => {
    const fault = faults.add({ matching: /send parcel/, lose: 'request' });

    await expect(send('a')).rejects.toEqual(closed);
    await send('a');

    expect(await sent()).toEqual(['a']);
    expect(fault.count).toBe(2);
  });
});

describe('a lost reply', () => {
  test('leaves the row, and the client hears the same as of a lost request', async () => {
    const fault = faults.add({ matching: /send parcel/, lose: 'reply' });

    await expect(send('a')).rejects.toEqual(closed);
    await fault.struck;

    expect(await sent()).toEqual(['a']);
    expect(fault.count).toBe(1);
  });

  test('has struck only when the statement is committed', async () => {
    const fault = faults.add({ matching: /send parcel/, lose: 'reply' });
    const trying = send('a').catch(() => 'lost');

    await fault.struck;
    const rows = await sent();

    expect(rows).toEqual(['a']);
    expect(await trying).toBe('lost');
  });

  test('is lost too when it would have been an error', async () => {
    await send('a');
    faults.add({ lose: 'reply' });

    await expect(send('a')).rejects.toEqual(closed);

    expect(await sent()).toEqual(['a']);
  });
});

describe('a rule for the n-th statement', () => {
  test.each([
    ['request' as const, ['a', 'b', 'd', 'e']],
    ['reply' as const, ['a', 'b', 'c', 'd', 'e']],
  ])('loses the %s of that one alone', async (lose, rows) => {
    const fault = faults.add({ matching: /send parcel/, lose, nth: 3 });

    const ends = [];
    for (const id of ['a', 'b', 'c', 'd', 'e']) {
      ends.push(
        await send(id).then(
          () => 'ok',
          () => 'lost',
        ),
      );
    }

    expect(ends).toEqual(['ok', 'ok', 'lost', 'ok', 'ok']);
    expect(await sent()).toEqual(rows);
    expect(fault.count).toBe(5);
  });

  test('counts over all connections, also with a global expression', async () => {
    const fault = faults.add({ matching: /parcel/g, lose: 'request', nth: 4 });
    const other = client();

    await send('a');
    await send('b', other);
    await send('c');
    await expect(send('d', other)).rejects.toEqual(closed);

    expect(await sent()).toEqual(['a', 'b', 'c']);
    expect(fault.count).toBe(4);
  });

  test('is refused if n is no count', () => {
    expect(() => faults.add({ lose: 'reply', nth: 0 })).toThrow('nth is a whole number from 1, not 0.');
  });
});

describe('a rule for some statements', () => {
  test('leaves all others alone, in its own connection and in others', async () => {
    const other = client();
    const backend = async () => (await other`select pg_backend_pid() as pid`)[0]?.['pid'];
    const pid = await backend();
    const fault = faults.add({ matching: /send parcel/, lose: 'reply' });

    const [one] = await sql`select 1 as one`;
    await expect(send('a')).rejects.toEqual(closed);

    expect(one).toEqual({ one: 1 });
    expect(await backend()).toBe(pid);
    expect(fault.count).toBe(1);
  });

  test('leaves their description alone: only what executes them counts', async () => {
    const fault = faults.add({ matching: /send parcel/, lose: 'request' });

    const { types } = await send('a').describe();

    expect(types).toEqual([25]);
    expect(fault.count).toBe(0);
  });

  test('strikes nothing and counts nothing once it is removed', async () => {
    const removed = faults.add({ matching: /send parcel/, lose: 'request' });
    const cleared = faults.add({ matching: /send parcel/, lose: 'request', nth: 2 });

    removed.remove();
    await send('a');
    faults.clear();
    await send('b');

    expect(await sent()).toEqual(['a', 'b']);
    expect([removed.count, cleared.count]).toEqual([0, 1]);
  });

  test('shares a statement with another rule: both count it, one strikes', async () => {
    const first = faults.add({ matching: /send/, lose: 'reply' });
    const second = faults.add({ matching: /parcel/, lose: 'request' });

    await expect(send('a')).rejects.toEqual(closed);
    await expect(send('b')).rejects.toEqual(closed);
    await send('c');

    expect(await sent()).toEqual(['a', 'c']);
    expect([first.count, second.count]).toEqual([3, 3]);
  });
});

describe('a listener', () => {
  test('is told every statement by its text, until it listens no more', async () => {
    const texts: string[] = [];
    const quiet = faults.onStatement((text) => texts.push(text));

    await send('a');
    await send('b');
    await sql`select 1`.simple();
    quiet();
    await send('c');

    const text = '/* send parcel */ insert into parcel (id) values ($1)';
    expect(texts).toEqual([text, text, 'select 1']);
  });
});

describe('a statement', () => {
  let plain: postgres.Sql;
  let lastId: number;

  beforeEach(() => {
    plain = client({ prepare: false });
    lastId = 0;
  });

  const newId = () => String((lastId += 1));
  const counted = (by: postgres.Sql) => by`/* send parcel */ insert into parcel select 'n' || count(*) from parcel`;
  const fetched = async (by: postgres.Sql) => {
    const rows = by`/* send parcel */ insert into parcel values (${newId()}) returning id`.cursor(1);
    for await (const batch of rows) expect(batch).toHaveLength(1);
  };

  test.each<[string, () => PromiseLike<unknown>]>([
    ['prepared, with a parameter', () => send(newId())],
    ['prepared, without a parameter', () => counted(sql)],
    ['unprepared, with a parameter', () => send(newId(), plain)],
    ['unprepared, without a parameter', () => counted(plain)],
    ['simple, and one of several in its text', () => sql.unsafe(`select 1; ${sendNow(newId())}`).simple()],
    ['read through a cursor', () => fetched(sql)],
  ])('is recognised, counted, and lost wholly when it is %s', async (_, execute) => {
    const all = faults.add({ matching: /send parcel/, lose: 'request', nth: 100 });
    const rows: number[] = [];
    const loses = async (lose: 'request' | 'reply') => {
      const fault = faults.add({ matching: /send parcel/, lose });
      await expect(Promise.resolve(execute())).rejects.toEqual(closed);
      await fault.struck;
      rows.push((await sent()).length);
    };
    const succeeds = async () => {
      await execute();
      rows.push((await sent()).length);
    };

    await loses('request');
    await succeeds();
    await loses('request');
    await loses('reply');
    await succeeds();
    await loses('reply');

    expect(rows).toEqual([0, 1, 1, 2, 3, 4]);
    expect(all.count).toBe(6);
  });

  test('is named only, on its second use, and recognised all the same', async () => {
    const tapped = await before(proxy);
    const wire = tap(tapped);
    const by = client({}, tapped);
    await send('a', by);
    const fault = faults.add({ matching: /send parcel/, lose: 'reply' });
    wire.length = 0;

    await expect(send('b', by)).rejects.toEqual(closed);
    await fault.struck;

    expect(wire).toHaveLength(1);
    expect(wire[0]).not.toMatch(/send parcel/);
    expect(await sent()).toEqual(['a', 'b']);
  });

  test('whose request is lost does not reach the server in part', async () => {
    const front = await before(proxy);
    const wire = tap(proxy);
    const frontFaults = postgresFaults(front);
    const by = client({}, front);
    await by`select 1`;
    frontFaults.add({ matching: /send parcel/, lose: 'request' });
    wire.length = 0;

    await expect(counted(by).then()).rejects.toEqual(closed);

    expect(wire).toEqual([]);
  });

  test('is recognised when it comes byte by byte', async () => {
    const slicer = await before(proxy);
    slicer.split();
    const by = client({}, slicer);
    const request = faults.add({ matching: /send parcel/, lose: 'request', nth: 2 });
    const reply = faults.add({ matching: /send parcel/, lose: 'reply', nth: 4 });

    await send('a', by);
    await expect(send('b', by)).rejects.toEqual(closed);
    await send('c', by);
    await expect(send('d', by)).rejects.toEqual(closed);

    expect(await sent()).toEqual(['a', 'c', 'd']);
    expect([request.count, reply.count]).toEqual([4, 4]);
  });

  test('is recognised after the server has refused to encrypt', async () => {
    const fault = faults.add({ matching: /send parcel/, lose: 'request' });

    await expect(send('a', client({ ssl: 'prefer' }))).rejects.toEqual(closed);

    expect(await sent()).toEqual([]);
    expect(fault.count).toBe(1);
  });

  test.each([
    ['request' as const, ['a']],
    ['reply' as const, ['a', 'b']],
  ])('whose %s is lost between others on their way takes with it those behind it alone', async (lose, rows) => {
    const eager = client({ max_pipeline: 10 });
    await eager`select 1`;
    faults.add({ matching: /parcel/, lose, nth: 2 });
    proxy.split();

    const ends = await Promise.allSettled(['a', 'b', 'c'].map((id) => eager.unsafe(sendNow(id)).simple()));

    expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
    expect(await sent()).toEqual(rows);
  });
});

describe('a statement on which the server is still busy', () => {
  test('takes with it what the client sends meanwhile', async () => {
    const front = await before(proxy);
    const eager = client({ max_pipeline: 10 }, front);
    const wire = tap(front);
    const pid = (await eager`select pg_backend_pid() as pid`)[0]?.['pid'];
    await books`select pg_advisory_lock(7)`;
    faults.add({ matching: /advisory/, lose: 'reply' });

    const slow = eager.unsafe('select pg_advisory_xact_lock(7)').simple().catch(codeOf);
    await until(() => wire.join('').includes('advisory') || null, 'the slow statement to be sent');
    const late = eager.unsafe(sendNow('late')).simple().catch(codeOf);
    await until(() => wire.join('').includes('late') || null, 'the late statement to be sent');
    await books`select pg_advisory_unlock(7)`;

    expect(await Promise.all([slow, late])).toEqual(['CONNECTION_CLOSED', 'CONNECTION_CLOSED']);
    await until(
      async () => (await books`select from pg_stat_activity where pid = ${pid}`).length === 0 || null,
      'its end',
    );
    expect(await sent()).toEqual([]);
  });

  const codeOf = (fault: { code?: string }) => fault.code;
});

describe('a transaction', () => {
  test.each([
    ['request' as const, []],
    ['reply' as const, ['a']],
  ])('whose commit lost its %s', async (lose, rows) => {
    faults.add({ matching: /^commit/i, lose });
    await sql`begin`;
    await send('a');

    await expect(sql`commit`.then()).rejects.toEqual(closed);

    expect(await sent()).toEqual(rows);
  });
});

describe('a connection that the server agrees to encrypt', () => {
  test('is passed on unseen, both ways', async () => {
    const server = createServer((socket) => {
      socket.once('data', () => {
        socket.write('S');
        socket.on('data', (bytes) => socket.write(bytes));
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('The server has no port.');
    const encrypted = await before(address);
    postgresFaults(encrypted).add({ lose: 'request' });
    const socket = connect(encrypted.port, encrypted.host);
    const heard: Buffer[] = [];
    socket.on('data', (bytes) => heard.push(bytes));

    socket.write(Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]));
    await until(() => heard.length === 1 || null, 'the answer');
    socket.write('Q is no query here');
    await until(() => Buffer.concat(heard).length === 19 || null, 'the echo');

    expect(Buffer.concat(heard).toString()).toBe('SQ is no query here');
    socket.destroy();
    server.close();
  });
});

describe('a statement that is held', () => {
  test('is carried out after its client has gone', async () => {
    await sql`select 1`;
    proxy.hold('to-server');
    const arrived = new Promise((resolve) => void faults.onStatement(resolve));
    const trying = sql
      .unsafe(sendNow('a'))
      .simple()
      .catch(() => 'gone');
    await arrived;

    await sql.end({ timeout: 0 });
    const before = await sent();
    proxy.release();
    await until(async () => (await sent()).length > 0 || null, 'the row to appear');

    expect(before).toEqual([]);
    expect(await trying).toBe('gone');
    await until(() => proxy.connections === 0 || null, 'the connection to be gone');
  });
});

describe('a statement that is cancelled', () => {
  test('is cancelled at the server', async () => {
    const waiting = sql`/* wait long */ select pg_sleep(60)`.execute();
    await until(async () => (await sleeping()) === 1 || null, 'the statement to run');

    waiting.cancel();

    await expect(waiting).rejects.toEqual(expect.objectContaining({ code: '57014' }));
    expect(await sleeping()).toBe(0);
  });

  async function sleeping(): Promise<number> {
    const rows = await books`
      select 1 from pg_stat_activity where query like '/* wait long */%' and state = 'active' and datname = current_database()`;
    return rows.length;
  }
});
