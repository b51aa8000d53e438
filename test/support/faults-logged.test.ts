import { NatsError } from 'nats';
import { describe, expect, test } from 'vitest';
import { storeUnavailable } from '../../src/domain/errors.ts';
import { loggerOfFaults } from './faults-logged.ts';

const NO_TIMERS = 'JetStream keeps no timers; the sweep finds what is due';

function toldOf(error: Error, message = 'a turn was not written'): readonly string[] {
  const told: string[] = [];
  loggerOfFaults((what) => told.push(what)).warn({ error }, message);
  return told;
}

describe('what is logged while servers come and go', () => {
  test.each([
    ['an error of the library', storeUnavailable('The database is away.', 'Wait.'), undefined],
    ['an error of the client of NATS', new NatsError('timeout', 'TIMEOUT'), undefined],
    [
      'that a server of NATS which went away hands out no timers any more',
      new Error('The server hands out no timers any more.'),
      NO_TIMERS,
    ],
  ])('is no fault if it is %s', (_, error, message) => {
    expect(toldOf(error, message)).toEqual([]);
  });

  test.each([
    ['syntax error at or near "selct"', 'a turn was not written'],
    ['Stream timers does not take sagacity.timers.', NO_TIMERS],
  ])('is a fault if nothing explains it: %s', (what, message) => {
    expect(toldOf(new Error(what), message)).toEqual([`${message}: ${what}`]);
  });
});
