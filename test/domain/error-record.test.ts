import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { errorRecord } from '../../src/domain/error-record.ts';
import './seed.ts';

describe('an error that was thrown', () => {
  test('keeps its name, message and code, and none of its other fields', () => {
    const error = Object.assign(new TypeError('socket hang up'), {
      code: 'ECONNRESET',
      statusCode: 502,
      headers: { authorization: 'secret' },
    });

    const record = errorRecord(error);

    expect(record).toEqual({ name: 'TypeError', message: 'socket hang up', code: 'ECONNRESET' });
  });

  test('keeps a numeric code as text', () => {
    const error = Object.assign(new Error('unavailable'), { code: 14 });

    const record = errorRecord(error);

    expect(record.code).toBe('14');
  });

  test('brings the chain of its causes, the nearest first', () => {
    const root = Object.assign(new Error('reset by peer'), { code: 'ECONNRESET' });
    const middle = new Error('request failed', { cause: root });
    const error = new Error('capture failed', { cause: middle });

    const record = errorRecord(error);

    expect(record).toEqual({
      name: 'Error',
      message: 'capture failed',
      causes: [
        { name: 'Error', message: 'request failed' },
        { name: 'Error', message: 'reset by peer', code: 'ECONNRESET' },
      ],
    });
  });

  test('brings the errors of an AggregateError, whatever they are', () => {
    const error = new AggregateError([new RangeError('first'), 'second'], 'all failed', { cause: new Error('why') });

    const record = errorRecord(error);

    expect(record.causes).toEqual([
      { name: 'Error', message: 'why' },
      { name: 'RangeError', message: 'first' },
      { name: 'NonError', message: 'second' },
    ]);
  });

  test('does not take a list of complaints about parameters for causes', () => {
    const error = Object.assign(new Error('rejected'), { errors: [{ field: 'iban', value: 'secret' }] });

    const record = errorRecord(error);

    expect(record).toEqual({ name: 'Error', message: 'rejected' });
  });

  test('brings at most five causes', () => {
    const chain = Array.from({ length: 9 }).reduce<Error>(
      (cause, _, depth) => new Error(`level ${depth}`, { cause }),
      new Error('root'),
    );

    const record = errorRecord(chain);

    expect(record.causes?.map((cause) => cause.message)).toEqual([
      'level 7',
      'level 6',
      'level 5',
      'level 4',
      'level 3',
    ]);
  });

  test('is told once when it causes itself', () => {
    const error = new Error('round and round');
    error.cause = new Error('other', { cause: error });

    const record = errorRecord(error);

    expect(record.causes).toEqual([{ name: 'Error', message: 'other' }]);
  });

  test('of another realm is an error all the same', () => {
    const error: unknown = runInNewContext("new RangeError('foreign', { cause: new Error('abroad') })");

    const record = errorRecord(error);

    expect(record).toEqual({
      name: 'RangeError',
      message: 'foreign',
      causes: [{ name: 'Error', message: 'abroad' }],
    });
  });

  test('has its message cut to 1,000 UTF-16 code units, not inside an emoji', () => {
    const error = new Error(`${'x'.repeat(999)}😀 and more`);

    const record = errorRecord(error);

    expect(record.message).toBe('x'.repeat(999));
  });

  test('keeps NUL and half surrogate pairs, which the codec escapes', () => {
    const error = new Error('a\0b\ud800');

    const record = errorRecord(error);

    expect(record.message).toBe('a\0b\ud800');
  });
});

describe('something else that was thrown', () => {
  test.each<[unknown, object]>([
    ['out of stock', { name: 'NonError', message: 'out of stock' }],
    [undefined, { name: 'NonError', message: 'undefined was thrown.' }],
    [null, { name: 'NonError', message: 'null was thrown.' }],
    [404, { name: 'NonError', message: '404' }],
    [12n, { name: 'NonError', message: '12' }],
    [Symbol('late'), { name: 'NonError', message: 'Symbol(late)' }],
    [() => 'secret', { name: 'NonError', message: 'A function was thrown.' }],
    [{ token: 'secret' }, { name: 'Object', message: 'An object without a message was thrown.' }],
    [
      { name: 'Declined', message: 'no', code: 'declined' },
      { name: 'Declined', message: 'no', code: 'declined' },
    ],
  ])('%s becomes a record without its contents', (thrown, expected) => {
    const record = errorRecord(thrown);

    expect(record).toEqual(expected);
  });

  test.each<[string, () => unknown]>([
    ['getters that throw', throwingGetters],
    ['a proxy whose every trap throws', hostileProxy],
    ['a revoked proxy', revokedProxy],
    ['an error behind a hostile proxy', () => new Error('outer', { cause: hostileProxy() })],
    ['an error with a hostile list', () => Object.assign(new Error('outer'), { errors: hostileProxy() })],
    ['a circular object', circular],
  ])('%s do not get in the way', (_, make) => {
    const thrown = make();

    const record = errorRecord(thrown);

    expect(typeof record.name).toBe('string');
    expect(typeof record.message).toBe('string');
  });

  test('never makes it throw, and never exceeds the limits', () => {
    const values = fc.anything({ withBigInt: true, withMap: true, withSet: true, withNullPrototype: true });

    fc.assert(
      fc.property(values, values, fc.string({ maxLength: 3000 }), (value, cause, message) => {
        const records = [errorRecord(value), errorRecord(Object.assign(new Error(message, { cause }), value))];

        for (const { message: kept, causes = [] } of records) {
          expect(kept.length).toBeLessThanOrEqual(1000);
          expect(causes.length).toBeLessThanOrEqual(5);
        }
      }),
    );
  });
});

function throwingGetters(): Error {
  const error = new Error('hidden');
  for (const name of ['name', 'message', 'code', 'cause', 'errors']) {
    Object.defineProperty(error, name, {
      get: () => {
        throw new Error('a getter threw');
      },
    });
  }
  return error;
}

function hostileProxy(): object {
  const fail = () => {
    throw new Error('a trap threw');
  };
  return new Proxy({}, { get: fail, has: fail, ownKeys: fail, getPrototypeOf: fail, getOwnPropertyDescriptor: fail });
}

function revokedProxy(): object {
  const { proxy, revoke } = Proxy.revocable([], {});
  revoke();
  return proxy;
}

function circular(): object {
  const self: { cause?: unknown } = {};
  self.cause = self;
  return self;
}
