/**
 * A process that is told to end by a signal stops as `stop()` does, and then ends by itself. What it was in the middle of
 * ends before it, or is unknown, released, and found out by the next process; nothing is charged twice.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { createOrchestrator, type CreateOptions } from 'sagacity';
import { memoryStore } from 'sagacity/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { overlay } from '../../src/testing/overlay.ts';
import { type SharedDatabase, sharedDatabase } from '../support/shared-database.ts';
import { chargeCard } from '../support/shop.ts';
import type { StoppingTask } from '../support/stopping.child.ts';
import { reached } from '../support/world.ts';

const order = { orderId: 'order-17', amount: 1200 };

describe('a process that is in the middle of a charge', () => {
  let shared: SharedDatabase;
  let child: ChildProcess;

  beforeEach(async () => {
    shared = await sharedDatabase();
    await shared.provider.faults(['commit-then-hold']);
  });

  afterEach(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await shared.close();
  });

  test.each(['SIGTERM', 'SIGINT'] as const)('lets it end after a %s, and then ends itself', async (signal) => {
    child = await charging({ stopWithin: '5s' });

    const stopping = said(child, 'stopping');
    const exited = once(child, 'exit');
    child.kill(signal);
    await stopping;
    await shared.provider.release();
    await exited;

    expect([child.exitCode, child.signalCode]).toEqual([0, null]);
    expect(await stored()).toMatchObject({ state: 'succeeded', owner: null });
    expect(await shared.provider.records()).toHaveLength(1);
  });

  test("ends when its time is over: the charge is unknown, anybody's at once, and found by the next process", async () => {
    child = await charging({ stopWithin: '500ms' });

    const exited = once(child, 'exit');
    const told = performance.now();
    child.kill('SIGTERM');
    await exited;
    const tookMs = performance.now() - told;
    const left = await stored();
    const charge = chargeCard(shared.provider.url);
    const next = shared.orchestrator({ definitions: [charge] });
    await next.start();
    const run = await next.submit(charge, order);
    await reached(run, 'succeeded');

    expect([child.exitCode, child.signalCode]).toEqual([0, null]);
    expect(tookMs).toBeGreaterThan(450);
    expect(tookMs).toBeLessThan(2_500);
    expect(left).toMatchObject({ state: 'unknown', owner: null, isDue: true });
    expect(await shared.provider.records()).toHaveLength(1);
    expect(await shared.sentKeys()).toHaveLength(1);
  });

  test('ends at once when it is told a second time', async () => {
    child = await charging({ stopWithin: '5s' });

    const stopping = said(child, 'stopping');
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    await stopping;
    const again = performance.now();
    child.kill('SIGTERM');
    await exited;

    expect(child.signalCode).toBe('SIGTERM');
    expect(performance.now() - again).toBeLessThan(2_000);
    expect(await stored()).toMatchObject({ state: 'in-progress' });
  });

  /** Starts it; resolves when the provider has made the charge, and holds its reply. */
  async function charging(how: Pick<StoppingTask, 'stopWithin'>): Promise<ChildProcess> {
    const task: StoppingTask = { database: shared.url, provider: shared.provider.url, order, ...how };
    const file = fileURLToPath(new URL('../support/stopping.child.ts', import.meta.url));
    const started = spawn(
      process.execPath,
      ['--import', 'tsx', '--conditions=sagacity-source', file, JSON.stringify(task)],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    await shared.provider.logged(({ event }) => event === 'HOLD');
    return started;
  }

  async function stored() {
    const [row] = await shared.sql`select state, owner, due_at <= now() as "isDue" from sagacity.operation`;
    return row;
  }
});

describe('an orchestrator that stops on signals', () => {
  test('listens from its start until it has stopped', async () => {
    const before = listening();
    const orchestrator = inMemory({ stopOn: ['SIGTERM', 'SIGHUP', 'SIGHUP'] });
    const created = listening();
    await orchestrator.start();
    await orchestrator.start();
    const started = listening();
    const stopping = orchestrator.stop();
    const again = orchestrator.stop();
    await stopping;

    expect(again).toBe(stopping);
    expect([created, listening()]).toEqual([before, before]);
    expect(started).toEqual({ ...before, SIGTERM: before.SIGTERM + 1, SIGHUP: before.SIGHUP + 1 });
  });

  test('does not listen when its start has failed, and goes on listening when a stop is refused', async () => {
    const before = listening();
    let fails = true;
    const store = overlay(memoryStore(), {
      open: () => (fails ? Promise.reject(new Error('The disk is full.')) : Promise.resolve()),
    });
    const orchestrator = inMemory({ store, stopOn: ['SIGHUP'] });
    await expect(orchestrator.start()).rejects.toThrow('The disk is full.');
    const failed = listening();
    fails = false;
    await orchestrator.start();
    await expect(orchestrator.stop({ within: -1 })).rejects.toMatchObject({ code: 'DEFINITION_INVALID' });
    const refused = listening();
    await orchestrator.stop();

    expect(failed).toEqual(before);
    expect(refused).toEqual({ ...before, SIGHUP: before.SIGHUP + 1 });
    expect(listening()).toEqual(before);
  });

  test('and is not told to leaves all of them alone', async () => {
    const before = listening();
    const orchestrator = inMemory({});
    await orchestrator.start();
    const started = listening();
    await orchestrator.stop();

    expect(started).toEqual(before);
  });

  test.each<[string, Partial<CreateOptions>, RegExp]>([
    [
      'a signal that no process is sent',
      { stopOn: ['SIGTREM' as 'SIGTERM'] },
      /stopOn names "SIGTREM"\. It can name SIGTERM/,
    ],
    ['one that cannot be heard', { stopOn: ['SIGKILL' as 'SIGTERM'] }, /stopOn names "SIGKILL"/],
    ['a time that is none', { stopOn: ['SIGTERM'], stopWithin: 'soon' as '1s' }, /stopWithin/],
  ])('is refused at once with %s', (_what, options, says) => {
    expect(() => inMemory(options)).toThrow(says);
  });
});

function inMemory(options: Partial<CreateOptions>) {
  return createOrchestrator({ store: memoryStore(), definitions: [], ...options });
}

/** How many listen to each signal, the runner of the tests included. */
function listening() {
  const count = (signal: string) => process.listenerCount(signal);
  return { SIGTERM: count('SIGTERM'), SIGINT: count('SIGINT'), SIGHUP: count('SIGHUP') };
}

async function said(child: ChildProcess, word: string): Promise<void> {
  if (child.stdout === null) throw new Error('Nobody listens to the process.');
  for await (const line of createInterface({ input: child.stdout })) if (line === word) return;
  throw new Error(`The process ended and has not said "${word}".`);
}
