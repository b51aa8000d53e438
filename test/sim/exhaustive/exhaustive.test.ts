import { describe, expect, test } from 'vitest';
import {
  anAbsenceIsBelievedAtOnce,
  aShownRefusalSpeaksForAll,
  aTimeoutDidNothing,
  aTimeoutIsAFailure,
  givenBackWithoutADueTime,
  noClaimInTheFence,
  noFence,
  nothingIsTakenOver,
  noUniqueIdentity,
  theLivingAreRobbed,
  theWindowForgetsWhatIsLate,
  theWindowNeverEnds,
  whatIsUnprovenIsSentAgain,
} from './defects.ts';
import { exhaustive, type Options } from './exhaustive.ts';
import type { Kind } from './kinds.ts';
import type { Limits } from './search.ts';

/** At most one of: a crash, a stop, a worker that is not heard, a cancellation, a decision. */
const once = { attempts: 2, left: { disturbances: 1, faults: 1, cancels: 1, verdicts: 1 } };

/** None of them; requests and replies are lost all the same. */
const never = { attempts: 2, left: { disturbances: 0, faults: 0, cancels: 0, verdicts: 0 } };

const small: Options = { only: ['neither', 'key only'], limits: once };

describe('a search of every order of what can happen to one operation', () => {
  test('finds nothing wrong, and from everywhere a way to an end', () => {
    const { summary, stories } = exhaustive(small);

    expect(stories).toEqual([]);
    expect(summary).toMatchObject({ summary: 'sim-exhaustive', ok: true, violations: 0 });
    expect(summary.states).toBeGreaterThan(10_000);
  });

  test('finds the same states when it is made again', () => {
    const { ms: _, ...first } = exhaustive({ ...small, only: ['neither'] }).summary;
    const { ms: __, ...again } = exhaustive({ ...small, only: ['neither'] }).summary;

    expect(again).toEqual(first);
  });

  // biome-ignore format: the columns are the point.
  test.each<[string, Pick<Options, 'rulings' | 'rules'>, Kind, Limits, string]>([
    ['a time-out is taken for a failure',      aTimeoutIsAFailure,        'neither',                   never, 'failed while a request is on its way that can still take effect'],
    ['a time-out is taken for nothing at all', aTimeoutDidNothing,        'neither',                   never, 'two effects of one operation'],
    ['an absence is believed at once',         anAbsenceIsBelievedAtOnce, 'look-up only with a limit', never, 'two effects of one operation'],
    ['what is unproven is sent again',         whatIsUnprovenIsSentAgain, 'neither',                   never, 'sent again although an attempt is unproven and no key is retained'],
    ['the window of a key never ends',         theWindowNeverEnds,        'key only',                  never, 'sent again outside the window'],
    ['the window forgets what is late',        theWindowForgetsWhatIsLate, 'key and a longer limit',   never, 'sent again outside the window'],
    ['a refusal in the books settles all',     aShownRefusalSpeaksForAll, 'key that a refusal releases', never, 'failed while a request is on its way that can still take effect'],
    ['the fence compares the revision only',   noClaimInTheFence,         'neither',                   once,  'a write of an older generation was accepted'],
    ['there is no fence',                      noFence,                   'neither',                   once,  'a write of an older generation was accepted'],
    ['the living are robbed',                  theLivingAreRobbed,        'neither',                   never, 'sent by a worker that does not own it'],
    ['nothing is taken over',                  nothingIsTakenOver,        'neither',                   once,  'it cannot come to an end from here'],
    ['it is given back without a due time',    givenBackWithoutADueTime,  'look-up only',              never, 'an unsettled operation without a next step'],
    ['an identity may be taken twice',         noUniqueIdentity,          'neither',                   never, 'a second submission created a second operation'],
  ])('shows it when %s', (_, defect, kind, limits, what) => {
    const { stories } = exhaustive({ ...defect, only: [kind], limits, stopsAtFirst: true });

    expect(stories.map((story) => story.what)).toContain(what);
  });

  test('tells the shortest story of what is wrong', () => {
    const { stories } = exhaustive({ ...aTimeoutIsAFailure, only: ['neither'], limits: never, stopsAtFirst: true });

    expect(stories.map(({ steps }) => steps)).toEqual([
      [
        '+0 Worker A records the operation and the start of attempt 1 (in-progress)',
        '+0 Attempt 1 leaves Worker A (in-progress)',
        '+1 Time passes (in-progress)',
        '+1 Worker A waits no longer for attempt 1 (failed)',
      ],
    ]);
  });
});
