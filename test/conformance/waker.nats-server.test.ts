/**
 * The waker over NATS goes on when NATS does not: its server is stopped, killed, emptied, tampered with, without
 * JetStream, with other credentials, silent, or not there at all. Each of that is said once.
 */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { AckPolicy, nanos, type StreamInfo } from 'nats';
import { type FaultProxy, faultProxy, privateNatsCluster } from 'sagacity/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
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
  withServer,
} from '../support/nats-processes.ts';

describe('a server that keeps timers', () => {
  test.for(['stop', 'kill'] as const)('has them still after a %s, none comes early, and none twice', async (ending) => {
    const on = await place();
    const process = await on.process();
    const askedAt = performance.now();
    process.waker.wake(wakeFor(1), 2 * second, 'anybodys');
    process.waker.wake(wakeFor(2), 6 * second, 'anybodys');
    await eventually(async () => (await on.kept()).handedOut === 2, 'both to be put off');
    // It writes down a moment later what is put off.
    await pause(500);

    await on.server[ending]();
    await pause(askedAt + 2_500 - performance.now());
    await on.server.start();
    await cameTo(process, 2);
    await eventually(async () => (await on.kept()).timers === 0, 'both timers to be forgotten');

    expect(process.woken.map(({ wake }) => wake)).toStrictEqual([wakeFor(1), wakeFor(2)]);
    expectOnTime(took(process, askedAt)[1], 6 * second);
    expect(process.lines).toEqual([
      'NATS cannot be reached: the sweep finds what is due meanwhile',
      'NATS is there again: wakes are prompt',
    ]);
  });

  test('and comes back without them keeps new ones at once; those that are lost stay lost', async () => {
    const on = await place();
    const process = await on.process();
    process.waker.wake(wakeFor(1), 1 * second, 'anybodys');
    await eventually(async () => (await on.kept()).handedOut === 1, 'it to be put off');

    await on.server.kill();
    await on.server.empty();
    await on.server.start();
    await keepsTimers(process.waker);
    const askedAt = performance.now();
    process.waker.wake(wakeFor(2), 1_500, 'anybodys');
    await eventually(async () => (await on.kept()).timers === 1, 'the new one to be kept', 1_400);
    await cameTo(process, 1);

    expect(process.woken.map(({ wake }) => wake)).toStrictEqual([wakeFor(2)]);
    expectOnTime(took(process, askedAt)[0], 1_500);
  });

  test.for(['stream', 'consumer'] as const)('whose %s is deleted by hand gets it anew', async (what) => {
    const on = await place();
    const [asker, taker] = await Promise.all([on.process({ start: false }), on.process()]);
    const { streams, consumers } = await on.jetStream();

    await (what === 'stream' ? streams.delete(on.subjects.stream) : consumers.delete(on.subjects.stream, 'wakes'));
    await eventually(
      () =>
        consumers.info(on.subjects.stream, 'wakes').then(
          () => true,
          () => false,
        ),
      'it to be there',
    );
    const askedAt = performance.now();
    asker.waker.wake(wakeFor(1), 1 * second, 'anybodys');
    await cameTo(taker, 1);

    expect(taker.woken.map(({ wake }) => wake)).toStrictEqual([wakeFor(1)]);
    expectOnTime(took(taker, askedAt)[0], 1 * second);
  });

  test('in a stream of other settings is left as it is, and used', async () => {
    const on = await place();
    const { streams, consumers } = await on.jetStream();
    const { stream, timers } = on.subjects;
    await streams.add({ name: stream, subjects: [timers, `${timers}.more`], max_msgs: 50, description: 'by hand' });
    await consumers.add(stream, {
      ...{ durable_name: 'wakes', ack_policy: AckPolicy.Explicit },
      ...{ ack_wait: nanos(7 * second), max_ack_pending: 20 },
    });
    const settings = async () => {
      const { streams, consumers } = await on.jetStream();
      return [(await streams.info(stream)).config, (await consumers.info(stream, 'wakes')).config];
    };
    const before = await settings();

    const process = await on.process();
    const askedAt = performance.now();
    process.waker.wake(wakeFor(1), 1_500, 'anybodys');
    await eventually(async () => (await on.kept()).timers === 1, 'the timer to be kept', 1_400);
    await cameTo(process, 1);
    await on.server.stop();
    await on.server.start();
    await keepsTimers(process.waker);

    expectOnTime(took(process, askedAt)[0], 1_500);
    expect(await settings()).toStrictEqual(before);
  });

  test.for([
    { what: 'a stream of its name takes something else', subjects: 'something.else', ack: 'explicit' },
    { what: 'a consumer of its name acknowledges by itself', subjects: null, ack: 'none' },
  ] as const)('where $what: that is said once, and timers come by themselves until it is deleted', async (of) => {
    const on = await place();
    const { streams, consumers } = await on.jetStream();
    const { stream, timers } = on.subjects;
    await streams.add({ name: stream, subjects: [of.subjects ?? timers] });
    await consumers.add(stream, { durable_name: 'wakes', ack_policy: of.ack as AckPolicy });

    const process = await on.process({ until: 'news' });
    await eventually(() => process.lines.length > 0, 'something to be said');
    process.waker.wake(wakeFor(1), 300, 'anybodys');
    await cameTo(process, 1);
    await pause(1_500);
    const said = [...process.lines];
    await streams.delete(stream);
    await keepsTimers(process.waker);

    expect(said).toEqual(['JetStream keeps no timers; the sweep finds what is due']);
    expect(process.lines.slice(1)).toEqual(['JetStream keeps timers again']);
  });

  test('and is one of three goes on when any of them is killed, be it the one that leads', async () => {
    const members = await privateNatsCluster();
    const on = withServer(members[0], { servers: members.map(({ url }) => url) });
    onTestFinished(async () => {
      await on.close();
      await Promise.all(members.map((member) => member.close()));
    });
    const process = await on.process({ options: { replicas: 3 } });
    /** What one of the members says, once they have elected. */
    const told = async () => {
      let info: StreamInfo | undefined;
      await eventually(async () => {
        info = await (await on.jetStream()).streams.info(on.subjects.stream);
        return info.cluster?.leader !== undefined;
      }, 'one of them to lead');
      return info;
    };

    for (const [round, isLeader] of [true, false].entries()) {
      const leading = (await told())?.cluster?.leader;
      const victim = members.find((_, n) => (`member-${n + 1}` === leading) === isLeader);
      const askedAt = performance.now();
      process.waker.wake(wakeFor(round), 8 * second, 'anybodys');
      await eventually(async () => (await on.kept()).timers === 1, 'the timer to be kept');
      await pause(500);
      await victim?.kill();
      await cameTo(process, round + 1);
      expect(took(process, askedAt)[round]).toBeGreaterThanOrEqual(8 * second - 20);
      await victim?.start();
      await keepsTimers(process.waker);
    }

    expect(process.woken.map(({ wake }) => wake)).toStrictEqual([wakeFor(0), wakeFor(1)]);
    expect((await told())?.config.num_replicas).toBe(3);
  });
});

describe('a process whose NATS', () => {
  test('has no JetStream hears what is told, wakes itself, and says once what is missing', async () => {
    const on = await place({ jetStream: false });
    const [teller, hearer] = await Promise.all([on.process({ until: 'news' }), on.process({ until: 'news' })]);
    await heard(teller, hearer);
    await eventually(() => hearer.lines.length > 0, 'something to be said');

    hearer.waker.wake(wakeFor(1), 300, 'anybodys');
    await cameTo(hearer, 1);
    await pause(1_500);
    const said = [...hearer.lines];
    await on.server.stop();
    await on.server.start({ jetStream: true });
    await keepsTimers(hearer.waker);

    expect(said).toEqual(['JetStream keeps no timers; the sweep finds what is due']);
    expect(hearer.lines.at(-1)).toBe('JetStream keeps timers again');
  });

  test('refuses its credentials starts at once, says so once, and is found as soon as it accepts them', async () => {
    const on = await place({ credentials: { user: 'shop', pass: 'right' } });
    const options = { user: 'shop', pass: 'other' };

    const began = performance.now();
    const process = await on.process({ until: 'nothing', options });
    const startedAfter = performance.now() - began;
    await eventually(() => process.lines.length > 0, 'something to be said');
    await pause(2_500);
    const said = [...process.lines];
    await on.server.stop();
    await on.server.start({ credentials: { user: 'shop', pass: 'other' } });
    await keepsTimers(process.waker);

    expect(startedAfter).toBeLessThan(1 * second);
    expect(said).toEqual(['NATS cannot be reached: the sweep finds what is due meanwhile']);
    expect(process.lines.slice(1)).toEqual(['NATS is there again: wakes are prompt']);
  });

  test('takes its credentials back goes on seeking it, and is there again when they are valid', async () => {
    const credentials = { user: 'shop', pass: 'right' };
    const on = await place({ credentials });
    const process = await on.process({ options: credentials });

    await on.server.stop();
    await on.server.start({ credentials: { user: 'shop', pass: 'renewed' } });
    await pause(3 * second);
    const meanwhile = process.waker.state();
    await on.server.stop();
    await on.server.start({ credentials });
    await keepsTimers(process.waker);

    expect(meanwhile).toMatchObject({ isConnected: false, keepsTimers: false });
    expect(process.lines).toEqual([
      'NATS cannot be reached: the sweep finds what is due meanwhile',
      'NATS is there again: wakes are prompt',
    ]);
  });

  test('is not there wakes itself, says so once, and is found when it comes', async () => {
    const on = await place();
    await on.server.stop();
    const [process, other] = await Promise.all([on.process({ until: 'nothing' }), on.process({ until: 'nothing' })]);

    process.waker.wake(wakeFor(1), 300, 'anybodys');
    process.waker.tell?.({ kind: 'freed' });
    await cameTo(process, 1);
    await pause(2_500);
    const said = [...process.lines];
    await on.server.start();
    await Promise.all([keepsTimers(process.waker), keepsTimers(other.waker)]);
    await heard(other, process);

    expect(said).toEqual(['NATS cannot be reached: the sweep finds what is due meanwhile']);
    expect(process.lines.slice(1)).toEqual(['NATS is there again: wakes are prompt']);
    expect(other.news).toEqual([]);
  });

  test('falls silent without an error notices it, and hears again as soon as it speaks', async () => {
    const on = await place();
    const network = await faultProxy({ port: on.server.port });
    onTestFinished(() => network.close());
    const teller = await on.process();
    const options = { pingInterval: 200, timeout: 1_000 };
    const process = await on.process({ url: network.urlFor(on.server.url), options });
    await heard(teller, process);

    network.halfOpen();
    await eventually(() => !process.waker.state().isConnected, 'the silence to be noticed');
    process.waker.wake(wakeFor(1), 300, 'anybodys');
    await cameTo(process, 1);
    network.pass();
    await keepsTimers(process.waker);
    await heard(teller, process);

    expect(process.lines).toEqual([
      'NATS cannot be reached: the sweep finds what is due meanwhile',
      'NATS is there again: wakes are prompt',
    ]);
  });

  test('is a connection of the host uses it, leaves it open, and bears its end', async () => {
    const on = await place();
    const own = await on.admin();
    const other = await on.process();
    const [process, leaving] = await Promise.all([
      on.process({ options: { connection: own } }),
      on.process({ options: { connection: own } }),
    ]);
    await heard(other, process);
    await leaving.end();
    const isOpen = !own.isClosed();

    const closing = own.close();
    process.waker.tell?.({ kind: 'freed' });
    process.waker.watch?.(refTo(1), () => {})();
    process.waker.wake(wakeFor(1), 200, 'anybodys');
    await closing;
    await cameTo(process, 1);
    await process.end();

    expect(isOpen).toBe(true);
    expect(process.waker.state().isConnected).toBe(false);
  });
});

describe('a process that closes its waker', () => {
  const child = fileURLToPath(new URL('./nats-closing.child.ts', import.meta.url));
  const situations: readonly {
    readonly situation: string;
    readonly before?: (on: OnNats, network: FaultProxy) => Promise<unknown> | void;
    readonly become?: (on: OnNats, network: FaultProxy) => Promise<unknown> | void;
    readonly afterwards?: (network: FaultProxy) => void;
  }[] = [
    { situation: 'is connected' },
    { situation: 'has never found a server', before: (_, network) => network.refuse() },
    {
      situation: 'is connecting to a server that never greets',
      before: (_, network) => network.hang(),
      // The client of NATS keeps such a connection until it is ended from there.
      afterwards: (network) => network.refuse(),
    },
    {
      situation: 'is greeted only afterwards',
      before: (_, network) => network.hold('to-client'),
      afterwards: (network) => network.release(),
    },
    { situation: 'has lost its server', become: (on) => on.server.kill() },
    { situation: 'waits for a network that fell silent', become: (_, network) => network.halfOpen() },
  ];

  test.for(situations)('and $situation has done so within a second, and then ends by itself', async (of) => {
    const on = await place();
    const network = await faultProxy({ port: on.server.port });
    onTestFinished(() => network.close());
    await of.before?.(on, network);
    const process = fork(child, [network.urlFor(on.server.url), of.before === undefined ? 'found' : 'sought'], {
      execArgv: ['--import', 'tsx', '--conditions=sagacity-source'],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    onTestFinished(() => void process.kill('SIGKILL'));
    const exited = once(process, 'exit');
    await once(process, 'message');

    await of.become?.(on, network);
    process.send('close');
    const [tookMs] = await once(process, 'message');
    of.afterwards?.(network);
    const closedAt = performance.now();
    const [code] = await exited;

    expect(tookMs).toBeLessThan(1.5 * second);
    expect(code).toBe(0);
    // A try to connect that is under way has its own time.
    expect(performance.now() - closedAt).toBeLessThan(7 * second);
  });
});
