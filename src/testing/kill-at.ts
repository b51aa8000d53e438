/**
 * A flow of a user's own, killed at every boundary it goes by. It is played once unharmed to learn them; then, one at a
 * time, its process dies there and another one goes on from what was stored, while whoever began the flow begins it
 * again, since nobody told them that it was accepted. What the companies hold afterwards is for the test to judge. Timers
 * and wakes are no boundaries here: they die with their process, which leaves behind what it left before.
 */

import type { Orchestrator } from '../orchestrator/orchestrator.ts';
import type { OperationRef, Store } from '../ports/store.ts';
import { callerWithKillPoints, type KillPoint, type Reached, withKillPoints } from './kill-points.ts';
import { type Life, silence } from './life.ts';
import { overlay } from './overlay.ts';
import type { AnyRun } from './settle.ts';
import { type Around, type TestOptions, type TestOrchestrator, type World, worldOf } from './test-orchestrator.ts';

/** What is begun, and what it meets. */
export interface Flow<Result extends { readonly status: string } = { readonly status: string }> extends TestOptions {
  /** Submits, and does what else belongs to it; done again, by the same caller, after the process has died. */
  begin(orchestrator: Orchestrator<true>): Promise<AnyRun<Result>>;
}

/** What is left of a flow that was killed and has come to its end. */
export interface Killed<Result> extends Pick<TestOrchestrator, 'records' | 'clock'> {
  readonly result: Result;
  /** The process that went on. */
  readonly orchestrator: Orchestrator<true>;
}

/**
 * Plays the flow unharmed, and gives every boundary that it went by, in order, each for {@link killAt}: a kill point, and
 * the operation or saga it is about, as in `after request of card.charge`; when one comes again, with its number. What
 * a worker does for itself, such as renewing that it lives, is none. Rejects when a line of the script was not used.
 *
 * @example
 * const flow: Flow = {
 *   definitions: [chargeCard],
 *   begin: (orchestrator) => orchestrator.submit(chargeCard, { orderId: 'order-17', amount: 1200 }),
 * };
 * test.each(await boundariesOf(flow))('one charge, killed %s', async (boundary) => {
 *   const { records } = await killAt(flow, boundary);
 *   expect(records(chargeCard)).toHaveLength(1);
 * });
 */
export async function boundariesOf<Result extends { readonly status: string }>(
  flow: Flow<Result>,
): Promise<readonly string[]> {
  const world = worldOf(flow);
  const boundaries: string[] = [];
  const process = await world.start(watching((boundary) => void boundaries.push(boundary)));
  await world.settledIn(process, () => flow.begin(process.orchestrator));
  const unused = world.script.left().map(({ operation }) => operation.action);
  if (unused.length > 0)
    throw new Error(`The flow makes fewer attempts than its script has lines: ${unused.join(', ')}.`);
  return boundaries;
}

/**
 * Plays the flow to this boundary, lets its process die there, and has another one go on to the end of it. Rejects when
 * the boundary is not reached, so that nothing passes for having been killed that was not.
 */
export async function killAt<Result extends { readonly status: string }>(
  flow: Flow<Result>,
  boundary: string,
): Promise<Killed<Result>> {
  const world = worldOf(flow);
  await killed(world, flow, boundary);
  const next = await world.start();
  const result = await world.settledIn(next, () => flow.begin(next.orchestrator));
  if (result === null) throw new Error('Nobody lets the second process die.');
  return { result, orchestrator: next.orchestrator, records: world.records, clock: world.clock };
}

async function killed<Result extends { readonly status: string }>(
  world: World,
  flow: Flow<Result>,
  boundary: string,
): Promise<void> {
  const process = await world.start((life) =>
    watching((reached) => {
      if (reached !== boundary) return;
      life.end();
      return silence();
    })(life),
  );
  await world.settledIn(process, () => flow.begin(process.orchestrator));
  if (!process.life.isOver) throw new Error(`The flow comes to its end and never goes by "${boundary}".`);
}

/** Stands around a process and tells of each boundary it comes to; what is returned is waited for. */
function watching(told: (boundary: string) => unknown): (life: Life) => Around {
  const names = new Map<string, string>();
  const counts = new Map<string, number>();
  return (life) => {
    const reached: Reached = (point, about) => {
      if (life.isOver) return silence();
      const place = placeOf(point, about, names);
      if (place === null) return;
      const count = (counts.get(place) ?? 0) + 1;
      counts.set(place, count);
      return told(count === 1 ? place : `${place} (${count})`);
    };
    return {
      store: (store) => naming(withKillPoints(store, reached), names),
      caller: (caller) => callerWithKillPoints(caller, reached),
    };
  };
}

/** Null: it is about a worker, and nothing that is kept of the flow changes there. */
function placeOf(point: KillPoint, about: OperationRef | null, names: ReadonlyMap<string, string>): string | null {
  if (about !== null) return `${point} of ${names.get(about.id) ?? about.id}`;
  return point === 'after claim' ? point : null;
}

/** The same store, which notes what the operations and sagas that are born in it are called. */
function naming(store: Store, names: Map<string, string>): Store {
  const watched: Partial<Store> = {
    turn(turn) {
      if (turn.birth !== null) names.set(turn.id, turn.birth.action);
      return store.turn(turn);
    },
    sagaTurn(turn) {
      if (turn.birth !== null) names.set(turn.id, turn.birth.name);
      for (const { id, birth } of turn.operations) if (birth !== null) names.set(id, birth.action);
      return store.sagaTurn(turn);
    },
  };
  return overlay(store, watched);
}
