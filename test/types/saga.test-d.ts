import { describe, expectTypeOf, test } from 'vitest';
import { setup } from 'xstate';
import { z } from 'zod';
import { actorsFrom, type TakenBack } from '../../machines/actors.ts';
import { createOrchestrator, type CreateOptions } from '../../src/create-orchestrator.ts';
import { operation } from '../../src/define/operation.ts';
import { type Migration, migration } from '../../src/define/migration.ts';
import { saga } from '../../src/define/saga.ts';
import type { Saga, SagaCause, SagaCode } from '../../src/define/saga-flow.ts';
import type { CodeOf, InputOf, OutputOf, SubmittedOf } from '../../src/define/result.ts';
import type { SagaResult } from '../../src/define/saga-result.ts';
import { typed } from '../../src/define/schema.ts';
import { signal } from '../../src/define/signal.ts';
import type { EscalationReason } from '../../src/domain/operation-state.ts';
import { succeeded } from '../../src/domain/outcome.ts';
import type { Orchestrator } from '../../src/orchestrator/orchestrator.ts';
import {
  authorisePayment,
  bookCourier,
  capturePayment,
  checkAddress,
  type Order,
  releaseStock,
  reserveStock,
  sendEmail,
} from '../support/fulfilment.ts';

const options = { input: typed<Order>(), key: ({ input }: { input: Order }) => input.orderId };
const begin = saga('fulfilment', options);
const address = ({ input }: { input: Order }) => ({ address: input.address });
const pay = ({ input }: { input: Order }) => ({ orderId: input.orderId, amount: input.total });
const approved = signal('approved', { payload: typed<{ by: string }>() });
const counted = signal('counted', { payload: z.object({ pieces: z.number().default(1) }) });
const released = { compensate: { operation: releaseStock, input: () => ({ reservationId: 'r' }) } };

const fulfilment = begin
  .step('zone', checkAddress, address)
  .parallel('prepare', (branch) => ({
    money: branch.step('payment', authorisePayment, pay),
    goods: branch
      .step('stock', reserveStock, ({ input }) => ({ lines: input.lines }), released)
      .parallel('checks', (inner) => ({
        one: inner.step('again', checkAddress, ({ stock }) => ({ address: stock.reservationId })),
        other: inner.step('twice', checkAddress, address),
      })),
  }))
  .pivot('capture', capturePayment, ({ payment }) => ({ paymentId: payment.paymentId }))
  .step('courier', bookCourier, address)
  .step('email', sendEmail, ({ input }) => ({ to: input.email, template: 'paid' }), { onFailed: 'continue' });

type TypesOf<Definition extends { readonly '~types'?: unknown }> = NonNullable<Definition['~types']>;
type LibraryCode = 'attempts-exhausted' | 'cancelled' | 'taken-back' | 'given-up';

describe('a chain', () => {
  test('has the outputs of its steps by their names', () => {
    expectTypeOf<TypesOf<typeof fulfilment>['output']>().toEqualTypeOf<{
      readonly zone: { zone: string };
      readonly payment: { paymentId: string };
      readonly stock: { reservationId: string };
      readonly again: { zone: string };
      readonly twice: { zone: string };
      readonly capture: { captureId: string };
      readonly courier: { tracking: string };
      readonly email?: { messageId: string };
    }>();
  });

  test('has the causes that its steps up to the pivot can give, and no others', () => {
    expectTypeOf<TypesOf<typeof fulfilment>['cause']>().toEqualTypeOf<
      | SagaCause<'zone', 'no_address' | LibraryCode>
      | SagaCause<'payment', 'card_declined' | LibraryCode>
      | SagaCause<'stock', 'out_of_stock' | LibraryCode>
      | SagaCause<'again', 'no_address' | LibraryCode>
      | SagaCause<'twice', 'no_address' | LibraryCode>
      | SagaCause<'capture', 'expired' | LibraryCode>
      | SagaCause<null, SagaCode>
    >();
  });

  test('narrows the code of its cause by the step', () => {
    const told = (cause: TypesOf<typeof fulfilment>['cause']) => {
      if (cause.step === 'payment')
        return expectTypeOf(cause.code).toEqualTypeOf<
          'card_declined' | 'attempts-exhausted' | 'cancelled' | 'taken-back' | 'given-up'
        >();
      if (cause.step === null) return expectTypeOf(cause.code).toEqualTypeOf<'cancelled' | 'timed-out' | 'requested'>();
      // @ts-expect-error a step after the pivot takes nothing back
      return cause.step === 'courier';
    };

    expectTypeOf(told).not.toBeAny();
  });

  test('has the codes of the library alone when its steps have none of their own', () => {
    const mailed = begin.pivot('email', sendEmail, ({ input }) => ({ to: input.email, template: 'paid' }));

    expectTypeOf<TypesOf<typeof mailed>['cause']>().toEqualTypeOf<
      SagaCause<'email', LibraryCode> | SagaCause<null, SagaCode>
    >();
  });

  test('is a definition at every point, of that name, input and version', () => {
    expectTypeOf(begin).toExtend<Saga>();
    expectTypeOf(begin.step('zone', checkAddress, address)).toExtend<Saga>();
    expectTypeOf(fulfilment).toExtend<Saga<'fulfilment', Order>>();
    expectTypeOf([fulfilment, begin]).toExtend<readonly Saga[]>();
    expectTypeOf<TypesOf<typeof fulfilment>['input']>().toEqualTypeOf<Order>();
  });

  test('gives its steps the output of its schema and is submitted with what that takes', () => {
    const schema = z.object({ orderId: z.string(), total: z.number().default(1), at: z.coerce.date() });
    const zodded = saga('zodded', { input: schema, key: ({ input }) => input.at.toISOString() }).step(
      'payment',
      authorisePayment,
      ({ input }) => ({ orderId: input.orderId, amount: input.total }),
    );

    expectTypeOf<InputOf<typeof zodded>>().toEqualTypeOf<{ orderId: string; total: number; at: Date }>();
    expectTypeOf<SubmittedOf<typeof zodded>>().toEqualTypeOf<{
      orderId: string;
      total?: number | undefined;
      at: unknown;
    }>();
  });

  test('tells its types by the same names as an operation, and has no codes of its own', () => {
    const told = begin.step('zone', checkAddress, address).output(({ zone }) => zone.zone);

    expectTypeOf<InputOf<typeof told>>().toEqualTypeOf<Order>();
    expectTypeOf<SubmittedOf<typeof told>>().toEqualTypeOf<Order>();
    expectTypeOf<OutputOf<typeof told>>().toEqualTypeOf<string>();
    // @ts-expect-error a saga has causes
    expectTypeOf<CodeOf<typeof told>>().not.toBeAny();
  });
});

describe('a step', () => {
  test('sees the input, and what exists by then', () => {
    fulfilment.step('last', bookCourier, (known) => {
      expectTypeOf(known.input).toEqualTypeOf<Order>();
      expectTypeOf(known.twice).toEqualTypeOf<{ zone: string }>();
      expectTypeOf(known.courier).toEqualTypeOf<{ tracking: string }>();
      return { address: known.courier.tracking };
    });
  });

  test('sees the output of one that may have failed as one that may be missing', () => {
    fulfilment.step('last', bookCourier, ({ email }) => {
      expectTypeOf(email).toEqualTypeOf<{ messageId: string } | undefined>();
      return { address: email?.messageId ?? '' };
    });
  });

  test('in a branch sees what came before the parallel and its own branch', () => {
    fulfilment.parallel('late', (branch) => ({
      one: branch
        .step('first', bookCourier, address)
        .step('second', bookCourier, ({ first, payment }) => ({ address: first.tracking + payment.paymentId })),
      other: branch.step('third', bookCourier, address, { onFailed: 'continue' }),
    }));
  });

  test('after a choose sees what may not have been taken as what may be missing', () => {
    const late = fulfilment
      .choose(
        'way',
        ({ payment }) => (payment.paymentId === '' ? 'far' : 'near'),
        (branch) => ({
          far: branch.step('trip', bookCourier, ({ payment }) => ({ address: payment.paymentId })),
          near: branch,
        }),
      )
      .step('last', bookCourier, ({ trip }) => {
        expectTypeOf(trip).toEqualTypeOf<{ tracking: string } | undefined>();
        return { address: trip?.tracking ?? '' };
      });

    expectTypeOf<TypesOf<typeof late>['output']['trip']>().toEqualTypeOf<{ tracking: string } | undefined>();
    expectTypeOf<TypesOf<typeof late>['cause']>().toEqualTypeOf<TypesOf<typeof fulfilment>['cause']>();
  });

  test('after a signal sees its payload, or what may be missing where the saga went on without it', () => {
    const told = begin
      .waitFor('approval', approved, { within: '2d', otherwise: 'compensate' })
      .waitFor('count', counted, { within: '2d', otherwise: 'continue' })
      .step('zone', checkAddress, ({ input, approval, count }) => {
        expectTypeOf(approval).toEqualTypeOf<{ by: string }>();
        expectTypeOf(count).toEqualTypeOf<{ pieces: number } | undefined>();
        return { address: input.address };
      });

    type Cause = TypesOf<typeof told>['cause'];
    expectTypeOf<Extract<Cause, { step: 'approval' }>>().toEqualTypeOf<SagaCause<'approval', 'timed-out'>>();
    expectTypeOf<Extract<Cause, { step: 'count' }>>().toBeNever();
  });

  test('after a forEach sees the outputs in the order of the items', () => {
    const late = begin
      .forEach(
        'parcels',
        ({ input }) => input.lines,
        authorisePayment,
        ({ item, index, input }) => {
          expectTypeOf(item).toEqualTypeOf<string>();
          expectTypeOf(index).toEqualTypeOf<number>();
          return { orderId: input.orderId + item, amount: index };
        },
        { concurrency: 4, atMost: 200 },
      )
      .pivot('capture', capturePayment, ({ parcels }) => {
        expectTypeOf(parcels).toEqualTypeOf<readonly { paymentId: string }[]>();
        return { paymentId: parcels[0]?.paymentId ?? '' };
      })
      .forEach(
        'trips',
        ({ parcels }) => parcels,
        bookCourier,
        ({ item }) => ({ address: item.paymentId }),
      )
      .forEach(
        'mails',
        ({ input }) => input.lines,
        sendEmail,
        ({ item }) => ({ to: item, template: 'paid' }),
        {
          onFailed: 'continue',
        },
      );

    expectTypeOf<TypesOf<typeof late>['output']>().toEqualTypeOf<{
      readonly parcels: readonly { paymentId: string }[];
      readonly capture: { captureId: string };
      readonly trips: readonly { tracking: string }[];
      readonly mails: readonly ({ messageId: string } | undefined)[];
    }>();
    expectTypeOf<TypesOf<typeof late>['cause']>().toEqualTypeOf<
      | SagaCause<'parcels', 'card_declined' | LibraryCode>
      | SagaCause<'capture', 'expired' | LibraryCode>
      | SagaCause<null, SagaCode>
    >();
  });

  test('for each item in a branch sees what came before, and has an inverse of its own', () => {
    const both = begin.step('zone', checkAddress, address).parallel('prepare', (branch) => ({
      goods: branch.forEach(
        'stocks',
        ({ input }) => input.lines.map((line) => ({ line })),
        reserveStock,
        ({ item, zone }) => ({ lines: [item.line, zone.zone] }),
        { compensate: { operation: releaseStock, input: ({ output }) => ({ reservationId: output.reservationId }) } },
      ),
      money: branch.step('payment', authorisePayment, pay),
    }));

    expectTypeOf<TypesOf<typeof both>['output']['stocks']>().toEqualTypeOf<readonly { reservationId: string }[]>();
  });

  test('after a sleep sees what was there before it, as the sleep does', () => {
    const late = fulfilment
      .sleep('rest', ({ input, payment }) => input.lines.length + payment.paymentId.length)
      .step('last', bookCourier, ({ payment }) => ({ address: payment.paymentId }));

    expectTypeOf<keyof TypesOf<typeof late>['output']>().not.toEqualTypeOf<'rest'>();
    expectTypeOf<TypesOf<typeof late>['cause']>().toEqualTypeOf<TypesOf<typeof fulfilment>['cause']>();
  });

  test('in a branch that may have failed is optional after it', () => {
    const late = fulfilment.parallel('late', (branch) => ({
      one: branch.step('first', bookCourier, address, { onFailed: 'continue' }),
      other: branch.step('second', bookCourier, address, { onFailed: 'escalate' }),
    }));

    expectTypeOf<TypesOf<typeof late>['output']['first']>().toEqualTypeOf<{ tracking: string } | undefined>();
    expectTypeOf<TypesOf<typeof late>['output']['second']>().toEqualTypeOf<{ tracking: string }>();
    expectTypeOf<TypesOf<typeof late>['cause']>().toEqualTypeOf<TypesOf<typeof fulfilment>['cause']>();
  });

  test('has an inverse that gets the input and the output of what it takes back', () => {
    begin.step('stock', reserveStock, ({ input }) => ({ lines: input.lines }), {
      compensate: {
        operation: releaseStock,
        input: (context) => {
          expectTypeOf(context).toEqualTypeOf<{
            readonly input: { lines: readonly string[] };
            readonly output: { reservationId: string };
          }>();
          return { reservationId: context.output.reservationId };
        },
      },
    });
    begin.step('stock', reserveStock, ({ input }) => ({ lines: input.lines }), { compensate: { none: 'it expires' } });
    begin.step('zone', checkAddress, address, { compensate: { none: 'it only asks' } });
  });

  test('takes literals, unions, arrays and optional members as they are written', () => {
    const take = <Input>(name: string, _example: Input) =>
      operation(name, {
        input: typed<Input>(),
        execute: () => succeeded(1),
        keyRetention: 'none',
        lookup: 'none',
        compensate: { none: 'x' },
      });
    // The values are never read; they carry the types of what is taken.
    const union = take('union', {} as { by: 'mail'; to: string } | { by: 'post'; address: string });
    const lists = take('lists', {} as { ids: string[]; pair: [number, 'a' | 'b']; note?: string });
    const loose = take('loose', {} as Record<string, number>);
    const word = take('word', '' as 'a' | 'b');

    begin
      .step('one', union, ({ input }) => ({ by: 'mail', to: input.email }))
      .step('two', union, ({ input }) => (input.total > 3 ? { by: 'mail', to: 'x' } : { by: 'post', address: 'y' }))
      .step('three', lists, ({ input }) => ({ ids: [input.orderId], pair: [1, 'a'] }))
      .step('four', lists, (known) => ({ ids: [...known.input.lines], pair: [1, 'b'], note: known.input.email }))
      .step('five', loose, () => ({ any: 1 }))
      .step('six', word, () => 'b')
      .step('seven', authorisePayment, pay);
  });
});

describe('an output', () => {
  test('is what the saga succeeds with, and its type is as short as that of an operation', () => {
    const paid = begin.step('payment', authorisePayment, pay).output(({ payment, input }) => ({
      paymentId: payment.paymentId,
      for: input.orderId,
    }));

    expectTypeOf(paid).toExtend<Saga<'fulfilment', Order, { paymentId: string; for: string }>>();
    expectTypeOf(paid).not.toHaveProperty('step');
    expectTypeOf<TypesOf<typeof paid>['cause']['step']>().toEqualTypeOf<'payment' | null>();
  });
});

describe('a result of a saga', () => {
  test('is told apart by its status', () => {
    type Cause = SagaCause<'payment', 'card_declined'> | SagaCause<null, SagaCode>;
    const told = (result: SagaResult<{ id: string }, Cause>) => {
      switch (result.status) {
        case 'succeeded':
          return expectTypeOf(result.output).toEqualTypeOf<{ id: string }>();
        case 'compensated':
        case 'compensating':
          return expectTypeOf(result.cause).toEqualTypeOf<Cause>();
        case 'escalated':
          expectTypeOf(result.cause).toEqualTypeOf<Cause | null>();
          return expectTypeOf(result.reason).toEqualTypeOf<EscalationReason>();
        case 'terminated':
        case 'in-progress':
        case 'waiting':
          return expectTypeOf(result).not.toHaveProperty('cause');
      }
    };

    expectTypeOf(told).returns.not.toBeAny();
    expectTypeOf<SagaResult<number, Cause>>().toExtend<SagaResult>();
  });
});

describe('a machine written by hand', () => {
  const operations = { authorisePayment, capturePayment };
  const chart = setup({
    types: { input: {} as Order, context: {} as { order: Order }, output: {} as { paid: boolean } },
    actors: actorsFrom(operations),
  }).createMachine({
    context: ({ input }) => ({ order: input }),
    output: () => ({ paid: true }),
    initial: 'paying',
    states: {
      paying: {
        invoke: {
          src: 'authorisePayment',
          input: ({ context: { order } }) => ({ orderId: order.orderId, amount: order.total }),
          onDone: {
            target: 'capturing',
            guard: ({ event }) => {
              expectTypeOf(event.output).toEqualTypeOf<{ paymentId: string }>();
              return true;
            },
          },
          onError: 'back',
        },
      },
      capturing: { invoke: { id: 'capture', src: 'capturePayment', input: { paymentId: 'p' }, onDone: 'paid' } },
      back: {
        invoke: {
          src: 'compensate',
          onDone: {
            target: 'paid',
            guard: ({ event }) => {
              expectTypeOf(event.output).toEqualTypeOf<TakenBack>();
              return true;
            },
          },
        },
      },
      paid: { type: 'final' },
    },
  });
  const silent = setup({}).createMachine({});

  test('gives a saga of its output, with causes as open as its steps', () => {
    const paying = saga('paying', { ...options, machine: chart, operations, pivot: 'capture' });

    expectTypeOf(paying).toEqualTypeOf<Saga<'paying', Order, { paid: boolean }, SagaCause, Order>>();
    expectTypeOf<SagaCause>().toEqualTypeOf<SagaCause<string | null, string>>();
  });

  test('without an output gives a saga of which it is not known', () => {
    const asking = saga('asking', { ...options, machine: silent, operations, takesNothingBack: 'it only asks' });

    expectTypeOf<TypesOf<typeof asking>['output']>().toEqualTypeOf<unknown>();
  });

  test('does not compile with something else, or when it takes another input', () => {
    const other = setup({ types: { input: {} as { shop: number } } }).createMachine({});
    // @ts-expect-error not a machine
    saga('paying', { ...options, machine: {}, operations, pivot: 'capturePayment' });
    // @ts-expect-error a configuration is not a machine
    saga('paying', { ...options, machine: { initial: 'a', states: {} }, operations, pivot: 'capturePayment' });
    // @ts-expect-error an order has no shop
    saga('paying', { ...options, machine: other, operations, pivot: 'capturePayment' });
    // @ts-expect-error the operations are missing
    saga('paying', { ...options, machine: chart });
    // @ts-expect-error a function is not an operation
    saga('paying', { ...options, machine: chart, operations: { pay } });
  });

  test('does not compile when an operation does not say how it is taken back', () => {
    // @ts-expect-error capturePayment has no inverse and is not the pivot
    saga('paying', { ...options, machine: chart, operations });
    // @ts-expect-error the pivot is another one
    saga('paying', { ...options, machine: chart, operations, pivot: 'authorisePayment' });
  });

  test('does not compile with a wrong source or a wrong input of an operation', () => {
    const actors = actorsFrom(operations);
    // @ts-expect-error there is no such source
    setup({ actors }).createMachine({ invoke: { src: 'authorizePayment' } });
    // @ts-expect-error amount is a number
    setup({ actors }).createMachine({ invoke: { src: 'authorisePayment', input: { orderId: 'o', amount: 'x' } } });
    // @ts-expect-error the ledger knows what is taken back
    setup({ actors }).createMachine({ invoke: { src: 'compensate', input: { steps: ['payment'] } } });
  });
});

describe('a step that is a saga', () => {
  const shipment = saga('shipment', options)
    .step('zone', checkAddress, address)
    .step('payment', authorisePayment, pay)
    .output(({ payment }) => payment.paymentId);
  const whole = ({ input }: { input: Order }) => input;
  const all = begin.step('shipment', shipment, whole).step('again', authorisePayment, ({ shipment: paid, input }) => {
    expectTypeOf(paid).toEqualTypeOf<string>();
    return { orderId: paid, amount: input.total };
  });

  type ShipmentCode = 'no_address' | 'card_declined' | LibraryCode | SagaCode | 'terminated';

  test('has the output of that saga, and is refused with the codes of its causes', () => {
    expectTypeOf<TypesOf<typeof all>['output']>().toEqualTypeOf<{
      readonly shipment: string;
      readonly again: { paymentId: string };
    }>();
    expectTypeOf<TypesOf<typeof all>['cause']>().toEqualTypeOf<
      | SagaCause<'shipment', ShipmentCode>
      | SagaCause<'again', 'card_declined' | LibraryCode>
      | SagaCause<null, SagaCode>
    >();
  });

  test('has the same as a pivot, in a branch and in a saga around that', () => {
    const pivoted = begin.pivot('shipment', shipment, whole);
    const branched = begin.parallel('both', (branch) => ({ a: branch.step('shipment', shipment, whole) }));
    const around = saga('around', options).step('inside', branched, whole);

    expectTypeOf<TypesOf<typeof pivoted>['cause']>().toEqualTypeOf<
      SagaCause<'shipment', ShipmentCode> | SagaCause<null, SagaCode>
    >();
    expectTypeOf<TypesOf<typeof branched>['output']['shipment']>().toEqualTypeOf<string>();
    expectTypeOf<TypesOf<typeof around>['output']['inside']>().toEqualTypeOf<{ readonly shipment: string }>();
    expectTypeOf<TypesOf<typeof around>['cause']>().toEqualTypeOf<
      SagaCause<'inside', ShipmentCode> | SagaCause<null, SagaCode>
    >();
  });

  test('may be missing after the pivot, where it may have failed', () => {
    const late = fulfilment.step('shipment', shipment, whole, { onFailed: 'continue' });

    expectTypeOf<TypesOf<typeof late>['output']['shipment']>().toEqualTypeOf<string | undefined>();
    expectTypeOf<TypesOf<typeof late>['cause']>().toEqualTypeOf<TypesOf<typeof fulfilment>['cause']>();
  });

  test('may be taken back by an operation, which sees what went in and what came out', () => {
    begin.step('shipment', shipment, whole, {
      compensate: {
        operation: releaseStock,
        input: (context) => {
          expectTypeOf(context.input).toEqualTypeOf<Order>();
          expectTypeOf(context.output).toEqualTypeOf<string>();
          return { reservationId: context.output };
        },
      },
    });
    begin.step('shipment', shipment, whole, { compensate: { none: 'it comes back anyway' } });
  });

  test('is an actor of a machine that takes its input and ends with its output', () => {
    const operations = { shipment, releaseStock };
    const actors = actorsFrom(operations);
    const made = setup({ types: { context: {} as Order, input: {} as Order }, actors }).createMachine({
      context: ({ input }) => input,
      initial: 'shipping',
      states: {
        shipping: {
          invoke: {
            src: 'shipment',
            input: ({ context }) => context,
            onDone: { actions: ({ event }) => expectTypeOf(event.output).toEqualTypeOf<string>() },
          },
        },
      },
    });
    saga('made', { ...options, machine: made, operations, takesNothingBack: 'a test' });
    // @ts-expect-error an order is more than its id
    setup({ actors }).createMachine({ invoke: { src: 'shipment', input: { orderId: 'o' } } });
  });

  test('does not compile with an input that the saga does not take, or with what says nothing', () => {
    // @ts-expect-error an order has lines
    begin.step('shipment', shipment, ({ input }) => ({ orderId: input.orderId }));
    // @ts-expect-error an order has no colour
    begin.step('shipment', shipment, ({ input }) => ({ ...input, colour: 'red' }));
    // @ts-expect-error the input is missing
    begin.step('shipment', shipment);
    // @ts-expect-error nothing later has happened yet
    begin.step('shipment', shipment, ({ shipment: own }) => own);
    // @ts-expect-error there is a step of that name
    all.step('shipment', shipment, whole);
    // @ts-expect-error which saga would that be?
    begin.step('shipment', 'shipment', whole);
  });

  test('does not compile with what is said on the other side of the pivot, or with another inverse', () => {
    // @ts-expect-error a refusal takes everything back here
    begin.step('shipment', shipment, whole, { onFailed: 'continue' });
    // @ts-expect-error nothing is taken back after the pivot
    fulfilment.step('shipment', shipment, whole, { compensate: { none: 'why not' } });
    // @ts-expect-error a saga is no inverse
    begin.step('shipment', shipment, whole, { compensate: { operation: fulfilment, input: whole } });
    // @ts-expect-error the inverse takes a reservation
    begin.step('shipment', shipment, whole, { compensate: { operation: releaseStock, input: () => ({ stock: 1 }) } });
    // @ts-expect-error there is one
    fulfilment.pivot('shipment', shipment, whole);
  });

  test('does not compile where a code is none of its', () => {
    const told = (cause: TypesOf<typeof all>['cause']) => {
      // @ts-expect-error another step can be out of stock
      return cause.step === 'shipment' && cause.code === 'out_of_stock';
    };

    expectTypeOf(told).not.toBeAny();
  });
});

describe('what does not compile in a definition', () => {
  test('a definition that leaves something out, or says what nobody reads', () => {
    // @ts-expect-error key is missing
    saga('x', { input: typed<Order>() });
    // @ts-expect-error input is missing
    saga('x', { key: () => 'k' });
    // @ts-expect-error a key is a string
    saga('x', { input: typed<Order>(), key: ({ input }) => input.total });
    // @ts-expect-error '2 days' is not a duration
    saga('x', { ...options, within: '2 days' });
    // @ts-expect-error 'forward' is no order
    saga('x', { ...options, compensation: 'forward' });
    // @ts-expect-error a version is a number
    saga('x', { ...options, version: '2' });
    // @ts-expect-error a chain says its pivot with a verb
    saga('x', { ...options, pivot: 'capture' });
    // @ts-expect-error verson is not an option
    saga('x', { ...options, verson: 2 });
  });

  test('a change to what has been defined', () => {
    // @ts-expect-error read-only
    fulfilment.version = 2;
    // @ts-expect-error read-only
    fulfilment.flow.parts.push(fulfilment.flow.parts[0]);
  });
});

describe('what does not compile in a step', () => {
  test('a name that is taken, reserved or not known', () => {
    const name: string = 'payment';
    // @ts-expect-error there is a step of that name
    fulfilment.step('payment', bookCourier, address);
    // @ts-expect-error there is a step of that name in a parallel
    fulfilment.step('again', bookCourier, address);
    // @ts-expect-error the saga's input has that name
    begin.step('input', checkAddress, address);
    // @ts-expect-error a state has that name
    begin.step('compensated', checkAddress, address);
    // @ts-expect-error which output would that be?
    begin.step(name, checkAddress, address);
    // @ts-expect-error a pivot has a name of its own too
    begin.step('payment', authorisePayment, pay).pivot('payment', capturePayment, () => ({ paymentId: 'p' }));
  });

  test('a target that is none', () => {
    // @ts-expect-error a function is not an operation
    begin.step('zone', async () => succeeded(1), address);
    // @ts-expect-error a saga's run is not a saga
    begin.step('zone', {} as SagaResult, address);
    // @ts-expect-error the input is missing
    begin.step('zone', checkAddress);
  });

  test('an input that the operation does not take', () => {
    // @ts-expect-error amount is missing
    begin.step('payment', authorisePayment, ({ input }) => ({ orderId: input.orderId }));
    // @ts-expect-error amount is a number
    begin.step('payment', authorisePayment, ({ input }) => ({ orderId: input.orderId, amount: input.email }));
    // @ts-expect-error currency is not a member
    begin.step('payment', authorisePayment, ({ input }) => ({ orderId: 'o', amount: input.total, currency: 'EUR' }));
    // @ts-expect-error nothing is not an input
    begin.step('payment', authorisePayment, () => {});
    // @ts-expect-error a promise is not an input: nothing may be waited for in a turn
    begin.step('payment', authorisePayment, async () => ({ orderId: 'o', amount: 1 }));
    // @ts-expect-error 'sent' is no template
    fulfilment.step('last', sendEmail, ({ input }) => ({ to: input.email, template: 'sent' }));
  });

  test('a look at what does not exist by then', () => {
    // @ts-expect-error stock comes later, or never
    begin.step('zone', checkAddress, ({ stock }) => ({ address: stock }));
    // @ts-expect-error the e-mail may have failed
    fulfilment.step('last', bookCourier, ({ email }) => ({ address: email.messageId }));
    // @ts-expect-error the other branch may be under way
    begin.parallel('p', (b) => ({ a: b.step('s', checkAddress, address), b: b.step('t', checkAddress, ({ s }) => s) }));
    // @ts-expect-error an order has no phone
    begin.step('zone', checkAddress, ({ input }) => ({ address: input.phone }));
    // @ts-expect-error a parallel has no output of its own
    fulfilment.step('last', bookCourier, ({ prepare }) => ({ address: prepare }));
  });

  test('a step before the pivot that cannot be taken back', () => {
    // @ts-expect-error neither the operation nor the step says how
    begin.step('stock', reserveStock, ({ input }) => ({ lines: input.lines }));
    // @ts-expect-error nor does it in a branch
    begin.parallel('p', (b) => ({ a: b.step('stock', reserveStock, ({ input }) => ({ lines: input.lines })) }));
    // @ts-expect-error a reason is a text
    begin.step('stock', reserveStock, ({ input }) => ({ lines: input.lines }), { compensate: { none: true } });
  });

  test('an inverse that gets the wrong input', () => {
    const lines = ({ input }: { input: Order }) => ({ lines: input.lines });
    const inverse = releaseStock;
    // @ts-expect-error reservationId is a string
    begin.step('s', reserveStock, lines, { compensate: { operation: inverse, input: () => ({ reservationId: 1 }) } });
    // @ts-expect-error the output has no such member
    begin.step('s', reserveStock, lines, { compensate: { operation: inverse, input: ({ output }) => output.id } });
    // @ts-expect-error input is missing
    begin.step('s', reserveStock, lines, { compensate: { operation: inverse } });
    // @ts-expect-error a function is not an operation
    begin.step('s', reserveStock, lines, { compensate: { operation: lines, input: lines } });
  });

  test('an option of the other side of the pivot', () => {
    // @ts-expect-error up to the pivot a refusal takes everything back
    begin.step('zone', checkAddress, address, { onFailed: 'continue' });
    // @ts-expect-error after the pivot nothing is taken back
    fulfilment.step('late', reserveStock, ({ input }) => ({ lines: input.lines }), released);
    // @ts-expect-error 'ignore' is no word
    fulfilment.step('late', bookCourier, address, { onFailed: 'ignore' });
    // @ts-expect-error retries are said by the operation
    fulfilment.step('late', bookCourier, address, { retry: 3 });
  });
});

describe('what does not compile around steps', () => {
  test('a pivot that is the second one, has options, or is in a parallel', () => {
    const paymentId = () => ({ paymentId: 'p' });
    // @ts-expect-error there is one
    fulfilment.pivot('second', capturePayment, paymentId);
    // @ts-expect-error a pivot takes no options
    begin.pivot('capture', capturePayment, paymentId, released);
    // @ts-expect-error a branch has no way back of its own
    begin.parallel('p', (branch) => ({ a: branch.pivot('capture', capturePayment, paymentId) }));
  });

  test('a sleep without a length, of no length, or under a taken name', () => {
    // @ts-expect-error for how long?
    begin.sleep('rest');
    // @ts-expect-error a duration is milliseconds or a text with its unit
    begin.sleep('rest', '2 weeks');
    // @ts-expect-error nothing later has happened yet
    begin.sleep('rest', ({ zone }) => zone);
    // @ts-expect-error a step has that name
    fulfilment.sleep('payment', '1d');
    // @ts-expect-error a sleep leaves no output
    begin.sleep('rest', '1d').output(({ rest }) => rest);
  });

  test('a wait for what is no signal, without an end, with a word of the other side, or under a taken name', () => {
    // @ts-expect-error a name says nothing of its payload
    begin.waitFor('approval', 'approved', { within: '2d', otherwise: 'compensate' });
    // @ts-expect-error for how long, and then?
    begin.waitFor('approval', approved);
    // @ts-expect-error and then?
    begin.waitFor('approval', approved, { within: '2d' });
    // @ts-expect-error for how long?
    begin.waitFor('approval', approved, { otherwise: 'compensate' });
    // @ts-expect-error up to the pivot nobody is asked
    begin.waitFor('approval', approved, { within: '2d', otherwise: 'escalate' });
    // @ts-expect-error after the pivot nothing is taken back
    fulfilment.waitFor('approval', approved, { within: '2d', otherwise: 'compensate' });
    // @ts-expect-error a duration is milliseconds or a text with its unit
    begin.waitFor('approval', approved, { within: '2 days', otherwise: 'compensate' });
    // @ts-expect-error a step has that name
    fulfilment.waitFor('payment', approved, { within: '2d', otherwise: 'escalate' });
    begin
      .waitFor('approval', approved, { within: '2d', otherwise: 'continue' })
      // @ts-expect-error it may not have come
      .step('zone', checkAddress, ({ approval }) => ({ address: approval.by }));
  });

  test('a sleep until what is no point in time', () => {
    // @ts-expect-error a text is no date
    begin.sleep('van', { until: '2027-01-01' });
    // @ts-expect-error until when?
    begin.sleep('van', {});
    // @ts-expect-error for a while, or until then
    begin.sleep('van', { until: new Date(0), pause: '1d' });
  });

  test('a signal whose payload is another, or that has no event id', () => {
    const send = (orchestrator: Orchestrator<true>) => {
      void orchestrator.signal('saga-1', approved, { by: 'shift-lead' }, { eventId: 'click-81' });
      void orchestrator.signal('saga-1', counted, {}, { eventId: 'scan-1', early: 'refuse', keepFor: '1h' });
      // @ts-expect-error approvals have names
      void orchestrator.signal('saga-1', approved, { pieces: 1 }, { eventId: 'click-81' });
      // @ts-expect-error it might be heard twice
      void orchestrator.signal('saga-1', approved, { by: 'shift-lead' }, {});
      // @ts-expect-error kept or refused
      void orchestrator.signal('saga-1', approved, { by: 'shift-lead' }, { eventId: 'click-81', early: 'drop' });
      // @ts-expect-error the tenant is fixed
      void orchestrator.signal('saga-1', approved, { by: 'b' }, { eventId: 'click-81', tenant: 'shop-1' });
    };
    // @ts-expect-error what does it say?
    signal('approved');
    // @ts-expect-error a lock is one or more names
    saga('locked', { ...options, lock: ({ input }) => input.orderId });
    expectTypeOf(send).toBeFunction();
  });

  test('a forEach over no list, with a wrong input, or without a way back', () => {
    const lines = ({ input }: { input: Order }) => input.lines;
    const toLine = ({ item }: { item: string }) => ({ address: item });
    begin.forEach(
      'zones',
      // @ts-expect-error an order is no list
      ({ input }) => input,
      checkAddress,
      () => ({ address: '' }),
    );
    begin.forEach(
      'zones',
      // @ts-expect-error a list may not be waited for
      async ({ input }) => input.lines,
      checkAddress,
      () => ({ address: '' }),
    );
    // @ts-expect-error a function is not an operation
    begin.forEach('zones', lines, async () => succeeded(1), toLine);
    // @ts-expect-error a line is no order
    begin.forEach('zones', lines, fulfilment, toLine);
    // @ts-expect-error city is not a member
    begin.forEach('zones', lines, checkAddress, ({ item }) => ({ address: item, city: 'x' }));
    // @ts-expect-error an address is a text
    begin.forEach('zones', lines, checkAddress, ({ index }) => ({ address: index }));
    // @ts-expect-error a line has no zone
    begin.forEach('zones', lines, checkAddress, ({ item }) => ({ address: item.zone }));
    // @ts-expect-error what each leaves behind is not there yet
    begin.forEach('zones', lines, checkAddress, ({ zones }) => ({ address: zones }));
    // @ts-expect-error neither the operation nor the step says how it is taken back
    begin.forEach('stocks', lines, reserveStock, ({ item }) => ({ lines: [item] }));
    // @ts-expect-error nor do these options
    begin.forEach('stocks', lines, reserveStock, ({ item }) => ({ lines: [item] }), { concurrency: 2 });
    // @ts-expect-error how many is a number
    begin.forEach('zones', lines, checkAddress, toLine, { concurrency: 'two' });
    // @ts-expect-error how many is a number
    begin.forEach('zones', lines, checkAddress, toLine, { atMost: '200' });
    // @ts-expect-error there is no such option
    begin.forEach('zones', lines, checkAddress, toLine, { atOnce: 2 });
    // @ts-expect-error up to the pivot a refusal takes everything back
    begin.forEach('zones', lines, checkAddress, toLine, { onFailed: 'continue' });
    // @ts-expect-error after the pivot nothing is taken back
    fulfilment.forEach('late', lines, reserveStock, ({ item }) => ({ lines: [item] }), released);
    // @ts-expect-error a step has that name
    fulfilment.forEach('payment', lines, bookCourier, toLine);
    // @ts-expect-error each item has that name
    begin.forEach('item', lines, checkAddress, toLine);
    fulfilment
      .forEach('late', lines, bookCourier, toLine, { onFailed: 'continue' })
      // @ts-expect-error one that failed has left nothing behind
      .output(({ late }) => late.map(({ tracking }) => tracking));
  });

  test('a choose that picks what is no branch, sees too much, or has a pivot', () => {
    begin.choose(
      'way',
      // @ts-expect-error there is no such branch
      () => 'far',
      (b) => ({ near: b.step('zone', checkAddress, address) }),
    );
    begin.choose(
      'way',
      // @ts-expect-error any text may be no branch
      ({ input }) => input.address,
      (b) => ({ near: b.step('zone', checkAddress, address) }),
    );
    begin.choose(
      'way',
      // @ts-expect-error what is chosen has not been done yet
      ({ zone }) => zone,
      (b) => ({ near: b.step('zone', checkAddress, address) }),
    );
    begin.choose(
      'way',
      () => 'near',
      // @ts-expect-error a branch has no way back of its own
      (b) => ({ near: b.pivot('capture', capturePayment, () => ({ paymentId: 'p' })) }),
    );
    fulfilment.choose(
      // @ts-expect-error a step has that name
      'payment',
      () => 'near',
      (b) => ({ near: b.step('last', bookCourier, address) }),
    );
    begin
      .choose(
        'way',
        () => 'near',
        (b) => ({ near: b.step('zone', checkAddress, address), far: b }),
      )
      // @ts-expect-error it may not have been taken
      .step('last', checkAddress, ({ zone }) => ({ address: zone.zone }));
  });

  test('branches that are none', () => {
    // @ts-expect-error a list has no names
    begin.parallel('p', (branch) => [branch.step('zone', checkAddress, address)]);
    // @ts-expect-error an operation is not a branch
    begin.parallel('p', () => ({ a: checkAddress }));
    // @ts-expect-error a saga is not a branch
    begin.parallel('p', () => ({ a: begin.step('zone', checkAddress, address) }));
    // @ts-expect-error a step may not be waited for
    begin.parallel('p', async (branch) => ({ a: branch.step('zone', checkAddress, address) }));
    // @ts-expect-error a step has that name
    fulfilment.parallel('payment', (branch) => ({ a: branch.step('last', bookCourier, address) }));
  });

  test('a step after the output, and verbs that do not exist', () => {
    const ended = begin.step('zone', checkAddress, address).output(({ zone }) => zone);
    // @ts-expect-error it was the end
    ended.step('payment', authorisePayment, pay);
    // @ts-expect-error there is no such verb
    begin.then('zone', checkAddress, address);
  });
});

describe('a migration', () => {
  const newer = saga('fulfilment', { ...options, version: 2 });

  test('is told the input of its saga, and what its steps have brought by their names', () => {
    migration(begin.step('zone', checkAddress, address), newer, (standing) => {
      expectTypeOf(standing.input).toEqualTypeOf<Order>();
      expectTypeOf(standing.state).toEqualTypeOf<string | object>();
      expectTypeOf(standing.outputs).toEqualTypeOf<Readonly<Record<string, unknown>>>();
      return null;
    });
  });

  test('leads to the same saga, with an input that the new version can be given', () => {
    const named = saga('fulfilment', { input: typed<Pick<Order, 'orderId'>>(), key: ({ input }) => input.orderId });
    const other = saga('returns', { ...options, version: 2 });

    expectTypeOf(migration(begin, named, ({ input }) => ({ state: input.orderId }))).toEqualTypeOf<Migration>();
    // @ts-expect-error it is another saga
    migration(begin, other, () => null);
    // @ts-expect-error what was stored has no such members
    migration(named, newer, () => null);
    // @ts-expect-error it is a place, not the name of one
    migration(begin, newer, () => 'zone');
    // @ts-expect-error there is no saga in it
    migration(checkAddress, newer, () => null);
  });

  test('is given beside the definitions, and is none of them', () => {
    const given = {} as CreateOptions;
    const leading = migration(begin, newer, () => null);

    createOrchestrator({ ...given, migrations: [leading] });
    // @ts-expect-error it is no definition
    createOrchestrator({ ...given, definitions: [leading] });
    // @ts-expect-error the word is another one
    saga('fulfilment', { ...options, whenChanged: 'ignore' });
  });
});
