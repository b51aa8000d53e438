/**
 * The author's own code can make a turn impossible: it throws, or gives another result when it is run again. Then nothing
 * of the chart is written; what was learnt about operations is kept; a person is told why; and the saga is tried again
 * after pauses that grow, so that a repaired definition of the same structure goes on where it stood, with no effect made
 * twice.
 */

import { stepKey } from '../../src/domain/idempotency.ts';
import { afterEach, describe, expect, test } from 'vitest';
import { operation, saga, succeeded, typed } from 'sagacity';
import { actorsFrom } from 'sagacity/xstate';
import { assign, setup } from 'xstate';
import * as z from 'zod';
import {
  faultsOf,
  now,
  order,
  type Part,
  sagaReached,
  sagaShop,
  type SagaShop,
  type Trade,
  typeOf,
} from '../support/saga-shop.ts';

let shop: SagaShop;
afterEach(() => shop.close());

const who = { by: 'the shop', reason: 'the customer changed their mind' };
const identity = { input: typed<Part>(), key: ({ input }: { input: Part }) => input.orderId };

/** Where the author's code is broken; null: nowhere any more. */
type Broken =
  | 'a guard'
  | 'an assignment'
  | 'an input'
  | 'chance'
  | 'a delay'
  | 'what it keeps'
  | 'what follows a delay'
  | 'the end of compensation'
  | null;

type Word = { readonly type: 'approved' | 'rejected' | 'asked' };

/** Authorise, wait for a word or an hour, reserve; broken where it is told. */
function brittle({ authorise, reserve }: Trade, broken: Broken) {
  const operations = { authorise, reserve };
  const fails = (where: Broken) => {
    if (broken === where) throw new Error(`${where} is broken`);
  };
  const machine = setup({
    types: {
      ...{ context: typeOf<Part & { readonly note: unknown }>(), input: typeOf<Part>(), events: typeOf<Word>() },
    },
    actors: actorsFrom(operations),
    guards: {
      isFine: () => {
        fails('a guard');
        return true;
      },
    },
    delays: {
      patience: () => {
        fails('a delay');
        return 3_600_000;
      },
    },
    actions: {
      note: assign({
        note: () => {
          fails('an assignment');
          if (broken === 'what it keeps') return new URL('https://quay.example');
          return broken === 'chance' ? `${Math.random()}` : 'authorised';
        },
      }),
      noteLate: assign({
        note: () => {
          fails('what follows a delay');
          return 'late';
        },
      }),
      noteEnd: assign({
        note: () => {
          fails('the end of compensation');
          return 'taken back';
        },
      }),
    },
  }).createMachine({
    context: ({ input }) => ({ ...input, note: '' }),
    initial: 'money',
    states: {
      money: {
        invoke: {
          ...{ id: 'money', src: 'authorise', input: ({ context }) => ({ orderId: context.orderId }) },
          onDone: [{ guard: 'isFine', target: 'asking', actions: 'note' }, { target: 'back' }],
          onError: 'back',
        },
      },
      asking: {
        on: { approved: 'goods', rejected: 'back', asked: { target: 'asking', reenter: true } },
        after: { patience: { target: 'back', actions: 'noteLate' } },
      },
      goods: {
        invoke: {
          ...{ id: 'goods', src: 'reserve', onDone: 'sold', onError: 'back' },
          input: ({ context }) => {
            fails('an input');
            return { orderId: context.orderId };
          },
        },
      },
      back: { invoke: { src: 'compensate', onDone: { target: 'withdrawn', actions: 'noteEnd' } } },
      sold: { type: 'final' },
      withdrawn: { type: 'final' },
    },
  });
  return saga('brittle', { ...identity, machine, operations });
}

describe.each([
  { broken: 'a guard', says: /a guard is broken/ },
  { broken: 'an assignment', says: /an assignment is broken/ },
  { broken: 'a delay', says: /a delay is broken/ },
  { broken: 'what it keeps', says: /context\.note/ },
  { broken: 'chance', says: /another result when it is computed again/ },
] as const)('a machine in which $broken fails when a step has succeeded', ({ broken, says }) => {
  test('stays where it is with what was learnt, tells why, and goes on when it is repaired', async () => {
    shop = await sagaShop();
    const selling = brittle(shop.trade, broken);
    const first = await shop.open([selling]);
    const run = await first.submit(selling, order);
    await sagaReached(run, 'escalated');
    const row = await shop.store.readSaga(run);
    const result = await now(run);
    const faults = await faultsOf(run);
    await first.stop();

    const second = await shop.open([brittle(shop.trade, null)]);
    await shop.pass('61s');
    const later = await second.sagaRun(run.id);
    const meanwhile = await later.status();
    await second.signal(run.id, { type: 'approved' }, { eventId: 'event-1' });
    await sagaReached(later, 'succeeded');

    expect(result).toEqual({ status: 'escalated', reason: 'definition-fault', cause: null });
    expect(faults).toEqual([expect.stringMatching(says)]);
    expect(row?.operations.map(({ state }) => state)).toEqual(['succeeded']);
    expect(meanwhile).toBe('waiting');
    expect(await shop.kept()).toEqual(['authorisation', 'reservation']);
  });
});

describe('a machine whose input for a step throws', () => {
  test('when an event leads to that keeps the event, and takes it once it is repaired', async () => {
    shop = await sagaShop();
    const selling = brittle(shop.trade, 'an input');
    const first = await shop.open([selling]);
    const run = await first.submit(selling, order);
    await sagaReached(run, 'waiting');

    const kept = await first.signal(run.id, { type: 'approved' }, { eventId: 'event-1' });
    const meanwhile = await now(run);
    await first.stop();
    const second = await shop.open([brittle(shop.trade, null)]);
    await shop.pass('61s');
    await sagaReached(await second.sagaRun(run.id), 'succeeded');

    expect(kept).toEqual({ status: 'waiting' });
    expect(meanwhile).toEqual({ status: 'escalated', reason: 'definition-fault', cause: null });
    expect(await shop.kept()).toEqual(['authorisation', 'reservation']);
  });
});

describe('a machine that fails when a delay of it is over', () => {
  test('is tried again after a minute, then two, then four, and is not lost', async () => {
    shop = await sagaShop();
    const selling = brittle(shop.trade, 'what follows a delay');
    const first = await shop.open([selling]);
    const run = await first.submit(selling, order);
    await sagaReached(run, 'waiting');

    await shop.clock.advance('59m');
    await shop.pass('10m');
    const faults = await faultsOf(run);
    const meanwhile = await run.status();
    await first.stop();
    const second = await shop.open([brittle(shop.trade, null)]);
    await shop.pass('9m');

    // Due at 60 minutes, and again at 61, 63 and 67.
    expect(faults).toHaveLength(4);
    expect(meanwhile).toBe('escalated');
    expect(await now(await second.sagaRun(run.id))).toMatchObject({ status: 'compensated', cause: { step: null } });
    expect(await shop.kept()).toEqual(['authorisation', 'void']);
  });

  test('is not early when what was said meanwhile begins the delay anew', async () => {
    shop = await sagaShop();
    const selling = brittle(shop.trade, 'what follows a delay');
    const first = await shop.open([selling]);
    const run = await first.submit(selling, order);
    await sagaReached(run, 'waiting');
    await shop.clock.advance('59m');
    await shop.pass('90s');
    const kept = await first.signal(run.id, { type: 'asked' }, { eventId: 'event-1' });
    await first.stop();

    const second = await (await shop.open([brittle(shop.trade, null)])).sagaRun(run.id);
    await shop.pass('10m');
    const meanwhile = await second.status();
    await shop.clock.advance('40m');
    await shop.pass('11m');

    expect([kept, meanwhile]).toEqual([{ status: 'waiting' }, 'waiting']);
    expect(await second.status()).toBe('compensated');
  });
});

describe('a machine that fails when everything has been taken back', () => {
  test('is not left behind: it ends as compensated once it is repaired', async () => {
    shop = await sagaShop();
    const selling = brittle(shop.trade, 'the end of compensation');
    const first = await shop.open([selling]);
    const run = await first.submit(selling, order);
    await sagaReached(run, 'waiting');
    await first.signal(run.id, { type: 'rejected' }, { eventId: 'event-1' });
    await sagaReached(run, 'escalated');
    const result = await now(run);
    await first.stop();

    const second = await shop.open([brittle(shop.trade, null)]);
    await shop.pass('61s');

    const cause = { step: null, code: 'rejected' };
    expect(result).toEqual({ status: 'escalated', reason: 'definition-fault', cause });
    expect(await now(await second.sagaRun(run.id))).toEqual({ status: 'compensated', cause });
    expect(await shop.kept()).toEqual(['authorisation', 'void']);
  });
});

describe('a machine at fault', () => {
  async function atFault() {
    shop = await sagaShop();
    const selling = brittle(shop.trade, 'a guard');
    const orchestrator = await shop.open([selling]);
    const run = await orchestrator.submit(selling, order);
    await sagaReached(run, 'escalated');
    return { orchestrator, run };
  }

  test('that is cancelled is taken back: where it would have gone on does not matter any more', async () => {
    const { orchestrator, run } = await atFault();

    const cancelled = await orchestrator.cancel(run.id, who);
    await sagaReached(run, 'compensated');
    await shop.pass('10m');

    expect(cancelled).toEqual({ status: 'accepted' });
    expect(await now(run)).toEqual({ status: 'compensated', cause: { step: null, code: 'cancelled' } });
    expect(await shop.kept()).toEqual(['authorisation', 'void']);
  });

  test('that is ended as it stands is over', async () => {
    const { orchestrator, run } = await atFault();

    await orchestrator.operator.terminate(run.id, who);
    await shop.pass('10m');

    expect(await now(run)).toEqual({ status: 'terminated' });
    expect(await shop.kept()).toEqual(['authorisation']);
  });

  test('keeps events until it is repaired, or refuses those that may not wait', async () => {
    const { orchestrator, run } = await atFault();

    const kept = await orchestrator.signal(run.id, { type: 'approved' }, { eventId: 'event-1' });
    const refused = orchestrator.signal(run.id, { type: 'approved' }, { eventId: 'event-2', early: 'refuse' });

    expect(kept).toEqual({ status: 'waiting' });
    await expect(refused).rejects.toMatchObject({
      code: 'SIGNAL_REFUSED',
      message: expect.stringMatching(/at fault/),
    });
  });
});

describe('an inverse that cannot be given its input', () => {
  test('keeps the others from being taken back before it, and is begun once it is repaired', async () => {
    shop = await sagaShop();
    const selling = broken(true);
    const second = await shop.open([selling]);
    await shop.provider.calls(['decline'], 'payment');
    const run = await second.submit(selling, order);
    await sagaReached(run, 'escalated');
    await shop.pass('10m');
    const result = await now(run);
    const kept = await shop.kept();
    await second.stop();

    const third = await shop.open([broken(false)]);
    await shop.pass('9m');

    const cause = { step: 'payment', code: 'declined' };
    expect(result).toEqual({ status: 'escalated', reason: 'definition-fault', cause });
    expect(kept).toEqual(['authorisation', 'reservation']);
    expect(await now(await third.sagaRun(run.id))).toEqual({ status: 'compensated', cause });
    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'release', 'void']);
  });

  function broken(isBroken: boolean) {
    const { authorise, reserve, release, pay } = shop.trade;
    return saga('purchase', identity)
      .step('money', authorise, ({ input }) => input)
      .step('goods', reserve, ({ input }) => input, {
        compensate: {
          operation: release,
          input({ input, output }) {
            if (isBroken) throw new Error('the number of the reservation is nowhere');
            return { orderId: input.orderId, of: output.id };
          },
        },
      })
      .step('payment', pay, ({ input }) => input);
  }
});

/** Asks for the number of an order, and lets everything else pass. */
const numbered = z.looseObject({ orderId: z.string().min(1), of: z.string().exactOptional() });

const neverKept = () => 'packed by hand';

/** What a step's function can do instead of giving its operation an input. */
const brokenInputs = [
  {
    how: 'throws',
    says: /the order has no lines/,
    given(): Part {
      throw new Error('the order has no lines');
    },
  },
  {
    how: 'holds what cannot be kept',
    says: /note/,
    given: (part: Part): Part => ({ ...part, ...{ note: neverKept } }),
  },
  {
    how: 'does not fit the schema of its operation',
    says: /does not fit its schema/,
    given: (): Part => ({ orderId: '' }),
  },
];

describe.each(brokenInputs)('a step whose input $how', ({ says, given }) => {
  test('as the first one is refused with the submission as a fault of the definition, and nothing is kept of it', async () => {
    shop = await sagaShop({ authorisation: { schema: numbered } });
    const selling = saga('odd', identity).step('money', shop.trade.authorise, ({ input }) => given(input));
    const orchestrator = await shop.open([selling]);

    const submission = orchestrator.submit(selling, order);

    await expect(submission).rejects.toMatchObject({
      ...{ code: 'DEFINITION_INVALID', message: expect.stringMatching(says), facts: { saga: 'odd', version: 1 } },
    });
    await expect(orchestrator.sagaRun({ saga: selling, key: 'order-17' })).rejects.toMatchObject({
      code: 'SAGA_NOT_FOUND',
    });
    expect(await shop.provider.received()).toEqual([]);
  });

  test('later leaves what came before as it is, until it is repaired', async () => {
    shop = await sagaShop({ reservation: { schema: numbered } });
    const { authorise, reserve } = shop.trade;
    const odd = (isOdd: boolean) =>
      saga('odd', identity)
        .step('money', authorise, ({ input }) => input)
        .step('goods', reserve, ({ input }) => (isOdd ? given(input) : input));
    const selling = odd(true);
    const first = await shop.open([selling]);
    const run = await first.submit(selling, order);
    await sagaReached(run, 'escalated');
    const faults = await faultsOf(run);
    await first.stop();

    const second = await shop.open([odd(false)]);
    await shop.pass('61s');

    expect(faults).toEqual([expect.stringMatching(says)]);
    expect(await now(await second.sagaRun(run.id))).toMatchObject({ status: 'succeeded' });
    expect(await shop.kept()).toEqual(['authorisation', 'reservation']);
  });
});

describe('a machine that would make one effect twice', () => {
  test('is at fault instead, and sends nothing', async () => {
    shop = await sagaShop();
    const operations = { authorise: shop.trade.authorise };
    const machine = setup({
      types: { context: typeOf<Part>(), input: typeOf<Part>(), events: typeOf<Word>() },
      actors: actorsFrom(operations),
    }).createMachine({
      context: ({ input }) => input,
      initial: 'money',
      states: {
        money: {
          invoke: { id: 'money', src: 'authorise', input: ({ context }) => context, onDone: 'asking', onError: 'back' },
        },
        asking: { on: { approved: 'sold', rejected: 'money' } },
        back: { invoke: { src: 'compensate', onDone: 'withdrawn' } },
        sold: { type: 'final' },
        withdrawn: { type: 'final' },
      },
    });
    const selling = saga('again', { ...identity, machine, operations });
    const orchestrator = await shop.open([selling]);
    const run = await orchestrator.submit(selling, order);
    await sagaReached(run, 'waiting');

    const kept = await orchestrator.signal(run.id, { type: 'rejected' }, { eventId: 'event-1' });
    const faults = await faultsOf(run);
    await orchestrator.signal(run.id, { type: 'approved' }, { eventId: 'event-2' });
    await shop.pass('61s');

    expect(kept).toEqual({ status: 'waiting' });
    expect(faults).toEqual([expect.stringMatching(/two effects/)]);
    expect(await run.status()).toBe('succeeded');
    expect(await shop.provider.received()).toHaveLength(1);
    expect(await orchestrator.signalStatus(run.id, { signal: 'rejected', eventId: 'event-1' })).toMatchObject({
      status: 'refused',
    });
  });
});

describe('a machine that leaves its pivot while nobody knows how it ends', () => {
  test('is at fault until that is known, and then goes on with it', async () => {
    shop = await sagaShop();
    const { authorise, capture } = shop.trade;
    const operations = { authorise, capture };
    const machine = setup({
      types: { context: typeOf<Part>(), input: typeOf<Part>() },
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
          invoke: { id: 'capture', src: 'capture', input: ({ context }) => context, onDone: 'sold', onError: 'back' },
          after: { 5_000: 'back' },
        },
        back: { invoke: { src: 'compensate', onDone: 'withdrawn' } },
        sold: { type: 'final' },
        withdrawn: { type: 'final' },
      },
    });
    const selling = saga('hasty', { ...identity, machine, operations, pivot: 'capture' });
    const orchestrator = await shop.open([selling]);
    shop.hold('capture');
    const run = await orchestrator.submit(selling, order);
    await shop.held('capture');

    await shop.pass('6s');
    const meanwhile = await now(run);
    shop.letGo('capture');
    await shop.pass('61s');

    expect(meanwhile).toEqual({ status: 'escalated', reason: 'definition-fault', cause: null });
    expect(await now(run)).toMatchObject({ status: 'succeeded' });
    expect(await shop.kept()).toEqual(['authorisation', 'capture']);
  });
});

describe('a step that meets the identity of an operation that stands alone', () => {
  async function met() {
    shop = await sagaShop();
    const { authorise, reserve } = shop.trade;
    // Submitted alone under the very identity that the step has.
    const label = operation('label.buy', {
      input: typed<Part>(),
      key: ({ input }) => stepKey({ saga: 'labelled', key: input.orderId, step: 'label' }),
      execute: ({ input }) => {
        bought.push(input.orderId);
        return succeeded({ label: 'l' });
      },
      ...({ compensate: { none: 'a label is used up' }, keyRetention: '24h', lookup: 'none' } as const),
    });
    const selling = saga('labelled', identity)
      .step('money', authorise, ({ input }) => input)
      .step('label', label, ({ input }) => input)
      .step('goods', reserve, ({ input }) => input);
    const orchestrator = await shop.open([selling, label]);
    await orchestrator.submit(label, order);
    await shop.rest();
    const run = await orchestrator.submit(selling, order);
    await shop.pass('3s');
    return { orchestrator, run };
  }
  const bought: string[] = [];
  afterEach(() => {
    bought.length = 0;
  });

  test('is at fault, names it, and sends nothing', async () => {
    const { run } = await met();

    expect(await now(run)).toEqual({ status: 'escalated', reason: 'definition-fault', cause: null });
    expect(await faultsOf(run)).toEqual([expect.stringMatching(/Step label meets operation op_/)]);
    expect(bought).toEqual(['order-17']);
  });

  test.each([
    {
      how: 'cancelled',
      end: { status: 'compensated', cause: { step: null, code: 'cancelled' } },
      kept: ['authorisation', 'void'],
    },
    { how: 'ended as it stands', end: { status: 'terminated' }, kept: ['authorisation'] },
  ])('and is $how is over', async ({ how, end, kept }) => {
    const { orchestrator, run } = await met();

    if (how === 'cancelled') await orchestrator.cancel(run.id, who);
    else await orchestrator.operator.terminate(run.id, who);
    await shop.pass('10m');

    expect(await now(run)).toEqual(end);
    expect(await shop.kept()).toEqual(kept);
    expect(bought).toEqual(['order-17']);
  });
});
