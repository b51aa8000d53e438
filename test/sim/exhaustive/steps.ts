/**
 * Everything that can happen next. A step is one thing that one of the parties does, or fails to do; which of them
 * comes next is what the search chooses. What may be done, and what follows from it, is asked of the worker, the
 * provider and the store's rules.
 */

import { bury, enlist, renew, retire } from '../../../src/adapters/memory/rows.ts';
import { isSettled } from '../../../src/domain/operation-state.ts';
import { HEARTBEAT, TICK } from './kinds.ts';
import { answered, answersTo, canStillTakeEffect, findingsAt, isTooLate, mayArriveForgotten } from './provider.ts';
import {
  applies,
  begins,
  beginsLookUp,
  claims,
  ends,
  handsOver,
  hasLookedUp,
  interrupted,
  isFresh,
  late,
  proves,
  releases,
  retakes,
  submit,
  type Surroundings,
  unknown,
} from './worker.ts';
import {
  disturbed,
  drop,
  freshSlot,
  inStore,
  mayMatter,
  type Request,
  type Slot,
  TIMELINE,
  withRequest,
  withSlot,
  type World,
} from './world.ts';

export interface Step {
  readonly says: string;
  readonly world: World;
  /** Something went wrong, or a person acted: an operation must come to its end without it. */
  readonly isExtra: boolean;
  /** What is wrong with the step itself. */
  readonly breaks: string | null;
}

/** The bounds of a search. */
export interface Bounds {
  readonly attempts: number;
}

export interface Next {
  readonly steps: readonly Step[];
  /** Steps that were left out because they go beyond the bounds. */
  readonly cut: number;
}

const SLOTS = [0, 1] as const;
const NAMES = ['Worker A', 'Worker B'] as const;

export function nextSteps(around: Surroundings, bounds: Bounds, world: World): Next {
  const found = new Found();
  for (const at of SLOTS) {
    if (world.store.operation === null) submissions(around, world, at, found);
    else claiming(around, world, at, found);
    driving(around, bounds, world, at, found);
    living(world, at, found);
  }
  for (const request of world.requests) {
    sending(around, world, request, found);
    travelling(around, world, request, found);
    replying(around, world, request, found);
  }
  persons(around, world, found);
  found.add('Time passes', passing(around, world));
  return found;
}

class Found implements Next {
  readonly steps: Step[] = [];
  cut = 0;

  add(says: string, world: World | null, as: { readonly isExtra?: boolean; readonly breaks?: string | null } = {}) {
    if (world === null) return;
    this.steps.push({ says, world: rested(world), isExtra: as.isExtra ?? false, breaks: as.breaks ?? null });
  }
}

const extra = { isExtra: true };

/** One that is not heard and has nothing in hand is as one that is slow: it begins anew. */
function rested(world: World): World {
  let after = world;
  for (const at of SLOTS) {
    const { isSilent, held, id } = after.slots[at];
    if (isSilent && held === null && after.store.operation?.owner !== id) after = renamed(after, at);
  }
  return after;
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
  if (slot.isSilent) found.add(`${name} learns that it is over`, renewed(world, at));
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

/**
 * Its last renewal was too long ago. That takes no time here: to the others a worker that is still within its time-out
 * is one that does nothing, and the worker itself begins nothing any more, as one whose own count has run out.
 */
function unheard(world: World, at: 0 | 1): World {
  const { id } = world.slots[at];
  const beatAt = world.now - HEARTBEAT.timeoutMs - 1;
  return inStore(world, ({ workers }) => workers.set(id, { beatAt, deadAt: null })).world;
}

/** The process is no more; what it sent is on its way. */
function crashed(before: World, at: 0 | 1): World {
  const world = drop(before, at);
  const requests = world.requests
    .map((one): Request => (one.slot === at ? { ...one, side: 'gone', isHeld: false, isAborted: false } : one))
    .filter(({ wire }) => wire === 'out');
  return renamed({ ...world, requests }, at);
}

function renamed(world: World, at: 0 | 1): World {
  const slot: Slot = world.slots[at];
  const count = slot.count + 1;
  const id = `${at === 0 ? 'A' : 'B'}${count}`;
  const after = withSlot(world, at, freshSlot(id, count));
  return inStore(after, (rows, now) => enlist(rows, id, TIMELINE, now)).world;
}

/** Its renewal is refused: it drops what it held and goes on under another id. */
function renewed(world: World, at: 0 | 1): World {
  const { id } = world.slots[at];
  const { world: after, answer } = inStore(world, (rows, now) => renew(rows, id, HEARTBEAT.timeoutMs, now));
  if (answer) return withSlot(after, at, { isSilent: false });
  const owns = world.store.operation?.owner === id;
  return withSlot(renamed(drop(after, at), at), at, { former: owns ? id : null });
}

/** The gate: an attempt leaves in time, held, by a worker that is fresh, or not at all. */
function sending(around: Surroundings, world: World, request: Request, found: Found): void {
  if (request.side !== 'ready') return;
  const { number, slot, recordedAt, leavesWithinMs } = request;
  const isInTime = world.now - recordedAt <= leavesWithinMs;
  const held = world.slots[slot].held;
  const mayLeave = isInTime && request.isHeld && held?.worker === world.slots[slot].id && isFresh(world, slot);
  if (!mayLeave) {
    const after = withRequest(world, request, { side: 'refused' });
    return found.add(`Attempt ${number} does not leave ${NAMES[slot]} any more`, after);
  }
  const sent = withRequest(world, request, { side: 'waiting', wire: 'out', leftAt: world.now });
  found.add(`Attempt ${number} leaves ${NAMES[slot]}`, sent, { breaks: wrongToSend(around, world, request) });
}

/** Why a request must not leave now, or null. */
function wrongToSend({ policy }: Surroundings, world: World, request: Request): string | null {
  const { operation } = world.store;
  const { held } = world.slots[request.slot];
  if (operation?.state !== 'in-progress') return `sent while ${operation?.state ?? 'nothing is recorded'}`;
  if (operation.owner !== held?.worker || operation.generation !== held.generation) {
    return 'sent by a worker that does not own it';
  }
  if (!request.isResubmission) return null;
  if (policy.keyRetentionMs === null) return 'sent again although an attempt is unproven and no key is retained';
  return mayArriveForgotten(policy, world) ? 'sent again outside the window' : null;
}

/** The request arrives. To a worker that has given it up the reply comes late: at once or never, for it changes nothing when. */
function travelling(around: Surroundings, world: World, request: Request, found: Found): void {
  if (request.wire !== 'out') return;
  const { number, side } = request;
  const { policy } = around;
  for (const answer of answersTo(policy, world)) {
    const says = `Attempt ${number} reaches the provider: ${answer}`;
    const arrived = { ...world, provider: answered(policy, world, answer) };
    if (side === 'waiting') found.add(says, withRequest(arrived, request, { wire: answer }));
    else
      found.add(`${says}; no reply comes back`, withRequest(arrived, request, { wire: 'none' }), {
        isExtra: side === 'given-up',
      });
    if (side !== 'given-up') continue;
    found.add(
      `${says}; the reply comes late`,
      late(withRequest(arrived, request, { wire: 'none' }), number, proves[answer]),
    );
  }
  found.add(`The request of attempt ${number} is lost`, withRequest(world, request, { wire: 'none' }), extra);
}

function replying(around: Surroundings, world: World, request: Request, found: Found): void {
  const { side, wire, number, slot, leftAt, isAborted, isHeld } = request;
  const name = NAMES[slot];
  if (side === 'refused') {
    const gone = withRequest(world, request, { side: 'gone' });
    found.add(`${name} records that attempt ${number} was not sent`, told(around, gone, request, 'not-sent'));
  }
  if (side !== 'waiting') return;
  const gone = withRequest(world, request, { side: 'gone', wire: 'none' });
  const reply = wire === 'none' || wire === 'out' ? null : wire;
  if (reply !== null) {
    found.add(`The reply of attempt ${number} reaches ${name}: ${reply}`, told(around, gone, request, reply));
    found.add(`The reply of attempt ${number} is lost`, withRequest(world, request, { wire: 'none' }), extra);
  }
  const isOver = leftAt !== null && world.now >= leftAt + around.policy.timeoutMs;
  if (!isOver && !isAborted) return;
  const givenUp = reply === null ? withRequest(world, request, { side: 'given-up' }) : gone;
  const after = isHeld ? ends(around, givenUp, slot, request.generation, unknown).world : givenUp;
  const says = `${name} waits no longer for attempt ${number}`;
  if (reply === null) found.add(says, after);
  else found.add(`${says}; the reply comes late`, late(after, number, proves[reply]));
}

/** What an attempt brought: its end, or evidence where it can be its end no more. */
function told(around: Surroundings, world: World, request: Request, what: keyof typeof proves): World {
  const { number, slot, generation, isHeld } = request;
  const result = proves[what];
  if (!isHeld) return late(world, number, result);
  const { world: after, written } = ends(around, world, slot, generation, result);
  return written ? after : late(after, number, result);
}

/** A person may ask for it to be given up, and decides what waits for a person, truly. */
function persons(around: Surroundings, world: World, found: Found): void {
  const { operation } = world.store;
  if (operation === null || isSettled(operation.state)) return;
  const asked = disturbed(world, 'cancels');
  if (asked !== null) {
    const after = handsOver(asked, 'cancel', { kind: 'cancel', by: 'the shop', reason: 'not wanted any more' });
    found.add('The shop asks for it to be given up', after, extra);
  }
  const less = disturbed(world, 'verdicts');
  if (operation.state !== 'escalated' || less === null) return;
  const says = (outcome: Said) =>
    found.add(`A person decides: ${outcome.type}`, decided(less, operation.revision, outcome), extra);
  if (world.provider.effects.length > 0) says(proves.done);
  const mayCome = world.requests.some((one) => one.side === 'ready' || canStillTakeEffect(around.policy, world, one));
  if (world.provider.effects.length === 0 && !mayCome) {
    says(proves.declined);
    // A refusal that is in the books is no reason to send again.
    if (world.provider.refusedAt === null) says(proves.busy);
  }
  says({ type: 'look-up' });
}

type Said = typeof proves.done | typeof proves.declined | typeof proves.busy | { readonly type: 'look-up' };

function decided(world: World, seen: number, outcome: Said): World {
  return handsOver(world, `verdict ${outcome.type}`, {
    kind: 'verdict',
    outcome,
    by: 'the operator',
    evidence: "the provider's books",
    seen,
  });
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
