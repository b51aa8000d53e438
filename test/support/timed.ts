/**
 * The shop of `world.ts` in which everybody lives by the same clock, the provider included. `pass` moves time on only
 * while nothing is on its way to the provider or back, so that a slow machine never turns a reply into a time-out.
 */

import { createOrchestrator, type Duration, type Logger, type Orchestrator, type Run } from 'sagacity';
import { memoryStore, scriptedProvider, type ScriptedProvider, testClock, type TestClock } from 'sagacity/testing';
import { milliseconds } from '../../src/domain/duration.ts';
import type { AnyOperation } from '../../src/orchestrator/orchestrator.ts';
import type { Store } from '../../src/ports/store.ts';
import { chargeCard, type ChargeOptions } from './shop.ts';
import { counting, type CountingStore, until } from './world.ts';
import { evenChance } from './chance.ts';
import { allStopped, notedIn } from './on-their-way.ts';

export type Charge = ReturnType<typeof chargeCard>;

export interface TimedShop {
  readonly provider: ScriptedProvider;
  readonly clock: TestClock;
  readonly store: CountingStore;
  readonly orchestrator: Orchestrator<true>;
  readonly charge: Charge;
  /** Another description of the same charge, as another process would have it. */
  charging(options?: TimedChargeOptions): Charge;
  /** Another orchestrator, stopped with the shop. */
  another(options?: {
    definitions?: readonly AnyOperation[];
    store?: Store;
    tenant?: string;
    logger?: Logger;
  }): Orchestrator<true>;
  pass(duration: Duration, step?: Duration): Promise<void>;
  /** The keys of the requests that were sent to charge, in order. */
  sentKeys(): Promise<readonly (string | null)[]>;
  close(): Promise<void>;
}

export interface TimedChargeOptions extends ChargeOptions {
  /** The executor does not listen when it is told to give up, so that its reply can still come. */
  readonly deaf?: boolean;
}

export interface TimedShopOptions extends TimedChargeOptions {
  /** `false` leaves the first orchestrator unstarted. */
  readonly start?: boolean;
  /** Several orchestrators may work on the store at once. */
  readonly shared?: boolean;
  readonly concurrency?: number;
  readonly sweepEvery?: Duration;
  readonly heartbeat?: { readonly every: Duration; readonly timeout: Duration };
  /** The store as the first orchestrator sees it. */
  readonly seen?: (store: Store) => Store;
}

export async function timedShop(options: TimedShopOptions = {}): Promise<TimedShop> {
  const clock = testClock();
  const provider = await scriptedProvider({
    clock: { now: () => clock.now(), setTimer: (ms, fire) => void clock.after(ms, fire) },
  });
  const store = counting(memoryStore({ clock }));
  if (options.shared === true) Object.assign(store, { exclusive: false });
  const onTheirWay = new Set<object>();
  const charging = (more: TimedChargeOptions = {}) => {
    const charge = chargeCard(provider.url, { ...options, ...more });
    return tracked(options.deaf === true ? deaf(charge) : charge, onTheirWay);
  };
  const charge = charging();
  const all: Orchestrator<true>[] = [];
  const another: TimedShop['another'] = ({
    definitions = [charge],
    store: on = store,
    tenant = 'shop-1',
    logger,
  } = {}) => {
    const { concurrency, sweepEvery, heartbeat } = options;
    const orchestrator = createOrchestrator({
      ...{ store: on, clock, random: evenChance(), definitions, tenant },
      ...(concurrency === undefined ? {} : { concurrency }),
      ...(sweepEvery === undefined ? {} : { sweepEvery }),
      ...(heartbeat === undefined ? {} : { heartbeat }),
      ...(logger === undefined ? {} : { logger }),
    });
    all.push(orchestrator);
    return orchestrator;
  };
  const orchestrator = another({ store: options.seen?.(store) ?? store });
  if (options.start !== false) await orchestrator.start();
  const arrived = () => until(() => (onTheirWay.size === 0 ? true : null), 'what is on its way to arrive');
  return {
    ...{ provider, clock, store, orchestrator, charge, charging, another },
    async pass(duration, step = '1s') {
      const stepMs = milliseconds(step, 'step');
      await clock.advance(0);
      for (let left = milliseconds(duration, 'pass'); left > 0; left -= stepMs) {
        await arrived();
        await clock.advance(Math.min(stepMs, left));
      }
      await arrived();
      await clock.advance(0);
    },
    async sentKeys() {
      return (await provider.received()).filter(({ method }) => method === 'POST').map(({ key }) => key);
    },
    async close() {
      await provider.release();
      await allStopped(all, clock);
      await provider.close();
    },
  };
}

/** The finding, outcome and state names of a history, for comparing it at a glance. */
export async function told(run: Run<unknown, string>): Promise<readonly string[]> {
  return (await run.history()).map(({ kind, facts, states }) => {
    const said = [facts['outcome'], facts['finding']].filter((word) => typeof word === 'string');
    return [kind, ...said, '->', (states ?? []).join(' ')].join(' ').trim();
  });
}

/** The same definition, with what it has on its way noted until it has ended or was given up. */
function tracked(charge: Charge, onTheirWay: Set<object>): Charge {
  return { ...charge, options: notedIn(charge.options, onTheirWay) };
}

function deaf(charge: Charge): Charge {
  const { execute } = charge.options;
  return {
    ...charge,
    options: {
      ...charge.options,
      execute: (context) => execute({ ...context, abortSignal: new AbortController().signal }),
    },
  };
}
