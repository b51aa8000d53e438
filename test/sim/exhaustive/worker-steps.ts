/** What a worker may do next, or what may happen to it. */

import { bury, retire } from '../../../src/adapters/memory/rows.ts';
import { extra, type Found, NAMES } from './found.ts';
import { HEARTBEAT } from './kinds.ts';
import { crashed, over, unheard } from './lives.ts';
import { findingsAt } from './provider.ts';
import {
  applies,
  begins,
  beginsLookUp,
  claims,
  hasLookedUp,
  interrupted,
  isFresh,
  releases,
  retakes,
  submit,
  type Surroundings,
} from './worker.ts';
import { disturbed, inStore, withSlot, type World } from './world.ts';

/** The bounds of a search. */
export interface Bounds {
  /** No more attempts than these are started. */
  readonly attempts: number;
}

export function workerSteps(around: Surroundings, bounds: Bounds, world: World, at: 0 | 1, found: Found): void {
  if (world.store.operation === null) submissions(around, world, at, found);
  else claiming(around, world, at, found);
  driving(around, bounds, world, at, found);
  living(world, at, found);
}

function submissions(around: Surroundings, world: World, at: 0 | 1, found: Found): void {
  if (isFresh(world, at)) {
    found.add(`${NAMES[at]} records the operation and the start of attempt 1`, submit(around, world, at, true));
  }
  found.add(`${NAMES[at]} records the operation, without a free slot`, submit(around, world, at, false));
}

function claiming(around: Surroundings, world: World, at: 0 | 1, found: Found): void {
  const { id, held } = world.slots[at];
  const name = NAMES[at];
  if (isFresh(world, at)) {
    // Who hands something over wakes; what is due is found by the sweep.
    const how = world.store.handovers.size > 0 ? 'wake' : 'sweep';
    found.add(`${name} claims it`, claims(around, world, at, how));
    if (isAnyoneSilent(world)) {
      const { world: after, answer } = inStore(world, (rows, now) => bury(rows, id, HEARTBEAT, now));
      if (answer > 0 && isOrphan(world)) {
        // Of a worker that is no more nothing can come between its burial and the claim.
        found.add(`${name} declares the owner dead, and claims it`, claims(around, after, at, how));
      } else if (answer > 0) {
        found.add(`${name} declares the silent worker dead`, after);
      }
    }
  }
  if (held === null && world.store.operation?.owner === id) {
    found.add(`${name} takes up again what it owns`, retakes(around, world, at));
  }
}

/** Its owner's process has crashed. */
function isOrphan({ store, slots }: World): boolean {
  const owner = store.operation?.owner ?? null;
  return owner !== null && slots.every(({ id, former }) => id !== owner && former !== owner);
}

/** Whoever is heard renews in time. */
function isAnyoneSilent({ store, slots }: World): boolean {
  return store.workers.size > slots.length || slots.some(({ isSilent }) => isSilent);
}

/** What a worker does with what it holds. While the store's answer to a start is on its way, nothing. */
function driving(around: Surroundings, { attempts }: Bounds, world: World, at: 0 | 1, found: Found): void {
  const { held, id } = world.slots[at];
  if (held === null) return;
  const own = world.requests.filter((one) => one.slot === at && one.isHeld);
  if (own.some(({ side }) => side === 'ready')) return;
  const name = NAMES[at];
  const { position, looking } = held;
  if (world.store.handovers.size > 0) {
    found.add(`${name} applies what was handed over`, applies(around, world, at));
  }
  if (held.appliesFirst) return;
  const isRunning = own.some(({ side }) => side === 'waiting' || side === 'refused');
  const isDue = held.dueAt === null || held.dueAt <= world.now;
  if (position.attempt !== null && !isRunning) {
    found.add(`${name} finds an attempt without an end`, interrupted(around, world, at, position.attempt));
  }
  if (looking !== null) {
    found.add(`${name} records the look-up: ${looking.finding}`, hasLookedUp(around, world, at, looking));
  }
  if (position.due !== null && isDue && isFresh(world, at) && held.worker === id) {
    const after = begins(around, world, at, position.due);
    const started = after.slots[at].held?.position.history.attempts.length ?? 0;
    if (started > attempts) found.cut += 1;
    else found.add(`${name} goes on, the pause being over`, after);
  }
  if (position.lookup !== null && isDue && looking === null) {
    for (const finding of findingsAt(around.policy, world)) {
      const after = beginsLookUp(world, at, position.lookup, finding);
      found.add(`${name} looks it up; the provider shows: ${finding}`, after, { isExtra: finding === 'inconclusive' });
    }
  }
  if (position.wait === null && position.attempt === null) {
    found.add(`${name} gives it back`, releases(around, world, at));
  }
}

/** Crashes, stops, and heartbeats that do not arrive. */
function living(world: World, at: 0 | 1, found: Found): void {
  const slot = world.slots[at];
  const name = NAMES[at];
  if (slot.isSilent) found.add(`${name} learns that it is over`, over(world, at));
  if (slot.former !== null) {
    const { former } = slot;
    const after = inStore(world, (rows, now) => retire(rows, former, now)).world;
    found.add(`${name} retires the id it gave up`, withSlot(after, at, { former: null }));
  }
  const isIdle = slot.held === null && !world.requests.some((one) => one.slot === at && one.side === 'refused');
  const less = disturbed(world, 'faults');
  if (less === null || isIdle) return;
  found.add(`${name} crashes, and starts again`, crashed(unheard(less, at), at), extra);
  const stopped = inStore(less, (rows, now) => retire(rows, slot.id, now)).world;
  found.add(`${name} stops, retires and starts again`, crashed(stopped, at), extra);
  if (slot.held !== null && !slot.isSilent) {
    found.add(`${name} is not heard any more`, withSlot(unheard(less, at), at, { isSilent: true }), extra);
  }
}
