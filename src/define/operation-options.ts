/**
 * What `operation()` refuses although it runs nothing: definitions from callers without a compiler, and mistakes no
 * compiler sees. Everything is refused at once and by name, because a definition that is wrong in silence would only
 * show when a reply is lost.
 */

import { fingerprintOf } from '../domain/canonical.ts';
import { definitionInvalid } from '../domain/errors.ts';
import { refuseBadName } from './definition-name.ts';
import { hasType, isFunction, refuseMissing, refuseUnless, type Subject } from './option-kinds.ts';
import { saidTwice } from './operation-policy.ts';
import { isContract } from './contract.ts';
import { refuseUnknownOptions } from './option-names.ts';
import { isSchema } from './schema.ts';

const alwaysRequired = {
  input: 'a Standard Schema, or typed<T>()',
  execute: 'a function that makes one attempt and returns an outcome',
} as const;

const required = {
  ...alwaysRequired,
  keyRetention: "how long the provider knows the idempotency key ('24h'), or 'none'",
  lookup: "how to ask the provider ({ visibleWithin, find }), or 'none'",
} as const;

const lookupByContract = "how to ask the provider ({ find }), or 'none'";

const optionNames = [
  ...Object.keys(required),
  'contract',
  ...['output', 'key', 'compensate', 'timeout', 'sendWithin', 'retry', 'volatile', 'shared', 'limit', 'provider'],
];

/** Throws DEFINITION_INVALID unless `action` can be a name in the database. */
export function refuseBadAction(action: unknown): void {
  refuseBadName(
    'The action of an operation',
    action,
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
  const subject: Subject = { called: action, facts: { action } };
  refuseBadFacts(action, subject, given);
  refuseUnless(isSchema(given.input), subject, 'input', required.input);
  refuseUnless(isFunction(given.execute), subject, 'execute', required.execute);
  refuseUnless(given.output === undefined || isSchema(given.output), subject, 'output', required.input);
  refuseUnless(given.key === undefined || isFunction(given.key), subject, 'key', 'a function of { input }');
  refuseUnless(given.shared === undefined || typeof given.shared === 'boolean', subject, 'shared', 'true or false');
  if (given.provider !== undefined) {
    refuseBadName(`provider of ${action}`, given.provider, "Write the company's name, such as 'card-company'.");
  }
  refuseBadVolatile(subject, given.volatile);
  refuseBadCompensate(subject, given.compensate);
  if (given.shared === true && given.key === undefined) {
    throw definitionInvalid(
      `${action} is shared and has no key.`,
      'Sagas that join it must arrive at the same key: write key: ({ input }) => ... from the business identity.',
      { action, option: 'key' },
    );
  }
}

/** What is known of the provider is stated, or described in a contract, and not both. */
function refuseBadFacts(action: string, subject: Subject, given: Unchecked): void {
  const { contract, keyRetention, lookup } = given;
  if (contract === undefined) {
    refuseMissing(subject, given, required);
    return refuseUnless(isLookup(lookup), subject, 'lookup', required.lookup);
  }
  if (!isContract(contract)) {
    throw definitionInvalid(`contract of ${action} is none.`, 'Give it what contract() returned.', {
      ...subject.facts,
      option: 'contract',
    });
  }
  const canBeAsked = contract.lookup !== null;
  refuseMissing(subject, given, canBeAsked ? { ...alwaysRequired, lookup: lookupByContract } : alwaysRequired);
  if (keyRetention !== undefined) throw saidTwice(action, 'keyRetention', contract);
  refuseUnless(lookup === undefined || isLookup(lookup), subject, 'lookup', lookupByContract);
}

interface Unchecked {
  readonly [option: string]: unknown;
  readonly input?: unknown;
  readonly output?: unknown;
  readonly key?: unknown;
  readonly execute?: unknown;
  readonly contract?: unknown;
  readonly keyRetention?: unknown;
  readonly lookup?: unknown;
  readonly shared?: unknown;
  readonly provider?: unknown;
  readonly volatile?: unknown;
  readonly compensate?: unknown;
}

function isLookup(value: unknown): boolean {
  if (value === 'none') return true;
  return typeof value === 'object' && value !== null && 'find' in value && isFunction(value.find);
}

function refuseBadVolatile(subject: Subject, paths: unknown): void {
  if (paths === undefined) return;
  const isList = Array.isArray(paths) && paths.every((path) => typeof path === 'string');
  refuseUnless(isList, subject, 'volatile', "a list of paths: ['meta.requestedAt', 'lines[].note']");
  // The fingerprint is the authority on how a path is written: taking one refuses a path it could not follow.
  if (Array.isArray(paths)) fingerprintOf(null, { volatile: paths });
}

/** Throws DEFINITION_INVALID unless this is an inverse, or the reason why there is none. */
export function refuseBadCompensate(subject: Subject, compensate: unknown): void {
  if (compensate === undefined) return;
  const remedy = "{ operation, input: ({ input, output }) => ... }, or { none: 'why nothing can take it back' }";
  if (typeof compensate !== 'object' || compensate === null) return refuseUnless(false, subject, 'compensate', remedy);
  refuseUnknownOptions(`compensate of ${subject.called}`, compensate, ['operation', 'input', 'none']);
  if ('none' in compensate) {
    const alone = !('operation' in compensate) && !('input' in compensate);
    const saysWhy = typeof compensate.none === 'string' && compensate.none.trim() !== '';
    return refuseUnless(alone && saysWhy, subject, 'compensate', remedy);
  }
  const complete = 'operation' in compensate && hasType(compensate.operation, 'operation') && 'input' in compensate;
  refuseUnless(complete && isFunction(compensate.input), subject, 'compensate', remedy);
}
