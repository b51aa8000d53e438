/**
 * When two worlds are the same: when nothing that can still happen tells them apart. Times count by their distance from
 * now, and only while a rule may still compare them; names of workers, revisions and generations count only by which
 * are equal; and worlds that differ only in which of the two workers is which are one.
 */

import { isSettled } from '../../../src/domain/operation-state.ts';
import type { Policy } from '../../../src/domain/policy.ts';
import { seenOf } from '../../../src/orchestrator/handover.ts';
import { TICK } from './kinds.ts';
import type { Position } from './positions.ts';
import type { Held, Left, Looking, Request, Slot, World } from './world.ts';

/** Tells worlds apart. `stored` is what the store holds, `attemptsMax` how many starts the search goes. */
export function keyOfWorld(policy: Policy, attemptsMax: number, world: World, stored: Position | null): string {
  const view = viewOf(policy, attemptsMax, world, stored);
  const [a, b] = [slotKey(view, world.slots[0]), slotKey(view, world.slots[1])];
  if (a < b) return keyFrom(view, 0, a, b);
  const swapped = keyFrom(view, 1, b, a);
  if (a > b) return swapped;
  const straight = keyFrom(view, 0, a, b);
  return straight < swapped ? straight : swapped;
}

/** A world, and which of its times may still be compared. */
interface View {
  readonly policy: Policy;
  readonly world: World;
  readonly stored: Position | null;
  /** Another attempt may start. */
  readonly mayStart: boolean;
  /** After this long nobody asks any more when the last attempt was allowed to leave; null: nobody asks at all. */
  readonly sendByMs: number | null;
  readonly windowMatters: boolean;
}

function viewOf(policy: Policy, attemptsMax: number, world: World, stored: Position | null): View {
  const { timeoutMs, lookup, keyRetentionMs } = policy;
  const rests = stored !== null && (isSettled(stored.state) || (stored.state === 'escalated' && !isDecidable(world)));
  const mayStart = !rests && (stored === null || stored.history.attempts.length < attemptsMax);
  const provenMs = lookup === null ? 0 : lookup.visibleWithinMs + (lookup.arrivalLimitMs ?? 0);
  const askedMs = lookup === null ? 0 : Math.max(provenMs, lookup.giveUpAfterMs);
  const forgottenMs = mayStart ? (keyRetentionMs ?? 0) : 0;
  const isAsked = !rests && (lookup !== null || forgottenMs > 0);
  const sendByMs = isAsked ? timeoutMs + Math.max(askedMs, forgottenMs) : null;
  return { policy, world, stored, mayStart, sendByMs, windowMatters: !rests && keyRetentionMs !== null };
}

/** Only a decision brings what is escalated back; evidence settles it or does nothing. */
function isDecidable({ left, store }: World): boolean {
  if (left.disturbances > 0 && left.verdicts > 0) return true;
  for (const { handover } of store.handovers.values()) if (bringsBack(handover)) return true;
  return false;
}

function bringsBack({ handoverId }: { readonly handoverId: string }): boolean {
  return handoverId === 'verdict look-up' || handoverId === 'verdict not-applied';
}

function keyFrom(view: View, first: 0 | 1, one: string, other: string): string {
  const { world, stored } = view;
  const { requests, left } = world;
  let key = `${stored === null ? '-' : storedKey(view, stored, first)};${one};${other};`;
  for (const request of requests) key += requestKey(view, request, first);
  key += providerKey(view);
  return key + leftKey(left, stored !== null && isSettled(stored.state));
}

/** Nobody asks for what is settled to be given up, or decides about it. */
function leftKey({ disturbances, faults, cancels, verdicts }: Left, settled: boolean): string {
  const key = `;${disturbances}${Math.min(disturbances, faults)}`;
  return settled ? key : `${key}${Math.min(disturbances, cancels)}${Math.min(disturbances, verdicts)}`;
}

function storedKey(view: View, stored: Position, first: 0 | 1): string {
  const { world } = view;
  const { operation, handovers } = world.store;
  if (operation === null) return '-';
  const { owner } = operation;
  const isNow = seenOf(operation);
  let key = `${stored.shape}${ownerOf(world, first, owner)}`;
  if (!isSettled(stored.state)) key += timesKey(view, operation);
  // Evidence is applied before everything else, whenever it was handed over.
  for (const { handover } of handovers.values()) {
    if (handover.handoverId.startsWith('evidence')) key += `|${handover.handoverId}`;
  }
  for (const { handover } of handovers.values()) {
    if (handover.handoverId.startsWith('evidence')) continue;
    // Written by `handsOver`. A decision on another history is refused, whatever it says.
    const { seen } = handover.body as { seen?: string };
    key += seen === undefined || seen === isNow ? `|${handover.handoverId}` : '|verdict?';
  }
  return key;
}

type Timed = Pick<Held, 'dueAt' | 'sendBy' | 'windowEndsAt'>;

function timesKey({ world: { now }, sendByMs, windowMatters }: View, { dueAt, sendBy, windowEndsAt }: Timed): string {
  const sent = sendByMs === null || sendBy === null ? '-' : Math.max(-sendByMs, sendBy - now) / TICK;
  return `${ahead(dueAt, now)},${sent},${windowMatters ? ahead(windowEndsAt, now) : '-'}`;
}

function ahead(at: number | null, now: number): string {
  return at === null ? '-' : String(Math.max(0, at - now) / TICK);
}

function ownerOf(world: World, first: 0 | 1, owner: string | null): string {
  if (owner === null) return '-';
  const { slots } = world;
  const second = first === 0 ? 1 : 0;
  if (slots[first].id === owner) return 'a';
  if (slots[second].id === owner) return 'b';
  return isDead(world, owner) ? 'x' : 'o';
}

function isDead({ store }: World, id: string): boolean {
  return (store.workers.get(id)?.deadAt ?? null) !== null;
}

function slotKey(view: View, { id, isSilent, former, held }: Slot): string {
  const { policy, world } = view;
  const { operation } = world.store;
  let key = former !== null && operation?.owner === former ? 'f' : '';
  if (held === null) return key;
  if (isSilent) key += isDead(world, id) ? 'x' : 's';
  const { generation, revision, worker, position, looking, appliesFirst } = held;
  const isCurrent =
    operation?.owner === worker && operation.generation === generation && operation.revision === revision;
  // Whatever it makes of an outdated copy is refused, and then forgotten.
  if (!isCurrent) return `${key}o`;
  key += worker === id ? 'h' : 'h*';
  if (appliesFirst) key += '!';
  if (looking !== null) {
    const isAsked = looking.generation === position.lookup;
    key += isAsked ? `l${looking.finding}${worthOf(policy, held, looking)}` : 'l';
  }
  // What it was told last is what the row says.
  return key;
}

/** Of the beginning of a look-up only this counts: before or after which of the times that make an absence a proof. */
function worthOf({ timeoutMs, lookup }: Policy, { sendBy }: Held, { beganAt, finding }: Looking): number {
  if (lookup === null || sendBy === null || finding !== 'absent') return 0;
  const visibleFrom = sendBy + timeoutMs + lookup.visibleWithinMs;
  if (beganAt < visibleFrom) return 0;
  return beganAt < visibleFrom + (lookup.arrivalLimitMs ?? 0) ? 1 : 2;
}

function requestKey({ policy, world: { now } }: View, request: Request, first: 0 | 1): string {
  const { number, slot, side, wire, isHeld, isAborted, isResubmission, recordedAt, leavesWithinMs, leftAt } = request;
  const who = side === 'gone' ? '' : slot === first ? 'a' : 'b';
  let key = `[${number}${who}${side}${wire}`;
  if (isHeld) key += 'h';
  if (isAborted) key += '!';
  if (side === 'ready')
    key += `${Math.max(-TICK, leavesWithinMs - (now - recordedAt)) / TICK}${isResubmission ? 'r' : ''}`;
  if (leftAt === null) return key;
  const { timeoutMs, lookup, keyRetentionMs } = policy;
  const limitMs = lookup?.arrivalLimitMs ?? null;
  const waitedMs = side === 'waiting' ? timeoutMs : 0;
  const lateMs = keyRetentionMs === null ? 0 : timeoutMs + TICK;
  const travelsMs = wire === 'out' ? Math.max(lateMs, limitMs === null ? 0 : timeoutMs + limitMs + TICK) : 0;
  return key + Math.min(now - leftAt, Math.max(waitedMs, travelsMs)) / TICK;
}

function providerKey({ policy, world, mayStart }: View): string {
  const { provider, now, requests } = world;
  const { effects, refusedAt } = provider;
  const { lookup, keyRetentionMs } = policy;
  const visibleWithinMs = lookup?.visibleWithinMs ?? 0;
  const mayAsk = mayStart || requests.some(({ side, wire }) => side === 'ready' || wire === 'out');
  const [effect] = effects;
  let key = '';
  if (effect !== undefined) key += `e${effects.length}${Math.min(now - effect, visibleWithinMs) / TICK}`;
  if (refusedAt !== null && (lookup !== null || mayAsk)) {
    key += `r${Math.min(now - refusedAt, visibleWithinMs) / TICK}`;
  }
  if (keyRetentionMs === null || !mayAsk) return key;
  const { key: known } = provider;
  if (known !== null && now - known.since < keyRetentionMs)
    key += `k${(now - known.since) / TICK}${known.answer ?? ''}`;
  return key;
}
