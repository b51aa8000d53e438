import { describe, expect, test } from 'vitest';
import { shipped, type Rulings } from './decisions.ts';
import { exhaustive, type Options } from './exhaustive.ts';
import { shippedRules } from './worker.ts';

/** One crash, one thing that goes wrong on the way, nobody who interferes. */
const small: Options = {
  only: ['look-up only', 'neither'],
  limits: { attempts: 2, left: { disturbances: 1, faults: 1, cancels: 0, verdicts: 0 } },
};

const wrongIn = (options: Options) => exhaustive({ ...small, ...options }).stories.map(({ what }) => what);

/** The shipped decisions, told another ending of each attempt than the one it had. */
function misheard(type: 'failed' | 'not-applied'): Rulings {
  return {
    ...shipped,
    advance(kernel, row, revision, happening, facts) {
      const isUnknown = happening.type === 'attempt.ended' && happening.result.type === 'unknown';
      const result = type === 'failed' ? { type, code: 'timed-out' } : { type, reason: 'timed out' };
      return shipped.advance(kernel, row, revision, isUnknown ? { ...happening, result } : happening, facts);
    },
  };
}

describe('a search of every order of what can happen to one operation', () => {
  test('finds nothing wrong, and from everywhere a way to an end', { timeout: 60_000 }, () => {
    const { summary, stories } = exhaustive(small);

    expect(stories).toEqual([]);
    expect(summary).toMatchObject({ ok: true, violations: 0 });
    expect(summary.states).toBeGreaterThan(5_000);
  });

  test('finds as many states when it is made again', { timeout: 60_000 }, () => {
    const [first, second] = [exhaustive(small), exhaustive(small)];

    expect(second.summary.kinds).toEqual(first.summary.kinds);
  });

  test('shows a time-out that is taken for a failure', { timeout: 60_000 }, () => {
    expect(wrongIn({ rulings: misheard('failed') })).toContain('failed although it took effect');
  });

  test('shows a time-out that is taken for a request that did nothing', { timeout: 60_000 }, () => {
    expect(wrongIn({ rulings: misheard('not-applied') })).toContain('two effects of one operation');
  });

  test('shows an absence that is believed at once', { timeout: 60_000 }, () => {
    const hasty: Rulings = {
      ...shipped,
      advance(kernel, row, revision, happening, facts) {
        if (happening.type !== 'lookup.answered') return shipped.advance(kernel, row, revision, happening, facts);
        const answer = { ...happening.answer, beganAt: happening.answer.beganAt + 3_600_000 };
        return shipped.advance(kernel, row, revision, { ...happening, answer }, facts);
      },
    };

    expect(wrongIn({ rulings: hasty, only: ['look-up only with a limit'] })).not.toEqual([]);
  });

  test('shows a store that checks neither owner nor generation nor revision', { timeout: 60_000 }, () => {
    const open = {
      ...shippedRules,
      applyTurn: ((rows, turn, timeline, now) => {
        const row = [...rows.operations.values()][0];
        const was = turn.was === null || row === undefined ? turn.was : { ...row };
        return shippedRules.applyTurn(rows, { ...turn, was }, timeline, now);
      }) satisfies typeof shippedRules.applyTurn,
    };

    expect(wrongIn({ rules: open })).not.toEqual([]);
  });

  test('tells the shortest story of what is wrong', { timeout: 60_000 }, () => {
    const [story] = exhaustive({ ...small, only: ['neither'], rulings: misheard('failed') }).stories;

    expect(story?.steps.at(0)).toContain('records the operation');
    expect(story?.steps.length).toBeLessThan(8);
  });
});
