/**
 * What `contract()` makes, and what it refuses. What could go wrong is that a claim is kept which cannot be true, or which
 * nothing reads: an effect would be done twice for it, long after it was written down.
 */

import { describe, expect, test } from 'vitest';
import { contract, type ContractOptions, isContract, type KeyOptions } from '../../src/define/contract.ts';
import type { ReplyRule, SameKey } from '../../src/domain/contract.ts';
import { isSagacityError, type SagacityError } from '../../src/domain/errors.ts';

const sameKey: SameKey = {
  ...{ afterSuccess: 'first-reply', whileRunning: 'refused', afterRefusal: 'first-reply' },
  ...{ afterServerError: 'first-reply', otherParameters: 'refused' },
};
const told: readonly ReplyRule[] = [
  { status: 409, proves: 'running' },
  { status: 400, body: { 'error.type': 'key_reused' }, proves: 'key-conflict' },
];
const named = { name: 'card/charges', version: '1', docs: 'https://docs.card.example/keys' };
const key: KeyOptions = { in: 'header', name: 'Idempotency-Key' };
const complete: ContractOptions = {
  ...{ ...named, verified: '2026-11-30', key, keyRetention: '24h', sameKey, replies: told },
  lookup: { by: 'key', visibleWithin: '1m' },
};
const keyless: ContractOptions = {
  ...{ ...named, verified: 'unverified', key: 'none', lookup: { by: 'reference', visibleWithin: '1m' } },
};

/** What a caller without a compiler gets. */
function refusalOf(options: unknown): SagacityError {
  try {
    // The point of these tests: arguments that the types would not let through.
    (contract as (options: unknown) => unknown)(options);
  } catch (error) {
    if (isSagacityError(error, 'DEFINITION_INVALID')) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('a contract', () => {
  test('is what was said, in milliseconds, with what was left out as null', () => {
    const charges = contract(complete);

    expect(charges).toEqual({
      type: 'contract',
      ...{ name: 'card/charges', version: '1', docs: 'https://docs.card.example/keys', verifiedOn: '2026-11-30' },
      key: { in: 'header', name: 'Idempotency-Key', encoding: 'raw', firstSentHeader: null },
      ...{ scope: ['account'], keyRetentionMs: 86_400_000, sameKey },
      lookup: { by: 'key', visibleWithinMs: 60_000, arrivalLimitMs: null },
      ...{ replies: told, codeAt: null, replayHeader: null },
    });
  });

  test('of a provider without keys has none, and nothing that belongs to one', () => {
    const charges = contract({ ...keyless, lookup: 'none' });

    expect(charges).toMatchObject({ verifiedOn: null, key: null, scope: [], keyRetentionMs: null, sameKey: null });
    expect(charges).toMatchObject({ lookup: null, replies: [] });
  });

  test('has what was said of all the rest', () => {
    const charges = contract({
      ...complete,
      key: { in: 'body', name: 'meta.key', encoding: 'sf-string', maxLength: 38, characters: '0123456789abcdef-_' },
      scope: ['account', 'region', 'account'],
      keyRetention: 'for-ever',
      lookup: { by: 'list', visibleWithin: 0, arrivalLimit: '1h' },
      replies: [...told, { status: ['4xx', 503], headers: { 'X-State': '*' }, proves: 'refused', code: 'teapot' }],
      ...{ codeAt: 'error.code', replayHeader: 'Idempotent-Replayed' },
    });

    expect(charges).toMatchObject({
      key: { in: 'body', name: 'meta.key', encoding: 'sf-string' },
      ...{ scope: ['account', 'region'], keyRetentionMs: 36_525 * 86_400_000 },
      lookup: { by: 'list', visibleWithinMs: 0, arrivalLimitMs: 3_600_000 },
      ...{ codeAt: 'error.code', replayHeader: 'idempotent-replayed' },
    });
    expect(charges.replies[2]).toEqual({
      ...{ status: ['4xx', 503], headers: { 'x-state': '*' }, proves: 'refused', code: 'teapot' },
    });
  });

  test('of a provider that does not say how long it remembers a key has no time to rely on', () => {
    const charges = contract({ ...complete, keyRetention: 'unsaid' });

    expect(charges).toMatchObject({ keyRetentionMs: null, sameKey, key: { name: 'Idempotency-Key' } });
  });

  test('says where the time of the first request goes, where the provider asks for it', () => {
    const charges = contract({ ...complete, key: { ...key, firstSentHeader: 'Repeatability-First-Sent' } });

    expect(charges.key).toMatchObject({ firstSentHeader: 'Repeatability-First-Sent' });
  });

  test('is plain: it comes out of a database and out of another thread as it went in', () => {
    const charges = contract(complete);

    expect(JSON.parse(JSON.stringify(charges))).toStrictEqual(charges);
    expect(structuredClone(charges)).toStrictEqual(charges);
  });

  test('is frozen to its depths, and what it was made from is not', () => {
    const body = { 'error.type': 'key_reused' };
    const replies = [
      { status: 409, proves: 'running' as const },
      { status: [400], body, proves: 'key-conflict' as const },
    ];
    const given = { ...complete, sameKey: { ...sameKey }, scope: ['account' as const], replies };

    const charges = contract(given);

    const thawed = (value: unknown): boolean =>
      typeof value === 'object' && value !== null && (!Object.isFrozen(value) || Object.values(value).some(thawed));
    expect(thawed(charges)).toBe(false);
    expect(
      [given, given.sameKey, given.scope, replies, replies[1], replies[1]?.status, body].map(Object.isFrozen),
    ).toEqual(Array.from({ length: 7 }, () => false));
  });

  test('is known from other things', () => {
    expect([contract(complete), complete, null, 'contract', {}].map(isContract)).toEqual([
      true,
      false,
      false,
      false,
      false,
    ]);
  });
});

describe('contract() refuses', () => {
  const { keyRetention: _retention, ...withoutRetention } = complete;
  const { sameKey: _sameKey, ...withoutSameKey } = complete;
  const { name: _name, docs: _docs, ...withoutNames } = complete;
  const rule = (more: object) => ({ ...complete, replies: [...told, { status: 402, proves: 'refused', ...more }] });

  test.each<[string, unknown, RegExp]>([
    ['no options', undefined, /has no options.*contract\(\{ name, version, docs/],
    ['what is required and missing', withoutNames, /does not say name and docs/],
    ['an option that there is not', { ...complete, retention: '1d' }, /no option retention.*options are/],
    ['a misspelt option', { ...complete, sameKeys: sameKey }, /did you mean sameKey\?/],
    ['a name that is none', { ...complete, name: '' }, /name of a contract is empty/],
    [
      'a version that is a number',
      { ...complete, version: 1 },
      /version of The contract card\/charges is of the wrong kind/,
    ],
    ['docs that are no address', { ...complete, docs: 'the manual' }, /docs of .* is of the wrong kind/],
    ['a day that there is not', { ...complete, verified: '2026-13-01' }, /verified of .*'unverified'/],
    ['a day in another form', { ...complete, verified: '30.11.2026' }, /verified of/],
    ['a key that is a text', { ...complete, key: 'Idempotency-Key' }, /key of .* is of the wrong kind/],
    [
      'a key with an option that there is not',
      { ...complete, key: { ...key, length: 3 } },
      /key of .* no option length/,
    ],
    ['a key in another place', { ...complete, key: { ...key, in: 'cookie' } }, /key.in of .* is "cookie"/],
    ['a key in another encoding', { ...complete, key: { ...key, encoding: 'base64' } }, /key.encoding of/],
    ['a key without a name', { ...complete, key: { in: 'body' } }, /key.name of .* is of the wrong kind/],
    ['a header that none can be called', { ...complete, key: { in: 'header', name: 'a b' } }, /no name of a header/],
    [
      'a time in a header that none can be called',
      { ...complete, key: { ...key, firstSentHeader: 'a b' } },
      /firstSentHeader/,
    ],
    ['keys too short for a UUID', { ...complete, key: { ...key, maxLength: 35 } }, /takes keys of 35 characters.*36/],
    [
      'keys too short for a UUID in quotes',
      { ...complete, key: { ...key, encoding: 'sf-string', maxLength: 37 } },
      /takes keys of 37 characters.*38.*key: 'none'/,
    ],
    [
      'keys without the characters of a UUID',
      { ...complete, key: { ...key, characters: '0123456789ABCDEF' } },
      /takes no "a", "b", "c", "d", "e", "f", "-" in a key/,
    ],
    ['a scope that is a word', { ...complete, scope: 'account' }, /scope of .* a list/],
    ['a scope that there is not', { ...complete, scope: ['planet'] }, /scope of .* is "planet"/],
    ['a key that is remembered for no time said', withoutRetention, /does not say keyRetention/],
    ['a key that is remembered for no time', { ...complete, keyRetention: 0 }, /keyRetention of .* is no time at all/],
    ['a key of which a second send is not described', withoutSameKey, /does not say sameKey/],
    [
      'half a description of a second send',
      { ...complete, sameKey: { ...sameKey, whileRunning: undefined } },
      /whileRunning/,
    ],
    [
      'another word for a second send',
      { ...complete, sameKey: { ...sameKey, afterSuccess: 'unsaid' } },
      /afterSuccess/,
    ],
    ['more of a second send than there is', { ...complete, sameKey: { ...sameKey, after: 'x' } }, /no option after/],
    ['a look-up that is a word', { ...complete, lookup: 'key' }, /lookup of .* wrong kind/],
    [
      'a look-up by another thing',
      { ...complete, lookup: { by: 'hand', visibleWithin: 0 } },
      /lookup.by of .* is "hand"/,
    ],
    ['a look-up that shows nobody knows when', { ...complete, lookup: { by: 'key' } }, /lookup.visibleWithin of/],
    ['replies that are no list', { ...complete, replies: told[0] }, /replies of .* wrong kind/],
    ['a reply that is none', { ...complete, replies: [409] }, /replies\[0\] of/],
    ['a reply with an option that there is not', rule({ means: 'no' }), /replies\[2\] of .* no option means/],
    ['a reply that proves something else', rule({ proves: 'success' }), /replies\[2\].proves of .* is "success"/],
    ['a status that there is not', rule({ status: 199 }), /replies\[2\].status of/],
    ['a status of a thousand', rule({ status: [402, '6xx'] }), /replies\[2\].status of/],
    ['a header that is a number', rule({ headers: { 'x-code': 1 } }), /replies\[2\].headers of/],
    ['headers that are a text', rule({ headers: 'x-code' }), /replies\[2\].headers of/],
    ['a body that is deep', rule({ body: { error: { code: 1 } } }), /replies\[2\].body of/],
    ['a body that JSON cannot hold', rule({ body: { code: Number.NaN } }), /replies\[2\].body of/],
    ['a code that is a sentence', rule({ code: 'Card declined.' }), /replies\[2\].code of/],
    ['another word for whom it speaks', rule({ speaksFor: 'all' }), /replies\[2\].speaksFor of/],
    ['another word for sending again', rule({ sendAgain: 'always' }), /replies\[2\].sendAgain of/],
    ['a rule that fits everything', rule({ status: undefined }), /replies\[2\] of .* fits every reply/],
    ['a rule that fits everything in many words', rule({ status: [], headers: {}, body: {} }), /fits every reply/],
    ['a place of codes that is none', { ...complete, codeAt: '' }, /codeAt of/],
    ['a header of replays that is none', { ...complete, replayHeader: 1 }, /replayHeader of/],
  ])('%s', (_, options, message) => {
    const refusal = refusalOf(options);

    expect(refusal.message).toMatch(message);
  });

  test.each<[string, unknown, RegExp]>([
    ['a retention without a key', { ...keyless, keyRetention: '1d' }, /takes no key and says keyRetention/],
    ['a second send without a key', { ...keyless, sameKey }, /takes no key and says sameKey/],
    [
      'a look-up by a key that there is not',
      { ...keyless, lookup: complete.lookup },
      /takes no key and is looked up by it/,
    ],
    ...(['done-before', 'key-conflict', 'running', 'too-late'] as const).map((proves): [string, unknown, RegExp] => [
      `a reply that proves ${proves} without a key`,
      { ...keyless, replies: [{ status: 409, proves }] },
      new RegExp(`takes no key, and one of its replies \\(${proves}\\)`),
    ]),
    [
      'a refusal that speaks for a key that there is not',
      { ...keyless, replies: [{ status: 402, proves: 'refused', speaksFor: 'key' }] },
      /takes no key, and one of its replies \(refused\)/,
    ],
    [
      'sending again unasked without a key',
      { ...keyless, replies: [{ status: 500, proves: 'unknown', sendAgain: 'unasked' }] },
      /takes no key, and one of its replies \(unknown\)/,
    ],
    [
      'a second send that is told of, by no reply',
      { ...complete, sameKey: { ...sameKey, afterSuccess: 'told' } },
      /afterSuccess: 'told', and no reply that proves done-before/,
    ],
    ['a running one that is told of, by no reply', { ...complete, replies: [told[1]] }, /no reply that proves running/],
    [
      'a conflict that is told of, by no reply',
      { ...complete, replies: [told[0]] },
      /no reply that proves key-conflict/,
    ],
    ...(['re-executes', 'unsaid'] as const).map((afterRefusal): [string, unknown, RegExp] => [
      `a refusal that speaks for the key, after which it ${afterRefusal}`,
      { ...rule({ speaksFor: 'key' }), sameKey: { ...sameKey, afterRefusal } },
      new RegExp(`after a refusal the key ${afterRefusal}`),
    ]),
    [
      'a reply that is no refusal and speaks for the key',
      rule({ proves: 'unknown', speaksFor: 'key' }),
      /no refusal has a speaksFor/,
    ],
    ['a code of what is no refusal', rule({ proves: 'unknown', code: 'declined' }), /no refusal has a code/],
  ])('the contradiction of %s', (_, options, message) => {
    const refusal = refusalOf(options);

    expect(refusal.message).toMatch(/^The contract card\/charges contradicts itself: /);
    expect(refusal.message).toMatch(message);
    expect(refusal.facts).toMatchObject({ contract: 'card/charges' });
  });
});
