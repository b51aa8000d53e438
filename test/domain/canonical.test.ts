import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalJson, differingPaths, fingerprintOf } from '../../src/domain/canonical.ts';
import './seed.ts';

describe('parameters that mean the same', () => {
  test.each<[string, unknown, unknown]>([
    ['members in another order', { amount: 100, currency: 'EUR' }, { currency: 'EUR', amount: 100 }],
    ['an omitted member and an undefined one', { amount: 100 }, { amount: 100, note: undefined }],
    ['numbers written differently', JSON.parse('{"a":1.0,"b":1e2}'), { a: 1, b: 100 }],
    ['zero and minus zero', { a: 0 }, { a: -0 }],
    ['texts in two Unicode forms', { name: 'café' }, { name: 'cafe\u0301' }],
    ['names in two Unicode forms', { café: 1 }, { 'cafe\u0301': 1 }],
    ['an object without prototype', { a: 1 }, Object.assign(Object.create(null), { a: 1 })],
    ['an object of another realm', { a: [1] }, runInNewContext('({ a: [1] })')],
    ['members that are not enumerable', { a: 1 }, Object.defineProperty({ a: 1 }, 'hidden', { value: 2 })],
  ])('have one fingerprint: %s', (_, one, other) => {
    const fingerprints = [fingerprintOf(one), fingerprintOf(other)];

    expect(fingerprints[0]).toBe(fingerprints[1]);
    expect(differingPaths(one, other)).toEqual([]);
  });

  test('have one fingerprint, whatever they are', () => {
    fc.assert(
      fc.property(parameters, (value) => {
        const rewritten = rewrite(value);

        expect(fingerprintOf(rewritten)).toBe(fingerprintOf(value));
        expect(differingPaths(rewritten, value)).toEqual([]);
      }),
    );
  });
});

describe('parameters that mean something else', () => {
  test.each<[string, unknown, unknown]>([
    ['another amount', { amount: 100 }, { amount: 101 }],
    ['null and omitted', { note: null }, {}],
    ['a number and its text', { amount: 120 }, { amount: '120' }],
    ['two texts of one number', { amount: '120.00' }, { amount: '120.0' }],
    ['a BigInt and its number', { amount: 12n }, { amount: 12 }],
    ['a BigInt and its text', { amount: 12n }, { amount: '12' }],
    ['a Date and its text', { at: new Date(0) }, { at: '1970-01-01T00:00:00.000Z' }],
    ['a Date and its number', { at: new Date(0) }, { at: 0 }],
    ['a BigInt and an object that looks like its tag', { a: 12n }, { a: { $: ['bigint', '12'] } }],
    ['an object that looks like an escaped one', { $: 1 }, { $: ['object', { $: 1 }] }],
    ['an element more', { lines: [1, 2] }, { lines: [1, 2, 3] }],
    ['an empty array and an empty object', { lines: [] }, { lines: {} }],
    ['an own __proto__ and none', JSON.parse('{"__proto__":{"isAdmin":true},"a":1}'), { a: 1 }],
    ['two values of __proto__', JSON.parse('{"__proto__":{"a":1}}'), JSON.parse('{"__proto__":{"a":2}}')],
    ['a NUL and none', { a: 'a\0b' }, { a: 'ab' }],
    ['an emoji and another', { a: '\ud83d\ude00' }, { a: '\ud83d\ude01' }],
  ])('have two fingerprints: %s', (_, one, other) => {
    const fingerprints = [fingerprintOf(one), fingerprintOf(other)];

    expect(fingerprints[0]).not.toBe(fingerprints[1]);
    expect(differingPaths(one, other)).toHaveLength(1);
  });

  test('have two fingerprints after the change of any one field, which is named', () => {
    const mutations = parameters.chain((value) => {
      const places = leafPlaces(value);
      return fc.record({
        value: fc.constant(value),
        place: fc.nat(places.length - 1).map((n) => places[n] ?? []),
        leaf,
      });
    });

    fc.assert(
      fc.property(mutations, ({ value, place, leaf: changed }) => {
        const mutated = withLeaf(value, place, changed);
        fc.pre(canonicalJson(leafAt(value, place)) !== canonicalJson(changed));

        expect(fingerprintOf(mutated)).not.toBe(fingerprintOf(value));
        expect(differingPaths(mutated, value)).toHaveLength(1);
      }),
    );
  });
});

describe('the canonical text', () => {
  test('is the one of RFC 8785', () => {
    const value = {
      numbers: JSON.parse('[333333333.33333329, 1E10, 4.50, 2e-3, 0.000000000000000000000000001]'),
      string: '\u20ac$\u000F\u000aA\'\u0042\u0022\u005c\\"/',
      literals: [null, true, false],
    };

    const text = canonicalJson(value);

    expect(text).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,10000000000,4.5,0.002,1e-27],' +
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    );
  });

  test('sorts names by UTF-16 code unit and not by character', () => {
    const value = { '\u20ac': 1, '\r': 2, '\ue000': 3, '1': 4, '10': 5, '9': 6, '\ud83d\ude00': 7, '\u0080': 8, ö: 9 };

    const text = canonicalJson(value);

    expect(text.match(/(?<=:)\d/g)?.join('')).toBe('245689173');
  });

  test('tags what JSON cannot say, and objects that could pass for a tag', () => {
    const value = { big: -5n, at: new Date(0), $: 1 };

    const text = canonicalJson(value);

    expect(text).toBe(
      '{"$":["object",{"$":1,"at":{"$":["date","1970-01-01T00:00:00.000Z"]},"big":{"$":["bigint","-5"]}}]}',
    );
  });

  test('and the version of its rules make the fingerprint', () => {
    const fingerprint = fingerprintOf({});

    expect(fingerprint).toBe('v1:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a');
  });
});

describe('a value that has no canonical form', () => {
  class Money {
    readonly amount = 1;
  }
  const getter = {
    get price() {
      return 1;
    },
  };
  const cycle: { self?: unknown } = {};
  cycle.self = cycle;

  test.each<[string, unknown, string]>([
    ['is a Map', new Map(), 'Write a plain object, or an array of pairs, instead.'],
    ['is a Set', new Set(), 'Write an array instead.'],
    ['is a Uint8Array', new Uint8Array(2), 'Write it as a base64 string instead.'],
    ['is a function', () => 1, 'Leave it out, or write what it returns.'],
    ['is a symbol', Symbol('s'), 'Write a string instead.'],
    ['is an instance of Money', new Money(), 'Write its fields as a plain object instead.'],
    ['is an instance of URL', new URL('https://shop.example'), 'Write its fields as a plain object instead.'],
    ['is an instance of Number', Object(1), 'Write its fields as a plain object instead.'],
    ['is an instance of Error', new Error('secret'), 'Write its fields as a plain object instead.'],
    ['is NaN or infinite', Number.NaN, 'Write null, or a string that says what it means.'],
    ['is NaN or infinite', -Infinity, 'Write null, or a string that says what it means.'],
    ['is an invalid Date', new Date(Number.NaN), 'Write null instead.'],
    [
      'is an integer beyond 2^53, where neighbouring integers are one and the same number',
      2 ** 53,
      'Write a BigInt or a string instead.',
    ],
    [
      'is a string with half of a surrogate pair',
      'secret😀'.slice(0, 7),
      'Cut texts between characters, or apply toWellFormed().',
    ],
    ['is undefined', undefined, 'Write null, or leave it out.'],
    [
      'is an array with members besides its elements',
      Object.assign([1], { count: 1 }),
      'Write an object that holds both.',
    ],
    ['has a member named by a symbol', { [Symbol('s')]: 1 }, 'Name it by a string.'],
  ])('is refused with its path and a remedy: %s', (what, price, remedy) => {
    const input = { lines: [{}, {}, [price]] };

    const read = () => canonicalJson(input);

    expect(read).toThrow(
      expect.objectContaining({
        code: 'INPUT_INVALID',
        message: `Input cannot be stored: input.lines[2][0] ${what}. ${remedy}`,
        facts: { path: 'input.lines[2][0]' },
      }),
    );
  });

  test.each<[string, unknown, string]>([
    ['an empty slot', Object.assign([], { 0: 1, 2: 3 }), 'params[1]'],
    ['a getter, which is not called', getter, 'params.price'],
    ['a cycle', cycle, 'params.self'],
    ['a name with half of a surrogate pair', { 'a\ud800': 1 }, 'params["a\\ud800"]'],
    ['two names that are one in normal form C', { a: { café: 1, 'cafe\u0301': 2 } }, 'params.a["cafe\u0301"]'],
    ['a proxy that cannot be looked at', { a: hostileProxy() }, 'params.a'],
    ['an array too long to look at', { a: Object.assign([], { length: 4_000_000_000 }) }, 'params.a'],
  ])('is refused with its path: %s', (_, value, path) => {
    const read = () => canonicalJson(value, 'params');

    expect(read).toThrow(
      expect.objectContaining({ code: 'INPUT_INVALID', message: expect.stringContaining(path), facts: { path } }),
    );
    expect(read).toThrow(/^Params cannot be stored: /);
  });

  test('is refused beyond 100 levels and not before', () => {
    const [hundred, more] = [nested(100), nested(101)];

    const text = canonicalJson(hundred);

    expect(text).toBe('['.repeat(100) + ']'.repeat(100));
    expect(() => canonicalJson(more)).toThrow('is nested deeper than 100 levels');
  });

  test('is refused when shared parts would multiply without end', () => {
    const shared = Array.from({ length: 60 }).reduce<unknown>((part) => [part, part], 1);

    const read = () => canonicalJson(shared);

    expect(read).toThrow('brings the whole to more than 100000 members and elements');
  });

  test('is not a value that merely occurs twice', () => {
    const address = { city: 'Bremen' };

    const text = canonicalJson({ from: address, to: address });

    expect(text).toBe('{"from":{"city":"Bremen"},"to":{"city":"Bremen"}}');
  });

  test('is not a name that every object inherits', () => {
    const value: unknown = JSON.parse('{"__proto__":{"isAdmin":true},"constructor":1}');

    const text = canonicalJson(value);

    expect(text).toBe('{"__proto__":{"isAdmin":true},"constructor":1}');
    expect(Object.hasOwn(Object.prototype, 'isAdmin')).toBe(false);
  });
});

describe('a fingerprint with volatile paths', () => {
  const volatile = ['meta.requestedAt', 'lines[].note', 'token'];

  test('does not depend on what stands there', () => {
    const first = { token: 'a', meta: { requestedAt: 1, by: 'web' }, lines: [{ sku: 'x', note: 'n' }, { sku: 'y' }] };
    const second = { meta: { by: 'web' }, lines: [{ sku: 'x' }, { sku: 'y', note: () => 'not even storable' }] };

    const fingerprints = [first, second].map((value) => fingerprintOf(value, { volatile }));

    expect(fingerprints[0]).toBe(fingerprints[1]);
    expect(differingPaths(first, second, { volatile })).toEqual([]);
  });

  test('depends on everything else', () => {
    const first = { meta: { requestedAt: 1, by: 'web' }, lines: [{ sku: 'x', token: 1 }], note: 1 };
    const second = { meta: { requestedAt: 1, by: 'app' }, lines: [{ sku: 'x', token: 2 }], note: 2 };

    const fingerprints = [first, second].map((value) => fingerprintOf(value, { volatile }));

    expect(fingerprints[0]).not.toBe(fingerprints[1]);
    expect(differingPaths(first, second, { volatile })).toEqual(['lines[0].token', 'meta.by', 'note']);
  });

  test('finds elements of a root that is an array, and of arrays in arrays', () => {
    const first = [{ cells: [[{ at: 1 }]] }];
    const second = [{ cells: [[{ at: 2 }]] }];

    const fingerprints = [first, second].map((value) => fingerprintOf(value, { volatile: ['[].cells[][].at'] }));

    expect(fingerprints[0]).toBe(fingerprints[1]);
  });

  test.each(['', '.', 'a.', '.a', 'a..b', 'a[0]', 'a[', '[]a'])('is refused for a path like %j', (path) => {
    const read = () => fingerprintOf({}, { volatile: [path] });

    expect(read).toThrow(expect.objectContaining({ code: 'DEFINITION_INVALID' }));
  });
});

describe('the paths at which two values differ', () => {
  test('name places and never values', () => {
    const first = { amount: 100, lines: [{ sku: 'x' }], 'unit price': 1, gone: { a: 1 } };
    const second = { amount: 101, lines: [{ sku: 'y' }, { sku: 'z' }], 'unit price': 2 };

    const paths = differingPaths(first, second);

    expect(paths).toEqual(['amount', 'gone', 'lines[0].sku', 'lines[1]', '["unit price"]']);
  });

  test('are at most ten', () => {
    const first = Array.from({ length: 50 }, (_, n) => ({ n }));
    const second = Array.from({ length: 50 }, (_, n) => ({ n: -n - 1 }));

    const paths = differingPaths(first, second);

    expect(paths).toHaveLength(10);
    expect(paths[9]).toBe('[9].n');
  });

  test('are the input when nothing else can be compared', () => {
    const paths = differingPaths({ a: 1 }, 'a');

    expect(paths).toEqual(['input']);
  });

  test('lead through an object that looks like a tag', () => {
    const paths = differingPaths({ $: { a: 1 } }, { $: { a: 2 } });

    expect(paths).toEqual(['$.a']);
  });
});

type Parameters = string | number | boolean | null | bigint | Date | Parameters[] | { [name: string]: Parameters };
type Place = readonly (string | number)[];

const texts = fc.string({ unit: fc.constantFrom('a', 'é', 'e\u0301', '😀', '$', '\0', ' ', '1'), maxLength: 4 });
const leaf: fc.Arbitrary<Parameters> = fc.oneof(
  texts,
  fc.boolean(),
  fc.constant(null),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).filter((n) => !Number.isInteger(n) || Number.isSafeInteger(n)),
  fc.bigInt(),
  fc.date({ noInvalidDate: true }),
);
const { parameters } = fc.letrec<{ parameters: Parameters }>((tie) => ({
  parameters: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    leaf,
    fc.array(tie('parameters'), { minLength: 1, maxLength: 4 }),
    fc
      .uniqueArray(fc.tuple(texts, tie('parameters')), {
        minLength: 1,
        maxLength: 4,
        selector: ([name]) => name.normalize('NFC'),
      })
      .map((members) => Object.fromEntries(members)),
  ),
}));

/** Another encoding of the same parameters: members reversed, undefined ones added, texts in the other Unicode form. */
function rewrite(value: Parameters): unknown {
  if (typeof value === 'string') return value.normalize('NFD');
  if (Array.isArray(value)) return value.map(rewrite);
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  const members = Object.entries(value).map(([name, member]) => [name.normalize('NFD'), rewrite(member)] as const);
  return Object.fromEntries([['omitted', undefined], ...members.reverse()]);
}

function leafPlaces(value: Parameters): Place[] {
  if (typeof value !== 'object' || value === null || value instanceof Date) return [[]];
  return Object.entries(value).flatMap(([name, member]) => leafPlaces(member).map((place) => [name, ...place]));
}

function leafAt(value: Parameters, place: Place): unknown {
  return place.reduce<unknown>((at, name) => Reflect.get(Object(at), name), value);
}

function withLeaf(value: Parameters, place: Place, changed: Parameters): Parameters {
  const [name, ...rest] = place;
  if (name === undefined || typeof value !== 'object' || value === null || value instanceof Date) return changed;
  if (Array.isArray(value)) {
    return value.map((element, index) => (index === Number(name) ? withLeaf(element, rest, changed) : element));
  }
  return { ...value, [name]: withLeaf(value[name] ?? null, rest, changed) };
}

function nested(levels: number): unknown {
  return Array.from({ length: levels - 1 }).reduce<unknown>((inner) => [inner], []);
}

function hostileProxy(): object {
  const fail = () => {
    throw new Error('a trap threw');
  };
  return new Proxy({}, { get: fail, has: fail, ownKeys: fail, getPrototypeOf: fail, getOwnPropertyDescriptor: fail });
}
