/** What the shop whose workers are killed does at other companies, all of which know keys and can be asked. */

import { operation, saga } from 'sagacity';
import { aided, type Order, ofOrder } from '../support/company.ts';

/** The action that takes back what an action did. */
export const inverseOf: Readonly<Record<string, string>> = {
  'card.charge': 'card.refund',
  'money.authorise': 'money.void',
  'goods.reserve': 'goods.release',
};

export type Shop = ReturnType<typeof shopAt>;

/** The shop's operations at the provider that listens at `url`. */
export function shopAt(url: string) {
  const undoable = (action: string, path: string, undoing: string) =>
    operation(action, {
      ...aided(url, path),
      compensate: { operation: operation(inverseOf[action] ?? '', aided(url, undoing)), input: ({ input }) => input },
    });
  const authorise = undoable('money.authorise', 'authorisations', 'voids');
  const reserve = undoable('goods.reserve', 'reservations', 'releases');
  return {
    charge: undoable('card.charge', 'charges', 'refunds'),
    booking: operation('courier.book', aided(url, 'bookings')),
    invoice: operation('invoice.write', aided(url, 'invoices')),
    payment: saga('payment', ofOrder)
      .step('money', authorise, same)
      .step('goods', reserve, same)
      .pivot('capture', operation('money.capture', aided(url, 'captures')), same)
      .step('email', operation('email.send', aided(url, 'emails')), same, { onFailed: 'continue' }),
    refund: saga('refund', ofOrder)
      .step('money', authorise, same)
      .step('goods', reserve, same)
      .step('parcel', operation('parcel.send', aided(url, 'shipments')), same, {
        compensate: { none: 'it is the last step' },
      }),
  };
}

function same({ input }: { readonly input: Order }): Order {
  return input;
}
