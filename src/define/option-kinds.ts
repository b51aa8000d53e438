/**
 * Refuses options that are missing, of the wrong kind or another word than those there are. A definition says what is
 * wrong with it when it is made, with what to write instead, because later it would say so with a lost reply.
 */

import { definitionInvalid, type ErrorFacts } from '../domain/errors.ts';
import { didYouMean, nearest } from './option-names.ts';

/** Whose options they are: what messages call it, and the facts that errors about it carry. */
export interface Subject {
  readonly called: string;
  readonly facts: ErrorFacts;
}

/** Throws DEFINITION_INVALID with every option of `required` that is missing, and what to write there. */
export function refuseMissing(
  { called, facts }: Subject,
  given: Readonly<Record<string, unknown>>,
  required: Readonly<Record<string, string>>,
): void {
  const missing = Object.entries(required).filter(([name]) => given[name] === undefined);
  if (missing.length === 0) return;
  throw definitionInvalid(
    `${called} does not say ${missing.map(([name]) => name).join(' and ')}.`,
    `Add ${missing.map(([name, what]) => `${name}: ${what}`).join('; ')}.`,
    { ...facts, options: missing.map(([name]) => name) },
  );
}

/** Throws DEFINITION_INVALID unless it `holds` that the option is of its kind, which `what` describes. */
export function refuseUnless(holds: boolean, { called, facts }: Subject, option: string, what: string): void {
  if (holds) return;
  throw definitionInvalid(`${option} of ${called} is of the wrong kind.`, `Write ${what}.`, { ...facts, option });
}

/** Throws DEFINITION_INVALID unless `word` is one of `words`. */
export function refuseOtherWords(subject: string, word: unknown, words: readonly string[]): void {
  if (words.some((known) => known === word)) return;
  const shown = typeof word === 'string' ? JSON.stringify(word) : `a value of type ${typeof word}`;
  const near = typeof word === 'string' ? nearest(word, words) : undefined;
  throw definitionInvalid(
    `${subject} is ${shown}${didYouMean(near)}`,
    `Write ${words.map((known) => `'${known}'`).join(' or ')}.`,
  );
}

export function isFunction(value: unknown): boolean {
  return typeof value === 'function';
}

export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** True for a definition of this kind, whatever else it is. */
export function hasType(value: unknown, type: string): boolean {
  return isObject(value) && 'type' in value && value.type === type;
}
