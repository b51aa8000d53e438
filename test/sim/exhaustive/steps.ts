/**
 * Everything that can happen next. A step is one thing that one of the parties does, or fails to do; which of them
 * comes next is what the search chooses. What may be done, and what follows from it, is asked of the worker, the
 * provider and the store's rules.
 */

import { renew } from '../../../src/adapters/memory/rows.ts';
import { Found, SLOTS } from './found.ts';
import { HEARTBEAT, TICK } from './kinds.ts';
import { personSteps } from './person-steps.ts';
import { isTooLate } from './provider.ts';
import { wireSteps } from './wire-steps.ts';
import type { Surroundings } from './worker.ts';
import { type Bounds, workerSteps } from './worker-steps.ts';
import { inStore, mayMatter, type Request, type World } from './world.ts';

export function nextSteps(around: Surroundings, bounds: Bounds, world: World): Found {
  const found = new Found();
  for (const at of SLOTS) workerSteps(around, bounds, world, at, found);
  for (const request of world.requests) wireSteps(around, world, request, found);
  personSteps(around, world, found);
  found.add('Time passes', passing(around, world));
  return found;
}

/** The next tick. Workers that can be heard have renewed meanwhile. */
function passing({ policy }: Surroundings, before: World): World {
  const world = inStore({ ...before, now: before.now + TICK }, (rows, then) => {
    for (let now = before.now + HEARTBEAT.everyMs; now <= then; now += HEARTBEAT.everyMs) {
      for (const { id, isSilent } of before.slots) {
        const isHeard = isSilent || renew(rows, id, HEARTBEAT.timeoutMs, now);
        if (!isHeard) throw new Error(`Worker ${id} was heard all the time, and could not renew.`);
      }
    }
  }).world;
  const requests = world.requests
    .map((one): Request => (isTooLate(policy, world, one) ? { ...one, wire: 'none' } : one))
    .filter(mayMatter);
  return { ...world, requests };
}
