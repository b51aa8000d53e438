/**
 * Several processes on one PostgreSQL and one NATS: what one of them is told reaches the one that it concerns, at once,
 * and what one leaves another takes up at its time. Sweeps are an hour apart here, so that nothing else can be prompt.
 * Then the same without NATS, where the sweep does all of it, later. The provider's records are the proof.
 */

import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type AnyOperation, type AnySaga, type Duration, notApplied, type Orchestrator, saga, typed } from 'sagacity';
import { natsWaker } from 'sagacity/nats';
import { type FaultProxy, faultProxy, privateNats, type PrivateNats, testClock } from 'sagacity/testing';
import { actorsFrom } from 'sagacity/xstate';
import { setup } from 'xstate';
import { eventually, keepsTimers } from '../support/nats-processes.ts';
import { type Approval, type Part, purchase, tradeAt, type Trade, typeOf } from '../support/saga-shop.ts';
import { severable, type SeverableStore } from '../support/severable-store.ts';
import { sharedDatabase, type SharedDatabase, swiftCharge } from '../support/shared-database.ts';
import type { Payment } from '../support/shop.ts';

let shared: SharedDatabase;
let server: PrivateNats;
let trade: Trade;

beforeAll(async () => {
  [shared, server] = await Promise.all([sharedDatabase(), privateNats()]);
  trade = tradeAt(shared.provider.url);
});
afterAll(async () => {
  await shared.close();
  await server.close();
});

const second = 1_000;

/** What is prompt happens within this, on a machine that may be slow; without a wake nothing here would. */
const PROMPT_MS = 5 * second;

interface Process {
  readonly orchestrator: Orchestrator<true>;
  /** From now on it reaches neither the database nor NATS, as if it had been killed. */
  kill(): void;
}

interface Surroundings {
  readonly situation: string;
  readonly sweepEvery: Duration;
  /** Whether NATS is there. */
  readonly isPrompt: boolean;
}

const prompt: Surroundings = { situation: 'with NATS, and sweeps an hour apart', sweepEvery: '1h', isPrompt: true };
const swept: Surroundings = { situation: 'without NATS, and a sweep every second', sweepEvery: '1s', isPrompt: false };

describe.each([prompt, swept])('several processes $situation', ({ sweepEvery, isPrompt }) => {
  let orders = 0;
  const nextOrder = (): Part => {
    orders += 1;
    return { orderId: `order-${isPrompt ? 'prompt' : 'swept'}-${orders}` };
  };
  const payment = ({ orderId }: Part): Payment => ({ orderId, amount: 5 });

  beforeAll(() => (isPrompt ? undefined : server.stop()));
  afterAll(() => (isPrompt ? undefined : server.start()));

  /** A process on the database; one that does not work only submits, tells and asks. */
  async function started(
    definitions: readonly (AnyOperation | AnySaga)[],
    { works = true, stands = false, concurrency = 32 } = {},
  ): Promise<Process> {
    const network: FaultProxy = await faultProxy({ port: server.port });
    const waker = natsWaker({ servers: network.urlFor(server.url) });
    let own: SeverableStore | undefined;
    const orchestrator = shared.orchestrator({
      ...{ definitions, sweepEvery, waker, concurrency },
      // Who waits would read the database twice a second; it does not where time stands.
      ...(stands ? { clock: testClock() } : {}),
      heartbeat: { every: '300ms', timeout: '5s' },
      seen: (store) => (own = severable(store)),
    });
    if (works) await orchestrator.start();
    else await orchestrator.operator.doubts();
    if (isPrompt) await keepsTimers(waker);
    onTestFinished(async () => {
      await orchestrator.stop({ within: '100ms' });
      await waker.close?.();
      await network.close();
    });
    return {
      orchestrator,
      kill() {
        own?.sever();
        network.refuse();
      },
    };
  }

  const kept = ({ orderId }: Part, count: number): Promise<void> =>
    eventually(async () => (await shared.kept(orderId)).length >= count, `${count} records of ${orderId}`);

  test.for([{ works: true }, { works: false }])(
    'bring a signal to the one that holds the saga (its sender works: $works)',
    async ({ works }) => {
      const selling = shortApproval(trade);
      const holder = await started([selling]);
      const sender = await started([selling], { works });
      const order = nextOrder();
      const run = await holder.orchestrator.submit(selling, order);
      await eventually(async () => (await run.accepts()).includes('approved'), 'the saga to ask');

      const began = performance.now();
      await sender.orchestrator.signal(run.id, { type: 'approved' }, { eventId: 'click-1' });
      await kept(order, 2);
      const tookMs = performance.now() - began;

      expect(await shared.kept(order.orderId)).toEqual(['authorisation', 'reservation']);
      expect(tookMs).toBeLessThan(PROMPT_MS);
    },
  );

  test('begin at once what one submits that does not work', async () => {
    const charge = swiftCharge(shared.provider.url, times);
    const selling = purchase(trade);
    await started([charge, selling]);
    const idle = await started([charge, selling], { works: false });
    const [first, other] = [nextOrder(), nextOrder()];

    await idle.orchestrator.submit(charge, payment(first));
    await idle.orchestrator.submit(selling, other);
    await kept(first, 1);
    await kept(other, 3);

    expect(await shared.kept(first.orderId)).toEqual(['payment']);
    expect(await shared.kept(other.orderId)).toEqual(['authorisation', 'reservation', 'payment']);
  });

  test('tell one that waits for a run of another as soon as it has come so far', async () => {
    const selling = shortApproval(trade);
    const holder = await started([selling]);
    const waiting = await started([selling], { works: false, stands: isPrompt });
    const order = nextOrder();
    const run = await holder.orchestrator.submit(selling, order);
    const there = await waiting.orchestrator.sagaRun(run.id);

    const asking = there.reached('asking', { within: '1m' });
    await expect(asking).resolves.toBe(true);
    const settled = there.result({ within: '1m' });
    await holder.orchestrator.signal(run.id, { type: 'approved' }, { eventId: 'click-1' });

    expect(await settled).toMatchObject({ status: 'succeeded' });
    expect(await shared.kept(order.orderId)).toEqual(['authorisation', 'reservation']);
  });

  test.for([
    { end: 'stopped', delayMs: 3 * second },
    { end: 'stopped', delayMs: 11 * second },
    { end: 'killed', delayMs: 11 * second },
  ] as const)('take up a retry at its time whose process was $end ($delayMs ms)', async ({ end, delayMs }) => {
    const dueAt: number[] = [];
    const first = () => {
      dueAt.push(performance.now() + delayMs);
      return notApplied('busy');
    };
    const charge = swiftCharge(shared.provider.url, { ...times, delay: delayMs }, { first });
    const asked = await started([charge]);
    const order = nextOrder();
    const run = await asked.orchestrator.submit(charge, payment(order));
    await eventually(async () => (await run.status()) === 'pending', 'the retry to wait');
    await started([charge]);

    if (end === 'stopped') await asked.orchestrator.stop();
    else asked.kill();
    await kept(order, 1);
    const lateMs = performance.now() - (dueAt[0] ?? 0);

    expect(await shared.kept(order.orderId)).toEqual(['payment']);
    expect(dueAt).toHaveLength(1);
    expect(lateMs).toBeGreaterThanOrEqual(-20);
    expect(lateMs).toBeLessThan(PROMPT_MS);
  });

  test('take up at once what a process had under way that stopped', async () => {
    const charge = swiftCharge(shared.provider.url, times);
    const [stopping] = [await started([charge]), await started([charge])];
    await shared.provider.calls(['commit-then-hold']);
    const order = nextOrder();
    const run = await stopping.orchestrator.submit(charge, payment(order));
    await kept(order, 1);
    const row = () => shared.store.read({ tenant: 'shop-1', id: run.id });

    await stopping.orchestrator.stop({ within: '10ms' });
    const began = performance.now();
    await eventually(async () => (await row())?.state === 'succeeded', 'it to be looked up and settled');
    const tookMs = performance.now() - began;
    await shared.provider.release();

    expect(await shared.kept(order.orderId)).toEqual(['payment']);
    expect(tookMs).toBeLessThan(PROMPT_MS);
  });

  test('take what another one is asked for and has no room for', async () => {
    const charge = swiftCharge(shared.provider.url, times);
    const full = await started([charge], { concurrency: 1 });
    await started([charge]);
    await shared.provider.calls(['commit-then-hold']);
    const [first, more] = [nextOrder(), nextOrder()];
    await full.orchestrator.submit(charge, payment(first));
    await kept(first, 1);

    const began = performance.now();
    await full.orchestrator.submit(charge, payment(more));
    await kept(more, 1);
    const tookMs = performance.now() - began;
    await shared.provider.release();

    expect(tookMs).toBeLessThan(PROMPT_MS);
    expect(await shared.kept(more.orderId)).toEqual(['payment']);
  });
});

const times = { sendWithin: '5s', timeout: '20s' } as const;

/** As the approval of the shop, for nine seconds: so long a process keeps it to itself. */
function shortApproval({ authorise, reserve }: Trade) {
  const operations = { authorise, reserve };
  const machine = setup({
    types: { context: typeOf<Part>(), input: typeOf<Part>(), events: typeOf<Approval>() },
    actors: actorsFrom(operations),
  }).createMachine({
    id: 'short-approval',
    context: ({ input }) => input,
    initial: 'money',
    states: {
      money: {
        invoke: { id: 'money', src: 'authorise', input: ({ context }) => context, onDone: 'asking', onError: 'back' },
      },
      asking: { on: { approved: 'goods', rejected: 'back' }, after: { 9_000: 'back' } },
      goods: {
        invoke: { id: 'goods', src: 'reserve', input: ({ context }) => context, onDone: 'sold', onError: 'back' },
      },
      back: { invoke: { src: 'compensate', onDone: 'withdrawn' } },
      sold: { type: 'final' },
      withdrawn: { type: 'final' },
    },
  });
  return saga('short-approval', { input: typed<Part>(), key: ({ input }) => input.orderId, machine, operations });
}
