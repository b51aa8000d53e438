import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Duration, formatDuration, milliseconds } from '../../src/domain/duration.ts';
import './seed.ts';

describe('a duration as people write it', () => {
  test.each<[Duration, number]>([
    [0, 0],
    [-0, 0],
    [1500, 1500],
    ['500ms', 500],
    ['0.1s', 100],
    ['1.005s', 1005],
    ['90s', 90_000],
    ['5m', 300_000],
    ['1.5h', 5_400_000],
    ['24h', 86_400_000],
    ['7d', 604_800_000],
    ['36525d', 3_155_760_000_000],
  ])('%s is read as %d milliseconds', (written, expected) => {
    const ms = milliseconds(written, 'timeout');

    expect(ms).toBe(expected);
  });

  test.each<[unknown, string]>([
    [Number.NaN, 'timeout: NaN is not a length of time.'],
    [Infinity, 'timeout: Infinity is not a length of time.'],
    [-1, 'timeout: -1 is negative.'],
    [-Infinity, 'timeout: -Infinity is negative.'],
    [0.5, 'timeout: 0.5 has a fraction of a millisecond.'],
    ['0.5ms', 'timeout: "0.5ms" has a fraction of a millisecond.'],
    ['0.0001s', 'timeout: "0.0001s" has a fraction of a millisecond.'],
    ['5 s', 'timeout: "5 s" is not a duration.'],
    ['5sec', 'timeout: "5sec" is not a duration.'],
    ['2w', 'timeout: "2w" is not a duration.'],
    ['-5s', 'timeout: "-5s" is not a duration.'],
    ['1e3s', 'timeout: "1e3s" is not a duration.'],
    ['', 'timeout: "" is not a duration.'],
    ['36526d', 'timeout: "36526d" is longer than 100 years.'],
    [Number.MAX_VALUE, 'timeout: 1.7976931348623157e+308 is longer than 100 years.'],
    [null, 'timeout: null is not a duration.'],
    [{}, 'timeout: a value of type object is not a duration.'],
  ])('%s is refused, with the option, the value and what to write', (written, message) => {
    // A caller without types can pass anything.
    const read = () => milliseconds(written as Duration, 'timeout');

    expect(read).toThrow(
      expect.objectContaining({
        code: 'DEFINITION_INVALID',
        message: `${message} Write whole milliseconds, or a text such as '500ms', '30s', '5m', '24h' or '7d'.`,
        facts: { option: 'timeout' },
      }),
    );
  });
});

describe('a duration as the library writes it', () => {
  test.each([
    [0, '0ms'],
    [1234, '1234ms'],
    [90_000, '90s'],
    [3_600_000, '1h'],
    [86_400_000, '1d'],
  ])('%d milliseconds become %s', (ms, expected) => {
    const text = formatDuration(ms);

    expect(text).toBe(expected);
  });

  test('is read back as the same length', () => {
    const lengths = fc.nat(3_155_760_000_000 / 1000).chain((n) => fc.constantFrom(n, n * 1000));

    fc.assert(
      fc.property(lengths, (ms) => {
        // formatDuration writes one of the forms that Duration describes.
        expect(milliseconds(formatDuration(ms) as Duration, 'timeout')).toBe(ms);
      }),
    );
  });
});
