/**
 * The wait of a test for the end of what it began: time moves by a second until the run has settled or waits for
 * somebody, or until so much of it has passed that the test has to be told what is still open.
 */

import { type Duration, formatDuration, milliseconds } from '../domain/duration.ts';
import { isSagaId } from '../domain/idempotency.ts';
import { isSettled, type OperationState } from '../domain/operation-state.ts';
import type { Orchestrator } from '../orchestrator/orchestrator.ts';
import type { TestClock } from './clock.ts';
import type { Life } from './life.ts';

/** The run of an operation or a saga, for all that is asked of it here. */
export interface AnyRun<Result extends { readonly status: string }> {
  readonly id: string;
  result(options: { readonly within: Duration }): Promise<Result>;
}

/** What is awaited: what `begin` begins, in the process that lives, until so much of the test's time has passed. */
interface Awaiting<Result extends { readonly status: string }> {
  readonly clock: TestClock;
  readonly orchestrator: Orchestrator<true>;
  readonly life: Life;
  readonly begin: () => Promise<AnyRun<Result>>;
  readonly within: Duration;
}

const moving = ['in-progress', 'compensating'];

/** Null: the process died first. */
export async function settle<Result extends { readonly status: string }>(
  awaiting: Awaiting<Result>,
): Promise<Result | null> {
  const { clock, orchestrator, life, begin, within } = awaiting;
  const withinMs = milliseconds(within, 'within');
  const deadline = clock.monotonic() + withinMs;
  // A process that has died is told of nothing, so the run is looked at by the one that lives.
  const begun = begin().then(({ id }) => runIn(orchestrator, id));
  begun.catch(() => {
    // Told by the next look.
  });
  const look = async (): Promise<Result | null> => {
    const run = await unlessPending(begun);
    if (run === null) return null;
    // It is the same run, so it has the same result.
    const result = (await run.result({ within: 0 })) as unknown as Result;
    return moving.includes(result.status) ? null : result;
  };
  for (await clock.advance(0); !life.isOver; await clock.advance('1s')) {
    const result = await Promise.race([look(), life.over.then(() => null)]);
    if (result !== null) return result;
    if (clock.monotonic() >= deadline) throw await stillMoving(begun, formatDuration(withinMs));
  }
  return null;
}

async function runIn(orchestrator: Orchestrator<true>, id: string) {
  return isSagaId(id) ? orchestrator.sagaRun(id) : orchestrator.run(id);
}

/** What a promise has come to, or null as long as it has not. */
function unlessPending<Value>(promise: Promise<Value>): Promise<Value | null> {
  return Promise.race([promise, Promise.resolve(null)]);
}

async function stillMoving(begun: ReturnType<typeof runIn>, waited: string): Promise<Error> {
  const run = await unlessPending<Awaited<typeof begun>>(begun);
  if (run === null) return new Error(`Nothing had begun after ${waited} of the test's time.`);
  const states = new Map<string, string>();
  for (const record of await run.history()) {
    const state = record.states?.at(-1);
    const action = 'operation' in record ? record.operation?.action : run.id;
    if (action !== undefined && typeof state === 'string') states.set(action, state);
  }
  const open = [...states].filter(([, state]) => !isSettled(state as OperationState));
  const waits = open.map(([action, state]) => `${action} (${state})`).join(', ');
  return new Error(`${run.id} is ${await run.status()} after ${waited} of the test's time. It waits for ${waits}.`);
}
