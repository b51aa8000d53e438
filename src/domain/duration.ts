/**
 * Lengths of time as people write them. The text form is exact decimal arithmetic, never floating point, so `'0.1s'`
 * is 100 and not 99; whatever does not come out as whole milliseconds is the caller's mistake and named as such.
 */

import { definitionInvalid } from './errors.ts';
import { cutText } from './text.ts';

/** Whole milliseconds, or a text such as `'500ms'`, `'30s'`, `'5m'`, `'24h'`, `'7d'`. */
export type Duration = number | `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`;

const unitsMs = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 } as const;
const written = /^(\d{1,15})(?:\.(\d{1,15}))?(ms|s|m|h|d)$/;
const hundredYearsMs = 36_525 * unitsMs.d;
const remedy = "Write whole milliseconds, or a text such as '500ms', '30s', '5m', '24h' or '7d'.";

/**
 * The duration in milliseconds: a whole number from 0 to 100 years. `name` is the option it was given for; anything
 * else throws DEFINITION_INVALID with that name, the value and the forms that are accepted.
 *
 * @example
 * milliseconds('24h', 'keyRetention'); // 86400000
 */
export function milliseconds(duration: Duration, name: string): number {
  const ms = typeof duration === 'number' ? duration : textMs(duration, name);
  if (Number.isNaN(ms) || ms === Infinity) throw refused(name, duration, 'is not a length of time');
  if (ms < 0) throw refused(name, duration, 'is negative');
  if (ms > hundredYearsMs) throw refused(name, duration, 'is longer than 100 years');
  if (!Number.isInteger(ms)) throw refused(name, duration, 'has a fraction of a millisecond');
  // Adding 0 turns -0 into 0.
  return ms + 0;
}

/** As {@link milliseconds}, and longer than 0. */
export function lastingMs(duration: Duration, name: string): number {
  const ms = milliseconds(duration, name);
  if (ms === 0)
    throw definitionInvalid(`${name} is no time at all.`, 'Write a duration longer than 0.', { option: name });
  return ms;
}

/** The shortest text that {@link milliseconds} reads back as `ms`: 90000 is `'90s'`, 86400000 is `'1d'`. */
export function formatDuration(ms: number): string {
  for (const [unit, unitMs] of Object.entries(unitsMs)) {
    if (ms !== 0 && ms % unitMs === 0) return `${ms / unitMs}${unit}`;
  }
  return `${ms}ms`;
}

function textMs(text: unknown, name: string): number {
  const match = typeof text === 'string' ? written.exec(text) : null;
  if (match === null) throw refused(name, text, 'is not a duration');
  const [, whole = '', fraction = ''] = match;
  // The pattern admits exactly the units of the table.
  const unitMs = unitsMs[match[3] as keyof typeof unitsMs];
  const scaled = BigInt(whole + fraction) * BigInt(unitMs);
  const scale = 10n ** BigInt(fraction.length);
  if (scaled % scale !== 0n) throw refused(name, text, 'has a fraction of a millisecond');
  return Number(scaled / scale);
}

function refused(name: string, duration: unknown, why: string) {
  return definitionInvalid(`${name}: ${shown(duration)} ${why}.`, remedy, { option: name });
}

function shown(duration: unknown): string {
  if (typeof duration === 'string') return JSON.stringify(cutText(duration, 40));
  if (typeof duration === 'number') return String(duration);
  return duration === null ? 'null' : `a value of type ${typeof duration}`;
}
