import { describe, expect, test } from 'vitest';
import type { OperationRef, SagaTurn, Store, Turn } from '../../src/ports/store.ts';
import type { Waker } from 'sagacity';
import {
  callerWithKillPoints,
  type KillPoint,
  killPoints,
  memoryStore,
  type News,
  testClock,
  type Wake,
  wakerWithKillPoints,
  withKillPoints,
} from 'sagacity/testing';
import { birth, handing, moving, sagaBirth, sagaMoving, step } from '../../src/testing/store-turns.ts';

/** A store that notes what it is told at which point; `hold` names the point that never ends. */
async function watched({ hold }: { readonly hold?: KillPoint } = {}) {
  const told: [KillPoint, string | null][] = [];
  const memory = memoryStore({ clock: testClock() });
  const reached = (point: KillPoint, about: OperationRef | null) => {
    told.push([point, about?.id ?? null]);
    return point === hold ? new Promise(() => {}) : undefined;
  };
  await memory.enlist('w1');
  return { memory, told, store: withKillPoints(memory, reached) };
}

const tenant = 'shop';
const fence = { owner: null, generation: 1, revision: 1 };

function record(kind: 'start' | 'end' | 'lookup' | 'verdict' | 'evidence' | 'cancel' | 'moved') {
  return { kind, attempt: 1, body: {} };
}

function around(durable: string, id: string | null) {
  return ['before', 'during', 'after'].map((side) => [`${side} ${durable}`, id]);
}

describe('around a turn of an operation', () => {
  test('a birth is told before, during and after, in this order, and is written', async () => {
    const { store, memory, told } = await watched();
    const turn = birth(tenant);

    await store.turn(turn);

    expect(told).toEqual(around('birth', turn.id));
    expect(await memory.read(turn)).not.toBeNull();
  });

  test.each([
    ['start', ['start']],
    ['end', ['end']],
    ['end', ['end', 'start']],
    ['look-up', ['lookup']],
    ['look-up', ['lookup', 'start']],
    ['word', ['verdict']],
    ['word', ['end', 'evidence']],
    ['word', ['cancel']],
    ['move', ['moved']],
  ] as const)('a %s is told by its records: %j', async (durable, kinds) => {
    const { store, told } = await watched();
    const turn = birth(tenant);
    await store.turn(turn);
    told.length = 0;

    await store.turn(moving(turn, fence, { records: kinds.map(record) }));

    expect(told).toEqual(around(durable, turn.id));
  });

  test('that is refused there is no `after`', async () => {
    const { store, told } = await watched();
    const turn = birth(tenant);
    await store.turn(turn);
    told.length = 0;

    const receipt = await store.turn(moving(turn, { ...fence, revision: 7 }));

    expect(receipt).toBeNull();
    expect(told.map(([point]) => point)).toEqual(['before move', 'during move']);
  });
});

describe('around a turn of a saga', () => {
  test.each<[string, Partial<SagaTurn>]>([
    ['step', { operations: [step()] }],
    ['inverse', { state: 'compensating', operations: [step()] }],
    ['ending', { state: 'compensated' }],
    ['end', { operations: [], records: [record('end')] }],
    ['move', {}],
  ])('a %s is told by what it changes', async (durable, changes) => {
    const { store, told } = await watched();
    const turn = sagaBirth(tenant);
    await store.sagaTurn(turn);
    const born = told.splice(0);

    await store.sagaTurn(sagaMoving(turn, fence, changes));

    expect(born).toEqual(around('birth', turn.id));
    expect(told).toEqual(around(durable, turn.id));
  });
});

describe('around what workers do', () => {
  test('each verb has its name, and a hand-over or a signal is about what it is for', async () => {
    const { store, told } = await watched();
    const turn = birth(tenant);
    await store.turn(turn);
    told.length = 0;

    await store.enlist('w2');
    await store.renew('w2', 15_000, '1');
    await store.handOver(handing(turn, 'h1'));
    await store.signal({
      ...{ tenant, id: 'saga-1', name: 'order.paid', eventId: 'event-1', fingerprint: 'fp-1', keepForMs: 60_000 },
      ...{ handoverId: 'h2', body: {} },
    });
    await store.bury('w2', { timeoutMs: 15_000 });
    await store.retire('w2');

    expect(told).toEqual([
      ...around('enlist', null),
      ...around('renew', null),
      ...around('hand-over', turn.id),
      ...around('hand-over', 'saga-1'),
      ...around('bury', null),
      ...around('retire', null),
    ]);
  });

  test('a claim that claims nothing has no `after`, and one that claims has', async () => {
    const { store, told } = await watched();
    const claim: Store['claim'] = (...given) => store.claim(...given);

    expect(await claim('w1', ['payment.authorise'], 10)).toEqual([]);
    const nothing = told.splice(0);
    const turn = birth(tenant, { dueInMs: 0 });
    await store.turn(turn);
    told.length = 0;
    expect(await claim('w1', ['payment.authorise'], 10)).toHaveLength(1);
    const something = told.splice(0);
    await store.claimSagas('w1', [], 10, turn);

    expect(nothing.map(([point]) => point)).toEqual(['before claim', 'during claim']);
    expect(something).toEqual(around('claim', null));
    expect(told).toEqual([
      ['before claim', turn.id],
      ['during claim', turn.id],
    ]);
  });
});

describe('a promise that never ends', () => {
  /** Whether the turn comes to its end while everything that can happen happens. */
  async function isOver(written: Promise<unknown>): Promise<boolean> {
    const soon = new Promise<false>((resolve) => void setImmediate(() => resolve(false)));
    return Promise.race([written.then(() => true), soon]);
  }

  test.each<[KillPoint, boolean, boolean]>([
    ['before birth', false, false],
    ['during birth', true, true],
    ['after birth', true, false],
  ])('at %s: the turn is written: %s, and the process goes on: %s', async (hold, isWritten, goesOn) => {
    const { store, memory } = await watched({ hold });
    const turn: Turn = birth(tenant);

    expect(await isOver(store.turn(turn))).toBe(goesOn);
    expect((await memory.read(turn)) !== null).toBe(isWritten);
  });
});

describe('around what leaves for a provider', () => {
  const call = { tenant, operationId: 'op-1', action: 'card.charge' };

  test.each(['request', 'question'] as const)(
    'a %s is told before it leaves and when its reply is there',
    async (kind) => {
      const told: unknown[] = [];
      const caller = callerWithKillPoints(
        (_call, go) => go(),
        (point, about) => void told.push([point, about]),
      );

      const said = await caller({ ...call, kind }, () => told.push('sent'));

      const about = { tenant, id: 'op-1' };
      expect(told).toEqual([[`before ${kind}`, about], 'sent', [`after ${kind}`, about]]);
      expect(said).toBe(2);
    },
  );

  test('one that throws has no `after`, and throws the same', async () => {
    const told: KillPoint[] = [];
    const caller = callerWithKillPoints(
      (_call, go) => go(),
      (point) => void told.push(point),
    );

    const called = caller({ ...call, kind: 'request' }, () => Promise.reject(new Error('cut off')));

    await expect(called).rejects.toThrow('cut off');
    expect(told).toEqual(['before request']);
  });
});

/** A waker that notes what it is asked in between what is told; `hold` names the point that never ends. */
async function watchedWaker({ hold }: { readonly hold?: KillPoint } = {}) {
  const told: unknown[] = [];
  let deliver: (wake: Wake) => Promise<void> = () => Promise.reject(new Error('not started'));
  const inner: Waker = {
    start(onWake) {
      deliver = onWake;
      return Promise.resolve();
    },
    wake: (wake, delayMs, whose) => void told.push(['asked', wake.operationId, delayMs, whose]),
    tell: (news) => void told.push(['telling', news.kind]),
    stop: () => Promise.resolve(),
  };
  const waker = wakerWithKillPoints(inner, (point, about) => {
    told.push([point, about?.id ?? null]);
    return point === hold ? new Promise(() => {}) : undefined;
  });
  await waker.start(
    ({ operationId }) => Promise.resolve(void told.push(['woken', operationId])),
    () => {},
  );
  return { waker, told, deliver: (wake: Wake) => deliver(wake) };
}

describe('around what a waker is asked', () => {
  const wake: Wake = { tenant, operationId: 'op-1', generation: 3 };

  test('a timer of what is anybody’s is told before it is asked for and when that was done, at once', async () => {
    const { waker, told } = await watchedWaker();

    waker.wake(wake, 500, 'anybodys');

    expect(told).toEqual([
      ['before timer', 'op-1'],
      ['asked', 'op-1', 500, 'anybodys'],
      ['during timer', 'op-1'],
    ]);
  });

  test('a wake at once is news for others, as is what they are told', async () => {
    const { waker, told } = await watchedWaker();
    const about = { tenant, id: 'op-1' };
    const news: readonly News[] = [{ kind: 'said', ref: about }, { kind: 'due', ref: about }, { kind: 'freed' }];

    waker.wake({ ...wake, generation: null }, 0);
    for (const each of news) waker.tell?.(each);

    expect(told).toEqual([
      ...[
        ['before news', 'op-1'],
        ['asked', 'op-1', 0, 'anybodys'],
        ['during news', 'op-1'],
      ],
      ...[
        ['before news', 'op-1'],
        ['telling', 'said'],
        ['during news', 'op-1'],
      ],
      ...[
        ['before news', 'op-1'],
        ['telling', 'due'],
        ['during news', 'op-1'],
      ],
      ...[
        ['before news', null],
        ['telling', 'freed'],
        ['during news', null],
      ],
    ]);
  });

  test('that something has changed passes without a word', async () => {
    const { waker, told } = await watchedWaker();

    waker.tell?.({ kind: 'changed', ref: { tenant, id: 'op-1' }, rests: true });

    expect(told).toEqual([['telling', 'changed']]);
  });

  test('a wake is told when it has come, and when what follows is over', async () => {
    const { told, deliver } = await watchedWaker();

    await deliver(wake);

    expect(told).toEqual([
      ['before wake', 'op-1'],
      ['woken', 'op-1'],
      ['after wake', 'op-1'],
    ]);
  });

  test('what this process holds wakes it without a word, and what others asked for under another generation does not', async () => {
    const { waker, told, deliver } = await watchedWaker();

    waker.wake(wake, 500, 'mine');
    await deliver({ ...wake, generation: 2 });
    await deliver(wake);
    await deliver(wake);

    const words = told.map((said) => (Array.isArray(said) ? String(said[0]) : ''));
    const around = ['before wake', 'woken', 'after wake'];
    expect(words).toEqual(['asked', ...around, 'woken', ...around]);
  });

  test.each<[KillPoint, readonly string[]]>([
    ['before timer', ['before timer']],
    ['before news', ['before news']],
    ['before wake', ['before wake']],
    ['after wake', ['before wake', 'woken', 'after wake']],
  ])('a promise that never ends at %s keeps it back', async (hold, words) => {
    const { waker, told, deliver } = await watchedWaker({ hold });

    if (hold.endsWith('wake')) void deliver(wake);
    else waker.wake(wake, hold === 'before timer' ? 500 : 0, 'anybodys');
    await new Promise<void>((resolve) => void setImmediate(resolve));

    expect(told.map((said) => (Array.isArray(said) ? String(said[0]) : ''))).toEqual(words);
  });

  test('one that reaches no others has nothing to tell them with', () => {
    const alone: Waker = { start: () => Promise.resolve(), wake() {}, stop: () => Promise.resolve() };

    expect('tell' in wakerWithKillPoints(alone, () => {})).toBe(false);
  });
});

describe('the list of kill points', () => {
  test('has every one once', () => {
    expect(new Set(killPoints).size).toBe(killPoints.length);
    expect(killPoints).toHaveLength(15 * 3 + 2 * 2 + 2 * 2 + 2);
  });
});
