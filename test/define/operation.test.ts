import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { contract, type ContractOptions } from '../../src/define/contract.ts';
import { isOperation, operation } from '../../src/define/operation.ts';
import { typed } from '../../src/define/schema.ts';
import { isSagacityError, type SagacityError } from '../../src/domain/errors.ts';
import type { SameKey } from '../../src/domain/contract.ts';
import { absent, succeeded } from '../../src/domain/outcome.ts';

interface Payment {
  orderId: string;
  amount: number;
}

const input = typed<Payment>();
const execute = () => succeeded({ chargeId: 'c' });
const find = () => absent();
const unaided = { input, execute, keyRetention: 'none', lookup: 'none' };

/** What a caller without a compiler gets. */
function refusalOf(action: unknown, options: unknown): SagacityError {
  try {
    // The point of these tests: arguments that the types would not let through.
    (operation as (action: unknown, options: unknown) => unknown)(action, options);
  } catch (error) {
    if (isSagacityError(error, 'DEFINITION_INVALID')) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('a defined operation', () => {
  test('has the documented defaults, in milliseconds', () => {
    const charge = operation('card.charge', {
      input,
      execute,
      keyRetention: '24h',
      lookup: { visibleWithin: '30s', find },
    });

    expect(charge.policy).toEqual({
      contract: null,
      keyRetentionMs: 86_400_000,
      lookup: { visibleWithinMs: 30_000, arrivalLimitMs: null, everyMs: 5000, giveUpAfterMs: 259_200_000 },
      timeoutMs: 30_000,
      sendWithinMs: 5000,
      retry: { attempts: 3, backoff: 'exponential', delayMs: 1000, maxDelayMs: 30_000, jitter: 'full' },
      inverse: false,
    });
    expect(charge).toMatchObject({
      type: 'operation',
      action: 'card.charge',
      volatile: [],
      shared: false,
      compensate: null,
      limit: null,
      provider: null,
    });
  });

  test('has what was stated instead', () => {
    const charge = operation('card.charge', {
      input,
      execute,
      key: ({ input: payment }) => payment.orderId,
      keyRetention: '7d',
      lookup: { visibleWithin: 0, find, arrivalLimit: '1h', every: '1m', giveUpAfter: '1d' },
      timeout: 250,
      sendWithin: '1s',
      retry: { attempts: 10, backoff: 'fixed', delay: '2s', maxDelay: '2s', jitter: 'none' },
      volatile: ['meta.requestedAt', 'lines[].note'],
      shared: true,
    });

    expect(charge.policy).toEqual({
      contract: null,
      keyRetentionMs: 604_800_000,
      lookup: { visibleWithinMs: 0, arrivalLimitMs: 3_600_000, everyMs: 60_000, giveUpAfterMs: 86_400_000 },
      timeoutMs: 250,
      sendWithinMs: 1000,
      retry: { attempts: 10, backoff: 'fixed', delayMs: 2000, maxDelayMs: 2000, jitter: 'none' },
      inverse: false,
    });
    expect(charge).toMatchObject({ volatile: ['meta.requestedAt', 'lines[].note'], shared: true });
  });

  test('holds the functions and schemas as they were given, and nothing that only the compiler needs', () => {
    const output = z.object({ chargeId: z.string() });
    const key = () => 'order-17';
    const charge = operation('card.charge', {
      input,
      output,
      key,
      execute,
      keyRetention: 'none',
      lookup: { visibleWithin: 0, find },
    });

    expect(charge.options).toEqual({ input, output, key, execute, find });
    expect(charge.options.output).toBe(output);
    expect(Object.keys(charge).sort()).toEqual([
      'action',
      'compensate',
      'limit',
      'options',
      'policy',
      'provider',
      'shared',
      'type',
      'volatile',
    ]);
    expect(isOperation(charge)).toBe(true);
  });

  test('has null where nothing was given, and where nobody can be asked', () => {
    const charge = operation('card.charge', { input, execute, keyRetention: 'none', lookup: 'none' });

    expect(charge.options).toEqual({ input, output: null, key: null, execute, find: null });
    expect(charge.policy).toMatchObject({ keyRetentionMs: null, lookup: null });
  });

  test('cannot be changed, nor by way of the options it was made from', () => {
    const volatile = ['at'];
    const inverse = operation('card.refund', { input: typed<string>(), execute, keyRetention: 'none', lookup: 'none' });
    const charge = operation('card.charge', {
      input,
      execute,
      volatile,
      keyRetention: '1d',
      lookup: { visibleWithin: 0, find },
      compensate: { operation: inverse, input: ({ output }) => output.chargeId },
    });
    volatile.push('amount');

    const parts = [charge, charge.options, charge.policy, charge.policy.lookup, charge.policy.retry, charge.volatile];
    expect(parts.every(Object.isFrozen)).toBe(true);
    expect(Object.isFrozen(charge.compensate)).toBe(true);
    expect(charge.volatile).toEqual(['at']);
  });

  test('names its inverse, or why there is none', () => {
    const refund = operation('card.refund', {
      input: typed<{ chargeId: string }>(),
      execute,
      keyRetention: 'none',
      lookup: 'none',
    });
    const inverseInput = ({ output }: { output: { chargeId: string } }) => output;
    const common = { input, execute, keyRetention: 'none', lookup: 'none' } as const;
    const charge = operation('card.charge', { ...common, compensate: { operation: refund, input: inverseInput } });
    const mail = operation('mail.send', { ...common, compensate: { none: 'a mail cannot be called back' } });

    expect(charge.compensate).toEqual({ operation: refund, input: inverseInput });
    expect(mail.compensate).toEqual({ none: 'a mail cannot be called back' });
  });
});

describe('a definition without what is required', () => {
  test('is refused with everything that is missing, and what to write', () => {
    const error = refusalOf('card.charge', { input, execute });

    expect(error.message).toBe(
      'card.charge does not say keyRetention and lookup. ' +
        "Add keyRetention: how long the provider knows the idempotency key ('24h'), or 'none'; " +
        "lookup: how to ask the provider ({ visibleWithin, find }), or 'none'.",
    );
  });

  test.each(['input', 'execute', 'keyRetention', 'lookup'])('is refused without %s', (option) => {
    const error = refusalOf('card.charge', { ...unaided, [option]: undefined });

    expect(error.message).toMatch(new RegExp(`^card\\.charge does not say ${option}\\. Add ${option}:`));
  });

  test.each([undefined, null, 'x'])('is refused when its options are %s', (options) => {
    expect(refusalOf('card.charge', options).message).toContain('card.charge has no options.');
  });
});

describe('an action', () => {
  test.each([
    ['empty', '', 'is empty'],
    ['too long', 'a'.repeat(201), 'has 201 UTF-16 code units and may have 200'],
    ['half a character', 'card\ud800', 'is not well-formed text'],
    ['with NUL', 'card\0', 'is not well-formed text'],
    ['missing', undefined, 'is a value of type undefined'],
    ['null', null, 'is a value of type null'],
  ])('that is %s is refused', (_, action, complaint) => {
    expect(refusalOf(action, unaided).message).toContain(`The action of an operation ${complaint}.`);
  });

  test('may have 200 code units', () => {
    const action = '💳'.repeat(100);

    expect(operation(action, { input, execute, keyRetention: 'none', lookup: 'none' }).action).toBe(action);
  });
});

describe('an option nobody reads', () => {
  test.each([
    ['keyRetension', 'keyRetention'],
    ['timeOut', 'timeout'],
    ['lookUp', 'lookup'],
    ['volatiles', 'volatile'],
    ['compensation', 'compensate'],
    ['contracts', 'contract'],
  ])('is refused, and %s suggests %s', (wrong, right) => {
    const error = refusalOf('card.charge', { ...unaided, [wrong]: 'x' });

    expect(error.message).toContain(`card.charge has no option ${wrong}: did you mean ${right}?`);
    expect(error.facts).toEqual({ option: wrong, suggestion: right });
  });

  test('is refused without a suggestion when nothing is near', () => {
    const error = refusalOf('card.charge', { ...unaided, priority: 1 });

    expect(error.message).toContain(
      'card.charge has no option priority. The options are input, execute, keyRetention,',
    );
  });

  test.each([
    ['retry', { retry: { attempt: 2 } }, 'retry of card.charge has no option attempt: did you mean attempts?'],
    [
      'lookup',
      { lookup: { visibleWithin: 0, find, evry: 1 } },
      'lookup of card.charge has no option evry: did you mean every?',
    ],
    ['compensate', { compensate: { non: 'x' } }, 'compensate of card.charge has no option non: did you mean none?'],
  ])('is refused inside %s too', (_, part, message) => {
    expect(refusalOf('card.charge', { ...unaided, ...part }).message).toContain(message);
  });
});

describe('an option of the wrong kind', () => {
  const refund = operation('card.refund', { input: typed<string>(), execute, keyRetention: 'none', lookup: 'none' });

  test.each([
    ['input', { input: { parse: () => 1 } }],
    ['output', { output: 'string' }],
    ['execute', { execute: 'run' }],
    ['key', { key: 'order-17' }],
    ['lookup', { lookup: 'nowhere' }],
    ['lookup', { lookup: { visibleWithin: '1s' } }],
    ['shared', { shared: 'yes' }],
    ['volatile', { volatile: 'meta.at' }],
    ['volatile', { volatile: [1] }],
    ['compensate', { compensate: 'refund' }],
    ['compensate', { compensate: {} }],
    ['compensate', { compensate: { none: ' ' } }],
    ['compensate', { compensate: { none: 'x', operation: refund } }],
    ['compensate', { compensate: { operation: refund } }],
    ['compensate', { compensate: { operation: { action: 'card.refund' }, input: () => 'c' } }],
    ['compensate', { compensate: { operation: refund, input: 'c' } }],
  ])('is refused: %s (case %#)', (option, wrong) => {
    const error = refusalOf('card.charge', { ...unaided, ...wrong });

    expect(error.message).toMatch(new RegExp(`^${option} of card\\.charge is of the wrong kind\\. Write `));
  });

  test('is refused where a path could not be followed', () => {
    expect(refusalOf('card.charge', { ...unaided, volatile: ['$.meta'.concat('[0')] }).message).toContain(
      'is not a path',
    );
  });

  test('is refused when others may join and could not arrive at the same key', () => {
    expect(refusalOf('card.charge', { ...unaided, shared: true }).message).toContain(
      'card.charge is shared and has no key.',
    );
  });
});

describe('numbers and words of the policy', () => {
  test.each([0, 11, 2.5, Number.NaN, '3'])('refuse %s attempts', (attempts) => {
    const error = refusalOf('card.charge', { ...unaided, retry: { attempts } });

    expect(error.message).toContain('Write a whole number from 1 to 10; the first attempt counts.');
  });

  test.each([
    ['timeout', { timeout: '10 minutes' }],
    ['timeout', { timeout: 0 }],
    ['sendWithin', { sendWithin: -1 }],
    ['keyRetention', { keyRetention: 'never' }],
    ['keyRetention', { keyRetention: 0 }],
    ['lookup.visibleWithin', { lookup: { find } }],
    ['lookup.arrivalLimit', { lookup: { visibleWithin: 0, find, arrivalLimit: 'soon' } }],
    ['lookup.every', { lookup: { visibleWithin: 0, find, every: 0 } }],
    ['lookup.giveUpAfter', { lookup: { visibleWithin: 0, find, giveUpAfter: '0d' } }],
    ['retry.delay', { retry: { delay: '1.5ms' } }],
    ['retry.delay', { retry: { delay: '1m' } }],
    ['retry.maxDelay', { retry: { maxDelay: Number.POSITIVE_INFINITY } }],
    ['retry.backoff', { retry: { backoff: 'linear' } }],
    ['retry.jitter', { retry: { jitter: true } }],
    ['retry', { retry: 3 }],
  ])('refuse a bad %s and name the operation (case %#)', (option, wrong) => {
    const error = refusalOf('card.charge', { ...unaided, ...wrong });

    expect(error.message.startsWith(`${option} of card.charge`)).toBe(true);
  });
});

describe('a provider that would forget the key too soon', () => {
  const timed = { ...unaided, sendWithin: '5s', timeout: '30s' };
  const lookup = { visibleWithin: '25s', find };

  test('is refused with the numbers', () => {
    const error = refusalOf('card.charge', { ...timed, keyRetention: '1m', lookup });

    expect(error.message).toContain(
      'card.charge: sendWithin (5s) + timeout (30s) + lookup.visibleWithin (25s) is 1m, which is not below keyRetention (1m).',
    );
    expect(error.facts).toMatchObject({ neededMs: 60_000, keyRetentionMs: 60_000 });
  });

  test('is refused without a look-up by the time of sending alone', () => {
    const error = refusalOf('card.charge', { ...timed, keyRetention: '35s' });

    expect(error.message).toContain('sendWithin (5s) + timeout (30s) is 35s, which is not below keyRetention (35s).');
  });

  test('is accepted one millisecond later, and when it knows no key at all', () => {
    const times = { sendWithin: '5s', timeout: '30s' } as const;
    const later = operation('a', {
      input,
      execute,
      ...times,
      keyRetention: 60_001,
      lookup: { visibleWithin: '25s', find },
    });
    const unaware = operation('b', {
      input,
      execute,
      ...times,
      keyRetention: 'none',
      lookup: { visibleWithin: '2d', find },
    });

    expect(later.policy.keyRetentionMs).toBe(60_001);
    expect(unaware.policy.keyRetentionMs).toBeNull();
  });
});

describe('an operation with a contract', () => {
  const said = { name: 'card-company/charges', version: '1', docs: 'https://docs.example', verified: 'unverified' };
  const sameKey: SameKey = {
    ...{ afterSuccess: 'first-reply', whileRunning: 'unsaid', afterRefusal: 'unsaid' },
    ...{ afterServerError: 'unsaid', otherParameters: 'unsaid' },
  };
  const keyed = { key: { in: 'header', name: 'Idempotency-Key' }, keyRetention: '10m', sameKey } as const;
  const asked = { lookup: { by: 'reference', visibleWithin: '30s', arrivalLimit: '2m' } } as const;
  const describing = (options: Partial<ContractOptions>) =>
    contract({ key: 'none', lookup: 'none', ...said, ...options });
  const both = describing({ ...keyed, ...asked });
  const times = { sendWithin: '5s', timeout: '30s' };

  test('has its retention and the worth of its look-up from there, and keeps the contract with them', () => {
    const charge = operation('card.charge', { input, execute, contract: both, lookup: { find, every: '9s' } });

    expect(charge.policy).toMatchObject({
      contract: both,
      keyRetentionMs: 600_000,
      lookup: { visibleWithinMs: 30_000, arrivalLimitMs: 120_000, everyMs: 9_000, giveUpAfterMs: 259_200_000 },
    });
    expect(charge.options.find).toBe(find);
  });

  test('needs no look-up where the contract has none, and may do without where a key is enough', () => {
    const silent = operation('a', { input, execute, contract: describing(keyed) });
    const nobody = operation('b', { input, execute, contract: describing({}) });
    const unasked = operation('c', { input, execute, contract: both, lookup: 'none' });

    expect([silent, nobody, unasked].map(({ policy }) => policy.lookup)).toEqual([null, null, null]);
    expect([silent, nobody, unasked].map(({ policy }) => policy.keyRetentionMs)).toEqual([600_000, null, 600_000]);
  });

  test.each([
    ['keyRetention', { contract: both, keyRetention: '24h', lookup: 'none' }],
    ['lookup.visibleWithin', { contract: both, lookup: { find, visibleWithin: '1s' } }],
    ['lookup.arrivalLimit', { contract: both, lookup: { find, arrivalLimit: '1s' } }],
  ])('is refused when it says %s once more', (option, facts) => {
    const error = refusalOf('card.charge', { input, execute, ...facts });

    expect(error.message).toBe(
      `card.charge says ${option}, and so does its contract card-company/charges. Leave ${option} out: with a contract, that decides.`,
    );
  });

  test('is refused without a word about the look-up that the contract has', () => {
    const error = refusalOf('card.charge', { input, execute, contract: both });

    expect(error.message).toBe(
      "card.charge does not say lookup. Add lookup: how to ask the provider ({ find }), or 'none'.",
    );
  });

  test('is refused with a look-up that the contract does not have', () => {
    const error = refusalOf('card.charge', { input, execute, contract: describing(keyed), lookup: { find } });

    expect(error.message).toContain('its contract card-company/charges says that nobody can be asked.');
  });

  test('is refused when nothing that the contract offers would settle a lost reply', () => {
    const error = refusalOf('card.charge', { input, execute, contract: describing(asked), lookup: 'none' });

    expect(error.message).toContain(
      'card.charge has no look-up, and its contract card-company/charges no key: nothing would settle a lost reply.',
    );
    expect(error.facts).toMatchObject({ option: 'lookup' });
  });

  test('is refused when its last attempt could outlive the key, with the sums', () => {
    const facts = { ...times, contract: both, lookup: { find }, retry: { attempts: 5, maxDelay: '2m' } };

    const error = refusalOf('card.charge', { input, execute, ...facts });

    expect(error.message).toBe(
      'card.charge: sendWithin (5s) + timeout (30s) + 4 times retry.maxDelay and timeout (10m) + lookup.visibleWithin (30s) ' +
        'is 665s, which is not below keyRetention of the contract card-company/charges (10m). The provider would forget ' +
        'the key before a lost reply can be cleared up: shorten them, or lower retry.attempts.',
    );
  });

  test('is refused when it asks nobody, and a request could arrive when its key is forgotten', () => {
    const late = describing({ ...keyed, lookup: { by: 'key', visibleWithin: '30s', arrivalLimit: '10m' } });
    const facts = { ...times, contract: late, lookup: 'none', retry: { attempts: 1 } };

    const error = refusalOf('card.charge', { input, execute, ...facts });

    expect(error.message).toContain(
      'card.charge: sendWithin (5s) + timeout (30s) + arrivalLimit of the contract (10m) is 635s, which is not below ' +
        'keyRetention of the contract card-company/charges (10m).',
    );
  });

  test('is accepted as soon as its last attempt fits', () => {
    const { policy } = operation('card.charge', {
      ...{ input, execute, contract: both, lookup: { find } },
      ...({ sendWithin: '5s', timeout: '30s', retry: { attempts: 4, maxDelay: '2m' } } as const),
    });

    expect(policy.retry.attempts).toBe(4);
  });

  test.each([{}, null, 'stripe', { type: 'operation' }])('is refused when the contract is none: %o', (none) => {
    const error = refusalOf('card.charge', { ...unaided, contract: none });

    expect(error.message).toBe('contract of card.charge is none. Give it what contract() returned.');
  });
});

describe('a look-up that would be given up too early', () => {
  const lookup = { visibleWithin: '30s', arrivalLimit: '10m', find };

  test('is refused with the numbers, since no absence could ever count', () => {
    const error = refusalOf('card.charge', { ...unaided, lookup: { ...lookup, giveUpAfter: '630s' } });

    expect(error.message).toContain('lookup.giveUpAfter of card.charge (630s)');
    expect(error.facts).toEqual({ option: 'lookup.giveUpAfter' });
  });

  test('is accepted one millisecond later', () => {
    const { policy } = operation('card.charge', {
      ...{ input, execute, keyRetention: 'none' },
      lookup: { visibleWithin: '30s', arrivalLimit: '10m', giveUpAfter: 630_001, find },
    });

    expect(policy.lookup?.giveUpAfterMs).toBe(630_001);
  });
});
