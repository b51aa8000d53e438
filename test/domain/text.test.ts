import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { assertKeyText, cutText, isWellFormed, KEY_LENGTH_MAX } from '../../src/domain/text.ts';
import './seed.ts';

describe('a text that is to name something', () => {
  test.each(['order-17', 'a:b', ' ', 'café', '注文', '😀', 'x'.repeat(KEY_LENGTH_MAX)])('may be %j', (text) => {
    const check = () => assertKeyText('idempotency key', text, KEY_LENGTH_MAX);

    expect(check).not.toThrow();
  });

  test.each<[string, unknown, string]>([
    ['missing', undefined, 'The idempotency key must be a string and is undefined.'],
    ['null', null, 'The idempotency key must be a string and is null.'],
    ['a number', 17, 'The idempotency key must be a string and is number.'],
    ['a boxed string', Object('order-17'), 'The idempotency key must be a string and is object.'],
    ['empty', '', 'The idempotency key is empty.'],
    ['too long', 'x'.repeat(501), 'The idempotency key has 501 UTF-16 code units and may have 500.'],
    ['too long in surrogate pairs', '😀'.repeat(251), 'The idempotency key has 502 UTF-16 code units'],
    ['a text with NUL', 'secret\0', 'The idempotency key holds a NUL character'],
    ['a text with a high surrogate alone', 'secret\ud800y', 'The idempotency key is not well-formed Unicode'],
    ['a text with a low surrogate alone', 'secret\udc00', 'The idempotency key is not well-formed Unicode'],
    ['an emoji cut in half', 'secret😀'.slice(0, 7), 'The idempotency key is not well-formed Unicode'],
  ])('is refused when it is %s, without being quoted', (_, value, beginning) => {
    const check = () => assertKeyText('idempotency key', value, KEY_LENGTH_MAX);

    expect(check).toThrow(
      expect.objectContaining({ code: 'INPUT_INVALID', message: expect.stringContaining(beginning) }),
    );
    expect(check).not.toThrow(/secret/);
  });
});

describe('a text that is cut', () => {
  test('ends before a surrogate pair that would be split', () => {
    const text = 'ab😀cd';

    const cuts = [2, 3, 4, 5, 6, 7].map((length) => cutText(text, length));

    expect(cuts).toEqual(['ab', 'ab', 'ab😀', 'ab😀c', 'ab😀cd', 'ab😀cd']);
  });

  test('stays well-formed and within its limit', () => {
    const texts = fc.string({ unit: 'binary', maxLength: 20 });

    fc.assert(
      fc.property(texts, fc.nat(25), (text, maxLength) => {
        const cut = cutText(text, maxLength);

        expect(isWellFormed(cut)).toBe(true);
        expect(text.startsWith(cut)).toBe(true);
        expect(cut.length).toBeLessThanOrEqual(maxLength);
        expect(cut.length).toBeGreaterThanOrEqual(Math.min(text.length, maxLength - 1));
      }),
    );
  });
});
