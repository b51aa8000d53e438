/**
 * Every shortest path through every chart, with a crash after every step. The charts are the library's own, those that
 * the builder makes, and sagas written by hand; the events are the smallest set that leads everywhere. A chart is added
 * with one line.
 */
import { describe, expect, test } from 'vitest';
import { type AnyMachineSnapshot, assign, type NonReducibleUnknown, type PromiseActorLogic, setup } from 'xstate';
import { fulfilmentAsChain } from '../../examples/fulfilment/builder.ts';
import { fulfilmentAsMachine } from '../../examples/fulfilment/machine.ts';
import { operationsAt } from '../../examples/fulfilment/operations.ts';
import {
  type LookupAnswer,
  type OperationContext,
  type OperationInput,
  operationMachine,
} from '../../machines/operation.ts';
import { sagaMachine } from '../../machines/saga.ts';
import { saga } from '../../src/define/saga.ts';
import { signal } from '../../src/define/signal.ts';
import { typed } from '../../src/define/schema.ts';
import type { AttemptResult } from '../../src/domain/attempt.ts';
import { absent, failed, found, inconclusive, notApplied, succeeded, unknown } from '../../src/domain/outcome.ts';
import type { Facts, Policy } from '../../src/domain/policy.ts';
import type { ActorResult } from '../../src/kernel/kernel.ts';
import { lintMachine } from '../../src/kernel/lint.ts';
import { lintNames, lintSaga } from '../../src/kernel/lint-saga.ts';
import type { KernelEvent } from '../../src/kernel/row.ts';
import { inertLogic } from '../../src/kernel/scope.ts';
import {
  authorisePayment,
  bookCourier,
  capturePayment,
  checkAddress,
  type Order as Purchase,
  releaseStock,
  reserveStock,
  sendEmail,
} from '../support/fulfilment.ts';
import { order } from '../support/fulfilment-shop.ts';
import { replayEveryPath, reportedReplay, type Walkable } from './paths.ts';

const both: Policy = {
  contract: null,
  keyRetentionMs: 86_400_000,
  lookup: { visibleWithinMs: 2_000, arrivalLimitMs: null, everyMs: 1_000, giveUpAfterMs: 864_000_000 },
  timeoutMs: 10_000,
  sendWithinMs: 5_000,
  retry: { attempts: 2, backoff: 'fixed', delayMs: 1_000, maxDelayMs: 1_000, jitter: 'none' },
  inverse: false,
};
const resubmitted: Policy = { ...both, lookup: null };
const neither: Policy = { ...both, keyRetentionMs: null, lookup: null };
const inTime: Facts = { now: 100_000, sendBy: 5_000, windowEndsAt: 86_400_000, lostStartOn: null, random: 0.5 };
const late: Facts = { ...inTime, now: 900_000_000 };
const afterFailOver: Facts = { ...inTime, lostStartOn: 'timeline-2' };

const receipt = succeeded('receipt', { reference: 'ch_1' });
const second = succeeded('another receipt', { reference: 'ch_2' });
const attemptEnds: AttemptResult[] = [
  receipt,
  failed('declined'),
  notApplied('429'),
  { type: 'not-applied', reason: 'too late to send', sent: false },
  unknown('the reply was lost'),
  { type: 'succeeded-unusably', reason: 'not the declared shape', reference: 'ch_1' },
];
const answers: LookupAnswer['finding'][] = [
  found(receipt),
  found(receipt, second),
  found(failed('declined')),
  { type: 'found-unusably', references: ['ch_1'], why: 'not the declared shape' },
  absent(),
  inconclusive(),
];
const ends: Record<string, ActorResult[]> = {
  attempt: [...attemptEnds.map((output) => ({ output })), { error: 'socket hang up' }],
  lookup: [
    ...answers.map((finding) => ({ output: { finding, beganAt: 50_000 } })),
    { output: { finding: absent(), beganAt: 0 } },
    { error: 'socket hang up' },
  ],
};

const events: KernelEvent[] = [
  { type: 'evidence.received', attempt: 1, outcome: receipt },
  { type: 'evidence.received', attempt: 1, outcome: second },
  { type: 'evidence.received', attempt: 2, outcome: failed('declined') },
  { type: 'cancel.requested' },
  { type: 'verdict.given', outcome: receipt },
  { type: 'verdict.given', outcome: failed('declined') },
  { type: 'verdict.given', outcome: { type: 'not-applied' } },
  { type: 'lookup.requested' },
  { type: 'compensation.begun', unsettledJoiners: 0 },
  { type: 'compensation.begun', unsettledJoiners: 1 },
  { type: 'compensation.succeeded' },
  { type: 'compensation.refused', code: 'already shipped' },
  { type: 'compensation.faulted' },
  { type: 'compensation.givenUp' },
  { type: 'effect.takenBack' },
  { type: 'effect.leftStanding' },
];

/** An operation can be asked about for ever; that far its history tells all kinds of next steps. */
function operation(policy: Policy, facts: Facts, attempts = 1): Walkable {
  const input: OperationInput = { policy, facts };
  const until = ({ context }: AnyMachineSnapshot) => {
    // The snapshot is of the operation's machine, whose context this is.
    const { history } = context as OperationContext;
    return history.attempts.length > attempts || history.lookups > 1 || history.found.length > 1;
  };
  return { machine: operationMachine, input, ends, events, until };
}

/** Where nobody can be asked, what is unknown is sent again or handed to a person at once. */
const notAsked = ['operation.unknown', 'operation.reconciling'];

describe('every path of an operation', () => {
  test.each<[string, Walkable, string[]]>([
    ['an operation that can be asked about and resubmitted', operation(both, inTime, 2), []],
    ['an operation whose window is over', operation(both, late), []],
    ['an operation that can only be resubmitted', operation(resubmitted, inTime, 2), notAsked],
    ['an operation that can only be asked about', operation({ ...both, keyRetentionMs: null }, inTime), []],
    ['an operation that a person has to settle', operation(neither, inTime, 2), notAsked],
    ['an operation after a fail-over', operation(both, afterFailOver, 2), []],
    ['an inverse', operation({ ...both, inverse: true }, inTime), []],
  ])('leads %s to the same state, wherever it crashes', (name, chart, missed) => {
    const replay = reportedReplay(name, chart);

    expect(replay.differences).toEqual([]);
    expect(replay.same).toBe(replay.paths);
    expect(replay.paths).toBeGreaterThan(300);
    expect(replay.missed).toEqual(missed);
  });
});

interface Order {
  readonly orderId: string;
  readonly total: bigint;
}

const fulfilment = setup({
  types: {
    input: {} as Order,
    context: {} as { order: Order; payment: string | null; stock: string | null },
    events: {} as { type: 'order.approved' } | { type: 'order.rejected' } | { type: 'person.decided' },
  },
  actors: {
    authorisePayment: inert<{ total: bigint }, { paymentId: string }>(),
    reserveStock: inert<{ orderId: string }, { reservationId: string }>(),
    createShipment: inert<{ orderId: string }>(),
    sendEmail: inert<{ orderId: string }>(),
    compensate: inert(),
  },
  guards: { isLarge: ({ context }) => context.order.total > 100n },
  delays: { approvalWindow: 86_400_000 },
}).createMachine({
  id: 'fulfilment',
  context: ({ input }) => ({ order: input, payment: null, stock: null }),
  initial: 'preparing',
  states: {
    preparing: {
      type: 'parallel',
      onDone: 'reviewing',
      states: {
        payment: {
          initial: 'authorising',
          states: {
            authorising: {
              invoke: {
                src: 'authorisePayment',
                input: ({ context }) => ({ total: context.order.total }),
                onDone: { target: 'authorised', actions: assign({ payment: ({ event }) => event.output.paymentId }) },
                onError: '#fulfilment.takingBack',
              },
            },
            authorised: { type: 'final' },
          },
        },
        stock: {
          initial: 'reserving',
          states: {
            reserving: {
              invoke: {
                src: 'reserveStock',
                input: ({ context }) => ({ orderId: context.order.orderId }),
                onDone: { target: 'reserved', actions: assign({ stock: ({ event }) => event.output.reservationId }) },
                onError: '#fulfilment.takingBack',
              },
            },
            reserved: { type: 'final' },
          },
        },
      },
    },
    reviewing: { always: [{ guard: 'isLarge', target: 'approving' }, { target: 'shipping' }] },
    approving: {
      on: { 'order.approved': 'shipping', 'order.rejected': 'takingBack' },
      after: { approvalWindow: 'asking' },
    },
    asking: { tags: 'escalated', on: { 'order.approved': 'shipping', 'person.decided': 'takingBack' } },
    shipping: {
      invoke: {
        src: 'createShipment',
        input: ({ context }) => ({ orderId: context.order.orderId }),
        onDone: 'informing',
        onError: 'takingBack',
      },
    },
    informing: {
      invoke: {
        src: 'sendEmail',
        input: ({ context }) => ({ orderId: context.order.orderId }),
        onDone: 'shipped',
        onError: 'shipped',
      },
    },
    takingBack: { invoke: { src: 'compensate', onDone: 'takenBack' } },
    shipped: { type: 'final' },
    takenBack: { type: 'final' },
  },
});

/** Stands for an operation: nothing runs, and its types are those of the operation's input and output. */
function inert<Input extends NonReducibleUnknown = undefined, Output = unknown>(): PromiseActorLogic<Output, Input> {
  // XState asks logic for what a promise needs when it runs; this never runs.
  return inertLogic as unknown as PromiseActorLogic<Output, Input>;
}

describe('every path of a saga that was written by hand', () => {
  const operations = ['authorisePayment', 'reserveStock', 'createShipment', 'sendEmail'];

  test('is one that the linter accepts', () => {
    const about = { operations, takesNothingBack: 'the parcel is on its way, whoever was told' };

    expect([...lintMachine(fulfilment), ...lintSaga(fulfilment, about), ...lintNames(fulfilment)]).toEqual([]);
  });

  test('leads it to the same state, wherever it crashes', () => {
    const replay = reportedReplay('a saga written by hand', {
      machine: fulfilment,
      input: { orderId: 'order-17', total: 250n },
      ends: {
        authorisePayment: [{ output: { paymentId: 'p-1' } }, { error: { code: 'declined' } }],
        reserveStock: [{ output: { reservationId: 'r-1' } }, { error: { code: 'sold-out' } }],
        compensate: [{ output: undefined }],
      },
      events: [{ type: 'order.approved' }, { type: 'order.rejected' }, { type: 'person.decided' }],
    });

    expect(replay.differences).toEqual([]);
    expect(replay.same).toBe(replay.paths);
    expect(replay.paths).toBeGreaterThan(10);
    expect(replay.missed).toEqual(['fulfilment.reviewing']);
  });
});

/** What the companies of the example say, by the names of the operations in its machine and by their actions. */
const said: readonly (readonly [name: string, action: string, ends: readonly ActorResult[]])[] = [
  ['authorisePayment', 'payment.authorise', [{ output: { paymentId: 'p-1' } }, { error: { code: 'card_declined' } }]],
  ['reserveStock', 'stock.reserve', [{ output: { reservationId: 'r-1' } }, { error: { code: 'out_of_stock' } }]],
  ['createShipment', 'shipment.create', [{ output: { shipmentId: 's-1' } }, { error: { code: 'address_refused' } }]],
  ['capturePayment', 'payment.capture', [{ output: { captureId: 'c-1' } }, { error: { code: 'expired' } }]],
  ['sendEmail', 'email.send', [{ output: { messageId: 'm-1' } }, { error: { code: 'mailbox_refused' } }]],
];
/** The parcels, which are a saga of their own. */
const sent: ActorResult[] = [{ output: { shipmentIds: ['s-1', 's-2'] } }, { error: { code: 'address_refused' } }];
const takenBack: ActorResult[] = [{ output: { takenBack: [] } }];

/** From outside, while there is a way back. */
const ended: KernelEvent[] = [{ type: 'saga.cancelled' }, { type: 'saga.timedOut' }];

function verdicts(step: string): KernelEvent[] {
  return [
    { type: 'verdict.given', step, outcome: { type: 'succeeded', output: { by: 'a person' } } },
    { type: 'verdict.given', step, outcome: { type: 'not-applied' } },
  ];
}

const operations = operationsAt('http://companies.example');
const released = { compensate: { operation: releaseStock, input: () => ({ reservationId: 'r-1' }) } };

const approved = signal('approved', { payload: typed<{ by: string }>() });

/**
 * Every verb and every way on: a sleep, a choice, a list, a signal on both sides of the pivot, parallels before and after
 * a pivot, one in the other, `escalate` and `continue`.
 */
const everyVerb = saga('every verb', {
  ...{ input: typed<Purchase>(), key: ({ input }: { input: Purchase }) => input.orderId, within: '2h' },
})
  .step('zone', checkAddress, ({ input }) => ({ address: input.address }))
  .sleep('rest', ({ zone }) => (zone.zone === 'north' ? '1d' : '2d'))
  .choose(
    'customs',
    ({ zone }) => (zone.zone === 'north' ? 'inland' : 'abroad'),
    (branch) => ({
      abroad: branch.sleep('stamp', '1h').step('duty', checkAddress, ({ zone }) => ({ address: zone.zone })),
      inland: branch,
    }),
  )
  .waitFor('approval', approved, { within: '2d', otherwise: 'compensate' })
  .parallel('prepare', (branch) => ({
    money: branch.step('payment', authorisePayment, ({ input: { orderId, total } }) => ({ orderId, amount: total })),
    goods: branch
      .step('stock', reserveStock, ({ input }) => ({ lines: input.lines }), released)
      .parallel('checks', (inner) => ({
        one: inner.step('again', checkAddress, ({ stock }) => ({ address: stock.reservationId })),
        other: inner.step('twice', checkAddress, ({ zone }) => ({ address: zone.zone })),
      })),
  }))
  .forEach(
    'spares',
    ({ input }) => input.lines,
    reserveStock,
    ({ item }) => ({ lines: [item] }),
    released,
  )
  .pivot('capture', capturePayment, ({ payment }) => ({ paymentId: payment.paymentId }))
  .waitFor('release', approved, { within: '1h', otherwise: 'escalate' })
  .step('courier', bookCourier, ({ input }) => ({ address: input.address }))
  .parallel('tell', (branch) => ({
    buyer: branch.step('email', sendEmail, ({ input }) => ({ to: input.email, template: 'paid' }), {
      onFailed: 'continue',
    }),
    seller: branch.step('notice', sendEmail, ({ input }) => ({ to: input.address, template: 'shipped' })),
  }));

/** Lists on both sides of a pivot: some at a time, all at once, and two beside each other with both ways on. */
const everyList = saga('every list', {
  ...{ input: typed<Purchase>(), key: ({ input }: { input: Purchase }) => input.orderId, within: '2h' },
})
  .forEach(
    'stocks',
    () => ['a', 'b', 'c'],
    reserveStock,
    ({ item }) => ({ lines: [item] }),
    {
      ...released,
      concurrency: 2,
    },
  )
  .pivot('capture', capturePayment, ({ stocks }) => ({ paymentId: stocks.map(({ reservationId: id }) => id).join() }))
  .parallel('send', (branch) => ({
    carrier: branch.forEach(
      'parcels',
      ({ stocks }) => stocks.slice(1),
      bookCourier,
      ({ item, index }) => ({
        address: `${item.reservationId} ${index}`,
      }),
    ),
    mail: branch.forEach(
      'mails',
      () => ['a', 'b'],
      sendEmail,
      ({ item }) => ({ to: item, template: 'shipped' }),
      {
        ...({ onFailed: 'continue', concurrency: 1 } as const),
      },
    ),
  }));

/** Waits for an approval, and is shipped in parcels. */
const largeOrder = { ...order, total: 6_000, parcels: ['lamp', 'shade'] };
const approval: KernelEvent = { type: 'approved', payload: { by: 'shift-lead' } };

const betweenParts = ['review.review choice', 'review.done', 'shipping.shipping choice', 'shipping.done'].map(
  (state) => `fulfilment.${state}`,
);

function fulfilledAsChain(input: typeof order): Walkable {
  const ends = Object.fromEntries(said.map(([, action, results]) => [action, results]));
  return {
    machine: sagaMachine(fulfilmentAsChain(operations)),
    input: { input },
    ends: { ...ends, dispatch: sent, compensate: takenBack },
    events: [...ended, approval],
  };
}

function fulfilledAsMachine(input: typeof order): Walkable {
  const ends = Object.fromEntries(said.map(([name, , results]) => [name, results]));
  return {
    machine: sagaMachine(fulfilmentAsMachine(operations)),
    input,
    ends: { ...ends, dispatchParcels: sent, compensate: takenBack },
    events: [approval],
  };
}

describe('every path of a saga', () => {
  /** With the states that it passes without resting in them, and those that other orders come to. */
  test.each<[string, Walkable, readonly string[]]>([
    [
      'the fulfilment as a chain',
      fulfilledAsChain(order),
      [...betweenParts, 'fulfilment.review', 'fulfilment.review.approval', 'fulfilment.shipping.parcels'],
    ],
    [
      'the fulfilment of a large order as a chain',
      fulfilledAsChain(largeOrder),
      [...betweenParts, 'fulfilment.shipping.shipment'],
    ],
    [
      'the fulfilment as a machine',
      fulfilledAsMachine(order),
      ['fulfilment.packing', 'fulfilment.reviewing', 'fulfilment.dispatching'],
    ],
    [
      'the fulfilment of a large order as a machine',
      fulfilledAsMachine(largeOrder),
      ['fulfilment.packing', 'fulfilment.shipping'],
    ],
    [
      'a chain of every verb',
      {
        machine: sagaMachine(everyVerb),
        input: { input: order },
        ends: {
          'address.check': [
            { output: { zone: 'north' } },
            { output: { zone: 'south' } },
            { error: { code: 'no_address' } },
          ],
          'payment.authorise': [{ output: { paymentId: 'p-1' } }, { error: { code: 'card_declined' } }],
          'stock.reserve': [{ output: { reservationId: 'r-1' } }, { error: { code: 'out_of_stock' } }],
          compensate: takenBack,
        },
        events: [
          ...ended,
          { type: 'approved', payload: { by: 'shift-lead' } },
          ...['release', 'courier', 'notice'].flatMap(verdicts),
        ],
      },
      ['every verb.customs.customs choice', 'every verb.customs.done'],
    ],
    [
      'a chain of every list',
      {
        machine: sagaMachine(everyList),
        input: { input: order },
        ends: { 'stock.reserve': [{ output: { reservationId: 'r-1' } }, { error: { code: 'out_of_stock' } }] },
        events: [...ended, ...verdicts('parcels[0]'), ...verdicts('parcels[1]')],
      },
      [],
    ],
  ])('leads %s to the same state, wherever it crashes', (name, chart, passed) => {
    const replay = reportedReplay(name, chart);

    expect(replay.differences).toEqual([]);
    expect(replay.same).toBe(replay.paths);
    expect(replay.paths).toBeGreaterThan(10);
    expect(replay.missed.toSorted()).toEqual(passed.toSorted());
  });
});

describe('a machine that does not survive a crash', () => {
  test('is found out when it computes from what no row holds', () => {
    let turns = 0;
    const forgetful = setup({
      types: { context: {} as { turns: number }, events: {} as { type: 'go' } },
      actions: { count: assign({ turns: () => ++turns }) },
    }).createMachine({
      id: 'forgetful',
      context: { turns: 0 },
      initial: 'here',
      states: { here: { on: { go: { target: 'there', actions: 'count' } } }, there: { type: 'final' } },
    });

    const replay = replayEveryPath({
      machine: forgetful,
      events: [{ type: 'go' }],
    });

    expect([replay.paths, replay.same]).toEqual([2, 1]);
    expect(replay.differences).toEqual([expect.stringMatching(/^start, go: it makes another turn/)]);
  });
});
