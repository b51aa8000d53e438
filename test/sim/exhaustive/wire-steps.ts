/** What may become of an attempt: its request leaves or does not, arrives or is lost, and so does the reply. */

import { extra, type Found, NAMES } from './found.ts';
import { answered, answersTo, mayArriveForgotten } from './provider.ts';
import { ends, isFresh, late, proves, type Surroundings, unknown } from './worker.ts';
import { type Request, withRequest, type World } from './world.ts';

export function wireSteps(around: Surroundings, world: World, request: Request, found: Found): void {
  sending(around, world, request, found);
  travelling(around, world, request, found);
  replying(around, world, request, found);
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

/**
 * The request arrives. To a worker that has given it up the reply comes late: at once or never, since a hand-over may
 * be applied whenever.
 */
function travelling(around: Surroundings, world: World, request: Request, found: Found): void {
  if (request.wire !== 'out') return;
  const { number, side } = request;
  const { policy } = around;
  for (const answer of answersTo(policy, world)) {
    const says = `Attempt ${number} reaches the provider: ${answer}`;
    const arrived = { ...world, provider: answered(policy, world, answer) };
    if (side === 'waiting') {
      found.add(says, withRequest(arrived, request, { wire: answer }));
      continue;
    }
    const after = withRequest(arrived, request, { wire: 'none' });
    found.add(`${says}; no reply comes back`, after, { isExtra: side === 'given-up' });
    if (side === 'given-up') found.add(`${says}; the reply comes late`, late(after, number, proves[answer]));
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
