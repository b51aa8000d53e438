/**
 * What a shop that sends goods does at other companies, each effect with its real inverse. Every one of them can be
 * asked by key what became of a request, except the mail service, which only knows a key again when it is sent twice.
 * The companies are the authority on what happened: a 402 is a refusal, and a reply that is not a clear yes proves
 * nothing and is thrown.
 */

import {
  absent,
  failed,
  type Finding,
  found,
  inconclusive,
  operation,
  type Settling,
  succeeded,
  typed,
} from 'sagacity';

export interface Order {
  readonly orderId: string;
  readonly total: number;
  readonly lines: readonly string[];
  readonly address: string;
  readonly email: string;
  /** What is in each, where the goods leave in more than one. */
  readonly parcels?: readonly string[];
}

export type Operations = ReturnType<typeof operationsAt>;

/** The shop's operations, at companies that all listen at `url`; a test gives another way to get there. */
export function operationsAt(url: string, send: typeof fetch = fetch) {
  const voidPayment = operation('payment.void', {
    input: typed<{ orderId: string; paymentId: string }>(),
    ...posting(send, `${url}/voids`, 'void_refused', (voidId) => ({ voidId })),
  });
  const releaseStock = operation('stock.release', {
    input: typed<{ orderId: string; reservationId: string }>(),
    ...posting(send, `${url}/releases`, 'release_refused', (releaseId) => ({ releaseId })),
  });
  const cancelShipment = operation('shipment.cancel', {
    input: typed<{ orderId: string; shipmentId: string }>(),
    ...posting(send, `${url}/cancellations`, 'cancellation_refused', (cancellationId) => ({ cancellationId })),
  });
  return {
    authorisePayment: operation('payment.authorise', {
      input: typed<{ orderId: string; amount: number }>(),
      ...posting(send, `${url}/authorisations`, 'card_declined', (paymentId) => ({ paymentId })),
      compensate: {
        operation: voidPayment,
        input: ({ input: { orderId }, output: { paymentId } }) => ({ orderId, paymentId }),
      },
    }),
    reserveStock: operation('stock.reserve', {
      input: typed<{ orderId: string; lines: readonly string[] }>(),
      ...posting(send, `${url}/reservations`, 'out_of_stock', (reservationId) => ({ reservationId })),
      compensate: {
        operation: releaseStock,
        input: ({ input: { orderId }, output: { reservationId } }) => ({ orderId, reservationId }),
      },
    }),
    createShipment: operation('shipment.create', {
      input: typed<{ orderId: string; reservationId: string; address: string; parcel?: string }>(),
      ...posting(send, `${url}/shipments`, 'address_refused', (shipmentId) => ({ shipmentId })),
      compensate: {
        operation: cancelShipment,
        input: ({ input: { orderId }, output: { shipmentId } }) => ({ orderId, shipmentId }),
      },
    }),
    /** What has been captured is not taken back, so it says nothing about that: it can only be a pivot. */
    capturePayment: operation('payment.capture', {
      input: typed<{ orderId: string; paymentId: string }>(),
      ...posting(send, `${url}/captures`, 'authorisation_expired', (captureId) => ({ captureId })),
    }),
    sendEmail: operation('email.send', {
      input: typed<{ orderId: string; to: string; shipmentIds: readonly string[] }>(),
      ...posting(send, `${url}/emails`, 'mailbox_refused', (messageId) => ({ messageId })),
      lookup: 'none',
      compensate: { none: 'an e-mail cannot be called back' },
    }),
  };
}

interface Call {
  readonly input: object;
  readonly idempotencyKey: string;
  readonly abortSignal: AbortSignal;
}

/** How one company is told, and how it is asked; its refusals are `code` here, and `outputOf` names its records. */
function posting<Output, const Code extends string>(
  send: typeof fetch,
  path: string,
  code: Code,
  outputOf: (id: string) => Output,
) {
  const recorded = (id: string) => succeeded(outputOf(id), { reference: id });
  return {
    async execute({ input, idempotencyKey, abortSignal }: Call): Promise<Settling<Output, Code>> {
      const reply = await send(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
        body: JSON.stringify(input),
        signal: abortSignal,
      });
      if (reply.status === 402) return failed(code);
      if (!reply.ok) throw new Error(`The reply was ${reply.status}.`);
      return recorded(await idIn(reply));
    },
    keyRetention: '24h',
    lookup: {
      visibleWithin: '30s',
      arrivalLimit: '30s',
      async find({ idempotencyKey, abortSignal }: Call): Promise<Finding<Output, Code>> {
        const reply = await send(`${path}/by-idempotency-key/${idempotencyKey}`, { signal: abortSignal });
        if (reply.status === 404) return absent();
        return reply.ok ? found(recorded(await idIn(reply))) : inconclusive(`the reply was ${reply.status}`);
      },
    },
  } as const;
}

async function idIn(reply: Response): Promise<string> {
  const body: unknown = await reply.json();
  if (typeof body === 'object' && body !== null && 'id' in body && typeof body.id === 'string') return body.id;
  throw new Error('The reply holds no record.');
}
