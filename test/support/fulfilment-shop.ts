/**
 * The shop of the fulfilment example with everybody on one clock, in either style of writing its saga. Time passes
 * only while nothing is on its way to a company or back, so that a slow machine never turns a reply into a time-out.
 */

import {
  createOrchestrator,
  type Duration,
  type Operation,
  type Orchestrator,
  type SagaCause,
  type SagaResult,
  type SagaRun,
  type SignalStatus,
} from 'sagacity';
import { memoryStore, scriptedProvider, type ScriptedProvider, testClock, type TestClock } from 'sagacity/testing';
import { approved } from '../../examples/fulfilment/approval.ts';
import { fulfilmentAsChain } from '../../examples/fulfilment/builder.ts';
import { fulfilmentAsMachine } from '../../examples/fulfilment/machine.ts';
import { operationsAt, type Operations, type Order } from '../../examples/fulfilment/operations.ts';
import { milliseconds } from '../../src/domain/duration.ts';
import { evenChance } from './chance.ts';
import { allStopped, notedIn } from './on-their-way.ts';
import { isOver } from './over.ts';
import { until } from './world.ts';

export type Style = 'chain' | 'machine';

export const order: Order = {
  ...{ orderId: 'order-17', total: 1200, lines: ['lamp'], address: 'Quay 1', email: 'orders@quay.example' },
};

/** A run in either style. */
export type FulfilmentRun = SagaRun<unknown, SagaCause>;

export interface FulfilmentShop {
  readonly provider: ScriptedProvider;
  readonly clock: TestClock;
  readonly orchestrator: Orchestrator<true>;
  /** Another process on the same store, not started; stopped with the shop. */
  another(): Orchestrator<true>;
  /** The order, with what is said otherwise about it here. */
  submit(other?: Partial<Order>): Promise<FulfilmentRun>;
  /** Says that the order is approved, also before there is one. */
  approve(): Promise<SignalStatus>;
  /** The run of the order, as this process sees it. */
  runAt(orchestrator: Orchestrator<true>): Promise<FulfilmentRun>;
  pass(duration: Duration, step?: Duration): Promise<void>;
  /** How it ends, or that a person is asked; time passes meanwhile. */
  endOf(run: FulfilmentRun): Promise<SagaResult>;
  close(): Promise<void>;
}

export async function fulfilmentShop(style: Style): Promise<FulfilmentShop> {
  const clock = testClock();
  const provider = await scriptedProvider({
    clock: { now: () => clock.now(), setTimer: (ms, fire) => void clock.after(ms, fire) },
  });
  const store = memoryStore({ clock });
  const onTheirWay = new Set<object>();
  const operations = tracked(operationsAt(provider.url), onTheirWay);
  const fulfilment = { chain: fulfilmentAsChain, machine: fulfilmentAsMachine }[style](operations);
  const all: Orchestrator<true>[] = [];
  const another = () => {
    const orchestrator = createOrchestrator({
      ...{ store, clock, random: evenChance(), definitions: [fulfilment], tenant: 'shop-1' },
    });
    all.push(orchestrator);
    return orchestrator;
  };
  const orchestrator = another();
  await orchestrator.start();

  const arrived = () => until(() => (onTheirWay.size === 0 ? true : null), 'what is on its way to arrive');
  const pass: FulfilmentShop['pass'] = async (duration, step = '1s') => {
    const stepMs = milliseconds(step, 'step');
    await clock.advance(0);
    for (let left = milliseconds(duration, 'pass'); left > 0; left -= stepMs) {
      await arrived();
      await clock.advance(Math.min(stepMs, left));
    }
    await arrived();
    await clock.advance(0);
  };
  return {
    ...{ provider, clock, orchestrator, another, pass },
    submit: (other = {}) => orchestrator.submit(fulfilment, { ...order, ...other }),
    approve: () => {
      const target = { saga: fulfilment, key: order.orderId };
      return orchestrator.signal(target, approved, { by: 'shift-lead' }, { eventId: 'click-81' });
    },
    runAt: (process) => process.sagaRun({ saga: fulfilment, key: order.orderId }),
    async endOf(run) {
      for (let minutes = 0; minutes < 10; minutes += 1) {
        const result = await run.result({ within: 0 });
        if (isOver(result)) return result;
        await pass('1m');
      }
      throw new Error(`The saga is ${await run.status()} after ten minutes.`);
    },
    async close() {
      await provider.release();
      await allStopped(all, clock);
      await provider.close();
    },
  };
}

/** The same operations and inverses, with what they have on its way noted until it has ended or was given up. */
function tracked(operations: Operations, onTheirWay: Set<object>): Operations {
  const trackedOne = (operation: Operation): Operation => {
    const { options, compensate } = operation;
    return {
      ...operation,
      options: notedIn(options, onTheirWay),
      compensate:
        compensate !== null && 'operation' in compensate
          ? { ...compensate, operation: trackedOne(compensate.operation) }
          : compensate,
    };
  };
  // The same names, and operations of the same types.
  return Object.fromEntries(
    Object.entries<Operation>(operations).map(([name, operation]) => [name, trackedOne(operation)]),
  ) as unknown as Operations;
}
