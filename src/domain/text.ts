/**
 * Which texts may name something: a tenant, an action, an idempotency key. They become columns of a unique constraint,
 * and a database refuses NUL and half surrogate pairs only after the work has begun; so they are refused here, before.
 */

import { inputInvalid } from './errors.ts';

/** Limits in UTF-16 code units, which is what `text.length` counts. */
export const TENANT_LENGTH_MAX = 200;
export const ACTION_LENGTH_MAX = 200;
export const KEY_LENGTH_MAX = 500;

/** Of tenant, action and key together, in bytes of UTF-8: one entry of an index of PostgreSQL holds no more. */
export const SCOPE_BYTES_MAX = 2_600;

/**
 * Throws INPUT_INVALID unless `value` is a non-empty string of at most `maxLength` UTF-16 code units, well-formed
 * Unicode, without NUL. `name` is what the message calls it ("idempotency key"); the value itself is never shown.
 */
export function assertKeyText(name: string, value: unknown, maxLength: number): asserts value is string {
  const complaint = complaintAbout(value, maxLength);
  if (complaint !== undefined) throw inputInvalid(`The ${name} ${complaint}`, { name });
}

/** Whether {@link assertKeyText} lets it pass. */
export function isKeyText(value: unknown, maxLength: number): value is string {
  return complaintAbout(value, maxLength) === undefined;
}

/** Throws INPUT_INVALID when texts that name one thing together are longer than `maxBytes` in UTF-8. */
export function assertTogether(texts: Readonly<Record<string, string>>, maxBytes: number): void {
  const bytes = new TextEncoder().encode(Object.values(texts).join('')).length;
  if (bytes <= maxBytes) return;
  const names = Object.keys(texts).join(', ');
  throw inputInvalid(
    `Together, ${names} have ${bytes} bytes in UTF-8 and may have ${maxBytes}. Shorten the key, for example to a hash.`,
    { names, bytes },
  );
}

/** True when no surrogate stands alone: what UTF-8 can carry. */
export function isWellFormed(text: string): boolean {
  return !loneSurrogate.test(text);
}

/** The beginning of `text`, at most `maxLength` UTF-16 code units, never ending in the middle of a surrogate pair. */
export function cutText(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const splitsPair =
    /[\ud800-\udbff]/.test(text.charAt(maxLength - 1)) && /[\udc00-\udfff]/.test(text.charAt(maxLength));
  return text.slice(0, splitsPair ? maxLength - 1 : maxLength);
}

// With the u flag a surrogate pair is one character, so that only a lone surrogate is of this class.
const loneSurrogate = /\p{Surrogate}/u;

function complaintAbout(value: unknown, maxLength: number): string | undefined {
  if (typeof value !== 'string') {
    const found = value === null ? 'null' : typeof value;
    return `must be a string and is ${found}. Write a text that names the same thing every time.`;
  }
  if (value === '') return 'is empty. Write a text that names the same thing every time.';
  if (value.length > maxLength) {
    return `has ${value.length} UTF-16 code units and may have ${maxLength}. Shorten it, for example to a hash of its parts.`;
  }
  if (value.includes('\0')) return 'holds a NUL character, which no database column can keep. Leave it out.';
  if (!isWellFormed(value)) {
    return 'is not well-formed Unicode: it holds half of a surrogate pair. Cut texts between characters, not inside one.';
  }
  return undefined;
}
