/**
 * Which names the parts of a saga may have. A name is a state of the chart, a member of what later steps see and part
 * of every idempotency key, so it must be good for all three: no dot or hash that a chart reads as a path, no number
 * that an object would sort to the front, no word that already means something, and never the same name twice.
 */

import { definitionInvalid } from '../domain/errors.ts';
import type { Part } from './saga-flow.ts';

/** What steps see beside outputs, what the chart adds to the steps, and the states of operations and sagas. */
const reservedNames = [
  ...(['input', 'item', 'index', 'compensate', 'done'] as const),
  ...(['pending', 'in-progress', 'waiting', 'unknown', 'reconciling', 'escalated'] as const),
  ...(['compensating', 'compensated', 'succeeded', 'failed', 'terminated'] as const),
] as const;

export type ReservedName = (typeof reservedNames)[number];

const PART_NAME_LENGTH_MAX = 100;

/** `subject` is what the message calls the part: "a step of saga fulfilment". */
export function refuseBadPartName(subject: string, name: unknown): asserts name is string {
  if (typeof name !== 'string' || !written.test(name) || name.length > PART_NAME_LENGTH_MAX) {
    throw definitionInvalid(
      `The name of ${subject} ${complaintAbout(name)}.`,
      `Write a letter and then letters, digits, - or _, ${PART_NAME_LENGTH_MAX} at most: 'payment'.`,
    );
  }
  if (isReserved(name)) {
    throw definitionInvalid(
      `The name of ${subject} is ${name}, a word of the library.`,
      "Name it by what it does for the business: 'payment', 'stock'.",
      { name },
    );
  }
}

/** Throws DEFINITION_INVALID for the first of `added` that is in `taken`, or is there twice. */
export function refuseTakenNames(saga: string, taken: readonly string[], added: readonly string[]): void {
  const twice = added.find((name, index) => taken.includes(name) || added.indexOf(name) !== index);
  if (twice === undefined) return;
  throw definitionInvalid(
    `Saga ${saga} has two parts named ${twice}.`,
    'Parts and branches have one name each, wherever they stand: rename one of them.',
    { saga, name: twice },
  );
}

/** The step that an item of a forEach is. No part has such a name. */
export function itemStep(part: string, index: number): string {
  return `${part}[${index}]`;
}

/** What {@link itemStep} was given; null: it is the name of a part. */
export function itemOf(step: string): { readonly part: string; readonly index: number } | null {
  const [, part, index] = /^(.+)\[(\d+)\]$/u.exec(step) ?? [];
  return part === undefined ? null : { part, index: Number(index) };
}

/** The names of all parts, and of what is in them. */
export function namesIn(parts: readonly Part[]): readonly string[] {
  return parts.flatMap((part) => {
    if (!('branches' in part)) return [part.name];
    return [part.name, ...Object.entries(part.branches).flatMap(([name, inner]) => [name, ...namesIn(inner)])];
  });
}

const written = /^\p{L}[\p{L}\p{N}_-]*$/u;

/** Words of the library, and of JavaScript: every object has a `constructor`. */
function isReserved(name: string): boolean {
  return reservedNames.some((reserved) => reserved === name) || name in {};
}

function complaintAbout(name: unknown): string {
  if (typeof name !== 'string') return `is a value of type ${name === null ? 'null' : typeof name}`;
  if (name === '') return 'is empty';
  if (name.length > PART_NAME_LENGTH_MAX) return `has ${name.length} UTF-16 code units`;
  return `is ${JSON.stringify(name)}`;
}
