import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { operationId, providerKey, scopeOf, stepKey, undoKey, undoneBy } from '../../src/domain/idempotency.ts';
import './seed.ts';

describe('the ids of an operation', () => {
  test('are the same in every version of the library', () => {
    const scope = scopeOf('shop-1', 'payment.capture', 'order-17');

    const ids = [providerKey(scope), operationId(scope)];

    expect(ids).toEqual(['ddca633e-7c5e-8690-b945-1932fb8c8ccb', 'op_XEVF6GJ53JFRXXFWJ0VNQ69HWW']);
  });

  test('have the forms that providers and people can take', () => {
    const parts = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }).filter((text) => !text.includes('\0'));

    fc.assert(
      fc.property(parts, parts, parts, (tenant, action, key) => {
        const scope = scopeOf(tenant, action, key);

        expect(providerKey(scope)).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
        expect(operationId(scope)).toMatch(/^op_[0-9A-HJKMNP-TV-Z]{26}$/);
      }),
    );
  });

  test('differ whenever any part of the scope differs', () => {
    const parts = fc.constantFrom('1', 'a', 'a:b', 'b:c', ':', '::', 'aa', 'é', 'e\u0301');
    const scopes = fc.tuple(parts, parts, parts);

    fc.assert(
      fc.property(scopes, scopes, (one, other) => {
        fc.pre(one.join('\0') !== other.join('\0'));

        expect(providerKey(scopeOf(...one))).not.toBe(providerKey(scopeOf(...other)));
        expect(operationId(scopeOf(...one))).not.toBe(operationId(scopeOf(...other)));
      }),
    );
  });
});

describe('the key of an inverse', () => {
  const operation = operationId(scopeOf('shop-1', 'payment.capture', 'order-17'));

  test.each([0, 1, 2])('names what it takes back, also after %i others were given up', (givenUp) => {
    expect(undoneBy(undoKey(operation, givenUp))).toBe(operation);
  });

  test('is another one after each that was given up, and no other key names anything', () => {
    expect([0, 1, 2].map((givenUp) => undoKey(operation, givenUp))).toEqual([
      `undo ${operation}`,
      `undo ${operation}#2`,
      `undo ${operation}#3`,
    ]);
    expect(undoneBy('order-17')).toBeNull();
    expect(undoneBy(stepKey({ saga: 'undo', key: operation, step: 'money' }))).toBeNull();
  });
});

describe('a scope that no index could hold', () => {
  test('is refused before a database sees it, though each of its parts is short enough', () => {
    const [tenant, action, key] = ['\u4e00'.repeat(200), '\u4e8c'.repeat(200), '\u4e09'.repeat(500)];

    expect(() => scopeOf(tenant, action, key)).toThrow(/2700 bytes in UTF-8 and may have 2600/);
    expect(scopeOf(tenant, action, key.slice(0, 460)).key).toHaveLength(460);
  });
});

describe('two scopes that would be one text if their parts were joined', () => {
  test.each<[Parts, Parts]>([
    [
      ['t', 'a:b', 'c'],
      ['t', 'a', 'b:c'],
    ],
    [
      ['a', 'b', 'cd'],
      ['a', 'bc', 'd'],
    ],
    [
      ['ab', 'c', 'd'],
      ['a', 'bc', 'd'],
    ],
    [
      ['é', 'x', 'y'],
      ['Ã', '©x', 'y'],
    ],
  ])('%j and %j have different ids', (one, other) => {
    const [first, second] = [scopeOf(...one), scopeOf(...other)];

    const keys = new Set([providerKey(first), providerKey(second)]);
    const ids = new Set([operationId(first), operationId(second)]);

    expect(keys.size).toBe(2);
    expect(ids.size).toBe(2);
  });
});

describe('the same key under two tenants', () => {
  test('is two operations', () => {
    const [ours, theirs] = [scopeOf('shop-1', 'payment.capture', '1'), scopeOf('shop-2', 'payment.capture', '1')];

    const keys = [providerKey(ours), providerKey(theirs)];

    expect(keys[0]).not.toBe(keys[1]);
  });
});

describe('a scope with a part missing or unusable', () => {
  test.each<[string, [unknown, unknown, unknown]]>([
    ['tenant', [undefined, 'payment.capture', 'order-17']],
    ['tenant', ['', 'payment.capture', 'order-17']],
    ['tenant', ['x'.repeat(201), 'payment.capture', 'order-17']],
    ['action', ['shop-1', 'payment\ud800', 'order-17']],
    ['action', ['shop-1', 'x'.repeat(201), 'order-17']],
    ['idempotency key', ['shop-1', 'payment.capture', 'order\0']],
    ['idempotency key', ['shop-1', 'payment.capture', 17]],
  ])('is refused by the name of the %s', (name, parts) => {
    const make = () => scopeOf(...parts);

    expect(make).toThrow(expect.objectContaining({ code: 'INPUT_INVALID', facts: { name } }));
  });
});

type Parts = [tenant: string, action: string, key: string];
