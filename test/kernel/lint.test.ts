import {
  assign,
  cancel,
  createMachine,
  emit,
  enqueueActions,
  forwardTo,
  fromPromise,
  log,
  raise,
  sendParent,
  sendTo,
  setup,
  spawnChild,
} from 'xstate';
import { describe, expect, test } from 'vitest';
import { lintMachine } from '../../src/kernel/lint.ts';

const work = fromPromise(async () => 'done');

function codesOf(machine: Parameters<typeof lintMachine>[0]): string[] {
  return lintMachine(machine).map(({ code, state }) => `${code} in ${state}`);
}

describe('a machine that can be made durable', () => {
  test('is not found fault with, whatever builders, regions and history it uses', () => {
    const sound = setup({ actors: { work }, actions: { notify: () => {} }, delays: { soon: 10 } }).createMachine({
      id: 'sound',
      context: { n: 0 },
      initial: 'busy',
      states: {
        busy: {
          type: 'parallel',
          states: {
            working: {
              initial: 'run',
              states: {
                run: { invoke: { src: 'work', onDone: 'ready', onError: '#sound.failed' } },
                ready: { type: 'final' },
              },
            },
            watching: { initial: 'calm', states: { calm: {} } },
            back: { type: 'history' },
          },
          on: { PAUSE: 'paused' },
        },
        paused: {
          entry: [
            'notify',
            { type: 'notify' },
            assign({ n: 1 }),
            raise({ type: 'x' }, { delay: 'soon' }),
            emit({ type: 'y' }),
          ],
          exit: [log('left'), cancel('x'), enqueueActions(() => {}), spawnChild('work', { id: 'spawned' })],
          on: { RESUME: 'busy.back', 'shop.*': { actions: sendTo('spawned', { type: 'z' }) } },
          after: { soon: 'failed' },
        },
        failed: { type: 'final' },
      },
    });

    expect(codesOf(sound)).toEqual([]);
  });

  test('may name a source that setup does not know', () => {
    const machine = createMachine({
      id: 'm',
      initial: 'a',
      states: { a: { invoke: { src: 'elsewhere', onDone: 'b' } }, b: { type: 'final' } },
    });

    expect(codesOf(machine)).toEqual([]);
  });

  test('may enter a state afresh that only a shallow history leads back to', () => {
    const machine = createMachine({
      id: 'm',
      initial: 'a',
      states: {
        a: { on: { DEEP: '#deep', BACK: 'b.last' } },
        b: {
          initial: 'other',
          on: { OUT: 'a', END: 'end' },
          states: {
            other: {},
            inner: { initial: 'first', states: { first: {}, second: { id: 'deep' } } },
            last: { type: 'history' },
          },
        },
        end: { type: 'final' },
      },
    });

    expect(codesOf(machine)).toEqual([]);
  });

  test('may rest in a region that only its sibling can leave', () => {
    const machine = createMachine({
      id: 'm',
      initial: 'both',
      states: {
        both: { type: 'parallel', states: { idle: {}, active: { on: { STOP: '#m.end' } } } },
        end: { type: 'final' },
      },
    });

    expect(codesOf(machine)).toEqual([]);
  });
});

describe('what is refused', () => {
  const on = { NEXT: 'end' } as const;
  const end = { type: 'final' } as const;
  // XState's types refuse the name of a delay outside of setup(), where they cannot know it.
  const nowhereDefined = 'someday' as never;
  const withState = (a: object) =>
    // A chart made of data has no static type to check it against.
    createMachine({ id: 'm', initial: 'a', states: { a: { on, ...a }, end } } as never);

  test.each([
    ['inline-actor', withState({ invoke: { src: work } })],
    ['inline-actor', withState({ entry: spawnChild(work, { id: 'w' }) })],
    ['wildcard-handler', withState({ on: { ...on, '*': 'end' } })],
    ['wildcard-handler', withState({ on: { ...on, 'xstate.done.*': 'end' } })],
    ['system-id', withState({ invoke: { src: 'work', systemId: 'clerk' } })],
    ['snapshot-handler', withState({ invoke: { src: 'work', onSnapshot: 'end' } })],
    ['spawn-without-id', withState({ entry: spawnChild('work') })],
    ['inline-action', withState({ entry: () => {} })],
    ['inline-action', withState({ exit: [() => {}] })],
    ['inline-action', withState({ on: { NEXT: { target: 'end', actions: () => {} } } })],
    ['computed-actor-id', withState({ invoke: { src: 'work', id: () => 'w' } })],
    ['send-to-parent', withState({ entry: sendParent({ type: 'x' }) })],
    ['send-to-parent', withState({ exit: forwardTo('#_parent') })],
    ['unknown-delay', withState({ after: { someday: 'end' } })],
    ['unknown-delay', withState({ entry: raise({ type: 'NEXT' }, { delay: nowhereDefined }) })],
    ['unknown-delay', withState({ exit: sendTo('w', { type: 'x' }, { delay: nowhereDefined }) })],
    ['dead-end', withState({ on: { LOOK: { actions: 'look' }, END: undefined } })],
  ] as const)('%s', (code, machine) => {
    const found = lintMachine(machine).filter((finding) => finding.code !== 'unreachable-state');

    expect(found.map((finding) => [finding.code, finding.state])).toEqual([[code, 'm.a']]);
    expect(found[0]?.remedy).not.toBe('');
  });

  test('a spawn without an id behind the name of an action', () => {
    const machine = setup({ actors: { work }, actions: { begin: spawnChild('work') } }).createMachine({
      id: 'm',
      initial: 'a',
      states: { a: { entry: 'begin', on }, end },
    });

    expect(codesOf(machine)).toEqual(['spawn-without-id in m']);
  });

  test('an event for a parent behind the name of an action', () => {
    const machine = setup({ actions: { tell: sendParent({ type: 'x' }) } }).createMachine({
      id: 'm',
      initial: 'a',
      states: { a: { entry: 'tell', on }, end },
    });

    expect(codesOf(machine)).toEqual(['send-to-parent in m']);
  });

  test('a state that no transition leads to, and not the history that leads to another', () => {
    const machine = createMachine({
      id: 'm',
      initial: 'a',
      states: {
        a: { on: { IN: 'b.last' } },
        b: {
          initial: 'one',
          states: {
            one: { on: { OUT: '#m.a' } },
            two: { on: { OUT: '#m.a' } },
            last: { type: 'history', target: 'one' },
          },
        },
        lost: { on: { OUT: 'a' } },
      },
    });

    expect(codesOf(machine)).toEqual(['unreachable-state in m.b.two', 'unreachable-state in m.lost']);
  });

  test('a state that can only wait for the end of the state around it', () => {
    const machine = createMachine({
      id: 'm',
      initial: 'a',
      states: {
        a: {
          initial: 'one',
          onDone: 'end',
          states: { one: { on: { ON: 'stuck', OFF: 'two' } }, stuck: {}, two: { type: 'final' } },
        },
        end,
      },
    });

    expect(codesOf(machine)).toEqual(['dead-end in m.a.stuck']);
  });
});
