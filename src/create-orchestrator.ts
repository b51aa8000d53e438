/** `createOrchestrator`: the orchestrator with what an ordinary process has around it. */

import { systemClock } from './adapters/local/clock.ts';
import { systemRandom } from './adapters/local/random.ts';
import { onSignals, type StopSignal, stopSignals } from './adapters/local/signals.ts';
import { localWaker } from './adapters/local/waker.ts';
import { type Duration, milliseconds } from './domain/duration.ts';
import { definitionInvalid } from './domain/errors.ts';
import { directCaller } from './ports/caller.ts';
import { httpSender } from './providers/http-sender.ts';
import { orchestrate, type Orchestrator, type OrchestratorOptions, type Ports } from './orchestrator/orchestrator.ts';

/** The ports may be given for tests, where time moves by hand; each has a default. */
export interface CreateOptions extends OrchestratorOptions, Partial<Ports> {
  /**
   * Signals of the process at which a started orchestrator stops, within `stopWithin`; the process then ends by itself
   * when nothing else keeps it. A second signal of the same kind ends it at once. By default none: you call `stop()`.
   */
  readonly stopOn?: readonly StopSignal[];
  /** What such a stop leaves to what is in flight. Default `'10s'`; what ends your process must be more patient. */
  readonly stopWithin?: Duration;
}

/**
 * Makes an orchestrator over a store. Nothing is opened or begun before `start()`, or the first `submit` of a process
 * that only submits. Rejects definitions that cannot be right with DEFINITION_INVALID, at once.
 *
 * With `tenant` every call is made for that tenant; without it the compiler demands one in every call.
 *
 * @example
 * const orchestrator = createOrchestrator({ store: pgliteStore('./data'), definitions: [chargeCard], tenant: 'shop' });
 * await orchestrator.start();
 */
export function createOrchestrator(options: CreateOptions & { readonly tenant: string }): Orchestrator<true>;
export function createOrchestrator(options: CreateOptions): Orchestrator<false>;
export function createOrchestrator(options: CreateOptions): Orchestrator {
  const clock = options.clock ?? systemClock();
  const orchestrator = orchestrate(options, {
    clock,
    random: options.random ?? systemRandom(),
    caller: options.caller ?? directCaller,
    waker: options.waker ?? localWaker(clock),
    sender: options.sender ?? httpSender(clock, options.providers ?? {}),
  });
  const within = milliseconds(options.stopWithin ?? '10s', 'stopWithin');
  return options.stopOn === undefined ? orchestrator : stoppingOn(checked(options.stopOn), within, orchestrator);
}

/** Listens from its start until it has stopped, so that a process without one ends as it always did. */
function stoppingOn(signals: readonly StopSignal[], within: Duration, orchestrator: Orchestrator): Orchestrator {
  let stopListening: (() => void) | null = null;
  const forget = (): void => {
    stopListening?.();
    stopListening = null;
  };
  const stop: Orchestrator['stop'] = (how) => {
    const stopping = orchestrator.stop(how);
    // One that is refused has stopped nothing.
    stopping.then(forget, () => {});
    return stopping;
  };
  return {
    ...orchestrator,
    async start() {
      stopListening ??= onSignals(signals, () => void stop({ within }));
      try {
        await orchestrator.start();
      } catch (error) {
        forget();
        throw error;
      }
    },
    stop,
  };
}

/** A name that Node does not know would never be heard. */
function checked(signals: readonly StopSignal[]): readonly StopSignal[] {
  for (const signal of signals) {
    if (stopSignals.includes(signal)) continue;
    throw definitionInvalid(`stopOn names ${JSON.stringify(signal)}.`, `It can name ${stopSignals.join(', ')}.`);
  }
  return [...new Set(signals)];
}
