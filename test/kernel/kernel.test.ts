import { assign, cancel, createMachine, emit, fromPromise, log, raise, sendTo, setup, spawnChild } from 'xstate';
import { describe, expect, test } from 'vitest';
import { KernelFault } from '../../src/kernel/fault.ts';
import { kernelOf, type Turn } from '../../src/kernel/kernel.ts';
import type { KernelRow } from '../../src/kernel/row.ts';

const neverRun = () =>
  fromPromise(async () => {
    throw new Error('An implementation ran inside the kernel.');
  });

/** What a store gives back: the row through JSON, and frozen. */
function stored({ row }: Turn): KernelRow {
  const kept: KernelRow = JSON.parse(JSON.stringify(row));
  expect(kept).toEqual(row);
  return freeze(kept);
}

function freeze<Value>(value: Value): Value {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(freeze);
  return value;
}

function taken(turn: Turn | null): Turn {
  return turn ?? expect.fail('the kernel found it too late');
}

function faultOf(act: () => unknown): KernelFault {
  try {
    act();
  } catch (error) {
    if (error instanceof KernelFault) return error;
    throw error;
  }
  return expect.fail('no fault');
}

const order = setup({
  types: {
    context: {} as { total: number; charge: string | null },
    events: {} as { type: 'APPROVE' } | { type: 'AGAIN' } | { type: 'CANCEL' },
    input: {} as { total: number },
  },
  actors: { charge: neverRun(), reserve: neverRun() },
  delays: { patience: ({ context }) => context.total * 10 },
}).createMachine({
  id: 'order',
  context: ({ input }) => ({ total: input.total, charge: null }),
  initial: 'prepare',
  output: ({ context }) => ({ charge: context.charge }),
  on: { CANCEL: '.cancelled' },
  states: {
    prepare: {
      type: 'parallel',
      onDone: 'approval',
      states: {
        pay: {
          initial: 'asking',
          states: {
            asking: {
              invoke: {
                src: 'charge',
                id: 'charge',
                input: ({ context }) => ({ amount: context.total }),
                onDone: { target: 'paid', actions: assign({ charge: ({ event }) => String(event.output) }) },
                onError: '#order.cancelled',
              },
            },
            paid: { type: 'final' },
          },
        },
        stock: {
          initial: 'asking',
          states: {
            asking: {
              invoke: { src: 'reserve', id: 'reserve', onDone: 'kept' },
              on: { AGAIN: { target: 'asking', reenter: true } },
            },
            kept: { type: 'final' },
          },
        },
      },
    },
    approval: {
      after: { patience: 'cancelled' },
      on: { APPROVE: 'done', AGAIN: { target: 'approval', reenter: true } },
    },
    cancelled: { type: 'final' },
    done: { type: 'final' },
  },
});

describe('an order that prepares payment and stock side by side', () => {
  const kernel = kernelOf(order);
  const begun = kernel.start({ total: 25 });

  test('starts both actors with their input and runs neither', () => {
    expect(begun.row.value).toEqual({ prepare: { pay: 'asking', stock: 'asking' } });
    expect(begun.effects).toEqual([
      { type: 'actor.started', id: 'charge', generation: 1, src: 'charge', input: { amount: 25 } },
      { type: 'actor.started', id: 'reserve', generation: 1, src: 'reserve', input: undefined },
    ]);
    expect(begun.row.children).toEqual({
      charge: { src: 'charge', generation: 1, input: { amount: 25 } },
      reserve: { src: 'reserve', generation: 1 },
    });
  });

  test('makes equal turns of equal rows, and leaves the row as it was', () => {
    const row = stored(begun);

    const first = kernel.settle(row, 'charge', 1, { output: 'ch-1' });
    const second = kernel.settle(row, 'charge', 1, { output: 'ch-1' });

    expect(first).toEqual(second);
    expect(row).toEqual(begun.row);
  });

  test('forgets a settled actor, so that its second result changes nothing', () => {
    const paid = taken(kernel.settle(stored(begun), 'charge', 1, { output: 'ch-1' }));

    expect(paid.row.children).toEqual({ reserve: { src: 'reserve', generation: 1 } });
    expect(paid.effects).toEqual([]);
    expect(kernel.settle(stored(paid), 'charge', 1, { output: 'ch-2' })).toBeNull();
  });

  test('gives an actor that is started again another generation, and ignores the result of the first', () => {
    const again = kernel.step(stored(begun), { type: 'AGAIN' });

    expect(again.effects).toEqual([
      { type: 'actor.stopped', id: 'reserve', generation: 1 },
      { type: 'actor.started', id: 'reserve', generation: 2, src: 'reserve', input: undefined },
    ]);
    expect(kernel.settle(stored(again), 'reserve', 1, { output: null })).toBeNull();
    expect(taken(kernel.settle(stored(again), 'reserve', 2, { output: null })).row.value).toEqual({
      prepare: { pay: 'asking', stock: 'kept' },
    });
  });

  test('stops what is still running when one side fails', () => {
    const failed = taken(kernel.settle(stored(begun), 'charge', 1, { error: { code: 'declined' } }));

    expect(failed.row).toMatchObject({ value: 'cancelled', status: 'done', children: {}, output: { charge: null } });
    expect(failed.effects).toEqual([{ type: 'actor.stopped', id: 'reserve', generation: 1 }]);
  });

  test('arms the deadline as a delay when both sides are done, and tells every value on the way', () => {
    const paid = taken(kernel.settle(stored(begun), 'charge', 1, { output: 'ch-1' }));

    const ready = taken(kernel.settle(stored(paid), 'reserve', 1, { output: null }));

    const id = 'xstate.after.patience.order.approval';
    expect(ready.effects).toEqual([
      { type: 'timer.armed', id, generation: 1, delayMs: 250, event: { type: id }, to: null },
    ]);
    expect(ready.visited).toEqual([{ prepare: { pay: 'paid', stock: 'kept' } }, 'approval']);
  });
});

describe('an order that waits for approval', () => {
  const kernel = kernelOf(order);
  const id = 'xstate.after.patience.order.approval';
  const paid = taken(kernel.settle(stored(kernel.start({ total: 25 })), 'charge', 1, { output: 'ch-1' }));
  const waiting = stored(taken(kernel.settle(stored(paid), 'reserve', 1, { output: null })));

  test('is cancelled by its timer, which is then gone', () => {
    const fired = taken(kernel.fire(waiting, id, 1));

    expect(fired.row).toMatchObject({ value: 'cancelled', status: 'done', timers: {} });
    expect(fired.effects).toEqual([]);
    expect(kernel.fire(stored(fired), id, 1)).toBeNull();
  });

  test('arms its timer anew when it is entered again, and ignores the earlier one', () => {
    const again = kernel.step(waiting, { type: 'AGAIN' });

    expect(again.effects.map(({ type }) => type)).toEqual(['timer.cancelled', 'timer.armed']);
    expect(again.row.timers[id]?.generation).toBe(2);
    expect(kernel.fire(stored(again), id, 1)).toBeNull();
  });

  test('ends with its output, without timers, and takes nothing more', () => {
    const done = kernel.step(waiting, { type: 'APPROVE' });

    expect(done.row).toMatchObject({ status: 'done', output: { charge: 'ch-1' }, timers: {} });
    expect(done.effects).toEqual([{ type: 'timer.cancelled', id, generation: 1 }]);
    const row = stored(done);
    expect(kernel.step(row, { type: 'AGAIN' })).toEqual({ row, effects: [], visited: ['done'] });
    expect(kernel.accepts(row, { type: 'AGAIN' })).toBe(false);
  });

  test('says which events it takes, and keeps the same row for one it does not', () => {
    const unknown = { type: 'UNKNOWN' };

    expect(kernel.accepts(waiting, { type: 'APPROVE' })).toBe(true);
    expect(kernel.accepts(waiting, unknown)).toBe(false);
    expect(kernel.step(waiting, unknown).row).toBe(waiting);
  });

  test('takes no internal event from outside', () => {
    const forged = { type: id };

    expect(kernel.accepts(waiting, forged)).toBe(false);
    expect(kernel.step(waiting, forged).row).toBe(waiting);
  });

  test('knows no timer and no actor of an inherited name', () => {
    expect(kernel.fire(waiting, 'constructor', 1)).toBeNull();
    expect(kernel.settle(waiting, 'toString', 1, { output: 1 })).toBeNull();
  });
});

describe('a machine with nested states and history', () => {
  const player = createMachine({
    id: 'player',
    initial: 'on',
    states: {
      on: {
        initial: 'slow',
        on: { OFF: 'off' },
        states: {
          slow: { on: { FASTER: 'fast' } },
          fast: { initial: 'low', states: { low: { on: { FASTER: 'high' } }, high: {} } },
          shallow: { type: 'history' },
          deep: { type: 'history', history: 'deep' },
        },
      },
      off: { on: { SHALLOW: 'on.shallow', DEEP: 'on.deep' } },
    },
  });
  const kernel = kernelOf(player);
  const steps = ['FASTER', 'FASTER', 'OFF'];
  const off = steps.reduce((row, type) => stored(kernel.step(row, { type })), stored(kernel.start(undefined)));

  test('keeps in its row what it will come back to, as ids', () => {
    expect(off.history).toEqual({ 'player.on.shallow': ['player.on.fast'], 'player.on.deep': ['player.on.fast.high'] });
  });

  test('comes back to the child it left, or all the way down', () => {
    expect(kernel.step(off, { type: 'SHALLOW' }).row.value).toEqual({ on: { fast: 'low' } });
    expect(kernel.step(off, { type: 'DEEP' }).row.value).toEqual({ on: { fast: 'high' } });
  });
});

describe('two regions that both take an event', () => {
  test('act in the order of the chart, whatever order a store keeps keys in', () => {
    const region = (who: string) => ({ initial: 'a', states: { a: { on: { GO: { actions: emit({ type: who }) } } } } });
    const kernel = kernelOf(
      createMachine({ type: 'parallel', states: { longer: region('first'), z: region('second') } }),
    );
    const row = { ...stored(kernel.start(undefined)), value: { z: 'a', longer: 'a' } };

    const turn = kernel.step(row, { type: 'GO' });

    expect(turn.effects).toMatchObject([{ event: { type: 'first' } }, { event: { type: 'second' } }]);
  });
});

describe('an invoke within the state of another', () => {
  const kernel = kernelOf(
    setup({ actors: { outer: neverRun(), inner: neverRun() } }).createMachine({
      initial: 'work',
      states: {
        work: {
          invoke: { src: 'outer', id: 'outer', onDone: 'end' },
          initial: 'first',
          states: {
            first: {
              invoke: { src: 'inner', id: 'inner', onDone: { target: 'first', reenter: true }, onError: 'second' },
            },
            second: {},
          },
        },
        end: { type: 'final' },
      },
    }),
  );
  const begun = kernel.start(undefined);

  test('is started again by its own end, with a new generation and no stop of the one that ended', () => {
    const again = taken(kernel.settle(stored(begun), 'inner', 1, { output: 1 }));

    expect(again.effects).toEqual([
      { type: 'actor.started', id: 'inner', generation: 2, src: 'inner', input: undefined },
    ]);
    expect(Object.keys(again.row.children).sort()).toEqual(['inner', 'outer']);
  });

  test('is stopped when the outer one ends', () => {
    const ended = taken(kernel.settle(stored(begun), 'outer', 1, { output: 1 }));

    expect(ended.effects).toEqual([{ type: 'actor.stopped', id: 'inner', generation: 1 }]);
  });
});

describe('a machine whose state is left as soon as it is entered', () => {
  const kernel = kernelOf(
    setup({ actors: { work: neverRun() } }).createMachine({
      initial: 'idle',
      states: {
        idle: { on: { GO: 'passing' } },
        passing: { invoke: { src: 'work', id: 'work' }, after: { 100: 'idle' }, always: 'rest' },
        rest: {},
      },
    }),
  );

  test('starts nothing and arms nothing, but tells that it was there', () => {
    const passed = kernel.step(stored(kernel.start(undefined)), { type: 'GO' });

    expect(passed.effects).toEqual([]);
    expect(passed.row).toMatchObject({ value: 'rest', children: {}, timers: {}, generations: {} });
    expect(passed.visited).toEqual(['passing', 'rest']);
  });

  test('tells the state it began in, also when it does not rest there', () => {
    const begun = kernelOf(
      createMachine({ initial: 'a', states: { a: { always: 'b' }, b: { initial: 'c', states: { c: {} } } } }),
    ).start(undefined);

    expect(begun.visited).toEqual(['a', { b: 'c' }]);
  });
});

describe('a machine with actions', () => {
  const kernel = kernelOf(
    setup({
      actors: { clerk: neverRun() },
      actions: { notify: (_, _params: { to: string }) => expect.fail('it ran') },
    }).createMachine({
      context: { n: 1 },
      invoke: { src: 'clerk', id: 'clerk' },
      initial: 'open',
      states: {
        open: {
          entry: sendTo('clerk', { type: 'HELLO' }),
          on: {
            TELL: {
              actions: [
                { type: 'notify', params: { to: 'shop' } },
                emit({ type: 'told' }),
                log('telling', 'note'),
                sendTo('clerk', { type: 'TOLD' }),
              ],
            },
            LATER: { actions: raise({ type: 'REMIND' }, { delay: 500 }) },
            REMIND: 'reminded',
            NEVER: { actions: [raise({ type: 'REMIND' }, { id: 'reminder', delay: 500 }), cancel('reminder')] },
            NUDGE: { actions: sendTo('clerk', { type: 'NUDGE' }, { id: 'nudge', delay: 40 }) },
            SELF: { actions: sendTo(({ self }) => self, { type: 'REMIND' }) },
          },
        },
        reminded: {},
      },
    }),
  );
  const begun = kernel.start(undefined);
  const open = stored(begun);

  test('says to start an actor before it says to send it something', () => {
    expect(begun.effects.map(({ type }) => type)).toEqual(['actor.started', 'event.sent']);
  });

  test('returns them in order as data and runs none', () => {
    expect(kernel.step(open, { type: 'TELL' }).effects).toEqual([
      { type: 'action', name: 'notify', params: { to: 'shop' } },
      { type: 'event.emitted', event: { type: 'told' } },
      { type: 'logged', label: 'note', value: 'telling' },
      { type: 'event.sent', to: 'clerk', event: { type: 'TOLD' } },
    ]);
  });

  test('arms a delayed raise under an id of its own, and a second one beside it', () => {
    const once = kernel.step(open, { type: 'LATER' });
    const twice = kernel.step(stored(once), { type: 'LATER' });

    const ids = Object.keys(twice.row.timers);
    expect(ids).toHaveLength(2);
    expect(taken(kernel.fire(stored(twice), ids[0] ?? '', 1)).row).toMatchObject({ value: 'reminded' });
    expect(kernel.step(open, { type: 'LATER' })).toEqual(once);
  });

  test('neither arms nor cancels what it cancels at once', () => {
    expect(kernel.step(open, { type: 'NEVER' }).effects).toEqual([]);
  });

  test('sends a delayed event when its timer fires, without taking it itself', () => {
    const nudging = kernel.step(open, { type: 'NUDGE' });

    const fired = taken(kernel.fire(stored(nudging), 'nudge', 1));

    expect(fired.effects).toEqual([{ type: 'event.sent', to: 'clerk', event: { type: 'NUDGE' } }]);
    expect(fired.row.timers).toEqual({});
  });

  test('cancels a delayed event whose receiver has ended', () => {
    const nudging = kernel.step(open, { type: 'NUDGE' });

    const ended = taken(kernel.settle(stored(nudging), 'clerk', 1, { output: null }));

    expect(ended.effects).toEqual([{ type: 'timer.cancelled', id: 'nudge', generation: 1 }]);
  });

  test('reads what it sends to itself in the same turn', () => {
    const turn = kernel.step(open, { type: 'SELF' });

    expect(turn.row.value).toBe('reminded');
    expect(turn.effects).toEqual([]);
  });
});

describe('an actor spawned by an assignment', () => {
  const kernel = kernelOf(
    setup({ actors: { work: neverRun() } }).createMachine({
      context: { count: 0 },
      on: {
        SPAWN: {
          actions: assign({
            count: ({ context, spawn }) => {
              spawn('work', { input: context.count });
              return context.count + 1;
            },
          }),
        },
      },
    }),
  );

  test('is started although no action mentions it, under an id that no later one gets', () => {
    const one = kernel.step(stored(kernel.start(undefined)), { type: 'SPAWN' });
    const two = kernel.step(stored(one), { type: 'SPAWN' });

    expect(Object.values(two.row.children).map(({ input }) => input)).toEqual([0, 1]);
    expect(two.effects).toMatchObject([{ type: 'actor.started', generation: 1, src: 'work', input: 1 }]);
  });
});

describe('a context that is more than JSON', () => {
  test('is handed through as a value, also when it looks like something of XState', () => {
    const seen = { xstate$$type: 1, id: 'work' };
    const context = { since: new Date(0), lines: new Map([['a', 1n]]), seen };
    const kernel = kernelOf(createMachine({ context, on: { GO: { actions: assign({ gone: true }) } } }));

    const turn = kernel.step(kernel.start(undefined).row, { type: 'GO' });

    expect(turn.row.context).toEqual({ ...context, gone: true });
  });
});

describe('a machine that cannot make its turn', () => {
  const failing = setup({ actors: { work: neverRun() } }).createMachine({
    id: 'failing',
    context: { n: 0 },
    initial: 'idle',
    states: {
      idle: {
        invoke: { src: 'work', id: 'work' },
        on: {
          ASSIGN: {
            actions: assign({
              n: () => {
                throw new RangeError('too many');
              },
            }),
          },
          GUARD: {
            guard: () => {
              throw new RangeError('no guard');
            },
            target: 'loop',
          },
          LOOP: 'loop',
          SEND: {
            actions: assign({
              n: ({ self }) => {
                self.send({ type: 'LOOP' });
                return 1;
              },
            }),
          },
          KEEP: { actions: assign({ kept: ({ self }) => self }) },
          SOON: { actions: raise({ type: 'LOOP' }, { delay: Number.NaN }) },
        },
      },
      loop: { always: 'back' },
      back: { always: 'loop' },
    },
  });
  const kernel = kernelOf(failing);
  const idle = stored(kernel.start(undefined));

  test('faults with the machine, the state and the actor when no transition takes an error', () => {
    const fault = faultOf(() => kernel.settle(idle, 'work', 1, { error: { code: 'declined' } }));

    expect(fault).toMatchObject({ code: 'DEFINITION_FAULT', machine: 'failing', state: 'idle', actor: 'work' });
  });

  test.each(['ASSIGN', 'GUARD'])('faults with what its own code threw: %s', (type) => {
    const fault = faultOf(() => kernel.step(idle, { type }));

    expect(fault.cause).toBeInstanceOf(Error);
    expect(fault.state).toBe('idle');
  });

  test('faults when its context cannot be made', () => {
    const broken = createMachine({
      id: 'broken',
      context: () => {
        throw new RangeError('no context');
      },
    });

    const fault = faultOf(() => kernelOf(broken).start(undefined));

    expect(fault.cause).toBeInstanceOf(RangeError);
    expect(fault.state).toBeNull();
  });

  test.each(['LOOP', 'SEND', 'KEEP', 'SOON'])(
    'faults instead of looping, losing or keeping what it cannot: %s',
    (type) => {
      expect(faultOf(() => kernel.step(idle, { type })).machine).toBe('failing');
    },
  );

  test('faults when a row does not fit its chart', () => {
    expect(faultOf(() => kernel.step({ ...idle, value: 'gone' }, { type: 'LOOP' })).message).toContain('does not fit');
    const child = { src: 'gone', generation: 1 };
    expect(faultOf(() => kernel.step({ ...idle, children: { child } }, { type: 'LOOP' })).message).toContain('gone');
  });

  test('faults instead of entering a region that the chart got later', () => {
    const region = { initial: 'a', states: { a: {} } };
    const before = createMachine({ type: 'parallel', states: { one: region } });
    const after = createMachine({ type: 'parallel', states: { one: region, two: region } });

    const row = stored(kernelOf(before).start(undefined));

    expect(faultOf(() => kernelOf(after).step(row, { type: 'ANY' })).message).toContain('does not fit');
  });

  test('is refused when an actor has its logic in place', () => {
    const invoked = createMachine({ invoke: { src: neverRun() } });
    const spawned = createMachine({ entry: spawnChild(neverRun(), { id: 'spawned' }) });

    expect(faultOf(() => kernelOf(invoked)).message).toContain('in place');
    expect(faultOf(() => kernelOf(spawned)).message).toContain('in place');
  });
});
