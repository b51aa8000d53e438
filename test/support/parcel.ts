/**
 * A sale whose second step is a saga of its own: the parcel, for which goods are reserved and a courier is booked. What
 * each of them did is told apart by the kinds of the provider's records.
 */

import { type Duration, type Orchestrator, type Saga, saga, type SagaRun, typed } from 'sagacity';
import { sagaId, stepKey } from '../../src/domain/idempotency.ts';
import { type Opening, order, type Part, type SagaShop, type Trade } from './saga-shop.ts';

/** Reserves the goods and books a courier. */
export function parcel({ reserve, book }: Trade) {
  return saga('parcel', { input: typed<Part>(), key: ({ input }) => input.orderId })
    .step('goods', reserve, ({ input }) => input)
    .step('courier', book, ({ input }) => input)
    .output(({ courier }) => ({ booked: courier.id }));
}

/** Authorises, sends the parcel, and takes the money. */
export function sale(trade: Trade, child: Shipping = parcel(trade)) {
  return saga('sale', { input: typed<Part>(), key: ({ input }) => input.orderId })
    .step('money', trade.authorise, ({ input }) => input)
    .step('shipment', child, ({ input }) => input)
    .step('payment', trade.pay, ({ input }) => input)
    .output(({ shipment }) => shipment);
}

/** The same with a parcel that rests for an hour before it is picked up. */
export function slowSale(trade: Trade, within?: Duration) {
  const slow = saga('parcel', { input: typed<Part>(), key: ({ input }) => input.orderId })
    .step('goods', trade.reserve, ({ input }) => input)
    .sleep('rest', '1h')
    .step('courier', trade.book, ({ input }) => input);
  const options = { input: typed<Part>(), key: ({ input }: { input: Part }) => input.orderId };
  return saga('sale', { ...options, ...(within === undefined ? {} : { within }) })
    .step('money', trade.authorise, ({ input }) => input)
    .step('shipment', slow, ({ input }) => input);
}

/** A saga whose one step is such a sale. */
export function bundle(trade: Trade) {
  return saga('bundle', { input: typed<Part>(), key: ({ input }) => input.orderId }).step(
    'inside',
    slowSale(trade),
    ({ input }) => input,
  );
}

type Shipping = Saga<'parcel', Part, { booked: string }, { readonly step: string | null; readonly code: string }, Part>;

/** The id of the saga that step `shipment` of a sale is. */
export function parcelIdOf(orderId = order.orderId, parent = 'sale'): string {
  return sagaId({
    tenant: 'shop-1',
    action: 'parcel',
    key: stepKey({ saga: parent, key: orderId, step: 'shipment' }),
  });
}

/** A sale and its parcel, in a shop that knows both. */
export async function selling(
  shop: SagaShop,
  options?: Opening,
): Promise<{
  readonly orchestrator: Orchestrator<true>;
  readonly parent: SagaRun<unknown, unknown>;
  /** Resolves when the child is there. */
  readonly child: () => Promise<SagaRun>;
}> {
  const definition = sale(shop.trade);
  const orchestrator = await shop.open([definition], options);
  const parent = await orchestrator.submit(definition, order);
  return { orchestrator, parent, child: () => orchestrator.sagaRun(parcelIdOf()) };
}
