/**
 * The decisions at their boundaries. The authority is the policy that a definition declared about its provider; what
 * could go wrong is one millisecond too much: a send after the key was forgotten, an absence believed too early.
 */

import { describe, expect, test } from 'vitest';
import {
  absenceStated,
  type AttemptResult,
  attemptLearnt,
  attemptStarted,
  type History,
  lookupAnswered,
  lostStartAssumed,
  noHistory,
} from '../../src/domain/attempt.ts';
import { absent, failed, inconclusive, notApplied, succeeded, unknown } from '../../src/domain/outcome.ts';
import {
  absenceCounts,
  attemptPauseMs,
  attemptsLeft,
  type Facts,
  failureOf,
  isResubmission,
  LOOKUP_PAUSE_MAX_MS,
  type LookupPolicy,
  lookupGivesUp,
  lookupPauseMs,
  mayResubmitUnasked,
  mayStart,
  mayStartAfresh,
  mayTryAgain,
  type Policy,
  proof,
  reasonWithoutLookup,
  startMayBeLost,
  windowAllows,
} from '../../src/domain/policy.ts';

const lookup: LookupPolicy = { visibleWithinMs: 20, arrivalLimitMs: null, everyMs: 1_000, giveUpAfterMs: 50_000 };
const both: Policy = {
  contract: null,
  keyRetentionMs: 100_000,
  lookup,
  timeoutMs: 10,
  sendWithinMs: 5,
  retry: { attempts: 3, backoff: 'exponential', delayMs: 100, maxDelayMs: 60_000, jitter: 'none' },
  inverse: false,
};
const retentionOnly: Policy = { ...both, lookup: null };
const lookupOnly: Policy = { ...both, keyRetentionMs: null };
const neither: Policy = { ...both, keyRetentionMs: null, lookup: null };

/** Sent at the latest at 1,000, so that its record is visible from 1,030 on; the key is known until 5,000. */
const facts: Facts = { now: 2_000, sendBy: 1_000, windowEndsAt: 5_000, lostStartOn: null, random: 0.5 };
const visibleFrom = 1_030;

const lost = unknown('the reply was lost');
const refusedToSend = { type: 'not-applied', reason: 'too late to send', sent: false } as const;
const unreadable = { type: 'succeeded-unusably', reason: 'not the declared shape' } as const;
const toBeAskedAbout = { ...unknown('status 500'), sendAgain: 'ask-first' } as const;

/** Not applied, and not to be sent again before this time is over. */
function leaveMeAlone(retryAfterMs: number): AttemptResult {
  return { ...notApplied('429'), retryAfterMs };
}

function after(...outcomes: AttemptResult[]): History {
  return outcomes.reduce((history, outcome) => {
    const started = attemptStarted(history);
    return attemptLearnt(started, started.attempts.length, outcome);
  }, noHistory);
}

function absentAt(history: History, counts: 'inside-window' | 'finally'): History {
  return lookupAnswered(history, absent(), counts);
}

function withArrivalLimit(policy: Policy, arrivalLimitMs: number): Policy {
  return { ...policy, lookup: { ...lookup, arrivalLimitMs } };
}

function withAttempts(policy: Policy, attempts: number): Policy {
  return { ...policy, retry: { ...policy.retry, attempts } };
}

function cancelled(history: History): History {
  return { ...history, cancelled: true };
}

describe('the four kinds of provider, after a reply was lost', () => {
  const notVisibleYet = { type: 'absent', beganAt: visibleFrom - 1 } as const;
  const visible = { type: 'absent', beganAt: visibleFrom } as const;

  const window = facts;
  const over: Facts = { ...facts, now: 5_000 };
  const none: Facts = { ...facts, windowEndsAt: null };

  // biome-ignore format: the columns are the point.
  test.each<[string, Policy, Facts, string, string, string]>([
    // provider and moment                             unasked      an absence is    and then
    ['both, inside the window',         both,          window, 'look up',   'inside-window', 'resubmit'],
    ['both, window over',               both,          over,   'look up',   'not-yet',       'window-passed'],
    ['retention only, inside',          retentionOnly, window, 'resubmit',  'not-yet',       'no-lookup'],
    ['retention only, window over',     retentionOnly, over,   'hand over', 'not-yet',       'window-passed'],
    ['look-up only',                    lookupOnly,    none,   'look up',   'not-yet',       'absent-not-final'],
    ['look-up only, arrival limit met', withArrivalLimit(lookupOnly, 0), none, 'look up', 'finally', 'resubmit'],
    ['neither',                         neither,       none,   'hand over', 'not-yet',       'no-lookup'],
  ])('%s', (_, policy, moment, unasked, counts, otherwise) => {
    const history = after(lost);

    const absence = absenceCounts(policy, moment, visible.beganAt);
    const afterAbsence = lookupAnswered(history, absent(), absence);
    const without = mayResubmitUnasked(history, policy, moment) ? 'resubmit' : 'hand over';
    const first = policy.lookup === null ? without : 'look up';
    const givesUp = lookupGivesUp(afterAbsence, policy, moment, visible);
    const asked = mayStartAfresh(afterAbsence, policy, moment) ? 'resubmit' : givesUp;
    const last = policy.lookup === null ? reasonWithoutLookup(history, policy, moment) : asked;

    expect({ unasked: first, counts: absence, otherwise: last }).toEqual({ unasked, counts, otherwise });
  });

  test.each([
    ['both', both],
    ['look-up only', lookupOnly],
  ])('%s: an absence seen too early is asked about again', (_, policy) => {
    const history = after(lost);

    const counts = absenceCounts(policy, facts, notVisibleYet.beganAt);
    const givesUp = lookupGivesUp(history, policy, facts, notVisibleYet);

    expect([counts, givesUp]).toEqual(['not-yet', null]);
  });
});

describe('attempts', () => {
  test.each([
    [1, 0, true],
    [1, 1, false],
    [10, 9, true],
    [10, 10, false],
  ])('of %i allowed, after %i started: another one is left: %s', (allowed, started, expected) => {
    const history = after(...Array.from({ length: started }, () => notApplied('429')));

    const left = attemptsLeft(history, withAttempts(both, allowed));

    expect(left).toBe(expected);
  });

  test('count from their start, before their end is known', () => {
    const history = attemptStarted(noHistory);

    const left = attemptsLeft(history, withAttempts(both, 1));

    expect(left).toBe(false);
  });

  test('that never left this process do not count', () => {
    const history = after(refusedToSend, refusedToSend, notApplied('429'));

    const left = [attemptsLeft(history, withAttempts(both, 1)), attemptsLeft(history, withAttempts(both, 2))];

    expect(left).toEqual([false, true]);
  });

  test('are one more for every statement of a person that it did not happen', () => {
    const history = absenceStated(after(lost));

    const left = [
      attemptsLeft(history, withAttempts(both, 1)),
      attemptsLeft(attemptStarted(history), withAttempts(both, 1)),
    ];

    expect(left).toEqual([true, false]);
  });
});

describe('the failure of an operation', () => {
  test.each<[string, History, string | null]>([
    ['nothing was sent', noHistory, null],
    ['nothing was sent and it is cancelled', cancelled(noHistory), 'cancelled'],
    ['it was refused', after(failed('declined')), 'declined'],
    ['it was refused and is cancelled', cancelled(after(failed('declined'))), 'declined'],
    ['an attempt is left', after(notApplied('429'), notApplied('429')), null],
    ['no attempt is left', after(notApplied('429'), notApplied('429'), notApplied('429')), 'attempts-exhausted'],
    [
      'no attempt is left and it is cancelled',
      cancelled(after(...Array.from({ length: 3 }, () => notApplied('429')))),
      'cancelled',
    ],
    ['no attempt is left and one is unproven', after(lost, notApplied('429'), notApplied('429')), null],
    ['one is unproven and it is cancelled', cancelled(after(lost)), null],
    ['one is unproven and one was refused', after(lost, failed('declined')), null],
    ['one was absent and may arrive, and none is left', absentAt(after(lost, lost, lost), 'inside-window'), null],
    ['one was absent and may arrive, and it is cancelled', cancelled(absentAt(after(lost), 'inside-window')), null],
    [
      'one was absent and may arrive, and the next was refused',
      attemptLearnt(attemptStarted(absentAt(after(lost), 'inside-window')), 2, failed('declined')),
      null,
    ],
    ['one was absent for good, and none is left', absentAt(after(lost, lost, lost), 'finally'), 'attempts-exhausted'],
    ['one was absent for good, and it is cancelled', cancelled(absentAt(after(lost), 'finally')), 'cancelled'],
    ['it happened', after(succeeded('receipt')), null],
    ['it happened and is cancelled', cancelled(after(succeeded('receipt'))), null],
    ['it happened and nobody can read the answer', after(unreadable), null],
  ])('when %s', (_, history, expected) => {
    const code = failureOf(history, both, facts);

    expect(code).toBe(expected);
  });
});

describe('two nameless successes', () => {
  test('are one effect only where the policy says that the key is retained', () => {
    const history = attemptLearnt(after(lost, succeeded('receipt')), 1, succeeded('receipt'));

    const proofs = [proof(history, both).type, proof(history, retentionOnly).type, proof(history, lookupOnly).type];

    expect(proofs).toEqual(['effect', 'effect', 'two-effects']);
  });
});

describe('another send', () => {
  test.each<[string, History, boolean]>([
    ['nothing was sent', noHistory, false],
    ['the reply was lost', after(lost), true],
    ['it was found absent inside the window', lookupAnswered(after(lost), absent(), 'inside-window'), true],
    ['it was found absent for good', lookupAnswered(after(lost), absent(), 'finally'), false],
    ['it was not applied', after(notApplied('429')), false],
    ['it was not sent', after(refusedToSend), false],
    ['a person states that it did not happen', absenceStated(after(lost)), false],
  ])('after %s is a resubmission: %s', (_, history, expected) => {
    const resubmission = isResubmission(history);

    expect(resubmission).toBe(expected);
  });

  test.each<[string, Policy, number, boolean]>([
    ['one millisecond before the window ends', both, 4_999, true],
    ['exactly when the window ends', both, 5_000, false],
    ['one millisecond after the window ended', both, 5_001, false],
    ['where no key is retained', lookupOnly, 2_000, false],
  ])('of something unproven, %s', (_, policy, now, expected) => {
    const moment = { ...facts, now };

    const answers = [windowAllows(after(lost), policy, moment), mayStart(after(lost), policy, moment)];

    expect(answers).toEqual([expected, expected]);
  });

  test('of something unproven needs an attempt that is left', () => {
    const history = after(lost, lost, lost);

    const allowed = [mayStart(history, both, facts), mayStart(history, withAttempts(both, 4), facts)];

    expect(allowed).toEqual([false, true]);
  });

  test('of something proven to be without effect has no window', () => {
    const moment = { ...facts, now: 1_000_000 };

    const allowed = [
      windowAllows(after(notApplied('429')), neither, moment),
      mayStart(after(notApplied('429')), neither, moment),
    ];

    expect(allowed).toEqual([true, true]);
  });
});

describe('trying again after an attempt that was not applied', () => {
  test.each<[string, History, boolean]>([
    ['when it reached the provider', after(notApplied('429')), true],
    ['when it never left', after(refusedToSend), true],
    ['when an earlier one is unproven (its window is checked when it is due)', after(lost, notApplied('429')), true],
    ['when an earlier one is unproven and the window is over before', after(lost, leaveMeAlone(3_000)), false],
    ['when the window does not matter, however long its pause', after(leaveMeAlone(9_000)), true],
    ['when none is left', after(notApplied('429'), notApplied('429'), notApplied('429')), false],
    ['when it is cancelled', cancelled(after(notApplied('429'))), false],
    ['when the last one was refused', after(failed('declined')), false],
    ['when the last one is unproven', after(notApplied('429'), lost), false],
    ['when an earlier one had an effect', after(unreadable, notApplied('429')), false],
    ['when nothing was sent', noHistory, false],
  ])('%s: %s', (_, history, expected) => {
    const allowed = mayTryAgain(history, both, facts);

    expect(allowed).toBe(expected);
  });
});

describe('starting afresh once all is proven', () => {
  test.each<[string, History, boolean]>([
    ['when it was not applied', after(notApplied('429')), true],
    ['when it was found absent', lookupAnswered(after(lost), absent(), 'inside-window'), true],
    ['when it was found absent, none left', lookupAnswered(after(lost, lost, lost), absent(), 'inside-window'), false],
    ['when it was found absent and is cancelled', cancelled(lookupAnswered(after(lost), absent(), 'finally')), false],
    ['when one is unproven', after(lost), false],
    ['when it was refused', after(failed('declined')), false],
    ['when it happened', after(unreadable), false],
  ])('%s: %s', (_, history, expected) => {
    const allowed = mayStartAfresh(history, both, facts);

    expect(allowed).toBe(expected);
  });
});

describe('sending again without asking', () => {
  test.each<[string, History, Policy, number, boolean]>([
    ['when its pause ends inside the window', after(lost), retentionOnly, 4_899, true],
    ['when its pause ends exactly with the window', after(lost), retentionOnly, 4_900, false],
    ['exactly when the window ends', after(lost), retentionOnly, 5_000, false],
    ['where it has to be asked about first', after(toBeAskedAbout), retentionOnly, 2_000, false],
    ['where the provider can be asked', after(lost), both, 2_000, false],
    ['where the key is not retained', after(lost), neither, 2_000, false],
    ['when none is left', after(lost, lost, lost), retentionOnly, 2_000, false],
    ['when it is cancelled', cancelled(after(lost)), retentionOnly, 2_000, false],
    ['when it happened and nobody can read the answer', after(unreadable), retentionOnly, 2_000, false],
  ])('%s: %s', (_, history, policy, now, expected) => {
    const allowed = mayResubmitUnasked(history, policy, { ...facts, now });

    expect(allowed).toBe(expected);
  });
});

describe('the reason where nobody can be asked', () => {
  test.each<[string, History, Policy, number, string]>([
    ['the answer cannot be read', after(unreadable), retentionOnly, 5_000, 'output-unusable'],
    ['the window is over', after(lost), retentionOnly, 5_000, 'window-passed'],
    ['none is left inside the window', after(lost, lost, lost), retentionOnly, 4_999, 'no-lookup'],
    ['what is left would start only after the window', after(lost), retentionOnly, 4_999, 'window-passed'],
    ['it has to be asked about first', after(toBeAskedAbout), retentionOnly, 4_999, 'no-lookup'],
    ['there is no window', after(lost), neither, 5_000, 'no-lookup'],
  ])('when %s', (_, history, policy, now, expected) => {
    const reason = reasonWithoutLookup(history, policy, { ...facts, now });

    expect(reason).toBe(expected);
  });
});

describe('how much an absence proves', () => {
  test.each<[string, Policy, Partial<Facts>, number, string]>([
    ['one millisecond before it would be visible', both, {}, visibleFrom - 1, 'not-yet'],
    ['exactly from when it would be visible', both, {}, visibleFrom, 'inside-window'],
    ['one millisecond before the window ends', both, { now: 4_999 }, visibleFrom, 'inside-window'],
    ['exactly when the window ends', both, { now: 5_000 }, visibleFrom, 'not-yet'],
    ['one millisecond before the arrival limit', withArrivalLimit(both, 100), {}, visibleFrom + 99, 'inside-window'],
    ['exactly at the arrival limit', withArrivalLimit(both, 100), {}, visibleFrom + 100, 'finally'],
    ['at the arrival limit, window over', withArrivalLimit(both, 100), { now: 5_000 }, visibleFrom + 100, 'finally'],
    ['before the arrival limit, window over', withArrivalLimit(both, 100), { now: 5_000 }, visibleFrom + 99, 'not-yet'],
    ['no retention, before the arrival limit', withArrivalLimit(lookupOnly, 100), {}, visibleFrom + 99, 'not-yet'],
    ['no retention, at the arrival limit', withArrivalLimit(lookupOnly, 100), {}, visibleFrom + 100, 'finally'],
    ['an arrival limit of nothing', withArrivalLimit(lookupOnly, 0), {}, visibleFrom, 'finally'],
    ['no retention and no arrival limit', lookupOnly, {}, 1_000_000, 'not-yet'],
    ['no look-up at all', retentionOnly, {}, 1_000_000, 'not-yet'],
    ['nothing was sent', both, { sendBy: null }, 2_000, 'inside-window'],
  ])('%s', (_, policy, moment, beganAt, expected) => {
    const counts = absenceCounts(policy, { ...facts, ...moment }, beganAt);

    expect(counts).toBe(expected);
  });
});

describe('looking up further', () => {
  const givesUpAt = 1_000 + 10 + 50_000;
  const open = { ...facts, windowEndsAt: 1_000_000 };

  test.each<[string, Policy, string, number, string | null]>([
    ['could not tell, one millisecond before the limit', both, 'inconclusive', givesUpAt - 1, null],
    ['could not tell, exactly at the limit', both, 'inconclusive', givesUpAt, 'lookup-exhausted'],
    ['could not tell, where no key is retained', lookupOnly, 'inconclusive', givesUpAt, 'lookup-exhausted'],
    ['found what nobody can read', both, 'found-unusably', 2_000, 'output-unusable'],
    ['there is none', retentionOnly, 'absent', 2_000, 'no-lookup'],
  ])('when it %s', (_, policy, type, now, expected) => {
    const reason = lookupGivesUp(after(lost), policy, { ...open, now }, { type, beganAt: 0 });

    expect(reason).toBe(expected);
  });

  test.each<[string, Policy, number, string | null]>([
    ['no retention, before it would be visible', lookupOnly, visibleFrom - 1, null],
    ['no retention, when it would be visible', lookupOnly, visibleFrom, 'absent-not-final'],
    ['no retention, with an arrival limit to wait for', withArrivalLimit(lookupOnly, 100), visibleFrom, null],
    ['window over, before it would be visible', both, visibleFrom - 1, null],
    ['window over, when it would be visible', both, visibleFrom, 'window-passed'],
    ['window over, with an arrival limit to wait for', withArrivalLimit(both, 100), visibleFrom, null],
  ])('after an absence: %s', (_, policy, beganAt, expected) => {
    const reason = lookupGivesUp(after(lost), policy, { ...facts, now: 6_000 }, { type: 'absent', beganAt });

    expect(reason).toBe(expected);
  });

  test.each<[string, History, number, string]>([
    ['when none is left, one millisecond before the window ends', after(lost, lost, lost), 4_999, 'absent-not-final'],
    ['when none is left, exactly when the window ends', after(lost, lost, lost), 5_000, 'window-passed'],
    ['when it would start only after the window', after(lost), 4_999, 'window-passed'],
  ])('after an absence that allows no other attempt, %s', (_, history, now, expected) => {
    const reason = lookupGivesUp(history, both, { ...facts, now }, { type: 'absent', beganAt: visibleFrom });

    expect(reason).toBe(expected);
  });

  test('is pointless after an absence when the effect is proven and its output is missing', () => {
    const history = after(unreadable);

    const reason = lookupGivesUp(history, both, facts, { type: 'absent', beganAt: 0 });

    expect(reason).toBe('output-unusable');
  });
});

describe('looking up what was sent before it was created, as after a fail-over', () => {
  test.each([
    [9_000, null],
    [120_000, 'lookup-exhausted'],
  ])('after %i ms answers %s', (now, expected) => {
    const { giveUpAfterMs } = both.lookup ?? { giveUpAfterMs: 0 };
    const asked = { ...facts, sendBy: null, createdAt: 1_000, now: now < 10_000 ? now : now + giveUpAfterMs };

    const reason = lookupGivesUp(noHistory, both, asked, { type: 'inconclusive', beganAt: now });

    expect(reason).toBe(expected);
  });
});

describe('the pause before the next look-up', () => {
  const longAgo = { ...facts, now: 10_000 };

  function asked(times: number): History {
    return Array.from({ length: times }).reduce<History>(
      (history) => lookupAnswered(history, inconclusive(), 'not-yet'),
      after(lost),
    );
  }

  test.each([
    [0, 0],
    [1, 1_000],
    [2, 2_000],
    [3, 4_000],
    [12, 2_048_000],
    [13, LOOKUP_PAUSE_MAX_MS],
    [10_000, LOOKUP_PAUSE_MAX_MS],
  ])('after %i answers is at most %i ms and at least half of it', (times, expected) => {
    const history = { ...asked(0), lookups: times };

    const shortest = lookupPauseMs(history, both, { ...longAgo, random: 0 });
    const longest = lookupPauseMs(history, both, { ...longAgo, random: 1 - Number.EPSILON });

    expect([shortest, longest]).toEqual([expected / 2, expected]);
  });

  test('is never longer than until a record would be visible', () => {
    const history = asked(5);

    const pauses = [1_000, 1_029, 1_030].map((now) => lookupPauseMs(history, both, { ...facts, now, random: 0 }));

    expect(pauses).toEqual([30, 1, 8_000]);
  });

  test('is never longer than until an absence would be final', () => {
    const history = asked(5);
    const policy = withArrivalLimit(both, 100);

    const pauses = [1_000, 1_030, 1_129, 1_130].map((now) =>
      lookupPauseMs(history, policy, { ...facts, now, random: 0 }),
    );

    expect(pauses).toEqual([30, 100, 1, 8_000]);
  });

  test('is none where there is no look-up', () => {
    const pause = lookupPauseMs(asked(3), retentionOnly, longAgo);

    expect(pause).toBe(0);
  });
});

describe('the pause before the next attempt', () => {
  const jittered: Policy = { ...both, retry: { ...both.retry, jitter: 'full' } };

  test('is none before the first', () => {
    const pause = attemptPauseMs(noHistory, both, facts);

    expect(pause).toBe(0);
  });

  test('doubles up to its maximum', () => {
    const histories = [1, 2, 3, 9, 10, 11].map((count) =>
      after(...Array.from({ length: count }, () => notApplied('429'))),
    );

    const pauses = histories.map((history) => attemptPauseMs(history, both, facts));

    expect(pauses).toEqual([100, 200, 400, 25_600, 51_200, 60_000]);
  });

  test('stays the same with a fixed backoff', () => {
    const policy: Policy = { ...both, retry: { ...both.retry, backoff: 'fixed' } };

    const pauses = [1, 2, 9].map((count) =>
      attemptPauseMs(after(...Array.from({ length: count }, () => lost)), policy, facts),
    );

    expect(pauses).toEqual([100, 100, 100]);
  });

  test('is never shorter than was asked for, and follows nobody who asked before', () => {
    const histories = [after(leaveMeAlone(7_000)), after(leaveMeAlone(50)), after(leaveMeAlone(7_000), lost)];

    const pauses = histories.map((history) => attemptPauseMs(history, both, facts));

    expect(pauses).toEqual([7_000, 100, 200]);
  });

  test('is still the one that was asked for when a look-up has found nothing since', () => {
    const asked = after({ ...lost, retryAfterMs: 7_000 });

    const pause = attemptPauseMs(absentAt(asked, 'inside-window'), both, facts);

    expect(pause).toBe(7_000);
  });

  test('is spread over the whole of itself', () => {
    const history = after(notApplied('429'), notApplied('429'));

    const pauses = [0, 0.25, 1 - Number.EPSILON].map((random) =>
      attemptPauseMs(history, jittered, { ...facts, random }),
    );

    expect(pauses).toEqual([0, 50, 200]);
  });
});

describe('a start that a fail-over may have lost', () => {
  const lostStart: Facts = { ...facts, lostStartOn: 'timeline-2' };

  test('is looked for until it was reckoned with on the timeline that the store is on', () => {
    const known = lostStartAssumed(noHistory, 'timeline-2');
    const later = { ...lostStart, lostStartOn: 'timeline-3' };

    const answers = [
      startMayBeLost(noHistory, facts),
      startMayBeLost(noHistory, lostStart),
      startMayBeLost(known, lostStart),
      startMayBeLost(known, later),
    ];

    expect(answers).toEqual([false, true, false, true]);
  });

  test.each<[string, History]>([
    ['cancelled before its first attempt', cancelled(noHistory)],
    ['refused', after(failed('declined'))],
    ['without attempts left', after(notApplied('429'), notApplied('429'), notApplied('429'))],
  ])('keeps what is %s from failing', (_, history) => {
    const codes = [failureOf(history, both, facts), failureOf(history, both, lostStart)];

    expect(codes).toEqual([expect.any(String), null]);
  });

  test('leaves as many attempts as there were', () => {
    const once = withAttempts(both, 1);

    const left = [noHistory, after(lost)].map((history) => attemptsLeft(lostStartAssumed(history, 'timeline-2'), once));

    expect(left).toEqual([true, false]);
  });

  test.each<[string, Policy, Facts, string]>([
    ['because of the fail-over', neither, facts, 'timeline-changed'],
    ['because its key may be forgotten', retentionOnly, { ...facts, now: 5_000 }, 'window-passed'],
  ])('is handed to a person %s', (_, policy, moment, reason) => {
    const history = lostStartAssumed(noHistory, 'timeline-2');

    expect(reasonWithoutLookup(history, policy, moment)).toBe(reason);
  });
});

describe('an operation that is cancelled', () => {
  test('is not started, whatever it waits for', () => {
    const allowed = [noHistory, after(notApplied('429'))].map((history) => mayStart(cancelled(history), both, facts));

    expect(allowed).toEqual([false, false]);
  });
});
