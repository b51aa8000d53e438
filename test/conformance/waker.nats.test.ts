/**
 * The waker over NATS keeps the promises of the port; its timers outlive who asked for them; and what it is sent by
 * others does nothing. Time is real here.
 */

import { setTimeout as pause } from 'node:timers/promises';
import { natsWaker } from 'sagacity/nats';
import { faultProxy, privateNats, type Wake, wakerSuite } from 'sagacity/testing';
import { afterAll, beforeAll, describe, expect, test, onTestFinished } from 'vitest';
import { silentLogger } from '../../src/ports/logger.ts';
import {
  cameTo,
  eventually,
  expectOnTime,
  heard,
  keepsTimers,
  type OnNats,
  place,
  refTo,
  second,
  took,
  wakeFor,
  withPatience,
} from '../support/nats-processes.ts';
import { gate } from '../support/scripted-charge.ts';

wakerSuite(
  {
    ...{ name: 'NATS', reachesOthers: true },
    async make() {
      const server = await privateNats();
      return {
        async make(ledger) {
          const waker = natsWaker({ servers: server.url });
          waker.open?.(ledger, silentLogger);
          await keepsTimers(waker);
          return waker;
        },
        passes: (ms) => pause(ms),
        now: () => performance.now(),
        dispose: () => server.close(),
      };
    },
  },
  { afterAll, beforeAll, describe, expect, test },
);

describe('a timer', () => {
  test('that a process asked for comes to another at its time, though the first is gone', async () => {
    const on = await place();
    const asker = await on.process();
    const other = await on.process();

    const askedAt = performance.now();
    asker.waker.wake(wakeFor(1, 3), 1_500, 'anybodys');
    await eventually(async () => (await on.kept()).timers === 1, 'the timer to be kept');
    await asker.end();
    await cameTo(other, 1);

    expect(other.woken.map(({ wake }) => wake)).toStrictEqual([wakeFor(1, 3)]);
    expectOnTime(took(other, askedAt)[0], 1_500);
    expect(asker.woken).toEqual([]);
  });

  test('comes at its time, or at once if that is past, to a process that was not there when it was asked for', async () => {
    const on = await place();
    const askedAt = await askedAndGone(on, [
      [wakeFor(1), 1 * second],
      [wakeFor(2), 5 * second],
    ]);
    await pause(askedAt + 2_500 - performance.now());

    const late = await on.process();
    await cameTo(late, 1);
    const [first = 0] = took(late, askedAt);
    await cameTo(late, 2);

    expect(late.woken.map(({ wake }) => wake)).toStrictEqual([wakeFor(1), wakeFor(2)]);
    expect(first).toBeLessThan(4 * second);
    expectOnTime(took(late, askedAt)[1], 5 * second);
  });

  test('comes to a process that was stopped and started again while it was finding NATS', async () => {
    const on = await place();
    const process = await on.process({ start: false, until: 'nothing' });
    const woken: Wake[] = [];

    for (let times = 0; times < 30; times += 1) {
      await process.waker.stop();
      await process.waker.start(
        async (wake) => void woken.push(wake),
        () => {},
      );
      await pause(2);
    }
    await askedAndGone(on, [[wakeFor(1), 500]]);
    await eventually(() => woken.length > 0, 'the timer to come', 10 * second);

    expect(woken).toStrictEqual([wakeFor(1)]);
  });

  test('is kept until what follows from it is durable', async () => {
    const on = await place();
    const writing = gate();
    const process = await on.process({ onWake: () => writing.passed });

    process.waker.wake(wakeFor(1), 100, 'anybodys');
    await cameTo(process, 1);
    const meanwhile = await on.kept();
    writing.open();
    await eventually(async () => (await on.kept()).timers === 0, 'the timer to be forgotten');

    expect(meanwhile).toEqual({ timers: 1, handedOut: 1 });
    expect(process.woken).toHaveLength(1);
  });

  test('comes again elsewhere when the process that had it dies of it', async () => {
    const on = await place();
    await withPatience(on, 1 * second);
    const network = await faultProxy({ port: on.server.port });
    onTestFinished(() => network.close());
    const dying = await on.process({ url: network.urlFor(on.server.url), onWake: () => new Promise(() => {}) });
    dying.waker.wake(wakeFor(1), 100, 'anybodys');
    await cameTo(dying, 1);

    network.refuse();
    const other = await on.process();
    await cameTo(other, 1);
    await eventually(async () => (await on.kept()).timers === 0, 'the timer to be forgotten');

    expect(other.woken.map(({ wake }) => wake)).toStrictEqual([wakeFor(1)]);
  });

  test('that was handed on is not lost to whoever has it now when its first holder acknowledges it late', async () => {
    const on = await place();
    await withPatience(on, 300);
    const [slow, writing] = [gate(), gate()];
    const first = await on.process({ onWake: () => slow.passed });
    first.waker.wake(wakeFor(1), 100, 'anybodys');
    await cameTo(first, 1);
    await first.waker.stop();
    const second = await on.process({ onWake: () => writing.passed });
    await cameTo(second, 1);

    slow.open();
    await eventually(async () => (await on.kept()).timers === 0, 'the late word to have ended it');
    writing.open();
    second.waker.wake(wakeFor(2), 100, 'anybodys');
    await eventually(() => second.woken.some(({ wake }) => wake.operationId === 'op-2'), 'the next timer');

    expect(new Set(second.woken.map(({ wake }) => wake.operationId))).toEqual(new Set(['op-1', 'op-2']));
    await eventually(async () => (await on.kept()).timers === 0, 'both timers to be forgotten');
  });

  test('is not held up by twelve hundred others that wait for an hour', async () => {
    const on = await place();
    const process = await on.process();
    for (let n = 1; n <= 1_200; n += 1) process.waker.wake(wakeFor(n), 3_600 * second, 'anybodys');
    await eventually(async () => (await on.kept()).handedOut === 1_200, 'all to be put off');

    const askedAt = performance.now();
    process.waker.wake(wakeFor(0), 500, 'anybodys');
    await cameTo(process, 1);

    expect(process.woken.map(({ wake }) => wake)).toStrictEqual([wakeFor(0)]);
    expectOnTime(took(process, askedAt)[0], 500);
  });

  test('of twelve hundred that are due together comes once, and not before', async () => {
    const on = await place();
    const process = await on.process();
    const askedAt = performance.now();
    for (let n = 0; n < 1_200; n += 1) process.waker.wake(wakeFor(n), 3 * second, 'anybodys');

    await cameTo(process, 1_200);
    await eventually(async () => (await on.kept()).timers === 0, 'all timers to be forgotten');

    expect(new Set(process.woken.map(({ wake }) => wake.operationId)).size).toBe(1_200);
    expect(process.woken).toHaveLength(1_200);
    expect(Math.min(...took(process, askedAt))).toBeGreaterThanOrEqual(3 * second - 20);
  });

  test('for a time beyond a day is put off by a day, and a year is no more than that', async () => {
    const on = await place();
    const putOff = await seenDelays(on);
    const process = await on.process();

    process.waker.wake(wakeFor(1), 36 * hour, 'anybodys');
    process.waker.wake(wakeFor(2), 8_760 * hour, 'anybodys');
    process.waker.wake(wakeFor(3), 1 * hour, 'anybodys');
    await eventually(() => putOff.length === 3, 'three to be put off');

    expect(putOff.toSorted((a, b) => a - b)).toEqual([1 * hour, 24 * hour, 24 * hour]);
  });

  test('that the server hands out too early is put off by what remains', async () => {
    const on = await place();
    const askedAt = await askedAndGone(on, [[wakeFor(1), 3 * second]]);
    const consumer = await (await on.admin()).jetstream().consumers.get(on.subjects.stream, 'wakes');
    (await consumer.next())?.nak(100);
    const putOff = await seenDelays(on);

    const process = await on.process();
    await cameTo(process, 1);

    expect(process.woken).toHaveLength(1);
    expectOnTime(took(process, askedAt)[0], 3 * second);
    expect(putOff[0]).toBeLessThanOrEqual(3 * second);
  });

  test('and all that it may hold is forgotten by the server after three days', async () => {
    const on = await place();
    await on.process();

    const { config } = await (await on.jetStream()).streams.info(on.subjects.stream);

    expect([config.retention, config.max_age / 1e6]).toEqual(['workqueue', 72 * hour]);
  });
});

describe('what is nothing of ours', () => {
  const junk = ['x', '[]', '["shop-1"]', '["","op-1"]', '[1,2]', '{"tenant":"shop-1"}', '["\\ud800","op-1"]', 'null'];
  const oversized = Buffer.alloc(1_000_000, 'x');
  const binary = Buffer.from([0xff, 0xfe, 0x00]);
  const long = JSON.stringify(['a'.repeat(501), 'op-1']);
  const letters = [...junk, oversized, binary, long];
  const timers = [
    ...letters,
    '["s","op",1.5,10]',
    '["s","op",-1,10]',
    '["s","op",1,-10]',
    '["s","op",1,"10"]',
    '["s","op"]',
  ];

  test.for([
    { subject: 'said', forged: letters },
    { subject: 'due', forged: letters },
    { subject: 'freed', forged: [...letters, '["shop-1","op-1"]'] },
    { subject: 'changed', forged: [...letters, 'RESTS', 'rest', 'restsx'] },
    { subject: 'timers', forged: timers },
  ] as const)('among $subject is counted, and does nothing', async ({ subject, forged }) => {
    const on = await place();
    const process = await on.process();
    const changes: boolean[] = [];
    process.waker.watch?.(refTo(1), (rests) => void changes.push(rests));
    const admin = await on.admin();
    const { changed, ...others } = on.subjects;
    const to = subject === 'changed' ? changed(refTo(1)) : others[subject];
    await heard(await on.process({ start: false }), process);

    for (const letter of forged) admin.publish(to, letter);
    await eventually(() => process.waker.state().dropped >= forged.length, 'all of it to be counted');
    if (subject === 'timers') {
      await eventually(async () => (await on.kept()).timers === 0, 'all of it to be thrown away');
    }

    expect(process.waker.state().dropped).toBe(forged.length);
    expect([process.woken, process.news, changes]).toEqual([[], [], []]);
    await heard(await on.process({ start: false }), process);
  });
});

describe('what goes over NATS', () => {
  test('names no tenant and no operation in any subject', async () => {
    const on = await place();
    const spy = await on.admin();
    const subjects = new Set<string>();
    spy.subscribe('>', {
      callback: (_, { subject, reply }) => void [subject, reply ?? ''].map((s) => subjects.add(s)),
    });
    await spy.flush();
    const [teller, hearer] = await Promise.all([on.process(), on.process()]);
    await heard(teller, hearer);
    const ref = { tenant: 'tenant-of-note', id: 'operation-of-note' };

    for (const kind of ['said', 'due'] as const) teller.waker.tell?.({ kind, ref });
    teller.waker.tell?.({ kind: 'freed' });
    hearer.waker.watch?.(ref, () => {});
    teller.waker.tell?.({ kind: 'changed', ref, rests: true });
    teller.waker.wake({ tenant: ref.tenant, operationId: ref.id, generation: 1 }, 300, 'anybodys');
    await eventually(() => [...teller.woken, ...hearer.woken].length === 1, 'the timer to come');
    await spy.flush();

    const ours = [...subjects].filter((subject) => subject.startsWith('sagacity.'));
    const { said, due, freed, timers, changed } = on.subjects;
    expect(new Set(ours)).toEqual(new Set([said, due, freed, timers, changed(ref)]));
    expect(ours.filter((subject) => !/^sagacity\.[0-9a-f]{30}(\.[a-z]+)(\.[0-9a-f]{30})?$/.test(subject))).toEqual([]);
    expect([...subjects].filter((subject) => subject.includes('of-note'))).toEqual([]);
  });
});

const hour = 3_600 * second;

/** By how many milliseconds messages are put off from now on. */
async function seenDelays(on: OnNats): Promise<number[]> {
  const spy = await on.admin();
  const delays: number[] = [];
  spy.subscribe('$JS.ACK.>', {
    callback(_, message) {
      const [, delay] = /^-NAK \{"delay":\s*(\d+)/.exec(message.string()) ?? [];
      if (delay !== undefined) delays.push(Number(delay) / 1e6);
    },
  });
  await spy.flush();
  return delays;
}

/** Asks as one process and takes nothing: what is asked for is kept when this resolves. */
async function askedAndGone(on: OnNats, asks: readonly (readonly [Wake, number])[]): Promise<number> {
  const asker = await on.process({ start: false });
  const askedAt = performance.now();
  for (const [wake, delayMs] of asks) asker.waker.wake(wake, delayMs, 'anybodys');
  await eventually(async () => (await on.kept()).timers >= asks.length, 'the timers to be kept');
  await asker.end();
  return askedAt;
}
