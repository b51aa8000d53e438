import assert from 'node:assert/strict';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decode, encode, isUnstorable, Unstorable } from '../../src/domain/codec.ts';
import type { Json } from '../../src/domain/json.ts';
import './seed.ts';

describe('a value that goes through the store', () => {
  test.each<[string, unknown]>([
    ['a BigInt', { b: 1n, negative: -(2n ** 80n) }],
    [
      'a Map',
      new Map<unknown, unknown>([
        [1, 2],
        ['1', { a: new Map() }],
        [{ k: 1 }, undefined],
      ]),
    ],
    ['a Set', new Set([1, '1', 1n, undefined, Number.NaN])],
    ['dates', [new Date(0), new Date(Number.NaN), new Date(8.64e15), new Date(-8.64e15)]],
    ['numbers JSON cannot say', [Number.NaN, Infinity, -Infinity, -0, 0]],
    ['large and small numbers', [2 ** 53 + 2, 2 ** 64, 1e300, 5e-324, 9007199254740991]],
    ['undefined', undefined],
    ['undefined as a member', { u: undefined }],
    ['undefined in an array', [undefined, null]],
    ['an array with empty slots', Object.assign([], { 0: 1, 2: undefined, length: 4 })],
    ['bytes', new Uint8Array([0, 255, 128])],
    ['many bytes', new Uint8Array(20_000).fill(200)],
    ['NUL in texts and names', { 'a\0b': 'a\0b', plain: '\0' }],
    ['half surrogate pairs in texts and names', { 'x\ud800y': 'x\udc00', cut: '😀'.slice(0, 1) }],
    ['text that looks escaped', ['\\u0000', '"\\ud800"', '{"$":["undefined"]}', '$']],
    ['an own __proto__', JSON.parse('{"__proto__":{"isAdmin":true},"a":1}')],
    [
      'objects that look like tags',
      [{ $: ['bigint', '12'] }, { $: ['object', { $: 1 }] }, { $: 1, a: 1n }, { $: undefined }],
    ],
    ['an object with both a $ and an unusual name', { $: ['hole'], '\0': 1, ['__proto__']: null }],
    ['nothing', [{}, [], new Map(), new Set(), new Uint8Array(), '', null]],
  ])('comes back equal: %s', (_, value) => {
    const returned = throughStore(value);

    expect(returned).toStrictEqual(value);
  });

  test('comes back equal, whatever it is made of', () => {
    fc.assert(
      fc.property(storable, (value) => {
        assert.deepStrictEqual(throughStore(value), value);
      }),
    );
  });

  test('is written as text and names that every database takes', () => {
    fc.assert(
      fc.property(storable, (value) => {
        const { names, texts } = wordsIn(encode(value));

        expect([...names, ...texts].filter((word) => /[\0\p{Surrogate}]/u.test(word))).toEqual([]);
        expect(names).not.toContain('__proto__');
      }),
    );
  });

  test('is copied where it refers to one thing twice', () => {
    const address = { city: 'Bremen' };

    const returned = throughStore({ from: address, to: address });

    expect(returned).toStrictEqual({ from: { city: 'Bremen' }, to: { city: 'Bremen' } });
  });

  test('keeps __proto__ as data and leaves every prototype alone', () => {
    const value: unknown = JSON.parse('{"__proto__":{"isAdmin":true}}');

    const returned = throughStore(value);
    const merged: unknown = Object.assign({}, Object(encode(value)));

    expect(Reflect.get({}, 'isAdmin')).toBeUndefined();
    expect(JSON.stringify(returned)).toBe('{"__proto__":{"isAdmin":true}}');
    expect(Reflect.get(Object(merged), 'isAdmin')).toBeUndefined();
  });

  test('may come from another realm, or from a subclass of what is kept', () => {
    const value: unknown = runInNewContext('({ m: new Map([[1, { a: [2] }]]), d: new Date(0), s: new Set([1]) })');

    const returned = throughStore({ value, buffer: Buffer.from('ab') });

    expect(returned).toStrictEqual({
      value: { m: new Map([[1, { a: [2] }]]), d: new Date(0), s: new Set([1]) },
      buffer: new Uint8Array([97, 98]),
    });
  });

  test('has its getters read once, and toJSON not called', () => {
    let reads = 0;
    const value = {
      get total() {
        reads += 1;
        return 12n;
      },
    };

    const returned = throughStore(value);

    expect(returned).toStrictEqual({ total: 12n });
    expect(reads).toBe(1);
  });
});

describe('an error that goes through the store', () => {
  test('keeps its name, message, code and three levels of causes, and no other fields', () => {
    const root = Object.assign(new RangeError('root'), { code: 7 });
    const error = Object.assign(new TypeError('top', { cause: new Error('middle', { cause: root }) }), {
      code: 'ECONNRESET',
      authorization: 'secret',
    });

    const json = encode(error);
    const returned = throughStore(error);

    assert(returned instanceof Error && returned.cause instanceof Error && returned.cause.cause instanceof Error);
    expect(Object.getPrototypeOf(returned)).toBe(Error.prototype);
    expect([returned.name, returned.message, Reflect.get(returned, 'code')]).toEqual([
      'TypeError',
      'top',
      'ECONNRESET',
    ]);
    expect(returned.cause.message).toBe('middle');
    expect([returned.cause.cause.name, Reflect.get(returned.cause.cause, 'code')]).toEqual(['RangeError', 7]);
    expect(JSON.stringify(json)).not.toContain('secret');
  });

  test('keeps five causes and no more', () => {
    const chain = Array.from({ length: 9 }).reduce<Error>(
      (cause, _, depth) => new Error(`level ${depth}`, { cause }),
      new Error('root'),
    );

    const messages: string[] = [];
    for (let at = throughStore(chain); at instanceof Error; at = at.cause) messages.push(at.message);

    expect(messages).toEqual(['level 8', 'level 7', 'level 6', 'level 5', 'level 4', 'level 3']);
  });

  test('keeps the errors of an AggregateError with their own causes', () => {
    const error = new AggregateError([new Error('a', { cause: new Error('why') }), 'b', undefined], 'all failed');

    const returned = throughStore(error);

    assert(returned instanceof Error);
    const [first, second, third] = Array.from(Reflect.get(returned, 'errors'));
    assert(first instanceof Error && first.cause instanceof Error);
    expect([returned.name, returned.message]).toEqual(['AggregateError', 'all failed']);
    expect([first.message, first.cause.message, second, third]).toEqual(['a', 'why', 'b', undefined]);
  });

  test('may come from another realm, with a cause that is no error, and NUL in its message', () => {
    const error: unknown = runInNewContext("new RangeError('a\\u0000b', { cause: { at: new Date(0) } })");

    const returned = throughStore(error);

    assert(returned instanceof Error);
    expect([returned.name, returned.message]).toEqual(['RangeError', 'a\0b']);
    expect(returned.cause).toStrictEqual({ at: new Date(0) });
  });

  test('comes back the same when it goes through twice', () => {
    const error = Object.assign(new SyntaxError('top', { cause: new AggregateError([new Error('a')]) }), { code: 'E' });

    const once = throughStore(error);
    const twice = throughStore(once);

    expect(twice).toStrictEqual(once);
  });
});

describe('an input with a part that cannot be stored', () => {
  const cycle: { self?: unknown } = {};
  cycle.self = [cycle];

  test.each<[string, unknown, string, string]>([
    ['a function', { f() {} }, 'input.f', 'is a function'],
    ['a symbol', [Symbol('s')], 'input[0]', 'is a symbol'],
    ['a class instance', { at: new URL('https://shop.example') }, 'input.at', 'is an instance of URL'],
    ['a promise', { p: Promise.resolve() }, 'input.p', 'is an instance of Promise'],
    ['other typed arrays', { t: new Float64Array(1) }, 'input.t', 'is an instance of Float64Array'],
    ['a cycle', cycle, 'input.self[0]', 'refers back'],
    ['a key of a Map', { m: new Map([[() => 1, 1]]) }, 'input.m.keys[0]', 'is a function'],
    ['a value of a Map', { m: new Map([[1, () => 1]]) }, 'input.m.values[0]', 'is a function'],
    ['a value of a Set', new Set([() => 1]), 'input.values[0]', 'is a function'],
    ['a getter that throws', throwingGetter(), 'input.price', 'is a getter that throws'],
    ['an error with such a cause', { e: new Error('', { cause: () => 1 }) }, 'input.e.cause', 'is a function'],
    ['a symbol as a name', { [Symbol('s')]: 1 }, 'input', 'named by a symbol'],
    ['members of an array', [Object.assign([], { count: 1 })], 'input[0]', 'members besides its elements'],
    ['101 levels', nested(101), `input${'[0]'.repeat(100)}`, 'is nested deeper than 100 levels'],
    [
      'a sparse array of 4,000,000,000',
      { a: Object.assign([], { length: 4_000_000_000 }) },
      'input.a',
      'members and elements',
    ],
  ])('is refused with the path: %s', (_, value, path, what) => {
    const store = () => encode(value);

    expect(store).toThrow(
      expect.objectContaining({ code: 'INPUT_INVALID', message: expect.stringContaining(what), facts: { path } }),
    );
    expect(store).toThrow(`Input cannot be stored: ${path} `);
  });

  test('is refused under the name its caller gives it', () => {
    const store = () => encode({ f() {} }, { rootName: 'signal' });

    expect(store).toThrow(/^Signal cannot be stored: signal\.f is a function\. /);
  });
});

describe('an output with parts that cannot be stored', () => {
  test('keeps the rest and says what was where', () => {
    class Money {
      readonly amount = 1;
    }
    const output: Record<string, unknown> = {
      b: 1n,
      m: new Map<unknown, unknown>([
        [1, 2],
        [Symbol('s'), 3],
      ]),
      s: new Set([1]),
      d: new Date(0),
      n: Number.NaN,
      z: -0,
      u: undefined,
      f() {},
      money: new Money(),
      deep: nested(101),
      'unit price': Symbol('p'),
    };
    output['self'] = [output];
    Object.defineProperty(output, 'late', Object.getOwnPropertyDescriptor(throwingGetter(), 'price') ?? {});

    const returned = throughStore(output, 'mark');

    expect(returned).toStrictEqual({
      b: 1n,
      m: new Map<unknown, unknown>([
        [1, 2],
        [new Unstorable('symbol', 'output.m.keys[1]'), 3],
      ]),
      s: new Set([1]),
      d: new Date(0),
      n: Number.NaN,
      z: -0,
      u: undefined,
      f: new Unstorable('function', 'output.f'),
      money: new Unstorable('instance', 'output.money', 'Money'),
      deep: nested(99, [new Unstorable('depth', `output.deep${'[0]'.repeat(99)}`)]),
      'unit price': new Unstorable('symbol', 'output["unit price"]'),
      self: [new Unstorable('cycle', 'output.self[0]')],
      late: new Unstorable('getter', 'output.late'),
    });
  });

  test('comes back the same when it goes through again, under refusal too', () => {
    const marked = throughStore({ f() {}, 'x\0': Symbol('s') }, 'mark');

    const again = throughStore(marked);

    expect(again).toStrictEqual(marked);
  });

  test('has markers that can be told from values that look like them', () => {
    const marked = throughStore({ f() {}, g: { kind: 'function', path: 'output.f' } }, 'mark');

    const { f, g } = Object(marked);

    expect([f, g].map(isUnstorable)).toEqual([true, false]);
  });

  test.each<[string, () => unknown]>([
    ['a proxy whose every trap throws', hostileProxy],
    ['an array of such proxies', () => [hostileProxy(), new Map([[hostileProxy(), hostileProxy()]])]],
    [
      'an error caused by one',
      () => Object.assign(new Error('x', { cause: hostileProxy() }), { errors: hostileProxy() }),
    ],
    ['a revoked proxy', revokedProxy],
    ['a toJSON that throws', () => ({ toJSON: fail })],
    ['a getter that throws a hostile proxy', throwingGetter],
    ['an error with getters that throw', () => Object.defineProperty(new Error('x'), 'message', { get: fail })],
    [
      'a forged marker',
      () => ({
        __proto__: {
          get [Symbol.for('sagacity.unstorable')]() {
            return fail();
          },
        },
      }),
    ],
    ['a forged marker with hostile fields', () => Object.create(Unstorable.prototype, { kind: { get: fail } })],
    ['an endless proxy', endlessProxy],
    ['shared parts that multiply without end', () => Array.from({ length: 60 }).reduce<unknown>((p) => [p, p], 1)],
    ['a detached buffer', detachedBytes],
    ['a spoofed tag', () => ({ [Symbol.toStringTag]: 'Error', message: 1 })],
    ['a class without a name', () => new (class {})()],
    [
      'an object with a getter for its constructor',
      () =>
        Object.create({
          get constructor() {
            return fail();
          },
        }),
    ],
  ])('never makes the codec throw: %s', (_, make) => {
    const output = make();

    const returned = throughStore(output, 'mark');

    expect(returned).toBeDefined();
  });

  test('never makes the codec throw, whatever it is', () => {
    const anything = fc.anything({
      withBigInt: true,
      withBoxedValues: true,
      withDate: true,
      withMap: true,
      withNullPrototype: true,
      withObjectString: true,
      withSet: true,
      withSparseArray: true,
      withTypedArray: true,
    });

    fc.assert(
      fc.property(anything, (value) => {
        const once = throughStore(value, 'mark');

        assert.deepStrictEqual(encode(throughStore(once)), encode(once));
      }),
    );
  });
});

describe('a stored value of a form this version does not know', () => {
  test.each<[string, Json]>([
    ['a newer tag', { $: ['decimal', '12.5'] }],
    ['a tag that is no list', { $: 'bigint' }],
    ['a payload of another kind', { $: ['bigint', 12] }],
    ['a marker of another kind', { $: ['unstorable', ['ghost', 'output']] }],
  ])('is reported and not guessed: %s', (_, json) => {
    const read = () => decode([json]);

    expect(read).toThrow(expect.objectContaining({ code: 'SCHEMA_OUTDATED' }));
  });
});

const units = fc.constantFrom('a', '$', '\0', '\ud800', '\udc00', '😀', 'é', '"', '\\', 'u0000', '\u2028');
const text = fc.oneof(
  fc.string({ unit: units, maxLength: 5 }),
  fc.string({ unit: 'binary', maxLength: 5 }),
  fc.constantFrom('__proto__', '$', 'constructor', 'toJSON', '0', '{"$":["undefined"]}'),
);
const tagLike = fc.constantFrom('undefined', 'hole', 'object', 'entries', 'text', 'bigint', 'map', 'date');
const leaf = fc.oneof(
  text,
  fc.boolean(),
  fc.constantFrom(null, undefined, Number.NaN, Infinity, -Infinity, -0),
  fc.double(),
  fc.integer(),
  fc.bigInt(),
  // The assertion of Node takes no two invalid dates for equal; one has an example of its own above.
  fc.date({ noInvalidDate: true }),
  fc.uint8Array({ maxLength: 5 }),
);
const { storable } = fc.letrec<{ storable: unknown }>((tie) => {
  const storableArray = fc.array(tie('storable'), { maxLength: 4 });
  return {
    storable: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      leaf,
      storableArray,
      fc.sparseArray(tie('storable'), { maxLength: 5, maxNumElements: 3 }),
      storableArray.map((values) => new Set(values)),
      fc.array(fc.tuple(tie('storable'), tie('storable')), { maxLength: 4 }).map((entries) => new Map(entries)),
      fc.array(fc.tuple(text, tie('storable')), { maxLength: 4 }).map((members) => Object.fromEntries(members)),
      fc.tuple(tagLike, tie('storable')).map(([tag, payload]) => ({ $: [tag, payload] })),
    ),
  };
});

/** As a database returns it: through text, and with the members of objects in another order, which jsonb does not keep. */
function throughStore(value: unknown, onUnsupported: 'refuse' | 'mark' = 'refuse'): unknown {
  const json: Json = JSON.parse(JSON.stringify(encode(value, { onUnsupported })));
  return decode(reordered(json));
}

function reordered(json: Json): Json {
  if (typeof json !== 'object' || json === null) return json;
  // Array.isArray does not narrow a readonly array.
  if (Array.isArray(json)) return (json as readonly Json[]).map(reordered);
  return Object.fromEntries(
    Object.entries(json)
      .reverse()
      .map(([name, member]) => [name, reordered(member)]),
  );
}

function wordsIn(json: Json): { names: string[]; texts: string[] } {
  const names: string[] = [];
  const texts: string[] = [];
  JSON.stringify(json, (name, value: unknown) => {
    names.push(name);
    if (typeof value === 'string') texts.push(value);
    return value;
  });
  return { names, texts };
}

function nested(levels: number, innermost: unknown = []): unknown {
  return Array.from({ length: levels - 1 }).reduce<unknown>((inner) => [inner], innermost);
}

function fail(): never {
  throw hostileProxy();
}

function throwingGetter(): object {
  return {
    get price() {
      return fail();
    },
  };
}

function hostileProxy(): object {
  return new Proxy({}, { get: fail, has: fail, ownKeys: fail, getPrototypeOf: fail, getOwnPropertyDescriptor: fail });
}

function revokedProxy(): object {
  const { proxy, revoke } = Proxy.revocable([], {});
  revoke();
  return proxy;
}

function endlessProxy(): object {
  return {
    get deeper() {
      return endlessProxy();
    },
  };
}

function detachedBytes(): Uint8Array {
  const bytes = new Uint8Array(8);
  structuredClone(bytes, { transfer: [bytes.buffer] });
  return bytes;
}
