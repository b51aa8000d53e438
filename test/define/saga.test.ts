import { describe, expect, test } from 'vitest';
import { setup } from 'xstate';
import { actorsFrom } from '../../machines/actors.ts';
import { isOperation, operation } from '../../src/define/operation.ts';
import { isSaga, saga } from '../../src/define/saga.ts';
import type { Part, StepCompensation } from '../../src/define/saga-flow.ts';
import { typed } from '../../src/define/schema.ts';
import { signal } from '../../src/define/signal.ts';
import { isSagacityError, type SagacityError } from '../../src/domain/errors.ts';
import { succeeded } from '../../src/domain/outcome.ts';
import {
  authorisePayment,
  bookCourier,
  capturePayment,
  checkAddress,
  type Order,
  releaseStock,
  reserveStock,
  sendEmail,
  voidPayment,
} from '../support/fulfilment.ts';

const input = typed<Order>();
const key = ({ input: order }: { input: Order }) => order.orderId;

// No test reads it.
const order = {} as Order;

function begin() {
  return saga('fulfilment', { input, key });
}

const forStock = { compensate: { operation: releaseStock, input: () => ({ reservationId: 'r' }) } };

/** What a caller without a compiler is told. */
function refusalOf(define: () => unknown): SagacityError {
  try {
    define();
  } catch (error) {
    if (isSagacityError(error, 'DEFINITION_INVALID')) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

type Verb = (...given: unknown[]) => Untyped;
type Untyped = {
  readonly [Name in 'step' | 'pivot' | 'parallel' | 'forEach' | 'sleep' | 'choose' | 'waitFor' | 'output']: Verb;
};

/** The builder as it is without its types. */
function untyped(from: object = begin()): Untyped {
  // The point of these tests: arguments that the types would not let through.
  return from as Untyped;
}

function untypedSaga(name: unknown, options: unknown): unknown {
  // See `untyped`.
  return (saga as (name: unknown, options: unknown) => unknown)(name, options);
}

const give = () => ({});
const pay = ['payment', authorisePayment, give] as const;

function namesOf(parts: readonly Part[]): unknown[] {
  return parts.map((part) =>
    part.type !== 'parallel'
      ? part.name
      : {
          [part.name]: Object.fromEntries(Object.entries(part.branches).map(([name, inner]) => [name, namesOf(inner)])),
        },
  );
}

describe('a saga written as a chain', () => {
  const fulfilment = begin()
    .step('address', checkAddress, ({ input: order }) => ({ address: order.address }))
    .parallel('prepare', (branch) => ({
      money: branch.step('payment', authorisePayment, ({ input: order }) => ({ orderId: order.orderId, amount: 1 })),
      goods: branch
        .step('stock', reserveStock, ({ input: order }) => ({ lines: order.lines }), forStock)
        .parallel('checks', (inner) => ({
          one: inner.step('again', checkAddress, () => ({ address: 'a' })),
          other: inner.step('twice', checkAddress, () => ({ address: 'b' })),
        })),
    }))
    .pivot('capture', capturePayment, ({ payment }) => ({ paymentId: payment.paymentId }))
    .step('courier', bookCourier, ({ input: order }) => ({ address: order.address }))
    .step('email', sendEmail, ({ input: order }) => ({ to: order.email, template: 'paid' }), { onFailed: 'continue' });

  test('has the documented defaults', () => {
    expect(begin()).toEqual({
      type: 'saga',
      name: 'fulfilment',
      version: 1,
      options: { input, key, lock: null },
      withinMs: null,
      compensation: 'reverse',
      whenChanged: 'escalate',
      pivotStep: null,
      flow: { type: 'chain', parts: [], output: null },
    });
  });

  test('has what was stated instead', () => {
    const chosen = { compensation: 'parallel', whenChanged: 'adopt' } as const;
    const stated = saga('fulfilment', { input, key, version: 3, within: '2d', ...chosen });

    expect(stated).toMatchObject({ version: 3, withinMs: 172_800_000, ...chosen });
  });

  test('holds its parts in the order in which they were written', () => {
    expect(namesOf(fulfilment.flow.parts)).toEqual([
      'address',
      { prepare: { money: ['payment'], goods: ['stock', { checks: { one: ['again'], other: ['twice'] } }] } },
      'capture',
      'courier',
      'email',
    ]);
    expect(fulfilment.pivotStep).toBe('capture');
  });

  test('says of each step how it is taken back, and what its refusal leads to', () => {
    const said = (parts: readonly Part[]): [string, StepCompensation | null, string][] =>
      parts.flatMap((part) => {
        if (part.type === 'step') return [[part.name, part.compensate, part.onFailed]];
        return part.type === 'parallel' ? Object.values(part.branches).flatMap((inner) => said(inner)) : [];
      });

    expect(said(fulfilment.flow.parts)).toEqual([
      ['address', { none: 'it only asks' }, 'compensate'],
      ['payment', authorisePayment.compensate, 'compensate'],
      ['stock', forStock.compensate, 'compensate'],
      ['again', { none: 'it only asks' }, 'compensate'],
      ['twice', { none: 'it only asks' }, 'compensate'],
      ['capture', null, 'compensate'],
      ['courier', null, 'escalate'],
      ['email', null, 'continue'],
    ]);
  });

  test("prefers a step's own inverse to that of the operation", () => {
    const own = { none: 'this one is free' } as const;
    const free = begin().step('payment', authorisePayment, () => ({ orderId: 'o', amount: 0 }), { compensate: own });

    expect(free.flow.parts).toMatchObject([{ compensate: own }]);
  });

  test('takes nothing back after the pivot, whatever the operation says', () => {
    const late = begin()
      .pivot('payment', authorisePayment, () => ({ orderId: 'o', amount: 0 }))
      .step('address', checkAddress, () => ({ address: 'a' }));

    expect(late.flow.parts).toMatchObject([{ compensate: null }, { compensate: null }]);
  });

  test('is a new one after each verb, and leaves the one before as it is', () => {
    const one = begin().step('address', checkAddress, () => ({ address: 'a' }));
    const two = one.step('payment', authorisePayment, () => ({ orderId: 'o', amount: 0 }));
    const other = one.pivot('payment', authorisePayment, () => ({ orderId: 'o', amount: 0 }));

    expect([one, two, other].map(({ flow }) => flow.parts.length)).toEqual([1, 2, 2]);
    expect([one, two, other].map(({ pivotStep }) => pivotStep)).toEqual([null, null, 'payment']);
  });

  test('ends with its output, after which no step can follow', () => {
    const output = ({ payment }: { payment: { paymentId: string } }) => payment.paymentId;
    const paid = begin()
      .step('payment', authorisePayment, () => ({ orderId: 'o', amount: 0 }))
      .output(output);

    expect(paid.flow).toMatchObject({ type: 'chain', output });
    expect('step' in paid).toBe(false);
    expect(isSaga(paid)).toBe(true);
  });

  test('cannot be changed in any of its parts', () => {
    const parts: object[] = [fulfilment];
    for (const part of parts) parts.push(...Object.values(part).filter(isOurs));

    expect(parts.length).toBeGreaterThan(20);
    expect(parts.filter((part) => !Object.isFrozen(part))).toEqual([]);
  });
});

/** Whatever `saga()` made itself: the schema and the operations are given, and functions are nobody's. */
function isOurs(member: unknown): member is object {
  return typeof member === 'object' && member !== null && member !== input && !isOperation(member);
}

describe('a saga written by hand', () => {
  const operations = { authorisePayment, capturePayment };
  const actors = actorsFrom(operations);
  const machine = setup({ types: { input: {} as Order }, actors }).createMachine({
    initial: 'paying',
    states: {
      paying: { invoke: { src: 'authorisePayment', input: { orderId: 'o', amount: 1 } } },
      capturing: { invoke: { id: 'capture', src: 'capturePayment', input: { paymentId: 'p' } } },
    },
  });
  const byHand = { input, key, machine, operations };

  test('holds the machine and its operations as they were given', () => {
    const fulfilment = saga('fulfilment', { ...byHand, version: 2, within: '1h', pivot: 'capture' });

    expect(fulfilment).toMatchObject({ type: 'saga', version: 2, withinMs: 3_600_000, pivotStep: 'capture' });
    expect(fulfilment.flow).toEqual({ type: 'machine', machine, operations, takesNothingBack: null });
    expect(fulfilment.flow).toHaveProperty('machine', machine);
    expect([fulfilment, fulfilment.flow].every(Object.isFrozen)).toBe(true);
  });

  test('is refused with every operation that does not say how it is taken back', () => {
    const silent = { authorisePayment, capturePayment, reserveStock };

    const error = refusalOf(() => untypedSaga('fulfilment', { ...byHand, operations: silent }));

    expect(error.message).toBe(
      'capturePayment and reserveStock of saga fulfilment do not say how a success is taken back. Add compensate to ' +
        "the operation ({ operation, input } or { none: 'reason' }), make it the pivot, or write takesNothingBack: 'reason'.",
    );
    expect(error.facts).toEqual({ saga: 'fulfilment', operations: ['capturePayment', 'reserveStock'] });
  });

  test('is asked about one operation less when the step with it is the pivot', () => {
    const silent = { authorisePayment, capturePayment, reserveStock };

    const error = refusalOf(() => untypedSaga('fulfilment', { ...byHand, operations: silent, pivot: 'capture' }));

    expect(error.facts['operations']).toEqual(['reserveStock']);
  });

  test('is refused with a saga that has a pivot, unless that is its own pivot', () => {
    const sold = saga('sold', { input, key }).pivot('pay', capturePayment, () => ({ paymentId: 'p' }));
    const given = { ...byHand, operations: { authorisePayment, capturePayment: sold } };

    expect(refusalOf(() => untypedSaga('fulfilment', given)).message).toContain(
      'capturePayment of saga fulfilment does not say how a success is taken back. A saga with a pivot can only be the pivot.',
    );
    expect(isSaga(untypedSaga('fulfilment', { ...given, pivot: 'capture' }))).toBe(true);
  });

  test('is refused with a saga that has this one inside', () => {
    const outer = saga('outer', { input, key }).step('inner', begin(), () => order);

    expect(refusalOf(() => untypedSaga('fulfilment', { ...byHand, operations: { outer } })).message).toContain(
      'Saga fulfilment would have itself inside, without end: fulfilment -> outer -> fulfilment.',
    );
  });

  test('is not asked at all when it says why nothing is taken back', () => {
    const asking = saga('asking', { ...byHand, takesNothingBack: 'it only asks' });

    expect(asking.flow).toMatchObject({ takesNothingBack: 'it only asks' });
  });

  test.each<[string, object, string]>([
    ['no machine', { machine: {} }, 'machine of saga fulfilment is not an XState machine.'],
    ['a configuration', { machine: machine.config }, 'machine of saga fulfilment is not an XState machine.'],
    ['no operations', { operations: {} }, 'operations of saga fulfilment is of the wrong kind.'],
    ['a function', { operations: { pay: () => 1 } }, 'pay of operations of saga fulfilment is of the wrong kind.'],
    ['another compensate', { operations: { compensate: authorisePayment } }, 'names one compensate'],
    ['no reason', { takesNothingBack: ' ' }, 'takesNothingBack of saga fulfilment is of the wrong kind.'],
    ['an unknown pivot', { pivot: 'captur' }, 'is none of its steps: did you mean capture?'],
    [
      'a source that has an id',
      { pivot: 'capturePayment' },
      'is none of its steps. The steps are authorisePayment, capture:',
    ],
    ['a pivot of another kind', { pivot: 3 }, 'pivot of saga fulfilment is none of its steps. The steps are authorise'],
    ['an unknown option', { takesNothing: 'x' }, 'saga fulfilment has no option takesNothing'],
    ['an option of the chain', { choose: 1 }, 'saga fulfilment has no option choose.'],
  ])('is refused with %s', (_, wrong, message) => {
    expect(refusalOf(() => untypedSaga('fulfilment', { ...byHand, ...wrong })).message).toContain(message);
  });

  test.each([
    ['machine', { operations }],
    ['operations', { machine }],
  ])('is refused without %s', (option, half) => {
    const error = refusalOf(() => untypedSaga('fulfilment', { input, key, ...half }));

    expect(error.message).toMatch(new RegExp(`^saga fulfilment does not say ${option}\\. Add ${option}:`));
  });
});

describe('the name of a saga', () => {
  test.each([
    ['empty', '', 'is empty'],
    ['too long', 'a'.repeat(201), 'has 201 UTF-16 code units and may have 200'],
    ['half a character', 'saga\ud800', 'is not well-formed text'],
    ['missing', undefined, 'is a value of type undefined'],
  ])('is refused when it is %s', (_, name, complaint) => {
    expect(refusalOf(() => untypedSaga(name, { input, key })).message).toContain(`The name of a saga ${complaint}.`);
  });
});

describe('the options of a saga', () => {
  test.each([undefined, null, 'x'])('are refused when they are %s', (options) => {
    expect(refusalOf(() => untypedSaga('fulfilment', options)).message).toContain('Saga fulfilment has no options.');
  });

  test('are refused with everything that is missing', () => {
    expect(refusalOf(() => untypedSaga('fulfilment', {})).message).toBe(
      'saga fulfilment does not say input and key. ' +
        'Add input: a Standard Schema, or typed<T>(); key: the business identity, a function of { input }.',
    );
  });

  test.each<[object, string]>([
    [{ input: { parse: give } }, 'input of saga fulfilment is of the wrong kind.'],
    [{ key: 'order-17' }, 'key of saga fulfilment is of the wrong kind.'],
    [{ version: 0 }, 'version of saga fulfilment is 0.'],
    [{ version: 1.5 }, 'version of saga fulfilment is 1.5.'],
    [{ version: '2' }, 'version of saga fulfilment is a value of type string.'],
    [{ within: 0 }, 'within of saga fulfilment is no time at all.'],
    [{ within: '2 days' }, 'within of saga fulfilment: "2 days" is not a duration.'],
    [{ compensation: 'paralel' }, 'compensation of saga fulfilment is "paralel": did you mean parallel?'],
    [{ whenChanged: 'adapt' }, 'whenChanged of saga fulfilment is "adapt": did you mean adopt?'],
    [{ compensation: 'forward' }, 'compensation of saga fulfilment is "forward". Write'],
    [{ verson: 2 }, 'saga fulfilment has no option verson: did you mean version?'],
    [{ pivot: 'capture' }, 'saga fulfilment has no option pivot.'],
  ])('are refused: %o', (wrong, message) => {
    expect(refusalOf(() => untypedSaga('fulfilment', { input, key, ...wrong })).message).toContain(message);
  });
});

describe('the name of a part', () => {
  test.each([
    ['', 'is empty'],
    ['a.b', 'is "a.b"'],
    ['#a', 'is "#a"'],
    ['1', 'is "1"'],
    ['__proto__', 'is "__proto__"'],
    ['two words', 'is "two words"'],
    ['a'.repeat(101), 'has 101 UTF-16 code units'],
    [undefined, 'is a value of type undefined'],
  ])('is refused when it is %o', (name, complaint) => {
    const of = (kind: string) => `The name of a ${kind} of saga fulfilment ${complaint}.`;

    expect(refusalOf(() => untyped().step(name, authorisePayment, give)).message).toContain(of('step'));
    expect(refusalOf(() => untyped().pivot(name, capturePayment, give)).message).toContain(of('pivot'));
    expect(refusalOf(() => untyped().parallel(name, () => ({}))).message).toContain(of('parallel'));
  });

  test.each([
    ...['input', 'item', 'index', 'compensate', 'done', 'constructor', 'toString'],
    ...['pending', 'in-progress', 'waiting', 'unknown', 'reconciling', 'escalated', 'compensating', 'compensated'],
    ...['succeeded', 'failed', 'terminated'],
  ])('is refused when it is %s, which means something already', (name) => {
    const branch = (begun: Untyped) => ({ [name]: begun.step(...pay) });

    expect(refusalOf(() => untyped().step(name, authorisePayment, give)).message).toContain(`is ${name}, a word of`);
    expect(refusalOf(() => untyped().parallel('both', branch)).message).toContain(
      `The name of a branch of parallel both of saga fulfilment is ${name}, a word of the library.`,
    );
  });

  test.each<[string, () => unknown]>([
    [
      'a step before',
      () =>
        untyped()
          .step(...pay)
          .step(...pay),
    ],
    [
      'the pivot',
      () =>
        untyped()
          .pivot(...pay)
          .step(...pay),
    ],
    [
      'a step in a parallel',
      () =>
        untyped()
          .parallel('both', (b: Untyped) => ({ a: b.step(...pay) }))
          .step(...pay),
    ],
    [
      'a step before the parallel',
      () =>
        untyped()
          .step(...pay)
          .parallel('both', (b: Untyped) => ({ a: b.step(...pay) })),
    ],
    [
      'a step of another branch',
      () => untyped().parallel('both', (b: Untyped) => ({ a: b.step(...pay), b: b.step(...pay) })),
    ],
    ['a step of the branch', () => untyped().parallel('both', (b: Untyped) => ({ a: b.step(...pay).step(...pay) }))],
    ['the parallel around it', () => untyped().parallel('payment', (b: Untyped) => ({ a: b.step(...pay) }))],
    ['the branch it is in', () => untyped().parallel('both', (b: Untyped) => ({ payment: b.step(...pay) }))],
    [
      'a step far inside',
      () =>
        untyped()
          .parallel('both', (b: Untyped) => ({ a: b.parallel('inner', (c: Untyped) => ({ d: c.step(...pay) })) }))
          .step(...pay),
    ],
  ])('is refused when it is that of %s', (_, define) => {
    expect(refusalOf(define).message).toBe(
      'Saga fulfilment has two parts named payment. Parts and branches have one name each, wherever they stand: ' +
        'rename one of them.',
    );
  });

  test('is refused when another parallel has a branch of that name', () => {
    const twice = untyped().parallel('one', (b: Untyped) => ({ a: b.step(...pay) }));

    const again = () => twice.parallel('two', (b: Untyped) => ({ a: b.step('stock', authorisePayment, give) }));

    expect(refusalOf(again).facts).toEqual({ saga: 'fulfilment', name: 'a' });
  });

  test('may be of any language', () => {
    const named = untyped().step('запас', authorisePayment, give).step('paiement_2', authorisePayment, give);

    expect(isSaga(named)).toBe(true);
  });
});

describe('a sleep', () => {
  test('is a part of the chain, with its length in milliseconds', () => {
    const { flow } = begin().sleep('returns', '14d');

    expect(flow.parts).toEqual([{ type: 'sleep', name: 'returns', pauseMs: 14 * 86_400_000, isUntil: false }]);
  });

  test('until a point in time is one with that time', () => {
    const { flow } = begin().sleep('van', { until: new Date(5_000) });

    expect(flow.parts).toEqual([{ type: 'sleep', name: 'van', pauseMs: 5_000, isUntil: true }]);
  });

  test.each<[string, () => unknown, string]>([
    [
      'without a length',
      () => untyped().sleep('rest'),
      'the pause of sleep rest of saga fulfilment: a value of type undefined is not a duration',
    ],
    ['until nothing', () => untyped().sleep('rest', {}), 'until of sleep rest of saga fulfilment is of the wrong kind'],
    [
      'until no point in time',
      () => untyped().sleep('rest', { until: new Date(Number.NaN) }),
      'until of sleep rest of saga fulfilment is no point in time',
    ],
    ['until and for so long', () => untyped().sleep('rest', { until: new Date(0), within: 1 }), 'no option within'],
    ['of no length of time', () => untyped().sleep('rest', 'soon'), '"soon"'],
    ['that is negative', () => untyped().sleep('rest', -1), 'is negative'],
    ['whose name is a word of the library', () => untyped().sleep('waiting', '1s'), 'a word of the library'],
    [
      'named as a step',
      () =>
        untyped()
          .step(...pay)
          .sleep('payment', '1s'),
      'has two parts named payment',
    ],
  ])('is refused %s', (_, define, message) => {
    expect(refusalOf(define).message).toContain(message);
  });
});

describe('a waitFor', () => {
  const approved = signal('approved', { payload: typed<{ by: string }>() });
  const wait = { within: '2d', otherwise: 'compensate' } as const;

  test('is a part of the chain, with its signal and its time in milliseconds', () => {
    const { flow } = begin().waitFor('approval', approved, wait);

    expect(flow.parts).toEqual([
      { type: 'waitFor', name: 'approval', signal: approved, withinMs: 172_800_000, otherwise: 'compensate' },
    ]);
  });

  test.each<[string, () => unknown, string]>([
    ['without a signal', () => untyped().waitFor('approval'), 'waitFor approval of saga fulfilment names no signal.'],
    ['for a name', () => untyped().waitFor('approval', 'approved', wait), 'names no signal.'],
    ['without options', () => untyped().waitFor('approval', approved), 'options of waitFor approval'],
    [
      'without an end',
      () => untyped().waitFor('approval', approved, {}),
      'waitFor approval of saga fulfilment does not say within and otherwise.',
    ],
    ['for no time', () => untyped().waitFor('approval', approved, { ...wait, within: 0 }), 'is no time at all'],
    [
      'with a word of the other side of the pivot',
      () => untyped().waitFor('approval', approved, { ...wait, otherwise: 'escalate' }),
      "Write 'compensate' or 'continue'.",
    ],
    [
      'after the pivot with one of before it',
      () => untyped().pivot('capture', capturePayment, give).waitFor('approval', approved, wait),
      "Write 'escalate' or 'continue'.",
    ],
    ['with another option', () => untyped().waitFor('approval', approved, { ...wait, retry: 1 }), 'no option retry'],
    [
      'named as a step',
      () =>
        untyped()
          .step(...pay)
          .waitFor('payment', approved, wait),
      'two parts named payment',
    ],
  ])('is refused %s', (_, define, message) => {
    expect(refusalOf(define).message).toContain(message);
  });
});

describe('a signal', () => {
  test('is its name and its schema', () => {
    const payload = typed<{ by: string }>();

    expect(signal('approved', { payload })).toEqual({ type: 'signal', name: 'approved', payload });
  });

  test.each<[string, () => unknown, string]>([
    ['without a name', () => signal('', { payload: typed() }), 'The name of a signal is empty.'],
    ['of the library', () => signal('saga.cancelled', { payload: typed() }), 'only the library gives to a chart'],
    ['of XState', () => signal('xstate.done.actor.a', { payload: typed() }), 'only the library gives to a chart'],
    // Nobody with a compiler could write these.
    ['without options', () => signal('approved', undefined as never), 'options of signal approved'],
    ['without a payload', () => signal('approved', {} as never), 'signal approved does not say payload.'],
    ['whose payload is no schema', () => signal('approved', { payload: 1 as never }), 'payload of signal approved'],
    ['with another option', () => signal('approved', { payload: typed(), by: 1 } as never), 'no option by'],
  ])('is refused %s', (_, define, message) => {
    expect(refusalOf(define).message).toContain(message);
  });
});

describe('a choose', () => {
  test('keeps its branches in their order, also one that has nothing to do', () => {
    const { flow } = begin().choose(
      'way',
      ({ input }) => (input.orderId === '' ? 'none' : 'some'),
      (branch) => ({
        some: branch.step('payment', authorisePayment, () => ({ orderId: 'o', amount: 0 })),
        none: branch,
      }),
    );

    const [part] = flow.parts;

    expect(part).toMatchObject({ type: 'choose', name: 'way', branches: { some: [{ name: 'payment' }], none: [] } });
    expect(Object.isFrozen(part)).toBe(true);
  });

  const some = (branch: Untyped) => ({ a: branch.step(...pay) });
  test.each<[string, () => unknown, string]>([
    ['that does not pick', () => untyped().choose('way', 'a', some), 'pick of choose way of saga fulfilment is of'],
    [
      'without branches',
      () => untyped().choose('way', give, () => ({})),
      'choose way of saga fulfilment has no branches.',
    ],
    ['whose branches are none', () => untyped().choose('way', give, {}), 'has no branches.'],
    [
      'whose branch was begun elsewhere',
      () => untyped().choose('way', give, () => ({ a: untyped() })),
      'Branch a of choose way of saga fulfilment is not made from the branch it was given.',
    ],
    [
      'with a step in two branches',
      () => untyped().choose('way', give, (branch: Untyped) => ({ a: branch.step(...pay), b: branch.step(...pay) })),
      'has two parts named payment',
    ],
    [
      'whose branch is a word of the library',
      () => untyped().choose('way', give, (b: Untyped) => ({ done: b })),
      'done',
    ],
  ])('is refused %s', (_, define, message) => {
    expect(refusalOf(define).message).toContain(message);
  });
});

describe('a forEach', () => {
  const lines = ({ input: { lines: all } }: { input: Order }) => all;
  const each = ['zones', lines, checkAddress, give] as const;

  test('is a part of the chain, with the documented defaults', () => {
    const made = ({ item }: { item: string }) => ({ address: item });
    const { flow } = begin().forEach('zones', lines, checkAddress, made);

    expect(flow.parts).toEqual([
      {
        ...{ type: 'forEach', name: 'zones', items: lines, target: checkAddress, input: made },
        ...{ compensate: { none: 'it only asks' }, onFailed: 'compensate', concurrency: null, atMost: 1_000 },
      },
    ]);
    expect(flow.parts.every(Object.isFrozen)).toBe(true);
  });

  test('has what was stated instead, on both sides of the pivot', () => {
    const own = { none: 'it is free' } as const;
    const { flow } = begin()
      .forEach('zones', lines, checkAddress, give as () => { address: string }, { compensate: own, concurrency: 2 })
      .pivot('capture', capturePayment, () => ({ paymentId: 'p' }))
      .forEach('mails', lines, sendEmail, () => ({ to: 'x', template: 'paid' }), { onFailed: 'continue', atMost: 3 });

    expect(flow.parts).toMatchObject([
      { compensate: own, onFailed: 'compensate', concurrency: 2, atMost: 1_000 },
      { type: 'step' },
      { compensate: null, onFailed: 'continue', concurrency: null, atMost: 3 },
    ]);
  });

  test.each<[string, () => unknown, string]>([
    [
      'without a list',
      () => untyped().forEach('zones', undefined, checkAddress, give),
      'items of forEach zones of saga',
    ],
    ['over a list as it is', () => untyped().forEach('zones', ['a'], checkAddress, give), 'items of forEach zones of'],
    [
      'whose target is a function',
      () => untyped().forEach('zones', lines, give, give),
      'has no operation or saga as its target.',
    ],
    [
      'without input',
      () => untyped().forEach('zones', lines, checkAddress),
      'input of forEach zones of saga fulfilment',
    ],
    ['with options of no kind', () => untyped().forEach(...each, 'x'), 'options of forEach zones of'],
    ...[0, -1, 1.5, '2', Number.POSITIVE_INFINITY, null].map((wrong): [string, () => unknown, string] => [
      `with ${wrong} at once`,
      () => untyped().forEach(...each, { concurrency: wrong }),
      'concurrency of forEach zones of saga fulfilment is of the wrong kind. Write a whole number from 1.',
    ]),
    ...[0, 2.5, '2', null].map((wrong): [string, () => unknown, string] => [
      `with ${wrong} at most`,
      () => untyped().forEach(...each, { atMost: wrong }),
      'atMost of forEach zones of saga fulfilment is of the wrong kind. Write a whole number from 1.',
    ]),
    [
      'with an option nobody reads',
      () => untyped().forEach(...each, { concurency: 2 }),
      'forEach zones of saga fulfilment has no option concurency: did you mean concurrency?',
    ],
    [
      'that cannot be taken back',
      () => untyped().forEach('stocks', lines, reserveStock, give, { concurrency: 2 }),
      'forEach stocks of saga fulfilment does not say how its success is taken back.',
    ],
    [
      'that says what follows from a refusal before the pivot',
      () => untyped().forEach(...each, { onFailed: 'continue' }),
      'forEach zones of saga fulfilment says onFailed, and no pivot comes before it.',
    ],
    [
      'that is taken back after the pivot',
      () => untyped().pivot('pay', capturePayment, give).forEach('stocks', lines, reserveStock, give, forStock),
      'forEach stocks of saga fulfilment comes after the pivot and says how it is taken back.',
    ],
    [
      'named as a step in a branch',
      () =>
        untyped()
          .parallel('both', (b: Untyped) => ({ a: b.step('zones', checkAddress, give) }))
          .forEach(...each),
      'has two parts named zones',
    ],
    ['named as an item is', () => untyped().forEach('zones[1]', lines, checkAddress, give), 'is "zones[1]"'],
  ])('is refused %s', (_, define, message) => {
    expect(refusalOf(define).message).toContain(message);
  });
});

describe('a step', () => {
  const circle = operation('stock.circle', {
    input: typed<unknown>(),
    execute: () => succeeded(1),
    keyRetention: 'none',
    lookup: 'none',
    compensate: { operation: voidPayment, input: () => ({ paymentId: 'p' }) },
  });

  test.each<[string, () => unknown, string]>([
    ['whose target is a function', () => untyped().step('pay', give, give), 'has no operation or saga as its target.'],
    ['whose target is missing', () => untyped().step('pay'), 'has no operation or saga as its target.'],
    [
      'whose target is a saga with this one in a branch',
      () =>
        untyped().step(
          'all',
          saga('outer', { input, key }).parallel('both', (branch) => ({
            left: branch.step('inner', begin(), () => order),
          })),
          give,
        ),
      'Saga fulfilment would have itself inside, without end: fulfilment -> outer -> fulfilment.',
    ],
    [
      'whose target is a saga that does this one for each item of a list',
      () =>
        untyped().step(
          'all',
          saga('outer', { input, key }).forEach(
            'each',
            () => [1],
            begin(),
            () => order,
          ),
          give,
        ),
      'Saga fulfilment would have itself inside, without end: fulfilment -> outer -> fulfilment.',
    ],
    [
      'whose target is a saga with this one inside',
      () =>
        untyped().step(
          'all',
          saga('outer', { input, key }).step('inner', begin(), () => order),
          give,
        ),
      'Saga fulfilment would have itself inside, without end: fulfilment -> outer -> fulfilment.',
    ],
    [
      'whose target is a saga with a pivot',
      () =>
        untyped().step(
          'sale',
          saga('sold', { input, key }).pivot('pay', capturePayment, () => ({ paymentId: 'p' })),
          give,
        ),
      'step sale of saga fulfilment is saga sold, which cannot take itself back once its pivot pay has succeeded.',
    ],
    ['without input', () => untyped().step('pay', authorisePayment), 'input of step pay of saga fulfilment is of'],
    ['with options of no kind', () => untyped().step('pay', authorisePayment, give, 'x'), 'options of step pay of'],
    [
      'with an option nobody reads',
      () => untyped().step('pay', authorisePayment, give, { compensat: {} }),
      'step pay of saga fulfilment has no option compensat: did you mean compensate?',
    ],
    [
      'that cannot be taken back',
      () => untyped().step('stock', reserveStock, give),
      'step stock of saga fulfilment does not say how its success is taken back. Add compensate ({ operation, input } ' +
        "or { none: 'reason' }) to stock.reserve or to the step, or move it after the pivot.",
    ],
    [
      'in a branch that cannot be taken back',
      () => untyped().parallel('both', (b: Untyped) => ({ a: b.step('stock', reserveStock, give) })),
      'step stock of saga fulfilment does not say how its success is taken back.',
    ],
    [
      'with an inverse that is none',
      () => untyped().step('stock', reserveStock, give, { compensate: { operation: give, input: give } }),
      'compensate of step stock of saga fulfilment is of the wrong kind.',
    ],
    [
      'that says what follows from its refusal before the pivot',
      () => untyped().step('pay', authorisePayment, give, { onFailed: 'continue' }),
      'step pay of saga fulfilment says onFailed, and no pivot comes before it.',
    ],
    [
      'that is taken back after the pivot',
      () => untyped().pivot('pay', capturePayment, give).step('stock', reserveStock, give, forStock),
      'step stock of saga fulfilment comes after the pivot and says how it is taken back.',
    ],
    [
      'in a branch that is taken back after the pivot',
      () =>
        untyped()
          .pivot('pay', capturePayment, give)
          .parallel('both', (b: Untyped) => ({ a: b.step('stock', reserveStock, give, forStock) })),
      'step stock of saga fulfilment comes after the pivot and says how it is taken back.',
    ],
    [
      'with another word',
      () => untyped().pivot('pay', capturePayment, give).step('mail', sendEmail, give, { onFailed: 'contine' }),
      "onFailed of step mail of saga fulfilment is \"contine\": did you mean continue? Write 'escalate' or 'continue'.",
    ],
    [
      'that is its own inverse in the end',
      () => {
        const inverse = { ...releaseStock, compensate: { operation: circle, input: give } };
        return untyped().step('stock', circle, give, { compensate: { operation: inverse, input: give } });
      },
      'stock.circle of step stock of saga fulfilment is taken back without end: stock.circle -> stock.release -> ' +
        'stock.circle.',
    ],
    [
      'that is its own inverse at once',
      () => untyped().step('stock', circle, give, { compensate: { operation: circle, input: give } }),
      'is taken back without end: stock.circle -> stock.circle.',
    ],
    [
      'whose action is the word of the chart',
      () => untyped().step('stock', { ...authorisePayment, action: 'compensate' }, give),
      "Write another one: a saga's chart has its own compensate.",
    ],
  ])('%s is refused', (_, define, message) => {
    expect(refusalOf(define).message).toContain(message);
  });

  test('may have an inverse that has one of its own', () => {
    const stocked = untyped().step('stock', reserveStock, give, { compensate: { operation: circle, input: give } });

    expect(isSaga(stocked)).toBe(true);
  });
});

describe('a pivot', () => {
  test.each<[string, () => unknown, string]>([
    [
      'that is the second one',
      () => untyped().pivot('one', capturePayment, give).pivot('two', capturePayment, give),
      'Saga fulfilment has a pivot, and pivot two of saga fulfilment would be a second one.',
    ],
    [
      'with options',
      () => untyped().pivot('one', capturePayment, give, forStock),
      'pivot one of saga fulfilment has options, and a pivot takes none.',
    ],
    [
      'in a parallel',
      () => untyped().parallel('both', (b: Untyped) => ({ a: b.pivot('one', capturePayment, give) })),
      'A branch of saga fulfilment has a pivot in it. The way back cannot end in one branch and not in another: put the ' +
        'pivot before or after them.',
    ],
    [
      'in a choose',
      () => untyped().choose('way', give, (b: Untyped) => ({ a: b.pivot('one', capturePayment, give) })),
      'A branch of saga fulfilment has a pivot in it.',
    ],
    ['without a target', () => untyped().pivot('one', give, give), 'pivot one of saga fulfilment has no operation'],
  ])('%s is refused', (_, define, message) => {
    expect(refusalOf(define).message).toContain(message);
  });
});

describe('a parallel', () => {
  const foreign: { branch?: Untyped } = {};

  test.each<[string, unknown, string]>([
    ['without branches', undefined, 'parallel both of saga fulfilment has no branches.'],
    ['that returns nothing', () => undefined, 'parallel both of saga fulfilment has no branches.'],
    ['that returns an empty object', () => ({}), 'parallel both of saga fulfilment has no branches.'],
    ['that returns a promise', async () => ({}), 'parallel both of saga fulfilment has no branches.'],
    [
      'with a branch without steps',
      (b: Untyped) => ({ a: b }),
      'Branch a of parallel both of saga fulfilment has no step.',
    ],
    [
      'with a step that is none',
      () => ({ a: authorisePayment }),
      'Branch a of parallel both of saga fulfilment is not',
    ],
    ['with a branch of the saga', () => ({ a: untyped().step(...pay) }), 'is not made from the branch it was given.'],
    ['with a branch of another one', () => ({ a: foreign.branch }), 'is not made from the branch it was given.'],
  ])('%s is refused', (_, branches, message) => {
    untyped().parallel('other', (b: Untyped) => {
      foreign.branch = b.step(...pay);
      return { a: foreign.branch };
    });

    expect(refusalOf(() => untyped().parallel('both', branches)).message).toContain(message);
  });
});

describe('an output', () => {
  test('that is not a function is refused', () => {
    expect(refusalOf(() => untyped().output({})).message).toContain('output of saga fulfilment is of the wrong kind.');
  });
});
