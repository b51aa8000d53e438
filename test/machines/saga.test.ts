/**
 * The charts of sagas: those that the builder makes, as a table of arrows and as they move on the kernel, and the actors
 * that hand-written ones are made with. The authority is the chart; what could go wrong is an arrow that nobody promised,
 * such as a way back after the pivot.
 */

import { describe, expect, test } from 'vitest';
import { type AnyStateMachine, type AnyStateNode, createActor, fromPromise, setup, waitFor } from 'xstate';
import { actorsFrom, refusalOf } from '../../machines/actors.ts';
import { sagaMachine } from '../../machines/saga.ts';
import { saga } from '../../src/define/saga.ts';
import type { Saga } from '../../src/define/saga-flow.ts';
import { typed } from '../../src/define/schema.ts';
import { isSagacityError } from '../../src/domain/errors.ts';
import { operationFailed } from '../../src/domain/operation-failed.ts';
import { structuralHash } from '../../src/kernel/hash.ts';
import { type Kernel, kernelOf, type Turn } from '../../src/kernel/kernel.ts';
import { lintMachine } from '../../src/kernel/lint.ts';
import { nodesOf, transitionsOf } from '../../src/kernel/nodes.ts';
import type { KernelEvent, KernelRow } from '../../src/kernel/row.ts';
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

const key = ({ input }: { input: Order }) => input.orderId;
const options = { input: typed<Order>(), key };
const order: Order = { orderId: 'order-17', total: 12, lines: ['a', 'b'], address: 'quay 3', email: 'shop@quay' };
const released = { compensate: { operation: releaseStock, input: () => ({ reservationId: 'r' }) } };

const fulfilment = saga('fulfilment', { ...options, version: 2 })
  .step('address', checkAddress, ({ input }) => ({ address: input.address }))
  .parallel('prepare', (branch) => ({
    money: branch.step('payment', authorisePayment, ({ input }) => ({ orderId: input.orderId, amount: input.total })),
    goods: branch
      .step('stock', reserveStock, ({ input }) => ({ lines: input.lines }), released)
      .step('insurance', checkAddress, ({ stock, address }) => ({ address: address.zone + stock.reservationId })),
  }))
  .pivot('capture', capturePayment, ({ payment }) => ({ paymentId: payment.paymentId }))
  .step('courier', bookCourier, ({ input }) => ({ address: input.address }))
  .parallel('tell', (branch) => ({
    buyer: branch.step('email', sendEmail, ({ input }) => ({ to: input.email, template: 'paid' }), {
      onFailed: 'continue',
    }),
    seller: branch.step('notice', sendEmail, ({ courier }) => ({ to: courier.tracking, template: 'shipped' })),
  }));

/** Where a state leads, in words: one line for each arrow. */
function arrowsOf(machine: AnyStateMachine): string[] {
  const place = (node: AnyStateNode) => node.path.join('.');
  return nodesOf(machine).flatMap((node) =>
    transitionsOf(node).map(({ eventType, target, guard, actions }) => {
      const event = eventType
        .replace(/^xstate\.done\.actor\.(.+)$/, '$1 done')
        .replace(/^xstate\.error\.actor\.(.+)$/, '$1 refused')
        .replace(/^xstate\.done\.state\..+$/, 'all done');
      const asked = typeof guard === 'object' && guard !== null && 'type' in guard ? ` [${String(guard.type)}]` : '';
      const kept = actions.map((action) => (typeof action === 'object' ? ` / ${action.type}` : ' / ?')).join('');
      return `${place(node)} --> ${target.map(place).join()} : ${event}${asked}${kept}`;
    }),
  );
}

/** What a database does to a row. */
function stored(row: KernelRow): KernelRow {
  // JSON is what rows are made of.
  return JSON.parse(JSON.stringify(row)) as KernelRow;
}

/** An instance that is moved as the orchestrator moves it, and stored after every turn. */
class Instance {
  readonly #kernel: Kernel;
  #turn: Turn;

  constructor(definition: Saga) {
    this.#kernel = kernelOf(sagaMachine(definition));
    this.#turn = this.#kernel.start({ input: order });
  }

  get at(): unknown {
    return this.#turn.row.value;
  }

  get row(): KernelRow {
    return this.#turn.row;
  }

  /** What the last turn started, with its input, and what it left behind. */
  get began(): unknown[] {
    return this.#turn.effects.map((effect) => {
      if (effect.type === 'actor.started') return [effect.id, effect.src, effect.input];
      return effect.type === 'actor.stopped' ? `${effect.id} left` : effect;
    });
  }

  succeeds(step: string, output: unknown = { id: step }): this {
    return this.#settle(step, { output });
  }

  isRefused(step: string): this {
    return this.#settle(step, { error: operationFailed({ step, action: 'any', code: 'no' }) });
  }

  /** False when nothing takes the event. */
  hears(event: KernelEvent): boolean {
    const before = this.row;
    this.#turn = this.#kernel.step(before, event);
    return this.row !== before;
  }

  #settle(step: string, result: { output: unknown } | { error: unknown }): this {
    const row = stored(this.row);
    const turn = this.#kernel.settle(row, step, row.children[step]?.generation ?? 0, result);
    if (turn === null) throw new Error(`${step} is not under way`);
    this.#turn = turn;
    return this;
  }
}

function captured(): Instance {
  return ['address', 'payment', 'stock', 'insurance', 'capture'].reduce(
    (instance, step) => instance.succeeds(step),
    new Instance(fulfilment),
  );
}

const cancelled = { type: 'saga.cancelled' };
const timedOut = { type: 'saga.timedOut' };
const stated = (output: unknown) => ({ type: 'verdict.given', outcome: { type: 'succeeded', output } });
const notApplied = { type: 'verdict.given', outcome: { type: 'not-applied' } };

describe('the chart of a saga', () => {
  const machine = sagaMachine(fulfilment);

  test('has these arrows and no other', () => {
    expect(arrowsOf(machine)).toEqual([
      'address --> compensating : saga.cancelled',
      'address --> compensating : saga.timedOut',
      'address --> prepare : address done / keepOutput',
      'address --> compensating : address refused',
      'prepare --> compensating : saga.cancelled',
      'prepare --> compensating : saga.timedOut',
      'prepare --> capture : all done',
      'prepare.money.payment --> prepare.money.done : payment done / keepOutput',
      'prepare.money.payment --> compensating : payment refused',
      'prepare.goods.stock --> prepare.goods.insurance : stock done / keepOutput',
      'prepare.goods.stock --> compensating : stock refused',
      'prepare.goods.insurance --> prepare.goods.done : insurance done / keepOutput',
      'prepare.goods.insurance --> compensating : insurance refused',
      'capture --> compensating : saga.cancelled',
      'capture --> compensating : saga.timedOut',
      'capture --> courier : capture done / keepOutput',
      'capture --> compensating : capture refused',
      'courier --> tell : courier done / keepOutput',
      'courier --> courier failed : courier refused',
      'courier failed --> tell : verdict.given [saysSucceeded] / keepVerdict',
      'courier failed --> courier : verdict.given [saysNotApplied]',
      'tell --> succeeded : all done',
      'tell.buyer.email --> tell.buyer.done : email done / keepOutput',
      'tell.buyer.email --> tell.buyer.done : email refused',
      'tell.seller.notice --> tell.seller.done : notice done / keepOutput',
      'tell.seller.notice --> tell.seller.notice failed : notice refused',
      'tell.seller.notice failed --> tell.seller.done : verdict.given [saysSucceeded] / keepVerdict',
      'tell.seller.notice failed --> tell.seller.notice : verdict.given [saysNotApplied]',
      'compensating --> compensated : compensate done',
    ]);
  });

  test('has its states in the order of the steps, and says what each is for', () => {
    expect(machine.id).toBe('fulfilment');
    expect(machine.version).toBe('2');
    expect(Object.entries(machine.states).map(([name, { description }]) => `${name}: ${description ?? ''}`)).toEqual([
      'address: address.check; nothing takes it back: it only asks',
      'prepare: ',
      'capture: payment.capture; after it there is no way back',
      'courier: courier.book; without it the saga waits',
      'courier failed: courier.book was refused, and there is no way back: a person decides.',
      'tell: ',
      'compensating: Takes back what has succeeded, once it is proven how everything that was begun has ended.',
      'succeeded: ',
      'compensated: ',
    ]);
  });

  test('has nothing in it that a row could not carry', () => {
    const plain = saga('order.simple', options).step('address', checkAddress, () => ({ address: 'a' }));
    const onlyPivot = saga('compensating', options).pivot('capture', capturePayment, () => ({ paymentId: 'p' }));

    expect([fulfilment, plain, onlyPivot].flatMap((each) => lintMachine(sagaMachine(each)))).toEqual([]);
  });

  test('is refused when there are no steps', () => {
    const empty = () => sagaMachine(saga('empty', options));

    expect(empty).toThrow(expect.toSatisfy((error) => isSagacityError(error, 'DEFINITION_INVALID')));
    expect(empty).toThrow('Saga empty has no steps. Add one:');
  });

  test('waits at its first step when it runs live, until a designer provides its actors', async () => {
    const paid = saga('paid', options)
      .step('payment', authorisePayment, ({ input }) => ({ orderId: input.orderId, amount: 1 }))
      .output(({ payment }) => payment.paymentId);
    const waiting = createActor(sagaMachine(paid), { input: { input: order } }).start();
    const authorise = fromPromise(async () => ({ paymentId: 'p-1' }));
    const scripted = sagaMachine(paid).provide({ actors: { 'payment.authorise': authorise } });

    const ended = await waitFor(
      createActor(scripted, { input: { input: order } }).start(),
      ({ status }) => status === 'done',
    );

    expect(waiting.getSnapshot().value).toBe('payment');
    expect([ended.value, ended.output]).toEqual(['succeeded', 'p-1']);
  });
});

describe('a saga whose steps succeed', () => {
  test('goes from step to step, each with what is known by then', () => {
    const instance = new Instance(fulfilment);
    const began = [instance.began];
    for (const step of ['address', 'payment', 'stock', 'insurance', 'capture', 'courier', 'email', 'notice']) {
      began.push(
        instance.succeeds(step, { paymentId: 'p', reservationId: 'r', zone: 'z', tracking: 't', of: step }).began,
      );
    }

    expect(began).toEqual([
      [['address', 'address.check', { address: 'quay 3' }]],
      [
        ['payment', 'payment.authorise', { orderId: 'order-17', amount: 12 }],
        ['stock', 'stock.reserve', { lines: ['a', 'b'] }],
      ],
      [],
      [['insurance', 'address.check', { address: 'zr' }]],
      [['capture', 'payment.capture', { paymentId: 'p' }]],
      [['courier', 'courier.book', { address: 'quay 3' }]],
      [
        ['email', 'email.send', { to: 'shop@quay', template: 'paid' }],
        ['notice', 'email.send', { to: 't', template: 'shipped' }],
      ],
      [],
      [],
    ]);
    expect(instance.at).toBe('succeeded');
  });

  test('ends with the outputs of all steps by their names', () => {
    const { row } = ['courier', 'email', 'notice'].reduce((instance, step) => instance.succeeds(step), captured());

    expect(row.status).toBe('done');
    expect(row.output).toEqual({
      ...{ address: { id: 'address' }, payment: { id: 'payment' }, stock: { id: 'stock' } },
      ...{ insurance: { id: 'insurance' }, capture: { id: 'capture' }, courier: { id: 'courier' } },
      ...{ email: { id: 'email' }, notice: { id: 'notice' } },
    });
  });

  test('ends with the output that was written instead', () => {
    const zoned = saga('zoned', options)
      .step('address', checkAddress, () => ({ address: 'a' }))
      .output(({ input, address }) => `${input.orderId} ${address.zone}`);

    expect(new Instance(zoned).succeeds('address', { zone: 'z' }).row.output).toBe('order-17 z');
  });
});

describe('a refusal up to and including the pivot', () => {
  test.each<[string, string[], string]>([
    ['the first step', [], 'address'],
    ['a step of a branch', ['address'], 'payment'],
    ['a later step of a branch', ['address', 'stock'], 'insurance'],
    ['the pivot', ['address', 'payment', 'stock', 'insurance'], 'capture'],
  ])('of %s takes everything back, and ends without an output', (_, before, refused) => {
    const instance = before.reduce((moving, step) => moving.succeeds(step), new Instance(fulfilment));

    instance.isRefused(refused);
    const { at, began } = instance;
    instance.succeeds('compensate', { takenBack: [] });

    expect(at).toBe('compensating');
    expect(began).toContainEqual(['compensate', 'compensate', undefined]);
    expect([instance.at, instance.row.status, instance.row.output]).toEqual(['compensated', 'done', undefined]);
  });

  test('in one branch leaves the other branch behind', () => {
    const instance = new Instance(fulfilment).succeeds('address').isRefused('payment');

    expect(instance.began).toEqual(['stock left', ['compensate', 'compensate', undefined]]);
  });
});

describe('a cancellation or the deadline', () => {
  test.each([cancelled, timedOut])('takes everything back before the pivot has succeeded ($type)', (event) => {
    const instances = [[], ['address'], ['address', 'payment', 'stock', 'insurance']].map((before) =>
      before.reduce((moving, step) => moving.succeeds(step), new Instance(fulfilment)),
    );

    expect(instances.map((instance) => instance.hears(event))).toEqual([true, true, true]);
    expect(instances.map(({ at }) => at)).toEqual(['compensating', 'compensating', 'compensating']);
  });

  test.each([cancelled, timedOut])('changes nothing after the pivot has succeeded ($type)', (event) => {
    const instances = [captured(), captured().isRefused('courier'), captured().succeeds('courier')];

    expect(instances.map((instance) => instance.hears(event))).toEqual([false, false, false]);
  });

  test.each([cancelled, timedOut])('changes nothing once everything is being taken back ($type)', (event) => {
    expect(new Instance(fulfilment).isRefused('address').hears(event)).toBe(false);
  });

  test('takes everything back in any state when there is no pivot', () => {
    const unpivoted = saga('unpivoted', options)
      .step('address', checkAddress, () => ({ address: 'a' }))
      .step('payment', authorisePayment, () => ({ orderId: 'o', amount: 1 }));
    const instance = new Instance(unpivoted).succeeds('address');

    expect(instance.hears(cancelled)).toBe(true);
    expect(instance.at).toBe('compensating');
  });
});

describe('a refusal after the pivot', () => {
  test('waits for a person, marked as escalated', () => {
    const { at } = captured().isRefused('courier');
    const waiting = sagaMachine(fulfilment).states['courier failed'];

    expect(at).toBe('courier failed');
    expect(waiting?.tags).toEqual(['escalated']);
  });

  test('goes on with the output that the person states', () => {
    const instance = captured().isRefused('courier');

    instance.hears(stated({ tracking: 'by hand' }));

    expect(instance.at).toEqual({ tell: { buyer: 'email', seller: 'notice' } });
    expect(instance.began).toContainEqual(['notice', 'email.send', { to: 'by hand', template: 'shipped' }]);
  });

  test('is tried again when the person says that it is not there', () => {
    const instance = captured().isRefused('courier');

    instance.hears(notApplied);

    expect(instance.at).toBe('courier');
    expect(instance.row.children['courier']?.generation).toBe(2);
  });

  test('is left when the step says so, without an output', () => {
    const instance = captured().succeeds('courier').isRefused('email').succeeds('notice');

    expect(instance.at).toBe('succeeded');
    expect(instance.row.output).not.toHaveProperty('email');
  });

  test.each([
    ['says that it failed', { type: 'verdict.given', outcome: { type: 'failed', code: 'no' } }],
    ['means another step', { ...notApplied, step: 'email' }],
  ])('goes on waiting when the person %s', (_, verdict) => {
    expect(captured().isRefused('courier').hears(verdict)).toBe(false);
  });

  test('in a parallel is decided by a verdict that names the step', () => {
    const instance = captured().succeeds('courier').isRefused('notice');

    const heard = [notApplied, { ...notApplied, step: 'email' }, { ...stated('m'), step: 'notice' }].map((verdict) =>
      instance.hears(verdict),
    );

    expect(heard).toEqual([false, false, true]);
    expect(instance.at).toEqual({ tell: { buyer: 'email', seller: 'done' } });
  });
});

describe('a forEach', () => {
  const lines = ({ input }: { input: Order }) => input.lines;
  const sending = saga('sending', options)
    .forEach('stocks', lines, reserveStock, ({ item }) => ({ lines: [item] }), { ...released, concurrency: 1 })
    .pivot('capture', capturePayment, () => ({ paymentId: 'p' }))
    .forEach('parcels', lines, bookCourier, ({ item, index }) => ({ address: `${item} ${index}` }))
    .forEach('mails', lines, sendEmail, ({ item }) => ({ to: item, template: 'paid' }), { onFailed: 'continue' });
  const machine = sagaMachine(sending);
  const sold = () =>
    ['stocks[0]', 'stocks[1]', 'capture'].reduce((at, step) => at.succeeds(step), new Instance(sending));

  test('is one state with these arrows and no other, whatever the number of items', () => {
    expect(arrowsOf(machine).filter((arrow) => !/^(capture|compensating) /.test(arrow))).toEqual([
      'stocks -->  : * done [stock.reserve of stocks] / keepItem / beginItems',
      'stocks --> compensating : * refused [stock.reserve of stocks]',
      'stocks --> compensating : saga.cancelled',
      'stocks --> compensating : saga.timedOut',
      'stocks --> capture :  [haveEnded]',
      'parcels -->  : * done [courier.book of parcels] / keepItem / beginItems',
      'parcels -->  : * refused [courier.book of parcels] / refuseItem / beginItems',
      'parcels -->  : verdict.given [saysItemSucceeded] / keepItemVerdict / beginItems',
      'parcels -->  : verdict.given [saysItemNotApplied] / keepItemVerdict / beginItems',
      'parcels --> mails :  [haveEnded]',
      'parcels --> parcels failed :  [needPerson]',
      'parcels failed --> parcels : verdict.given [saysItemSucceeded] / keepItemVerdict',
      'parcels failed --> parcels : verdict.given [saysItemNotApplied] / keepItemVerdict',
      'mails -->  : * done [email.send of mails] / keepItem / beginItems',
      'mails -->  : * refused [email.send of mails] / endItem / beginItems',
      'mails --> succeeded :  [haveEnded]',
    ]);
  });

  test('says what it is for', () => {
    const { stocks, parcels, 'parcels failed': failed, mails } = machine.states;

    expect([stocks, parcels, failed, mails].map((state) => state?.description)).toEqual([
      'stock.reserve for each of stocks, 1 at a time; taken back by stock.release',
      'courier.book for each of parcels, all at once; without it the saga waits',
      'courier.book was refused, and there is no way back: a person decides about each item.',
      'email.send for each of mails, all at once; without it the saga goes on',
    ]);
  });

  test('has nothing in it that a row could not carry: a guard keeps its wildcards to its own items', () => {
    const findings = lintMachine(machine).map(({ code, state }) => `${code} in ${state}`);

    expect(new Set(findings)).toEqual(
      new Set(['stocks', 'parcels', 'mails'].map((state) => `wildcard-handler in sending.${state}`)),
    );
  });

  test('is another structure with another operation, and the same with another number at once', () => {
    const zones = (operation: typeof checkAddress, concurrency: number) =>
      saga('zones', options).forEach('zones', lines, operation, ({ item }) => ({ address: item }), { concurrency });
    const hash = (definition: Saga) => structuralHash(sagaMachine(definition));
    const other = saga('zones', options).forEach('zones', lines, bookCourier, ({ item }) => ({ address: item }), {
      compensate: { none: 'x' },
    });

    expect(hash(zones(checkAddress, 2))).toBe(hash(zones(checkAddress, 3)));
    expect(hash(other)).not.toBe(hash(zones(checkAddress, 2)));
  });

  test('begins as many as it says, and each gets its item, its index and what is known', () => {
    const instance = new Instance(sending);
    const began = [instance.began, instance.succeeds('stocks[0]').began];
    instance.succeeds('stocks[1]');

    expect(began).toEqual([
      [['stocks[0]', 'stock.reserve', { lines: ['a'] }]],
      [['stocks[1]', 'stock.reserve', { lines: ['b'] }]],
    ]);
    expect(instance.at).toBe('capture');
    expect(instance.succeeds('capture').began).toEqual([
      ['parcels[0]', 'courier.book', { address: 'a 0' }],
      ['parcels[1]', 'courier.book', { address: 'b 1' }],
    ]);
  });

  test.each(['saga.cancelled', 'saga.timedOut', 'a refusal'])('leaves what is under way at %s', (why) => {
    const all = saga('all', options).forEach('zones', lines, checkAddress, ({ item }) => ({ address: item }));
    const instance = new Instance(all);

    if (why === 'a refusal') instance.isRefused('zones[0]');
    else instance.hears({ type: why });

    const left = why === 'a refusal' ? ['zones[1] left'] : ['zones[0] left', 'zones[1] left'];
    expect(instance.began).toEqual([...left, ['compensate', 'compensate', undefined]]);
    expect(Object.keys(instance.row.children)).toEqual(['compensate']);
  });

  test('asks a person once the others have ended, and takes again what was not applied', () => {
    const instance = sold().isRefused('parcels[0]');
    const meanwhile = instance.at;
    instance.succeeds('parcels[1]');
    const asked = instance.at;

    const heard = ['parcels', 'parcels[1]', 'parcels[2]', 'mails[0]'].map((step) =>
      instance.hears({ ...notApplied, step }),
    );
    instance.hears({ ...notApplied, step: 'parcels[0]' });

    expect([meanwhile, asked, instance.at]).toEqual(['parcels', 'parcels failed', 'parcels']);
    expect(heard).toEqual([false, false, false, false]);
    expect(instance.began).toEqual([['parcels[0]', 'courier.book', { address: 'a 0' }]]);
    expect(instance.row.children['parcels[0]']?.generation).toBe(2);
    expect(instance.succeeds('parcels[0]').at).toBe('mails');
  });

  test('hears of a person about one item while another is under way', () => {
    const instance = sold().isRefused('parcels[0]');

    expect(instance.hears({ ...stated({ tracking: 'by hand' }), step: 'parcels[0]' })).toBe(true);
    instance.succeeds('parcels[1]', { tracking: 't' }).isRefused('mails[1]').succeeds('mails[0]', { messageId: 'm' });

    expect(instance.row.output).toEqual({
      ...{ stocks: [{ id: 'stocks[0]' }, { id: 'stocks[1]' }], capture: { id: 'capture' } },
      ...{ parcels: [{ tracking: 'by hand' }, { tracking: 't' }], mails: [{ messageId: 'm' }, undefined] },
    });
  });

  test('of several that were refused, a person must say which', () => {
    const instance = sold().isRefused('parcels[0]').isRefused('parcels[1]');

    const nameless = instance.hears(notApplied);
    instance.hears({ ...stated('a'), step: 'parcels[1]' });

    expect(nameless).toBe(false);
    expect(instance.at).toBe('parcels failed');
    expect(instance.hears(stated('b'))).toBe(true);
    expect(instance.at).toEqual('mails');
  });

  test('runs live, with the actors that a designer provides', async () => {
    const scripted = (output: object) => fromPromise(async () => output);
    const actors = {
      ...{ 'stock.reserve': scripted({ reservationId: 'r' }), 'payment.capture': scripted({ captureId: 'c' }) },
      ...{ 'courier.book': scripted({ tracking: 't' }), 'email.send': scripted({ messageId: 'm' }) },
    };

    const ended = await waitFor(
      createActor(machine.provide({ actors }), { input: { input: order } }).start(),
      ({ status }) => status === 'done',
    );

    expect(ended.output).toMatchObject({ parcels: [{ tracking: 't' }, { tracking: 't' }], mails: [{}, {}] });
  });
});

describe('a machine written by hand', () => {
  const operations = { authorisePayment, checkAddress };
  const machine = setup({ types: { input: {} as Order }, actors: actorsFrom(operations) }).createMachine({
    id: 'paying',
    initial: 'paying',
    states: {
      paying: {
        invoke: {
          src: 'authorisePayment',
          input: { orderId: 'o', amount: 1 },
          onDone: 'paid',
          onError: [{ guard: ({ event }) => refusalOf(event)?.code === 'card_declined', target: 'declined' }, 'back'],
        },
      },
      back: { invoke: { src: 'compensate', onDone: 'declined' } },
      paid: { type: 'final' },
      declined: { type: 'final' },
    },
  });

  test('is the machine that its author wrote', () => {
    const paying = saga('paying', { ...options, machine, operations });

    expect(sagaMachine(paying)).toBe(machine);
    expect(lintMachine(machine)).toEqual([]);
  });

  test('has an actor for each operation and for taking everything back', () => {
    expect(Object.keys(actorsFrom(operations))).toEqual(['authorisePayment', 'checkAddress', 'compensate']);
  });

  test('is told by a refusal which operation it was, and how', () => {
    const kernel = kernelOf(machine);
    const { row } = kernel.start(order);
    const refused = operationFailed({ step: 'authorisePayment', action: 'payment.authorise', code: 'card_declined' });

    const error: unknown = JSON.parse(JSON.stringify(refused));
    const turn = kernel.settle(row, '0.paying.paying', 1, { error });

    expect(turn?.row.value).toBe('declined');
  });
});

describe('the refusal in an error', () => {
  const failed = operationFailed({ step: 'payment', action: 'payment.authorise', code: 'card_declined' });

  test('is read from the error and from the event that brought it', () => {
    const refusal = { step: 'payment', action: 'payment.authorise', code: 'card_declined' };

    expect(refusalOf(failed)).toEqual(refusal);
    expect(refusalOf({ type: 'xstate.error.actor.payment', error: failed, actorId: 'payment' })).toEqual(refusal);
  });

  test('is plain, frozen and readable', () => {
    expect(failed.message).toBe('Operation payment.authorise of step payment failed with "card_declined".');
    expect(Object.isFrozen(failed)).toBe(true);
    expect(JSON.parse(JSON.stringify(failed))).toEqual(failed);
  });

  test.each([
    [undefined],
    [null],
    ['card_declined'],
    [new Error('socket hang up')],
    [{ ...failed, name: 'Error' }],
    [{ ...failed, code: 3 }],
    [{ type: 'xstate.error.actor.payment', error: new Error('socket hang up') }],
  ])('is null when there is none (%o)', (other) => {
    expect(refusalOf(other)).toBeNull();
  });
});
