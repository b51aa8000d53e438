/**
 * What the cluster's shop does with an order: authorise, reserve, ship, capture, and tell the customer. All of its
 * companies know a key again and can be asked by it, except those that carry messages: the one for e-mails only knows the
 * key when it is sent twice, and the one for letters knows nothing. The times are short, because somebody is watching.
 */

import { absent, failed, found, inconclusive, operation, saga, succeeded, typed } from 'sagacity';

export interface Order {
  readonly orderId: string;
  readonly amount: number;
  /** Which company carries the goods: the parcel service takes all, the courier none. */
  readonly carrier: 'parcel service' | 'courier';
  /** How the customer is told. */
  readonly notice: 'e-mail' | 'letter';
}

/** The saga of one order, at companies that all listen at `url`. */
export function fulfilmentAt(url: string) {
  const undoable = (action: string, path: (order: Order) => string, inverse: string, undoing: string) =>
    operation(action, {
      ...asked(url, path),
      compensate: {
        operation: operation(
          inverse,
          asked(url, () => undoing),
        ),
        input: ({ input }) => input,
      },
    });
  const authorise = undoable('payment.authorise', () => 'authorisations', 'payment.void', 'voids');
  const reserve = undoable('stock.reserve', () => 'reservations', 'stock.release', 'releases');
  const ship = undoable('parcel.ship', pathOfCarrier, 'parcel.cancel', 'cancellations');
  const capture = operation(
    'payment.capture',
    asked(url, () => 'captures'),
  );
  const sendEmail = operation('email.send', {
    ...every,
    execute: ({ input, ...sending }) => post(`${url}/emails`, input, sending),
    keyRetention: '24h',
    lookup: 'none',
  });
  const sendLetter = operation('letter.send', {
    ...every,
    execute: ({ input, ...sending }) => post(`${url}/keyless/invoices`, input, sending),
    keyRetention: 'none',
    lookup: 'none',
  });
  return saga('fulfilment', { input: typed<Order>(), key: ({ input }) => input.orderId })
    .step('authorise', authorise, ({ input }) => input)
    .step('reserve', reserve, ({ input }) => input)
    .step('ship', ship, ({ input }) => input)
    .pivot('capture', capture, ({ input }) => input)
    .choose(
      'tell',
      ({ input }) => (input.notice === 'letter' ? 'byLetter' : 'byEmail'),
      (branch) => ({
        byEmail: branch.step('email', sendEmail, ({ input }) => input),
        byLetter: branch.step('letter', sendLetter, ({ input }) => input),
      }),
    );
}

const every = {
  input: typed<Order>(),
  timeout: '3s',
  sendWithin: '2s',
  retry: { attempts: 10, backoff: 'fixed', delay: '200ms', jitter: 'none' },
} as const;

function pathOfCarrier({ carrier }: Order): string {
  return carrier === 'courier' ? 'bookings' : 'shipments';
}

interface Sending {
  readonly idempotencyKey: string;
  readonly abortSignal: AbortSignal;
}

interface Call extends Sending {
  readonly input: Order;
}

/** At a company that knows keys and can be asked. */
function asked(url: string, path: (order: Order) => string) {
  return {
    ...every,
    execute: ({ input, ...sending }: Call) => post(`${url}/${path(input)}`, input, sending),
    keyRetention: '24h' as const,
    lookup: {
      // Nothing arrives later than that: what is absent then never was, and a refusal speaks for all that was sent.
      ...({ visibleWithin: '100ms', arrivalLimit: '2s', every: '500ms' } as const),
      async find({ input, idempotencyKey, abortSignal }: Call) {
        const address = `${url}/${path(input)}/by-idempotency-key/${encodeURIComponent(idempotencyKey)}`;
        const reply = await fetch(address, { signal: abortSignal });
        if (reply.status === 404) return absent();
        return reply.ok ? found(record(await reply.json())) : inconclusive(`the reply was ${reply.status}`);
      },
    },
  };
}

async function post(url: string, order: Order, { idempotencyKey, abortSignal }: Sending) {
  const reply = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
    body: JSON.stringify(order),
    signal: abortSignal,
  });
  if (reply.status === 402) return failed('refused');
  if (!reply.ok) throw new Error(`The reply was ${reply.status}.`);
  return record(await reply.json());
}

function record(body: unknown) {
  if (typeof body === 'object' && body !== null && 'id' in body && typeof body.id === 'string') {
    return succeeded({ id: body.id }, { reference: body.id });
  }
  throw new Error('The reply holds no record.');
}
