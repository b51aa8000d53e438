/**
 * Real processes that are told to stop: what they had claimed and not begun is free for others when their stop resolves,
 * and a stop is over in its time, and the process with it, whatever the database and the executors do.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { faultProxy } from '../../src/testing/fault-proxy/fault-proxy.ts';
import { orders, sharedDatabase, type SharedDatabase, swiftCharge } from '../support/shared-database.ts';
import type { Said, StoppingTask, Told } from './stopping.child.ts';

const program = fileURLToPath(new URL('stopping.child.ts', import.meta.url));
const patient = { every: '1m', timeout: '10m' } as const;
const brief = { every: '200ms', timeout: '1s' } as const;

let shared: SharedDatabase;
beforeEach(async () => {
  shared = await sharedDatabase();
});
afterEach(() => shared.close());

const charge = () => swiftCharge(shared.provider.url, { sendWithin: '5s', timeout: '30s' });

interface StoppingProcess {
  tell(told: Told): void;
  /** What it says next. */
  says(): Promise<Said>;
  /** Its exit code, how long it took from now on until it was gone, and what it complained of. */
  gone(): Promise<{ readonly code: unknown; readonly tookMs: number; readonly complaints: string }>;
}

function started(task: StoppingTask): StoppingProcess {
  const child = fork(program, [JSON.stringify(task)], {
    execArgv: ['--import', 'tsx', '--conditions=sagacity-source'],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  const exited = once(child, 'exit');
  const complaints: string[] = [];
  child.stderr?.on('data', (chunk: Buffer) => complaints.push(chunk.toString('utf8')));
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  const said = words(child);
  return {
    tell: (told) => void child.send(told),
    says: async () => {
      const ended = exited.then(([code]) => Promise.reject(new Error(`It ended (${code}): ${complaints.join('')}`)));
      return await Promise.race([said(), ended]);
    },
    async gone() {
      const began = performance.now();
      const [code] = await exited;
      return { code, tookMs: performance.now() - began, complaints: complaints.join('') };
    },
  };
}

/** Its words in order, none of them lost, whoever asks when. */
function words(child: ChildProcess): () => Promise<Said> {
  const unheard: Said[] = [];
  const waiting: ((word: Said) => void)[] = [];
  child.on('message', (word: Said) => {
    const heard = waiting.shift();
    if (heard === undefined) unheard.push(word);
    else heard(word);
  });
  return () =>
    new Promise((resolve) => {
      const word = unheard.shift();
      if (word === undefined) waiting.push(resolve);
      else resolve(word);
    });
}

/** Of these orders, whether each is anybody's now. */
async function free(series: string): Promise<readonly unknown[]> {
  const rows = await shared.sql`
    select state, owner, due_at <= now() as due from sagacity.operation where key like ${`${series}-%`} order by key`;
  return [...rows];
}

describe('a process that stops with twenty operations that it has claimed and not started', () => {
  const task = () => ({
    ...{ database: shared.url, provider: shared.provider.url, concurrency: 20 },
    // Nobody else may have them for ten minutes, unless they are given back.
    ...{ heartbeat: patient, within: '10s' as const, claimsAreHeldUp: true },
  });
  const released = Array.from({ length: 20 }, () => ({ state: 'pending', owner: null, due: true }));

  test('has given all of them back when its stop resolves, and another process takes them at once', async () => {
    await shared.accept(charge(), orders('waiting', 20));
    const stopping = started(task());
    const claimed = await stopping.says();

    stopping.tell('stop');
    const stopped = await stopping.says();
    const left = await free('waiting');
    const sent = await shared.sentKeys();
    await shared.orchestrator({ definitions: [charge()], heartbeat: patient }).start();
    await shared.quiet();

    expect(claimed).toEqual({ claimed: 20 });
    expect(stopped).toMatchObject({ stopped: { isOne: true } });
    expect([left, sent]).toEqual([released, []]);
    expect(await stopping.gone()).toMatchObject({ code: 0, complaints: '' });
    expect(await shared.charged()).toEqual(
      orders('waiting', 20)
        .map(({ orderId }) => orderId)
        .toSorted(),
    );
  });

  test('and twenty under way lets these end, and has given back those that waited for a slot', async () => {
    await shared.accept(charge(), orders('waiting', 20));
    await shared.provider.faults(Array.from({ length: 20 }, () => 'commit-then-hold'));
    const stopping = started(task());
    const claimed = await stopping.says();
    stopping.tell({ charge: orders('busy', 20).map(({ orderId }) => orderId) });
    await stopping.says();
    await repliesHeld(20);
    stopping.tell('learn');
    await stopping.says();

    stopping.tell('stop');
    await shared.provider.release();
    const stopped = await stopping.says();
    const left = await free('waiting');
    const sent = await shared.sentKeys();
    await shared.orchestrator({ definitions: [charge()], heartbeat: patient }).start();
    await shared.quiet();

    expect(claimed).toEqual({ claimed: 20 });
    expect(stopped).toMatchObject({ stopped: { isOne: true } });
    expect(left).toEqual(released);
    expect(sent).toHaveLength(20);
    expect(await shared.charged()).toHaveLength(40);
    expect(new Set(await shared.charged()).size).toBe(40);
  });
});

describe('a process that stops while its database is silent and an executor ignores its signal', () => {
  test('is over two seconds after its time, by itself, and what it had sent is found afterwards', async () => {
    const network = await faultProxy({ port: Number(new URL(shared.url).port) });
    onTestFinished(() => network.close());
    const stopping = started({
      ...{ database: network.urlFor(shared.url), provider: shared.provider.url, concurrency: 20 },
      ...{ heartbeat: brief, within: '1s', ignoresAbort: 'order-17' },
    });
    await stopping.says();
    stopping.tell({ charge: ['order-17'] });
    await stopping.says();
    await shared.provider.logged(({ event }) => event === 'NEW');
    await shared.provider.faults(['commit-then-hold']);
    stopping.tell({ charge: ['order-18'] });
    await stopping.says();
    await repliesHeld(1);

    network.halfOpen();
    stopping.tell('stop');
    const stopped = await stopping.says();
    const gone = await stopping.gone();
    await shared.orchestrator({ definitions: [charge()], heartbeat: brief }).start();
    await shared.quiet();

    expect(stopped).toEqual({ stopped: { tookMs: expect.any(Number), isOne: true } });
    expect(stopped).toHaveProperty(
      'stopped.tookMs',
      expect.toSatisfy((tookMs: number) => tookMs <= 1_000 + 2_000),
    );
    expect(gone).toEqual({ code: 0, tookMs: expect.toSatisfy((tookMs: number) => tookMs < 2_000), complaints: '' });
    expect(await shared.charged()).toEqual(['order-17', 'order-18']);
    expect(await shared.sentKeys()).toHaveLength(2);
  });
});

/** Waits until the provider keeps so many replies back. */
async function repliesHeld(many: number): Promise<void> {
  let held = 0;
  await shared.provider.logged(({ event }) => {
    if (event === 'HOLD') held += 1;
    return held === many;
  });
}
