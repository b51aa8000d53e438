/**
 * How a definition says what a value looks like: any schema library that speaks Standard Schema 1, or `typed<T>()` for
 * a promise the compiler alone keeps. The schema decides what is stored: its output, with defaults and transforms
 * applied. A refusal names places and rules, never values, because its message may reach a log.
 */

import { inputInvalid } from '../domain/errors.ts';
import { writePath } from '../domain/path.ts';
import { cutText } from '../domain/text.ts';

/** Standard Schema 1, as zod, valibot, arktype and others implement it: `Submitted` goes in, `Output` comes out. */
export interface Schema<Submitted = unknown, Output = Submitted> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => Validation<Output> | Promise<Validation<Output>>;
    readonly types?: { readonly input: Submitted; readonly output: Output } | undefined;
  };
}

type Validation<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly ForeignIssue[] };

interface ForeignIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** One rule that a value breaks. `path` is relative to the value (`lines[0].amount`), empty for the value itself. */
export interface Issue {
  readonly path: string;
  readonly message: string;
}

/**
 * A schema that accepts everything when it runs and has the static type `T`. For input that is already known to be
 * right; whatever crosses a border deserves a schema that looks.
 *
 * @example
 * operation('card.charge', { input: typed<Payment>(), ... });
 */
export function typed<T>(): Schema<T> {
  return {
    '~standard': {
      version: 1,
      vendor: 'sagacity',
      // The caller of typed<T>() vouches for T; nothing here can know better.
      validate: (value) => ({ value: value as T }),
    },
  };
}

/** True for whatever carries a Standard Schema 1. Some libraries make their schemas callable, so functions count too. */
export function isSchema(value: unknown): value is Schema {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false;
  if (!('~standard' in value)) return false;
  const standard = value['~standard'];
  return (
    typeof standard === 'object' &&
    standard !== null &&
    'version' in standard &&
    standard.version === 1 &&
    'validate' in standard &&
    typeof standard.validate === 'function'
  );
}

/**
 * What `schema` makes of `value`: at once when the schema is synchronous, a promise when it is not. `subject` is what
 * the message calls the value ("The input of card.charge").
 *
 * A value that does not fit throws, or rejects with, INPUT_INVALID; `facts.issues` holds `{ path, message }` of the
 * first {@link ISSUES_MAX} broken rules. A schema library that quotes the offending value in its message has the
 * quote replaced by the value's type.
 */
export function validate<Output>(
  schema: Schema<unknown, Output>,
  value: unknown,
  subject: string,
): Output | Promise<Output> {
  const validation = schema['~standard'].validate(value);
  return 'then' in validation
    ? validation.then((later) => acceptedOf(later, value, subject))
    : acceptedOf(validation, value, subject);
}

/** How many broken rules an error carries; a long list with one mistake in every line would otherwise fill the log. */
export const ISSUES_MAX = 20;

const MESSAGE_LENGTH_MAX = 300;

function acceptedOf<Output>(validation: Validation<Output>, value: unknown, subject: string): Output {
  if (validation.issues === undefined) return validation.value;
  const issues = validation.issues.slice(0, ISSUES_MAX).map((issue) => issueOf(issue, value));
  throw inputInvalid(`${subject} does not fit its schema: ${placesOf(issues, validation.issues.length)}.`, { issues });
}

function placesOf(issues: readonly Issue[], total: number): string {
  const places = [...new Set(issues.map(({ path }) => path || 'the value itself'))].slice(0, 5);
  const rules = total === 1 ? 'one rule is broken' : `${total} rules are broken`;
  return `${rules}, at ${places.join(', ')}${places.length < issues.length ? ' and further' : ''}`;
}

function issueOf(issue: ForeignIssue, value: unknown): Issue {
  const keys = (issue.path ?? []).map((part) => (typeof part === 'object' ? part.key : part));
  const path = writePath(
    '',
    keys.map((key) => (typeof key === 'number' ? key : String(key))),
  );
  return { path, message: cutText(withoutValue(issue.message, valueAt(value, keys)), MESSAGE_LENGTH_MAX) };
}

function valueAt(value: unknown, keys: readonly PropertyKey[]): unknown {
  return keys.reduce<unknown>(
    // Indexing needs a type; what is not an object has been turned away on the same line.
    (above, key) =>
      typeof above === 'object' && above !== null ? (above as Record<PropertyKey, unknown>)[key] : undefined,
    value,
  );
}

/** The message with the value, wherever it stands as a word of its own, replaced by its type. */
function withoutValue(message: string, value: unknown): string {
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'bigint') return message;
  const plain = String(value);
  const spellings = plain === '' ? [] : [JSON.stringify(plain), plain];
  return spellings
    .filter((spelling) => spelling.length <= message.length)
    .reduce((text, spelling) => text.replace(asWord(spelling), `<${typeof value}>`), message);
}

function asWord(text: string): RegExp {
  const literal = text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
  return new RegExp(`(?<![\\p{L}\\p{N}_])${literal}(?![\\p{L}\\p{N}_])`, 'gu');
}
