/**
 * Putting an instance into a state of a chart: what waits there is what would wait after entering it, and no state is let
 * pass that the chart does not have or would leave at once. Whether a row fits is the same question the other way round.
 */

import { fromPromise, raise, setup } from 'xstate';
import { describe, expect, test } from 'vitest';
import { KernelFault } from '../../src/kernel/fault.ts';
import { kernelOf, type Turn, unborn } from '../../src/kernel/kernel.ts';
import type { KernelRow } from '../../src/kernel/row.ts';

const neverRun = fromPromise(async () => {
  throw new Error('An implementation ran inside the kernel.');
});

interface Context {
  readonly total: number;
}

const order = setup({
  types: { context: {} as Context, input: {} as Context, events: {} as { type: 'APPROVE' } },
  actors: { charge: neverRun, reserve: neverRun },
  delays: { patience: ({ context }) => context.total * 10 },
  guards: { isFree: ({ context }) => context.total === 0 },
}).createMachine({
  id: 'order',
  context: ({ input }) => input,
  initial: 'approval',
  states: {
    approval: {
      entry: raise({ type: 'APPROVE' }, { delay: 5, id: 'own' }),
      after: { patience: 'sold', 1_000: 'sold' },
      on: { APPROVE: 'both' },
    },
    both: {
      type: 'parallel',
      onDone: 'choosing',
      states: {
        money: {
          initial: 'asked',
          states: {
            asked: {
              invoke: { id: 'money', src: 'charge', input: ({ context }) => context.total, onDone: 'paid' },
              after: { 2_000: 'paid' },
            },
            paid: { type: 'final' },
          },
        },
        goods: {
          initial: 'asked',
          states: { asked: { invoke: { src: 'reserve', onDone: 'kept' } }, kept: { type: 'final' } },
        },
      },
    },
    choosing: { always: [{ guard: 'isFree', target: 'sold' }] },
    sold: { type: 'final' },
  },
});
const kernel = kernelOf(order);
const context: Context = { total: 7 };
const place = (value: unknown, before: KernelRow = unborn, generations: Record<string, number> = {}) =>
  kernel.place({ value, context, before, generations });

function waits({ row }: Turn) {
  const { value, children, timers } = row;
  return {
    value,
    children,
    timers: Object.fromEntries(Object.entries(timers).map(([id, { delayMs }]) => [id, delayMs])),
  };
}

describe('an instance that is put into a state', () => {
  test('waits for the actors that it invokes, with their inputs, and for its times', () => {
    const begun = kernel.start(context).row;
    const entered = kernel.step(begun, { type: 'APPROVE' });

    const put = place({ both: { goods: 'asked', money: 'asked' } }, begun);

    expect(waits(put)).toEqual(waits(entered));
    expect(put.effects.map((effect) => ('id' in effect ? [effect.type, effect.id] : []))).toEqual([
      ['actor.started', 'money'],
      ['actor.started', '0.order.both.goods.asked'],
      ['timer.armed', 'xstate.after.2000.order.both.money.asked'],
    ]);
    expect(kernel.misfit(put.row)).toBe(null);
  });

  test('waits for delays by their names, and for nothing that an entry would have sent', () => {
    expect(waits(place('approval')).timers).toEqual({
      'xstate.after.patience.order.approval': 70,
      'xstate.after.1000.order.approval': 1_000,
    });
  });

  test('goes on from there as if it had come by itself', () => {
    const { row } = place({ both: { money: 'paid', goods: 'asked' } });

    const settled = kernel.settle(row, '0.order.both.goods.asked', 1, { output: null });

    expect(settled?.row.value).toBe('choosing');
  });

  test('keeps the times that it waited for, what it has told itself, and gives no generation twice', () => {
    const before = kernel.start(context).row;
    const later = place({ both: { money: 'asked', goods: 'asked' } }, before, { money: 3 });
    const same = place('approval', before);

    expect(later.row.children['money']?.generation).toBe(4);
    expect(same.row.timers).toEqual(before.timers);
    expect(Object.keys(later.row.timers)).toContain('own');
    expect(same.effects).toEqual([]);
    expect(later.row.generations).toMatchObject(before.generations);
  });

  test.each<[string, unknown, RegExp]>([
    ['is none', 'nowhere', /no such state/],
    ['is a part of one', 'both', /no such state/],
    ['has one region too few', { both: { money: 'asked' } }, /no such state/],
    ['is no state', null, /no such state/],
    ['is its end', 'sold', /does not rest there/],
    ['has ended and would lead on', { both: { money: 'paid', goods: 'kept' } }, /does not rest there/],
  ])('that %s is refused', (_, value, why) => {
    expect(() => place(value)).toThrow(KernelFault);
    expect(() => place(value)).toThrow(why);
  });

  test('is refused where a transition would lead on at once, and only there', () => {
    const free = () => kernel.place({ value: 'choosing', context: { total: 0 }, before: unborn, generations: {} });

    expect(free).toThrow(/does not rest there/);
    expect(place('choosing').row.value).toBe('choosing');
  });
});

describe('a row of another chart', () => {
  const both = place({ both: { money: 'asked', goods: 'asked' } }).row;

  test.each<[string, KernelRow, RegExp]>([
    ['in a state that is none', { ...both, value: 'nowhere' }, /its states are others/],
    [
      'without an actor',
      { ...both, children: { money: { src: 'charge', generation: 1 } } },
      /which its state waits for/,
    ],
    [
      'with an actor of another source',
      { ...both, children: { ...both.children, money: { src: 'reserve', generation: 1 } } },
      /nothing of it is money/,
    ],
    ['without a time', { ...both, timers: {} }, /another time/],
    [
      'with an actor that its state does not invoke',
      { ...place('choosing').row, children: both.children },
      /does not wait for/,
    ],
    ['with a time that its state does not have', { ...place('choosing').row, timers: both.timers }, /another time/],
  ])('%s does not fit', (_, row, why) => {
    expect(kernel.misfit(row)).toMatch(why);
  });
});
