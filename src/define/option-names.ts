/**
 * Refuses options nobody reads. A misspelt option would otherwise mean its default in silence, and the default of a
 * safety rule is the worst thing to get by accident; the nearest name that exists is suggested.
 */

import { definitionInvalid } from '../domain/errors.ts';

/** Throws DEFINITION_INVALID for the first member of `given` that is not among `known`. */
export function refuseUnknownOptions(subject: string, given: object, known: readonly string[]): void {
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const near = nearest(unknown, known);
  throw definitionInvalid(
    `${subject} has no option ${unknown}${didYouMean(near)}`,
    `The options are ${known.join(', ')}.`,
    { option: unknown, ...(near === undefined ? {} : { suggestion: near }) },
  );
}

/** The end of a sentence about a name that does not exist. */
export function didYouMean(near: string | undefined): string {
  return near === undefined ? '.' : `: did you mean ${near}?`;
}

/** The name among `known` that was probably meant, if there is one. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const [best] = known
    .map((candidate) => ({ candidate, edits: editsBetween(name.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ candidate, edits }) => edits <= Math.max(1, Math.floor(candidate.length / 3)))
    .sort((one, other) => one.edits - other.edits);
  return best?.candidate;
}

/** How many letters must be inserted, dropped or replaced to turn one word into the other. */
function editsBetween(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [above, letter] of from.split('').entries()) {
    const next = [above + 1];
    for (let index = 0; index < to.length; index += 1) {
      const replaced = (row[index] ?? 0) + (letter === to[index] ? 0 : 1);
      next.push(Math.min(replaced, (row[index + 1] ?? 0) + 1, (next[index] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
