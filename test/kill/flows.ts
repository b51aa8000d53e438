/**
 * The flows whose workers are killed: what the provider makes of them, and what a process does from their beginning to
 * their end. A process that comes after one that died does all of it again, as callers do whom nobody has answered, so
 * that whatever it asks for may be there already.
 */

import { setTimeout as pause } from 'node:timers/promises';
import { isSagacityError, type Orchestrator, type Result, type Run, type SagaResult, type SagaRun } from 'sagacity';
import type { ProviderClient } from 'sagacity/testing';
import type { Order } from '../support/company.ts';
import { isOver } from '../support/over.ts';
import type { Point } from './points.ts';
import type { Shop } from './shop.ts';

/** What a process has to play a flow with. */
export interface Stage {
  readonly shop: Shop;
  readonly provider: ProviderClient;
  /** Opens an orchestrator on the database; it accepts, and does not work before it is started. */
  readonly open: () => Orchestrator<true>;
  /** Resolves when the process has come by this point. */
  readonly passed: (point: Point) => Promise<unknown>;
  /** Resolves when it comes by it the next time. */
  readonly next: (point: Point) => Promise<unknown>;
  /** Resolves when NATS keeps the timers of every orchestrator that was opened. */
  readonly timersKept: () => Promise<void>;
}

/** How something that was ordered ended, as its caller was told. */
export interface Told {
  readonly orderId: string;
  readonly id: string;
  readonly status: string;
}

export interface Flow {
  /**
   * Its wakes go over NATS, and its workers are struck at these points: what else they come by, others are struck at.
   * Null: wakes stay in the process.
   */
  readonly overNats: readonly Point[] | null;
  /** Tells the provider what it makes of what is sent to it, by the kind of the records. */
  prepare(provider: ProviderClient): Promise<void>;
  play(stage: Stage): Promise<readonly Told[]>;
  /** How many records of each kind there are at the end, whatever was killed, when the callers were told this. */
  records(told: readonly Told[]): Readonly<Record<string, number>>;
}

export const flowNames = ['charge', 'payment', 'refund', 'retry', 'reconciliation', 'wait'] as const;

export type FlowName = (typeof flowNames)[number];

export const flows: Readonly<Record<FlowName, Flow>> = {
  /** Operations that stand alone: one is sent twice and taken back, one is cancelled too late, one outlives its worker. */
  charge: {
    overNats: null,
    async prepare(provider) {
      await provider.calls(['fail-before-commit', 'commit-then-drop'], 'charge');
      await provider.calls(['commit-then-hold'], 'booking');
      await provider.calls(['commit-then-hold'], 'invoice');
    },
    async play(stage) {
      const { shop, provider, open, passed } = stage;
      const desk = open();
      const accepted = await bearing(() => desk.submit(shop.charge, order('charge-1')));
      const worker = open();
      await bearing(() => worker.start());
      const charge = await bearing(() => worker.run(accepted.id));
      await endOf(charge);
      await bearing(() => desk.operator.compensate(charge.id, customer));
      const charged = told('charge-1', charge.id, await endOf(charge));

      const booking = await bearing(() => worker.submit(shop.booking, order('booking-1')));
      const taken = endOf(booking);
      await calledOff(stage, desk, { id: booking.id, ended: taken, kind: 'booking' });
      await passed('after renew');

      const invoice = await bearing(() => worker.submit(shop.invoice, order('invoice-1')));
      await Promise.race([held(provider, 'invoice'), invoice.result({ within: '10s' })]);
      // It gives up what the provider has not answered yet, and the next one takes it up.
      await worker.stop({ within: '50ms' });
      await provider.release({ kind: 'invoice' });
      const next = open();
      await bearing(() => next.start());
      const paid = await endOf(await bearing(() => next.run(invoice.id)));
      await next.stop();
      return [charged, told('booking-1', booking.id, await taken), told('invoice-1', invoice.id, paid)];
    },
    // Where its worker died before it was sent, the cancellation may have come in time.
    records: (told) => ({ charge: 1, refund: 1, booking: hasSucceeded('booking-1', told) ? 1 : 0, invoice: 1 }),
  },

  /** A saga that succeeds in spite of lost requests and replies, and that somebody wants to cancel when it is too late. */
  payment: {
    overNats: null,
    async prepare(provider) {
      await provider.calls(['commit-then-drop'], 'authorisation');
      await provider.calls(['fail-before-commit'], 'reservation');
      await provider.calls(['commit-then-drop'], 'capture');
      await provider.calls(['commit-then-hold'], 'email');
    },
    async play(stage) {
      const { shop, open, passed } = stage;
      const desk = open();
      const accepted = await bearing(() => desk.submit(shop.payment, order('payment-1')));
      const worker = open();
      await bearing(() => worker.start());
      const payment = await bearing(() => worker.sagaRun(accepted.id));
      const ended = endOf(payment);
      await calledOff(stage, desk, { id: payment.id, ended, kind: 'email' });
      await passed('after renew');
      const payed = told('payment-1', payment.id, await ended);
      await worker.stop();
      return [payed];
    },
    records: () => ({ authorisation: 1, reservation: 1, capture: 1, email: 1 }),
  },

  /** A saga whose last step is refused, so that two steps are taken back, with lost requests and replies. */
  refund: {
    overNats: null,
    async prepare(provider) {
      await provider.calls(['commit-then-drop'], 'reservation');
      // It is refused as often as it is sent.
      await provider.calls(
        Array.from({ length: 8 }, () => 'decline' as const),
        'shipment',
      );
      await provider.calls(['commit-then-drop'], 'release');
      await provider.calls(['fail-before-commit'], 'void');
    },
    async play({ shop, open, passed }) {
      const desk = open();
      const accepted = await bearing(() => desk.submit(shop.refund, order('refund-1')));
      const worker = open();
      await bearing(() => worker.start());
      const refund = await bearing(() => worker.sagaRun(accepted.id));
      const ended = told('refund-1', refund.id, await endOf(refund));
      await passed('after renew');
      await worker.stop();
      return [ended];
    },
    records: () => ({ authorisation: 1, reservation: 1, release: 1, void: 1 }),
  },

  /** An operation that was not applied, and is due again so late that nobody holds it: the timer wakes a worker. */
  retry: {
    overNats: ['before timer', 'during timer', 'after timer', 'before wake', 'after wake'],
    async prepare(provider) {
      await provider.calls(['busy409'], 'transfer');
    },
    async play({ shop, open, timersKept }) {
      const worker = open();
      await bearing(() => worker.start());
      await timersKept();
      const transfer = await bearing(() => worker.submit(shop.transfer, order('transfer-1')));
      return [told('transfer-1', transfer.id, await endOf(transfer))];
    },
    records: () => ({ transfer: 1 }),
  },

  /**
   * An operation in doubt, whose first look-up finds nothing out. Then its worker leaves and says so, and the timer of the
   * next look-up wakes another worker.
   */
  reconciliation: {
    // Whether a worker hears that the timer is kept before it has left is a matter of chance.
    overNats: ['before timer', 'during timer', 'before wake', 'after wake', 'before news', 'during news'],
    async prepare(provider) {
      await provider.calls(['commit-then-drop'], 'return');
      await provider.lookups(['lookup500'], 'return');
    },
    async play({ shop, open, passed, timersKept }) {
      const [worker, next] = [open(), open()];
      await bearing(() => worker.start());
      await bearing(() => next.start());
      await timersKept();
      const { id } = await bearing(() => worker.submit(shop.takeBack, order('return-1')));
      const ended = endOf(await bearing(() => next.run(id)));
      await Promise.race([passed('after look-up'), ended]);
      await worker.stop();
      return [told('return-1', id, await ended)];
    },
    records: () => ({ return: 1 }),
  },

  /** A saga that begins with a pause, which its desk arms, and waits for a signal, of which the desk tells its owner. */
  wait: {
    overNats: [
      ...(['before timer', 'during timer', 'after timer', 'before wake', 'after wake'] as const),
      ...(['before news', 'during news'] as const),
    ],
    async prepare() {},
    async play({ shop, open, timersKept }) {
      const desk = open();
      await bearing(() => desk.operator.doubts());
      const worker = open();
      await bearing(() => worker.start());
      await timersKept();
      const delivery = await bearing(() => desk.submit(shop.delivery, order('delivery-1')));
      const ended = endOf(delivery);
      await Promise.race([bearing(() => delivery.reached('packed', { within: '20s' })), ended]);
      await heardInTime(() => desk.signal(delivery.id, shop.packed, { by: 'the packer' }, { eventId: 'packed-1' }));
      return [told('delivery-1', delivery.id, await ended)];
    },
    records: () => ({ authorisation: 1, capture: 1 }),
  },
};

/** Who died or stood still for long says it when the saga has gone on without. */
async function heardInTime(say: () => Promise<unknown>): Promise<void> {
  try {
    await bearing(say);
  } catch (error) {
    if (!isSagacityError(error) || error.code !== 'SIGNAL_REFUSED') throw error;
  }
}

function order(orderId: string): Order {
  return { orderId, amount: 1200 };
}

/** A caller asks again where a wait has ended before the work: also a process that stood still has waited long enough. */
async function endOf(run: Run | SagaRun): Promise<Ended> {
  for (;;) {
    const end = await bearing<Ended>(() => run.result({ within: '10s' }));
    if (isOver(end)) return end;
  }
}

type Ended = Result<unknown> | SagaResult<unknown>;

function told(orderId: string, id: string, { status }: Ended): Told {
  return { orderId, id, status };
}

function hasSucceeded(orderId: string, all: readonly Told[]): boolean {
  return all.some((one) => one.orderId === orderId && one.status === 'succeeded');
}

/** A customer calls it off while the provider holds its reply back; then the reply comes. */
async function calledOff(
  { provider, next }: Stage,
  desk: Orchestrator<true>,
  { id, ended, kind }: { readonly id: string; readonly ended: Promise<unknown>; readonly kind: string },
): Promise<void> {
  await Promise.race([held(provider, kind), ended]);
  const heard = next('after word');
  const cancelling = bearing(() => desk.cancel(id, customer));
  await Promise.race([heard, cancelling]);
  await provider.release({ kind });
  await cancelling;
}

const customer = { by: 'a customer', reason: 'changed their mind' };

async function held(provider: ProviderClient, kind: string): Promise<void> {
  await provider.logged((entry) => entry.event === 'HOLD' && entry.kind === kind);
}

/** As callers do: once more as long as the store does not answer, or has answered a process that stood still. */
export async function bearing<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!isSagacityError(error) || !['STORE_UNAVAILABLE', 'STORE_IN_DOUBT'].includes(error.code)) throw error;
      await pause(100);
    }
  }
}
