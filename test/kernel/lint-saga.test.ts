/**
 * What a machine must not do as a saga, one chart for each rule, beside the nearest chart that may. The rules read
 * charts, so these are data; what they would do when run is the kernel's matter.
 */
import {
  type AnyStateMachine,
  assign,
  cancel,
  createMachine,
  emit,
  enqueueActions,
  log,
  raise,
  sendTo,
  setup,
  spawnChild,
  stopChild,
} from 'xstate';
import { describe, expect, test } from 'vitest';
import { kernelOf } from '../../src/kernel/kernel.ts';
import { lintMachine } from '../../src/kernel/lint.ts';
import { lintNames, lintSaga } from '../../src/kernel/lint-saga.ts';
import { inertLogic } from '../../src/kernel/scope.ts';
import { stepsOf } from '../../src/kernel/steps.ts';

const operations = ['charge', 'reserve', 'ship', 'sendEmail'];

const takingBack = { invoke: { src: 'compensate', onDone: 'takenBack' } };
const ends = { done: { type: 'final' }, takenBack: { type: 'final' } };

/** A saga with these states, two ends, and a state that takes back; it begins in `first`. */
function sagaOf(states: object, rest: object = {}): AnyStateMachine {
  // A chart made of data has no static type to check it against.
  return createMachine({ id: 'm', initial: 'first', states: { takingBack, ...ends, ...states }, ...rest } as never);
}

/** The smallest saga there is, and what is different. */
function chargingSaga(invoke: object = {}, state: object = {}, rest: object = {}): AnyStateMachine {
  return sagaOf(
    { first: { invoke: { src: 'charge', onDone: 'done', onError: 'takingBack', ...invoke }, ...state } },
    rest,
  );
}

function refusedIn(
  machine: AnyStateMachine,
  takesNothingBack: string | null = null,
  pivot: string | null = null,
): string[] {
  return lintSaga(machine, { operations, takesNothingBack, pivot }).map(({ code, state }) => `${code} in ${state}`);
}

function step(src: string, onDone: string, onError = '#m.takingBack') {
  return { invoke: { src, onDone, onError } };
}

describe('a saga that takes back what it did', () => {
  test('is accepted', () => {
    expect(refusedIn(chargingSaga())).toEqual([]);
  });

  test('may use everything that a row can carry', () => {
    const big = setup({
      types: { context: {} as { receipts: string[]; hurry: boolean }, events: {} as { type: string } },
      actors: {
        charge: inertLogic,
        reserve: inertLogic,
        ship: inertLogic,
        sendEmail: inertLogic,
        compensate: inertLogic,
      },
      actions: { note: () => {}, keep: assign({ receipts: ({ context }) => [...context.receipts, 'kept'] }) },
      guards: { isBig: ({ context }) => context.receipts.length > 1 },
      delays: { patience: 1_000, growing: ({ context }) => context.receipts.length * 1_000 },
    }).createMachine({
      id: 'big',
      context: { receipts: [], hurry: false },
      initial: 'preparing',
      on: { HURRY: { actions: assign({ hurry: true }) } },
      states: {
        preparing: {
          type: 'parallel',
          onDone: 'checking',
          on: { PAUSE: 'paused' },
          states: {
            paying: {
              initial: 'run',
              states: {
                run: {
                  invoke: { src: 'charge', onDone: { target: 'ok', actions: 'keep' }, onError: '#big.takingBack' },
                },
                ok: { type: 'final' },
              },
            },
            reserving: {
              initial: 'run',
              states: {
                run: {
                  invoke: {
                    src: 'reserve',
                    onDone: 'ok',
                    onError: [{ guard: 'isBig', target: '#big.takingBack' }, 'no'],
                  },
                },
                no: { always: '#big.takingBack' },
                ok: { type: 'final' },
              },
            },
            watching: {
              initial: 'calm',
              states: { calm: { after: { growing: 'over' } }, over: { type: 'final' } },
            },
            left: { type: 'history', history: 'deep' },
          },
        },
        paused: {
          entry: [
            { type: 'note' },
            raise({ type: 'REMIND' }, { id: 'reminder', delay: 'patience' }),
            emit({ type: 'paused' }),
            log('paused'),
          ],
          exit: [cancel('reminder'), enqueueActions(({ enqueue }) => enqueue('note'))],
          on: {
            RESUME: 'preparing.left',
            REMIND: { actions: sendTo(({ self }) => self, { type: 'REMINDED' }, { delay: 10 }) },
            REMINDED: 'takingBack',
          },
        },
        checking: { always: [{ guard: ({ context }) => context.hurry, target: 'shipping' }, { target: 'approving' }] },
        approving: {
          on: { 'shop.approved': 'shipping', 'shop.*': 'takingBack' },
          after: { patience: { target: 'asking', actions: 'note' }, 86_400_000: 'takingBack' },
        },
        asking: { tags: 'escalated', on: { ANSWER: 'approving' } },
        shipping: {
          initial: 'sending',
          onDone: 'informing',
          states: {
            sending: { invoke: { id: 'send', src: 'ship', onDone: 'sent', onError: 'undoing' } },
            undoing: { invoke: { src: 'compensate', onDone: '#big.takenBack' } },
            sent: { type: 'final' },
          },
        },
        informing: { invoke: { src: 'sendEmail', onDone: 'done', onError: 'takingBack' } },
        takingBack: { invoke: { src: 'compensate', onDone: [{ guard: 'isBig', target: 'takenBack' }, 'noted'] } },
        noted: { entry: 'note', after: { patience: 'takenBack' } },
        done: { type: 'final' },
        takenBack: { type: 'final' },
      },
    });

    expect([...lintMachine(big), ...lintSaga(big, { operations, takesNothingBack: null }), ...lintNames(big)]).toEqual(
      [],
    );
  });
});

describe('an actor that is not an operation', () => {
  test.each([
    ['invoked', chargingSaga({ src: 'fetchPrice' }), 'unknown-source in m.first'],
    ['spawned', chargingSaga({}, { entry: spawnChild('poll', { id: 'p' }) }), 'unknown-source in m.first'],
    ['spawned by an action with a name', named('begin', spawnChild('poll', { id: 'p' })), 'unknown-source in m'],
  ])('is refused by its name when it is %s', (_, machine, refused) => {
    expect(refusedIn(machine)).toEqual([refused]);
    expect(lintSaga(machine, { operations, takesNothingBack: null })[0]?.message).toMatch(/'fetchPrice'|'poll'/);
  });

  test('is accepted as soon as it is one', () => {
    const machine = chargingSaga({ src: 'fetchPrice' });

    expect(lintSaga(machine, { operations: ['fetchPrice'], takesNothingBack: null })).toEqual([]);
  });
});

describe('an operation that nothing hears of', () => {
  test('is refused when an action starts it, and not when an action stops one', () => {
    expect(refusedIn(chargingSaga({}, { entry: spawnChild('ship', { id: 's' }) }))).toEqual([
      'spawned-operation in m.first',
    ]);
    expect(refusedIn(chargingSaga({ id: 'c' }, { on: { STOP: { actions: stopChild('c') } } }))).toEqual([]);
  });

  test('is refused an event, which the machine itself may be sent', () => {
    expect(refusedIn(chargingSaga({ id: 'c' }, { exit: sendTo('c', { type: 'x' }) }))).toEqual([
      'event-to-operation in m.first',
    ]);
    expect(refusedIn(chargingSaga({}, { exit: sendTo('#_internal', { type: 'x' }) }))).toEqual([]);
  });
});

describe('the refusal of an operation', () => {
  test.each([
    ['has to be handled', { onError: undefined }],
    ['has to be handled whatever a guard says', { onError: [{ guard: 'declined', target: 'takingBack' }] }],
  ])('%s', (_, invoke) => {
    expect(refusedIn(chargingSaga(invoke))).toEqual(['refusal-unhandled in m.first']);
  });

  test('may be told apart by a guard when another transition takes the rest', () => {
    const onError = [{ guard: 'declined', target: 'takingBack' }, { target: 'takingBack' }];

    expect(refusedIn(chargingSaga({ onError }))).toEqual([]);
  });

  test('does not come from compensate, which has to be heard of when it is done', () => {
    const deaf = sagaOf({
      first: step('charge', 'done'),
      takingBack: { invoke: { src: 'compensate' }, on: { END: 'takenBack' } },
    });

    // What follows from the missing onDone is told as well: END would end the saga before everything is taken back.
    expect(refusedIn(deaf)).toEqual(['compensation-unhandled in m.takingBack', 'not-taken-back in m.first']);
  });
});

describe('the success of an operation', () => {
  test('must lead somewhere', () => {
    expect(refusedIn(chargingSaga({ onDone: undefined }))).toEqual(['success-unhandled in m.first']);
    expect(refusedIn(chargingSaga({ onDone: { actions: 'note' } }))).toEqual(['success-unhandled in m.first']);
  });

  test.each([
    ['its own state', chargingSaga({ onDone: undefined }, { on: { NEXT: 'done' } })],
    ['a state around it', chargingSaga({ onDone: undefined }, {}, { on: { NEXT: '.takingBack' } })],
    [
      'a region beside it',
      sagaOf({
        first: {
          type: 'parallel',
          states: {
            paying: { initial: 'run', states: { run: { invoke: { src: 'charge', onError: '#m.takingBack' } } } },
            waiting: { on: { NEXT: '#m.done' } },
          },
        },
      }),
    ],
  ])('may leave the way out to %s', (_, machine) => {
    expect(refusedIn(machine)).toEqual([]);
  });
});

describe('the steps of a machine', () => {
  test('are named by id or else by source, and have the actors that the kernel starts', () => {
    const machine = sagaOf({
      first: {
        invoke: [
          { src: 'charge', onDone: 'second', onError: 'takingBack' },
          { src: 'ship', id: 'parcel', onDone: 'second', onError: 'takingBack' },
          { src: 'reserve', onDone: 'second', onError: 'takingBack' },
        ],
      },
      second: { id: 'elsewhere', ...step('sendEmail', 'done') },
    });
    const kernel = kernelOf(machine);
    const { row } = kernel.start(undefined);

    const steps = stepsOf(machine);
    const second = kernel.settle(row, '0.m.first', 1, { output: 1 })?.row;

    expect(steps.map(({ actorId, step: name, src }) => [actorId, name, src])).toEqual([
      ['0.m.takingBack', 'compensate', 'compensate'],
      ['0.m.first', 'charge', 'charge'],
      ['parcel', 'parcel', 'ship'],
      ['2.m.first', 'reserve', 'reserve'],
      ['0.elsewhere', 'sendEmail', 'sendEmail'],
    ]);
    const started = Object.entries({ ...row.children, ...second?.children }).map(([id, { src }]) => [id, src]);
    expect(started).toEqual(steps.slice(1).map(({ actorId, src }) => [actorId, src]));
  });

  test.each([
    ['two states', { first: step('charge', 'second'), second: step('charge', 'done') }, 'm.second'],
    [
      'one state',
      {
        first: { invoke: [step('charge', 'done').invoke, step('charge', 'done').invoke] },
      },
      'm.first',
    ],
    [
      'the id of one and the source of another',
      { first: step('charge', 'second'), second: { invoke: { id: 'charge', ...step('ship', 'done').invoke } } },
      'm.second',
    ],
  ])('must not share a name in %s', (_, states, state) => {
    expect(refusedIn(sagaOf(states))).toEqual([`duplicate-step in ${state}`]);
  });

  test('may be of one operation under two ids, and take back in two states', () => {
    const machine = sagaOf({
      first: step('charge', 'second'),
      second: { invoke: { id: 'chargeAgain', ...step('charge', 'done', 'takingBackMore').invoke } },
      takingBackMore: takingBack,
    });

    expect(refusedIn(machine)).toEqual([]);
  });
});

describe('an instance', () => {
  test('must not go round for ever', () => {
    const turning = sagaOf({
      first: { ...step('charge', 'done'), on: { HOLD: 'held' } },
      held: { on: { CHECK: 'checked' } },
      checked: { after: { 1000: 'held' } },
    });

    expect(refusedIn(turning)).toEqual(['no-way-out in m.held', 'no-way-out in m.checked']);
  });

  test('is not told twice that a state is a dead end', () => {
    const ended = sagaOf({ first: { ...step('charge', 'done'), on: { HOLD: 'held' } }, held: {} });

    expect(lintMachine(ended).map(({ code, state }) => `${code} in ${state}`)).toEqual(['dead-end in m.held']);
    expect(refusedIn(ended)).toEqual([]);
  });

  test.each([
    ['a guard can let it out', { on: { CHECK: 'checked', OUT: { guard: 'rarely', target: 'takingBack' } } }],
    ['a person can', { tags: 'escalated', on: { CHECK: 'checked' } }],
  ])('may go round as long as %s', (_, held) => {
    const machine = sagaOf({
      first: { ...step('charge', 'done'), on: { HOLD: 'held' } },
      held,
      checked: { after: { 1000: 'held' } },
    });

    expect(refusedIn(machine)).toEqual([]);
  });

  test('must not go round in a region that the others wait for', () => {
    const region = (turning: object) =>
      sagaOf({
        first: {
          type: 'parallel',
          onDone: 'done',
          states: {
            paying: { initial: 'run', states: { run: step('charge', 'ok', 'ok'), ok: { type: 'final' } } },
            turning: {
              initial: 'one',
              states: { one: { on: { GO: 'two' } }, two: { on: turning }, end: { type: 'final' } },
            },
          },
        },
      });

    expect(refusedIn(region({ GO: 'one' }), 'a trial')).toEqual([
      'no-way-out in m.first.paying.run',
      'no-way-out in m.first.paying.ok',
      'no-way-out in m.first.turning.one',
      'no-way-out in m.first.turning.two',
    ]);
    expect(refusedIn(region({ GO: 'one', END: 'end' }), 'a trial')).toEqual([]);
  });

  test('must not be done in a state that nobody is told of', () => {
    const nested = (onDone: object) =>
      sagaOf({ first: { initial: 'run', ...onDone, states: { run: step('charge', 'ok'), ok: { type: 'final' } } } });

    expect(refusedIn(nested({}))).toEqual(['no-way-out in m.first.ok']);
    expect(refusedIn(nested({ onDone: 'done' }))).toEqual([]);
  });

  test('must have an end', () => {
    const endless = createMachine({
      id: 'm',
      initial: 'first',
      states: { first: { tags: 'escalated', on: { GO: 'second' } }, second: { on: { GO: 'first' } } },
    });
    const regions = createMachine({
      id: 'm',
      type: 'parallel',
      states: { one: { initial: 'end', states: { end: { type: 'final' } } } },
    });

    expect(refusedIn(endless)).toEqual(['no-end in m']);
    expect(refusedIn(regions)).toEqual([]);
  });
});

describe('a failure that ends the saga', () => {
  const tolerated = sagaOf({
    first: step('charge', 'informing'),
    informing: step('sendEmail', 'done', 'done'),
  });

  test('without having taken anything back is refused, with the step and the end', () => {
    const [finding, ...others] = lintSaga(tolerated, { operations, takesNothingBack: null });

    expect(others).toEqual([]);
    expect([finding?.code, finding?.state]).toEqual(['not-taken-back', 'm.informing']);
    expect(finding?.message).toMatch(/'sendEmail'.*m\.done/);
    expect(finding?.remedy).toContain('takesNothingBack');
  });

  test('is accepted after the pivot, and only there', () => {
    expect(refusedIn(tolerated, null, 'charge')).toEqual([]);
    expect(refusedIn(tolerated, null, 'sendEmail')).toEqual(['not-taken-back in m.informing']);
  });

  test('is accepted where the pivot succeeds on the way there', () => {
    const another = sagaOf({
      first: step('charge', 'shipping', 'reserving'),
      reserving: step('reserve', 'shipping'),
      shipping: step('ship', 'done'),
    });

    expect(refusedIn(another, null, 'ship')).toEqual([]);
    expect(refusedIn(another)).toEqual(['not-taken-back in m.first']);
  });

  test('is refused in a region beside the pivot, which may have failed by then', () => {
    const beside = sagaOf({
      first: {
        type: 'parallel',
        onDone: 'done',
        states: {
          money: { initial: 'run', states: { run: step('charge', 'ok'), ok: { type: 'final' } } },
          words: { initial: 'run', states: { run: step('sendEmail', 'ok', 'ok'), ok: { type: 'final' } } },
        },
      },
    });

    expect(refusedIn(beside, null, 'charge')).toEqual(['not-taken-back in m.first.words.run']);
  });

  test('is accepted with a reason', () => {
    expect(refusedIn(tolerated, 'the parcel is on its way, whoever was told')).toEqual([]);
  });

  test.each([
    [
      'after a detour by an event, a timer, a guard and the end of a state',
      sagaOf({
        first: step('charge', 'done', 'detour'),
        detour: {
          initial: 'a',
          onDone: 'after',
          states: { a: { on: { GO: 'b' } }, b: { after: { 10: 'c' } }, c: { type: 'final' } },
        },
        after: { always: [{ guard: 'no', target: 'done' }, 'takingBack'] },
      }),
      'm.first',
    ],
    [
      'while it is still being taken back',
      sagaOf({
        first: step('charge', 'done'),
        takingBack: { ...takingBack, after: { 1000: 'done' } },
      }),
      'm.first',
    ],
    [
      'in a region, whose whole then counts as done',
      sagaOf({
        first: {
          type: 'parallel',
          onDone: 'done',
          states: {
            paying: { initial: 'run', states: { run: step('charge', 'ok', 'ok'), ok: { type: 'final' } } },
            reserving: { initial: 'run', states: { run: step('reserve', 'ok'), ok: { type: 'final' } } },
          },
        },
      }),
      'm.first.paying.run',
    ],
    [
      'without leaving its state',
      sagaOf({
        first: {
          ...step('charge', 'done'),
          invoke: { src: 'charge', onDone: 'done', onError: {} },
          on: { GO: 'done' },
        },
      }),
      'm.first',
    ],
    [
      'by what a history state remembers',
      sagaOf({
        first: {
          initial: 'a',
          states: { a: step('charge', 'b', '#m.aside'), b: { on: { GO: '#m.done' } }, back: { type: 'history' } },
        },
        aside: { on: { BACK: 'first.back', END: 'takingBack' } },
      }),
      'm.first.a',
    ],
  ])('is found %s', (_, machine, state) => {
    expect(refusedIn(machine)).toEqual([`not-taken-back in ${state}`]);
  });

  test.each([
    [
      'from a region',
      sagaOf({
        first: {
          type: 'parallel',
          onDone: 'done',
          states: {
            paying: { initial: 'run', states: { run: step('charge', 'ok'), ok: { type: 'final' } } },
            reserving: { initial: 'run', states: { run: step('reserve', 'ok'), ok: { type: 'final' } } },
          },
        },
      }),
    ],
    [
      'inside the state whose end is the end of the saga',
      sagaOf({
        first: {
          initial: 'run',
          onDone: 'done',
          states: {
            run: step('charge', 'ok', 'undoing'),
            undoing: { invoke: { src: 'compensate', onDone: 'ok' } },
            ok: { type: 'final' },
          },
        },
      }),
    ],
    [
      'by way of a pause, from which history brings it back',
      sagaOf({
        first: {
          initial: 'run',
          on: { PAUSE: 'paused' },
          onDone: 'done',
          states: {
            run: step('charge', 'ok', 'undoing'),
            undoing: { invoke: { src: 'compensate', onDone: '#m.takenBack' } },
            ok: { type: 'final' },
            last: { type: 'history' },
          },
        },
        paused: { on: { RESUME: 'first.last' } },
      }),
    ],
    [
      'although a state around it ends the saga before',
      sagaOf({
        first: { initial: 'run', on: { ABORT: 'done' }, states: { run: step('charge', '#m.done') } },
      }),
    ],
  ])('passes when it is taken back %s', (_, machine) => {
    expect(refusedIn(machine)).toEqual([]);
  });
});

describe('a saga that was taken back', () => {
  const goesOn = (then: object) =>
    sagaOf({
      first: step('charge', 'done'),
      takingBack: { invoke: { src: 'compensate', onDone: 'noting' } },
      noting: { after: { 1000: 'takenBack' }, ...then },
      shipping: step('ship', 'done'),
    });

  test('must not go forward again', () => {
    expect(refusedIn(goesOn({ on: { AGAIN: 'shipping' } }))).toEqual(['forward-after-compensation in m.shipping']);
  });

  test('is over, whatever a handler around all states would lead to', () => {
    const restarted = chargingSaga({}, {}, { on: { AGAIN: '.first' } });

    expect(refusedIn(restarted, 'a charge is all there is, and AGAIN comes while it is made')).toEqual([]);
  });

  test('may go on without an operation, or be taken back once more', () => {
    // Nothing leads to shipping any more, which is another rule's matter.
    expect(refusedIn(goesOn({ on: { AGAIN: 'takingBack' } }))).toEqual([]);
  });
});

describe('the names that the library uses itself', () => {
  function refusedNames(machine: AnyStateMachine): string[] {
    return lintNames(machine).map(({ code, state }) => `${code} in ${state}`);
  }

  test('are refused for states and steps, with another one', () => {
    const machine = sagaOf({
      first: { initial: 'succeeded', states: { succeeded: step('charge', '#m.done') } },
      second: { invoke: { id: 'in-progress', src: 'ship' } },
    });

    expect(refusedNames(machine)).toEqual(['reserved-name in m.first.succeeded', 'reserved-name in m.second']);
    expect(lintNames(machine)[0]?.remedy).toContain("'completed'");
    expect(refusedNames(chargingSaga({ id: 'progress' }))).toEqual([]);
  });

  test.each([
    ['heard', { on: { 'saga.timedOut': 'done' } }],
    ['heard by a wildcard', { on: { 'verdict.*': 'done' } }],
    ['raised', { entry: raise({ type: 'cancel.requested' }) }],
    ['sent later', { exit: sendTo(({ self }) => self, { type: 'saga.cancelled' }, { delay: 10 }) }],
    ['heard of an actor', { on: { 'xstate.done.actor.x': 'done' } }],
  ])('are refused for events that are %s', (_, state) => {
    expect(refusedNames(chargingSaga({}, state))).toEqual(['reserved-event in m.first']);
  });

  test('are refused for events that an action with a name raises', () => {
    expect(refusedNames(named('tell', raise({ type: 'verdict.given' })))).toEqual(['reserved-event in m']);
  });

  test('are not taken for those of the user, nor timers for events', () => {
    const state = {
      after: { 10: 'done' },
      on: { 'saga.begun': 'done', 'order.*': 'done' },
      entry: raise({ type: 'x' }),
    };

    expect(refusedNames(chargingSaga({}, state))).toEqual([]);
  });
});

/** A saga with one action behind a name. */
function named(name: string, action: unknown): AnyStateMachine {
  const machine = chargingSaga({}, { entry: name });
  // An implementation made of data has no static type to check it against.
  return machine.provide({ actions: { [name]: action } } as never);
}
