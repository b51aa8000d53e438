/**
 * How much may go out to another company, at once and per time. A rate is a text such as `'25/s'`; it is kept in every
 * window of its unit, wherever that begins, and never used up in one burst: what falls to one second may go at once.
 */

import { definitionInvalid } from '../domain/errors.ts';
import { cutText } from '../domain/text.ts';
import { refuseUnless, type Subject } from './option-kinds.ts';
import { refuseUnknownOptions } from './option-names.ts';

/** So many per second, minute or hour: `'25/s'`, `'600/m'`, `'1000/h'`. */
export type Rate = `${number}/${'s' | 'm' | 'h'}`;

/**
 * What counts are the attempts and look-ups of one process: with n processes the company sees up to n times as much.
 *
 * @example
 * const limit: WorkLimit = { concurrency: 10, rate: '100/s' };
 */
export interface WorkLimit {
  /** Under way at once. */
  readonly concurrency?: number;
  /** Begun in any second, minute or hour. */
  readonly rate?: Rate;
}

/** A limit as it is kept. */
export interface Ceiling {
  /** `Infinity`: any number. */
  readonly concurrency: number;
  readonly pace: Pace | null;
}

/** So many at once, and each of them makes room for another one so much later. */
export interface Pace {
  readonly atOnce: number;
  readonly everyMs: number;
}

const unitsMs = { s: 1_000, m: 60_000, h: 3_600_000 } as const;
const written = /^([1-9]\d{0,8})\/([smh])$/;

/** Throws DEFINITION_INVALID unless `limit` names a concurrency, a rate or both. `option` is where it was given. */
export function ceilingOf(limit: unknown, subject: Subject, option: string): Ceiling {
  const remedy = "{ concurrency: 10 }, { rate: '100/s' } or both";
  if (typeof limit !== 'object' || limit === null) throw wrong(subject, option, limit, remedy);
  refuseUnknownOptions(`${option} of ${subject.called}`, limit, ['concurrency', 'rate']);
  const { concurrency, rate }: { concurrency?: unknown; rate?: unknown } = limit;
  refuseUnless(concurrency !== undefined || rate !== undefined, subject, option, remedy);
  return Object.freeze({
    concurrency: concurrency === undefined ? Infinity : wholeNumber(concurrency, subject, `${option}.concurrency`),
    pace: rate === undefined ? null : paceOf(rate, subject, `${option}.rate`),
  });
}

function wholeNumber(given: unknown, subject: Subject, option: string): number {
  if (typeof given === 'number' && Number.isSafeInteger(given) && given >= 1) return given;
  throw wrong(subject, option, given, 'a whole number from 1');
}

/** Rather a little less than the rate than more: so many at once, so often that the unit never has more than its count. */
function paceOf(given: unknown, subject: Subject, option: string): Pace {
  const match = typeof given === 'string' ? written.exec(given) : null;
  if (match === null) {
    throw wrong(subject, option, given, "a count from 1 for each second, minute or hour: '25/s', '600/m' or '1000/h'");
  }
  const count = Number(match[1]);
  // The pattern admits exactly the units of the table.
  const unitMs = unitsMs[match[2] as keyof typeof unitsMs];
  const atOnce = Math.max(1, Math.floor((count * unitsMs.s) / unitMs));
  return Object.freeze({ atOnce, everyMs: Math.ceil(unitMs / Math.floor(count / atOnce)) });
}

function wrong({ called, facts }: Subject, option: string, given: unknown, remedy: string): Error {
  const shown = typeof given === 'string' ? JSON.stringify(cutText(given, 40)) : shownPlain(given);
  return definitionInvalid(`${option} of ${called} is ${shown}.`, `Write ${remedy}.`, { ...facts, option });
}

function shownPlain(given: unknown): string {
  if (typeof given === 'number' || given === null) return String(given);
  return `a value of type ${typeof given}`;
}
