/**
 * Asking for a saga to be taken back, running out of its time, and ending it as it stands. Wherever it is, there is one
 * defined end, and the answer agrees with it; success of the pivot or of all of it wins; what was sent is found out
 * first; and however many ask, it is taken back once.
 */

import { afterEach, describe, expect, test } from 'vitest';
import { notApplied, type Orchestrator, type Saga, type SagaCause, type SagaRun, saga, typed } from 'sagacity';
import { actorsFrom } from 'sagacity/xstate';
import { setup } from 'xstate';
import {
  approval,
  type Approval,
  fulfilment,
  now,
  onlyDoubt,
  order,
  type Part,
  purchase,
  sagaReached,
  sagaShop,
  type SagaShop,
  type Trade,
  typeOf,
} from '../support/saga-shop.ts';

let shop: SagaShop;
afterEach(() => shop.close());

const who = { by: 'the shop', reason: 'the customer changed their mind' };
const before = ['authorisation', 'reservation', 'booking'];
const undone = ['cancellation', 'release', 'void'];

interface Arranged {
  readonly orchestrator: Orchestrator<true>;
  readonly run: SagaRun;
}

/** Each brings `order-17` into a situation and keeps it there, longer than its own time, which is 900 milliseconds. */
const arrange = {
  async 'a first step without a slot'(): Promise<Arranged> {
    shop = await sagaShop();
    const selling = fulfilment(shop.trade, { within: '900ms' });
    const orchestrator = await shop.open([selling], { concurrency: 1 });
    shop.hold('authorisation');
    await orchestrator.submit(selling, { orderId: 'order-1' });
    await shop.held('authorisation');
    return { orchestrator, run: await orchestrator.submit(selling, order) };
  },
  async 'a step in flight'() {
    const { orchestrator, run } = await begun(fulfilment, () => shop.hold('reservation'));
    await shop.held('reservation');
    return { orchestrator, run };
  },
  async 'a step whose outcome is unknown'() {
    const arranged = await begun(fulfilment, async () => {
      await shop.provider.calls(['do+drop'], 'reservation');
      shop.hold('look-up');
    });
    await shop.held('look-up');
    return arranged;
  },
  async 'a step that is being looked up'() {
    return begun(fulfilment, async () => {
      await shop.provider.calls(['do+drop'], 'reservation');
      await shop.provider.lookups(['lookup500'], 'reservation');
    });
  },
  async 'a step that waits to be tried again'() {
    return begun(fulfilment, () => shop.provider.calls(['busy409'], 'reservation'));
  },
  async 'an event awaited'() {
    const arranged = await begun(approval, () => {});
    await sagaReached(arranged.run, 'waiting');
    return arranged;
  },
  async 'a pivot that waits to be tried again'() {
    return begun(fulfilment, () => shop.provider.calls(['busy409'], 'capture'));
  },
  async 'a pivot in flight'() {
    const arranged = await begun(fulfilment, () => shop.hold('capture'));
    await shop.held('capture');
    return arranged;
  },
  async 'a pivot that was lost on its way'() {
    return begun(fulfilment, async () => {
      await shop.provider.calls(['drop'], 'capture');
      await shop.provider.lookups(['lookup500'], 'capture');
    });
  },
  async 'a pivot that has succeeded'() {
    const arranged = await begun(fulfilment, () => shop.hold('email'));
    await shop.held('email');
    return arranged;
  },
  async 'a compensation in flight'() {
    const arranged = await begun(purchase, async () => {
      await shop.provider.calls(['decline'], 'payment');
      shop.hold('release');
    });
    await shop.held('release');
    return arranged;
  },
  async 'an inverse without a slot'(): Promise<Arranged> {
    shop = await sagaShop();
    const selling = approval(shop.trade, { within: '900ms' });
    const orchestrator = await shop.open([selling], { concurrency: 1 });
    const run = await orchestrator.submit(selling, order);
    await sagaReached(run, 'waiting');
    shop.hold('authorisation');
    await orchestrator.submit(selling, { orderId: 'order-1' });
    await shop.held('authorisation');
    await orchestrator.signal(run.id, { type: 'rejected' }, { eventId: 'event-1' });
    return { orchestrator, run };
  },
  async 'an inverse that waits to be tried again'() {
    return begun(purchase, async () => {
      await shop.provider.calls(['decline'], 'payment');
      await shop.provider.calls(['busy409'], 'release');
    });
  },
  async 'an inverse that was lost on its way'() {
    return begun(purchase, async () => {
      await shop.provider.calls(['decline'], 'payment');
      await shop.provider.calls(['drop'], 'release');
      await shop.provider.lookups(['lookup500'], 'release');
    });
  },
} satisfies Readonly<Record<string, () => Promise<Arranged>>>;

type Situation = keyof typeof arrange;

type AnySelling = Saga<string, Part, unknown, SagaCause, Part>;

/** A saga that is submitted once `set` has prepared its way. */
async function begun(
  selling: (trade: Trade, selling: { within: '900ms' }) => AnySelling,
  set: () => void | Promise<void>,
): Promise<Arranged> {
  shop = await sagaShop();
  const definition = selling(shop.trade, { within: '900ms' });
  const orchestrator = await shop.open([definition]);
  await set();
  const run = await orchestrator.submit(definition, order);
  await shop.rest();
  return { orchestrator, run };
}

function letAllGo(): void {
  for (const sort of ['authorisation', 'reservation', 'look-up', 'capture', 'email', 'release'] as const)
    shop.letGo(sort);
}

interface End {
  readonly status: 'compensated' | 'succeeded';
  /** What a cancellation is answered. */
  readonly answer: 'accepted' | 'too-late';
  readonly kept: readonly string[];
  /** Where it was given up for another reason already. */
  readonly cause?: { readonly step: string | null; readonly code: string };
}

const half = {
  status: 'compensated',
  answer: 'accepted',
  kept: ['authorisation', 'reservation', 'release', 'void'],
} as const;
const whole = { status: 'compensated', answer: 'accepted', kept: [...before, ...undone] } as const;
const sold = { status: 'succeeded', kept: [...before, 'capture', 'email'] } as const;

const ends: Readonly<Record<Situation, End>> = {
  'a first step without a slot': { status: 'compensated', answer: 'accepted', kept: [] },
  'a step in flight': half,
  'a step whose outcome is unknown': half,
  'a step that is being looked up': half,
  'a step that waits to be tried again': { ...half, kept: ['authorisation', 'void'] },
  'an event awaited': { ...half, kept: ['authorisation', 'void'] },
  'a pivot that waits to be tried again': whole,
  // Asked in time to be heeded; that it has succeeded is found out.
  'a pivot in flight': { ...sold, answer: 'accepted' },
  'a pivot that was lost on its way': whole,
  'a pivot that has succeeded': { ...sold, answer: 'too-late' },
  'a compensation in flight': { ...half, cause: { step: 'payment', code: 'declined' } },
  'an inverse without a slot': { ...half, kept: ['authorisation', 'void'], cause: { step: null, code: 'rejected' } },
  'an inverse that waits to be tried again': { ...half, cause: { step: 'payment', code: 'declined' } },
  'an inverse that was lost on its way': { ...half, cause: { step: 'payment', code: 'declined' } },
};

// The keys are those of the record above.
const situations = (Object.keys(ends) as Situation[]).map((situation) => ({ situation, ...ends[situation] }));

describe.each(situations)('a saga with $situation', ({ situation, status, answer, kept, cause }) => {
  test(`that is cancelled ends ${status}, and is told so`, async () => {
    const { orchestrator, run } = await arrange[situation]();

    const cancelled = await orchestrator.cancel(run.id, who);
    await shop.rest();
    letAllGo();
    await shop.pass('5m');

    expect(cancelled).toEqual({ status: answer });
    const end = status === 'compensated' ? { status, cause: cause ?? { step: null, code: 'cancelled' } } : { status };
    expect(await now(run)).toMatchObject(end);
    expect(await shop.kept()).toEqual(kept);
    const said = (await run.history()).filter(({ kind }) => kind === 'cancel');
    expect(said).toMatchObject([{ operation: null, facts: { ...who, accepted: answer === 'accepted' } }]);
  });

  test(`whose time is over ends ${status}`, async () => {
    const { run } = await arrange[situation]();

    await shop.pass('1s');
    letAllGo();
    await shop.pass('5m');

    const end = status === 'compensated' ? { status, cause: cause ?? { step: null, code: 'timed-out' } } : { status };
    expect(await now(run)).toMatchObject(end);
    expect(await shop.kept()).toEqual(kept);
  });

  test('that is ended as it stands begins nothing more and takes nothing back', async () => {
    const { orchestrator, run } = await arrange[situation]();

    const ended = await orchestrator.operator.terminate(run.id, who);
    await shop.rest();
    const begunBefore = (await run.history()).filter(({ kind }) => kind === 'start').length;
    letAllGo();
    await shop.pass('5m');

    expect(ended).toEqual({ status: 'applied' });
    expect(await now(run)).toEqual({ status: 'terminated' });
    const history = await run.history();
    expect(history.filter(({ kind }) => kind === 'start')).toHaveLength(begunBefore);
    expect(history.find(({ facts }) => facts['kind'] === 'terminate')).toMatchObject({ kind: 'verdict', facts: who });
  });
});

describe('a saga that a person is asked about', () => {
  async function asked() {
    shop = await sagaShop({ reservation: { keyRetention: 'none', lookup: 'none' } });
    const selling = purchase(shop.trade, { within: '1h' });
    const orchestrator = await shop.open([selling]);
    await shop.provider.calls(['drop'], 'reservation');
    const run = await orchestrator.submit(selling, order);
    await sagaReached(run, 'escalated');
    return { orchestrator, run };
  }

  async function decided(orchestrator: Orchestrator<true>): Promise<void> {
    const { id, seen } = await onlyDoubt(orchestrator);
    const decision = { by: 'the shop', evidence: 'the warehouse has nothing', seen };
    await orchestrator.operator.resolve(id, notApplied('nothing is there'), decision);
  }

  test.each([
    {
      how: 'cancelled',
      give: (orchestrator: Orchestrator<true>, { id }: SagaRun) => orchestrator.cancel(id, who),
    },
    { how: 'timed-out', give: () => shop.pass('61m') },
  ])('and is $how waits for their answer, and is taken back then', async ({ how, give }) => {
    const { orchestrator, run } = await asked();

    await give(orchestrator, run);
    await shop.pass('1m');
    const meanwhile = await now(run);
    await decided(orchestrator);
    await shop.pass('5m');

    const cause = { step: null, code: how };
    expect(meanwhile).toEqual({ status: 'escalated', reason: 'no-lookup', cause });
    expect(await now(run)).toEqual({ status: 'compensated', cause });
    expect(await shop.kept()).toEqual(['authorisation', 'void']);
  });

  test('and is ended as it stands is over with their answer', async () => {
    const { orchestrator, run } = await asked();

    await orchestrator.operator.terminate(run.id, who);
    const meanwhile = await run.status();
    await decided(orchestrator);
    await shop.pass('5m');

    expect(meanwhile).toBe('escalated');
    expect(await now(run)).toEqual({ status: 'terminated' });
    expect(await shop.kept()).toEqual(['authorisation']);
  });
});

describe('a saga whose chart would do something else when its pivot is refused', () => {
  test('is taken back all the same when it was cancelled meanwhile', async () => {
    shop = await sagaShop();
    const { authorise, capture } = shop.trade;
    const operations = { authorise, capture };
    const machine = setup({
      types: { context: typeOf<Part>(), input: typeOf<Part>(), events: typeOf<Approval>() },
      actors: actorsFrom(operations),
    }).createMachine({
      context: ({ input }) => input,
      initial: 'money',
      states: {
        money: {
          invoke: {
            id: 'money',
            src: 'authorise',
            input: ({ context }) => context,
            onDone: 'capturing',
            onError: 'back',
          },
        },
        capturing: {
          invoke: { id: 'capture', src: 'capture', input: ({ context }) => context, onDone: 'sold', onError: 'asking' },
        },
        asking: { on: { approved: 'capturing', rejected: 'back' } },
        back: { invoke: { src: 'compensate', onDone: 'withdrawn' } },
        sold: { type: 'final' },
        withdrawn: { type: 'final' },
      },
    });
    const selling = saga('stubborn', {
      input: typed<Part>(),
      key: ({ input }) => input.orderId,
      ...{ machine, operations, pivot: 'capture', takesNothingBack: 'a person decides what is' },
    });
    const orchestrator = await shop.open([selling]);
    await shop.provider.calls(['drop'], 'capture');
    await shop.provider.lookups(['lookup500'], 'capture');
    const run = await orchestrator.submit(selling, order);
    await shop.rest();

    const cancelled = await orchestrator.cancel(run.id, who);
    await shop.pass('5m');

    expect(cancelled).toEqual({ status: 'accepted' });
    expect(await now(run)).toEqual({ status: 'compensated', cause: { step: null, code: 'cancelled' } });
    expect(await shop.kept()).toEqual(['authorisation', 'void']);
  });
});

describe('a saga that is ended as it stands in the midst of being taken back', () => {
  test('can be taken back to the end later, for the cause that it was', async () => {
    const { orchestrator, run } = await arrange['a compensation in flight']();
    await orchestrator.operator.terminate(run.id, who);
    shop.letGo('release');
    await sagaReached(run, 'terminated');
    const kept = await shop.kept();

    await orchestrator.operator.compensate(run.id, who);
    await sagaReached(run, 'compensated');

    expect(kept).toEqual(['authorisation', 'reservation', 'release']);
    expect(await now(run)).toEqual({ status: 'compensated', cause: { step: 'payment', code: 'declined' } });
    expect(await shop.kept()).toEqual([...kept, 'void']);
  });
});

const first = { kept: ['authorisation'], undoes: 'payment.authorise', inverse: 'void', later: ['void'] } as const;
const last = {
  ...({ kept: ['authorisation', 'reservation'], undoes: 'stock.reserve', inverse: 'release' } as const),
  later: ['release', 'void'],
};

describe.each([
  { situation: 'an inverse without a slot' as const, ...first },
  { situation: 'an inverse that waits to be tried again' as const, ...last },
  { situation: 'an inverse that was lost on its way' as const, ...last },
])('a saga with $situation that is ended as it stands', ({ situation, kept, undoes, inverse, later }) => {
  async function ended() {
    const { orchestrator, run } = await arrange[situation]();
    await orchestrator.operator.terminate(run.id, who);
    letAllGo();
    await shop.pass('5m');
    return { orchestrator, run };
  }

  async function stories(run: SagaRun, action: string) {
    return (await run.history()).filter(({ operation }) => operation?.action === action);
  }

  test('does not send it any more, and what it would have taken back stands, as the history says', async () => {
    const { orchestrator, run } = await ended();

    expect(await now(run)).toEqual({ status: 'terminated' });
    expect(await shop.kept()).toEqual(kept);
    expect(await orchestrator.operator.doubts()).toEqual([]);
    const row = await shop.store.readSaga(run);
    const standing = new Set(row?.operations.filter(({ state }) => state === 'succeeded').map(({ action }) => action));
    expect(standing).toContain(undoes);
    const told = (await stories(run, undoes)).flatMap(({ facts }) => facts['event'] ?? []);
    expect(told.slice(-2)).toEqual(['compensation.begun', 'compensation.givenUp']);
  });

  test('can be taken back later all the same, and each of it once', async () => {
    const { orchestrator, run } = await ended();

    await orchestrator.operator.compensate(run.id, who);
    await shop.pass('5m');

    expect(await run.status()).toBe('compensated');
    expect(await shop.kept()).toEqual([...kept, ...later]);
    expect(await orchestrator.operator.doubts()).toEqual([]);
  });

  test('is ended so as often as that is said, and taken back when it is not', async () => {
    const { orchestrator, run } = await ended();
    for (let times = 0; times < 2; times += 1) {
      await shop.provider.calls(['busy409'], inverse);
      await orchestrator.operator.compensate(run.id, who);
      await shop.rest();
      await orchestrator.operator.terminate(run.id, who);
      await shop.pass('1m');
    }
    const meanwhile = await shop.kept();

    await orchestrator.operator.compensate(run.id, who);
    await shop.pass('5m');

    expect(meanwhile).toEqual(kept);
    expect(await run.status()).toBe('compensated');
    expect(await shop.kept()).toEqual([...kept, ...later]);
  });
});

describe('a saga that hears at once of what lets it go on and of its end', () => {
  test('sends nothing more', async () => {
    shop = await sagaShop();
    const selling = approval(shop.trade);
    const first = await shop.open([selling]);
    const run = await first.submit(selling, order);
    await sagaReached(run, 'waiting');
    await first.stop();
    const desk = await shop.open([selling], { start: false });
    await desk.signal(run.id, { type: 'approved' }, { eventId: 'click-1', within: 0 });
    await desk.operator.terminate(run.id, { ...who, within: 0 });

    const next = await shop.open([selling]);
    const ended = await next.sagaRun(run.id);
    await shop.pass('1m');

    expect(await ended.status()).toBe('terminated');
    expect(await shop.kept()).toEqual(['authorisation']);
    expect(await shop.provider.received({ kind: 'reservation' })).toEqual([]);
  });
});

describe('a saga that is ended as it stands while nobody knows of an inverse', () => {
  test('finds out that it has taken back, and says so', async () => {
    const { orchestrator, run } = await begun(purchase, async () => {
      await shop.provider.calls(['decline'], 'payment');
      await shop.provider.calls(['do+drop'], 'release');
      await shop.provider.lookups(['lookup500'], 'release');
    });

    await orchestrator.operator.terminate(run.id, who);
    await shop.pass('5m');

    expect(await now(run)).toEqual({ status: 'terminated' });
    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'release']);
    const row = await shop.store.readSaga(run);
    expect(row?.operations.map(({ action, state }) => [action, state])).toContainEqual([
      'stock.reserve',
      'compensated',
    ]);
  });
});

describe('a saga whose time is over after its pivot', () => {
  test('goes on as if nothing had been, and nothing is written for it', async () => {
    shop = await sagaShop();
    const selling = fulfilment(shop.trade, { within: '900ms' });
    const orchestrator = await shop.open([selling]);
    shop.hold('email');
    const run = await orchestrator.submit(selling, order);
    await shop.held('email');
    const row = await shop.store.readSaga(run);

    await shop.pass('8s');
    const later = await shop.store.readSaga(run);
    shop.letGo('email');
    await sagaReached(run, 'succeeded');

    expect(later?.revision).toBe(row?.revision);
    expect(await shop.kept()).toEqual([...before, 'capture', 'email']);
  });
});

describe('a saga that has ended', () => {
  async function ended(end: 'succeeded' | 'compensated' | 'terminated') {
    shop = await sagaShop();
    const selling = fulfilment(shop.trade);
    const orchestrator = await shop.open([selling]);
    if (end === 'compensated') await shop.provider.calls(['decline'], 'capture');
    if (end === 'terminated') shop.hold('booking');
    const run = await orchestrator.submit(selling, order);
    if (end === 'terminated') {
      await shop.held('booking');
      await orchestrator.operator.terminate(run.id, who);
      shop.letGo('booking');
    }
    await sagaReached(run, end);
    return { orchestrator, run, end: await now(run), kept: await shop.kept() };
  }

  test.each([
    { state: 'succeeded', answer: 'too-late' },
    { state: 'terminated', answer: 'too-late' },
    // What is asked for is so.
    { state: 'compensated', answer: 'accepted' },
  ] as const)('as $state answers a cancellation with $answer, and stays as it is', async ({ state, answer }) => {
    const { orchestrator, run, end, kept } = await ended(state);

    const cancelled = await orchestrator.cancel(run.id, who);
    await shop.pass('5m');

    expect(cancelled).toEqual({ status: answer });
    expect(await now(run)).toEqual(end);
    expect(await shop.kept()).toEqual(kept);
  });

  test.each(['succeeded', 'compensated', 'terminated'] as const)(
    'as %s cannot be ended as it stands',
    async (state) => {
      const { orchestrator, run, end } = await ended(state);

      const ending = orchestrator.operator.terminate(run.id, who);

      await expect(ending).rejects.toMatchObject({ code: 'RESOLUTION_REFUSED' });
      expect(await now(run)).toEqual(end);
    },
  );

  test.each(['succeeded', 'terminated'] as const)(
    "as %s is taken back at a person's word, as far as there are inverses",
    async (state) => {
      const { orchestrator, run, kept } = await ended(state);

      const applied = await orchestrator.operator.compensate(run.id, who);
      const again = await orchestrator.operator.compensate(run.id, who);
      await shop.pass('5m');

      expect([applied, again]).toEqual([{ status: 'applied' }, { status: 'applied' }]);
      expect(await now(run)).toEqual({ status: 'compensated', cause: { step: null, code: 'requested' } });
      expect(await shop.kept()).toEqual([...kept, ...undone]);
    },
  );

  test('as compensated has nothing more to be taken back', async () => {
    const { orchestrator, run, end, kept } = await ended('compensated');

    const applied = await orchestrator.operator.compensate(run.id, who);
    await shop.pass('5m');

    expect(applied).toEqual({ status: 'applied' });
    expect(await now(run)).toEqual(end);
    expect(await shop.kept()).toEqual(kept);
  });
});

describe('a saga that is under way', () => {
  test('is not taken back by the word for settled ones', async () => {
    const { orchestrator, run } = await arrange['a step in flight']();

    const taking = orchestrator.operator.compensate(run.id, who);

    await expect(taking).rejects.toMatchObject({ code: 'RESOLUTION_REFUSED' });
    expect(await run.status()).toBe('in-progress');
  });

  test('is not cancelled by a step of it', async () => {
    const { orchestrator, run } = await arrange['a step in flight']();
    const [step] = (await run.history()).flatMap(({ operation }) => operation?.id ?? []);

    const cancelling = orchestrator.cancel(step ?? '', who);

    await expect(cancelling).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    expect(await run.status()).toBe('in-progress');
  });
});

describe('many who cancel at once', () => {
  test.each([2, 50])('%i are all heard, and it is taken back once', async (count) => {
    const { orchestrator, run } = await arrange['a step in flight']();

    const cancelling = Array.from({ length: count }, () => orchestrator.cancel(run.id, who));
    const answers = await Promise.all(cancelling);
    letAllGo();
    await shop.pass('5m');

    expect(answers).toEqual(Array.from({ length: count }, () => ({ status: 'accepted' })));
    expect(await now(run)).toEqual({ status: 'compensated', cause: { step: null, code: 'cancelled' } });
    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'release', 'void']);
  });

  test('a saga that has nothing to take back are all heard as well', async () => {
    shop = await sagaShop();
    const { authorise } = shop.trade;
    const machine = setup({
      types: { input: typeOf<Part>(), context: typeOf<Part>(), events: typeOf<Approval>() },
      actors: actorsFrom({ authorise }),
    }).createMachine({
      context: ({ input }) => input,
      initial: 'asking',
      states: {
        asking: { on: { approved: 'money', rejected: 'back' } },
        money: {
          invoke: { id: 'money', src: 'authorise', input: ({ context }) => context, onDone: 'sold', onError: 'back' },
        },
        back: { invoke: { src: 'compensate', onDone: 'withdrawn' } },
        sold: { type: 'final' },
        withdrawn: { type: 'final' },
      },
    });
    const operations = { authorise };
    const selling = saga('asking', { input: typed<Part>(), key: ({ input }) => input.orderId, machine, operations });
    const orchestrator = await shop.open([selling]);
    const run = await orchestrator.submit(selling, order);

    const answers = await Promise.all(Array.from({ length: 50 }, () => orchestrator.cancel(run.id, who)));

    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set(['accepted']));
    expect(await now(run)).toEqual({ status: 'compensated', cause: { step: null, code: 'cancelled' } });
    expect(await shop.kept()).toEqual([]);
  });
});

describe('a cancellation that races with the success of the last step', () => {
  test('is answered as the saga ends, whichever comes first', async () => {
    shop = await sagaShop();
    const selling = purchase(shop.trade);
    const orchestrator = await shop.open([selling]);
    const races = Array.from({ length: 60 }, async (_, turns) => {
      const orderId = `order-${turns}`;
      const run = await orchestrator.submit(selling, { orderId });
      for (let turn = 0; turn < 2 * turns; turn += 1) await new Promise<void>((resume) => setImmediate(resume));
      return { orderId, run, answer: await orchestrator.cancel(run.id, who) };
    });

    const raced = await Promise.all(races);
    await shop.pass('5m');

    const wrong: unknown[] = [];
    for (const { orderId, run, answer } of raced) {
      const status = await run.status();
      const kept = (await shop.kept(orderId)).toSorted();
      const effects = kept.filter((kind) => !['void', 'release', 'refund'].includes(kind)).length;
      const isTakenBack = status === 'compensated' && kept.length === 2 * effects;
      const isLeft = status === 'succeeded' && kept.length === 3;
      const agrees = answer.status === 'accepted' ? isTakenBack : answer.status === 'too-late' && isLeft;
      if (!agrees) wrong.push({ orderId, answer, status, kept });
    }
    expect(wrong).toEqual([]);
    expect(new Set(raced.map(({ answer }) => answer.status)).size).toBe(2);
  });
});

describe('a cancellation of a saga', () => {
  test('that nobody works on waits for a process that does', async () => {
    shop = await sagaShop();
    const selling = purchase(shop.trade);
    const orchestrator = await shop.open([selling], { start: false });
    const run = await orchestrator.submit(selling, order);

    const cancelling = orchestrator.cancel(run.id, { ...who, within: '2s' });
    await shop.clock.advance('3s');
    const cancelled = await cancelling;
    await orchestrator.start();
    await sagaReached(run, 'compensated');

    expect(cancelled).toEqual({ status: 'waiting' });
    expect(await shop.kept()).toEqual([]);
  });

  test('without a name or a reason, or of nothing, is refused', async () => {
    const { orchestrator, run } = await arrange['a step in flight']();

    const nameless = orchestrator.cancel(run.id, { ...who, by: ' ' });
    const groundless = orchestrator.operator.terminate(run.id, { ...who, reason: '' });
    const pointless = orchestrator.cancel('sg_0', who);

    await expect(nameless).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    await expect(groundless).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    await expect(pointless).rejects.toMatchObject({ code: 'SAGA_NOT_FOUND' });
    expect(await run.status()).toBe('in-progress');
  });
});
