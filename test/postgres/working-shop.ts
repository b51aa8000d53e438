/**
 * A shop at work on a PostgreSQL server that gets into trouble: an orchestrator with short pauses, customers who order
 * again until their order is accepted, and a note of what was logged. The provider's records are the proof.
 */

import {
  createOrchestrator,
  type Duration,
  isSagacityError,
  type Logger,
  type Orchestrator,
  type Run,
  type Store,
} from 'sagacity';
import { scriptedProvider, type ScriptedProvider } from 'sagacity/testing';
import { quickCharge } from '../support/crash.ts';

export interface WorkingShop {
  readonly provider: ScriptedProvider;
  readonly orchestrator: Orchestrator<true>;
  /** What was logged at `warn` and above, oldest first. */
  readonly complaints: readonly string[];
  /** Submits until it is accepted; rejects with whatever calling again does not help against. */
  order(orderId: string): Promise<Run<unknown, string>>;
  close(): Promise<void>;
}

/** Starts it; `store` is not yet open, and is closed with the shop. `timeout` is how long its worker may be silent. */
export async function workingShop(store: Store, timeout: Duration = '2s'): Promise<WorkingShop> {
  const provider = await scriptedProvider();
  const charge = quickCharge(provider.url);
  const complaints: string[] = [];
  const complain = (_: object, message: string) => void complaints.push(message);
  const logger: Logger = { debug() {}, info() {}, warn: complain, error: complain };
  const orchestrator = createOrchestrator({
    ...{ store, logger, definitions: [charge], tenant: 'shop-1', sweepEvery: '200ms' },
    heartbeat: { every: '500ms', timeout },
  });
  await orchestrator.start();
  return {
    ...{ provider, orchestrator, complaints },
    order: (orderId) => untilAnswered(() => orchestrator.submit(charge, { orderId, amount: 100 })),
    async close() {
      await provider.release();
      await orchestrator.stop({ within: '2s' });
      await provider.close();
    },
  };
}

/** The status it ends with, asked for again when the store did not answer; what it is doing after ten seconds. */
export function ended(run: Run<unknown, string>): Promise<string> {
  return untilAnswered(async () => (await run.result({ within: '10s' })).status);
}

/** Calls again while calling again may help. */
async function untilAnswered<Answer>(call: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!isSagacityError(error) || !error.retryable) throw error;
      // As a customer does it: not in the same moment.
      await passed(50);
    }
  }
}

/** Resolves after so many milliseconds: an outage lasts, and customers pause. */
export function passed(ms: number): Promise<void> {
  return new Promise((resume) => {
    setTimeout(resume, ms);
  });
}

/** How a call ended: `answered`, or the code of its error; and after how long. */
export interface Ending {
  readonly how: string;
  readonly afterMs: number;
}

export async function endingOf(call: Promise<unknown>): Promise<Ending> {
  const began = performance.now();
  const how = await call.then(
    () => 'answered',
    (error: unknown) => (isSagacityError(error) ? error.code : String(error)),
  );
  return { how, afterMs: performance.now() - began };
}
