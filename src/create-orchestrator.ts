/** `createOrchestrator`: the orchestrator with what an ordinary process has around it. */

import { systemClock } from './adapters/local/clock.ts';
import { systemRandom } from './adapters/local/random.ts';
import { localWaker } from './adapters/local/waker.ts';
import { directCaller } from './ports/caller.ts';
import { orchestrate, type Orchestrator, type OrchestratorOptions, type Ports } from './orchestrator/orchestrator.ts';

/** The ports may be given for tests, where time moves by hand; each has a default. */
export interface CreateOptions extends OrchestratorOptions, Partial<Ports> {}

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
  return orchestrate(options, {
    clock,
    random: options.random ?? systemRandom(),
    caller: options.caller ?? directCaller,
    waker: options.waker ?? localWaker(clock),
  });
}
