/** What every definition is called by: a text that a column of the database can hold, and that means one thing for ever. */

import { definitionInvalid } from '../domain/errors.ts';
import { ACTION_LENGTH_MAX, isWellFormed } from '../domain/text.ts';

/** Throws DEFINITION_INVALID unless `name` is text, not empty and not too long. `subject` begins the message. */
export function refuseBadName(subject: string, name: unknown, remedy: string): asserts name is string {
  const complaint = complaintAbout(name);
  if (complaint !== undefined) throw definitionInvalid(`${subject} ${complaint}.`, remedy);
}

function complaintAbout(name: unknown): string | undefined {
  if (typeof name !== 'string') return `is a value of type ${name === null ? 'null' : typeof name}`;
  if (name === '') return 'is empty';
  if (name.length > ACTION_LENGTH_MAX) return `has ${name.length} UTF-16 code units and may have ${ACTION_LENGTH_MAX}`;
  if (name.includes('\0') || !isWellFormed(name)) return 'is not well-formed text';
  return undefined;
}
