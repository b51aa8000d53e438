/**
 * For tests in which time moves by hand: what is on its way to a company is noted until it has ended or was given up, so
 * that time can wait for it, and stopping moves time until it is over.
 */

import type { Operation, Orchestrator } from 'sagacity';
import type { TestClock } from 'sagacity/testing';
import { until } from './world.ts';

/** The functions of a definition, with what they have on its way noted. */
export function notedIn(options: Operation['options'], onTheirWay: Set<object>): Operation['options'] {
  const noted =
    <Context extends { readonly abortSignal: AbortSignal }, Told>(
      work: (context: Context) => Told | PromiseLike<Told>,
    ) =>
    async (context: Context): Promise<Told> => {
      const trip = {};
      onTheirWay.add(trip);
      context.abortSignal.addEventListener('abort', () => onTheirWay.delete(trip));
      try {
        return await work(context);
      } finally {
        onTheirWay.delete(trip);
      }
    };
  const { execute, find } = options;
  return { ...options, execute: noted(execute), find: find === null ? null : noted(find) };
}

/** Stops all of them, while time passes. */
export async function allStopped(all: readonly Orchestrator<true>[], clock: TestClock): Promise<void> {
  let stopped = false;
  const stopping = Promise.all(all.map((each) => each.stop({ within: '1s' }))).finally(() => {
    stopped = true;
  });
  await until(async () => {
    if (stopped) return true;
    await clock.advance('1s');
    return null;
  }, 'the orchestrators to stop');
  await stopping;
}
