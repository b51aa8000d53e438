/**
 * A worker in a process of its own that blocks, freezes or dies, and another one that takes over. Whatever the first one
 * still does when it is back, there is one effect, and nothing that was settled is touched.
 */

import type { Orchestrator, Run } from 'sagacity';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { operationId, scopeOf } from '../../src/domain/idempotency.ts';
import type { OperationRow } from '../../src/ports/store.ts';
import { SWEEP_EVERY_MS, sharedDatabase, type SharedDatabase, swiftCharge } from '../support/shared-database.ts';
import { told } from '../support/timed.ts';
import { reached, until } from '../support/world.ts';
import { audit } from './audit.ts';
import { footprint } from './sessions.ts';
import {
  blindCharge,
  briefHeartbeat,
  type Charging,
  startWorker,
  type WorkerProcess,
  type WorkerTask,
} from './worker-process.ts';

/** Nothing ends or is refused because its time is over: what is shown is due to the claim alone. */
const unhurried = { sendWithin: '1m', timeout: '1m' } as const;

const away = { times: unhurried, heartbeat: briefHeartbeat };

const orderId = 'order-17';
const ref = { tenant: 'shop-1', id: operationId(scopeOf('shop-1', 'card.charge', orderId)) };

let shared: SharedDatabase;
let workers: WorkerProcess[] = [];

beforeEach(async () => {
  shared = await sharedDatabase();
});

afterEach(async () => {
  await Promise.all(workers.map((worker) => worker.kill()));
  workers = [];
  await shared.close();
});

function work(charges: readonly Charging[], task: Partial<WorkerTask> = {}): WorkerProcess {
  const { url: database, provider } = shared;
  const worker = startWorker({ database, provider: provider.url, ...away, charges, ...task });
  workers.push(worker);
  return worker;
}

interface Heir {
  readonly orchestrator: Orchestrator<true>;
  readonly run: Run;
  /** The keys of the requests that it has sent itself. */
  readonly sent: readonly string[];
}

/** A worker in this process, started while the other one is away. */
async function heir(): Promise<Heir> {
  const sent: string[] = [];
  const charge = swiftCharge(shared.provider.url, unhurried, { onSend: (key) => void sent.push(key) });
  const orchestrator = shared.orchestrator({
    ...{ definitions: [charge, blindCharge(shared.provider.url)], heartbeat: briefHeartbeat },
  });
  await orchestrator.start();
  return { orchestrator, sent, run: await orchestrator.run(ref.id) };
}

/** What must never change once it is settled. */
async function settledRow(): Promise<Partial<OperationRow>> {
  const row = await shared.store.read(ref);
  if (row === null) throw new Error('The operation is gone.');
  const { state, output, since, contradictedAt, reason, dueAt, windowEndsAt } = row;
  return { state, output, since, contradictedAt, reason, dueAt, windowEndsAt };
}

async function ownerNow(): Promise<string> {
  const row = await shared.store.read(ref);
  if (row === null || row.owner === null) throw new Error('Nobody owns the operation.');
  return row.owner;
}

function evidenceAbout(run: Run): Promise<readonly string[]> {
  return until(async () => {
    const history = await told(run);
    return history.some((record) => record.startsWith('evidence')) ? history : null;
  }, 'the late result to be recorded');
}

describe.each([
  ['whose event loop is blocked', 'block'],
  ['that is frozen', 'freeze'],
] as const)('a worker %s between the recorded start and the call', (_, how) => {
  test('sends nothing once another has taken over, and its word lets the other send', async () => {
    const worker = work([{ orderId, pause: { side: 'after', turn: 'start', how } }]);
    await worker.said(`paused ${orderId}`);
    if (how === 'freeze') await worker.frozen();
    const { run, sent } = await heir();
    await reached(run, 'reconciling');
    const chargedMeanwhile = await shared.charged();

    worker.goOn();
    await reached(run, 'succeeded');

    expect(chargedMeanwhile).toEqual([]);
    expect(sent).toHaveLength(1);
    expect(await shared.sentKeys()).toEqual(sent);
    expect(await shared.charged()).toEqual([orderId]);
    expect(await told(run)).toContain('evidence -> pending');
  });
});

describe('a worker that is away from when its request was sent until another has settled the operation', () => {
  test('leaves the settled row as it is, and its reply as evidence', async () => {
    await shared.provider.faults(['commit-then-hold']);
    const worker = work([{ orderId }]);
    await shared.provider.logged(({ event }) => event === 'HOLD');
    await worker.freeze();
    const { run, sent } = await heir();
    await reached(run, 'succeeded');
    const settled = await settledRow();

    await shared.provider.release();
    worker.goOn();
    const history = await evidenceAbout(run);

    expect(history).toEqual([
      'start -> pending in-progress',
      'end unknown -> unknown',
      'lookup found -> succeeded',
      'evidence ->',
    ]);
    expect(await settledRow()).toEqual(settled);
    expect(sent).toEqual([]);
    expect(await shared.charged()).toEqual([orderId]);
    expect(await shared.sentKeys()).toHaveLength(1);
  });

  test('finds its renewal refused when it is back, and writes nothing but a hand-over', async () => {
    await shared.provider.faults(['commit-then-hold']);
    const worker = work([{ orderId }], { endAfterHandOver: true });
    await shared.provider.logged(({ event }) => event === 'HOLD');
    await worker.freeze();
    const owner = await ownerNow();
    const settled = await takenOverAndLeft();
    const dead = await deadWorkers();

    worker.goOn();
    await worker.said('renewal refused');
    const refused = await deadWorkers();
    await shared.provider.release();
    await worker.said('handed over');
    await worker.ended;

    expect(dead).toContainEqual(expect.stringContaining(owner));
    expect(refused).toEqual(dead);
    expect(await whatFollowed(settled)).toEqual(nothingButAHandOver(settled));
    expect(await shared.charged()).toEqual([orderId]);
    expect(await shared.sentKeys()).toHaveLength(1);
  });

  test('has its turn refused although it believes in its claim, and hands it over', async () => {
    const blocks = { orderId, pause: { side: 'before', turn: 'end', how: 'block' } } as const;
    const worker = work([blocks], { endAfterHandOver: true });
    await worker.said(`paused ${orderId}`);
    const settled = await takenOverAndLeft();

    worker.goOn();
    await worker.said('handed over');
    await worker.ended;

    expect(await whatFollowed(settled)).toEqual(nothingButAHandOver(settled));
    expect(await shared.charged()).toEqual([orderId]);
    expect(await shared.sentKeys()).toHaveLength(1);
  });

  interface Settled {
    readonly footprint: readonly string[];
    readonly row: Partial<OperationRow>;
  }

  /** Another worker settles the operation and ends, so that nobody writes any more. */
  async function takenOverAndLeft(): Promise<Settled> {
    const { orchestrator, run } = await heir();
    await reached(run, 'succeeded');
    await orchestrator.stop();
    return { footprint: await footprint(shared.sql, ref), row: await settledRow() };
  }

  /** What was written and erased since, and what the next worker makes of it. */
  async function whatFollowed(settled: Settled) {
    const now = await footprint(shared.sql, ref);
    const history = await evidenceAbout((await heir()).run);
    return {
      written: now.filter((line) => !settled.footprint.includes(line)),
      erased: settled.footprint.filter((line) => !now.includes(line)),
      last: history.at(-1),
      row: await settledRow(),
    };
  }

  function nothingButAHandOver({ row }: Settled) {
    return { written: [expect.stringContaining('late-result')], erased: [], last: 'evidence ->', row };
  }

  /** Every worker that was declared dead, with the place and the writer of its row. */
  async function deadWorkers(): Promise<readonly string[]> {
    const rows = await shared.sql<{ line: string }[]>`
      select concat_ws(' ', w.ctid, w.xmin, w) as line from sagacity.worker w where dead_at is not null order by id`;
    return rows.map(({ line }) => line);
  }
});

describe('a worker process that is killed', () => {
  test('is taken over from after its time-out, though a new process starts at once', async () => {
    const worker = work([{ orderId, pause: { side: 'before', turn: 'end', how: 'halt' } }]);
    await worker.said(`paused ${orderId}`);

    await worker.kill();
    const owner = await ownerNow();
    const { sent } = await heir();
    await shared.quiet();

    const [row] = await shared.sql<{ silent: number; takenOver: number }[]>`
      select
        1000 * extract(epoch from w.dead_at - w.beat_at)::float8 as silent,
        1000 * extract(epoch from a.at - w.beat_at)::float8 as "takenOver"
      from sagacity.attempt a cross join sagacity.worker w
      where a.kind = 'end' and w.id = ${owner}`;
    expect(row?.silent).toBeGreaterThanOrEqual(1_000);
    expect(row?.takenOver).toBeLessThan(1_000 + SWEEP_EVERY_MS + 8_000);
    expect(sent).toEqual([]);
    expect(await shared.charged()).toEqual([orderId]);
    expect(await shared.sentKeys()).toHaveLength(1);
  });

  test('leaves no operation without a next step, at whatever point it had come to', async () => {
    await shared.provider.calls(['ok', 'drop', 'commit-then-drop', 'commit-then-drop', 'ok', 'commit-then-hold']);
    const worker = work(
      [
        { orderId: 'before it is sent', pause: { side: 'after', turn: 'start', how: 'halt' } },
        { orderId: 'before the reply is recorded', pause: { side: 'before', turn: 'end', how: 'halt' } },
        { orderId: 'before it is looked up', pause: { side: 'after', turn: 'end', how: 'halt' } },
        { orderId: 'before the look-up is recorded', pause: { side: 'before', turn: 'lookup', how: 'halt' } },
        { orderId: 'after the look-up was recorded', pause: { side: 'after', turn: 'lookup', how: 'halt' } },
        { orderId: 'where nobody can be asked', blind: true, pause: { side: 'before', turn: 'end', how: 'halt' } },
        { orderId },
      ],
      { times: { sendWithin: '1s', timeout: '2s' }, heartbeat: { every: '5s', timeout: '15s' } },
    );
    await shared.provider.logged(({ event }) => event === 'HOLD');

    await worker.kill();
    await shared.declareDead();
    const lost = await audit(shared.sql);
    await heir();
    await shared.quiet();

    expect(lost).toEqual([
      'before it is looked up: unknown at a worker that is dead',
      'before it is sent: in-progress at a worker that is dead',
      'before the look-up is recorded: unknown at a worker that is dead',
      'before the reply is recorded: in-progress at a worker that is dead',
      `${orderId}: in-progress at a worker that is dead`,
      'where nobody can be asked: in-progress at a worker that is dead',
    ]);
    expect(await audit(shared.sql)).toEqual([]);
    expect(await states()).toEqual(['6 succeeded', '1 escalated: no-lookup']);
    expect(await shared.charged()).toEqual(
      [
        ...['after the look-up was recorded', 'before it is sent', 'before it is looked up'],
        ...['before the look-up is recorded', 'before the reply is recorded', orderId, 'where nobody can be asked'],
      ].toSorted(),
    );
    expect(await shared.sentKeys()).toHaveLength(8);
  });

  async function states(): Promise<readonly string[]> {
    const rows = await shared.sql<{ line: string }[]>`
      select concat_ws(': ', count(*) || ' ' || state, reason) as line
      from sagacity.operation group by state, reason order by count(*) desc`;
    return rows.map(({ line }) => line);
  }
});
