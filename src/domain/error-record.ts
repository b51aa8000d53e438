/**
 * What is kept of something that was thrown: enough to know what went wrong, capped, and plain text only. Anything can
 * be thrown, so every field is read as if it were hostile; other fields are not kept, because they may hold secrets.
 */

import { classNameOf, errorsOf, isError, readMember } from './observe.ts';
import { cutText } from './text.ts';

export interface ErrorSummary {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
}

/** The error and, the nearest first, what caused it: the chain of `cause`, then the `errors` of an AggregateError. */
export interface ErrorRecord extends ErrorSummary {
  readonly causes?: readonly ErrorSummary[];
}

const MESSAGE_LENGTH_MAX = 1000;
const NAME_LENGTH_MAX = 100;
const CAUSES_MAX = 5;
/** A longer list of errors is not looked into. */
const ERRORS_MAX = 1000;

/**
 * A plain record of whatever was thrown. Messages are cut to 1,000 UTF-16 code units, never inside a surrogate pair;
 * at most five causes are kept. Never throws, whatever it is given.
 *
 * @example
 * try { await chargeCard(); } catch (thrown) { log.warn(errorRecord(thrown)); }
 */
export function errorRecord(thrown: unknown): ErrorRecord {
  const causes = causesOf(thrown);
  return causes.length === 0 ? summaryOf(thrown) : { ...summaryOf(thrown), causes: causes.map(summaryOf) };
}

/** What is told of a definition whose own code threw this. */
export function faultOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : 'its own code threw something that is no error';
}

/** Breadth first, so that a long list of errors does not push out the direct cause; each thing once, so that it ends. */
function causesOf(thrown: unknown): readonly unknown[] {
  const found: unknown[] = [thrown];
  for (let index = 0; index < found.length && found.length <= CAUSES_MAX; index += 1) {
    for (const cause of directCausesOf(found[index])) {
      if (!found.includes(cause)) found.push(cause);
    }
  }
  return found.slice(1, 1 + CAUSES_MAX);
}

function directCausesOf(value: unknown): readonly unknown[] {
  if (!isError(value)) return [];
  const cause = fieldOf(value, 'cause');
  const listed = errorsOf(value, ERRORS_MAX) ?? [];
  return cause === undefined ? listed : [cause, ...listed];
}

function summaryOf(value: unknown): ErrorSummary {
  if (typeof value !== 'object' || value === null) return { name: 'NonError', message: messageOfNonError(value) };
  const name = textOf(fieldOf(value, 'name')) ?? (isError(value) ? 'Error' : classNameOf(value));
  const message =
    textOf(fieldOf(value, 'message')) ?? (isError(value) ? '' : 'An object without a message was thrown.');
  const code = codeOf(fieldOf(value, 'code'));
  const summary = { name: cutText(name, NAME_LENGTH_MAX), message: cutText(message, MESSAGE_LENGTH_MAX) };
  return code === undefined ? summary : { ...summary, code: cutText(code, NAME_LENGTH_MAX) };
}

function messageOfNonError(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return cutText(value, MESSAGE_LENGTH_MAX);
    case 'number':
    case 'bigint':
    case 'boolean':
    case 'symbol':
      return cutText(String(value), MESSAGE_LENGTH_MAX);
    case 'function':
      return 'A function was thrown.';
    case 'undefined':
    case 'object':
      return value === undefined ? 'undefined was thrown.' : 'null was thrown.';
  }
}

function fieldOf(owner: object, name: string): unknown {
  const read = readMember(owner, name);
  return 'value' in read ? read.value : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function codeOf(value: unknown): string | undefined {
  return typeof value === 'number' ? String(value) : textOf(value);
}
