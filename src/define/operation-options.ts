/**
 * What `operation()` refuses although it runs nothing: definitions from callers without a compiler, and mistakes no
 * compiler sees. Everything is refused at once and by name, because a definition that is wrong in silence would only
 * show when a reply is lost.
 */

import { fingerprintOf } from '../domain/canonical.ts';
import { definitionInvalid } from '../domain/errors.ts';
import { ACTION_LENGTH_MAX, isWellFormed } from '../domain/text.ts';
import { refuseUnknownOptions } from './option-names.ts';
import { isSchema } from './schema.ts';

const required = {
  input: 'a Standard Schema, or typed<T>()',
  execute: 'a function that makes one attempt and returns an outcome',
  keyRetention: "how long the provider knows the idempotency key ('24h'), or 'none'",
  lookup: "how to ask the provider ({ visibleWithin, find }), or 'none'",
} as const;

const optionNames = [
  ...Object.keys(required),
  ...['output', 'key', 'compensate', 'timeout', 'sendWithin', 'retry', 'volatile', 'shared'],
];

/** Throws DEFINITION_INVALID unless `action` can be a name in the database: text, not empty, not too long. */
export function refuseBadAction(action: unknown): void {
  const complaint = complaintAbout(action);
  if (complaint === undefined) return;
  throw definitionInvalid(
    `The action of an operation ${complaint}.`,
    "Give the effect a stable name such as 'card.charge'; it is part of every idempotency key.",
  );
}

/** Throws DEFINITION_INVALID unless `options` are complete and every one of them is of its kind. */
export function refuseBadOptions(action: string, options: object): void {
  if (typeof options !== 'object' || options === null) {
    throw definitionInvalid(
      `${action} has no options.`,
      `Write operation('${action}', { ${Object.keys(required).join(', ')} }).`,
    );
  }
  refuseUnknownOptions(action, options, optionNames);
  const given: Unchecked = { ...options };
  refuseMissing(action, given);
  refuseUnless(isSchema(given.input), action, 'input', required.input);
  refuseUnless(isFunction(given.execute), action, 'execute', required.execute);
  refuseUnless(given.output === undefined || isSchema(given.output), action, 'output', required.input);
  refuseUnless(given.key === undefined || isFunction(given.key), action, 'key', 'a function of { input }');
  refuseUnless(isLookup(given.lookup), action, 'lookup', required.lookup);
  refuseUnless(given.shared === undefined || typeof given.shared === 'boolean', action, 'shared', 'true or false');
  refuseBadVolatile(action, given.volatile);
  refuseBadCompensate(action, given.compensate);
  if (given.shared === true && given.key === undefined) {
    throw definitionInvalid(
      `${action} is shared and has no key.`,
      'Sagas that join it must arrive at the same key: write key: ({ input }) => ... from the business identity.',
      { action, option: 'key' },
    );
  }
}

/** True for a definition of this kind, whatever else it is. */
export function hasType(value: unknown, type: string): boolean {
  return typeof value === 'object' && value !== null && 'type' in value && value.type === type;
}

interface Unchecked {
  readonly [option: string]: unknown;
  readonly input?: unknown;
  readonly output?: unknown;
  readonly key?: unknown;
  readonly execute?: unknown;
  readonly lookup?: unknown;
  readonly shared?: unknown;
  readonly volatile?: unknown;
  readonly compensate?: unknown;
}

function complaintAbout(action: unknown): string | undefined {
  if (typeof action !== 'string') return `is a value of type ${action === null ? 'null' : typeof action}`;
  if (action === '') return 'is empty';
  if (action.length > ACTION_LENGTH_MAX)
    return `has ${action.length} UTF-16 code units and may have ${ACTION_LENGTH_MAX}`;
  if (action.includes('\0') || !isWellFormed(action)) return 'is not well-formed text';
  return undefined;
}

function refuseMissing(action: string, given: Unchecked): void {
  const missing = Object.entries(required).filter(([name]) => given[name] === undefined);
  if (missing.length === 0) return;
  throw definitionInvalid(
    `${action} does not say ${missing.map(([name]) => name).join(' and ')}.`,
    `Add ${missing.map(([name, what]) => `${name}: ${what}`).join('; ')}.`,
    { action, options: missing.map(([name]) => name) },
  );
}

function refuseUnless(holds: boolean, action: string, option: string, what: string): void {
  if (holds) return;
  throw definitionInvalid(`${option} of ${action} is of the wrong kind.`, `Write ${what}.`, { action, option });
}

function isFunction(value: unknown): boolean {
  return typeof value === 'function';
}

function isLookup(value: unknown): boolean {
  if (value === 'none') return true;
  return typeof value === 'object' && value !== null && 'find' in value && isFunction(value.find);
}

function refuseBadVolatile(action: string, paths: unknown): void {
  if (paths === undefined) return;
  const isList = Array.isArray(paths) && paths.every((path) => typeof path === 'string');
  refuseUnless(isList, action, 'volatile', "a list of paths: ['meta.requestedAt', 'lines[].note']");
  // The fingerprint is the authority on how a path is written: taking one refuses a path it could not follow.
  if (Array.isArray(paths)) fingerprintOf(null, { volatile: paths });
}

function refuseBadCompensate(action: string, compensate: unknown): void {
  if (compensate === undefined) return;
  const remedy = "{ operation, input: ({ input, output }) => ... }, or { none: 'why nothing can take it back' }";
  if (typeof compensate !== 'object' || compensate === null) return refuseUnless(false, action, 'compensate', remedy);
  refuseUnknownOptions(`compensate of ${action}`, compensate, ['operation', 'input', 'none']);
  if ('none' in compensate) {
    const alone = !('operation' in compensate) && !('input' in compensate);
    const saysWhy = typeof compensate.none === 'string' && compensate.none.trim() !== '';
    return refuseUnless(alone && saysWhy, action, 'compensate', remedy);
  }
  const complete = 'operation' in compensate && hasType(compensate.operation, 'operation') && 'input' in compensate;
  refuseUnless(complete && isFunction(compensate.input), action, 'compensate', remedy);
}
