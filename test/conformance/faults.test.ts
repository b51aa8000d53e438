/** What is made of a driver's error: its meaning is kept, its statement and its parameters are not. */

import { inspect } from 'node:util';
import { DrizzleQueryError } from 'drizzle-orm';
import { describe, expect, test } from 'vitest';
import { type Effect, storeFault } from '../../src/adapters/postgres/faults.ts';

describe('an error of a database driver', () => {
  const cases: [string, unknown, Effect, string | undefined][] = [
    ['a serialisation failure', server('40001'), 'write', 'STORE_UNAVAILABLE'],
    ['a deadlock', server('40P01'), 'write', 'STORE_UNAVAILABLE'],
    ['a lock time-out', server('55P03'), 'write', 'STORE_UNAVAILABLE'],
    ['a cancelled statement', server('57014'), 'write', 'STORE_UNAVAILABLE'],
    ['a full disk', server('53100'), 'write', 'STORE_UNAVAILABLE'],
    ['a server that is starting', server('57P03', 'FATAL'), 'write', 'STORE_UNAVAILABLE'],
    ['a terminated session while writing', server('57P01', 'FATAL'), 'write', 'STORE_IN_DOUBT'],
    ['a terminated session while reading', server('57P01', 'FATAL'), 'read', 'STORE_UNAVAILABLE'],
    ['a lost connection while writing', wire('ECONNRESET'), 'write', 'STORE_IN_DOUBT'],
    ['a code of the wire in five letters', wire('EPIPE'), 'write', 'STORE_IN_DOUBT'],
    ['a lost connection while reading', wire('CONNECTION_CLOSED'), 'read', 'STORE_UNAVAILABLE'],
    ['something that is no error', 'secret', 'write', 'STORE_IN_DOUBT'],
    ['a text that the database cannot keep', server('22P05'), 'write', undefined],
    ['a broken constraint', server('23505'), 'write', undefined],
  ];
  for (const [what, error, effect, code] of cases) {
    test(`that says ${what} becomes ${code ?? 'an internal error'} without statement and parameters`, () => {
      const wrapped = new DrizzleQueryError('insert into sagacity.operation', ['secret'], errorOf(error));

      const faults = [storeFault(error, effect), storeFault(wrapped, effect)];

      for (const fault of faults) {
        expect('code' in fault ? fault.code : undefined).toBe(code);
        expect(inspect(fault, { depth: Infinity, showHidden: true })).not.toMatch(/secret|insert into/);
      }
    });
  }
});

function server(code: string, severity = 'ERROR'): Error {
  return Object.assign(new Error('duplicate key: (secret)'), { code, severity, detail: 'secret', params: ['secret'] });
}

function wire(code: string): Error {
  return Object.assign(new Error(`${code} while sending secret`), { code });
}

function errorOf(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
