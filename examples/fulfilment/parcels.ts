/**
 * The sending of an order's parcels, a saga of its own that both ways of writing the fulfilment have as a step: one
 * shipment for each parcel, one after the other. When one is refused no more are made, and those before it are cancelled.
 */

import { saga, typed } from 'sagacity';
import type { Operations } from './operations.ts';

export interface Dispatch {
  readonly orderId: string;
  readonly reservationId: string;
  readonly address: string;
  readonly parcels: readonly string[];
}

export function dispatchOf({ createShipment }: Pick<Operations, 'createShipment'>) {
  return saga('dispatch', { input: typed<Dispatch>(), key: ({ input }) => input.orderId })
    .forEach(
      'shipments',
      ({ input }) => input.parcels,
      createShipment,
      ({ item, input: { orderId, reservationId, address } }) => ({ orderId, reservationId, address, parcel: item }),
      { concurrency: 1 },
    )
    .output(({ shipments }) => ({ shipmentIds: shipments.map(({ shipmentId }) => shipmentId) }));
}
