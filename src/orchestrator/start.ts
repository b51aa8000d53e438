/**
 * What a turn tells the store about the start of an attempt. The chart decides whether there is one; here it is only
 * put into the numbers that the row's times follow from. What could go wrong is a window that is believed longer than
 * the provider's memory, or a turn that is written although what it rests on was lost in a fail-over.
 */

import { isResubmission, marginMs, type Policy } from '../domain/policy.ts';
import type { KernelRow } from '../kernel/row.ts';
import type { Start } from '../ports/store.ts';
import { contextOf, stateOf } from './row.ts';

/** What a start can be missing from, and since when. */
interface StartedOn {
  /** The timeline that the turn rests on. */
  readonly timeline: string;
  /** How long ago a start that is lost may have been recorded. */
  readonly lostForMs: number;
}

/** The start that a turn from `before` to `after` carries, if it rests on which starts are recorded; otherwise null. */
export function startIn(before: KernelRow | null, after: KernelRow, { timeline, lostForMs }: StartedOn): Start | null {
  const { policy, history } = contextOf(after);
  const known = before === null ? 0 : contextOf(before).history.attempts.length;
  const begun = history.attempts.slice(known).at(-1);
  const { sendWithinMs, keyRetentionMs: retentionMs } = policy;
  const always = { sendWithinMs, retentionMs, timeline };
  if (begun === undefined) return failsIn(before, after) ? { ...nothing, timeline } : null;
  if (begun.assumedOn === undefined) {
    return { ...always, marginMs: marginMs(policy), insideWindow: isResubmission(history) };
  }
  // Whatever was sent under the lost start left before now, and the provider counts from then.
  return { ...always, marginMs: marginMs(policy) + lostForMs, insideWindow: false };
}

/**
 * When the first request that its key counts from could leave, by the store's clock; it is the same for all that follow
 * it while the provider can know the key. `now`: where no key is retained, or that first request is forgotten, it is the
 * first.
 */
export function firstSentAt(policy: Policy, windowEndsAt: number | null, now: number): number {
  const { keyRetentionMs } = policy;
  if (keyRetentionMs === null || windowEndsAt === null) return now;
  const first = windowEndsAt - (keyRetentionMs - marginMs(policy));
  // What starts later rests on no key: everything before it is proven to be without effect.
  return now < first + keyRetentionMs ? first : now;
}

/** It fails because no attempt had an effect: that holds only where every start is recorded. */
function failsIn(before: KernelRow | null, after: KernelRow): boolean {
  return stateOf(after) === 'failed' && (before === null || stateOf(before) !== 'failed');
}

/** The start of nothing: no time follows from it that matters, but the turn is written on its timeline only. */
const nothing = { sendWithinMs: 0, retentionMs: null, marginMs: 0, insideWindow: false } as const;
