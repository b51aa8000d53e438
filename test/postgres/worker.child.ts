/**
 * A worker in a process of its own. It brings its charges to where they pause, says so, and works on for as long as it
 * is let; the test that started it ends it.
 */

import { readSync, writeSync } from 'node:fs';
import { createOrchestrator } from 'sagacity';
import { postgresStore } from 'sagacity/postgres';
import { operationId, scopeOf } from '../../src/domain/idempotency.ts';
import type { Handover, Turn } from '../../src/ports/store.ts';
import { overlay } from '../../src/testing/overlay.ts';
import { gate, interrupted, tells } from '../support/interrupted.ts';
import { SWEEP_EVERY_MS, swiftCharge } from '../support/shared-database.ts';
import { blindCharge, type Charging, type Pause, type Word, type WorkerTask } from './worker-process.ts';

// The test that started this process wrote it.
const task = JSON.parse(process.argv[2] ?? '') as WorkerTask;

const charge = swiftCharge(task.provider, task.times);
const blindly = blindCharge(task.provider);
const pausing = new Map(task.charges.map((charging) => [idOf(charging), { ...charging, ...gate() }]));
const own = postgresStore({ url: task.database, connections: 3 });
const store = interrupted(
  overlay(own, {
    async renew(worker: string, timeoutMs: number, timeline: string) {
      const renewed = await own.renew(worker, timeoutMs, timeline);
      if (!renewed) say('renewal refused');
      return renewed;
    },
    async handOver(handover: Handover) {
      await own.handOver(handover);
      say('handed over');
      if (task.endAfterHandOver === true) await die();
    },
  }),
  { before: (turn) => pauseAt('before', turn), after: (turn) => pauseAt('after', turn) },
);
const orchestrator = createOrchestrator({
  ...{ store, definitions: [charge, blindly], tenant: 'shop-1' },
  ...{ sweepEvery: SWEEP_EVERY_MS, heartbeat: task.heartbeat },
});

await orchestrator.start();
for (const { orderId, blind, pause, reached } of pausing.values()) {
  const submitting = orchestrator.submit(blind === true ? blindly : charge, { orderId, amount: 5 });
  await (pause === undefined ? submitting : reached);
}

function idOf({ orderId, blind }: Charging): string {
  return operationId(scopeOf('shop-1', blind === true ? blindly.action : charge.action, orderId));
}

function pauseAt(side: Pause['side'], turn: Turn): Promise<void> | undefined {
  const charging = pausing.get(turn.id);
  const pause = charging?.pause;
  if (charging === undefined || pause?.side !== side || !tells(turn, pause.turn)) return undefined;
  // Once: what follows is the charge's own business.
  pausing.delete(turn.id);
  say(`paused ${charging.orderId}`);
  const halted = charging.pass();
  switch (pause.how) {
    case 'halt':
      return halted;
    case 'block':
      // Nothing else in this process runs before the test has written a line.
      readSync(0, Buffer.alloc(1));
      return undefined;
    case 'freeze':
      process.kill(process.pid, 'SIGSTOP');
      return undefined;
  }
}

function say(word: Word): void {
  // At once, whatever happens to this process next.
  writeSync(1, `${word}\n`);
}

function die(): Promise<never> {
  process.kill(process.pid, 'SIGKILL');
  return new Promise(() => {});
}
