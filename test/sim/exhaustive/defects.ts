/**
 * Mistakes that somebody could make in the decisions or in the rules of the store, put in the place of what is shipped,
 * so that a test can show that the search finds them.
 */

import { operationMachine } from '../../../machines/operation.ts';
import { kernelOf } from '../../../src/kernel/kernel.ts';
import { type Rulings, shipped } from './decisions.ts';
import type { Options } from './exhaustive.ts';
import { TICK } from './kinds.ts';
import { shippedRules, type StoreRules } from './worker.ts';

type Defect = Pick<Options, 'rulings' | 'rules'>;
type Advance = Rulings['advance'];
type Apply = StoreRules['applyTurn'];

function advancing(advance: Advance): Defect {
  return { rulings: { ...shipped, advance } };
}

function writing(applyTurn: Apply): Defect {
  return { rules: { ...shippedRules, applyTurn } };
}

/** What nobody knows is taken for something else. */
function unknownAs(result: { type: 'failed'; code: string } | { type: 'not-applied'; reason: string }): Defect {
  return advancing((kernel, row, seen, happening, facts) => {
    const isUnknown = happening.type === 'attempt.ended' && happening.result.type === 'unknown';
    return shipped.advance(kernel, row, seen, isUnknown ? { ...happening, result } : happening, facts);
  });
}

export const aTimeoutIsAFailure = unknownAs({ type: 'failed', code: 'timed_out' });

export const aTimeoutDidNothing = unknownAs({ type: 'not-applied', reason: 'timed out' });

/** As if the request had been sent long before the look-up. */
export const anAbsenceIsBelievedAtOnce = advancing((kernel, row, seen, happening, facts) => {
  const longAgo = { ...facts, sendBy: facts.now - 3_600_000 };
  return shipped.advance(kernel, row, seen, happening, happening.type === 'lookup.answered' ? longAgo : facts);
});

/** A refusal in the books is taken for the answer to all that was sent. */
export const aShownRefusalSpeaksForAll = advancing((kernel, row, seen, happening, facts) => {
  if (happening.type !== 'lookup.answered' || happening.answer.finding.type !== 'found') {
    return shipped.advance(kernel, row, seen, happening, facts);
  }
  const [first, ...more] = happening.answer.finding.records.map((record) =>
    record.type === 'failed' ? { ...record, speaksFor: 'key' as const } : record,
  );
  const finding = { ...happening.answer.finding, records: [first!, ...more] as const };
  return shipped.advance(kernel, row, seen, { ...happening, answer: { ...happening.answer, finding } }, facts);
});

/** Nothing in the chart, nor in the store, keeps an unproven attempt from being sent again. */
export const whatIsUnprovenIsSentAgain: Defect = {
  rulings: {
    ...shipped,
    kernel: kernelOf(
      operationMachine.provide({
        guards: { mayResubmitUnasked: () => true, mayNotStart: () => false, mayNotStartAndLookup: () => false },
      }),
    ),
  },
  ...writing((rows, turn, ...rest) =>
    shippedRules.applyTurn(rows, { ...turn, start: turn.start && { ...turn.start, insideWindow: false } }, ...rest),
  ),
};

/** The window is never over, neither for the chart nor for the store. */
export const theWindowNeverEnds: Defect = {
  ...advancing((kernel, row, seen, happening, facts) =>
    shipped.advance(kernel, row, seen, happening, { ...facts, windowEndsAt: null }),
  ),
  ...writing((rows, turn, ...rest) =>
    shippedRules.applyTurn(rows, { ...turn, start: turn.start && { ...turn.start, insideWindow: false } }, ...rest),
  ),
};

/** Only the revision is compared. */
export const noClaimInTheFence = writing((rows, turn, ...rest) => {
  const [row] = rows.operations.values();
  const was = turn.was && row ? { ...turn.was, owner: row.owner, generation: row.generation } : turn.was;
  return shippedRules.applyTurn(rows, { ...turn, was }, ...rest);
});

/** Owner, generation and revision are compared with themselves. */
export const noFence = writing((rows, turn, ...rest) => {
  const [row] = rows.operations.values();
  return shippedRules.applyTurn(rows, { ...turn, was: turn.was && row ? row : turn.was }, ...rest);
});

export const noUniqueIdentity = writing((rows, turn, ...rest) => {
  if (turn.birth !== null) rows.identities.clear();
  return shippedRules.applyTurn(rows, turn, ...rest);
});

export const givenBackWithoutADueTime = writing((rows, turn, ...rest) =>
  shippedRules.applyTurn(rows, { ...turn, dueInMs: turn.owner === null ? null : turn.dueInMs }, ...rest),
);

/** What a dead worker owned is left to it. */
export const nothingIsTakenOver: Defect = {
  rules: {
    ...shippedRules,
    claim: (rows, ...rest) =>
      [...rows.operations.values()].some(({ owner }) => owner !== null) ? [] : shippedRules.claim(rows, ...rest),
  },
};

/** Nobody asks whether the owner lives. */
export const theLivingAreRobbed: Defect = {
  rules: {
    ...shippedRules,
    claim: (rows, worker, ...rest) => {
      const others = new Map([...rows.workers].filter(([id]) => id === worker));
      return shippedRules.claim({ ...rows, workers: others }, worker, ...rest);
    },
  },
};

/** The window is as long as if nothing came later than its attempt waits. */
export const theWindowForgetsWhatIsLate = writing((rows, turn, ...rest) =>
  shippedRules.applyTurn(rows, { ...turn, start: turn.start && { ...turn.start, marginMs: 2 * TICK } }, ...rest),
);
