/**
 * A name means one thing to an orchestrator. Where a host has defined two things under one name, wherever it did, it is
 * refused with both places, so that nobody has to search for the other one.
 */

import { createOrchestrator, migration, operation, saga, type Saga, signal, succeeded, typed } from 'sagacity';
import { memoryStore, testOrchestrator } from 'sagacity/testing';
import { afterEach, describe, expect, test } from 'vitest';
import type { AnyOperation, AnySaga } from '../../src/orchestrator/orchestrator.ts';

const options = {
  input: typed<string>(),
  key: () => 'order-17',
  execute: () => succeeded(null),
  keyRetention: '24h',
  lookup: 'none',
  compensate: { none: 'a test' },
} as const;
const sagaOptions = { input: typed<string>(), key: () => 'order-17' };

/** The file and line of whoever calls it. */
function here(): string {
  const [, , caller = ''] = (new Error('here').stack ?? '').split('\n');
  return /([^/]+:\d+):\d+\)?$/.exec(caller)?.[1] ?? 'nowhere';
}

const [first, firstAt] = [operation('card.charge', options), here()];
const [second, secondAt] = [operation('card.charge', options), here()];

/** What such definitions are refused with: its message, and where they were made. */
function refusalOf(...definitions: (AnyOperation | AnySaga)[]): { message: string; places: readonly string[] } {
  try {
    createOrchestrator({ store: memoryStore(), definitions, tenant: 'shop-1' });
  } catch (error) {
    expect(error).toMatchObject({ code: 'DEFINITION_INVALID' });
    const { message, facts } = error as { message: string; facts: { places: string[] } };
    // Of a path the file counts, and of its end the line.
    return { message, places: facts.places.map((place) => place.replace(/^.*\//, '').replace(/:\d+$/, '')) };
  }
  throw new Error('They were accepted.');
}

describe('two operations of one action', () => {
  test('are refused with the places where they were made', () => {
    const { message, places } = refusalOf(first, second);

    expect(firstAt).not.toBe(secondAt);
    expect(places).toEqual([firstAt, secondAt]);
    expect(message).toMatch(
      /^Two definitions share the action card\.charge\. Made at \/\S+:\d+:\d+ and at \/\S+:\d+:\d+\. /,
    );
    expect(message).toContain('give one of them another name');
  });

  test.each<[string, Saga]>([
    ['of a step', saga('order', sagaOptions).step('charge', second, () => 'order-17')],
    [
      'of a branch',
      saga('order', sagaOptions).parallel('both', (branch) => ({
        money: branch.step('charge', second, () => 'order-17'),
      })),
    ],
    [
      'of an inverse',
      saga('order', sagaOptions).step('reserve', operation('stock.reserve', options), () => 'order-17', {
        compensate: { operation: second, input: () => 'order-17' },
      }),
    ],
    [
      'of a saga inside',
      saga('order', sagaOptions).step(
        'payment',
        saga('payment', sagaOptions).step('charge', second, () => 'order-17'),
        () => 'order-17',
      ),
    ],
  ])('are refused as well when one of them is %s', (_, definition) => {
    expect(refusalOf(first, definition).places).toEqual([firstAt, secondAt]);
  });

  test('are told of their one place when that was reached twice', () => {
    const make = () => operation('card.charge', options);

    const { message, places } = refusalOf(make(), make());

    expect(places[0]).toBe(places[1]);
    expect(message).toMatch(/Both were made at \/\S+:\d+:\d+\. /);
  });
});

describe('two sagas of one name and version', () => {
  const [chain, chainAt] = [saga('order', sagaOptions), here()];
  const [other, otherAt] = [saga('order', sagaOptions), here()];
  const charged = chain.step('charge', first, () => 'order-17');

  test('are refused with the places where they were begun, however long they have become', () => {
    const ended = other.step('charge', first, () => 'order-17').output(() => 'charged');

    expect(refusalOf(charged, ended).places).toEqual([chainAt, otherAt]);
    expect(
      refusalOf(
        other.pivot('charge', first, () => 'order-17'),
        charged,
      ).places,
    ).toEqual([otherAt, chainAt]);
  });

  test('are refused as well when one of them is a step', () => {
    const shop = saga('shop', sagaOptions).step('order', other, () => 'order-17');

    expect(refusalOf(charged, shop)).toMatchObject({
      message: expect.stringContaining('Two definitions share saga order in version 1. '),
      places: [chainAt, otherAt],
    });
  });

  test('are told of their one beginning when a chain was taken in two directions', () => {
    const reserved = chain.step('reserve', operation('stock.reserve', options), () => 'order-17');

    expect(refusalOf(charged, reserved).message).toContain('Both were made at ');
  });
});

describe('two signals of one name that one saga waits for', () => {
  const [approved, approvedAt] = [signal('approved', { payload: typed<string>() }), here()];
  const [again, againAt] = [signal('approved', { payload: typed<number>() }), here()];
  const waiting = { within: '1h', otherwise: 'continue' } as const;
  const once = saga('order', sagaOptions).waitFor('approval', approved, waiting);

  test('are refused with the places where they were made', () => {
    const twice = once.choose(
      'size',
      () => 'large',
      (branch) => ({ large: branch.waitFor('again', again, waiting) }),
    );

    expect(refusalOf(twice)).toMatchObject({
      message: expect.stringContaining('Two definitions share the signal approved in saga order. '),
      places: [approvedAt, againAt],
    });
  });

  test('may be one that is waited for twice, or those of two sagas', () => {
    const twice = once.waitFor('again', approved, waiting);
    const elsewhere = saga('return', sagaOptions).waitFor('approval', again, waiting);
    const definitions = [twice, elsewhere];

    expect(createOrchestrator({ store: memoryStore(), definitions, tenant: 'shop-1' })).toBeDefined();
  });
});

describe('a definition that is given where another one of its name is registered', () => {
  const [one, registeredAt] = [saga('order', { ...sagaOptions, version: 2 }), here()];
  const [other, givenAt] = [saga('order', { ...sagaOptions, version: 2 }), here()];
  const registered = one.step('charge', first, () => 'order-17');
  const given = other.step('charge', first, () => 'order-17');
  const places = new RegExp(
    `\\(made at /\\S+${registeredAt}:\\d+\\) than the one given \\(made at /\\S+${givenAt}:\\d+\\)`,
  );

  test('is refused with both places when it is submitted', async () => {
    const orchestrator = createOrchestrator({ store: memoryStore(), definitions: [registered], tenant: 'shop-1' });

    const submitting = orchestrator.submit(given, 'order-17');

    await expect(submitting).rejects.toMatchObject({
      code: 'DEFINITION_MISSING',
      message: expect.stringMatching(places),
    });
  });

  test('is refused with both places when a migration leads to it', () => {
    const migrations = [migration(saga('order', sagaOptions), given, () => null)];

    const making = () =>
      createOrchestrator({ store: memoryStore(), definitions: [registered], migrations, tenant: 'shop-1' });

    expect(making).toThrow(expect.objectContaining({ message: expect.stringMatching(places) }));
  });
});

describe('the place where a definition was made', () => {
  const kept = Object.getOwnPropertyDescriptors(Error);
  afterEach(() => {
    Object.defineProperties(Error, kept);
  });

  test('is no part of it', () => {
    const described = JSON.stringify(first) + Object.getOwnPropertyNames(first).join();

    expect(first).toEqual(second);
    expect(described).not.toContain('two-definitions-under-one-name');
  });

  test('is found with errors that keep no frame, whose number stays as the host has it', () => {
    Error.stackTraceLimit = 0;
    const definition = operation('card.charge', options);
    const limit = Error.stackTraceLimit;

    expect(limit).toBe(0);
    expect(refusalOf(definition, second).places[0]).toMatch(/^two-definitions-under-one-name\.test\.ts:\d+$/);
  });

  test.each<[string, () => void]>([
    ['makes the stacks of errors itself, as no text', () => (Error.prepareStackTrace = () => ({ frames: 1 }))],
    [
      'has frozen what is built in',
      () => Object.defineProperty(Error, 'stackTraceLimit', { value: 10, writable: false }),
    ],
    [
      'fails to make them',
      () => {
        Error.prepareStackTrace = () => {
          throw new TypeError('no source map');
        };
      },
    ],
  ])('is unknown, and the refusal the same, where a host %s', (_, change) => {
    change();
    const { message } = refusalOf(operation('card.charge', options), operation('card.charge', options));

    expect(message).toContain('Both were made at an unknown place. ');
  });
});

describe('a test orchestrator', () => {
  test('refuses them as well', async () => {
    await expect(testOrchestrator({ definitions: [first, second] })).rejects.toThrow(/Made at .* and at /);
  });
});
