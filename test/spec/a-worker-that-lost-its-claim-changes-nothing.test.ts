import { afterEach, describe, expect, test } from 'vitest';
import { type Gate, gate, interrupted, tells } from '../support/interrupted.ts';
import { timedShop, type TimedShop, type TimedShopOptions, told } from '../support/timed.ts';
import { reached, until } from '../support/world.ts';
import type { Run } from 'sagacity';

let shop: TimedShop;
afterEach(() => shop.close());

const payment = { orderId: 'order-17', amount: 5 };

/** The late worker is dead and may claim nothing; the living one finds the hand-over when it sweeps. */
async function lateReplyRecorded(run: Run<unknown, string>): Promise<void> {
  await until(async () => {
    await shop.clock.advance('1s');
    return (await told(run)).length > 3 ? true : null;
  }, 'the late reply to be recorded');
}

describe('a worker whose attempt hangs while another takes over', () => {
  test('changes nothing when its reply comes at last: it leaves evidence', async () => {
    shop = await timedShop();
    await shop.provider.faults(['commit-then-hold']);
    const run = await shop.orchestrator.submit(shop.charge, payment);
    await shop.provider.logged(({ event }) => event === 'HOLD');
    const second = shop.another();
    await second.start();
    await reached(run, 'succeeded');
    const settled = await shop.store.read(run);

    await shop.provider.release();
    await lateReplyRecorded(run);

    expect(await told(run)).toEqual([
      'start -> pending in-progress',
      'end unknown -> unknown',
      'lookup found -> succeeded',
      'evidence ->',
    ]);
    expect(await shop.store.read(run)).toMatchObject({
      state: 'succeeded',
      output: settled?.output,
      since: settled?.since,
      contradictedAt: null,
    });
    expect(await second.operator.doubts()).toEqual([]);
    expect(await shop.provider.records()).toHaveLength(1);
    expect(await shop.sentKeys()).toHaveLength(1);
  });

  test('writes nothing under its old claim, whatever it tries', async () => {
    shop = await timedShop();
    await shop.provider.faults(['commit-then-hold']);
    const run = await shop.orchestrator.submit(shop.charge, payment);
    await shop.provider.logged(({ event }) => event === 'HOLD');
    const lostOwner = (await shop.store.read(run))?.owner;
    await shop.another().start();
    await reached(run, 'succeeded');
    const written = shop.store.written.length;

    await shop.provider.release();
    await lateReplyRecorded(run);

    const fences = shop.store.written
      .slice(written)
      .map(({ was, records }) => [was?.owner === lostOwner && was?.generation === 1, records.map(({ kind }) => kind)]);
    expect(fences).toEqual([[false, ['evidence']]]);
  });
});

describe('a success that comes after the operation has failed for certain', () => {
  test('marks it as contradicted, for a person to see, and moves nothing', async () => {
    shop = await timedShop({ attempts: 1, lookup: { visibleWithin: '1s', arrivalLimit: '1m' }, deaf: true });
    await shop.provider.faults(['commit-then-hold']);
    await shop.provider.lookups(['lag(600000)']);
    const { operator } = shop.orchestrator;
    const run = await shop.orchestrator.submit(shop.charge, payment);
    await shop.provider.logged(({ event }) => event === 'HOLD');
    await shop.clock.advance('11s');
    await shop.pass('3m', '2s');
    const failed = await run.result({ within: 0 });
    const before = await operator.doubts();

    await shop.provider.release();
    const [doubt] = await until(async () => {
      const doubts = await operator.doubts();
      return doubts.length > 0 ? doubts : null;
    }, 'the contradiction to be listed');

    expect(failed).toEqual({ status: 'failed', code: 'attempts-exhausted' });
    expect(before).toEqual([]);
    expect(doubt).toMatchObject({ id: run.id, state: 'failed', contradictedAt: expect.any(Date) });
    expect(await run.result({ within: 0 })).toEqual(failed);
    expect((await told(run)).at(-1)).toBe('evidence ->');
    expect(await shop.provider.records()).toHaveLength(1);
    expect(await shop.sentKeys()).toHaveLength(1);
  });
});

/** A shop whose first worker freezes between the recorded start and the executor, until `opened`. */
async function frozenShop(options: TimedShopOptions): Promise<Gate> {
  const frozen = gate();
  shop = await timedShop({
    ...options,
    seen: (store) => interrupted(store, { after: (turn) => (tells(turn, 'start') ? frozen.pass() : undefined) }),
  });
  return frozen;
}

describe('a worker that freezes between the recorded start and the sending', () => {
  test('does not send after its time; the attempt is not counted and made once, later', async () => {
    const frozen = await frozenShop({ attempts: 1 });
    const submitting = shop.orchestrator.submit(shop.charge, payment);
    await frozen.reached;
    await shop.clock.advance('6s');

    frozen.open();
    const run = await submitting;
    await shop.clock.advance(0);
    const sentTooLate = await shop.sentKeys();
    await shop.pass('5s');

    expect(sentTooLate).toEqual([]);
    expect(await run.status()).toBe('succeeded');
    expect(await told(run)).toEqual([
      'start -> pending in-progress',
      'end not-applied -> pending',
      'start -> in-progress',
      'end succeeded -> succeeded',
    ]);
    expect(await shop.provider.records()).toHaveLength(1);
    expect(await shop.sentKeys()).toHaveLength(1);
  });

  test('does not send after another has taken over; its word lets the other send once', async () => {
    const sender: string[] = [];
    const frozen = await frozenShop({ attempts: 1, onSend: () => void sender.push('first') });
    const submitting = shop.orchestrator.submit(shop.charge, payment);
    await frozen.reached;
    await shop.another({ definitions: [shop.charging({ onSend: () => void sender.push('second') })] }).start();
    await shop.pass('6s');
    const takenOver = await shop.store.readByIdentity({ tenant: 'shop-1', action: 'card.charge', key: 'order-17' });

    frozen.open();
    const run = await submitting;
    await shop.pass('5s');

    expect(takenOver?.state).toBe('reconciling');
    expect(sender).toEqual(['second']);
    expect(await run.status()).toBe('succeeded');
    expect(await told(run)).toContain('evidence -> pending');
    expect(await shop.provider.records()).toHaveLength(1);
    expect(await shop.sentKeys()).toHaveLength(1);
  });

  test('does not send once it was declared dead, even if it has come back under a new name in time', async () => {
    const sender: string[] = [];
    const frozen = await frozenShop({ onSend: () => void sender.push('first') });
    await shop.pass('2s');
    const submitting = shop.orchestrator.submit(shop.charge, payment);
    await frozen.reached;
    await shop.another({ definitions: [shop.charging({ onSend: () => void sender.push('second') })] }).start();
    // Its next heartbeat tells it that it is over; the attempt's time to leave is not over yet.
    await shop.pass('4s');

    frozen.open();
    const run = await submitting;
    await shop.pass('2m', '2s');

    expect(sender).toEqual(['second']);
    expect(await run.status()).toBe('succeeded');
    expect(await shop.provider.records()).toHaveLength(1);
  });

  test('does not send once its orchestrator has been stopped', async () => {
    const frozen = await frozenShop({});
    const submitting = shop.orchestrator.submit(shop.charge, payment);
    await frozen.reached;
    const stopping = shop.orchestrator.stop({ within: 0 });
    await shop.clock.advance('4s');
    await stopping;

    frozen.open();
    await submitting;
    await shop.clock.advance(0);
    const sentAfterStop = await shop.provider.received();
    await shop.another().start();
    await shop.pass('2m', '2s');

    expect(sentAfterStop).toEqual([]);
    expect(await shop.provider.records()).toHaveLength(1);
    expect(await shop.sentKeys()).toHaveLength(1);
  });
});
