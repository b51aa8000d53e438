/**
 * A world around one scripted charge. Time passes here no faster than the provider answers, so that a look-up is
 * never given up only because the test's clock outran a real socket.
 */

import type { Duration, Logger, Orchestrator, OperationState, Run } from 'sagacity';
import type { ScriptedProvider } from 'sagacity/testing';
import { milliseconds } from '../../src/domain/duration.ts';
import type { AnyOperation } from '../../src/orchestrator/orchestrator.ts';
import type { Store } from '../../src/ports/store.ts';
import { type Script, type ScriptedCharge, scriptedCharge } from './scripted-charge.ts';
import { until, type World, world } from './world.ts';

export interface Stage extends Omit<World, 'charge' | 'another'> {
  readonly charge: ScriptedCharge['definition'];
  /** Another orchestrator for the same charge on the same clock, not started. */
  readonly another: (store?: Store) => Orchestrator<true>;
  /** The same, for a charge of the same name that is defined otherwise. */
  readonly redefined: (definition: AnyOperation) => Orchestrator<true>;
  /** Moves time on second by second, waiting before each for the replies that are on their way. */
  readonly pass: (duration: Duration) => Promise<void>;
}

/** A running stage, unless `start` is false. `on` puts a store before the world's own. */
export async function stage(
  options: Script & { start?: boolean; concurrency?: number; logger?: Logger; on?: (store: Store) => Store } = {},
): Promise<Stage> {
  const { start = true, concurrency, logger, on = (store: Store) => store, ...script } = options;
  const around = await world({
    start: false,
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(logger === undefined ? {} : { logger }),
  });
  const { definition, waiting } = scriptedCharge(around.provider.url, script);
  const another = (store: Store = around.store) => around.another([definition], store);
  const orchestrator = another(on(around.store));
  if (start) await orchestrator.start();
  const answered = () => until(() => (waiting() === 0 ? true : null), 'the provider to answer');
  return {
    ...around,
    ...{ orchestrator, another, charge: definition },
    redefined: (otherwise) => around.another([otherwise]),
    async pass(duration) {
      const end = around.clock.monotonic() + milliseconds(duration, 'duration');
      for (;;) {
        await answered();
        const left = end - around.clock.monotonic();
        await around.clock.advance(Math.min(1_000, Math.max(0, left)));
        if (left <= 0) return;
      }
    },
  };
}

/** The keys of the requests that could have had an effect, in the order of their arrival. */
export async function keysSent(provider: ScriptedProvider): Promise<readonly (string | null)[]> {
  return (await provider.received()).filter(({ method }) => method === 'POST').map(({ key }) => key);
}

/** Every state an operation has been in, in order, as its history tells. */
export async function statesOf(run: Run): Promise<readonly OperationState[]> {
  return (await run.history()).flatMap(({ states = [] }) => states);
}

/** What a run says at once, without waiting. */
export function now<Output, Code extends string>(run: Run<Output, Code>) {
  return run.result({ within: 0 });
}
