/**
 * What a worker's process does with the decisions, in the order of `orchestrator/driver.ts`: every turn is computed
 * from the copy it holds, offered to the store, and acted upon when it was written. The driver is the authority;
 * nothing here decides, and what would have to is asked of the decisions and of the store's rules. Whether and when a
 * worker does any of it is chosen by the search.
 */

import { applyTurn, claim, handOver, shown } from '../../../src/adapters/memory/rows.ts';
import type { AttemptResult } from '../../../src/domain/attempt.ts';
import { marginMs, type Policy } from '../../../src/domain/policy.ts';
import type { OperationHappening } from '../../../src/orchestrator/advance.ts';
import { seenOf, toBody } from '../../../src/orchestrator/handover.ts';
import type { Handover, OperationRow, Receipt, Start, Turn } from '../../../src/ports/store.ts';
import type { Decided, Decisions, Times } from './decisions.ts';
import { HEARTBEAT } from './kinds.ts';
import type { Position } from './positions.ts';
import {
  ACTION,
  type Answer,
  asked,
  drop,
  type Finding,
  type Held,
  inStore,
  type Looking,
  REF,
  type Request,
  TIMELINE,
  withRequest,
  withSlot,
  type World,
} from './world.ts';

/** The rules of the store that write. A test of the search puts a defect in their place. */
export interface StoreRules {
  readonly applyTurn: typeof applyTurn;
  readonly claim: typeof claim;
}

export const shippedRules: StoreRules = { applyTurn, claim };

/** What all workers have in common. */
export interface Surroundings {
  readonly policy: Policy;
  readonly decisions: Decisions;
  readonly rules: StoreRules;
  /** Positions in which a second submission has been tried. */
  readonly tried: Set<Position>;
}

/** The driver's: what is due later than this is given back. */
const HOLD_MS = 10_000;

/** The driver's: so often a turn that was refused although its fence holds is computed again. */
const RECOMPUTE_MAX = 3;

const IDENTITY = { tenant: REF.tenant, action: ACTION, key: 'order-17' };

export function isFresh(world: World, at: 0 | 1): boolean {
  const { id } = world.slots[at];
  const row = world.store.workers.get(id);
  const { everyMs, timeoutMs } = HEARTBEAT;
  // In the search a process hears of every renewal, so that its own count is the store's.
  return row !== undefined && world.now - row.beatAt < timeoutMs - everyMs / 2;
}

/** Submits the operation under an id of its own. Null: the identity is taken. */
export function submit(around: Surroundings, world: World, at: 0 | 1, startsNow: boolean): World | null {
  const made = around.decisions.birth(world.now, startsNow);
  const turn = birthTurn(around, world, at, made, REF.id);
  const { world: after, answer } = inStore(world, (rows, now) => around.rules.applyTurn(rows, turn, TIMELINE, now));
  if (answer === null) return null;
  if (!startsNow) return after;
  return started(held(after, at, made.position, 1, answer), at, turn, answer);
}

/** Whether the identity, once taken, is refused to a submission that would otherwise create a second operation. */
export function refusesAnother(around: Surroundings, world: World): boolean {
  const made = around.decisions.birth(world.now, true);
  const turn = birthTurn(around, world, 0, made, 'operation-2');
  return asked(world, (rows, now) => around.rules.applyTurn(rows, turn, TIMELINE, now)) === null;
}

function birthTurn(around: Surroundings, world: World, at: 0 | 1, made: Decided, id: string): Turn {
  const startsNow = made.position.attempt !== null;
  return turnOf(made, {
    birth: { ...IDENTITY, providerKey: 'key-17', fingerprint: 'print-17', input: null },
    was: null,
    owner: startsNow ? world.slots[at].id : null,
    generation: startsNow ? 1 : 0,
    start: startsNow ? startOf(around.policy, made.position) : null,
    dueInMs: startsNow ? null : 0,
    id,
  });
}

/** Claims the operation: as a sweep does, what is due, or as a wake does, just this one. Null: there is nothing. */
export function claims(around: Surroundings, world: World, at: 0 | 1, how: 'sweep' | 'wake'): World | null {
  const only = how === 'wake' ? REF : undefined;
  const { world: after, answer } = inStore(world, (rows, now) =>
    around.rules.claim(rows, world.slots[at].id, [ACTION], 1, only, now),
  );
  const [claimed] = answer;
  return claimed === undefined ? null : takesUp(around, after, at, claimed);
}

function takesUp(around: Surroundings, world: World, at: 0 | 1, claimed: OperationRow): World {
  const position = around.decisions.positions.read(claimed, world.store.operation);
  const taken = held(drop(world, at), at, position, claimed.generation, claimed);
  return changed(taken, at, { appliesFirst: claimed.handovers.length > 0 });
}

function held(world: World, at: 0 | 1, position: Position, generation: number, receipt: Receipt): World {
  const { revision, dueAt, sendBy, windowEndsAt } = receipt;
  const worker = world.slots[at].id;
  const told = { revision, dueAt, sendBy, windowEndsAt };
  return withSlot(world, at, {
    held: { worker, generation, position, ...told, appliesFirst: false, looking: null },
  });
}

function changed(world: World, at: 0 | 1, change: Partial<Held>): World {
  const { held: before } = world.slots[at];
  return before === null ? world : withSlot(world, at, { held: { ...before, ...change } });
}

/** It owns the operation and does not hold it: it reads it, and takes it up again. */
export function retakes(around: Surroundings, world: World, at: 0 | 1): World {
  const row = read(world);
  return row === null ? world : takesUp(around, world, at, row);
}

export function read(world: World): OperationRow | null {
  return asked(world, (rows, now) => shown(rows, world.store.operation ?? undefined, now));
}

/** What came of trying to write a turn. */
export interface Written {
  readonly world: World;
  readonly written: boolean;
}

/** Records that the pause is over: the start of an attempt, or what takes its place. */
export function begins(around: Surroundings, world: World, at: 0 | 1, generation: number): World {
  return writes(around, world, at, { type: 'due', generation }, 'due').world;
}

/** A start without an end, found after a take-over. */
export function interrupted(around: Surroundings, world: World, at: 0 | 1, generation: number): World {
  return ends(around, world, at, generation, unknown).world;
}

export const unknown: AttemptResult = { type: 'unknown', reason: 'nobody knows' };

/** Records how an attempt ended. */
export function ends(
  around: Surroundings,
  world: World,
  at: 0 | 1,
  generation: number,
  result: AttemptResult,
): Written {
  const happening: OperationHappening = { type: 'attempt.ended', generation, result, body: {} };
  return writes(around, world, at, happening, `ended ${generation} ${nameOf(result)}`);
}

/** Reads the row, and asks the provider. */
export function beginsLookUp(world: World, at: 0 | 1, generation: number, finding: Finding): World {
  const mine = world.slots[at].held;
  const row = world.store.operation;
  if (row?.owner !== mine?.worker || row?.generation !== mine?.generation) return drop(world, at);
  return changed(world, at, { looking: { generation, beganAt: world.now, finding } });
}

/** Records what the look-up brought. */
export function hasLookedUp(around: Surroundings, world: World, at: 0 | 1, looking: Looking): World {
  const { generation, beganAt, finding } = looking;
  const answer = { finding: findings[finding], beganAt };
  const happening: OperationHappening = { type: 'lookup.answered', generation, answer, body: {} };
  const name = `looked ${generation} ${finding} ${world.now - beganAt}`;
  return writes(around, changed(world, at, { looking: null }), at, happening, name).world;
}

const success = { type: 'succeeded', output: 'charge-1', reference: 'charge-1' } as const;
const refusal = { type: 'failed', code: 'card_declined' } as const;

const findings = {
  found: { type: 'found', records: [success] },
  'found-refusal': { type: 'found', records: [refusal] },
  absent: { type: 'absent' },
  inconclusive: { type: 'inconclusive', reason: 'it could not tell' },
} as const;

/** What an answer of the provider's, or a closed gate, proves. */
export const proves = {
  done: success,
  declined: refusal,
  busy: { type: 'not-applied', reason: 'it was busy' },
  'not-sent': { type: 'not-applied', reason: 'its time to be sent had passed', sent: false },
} as const satisfies Record<Answer | 'not-sent', AttemptResult>;

function nameOf(result: AttemptResult): string {
  return result.type === 'not-applied' && result.sent === false ? 'not-sent' : result.type;
}

/** Applies what was handed over. A cancellation also tells a running executor to stop. */
export function applies(around: Surroundings, world: World, at: 0 | 1): World {
  const stored = read(world);
  const first = changed(world, at, { appliesFirst: false });
  const mine = first.slots[at].held;
  if (stored === null || mine === null || stored.handovers.length === 0) return first;
  const { handovers } = stored;
  const name = handovers.map((handover) => heard(handover, seenBy(mine))).join();
  const after = writes(around, first, at, { type: 'handed.over', handovers }, name).world;
  return after.slots[at].held?.position.history.cancelled === true ? aborted(after, at) : after;
}

/** A hand-over's id says all of it, save whether a decision was made on this history. */
function heard({ handoverId, body }: Handover, isNow: string): string {
  // Written by `handsOver` below.
  const { seen } = body as { seen?: string };
  return `${handoverId}${seen === undefined || seen === isNow ? '' : ' on another history'}`;
}

/** No history is ever lost here, so that every turn has the same name. */
const TURN = 'turn';

function seenBy({ revision }: Held): string {
  return seenOf({ revision, turn: TURN });
}

/** Gives back what neither is due nor under way. */
export function releases(around: Surroundings, world: World, at: 0 | 1): World {
  return writes(around, world, at, { type: 'released' }, 'released').world;
}

/** What an attempt brought that could not be recorded as its end is handed over. */
export function late(world: World, number: number, result: AttemptResult): World {
  if (result.type === 'unknown') return world;
  return handsOver(world, `evidence of ${number}: ${nameOf(result)}`, {
    kind: 'evidence',
    source: 'late-result',
    attempt: number,
    outcome: result,
  });
}

export function handsOver(world: World, handoverId: string, said: Parameters<typeof toBody>[0]): World {
  return inStore(world, (rows, now) => handOver(rows, { ...REF, handoverId, body: toBody(said) }, now)).world;
}

/**
 * The turn that follows from what happened, written or not. A refused one is computed again while the row is still this
 * worker's, and otherwise makes it forget the operation.
 */
function writes(around: Surroundings, before: World, at: 0 | 1, happening: OperationHappening, name: string): Written {
  let world = before;
  for (let round = 0; round < RECOMPUTE_MAX; round += 1) {
    const mine = world.slots[at].held;
    if (mine === null) return { world, written: false };
    const made = around.decisions.advance(mine.position, seenBy(mine), happening, name, timesOf(mine, world.now));
    if (made === null) return { world, written: false };
    const { position } = made;
    const waitMs = waitMsOf(mine, position, world.now);
    const keeps = position.state === 'in-progress' || (waitMs !== null && waitMs <= HOLD_MS);
    const isStart = happening.type === 'due' && position.state === 'in-progress';
    const turn = turnOf(made, {
      birth: null,
      was: { owner: mine.worker, generation: mine.generation, revision: mine.revision },
      owner: keeps ? mine.worker : null,
      generation: mine.generation,
      start: isStart ? startOf(around.policy, position) : null,
      dueInMs: waitMs,
      id: REF.id,
    });
    const { world: after, answer } = inStore(world, (rows, now) => around.rules.applyTurn(rows, turn, TIMELINE, now));
    if (answer !== null) {
      const { revision, dueAt, sendBy, windowEndsAt } = answer;
      let next = changed(after, at, { position, revision, dueAt, sendBy, windowEndsAt });
      if (isStart) next = started(next, at, turn, answer);
      if (position.state !== 'in-progress') next = aborted(next, at);
      return { world: keeps ? next : drop(next, at), written: true };
    }
    const row = read(world);
    const isMine = row?.owner === mine.worker && row.generation === mine.generation;
    if (!isMine || row === null) return { world: drop(world, at), written: false };
    if (row.revision !== mine.revision) return { world: takesUp(around, world, at, row), written: false };
    world = changed(world, at, { dueAt: row.dueAt, sendBy: row.sendBy, windowEndsAt: row.windowEndsAt });
  }
  // The driver drops what it cannot write, and takes it up again later.
  return { world: drop(world, at), written: false };
}

function timesOf({ sendBy, windowEndsAt }: Held, now: number): Times {
  return { now, sendBy, windowEndsAt };
}

/** What was waited for already goes on from where it stands. */
function waitMsOf(mine: Held, next: Position, now: number): number | null {
  if (next.wait === null) return null;
  const waitedAlready = mine.position.wait?.id === next.wait.id && mine.dueAt !== null;
  return waitedAlready ? Math.max(0, (mine.dueAt ?? now) - now) : next.wait.delayMs;
}

function started(world: World, at: 0 | 1, turn: Turn, receipt: Receipt): World {
  const mine = world.slots[at].held;
  if (mine === null || mine.position.attempt === null || turn.start === null) return world;
  const { sendBy, now } = receipt;
  const { sendWithinMs, insideWindow } = turn.start;
  const request: Request = {
    number: mine.position.history.attempts.length,
    slot: at,
    generation: mine.position.attempt,
    ...{ side: 'ready', wire: 'none', isHeld: true, isAborted: false, isResubmission: insideWindow },
    recordedAt: world.now,
    leavesWithinMs: sendBy === null ? sendWithinMs : Math.min(sendWithinMs, sendBy - now),
    leftAt: null,
  };
  return { ...world, requests: [...world.requests, request] };
}

/** Its attempt under way is told to stop. */
function aborted(world: World, at: 0 | 1): World {
  const running = world.requests.find(({ slot, side, isHeld }) => slot === at && isHeld && side === 'waiting');
  return running === undefined ? world : withRequest(world, running, { isAborted: true });
}

function turnOf(
  made: Decided,
  as: Pick<Turn, 'birth' | 'was' | 'owner' | 'generation' | 'start' | 'dueInMs' | 'id'>,
): Turn {
  const { position, records, takes, contradicted } = made;
  const { state, reason, format, snapshot, output } = position;
  const fields = { turn: TURN, state, reason, contradicted, format, snapshot, output, records, takes };
  return { tenant: REF.tenant, ...as, ...fields };
}

function startOf(policy: Policy, { resubmits }: Position): Start {
  return {
    sendWithinMs: policy.sendWithinMs,
    retentionMs: policy.keyRetentionMs,
    marginMs: marginMs(policy),
    insideWindow: resubmits,
    timeline: TIMELINE,
  };
}
