/** What the shop whose workers are killed does at other companies, all of which know keys and can be asked. */

import { operation, saga, signal, typed } from 'sagacity';
import { contracted, every, type Order, ofOrder } from '../support/company.ts';

/** The action that takes back what an action did. */
export const inverseOf: Readonly<Record<string, string>> = {
  'card.charge': 'card.refund',
  'money.authorise': 'money.void',
  'goods.reserve': 'goods.release',
};

export type Shop = ReturnType<typeof shopAt>;

/** The shop's operations at the provider that listens at `url`. */
export function shopAt(url: string) {
  /** Each kill costs an attempt, and none may be the last; what was refused after it can be told from what is late. */
  const described = (path: string) => {
    return { ...contracted(url, path, { arrivalLimit: '3s' }), retry: { ...every.retry, attempts: 10 } };
  };
  const undoable = (action: string, path: string, undoing: string) =>
    operation(action, {
      ...described(path),
      compensate: { operation: operation(inverseOf[action] ?? '', described(undoing)), input: ({ input }) => input },
    });
  const authorise = undoable('money.authorise', 'authorisations', 'voids');
  const reserve = undoable('goods.reserve', 'reservations', 'releases');
  const capture = operation('money.capture', described('captures'));
  const packed = signal('packed', { payload: typed<{ by: string }>() });
  const transfer = described('transfers');
  const takeBack = described('returns');
  return {
    packed,
    // Longer than a worker keeps anything.
    transfer: operation('money.transfer', { ...transfer, retry: { ...transfer.retry, delay: '10500ms' } }),
    // The second look-up comes late enough for a worker to leave before.
    takeBack: operation('goods.take-back', {
      ...takeBack,
      sendWithin: '3s',
      lookup: { ...takeBack.lookup, every: '6s' },
    }),
    delivery: saga('delivery', ofOrder)
      .sleep('cooling-off', '1500ms')
      .step('money', authorise, same)
      .waitFor('packed', packed, { within: '3s', otherwise: 'continue' })
      .pivot('capture', capture, same),
    charge: undoable('card.charge', 'charges', 'refunds'),
    booking: operation('courier.book', described('bookings')),
    invoice: operation('invoice.write', described('invoices')),
    payment: saga('payment', ofOrder)
      .step('money', authorise, same)
      .step('goods', reserve, same)
      .pivot('capture', capture, same)
      .step('email', operation('email.send', described('emails')), same, { onFailed: 'continue' }),
    refund: saga('refund', ofOrder)
      .step('money', authorise, same)
      .step('goods', reserve, same)
      .step('parcel', operation('parcel.send', described('shipments')), same, {
        compensate: { none: 'it is the last step' },
      }),
  };
}

function same({ input }: { readonly input: Order }): Order {
  return input;
}
