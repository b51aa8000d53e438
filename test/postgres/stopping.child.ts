/**
 * A worker process that is told to stop at an awkward moment. It says what it has come to and how its stop went; then it
 * has nothing else to do, and ends by itself if nothing keeps it.
 */

import { createOrchestrator, type Duration } from 'sagacity';
import { postgresStore } from 'sagacity/postgres';
import type { OperationRow } from '../../src/ports/store.ts';
import { overlay } from '../../src/testing/overlay.ts';
import { gate } from '../support/interrupted.ts';
import { swiftCharge } from '../support/shared-database.ts';

/** What it is told on its command line. */
export interface StoppingTask {
  readonly database: string;
  readonly provider: string;
  readonly concurrency: number;
  readonly heartbeat: { readonly every: Duration; readonly timeout: Duration };
  /** How long its stop may take. */
  readonly within: Duration;
  /** It learns what it has claimed only when it is told so, or when it is stopping. */
  readonly claimsAreHeldUp?: boolean;
  /** The executor of this order never returns, whatever its signal says. */
  readonly ignoresAbort?: string;
}

/** What it is told later: orders to charge, to learn what it has claimed, or to stop. */
export type Told = { readonly charge: readonly string[] } | 'learn' | 'stop';

/** What it says: how much it has claimed, that it has done what it was told, or how its stop went. */
export type Said =
  | { readonly claimed: number }
  | 'done'
  | { readonly stopped: { readonly tookMs: number; readonly isOne: boolean } };

// The test that started this process wrote it.
const task = JSON.parse(process.argv[2] ?? '') as StoppingTask;

const claims = gate();
const own = postgresStore({ url: task.database, connections: 4 });
const store = overlay(own, {
  async claim(...given: Parameters<typeof own.claim>): Promise<readonly OperationRow[]> {
    const rows = await own.claim(...given);
    if (rows.length > 0 && task.claimsAreHeldUp === true) {
      say({ claimed: rows.length });
      await claims.pass();
    }
    return rows;
  },
});

const swift = swiftCharge(task.provider, { sendWithin: '5s', timeout: '30s' });
const charge: typeof swift = {
  ...swift,
  options: {
    ...swift.options,
    async execute(context) {
      const outcome = await swift.options.execute(context);
      return swift.options.key?.(context) === task.ignoresAbort ? await new Promise<never>(() => {}) : outcome;
    },
  },
};
const orchestrator = createOrchestrator({
  ...{ store, definitions: [charge], tenant: 'shop-1', sweepEvery: '100ms' },
  ...{ concurrency: task.concurrency, heartbeat: task.heartbeat },
});

process.on('message', (told: Told) => void obey(told));
const starting = orchestrator.start();
if (task.claimsAreHeldUp !== true) await starting.then(() => say('done'));

async function obey(told: Told): Promise<void> {
  if (told === 'stop') return await stop();
  if (told === 'learn') claims.open();
  else await Promise.all(told.charge.map((orderId) => orchestrator.submit(charge, { orderId, amount: 5 })));
  // What follows from it without waiting for anything has happened by then.
  setImmediate(() => say('done'));
}

async function stop(): Promise<void> {
  const began = performance.now();
  const first = orchestrator.stop({ within: task.within });
  const second = orchestrator.stop({ within: '1h' });
  claims.open();
  await first;
  say({ stopped: { tookMs: performance.now() - began, isOne: first === second } });
  process.disconnect();
}

function say(word: Said): void {
  process.send?.(word);
}
