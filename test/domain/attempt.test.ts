/**
 * What several attempts prove together. The authority is the fold `proofOf`; what could go wrong is that an answer
 * about one attempt is taken for an answer about another, and an effect is repeated or forgotten.
 */

import { describe, expect, test } from 'vitest';
import {
  absenceExpired,
  absenceStated,
  type AttemptResult,
  attemptLearnt,
  attemptStarted,
  type History,
  lookupAnswered,
  lostStartAssumed,
  noHistory,
  outcomeStated,
  proofOf,
  wordReceived,
} from '../../src/domain/attempt.ts';
import { absent, failed, found, inconclusive, notApplied, succeeded, unknown } from '../../src/domain/outcome.ts';

const retained = true;
const forgotten = false;
const lost = unknown('the reply was lost');
const refusedToSend = { type: 'not-applied', reason: 'too late to send', sent: false } as const;
const unreadable = { type: 'succeeded-unusably', reason: 'not the declared shape' } as const;

/** A history in which attempts 1, 2, ... were started one after the other and ended like this. */
function after(...outcomes: AttemptResult[]): History {
  return outcomes.reduce((history, outcome) => {
    const started = attemptStarted(history);
    return attemptLearnt(started, started.attempts.length, outcome);
  }, noHistory);
}

function standings(history: History): string[] {
  return history.attempts.map(({ standing }) => standing);
}

describe('an operation of which nothing was sent', () => {
  test('is proven to be without effect', () => {
    const history = noHistory;

    const proof = proofOf(history, forgotten);

    expect(proof).toEqual({ type: 'without-effect' });
  });
});

describe('an attempt that has been started', () => {
  test('proves nothing while its end is not known', () => {
    const history = attemptStarted(noHistory);

    const proof = proofOf(history, retained);

    expect(proof).toEqual({ type: 'none' });
  });

  test('makes what was looked up before it old news', () => {
    const asked = lookupAnswered(after(lost), inconclusive(), 'not-yet');

    const history = attemptStarted(asked);

    expect([asked.lookups, history.lookups]).toEqual([1, 0]);
  });

  test.each<[string, AttemptResult, ReturnType<typeof proofOf>]>([
    ['success', succeeded('receipt', { reference: 'ch_1' }), { type: 'effect', usable: true }],
    ['success that nobody can read', unreadable, { type: 'effect', usable: false }],
    ['refusal', failed('declined'), { type: 'refused', code: 'declined' }],
    ['answer that it was not applied', notApplied('429'), { type: 'without-effect' }],
    ['refusal of our own to send it', refusedToSend, { type: 'without-effect' }],
    ['silence', lost, { type: 'none' }],
  ])('is folded by its own %s when it is the only one', (_, outcome, expected) => {
    const history = after(outcome);

    const proof = proofOf(history, forgotten);

    expect(proof).toEqual(expected);
  });
});

describe('a refusal that the provider gives to every send under the key', () => {
  const forAll = failed('declined', { speaksFor: 'key' });

  test.each<[string, (answered: History) => History]>([
    ['by the reply to the last of them', (sent) => attemptLearnt(attemptStarted(sent), 3, forAll, true)],
    ['by a late word about the last of them', (sent) => wordReceived(sent, 2, forAll, undefined, true)],
    ['by a look-up', (sent) => lookupAnswered(sent, found(forAll), 'not-yet', true)],
  ])('settles those before it, %s', (_, answer) => {
    const history = answer(after(lost, lost));

    expect(proofOf(history, retained)).toEqual({ type: 'refused', code: 'declined' });
    expect(new Set(standings(history))).toEqual(new Set(['refused']));
  });

  test('settles what was absent, and could still arrive', () => {
    const absentOnce = lookupAnswered(after(lost), absent(), 'inside-window');

    const history = attemptLearnt(attemptStarted(absentOnce), 2, forAll, true);

    expect(standings(history)).toEqual(['refused', 'refused']);
  });

  test('says nothing about one that was sent after it', () => {
    const history = wordReceived(after(lost, lost), 1, forAll, undefined, true);

    expect(standings(history)).toEqual(['refused', 'unproven']);
  });

  test('speaks for itself only once the provider may have forgotten the key', () => {
    const byReply = attemptLearnt(attemptStarted(after(lost)), 2, forAll, false);
    const byLookup = lookupAnswered(after(lost, lost), found(forAll), 'not-yet', false);

    expect(standings(byReply)).toEqual(['unproven', 'refused']);
    expect(standings(byLookup)).toEqual(['unproven', 'unproven']);
  });

  test('never takes an effect back that was proven', () => {
    const history = attemptLearnt(attemptStarted(after(succeeded('receipt'))), 2, forAll, true);

    expect(standings(history)).toEqual(['effect', 'refused']);
  });
});

describe('a second send whose first reply was lost', () => {
  test.each([retained, forgotten])('does not settle by its own refusal (retained: %s)', (keyKept) => {
    const history = after(lost, failed('declined'));

    const proof = proofOf(history, keyKept);

    expect(proof).toEqual({ type: 'none' });
  });

  test.each([retained, forgotten])('does not settle by not having been applied (retained: %s)', (keyKept) => {
    const history = after(lost, notApplied('connection refused'));

    const proof = proofOf(history, keyKept);

    expect(proof).toEqual({ type: 'none' });
  });

  test('settles as refused once the first is proven to be without effect', () => {
    const history = after(lost, failed('declined'));

    const proof = proofOf(attemptLearnt(history, 1, notApplied('the gateway never passed it on')), forgotten);

    expect(proof).toEqual({ type: 'refused', code: 'declined' });
  });

  test('settles as an effect once the first is proven to have had one, whatever the second said', () => {
    const history = after(lost, failed('declined'));

    const proof = proofOf(attemptLearnt(history, 1, succeeded('receipt', { reference: 'ch_1' })), forgotten);

    expect(proof).toEqual({ type: 'effect', usable: true });
  });
});

describe('a late refusal of the first attempt', () => {
  test('does not settle while another attempt is unknown', () => {
    const history = after(lost, lost);

    const next = attemptLearnt(history, 1, failed('declined'));

    expect(standings(next)).toEqual(['refused', 'unproven']);
    expect(proofOf(next, retained)).toEqual({ type: 'none' });
  });

  test('does not settle while another attempt is running', () => {
    const history = attemptStarted(after(lost));

    const next = attemptLearnt(history, 1, failed('declined'));

    expect(proofOf(next, retained)).toEqual({ type: 'none' });
  });

  test('does not take back an effect that was proven', () => {
    const history = after(succeeded('receipt', { reference: 'ch_1' }));

    const next = attemptLearnt(history, 1, failed('declined'));

    expect(next.attempts).toEqual([{ number: 1, standing: 'effect', reference: 'ch_1' }]);
    expect(proofOf(next, forgotten)).toEqual({ type: 'effect', usable: true });
  });
});

describe('two successes', () => {
  const reply = (reference?: string) => succeeded('receipt', reference === undefined ? {} : { reference });

  test.each<[string, string | undefined, string | undefined, boolean, 'effect' | 'two-effects']>([
    ['different references', 'ch_1', 'ch_2', forgotten, 'two-effects'],
    ['different references', 'ch_1', 'ch_2', retained, 'two-effects'],
    ['the same reference', 'ch_1', 'ch_1', forgotten, 'effect'],
    ['the same reference', 'ch_1', 'ch_1', retained, 'effect'],
    ['no reference', undefined, undefined, forgotten, 'two-effects'],
    ['no reference', undefined, undefined, retained, 'effect'],
    ['one reference between them', 'ch_1', undefined, forgotten, 'two-effects'],
    ['one reference between them', undefined, 'ch_1', retained, 'effect'],
  ])('with %s (%s, %s; key retained: %s) are %s', (_, first, second, keyKept, expected) => {
    const history = after(lost, reply(second));

    const proof = proofOf(attemptLearnt(history, 1, reply(first)), keyKept);

    expect(proof.type).toBe(expected);
  });

  test('keep the output that was told first', () => {
    const history = after(lost, succeeded('the second receipt', { reference: 'ch_1' }));

    const next = attemptLearnt(history, 1, succeeded('the first receipt', { reference: 'ch_1' }));

    expect(next.result).toEqual({ output: 'the second receipt', reference: 'ch_1' });
  });

  test('are two when the second is only found by a look-up, under another reference', () => {
    const history = after({ ...unreadable, reference: 'ch_1' });

    const next = lookupAnswered(history, found(succeeded('receipt', { reference: 'ch_2' })), 'not-yet');

    expect(proofOf(next, retained)).toEqual({ type: 'two-effects' });
  });
});

describe('one attempt told of twice', () => {
  test.each([retained, forgotten])('is one effect under one reference (retained: %s)', (keyKept) => {
    const history = after(succeeded('receipt', { reference: 'ch_1' }));

    const next = attemptLearnt(history, 1, succeeded('receipt', { reference: 'ch_1' }));

    expect(proofOf(next, keyKept)).toEqual({ type: 'effect', usable: true });
  });

  test('is one effect when neither telling names a record', () => {
    const history = after(succeeded('receipt'));

    const next = attemptLearnt(history, 1, succeeded('receipt'));

    expect(proofOf(next, forgotten)).toEqual({ type: 'effect', usable: true });
  });

  test('keeps the reference when only the first telling named it', () => {
    const history = after({ ...unreadable, reference: 'ch_1' });

    const next = attemptLearnt(history, 1, succeeded('receipt'));

    expect(next.attempts).toEqual([{ number: 1, standing: 'effect', reference: 'ch_1' }]);
    expect(proofOf(next, forgotten)).toEqual({ type: 'effect', usable: true });
  });

  test.each([retained, forgotten])('is two effects when the tellings name two records (retained: %s)', (keyKept) => {
    const history = after({ ...unreadable, reference: 'ch_1' });

    const next = attemptLearnt(history, 1, succeeded('receipt', { reference: 'ch_2' }));

    expect(proofOf(next, keyKept)).toEqual({ type: 'two-effects' });
  });

  test('becomes usable when the second telling can be read', () => {
    const history = after(unreadable);

    const next = attemptLearnt(history, 1, succeeded('receipt', { reference: 'ch_1' }));

    expect(proofOf(history, forgotten)).toEqual({ type: 'effect', usable: false });
    expect(proofOf(next, forgotten)).toEqual({ type: 'effect', usable: true });
  });

  test.each<[string, AttemptResult]>([
    ['refused', failed('declined')],
    ['not applied', notApplied('429')],
    ['not sent', refusedToSend],
  ])('stays %s when the second telling knows nothing', (_, outcome) => {
    const history = after(outcome);

    const next = attemptLearnt(history, 1, lost);

    expect(next).toEqual(history);
  });

  test('stays refused when the second telling says only that it was not applied', () => {
    const history = after(failed('declined'));

    const next = attemptLearnt(history, 1, notApplied('429'));

    expect(proofOf(next, forgotten)).toEqual({ type: 'refused', code: 'declined' });
  });

  test('is one refused send, not two', () => {
    const history = after(refusedToSend);

    const next = attemptLearnt(history, 1, refusedToSend);

    expect(next.refusedSends).toBe(1);
  });
});

describe('word of an attempt that was never started', () => {
  test('changes nothing', () => {
    const history = after(lost);

    const next = attemptLearnt(history, 2, succeeded('receipt'));

    expect(next).toBe(history);
  });
});

describe('a look-up that found something', () => {
  test('proves the effect and supplies its output', () => {
    const history = after(lost);

    const next = lookupAnswered(history, found(succeeded('receipt', { reference: 'ch_1' })), 'not-yet');

    expect(proofOf(next, forgotten)).toEqual({ type: 'effect', usable: true });
    expect(next.result).toEqual({ output: 'receipt', reference: 'ch_1' });
  });

  test.each<[string, string | undefined, string | undefined, 'effect' | 'two-effects']>([
    ['two references', 'ch_1', 'ch_2', 'two-effects'],
    ['one reference twice', 'ch_1', 'ch_1', 'effect'],
    ['no references', undefined, undefined, 'two-effects'],
    ['one reference and one nameless', 'ch_1', undefined, 'two-effects'],
  ])('in several records with %s (%s, %s) proves %s, also where the key is retained', (_, first, second, expected) => {
    const history = after(lost);
    const record = (reference?: string) => succeeded('receipt', reference === undefined ? {} : { reference });

    const next = lookupAnswered(history, found(record(first), record(second)), 'not-yet');

    expect(proofOf(next, retained).type).toBe(expected);
  });

  test('twice, without a reference, is one effect', () => {
    const history = after(unreadable);
    const unreadableRecord = { type: 'found-unusably', references: [null] } as const;

    const next = lookupAnswered(lookupAnswered(history, unreadableRecord, 'not-yet'), unreadableRecord, 'not-yet');

    expect(proofOf(next, forgotten)).toEqual({ type: 'effect', usable: false });
  });

  test.each<[string, History, string[]]>([
    ['the only one', after(lost), ['refused']],
    ['the last one, after one that was not applied', after(notApplied('429'), lost), ['without-effect', 'refused']],
    ['the last one, after one that was not sent', after(refusedToSend, lost), ['not-sent', 'refused']],
  ])('whose own state is failed proves the refusal of %s', (_, history, expected) => {
    const next = lookupAnswered(history, found(failed('declined')), 'not-yet');

    expect(standings(next)).toEqual(expected);
    expect(proofOf(next, forgotten)).toEqual({ type: 'refused', code: 'declined' });
  });

  test.each<[string, History]>([
    ['is unproven', after(lost, lost)],
    ['is absent', attemptLearnt(attemptStarted(lookupAnswered(after(lost), absent(), 'inside-window')), 2, lost)],
    ['was refused', after(failed('declined'), lost)],
    ['was refused after it', after(lost, failed('declined'))],
    ['is not applied as a person says', attemptLearnt(attemptStarted(absenceStated(after(lost))), 2, lost)],
  ])('whose own state is failed proves nothing while another one %s, unless the answer is complete', (_, history) => {
    const early = lookupAnswered(history, found(failed('declined')), 'inside-window');
    const complete = lookupAnswered(history, found(failed('declined')), 'finally');

    expect(early).toEqual({ ...history, lookups: history.lookups + 1 });
    expect(proofOf(complete, forgotten)).toEqual({ type: 'refused', code: 'declined' });
  });

  test('whose first record failed and whose second succeeded proves the effect', () => {
    const history = after(lost);

    const next = lookupAnswered(
      history,
      found(failed('declined'), succeeded('receipt', { reference: 'ch_2' })),
      'not-yet',
    );

    expect(proofOf(next, forgotten)).toEqual({ type: 'effect', usable: true });
  });

  test('that nobody can read proves the effect without an output', () => {
    const history = after(lost);

    const next = lookupAnswered(history, { type: 'found-unusably', references: ['ch_1'] }, 'not-yet');

    expect(proofOf(next, forgotten)).toEqual({ type: 'effect', usable: false });
  });

  test.each<[string, readonly (string | null)[], 'effect' | 'two-effects']>([
    ['two references', ['ch_1', 'ch_2'], 'two-effects'],
    ['one reference twice', ['ch_1', 'ch_1'], 'effect'],
    ['no references', [null, null], 'two-effects'],
    ['one reference and one nameless', ['ch_1', null], 'two-effects'],
  ])('in several records that cannot all be read, with %s %j, proves %s', (_, references, expected) => {
    const history = after(lost);

    const next = lookupAnswered(history, { type: 'found-unusably', references }, 'not-yet');

    expect(proofOf(next, retained).type).toBe(expected);
  });

  test('whose own state is failed does not take back an effect that was proven', () => {
    const history = after({ ...unreadable, reference: 'ch_1' });

    const next = lookupAnswered(history, found(failed('declined')), 'finally');

    expect(proofOf(next, forgotten)).toEqual({ type: 'effect', usable: false });
  });
});

describe('a look-up that found nothing', () => {
  test('proves nothing before a record would be visible', () => {
    const history = after(lost);

    const next = lookupAnswered(history, absent(), 'not-yet');

    expect(standings(next)).toEqual(['unproven']);
    expect([proofOf(next, retained).type, next.lookups]).toEqual(['none', 1]);
  });

  test('inside the window counts, and a late success still wins', () => {
    const history = lookupAnswered(after(lost), absent(), 'inside-window');

    const next = attemptLearnt(history, 1, succeeded('receipt', { reference: 'ch_1' }));

    expect(proofOf(history, retained)).toEqual({ type: 'without-effect' });
    expect(proofOf(next, retained)).toEqual({ type: 'effect', usable: true });
  });

  test('inside the window is unproven again once the provider has forgotten the key', () => {
    const history = lookupAnswered(after(lost, notApplied('429')), absent(), 'inside-window');

    const next = absenceExpired(history);

    expect(standings(next)).toEqual(['unproven', 'without-effect']);
    expect(proofOf(next, retained)).toEqual({ type: 'none' });
  });

  test('finally stays proof', () => {
    const history = lookupAnswered(after(lost), absent(), 'finally');

    const next = absenceExpired(history);

    expect(proofOf(next, forgotten)).toEqual({ type: 'without-effect' });
  });

  test('does not take back an effect that was proven', () => {
    const history = after(unreadable);

    const next = lookupAnswered(history, absent(), 'finally');

    expect(proofOf(next, forgotten)).toEqual({ type: 'effect', usable: false });
  });

  test('does not soften a refusal', () => {
    const history = after(failed('declined'), lost);

    const next = lookupAnswered(history, absent(), 'finally');

    expect(proofOf(next, forgotten)).toEqual({ type: 'refused', code: 'declined' });
  });
});

describe('a look-up that could not tell', () => {
  test('teaches nothing but that it was asked', () => {
    const history = after(lost);

    const next = lookupAnswered(history, inconclusive(), 'finally');

    expect(next).toEqual({ ...history, lookups: 1 });
  });
});

describe('sends that were refused because their time had passed', () => {
  test('are counted in a row', () => {
    const history = after(refusedToSend, refusedToSend, refusedToSend);

    expect(history.refusedSends).toBe(3);
    expect(standings(history)).toEqual(['not-sent', 'not-sent', 'not-sent']);
  });

  test('are counted anew after one that left', () => {
    const history = after(refusedToSend, refusedToSend, notApplied('429'), refusedToSend);

    expect(history.refusedSends).toBe(1);
  });

  test('do not settle an earlier attempt whose reply was lost', () => {
    const history = after(lost, refusedToSend);

    const proof = proofOf(history, retained);

    expect(proof).toEqual({ type: 'none' });
  });
});

describe('a person', () => {
  test('who states that it did not happen grants one attempt and proves all unproven ones', () => {
    const history = lookupAnswered(after(lost, refusedToSend, lost), absent(), 'not-yet');

    const next = absenceStated(history);

    expect([next.grants, next.refusedSends]).toEqual([1, 0]);
    expect(standings(next)).toEqual(['without-effect', 'not-sent', 'without-effect']);
    expect(proofOf(next, forgotten)).toEqual({ type: 'without-effect' });
  });

  test('who states that it did not happen does not undo what was proven', () => {
    const history = after(unreadable, lost);

    const next = absenceStated(history);

    expect(proofOf(next, retained)).toEqual({ type: 'effect', usable: false });
  });

  test('who states that it happened supplies the output', () => {
    const history = after(lost);

    const next = outcomeStated(history, succeeded('receipt seen in the books', { reference: 'ch_1' }));

    expect(next.result).toEqual({ output: 'receipt seen in the books', reference: 'ch_1' });
  });

  test.each<[string, string, 'effect' | 'two-effects']>([
    ['another record', 'ch_2', 'two-effects'],
    ['the same record', 'ch_1', 'effect'],
  ])('who named a record is measured against a later proof of %s (%s): %s', (_, reference, expected) => {
    const stated = outcomeStated(after(lost), succeeded('seen in the books', { reference: 'ch_1' }));

    const next = attemptLearnt(stated, 1, succeeded('receipt', { reference }));

    expect(proofOf(next, forgotten).type).toBe(expected);
    expect(proofOf(next, retained).type).toBe(expected);
  });

  test('who states that it happened proves nothing about the attempts', () => {
    const stated = outcomeStated(after(lost), succeeded('seen in the books', { reference: 'ch_1' }));

    const next = attemptLearnt(stated, 1, failed('declined'));

    expect(proofOf(next, forgotten)).toEqual({ type: 'refused', code: 'declined' });
  });

  test('who states that it was refused teaches nothing about the attempts', () => {
    const history = after(lost);

    const next = outcomeStated(history, failed('declined'));

    expect(next).toBe(history);
  });
});

describe('an attempt that a fail-over may have lost', () => {
  const here = 'timeline-2';
  const before = 'timeline-1';

  test('is an attempt without proof, which uses up none', () => {
    const asked = lookupAnswered(after(notApplied('429')), inconclusive(), 'not-yet');

    const history = lostStartAssumed(asked, here);

    expect(history.attempts.at(-1)).toEqual({ number: 2, standing: 'unproven', assumedOn: here });
    expect([history.grants, history.lookups]).toEqual([1, 0]);
    expect(proofOf(history, retained)).toEqual({ type: 'none' });
  });

  test.each<[string, (history: History) => History, string]>([
    ['absent', (history) => lookupAnswered(history, absent(), 'finally'), 'without-effect'],
    ['found refused', (history) => lookupAnswered(history, found(failed('declined')), 'finally'), 'refused'],
    [
      'found refused while another could still come',
      (history) => lookupAnswered(history, found(failed('declined')), 'not-yet'),
      'unproven',
    ],
    ['stated not to have been', absenceStated, 'without-effect'],
    ['absent while the key is known', (history) => lookupAnswered(history, absent(), 'inside-window'), 'absent'],
  ])('is still known for one when it was %s', (_, learn, standing) => {
    const history = learn(lostStartAssumed(noHistory, here));

    expect(history.attempts).toEqual([expect.objectContaining({ standing, assumedOn: here })]);
  });

  test.each<[string, History]>([
    ['before it is reckoned with', noHistory],
    ['while it is', lostStartAssumed(noHistory, here)],
    ['after it was believed absent', lookupAnswered(lostStartAssumed(noHistory, here), absent(), 'finally')],
    ['when its number has another attempt', attemptStarted(attemptStarted(lostStartAssumed(noHistory, here)))],
  ])('has had its effect when its late word says so, %s', (_, history) => {
    const told = [1, 2].map((number) =>
      wordReceived(history, number, succeeded('receipt', { reference: 'ch_1' }), before),
    );

    expect(told.map((next) => proofOf(next, forgotten))).toEqual(
      Array.from({ length: 2 }, () => ({ type: 'effect', usable: true })),
    );
    expect(told[0]?.result).toEqual({ output: 'receipt', reference: 'ch_1' });
  });

  test('is one more effect than that of the attempt that has its number now', () => {
    const sent = attemptStarted(lostStartAssumed(noHistory, here));
    const history = attemptLearnt(sent, 2, succeeded('receipt', { reference: 'ch_2' }));

    const next = wordReceived(history, 2, succeeded('another receipt', { reference: 'ch_1' }), before);

    expect(proofOf(next, retained)).toEqual({ type: 'two-effects' });
  });

  test.each<[AttemptResult]>([[failed('declined')], [notApplied('429')], [refusedToSend], [lost]])(
    'says nothing about the attempt that has its number now, nor about others that are lost (%o)',
    (outcome) => {
      const histories = [
        noHistory,
        lostStartAssumed(noHistory, here),
        attemptStarted(lostStartAssumed(noHistory, here)),
      ];

      const told = histories.map((history) => wordReceived(history, history.attempts.length, outcome, before));

      expect(told).toEqual(histories);
    },
  );

  test.each<[string, number, string]>([
    ['that was recorded before it', 1, before],
    ['that was started after it', 3, here],
  ])('leaves the late word about an attempt %s what it is', (_, number, timeline) => {
    const history = attemptStarted(lostStartAssumed(after(lost), here));

    const next = wordReceived(history, number, notApplied('429'), timeline);

    expect(next.attempts.at(number - 1)?.standing).toBe('without-effect');
  });
});
