/**
 * The other company: what it makes of a request, what it remembers of a key and what it shows of its books. It keeps
 * every promise that the policy states and no other one: it counts its memory from the first request it saw, a record
 * may be invisible for as long as it may, and a request may arrive as late as it may.
 *
 * One case is left out, because no promise covers it: where nobody says how late a request can arrive, one that arrives
 * after its attempt's time-out, at a provider that has answered for the key before and has forgotten it since.
 */

import type { Policy } from '../../../src/domain/policy.ts';
import { releasesRefused } from './kinds.ts';
import type { Answer, Finding, Provider, Request, World } from './world.ts';

const ANSWERS: readonly Answer[] = ['done', 'declined', 'busy'];

/** What it may answer to a request that arrives now. A key that it knows has its answer already. */
export function answersTo(policy: Policy, { provider, now }: World): readonly Answer[] {
  const known = knownKey(policy, provider, now)?.answer ?? null;
  return known === null ? ANSWERS : [known];
}

/** Its books after a request that arrived now was answered. */
export function answered(policy: Policy, { provider, now }: World, answer: Answer): Provider {
  const { effects, refusedAt } = provider;
  const known = knownKey(policy, provider, now);
  const isReplay = known !== null && known.answer !== null;
  const settles = answer === 'busy' || (answer === 'declined' && releasesRefused(policy)) ? null : answer;
  return {
    ...provider,
    effects: answer === 'done' && !isReplay ? [...effects, now] : effects,
    refusedAt: answer === 'declined' ? (refusedAt ?? now) : refusedAt,
    key: policy.keyRetentionMs === null ? null : { since: known?.since ?? now, answer: known?.answer ?? settles },
  };
}

function knownKey({ keyRetentionMs }: Policy, { key }: Provider, now: number): Provider['key'] {
  return key !== null && keyRetentionMs !== null && now < key.since + keyRetentionMs ? key : null;
}

/**
 * What a look-up may find now: what is on record for long enough, and perhaps what is not. It always may find that it
 * cannot tell. An effect is shown before a refusal.
 */
export function findingsAt(policy: Policy, { provider, now }: World): readonly Finding[] {
  const { effects, refusedAt } = provider;
  const visibleWithinMs = policy.lookup?.visibleWithinMs ?? 0;
  const [first] = effects;
  if (first !== undefined && now - first >= visibleWithinMs) return ['found', 'inconclusive'];
  const isRefusalOld = refusedAt !== null && now - refusedAt >= visibleWithinMs;
  const found: Finding[] = first === undefined ? [] : ['found'];
  if (refusedAt !== null) found.push('found-refusal');
  if (!isRefusalOld) found.push('absent');
  return [...found, 'inconclusive'];
}

/** A request that is on its way can no longer arrive: it is later than a promise allows, or than this search goes. */
export function isTooLate(policy: Policy, { provider, now }: World, { wire, leftAt }: Request): boolean {
  if (wire !== 'out' || leftAt === null) return false;
  const isLate = now > leftAt + promisedWayMs(policy);
  return isLate && (saysHowLate(policy) || hasForgottenAnAnswer(policy, provider, now));
}

/** Otherwise nobody says, and it may arrive at any time. */
function saysHowLate({ lookup }: Policy): boolean {
  return lookup !== null && lookup.arrivalLimitMs !== null;
}

/** How long a request may be on its way, as far as anybody says. */
function promisedWayMs({ timeoutMs, lookup }: Policy): number {
  return timeoutMs + (lookup?.arrivalLimitMs ?? 0);
}

function hasForgottenAnAnswer(policy: Policy, provider: Provider, now: number): boolean {
  return (
    policy.keyRetentionMs !== null &&
    hasAnswered(policy, provider) &&
    (knownKey(policy, provider, now)?.answer ?? null) === null
  );
}

/** With what it says to every request under the key. */
function hasAnswered(policy: Policy, { effects, refusedAt }: Provider): boolean {
  return effects.length > 0 || (refusedAt !== null && !releasesRefused(policy));
}

/** Whether something that is on its way can still take effect. */
export function canStillTakeEffect(policy: Policy, world: World, request: Request): boolean {
  const { provider, now } = world;
  const { wire, leftAt } = request;
  if (wire !== 'out' || leftAt === null) return false;
  const known = knownKey(policy, provider, now);
  if (known === null || known.answer === null) return true;
  // Later than this it is left out, and until then the key is known or not.
  return known.since + (policy.keyRetentionMs ?? 0) <= leftAt + promisedWayMs(policy);
}

/**
 * A request that leaves now and is no later than anybody says may arrive when an answer that was given for its key is
 * forgotten.
 */
export function mayArriveForgotten(policy: Policy, { provider, now }: World): boolean {
  const known = knownKey(policy, provider, now);
  if (known === null || known.answer === null) return hasAnswered(policy, provider);
  return known.since + (policy.keyRetentionMs ?? 0) <= now + promisedWayMs(policy);
}
