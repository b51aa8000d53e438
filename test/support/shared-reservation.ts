/**
 * Two sagas of one shop that need the same reservation: whoever comes first has it, and the other one joins it.
 */

import { saga, typed } from 'sagacity';
import { order, type Part, sagaReached, type SagaShop, type Trade } from './saga-shop.ts';

/** Reserves, and then takes the money. */
export function sale({ reserve, pay }: Trade) {
  return saga('sale', { input: typed<Part>(), key: ({ input }) => input.orderId })
    .step('goods', reserve, ({ input }) => input)
    .step('payment', pay, ({ input }) => input);
}

/** Needs the same reservation, between two steps of its own. */
export function delivery({ authorise, reserve, book }: Trade, name = 'delivery') {
  return saga(name, { input: typed<Part>(), key: ({ input }) => input.orderId })
    .step('deposit', authorise, ({ input }) => input)
    .step('goods', reserve, ({ input }) => input)
    .step('courier', book, ({ input }) => input)
    .output(({ goods }) => ({ reserved: goods.id }));
}

/** The owner's payment is refused while the joiner's courier is being asked, so it cannot take the reservation back. */
export async function heldUp(shop: SagaShop) {
  const [selling, delivering] = [sale(shop.trade), delivery(shop.trade)];
  const orchestrator = await shop.open([selling, delivering]);
  await shop.provider.calls(['decline'], 'payment');
  for (const kind of ['payment', 'booking'] as const) shop.hold(kind);
  const owner = await orchestrator.submit(selling, order);
  await shop.held('payment');
  const joiner = await orchestrator.submit(delivering, order);
  await shop.held('booking');
  shop.letGo('payment');
  await sagaReached(owner, 'escalated');
  return { orchestrator, owner, joiner };
}
