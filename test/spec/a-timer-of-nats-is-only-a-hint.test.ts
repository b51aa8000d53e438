/**
 * A timer that NATS hands out may be handed to several, acknowledged by one that has it no more, or die with whoever has
 * it. The database decides what is done, and once; the sweep finds what no timer announced.
 */

import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { notApplied, type Waker } from 'sagacity';
import { natsWaker } from 'sagacity/nats';
import { privateNats } from 'sagacity/testing';
import {
  cameTo,
  eventually,
  keepsTimers,
  type OnNats,
  second,
  withPatience,
  withServer,
} from '../support/nats-processes.ts';
import { gate } from '../support/scripted-charge.ts';
import { severable, type SeverableStore } from '../support/severable-store.ts';
import { orders, sharedDatabase, type SharedDatabase, swiftCharge } from '../support/shared-database.ts';

let shared: SharedDatabase;

beforeAll(async () => {
  shared = await sharedDatabase();
});
afterAll(() => shared.close());

/** A server that hands a timer on when it has heard nothing of it for so long. */
async function server(ackWaitMs: number): Promise<OnNats> {
  const on = withServer(await privateNats(), { ledger: shared.store.ledger?.() ?? '' });
  onTestFinished(() => on.close());
  await withPatience(on, ackWaitMs);
  return on;
}

/** So long that nobody keeps it, and its timer waits at the server until all of them do. */
const times = { sendWithin: '5s', timeout: '20s', delay: '20s' } as const;

/** Charges that are refused at first, whose process dies while they wait to be sent again. */
async function waiting(on: OnNats, series: string, count: number) {
  const charge = swiftCharge(shared.provider.url, times, { first: () => notApplied('busy') });
  const waker = natsWaker({ servers: on.server.url });
  let own: SeverableStore | undefined;
  const orchestrator = shared.orchestrator({
    ...{ definitions: [charge], sweepEvery: '1h', waker },
    seen: (store) => (own = severable(store)),
  });
  await orchestrator.start();
  await keepsTimers(waker);
  const all = orders(series, count);
  await Promise.all(all.map((order) => orchestrator.submit(charge, order)));
  await eventually(async () => (await on.kept()).handedOut === count, 'all of them to be put off');
  own?.sever();
  await waker.stop();
  await waker.close?.();
  return { charge, all };
}

const charged = async (series: string) => (await shared.charged()).filter((order) => order?.startsWith(`${series}-`));

describe('a charge whose timer was handed on', () => {
  test('is made once although its first holder acknowledged it late, and the second one died', async () => {
    const on = await server(300);
    const { charge } = await waiting(on, 'late', 1);
    const slow = gate();
    const first = await on.process({ onWake: () => slow.passed });
    await cameTo(first, 1);
    await first.waker.stop();
    const second = await on.process({ onWake: () => new Promise(() => {}) });
    await cameTo(second, 1);

    slow.open();
    await eventually(async () => (await on.kept()).timers === 0, 'the late word to have ended it');
    await second.end();
    const before = await charged('late');
    await shared.orchestrator({ definitions: [charge] }).start();
    await shared.quiet();

    expect(before).toEqual([]);
    expect(await charged('late')).toEqual(['late-0']);
  });

  test('is made by the next sweep when its holder died of it, and not when NATS hands it on', async () => {
    const on = await server(30 * second);
    const { charge } = await waiting(on, 'dead', 1);
    const dying = await on.process({ onWake: () => new Promise(() => {}) });
    await cameTo(dying, 1);
    const diedAt = performance.now();

    await dying.end();
    await shared.orchestrator({ definitions: [charge], sweepEvery: '1s' }).start();
    await eventually(async () => (await charged('dead')).length > 0, 'the charge');

    expect(performance.now() - diedAt).toBeLessThan(10 * second);
    expect(await charged('dead')).toEqual(['dead-0']);
  });
});

describe('forty charges whose timers are heard so late that they have been handed on', () => {
  test('are each sent once more, and made once', async () => {
    const on = await server(300);
    const { charge, all } = await waiting(on, 'slow', 40);
    const sentBefore = (await shared.sentKeys()).length;
    let heard = 0;
    const slow = (): Waker => {
      const waker = natsWaker({ servers: on.server.url });
      const start: Waker['start'] = (onWake, onNews) =>
        waker.start(async (wake) => {
          heard += 1;
          await pause(700);
          await onWake(wake);
        }, onNews);
      return { ...waker, start };
    };
    for (const waker of [slow(), slow()]) {
      await shared.orchestrator({ definitions: [charge], sweepEvery: '1h', waker }).start();
    }

    await eventually(async () => (await charged('slow')).length >= all.length, 'all to be charged');
    await eventually(async () => (await on.kept()).timers === 0, 'all timers to be forgotten');

    expect(await charged('slow')).toEqual(all.map(({ orderId }) => orderId).toSorted());
    expect((await shared.sentKeys()).length - sentBefore).toBe(all.length);
    expect(heard).toBeGreaterThan(all.length);
  });
});
