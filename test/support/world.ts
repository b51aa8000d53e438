/**
 * One shop, one provider, one clock: everything a specification needs around an orchestrator in this process. Time
 * stands still until `clock.advance`; HTTP is real, so that what depends on a reply is awaited through `reached`.
 */

import { createOrchestrator, type Logger, type OperationState, type Orchestrator, type Run } from 'sagacity';
import { memoryStore, scriptedProvider, type ScriptedProvider, testClock, type TestClock } from 'sagacity/testing';
import type { AnyOperation } from '../../src/orchestrator/orchestrator.ts';
import type { Store, Turn } from '../../src/ports/store.ts';
import { overlay } from '../../src/testing/overlay.ts';
import { chargeCard, type ChargeOptions } from './shop.ts';
import { evenChance } from './chance.ts';

export interface World {
  readonly provider: ScriptedProvider;
  readonly clock: TestClock;
  readonly store: CountingStore;
  readonly orchestrator: Orchestrator<true>;
  readonly charge: ReturnType<typeof chargeCard>;
  /** Another orchestrator on the same store and clock; stopped with the world. */
  another(definitions?: readonly AnyOperation[], store?: Store): Orchestrator<true>;
  close(): Promise<void>;
}

/** A running world with a fresh provider, clock and memory store. `start: false` leaves the orchestrator unstarted. */
export async function world(
  options: ChargeOptions & { start?: boolean; concurrency?: number; logger?: Logger } = {},
): Promise<World> {
  const provider = await scriptedProvider();
  const clock = testClock();
  const store = counting(memoryStore({ clock }));
  const charge = chargeCard(provider.url, options);
  const all: Orchestrator<true>[] = [];
  const another = (definitions: readonly AnyOperation[] = [charge], on: Store = store) => {
    const orchestrator = createOrchestrator({
      ...{ store: on, clock, random: evenChance(), definitions, tenant: 'shop-1' },
      ...(options.concurrency === undefined ? {} : { concurrency: options.concurrency }),
      ...(options.logger === undefined ? {} : { logger: options.logger }),
    });
    all.push(orchestrator);
    return orchestrator;
  };
  const orchestrator = another();
  if (options.start !== false) await orchestrator.start();
  return {
    ...{ provider, clock, store, orchestrator, charge, another },
    async close() {
      await provider.release();
      const stopping = all.map((each) => each.stop({ within: '1s' }));
      await underDeadline(Promise.all(stopping), () => clock.advance('1s'), 'the orchestrators to stop');
      await provider.close();
    },
  };
}

/** A store that counts the turns it wrote. */
export interface CountingStore extends Store {
  readonly written: readonly Turn[];
}

export function counting(store: Store): CountingStore {
  const written: Turn[] = [];
  return overlay(store, {
    written,
    async turn(turn: Turn) {
      const receipt = await store.turn(turn);
      if (receipt !== null) written.push(turn);
      return receipt;
    },
  });
}

/** Waits, without moving the test's clock, until the operation is in one of the states. */
export async function reached(run: Run<unknown, string>, ...states: OperationState[]): Promise<OperationState> {
  return until(
    async () => {
      const state = await run.status();
      return states.includes(state) ? state : null;
    },
    `operation ${run.id} to be ${states.join(' or ')}`,
  );
}

/** Waits until `look` finds something, looking again whenever the event loop has turned; fails after a minute. */
export async function until<Found>(
  look: () => Promise<Found | null> | Found | null,
  what: string,
  withinMs = 60_000,
): Promise<Found> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const found = await look();
    if (found !== null) return found;
    if (performance.now() > deadline) throw new Error(`Waited ${withinMs / 1000} seconds for ${what}.`);
    await new Promise<void>((resume) => setImmediate(resume));
  }
}

/** Awaits `work` while moving time on with `step`. */
async function underDeadline(work: Promise<unknown>, step: () => Promise<void>, what: string): Promise<void> {
  let done = false;
  const ended = work.finally(() => {
    done = true;
  });
  await until(async () => {
    if (done) return true;
    await step();
    return null;
  }, what);
  await ended;
}
