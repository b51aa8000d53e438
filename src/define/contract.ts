/**
 * `contract()`: what a provider's documentation says of its keys, look-ups and replies, written down once. It guarantees
 * that what comes out is complete, plain and frozen, and does not contradict itself; whether the provider keeps it is
 * found out by `contractSuite`, against its sandbox.
 */

import type {
  Contract,
  ContractKey,
  ContractLookup,
  KeyScope,
  Proven,
  ReplyRule,
  SameKey,
} from '../domain/contract.ts';
import { type Duration, lastingMs, milliseconds } from '../domain/duration.ts';
import { definitionInvalid } from '../domain/errors.ts';
import { isCode } from '../domain/reply.ts';
import { HEADER_NAME } from '../domain/http.ts';
import { refuseBadName } from './definition-name.ts';
import { hasType, isObject, refuseMissing, refuseOtherWords, refuseUnless, type Subject } from './option-kinds.ts';
import { refuseUnknownOptions } from './option-names.ts';

export interface ContractOptions {
  /** Provider, API and endpoint, such as `stripe-v1/charges`. */
  readonly name: string;
  /** Of this description. Change it with the description: operations under way keep the one that they began with. */
  readonly version: string;
  /** The page on which the provider says so. */
  readonly docs: string;
  /** The day on which that was read, `2026-11-30`, or `'unverified'`. */
  readonly verified: string;
  /** Where the key goes, or `'none'`: the provider takes none. */
  readonly key: KeyOptions | 'none';
  /** What a key is unique within. Default `['account']`. */
  readonly scope?: readonly KeyScope[];
  /**
   * How long the provider remembers a key, from the first request on. Required with a key. `unsaid`: the key goes along,
   * and nothing is sent again because of it.
   */
  readonly keyRetention?: Duration | 'for-ever' | 'unsaid';
  /** What a send does under a key that the provider knows. Required with a key. */
  readonly sameKey?: SameKey;
  /** How its records are looked up, or `'none'`: nobody can be asked. */
  readonly lookup: ContractLookupOptions | 'none';
  /** What its replies prove, in order; what none fits is read as HTTP has it. */
  readonly replies?: readonly ReplyRule[];
  /** Where a refusal names its reason in the body, such as `error.code`. */
  readonly codeAt?: string;
  /** A header that says by its presence that a reply was given before. */
  readonly replayHeader?: string;
}

export interface KeyOptions {
  readonly in: 'header' | 'body' | 'query';
  /** Of the header or parameter, or the path in the body, such as `idempotency_key`. */
  readonly name: string;
  /** `sf-string`: in double quotes, as RFC 8941 writes a string. Default `raw`. */
  readonly encoding?: 'raw' | 'sf-string';
  /** A header that says beside it when the first request left, such as `Repeatability-First-Sent`. */
  readonly firstSentHeader?: string;
  /** The longest that the provider takes. The key that is sent has 36 characters. */
  readonly maxLength?: number;
  /** The characters that the provider takes, each of them. Those of the key that is sent are `0-9`, `a-f` and `-`. */
  readonly characters?: string;
}

export interface ContractLookupOptions {
  readonly by: 'key' | 'reference' | 'list';
  /** After this long a look-up shows a record that exists. */
  readonly visibleWithin: Duration;
  /**
   * How late a request that was sent can still take effect, counted from the end of its attempt; sending again under the
   * key stops that much earlier. Left out: the provider does not say.
   */
  readonly arrivalLimit?: Duration;
}

const required = {
  name: "provider, API and endpoint, such as 'card-company/charges'",
  version: 'the version of this description',
  docs: 'the address of the page on which the provider says so',
  verified: "the day on which that was read ('2026-11-30'), or 'unverified'",
  key: "where the key goes ({ in: 'header', name: 'Idempotency-Key' }), or 'none'",
  lookup: "how records are looked up ({ by: 'key', visibleWithin: '1m' }), or 'none'",
} as const;

const optionNames = [
  ...Object.keys(required),
  ...['scope', 'keyRetention', 'sameKey', 'replies', 'codeAt', 'replayHeader'],
];

/** What is sent is a UUID. */
const KEY_CHARACTERS = '0123456789abcdef-';
const KEY_LENGTH = 36;

const HUNDRED_YEARS = '36525d';

/**
 * Describes one endpoint of a provider. Throws DEFINITION_INVALID for what contradicts itself, and for a key that
 * cannot be written so that the provider takes it. Leave unsaid what the documentation does not say: what is claimed here
 * and not kept there is an effect done twice.
 *
 * @example
 * const charges = contract({
 *   name: 'card-company/charges', version: '1', docs: 'https://docs.card-company.example/keys', verified: '2026-11-30',
 *   key: { in: 'header', name: 'Idempotency-Key' }, keyRetention: '24h',
 *   sameKey: {
 *     afterSuccess: 'first-reply', whileRunning: 'refused', afterRefusal: 'first-reply',
 *     afterServerError: 'first-reply', otherParameters: 'refused',
 *   },
 *   lookup: { by: 'key', visibleWithin: '1m' },
 *   replies: [{ status: 409, proves: 'running' }, { status: 400, body: { 'error.type': 'key_reused' }, proves: 'key-conflict' }],
 * });
 */
export function contract(options: ContractOptions): Contract {
  if (typeof options !== 'object' || options === null) {
    throw definitionInvalid('A contract has no options.', `Write contract({ ${Object.keys(required).join(', ')} }).`);
  }
  const called = typeof options.name === 'string' ? `The contract ${options.name}` : 'A contract';
  const subject: Subject = { called, facts: { contract: options.name } };
  refuseUnknownOptions(called, options, optionNames);
  refuseMissing(subject, { ...options }, required);
  refuseBadName('The name of a contract', options.name, "Write for example 'card-company/charges'.");
  refuseUnless(isText(options.version), subject, 'version', required.version);
  refuseUnless(isText(options.docs) && URL.canParse(options.docs), subject, 'docs', required.docs);
  const key = options.key === 'none' ? null : keyOf(options.key, subject);
  const made: Contract = {
    type: 'contract',
    name: options.name,
    version: options.version,
    docs: options.docs,
    verifiedOn: verifiedOnOf(options.verified, subject),
    key,
    scope: scopeOf(options.scope ?? (key === null ? [] : ['account']), subject),
    keyRetentionMs: retentionOf(options, subject),
    sameKey: key === null ? none(options.sameKey, 'sameKey', subject) : sameKeyOf(options.sameKey, subject),
    lookup: options.lookup === 'none' ? null : lookupOf(options.lookup, subject),
    replies: repliesOf(options.replies ?? [], subject),
    codeAt: pathOf(options.codeAt, 'codeAt', subject),
    replayHeader: pathOf(options.replayHeader, 'replayHeader', subject)?.toLowerCase() ?? null,
  };
  refuseContradictions(made, subject);
  return deepFrozen(made);
}

/** True for what {@link contract} returns. */
export function isContract(value: unknown): value is Contract {
  return hasType(value, 'contract');
}

function keyOf(given: KeyOptions, subject: Subject): ContractKey {
  refuseUnless(isObject(given), subject, 'key', required.key);
  refuseUnknownOptions(`key of ${subject.called}`, given, [
    ...['in', 'name', 'encoding', 'firstSentHeader', 'maxLength', 'characters'],
  ]);
  const { encoding = 'raw', firstSentHeader = null, maxLength = Infinity, characters = KEY_CHARACTERS } = given;
  refuseOtherWords(`key.in of ${subject.called}`, given.in, ['header', 'body', 'query']);
  refuseOtherWords(`key.encoding of ${subject.called}`, encoding, ['raw', 'sf-string']);
  refuseUnless(isText(given.name), subject, 'key.name', "a name such as 'Idempotency-Key'");
  if (given.in === 'header') refuseNoHeader(given.name, 'key.name', subject);
  if (firstSentHeader !== null) refuseNoHeader(firstSentHeader, 'key.firstSentHeader', subject);
  const refused = KEY_CHARACTERS.split('').filter((character) => !characters.includes(character));
  const length = encoding === 'sf-string' ? KEY_LENGTH + 2 : KEY_LENGTH;
  if (!(maxLength >= length) || refused.length > 0) {
    const why =
      refused.length > 0
        ? `takes no ${refused.map((character) => `"${character}"`).join(', ')} in a key`
        : `takes keys of ${maxLength} characters`;
    throw definitionInvalid(
      `${subject.called} ${why}; what is sent is a UUID of ${length} characters.`,
      "Describe it as a provider without keys (key: 'none') that is looked up by a reference of your own.",
      { ...subject.facts, option: refused.length > 0 ? 'key.characters' : 'key.maxLength' },
    );
  }
  return { in: given.in, name: given.name, encoding, firstSentHeader };
}

function refuseNoHeader(name: string, option: string, { called, facts }: Subject): void {
  if (HEADER_NAME.test(name) && name.length <= HEADER_LENGTH_MAX) return;
  const remedy = 'Write it as the provider does.';
  throw definitionInvalid(`${option} of ${called} is no name of a header.`, remedy, { ...facts, option });
}

const HEADER_LENGTH_MAX = 100;

function verifiedOnOf(verified: string, subject: Subject): string | null {
  if (verified === 'unverified') return null;
  const isDay =
    typeof verified === 'string' && /^\d{4}-\d\d-\d\d$/.test(verified) && !Number.isNaN(Date.parse(verified));
  refuseUnless(isDay, subject, 'verified', required.verified);
  return verified;
}

function scopeOf(scope: readonly KeyScope[], subject: Subject): readonly KeyScope[] {
  refuseUnless(Array.isArray(scope), subject, 'scope', "a list such as ['account', 'region']");
  for (const within of scope) {
    refuseOtherWords(`scope of ${subject.called}`, within, ['account', 'region', 'endpoint']);
  }
  return [...new Set(scope)];
}

function retentionOf({ key, keyRetention }: ContractOptions, subject: Subject): number | null {
  if (key === 'none') return none(keyRetention, 'keyRetention', subject);
  const what = "how long the key is remembered ('24h'), 'for-ever', or 'unsaid'";
  refuseMissing(subject, { keyRetention }, { keyRetention: what });
  if (keyRetention === 'unsaid') return null;
  return lastingMs(
    keyRetention === 'for-ever' || keyRetention === undefined ? HUNDRED_YEARS : keyRetention,
    `keyRetention of ${subject.called}`,
  );
}

/** What only a provider with keys can have. */
function none(given: unknown, option: string, subject: Subject): null {
  if (given === undefined) return null;
  throw contradiction(`it takes no key and says ${option}`, `Leave ${option} out, or say where the key goes.`, subject);
}

const sameKeyWords = {
  afterSuccess: ['first-reply', 'current-state', 'told'],
  whileRunning: ['refused', 'waits', 'unsaid'],
  afterRefusal: ['first-reply', 're-executes', 'unsaid'],
  afterServerError: ['first-reply', 're-executes', 'resumes', 'unsaid'],
  otherParameters: ['refused', 'first-reply', 're-executes', 'unsaid'],
} as const;

function sameKeyOf(given: SameKey | undefined, subject: Subject): SameKey {
  const what = 'what a second send under a key does ({ afterSuccess, whileRunning, afterRefusal, ... })';
  refuseMissing(subject, { sameKey: given }, { sameKey: what });
  refuseUnless(isObject(given), subject, 'sameKey', what);
  const said = { ...given };
  refuseUnknownOptions(`sameKey of ${subject.called}`, said, Object.keys(sameKeyWords));
  for (const [option, words] of Object.entries(sameKeyWords)) {
    refuseOtherWords(`sameKey.${option} of ${subject.called}`, Reflect.get(said, option), words);
  }
  // Each of its members has been seen to be one of its words.
  return said as SameKey;
}

function lookupOf(given: ContractLookupOptions, subject: Subject): ContractLookup {
  refuseUnless(isObject(given), subject, 'lookup', required.lookup);
  refuseUnknownOptions(`lookup of ${subject.called}`, given, ['by', 'visibleWithin', 'arrivalLimit']);
  refuseOtherWords(`lookup.by of ${subject.called}`, given.by, ['key', 'reference', 'list']);
  const { by, visibleWithin, arrivalLimit } = given;
  const ms = (duration: Duration, option: string) => milliseconds(duration, `lookup.${option} of ${subject.called}`);
  return {
    by,
    visibleWithinMs: ms(visibleWithin, 'visibleWithin'),
    arrivalLimitMs: arrivalLimit === undefined ? null : ms(arrivalLimit, 'arrivalLimit'),
  };
}

const provenWords: readonly Proven[] = [
  ...(['done', 'done-before', 'accepted', 'refused', 'not-done'] as const),
  ...(['locked-out', 'key-conflict', 'running', 'too-late', 'unknown'] as const),
];

function repliesOf(given: readonly ReplyRule[], subject: Subject): readonly ReplyRule[] {
  refuseUnless(Array.isArray(given), subject, 'replies', "a list such as [{ status: 409, proves: 'running' }]");
  return given.map((rule, at) => ruleOf(rule, at, subject));
}

function ruleOf(given: ReplyRule, at: number, subject: Subject): ReplyRule {
  const option = `replies[${at}]`;
  refuseUnless(isObject(given), subject, option, "a rule such as { status: 409, proves: 'running' }");
  const names = ['status', 'headers', 'body', 'proves', 'code', 'speaksFor', 'sendAgain'];
  refuseUnknownOptions(`${option} of ${subject.called}`, given, names);
  refuseOtherWords(`${option}.proves of ${subject.called}`, given.proves, provenWords);
  const statuses = given.status === undefined ? [] : [given.status].flat();
  for (const status of statuses) {
    const isOne = Number.isInteger(status)
      ? Number(status) >= 200 && Number(status) <= 599
      : /^[2-5]xx$/.test(`${status}`);
    refuseUnless(isOne, subject, `${option}.status`, "a status from 200 to 599, or '2xx', '3xx', '4xx', '5xx'");
  }
  const { status, headers = {}, body = {}, proves, code, speaksFor, sendAgain } = given;
  const isPlain = isObject(headers) && isObject(body);
  refuseUnless(
    isPlain && Object.values(headers).every(isString),
    subject,
    `${option}.headers`,
    'a text, or *, by name',
  );
  refuseUnless(isPlain && Object.values(body).every(isScalar), subject, `${option}.body`, 'a value, or *, by path');
  if (speaksFor !== undefined) refuseOtherWords(`${option}.speaksFor of ${subject.called}`, speaksFor, ['send', 'key']);
  if (sendAgain !== undefined) {
    refuseOtherWords(`${option}.sendAgain of ${subject.called}`, sendAgain, ['unasked', 'ask-first']);
  }
  if (code !== undefined) {
    refuseUnless(
      isCode(code),
      subject,
      `${option}.code`,
      "a code such as 'card_declined', of letters, digits, _ . and -",
    );
  }
  const [named, wanted] = [Object.entries(headers), Object.entries(body)];
  if (statuses.length + named.length + wanted.length === 0) {
    throw definitionInvalid(
      `${option} of ${subject.called} fits every reply.`,
      'Say which status, header or body it is about.',
      { ...subject.facts, option },
    );
  }
  return {
    ...(status === undefined ? {} : { status: typeof status === 'object' ? [...status] : status }),
    ...(named.length === 0 ? {} : { headers: Object.fromEntries(named.map(([name, is]) => [name.toLowerCase(), is])) }),
    ...(wanted.length === 0 ? {} : { body: Object.fromEntries(wanted) }),
    proves,
    ...(code === undefined ? {} : { code }),
    ...(speaksFor === undefined ? {} : { speaksFor }),
    ...(sendAgain === undefined ? {} : { sendAgain }),
  };
}

/** Refuses what cannot all be true, and what one part says and no other reads. */
function refuseContradictions({ key, sameKey, lookup, replies }: Contract, subject: Subject): void {
  const says = (proven: Proven) => replies.some(({ proves }) => proves === proven);
  const notRefused = replies.filter(({ proves }) => proves !== 'refused');
  for (const option of ['speaksFor', 'code'] as const) {
    if (notRefused.every((rule) => rule[option] === undefined)) continue;
    throw contradiction(`a reply that is no refusal has a ${option}`, `Leave its ${option} out.`, subject);
  }
  if (key === null || sameKey === null) {
    const keyed = replies.find(
      ({ proves, speaksFor, sendAgain }) =>
        ['done-before', 'key-conflict', 'running', 'too-late'].includes(proves) ||
        speaksFor === 'key' ||
        sendAgain === 'unasked',
    );
    if (keyed !== undefined) {
      throw contradiction(
        `it takes no key, and one of its replies (${keyed.proves}) speaks of one`,
        'Say where the key goes, or leave that reply out.',
        subject,
      );
    }
    if (lookup?.by === 'key') {
      throw contradiction('it takes no key and is looked up by it', "Write lookup.by: 'reference' or 'list'.", subject);
    }
    return;
  }
  const unread: readonly [boolean, Proven, string][] = [
    [sameKey.afterSuccess === 'told', 'done-before', "afterSuccess: 'told'"],
    [sameKey.whileRunning === 'refused', 'running', "whileRunning: 'refused'"],
    [sameKey.otherParameters === 'refused', 'key-conflict', "otherParameters: 'refused'"],
  ];
  for (const [isSaid, proves, said] of unread) {
    if (!isSaid || says(proves)) continue;
    throw contradiction(
      `it says sameKey.${said}, and no reply that proves ${proves}`,
      `Add the reply by which the provider tells: { status: 409, proves: '${proves}' }.`,
      subject,
    );
  }
  if (sameKey.afterRefusal !== 'first-reply' && replies.some(({ speaksFor }) => speaksFor === 'key')) {
    throw contradiction(
      `a refusal of it speaks for the key, and after a refusal the key ${sameKey.afterRefusal}`,
      "Write sameKey.afterRefusal: 'first-reply', or leave speaksFor out.",
      subject,
    );
  }
}

function contradiction(what: string, remedy: string, { called, facts }: Subject): Error {
  return definitionInvalid(`${called} contradicts itself: ${what}.`, remedy, facts);
}

function pathOf(given: string | undefined, option: string, subject: Subject): string | null {
  if (given === undefined) return null;
  refuseUnless(isText(given), subject, option, 'a text');
  return given;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= 1_000;
}

function isString(value: unknown): boolean {
  return typeof value === 'string';
}

function isScalar(value: unknown): boolean {
  return value === null || ['string', 'boolean'].includes(typeof value) || Number.isFinite(value);
}

function deepFrozen<Value>(value: Value): Value {
  if (!isObject(value)) return value;
  for (const part of Object.values(value)) deepFrozen(part);
  return Object.freeze(value);
}
