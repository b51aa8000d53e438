/**
 * A worker in a process of its own that is frozen while a statement of its is on its way, or whose event loop is blocked,
 * for longer than its heartbeat may be late. Another process takes over and ends what there is to do; then the statement
 * arrives, and the worker goes on as if nothing had happened.
 */

import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Orchestrator } from 'sagacity';
import { natsWaker } from 'sagacity/nats';
import {
  type FaultProxy,
  faultProxy,
  type PostgresFaults,
  postgresFaults,
  privateNats,
  type PrivateNats,
} from 'sagacity/testing';
import { operationId, scopeOf } from '../../src/domain/idempotency.ts';
import { type Bundle, bundled } from '../kill/bundle.ts';
import { shopAt } from '../kill/shop.ts';
import { sharedDatabase, type SharedDatabase } from '../support/shared-database.ts';
import { told } from '../support/timed.ts';
import { until } from '../support/world.ts';
import {
  briefHeartbeat,
  chargeAt,
  type FrozenTask,
  statementOf,
  type Times,
  unhurried,
  type Word,
  type Write,
} from './frozen-worker.ts';
import { type HeldProcess, startHeld } from './held-process.ts';

const orderId = 'order-17';
const order = { orderId, amount: 5 };
const chargeId = operationId(scopeOf('shop-1', 'card.charge', orderId));

let program: Bundle;
let server: PrivateNats;
let shared: SharedDatabase;
let network: FaultProxy;
let statements: PostgresFaults;
let worker: HeldProcess<Word> | null = null;

beforeAll(async () => {
  const child = fileURLToPath(new URL('frozen.child.ts', import.meta.url));
  [program, server] = await Promise.all([bundled(child), privateNats()]);
});
afterAll(async () => {
  await Promise.all([program.remove(), server.close()]);
});
beforeEach(async () => {
  shared = await sharedDatabase();
  network = await faultProxy({ port: Number(new URL(shared.url).port) });
  statements = postgresFaults(network);
});
afterEach(async () => {
  await worker?.kill();
  worker = null;
  await shared.close();
  await network.close();
});

function work(task: Partial<FrozenTask>): HeldProcess<Word> {
  const { url, provider } = shared;
  const given: FrozenTask = {
    ...{ databaseUrl: network.urlFor(url), natsUrl: server.url, providerUrl: provider.url },
    ...{ times: unhurried, submits: { what: 'charge', orderId }, freezes: null, blocks: null },
    ...task,
  };
  worker = startHeld([program.path, JSON.stringify(given)]);
  return worker;
}

interface Heir {
  readonly orchestrator: Orchestrator<true>;
  readonly charge: ReturnType<typeof chargeAt>;
  /** How many requests it has sent itself to charge. */
  sent(): number;
}

/** A worker in this process. */
async function heir(times: Times = unhurried): Promise<Heir> {
  let sent = 0;
  const charge = chargeAt(shared.provider.url, times, {
    onSend() {
      sent += 1;
    },
  });
  const orchestrator = shared.orchestrator({
    ...{ definitions: [charge, shopAt(shared.provider.url).payment], heartbeat: briefHeartbeat },
    waker: natsWaker({ servers: server.url }),
  });
  await orchestrator.start();
  return { orchestrator, charge, sent: () => sent };
}

/** Another worker ends what there is to do, sees the first one dead, and ends, so that nobody writes any more. */
async function takenOverAndLeft(how: (heir: Heir) => Promise<unknown> = async () => {}): Promise<Heir> {
  const other = await heir();
  await how(other);
  await until(async () => ((await dead()) > 0 ? true : null), 'the worker to be declared dead');
  await shared.quiet();
  await shared.sagasSettled();
  await other.orchestrator.stop();
  return other;
}

async function dead(): Promise<number> {
  return (await shared.sql`select from sagacity.worker where dead_at is not null`).length;
}

/** Every row there is but those of workers that live, with its place and its writer. */
async function everyRow(): Promise<readonly string[]> {
  const rows = await shared.sql<{ line: string }[]>`
    select concat_ws(' ', 'operation', t.ctid, t.xmin, t) as line from sagacity.operation t
    union all
    select concat_ws(' ', 'saga', t.ctid, t.xmin, t) from sagacity.saga t
    union all
    select concat_ws(' ', 'record', t.ctid, t.xmin, t) from sagacity.attempt t
    union all
    select concat_ws(' ', 'hand-over', t.ctid, t.xmin, t) from sagacity.handover t
    union all
    select concat_ws(' ', 'worker', t.ctid, t.xmin, t) from sagacity.worker t where t.dead_at is not null`;
  return rows.map(({ line }) => line).toSorted();
}

/** The history of an operation, as soon as this is the last that it tells and no word waits. */
async function historyOf(id: string, last: string | undefined): Promise<readonly string[]> {
  const run = await shared.orchestrator({ definitions: [chargeAt(shared.provider.url, unhurried)] }).run(id);
  return await until(
    async () => {
      const waiting = await shared.sql`select from sagacity.handover limit 1`;
      const history = await told(run);
      return waiting.length === 0 && history.at(-1) === last ? history : null;
    },
    `"${last}" to be told of it`,
    30_000,
  );
}

const byEnd = ['start -> pending in-progress', 'end succeeded -> succeeded'];
const byLookup = ['start -> pending in-progress', 'end unknown -> unknown', 'lookup found -> succeeded'];

interface Case {
  readonly write: Write;
  readonly submits?: FrozenTask['submits'];
  /** What has to be so before the worker starts. */
  readonly given?: () => Promise<void>;
  /** What the other one has to do beside what is there. */
  readonly meanwhile?: (heir: Heir) => Promise<unknown>;
  /** What the worker says when it has gone on. */
  readonly says?: Word;
  /** What the history of the charge tells at the end. */
  readonly history: readonly string[];
  /** How many requests the other one sends to charge. */
  readonly sentByOther: number;
}

const cases: readonly Case[] = [
  {
    write: 'birth',
    meanwhile: ({ orchestrator, charge }) => orchestrator.submit(charge, order),
    ...{ says: 'submitted: replayed', history: byEnd, sentByOther: 1 },
  },
  {
    write: 'start',
    submits: null,
    given: () => shared.accept(chargeAt(shared.provider.url, unhurried), [order]),
    history: ['moved -> pending', 'start -> in-progress', 'end succeeded -> succeeded'],
    sentByOther: 1,
  },
  { write: 'end', history: [...byLookup, 'evidence ->'], sentByOther: 0 },
  {
    write: 'look-up',
    given: () => shared.provider.calls(['commit-then-drop']),
    ...{ history: byLookup, sentByOther: 0 },
  },
  {
    write: 'renewal',
    given: () => shared.provider.faults(['commit-then-hold']),
    ...{ history: [...byLookup, 'evidence ->'], sentByOther: 0 },
  },
];

describe('a worker that is frozen while a write of its is on its way to the database', () => {
  test.each(cases)('finds it refused, and there is one effect: $write', async (its) => {
    const { write, given = async () => {}, meanwhile, says, history, sentByOther, ...task } = its;
    await given();
    const frozen = work({ ...task, freezes: write });
    await frozenInTheMidst(frozen, write);
    const other = await takenOverAndLeft(meanwhile);
    const before = await everyRow();

    network.release();
    frozen.thaw();
    await frozen.said('refused');
    const after = await everyRow();
    frozen.goOn();
    await shared.provider.release();

    expect(after).toEqual(before);
    if (says !== undefined) await frozen.said(says);
    expect(await historyOf(chargeId, history.at(-1))).toEqual(history);
    expect(await shared.charged()).toEqual([orderId]);
    expect(await shared.sentKeys()).toHaveLength(1);
    expect(other.sent()).toBe(sentByOther);
  });

  test('finds it refused, and there is one effect of each step: the turn of a saga', async () => {
    const frozen = work({ submits: { what: 'payment', orderId }, freezes: 'saga' });
    await frozenInTheMidst(frozen, 'saga');
    await takenOverAndLeft();
    const before = await everyRow();

    network.release();
    frozen.thaw();
    await frozen.said('refused');
    const after = await everyRow();
    frozen.goOn();
    const history = await historyOf(await operationOf('money.authorise'), 'evidence ->');

    expect(after).toEqual(before);
    expect(history).toEqual([...byLookup, 'evidence ->']);
    expect(await shared.kept(orderId)).toEqual(['authorisation', 'reservation', 'capture', 'email']);
    expect(await shared.sentKeys()).toHaveLength(4);
  });

  test('claims nothing with it, though there is something to claim again: a claim', async () => {
    const charge = chargeAt(shared.provider.url, unhurried);
    await shared.accept(charge, [order]);
    const frozen = work({ submits: null, freezes: 'claim' });
    await frozenInTheMidst(frozen, 'claim');
    const other = await takenOverAndLeft();
    await shared.accept(charge, [{ orderId: 'order-18', amount: 5 }]);
    // For its claim it is as late as it was when that was prepared.
    await shared.sql`update sagacity.operation set due_at = now() - interval '1 minute' where key = 'order-18'`;
    const before = await everyRow();

    network.release();
    frozen.thaw();
    await frozen.said('refused');
    const after = await everyRow();
    frozen.goOn();
    await shared.quiet();

    expect(after).toEqual(before);
    expect(other.sent()).toBe(1);
    expect(await shared.charged()).toEqual([orderId, 'order-18']);
    expect(await shared.sentKeys()).toHaveLength(2);
  });

  test('adds its late result, and changes nothing that is there: a hand-over', async () => {
    const blocks = { at: 'reply', until: join(dirname(program.path), randomUUID()) } as const;
    const frozen = work({ blocks, freezes: 'hand-over' });
    await frozen.said('blocked');
    const other = await takenOverAndLeft();
    const before = await everyRow();
    await writeFile(blocks.until, '');
    await frozenInTheMidst(frozen, 'hand-over');
    const meanwhile = await everyRow();

    network.release();
    frozen.thaw();
    await frozen.said('written');
    const after = await everyRow();
    frozen.goOn();

    expect(meanwhile).toEqual(before);
    expect(before.filter((line) => !after.includes(line))).toEqual([]);
    expect(after.filter((line) => !before.includes(line))).toEqual([expect.stringContaining('late-result')]);
    expect(await historyOf(chargeId, 'evidence ->')).toEqual([...byLookup, 'evidence ->']);
    expect(await shared.charged()).toEqual([orderId]);
    expect(await shared.sentKeys()).toHaveLength(1);
    expect(other.sent()).toBe(0);
  });
});

async function operationOf(action: string): Promise<string> {
  const [row] = await shared.sql<{ id: string }[]>`select id from sagacity.operation where action = ${action}`;
  return row?.id ?? '';
}

describe('a worker whose event loop is busy for longer than its heartbeat may be late', () => {
  test('sends nothing that it has not sent before, and another has sent it: there is one effect', async () => {
    const times: Times = { sendWithin: '1s', timeout: '1s' };
    const blocks = { at: 'recorded start', until: join(dirname(program.path), randomUUID()) } as const;
    const blocked = work({ blocks, times });
    await blocked.said('blocked');
    const other = await heir(times);
    await shared.quiet();
    const before = await shared.sentKeys();

    await writeFile(blocks.until, '');
    const history = await historyOf(chargeId, 'evidence ->');

    expect(before).toHaveLength(1);
    expect(other.sent()).toBe(1);
    expect(history.slice(0, 2)).toEqual(['start -> pending in-progress', 'end unknown -> unknown']);
    expect(history.slice(-2)).toEqual(['end succeeded -> succeeded', 'evidence ->']);
    expect(await shared.sentKeys()).toEqual(before);
    expect(await shared.charged()).toEqual([orderId]);
  });

  test('brings the reply to what it has sent too late, as evidence: there is one effect', async () => {
    const blocks = { at: 'reply', until: join(dirname(program.path), randomUUID()) } as const;
    const blocked = work({ blocks });
    await blocked.said('blocked');
    const other = await takenOverAndLeft();
    const settled = await shared.store.read({ tenant: 'shop-1', id: chargeId });

    await writeFile(blocks.until, '');
    const history = await historyOf(chargeId, 'evidence ->');

    expect(history).toEqual([...byLookup, 'evidence ->']);
    const { state, output, since } = settled ?? {};
    expect(await shared.store.read({ tenant: 'shop-1', id: chargeId })).toMatchObject({ state, output, since });
    expect(other.sent()).toBe(0);
    expect(await shared.charged()).toEqual([orderId]);
    expect(await shared.sentKeys()).toHaveLength(1);
  });
});

/** Its statement has left, and has not arrived. What prepared it has. */
async function frozenInTheMidst(frozen: HeldProcess<Word>, write: Write): Promise<void> {
  await frozen.said('about to write');
  const endListening = statements.onStatement((text) => {
    if (text.startsWith(`/* sagacity ${statementOf[write]} */`)) network.hold('to-server');
  });
  frozen.goOn();
  await frozen.frozen();
  endListening();
}
