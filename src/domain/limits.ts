/**
 * How much one thing may be. Beyond that the library does not go on in silence: what is submitted is refused, and what a
 * saga meets on its way escalates it with the reason `limit`, so that a person sees it before a database is full of it.
 */

import { definitionInvalid, inputInvalid } from './errors.ts';
import type { Json } from './json.ts';

export interface Limits {
  /**
   * Characters of JSON of one input, output, signal or context. A longer output of an operation is an effect that nobody
   * can use (`output-unusable`). Default 1,000,000.
   */
  readonly payload: number;
  /** Signals that one saga keeps because it does not take them yet. Default 100. */
  readonly signals: number;
  /** Moves of the chart of one saga, which its history tells of. Default 10,000. */
  readonly moves: number;
}

const defaults: Limits = { payload: 1_000_000, signals: 100, moves: 10_000 };

/** Something is more than its limit. */
export class LimitReached extends Error {}

/** Throws DEFINITION_INVALID for what is no whole number from 1. */
export function limitsOf(given: Partial<Limits> = {}): Limits {
  const limits = { ...defaults, ...given };
  for (const [name, value] of Object.entries(limits)) {
    if (!Object.hasOwn(defaults, name)) {
      const known = Object.keys(defaults).join(', ');
      throw definitionInvalid(`limits has no ${name}.`, `There are ${known}.`, { option: name });
    }
    if (Number.isSafeInteger(value) && value >= 1) continue;
    throw definitionInvalid(`limits.${name} is no whole number from 1.`, 'Leave it out, or correct it.', {
      option: `limits.${name}`,
    });
  }
  return limits;
}

/** Why it is too long to be kept; null: it is not. `called` begins the text. */
export function tooLong(called: string, value: Json, { payload }: Limits): string | null {
  const { length } = JSON.stringify(value);
  return length <= payload ? null : `${called} has ${length} characters as JSON and may have ${payload}`;
}

/** Throws INPUT_INVALID for what is too long. */
export function refuseTooLong(called: string, value: Json, limits: Limits): void {
  const why = tooLong(called, value, limits);
  if (why !== null) throw inputInvalid(`${why}. Keep it elsewhere and submit its name, or raise limits.payload.`);
}
