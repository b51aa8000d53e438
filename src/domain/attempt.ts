/**
 * What is known of the attempts of one operation, and how new knowledge changes it. Every function takes a history
 * and a fact and returns the next history: nothing is forgotten, an effect once proven stays proven, and an answer
 * about one attempt says nothing about another.
 */

import type { PauseAsked } from './backoff.ts';
import type { Finding, Outcome, Settling, Succeeded } from './outcome.ts';

/**
 * Where one started attempt stands.
 *  - `open`: recorded as started, no end known.
 *  - `unproven`: ended without proof either way.
 *  - `absent`: the provider had no record when it should have. It may be sent again while the provider knows the key,
 *    and may still arrive.
 *  - `without-effect`: proven not to have happened.
 *  - `refused`: the provider refused it for good.
 *  - `effect`: proven to have happened.
 *  - `not-sent`: never left this process; not counted as an attempt.
 */
export type Standing = 'open' | 'unproven' | 'absent' | 'without-effect' | 'refused' | 'effect' | 'not-sent';

export interface Attempt extends PauseAsked {
  /** 1, 2, 3 ... in the order of starting. For people and logs; never part of a key. */
  readonly number: number;
  readonly standing: Standing;
  /** The refusal's code, when refused. */
  readonly code?: string;
  /** The provider's name of the record, when it told one. */
  readonly reference?: string;
  /**
   * Set where no start was found, on the timeline named here, although a fail-over may have lost one. It stands for
   * however many were lost.
   */
  readonly assumedOn?: string;
  /** Set while only a person says that it had no effect: the provider may have refused it, and shows that. */
  readonly stated?: true;
  /** Of one that is unproven: what became of it has to be asked before anything is sent again under its key. */
  readonly askFirst?: true;
}

/** Everything that decides what an operation may do next, apart from its policy and the time. */
export interface History {
  readonly attempts: readonly Attempt[];
  /** Further attempts granted by persons. */
  readonly grants: number;
  /** Sends refused in a row because their time had passed. */
  readonly refusedSends: number;
  /** Look-ups answered since the last attempt started. */
  readonly lookups: number;
  /** A cancellation was asked for. */
  readonly cancelled: boolean;
  /** Successful records beside those of the attempts, by reference (null: the record had none): mostly from look-ups. */
  readonly found: readonly (string | null)[];
  /** One look-up showed several successful records that are not the same one. */
  readonly severalFound: boolean;
  /** Set once an effect is proven and its output can be used. */
  readonly result: { readonly output: unknown; readonly reference: string | null } | null;
}

/** An effect that is proven although its output cannot be used (it fails its schema, or exceeds the limit). */
export interface SucceededUnusably {
  readonly type: 'succeeded-unusably';
  readonly reason: string;
  readonly reference?: string;
}

/** What one attempt, or a late word about it, can say. */
export type AttemptResult = Outcome | SucceededUnusably;

export const noHistory: History = {
  attempts: [],
  grants: 0,
  refusedSends: 0,
  lookups: 0,
  cancelled: false,
  found: [],
  severalFound: false,
  result: null,
};

/** The next attempt has been started. */
export function attemptStarted(history: History): History {
  const number = history.attempts.length + 1;
  return { ...history, lookups: 0, attempts: [...history.attempts, { number, standing: 'open' }] };
}

/**
 * A fail-over may have lost the start of an attempt, and its request may have reached the provider: from now on that is
 * an attempt like any other that ended without proof. It may never have existed, so it uses up none.
 */
export function lostStartAssumed(history: History, timeline: string): History {
  const number = history.attempts.length + 1;
  const assumed: Attempt = { number, standing: 'unproven', assumedOn: timeline };
  return { ...history, grants: history.grants + 1, lookups: 0, attempts: [...history.attempts, assumed] };
}

/**
 * Attempt `number` has ended, or something was learnt about it later. Unknown teaches nothing about a proven one.
 * `keyCounts`: the provider still knows the key, so that a refusal which it gives to every send under that key says what
 * became of those before it.
 */
export function attemptLearnt(history: History, number: number, outcome: AttemptResult, keyCounts = false): History {
  const known = history.attempts.find((attempt) => attempt.number === number);
  if (known === undefined) return history;
  const next = learnt(known, outcome);
  const refusal = next.standing === 'refused' && outcome.type === 'failed' ? outcome : null;
  const speaksForAll = keyCounts && refusal !== null && speaksForKey(refusal);
  const attempts = history.attempts.map((attempt) => {
    if (attempt === known) return next;
    // One that was sent after it may have met another memory of the provider.
    const isToldOf = speaksForAll && attempt.number < number && isUnproven(attempt);
    return isToldOf ? { ...lastingOf(attempt), standing: 'refused' as const, code: refusal.code } : attempt;
  });
  const refusedSends =
    next.standing === known.standing
      ? history.refusedSends
      : next.standing === 'not-sent'
        ? history.refusedSends + 1
        : 0;
  const result =
    outcome.type === 'succeeded' && history.result === null
      ? { output: outcome.output, reference: outcome.reference ?? null }
      : history.result;
  return { ...history, attempts, refusedSends, result, found: [...history.found, ...otherRecord(known, outcome)] };
}

/**
 * Word about an attempt from outside its own reply; `timeline` is where its start was recorded. After a fail-over the
 * number may stand for another attempt here, or for none: then only an effect counts, whichever attempt had it.
 */
export function wordReceived(
  history: History,
  number: number,
  outcome: AttemptResult,
  timeline: string | undefined,
  keyCounts = false,
): History {
  if (isRecorded(history, number, timeline)) return attemptLearnt(history, number, outcome, keyCounts);
  if (outcome.type !== 'succeeded' && outcome.type !== 'succeeded-unusably') return history;
  const reference = outcome.reference ?? null;
  const result = outcome.type === 'succeeded' ? { output: outcome.output, reference } : null;
  return { ...foundAlso(history, [reference]), result: history.result ?? result };
}

/** What was started before a lost start was assumed has kept its number; whatever came after it has another history. */
function isRecorded({ attempts }: History, number: number, timeline: string | undefined): boolean {
  const assumed = attempts.findLast((attempt) => attempt.assumedOn !== undefined && attempt.number <= number);
  const isOfThisHistory = assumed === undefined || (assumed.number < number && assumed.assumedOn === timeline);
  return isOfThisHistory && attempts.some((attempt) => attempt.number === number);
}

/** A record under another name than the one this attempt is known by: both are kept, since it is a second effect. */
function otherRecord(known: Attempt, outcome: AttemptResult): string[] {
  if (outcome.type !== 'succeeded' && outcome.type !== 'succeeded-unusably') return [];
  const { reference } = outcome;
  return reference === undefined || known.reference === undefined || reference === known.reference ? [] : [reference];
}

function learnt(known: Attempt, outcome: AttemptResult): Attempt {
  const named = lastingOf(known);
  switch (outcome.type) {
    case 'succeeded':
    case 'succeeded-unusably': {
      const reference = known.reference ?? outcome.reference;
      return { ...named, standing: 'effect', ...(reference === undefined ? {} : { reference }) };
    }
    case 'failed':
      return known.standing === 'effect' ? known : { ...named, standing: 'refused', code: outcome.code };
    case 'not-applied':
      if (known.standing === 'effect' || known.standing === 'refused') return known;
      return { ...named, ...askedBy(outcome), standing: outcome.sent === false ? 'not-sent' : 'without-effect' };
    case 'unknown': {
      if (known.standing !== 'open') return known;
      const askFirst = outcome.sendAgain === 'ask-first' ? { askFirst: true as const } : {};
      return { ...named, ...askedBy(outcome), ...askFirst, standing: 'unproven' };
    }
  }
}

type Lasting = Pick<Attempt, 'number' | 'assumedOn' | keyof PauseAsked>;

/** What of an attempt does not change, whatever is learnt about it. */
function lastingOf({ number, assumedOn, ...rest }: Attempt): Lasting {
  return { number, ...(assumedOn === undefined ? {} : { assumedOn }), ...askedBy(rest) };
}

function askedBy({ retryAfterMs, longestPause }: PauseAsked): PauseAsked {
  return {
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(longestPause === undefined ? {} : { longestPause }),
  };
}

/** How much an `absent` proves: nothing yet, enough to send again while the provider knows the key, or all. */
export type AbsenceCounts = 'not-yet' | 'inside-window' | 'finally';

/** Successful records whose output cannot be used, by reference (null: it has none). Usable ones beside them as well. */
export interface FoundUnusably {
  readonly type: 'found-unusably';
  readonly references: readonly (string | null)[];
}

/** Several records of one answer are one effect only when they all have the same name. */
export function areSeveral(references: readonly (string | null)[]): boolean {
  return references.length > 1 && (references.includes(null) || new Set(references).size > 1);
}

/** What a look-up answer adds. `keyCounts`: the provider still knows the key. */
export function lookupAnswered(
  history: History,
  finding: Finding | FoundUnusably,
  counts: AbsenceCounts,
  keyCounts = false,
): History {
  const answered = { ...history, lookups: history.lookups + 1 };
  switch (finding.type) {
    case 'inconclusive':
      return answered;
    case 'absent':
      if (counts === 'not-yet') return answered;
      return settleUnproven(answered, { standing: counts === 'finally' ? 'without-effect' : 'absent' });
    case 'found-unusably':
      return foundAlso(answered, finding.references);
    case 'found': {
      const effects = finding.records.filter((record): record is Succeeded<unknown> => record.type === 'succeeded');
      const [first] = effects;
      if (first === undefined) {
        const [refusal] = finding.records;
        const speaksForAll = counts === 'finally' || (keyCounts && speaksForKey(refusal));
        if (!speaksForAll && mayBeOfAnother(answered)) return answered;
        return settleUnproven(answered, {
          standing: 'refused',
          ...(refusal.type === 'failed' ? { code: refusal.code } : {}),
        });
      }
      const references = effects.map((effect) => effect.reference ?? null);
      return {
        ...foundAlso(answered, references),
        result: history.result ?? { output: first.output, reference: first.reference ?? null },
      };
    }
  }
}

function speaksForKey(refusal: Settling): boolean {
  return refusal.type === 'failed' && refusal.speaksFor === 'key';
}

/**
 * A refusal that is shown is that of one attempt, and says nothing of any other, sent before it or after. Once nothing can
 * be on its way any more it does: of what is unproven then one was refused, and the rest had no effect.
 */
function mayBeOfAnother({ attempts }: History): boolean {
  const refusable = attempts.filter(
    (attempt) => isUnproven(attempt) || attempt.standing === 'refused' || attempt.stated === true,
  );
  // An assumed one may stand for several, one of which was refused.
  return refusable.length > 1 || refusable.some(({ assumedOn }) => assumedOn !== undefined);
}

function isUnproven({ standing }: Attempt): boolean {
  return standing === 'open' || standing === 'unproven' || standing === 'absent';
}

function foundAlso(history: History, references: readonly (string | null)[]): History {
  return {
    ...history,
    found: [...history.found, ...references],
    severalFound: history.severalFound || areSeveral(references),
  };
}

/** Nothing may be sent again under the key any more: what was absent while it might is unproven again. */
export function absenceExpired(history: History): History {
  const attempts = history.attempts.map(
    (attempt): Attempt => (attempt.standing === 'absent' ? { ...attempt, standing: 'unproven' } : attempt),
  );
  return { ...history, attempts };
}

/** A person states that what is unproven did not happen; that grants one more attempt. */
export function absenceStated(history: History): History {
  return {
    ...settleUnproven(history, { standing: 'without-effect', stated: true }),
    grants: history.grants + 1,
    refusedSends: 0,
  };
}

/**
 * A person states how it ended. That proves nothing about the attempts; but a record that they name is another one
 * than a record that is proven under another name.
 */
export function outcomeStated(history: History, outcome: AttemptResult): History {
  if (outcome.type !== 'succeeded') return history;
  return { ...history, result: { output: outcome.output, reference: outcome.reference ?? null } };
}

function settleUnproven(history: History, as: Omit<Attempt, keyof Lasting>): History {
  const attempts = history.attempts.map((attempt) =>
    isUnproven(attempt) ? { ...lastingOf(attempt), ...as } : attempt,
  );
  return { ...history, attempts };
}

/**
 * What all attempts together prove. Any proven success wins; a refusal or a proof of absence settles only when every
 * started attempt is proven to have had no effect.
 */
export type Proof =
  | { readonly type: 'effect'; readonly usable: boolean }
  | { readonly type: 'two-effects' }
  | { readonly type: 'refused'; readonly code: string }
  | { readonly type: 'without-effect' }
  | { readonly type: 'none' };

/** Folds the history. `retained`: the provider makes two sends under one key one effect. */
export function proofOf(history: History, retained: boolean): Proof {
  const effects = history.attempts.filter((attempt) => attempt.standing === 'effect');
  if (effects.length > 0 || history.found.length > 0) {
    if (areTwo(history, effects, retained)) return { type: 'two-effects' };
    return { type: 'effect', usable: history.result !== null };
  }
  if (history.attempts.some(({ standing }) => standing === 'open' || standing === 'unproven')) return { type: 'none' };
  const refusal = history.attempts.findLast((attempt) => attempt.standing === 'refused');
  return refusal === undefined ? { type: 'without-effect' } : { type: 'refused', code: refusal.code ?? 'refused' };
}

/**
 * Two different records are two effects whatever the provider promised: its records are evidence, its promise is not.
 * Successes of several attempts that nobody can tell apart are one effect only where the provider retains the key.
 */
function areTwo(history: History, effects: readonly Attempt[], retained: boolean): boolean {
  if (history.severalFound) return true;
  const named = new Set<string>();
  for (const { reference } of effects) if (reference !== undefined) named.add(reference);
  for (const reference of history.found) if (reference !== null) named.add(reference);
  // Also the record that a person named, which no attempt and no look-up has shown.
  if (typeof history.result?.reference === 'string') named.add(history.result.reference);
  if (named.size > 1) return true;
  const nameless = effects.some((effect) => effect.reference === undefined);
  return effects.length > 1 && nameless && !retained;
}
