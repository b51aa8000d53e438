import { and, createMachine, fromPromise, not, or } from 'xstate';
import { describe, expect, test } from 'vitest';
import { structuralHash } from '../../src/kernel/hash.ts';

const work = fromPromise(async () => 'done');
const chart = {
  id: 'm',
  initial: 'a',
  states: {
    a: { on: { GO: [{ guard: 'big', target: 'b' }, { target: 'c' }] }, after: { 100: 'c', soon: 'b' } },
    b: { invoke: { src: 'work', id: 'work', onDone: 'c', onError: 'a' } },
    c: { type: 'final' },
  },
} as const;

/** Charts here are data, so that one can be changed at a time. */
function hashOf(states: object, rest: object = {}): string {
  // A chart made of data has no static type to check it against.
  return structuralHash(createMachine({ ...chart, ...rest, states: { ...chart.states, ...states } } as never));
}

describe('the structural hash of a chart', () => {
  const plain = hashOf({});

  test('is a SHA-256 in hexadecimal', () => {
    expect(plain).toMatch(/^[0-9a-f]{64}$/);
  });

  test('does not depend on the order of keys, on implementations, actions or context', () => {
    const { a, b, c } = chart.states;
    const turned = {
      id: 'm',
      initial: 'a',
      states: { c, b, a: { after: { soon: 'b', 100: 'c' }, on: a.on } },
    } as const;

    expect(structuralHash(createMachine(turned))).toBe(plain);
    expect(structuralHash(createMachine(chart, { actors: { work }, guards: { big: () => true } }))).toBe(plain);
    expect(hashOf({ a: { ...a, entry: 'notify' } }, { context: { n: 1 } })).toBe(plain);
  });

  test.each([
    ['a state', { d: {} }],
    ['a type', { c: {} }],
    ['a target', { a: { ...chart.states.a, on: { GO: [{ guard: 'big', target: 'c' }, { target: 'c' }] } } }],
    ['a guard', { a: { ...chart.states.a, on: { GO: [{ guard: 'small', target: 'b' }, { target: 'c' }] } } }],
    ['an event', { a: { ...chart.states.a, on: { RUN: chart.states.a.on.GO } } }],
    [
      'the order of alternatives',
      { a: { ...chart.states.a, on: { GO: [{ target: 'c' }, { guard: 'big', target: 'b' }] } } },
    ],
    ['a delay', { a: { ...chart.states.a, after: { 200: 'c', soon: 'b' } } }],
    ['the source of an invoke', { b: { invoke: { ...chart.states.b.invoke, src: 'other' } } }],
    ['the id of an invoke', { b: { invoke: { ...chart.states.b.invoke, id: 'other' } } }],
  ])('changes with %s', (_, states) => {
    expect(hashOf(states)).not.toBe(plain);
  });

  test('changes with the initial state', () => {
    expect(hashOf({}, { initial: 'b' })).not.toBe(plain);
  });

  test('tells combined guards apart', () => {
    const guards = [and(['x', 'y']), or(['x', 'y']), not('x'), not('y'), { type: 'x' }];

    const hashes = guards.map((guard) => hashOf({ a: { on: { GO: { guard, target: 'b' } } } }));

    expect(new Set(hashes).size).toBe(guards.length);
  });
});
