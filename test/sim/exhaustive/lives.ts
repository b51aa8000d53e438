/** How the process of a worker ends and begins anew, as `orchestrator/worker.ts` has it. */

import { enlist, renew } from '../../../src/adapters/memory/rows.ts';
import { HEARTBEAT } from './kinds.ts';
import { drop, freshSlot, inStore, type Request, TIMELINE, withSlot, type World } from './world.ts';

/**
 * Its last renewal was too long ago. That takes no time here: to the others a worker that is still within its time-out
 * is one that does nothing, and the worker itself begins nothing any more, as one whose own count has run out.
 */
export function unheard(world: World, at: 0 | 1): World {
  const { id } = world.slots[at];
  const beatAt = world.now - HEARTBEAT.timeoutMs - 1;
  return inStore(world, ({ workers }) => {
    workers.set(id, { beatAt, deadAt: workers.get(id)?.deadAt ?? null });
  }).world;
}

/** The process is no more; what it sent is on its way. */
export function crashed(before: World, at: 0 | 1): World {
  const world = drop(before, at);
  const requests = world.requests
    .map((one): Request => (one.slot === at ? { ...one, side: 'gone', isHeld: false, isAborted: false } : one))
    .filter(({ wire }) => wire === 'out');
  return renamed({ ...world, requests }, at);
}

function renamed(world: World, at: 0 | 1): World {
  const count = world.slots[at].count + 1;
  const id = `${at === 0 ? 'A' : 'B'}${count}`;
  const after = withSlot(world, at, freshSlot(id, count));
  return inStore(after, (rows, now) => enlist(rows, id, TIMELINE, now)).world;
}

/** It renews, and is refused: it drops what it held and goes on under another id. */
export function over(world: World, at: 0 | 1): World {
  const { id } = world.slots[at];
  const { world: after, answer } = inStore(world, (rows, now) => renew(rows, id, HEARTBEAT.timeoutMs, now));
  if (answer) throw new Error(`Worker ${id} could renew, and had not been heard for too long.`);
  const owns = world.store.operation?.owner === id;
  return withSlot(renamed(drop(after, at), at), at, { former: owns ? id : null });
}

/** One that is not heard and has nothing in hand is as one that is slow: it begins anew. */
export function rested(world: World): World {
  let after = world;
  for (const at of [0, 1] as const) {
    const { isSilent, held, id } = after.slots[at];
    if (isSilent && held === null && after.store.operation?.owner !== id) after = renamed(after, at);
  }
  return after;
}
