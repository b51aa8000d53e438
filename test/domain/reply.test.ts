/**
 * What a reply proves, row by row: one table for every kind of provider there is, as it was decided before there was
 * code for it. What could go wrong is that something is taken for proof that was seen both of what had happened and of
 * what had not, and an effect is repeated; or that what is proven is not believed, and a person is asked for nothing.
 */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { contract, type ContractOptions } from '../../src/define/contract.ts';
import type { Contract, ReplyRule, SameKey } from '../../src/domain/contract.ts';
import { RETRY_AFTER_MAX_MS, type Reply, type Verdict, verdictOf } from '../../src/domain/reply.ts';
import './seed.ts';

const NOW = Date.parse('2026-11-30T10:00:00Z');

const described = { name: 'card/charges', version: '1', docs: 'https://docs.card.example', verified: '2026-11-30' };
const withoutKey = { ...described, key: 'none' } as const;
const withKey = (sameKey: Partial<SameKey>): ContractOptions => ({
  ...described,
  key: { in: 'header', name: 'Idempotency-Key' },
  keyRetention: '24h',
  sameKey: {
    ...{ afterSuccess: 'first-reply', whileRunning: 'unsaid', otherParameters: 'unsaid' },
    ...{ afterRefusal: 're-executes', afterServerError: 're-executes', ...sameKey },
  },
  lookup,
});
const lookup = { by: 'reference', visibleWithin: '1m' } as const;

/** The columns: the kinds of provider, by what one can rely on. */
const providers = {
  'nothing to rely on': { ...withoutKey, lookup: 'none' },
  'a look-up only': { ...withoutKey, lookup },
  'a key, success only saved': withKey({}),
  'a key, all saved': withKey({ afterRefusal: 'first-reply', afterServerError: 'first-reply' }),
  'a key, resumes': withKey({ afterRefusal: 'first-reply', afterServerError: 'resumes' }),
} satisfies Record<string, ContractOptions>;

const reply = (status: number, body: unknown = {}, headers: Record<string, string> = {}): Reply => ({
  ...{ type: 'reply', status, headers, body: { type: 'whole', value: body } },
});
const broken = (status: number): Reply => ({
  ...{ type: 'reply', status, headers: {}, body: { type: 'broken', reason: 'cut off' } },
});
const replies = (...statuses: number[]): Reply[] => statuses.flatMap((status) => [reply(status), broken(status)]);
const whole = (...statuses: number[]): Reply[] => statuses.map((status) => reply(status));
const notSent: Reply = { type: 'not-sent' };
const noReply: Reply = { type: 'none', refusedStream: false };
const refusedStream: Reply = { type: 'none', refusedStream: true };

interface Row {
  /** The row of the decision table that it belongs to. */
  readonly row: string;
  readonly seen: readonly Reply[];
  /** What the provider's documentation adds; left out: nothing, HTTP decides. */
  readonly rule?: ReplyRule;
  /** By column, what is proven and what comes next; one for all, where all are alike. */
  readonly is: string | readonly [string, string, string, string, string];
}

const impossible = 'such a provider cannot say so';
const asked = [
  ...['unknown, a person', 'unknown, look up', 'unknown, look up', 'unknown, look up', 'unknown, look up'],
] as unknown as Row['is'];
const gateway = [
  ...['unknown, a person', 'unknown, look up', 'unknown, look up', 'unknown, same key', 'unknown, same key'],
] as unknown as Row['is'];
const safe = [
  ...['unknown, a person', 'unknown, look up', 'unknown, same key', 'unknown, same key', 'unknown, same key'],
] as unknown as Row['is'];
const keyed = (is: string): Row['is'] => [impossible, impossible, is, is, is];

const table: readonly Row[] = [
  { row: 'the gate never opened', seen: [notSent], is: 'not-sent' },
  { row: 'the gate opened, and no status came', seen: [noReply], is: safe },
  { row: 'the stream was refused', seen: [refusedStream], is: 'not-done' },
  { row: '2xx with a body', seen: whole(200, 201, 203, 204, 299), is: 'done' },
  {
    row: '2xx with a broken body',
    seen: [broken(200), broken(201)],
    is: [
      ...(['unreadable, a person', 'unreadable, look up'] as const),
      ...(['unreadable, same key', 'unreadable, same key', 'unreadable, same key'] as const),
    ],
  },
  {
    row: '202',
    seen: replies(202),
    is: [
      ...(['accepted, a person', 'accepted, look up', 'accepted, look up'] as const),
      ...(['accepted, look up', 'accepted, look up'] as const),
    ],
  },
  { row: '3xx', seen: replies(300, 301, 302, 303, 304, 307, 308), is: asked },
  { row: '400, 404, 405, 411, 413, 414, 415, 431, 501, 505', seen: replies(400, 404, 405, 411), is: 'refused' },
  { row: '400, 404, 405, 411, 413, 414, 415, 431, 501, 505', seen: replies(413, 414, 415, 431), is: 'refused' },
  { row: '400, 404, 405, 411, 413, 414, 415, 431, 501, 505', seen: replies(501, 505), is: 'refused' },
  { row: '401, 403, 407, 511', seen: replies(401, 403, 407), is: asked },
  { row: '401, 403, 407, 511', seen: replies(511), is: gateway },
  {
    row: '401, 403, 407, 511',
    seen: replies(401, 403, 407, 511),
    rule: { status: [401, 403, 407, 511], proves: 'locked-out' },
    is: 'locked-out',
  },
  { row: '402', seen: replies(402), is: 'refused' },
  { row: '408', seen: replies(408), is: safe },
  { row: '409', seen: replies(409), is: asked },
  { row: '409', seen: replies(409), rule: { status: 409, proves: 'running' }, is: keyed('running, same key') },
  { row: '409', seen: replies(409), rule: { status: 409, proves: 'key-conflict' }, is: keyed('key-conflict') },
  { row: '409', seen: whole(409), rule: { status: 409, proves: 'done-before' }, is: keyed('done-before') },
  {
    row: '409',
    seen: [broken(409)],
    rule: { status: 409, proves: 'done-before' },
    is: keyed('unreadable, same key'),
  },
  { row: '412', seen: replies(412), is: asked },
  { row: '412', seen: replies(412), rule: { status: 412, proves: 'too-late' }, is: keyed('too-late') },
  { row: '421, 425', seen: replies(421, 425), is: 'not-done' },
  { row: '422', seen: replies(422), is: 'refused' },
  { row: '422', seen: replies(422), rule: { status: 422, proves: 'key-conflict' }, is: keyed('key-conflict') },
  {
    row: '422',
    seen: [reply(422, { errorCode: '704' })],
    rule: { status: 422, body: { errorCode: '704' }, proves: 'running' },
    is: keyed('running, same key'),
  },
  { row: '423, 424', seen: replies(423, 424), is: asked },
  { row: '429', seen: replies(429), is: 'not-done' },
  {
    row: '500',
    seen: replies(500),
    is: [
      ...(['unknown, a person', 'unknown, look up', 'unknown, look up', 'unknown, look up'] as const),
      'unknown, same key',
    ],
  },
  { row: '502, 504', seen: replies(502, 504), is: gateway },
  { row: '503', seen: replies(503), is: gateway },
  {
    row: '503',
    seen: [reply(503, { errorCode: '703' })],
    rule: { status: 503, body: { errorCode: '703' }, proves: 'not-done' },
    is: 'not-done',
  },
  { row: '52x of a network in front', seen: replies(520, 521, 522, 523, 524, 525, 526), is: gateway },
  { row: '52x of a network in front', seen: whole(521), rule: { status: 521, proves: 'not-done' }, is: 'not-done' },
  { row: 'the process ended before it wrote what came', seen: [noReply], is: safe },
  { row: 'everything else', seen: replies(406, 410, 418, 426, 428, 451, 499), is: asked },
];

/** What is proven, and of what proves nothing, what can be done next. */
function read(under: Contract, verdict: Verdict): string {
  if (!['unknown', 'unreadable', 'accepted', 'running'].includes(verdict.proves)) return verdict.proves;
  const asking = under.lookup === null ? 'a person' : 'look up';
  return `${verdict.proves}, ${verdict.sendAgain === 'unasked' ? 'same key' : asking}`;
}

function contractOf(options: ContractOptions, rule: ReplyRule | undefined): Contract | null {
  try {
    return contract({ ...options, replies: rule === undefined ? [] : [rule] });
  } catch {
    return null;
  }
}

describe('a reply', () => {
  test('has a row in the table, and the table has them all', () => {
    const rows = new Set(table.map(({ row }) => row));

    expect([...rows]).toEqual([
      ...['the gate never opened', 'the gate opened, and no status came', 'the stream was refused'],
      ...['2xx with a body', '2xx with a broken body', '202', '3xx'],
      ...['400, 404, 405, 411, 413, 414, 415, 431, 501, 505', '401, 403, 407, 511', '402', '408', '409', '412'],
      ...['421, 425', '422', '423, 424', '429', '500', '502, 504', '503', '52x of a network in front'],
      ...['the process ended before it wrote what came', 'everything else'],
    ]);
    expect(rows.size).toBe(22 + 1);
  });

  describe.each(
    table.map(({ rule, ...rest }) => ({ ...rest, rule, says: rule === undefined ? 'HTTP' : 'the contract' })),
  )('of the row $row, as $says has it', ({ seen, rule, is }) => {
    test.each(Object.entries(providers).map(([provider, options], at) => ({ provider, options, at })))(
      'proves what the table says, of a provider with $provider',
      ({ options, at }) => {
        const under = contractOf(options, rule);

        const proven = new Set(
          seen.map((one) => (under === null ? impossible : read(under, verdictOf(under, one, NOW)))),
        );

        expect([...proven]).toEqual([typeof is === 'string' ? is : is[at]]);
      },
    );
  });

  test('is read without a contract as under one that says nothing', () => {
    const nothing = contract({ ...withoutKey, lookup: 'none' });

    const verdicts = table
      .flatMap(({ seen }) => seen)
      .map((one) => [verdictOf(null, one, NOW), verdictOf(nothing, one, NOW)]);

    for (const [without, under] of verdicts) expect(without).toEqual(under);
  });

  test('says in few words what was seen', () => {
    const seen = [notSent, noReply, refusedStream, reply(503), broken(201)];

    const reasons = seen.map((one) => verdictOf(null, one, NOW).reason);

    expect(reasons).toEqual([
      ...['it was not sent', 'no reply', 'the stream was refused', 'status 503'],
      'a success that cannot be read (status 201)',
    ]);
  });
});

describe('a rule of a contract', () => {
  const under = (...rules: ReplyRule[]) => contract({ ...withKey({ afterRefusal: 'first-reply' }), replies: rules });
  const provenBy = (rule: ReplyRule, one: Reply) => verdictOf(under(rule), one, NOW).proves;

  test('decides when all of it fits, the first of several', () => {
    const rules = under(
      { status: 409, headers: { 'X-State': 'Busy' }, body: { 'errors.0.code': 'locked' }, proves: 'running' },
      { status: '4xx', headers: { 'x-state': '*' }, proves: 'key-conflict' },
      { body: { state: '*' }, proves: 'unknown' },
    );

    const verdicts = [
      reply(409, { errors: [{ code: 'locked' }] }, { 'x-state': 'busy' }),
      reply(409, { errors: [{ code: 'other' }] }, { 'x-state': 'busy' }),
      reply(404, {}, { 'x-state': '' }),
      reply(409, { errors: [{ code: 'locked' }] }),
      reply(200, { state: null }),
      reply(200, {}),
    ].map((one) => verdictOf(rules, one, NOW).proves);

    expect(verdicts).toEqual(['running', 'key-conflict', 'key-conflict', 'unknown', 'unknown', 'done']);
  });

  test('compares what stands in a body by value and by kind', () => {
    const rule = { status: 422, body: { code: 704 }, proves: 'running' } as const;

    const proven = [704, '704', null, undefined].map((code) => provenBy(rule, reply(422, { code })));

    expect(proven).toEqual(['running', 'refused', 'refused', 'refused']);
  });

  test('does not see in a body or in headers what nobody wrote there', () => {
    const inherited = { status: 400, body: { constructor: '*' }, proves: 'running' } as const;
    const header = { status: 400, headers: { constructor: '*' }, proves: 'running' } as const;

    const proven = [provenBy(inherited, reply(400, {})), provenBy(header, reply(400)), provenBy(header, broken(400))];

    expect(proven).toEqual(['refused', 'refused', 'refused']);
  });

  test('says for whom a refusal speaks, and whether it can be sent again unasked', () => {
    const rules = under(
      { status: 402, proves: 'refused', speaksFor: 'key' },
      { status: 500, proves: 'unknown', sendAgain: 'unasked' },
      { status: 504, proves: 'unknown', sendAgain: 'ask-first' },
    );

    const verdicts = [402, 400, 500, 504].map((status) => verdictOf(rules, reply(status), NOW));

    expect(verdicts.map(({ speaksFor }) => speaksFor)).toEqual(['key', 'send', 'send', 'send']);
    expect(verdicts.map(({ sendAgain }) => sendAgain)).toEqual(['ask-first', 'ask-first', 'unasked', 'ask-first']);
  });

  test('is told by its header that a reply was given before', () => {
    const replayed = contract({ ...withKey({}), replayHeader: 'Idempotent-Replayed' });

    const seen = [reply(200, {}, { 'idempotent-replayed': 'true' }), reply(200), noReply];

    expect(seen.map((one) => verdictOf(replayed, one, NOW).isReplay)).toEqual([true, false, false]);
  });
});

describe('the code of a refusal', () => {
  const coded = contract({
    ...withKey({}),
    codeAt: 'error.code',
    replies: [{ status: 418, proves: 'refused', code: 'teapot' }],
  });
  const codeOf = (one: Reply) => verdictOf(coded, one, NOW).code;

  test('is what the body says, where it looks like one', () => {
    const codes = ['card_declined', 'Card-Declined.2', 'E704'].map((code) => codeOf(reply(402, { error: { code } })));

    expect(codes).toEqual(['card_declined', 'Card-Declined.2', 'E704']);
  });

  test.each([
    ['a sentence', 'The card of A. Shopper was declined'],
    ['a number of a card', '4242424242424242'],
    ['more than a hundred letters', 'x'.repeat(101)],
    ['nothing', ''],
    ['two lines', 'declined\nbut'],
    ['a number', 51],
    ['an object', { code: 'declined' }],
    ['null', null],
  ])('is its status, where the body has %s', (_, code) => {
    expect(codeOf(reply(402, { error: { code } }))).toBe('http-402');
  });

  test('is its status, where the body cannot be read or has no such place', () => {
    expect([broken(402), reply(402, 'no'), reply(402, null)].map(codeOf)).toEqual(['http-402', 'http-402', 'http-402']);
  });

  test('is what the rule says, whatever the body does', () => {
    expect(codeOf(reply(418, { error: { code: 'other' } }))).toBe('teapot');
  });

  test('is there of a refusal only', () => {
    const seen = [reply(200, { error: { code: 'x' } }), reply(500, { error: { code: 'x' } }), reply(429), noReply];

    expect(seen.map(codeOf)).toEqual([null, null, null, null]);
  });
});

describe('the pause that a provider asks for', () => {
  const pause = (headers: Record<string, string>) => verdictOf(null, reply(429, {}, headers), NOW).retryAfterMs;
  const date = 'Mon, 30 Nov 2026 12:00:00 GMT';

  test.each<[string, Record<string, string>, number | null]>([
    ['none', {}, null],
    ['seconds', { 'retry-after': '120' }, 120_000],
    ['seconds with spaces', { 'retry-after': ' 3 ' }, 3_000],
    ['no seconds', { 'retry-after': '0' }, 0],
    ['a date, by our clock where the reply has none', { 'retry-after': 'Mon, 30 Nov 2026 10:00:30 GMT' }, 30_000],
    ["a date, by the reply's own clock", { date, 'retry-after': 'Mon, 30 Nov 2026 12:00:05 GMT' }, 5_000],
    ['a date that has passed', { date, 'retry-after': 'Mon, 30 Nov 2026 11:59:00 GMT' }, 0],
    [
      'a date, where that of the reply is garbage',
      { date: 'soon', 'retry-after': 'Mon, 30 Nov 2026 10:00:30 GMT' },
      30_000,
    ],
    ['a date in a hundred years', { 'retry-after': 'Sat, 30 Nov 2126 10:00:00 GMT' }, RETRY_AFTER_MAX_MS],
    ['more seconds than a day has', { 'retry-after': '90000' }, RETRY_AFTER_MAX_MS],
    ['seconds without end', { 'retry-after': '9'.repeat(400) }, RETRY_AFTER_MAX_MS],
    ['a negative number', { 'retry-after': '-5' }, null],
    ['a fraction', { 'retry-after': '1.5' }, null],
    ['a unit', { 'retry-after': '5s' }, null],
    ['a day in no form of HTTP', { 'retry-after': '2026-11-30' }, null],
    ['garbage', { 'retry-after': 'in a while' }, null],
    ['an empty header', { 'retry-after': '' }, null],
  ])('is read: %s', (_, headers, expected) => {
    expect(pause(headers)).toBe(expected);
  });

  test('is read of every reply, whatever it proves', () => {
    const verdicts = [200, 402, 409, 503].map((status) =>
      verdictOf(null, reply(status, {}, { 'retry-after': '1' }), NOW),
    );

    expect(verdicts.map(({ retryAfterMs }) => retryAfterMs)).toEqual([1_000, 1_000, 1_000, 1_000]);
  });
});

describe('whatever a provider sends', () => {
  const names = fc.constantFrom('retry-after', 'date', 'x-state', 'constructor', 'toString', '__proto__');
  const headers = fc.dictionary(fc.oneof(names, fc.string()), fc.string());
  const value = fc.oneof(
    fc.jsonValue(),
    fc.record({ error: fc.record({ code: fc.oneof(fc.string(), fc.jsonValue()), message: fc.string() }) }),
  );
  const body = fc.oneof(
    value.map((json) => ({ type: 'whole' as const, value: json as unknown })),
    fc.constant({ type: 'broken' as const, reason: 'cut off' }),
  );
  const anyReply: fc.Arbitrary<Reply> = fc.record({
    ...{ type: fc.constant('reply' as const), status: fc.integer({ min: 200, max: 599 }), headers, body },
  });
  const anyContract = fc
    .record({
      options: fc.constantFrom(...Object.values(providers)),
      rules: fc.array(
        fc.record(
          {
            status: fc.constantFrom<NonNullable<ReplyRule['status']>>('2xx', '4xx', '5xx', 409, [400, 500]),
            headers: fc.dictionary(names, fc.constantFrom('*', 'busy'), { maxKeys: 2 }),
            body: fc.dictionary(
              fc.constantFrom('error.code', 'constructor', '0', 'length'),
              fc.constantFrom('*', null, 1),
            ),
            proves: fc.constantFrom('done', 'refused', 'not-done', 'locked-out', 'unknown' as const),
          },
          { requiredKeys: ['status', 'proves'] },
        ),
        { maxLength: 3 },
      ),
    })
    .map(({ options, rules }) =>
      contract({
        ...options,
        codeAt: 'error.code',
        replayHeader: 'constructor',
        replies: rules as readonly ReplyRule[],
      }),
    );

  test('it is read without an error, and only in words that are known here', () => {
    fc.assert(
      fc.property(anyContract, anyReply, (under, one) => {
        const verdict = verdictOf(under, one, NOW);

        expect(verdict.reason).toMatch(/^status \d{3}$|^a success that cannot be read \(status \d{3}\)$/);
        expect(verdict.code ?? 'none').toMatch(/^[A-Za-z][A-Za-z0-9_.-]{0,99}$/);
        expect(verdict.code === null).toBe(verdict.proves !== 'refused');
        expect(verdict.retryAfterMs ?? 0).toBeGreaterThanOrEqual(0);
        expect(verdict.retryAfterMs ?? 0).toBeLessThanOrEqual(RETRY_AFTER_MAX_MS);
        expect(Object.keys(verdict).sort()).toEqual([
          ...['code', 'isReplay', 'proves', 'reason', 'retryAfterMs', 'sendAgain', 'speaksFor'],
        ]);
      }),
    );
  });

  test('no text of it gets out', () => {
    const secret = 'the card of A. Shopper';
    const hidden: fc.Arbitrary<Reply> = fc.record({
      type: fc.constant('reply' as const),
      status: fc.integer({ min: 200, max: 599 }),
      headers: fc.dictionary(names, fc.constant(secret)),
      body: fc.constantFrom(
        { type: 'whole' as const, value: { error: { code: secret, message: secret } } },
        { type: 'whole' as const, value: secret },
        { type: 'broken' as const, reason: secret },
      ),
    });

    fc.assert(
      fc.property(anyContract, hidden, (under, one) => {
        expect(JSON.stringify(verdictOf(under, one, NOW))).not.toContain(secret);
      }),
    );
  });

  test('nothing is sent again unasked that no key protects for a time that is known', () => {
    const unprotected = [
      ...[providers['nothing to rely on'], providers['a look-up only']],
      { ...providers['a key, resumes'], keyRetention: 'unsaid' as const },
    ].map((options) => contract(options));

    fc.assert(
      fc.property(fc.constantFrom(null, ...unprotected), fc.oneof(anyReply, fc.constant(noReply)), (under, one) => {
        expect(verdictOf(under, one, NOW).sendAgain).toBe('ask-first');
      }),
    );
  });
});
