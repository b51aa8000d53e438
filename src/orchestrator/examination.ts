/** Examines what a process has around it, as far as its ports can tell; what they do not tell is no fault of theirs. */

import { type Checkup, type CheckupFinding, checkupOf, fault, sound } from '../domain/checkup.ts';
import type { Clock } from '../ports/clock.ts';
import type { Store } from '../ports/store.ts';
import type { Waker } from '../ports/waker.ts';

export interface Surroundings {
  readonly store: Store;
  readonly waker: Waker;
  readonly clock: Clock;
  readonly concurrency: number;
}

/** Never rejects. */
export async function examine(around: Surroundings): Promise<Checkup> {
  const found = await Promise.all([ofStore(around), ofWaker(around)]);
  return checkupOf(found.flat());
}

async function ofStore({ store, clock, concurrency }: Surroundings): Promise<readonly CheckupFinding[]> {
  if (store.examine === undefined) {
    return [sound('database', `The ${store.name} store has no server that could be examined.`)];
  }
  return await store.examine({ clock, concurrency }).catch((error: unknown) => [fault('database', error)]);
}

async function ofWaker({ waker }: Surroundings): Promise<readonly CheckupFinding[]> {
  if (waker.examine === undefined) return [];
  // Sweeps find what wakes do not announce.
  return await waker.examine().catch((error: unknown) => [{ ...fault('nats', error), level: 'warning' as const }]);
}
