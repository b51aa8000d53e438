import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type ScriptedProvider, spawnProvider } from 'sagacity/testing';
import { providerKey } from '../../src/domain/idempotency.ts';
import {
  type Charging,
  idOfCharge,
  preparedDirectories,
  scopeOfCharge,
  startWorker,
  type WorkerEnd,
  type WorkerProcess,
  type WorkerTask,
} from '../support/crash.ts';

// A process takes seconds to start and to open its database, and a busy machine takes several times as long.
const timeout = 150_000;

let directories: Awaited<ReturnType<typeof preparedDirectories>>;
let directory: string;
let provider: ScriptedProvider;
const workers: WorkerProcess[] = [];

beforeAll(async () => {
  directories = await preparedDirectories();
}, timeout);
beforeEach(async () => {
  [directory, provider] = await Promise.all([directories.next(), spawnProvider()]);
});
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.kill()));
  await provider.close();
});
afterAll(() => directories.remove());

/** Runs a worker process to its end, whichever that is. */
function work(task: Partial<WorkerTask>): Promise<WorkerEnd> {
  const worker = startWorker({ directory, url: provider.url, charges: [], settle: [], ...task });
  workers.push(worker);
  return worker.ended;
}

async function sentFor(orderId: string): Promise<number> {
  const received = await provider.received({ key: providerKey(scopeOfCharge(orderId)) });
  return received.filter(({ method }) => method === 'POST').length;
}

describe('a process killed after the provider has acted and before it has replied', () => {
  test('leaves one effect: the next process finds it and sends nothing', { timeout }, async () => {
    const orderId = 'order-17';
    const killed = await work({ charges: [{ orderId, calls: ['commit-then-hold'], haltAt: { logged: 'HOLD' } }] });

    const next = await work({ settle: [idOfCharge(orderId)] });

    expect(killed).toMatchObject({ signal: 'SIGKILL', complaints: '' });
    expect(next).toMatchObject({ code: 0, complaints: '' });
    expect(next.reports[0]?.result).toEqual({
      status: 'succeeded',
      output: { chargeId: 'payment_1' },
      reference: 'payment_1',
    });
    expect(next.reports[0]?.history).toEqual([
      'start -> pending in-progress',
      'end unknown -> unknown',
      'lookup found -> succeeded',
    ]);
    expect(await provider.records()).toHaveLength(1);
    expect(await sentFor(orderId)).toBe(1);
  });
});

interface Crash extends Charging {
  /** How many requests have been sent when all is over. */
  readonly sent: number;
  readonly settledBy: 'end succeeded -> succeeded' | 'lookup found -> succeeded';
}

/** Each order names the point at which the kill finds it. */
const crashes: readonly Crash[] = [
  {
    orderId: 'after the second start is recorded, before it is sent again',
    calls: ['drop'],
    haltAt: { side: 'after', turn: 'start', nth: 2 },
    ...{ sent: 2, settledBy: 'end succeeded -> succeeded' },
  },
  {
    orderId: 'after the start is recorded, before anything is sent',
    haltAt: { side: 'after', turn: 'start' },
    ...{ sent: 1, settledBy: 'end succeeded -> succeeded' },
  },
  {
    orderId: 'after the reply has come, before the result is recorded',
    haltAt: { side: 'before', turn: 'end' },
    ...{ sent: 1, settledBy: 'lookup found -> succeeded' },
  },
  {
    orderId: 'after the result is recorded, before anybody hears of it',
    haltAt: { side: 'after', turn: 'end' },
    ...{ sent: 1, settledBy: 'end succeeded -> succeeded' },
  },
  {
    orderId: 'after the look-up has answered, before that is recorded',
    calls: ['commit-then-drop'],
    haltAt: { side: 'before', turn: 'lookup' },
    ...{ sent: 1, settledBy: 'lookup found -> succeeded' },
  },
  {
    orderId: 'after what the look-up found is recorded',
    calls: ['commit-then-drop'],
    haltAt: { side: 'after', turn: 'lookup' },
    ...{ sent: 1, settledBy: 'lookup found -> succeeded' },
  },
];

describe('a process killed with an operation at every other point, and the next one killed while it takes them up', () => {
  test('leave one effect an order, and the third process settles them all', { timeout }, async () => {
    const unrecorded = 'before the start is recorded';
    const halted: readonly Charging[] = [
      ...crashes.map(({ orderId, calls = [], haltAt }) => ({ orderId, calls, ...(haltAt && { haltAt }) })),
      { orderId: unrecorded, haltAt: { side: 'before', turn: 'start' } },
    ];
    const ids = crashes.map(({ orderId }) => idOfCharge(orderId));
    const first = await work({ charges: halted });
    const second = await work({ dieBefore: 'lookup', settle: ids });
    const sentUnrecorded = await sentFor(unrecorded);

    // Nobody was told that the unrecorded one was accepted, so it is the caller who comes again.
    const third = await work({
      charges: [{ orderId: unrecorded }],
      settle: ids,
    });

    expect([first, second]).toMatchObject([
      { signal: 'SIGKILL', complaints: '' },
      { signal: 'SIGKILL', complaints: '' },
    ]);
    expect(third).toMatchObject({ code: 0, complaints: '' });
    expect(sentUnrecorded).toBe(0);
    const charged = (await provider.records()).map(({ orderId }) => orderId);
    expect(charged.toSorted()).toEqual(halted.map(({ orderId }) => orderId).toSorted());
    const ends = await Promise.all(
      crashes.map(async ({ orderId }, n) => {
        const { history = [], result } = third.reports[n] ?? {};
        return { orderId, status: result?.status, settledBy: history.at(-1), sent: await sentFor(orderId) };
      }),
    );
    expect(ends).toEqual(
      crashes.map(({ orderId, settledBy, sent }) => ({ orderId, status: 'succeeded', settledBy, sent })),
    );
  });
});
