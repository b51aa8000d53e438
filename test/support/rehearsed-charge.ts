/** What the rehearsals have done at a company: one charge for an order, at a bank that a test orchestrator keeps. */

import { absent, failed, found, operation, type Settling, succeeded, typed } from 'sagacity';
import { testProvider } from 'sagacity/testing';

const charges = testProvider('charge');

export const order = { orderId: 'order-42', amount: 1200 };

export interface Charge {
  readonly orderId: string;
  readonly amount: number;
}

/** A bank that honours keys and can be asked; `reply` may keep its replies back, or make others of them. */
export function charging(reply: (charge: Settling<string, 'declined'>) => unknown = (charge) => charge) {
  return operation('card.charge', {
    input: typed<Charge>(),
    key: ({ input }) => input.orderId,
    async execute({ input, idempotencyKey }): Promise<Settling<string, 'declined'>> {
      if (input.amount <= 0) return failed('declined');
      const { id } = await charges.make(idempotencyKey, input);
      return (await reply(succeeded(id, { reference: id }))) as Settling<string, 'declined'>;
    },
    timeout: '10s',
    keyRetention: '24h',
    lookup: {
      ...{ visibleWithin: '30s', arrivalLimit: '30s' },
      async find({ idempotencyKey }) {
        const charge = await charges.find(idempotencyKey);
        return charge === null ? absent() : found(succeeded(charge.id, { reference: charge.id }));
      },
    },
  });
}

/** A bank that ignores keys and cannot be asked: every request that reaches it is a charge. */
export function chargingBlindly() {
  return operation('card.charge', {
    input: typed<Charge>(),
    key: ({ input }) => input.orderId,
    async execute({ input }) {
      const { kind, id } = await charges.make(null, input);
      return kind === 'charge' ? succeeded(id) : failed('declined');
    },
    ...{ keyRetention: 'none', lookup: 'none' },
  });
}
